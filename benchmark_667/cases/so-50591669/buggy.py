"""Matches thumbnails that a server cut with SciPy against thumbnails that the TensorFlow pipeline makes itself.

The embedding network was trained on those thumbnails, so the pipeline has to deliver the same pixels.
"""

import numpy as np
import tensorflow as tf
from scipy import ndimage

tf1 = tf.compat.v1
tf1.disable_eager_execution()

FULL = (48, 48)
THUMB = (20, 20)
N_IMAGES = 60
EMBEDDING = 12


def photos(n):
    """Smooth random scenes with a bright blob each."""
    ys, xs = np.mgrid[0:FULL[0], 0:FULL[1]]
    images = []
    for _ in range(n):
        cy, cx = np.random.uniform(8, 40, 2)
        size = np.random.uniform(2, 5)
        blob = np.exp(-((ys - cy) ** 2 + (xs - cx) ** 2) / (2 * size ** 2))
        waves = np.sin(xs / np.random.uniform(2, 5)) * np.cos(ys / np.random.uniform(2, 5))
        images.append(np.stack([blob, 0.5 + 0.3 * waves, 1 - blob], axis=-1))
    return np.asarray(images, np.float32)


class ThumbnailNet:
    def __init__(self):
        self.images = tf1.placeholder(tf.float32, [None, FULL[0], FULL[1], 3], name="images")
        self.thumbs = tf1.image.resize_bilinear(self.images, THUMB)
        self.labels = tf1.placeholder(tf.float32, [None, 2], name="position")
        flat = tf.reshape(self.thumbs - 0.5, [-1, THUMB[0] * THUMB[1] * 3])
        w1 = tf1.get_variable("w1", [THUMB[0] * THUMB[1] * 3, EMBEDDING], initializer=tf1.glorot_uniform_initializer())
        b1 = tf1.get_variable("b1", [EMBEDDING], initializer=tf1.zeros_initializer())
        self.embedding = tf.nn.tanh(tf.matmul(flat, w1) + b1)
        w2 = tf1.get_variable("w2", [EMBEDDING, 2], initializer=tf1.glorot_uniform_initializer())
        self.position = tf.matmul(self.embedding, w2)
        self.loss = tf.reduce_mean(tf.square(self.position - self.labels))
        self.train = tf1.train.AdamOptimizer(0.0005).minimize(self.loss)


images = photos(N_IMAGES)
brightest = images[..., 0].reshape(N_IMAGES, -1).argmax(axis=1)
position = np.stack(np.unravel_index(brightest, FULL), axis=1).astype(np.float32) / FULL[0] - 0.5
zoom = (1, THUMB[0] / FULL[0], THUMB[1] / FULL[1], 1)
served = ndimage.zoom(images, zoom, order=1, mode="nearest", grid_mode=True)

net = ThumbnailNet()
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for step in range(60):
        sess.run(net.train, {net.images: images, net.labels: position})
    print("position error", sess.run(net.loss, {net.images: images, net.labels: position}))
    # same network on the thumbnails of the server
    ours = sess.run(net.embedding, {net.images: images})
    theirs = sess.run(net.embedding, {net.thumbs: served})
    pixels = sess.run(net.thumbs, {net.images: images})

print("largest pixel difference: %.4f" % np.abs(pixels - served).max())
print("largest embedding difference: %.4f" % np.abs(ours - theirs).max())
