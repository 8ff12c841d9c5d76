import numpy as np
import tensorflow.compat.v1 as tf

tf.compat.v1.disable_eager_execution()

side = 32
n_classes = 2


def photo(ripe):
    """A tomato before a grey wall: red when it is ripe, green otherwise."""
    img = np.random.normal(0.5, 0.05, size=(side, side, 3))
    yy, xx = np.ogrid[:side, :side]
    cy, cx, r = np.random.randint(12, 20), np.random.randint(12, 20), np.random.randint(6, 11)
    inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
    img[inside] = (0.8, 0.2, 0.1) if ripe else (0.3, 0.6, 0.2)
    return np.clip(img + np.random.normal(0, 0.1, size=img.shape), 0, 1)


def conv_layer(x, n_in, n_out):
    w = tf.Variable(tf.truncated_normal([5, 5, n_in, n_out], stddev=0.1))
    b = tf.Variable(tf.constant(0.1, shape=[n_out]))
    x = tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME") + b)
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


_x = tf.placeholder(tf.float32, [None, side, side, 3])
_y = tf.placeholder(tf.float32, [None, n_classes])

pool1 = conv_layer(_x, 3, 8)
pool2 = conv_layer(pool1, 8, 8)
flat = tf.reshape(pool2, [-1, 2 * 2 * 8])
logits = tf.matmul(flat, tf.Variable(tf.truncated_normal([2 * 2 * 8, n_classes], stddev=0.1)))
prediction = tf.nn.softmax(logits)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=_y, logits=logits))
train_step = tf.train.AdamOptimizer(1e-2).minimize(loss)

labels = np.random.randint(0, 2, size=300)
photos = np.stack([photo(ripe) for ripe in labels])
targets = np.eye(n_classes)[labels]

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(60):
        batch = np.random.choice(300, 30, replace=False)
        _, err = sess.run([train_step, loss], feed_dict={_x: photos[batch], _y: targets[batch]})
        if i % 20 == 0:
            print("step", i, "loss", err)

    # how does it see a new one?
    image = photo(ripe=True)
    classification = sess.run(prediction, feed_dict={_x: image})
    print("ripe with probability %.3f" % classification[0][1])
