import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

SAMPLES = 60
FEATURES = 10
EPOCHS = 12

# recordings of different length are cut into windows of FEATURES values
signal = np.sin(np.linspace(0, 60, SAMPLES * 30)).reshape(SAMPLES, 30)
signal = (signal + 0.05 * np.random.randn(SAMPLES, 30)).astype(np.float32)

graph = tf.Graph()
with graph.as_default():
    recordings = tf.constant(signal, name="recordings")

    # goes up by 1 / SAMPLES for each recording that is read
    epoch_counter = tf.Variable(0.0, trainable=False, name="epoch_counter")

    def windows(recording):
        count = tf.assign_add(epoch_counter, 1.0 / SAMPLES)
        with tf.control_dependencies([count]):
            starts = tf.random_uniform([4], 0, 30 - FEATURES - 1, dtype=tf.int32)
            pieces = tf.map_fn(lambda s: recording[s : s + FEATURES + 1], starts, dtype=tf.float32)
        pieces.set_shape([4, FEATURES + 1])
        return tf.data.Dataset.from_tensor_slices(pieces)

    source = tf.data.Dataset.from_tensor_slices(recordings)
    dataset = source.shuffle(SAMPLES).flat_map(windows).repeat().batch(20)
    iterator = tf.data.make_initializable_iterator(dataset)
    batch = iterator.get_next()
    past, following = batch[:, :FEATURES], batch[:, FEATURES:]

    hidden_w = tf.get_variable("hidden_w", [FEATURES, 12])
    hidden_b = tf.get_variable("hidden_b", [12], initializer=tf.zeros_initializer())
    out_w = tf.get_variable("out_w", [12, 1])
    hidden = tf.nn.tanh(tf.matmul(past, hidden_w) + hidden_b)
    forecast = tf.matmul(hidden, out_w)
    mse = tf.reduce_mean(tf.squared_difference(forecast, following))
    train = tf.train.AdamOptimizer(0.01).minimize(mse)

    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        epoch, reported = 0.0, 0
        while epoch < EPOCHS:
            _, error = sess.run([train, mse])
            epoch = sess.run(epoch_counter)
            if int(epoch) > reported:
                reported = int(epoch)
                print("epoch %2d: mse %.5f" % (reported, error))
