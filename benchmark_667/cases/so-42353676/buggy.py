"""Denoising autoencoder for the 8x8 digits; the cleaned digits are put side by side into one picture."""
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

SIDE = 8
CODE = 20
COLUMNS = 6

digits = load_digits().images.reshape(-1, SIDE * SIDE).astype("float32") / 16.0
np.random.shuffle(digits)
train, shown = digits[:1000], digits[-COLUMNS * 2:]


def dense(n_in, n_out):
    limit = np.sqrt(6.0 / (n_in + n_out))
    return tf.Variable(tf.random.uniform([n_in, n_out], -limit, limit)), tf.Variable(tf.zeros([n_out]))


encode_w, encode_b = dense(SIDE * SIDE, CODE)
decode_w, decode_b = dense(CODE, SIDE * SIDE)
weights = [encode_w, encode_b, decode_w, decode_b]
moments = [tf.Variable(tf.zeros_like(w)) for w in weights]


def clean(noisy):
    code = tf.nn.relu(noisy @ encode_w + encode_b)
    return tf.sigmoid(code @ decode_w + decode_b)


@tf.function
def train_step(batch, rate=0.5, momentum=0.9):
    noisy = batch + tf.random.normal(tf.shape(batch), stddev=0.2)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(clean(noisy) - batch))
    for weight, moment, gradient in zip(weights, moments, tape.gradient(loss, weights)):
        moment.assign(momentum * moment + gradient)
        weight.assign_sub(rate * moment)
    return loss


def gen_image(vectors, columns):
    """Rows of pixels -> one picture with a digit per cell."""
    cells = tf.reshape(vectors, [-1, columns, SIDE, SIDE])
    sheet = tf.reshape(tf.transpose(cells, [0, 2, 1, 3]), [-1, columns * SIDE, 1])
    return tf.cast(sheet * 255, tf.float32)


for epoch in range(10):
    losses = [train_step(tf.constant(train[i:i + 50])) for i in range(0, len(train), 50)]
print("reconstruction error", float(tf.reduce_mean(losses)))

noisy_digits = shown + np.random.normal(0, 0.2, shown.shape).astype("float32")
picture = gen_image(clean(noisy_digits), COLUMNS)
png = tf.io.encode_png(picture)
print("picture of", picture.shape[1], "x", picture.shape[0], "pixels,", len(png.numpy()), "bytes")
