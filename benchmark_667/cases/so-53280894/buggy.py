# Which particles stay inside the ring? Two measured coordinates, two classes.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

N_HIDDEN_1 = 16
N_HIDDEN_2 = 16
LEARNING_RATE = 0.01
EPOCHS = 60
BATCH = 50


def ring_data(count):
    radius = np.where(np.arange(count) % 2 == 0, 0.5, 1.2) + np.random.normal(0, 0.1, size=count)
    angle = np.random.uniform(0, 2 * np.pi, size=count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    labels = np.eye(2)[np.arange(count) % 2]
    return points, labels


def weight(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.3))


def multilayer_perceptron(x):
    layer_1 = tf.add(tf.matmul(x, weight([2, N_HIDDEN_1])), weight([N_HIDDEN_1]))
    layer_2 = tf.add(tf.matmul(layer_1, weight([N_HIDDEN_1, N_HIDDEN_2])), weight([N_HIDDEN_2]))
    return tf.matmul(layer_2, weight([N_HIDDEN_2, 2])) + weight([2])


X = tf.placeholder(tf.float32, [None, 2])
Y = tf.placeholder(tf.float32, [None, 2])
logits = multilayer_perceptron(X)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y))
optimizer = tf.train.AdamOptimizer(LEARNING_RATE).minimize(cost)
hits = tf.equal(tf.argmax(logits, 1), tf.argmax(Y, 1))
accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

points, labels = ring_data(600)
test_points, test_labels = ring_data(200)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        order = np.random.permutation(len(points))
        for start in range(0, len(points), BATCH):
            batch = order[start:start + BATCH]
            _, value = sess.run([optimizer, cost], feed_dict={X: points[batch], Y: labels[batch]})
        if epoch % 20 == 0:
            print("Epoch %d cost %.4f" % (epoch, value))
    print("Test accuracy: %.3f" % sess.run(accuracy, feed_dict={X: test_points, Y: test_labels}))
