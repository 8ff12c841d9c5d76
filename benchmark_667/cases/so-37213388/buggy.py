'''Tells healthy from pathological voices by their spectrograms.'''
import numpy as np
from keras.layers import Activation, Dense, Dropout, Input
from keras.models import Sequential
from keras.optimizers import Adam
from keras.utils import to_categorical
from sklearn.model_selection import train_test_split

batch_size = 50
nb_classes = 2
nb_epoch = 15
img_rows, img_cols = 28, 28


def record(pathological):
    """A held vowel of half a second. A pathological voice trembles, and breath is mixed in."""
    rate, n = 4000, 2000
    t = np.arange(n) / rate
    pitch = np.random.uniform(110, 220)
    tremor = np.random.uniform(0.02, 0.05) if pathological else np.random.uniform(0.0, 0.01)
    phase = 2 * np.pi * np.cumsum(pitch * (1 + tremor * np.sin(2 * np.pi * 6 * t))) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 8))
    breath = np.random.uniform(0.3, 0.8) if pathological else np.random.uniform(0.02, 0.15)
    return voice + breath * np.random.randn(n)


def spectrogram(sound):
    window = np.hanning(112)
    starts = np.linspace(0, len(sound) - 112, img_cols).astype(int)
    frames = np.stack([sound[s:s + 112] * window for s in starts], axis=1)
    power = np.abs(np.fft.rfft(frames, axis=0))[:2 * img_rows:2]
    level = np.log10(power + 1e-3)
    return (level - level.mean()) / level.std()


labels = (np.random.rand(700) < 0.45).astype(int)
X = np.array([spectrogram(record(label)) for label in labels], dtype='float32')
X = X.reshape(-1, img_rows * img_cols)
Y = to_categorical(labels, nb_classes)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.2)
print(X_train.shape[0], 'train samples')
print(X_test.shape[0], 'test samples')

model = Sequential()
model.add(Input(shape=(img_rows * img_cols,)))
model.add(Dense(128))
model.add(Activation('relu'))
model.add(Dropout(0.2))
model.add(Dense(128))
model.add(Activation('relu'))
model.add(Dropout(0.2))
model.add(Dense(nb_classes))
model.add(Activation('softmax'))

model.compile(loss='categorical_crossentropy', optimizer=Adam(learning_rate=0.1), metrics=['accuracy'])

model.fit(X_train, Y_train, batch_size=batch_size, epochs=nb_epoch, verbose=2, validation_data=(X_test, Y_test))
score = model.evaluate(X_test, Y_test, verbose=0)
print('Test score: %.3f' % score[0])
print('Test accuracy: %.3f' % score[1])
