import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

tf.disable_v2_behavior()


class LinearSVM:
    """Soft-margin support vector machine, trained by gradient descent on the hinge loss."""

    def __init__(self, n_features, C=10.0, learning_rate=0.01):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [None, n_features], name="x")
            self.y = tf.placeholder(tf.float32, [None, 1], name="y")
            w = tf.Variable(tf.random_normal([n_features, 1], stddev=0.01))
            b = tf.Variable(tf.zeros([1]))

            self.score = tf.nn.sigmoid(tf.matmul(self.x, w) + b)

            hinge = tf.reduce_mean(tf.maximum(0.0, 1.0 - self.y * self.score))
            self.loss = C * hinge + 0.5 * tf.reduce_sum(tf.square(w))
            self.train_step = tf.train.AdamOptimizer(learning_rate).minimize(self.loss)
            self.init = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)

    def fit(self, x, y, epochs=20, batch_size=32):
        self.session.run(self.init)
        for epoch in range(epochs):
            order = np.random.permutation(len(x))
            for k in range(0, len(x), batch_size):
                rows = order[k:k + batch_size]
                self.session.run(self.train_step, {self.x: x[rows], self.y: y[rows, None]})
            if epoch % 5 == 4:
                loss = self.session.run(self.loss, {self.x: x, self.y: y[:, None]})
                print("epoch %d: loss %.3f" % (epoch + 1, loss))
        return self

    def predict(self, x):
        score = self.session.run(self.score, {self.x: x})[:, 0]
        return np.where(score > 0, 1, -1)


data = load_breast_cancer()
X = scale(data.data)
Y = np.where(data.target == 1, 1, -1)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.3)

svm = LinearSVM(X.shape[1]).fit(X_train, Y_train)
print("accuracy on the test set: %.3f" % np.mean(svm.predict(X_test) == Y_test))
