"""Wine quality by a two-layer network, all of it in plain TensorFlow."""
import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

tf.disable_eager_execution()

raw = load_wine()
features = StandardScaler().fit_transform(raw.data).astype(np.float32)
onehot = np.eye(3, dtype=np.float32)[raw.target]
shuffled = np.random.permutation(len(features))
train, test = shuffled[:130], shuffled[130:]

n_input, n_hidden, n_output = features.shape[1], 16, 3

X = tf.placeholder(tf.float32, shape=[None, n_input])
Y = tf.placeholder(tf.float32, shape=[None, n_output])


def weight(n_in, n_out):
    # He initialization
    start = np.random.randn(n_in, n_out) * np.sqrt(2.0 / n_in)
    return tf.Variable(start)


def bias(n):
    return tf.Variable(tf.zeros([n]))


hidden = tf.nn.relu(tf.matmul(X, weight(n_input, n_hidden)) + bias(n_hidden))
scores = tf.matmul(hidden, weight(n_hidden, n_output)) + bias(n_output)

loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=Y, logits=scores))
minimize = tf.train.GradientDescentOptimizer(learning_rate=0.3).minimize(loss)
hits = tf.equal(tf.argmax(scores, 1), tf.argmax(Y, 1))
accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(1, 101):
        _, value = session.run([minimize, loss], feed_dict={X: features[train], Y: onehot[train]})
        if step % 25 == 0:
            print("step", step, "loss", value)
    print("test accuracy", session.run(accuracy, feed_dict={X: features[test], Y: onehot[test]}))
