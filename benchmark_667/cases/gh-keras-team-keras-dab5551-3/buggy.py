from __future__ import print_function

import numpy as np
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import to_categorical
from sklearn.datasets import load_digits

batch_size = 40
nb_classes = 10
nb_epoch = 20

# shuffled and split between train and test sets
digits = load_digits()
order = np.random.permutation(len(digits.images))
X, y = digits.images[order][..., None], digits.target[order]
X_train, X_test = X[:800], X[800:1200]
y_train, y_test = y[:800], y[800:1200]
print('X_train shape:', X_train.shape)
print(X_train.shape[0], 'train samples')
print(X_test.shape[0], 'test samples')

# convert class vectors to binary class matrices
Y_train = to_categorical(y_train, nb_classes)
Y_test = to_categorical(y_test, nb_classes)

model = Sequential()
model.add(Input(shape=(8, 8, 1)))
model.add(Conv2D(12, 3, padding='same'))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=2))
model.add(Flatten())
model.add(Dense(48))
model.add(Activation('relu'))
model.add(Dropout(0.25))
model.add(Dense(nb_classes))
model.add(Activation('softmax'))

# SGD with a little momentum
sgd = SGD(learning_rate=0.02, momentum=0.8, nesterov=True)
model.compile(loss='categorical_crossentropy', optimizer=sgd, metrics=['accuracy'])

X_train = X_train.astype('float32') / 16
X_test = X_test.astype('float32') / 16

model.fit(X_train, Y_train, batch_size=batch_size, epochs=1, verbose=2)
score = model.evaluate(X_test, Y_test, batch_size=batch_size, verbose=0)
print('Test score: %.3f' % score[0])
print('Test accuracy: %.3f' % score[1])
