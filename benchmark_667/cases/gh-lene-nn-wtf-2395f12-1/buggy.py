# Checks that a trained network can be taken out of one session and put back into another.
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()

GEOMETRY = (2, 12, 8, 2)


class NeuralNetworkGraph:
    """Fully connected network; every instance has a graph and a session of its own."""

    def __init__(self, geometry=GEOMETRY):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.inputs = tf.compat.v1.placeholder(tf.float32, [None, geometry[0]], name="inputs")
            self.labels = tf.compat.v1.placeholder(tf.int32, [None], name="labels")
            out = self.inputs
            for number, (n_in, n_out) in enumerate(zip(geometry[:-1], geometry[1:])):
                with tf.name_scope("layer_%d" % number):
                    init = tf.random.truncated_normal([n_in, n_out], stddev=1.0 / np.sqrt(n_in))
                    weights = tf.compat.v1.Variable(init, name="weights")
                    biases = tf.compat.v1.Variable(tf.fill([n_out], 0.01), name="biases")
                    out = tf.matmul(out, weights) + biases
                    if number < len(geometry) - 2:
                        out = tf.nn.relu(out)
            self.logits = out
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=out)
            self.loss = tf.reduce_mean(entropy)
            self.train_op = tf.compat.v1.train.GradientDescentOptimizer(0.5).minimize(self.loss)
            self.init_op = tf.compat.v1.global_variables_initializer()
        self.session = tf.compat.v1.Session(graph=self.graph)
        self.session.run(self.init_op)

    def variables(self):
        with self.graph.as_default():
            return {v.op.name: v for v in tf.all_variables()}

    def train(self, x, y, steps):
        for _ in range(steps):
            loss, _ = self.session.run([self.loss, self.train_op], {self.inputs: x, self.labels: y})
        return loss

    def predict(self, x):
        return self.session.run(self.logits, {self.inputs: x}).argmax(axis=1)

    def save(self):
        return {name: self.session.run(v) for name, v in self.variables().items()}

    def restore(self, values):
        for name, v in self.variables().items():
            v.load(values[name], self.session)


def create_train_data_set(count=200):
    x = np.random.uniform(-1, 1, size=(count, 2)).astype(np.float32)
    return x, (x[:, 0] * x[:, 1] > 0).astype(np.int32)


x, y = create_train_data_set()
trained = NeuralNetworkGraph()
print("loss after training %.4f" % trained.train(x, y, steps=400))
saved = trained.save()

restored = NeuralNetworkGraph()
changed = sum(not np.array_equal(value, saved[name]) for name, value in restored.save().items())
print("variables that differ before restoring:", changed)
restored.restore(saved)
same = (restored.predict(x) == trained.predict(x)).mean()
print("predictions that agree after restoring: %.2f" % same)
