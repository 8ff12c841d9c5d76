"""Equalized learning rates: every dense layer keeps unit weights and a layer behind it does the scaling."""
import numpy as np
from keras import Sequential, activations, layers
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import scale


class WScaleLayer(layers.Layer):
    """Takes scale and bias over from the layer before it."""

    def __init__(self, incoming, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.incoming = incoming
        self.activation = activations.get(activation)

    def build(self, input_shape):
        incoming = self.incoming
        kernel = np.asarray(incoming.get_weights()[0])
        scale_of_kernel = np.sqrt(np.mean(kernel ** 2))
        self.scale = self.add_weight(name="scale", shape=(), initializer="zeros", trainable=False)
        self.scale.assign(scale_of_kernel)
        self.bias = None
        if incoming.bias is not None:
            self.bias = incoming.bias
            del incoming.trainable_weights[incoming.bias]
            incoming.bias = None
        incoming.kernel.assign(kernel / scale_of_kernel)

    def call(self, inputs):
        scaled = inputs * self.scale
        if self.bias is not None:
            scaled = scaled + self.bias
        return self.activation(scaled)

    def compute_output_shape(self, input_shape):
        return input_shape


def network(n_inputs, units=(32, 16), use_wscale=True):
    net = Sequential([layers.Input((n_inputs,))])
    for number, width in enumerate(units, start=1):
        dense = layers.Dense(width, kernel_initializer="he_normal", name=f"d{number}")
        net.add(dense)
        if use_wscale:
            net.add(WScaleLayer(dense, activation="relu", name=f"d{number}WS"))
    net.add(layers.Dense(1, name="out"))
    return net


X, y = make_friedman1(n_samples=500, noise=0.5)
X, y = scale(X), scale(y)
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]

net = network(X.shape[1])
net.compile(optimizer="adam", loss="mse")
net.optimizer.learning_rate = 0.01
for epoch in range(6):
    order = np.random.permutation(len(X_train))
    losses = [float(net.train_on_batch(X_train[rows], y_train[rows])) for rows in np.array_split(order, 16)]
    print(f"epoch {epoch + 1}: training error {np.mean(losses):.3f}")
error = np.mean((net.predict_on_batch(X_test)[:, 0] - y_test) ** 2)
print(f"test error {error:.3f} of a variance of {np.var(y_test):.3f}")
