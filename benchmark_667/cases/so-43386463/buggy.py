"""Rates support tickets as urgent or not: word order by a recurrent branch, word choice by an averaging branch."""
import numpy as np
from keras import Model, optimizers
from keras.layers import GRU, Concatenate, Dense, Embedding, GlobalAveragePooling1D, Input
from keras.utils import pad_sequences

MAX_WORDS = 12
URGENT = ["outage", "down", "breach", "losing", "immediately"]
CALM = ["invoice", "typo", "question", "someday", "newsletter"]
NEUTRAL = ["server", "customer", "account", "our", "please", "since", "monday", "page", "team", "about"]
INDEX = {word: i for i, word in enumerate(NEUTRAL + URGENT + CALM, start=1)}


class TicketSource:
    def __init__(self, share_urgent=0.5):
        self.share_urgent = share_urgent

    def ticket(self):
        urgent = np.random.rand() < self.share_urgent
        words = list(np.random.choice(URGENT if urgent else CALM, 2))
        words += list(np.random.choice(NEUTRAL, np.random.randint(3, 8)))
        if np.random.rand() < 0.2:
            words.append(np.random.choice(CALM if urgent else URGENT))
        np.random.shuffle(words)
        return [INDEX[w] for w in words], int(urgent)

    def load(self, count):
        tickets, urgency = zip(*(self.ticket() for _ in range(count)))
        return pad_sequences(tickets, maxlen=MAX_WORDS), np.array(urgency)


def urgency_model(vocabulary, width=12):
    words = Input((MAX_WORDS,), name="words")
    embedded = Embedding(vocabulary + 1, width, name="embedding")(words)
    order = GRU(10, name="order")(embedded)
    choice = GlobalAveragePooling1D(name="choice")
    both = Concatenate(name="both")([order, choice])
    hidden = Dense(12, activation="relu")(both)
    urgent = Dense(1, activation="sigmoid", name="urgent")(hidden)
    return Model(words, urgent)


if __name__ == "__main__":
    source = TicketSource()
    tickets, urgency = source.load(320)
    model = urgency_model(len(INDEX))
    model.compile(optimizers.Adam(0.02), "binary_crossentropy", metrics=["binary_accuracy"])
    model.fit(tickets, urgency, epochs=3, batch_size=32, verbose=0)
    tickets, urgency = source.load(160)
    loss, accuracy = model.evaluate(tickets, urgency, verbose=0)
    print("new tickets: loss %.3f, accuracy %.3f" % (loss, accuracy))
