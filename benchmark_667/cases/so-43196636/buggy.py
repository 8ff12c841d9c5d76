# Two readings of a plant go through one branch, the weather through another,
# and the yield is predicted from both.
import numpy as np
from keras.models import Model, Sequential
from keras.layers import Concatenate, Dense, Input
from keras.optimizers import Adagrad

samples = 400
x1 = np.random.uniform(-1, 1, size=(samples, 2))
x2 = np.random.uniform(-1, 1, size=(samples, 1))
y = (0.7 * np.tanh(x1[:, 0] - 0.5 * x1[:, 1]) + 0.4 * x2[:, 0] > 0).astype("float32").reshape(-1, 1)

first = Sequential()
first.add(Input(shape=(2,)))
first.add(Dense(8, activation="tanh"))
first.add(Dense(1, activation="sigmoid"))

second = Sequential()
second.add(Input(shape=(1,)))
second.add(Dense(1, activation="sigmoid"))

merged = Concatenate([first, second])
result = Sequential()
result.add(merged)
result.add(Dense(1, activation="sigmoid"))

ada_grad = Adagrad(learning_rate=0.1, epsilon=1e-08)
result.compile(optimizer=ada_grad, loss="binary_crossentropy", metrics=["accuracy"])
history = result.fit([x1, x2], y, epochs=10, batch_size=40, verbose=0)

for epoch in range(0, 10, 3):
    print("epoch", epoch, "loss", round(history.history["loss"][epoch], 4))
print("accuracy", round(history.history["accuracy"][-1], 3))

fresh = [np.array([[0.9, -0.2], [-0.8, 0.1]]), np.array([[0.5], [-0.5]])]
print("yield above average:", result.predict(fresh, verbose=0).ravel().round(2))
