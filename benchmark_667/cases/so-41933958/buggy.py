"""Next-word model over short announcements: the target is the input shifted by one word."""
import random

import numpy as np
from keras import Sequential
from keras.layers import LSTM, Dense, Dropout, Embedding
from keras.utils import pad_sequences

cities = ["bergen", "oslo", "voss", "geilo", "hamar", "drammen"]
kinds = ["express", "regional", "night"]
states = ["delayed", "cancelled", "boarding", "arriving"]


def announcement():
    kind, start, goal = random.choice(kinds), *random.sample(cities, 2)
    words = f"the {kind} train from {start} to {goal} is now {random.choice(states)}"
    if random.random() < 0.4:
        words += f" at platform {random.choice(['one', 'two', 'three'])}"
    return words.split()


corpus = [announcement() for _ in range(400)]

# number the words by frequency, the most frequent word gets 1
counts = {}
for sentence in corpus:
    for word in sentence:
        counts[word] = counts.get(word, 0) + 1
word_index = {w: i for i, w in enumerate(sorted(counts, key=lambda w: (-counts[w], w)), start=1)}

sequences = [[word_index[w] for w in sentence] for sentence in corpus]
shifted = [s[1:] for s in sequences]

max_len = max(len(s) for s in sequences)
max_features = len(word_index)
X = pad_sequences(sequences, maxlen=max_len, padding="post")
Y = pad_sequences(shifted, maxlen=max_len, padding="post")
print("words:", len(word_index), "longest:", max_len)

model = Sequential(
    [
        Embedding(max_features, 24),
        LSTM(48, return_sequences=True),
        Dropout(0.2),
        Dense(max_features, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
model.fit(X, Y[..., np.newaxis], batch_size=32, epochs=4, validation_split=0.1, verbose=2)

probabilities = model.predict(X[:1], verbose=0)[0]
print("guess:", probabilities.argmax(axis=-1)[: len(sequences[0])])
