import numpy as np
import tensorflow as tf

SIZE = 16
PEOPLE = 4


def portraits(count):
    """Faces of four people: an oval, and eyes and a mouth where each has them. The light differs from picture to picture."""
    who = np.random.randint(PEOPLE, size=count)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    faces = np.zeros((count, SIZE, SIZE, 3), dtype=np.float32)
    for k, person in enumerate(who):
        oval = ((yy - 8) / 7.0) ** 2 + ((xx - 8) / (4.5 + 0.6 * person)) ** 2 <= 1
        faces[k][oval] = (0.9, 0.7, 0.6)
        row = 4 + person % 2
        faces[k, row:row + 2, 5:7] = faces[k, row:row + 2, 9:11] = 0.1
        faces[k, 11 + person // 2, 6:11] = (0.7, 0.1, 0.1)
    light = np.random.uniform(0.4, 1.0, size=(count, 1, 1, 1))
    noisy = faces * light + np.random.normal(0, 0.05, size=faces.shape)
    return noisy.astype(np.float32), who.astype(np.int32)


class Recognizer:

    def __init__(self, batch_size=32):
        self.batch_size = batch_size
        self.filters = tf.Variable(tf.random.truncated_normal([3, 3, 3, 8], stddev=0.2))
        self.dense = tf.Variable(tf.random.truncated_normal([8 * 8 * 8, PEOPLE], stddev=0.04))
        self.bias = tf.Variable(tf.zeros([PEOPLE]))

    @property
    def weights(self):
        return [self.filters, self.dense, self.bias]

    def inputs(self, images, labels, distort):
        def read(image, label):
            if distort:
                image = tf.image.random_flip_left_right(image)
                image = tf.image.random_brightness(image, max_delta=0.1)
                image = tf.image.random_contrast(image, lower=0.8, upper=1.2)
            return tf.image.per_image_whitening(image), label

        return tf.data.Dataset.from_tensor_slices((images, labels)).map(read).shuffle(400).batch(self.batch_size)

    def inference(self, images):
        conv = tf.nn.relu(tf.nn.conv2d(images, self.filters, strides=1, padding="SAME"))
        pool = tf.nn.max_pool2d(conv, 2, 2, padding="SAME")
        return tf.reshape(pool, [-1, 8 * 8 * 8]) @ self.dense + self.bias

    def train(self, data, epochs, rate=0.05):
        for epoch in range(epochs):
            for images, labels in data:
                with tf.GradientTape() as tape:
                    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.inference(images))
                    loss = tf.reduce_mean(losses)
                for weight, gradient in zip(self.weights, tape.gradient(loss, self.weights)):
                    weight.assign_sub(rate * gradient)
            print("epoch", epoch, "loss", float(loss))


recognizer = Recognizer()
recognizer.train(recognizer.inputs(*portraits(400), distort=True), epochs=5)
answers = [tf.argmax(recognizer.inference(images), 1, output_type=tf.int32) == labels
           for images, labels in recognizer.inputs(*portraits(200), distort=False)]
print("recognized: %.3f" % float(tf.reduce_mean(tf.cast(tf.concat(answers, 0), tf.float32))))
