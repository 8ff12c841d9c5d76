"""Trains a tiny convolutional net to tell left from right arrows, then judges camera frames one at a time."""
import numpy as np
import keras
from keras import layers

SIZE = 20
LABELS = ("left", "right")


class ArrowCamera:
    """Delivers colour frames with a yellow arrow somewhere in the picture."""

    def frame(self):
        image = np.random.uniform(0.0, 0.25, (SIZE, SIZE, 3))
        label = np.random.randint(2)
        row, column = np.random.randint(6, SIZE - 6, size=2)
        image[row, column - 4:column + 5] = (0.9, 0.8, 0.1)
        tip, inward = (column - 4, 1) if label == 0 else (column + 4, -1)
        for k in range(1, 4):
            image[row - k, tip + inward * k] = (0.9, 0.8, 0.1)
            image[row + k, tip + inward * k] = (0.9, 0.8, 0.1)
        return image.astype("float32"), label

    def album(self, count):
        frames, labels = zip(*(self.frame() for _ in range(count)))
        return np.array(frames), np.array(labels)


def make_net():
    net = keras.Sequential(
        [
            keras.Input(shape=(SIZE, SIZE, 3)),
            layers.Conv2D(8, 5, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(12, 3, activation="relu"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(len(LABELS), activation="softmax"),
        ]
    )
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return net


def judge(net, frame):
    """Name and certainty of the arrow in one frame."""
    certainty = net.predict(frame, batch_size=1, verbose=0)[0]
    best = int(np.argmax(certainty))
    return LABELS[best], float(certainty[best])


camera = ArrowCamera()
album, labels = camera.album(300)
net = make_net()
record = net.fit(album, labels, batch_size=30, epochs=6, verbose=0)
print("training accuracy %.2f" % record.history["accuracy"][-1])

hits = 0
for number in range(8):
    frame, label = camera.frame()
    name, certainty = judge(net, frame)
    hits += name == LABELS[label]
    print(f"frame {number}: {name} ({certainty:.2f})")
print(hits, "of 8 frames judged right")
