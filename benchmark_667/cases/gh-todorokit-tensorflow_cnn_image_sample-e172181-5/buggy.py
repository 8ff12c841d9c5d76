# -*- coding: utf-8 -*-
"""Small image classifier: model, placeholders and the training loop."""
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()


class baseConfig:
    floatSize = tf.float64


class CrossesConfig(baseConfig):
    IMAGE_SIZE = (10, 10)
    NUM_RGB_CHANNEL = 1
    NUM_CLASSES = 3
    conv2dList = [("conv1", 3, 6), ("conv2", 3, 8)]
    numHidden = 24
    testSize = 90


def createVar(name, shape, initializer):
    return tf1.get_variable(name, shape, initializer=initializer, dtype=baseConfig.floatSize)


def inference(imagePh, keepProb, config):
    h = tf.reshape(imagePh, [-1, config.IMAGE_SIZE[0], config.IMAGE_SIZE[1], config.NUM_RGB_CHANNEL])
    numIn = config.NUM_RGB_CHANNEL
    for name, size, numOut in config.conv2dList:
        with tf1.variable_scope(name):
            w = createVar("w", [size, size, numIn, numOut], tf1.glorot_uniform_initializer())
            b = createVar("b", [numOut], tf1.constant_initializer(0.1))
            h = tf.nn.relu(tf.nn.conv2d(h, w, strides=1, padding="SAME") + b)
        numIn = numOut
    h = tf.nn.max_pool2d(h, 2, 2, padding="SAME")
    numFlat = int(np.prod(h.shape[1:]))
    h = tf.reshape(h, [-1, numFlat])
    for name, numFrom, numTo in (("fc1", numFlat, config.numHidden), ("fc2", config.numHidden, config.NUM_CLASSES)):
        with tf1.variable_scope(name):
            w = createVar("w", [numFrom, numTo], tf1.glorot_uniform_initializer())
            b = createVar("b", [numTo], tf1.zeros_initializer())
            h = tf.matmul(h, w) + b
            if name == "fc1":
                h = tf.nn.relu(h) * keepProb
    return tf.nn.softmax(h)


def loss(logits, labels):
    return -tf.reduce_sum(labels * tf1.log(tf.clip_by_value(logits, 1e-10, 1.0)))


def accuracy(logits, labels):
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    return tf.reduce_sum(tf.cast(correct, baseConfig.floatSize))


class Placeholders():
    def __init__(self, config):
        numPixels = config.IMAGE_SIZE[0] * config.IMAGE_SIZE[1] * config.NUM_RGB_CHANNEL
        self.imagesPh = tf1.placeholder("float", shape=(None, numPixels))
        self.labelsPh = tf1.placeholder(baseConfig.floatSize, shape=(None, config.NUM_CLASSES))
        self.keepProb = tf1.placeholder(baseConfig.floatSize)

    def feed(self, images, labels, keepProb=1.0):
        return {self.imagesPh: images, self.labelsPh: labels, self.keepProb: keepProb}


def loadImages(config, count):
    """Horizontal bar, vertical bar or both (a cross) on a noisy background."""
    kinds = np.random.randint(0, config.NUM_CLASSES, count)
    images = np.random.normal(0, 0.2, (count,) + config.IMAGE_SIZE)
    for image, kind in zip(images, kinds):
        row, column = np.random.randint(2, 8, 2)
        if kind != 1:
            image[row] += 1
        if kind != 0:
            image[:, column] += 1
    return images.reshape(count, -1), np.eye(config.NUM_CLASSES)[kinds]


config = CrossesConfig
phs = Placeholders(config)
logits = inference(phs.imagesPh, phs.keepProb, config)
lossValue = loss(logits, phs.labelsPh)
trainOp = tf1.train.AdamOptimizer(3e-3).minimize(lossValue)
accOp = accuracy(logits, phs.labelsPh)

trainImages, trainLabels = loadImages(config, 600)
testImages, testLabels = loadImages(config, config.testSize)
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for step in range(101):
        rows = np.random.randint(0, len(trainImages), 32)
        _, value = sess.run([trainOp, lossValue], phs.feed(trainImages[rows], trainLabels[rows], 0.9))
        if step % 50 == 0:
            hits = sess.run(accOp, phs.feed(testImages, testLabels))
            print("step %d loss %.3f test accuracy %.3f" % (step, value, hits / config.testSize))
