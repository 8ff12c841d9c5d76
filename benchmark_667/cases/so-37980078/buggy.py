"""Heating demand of houses: a quick start with plain gradient descent, then Adam for the details."""
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()


def houses(count):
    area = np.random.uniform(0.5, 2.0, count)
    age = np.random.uniform(0, 1, count)
    insulation = np.random.uniform(0, 1, count)
    outside = np.random.uniform(-1, 1, count)
    demand = area * (1.5 - insulation + 0.5 * age) * np.maximum(0.6 - outside, 0)
    features = np.stack([area, age, insulation, outside], axis=1)
    return features, (demand + np.random.normal(0, 0.03, count))[:, None]


def dense(x, units, name, activation=None):
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [int(x.shape[1]), units])
        bias = tf1.get_variable("bias", [units], initializer=tf1.zeros_initializer())
    out = tf.matmul(x, kernel) + bias
    return activation(out) if activation is not None else out


def build():
    x = tf1.placeholder(tf.float32, [None, 4], name="features")
    y = tf1.placeholder(tf.float32, [None, 1], name="demand")
    h = dense(x, 24, "hidden_1", tf.nn.relu)
    h = dense(h, 24, "hidden_2", tf.nn.relu)
    loss = tf.reduce_mean(tf.square(dense(h, 1, "out") - y))
    return x, y, loss


def run_epochs(sess, op, loss, feed, epochs, batch_size=32):
    (x, features), (y, demand) = feed
    for _ in range(epochs):
        order = np.random.permutation(len(features))
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            sess.run(op, {x: features[batch], y: demand[batch]})
    return sess.run(loss, {x: features, y: demand})


features, demand = houses(500)
test_features, test_demand = houses(200)

x, y, loss = build()
feed = ((x, features), (y, demand))
sess = tf1.Session()

quick = tf1.train.GradientDescentOptimizer(0.05)
quick_step = quick.minimize(loss)
sess.run(tf1.global_variables_initializer())
print("after the quick start: mse %.4f" % run_epochs(sess, quick_step, loss, feed, epochs=5))

careful = tf1.train.AdamOptimizer(0.003)
careful_step = careful.minimize(loss)
print("after the second phase: mse %.4f" % run_epochs(sess, careful_step, loss, feed, epochs=20))
print("test mse %.4f" % sess.run(loss, {x: test_features, y: test_demand}))
sess.close()
