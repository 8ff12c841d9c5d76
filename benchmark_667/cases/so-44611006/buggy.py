import numpy as np
import keras
from keras.layers import GRU, Activation, Dense, Input

# The model reads one-hot encoded code words and tells which machine sent them.
letters = "abcdefghijklmno"
InputSize = len(letters)
MaxLen = 20
HiddenSize = 24
Machines = 4


def message(machine):
    """Every machine walks through the letters with its own steps, with some noise."""
    position, text = np.random.randint(InputSize), []
    for _ in range(MaxLen):
        position = (position + machine + 1 + (np.random.rand() < 0.1)) % InputSize
        text.append(letters[position])
    return "".join(text)


def encode(texts):
    data = np.zeros((len(texts), MaxLen, InputSize), dtype="float32")
    for row, text in enumerate(texts):
        for step, letter in enumerate(text):
            data[row, step, letters.index(letter)] = 1
    return data


sender = np.random.randint(Machines, size=600)
X = encode([message(s) for s in sender])
Y = np.eye(Machines, dtype="float32")[sender]

inputs = Input(shape=(MaxLen, InputSize))
x = GRU(HiddenSize, return_sequences=True)(inputs)
x = Dense(Machines)(x)
predictions = Activation("softmax")(x)

model = keras.Model(inputs, predictions)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(X[:500], Y[:500], batch_size=50, epochs=6, verbose=2)

loss, accuracy = model.evaluate(X[500:], Y[500:], verbose=0)
print(f"test loss {loss:.3f} accuracy {accuracy:.3f}")
