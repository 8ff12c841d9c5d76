import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

# ---------------------------------------------------------------- shapes, 12 x 12 pixels
SIDE = 12
NAMES = ['square', 'triangle', 'diamond', 'bar']


def draw(kind):
    r, c = np.mgrid[:SIDE, :SIDE]
    cy, cx = np.random.randint(4, 8, 2)
    s = np.random.randint(2, 4)
    masks = {
        'square': (abs(r - cy) <= s) & (abs(c - cx) <= s),
        'triangle': (r <= cy + s) & (r - cy + s >= 2 * abs(c - cx)),
        'diamond': abs(r - cy) + abs(c - cx) <= s,
        'bar': (abs(r - cy) <= 1) & (abs(c - cx) <= 4),
    }
    return masks[kind] + np.random.normal(0, 0.1, (SIDE, SIDE))


def next_batch(size):
    kinds = np.random.randint(0, len(NAMES), size)
    pixels = np.array([draw(NAMES[k]).ravel() for k in kinds])
    return pixels, np.eye(len(NAMES))[kinds]


# ---------------------------------------------------------------- network
def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding='SAME')


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')


x = tf.placeholder(tf.float32, shape=[None, SIDE * SIDE])
y_ = tf.placeholder(tf.float32, shape=[None, len(NAMES)])

x_image = tf.reshape(x, [-1, 8, 8, 1])
h_pool1 = max_pool_2x2(tf.nn.relu(conv2d(x_image, weight_variable([3, 3, 1, 10])) + bias_variable([10])))
h_pool2 = max_pool_2x2(tf.nn.relu(conv2d(h_pool1, weight_variable([3, 3, 10, 16])) + bias_variable([16])))

n_flat = int(np.prod(h_pool2.shape.as_list()[1:]))
h_flat = tf.reshape(h_pool2, [-1, n_flat])
h_fc1 = tf.nn.relu(tf.matmul(h_flat, weight_variable([n_flat, 40])) + bias_variable([40]))
y_conv = tf.matmul(h_fc1, weight_variable([40, len(NAMES)])) + bias_variable([len(NAMES)])

cross_entropy = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y_, logits=y_conv)
train_step = tf.train.AdamOptimizer(2e-3).minimize(cross_entropy)
correct_prediction = tf.equal(tf.argmax(y_conv, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(120):
        batch_xs, batch_ys = next_batch(32)
        sess.run(train_step, feed_dict={x: batch_xs, y_: batch_ys})
    test_xs, test_ys = next_batch(200)
    print('test accuracy', sess.run(accuracy, feed_dict={x: test_xs, y_: test_ys}))
