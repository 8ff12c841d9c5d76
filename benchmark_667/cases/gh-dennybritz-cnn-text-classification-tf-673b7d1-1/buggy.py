#! /usr/bin/env python
"""Convolutional net for short sentences: embedding, filters of several widths, max over time."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

EMBEDDING_DIM = 10
FILTER_SIZES = (2, 3)
NUM_FILTERS = 8
DROPOUT_KEEP_PROB = 0.7
BATCH_SIZE = 50
NUM_EPOCHS = 7

PAD = "<pad>"
VOCABULARY = [PAD] + "not never good fun clever dull bad slow film plot cast scene the a was and".split()
WORD_ID = {word: i for i, word in enumerate(VOCABULARY)}
SEQUENCE_LENGTH = 9


def load_sentences(n):
    """Praise or complaint; a negation right before the judgement turns it around."""
    x, y = np.zeros((n, SEQUENCE_LENGTH), dtype=np.int32), np.zeros((n, 2), dtype=np.float32)
    for i in range(n):
        praise, negated = np.random.rand(2) < 0.5
        judgement = [np.random.choice(["good", "fun", "clever"] if praise else ["dull", "bad", "slow"])]
        if negated:
            judgement.insert(0, np.random.choice(["not", "never"]))
        filler = list(np.random.choice(VOCABULARY[9:], np.random.randint(4, 7)))
        place = np.random.randint(len(filler))
        words = filler[:place] + judgement + filler[place:]
        x[i, :len(words)] = [WORD_ID[w] for w in words]
        y[i, int(praise != negated)] = 1
    return x, y


class TextCNN(object):
    def __init__(self):
        self.input_x = tf.placeholder(tf.int32, [None, SEQUENCE_LENGTH], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, 2], name="input_y")
        self.dropout_keep_prob = tf.placeholder(tf.float32, name="dropout_keep_prob")

        with tf.name_scope("embedding"):
            table = tf.Variable(tf.random_uniform([len(VOCABULARY), EMBEDDING_DIM], -1.0, 1.0), name="W")
            embedded = tf.nn.embedding_lookup(table, self.input_x)

        pooled = []
        for size in FILTER_SIZES:
            with tf.name_scope("conv-maxpool-%s" % size):
                W = tf.Variable(tf.truncated_normal([size, EMBEDDING_DIM, NUM_FILTERS], stddev=0.1), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[NUM_FILTERS]), name="b")
                h = tf.nn.relu(tf.nn.conv1d(embedded, W, stride=1, padding="VALID") + b)
                pooled.append(tf.reduce_max(h, axis=1))
        features = tf.nn.dropout(tf.concat(pooled, 1), rate=1 - self.dropout_keep_prob)

        with tf.name_scope("output"):
            W = tf.Variable(tf.truncated_normal([NUM_FILTERS * len(FILTER_SIZES), 2], stddev=0.1), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[2]), name="b")
            scores = tf.nn.xw_plus_b(features, W, b, name="scores")
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(logits=scores, labels=self.input_y)
        self.loss = tf.reduce_mean(losses)
        hits = tf.equal(tf.argmax(scores, 1), tf.argmax(self.input_y, 1))
        self.accuracy = tf.reduce_mean(tf.cast(hits, tf.float32), name="accuracy")


x, y = load_sentences(900)
x_train, x_dev, y_train, y_dev = x[:-150], x[-150:], y[:-150], y[-150:]

with tf.Graph().as_default(), tempfile.TemporaryDirectory() as out_dir:
    sess = tf.Session()
    with sess.as_default():
        cnn = TextCNN()
        global_step = tf.Variable(0, name="global_step", trainable=False)
        optimizer = tf.train.AdamOptimizer(0.01)
        grads_and_vars = optimizer.compute_gradients(cnn.loss)
        train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)

        # Checkpoints, at most three of them
        checkpoint_prefix = os.path.join(out_dir, "model")
        saver = tf.train.Saver(tf.all_variables(), max_to_keep=3)

        sess.run(tf.global_variables_initializer())
        for epoch in range(NUM_EPOCHS):
            shuffled = np.random.permutation(len(x_train))
            for start in range(0, len(shuffled), BATCH_SIZE):
                rows = shuffled[start:start + BATCH_SIZE]
                feed_dict = {cnn.input_x: x_train[rows], cnn.input_y: y_train[rows],
                             cnn.dropout_keep_prob: DROPOUT_KEEP_PROB}
                _, step, loss = sess.run([train_op, global_step, cnn.loss], feed_dict)
            if epoch % 3 == 0:
                saver.save(sess, checkpoint_prefix, global_step=step)
        accuracy = sess.run(cnn.accuracy, {cnn.input_x: x_dev, cnn.input_y: y_dev, cnn.dropout_keep_prob: 1.0})
        print("step {}, loss {:g}, dev accuracy {:g}".format(step, loss, accuracy))
        print("kept", len(saver.last_checkpoints), "checkpoints")
