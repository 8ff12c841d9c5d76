"""Align sentences with the regions of the picture that they describe, in one space for both."""
import numpy as np
from keras import ops
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input, Lambda, TimeDistributed
from keras.models import Model

VOCAB, MAX_LEN = 12, 5
NB_REGS, NB_FEATS = 4, 20


def calc_score(streams):
    """Each word counts with the region that suits it best."""
    text, vision = streams
    match = ops.matmul(text, ops.transpose(vision, (0, 2, 1)))
    return ops.sum(ops.max(match, axis=2), axis=1, keepdims=True)


def rank_loss(y_true, y_pred):
    # y_true is +1 for a sentence with its own picture and -1 with another one
    return ops.mean(ops.maximum(0.0, 1.0 - y_true * y_pred))


def full_model(vocab_size, max_len, embed_size, nb_hidden_states, nb_regs, nb_feats, common_dim=16):
    text_input = Input((max_len,), dtype="int32")
    embedded = Embedding(vocab_size, embed_size)(text_input)
    blstm = Bidirectional(LSTM(nb_hidden_states, return_sequences=True))(embedded)
    text_out = TimeDistributed(Dense(common_dim))(blstm)

    vis_input = Input((nb_regs, nb_feats))
    vis_out = Time_Distributed(Dense(common_dim))(vis_input)

    score = Lambda(calc_score, output_shape=(1,))([text_out, vis_out])
    model = Model(inputs=[text_input, vis_input], outputs=score)
    model.compile(loss=rank_loss, optimizer="adam")
    return model


things = np.random.randn(VOCAB, NB_FEATS)


def picture_and_sentence():
    shown = np.random.choice(VOCAB, size=NB_REGS, replace=False)
    regions = things[shown] + 0.2 * np.random.randn(NB_REGS, NB_FEATS)
    return regions, np.random.choice(shown, size=MAX_LEN)


def pairs(n):
    regions, sentences = map(np.array, zip(*[picture_and_sentence() for _ in range(n)]))
    own = np.random.rand(n) < 0.5
    # the others get the sentence of the next picture
    said = np.where(own[:, None], sentences, np.roll(sentences, 1, axis=0))
    return said, regions.astype("float32"), np.where(own, 1.0, -1.0)[:, None]


sentences, regions, belongs = pairs(600)
model = full_model(VOCAB, MAX_LEN, 12, 10, NB_REGS, NB_FEATS)
model.fit([sentences, regions], belongs, batch_size=30, epochs=8, verbose=2)

sentences, regions, belongs = pairs(200)
score = model.predict([sentences, regions], verbose=0)
print("pairs judged as they are: %.3f" % np.mean(np.sign(score) == belongs))
