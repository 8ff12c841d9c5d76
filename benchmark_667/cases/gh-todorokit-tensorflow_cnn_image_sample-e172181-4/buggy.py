import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

tf = tf.compat.v1
tf.disable_eager_execution()


class baseConfig:
    floatSize = "float64"
    IMAGE_SIZE = (8, 8)
    NUM_CLASSES = 10
    conv2dList = [(3, 8), (3, 16)]
    batchSize = 64


def inference(imagePh, keepProb, config):
    rows, cols = config.IMAGE_SIZE
    h = tf.reshape(imagePh, [-1, rows, cols, 1])
    channels = 1
    for size, filters in config.conv2dList:
        std = 1.0 / np.sqrt(size * size * channels)
        w = tf.Variable(tf.truncated_normal([size, size, channels, filters], stddev=std, dtype=config.floatSize))
        b = tf.Variable(tf.constant(0.1, shape=[filters], dtype=config.floatSize))
        h = tf.nn.relu(tf.nn.conv2d(h, w, strides=[1, 1, 1, 1], padding="SAME") + b)
        h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        rows, cols, channels = (rows + 1) // 2, (cols + 1) // 2, filters

    flat = tf.nn.dropout(tf.reshape(h, [-1, rows * cols * channels]), keep_prob=keepProb)
    std = 1.0 / np.sqrt(rows * cols * channels)
    w = tf.Variable(tf.truncated_normal([rows * cols * channels, config.NUM_CLASSES], stddev=std, dtype=config.floatSize))
    b = tf.Variable(tf.zeros([config.NUM_CLASSES], dtype=config.floatSize))
    return tf.nn.softmax(tf.matmul(flat, w) + b)


def loss(logits, labels):
    return -tf.reduce_sum(labels * tf.log(tf.clip_by_value(logits, 1e-10, 1.0)))


def accuracy(logits, labels):
    correct_prediction = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_sum(tf.cast(correct_prediction, "float"))
    return accuracy


class Placeholders():
    def __init__(self, config):
        size = config.IMAGE_SIZE[0] * config.IMAGE_SIZE[1]
        self.images = tf.placeholder(config.floatSize, shape=(None, size))
        self.labels = tf.placeholder(config.floatSize, shape=(None, config.NUM_CLASSES))
        self.keepProb = tf.placeholder(config.floatSize)
        self.batchSize = tf.placeholder(config.floatSize)

    def getDict(self, images, labels, keepProb=1.0):
        return {self.images: images, self.labels: labels, self.keepProb: keepProb, self.batchSize: len(images)}


def compile(phs, config, learning_rate=2e-3):
    logits = inference(phs.images, phs.keepProb, config)
    loss_value = loss(logits, phs.labels)
    train_op = tf.train.AdamOptimizer(learning_rate).minimize(loss_value)
    acc_op = accuracy(logits, phs.labels) / phs.batchSize
    return train_op, acc_op


def main():
    digits = load_digits()
    order = np.random.permutation(len(digits.data))
    images, labels = digits.data[order] / 16.0, np.eye(10)[digits.target[order]]
    test, train = slice(0, 300), slice(300, None)
    trainImages, trainLabels = images[train], labels[train]

    phs = Placeholders(baseConfig)
    train_op, acc_op = compile(phs, baseConfig)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(4):
            for i in range(0, len(trainImages), baseConfig.batchSize):
                part = slice(i, i + baseConfig.batchSize)
                sess.run(train_op, phs.getDict(trainImages[part], trainLabels[part], 0.8))
            print("epoch %d test accuracy %g" % (epoch, sess.run(acc_op, phs.getDict(images[test], labels[test]))))


if __name__ == "__main__":
    main()
