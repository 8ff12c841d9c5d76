"""Which of four shapes has a signal? Batches are made on the fly, each signal slightly changed every time."""
import numpy as np
from keras import Sequential, layers, optimizers, utils

LENGTH = 48
SHAPES = ["sine", "saw", "square", "pulse"]
batch_size = 32
nb_epoch = 4


def signal(shape):
    t = np.arange(LENGTH) / 12.0
    if shape == "sine":
        return np.sin(2 * np.pi * t)
    if shape == "saw":
        return 2 * (t % 1) - 1
    if shape == "square":
        return np.sign(np.sin(2 * np.pi * t) + 1e-9)
    return np.where(t % 1 < 0.15, 1.0, -0.2)


class SignalGenerator:
    """Yields one pass over the data in changed copies."""

    def __init__(self, shift=True, scale_range=0.3, noise=0.2):
        self.shift = shift
        self.scale_range = scale_range
        self.noise = noise

    def change(self, x):
        if self.shift:
            x = np.roll(x, np.random.randint(LENGTH))
        scale = 1 + np.random.uniform(-self.scale_range, self.scale_range)
        return scale * x + self.noise * np.random.normal(size=x.shape)

    def flow(self, X, y):
        order = np.random.permutation(len(X))
        for start in range(0, len(X), batch_size):
            rows = order[start:start + batch_size]
            yield np.stack([self.change(x) for x in X[rows]])[..., None], y[rows]


prototypes = np.stack([signal(shape) for shape in SHAPES])
y_train = np.random.randint(len(SHAPES), size=640)
y_test = np.random.randint(len(SHAPES), size=192)
X_train, X_test = prototypes[y_train], prototypes[y_test]

model = Sequential([
    layers.Input((LENGTH, 1)),
    layers.Conv1D(12, 7, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(16, 5, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(len(SHAPES), activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer=optimizers.RMSprop(0.005))

datagen = SignalGenerator()
for e in range(nb_epoch):
    print("Epoch", e)
    progbar = utils.Progbar(len(X_train), verbose=2)
    for X_batch, y_batch in datagen.flow(X_train, y_train):
        loss = model.train_on_batch(X_batch, y_batch)
        progbar.add(len(X_batch), values=[("train loss", float(loss))])

    # test time!
    losses = []
    for X_batch, y_batch in datagen.flow(X_test, y_test):
        losses.append(model.test(X_batch, y_batch))
    print("test loss: %.3f" % np.mean(losses))
