"""Is a tumour benign? Fully connected layers with batch normalization, built from a list of layer objects."""
import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

tf.disable_v2_behavior()

FLOAT_SIZE = tf.float64


def variable(initial):
    return tf.Variable(initial, dtype=FLOAT_SIZE)


class Dense:
    def __init__(self, width):
        self.width = width

    def __call__(self, h, training):
        w = variable(tf.truncated_normal([int(h.shape[1]), self.width], stddev=0.2, dtype=FLOAT_SIZE))
        return tf.matmul(h, w) + variable(tf.zeros([self.width], dtype=FLOAT_SIZE))


class Normalized:
    """A dense layer, the same spread for all its units, and relu."""

    def __init__(self, width, decay=0.9):
        self.dense = Dense(width)
        self.decay = decay

    def __call__(self, h, training):
        h = self.dense(h, training)
        width = int(h.shape[1])
        shift = tf.Variable(tf.zeros([width], dtype=FLOAT_SIZE))
        scale = tf.Variable(tf.ones([width]))
        known_mean = tf.Variable(tf.zeros([width], dtype=FLOAT_SIZE), trainable=False)
        known_var = tf.Variable(tf.ones([width], dtype=FLOAT_SIZE), trainable=False)
        mean, var = tf.nn.moments(h, [0])

        def of_batch():
            learn = [known.assign(self.decay * known + (1 - self.decay) * new)
                     for known, new in ((known_mean, mean), (known_var, var))]
            with tf.control_dependencies(learn):
                return tf.identity(mean), tf.identity(var)

        mean, var = tf.cond(training, of_batch, lambda: (tf.identity(known_mean), tf.identity(known_var)))
        return tf.nn.relu(tf.nn.batch_normalization(h, mean, var, shift, scale, 1e-5))


def inference(x, layers, training):
    for layer in layers:
        x = layer(x, training)
    return x


patients, benign = load_breast_cancer(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(patients / patients.max(axis=0), benign, test_size=0.25)

x = tf.placeholder(FLOAT_SIZE, shape=(None, x_train.shape[1]))
y = tf.placeholder(tf.int64, shape=(None,))
training = tf.placeholder(tf.bool, [])
logits = inference(x, [Normalized(24), Normalized(12), Dense(2)], training)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), FLOAT_SIZE))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(1, 13):
        for rows in np.array_split(np.random.permutation(len(x_train)), 10):
            sess.run(train, feed_dict={x: x_train[rows], y: y_train[rows], training: True})
        if epoch % 3 == 0:
            values = sess.run([loss, accuracy], feed_dict={x: x_test, y: y_test, training: False})
            print("epoch %2d  test loss %.4f  accuracy %.4f" % (epoch, *values))
