import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

n_steps, n_inputs, n_outputs = 10, 1, 1
learning_rate = 0.01


def wave_batch(size):
    """Pieces of a sum of two sines, and the same pieces one step later."""
    start = np.random.uniform(0, 30, size=(size, 1))
    t = start + 0.3 * np.arange(n_steps + 1)
    values = 0.5 * np.sin(t) + 0.3 * np.sin(2.3 * t)
    return values[:, :-1, None], values[:, 1:, None]


def basic_rnn(inputs, n_neurons):
    with tf.variable_scope("rnn"):
        kernel = tf.get_variable("kernel", [n_inputs + n_neurons, n_neurons])
        bias = tf.get_variable("bias", [n_neurons], initializer=tf.zeros_initializer())
        state = tf.zeros([tf.shape(inputs)[0], n_neurons])
        states = []
        for step in tf.unstack(inputs, n_steps, axis=1):
            state = tf.tanh(tf.matmul(tf.concat([step, state], 1), kernel) + bias)
            states.append(state)
    return tf.stack(states, axis=1)


def run(n_neurons, iterations=150):
    X = tf.placeholder(tf.float32, [None, n_steps, n_inputs])
    y = tf.placeholder(tf.float32, [None, n_steps, n_outputs])

    states = basic_rnn(X, n_neurons)
    with tf.variable_scope("output"):
        weights = tf.get_variable("weights", [n_neurons, n_outputs])
        stacked = tf.matmul(tf.reshape(states, [-1, n_neurons]), weights)
    outputs = tf.reshape(stacked, [-1, n_steps, n_outputs])

    loss = tf.reduce_mean(tf.square(outputs - y))
    training_op = tf.train.AdamOptimizer(learning_rate).minimize(loss)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for iteration in range(iterations):
            x_batch, y_batch = wave_batch(40)
            mse, _ = sess.run([loss, training_op], feed_dict={X: x_batch, y: y_batch})
    return mse


for n_neurons in (5, 20):
    print("%d neurons: mse %.5f" % (n_neurons, run(n_neurons)))
