"""House prices from a table, by a residual network with weight decay kept in a collection."""
import logging

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("prices")


def weight_variable(shape, wd=None, name=None):
    """A weight with an optional decay, which is added to the collection of the regularizers."""
    initializer = tf.truncated_normal_initializer(stddev=1.0 / np.sqrt(shape[0]))
    log.info("Weight shape %s", shape)
    if wd is not None and wd > 0.0:
        reg = lambda x: tf.mul(tf.nn.l2_loss(x), wd)
        log.info("Weight decay %s", wd)
    else:
        reg = None
    return tf.get_variable(name, shape, initializer=initializer, regularizer=reg)


class ResidualRegressor:
    def __init__(self, num_inputs, width=24, num_blocks=2, wd=1e-3):
        self.wd = wd
        self.x = tf.placeholder(tf.float32, [None, num_inputs], "x")
        self.y = tf.placeholder(tf.float32, [None], "y")
        h = tf.nn.relu(self._linear(self.x, width, "input"))
        for block in range(num_blocks):
            with tf.variable_scope("block_%d" % block):
                h = h + self._linear(tf.nn.relu(self._linear(h, width, "first")), width, "second")
        self.prediction = self._linear(h, 1, "price")[:, 0]

        with tf.variable_scope("costs"):
            self.mse = tf.reduce_mean(tf.squared_difference(self.prediction, self.y))
            cost = self.mse + self._decay()
        self.train_op = tf.train.MomentumOptimizer(0.01, momentum=0.9).minimize(cost)

    def _linear(self, x, out_dim, scope):
        with tf.variable_scope(scope):
            w = weight_variable([int(x.shape[1]), out_dim], wd=self.wd, name="w")
            b = tf.get_variable("b", [out_dim], initializer=tf.zeros_initializer())
            return tf.matmul(x, w) + b

    def _decay(self):
        return tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))


def houses(count):
    area = np.random.uniform(40, 200, count)
    age = np.random.uniform(0, 80, count)
    distance = np.random.exponential(8, count)
    garden = np.random.binomial(1, 0.4, count)
    price = 2.2 * area - 0.8 * age - 6 * np.sqrt(distance) + 35 * garden * (area > 90)
    price += np.random.normal(0, 8, count)
    x = np.stack([area / 100, age / 40, distance / 10, garden], axis=1)
    return x.astype(np.float32), ((price - 250) / 100).astype(np.float32)


x_train, y_train = houses(800)
x_test, y_test = houses(200)
model = ResidualRegressor(x_train.shape[1])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(400):
        chosen = np.random.choice(len(x_train), 50, replace=False)
        sess.run(model.train_op, {model.x: x_train[chosen], model.y: y_train[chosen]})
        if (step + 1) % 100 == 0:
            log.info("step %d, test mse %.4f", step + 1, sess.run(model.mse, {model.x: x_test, model.y: y_test}))
