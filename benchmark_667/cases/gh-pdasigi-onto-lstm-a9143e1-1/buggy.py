import argparse
import random
import sys

import numpy as np
from keras.layers import LSTM, Dense, Dropout, Embedding, Input, TimeDistributed
from keras.models import Model

NOUNS = [("dog", "dogs"), ("cat", "cats"), ("bird", "birds"), ("house", "houses")]
VERBS = [("sees", "see"), ("likes", "like"), ("finds", "find")]
DETERMINERS = [("this", "these"), ("the", "the")]
PARTS = {"det": 0, "noun": 1, "verb": 2}


class DataProcessor(object):
    """Turns sentences of the form determiner, noun, verb, determiner, noun into numbers."""

    def __init__(self):
        words = sorted({word for group in (NOUNS, VERBS, DETERMINERS) for pair in group for word in pair})
        self.word_index = {word: i for i, word in enumerate(words)}

    def sentence(self):
        subject, other = random.randint(0, 1), random.randint(0, 1)
        chosen = [(DETERMINERS, "det", subject), (NOUNS, "noun", subject), (VERBS, "verb", subject),
                  (DETERMINERS, "det", other), (NOUNS, "noun", other)]
        return [(random.choice(group)[number], PARTS[part], number) for group, part, number in chosen]

    def prepare(self, count):
        sentences = [self.sentence() for _ in range(count)]
        X = np.array([[self.word_index[word] for word, _, _ in s] for s in sentences])
        parts = np.array([[part for _, part, _ in s] for s in sentences])
        numbers = np.array([[number for _, _, number in s] for s in sentences])
        return X, np.eye(3)[parts], np.eye(2)[numbers]


class SentenceModel(object):

    def __init__(self, word_dim=12, lstm_outdim=16):
        self.dp = DataProcessor()
        self.word_dim = word_dim
        self.lstm_outdim = lstm_outdim

    def build(self, length):
        input = Input(shape=(length,), name="sentence")
        sent_rep = Embedding(len(self.dp.word_index), self.word_dim, name="embedding")(input)
        reg_sent_rep = Dropout(0.2)(sent_rep)
        lstm_out = LSTM(self.lstm_outdim, return_sequences=True, name="sent_lstm")(reg_sent_rep)
        softmax_1 = TimeDistributed(Dense(3, activation="softmax")(lstm_out))
        softmax_2 = TimeDistributed(Dense(2, activation="softmax")(lstm_out))
        return Model(inputs=input, outputs=[softmax_1, softmax_2])

    def train(self, sentences, epochs):
        X, Y_parts, Y_numbers = self.dp.prepare(sentences)
        model = self.build(X.shape[1])
        model.compile(loss="categorical_crossentropy", optimizer="adam")
        for epoch in range(epochs):
            history = model.fit(X, [Y_parts, Y_numbers], batch_size=25, verbose=0)
            print("Epoch %d, loss %.4f" % (epoch + 1, history.history["loss"][0]), file=sys.stdout)
        return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a tagger")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()
    sm = SentenceModel()
    tagger = sm.train(args.sentences, args.epochs)
    X, parts, numbers = sm.dp.prepare(100)
    found_parts, found_numbers = tagger.predict(X, verbose=0)
    print("parts of speech: %.3f" % np.mean(found_parts.argmax(-1) == parts.argmax(-1)))
    print("numbers: %.3f" % np.mean(found_numbers.argmax(-1) == numbers.argmax(-1)))
