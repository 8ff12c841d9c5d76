"""Calibrating a classifier: one number, the temperature of its softmax, is chosen on held-out data."""
import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

tf.disable_eager_execution()


def split(share=0.5):
    digits = load_digits()
    order = np.random.permutation(len(digits.target))
    cut = int(share * len(order))
    x = digits.data / 16.0 + np.random.normal(0, 0.35, digits.data.shape)
    y = np.where(np.random.rand(len(order)) < 0.1, np.random.randint(0, 10, len(order)), digits.target)
    return (x[order[:cut]], y[order[:cut]]), (x[order[cut:]], y[order[cut:]])


(x_train, y_train), (x_held, y_held) = split()

# --- a small network, trained until it is too sure of itself -----------------------------------------------
x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.int64, [None])
w1 = tf.Variable(tf.random_normal([64, 48], stddev=0.15))
b1 = tf.Variable(tf.zeros([48]))
w2 = tf.Variable(tf.random_normal([48, 10], stddev=0.15))
b2 = tf.Variable(tf.zeros([10]))
logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)

# --- the temperature ---------------------------------------------------------------------------------------
held_logits = tf.placeholder(tf.float32, [None, 10])
temperature = tf.placeholder_with_default(1.0, shape=())
nll = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=held_logits / temperature))
calibrate = tf.train.GradientDescentOptimizer(0.5).minimize(nll)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(150):
        batch = np.random.randint(0, len(y_train), 100)
        sess.run(train, {x: x_train[batch], y: y_train[batch]})
    scores = sess.run(logits, {x: x_held})
    accuracy = np.mean(scores.argmax(axis=1) == y_held)

    feed = {held_logits: scores, y: y_held}
    for step in range(200):
        value, _ = sess.run([nll, calibrate], feed_dict=feed)
        if step % 50 == 0:
            print("step %3d, nll %.4f" % (step, value))
    print("accuracy %.3f, temperature %.3f" % (accuracy, sess.run(temperature)))
