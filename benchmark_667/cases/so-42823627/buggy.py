# Energy use of a house from the weather of the last day (one branch) and from facts about the house (the other).
import numpy as np
from keras.layers import LSTM, Dense, Input, Merge
from keras.models import Model

HOURS = 24
n = 600

hour = np.arange(HOURS) / HOURS
base = np.random.uniform(-5, 25, size=(n, 1))
swing = np.random.uniform(2, 8, size=(n, 1))
temperature = base + swing * np.sin(2 * np.pi * hour) + np.random.normal(0, 0.5, size=(n, HOURS))
wind = np.random.gamma(2.0, 1.5, size=(n, HOURS))
weather = np.stack([temperature / 10, wind / 5], axis=-1).astype("float32")

area = np.random.uniform(60, 200, size=n)
persons = np.random.randint(1, 6, size=n)
insulated = np.random.randint(0, 2, size=n)
house = np.stack([area / 100, persons / 5, insulated], axis=-1).astype("float32")

heating = np.maximum(18 - temperature.mean(axis=1), 0) * area / 100 * (1.5 - 0.8 * insulated)
usage = (heating + 2 * persons + 0.3 * wind.mean(axis=1)) / 10
usage = usage.astype("float32")

weather_in = Input(shape=(HOURS, 2))
weather_out = LSTM(12)(weather_in)

house_in = Input(shape=(3,))
house_out = Dense(12, activation="relu")(house_in)

merged = Merge(mode="concat")([weather_out, house_out])
hidden = Dense(24, activation="relu")(merged)
output = Dense(1)(hidden)

model = Model([weather_in, house_in], output)
model.compile(loss="mse", optimizer="adam", metrics=["mae"])
model.fit([weather[:500], house[:500]], usage[:500], validation_split=0.1, batch_size=25, epochs=6, verbose=2)

loss, mae = model.evaluate([weather[500:], house[500:]], usage[500:], verbose=0)
print("mean absolute error: %.3f (spread of the usage: %.3f)" % (mae, usage.std()))
