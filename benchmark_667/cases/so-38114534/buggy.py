"""Tells three kinds of heartbeat apart with one convolution over time."""
import numpy as np
import tensorflow as tf

LENGTH, LEADS, KINDS = 60, 2, 3
WIDTH, FILTERS = 7, 10


def heartbeats(n):
    kind = np.random.randint(KINDS, size=n)
    t = np.arange(LENGTH)
    signal = 0.1 * np.random.randn(n, LENGTH, LEADS)
    for k in range(n):
        peak = np.random.randint(15, 45)
        width = (1.5, 3.0, 1.5)[kind[k]]
        wave = np.exp(-0.5 * ((t - peak) / width) ** 2)
        if kind[k] == 2:
            wave -= 0.8 * np.exp(-0.5 * ((t - peak - 5) / width) ** 2)
        signal[k] += wave[:, None] * np.array([1.0, 0.5])
    return tf.constant(signal, tf.float32), tf.constant(kind, tf.int32)


phi = tf.Variable(tf.random.normal([FILTERS, LEADS, WIDTH], stddev=0.2), name="phi")
offset = tf.Variable(tf.zeros([FILTERS]), name="offset")
readout = tf.Variable(tf.random.normal([FILTERS, KINDS], stddev=0.2), name="readout")
shift = tf.Variable(tf.zeros([KINDS]), name="shift")
variables = [phi, offset, readout, shift]


def scores(x):
    response = tf.nn.relu(tf.nn.conv1d(x, phi, stride=1, padding="VALID") + offset)
    return tf.reduce_max(response, axis=1) @ readout + shift


def step(x, y, momentum, rate=0.1):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores(x)))
    for variable, memory, gradient in zip(variables, momentum, tape.gradient(loss, variables)):
        memory.assign(0.8 * memory + gradient)
        variable.assign_sub(rate * memory)
    return loss


x_train, y_train = heartbeats(400)
x_test, y_test = heartbeats(200)
momentum = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

for epoch in range(10):
    order = np.random.permutation(400)
    losses = [step(tf.gather(x_train, rows), tf.gather(y_train, rows), momentum) for rows in np.split(order, 10)]
    print("epoch %d: loss %.3f" % (epoch, np.mean([float(loss) for loss in losses])))

guess = tf.argmax(scores(x_test), axis=1, output_type=tf.int32)
print("test accuracy: %.3f" % np.mean(guess.numpy() == y_test.numpy()))
