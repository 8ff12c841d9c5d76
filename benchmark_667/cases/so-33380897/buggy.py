# Will the pump fail within the next shift?  One row of the log = 12 readings of (pressure, flow, vibration).
from io import StringIO

import numpy as np
from keras.layers import LSTM, Dense, Dropout, Input
from keras.models import Sequential
from keras.optimizers import RMSprop

READINGS = 12
CHANNELS = 3


def simulate_log(rows):
    """The log as text, the way the PLC exports it: 36 values and the failure flag."""
    out = StringIO()
    for _ in range(rows):
        failing = np.random.rand() < 0.5
        trend = np.linspace(0, 1.5 if failing else 0.0, READINGS)
        pressure = 4.0 - 0.5 * trend + 0.3 * np.random.randn(READINGS)
        flow = 9.0 - trend + 0.5 * np.random.randn(READINGS)
        vibration = 0.8 + 0.6 * trend + 0.3 * np.random.randn(READINGS)
        values = np.column_stack([pressure, flow, vibration]).ravel()
        out.write(",".join("%.3f" % v for v in values) + ",%d\n" % failing)
    out.seek(0)
    return out


data = np.loadtxt(simulate_log(450), delimiter=",")
np.random.shuffle(data)

X = data[:, :-1]
Y = data[:, -1]
X = (X - X.mean(axis=0)) / X.std(axis=0)

split = 360
X_train, X_test = X[:split], X[split:]
Y_train, Y_test = Y[:split], Y[split:]

in_out_neurons = 1
hidden_neurons = 16

model = Sequential()
model.add(Input(shape=(READINGS, CHANNELS)))
model.add(LSTM(hidden_neurons))
model.add(Dropout(0.2))
model.add(Dense(in_out_neurons, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer=RMSprop(0.005), metrics=["accuracy"])

model.fit(X_train, Y_train, batch_size=40, epochs=5, validation_split=0.1, verbose=0)

score, acc = model.evaluate(X_test, Y_test, batch_size=40, verbose=0)
print("Test score:", round(score, 4))
print("Test accuracy:", round(acc, 4))
