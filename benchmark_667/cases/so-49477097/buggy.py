"""Answers short questions: a sequence-to-sequence model over words."""
import numpy as np
from keras.layers import LSTM, Dense, Embedding, Input
from keras.models import Model

latent_dim = 48
embedding_dim = 16

animals = ["dog", "cat", "horse", "duck", "cow", "sheep", "fox", "bear"]
questions = ["what does the {} eat", "where does the {} live", "who feeds the {}", "is the {} big"]
answers = ["the {} eats grass", "the {} lives in the barn", "nobody feeds the {}", "yes the {} is very big"]

pairs = []
for _ in range(400):
    animal, kind = np.random.choice(animals), np.random.randint(len(questions))
    pairs.append((questions[kind].format(animal), "<start> " + answers[kind].format(animal) + " <end>"))

words = sorted({word for pair in pairs for text in pair for word in text.split()})
token_index = {word: i + 1 for i, word in enumerate(words)}
num_tokens = len(words) + 1


def encode(texts, length):
    rows = np.zeros((len(texts), length), dtype="int32")
    for row, text in zip(rows, texts):
        numbers = [token_index[word] for word in text.split()]
        row[:len(numbers)] = numbers
    return rows


max_encoder_len = max(len(q.split()) for q, a in pairs)
max_decoder_len = max(len(a.split()) for q, a in pairs)
encoder_input_data = encode([q for q, a in pairs], max_encoder_len)
decoder_input_data = encode([a for q, a in pairs], max_decoder_len)
# the targets are one step ahead of the decoder's input
decoder_target_data = np.zeros_like(decoder_input_data)
decoder_target_data[:, :-1] = decoder_input_data[:, 1:]

encoder_inputs = Input(shape=(max_encoder_len,))
x = Embedding(num_tokens, embedding_dim)(encoder_inputs)
x, state_h, state_c = LSTM(latent_dim, return_state=True)(x)
encoder_states = [state_h, state_c]

decoder_inputs = Input(shape=(max_decoder_len,))
x = LSTM(latent_dim, return_sequences=True)(decoder_inputs, initial_state=encoder_states)
decoder_outputs = Dense(num_tokens, activation="softmax")(x)

model = Model([encoder_inputs, decoder_inputs], decoder_outputs)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit([encoder_input_data, decoder_input_data], decoder_target_data, batch_size=20, epochs=8, verbose=2)

predicted = model.predict([encoder_input_data[:3], decoder_input_data[:3]], verbose=0).argmax(axis=-1)
for (question, _), row in zip(pairs, predicted):
    print(question, "->", " ".join(words[k - 1] for k in row if k))
