'''Trains a convnet with two towers on small images of digits.

One tower has a fine and one a coarse view of the image; what they find is put
side by side before the digit is named.
'''
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D, Merge
from keras.models import Sequential
from sklearn.datasets import load_digits

batch_size = 64
nb_classes = 10
nb_epoch = 6

img_rows, img_cols = 8, 8

digits = load_digits()
X = (digits.images / 16.0).astype('float32').reshape(-1, img_rows, img_cols, 1)
Y = np.eye(nb_classes, dtype='float32')[digits.target]
order = np.random.permutation(len(X))
train, test = order[:1400], order[1400:]
print(len(train), 'train samples')
print(len(test), 'test samples')

fine = Sequential(name='fine')
fine.add(Input((img_rows, img_cols, 1)))
fine.add(Conv2D(16, (3, 3), activation='relu'))
fine.add(Conv2D(16, (3, 3), activation='relu'))
fine.add(MaxPooling2D((2, 2)))
fine.add(Flatten())

coarse = Sequential(name='coarse')
coarse.add(Input((img_rows, img_cols, 1)))
coarse.add(Conv2D(8, (5, 5), activation='relu'))
coarse.add(MaxPooling2D((2, 2)))
coarse.add(Dropout(0.25))
coarse.add(Flatten())

model = Sequential()
model.add(Merge([fine, coarse], mode='concat'))
model.add(Dense(nb_classes, activation='softmax'))

model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit([X[train], X[train]], Y[train], batch_size=batch_size, epochs=nb_epoch, verbose=2)

score = model.evaluate([X[test], X[test]], Y[test], verbose=0)
print('Test score:', score[0])
print('Test accuracy:', score[1])
