"""Bags of hierarchical codes (like "J45.1" below "J45" below "J") are spread over the leaves of their tree and
classified by a logistic layer on top of the encoder's graph."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class HierarchicalCode:
    """Codes are strings; the parent of a code is the code without its last letter."""

    def __init__(self, symbols):
        extended = {symbol[:k] for symbol in symbols for k in range(1, len(symbol) + 1)}
        self.i2s = dict(enumerate(sorted(extended)))
        self.s2i = {s: i for i, s in self.i2s.items()}
        self.i_leaves = [i for i, s in self.i2s.items() if not self._children(s)]
        self.T = np.array([[self._transfer(a, self.i2s[leaf]) for leaf in self.i_leaves] for a in self.s2i])

    def _children(self, code):
        return [s for s in self.s2i if s[:-1] == code]

    def _transfer(self, ancestor, leaf):
        """The share of an ancestor's mass that arrives at a leaf."""
        if not leaf.startswith(ancestor):
            return 0.0
        share = 1.0
        for k in range(len(ancestor), len(leaf)):
            share /= len(self._children(leaf[:k]))
        return share


class HierarchicalSequenceClassifier:
    def __init__(self, symbols, learning_rate=0.5, **kwargs):
        self._hc = HierarchicalCode(symbols)
        self._g = tf.Graph()
        self._create_graph(learning_rate)
        self._session = tf.session(graph=self._g, **kwargs)
        self._session.run(self._init)

    def _create_graph(self, learning_rate):
        nnodes, nleaves = self._hc.T.shape
        with self._g.as_default():
            self._x = tf.placeholder(tf.float32, (None, nnodes))
            self._y = tf.placeholder(tf.float32, (None, 1))
            to_leaves = tf.constant(self._hc.T, dtype=tf.float32)
            self._encoded = tf.clip_by_value(tf.matmul(self._x, to_leaves), 0.0, 1.0)

            weights = tf.get_variable("weights", (nleaves, 1), initializer=tf.zeros_initializer())
            bias = tf.get_variable("bias", (1,), initializer=tf.zeros_initializer())
            logits = tf.matmul(self._encoded, weights) + bias
            self._risk = tf.sigmoid(logits)
            self._loss = tf.losses.sigmoid_cross_entropy(self._y, logits)
            self._train = tf.train.AdagradOptimizer(learning_rate).minimize(self._loss)
            self._init = tf.global_variables_initializer()

    def _bags(self, sequences):
        bags = np.zeros((len(sequences), len(self._hc.s2i)), dtype=np.float32)
        for row, sequence in enumerate(sequences):
            bags[row, [self._hc.s2i[s] for s in sequence]] = 1.0
        return bags

    def fit(self, sequences, outcomes, steps=80):
        feed = {self._x: self._bags(sequences), self._y: np.reshape(outcomes, (-1, 1))}
        for step in range(steps):
            _, loss = self._session.run([self._train, self._loss], feed)
        return loss

    def predict(self, sequences):
        return self._session.run(self._risk, {self._x: self._bags(sequences)})[:, 0] > 0.5

    def close(self):
        self._session.close()


codes = ["J45", "J46", "J4", "I10", "I11", "I2", "E11", "E14", "E6", "E66"]
risky = {"J45", "I11", "E11", "E66"}


def patients(n):
    histories = [list(np.random.choice(codes, np.random.randint(1, 4), replace=False)) for _ in range(n)]
    return histories, np.array([len(risky.intersection(h)) >= 1 for h in histories], dtype=np.float32)


histories, outcomes = patients(300)
clf = HierarchicalSequenceClassifier(codes)
print("loss after training %.3f" % clf.fit(histories, outcomes))
new_histories, new_outcomes = patients(100)
print("accuracy %.3f" % np.mean(clf.predict(new_histories) == (new_outcomes > 0.5)))
clf.close()
