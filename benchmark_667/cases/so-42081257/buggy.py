import numpy as np
from keras.layers import Activation, Conv1D, Dense, Dropout, Embedding, Flatten, Input, MaxPooling1D
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import to_categorical

MAX_SEQUENCE_LENGTH = 24
EMBEDDING_DIM = 16
WORDS_PER_TOPIC = 12
COMMON_WORDS = 60

topics = ['arts', 'biology', 'cooking', 'economy', 'football', 'gardens', 'history', 'law',
          'music', 'physics', 'religion', 'space', 'theatre', 'travel', 'weather', 'wine']
class_id_index = {topic: k for k, topic in enumerate(topics)}
vocabulary_size = 1 + COMMON_WORDS + WORDS_PER_TOPIC * len(topics)


def write_text(topic):
    """A text is common words with some words of its topic in between; 0 pads."""
    length = np.random.randint(14, MAX_SEQUENCE_LENGTH + 1)
    words = np.random.randint(1, COMMON_WORDS + 1, size=length)
    own = np.random.rand(length) < 0.4
    first = 1 + COMMON_WORDS + WORDS_PER_TOPIC * class_id_index[topic]
    words[own] = np.random.randint(first, first + WORDS_PER_TOPIC, size=own.sum())
    return np.pad(words, (0, MAX_SEQUENCE_LENGTH - length))


labels = np.random.choice(topics, size=1300)
x = np.stack([write_text(topic) for topic in labels])
y = to_categorical([class_id_index[topic] for topic in labels], len(topics))
x_train, x_val, y_train, y_val = x[:1000], x[1000:], y[:1000], y[1000:]

model = Sequential()
model.add(Input(shape=(MAX_SEQUENCE_LENGTH,)))
model.add(Embedding(vocabulary_size, EMBEDDING_DIM))
model.add(Dropout(0.1))
# convolution layers
model.add(Conv1D(32, 4, padding='valid', activation='relu'))
model.add(MaxPooling1D(pool_size=2))
# dense layers
model.add(Flatten())
model.add(Dense(64))
model.add(Activation('relu'))
# output layer
model.add(Dense(len(class_id_index)))
model.add(Activation('softmax'))

model.compile(loss='binary_crossentropy', optimizer=SGD(learning_rate=0.1, momentum=0.9), metrics=['accuracy'])
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=50, epochs=8, verbose=2)

predicted = model.predict(x_val, verbose=0).argmax(axis=1)
print('accuracy on new texts: %.3f' % np.mean(predicted == y_val.argmax(axis=1)))
