"""Iris species from the four measurements, with a small dense network."""
import keras
import numpy as np
from sklearn import datasets
from sklearn.model_selection import KFold

EPOCHS = 25


class IrisNet:
    def __init__(self, n_features, n_species, hidden=(12, 8)):
        self.net = keras.Sequential()
        self.net.add(keras.Input((n_features,)))
        for units in hidden:
            self.net.add(keras.layers.Dense(units, activation="tanh"))
        self.net.add(keras.layers.Dense(n_species, activation="softmax"))
        self.net.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(0.03))

    def learn(self, samples, species):
        return self.net.fit(samples, species, epochs=EPOCHS, batch_size=30, verbose=0)

    def classify(self, samples):
        return self.net.predict(samples, verbose=0).argmax(axis=-1)


iris = datasets.load_iris()
samples = iris.data.astype("float32")
samples -= samples.mean(axis=0)
species = iris.target
names = list(iris.target_names)
confusion = np.zeros((len(names), len(names)), dtype=int)

folds = KFold(n_splits=2, shuffle=True, random_state=11)
for number, (train, test) in enumerate(folds.split(samples), start=1):
    classifier = IrisNet(samples.shape[1], len(names))
    history = classifier.learn(samples[train], species[train])
    guessed = classifier.classify(samples[test])
    for truth, guess in zip(iris.target[test], guessed):
        confusion[truth, guess] += 1
    print(f"fold {number}: loss {history.history['loss'][-1]:.3f}")

print("confusion:")
for name, row in zip(names, confusion):
    print(f"{name:>12}", *(f"{count:4d}" for count in row))
print(f"accuracy {np.trace(confusion) / confusion.sum():.3f}")
