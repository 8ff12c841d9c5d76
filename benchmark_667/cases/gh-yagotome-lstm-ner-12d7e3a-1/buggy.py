"""Named entities in a made-up language: a window of words around each word tells its label."""
import random

import keras
import numpy as np
from keras import layers

LABELS = ["O", "PER", "LOC"]
PEOPLE = ["ana", "bruno", "carla", "davi", "elisa", "fabio"]
PLACES = ["recife", "natal", "olinda", "belem", "santos"]
WORDS = ["the", "met", "in", "went", "to", "and", "saw", "old", "friend", "from", "market", "today"]
PAD = "<pad>"


def write_sentence():
    words, labels = [], []
    for _ in range(random.randint(4, 9)):
        label = random.choices([0, 1, 2], weights=[6, 2, 2])[0]
        words.append(random.choice([WORDS, PEOPLE, PLACES][label]))
        labels.append(label)
    return words, labels


def windows(n_sentences, index, window):
    x, y = [], []
    for _ in range(n_sentences):
        words, labels = write_sentence()
        padded = [PAD] * window + words + [PAD] * window
        for i, label in enumerate(labels):
            x.append([index[w] for w in padded[i:i + 2 * window + 1]])
            y.append(label)
    return np.array(x), np.array(y)


class Tagger(keras.Model):
    def __init__(self, embedding, units, num_labels, dropout):
        super().__init__()
        self.embedding = embedding
        self.lstm = layers.Bidirectional(layers.LSTM(units))
        self.dropout = layers.Dropout(dropout)
        self.classifier = layers.Dense(num_labels, activation="softmax")

    @staticmethod
    def new_embedding(vocabulary_size, dim=12):
        return layers.Embedding(vocabulary_size, dim)

    def call(self, windows, training=False):
        hidden = self.lstm(self.embedding(windows))
        return self.classifier(self.dropout(hidden, training=training))

    def compile(self):
        super().compile(optimizer=keras.optimizers.Adam(0.01), loss="categorical_crossentropy", metrics=["accuracy"])


if __name__ == "__main__":
    window = 2
    dropout = 0.3
    units = 12
    epochs = 3

    index = {word: i for i, word in enumerate([PAD] + WORDS + PEOPLE + PLACES)}
    x_train, y_train = windows(90, index, window)
    x_test, y_test = windows(25, index, window)

    num_labels = len(LABELS)
    embedding = Tagger.new_embedding(len(index))
    model = Tagger(embedding, units, num_labels, dropout)

    # one column for each label
    y_train = keras.utils.to_categorical(y_train, num_labels)
    y_test = keras.utils.to_categorical(y_test, num_labels)

    # a few rounds are enough for so few words
    model.fit(x_train, y_train, epochs=epochs, batch_size=40, verbose=0)
    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    print("loss %.3f, %.1f %% of the words labelled as they should be" % (loss, 100 * accuracy))
