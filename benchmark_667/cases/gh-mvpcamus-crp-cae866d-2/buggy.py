# Recognizes the posture of a person from the six axes of a motion sensor (windows of 16 readings).
import numpy as np
import tensorflow as tf

tf = tf.compat.v1
tf.disable_v2_behavior()

WINDOW, AXES = 16, 6
POSTURES = ['lying', 'sitting', 'walking', 'running']


def windows(count):
    labels = np.random.randint(0, len(POSTURES), count)
    t = np.arange(WINDOW)[None, :, None]
    level = np.array([0.0, 1.5, 1.5, 1.5])[labels][:, None, None]
    swing = np.array([0.1, 0.1, 1.0, 2.5])[labels][:, None, None]
    pace = np.array([0.2, 0.2, 0.6, 1.2])[labels][:, None, None]
    phase = np.random.uniform(0, 6.28, (count, 1, AXES))
    data = level + swing * np.sin(pace * t + phase) + 0.7 * np.random.randn(count, WINDOW, AXES)
    data[:, :, 3:] *= 40.0  # the gyroscope counts in other units
    return data.reshape(count, -1).astype(np.float32), labels


def fc(x, n_in, n_out):
    std = (2.0 / n_in) ** 0.5
    w = tf.get_variable('w', [n_in, n_out], initializer=tf.random_normal_initializer(stddev=std))
    b = tf.get_variable('b', [n_out], initializer=tf.zeros_initializer())
    return tf.matmul(x, w) + b


def bnorm(x, size, train, momentum=0.95):
    beta = tf.get_variable('beta', [size], initializer=tf.zeros_initializer())
    gamma = tf.get_variable('gamma', [size], initializer=tf.ones_initializer())
    run_mean = tf.get_variable('mean', [size], initializer=tf.zeros_initializer(), trainable=False)
    run_var = tf.get_variable('var', [size], initializer=tf.ones_initializer(), trainable=False)
    now_mean, now_var = tf.nn.moments(x, [0])
    for old, now in ((run_mean, now_mean), (run_var, now_var)):
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, old.assign(momentum * old + (1 - momentum) * now))
    mean = tf.where(train, now_mean, run_mean)
    var = tf.where(train, now_var, run_var)
    return tf.nn.batch_normalization(x, mean, var, beta, gamma, 1e-3)


def network(x, train):
    with tf.variable_scope('hidden1'):
        h1 = fc(x, WINDOW * AXES, 64)
        h1_out = tf.nn.relu(bnorm(h1, 64, train))

    with tf.variable_scope('hidden2'):
        h2 = fc(h1_out, 64, 32)
        h2_out = tf.nn.relu(bnorm(h2, 32, train))

    with tf.variable_scope('hidden3'):
        h3 = fc(h2_out, 32, 32)
        b3_br = bnorm(h3, 32, train)
        h3_out = tf.nn.relu(h3)

    with tf.variable_scope('output'):
        return fc(h3_out, 32, len(POSTURES))


train_x, train_y = windows(1600)
test_x, test_y = windows(400)

x = tf.placeholder(tf.float32, [None, WINDOW * AXES])
y = tf.placeholder(tf.int64, [None])
train = tf.placeholder_with_default(False, [])
logits = network(x, train)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = tf.train.AdamOptimizer(2e-3).minimize(loss)
hits = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))

sess = tf.Session()
sess.run(tf.global_variables_initializer())
start = sess.run(tf.trainable_variables())
for epoch in range(5):
    order = np.random.permutation(len(train_x))
    for i in range(0, len(order), 40):
        part = order[i:i + 40]
        sess.run(train_op, {x: train_x[part], y: train_y[part], train: True})
    print('epoch %d loss %.3f hits %.3f' % ((epoch,) + tuple(sess.run([loss, hits], {x: test_x, y: test_y}))))

# how far every variable has moved, as a check of the learning rate
for variable, before, after in zip(tf.trainable_variables(), start, sess.run(tf.trainable_variables())):
    print('%-16s moved %.6f' % (variable.op.name, np.abs(after - before).mean()))
