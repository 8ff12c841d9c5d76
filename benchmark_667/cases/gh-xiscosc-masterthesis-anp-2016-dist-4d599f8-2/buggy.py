"""Mood of a picture from its colours, with the usual preparation: random crop, mirror, mean taken away."""
import numpy as np
import tensorflow as tf

SIDE, CROP = 20, 16
MOODS = ("calm", "tense", "joyful")
MEANS = [0.45, 0.43, 0.40]


def paint(n):
    """Calm: cold and smooth. Tense: dark with hard edges. Joyful: warm and bright."""
    moods = np.random.randint(0, len(MOODS), n)
    pictures = np.random.normal(0, 0.05, (n, SIDE, SIDE, 3))
    wave = np.sin(np.arange(SIDE) / 3.0).reshape(1, SIDE, 1, 1)
    pictures[moods == 0] += np.array([0.3, 0.45, 0.6]) + 0.1 * wave
    pictures[moods == 1] += np.sign(wave) * 0.2 + np.array([0.3, 0.2, 0.25])
    pictures[moods == 2] += np.array([0.8, 0.6, 0.2]) + 0.1 * wave
    return np.clip(pictures, 0, 1).astype("float32"), moods


def cut(image, top, left, height, width):
    """A part of an image, whose place may be known only while the graph runs."""
    begin = tf.cast(tf.pack([top, left, 0]), tf.int32)
    size = tf.stack([height, width, tf.shape(image)[2]])
    tf.debugging.assert_less_equal(begin + size, tf.shape(image), "the part leaves the image")
    return tf.slice(image, begin, size)


def without_mean(image):
    red, green, blue = tf.split(image, 3, axis=2)
    return tf.concat([red - MEANS[0], green - MEANS[1], blue - MEANS[2]], axis=2)


def prepare_train(image, mood):
    room = tf.shape(image)[:2] - CROP + 1
    top = tf.random.uniform([], maxval=room[0], dtype=tf.int32)
    left = tf.random.uniform([], maxval=room[1], dtype=tf.int32)
    image = tf.image.random_flip_left_right(cut(image, top, left, CROP, CROP))
    return without_mean(tf.ensure_shape(image, [CROP, CROP, 3])), mood


def prepare_test(image, mood):
    margin = (SIDE - CROP) // 2
    return without_mean(tf.ensure_shape(cut(image, margin, margin, CROP, CROP), [CROP, CROP, 3])), mood


def dataset(n, prepare, batch=20):
    return tf.data.Dataset.from_tensor_slices(paint(n)).map(prepare).batch(batch)


def init(*shape):
    return tf.Variable(tf.random.truncated_normal(shape, stddev=0.1))


kernel, kernel_bias = init(3, 3, 3, 8), tf.Variable(tf.zeros([8]))
weights, bias = init(16, len(MOODS)), tf.Variable(tf.zeros([len(MOODS)]))


def network(images):
    hidden = tf.nn.relu(tf.nn.conv2d(images, kernel, 2, "SAME") + kernel_bias)
    mean, variance = tf.nn.moments(hidden, [1, 2])
    return tf.matmul(tf.concat([mean, variance], 1), weights) + bias


velocities = [tf.Variable(tf.zeros_like(v)) for v in (kernel, kernel_bias, weights, bias)]
train_data = dataset(400, prepare_train)
for epoch in range(6):
    for images, moods in train_data:
        with tf.GradientTape() as tape:
            logits = network(images)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=moods, logits=logits))
        trained = (kernel, kernel_bias, weights, bias)
        for variable, velocity, gradient in zip(trained, velocities, tape.gradient(loss, trained)):
            velocity.assign(0.9 * velocity + gradient)
            variable.assign_sub(0.1 * velocity)
    print("epoch %d, loss %.3f" % (epoch, float(loss)))

hits = [tf.argmax(network(images), 1) == moods for images, moods in dataset(100, prepare_test)]
print("accuracy %.2f" % float(tf.reduce_mean(tf.cast(tf.concat(hits, 0), tf.float32))))
