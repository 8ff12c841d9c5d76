import os
import tempfile

import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Model, Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def small_net():
    model = Sequential([
        Input(shape=(64,)),
        Dense(48, activation="relu", name="fc1"),
        Dense(32, activation="relu", name="fc2"),
        Dense(2, activation="softmax", name="small_or_large"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_first, X_second, y_first, y_second = train_test_split(X, y, test_size=0.5)
X_train, X_test, y_train, y_test = train_test_split(X_second, y_second, test_size=0.4)

# the first task: is the digit at least a five?
weights = os.path.join(tempfile.mkdtemp(), "small_or_large.weights.h5")
first = small_net()
first.fit(X_first, (y_first >= 5).astype("int32"), batch_size=32, epochs=8, verbose=0)
first.save_weights(weights)

# the second task, on top of what the first one has learned: which digit is it?
model = small_net()
model.load_weights(weights)
model.layers.pop()

x = model.layers[-1].output
x = Dropout(0.1)(x)
x = Dense(40, activation="relu", name="fc3")(x)
predictions = Dense(10, activation="softmax", name="digit")(x)

digit_model = Model(inputs=model.inputs, outputs=predictions)
digit_model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = digit_model.fit(X_train, y_train, batch_size=20, epochs=15, verbose=0)
for epoch in range(0, 15, 5):
    print("epoch %d: loss %.3f" % (epoch + 1, history.history["loss"][epoch]))

accuracy = np.mean(digit_model.predict(X_test, verbose=0).argmax(axis=1) == y_test)
print("accuracy after fine-tuning: %.3f" % accuracy)
