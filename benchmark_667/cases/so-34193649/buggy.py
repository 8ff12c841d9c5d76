"""Detect whether the accelerometer and the gyroscope of a wristband report the same gesture."""
import numpy as np
from keras import Model, layers

WINDOW = 24
GESTURES = 3


def gesture_templates():
    t = np.linspace(0, 2 * np.pi, WINDOW)
    return np.stack([np.sin(t), np.sin(2 * t), np.sign(np.sin(t))])


def record(n):
    shapes = gesture_templates()
    first = np.random.randint(0, GESTURES, n)
    keep = np.random.rand(n) < 0.5
    second = np.where(keep, first, (first + np.random.randint(1, GESTURES, n)) % GESTURES)
    accel = shapes[first] + 0.15 * np.random.randn(n, WINDOW)
    gyro = shapes[second] + 0.15 * np.random.randn(n, WINDOW)
    return accel.astype("float32"), gyro.astype("float32"), keep.astype("float32")


def encoder(name):
    inputs = layers.Input(shape=(WINDOW,), name=name)
    hidden = layers.Dense(32, activation="relu")(inputs)
    hidden = layers.Dense(16, activation="relu")(hidden)
    return inputs, hidden


def build():
    accel_in, accel_code = encoder("accel")
    gyro_in, gyro_code = encoder("gyro")
    joint = layers.Dense(32, activation="relu")(accel_code)
    joint = layers.Dense(16, activation="relu")(joint)
    same = layers.Dense(1, activation="sigmoid", name="same")(joint)
    model = Model(inputs=[accel_in, gyro_in], outputs=same)
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    return model


accel, gyro, same = record(1200)
accel_test, gyro_test, same_test = record(300)

model = build()
model.fit([accel, gyro], same, batch_size=32, epochs=7, verbose=0)
loss, accuracy = model.evaluate([accel_test, gyro_test], same_test, verbose=0)
print(f"held-out loss {loss:.3f}, held-out accuracy {accuracy:.3f}")
