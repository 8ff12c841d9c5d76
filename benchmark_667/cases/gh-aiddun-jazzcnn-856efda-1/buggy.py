"""Tell the decade of a jazz recording from its spectrogram."""
import numpy as np
from keras.layers import Conv1D, Dense, GlobalMaxPooling1D, Input
from keras.models import Sequential

FRAMES, BINS = 30, 16
decades = ["1930s", "1940s", "1950s"]


def record(decade):
    # bands sat in different registers, and the surface noise went down over the years
    spectrogram = np.random.gamma(1.5, 0.3 - 0.07 * decade, size=(FRAMES, BINS))
    for beat in range(np.random.randint(4), FRAMES, 5):
        spectrogram[beat : beat + 2, 3 + 4 * decade : 7 + 4 * decade] += 1.0
    return np.log1p(spectrogram).astype("float32")


def collect(per_decade):
    print("Collecting data")
    x, y = [], []
    for decade in range(len(decades)):
        for _ in range(per_decade):
            x.append(record(decade))
            y.append(decade)
    return x, y


def preprocess(per_decade, test_per_decade):
    def random_order():
        x, y = collect(per_decade)
        order = np.random.permutation(len(x))
        print("Shuffled.")
        return [x[i] for i in order], [y[i] for i in order]

    def separate():
        x, y = random_order()
        x_test, y_test = [], []
        for n in range(len(decades)):
            while y_test.count(n) < test_per_decade:
                # first recording of that decade that is left
                q = y.index(n)
                x_test.append(x.pop(q))
                y_test.append(y.pop(q))

        x_test = np.array(x_test)
        y_test = np.array(y_test)

        x_train = x
        y_train = y

        return x_train, y_train, x_test, y_test

    x_train, y_train, x_test, y_test = separate()
    print("Training set of %d recordings, testing set of %d." % (len(y_train), len(y_test)))
    return x_train, y_train, x_test, y_test


x_train, y_train, x_test, y_test = preprocess(60, 15)

model = Sequential([
    Input((FRAMES, BINS)),
    Conv1D(16, 3, activation="relu"),
    Conv1D(16, 3, activation="relu"),
    GlobalMaxPooling1D(),
    Dense(len(decades), activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=8, batch_size=16, verbose=2)
print("test loss and accuracy:", model.evaluate(x_test, y_test, verbose=0))
