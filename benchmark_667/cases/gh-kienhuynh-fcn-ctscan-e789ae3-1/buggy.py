"""Marks the liver on slices of (simulated) CT scans with a small fully convolutional network."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


SIZE = 20           # of a slice, in pixels
BATCH = 16
ITERATIONS = 120


class LossBag:
    """Losses are put in one after the other, and taken out as one sum."""

    KEY = 'bag_of_losses'

    def softmax(self, scores, wanted, pixel_weight=1.0):
        """Cross entropy of scores along the last axis with a one hot map."""
        shifted = scores - tf.reduce_max(scores, axis=-1, keepdims=True)
        log_prob = shifted - tf.log(tf.sum(tf.exp(shifted), axis=-1, keepdims=True))
        tf.add_to_collection(self.KEY, -tf.reduce_mean(pixel_weight * wanted * log_prob))

    def decay(self, weights, rate):
        for w in weights:
            tf.add_to_collection(self.KEY, rate * tf.nn.l2_loss(w))

    def total(self):
        return tf.add_n(tf.get_collection(self.KEY), name='total_loss')


kernels = []


def conv(x, num_filters, size, name, activate=True):
    with tf.variable_scope(name):
        w = tf.get_variable('w', [size, size, x.shape[-1], num_filters], initializer=tf.glorot_normal_initializer())
        b = tf.get_variable('b', [num_filters], initializer=tf.zeros_initializer())
    kernels.append(w)
    out = tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding='SAME') + b
    return tf.nn.relu(out) if activate else out


def scan_slices(n):
    rows, cols = np.mgrid[:SIZE, :SIZE]
    density = np.random.normal(0, 0.1, (n, SIZE, SIZE))
    liver = np.zeros((n, SIZE, SIZE), dtype=bool)
    for i in range(n):
        cy, cx = np.random.uniform(6, SIZE - 6, 2)
        ry, rx = np.random.uniform(2.5, 5, 2)
        liver[i] = ((rows - cy) / ry) ** 2 + ((cols - cx) / rx) ** 2 < 1
        bone = np.abs(rows - np.random.uniform(0, SIZE)) < 1
        density[i] += 0.5 * liver[i] + 1.2 * bone
    onehot = np.stack([~liver, liver], axis=-1).astype('float32')
    return density[..., None].astype('float32'), onehot


image = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1])
target = tf.placeholder(tf.float32, [None, SIZE, SIZE, 2])
h = conv(image, 8, 5, 'conv1')
h = conv(h, 8, 3, 'conv2')
score = conv(h, 2, 1, 'score', activate=False)

losses = LossBag()
# the liver covers little of a slice
losses.softmax(score, target, pixel_weight=tf.constant([1.0, 4.0]))
losses.decay(kernels, 1e-4)
total = losses.total()
train_op = tf.train.AdamOptimizer(0.01).minimize(total)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for it in range(1, ITERATIONS + 1):
        x, y = scan_slices(BATCH)
        value, _ = sess.run([total, train_op], feed_dict={image: x, target: y})
        if it % 30 == 0:
            print('iter %d, loss %.4f' % (it, value))
    x, y = scan_slices(40)
    found = sess.run(score, feed_dict={image: x}).argmax(axis=-1)
    both = np.sum((found == 1) & (y[..., 1] == 1))
    print('dice %.3f' % (2.0 * both / (np.sum(found == 1) + np.sum(y[..., 1]))))
