# Estimate the room temperature of the next hour from four sensors, each with its own small linear "expert".
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

SENSORS, LAGS, UNITS = 4, 6, 5


def make_data(n):
    base = np.cumsum(np.random.normal(0.0, 0.3, (n, LAGS + 1)), axis=1) + 20.0
    noise = np.random.normal(0.0, 0.2, (n, SENSORS, LAGS))
    offsets = np.linspace(-1.0, 1.0, SENSORS).reshape(1, SENSORS, 1)
    readings = base[:, None, :LAGS] + noise + offsets
    return (readings - 20.0).astype(np.float32), (base[:, -1:] - 20.0).astype(np.float32)


readings, target = make_data(512)

x = tf1.placeholder(tf.float32, [None, SENSORS, LAGS])
y = tf1.placeholder(tf.float32, [None, 1])


def expert(signal, name):
    """One sensor's window -> its hidden units, [batch, UNITS]."""
    with tf1.variable_scope(name):
        w = tf1.get_variable("w", [LAGS, UNITS], initializer=tf1.random_normal_initializer(stddev=0.3))
        b = tf1.get_variable("b", [UNITS], initializer=tf1.zeros_initializer())
        return tf.nn.relu(tf.matmul(signal, w) + b)


signals = tf.unstack(x, axis=1)
opinions = [expert(signal, "expert_%d" % i) for i, signal in enumerate(signals)]

# how far each expert is trusted, one weight per expert and unit
trust = tf1.get_variable("trust", [SENSORS, 1, UNITS], initializer=tf1.ones_initializer())
panel = tf.concat(opinions, axis=0)
hidden = tf.reduce_sum(trust * panel, axis=0)

w_out = tf1.get_variable("w_out", [UNITS, 1], initializer=tf1.random_normal_initializer(stddev=0.3))
b_out = tf1.get_variable("b_out", [1], initializer=tf1.zeros_initializer())
prediction = tf.matmul(hidden, w_out) + b_out

loss = tf.reduce_mean(tf.square(prediction - y))
train_op = tf1.train.AdamOptimizer(0.01).minimize(loss)

with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for epoch in range(15):
        order = np.random.permutation(len(readings))
        for start in range(0, len(order), 64):
            rows = order[start:start + 64]
            sess.run(train_op, {x: readings[rows], y: target[rows]})
        if epoch % 5 == 4:
            print("epoch", epoch + 1, "mse", sess.run(loss, {x: readings, y: target}))
