import itertools
import random

import numpy as np
from keras.layers import LSTM, Dense, Dropout, Embedding, Input, TimeDistributed
from keras.models import Model
from keras.optimizers import Adam

NOUNS = {"dog": "animal", "cat": "animal", "horse": "animal", "car": "thing", "cup": "thing", "lamp": "thing"}
VERBS = {"sees": "present", "likes": "present", "saw": "past", "liked": "past"}
SMALL = ["the", "a", "some", "old", "red"]


class DataProcessor(object):
    """Numbers words and their labels, 0 is the padding."""

    def __init__(self):
        words = itertools.chain(NOUNS, VERBS, SMALL)
        self.word_index = {word: i for i, word in enumerate(words, start=1)}
        self.sense_index = {"none": 0, "animal": 1, "thing": 2}
        self.tense_index = {"none": 0, "present": 1, "past": 2}

    def sentence(self):
        phrase = lambda: random.sample(SMALL, random.randint(1, 2)) + [random.choice(list(NOUNS))]
        return phrase() + [random.choice(list(VERBS))] + phrase()

    def prepare(self, num_sentences, length):
        X = np.zeros((num_sentences, length), dtype="int32")
        senses = np.zeros((num_sentences, length), dtype="int32")
        tenses = np.zeros((num_sentences, length), dtype="int32")
        for row in range(num_sentences):
            for col, word in enumerate(self.sentence()):
                X[row, col] = self.word_index[word]
                senses[row, col] = self.sense_index[NOUNS.get(word, "none")]
                tenses[row, col] = self.tense_index[VERBS.get(word, "none")]
        return X, senses, tenses


class SentenceModel(object):
    def __init__(self, word_dim=16):
        self.dp = DataProcessor()
        self.word_dim = word_dim
        self.model = None

    def train(self, num_sentences=300, length=8, lstm_outdim=24, num_epochs=4):
        X, senses, tenses = self.dp.prepare(num_sentences, length)
        sent = Input(shape=X.shape[1:], dtype="int32", name="sentence")
        sent_rep = Embedding(len(self.dp.word_index) + 1, self.word_dim, name="embedding")(sent)
        reg_sent_rep = Dropout(0.2)(sent_rep)
        lstm_out = LSTM(lstm_outdim, return_sequences=True, name="sent_lstm")(reg_sent_rep)
        softmax_1 = TimeDistributed(Dense(len(self.dp.sense_index), activation="softmax"), name="sense")(lstm_out)
        softmax_2 = TimeDistributed(Dense(len(self.dp.tense_index), activation="softmax")(lstm_out), name="tense")

        model = Model(inputs=sent, outputs=[softmax_1, softmax_2])
        model.summary()
        losses = ["sparse_categorical_crossentropy"] * 2
        model.compile(loss=losses, optimizer=Adam(0.01), metrics=[["accuracy"], ["accuracy"]])
        model.fit(X, [senses, tenses], batch_size=20, epochs=num_epochs, verbose=2)
        self.model = model

    def label(self, words):
        numbers = np.array([[self.dp.word_index[word] for word in words]])
        senses, tenses = self.model.predict(numbers, verbose=0)
        return senses[0].argmax(-1), tenses[0].argmax(-1)


if __name__ == "__main__":
    sm = SentenceModel()
    sm.train()
    words = "the old dog saw some old red cup".split()
    print(list(zip(words, *sm.label(words))))
