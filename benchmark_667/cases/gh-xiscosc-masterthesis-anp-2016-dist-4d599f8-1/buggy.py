"""Mood of a photo from its colours: random crops for training, central crops for evaluation."""
import numpy as np
import tensorflow as tf

CROP = 20
MOODS = ["calm", "gloomy", "cheerful"]
PALETTE = np.array([[110, 150, 190], [90, 90, 100], [220, 180, 90]], dtype=np.float32)
MEANS = [123.68, 116.78, 103.94]


def photos(count):
    """Images of several sizes with a palette per mood and a few blobs on it."""
    for _ in range(count):
        mood = np.random.randint(len(MOODS))
        height, width = np.random.randint(22, 34, size=2)
        image = PALETTE[mood] + np.random.normal(0, 35, (height, width, 3))
        for _ in range(3):
            top, left = np.random.randint(0, 16, size=2)
            image[top:top + 6, left:left + 6] += np.random.uniform(-60, 60, 3)
        yield np.clip(image, 0, 255).astype(np.float32), mood


def _crop(image, offset_height, offset_width, crop_height, crop_width):
    original_shape = tf.shape(image)
    size_assertion = tf.Assert(
        tf.logical_and(original_shape[0] >= crop_height, original_shape[1] >= crop_width),
        ["Crop size greater than the image size."])
    with tf.control_dependencies([size_assertion]):
        cropped_shape = tf.pack([crop_height, crop_width, original_shape[2]])
    offsets = tf.pack([offset_height, offset_width, 0])
    # tf.slice takes tensors as the size of the crop
    image = tf.slice(image, offsets, cropped_shape)
    return tf.reshape(image, [crop_height, crop_width, 3])


def preprocess_for_train(image, label):
    shape = tf.shape(image)
    top = tf.random.uniform([], maxval=shape[0] - CROP + 1, dtype=tf.int32)
    left = tf.random.uniform([], maxval=shape[1] - CROP + 1, dtype=tf.int32)
    image = _crop(image, top, left, CROP, CROP)
    return tf.image.random_flip_left_right(image) - MEANS, label


def preprocess_for_eval(image, label):
    shape = tf.shape(image)
    image = _crop(image, (shape[0] - CROP) // 2, (shape[1] - CROP) // 2, CROP, CROP)
    return image - MEANS, label


def dataset(count, preprocess):
    examples = list(photos(count))
    signature = (tf.TensorSpec([None, None, 3], tf.float32), tf.TensorSpec([], tf.int32))
    data = tf.data.Dataset.from_generator(lambda: iter(examples), output_signature=signature)
    return data.map(preprocess).batch(25)


class ConvNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(tf.random.normal([5, 5, 3, 8], stddev=0.05))
        self.weights = tf.Variable(tf.random.normal([8, len(MOODS)], stddev=0.1))
        self.bias = tf.Variable(tf.zeros([len(MOODS)]))

    def __call__(self, images):
        features = tf.nn.relu(tf.nn.conv2d(images / 128.0, self.kernel, strides=2, padding="SAME"))
        return tf.matmul(tf.reduce_mean(features, axis=[1, 2]), self.weights) + self.bias


def train(net, data, epochs=6, lr=0.5):
    for epoch in range(epochs):
        for images, labels in data:
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=net(images))
                loss = tf.reduce_mean(losses)
            for variable, gradient in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
                variable.assign_sub(lr * gradient)
        if epoch % 2 == 1:
            print("epoch %d, loss %.3f" % (epoch + 1, float(loss)))


train_data = dataset(200, preprocess_for_train)
eval_data = dataset(75, preprocess_for_eval)
net = ConvNet()
train(net, train_data)
hits = sum(int(tf.reduce_sum(tf.cast(tf.argmax(net(x), 1, tf.int32) == y, tf.int32))) for x, y in eval_data)
print("eval accuracy %.2f" % (hits / 75))
