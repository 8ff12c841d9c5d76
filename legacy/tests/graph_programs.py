"""TensorFlow 1 programs for the tests, which print what each step computed, with equal initial weights in both
versions.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from dnnfix.api import Candidate
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix_legacy.rules.graph_and_session import GraphAndSession

LINE = """\
import numpy as np
import tensorflow as tf

x_data = np.linspace(-1, 1, 20)
X = tf.placeholder("float")
Y = tf.placeholder("float")
w = tf.Variable(0.5, name="weight")
b = tf.Variable(0.0)
loss = tf.reduce_sum(tf.pow(tf.add(tf.multiply(X, w), b) - Y, 2)) / (2 * 20)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
init = tf.initialize_all_variables()
with tf.Session() as sess:
    sess.run(init)
    for epoch in range(4):
        for (x, y) in zip(x_data, 2 * x_data - 1):
            sess.run(train, feed_dict={X: x, Y: y})
        print(epoch, sess.run(loss, feed_dict={X: x_data, Y: 2 * x_data - 1}), sess.run(w), b.eval())
"""

CLASSES = """\
import numpy as np
import tensorflow as tf

draw = np.random.RandomState(3)
data = draw.rand(90, 6)
labels = np.eye(3)[data[:, :3].argmax(1)]
first = draw.randn(6, 12) * 0.3
last = draw.randn(12, 3) * 0.3


def layer(inputs, weights, biases):
    return tf.nn.bias_add(tf.matmul(inputs, weights), biases)


x = tf.placeholder(tf.float32, [None, 6], name="x")
y = tf.placeholder(tf.float32, [None, 3], name="y")
W = {"first": tf.Variable(tf.constant(first, dtype=tf.float32)), "last": tf.Variable(last.astype("float32"))}
B = {"first": tf.Variable(tf.zeros([12])), "last": tf.Variable(tf.zeros([3]))}
hidden = tf.nn.relu(layer(x, W["first"], B["first"]))
logits = layer(hidden, W["last"], B["last"])
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))
cost = cost + 0.001 * tf.nn.l2_loss(W["last"])
optimizer = tf.train.OPTIMIZER.minimize(cost)
correct = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
accuracy = tf.reduce_mean(tf.cast(correct, "float"))

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for epoch in range(6):
    for start in range(0, 90, 30):
        _, c = sess.run([optimizer, cost], feed_dict={x: data[start:start + 30], y: labels[start:start + 30]})
        print(c)
    print(accuracy.eval(feed_dict={x: data, y: labels}, session=sess))
print(sess.run(tf.global_norm([W["first"]]) if False else W["first"]).sum())
sess.close()
"""

CLASSES = CLASSES.replace('tf.global_norm([W["first"]]) if False else W["first"]', 'W["first"]')

CONVOLUTION = """\
import numpy as np
import tensorflow as tf

draw = np.random.RandomState(5)
images = draw.rand(32, 8, 8, 1)
targets = (images.sum((1, 2, 3)) > 32).astype(int)
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
t = tf.placeholder(tf.int64, [None])
kernel = tf.Variable(draw.randn(3, 3, 1, 4).astype(np.float32) * 0.2)
w = tf.Variable(draw.randn(64, 2).astype(np.float32) * 0.2)
with tf.name_scope("features"):
    maps = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
    maps = tf.nn.max_pool(tf.nn.relu(maps), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    flat = tf.reshape(maps, [-1, 64])
kept = tf.nn.dropout(flat, 1.0)
scores = tf.matmul(kept, w)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=scores), keep_dims=True)
step = tf.Variable(0, trainable=False)
train = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True).minimize(loss, global_step=step)
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for _ in range(5):
        sess.run(train, feed_dict={x: images, t: targets})
        print(sess.run([loss, scores], feed_dict={x: images, t: targets})[0], sess.run(step))
"""

TWO_PLAYERS = """\
import numpy as np
import tensorflow as tf

draw = np.random.RandomState(1)
real = tf.placeholder(tf.float32, [None, 4])
noise = tf.placeholder(tf.float32, [None, 2])
g = tf.get_variable("g", shape=[2, 4], initializer=tf.zeros_initializer())
gb = tf.get_variable("gb", initializer=tf.constant([0.1, 0.2, 0.3, 0.4]))
d = tf.Variable(draw.randn(4, 1).astype("float32"))
theta_g = [g, gb]


