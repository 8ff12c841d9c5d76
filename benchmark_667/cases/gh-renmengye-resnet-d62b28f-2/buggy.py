"""A residual network on the scikit-learn digits, trained with momentum and stepwise learning rates."""
import logging

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

tf.disable_eager_execution()
logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
log = logging.getLogger("resnet")


class ResNet8Config:
    height = width = 8
    num_channel = 1
    num_classes = 10
    filters = [8, 16]
    relu_leakiness = 0.1
    wd = 1e-4
    batch_size = 64
    lr_list = [0.1, 0.02]
    steps_per_lr = 40


class ResNetModel:
    def __init__(self, config):
        self.config = config
        self._wd_terms = []
        self.input = tf.placeholder(tf.float32, [None, config.height, config.width, config.num_channel])
        self.label = tf.placeholder(tf.int32, [None])
        self.lr = tf.placeholder(tf.float32, shape=[])

        logits = self.build_inference_network(self.input)
        with tf.variable_scope("costs"):
            xent = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=self.label)
            self.cost = tf.reduce_mean(xent) + tf.add_n(self._wd_terms)
        self.correct = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), self.label)
        self.train_op = tf.train.MomentumOptimizer(self.lr, 0.9).minimize(self.cost)

    def build_inference_network(self, x):
        config = self.config
        with tf.variable_scope("init"):
            h = self._conv(x, config.num_channel, config.filters[0], stride=1)
        in_filter = config.filters[0]
        for ii, out_filter in enumerate(config.filters):
            with tf.variable_scope("unit_%d" % ii):
                h = self._residual(h, in_filter, out_filter, stride=1 + ii)
            in_filter = out_filter
        h = tf.reduce_mean(self._relu(h, config.relu_leakiness), [1, 2])
        w = self._weight("logit_w", [in_filter, config.num_classes])
        b = tf.get_variable("logit_b", [config.num_classes], initializer=tf.zeros_initializer())
        return tf.matmul(h, w) + b

    def _residual(self, x, in_filter, out_filter, stride):
        shortcut = x
        if in_filter != out_filter:
            shortcut = tf.nn.avg_pool2d(x, stride, stride, "VALID")
            shortcut = tf.pad(shortcut, [[0, 0], [0, 0], [0, 0], [0, out_filter - in_filter]])
        with tf.variable_scope("sub1"):
            h = self._conv(self._relu(x, self.config.relu_leakiness), in_filter, out_filter, stride)
        with tf.variable_scope("sub2"):
            h = self._conv(self._relu(h, self.config.relu_leakiness), out_filter, out_filter, 1)
        return h + shortcut

    def _conv(self, x, in_filter, out_filter, stride):
        w = self._weight("w", [3, 3, in_filter, out_filter])
        return tf.nn.conv2d(x, w, strides=stride, padding="SAME")

    def _weight(self, name, shape):
        stddev = np.sqrt(2.0 / np.prod(shape[:-1]))
        w = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
        self._wd_terms.append(tf.multiply(tf.nn.l2_loss(w), self.config.wd))
        return w

    def _relu(self, x, leakiness=0.0):
        """Relu, leaky where that is asked for."""
        return tf.select(tf.less(x, 0.0), leakiness * x, x, name="leaky_relu")


def main():
    digits = load_digits()
    images = (digits.images[..., None] / 8.0 - 1.0).astype(np.float32)
    order = np.random.permutation(len(images))
    train, test = order[:1400], order[1400:]
    config = ResNet8Config()
    model = ResNetModel(config)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for lr in config.lr_list:
            for _ in range(config.steps_per_lr):
                rows = np.random.choice(train, config.batch_size)
                feed = {model.input: images[rows], model.label: digits.target[rows], model.lr: lr}
                cost, _ = sess.run([model.cost, model.train_op], feed)
            hits = sess.run(model.correct, {model.input: images[test], model.label: digits.target[test]})
            log.info("lr %.3f cost %.4f test accuracy %.4f", lr, cost, hits.mean())


if __name__ == "__main__":
    main()
