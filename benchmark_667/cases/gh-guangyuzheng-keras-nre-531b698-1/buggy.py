"""Relation extraction: a GRU over the words of a sentence, with attention; trained, kept, and used again for testing."""
import os
import tempfile

import numpy as np
from keras import layers, ops
from keras.models import Model, load_model

VOCAB, LENGTH, POSITIONS = 40, 10, 20
RELATIONS = ["none", "born_in", "works_for"]
TRIGGER = {1: 7, 2: 11}


class WordAttention(layers.Layer):
    """Weighs the words of a sentence by what a learned query finds in them."""

    def build(self, shape):
        self.query = self.add_weight(shape=(shape[-1], 1), initializer="glorot_uniform", name="query")
        self.built = True

    def call(self, words):
        weights = ops.softmax(ops.matmul(ops.tanh(words), self.query), axis=1)
        return ops.sum(weights * words, axis=1)

    def compute_output_shape(self, shape):
        return (shape[0], shape[-1])


class AttentiveGRU:
    def __init__(self, gru_size=16):
        self.gru_size = gru_size

    def model(self):
        words = layers.Input((LENGTH,), dtype="int32")
        positions = layers.Input((LENGTH,), dtype="int32")
        embedded = layers.concatenate([
            layers.Embedding(VOCAB, 12)(words),
            layers.Embedding(POSITIONS, 4)(positions),
        ])
        states = layers.GRU(self.gru_size, return_sequences=True)(embedded)
        sentence = WordAttention(name="word_attention")(states)
        relation = layers.Dense(len(RELATIONS), activation="softmax")(sentence)
        return Model([words, positions], relation)


def sentences(n):
    relation = np.random.randint(len(RELATIONS), size=n)
    words = np.random.randint(12, VOCAB, size=(n, LENGTH))
    entity = np.random.randint(1, LENGTH - 1, size=n)
    for row in range(n):
        if relation[row]:
            words[row, entity[row] + 1] = TRIGGER[relation[row]]
    positions = np.arange(LENGTH)[None, :] - entity[:, None] + LENGTH
    return [words, positions], np.eye(len(RELATIONS))[relation]


def train(folder):
    model = AttentiveGRU().model()
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    inputs, relations = sentences(400)
    print("begin training:")
    model.fit(inputs, relations, epochs=4, batch_size=20, verbose=2)
    path = os.path.join(folder, "my_model.keras")
    model.save(path)
    print("have saved model to " + os.path.basename(path))
    return path


def test(path):
    model = load_model(path)
    inputs, relations = sentences(100)
    guessed = model.predict(inputs, verbose=0).argmax(axis=1)
    print("accuracy: %.3f" % np.mean(guessed == relations.argmax(axis=1)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        test(train(folder))
