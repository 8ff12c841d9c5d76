# Activity recognition from a wrist accelerometer: a small unrolled RNN, one placeholder per time step.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

T = 12          # readings in a window
CHANNELS = 3
STATE = 16
ACTIVITIES = 3  # rest, walk, run
BATCH = 32


def make_windows(n):
    kind = np.random.randint(0, ACTIVITIES, n)
    phase = np.random.uniform(0, 2 * np.pi, (n, 1, 1))
    t = np.arange(T).reshape(1, T, 1)
    axis = np.array([0.0, 0.7, 1.4]).reshape(1, 1, CHANNELS)
    tempo = np.array([0.1, 0.9, 2.0])[kind].reshape(n, 1, 1)
    swing = np.array([0.2, 1.0, 1.5])[kind].reshape(n, 1, 1)
    signal = swing * np.sin(tempo * t + phase + axis)
    return (signal + 0.1 * np.random.randn(n, T, CHANNELS)).astype("float32"), kind.astype("int32")


steps = [tf.placeholder(tf.float32, [None, CHANNELS], name="step_%d" % i) for i in range(T)]
label = tf.placeholder(tf.int32, [None], name="label")

with tf.variable_scope("cell"):
    w_in = tf.get_variable("w_in", [CHANNELS, STATE])
    w_state = tf.get_variable("w_state", [STATE, STATE], initializer=tf.orthogonal_initializer())
    b_state = tf.get_variable("b_state", [STATE], initializer=tf.zeros_initializer())

state = tf.zeros([tf.shape(label)[0], STATE])
for reading in steps:
    state = tf.tanh(tf.matmul(reading, w_in) + tf.matmul(state, w_state) + b_state)

w_out = tf.get_variable("w_out", [STATE, ACTIVITIES])
b_out = tf.get_variable("b_out", [ACTIVITIES], initializer=tf.zeros_initializer())
logits = tf.matmul(state, w_out) + b_out

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
correct = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), label)
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))


def feed(windows, kinds):
    readings = [windows[:, i, :] for i in range(T)]
    return {steps: readings, label: kinds}


x_train, y_train = make_windows(600)
x_test, y_test = make_windows(200)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(12):
        order = np.random.permutation(len(x_train))
        total = 0.0
        for start in range(0, len(order), BATCH):
            pick = order[start:start + BATCH]
            _, batch_loss = sess.run([train_op, loss], feed_dict=feed(x_train[pick], y_train[pick]))
            total += batch_loss * len(pick)
        print("epoch %2d  loss %.4f" % (epoch + 1, total / len(order)))
    print("test accuracy %.3f" % sess.run(accuracy, feed_dict=feed(x_test, y_test)))
