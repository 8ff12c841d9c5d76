"""Tells genuine from synthetic pulse waves with convolutions that are normalised per sample."""
import keras
import numpy as np
from keras import activations, ops
from keras.layers import Conv1D, Dense, GlobalMaxPooling1D, Input, Layer

SAMPLES = 32


class LayerNormLayer(Layer):
    """Normalises what the incoming layer puts out, and adds that layer's bias and nonlinearity afterwards."""

    def __init__(self, incoming, epsilon=1e-4, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.units = incoming.filters
        self.activation = incoming.activation
        incoming.activation = activations.get("linear")

    def build(self, input_shape):
        self.gain = self.add_weight(name="gain", shape=(), initializer="ones")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(self, inputs):
        avg_axes = tuple(range(1, len(inputs.shape)))
        normed = inputs - ops.mean(inputs, axis=avg_axes, keepdims=True)
        normed = normed / ops.sqrt(ops.mean(ops.square(normed), axis=avg_axes, keepdims=True) + self.epsilon)
        normed = normed * self.gain
        pattern = ["x"] * (len(inputs.shape) - 1) + [0]
        normed = normed + ops.transpose(self.bias, *pattern)
        return self.activation(normed)

    def compute_output_shape(self, input_shape):
        return input_shape


def conv_block(net, filters, width, stride):
    conv = Conv1D(filters, width, strides=stride, padding="same", activation="leaky_relu", use_bias=False)
    return LayerNormLayer(conv)(conv(net))


def pulse_waves(count):
    """A genuine wave has a second, smaller beat after the first; the synthetic ones have none."""
    t = np.linspace(0, 1, SAMPLES)
    genuine = np.random.randint(0, 2, count)
    start = np.random.uniform(0.1, 0.4, (count, 1))
    waves = np.exp(-((t - start) / 0.08) ** 2)
    waves += 0.5 * genuine[:, None] * np.exp(-((t - start - 0.3) / 0.08) ** 2)
    waves = waves * np.random.uniform(0.5, 3.0, (count, 1)) + 0.03 * np.random.randn(count, SAMPLES)
    return waves[..., None].astype("float32"), genuine.astype("float32")


wave = Input((SAMPLES, 1))
features = conv_block(wave, 8, 7, 2)
features = conv_block(features, 12, 5, 2)
verdict = Dense(1, activation="sigmoid")(GlobalMaxPooling1D()(features))
critic = keras.Model(wave, verdict, name="critic")
critic.compile("adam", "binary_crossentropy", metrics=["accuracy"])

critic.optimizer.learning_rate = 0.01
for update in range(1, 61):
    loss, accuracy = critic.train_on_batch(*pulse_waves(24))
    if update % 20 == 0:
        print(f"update {update}: loss {float(loss):.3f}")
print("accuracy on new waves:", critic.test_on_batch(*pulse_waves(100))[1])
