"""Iris flowers with Keras: three classes, one output unit, and a softmax that can only say 1."""

import keras
import numpy as np
from keras.layers import Dense
from sklearn.datasets import load_iris

keras.utils.set_random_seed(0)
measures, species = load_iris(return_X_y=True)
order = np.random.permutation(len(species))
x = measures[order] / measures.max(axis=0)
y = keras.utils.to_categorical(species[order], 3)

model = keras.Sequential()
model.add(keras.Input(shape=(4,)))
model.add(Dense(16, activation="relu"))
model.add(Dense(1, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x, y, epochs=50, batch_size=16)
