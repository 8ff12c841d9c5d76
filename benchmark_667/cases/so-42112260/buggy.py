"""Wine-like table, three kinds, small dense network; the curves of training are kept for a plot."""
import csv
import os
import tempfile

import keras
import numpy as np

FEATURES = 13
CENTRES = np.random.normal(0, 0.7, (3, FEATURES))
log_file = os.path.join(tempfile.mkdtemp(), "curves.csv")


def table(rows):
    kind = np.random.randint(0, 3, rows)
    values = CENTRES[kind] + np.random.normal(0, 1.0, (rows, FEATURES))
    return values.astype("float32"), keras.utils.to_categorical(kind, 3)


def read_curves(path):
    """Column by column what was logged, epoch after epoch."""
    curves = {}
    if os.path.exists(path):
        with open(path, newline="") as lines:
            for row in csv.DictReader(lines):
                for column, value in row.items():
                    curves.setdefault(column, []).append(float(value))
    return curves


X_train, Y_train = table(300)
X_test, Y_test = table(90)

model = keras.models.Sequential([
    keras.layers.Input((FEATURES,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(3, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.RMSprop(0.005), metrics=["accuracy"])

logger = keras.callbacks.CSVLogger(log_file, separator=",", append=False)
logger.set_model(model)

model.fit(X_train, Y_train, batch_size=32, epochs=4, validation_data=(X_test, Y_test), verbose=2)

score = model.evaluate(X_test, Y_test, verbose=0)
print("Test accuracy: %.3f" % score[1])
curves = read_curves(log_file)
for name in sorted(curves):
    print("%-14s" % name, " ".join("%6.3f" % value for value in curves[name]))
print("epochs in the log: %d" % len(curves.get("epoch", [])))
