"""Which sentences of a trial report say why it is at risk of bias? A convolutional network over their words."""
import random

import numpy as np
from keras.layers import Concatenate, Conv1D, Dense, Dropout, Embedding, GlobalMaxPooling1D, Input
from keras.models import Model

TELLING = ["randomly", "blinded", "allocation", "envelopes", "placebo", "concealed"]
FILLER = "the of a in with was were patients weeks mean dose group treatment score baseline after daily two".split()


class Preprocessor:
    def __init__(self, max_features, max_sent_len, embedding_dims=16):
        self.max_features = max_features
        self.max_sent_len = max_sent_len
        self.embedding_dims = embedding_dims
        self.word_to_index = {}

    def preprocess(self, sentences):
        counts = {}
        for sentence in sentences:
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
        frequent = sorted(counts, key=counts.get, reverse=True)[: self.max_features]
        self.word_to_index = {word: index for index, word in enumerate(frequent)}

    def build_sequences(self, sentences):
        # short sentences are filled up with a token of their own
        sequences = np.full((len(sentences), self.max_sent_len), self.max_features, dtype="int32")
        for row, sentence in enumerate(sentences):
            known = [self.word_to_index[word] for word in sentence if word in self.word_to_index]
            sequences[row, : len(known)] = known[: self.max_sent_len]
        return sequences


class RationaleCNN:
    def __init__(self, preprocessor, filters=(1, 2, 3), n_filters=12):
        self.preprocessor = preprocessor
        self.ngram_filters = filters
        self.n_filters = n_filters

    def build_sentence_model(self):
        p = self.preprocessor
        tokens_input = Input(name="input", shape=(p.max_sent_len,), dtype="int32")
        x = Embedding(p.max_features, p.embedding_dims, name="embedding")(tokens_input)
        x = Dropout(0.1)(x)
        convolutions = []
        for n_gram in self.ngram_filters:
            cur_conv = Conv1D(self.n_filters, n_gram, activation="relu")(x)
            convolutions.append(GlobalMaxPooling1D()(cur_conv))
        sent_vector = Concatenate(name="sentence_vector")(convolutions)
        output = Dense(1, activation="sigmoid")(sent_vector)
        self.sentence_model = Model(tokens_input, output)
        self.sentence_model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
        return self.sentence_model


def read_sentences(n):
    sentences, rationale = [], []
    for _ in range(n):
        words = random.choices(FILLER, k=random.randint(5, 12))
        rationale.append(random.random() < 0.5)
        if rationale[-1]:
            words[random.randrange(len(words))] = random.choice(TELLING)
        sentences.append(words)
    return sentences, np.array(rationale, dtype="float32")


if __name__ == "__main__":
    sentences, rationale = read_sentences(500)
    p = Preprocessor(max_features=30, max_sent_len=12)
    p.preprocess(sentences[:400])
    X = p.build_sequences(sentences)
    model = RationaleCNN(p).build_sentence_model()
    model.fit(X[:400], rationale[:400], batch_size=25, epochs=10, verbose=2)
    print("held-out loss and accuracy:", model.evaluate(X[400:], rationale[400:], verbose=0))