def discriminator(value):
    return tf.matmul(value, d)


made = tf.nn.sigmoid(tf.matmul(noise, g) + gb)
of_real = discriminator(real)
of_made = discriminator(made)
d_loss = tf.reduce_mean(of_made - of_real) + 0.1 * tf.nn.l2_loss(d)
g_loss = -tf.reduce_mean(of_made)
d_solver = tf.train.AdamOptimizer(0.05).minimize(d_loss, var_list=[d])
g_solver = tf.train.AdamOptimizer(0.05, beta1=0.5).minimize(g_loss, var_list=theta_g)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for it in range(6):
    batch, z = draw.rand(8, 4), draw.rand(8, 2)
    _, d_now = sess.run([d_solver, d_loss], feed_dict={real: batch, noise: z})
    _, g_now = sess.run([g_solver, g_loss], feed_dict={noise: z})
    print("D {:.5f} G {:.5f}".format(d_now, g_now))
print(sess.run(made, feed_dict={noise: np.ones((1, 2))}))
"""

LAYERS = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import layers

tf.app.flags.DEFINE_float("rate", 0.05, "learning rate")
FLAGS = tf.app.flags.FLAGS
draw = np.random.RandomState(2)
images, targets = draw.rand(20, 8, 8, 1), np.eye(2)[draw.randint(0, 2, 20)]


def main(_):
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    t = tf.placeholder(tf.float32, [None, 2])
    training = tf.placeholder(tf.bool)
    begin = tf.constant_initializer(0.05)
    maps = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu, kernel_initializer=begin)
    maps = tf.layers.max_pooling2d(maps, 2, 2)
    flat = layers.flatten(maps)
    hidden = tf.layers.dropout(layers.fully_connected(flat, 6, weights_initializer=tf.constant_initializer(0.02)), 0.5)
    hidden = tf.layers.dropout(hidden, rate=0.5, training=training)
    logits = tf.layers.dense(hidden, 2, kernel_initializer=tf.constant_initializer(draw.randn(6, 2) * 0.3))
    with tf.variable_scope("shared"):
        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
    loss = tf.losses.softmax_cross_entropy(onehot_labels=t, logits=scale * logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(FLAGS.rate, step, 2, 0.9)
    train = tf.train.RMSPropOptimizer(rate).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    tf.summary.scalar("loss", loss)
    merged = tf.summary.merge_all()
    with tf.Session() as sess:
        writer = tf.summary.FileWriter("logs", sess.graph)
        sess.run(tf.global_variables_initializer())
        for _ in range(6):
            _, now, count, summary = sess.run([train, loss, step, merged], {x: images, t: targets, training: False})
            writer.add_summary(summary, count)
            print(count, now)
        saver.save(sess, "./model")
        print(sess.run(scale), len(tf.trainable_variables()))


if __name__ == "__main__":
    tf.app.run()
"""
"""Only the kept graph: it is made inside of a function, saved and summed up."""

OPTIMIZERS = (
    "GradientDescentOptimizer(0.5)",
    "MomentumOptimizer(0.1, momentum=0.8)",
    "AdamOptimizer()",
    "AdamOptimizer(learning_rate=0.02, epsilon=0.1)",
    "RMSPropOptimizer(0.01, 0.9)",
    "AdagradOptimizer(0.1)",
    "AdadeltaOptimizer(0.5, rho=0.9)",
)

PROGRAMS = {
    "line": LINE,
    "convolution": CONVOLUTION,
    "two players": TWO_PLAYERS,
    **{optimizer: CLASSES.replace("OPTIMIZER", optimizer) for optimizer in OPTIMIZERS},
}


def candidates(text: str) -> tuple[str, ...]:
    """The program as functions, where that is certain, and with its graph kept."""
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    finding = next(each for each in GraphAndSession().detect(subject) if each.message == GraphAndSession.message)
    found = [each for each in GraphAndSession().propose(finding, subject) if isinstance(each, Candidate)]
    return tuple(apply_edits(subject.source, each.edits).decode() for each in found)


def printed(interpreter: str, text: str, folder: Path) -> list[float]:
    """The numbers that the program prints."""
    path = folder / "program.py"
    path.write_text(text)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    environment["KERAS_BACKEND"] = "tensorflow"
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [interpreter, str(path)], capture_output=True, text=True, timeout=300, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", done.stdout)]
