'''Logistic regression on bags of words for short product reviews, with a checkpoint at the end.'''
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

words = ('good great nice love fast solid bad poor slow cracked late refund '
         'box the it cable phone lamp shelf really very quite').split()
positive, negative = range(0, 6), range(6, 12)
index = {w: i for i, w in enumerate(words)}


def write_review(label):
    mood = positive if label else negative
    length = np.random.randint(5, 10)
    review = [words[np.random.choice(mood)] for _ in range(2)]
    review += [words[np.random.randint(12, len(words))] for _ in range(length)]
    if np.random.rand() < 0.3:
        review.append(words[np.random.randint(0, 12)])
    return ' '.join(review)


def vectorize(reviews):
    bags = np.zeros((len(reviews), len(words)), dtype=np.float32)
    for row, review in enumerate(reviews):
        for word in review.split():
            bags[row, index[word]] += 1
    return bags


labels = np.random.randint(0, 2, 400)
reviews = [write_review(label) for label in labels]
x_all, y_all = vectorize(reviews), labels.reshape(-1, 1).astype(np.float32)
x_train, y_train, x_valid, y_valid = x_all[:320], y_all[:320], x_all[320:], y_all[320:]

batch_size = 32
graph = tf.Graph()
with graph.as_default():
    tf_train = tf.placeholder(tf.float32, shape=(batch_size, len(words)))
    tf_train_labels = tf.placeholder(tf.float32, shape=(batch_size, 1))
    tf_valid = tf.constant(x_valid)

    weights = tf.Variable(tf.truncated_normal([len(words), 1], stddev=0.1), name='weights')
    biases = tf.Variable(tf.zeros([1]), name='biases')

    logits = tf.matmul(tf_train, weights) + biases
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf_train_labels, logits=logits))
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    valid_prediction = tf.nn.sigmoid(tf.matmul(tf_valid, weights) + biases)

saver = tf.train.Saver()
with tf.Session(graph=graph) as session:
    tf.global_variables_initializer().run()
    print('Initialized')
    for step in range(301):
        offset = (step * batch_size) % (len(y_train) - batch_size)
        feed = {tf_train: x_train[offset:offset + batch_size],
                tf_train_labels: y_train[offset:offset + batch_size]}
        _, l = session.run([optimizer, loss], feed_dict=feed)
        if step % 100 == 0:
            hits = (valid_prediction.eval() > 0.5) == (y_valid > 0.5)
            print('step %d: loss %.3f, validation accuracy %.1f%%' % (step, l, 100 * hits.mean()))

    with tempfile.TemporaryDirectory() as folder:
        path = saver.save(session, os.path.join(folder, 'reviews.ckpt'))
        print('Checkpoint', os.path.basename(path), 'with', len(os.listdir(folder)), 'files')
