"""A discriminator with minibatch features, told to spot a generator that always paints the same thing."""
import keras
import numpy as np
from keras import layers, ops

BATCH = 16
PIXELS = 16


class PixelNormLayer(layers.Layer):
    def call(self, inputs):
        return inputs / ops.sqrt(ops.mean(inputs ** 2, axis=-1, keepdims=True) + 1e-8)

    def compute_output_shape(self, input_shape):
        return input_shape


class MinibatchLayer(layers.Layer):
    """Appends to every sample how close it is to the others of its batch, after Salimans et al."""

    def __init__(self, num_kernels, dim_per_kernel=4, **kwargs):
        super().__init__(**kwargs)
        self.num_kernels = num_kernels
        self.dim_per_kernel = dim_per_kernel

    def build(self, input_shape):
        num_inputs = input_shape[-1]
        self.theta = self.add_weight(
            name="theta",
            shape=(num_inputs, self.num_kernels * self.dim_per_kernel),
            initializer=keras.initializers.RandomNormal(stddev=0.05),
        )
        self.log_weight_scale = self.add_weight(
            name="log_weight_scale", shape=(self.num_kernels * self.dim_per_kernel,), initializer="zeros"
        )
        self.bias = self.add_weight(
            name="bias", shape=(self.num_kernels,), initializer=keras.initializers.Constant(-1.0)
        )

    def call(self, inputs):
        scale = ops.exp(self.log_weight_scale) / ops.sqrt(ops.sum(ops.square(self.theta), axis=0))
        kernel = self.theta * ops.expand_dims(scale, 0)
        actv = ops.reshape(ops.matmul(inputs, kernel), (-1, self.num_kernels, self.dim_per_kernel))
        # all pairs of the batch: (batch, kernels, dims, batch)
        difference = ops.expand_dims(actv, 3) - ops.expand_dims(ops.transpose(actv, (1, 2, 0)), 0)
        abs_dif = ops.sum(ops.abs(difference), axis=2)
        f = ops.sum(ops.exp(-abs_dif), axis=2)
        f = f + ops.transpose(self.bias, ["x", 0])
        return ops.concatenate([inputs, f], axis=1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[1] + self.num_kernels)


def discriminator():
    picture = layers.Input(shape=(PIXELS,))
    h = layers.Dense(24)(picture)
    h = PixelNormLayer()(layers.LeakyReLU(negative_slope=0.2)(h))
    h = MinibatchLayer(num_kernels=6)(h)
    verdict = layers.Dense(1, activation="sigmoid")(h)
    model = keras.Model(picture, verdict, name="discriminator")
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy")
    return model


def paintings(real):
    """Real ones differ from each other; the generator has collapsed to one motif per batch."""
    motifs = np.random.normal(size=(BATCH if real else 1, PIXELS))
    return (motifs + 0.1 * np.random.normal(size=(BATCH, PIXELS))).astype("float32")


model = discriminator()
print("features after the minibatch layer:", model.layers[-1].input.shape[-1])
for round_number in range(60):
    for real in (True, False):
        loss = model.train_on_batch(paintings(real), np.full((BATCH, 1), float(real), dtype="float32"))

verdicts = {real: float(np.mean(model.predict_on_batch(paintings(real)))) for real in (True, False)}
print("real %.2f, collapsed %.2f" % (verdicts[True], verdicts[False]))
