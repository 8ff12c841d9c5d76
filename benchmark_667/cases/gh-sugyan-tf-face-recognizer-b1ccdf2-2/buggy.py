"""Faces of six people, told apart by a small network that goes on from the weights of an earlier run."""
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()

PIXELS = 64
PEOPLE = 6


def portraits():
    faces = np.random.rand(PEOPLE, PIXELS)

    def sample(n):
        who = np.random.randint(PEOPLE, size=n)
        light = np.random.uniform(0.7, 1.1, size=(n, 1))
        return light * faces[who] + 0.15 * np.random.randn(n, PIXELS), who

    return sample


class Recognizer:
    def __init__(self, hidden=24):
        with tf.compat.v1.variable_scope("hidden"):
            w1 = tf.compat.v1.get_variable("weights", [PIXELS, hidden])
            b1 = tf.compat.v1.get_variable("biases", [hidden], initializer=tf.compat.v1.zeros_initializer())
        with tf.compat.v1.variable_scope("people"):
            w2 = tf.compat.v1.get_variable("weights", [hidden, PEOPLE])
            b2 = tf.compat.v1.get_variable("biases", [PEOPLE], initializer=tf.compat.v1.zeros_initializer())
        self.images = tf.compat.v1.placeholder(tf.float32, [None, PIXELS])
        self.labels = tf.compat.v1.placeholder(tf.int32, [None])
        features = tf.nn.relu(tf.matmul(self.images, w1) + b1)
        self.logits = tf.matmul(features, w2) + b2
        self.loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=self.logits)
        )
        self.train_op = tf.compat.v1.train.AdamOptimizer(0.01).minimize(self.loss)


def restore_or_initialize(sess, checkpoint):
    for v in tf.all_variables():
        if v.name in checkpoint:
            print("restore variable %s" % v.name)
            v.load(checkpoint[v.name], sess)
        else:
            sess.run(v.initializer)


def run(recognizer, sample, steps, checkpoint):
    with tf.compat.v1.Session() as sess:
        restore_or_initialize(sess, checkpoint)
        for _ in range(steps):
            images, labels = sample(32)
            sess.run(recognizer.train_op, {recognizer.images: images, recognizer.labels: labels})
        images, labels = sample(300)
        logits = sess.run(recognizer.logits, {recognizer.images: images})
        print("recognized: %.3f" % np.mean(logits.argmax(axis=1) == labels))
        return {v.name: sess.run(v) for v in tf.compat.v1.trainable_variables()}


if __name__ == "__main__":
    recognizer = Recognizer()
    sample = portraits()
    checkpoint = run(recognizer, sample, 60, {})
    run(recognizer, sample, 60, checkpoint)
