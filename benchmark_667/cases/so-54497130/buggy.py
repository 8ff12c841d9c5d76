"""Two-layer classifier for wine-like chemistry data, fed by a tf.data pipeline in graph mode."""
import argparse

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

v1 = tf.compat.v1
v1.disable_eager_execution()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--units", type=int, default=24)
    parser.add_argument("--learning_rate", type=float, default=0.05)
    return parser.parse_args([])


def pipeline(features, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    dataset = dataset.shuffle(256).batch(batch_size).prefetch(1)
    return v1.data.make_initializable_iterator(dataset)


def network(x, units, classes):
    with v1.variable_scope("classifier", reuse=v1.AUTO_REUSE):
        glorot = v1.glorot_uniform_initializer()
        w1 = v1.get_variable("w1", [x.shape[1], units], initializer=glorot)
        b1 = v1.get_variable("b1", [units], initializer=v1.zeros_initializer())
        w2 = v1.get_variable("w2", [units, classes], initializer=glorot)
        b2 = v1.get_variable("b2", [classes], initializer=v1.zeros_initializer())
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2


def main():
    args = parse_args()
    data = load_wine()
    x_train, x_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target, random_state=3)
    scaler = StandardScaler().fit(x_train)
    x_train = scaler.transform(x_train).astype(np.float32)
    x_test = scaler.transform(x_test).astype(np.float32)

    iterator = pipeline(x_train, y_train, args.batch_size)
    x_batch, y_batch = iterator.get_next()
    logits = network(x_batch, args.units, 3)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y_batch, logits=logits))
    step = v1.train.GradientDescentOptimizer(args.learning_rate).minimize(loss)
    test_class = tf.argmax(network(tf.constant(x_test), args.units, 3), axis=1)

    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for epoch in range(args.epochs):
            losses = []
            try:
                while True:
                    value, _ = sess.run([loss, step])
                    losses.append(value)
            except tf.errors.OutOfRangeError:
                pass
            if epoch % 5 == 4:
                right = np.mean(sess.run(test_class) == y_test)
                print("epoch %d: loss %.4f, test accuracy %.3f" % (epoch + 1, np.mean(losses), right))


if __name__ == "__main__":
    main()
