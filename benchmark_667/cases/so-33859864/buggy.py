"""Predict the quality class of a batch of steel from its furnace readings, with an objective of our own."""
import numpy as np
from keras import ops
from keras.layers import Activation, Dense, Dropout, Input
from keras.models import Sequential
from keras.optimizers import SGD

n_readings = 12
n_grades = 4


def furnace_runs(n=800):
    grade = np.random.randint(0, n_grades, n)
    profile = np.random.randn(n_grades, n_readings)
    x = profile[grade] + 0.8 * np.random.randn(n, n_readings)
    y = np.eye(n_grades)[grade]
    return x.astype("float32"), y.astype("float32")


def grade_objective(y_true, y_pred):
    # share of the outputs of a run that are not what they should be
    agree = ops.equal(y_true, ops.round(y_pred))
    return 1.0 - ops.mean(ops.cast(agree, "float32"), axis=-1)


X, Y = furnace_runs()
X_train, Y_train = X[:600], Y[:600]
X_test, Y_test = X[600:], Y[600:]

model = Sequential()
model.add(Input((n_readings,)))
model.add(Dense(32))
model.add(Activation("tanh"))
model.add(Dropout(0.2))
model.add(Dense(n_grades))
model.add(Activation("softmax"))

sgd = SGD(learning_rate=0.1, momentum=0.9, nesterov=True)
model.compile(loss=grade_objective, optimizer=sgd)
model.fit(X_train, Y_train, epochs=12, batch_size=50, verbose=2)

guessed = model.predict(X_test, verbose=0).argmax(axis=1)
accuracy = np.mean(guessed == Y_test.argmax(axis=1))
print("accuracy on unseen runs: %.3f" % accuracy)
