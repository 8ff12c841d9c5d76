# What will the price do? Four answers from the last 101 prices: up, down, swing, or nothing.
import numpy as np
from keras.layers import Activation, Conv1D, Dense, Flatten, Input, MaxPooling1D
from keras.models import Sequential

STEPS = 101


def price_series(count):
    outcome = np.random.randint(0, 4, count)
    noise = np.random.normal(0, 1, (count, STEPS)).cumsum(axis=1) * 0.2
    drift = np.array([0.1, -0.1, 0.0, 0.0])[outcome, None] * np.arange(STEPS)
    period = np.random.uniform(8, 14, (count, 1))
    swing = (outcome == 2)[:, None] * 2.0 * np.sin(2 * np.pi * np.arange(STEPS) / period)
    prices = 50 + noise + drift + swing
    # prices relative to the first one
    return (prices - prices[:, :1]) / 5.0, np.eye(4)[outcome]


prices, outcomes = price_series(900)
train_x, train_y = prices[:700], outcomes[:700]
test_x, test_y = prices[700:], outcomes[700:]

train_x = train_x.reshape(-1, 1, STEPS)
test_x = test_x.reshape(-1, 1, STEPS)

# 24 feature maps with a receptive field of 10 prices, pooled, then a hidden layer
conv = Sequential()
conv.add(Input(shape=train_x.shape[1:]))
conv.add(Conv1D(24, 10))
conv.add(Activation('relu'))
conv.add(MaxPooling1D(2))
conv.add(Flatten())
conv.add(Dense(40))
conv.add(Activation('tanh'))
conv.add(Dense(4))
conv.add(Activation('softmax'))
conv.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
conv.summary()

conv.fit(train_x, train_y, validation_split=0.1, epochs=8, batch_size=35, verbose=2)
loss, accuracy = conv.evaluate(test_x, test_y, verbose=0)
print('test loss %.3f, accuracy %.3f' % (loss, accuracy))
