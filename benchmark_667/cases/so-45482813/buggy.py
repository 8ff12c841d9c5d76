"""Reads short words from frames of a moving pen: a classifier for single frames, then a beam search over time."""
import numpy as np
import tensorflow as tf

LETTERS = "aemnt"
BLANK = len(LETTERS)        # the last class
CLASSES = len(LETTERS) + 1
WORDS = ["tea", "man", "net", "meat", "mate", "neat", "team", "name", "ten", "ant"]
FRAMES, FEATURES = 18, 6

tf1 = tf.compat.v1
tf1.disable_eager_execution()
prototypes = np.random.RandomState(3).normal(size=(CLASSES, FEATURES))


def write(word):
    """Every letter lasts two or three frames; pen up before, between and after."""
    classes = [BLANK]
    for letter in word:
        classes += [LETTERS.index(letter)] * np.random.randint(2, 4) + [BLANK]
    classes = (classes + [BLANK] * FRAMES)[:FRAMES]
    return prototypes[classes] + 0.35 * np.random.normal(size=(FRAMES, FEATURES)), classes


def batch(n):
    words = list(np.random.choice(WORDS, n))
    frames, classes = zip(*(write(word) for word in words))
    return np.array(frames, dtype="float32"), np.array(classes, dtype="int32"), words


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


pen = tf1.placeholder(tf.float32, [None, FRAMES, FEATURES])
frame_classes = tf1.placeholder(tf.int32, [None, FRAMES])

w1 = tf1.get_variable("w1", [FEATURES, 32])
b1 = tf1.get_variable("b1", [32], initializer=tf1.zeros_initializer())
w2 = tf1.get_variable("w2", [32, CLASSES])
b2 = tf1.get_variable("b2", [CLASSES], initializer=tf1.zeros_initializer())
hidden = tf.nn.relu(tf.tensordot(pen, w1, 1) + b1)
logits = tf.tensordot(hidden, w2, 1) + b2

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=frame_classes, logits=logits))
train_op = tf1.train.AdamOptimizer(0.01).minimize(loss)

# decoding
scores = tf.nn.log_softmax(logits)
sequence_length = tf.fill([tf.shape(scores)[1]], tf.shape(scores)[0])
decoded, log_probabilities = tf1.nn.ctc_beam_search_decoder(
    scores, sequence_length, beam_width=4, top_paths=1, merge_repeated=False)
letters = tf.sparse.to_dense(decoded[0], default_value=-1)

with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for step in range(1, 201):
        x, y, _ = batch(16)
        value, _ = sess.run([loss, train_op], feed_dict={pen: x, frame_classes: y})
        if step % 50 == 0:
            print("step %d, frame loss %.3f" % (step, value))

    x, _, words = batch(12)
    output = sess.run(letters, feed_dict={pen: x})
    found = ["".join(LETTERS[i] for i in row if i >= 0) for row in output]
    for word, reading in list(zip(words, found))[:4]:
        print("%-6s read as %s" % (word, reading))
    distance = sum(edit_distance(word, reading) for word, reading in zip(words, found))
    print("label error rate %.3f" % (distance / sum(map(len, words))))
