# Sequence reversal with a GRU encoder-decoder in the graph API.
import copy

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

VOCAB = 12          # 0 is the start symbol
STEPS = 5
UNITS = 32


class RNNCell:
    """Keeps what the library's own cells keep: a name and the graph that it was made in."""

    def __init__(self, units, name):
        self.units = units
        self.name = name
        self._graph = tf1.get_default_graph()

    def zero_state(self, batch):
        return tf.zeros([batch, self.units])


class GRUCell(RNNCell):
    def __init__(self, units, name="gru_cell"):
        super().__init__(units, name)

    def __call__(self, inputs, state):
        width = int(inputs.shape[-1]) + self.units
        with tf1.variable_scope(self.name, reuse=tf1.AUTO_REUSE):
            gate_w = tf1.get_variable("gates", [width, 2 * self.units])
            gate_b = tf1.get_variable("gate_bias", [2 * self.units], initializer=tf1.ones_initializer())
            cand_w = tf1.get_variable("candidate", [width, self.units])
        gates = tf.sigmoid(tf.matmul(tf.concat([inputs, state], 1), gate_w) + gate_b)
        r, u = tf.split(gates, 2, axis=1)
        candidate = tf.tanh(tf.matmul(tf.concat([inputs, r * state], 1), cand_w))
        return u * state + (1.0 - u) * candidate


def embedding_seq2seq(encoder_ids, decoder_ids, cell, embedding_size):
    """Same layout as the legacy seq2seq functions: one cell is given, each side works on its own."""
    with tf1.variable_scope("embedding_seq2seq"):
        with tf1.variable_scope("encoder"):
            encoder_cell = copy.deepcopy(cell)
            table = tf1.get_variable("embedding", [VOCAB, embedding_size])
            state = encoder_cell.zero_state(tf.shape(encoder_ids)[0])
            for t in range(STEPS):
                state = encoder_cell(tf.nn.embedding_lookup(table, encoder_ids[:, t]), state)
        with tf1.variable_scope("decoder"):
            table = tf1.get_variable("embedding", [VOCAB, embedding_size])
            proj_w = tf1.get_variable("proj_w", [cell.units, VOCAB])
            proj_b = tf1.get_variable("proj_b", [VOCAB], initializer=tf1.zeros_initializer())
            logits = []
            for t in range(STEPS):
                state = cell(tf.nn.embedding_lookup(table, decoder_ids[:, t]), state)
                logits.append(tf.matmul(state, proj_w) + proj_b)
    return tf.stack(logits, axis=1)


def sample_batch(size):
    source = np.random.randint(1, VOCAB, size=(size, STEPS))
    target = source[:, ::-1]
    shifted = np.concatenate([np.zeros((size, 1), dtype=target.dtype), target[:, :-1]], axis=1)
    return source, shifted, target


enc = tf1.placeholder(tf.int32, [None, STEPS])
dec = tf1.placeholder(tf.int32, [None, STEPS])
tgt = tf1.placeholder(tf.int32, [None, STEPS])

cell = GRUCell(UNITS)
logits = embedding_seq2seq(enc, dec, cell, embedding_size=16)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tgt, logits=logits))
train_step = tf1.train.AdamOptimizer(0.01).minimize(loss)

with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for step in range(301):
        s, d, t = sample_batch(64)
        value, _ = sess.run([loss, train_step], {enc: s, dec: d, tgt: t})
        if step % 100 == 0:
            print("step %d, loss %.3f" % (step, value))
