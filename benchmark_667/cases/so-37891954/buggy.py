# Sorts headlines by desk with a bag of embeddings, then tries it on a few new ones.
import random

import numpy as np
from keras.layers import Dense, Dropout, Embedding, GlobalAveragePooling1D
from keras.models import Sequential

desks = ["sport", "economy", "weather"]
phrases = {
    "sport": ["striker scores twice", "coach praises young keeper", "late goal wins the derby", "runner breaks record",
              "club signs midfielder", "referee shows red card"],
    "economy": ["central bank raises rates", "shares fall on export data", "inflation slows again", "tax cut for firms",
                "merger of two banks", "oil price climbs"],
    "weather": ["storm warning for the coast", "snow closes mountain pass", "heat wave hits the south", "heavy rain ahead",
                "fog delays flights", "mild and sunny weekend"],
}
fillers = ["today", "again", "this", "week", "report", "says", "after", "friday"]

max_len = 10


def sample_headlines(n):
    texts, labels = [], []
    for _ in range(n):
        label = random.randrange(len(desks))
        words = random.choice(phrases[desks[label]]).split()
        words += random.sample(fillers, random.randint(1, 3))
        random.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


class Tokenizer:
    def __init__(self):
        self.word_index = {}

    def fit_on_texts(self, texts):
        for text in texts:
            for word in text.lower().split():
                self.word_index.setdefault(word, len(self.word_index) + 1)

    def texts_to_sequences(self, texts):
        sequences = []
        for text in texts:
            ids = [self.word_index.get(word, 0) for word in text.lower().split()][:max_len]
            sequences.append([0] * (max_len - len(ids)) + ids)
        return sequences


texts, labels = sample_headlines(500)
tk = Tokenizer()
tk.fit_on_texts(texts)
X_train = np.array(tk.texts_to_sequences(texts))
y_train = np.array(labels)

model = Sequential()
model.add(Embedding(len(tk.word_index) + 1, 16))
model.add(GlobalAveragePooling1D())
model.add(Dense(16, activation="relu"))
model.add(Dropout(0.2))
model.add(Dense(len(desks), activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=10, batch_size=20, validation_split=0.1, verbose=2)

new_texts = [
    "Keeper signs for derby club",
    "Banks fear rising oil price",
    "Storm brings rain and snow to the coast",
]
prediction = model.predict(tk.texts_to_sequences(new_texts), verbose=0)
for text, row in zip(new_texts, prediction):
    print("%-45s %-8s %.2f" % (text, desks[int(row.argmax())], row.max()))
