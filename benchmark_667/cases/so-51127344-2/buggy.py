"""A text classifier behind a small service: trained in the main thread, asked from worker threads."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

VOCABULARY = ["refund", "late", "parcel", "great", "thanks", "love", "missing", "quick", "damaged", "friendly"]
COMPLAINTS = {"refund", "late", "missing", "damaged"}
_sessions = {}


def get_session():
    """One session for each graph, made and initialized when it is first needed."""
    graph = tf1.get_default_graph()
    if graph not in _sessions:
        _sessions[graph] = tf1.Session(graph=graph)
        _sessions[graph].run(tf1.global_variables_initializer())
    return _sessions[graph]


def vectorize(texts):
    return np.array([[float(word in text.split()) for word in VOCABULARY] for text in texts], dtype=np.float32)


class TextModel:
    def __init__(self, units=8):
        self.features = tf1.placeholder(tf.float32, [None, len(VOCABULARY)], name="features")
        self.target = tf1.placeholder(tf.float32, [None, 1], name="target")
        hidden_w = tf1.get_variable("hidden_w", [len(VOCABULARY), units])
        hidden_b = tf1.get_variable("hidden_b", [units], initializer=tf1.zeros_initializer())
        out_w = tf1.get_variable("out_w", [units, 1])
        hidden = tf.nn.relu(tf.matmul(self.features, hidden_w) + hidden_b)
        logits = tf.matmul(hidden, out_w)
        self.probability = tf.sigmoid(logits, name="probability")
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=self.target, logits=logits)
        self.train_op = tf1.train.AdamOptimizer(0.02).minimize(tf.reduce_mean(loss))

    def fit(self, texts, target, steps=200):
        feed = {self.features: vectorize(texts), self.target: target}
        for _ in range(steps):
            get_session().run(self.train_op, feed)

    def predict(self, texts):
        return get_session().run(self.probability, {self.features: vectorize(texts)})


def make_corpus(count):
    texts = [" ".join(np.random.choice(VOCABULARY, size=4, replace=False)) for _ in range(count)]
    target = [[float(len(COMPLAINTS & set(text.split())) >= 2)] for text in texts]
    return texts, np.array(target, dtype=np.float32)


texts, target = make_corpus(300)
model = TextModel()
model.fit(texts, target)


def answer(request):
    score = float(model.predict([request["text"]])[0, 0])
    return {"id": request["id"], "complaint": round(score, 3)}


requests = [
    {"id": 1, "text": "parcel late refund"},
    {"id": 2, "text": "great quick thanks"},
    {"id": 3, "text": "missing parcel damaged late"},
]
with ThreadPoolExecutor(max_workers=2) as pool:
    for reply in pool.map(answer, requests):
        print(reply)
