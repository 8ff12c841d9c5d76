import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

size = 12
n_filters = 8
n_textures = 4
batch_size = 32


def make_textures(n):
    """Stripes in one of four directions, with a random phase."""
    rows, cols = np.mgrid[0:size, 0:size]
    labels = np.random.randint(n_textures, size=n)
    angles = labels * np.pi / n_textures
    phase = np.random.uniform(0, 2 * np.pi, n)
    waves = np.cos(angles)[:, None, None] * rows + np.sin(angles)[:, None, None] * cols
    images = np.sin(1.6 * waves + phase[:, None, None])
    images += 0.3 * np.random.randn(n, size, size)
    return images[..., None].astype(np.float32), labels


images = tf.placeholder(tf.float32, [None, size, size, 1])
labels = tf.placeholder(tf.int64, [None])


def conv_relu(x, filters, name):
    with tf.variable_scope(name):
        depth = int(x.shape[-1])
        w = tf.get_variable("w", [5, 5, depth, filters], initializer=tf.truncated_normal_initializer(stddev=0.15))
        b = tf.get_variable("b", [filters], initializer=tf.constant_initializer(0.1))
        return tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="VALID") + b)


# one small bank of filters per texture; a bank speaks with its strongest filter
banks = []
for k in range(n_textures):
    bank = conv_relu(images, n_filters, "bank%d" % k)
    strongest = tf.nn.max_pool(
        bank,
        ksize=[1, 1, 1, n_filters],
        strides=[1, 1, 1, n_filters],
        padding="SAME",
    )
    banks.append(strongest)

maps = tf.concat(banks, axis=3)
flat = tf.reshape(maps, [-1, 8 * 8 * n_textures])
weights = tf.get_variable("weights", [8 * 8 * n_textures, n_textures], initializer=tf.zeros_initializer())
logits = tf.matmul(flat, weights)

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
train_step = tf.train.AdamOptimizer(3e-3).minimize(loss)
correct = tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)
accuracy = tf.reduce_mean(correct)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(150):
        x, y = make_textures(batch_size)
        sess.run(train_step, feed_dict={images: x, labels: y})
    x, y = make_textures(500)
    print("accuracy on 500 new textures:", sess.run(accuracy, feed_dict={images: x, labels: y}))
