"""Reviews as matrices of sentences: a sentence model for rationales, then a document model on its embedding."""
import keras
import numpy as np
from keras import layers, ops

GOOD = "excellent careful blinded randomised".split()
BAD = "unclear retrospective missing uncontrolled".split()
OTHER = "the a patients were study in of and trial dose arm group we with".split()


class Preprocessor:
    def __init__(self, max_features, max_sent_len, max_doc_len, embedding_dims=12):
        self.max_features = max_features
        self.max_sent_len = max_sent_len
        self.max_doc_len = max_doc_len
        self.embedding_dims = embedding_dims
        self.index = {word: i for i, word in enumerate((GOOD + BAD + OTHER)[:max_features])}

    @property
    def padding(self):
        # the token after the vocabulary
        return self.max_features

    def build_sequence(self, words):
        tokens = [self.index[word] for word in words if word in self.index][:self.max_sent_len]
        return tokens + [self.padding] * (self.max_sent_len - len(tokens))

    def build_document(self, sentences):
        rows = [self.build_sequence(words) for words in sentences][:self.max_doc_len]
        return rows + [[self.padding] * self.max_sent_len] * (self.max_doc_len - len(rows))


def simulate_documents(count):
    documents, doc_labels, sentence_labels = [], [], []
    for _ in range(count):
        label = np.random.randint(2)
        sentences, rationales = [], []
        for _ in range(np.random.randint(3, 7)):
            words = list(np.random.choice(OTHER, size=np.random.randint(3, 7)))
            is_rationale = np.random.rand() < 0.4
            if is_rationale:
                words.insert(1, np.random.choice(GOOD if label else BAD))
            sentences.append(words)
            rationales.append(float(is_rationale))
        documents.append(sentences)
        doc_labels.append(float(label))
        sentence_labels.append(rationales)
    return documents, np.array(doc_labels), sentence_labels


def build_sentence_model(p):
    tokens = keras.Input((p.max_sent_len,), dtype="int32")
    x = layers.Embedding(p.max_features + 1, p.embedding_dims, name="embedding")(tokens)
    x = layers.Conv1D(16, 2, activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    model = keras.Model(tokens, layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    return model


def build_doc_model(p, sentence_model):
    tokens = keras.Input((p.max_doc_len, p.max_sent_len), dtype="int32")
    flat = layers.Reshape((p.max_doc_len * p.max_sent_len,))(tokens)
    x = layers.Embedding(p.max_features, p.embedding_dims,
                         weights=sentence_model.get_layer("embedding").get_weights(),
                         name="doc_embedding")(flat)
    x = layers.Reshape((p.max_doc_len, p.max_sent_len * p.embedding_dims))(x)
    x = layers.TimeDistributed(layers.Dense(16, activation="relu"))(x)
    x = layers.Lambda(lambda h: ops.sum(h, axis=1), output_shape=(16,))(x)
    model = keras.Model(tokens, layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    return model


p = Preprocessor(max_features=len(GOOD + BAD + OTHER), max_sent_len=8, max_doc_len=6)
documents, y_doc, y_sentences = simulate_documents(300)

X_sentences = np.array([p.build_sequence(words) for sentences in documents for words in sentences])
y_flat = np.array([label for rationales in y_sentences for label in rationales])
sentence_model = build_sentence_model(p)
sentence_model.fit(X_sentences, y_flat, epochs=2, batch_size=64, verbose=0)

X_doc = np.array([p.build_document(sentences) for sentences in documents])
doc_model = build_doc_model(p, sentence_model)
history = doc_model.fit(X_doc[:240], y_doc[:240], epochs=6, batch_size=24, verbose=0)
print("documents: train accuracy %.3f" % history.history["accuracy"][-1])
print("documents: test accuracy %.3f" % doc_model.evaluate(X_doc[240:], y_doc[240:], verbose=0)[1])
