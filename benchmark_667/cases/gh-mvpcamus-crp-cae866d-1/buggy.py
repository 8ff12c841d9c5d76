import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class FullConnected(object):
    """Linear layer: shape is [input size, output size]."""

    def __init__(self, x, shape):
        self.x = x
        self.w = tf.Variable(tf.truncated_normal(shape, stddev=1.0 / np.sqrt(shape[0])), name='w')
        self.b = tf.Variable(tf.constant(0.1, shape=[shape[1]]), name='b')

    def output(self):
        return tf.matmul(self.x, self.w) + self.b


class BNormal(object):
    """Batch normalization with a moving average for the evaluation."""

    def __init__(self, x, shape, train):
        self.x, self.train = x, train
        self.beta = tf.Variable(tf.constant(0.0, shape=shape), name='beta')
        self.gamma = tf.Variable(tf.constant(1.0, shape=shape), name='gamma')

    def output(self):
        batch_mean, batch_var = tf.nn.moments(self.x, [0])
        ema = tf.train.ExponentialMovingAverage(decay=0.9)

        def with_update():
            with tf.control_dependencies([ema.apply([batch_mean, batch_var])]):
                return tf.identity(batch_mean), tf.identity(batch_var)

        mean, var = tf.cond(self.train, with_update, lambda: (ema.average(batch_mean), ema.average(batch_var)))
        return tf.nn.batch_normalization(self.x, mean, var, self.beta, self.gamma, 1e-3)


def readings(n):
    """Credit records: income, debt, age, ... in their own units; a loan is good or bad."""
    x = np.random.randn(n, 12)
    score = x[:, 0] - 0.8 * x[:, 1] + 0.6 * x[:, 2] * x[:, 3] + 0.4 * np.abs(x[:, 4])
    y = np.eye(2)[(score > 0.3).astype(int)]
    return (x * 3.0 + 5.0).astype('float32'), y.astype('float32')


BATCH_SIZE, MAX_STEPS = 50, 400
x_train, y_train = readings(2000)
x_test, y_test = readings(500)

x = tf.placeholder(tf.float32, [None, 12])
y = tf.placeholder(tf.float32, [None, 2])
train_phase = tf.placeholder(tf.bool)

with tf.variable_scope('hidden1'):
    h1 = FullConnected(x, [12, 40]).output()
    bn1 = BNormal(h1, [40], train_phase)
    h1_br = bn1.output()
    h1_out = tf.nn.relu(h1_br)

with tf.variable_scope('hidden2'):
    h2 = FullConnected(h1_out, [40, 20]).output()
    bn2 = BNormal(h2, [20], train_phase)
    h2_br = bn2.output()
    h2_out = tf.nn.relu(h2)

with tf.variable_scope('output'):
    out = FullConnected(h2_out, [20, 2]).output()

cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=out))
step = tf.train.AdamOptimizer(0.005).minimize(cost)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(out, 1), tf.argmax(y, 1)), tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(MAX_STEPS):
        rows = np.random.choice(len(x_train), BATCH_SIZE)
        sess.run(step, {x: x_train[rows], y: y_train[rows], train_phase: True})
        if i % 100 == 0:
            print('step', i, 'cost', sess.run(cost, {x: x_train, y: y_train, train_phase: False}))

    print('test accuracy %.3f' % sess.run(accuracy, {x: x_test, y: y_test, train_phase: False}))
    for name, bn in (('hidden1', bn1), ('hidden2', bn2)):
        gamma = sess.run(bn.gamma)
        print('%s gamma: mean %.4f spread %.5f' % (name, gamma.mean(), gamma.std()))
