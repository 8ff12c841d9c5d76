import math

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_v2_behavior()

RINGS = 3
BATCH_SIZE = 60
STEPS = 300


def target_board(count):
    """Shots at a board; the class of a shot is the ring that it hit."""
    ring = np.random.randint(0, RINGS, count)
    radius = ring + 0.5 + np.random.uniform(-0.3, 0.3, count)
    angle = np.random.uniform(0, 2 * math.pi, count)
    shots = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return shots.astype(np.float32), np.eye(RINGS, dtype=np.float32)[ring]


def add_layer(inputs, in_size, out_size, activation_function=None):
    Weights = tf.Variable(tf.random.normal([in_size, out_size], stddev=0.5))
    biases = tf.Variable(tf.zeros([1, out_size]) + 0.1)
    Wx_plus_b = tf.matmul(inputs, Weights) + biases
    if activation_function is None:
        return Wx_plus_b
    return activation_function(Wx_plus_b)


def compute_accuracy(sess, shots, rings):
    scores = sess.run(logits, feed_dict={xs: shots})
    return np.mean(np.argmax(scores, 1) == np.argmax(rings, 1))


train_shots, train_rings = target_board(900)
test_shots, test_rings = target_board(300)

xs = tf.compat.v1.placeholder(tf.float32, [None, 2])
ys = tf.compat.v1.placeholder(tf.float32, [None, RINGS])

logits = add_layer(xs, 2, RINGS)

cross_entropy = tf.reduce_mean(
    tf.nn.softmax_cross_entropy_with_logits(labels=ys, logits=logits))
train_step = tf.compat.v1.train.AdamOptimizer(0.02).minimize(cross_entropy)

sess = tf.compat.v1.Session()
sess.run(tf.compat.v1.global_variables_initializer())
for i in range(STEPS):
    chosen = np.random.choice(len(train_shots), BATCH_SIZE, replace=False)
    sess.run(train_step, feed_dict={xs: train_shots[chosen], ys: train_rings[chosen]})
    if i % 100 == 99:
        print("step", i + 1, "accuracy", compute_accuracy(sess, test_shots, test_rings))
sess.close()
