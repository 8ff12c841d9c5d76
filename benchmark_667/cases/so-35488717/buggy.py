"""A convolutional autoencoder of small maps, with the decoder's shapes written down by hand."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

SIZE = 24
BATCH = 20


def get_weights(shape, name):
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=0.08))


def get_bias(n, name):
    return tf.get_variable(name, [n], initializer=tf.constant_initializer(0.05))


def terrain(n):
    """Sums of a few smooth hills, between 0 and 1."""
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    maps = np.zeros((n, SIZE, SIZE))
    for _ in range(3):
        cy, cx = np.random.uniform(0, SIZE, (2, n, 1, 1))
        width = np.random.uniform(2.5, 5, (n, 1, 1))
        maps += np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (2 * width ** 2))
    return (maps / maps.max(axis=(1, 2), keepdims=True))[..., None].astype(np.float32)


def encoder(images):
    h1 = tf.nn.conv2d(images, get_weights([5, 5, 1, 8], "e_w1"), strides=[1, 2, 2, 1], padding="SAME")
    h1 = tf.nn.elu(h1 + get_bias(8, "e_b1"))
    h2 = tf.nn.conv2d(h1, get_weights([3, 3, 8, 16], "e_w2"), strides=[1, 3, 3, 1], padding="SAME")
    return tf.nn.elu(h2 + get_bias(16, "e_b2"))


def decoder(code):
    # back to 12 x 12 with 8 channels
    d1 = tf.nn.conv2d_transpose(code, get_weights([3, 3, 8, 16], "d_w1"),
                                output_shape=[BATCH, 12, 12, 8], strides=[1, 2, 2, 1], padding="SAME")
    d1 = tf.nn.elu(d1 + get_bias(8, "d_b1"))
    # and to the full size
    d2 = tf.nn.conv2d_transpose(d1, get_weights([5, 5, 1, 8], "d_w2"),
                                output_shape=[BATCH, SIZE, SIZE, 1], strides=[1, 2, 2, 1], padding="SAME")
    return tf.nn.sigmoid(d2 + get_bias(1, "d_b2"))


images = tf.placeholder(tf.float32, [BATCH, SIZE, SIZE, 1])
reconstruction = decoder(encoder(images))
loss = tf.reduce_mean(tf.squared_difference(reconstruction, images))
train_step = tf.train.AdamOptimizer(5e-3).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(101):
        value, _ = sess.run([loss, train_step], {images: terrain(BATCH)})
        if step % 25 == 0:
            print("step %3d, reconstruction error %.4f" % (step, value))
