"""Codes for sequences of hierarchical symbols, like 'food.fruit.apple': leaves share the weight of what is above them."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

TREE = {
    "food": {"fruit": ["apple", "pear", "plum"], "bread": ["rye", "white"]},
    "home": {"kitchen": ["pan", "kettle"], "garden": ["spade", "hose", "seeds"]},
    "media": {"paper": ["novel", "comic"], "music": ["vinyl", "disc"]},
}


def paths(tree, above=()):
    found = [above]
    for name in tree:
        below = tree[name] if isinstance(tree, dict) else []
        found += paths(below, above + (name,))
    return found


class HierarchicalSequenceEncoder:
    def __init__(self, tree):
        self.nodes = sorted(paths(tree))
        self.index = {path: i for i, path in enumerate(self.nodes)}
        self.leaves = [i for i, p in enumerate(self.nodes) if not any(q[:-1] == p for q in self.nodes if q)]
        below = np.array([[q[:len(p)] == p and q != p for q in self.nodes] for p in self.nodes])
        to_leaves = np.array([[self._share(p, self.nodes[leaf]) for leaf in self.leaves] for p in self.nodes])
        self.graph = tf.Graph()
        with self.graph.as_default():
            self._create_graph(below.astype(np.float32), to_leaves.astype(np.float32))
        self.session = tf.Session(graph=self.graph)

    def _share(self, path, leaf):
        if leaf[:len(path)] != path:
            return 0.0
        share = 1.0
        for depth in range(len(path), len(leaf)):
            share /= sum(1 for q in self.nodes if len(q) == depth + 1 and q[:-1] == leaf[:depth])
        return share

    def _create_graph(self, below, to_leaves):
        descendants = tf.constant(below)
        transfer = tf.constant(to_leaves)
        self.seen = tf.placeholder(tf.float32, [None, len(self.nodes)])
        # a symbol counts only where nothing below it was seen as well
        covered = tf.matmult(self.seen, descendants, transpose_b=True, a_is_sparse=True, b_is_sparse=True)
        lowest = tf.cast(tf.logical_and(self.seen > 0, covered <= 0), tf.float32)
        weights = tf.matmul(lowest, transfer, a_is_sparse=True, b_is_sparse=True)
        self.code = tf.clip_by_value(weights, 0.0, 1.0)

    def encode(self, sequences):
        seen = np.zeros((len(sequences), len(self.nodes)), dtype=np.float32)
        for row, sequence in zip(seen, sequences):
            row[[self.index[symbol] for symbol in sequence]] = 1
        return self.session.run(self.code, {self.seen: seen})


def baskets(nodes, count):
    """Visitors look at symbols of all levels, mostly within the branch that they like."""
    sequences, liked = [], np.random.randint(0, len(TREE), count)
    for branch in liked:
        own = [p for p in nodes if p and p[0] == list(TREE)[branch]]
        pool = own if np.random.rand() < 0.9 else nodes[1:]
        chosen = np.random.choice(len(pool), 3)
        stray = nodes[np.random.randint(1, len(nodes))]
        sequences.append([pool[i] for i in chosen] + [stray])
    return sequences, liked


encoder = HierarchicalSequenceEncoder(TREE)
sequences, liked = baskets(encoder.nodes, 500)
codes = encoder.encode(sequences)

x = tf.placeholder(tf.float32, [None, codes.shape[1]])
y = tf.placeholder(tf.int32, [None])
hidden = tf.nn.tanh(tf.matmul(x, tf.Variable(tf.random_normal([codes.shape[1], 16], stddev=0.3))))
logits = tf.matmul(hidden, tf.Variable(tf.random_normal([16, len(TREE)], stddev=0.3)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
step = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(150):
        session.run(step, {x: codes[:400], y: liked[:400]})
    guess = session.run(logits, {x: codes[400:]}).argmax(1)
print("%d leaves, accuracy %.3f" % (codes.shape[1], np.mean(guess == liked[400:])))
