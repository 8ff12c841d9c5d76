import unittest
from os.path import join
from tempfile import TemporaryDirectory

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()


class SavableNetwork(object):
    """A network of one hidden layer that can be written to disk and come back."""

    def __init__(self, geometry=(4, 8, 2)):
        n_in, n_hidden, n_out = geometry
        self.input = tf.compat.v1.placeholder(tf.float32, [None, n_in])
        self.labels = tf.compat.v1.placeholder(tf.int32, [None])
        hidden = tf.nn.tanh(self._layer(self.input, n_in, n_hidden, 'hidden'))
        self.output = self._layer(hidden, n_hidden, n_out, 'output')
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=self.labels, logits=self.output))
        self.train_op = tf.compat.v1.train.GradientDescentOptimizer(0.5).minimize(self.loss)
        self.saver = tf.compat.v1.train.Saver()

    @staticmethod
    def _layer(x, n_in, n_out, name):
        with tf.compat.v1.variable_scope(name):
            weights = tf.compat.v1.get_variable('weights', [n_in, n_out])
            biases = tf.compat.v1.get_variable('biases', [n_out], initializer=tf.compat.v1.zeros_initializer())
        return tf.matmul(x, weights) + biases


def create_train_data_set(count=200):
    x = np.random.normal(size=(count, 4))
    return x, (x[:, 0] * x[:, 1] > 0).astype(np.int32)


def train_neural_network(network, session, data, steps=150):
    x, y = data
    session.run(tf.compat.v1.global_variables_initializer())
    for step in range(steps):
        _, loss = session.run([network.train_op, network.loss], {network.input: x, network.labels: y})
    print('loss after {} steps: {:.4f}'.format(steps, loss))


class SaveAndRestoreTest(unittest.TestCase):

    def setUp(self):
        tf.compat.v1.reset_default_graph()
        self.variables = {}

    def test_restored_network_is_the_trained_one(self):
        network = SavableNetwork()
        with TemporaryDirectory() as folder:
            with tf.compat.v1.Session() as session:
                train_neural_network(network, session, create_train_data_set())
                for v in tf.all_variables():
                    self.variables[v.op.name] = session.run(v)
                savefile = network.saver.save(session, join(folder, 'network'))

            with tf.compat.v1.Session() as session:
                network.saver.restore(session, savefile)
                for v in tf.compat.v1.trainable_variables():
                    self.assertTrue(np.array_equal(session.run(v), self.variables[v.op.name]))
        print('{} variables restored'.format(len(self.variables)))


if __name__ == '__main__':
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(SaveAndRestoreTest)
    suite.debug()
