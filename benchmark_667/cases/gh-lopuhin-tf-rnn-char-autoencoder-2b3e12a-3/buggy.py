"""Character autoencoder: squeezes four-letter words into a short code and spells them again."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

ALPHABET = "abcdefghij"
LENGTH = 4


def dense(x, n_out, name, activation=None):
    with tf.variable_scope(name):
        n_in = int(x.shape[-1])
        w = tf.get_variable("w", [n_in, n_out], initializer=tf.truncated_normal_initializer(stddev=n_in ** -0.5))
        b = tf.get_variable("b", [n_out], initializer=tf.zeros_initializer())
        y = tf.matmul(x, w) + b
        return activation(y) if activation else y


class Autoencoder(object):

    def __init__(self, input_size, state_size=24, code_size=8):
        self.inputs = tf.placeholder(tf.float32, [None, LENGTH, input_size], name="inputs")
        flat = tf.reshape(self.inputs, [-1, LENGTH * input_size])
        hidden = dense(flat, state_size, "encoder", tf.nn.tanh)
        self.code = dense(hidden, code_size, "code", tf.nn.tanh)
        state = dense(self.code, state_size, "decoder", tf.nn.tanh)
        self.outputs = [dense(state, input_size, "char_%d" % i) for i in range(LENGTH)]
        targets = tf.unstack(self.inputs, axis=1)
        self.loss = (1. / LENGTH) * tf.reduce_mean(tf.add_n([
            tf.nn.softmax_cross_entropy_with_logits(
                logits, target, name="seq_loss_{}".format(i))
            for i, (logits, target) in enumerate(zip(self.outputs, targets))]))
        guess = tf.argmax(tf.stack(self.outputs, axis=1), axis=2)
        self.spelled = tf.reduce_mean(tf.cast(tf.equal(guess, tf.argmax(self.inputs, axis=2)), tf.float32))
        optimizer = tf.train.AdamOptimizer(0.01)
        params = tf.trainable_variables()
        gradients, _norm = tf.clip_by_global_norm(tf.gradients(self.loss, params), 5.0)
        self.train_op = optimizer.apply_gradients(zip(gradients, params))


def sample_words(n):
    # consonants and vowels take turns, as in most made-up words
    ids = np.stack([np.random.choice([1, 2, 3, 5, 6, 7, 9] if k % 2 == 0 else [0, 4, 8], size=n) for k in range(LENGTH)], 1)
    return np.eye(len(ALPHABET), dtype="float32")[ids]


def main():
    words = sample_words(1500)
    train, valid = words[:1200], words[1200:]
    model = Autoencoder(len(ALPHABET))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(600):
            batch = train[np.random.randint(0, len(train), size=64)]
            _, loss = sess.run([model.train_op, model.loss], {model.inputs: batch})
            if step % 100 == 0:
                print("step %d loss %.3f" % (step, loss))
        print("letters spelled right: %.3f" % sess.run(model.spelled, {model.inputs: valid}))


if __name__ == "__main__":
    main()
