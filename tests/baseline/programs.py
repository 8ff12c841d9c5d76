"""Programs as people wrote them for Keras 1 and 2, and what they have to become."""

from __future__ import annotations

DENSE = """
import numpy as np
from keras.models import Sequential
from keras.layers.core import Dense, Dropout
from keras.layers.normalization import BatchNormalization
from keras.optimizers import SGD

np.random.seed(1)
X = np.random.rand(200, 8)
y = (X.sum(axis=1) > 4).astype(int)
model = Sequential()
model.add(Dense(16, input_dim=8, init='uniform', activation='relu'))
model.add(BatchNormalization())
model.add(Dropout(0.3))
model.add(Dense(1, init='uniform', activation='sigmoid'))
model.compile(loss='binary_crossentropy', optimizer=SGD(lr=0.1), metrics=['accuracy'])
model.fit(X, y, nb_epoch=5, batch_size=10, verbose=0)
print(model.evaluate(X, y, verbose=0))
"""

CONVOLUTION = """
from __future__ import print_function
import numpy as np
from keras.models import Sequential
from keras.layers import Dense, Dropout, Activation, Flatten
from keras.layers import Convolution2D, MaxPooling2D
from keras.utils import np_utils

np.random.seed(1337)
nb_classes = 4
X_train = np.random.randint(0, 255, size=(96, 12, 12, 1)).astype('float32') / 255
Y_train = np_utils.to_categorical(np.random.randint(0, nb_classes, size=96), nb_classes)
model = Sequential()
model.add(Convolution2D(8, 3, 3, border_mode='valid', input_shape=(12, 12, 1)))
model.add(Activation('relu'))
model.add(Convolution2D(8, 3, 3, border_mode='same'))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(nb_classes))
model.add(Activation('softmax'))
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(X_train, Y_train, batch_size=32, nb_epoch=2, verbose=0)
"""

ADADELTA = CONVOLUTION.replace("'adam'", "'adadelta'")
"""Learns at 1.0 in Keras 2 and at 0.001 in Keras 3, where nothing else tells of it."""

RECURRENT = """
import numpy as np
from keras.models import Sequential
from keras.layers.core import Dense, Activation
from keras.layers.recurrent import LSTM
from keras.layers.embeddings import Embedding

np.random.seed(3)
words = np.random.randint(1, 50, size=(120, 12))
labels = (words[:, 0] > words[:, -1]).astype('float32')
model = Sequential()
model.add(Embedding(50, 8))
model.add(LSTM(output_dim=16, dropout_W=0.2, dropout_U=0.2))
model.add(Dense(1))
model.add(Activation('sigmoid'))
model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(words, labels, batch_size=16, nb_epoch=3, validation_split=0.1, verbose=0)
"""

NEW_RECURRENT = """
import numpy as np
from keras.models import Sequential
from keras.layers import Activation, Dense, Embedding, LSTM

np.random.seed(3)
words = np.random.randint(1, 50, size=(120, 12))
labels = (words[:, 0] > words[:, -1]).astype('float32')
model = Sequential()
model.add(Embedding(50, 8))
model.add(LSTM(16, dropout=0.2, recurrent_dropout=0.2))
model.add(Dense(1))
model.add(Activation('sigmoid'))
model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(words, labels, batch_size=16, epochs=3, validation_split=0.1, verbose=0)
"""

MERGED = """
import numpy as np
from keras.models import Model
from keras.layers import Input, Dense
from keras.layers.merge import concatenate, add
from keras.layers.advanced_activations import LeakyReLU
from keras import regularizers

rng = np.random.RandomState(5)
left, right = rng.rand(90, 6), rng.rand(90, 4)
target = left.sum(axis=1) - right.sum(axis=1)
a, b = Input(shape=(6,)), Input(shape=(4,))
one = LeakyReLU(alpha=0.2)(Dense(10, W_regularizer=regularizers.l2(0.01))(a))
two = Dense(10, activation='relu')(b)
out = Dense(1)(concatenate([one, two, add([one, two])]))
model = Model(input=[a, b], output=out)
model.compile(optimizer='rmsprop', loss='mse')
model.fit([left, right], target, nb_epoch=4, batch_size=15, verbose=0)
"""

GENERATED = """
import numpy as np
from keras.models import Sequential
from keras.layers import Dense, GRU, TimeDistributed, Bidirectional
from keras.layers.normalization import BatchNormalization
from keras.optimizers import Adam

def batches():
    rng = np.random.RandomState(0)
    while True:
        x = rng.rand(8, 10, 3)
        yield x, x.cumsum(axis=1)[:, :, :1]

model = Sequential()
model.add(Bidirectional(GRU(6, return_sequences=True), input_shape=(10, 3)))
model.add(BatchNormalization())
model.add(TimeDistributed(Dense(1)))
model.compile(loss='mse', optimizer=Adam(lr=0.01, decay=1e-3))
model.fit_generator(batches(), steps_per_epoch=10, epochs=2, verbose=0)
"""

NEW_GENERATED = (
    GENERATED.replace("keras.layers.normalization", "keras.layers")
    .replace("GRU(6,", "GRU(6, reset_after=False,")
    .replace("import Adam", "import Adam, schedules")
    .replace("lr=0.01, decay=1e-3", "schedules.InverseTimeDecay(0.01, 1, 1e-3)")
    .replace("fit_generator", "fit")
)

BRANCHED = """
import numpy as np
from keras.models import Model, Sequential
from keras.layers import Input, Dense, add, concatenate

np.random.seed(0)
left, right, target = np.random.rand(64, 8), np.random.rand(64, 8), np.random.rand(64)

def tower():
    model = Sequential()
    model.add(Dense(8, activation="relu", input_shape=(8,)))
    model.add(Dense(8, activation="tanh"))
    return model

b, a = Input((8,)), Input((8,))
head = Dense(1)
middle = [Dense(8, activation=name) for name in ("relu", "tanh", "sigmoid", "linear")]
one, two = tower(), tower()
parts = [middle[3](one(a)), middle[1](two(b)), middle[0](middle[2](a))]
model = Model([a, b], head(concatenate([add([parts[0], parts[1]]), parts[2]])))
model.compile("sgd", "mse")
model.fit([left, right], target, batch_size=8, verbose=0)
"""
"""Runs in every version; its layers are of one shape and made in another order than they are called in."""
