"""Newsgroup-style topic classification of short posts with a bag-of-words network."""
import numpy as np
from keras import layers, models
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import LabelEncoder

rng = np.random.default_rng(np.random.randint(10000))

TOPICS = {
    "hockey": "goal puck ice team playoff coach penalty season stick",
    "space": "orbit launch rocket moon shuttle nasa probe fuel solar",
    "graphics": "pixel render polygon shader jpeg viewer format texture bitmap",
    "medicine": "doctor patient dose vaccine treatment blood infection clinic pain",
}
COMMON = "the a of is was think anyone know about really question thanks posted article reply".split()


def write_post(topic):
    own = TOPICS[topic].split()
    body = list(rng.choice(own, 4)) + list(rng.choice(COMMON, 8))
    if rng.random() < 0.5:
        other = rng.choice([t for t in TOPICS if t != topic])
        body.append(rng.choice(TOPICS[other].split()))
    rng.shuffle(body)
    return " ".join(body)


def build_model(n_terms, n_topics):
    model = models.Sequential(name="bow")
    model.add(layers.Input(shape=(n_terms,)))
    model.add(layers.Dense(20, activation="relu", kernel_regularizer="l2"))
    model.add(layers.Dropout(0.3))
    model.add(layers.Dense(n_topics, activation="softmax"))
    model.compile(loss="sparse_categorical_crossentropy", optimizer="nadam", metrics=["accuracy"])
    return model


def minibatches(matrix, order, size=50):
    for start in range(0, len(order), size):
        rows = order[start:start + size]
        yield matrix[rows], rows


topics = rng.choice(sorted(TOPICS), 700)
posts = [write_post(topic) for topic in topics]

encoder = LabelEncoder()
y = encoder.fit_transform(topics)

vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
X_train = vectorizer.fit_transform(posts[:550])
X_test = vectorizer.transform(posts[550:])
print("vocabulary:", X_train.shape[1], "terms,", X_train.nnz, "entries")

model = build_model(X_train.shape[1], len(encoder.classes_))
for round_ in range(10):
    losses = []
    for batch, rows in minibatches(X_train, rng.permutation(X_train.shape[0])):
        loss, _ = model.train_on_batch(batch, y[rows])
        losses.append(float(loss))
print("mean loss of the last round: %.3f" % np.mean(losses))

y_test = y[550:]
guess = np.concatenate([
    model.predict_on_batch(batch).argmax(axis=1)
    for batch, _ in minibatches(X_test, np.arange(len(y_test)))
])
for code, name in enumerate(encoder.classes_):
    print("%-10s recall %.2f" % (name, np.mean(guess[y_test == code] == code)))
