"""Character autoencoder: a recurrent encoder reads a word, a recurrent decoder spells it again."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

PAD_ID, GO_ID = 0, 1
SYLLABLES = ["ba", "do", "ki", "lu", "me", "so", "ta", "ri"]


class Model(object):
    def __init__(self, input_size, state_size, max_seq_length):
        self.input_size = input_size
        self.max_seq_length = max_seq_length
        self.encoder_inputs = [
            tf.placeholder(tf.float32, [None, input_size], name="enc_%d" % i) for i in range(max_seq_length)
        ]
        self.decoder_inputs = [
            tf.placeholder(tf.float32, [None, input_size], name="dec_%d" % i) for i in range(max_seq_length + 1)
        ]
        encode = self._cell("encoder", state_size)
        decode = self._cell("decoder", state_size)
        w = tf.get_variable("out_w", [state_size, input_size])
        b = tf.get_variable("out_b", [input_size], initializer=tf.zeros_initializer())

        state = tf.zeros([tf.shape(self.encoder_inputs[0])[0], state_size])
        for x in self.encoder_inputs:
            state = encode(x, state)
        self.decoder_outputs = []
        for x in self.decoder_inputs[:-1]:
            state = decode(x, state)
            self.decoder_outputs.append(tf.matmul(state, w) + b)

        targets = self.decoder_inputs[1:]
        seq_losses = [
            tf.nn.softmax_cross_entropy_with_logits(logits, target, name="seq_loss_%d" % i)
            for i, (logits, target) in enumerate(zip(self.decoder_outputs, targets))
        ]
        self.loss = tf.reduce_mean(tf.add_n(seq_losses)) / max_seq_length

        params = tf.trainable_variables()
        gradients, _norm = tf.clip_by_global_norm(tf.gradients(self.loss, params), 5.0)
        self.train_op = tf.train.AdamOptimizer(0.01).apply_gradients(zip(gradients, params))
        hits = [tf.equal(tf.argmax(o, 1), tf.argmax(t, 1)) for o, t in zip(self.decoder_outputs, targets)]
        self.accuracy = tf.reduce_mean(tf.cast(tf.stack(hits), tf.float32))

    def _cell(self, name, size):
        with tf.variable_scope(name):
            gates = tf.get_variable("gates", [self.input_size + size, size])
            w = tf.get_variable("w", [self.input_size + size, size])

        def step(x, state):
            both = tf.concat([x, state], axis=1)
            keep = tf.sigmoid(tf.matmul(both, gates) + 1.0)
            return keep * state + (1.0 - keep) * tf.tanh(tf.matmul(both, w))

        return step

    def prepare_batch(self, words, char_to_id):
        ids = np.full((len(words), self.max_seq_length), PAD_ID)
        for row, word in enumerate(words):
            ids[row, : len(word)] = [char_to_id[ch] for ch in word]
        one_hot = np.eye(self.input_size, dtype=np.float32)
        feed = {ph: one_hot[ids[:, i]] for i, ph in enumerate(self.encoder_inputs)}
        go = np.full(len(words), GO_ID)
        for i, ph in enumerate(self.decoder_inputs):
            feed[ph] = one_hot[go if i == 0 else ids[:, i - 1]]
        return feed


def random_words(n):
    return ["".join(np.random.choice(SYLLABLES, size=np.random.randint(1, 4))) for _ in range(n)]


def main():
    chars = sorted(set("".join(SYLLABLES)))
    char_to_id = {ch: i + 2 for i, ch in enumerate(chars)}
    model = Model(len(chars) + 2, state_size=32, max_seq_length=6)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(1, 201):
            feed = model.prepare_batch(random_words(32), char_to_id)
            _, loss = sess.run([model.train_op, model.loss], feed)
            if step % 50 == 0:
                print("step %d, loss %.3f" % (step, loss))
        feed = model.prepare_batch(random_words(200), char_to_id)
        print("characters spelled as read: %.3f" % sess.run(model.accuracy, feed))


main()
