from __future__ import print_function

import numpy as np
from keras import ops
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input, Lambda, TimeDistributed
from keras.models import Model

###############################################################################
# Words and picture regions are put into one space; a sentence fits a picture
# where each of its words finds a region that is like it.
###############################################################################

COLOURS = ["red", "green", "blue"]
THINGS = ["ball", "box", "ring", "star"]
VOCAB = ["<pad>", "a", "and"] + COLOURS + THINGS


def calc_score(inputs):
    words, regions = inputs
    similar = ops.einsum("btd,brd->btr", words, regions)
    return ops.mean(ops.max(similar, axis=2), axis=1, keepdims=True)


def rank_svm_loss(y_true, y_pred):
    return ops.mean(ops.maximum(0.0, 1.0 - y_true * y_pred))


def full_model(vocab_size, max_len, embed_size, nb_hidden_states, nb_regs, nb_feats, common_dim=16):
    text_input = Input(shape=(max_len,), name="text")
    embedded = Embedding(vocab_size, embed_size)(text_input)
    blstm = Bidirectional(LSTM(nb_hidden_states, return_sequences=True))(embedded)
    text_out = TimeDistributed(Dense(common_dim))(blstm)

    vis_input = Input(shape=(nb_regs, nb_feats), name="regions")
    vis_out = TimeDistributed(Dense(common_dim))(vis_input)

    score = Lambda(calc_score)([text_out, vis_out])

    return score


def sentence(pairs, max_len):
    words = []
    for colour, thing in pairs:
        words += ["and"] if words else []
        words += ["a", COLOURS[colour], THINGS[thing]]
    return [VOCAB.index(w) for w in words] + [0] * (max_len - len(words))


def make_pairs(n, nb_regs, nb_feats, max_len):
    """Half of the sentences tell of their picture, the others of another one."""
    projection = np.random.RandomState(7).randn(len(COLOURS) + len(THINGS), nb_feats)
    text = np.zeros((n, max_len), "int32")
    regions = np.random.normal(0, 0.1, (n, nb_regs, nb_feats))
    labels = np.ones((n, 1), "float32")
    for i in range(n):
        seen = [(np.random.randint(3), np.random.randint(4)) for _ in range(2)]
        for where, (colour, thing) in zip(np.random.permutation(nb_regs), seen):
            regions[i, where] += projection[colour] + projection[len(COLOURS) + thing]
        if np.random.rand() < 0.5:
            labels[i] = -1
            seen = [((c + np.random.randint(1, 3)) % 3, (t + np.random.randint(1, 4)) % 4) for c, t in seen]
        text[i] = sentence(seen, max_len)
    return text, regions.astype("float32"), labels


if __name__ == "__main__":
    nb_regs, nb_feats, max_len = 4, 20, 7
    text, regions, labels = make_pairs(600, nb_regs, nb_feats, max_len)
    model = full_model(len(VOCAB), max_len, 12, 12, nb_regs, nb_feats)
    model.fit([text[:500], regions[:500]], labels[:500], batch_size=25, epochs=6, verbose=2)

    scores = model.predict([text[500:], regions[500:]], verbose=0)
    print("right side of the margin: %.2f" % np.mean((scores > 0) == (labels[500:] > 0)))
