import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

# cut-outs of the road signs, 50 x 50 in colour
SIZE = 50
KINDS = ["stop", "yield", "parking"]


def draw_sign(kind):
    """A photo of a sign: noise, and a coloured shape in it."""
    photo = np.random.uniform(0, 90, (SIZE, SIZE, 3))
    row, col = np.random.randint(20, 30, size=2)
    r, c = np.ogrid[:SIZE, :SIZE]
    if kind == "stop":
        inside = abs(r - row) + abs(c - col) < 15
        photo[inside] += [150, 0, 0]
    elif kind == "yield":
        inside = (r > row - 10) & (abs(c - col) < (r - row + 10) / 2) & (r < row + 12)
        photo[inside] += [150, 140, 0]
    else:
        inside = (abs(r - row) < 11) & (abs(c - col) < 11)
        photo[inside] += [0, 20, 150]
    return photo.astype("uint8")


class SignArchive:
    def __init__(self, per_kind):
        self.photos = [(k, draw_sign(kind)) for k, kind in enumerate(KINDS) for _ in range(per_kind)]
        np.random.shuffle(self.photos)

    def __len__(self):
        return len(self.photos)

    def load(self, i):
        k, photo = self.photos[i]
        image = photo.astype("float32") / 255
        label = np.zeros((1, len(KINDS)), dtype="float32")
        label[0, k] = 1
        return image, label

    def stream(self):
        """One sign after the other, forever."""
        i = 0
        while True:
            yield self.load(i)
            i = (i + 1) % len(self.photos)


def build():
    net = Sequential()
    net.add(Input((SIZE, SIZE, 3)))
    net.add(Conv2D(8, (5, 5), activation="relu"))
    net.add(MaxPooling2D((4, 4)))
    net.add(Conv2D(12, (3, 3), activation="relu"))
    net.add(MaxPooling2D((2, 2)))
    net.add(Flatten())
    net.add(Dropout(0.25))
    net.add(Dense(len(KINDS), activation="softmax"))
    net.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    return net


if __name__ == "__main__":
    training, held_out = SignArchive(25), SignArchive(6)
    net = build()
    net.fit(training.stream(), steps_per_epoch=len(training), epochs=2, verbose=2)
    loss, accuracy = net.evaluate(held_out.stream(), steps=len(held_out), verbose=0)
    print("held out: loss %.3f, accuracy %.2f" % (loss, accuracy))
