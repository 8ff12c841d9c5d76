"""Does the sentence describe the picture? Words are matched with regions in a common space."""
import numpy as np
from keras import ops
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input, Lambda, TimeDistributed
from keras.models import Model


def calc_score(x):
    """Every word looks for the region that suits it best."""
    text, regions = x
    products = ops.matmul(text, ops.transpose(regions, (0, 2, 1)))
    return ops.mean(ops.max(products, axis=2), axis=1, keepdims=True)


def region_model(nb_regs, nb_feats, common_dim):
    vis_input = Input(shape=(nb_regs, nb_feats))
    vis_out = TimeDistributed(Dense(common_dim))(vis_input)
    return Model(inputs=vis_input, outputs=vis_out)


def full_model(vocab_size, max_len, embed_size, nb_hidden_states, nb_regs, nb_feats, common_dim=16):
    text_input = Input(shape=(max_len,))
    embedded = Embedding(vocab_size, embed_size)(text_input)
    blstm = Bidirectional(LSTM(nb_hidden_states, return_sequences=True))(embedded)
    text_out = TimeDistributed(Dense(common_dim))(blstm)

    vis_input = Input(shape=(nb_regs, nb_feats))
    vis_out = region_model(nb_regs, nb_feats, common_dim)(vis_input)

    score = Lambda(calc_score, output_shape=(1,))([text_out, vis_out])

    return score


def pairs(n, things=10, max_len=4, nb_regs=3):
    """Half of the sentences name what is in the picture (1), the others name something else (-1)."""
    looks = np.eye(things)
    shown = np.array([np.random.permutation(things) for _ in range(n)])
    in_picture, elsewhere = shown[:, :nb_regs], shown[:, nb_regs:]
    label = np.where(np.random.rand(n) < 0.5, 1, -1)
    words = np.where(label[:, None] == 1, in_picture[:, :2], elsewhere[:, :2])
    filler = np.random.randint(things, things + 5, size=(n, max_len - 2))
    sentences = np.concatenate([words, filler], axis=1)
    regions = looks[in_picture] + np.random.normal(0, 0.1, size=(n, nb_regs, things))
    return [sentences.astype("int32"), regions.astype("float32")], label.astype("float32")[:, None]


if __name__ == "__main__":
    x_train, y_train = pairs(600)
    x_test, y_test = pairs(200)

    model = full_model(vocab_size=15, max_len=4, embed_size=12, nb_hidden_states=12, nb_regs=3, nb_feats=10)
    model.compile(loss="hinge", optimizer="adam")
    model.fit(x_train, y_train, batch_size=30, epochs=10, verbose=2)

    scores = model.predict(x_test, verbose=0)
    print("pairs told apart: %.3f" % np.mean(np.sign(scores) == y_test))
