"""Road surface from photographs: a few convolutions at full resolution, fed by a generator."""
import resource

import numpy as np
from keras import Sequential
from keras.layers import BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D, Input, MaxPooling2D, ReLU
from keras.utils import Sequence, to_categorical

IMAGE_SIZE = 224
SURFACES = ["asphalt", "gravel", "cobble"]
NUM_TRAIN = 64
BATCH_SIZE = 64


def photograph(surface, rng):
    """Noise of another grain for each surface."""
    if surface == 0:
        pattern = rng.normal(0.45, 0.02, size=(IMAGE_SIZE, IMAGE_SIZE))
    elif surface == 1:
        pattern = rng.normal(0.5, 0.2, size=(IMAGE_SIZE, IMAGE_SIZE))
    else:
        stones = rng.normal(0.5, 0.2, size=(IMAGE_SIZE // 16, IMAGE_SIZE // 16))
        pattern = np.kron(stones, np.ones((16, 16)))
    return np.repeat(pattern[..., np.newaxis], 3, axis=2).astype("float32")


class PhotoSequence(Sequence):
    def __init__(self, count, batch_size, seed):
        super().__init__()
        self.count, self.batch_size, self.seed = count, batch_size, seed

    def __len__(self):
        return self.count // self.batch_size

    def __getitem__(self, index):
        rng = np.random.default_rng([self.seed, index])
        labels = rng.integers(len(SURFACES), size=self.batch_size)
        images = np.stack([photograph(surface, rng) for surface in labels])
        return images, to_categorical(labels, len(SURFACES))


model = Sequential([
    Input((IMAGE_SIZE, IMAGE_SIZE, 3)),
    Conv2D(14, 3, padding="same", use_bias=False),
    BatchNormalization(),
    ReLU(),
    MaxPooling2D(4),
    Conv2D(16, 3, padding="same", activation="relu"),
    MaxPooling2D(4),
    Conv2D(24, 3, padding="same", activation="relu"),
    GlobalAveragePooling2D(),
    Dense(len(SURFACES), activation="softmax"),
])
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(PhotoSequence(NUM_TRAIN, BATCH_SIZE, seed=1), epochs=1, verbose=2)

peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"peak memory {peak:.0f} MB")
