"""A spatial transformer in front of a linear classifier: it learns to move the glyph back to the middle."""
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

CANVAS, GLYPH = 16, 8
DIGITS = load_digits()


def shifted_digits(count, max_shift=3):
    chosen = np.random.randint(len(DIGITS.images), size=count)
    canvas = np.zeros((count, CANVAS, CANVAS, 1), dtype=np.float32)
    for i, index in enumerate(chosen):
        dy, dx = np.random.randint(4 - max_shift, 5 + max_shift, size=2)
        canvas[i, dy:dy + GLYPH, dx:dx + GLYPH, 0] = DIGITS.images[index] / 16.0
    return canvas, DIGITS.target[chosen].astype(np.int64)


class Sampler(tf.Module):
    """Bilinear interpolation of a batch of images at positions in [-1, 1]."""

    def __init__(self, out_size):
        super().__init__()
        self.out_size = out_size
        axis = np.linspace(-0.5, 0.5, out_size, dtype=np.float32)
        ys, xs = np.meshgrid(axis, axis, indexing="ij")
        self.grid = tf.constant(np.stack([xs.ravel(), ys.ravel()], axis=1))

    def __call__(self, im, shift):
        num_batch, height, width, channels = im.shape
        position = self.grid[None] + shift[:, None, :]
        x = tf.reshape((position[:, :, 0] + 1.0) * (width - 1) / 2.0, [-1])
        y = tf.reshape((position[:, :, 1] + 1.0) * (height - 1) / 2.0, [-1])
        x0, y0 = tf.floor(x), tf.floor(y)

        base = np.repeat(np.arange(num_batch) * height * width, self.out_size ** 2)
        im_flat = tf.reshape(im, tf.pack([-1, channels]))

        def corner(cx, cy):
            cx = tf.clip_by_value(tf.cast(cx, tf.int32), 0, width - 1)
            cy = tf.clip_by_value(tf.cast(cy, tf.int32), 0, height - 1)
            return tf.gather(im_flat, base + cy * width + cx)

        wa = tf.expand_dims((x0 + 1 - x) * (y0 + 1 - y), 1)
        wb = tf.expand_dims((x0 + 1 - x) * (y - y0), 1)
        wc = tf.expand_dims((x - x0) * (y0 + 1 - y), 1)
        wd = tf.expand_dims((x - x0) * (y - y0), 1)
        output = tf.add_n([wa * corner(x0, y0), wb * corner(x0, y0 + 1),
                           wc * corner(x0 + 1, y0), wd * corner(x0 + 1, y0 + 1)])
        return tf.reshape(output, [num_batch, self.out_size, self.out_size, channels])


class TransformerClassifier(tf.Module):
    def __init__(self):
        super().__init__()
        pixels = CANVAS * CANVAS
        self.hidden = tf.Variable(tf.random.normal([pixels, 32], stddev=pixels ** -0.5))
        self.shift = tf.Variable(tf.zeros([32, 2]))
        self.weights = tf.Variable(tf.zeros([GLYPH * GLYPH, 10]))
        self.bias = tf.Variable(tf.zeros([10]))
        self.sampler = Sampler(GLYPH)

    def __call__(self, images):
        h = tf.nn.relu(tf.matmul(tf.reshape(images, [len(images), -1]), self.hidden))
        glyph = self.sampler(images, tf.tanh(tf.matmul(h, self.shift)))
        return tf.matmul(tf.reshape(glyph, [len(images), -1]), self.weights) + self.bias


model = TransformerClassifier()
for step in range(100):
    images, labels = shifted_digits(64)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images)))
    for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
        variable.assign_sub(0.5 * gradient)
    if step % 25 == 0:
        print("step %3d loss %.3f" % (step, loss))

images, labels = shifted_digits(500)
print("accuracy %.3f" % np.mean(tf.argmax(model(images), axis=1) == labels))
