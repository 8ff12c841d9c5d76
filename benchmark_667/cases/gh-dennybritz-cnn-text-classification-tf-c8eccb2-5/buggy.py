import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

# Hyperparameters
EMBEDDING_DIM = 16
NUM_FILTERS = 12
DROPOUT_KEEP_PROB = 0.7
BATCH_SIZE = 32
NUM_STEPS = 120

VOCABULARY = 200
LENGTH = 14


def reviews(count):
    """Sentences of word ids; some words belong to good reviews, some to bad ones."""
    labels = np.random.randint(0, 2, count)
    words = np.random.randint(40, VOCABULARY, (count, LENGTH))
    for row, label in zip(words, labels):
        places = np.random.choice(LENGTH, 3, replace=False)
        row[places] = np.random.randint(20 * label, 20 * label + 20, 3)
    return words, np.eye(2, dtype=np.float32)[labels]


def text_cnn(input_x, keep_prob, filter_sizes=(2, 3, 4)):
    embedding = tf.get_variable("W", [VOCABULARY, EMBEDDING_DIM])
    embedded = tf.expand_dims(tf.nn.embedding_lookup(embedding, input_x), -1)
    pooled = []
    for size in filter_sizes:
        with tf.variable_scope("conv-maxpool-%d" % size):
            W = tf.get_variable("W", [size, EMBEDDING_DIM, 1, NUM_FILTERS])
            b = tf.get_variable("b", [NUM_FILTERS], initializer=tf.constant_initializer(0.1))
            conv = tf.nn.conv2d(embedded, W, strides=[1, 1, 1, 1], padding="VALID")
            h = tf.nn.relu(tf.nn.bias_add(conv, b))
            pooled.append(tf.reduce_max(h, axis=[1, 2]))
    h_drop = tf.nn.dropout(tf.concat(pooled, 1), keep_prob)
    W = tf.get_variable("W_out", [h_drop.shape[1], 2])
    b = tf.get_variable("b_out", [2], initializer=tf.zeros_initializer())
    return tf.nn.xw_plus_b(h_drop, W, b, name="scores")


def main():
    x_train, y_train = reviews(800)
    x_dev, y_dev = reviews(200)

    input_x = tf.placeholder(tf.int32, [None, LENGTH], name="input_x")
    input_y = tf.placeholder(tf.float32, [None, 2], name="input_y")
    keep_prob = tf.placeholder(tf.float32, name="dropout_keep_prob")
    scores = text_cnn(input_x, keep_prob)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=input_y, logits=scores))
    correct = tf.equal(tf.argmax(scores, 1), tf.argmax(input_y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    train_op = tf.train.AdamOptimizer(5e-3).minimize(loss)

    # Summaries for loss and accuracy
    loss_summary = tf.scalar_summary("loss", loss)
    acc_summary = tf.scalar_summary("accuracy", accuracy)
    summary_op = tf.summary.merge([loss_summary, acc_summary])
    summary_dir = tempfile.mkdtemp()

    with tf.Session() as sess:
        writer = tf.summary.FileWriter(summary_dir, sess.graph)
        sess.run(tf.global_variables_initializer())
        for step in range(NUM_STEPS):
            batch = np.random.choice(len(x_train), BATCH_SIZE)
            feed = {input_x: x_train[batch], input_y: y_train[batch], keep_prob: DROPOUT_KEEP_PROB}
            _, summaries = sess.run([train_op, summary_op], feed)
            writer.add_summary(summaries, step)
            if (step + 1) % 40 == 0:
                feed = {input_x: x_dev, input_y: y_dev, keep_prob: 1.0}
                print("step {}, dev loss {:g}, dev acc {:g}".format(step + 1, *sess.run([loss, accuracy], feed)))
        writer.close()
    shutil.rmtree(summary_dir)


if __name__ == "__main__":
    main()
