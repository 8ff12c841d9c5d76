"""Playground: a base class for models, a convolutional model on top of it, and its trainer."""
from types import SimpleNamespace

import keras
import numpy as np
from keras import layers

config = SimpleNamespace(
    state_size=[14, 14, 1],
    num_classes=4,
    lr=2e-3,
    batch_size=32,
    num_epochs=4,
    iterations_per_epoch=25,
)


class BaseModel:
    def __init__(self, config):
        self.config = config
        self.network = None

    def build_model(self):
        raise NotImplementedError

    def count_params(self):
        return self.network.count_params()


class ConvModel(BaseModel):
    def __init__(self, config):
        super().__init__(config)
        self.build_model()

    def build_model(self):
        x = layers.Input(shape=self.config.state_size)

        # network_architecture
        h_conv1 = layers.Conv2D(num_filters=12, kernel_size=[3, 3], stride=[2, 2], name="conv1")(x)
        h_conv1 = layers.ReLU()(h_conv1)
        flat = layers.Flatten()(h_conv1)
        d1 = layers.Dense(64, activation="relu", name="dense1")(flat)
        d2 = layers.Dense(self.config.num_classes, name="logits")(d1)

        self.network = keras.Model(x, d2)
        self.network.compile(
            optimizer=keras.optimizers.Adam(self.config.lr),
            loss=keras.losses.CategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )


class WedgeData:
    """Squares with one bright corner; which corner is the class."""

    def __init__(self, config):
        self.config = config
        height, width, _ = config.state_size
        rows, cols = np.meshgrid(np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
        self.corners = [rows * cols, rows * (1 - cols), (1 - rows) * cols, (1 - rows) * (1 - cols)]

    def next_batch(self):
        classes = np.random.randint(0, self.config.num_classes, self.config.batch_size)
        x = np.stack([self.corners[c] for c in classes])[..., None]
        x = x * np.random.uniform(0.5, 1.5, (len(classes), 1, 1, 1)) + np.random.normal(0, 0.3, x.shape)
        return x.astype("float32"), np.eye(self.config.num_classes, dtype="float32")[classes]


class Trainer:
    def __init__(self, model, data, config):
        self.model, self.data, self.config = model, data, config

    def train(self):
        for epoch in range(self.config.num_epochs):
            logs = [self.train_step() for _ in range(self.config.iterations_per_epoch)]
            loss, accuracy = np.mean(logs, axis=0)
            print("epoch-%d loss: %.3f acc: %.3f" % (epoch, loss, accuracy))
            self.model.network.reset_metrics()

    def train_step(self):
        x, y = self.data.next_batch()
        return [float(value) for value in self.model.network.train_on_batch(x, y)]


if __name__ == "__main__":
    model = ConvModel(config)
    print("parameters:", model.count_params())
    Trainer(model, WedgeData(config), config).train()
