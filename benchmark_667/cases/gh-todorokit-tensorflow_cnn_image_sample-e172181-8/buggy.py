"""Denoising of short sensor signals with 1-d convolutions, in the precision of the configuration."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class Config(object):
    floatSize = tf.float64
    length = 48
    filters = (12, 12)
    steps = 150


def weight_variable(shape, name):
    fan_in = int(np.prod(shape[:-1]))
    initial = tf.truncated_normal(shape, stddev=np.sqrt(2.0 / fan_in), dtype=Config.floatSize)
    return tf.Variable(initial, name=name)


def conv_layer(x, filters, name):
    with tf.name_scope(name):
        w = weight_variable([5, int(x.shape[-1]), filters], "w")
        return tf.nn.conv1d(x, w, stride=1, padding="SAME")


def batch_normalization(x, phase_train):
    """Normalizes over the batch and the time, with moving averages for the evaluation."""
    shape = x.get_shape().as_list()
    with tf.name_scope("bn"):
        n_out = shape[-1]
        beta = tf.Variable(tf.zeros([n_out]))
        gamma = tf.Variable(tf.ones([n_out], dtype=Config.floatSize))

        batch_mean, batch_var = tf.nn.moments(x, list(range(len(shape) - 1)))
        ema = tf.train.ExponentialMovingAverage(decay=0.9)

        def mean_var_with_update():
            ema_apply_op = ema.apply([batch_mean, batch_var])
            with tf.control_dependencies([ema_apply_op]):
                return tf.identity(batch_mean), tf.identity(batch_var)

        mean, var = tf.cond(
            phase_train, mean_var_with_update, lambda: (ema.average(batch_mean), ema.average(batch_var))
        )
        return tf.nn.batch_normalization(x, mean, var, beta, gamma, 1e-3)


def denoiser(signal, phase_train):
    h = signal
    for number, filters in enumerate(Config.filters):
        h = conv_layer(h, filters, "conv%d" % number)
        h = tf.nn.relu(batch_normalization(h, phase_train))
    return conv_layer(h, 1, "out")


def signals(n):
    t = np.linspace(0, 1, Config.length)
    clean = np.zeros((n, Config.length, 1))
    for row in clean:
        for _ in range(2):
            row[:, 0] += np.random.uniform(0.3, 1) * np.sin(2 * np.pi * (np.random.uniform(1, 4) * t + np.random.rand()))
    return clean + np.random.normal(0, 0.4, clean.shape), clean


noisy_ph = tf.placeholder(Config.floatSize, [None, Config.length, 1])
clean_ph = tf.placeholder(Config.floatSize, [None, Config.length, 1])
phase = tf.placeholder(tf.bool, name="phase_train")

restored = denoiser(noisy_ph, phase)
error = tf.reduce_mean(tf.square(restored - clean_ph))
train_op = tf.train.AdamOptimizer(5e-3).minimize(error)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(Config.steps):
        noisy, clean = signals(32)
        sess.run(train_op, {noisy_ph: noisy, clean_ph: clean, phase: True})
    noisy, clean = signals(200)
    left = sess.run(error, {noisy_ph: noisy, clean_ph: clean, phase: False})
    print("noise before: %.4f, left: %.4f" % (np.mean((noisy - clean) ** 2), left))
