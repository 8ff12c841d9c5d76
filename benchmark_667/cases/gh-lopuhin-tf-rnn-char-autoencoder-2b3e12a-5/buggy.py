import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

SEQ_LENGTH = 20
STATE_SIZE = 5
BATCH_SIZE = 50
N_STEPS = 400


def waves(count):
    t = np.linspace(0, 2 * np.pi, SEQ_LENGTH)
    phase = np.random.uniform(0, 2 * np.pi, size=(count, 1))
    height = np.random.uniform(0.3, 1.0, size=(count, 1))
    return height * np.sin(t + phase) + 0.05 * np.random.randn(count, SEQ_LENGTH)


def split(inputs, train_part):
    border = int(len(inputs) * train_part)
    return inputs[:border], inputs[border:]


class Model(object):

    def __init__(self):
        self.input = tf.placeholder(tf.float32, [None, SEQ_LENGTH], name='input')
        self.state = self._layer(self.input, STATE_SIZE, 'encoder')
        self.output = self._layer(tf.nn.tanh(self.state), SEQ_LENGTH, 'decoder')

        self.loss = tf.reduce_mean(tf.square(self.output - self.input))
        tf.summary.scalar('loss', self.loss)
        tf.summary.scalar('state', tf.reduce_mean(tf.abs(self.state)))

        self.global_step = tf.Variable(0, name='global_step', trainable=False)
        optimizer = tf.train.AdamOptimizer(0.01)
        gradients = tf.gradients(self.loss, tf.trainable_variables())
        gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
        tf.summary.scalar('gradient norm', norm)
        self.train_op = optimizer.apply_gradients(
            zip(gradients, tf.trainable_variables()), global_step=self.global_step)
        self.summary_op = tf.merge_all_summaries()

    def _layer(self, x, size, name):
        with tf.variable_scope(name):
            w = tf.get_variable('w', [int(x.shape[1]), size], initializer=tf.random_normal_initializer(stddev=0.2))
            b = tf.get_variable('b', [size], initializer=tf.zeros_initializer())
            return tf.matmul(x, w) + b

    def train(self, sess, train_inputs, valid_inputs):
        t0 = time.time()
        for _ in range(N_STEPS):
            batch = train_inputs[np.random.choice(len(train_inputs), BATCH_SIZE)]
            sess.run(self.train_op, {self.input: batch})
            step = sess.run(self.global_step)
            if step % 100 == 0:
                self._report(step, sess.run(self.summary_op, {self.input: valid_inputs}))
        print('trained in {:.1f} s'.format(time.time() - t0))

    def _report(self, step, serialized):
        values = tf.Summary.FromString(serialized).value
        print('step {}: {}'.format(step, ', '.join('{} {:.4f}'.format(v.tag, v.simple_value) for v in values)))


def main():
    train_inputs, valid_inputs = split(waves(1000), 0.9)
    model = Model()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        model.train(sess, train_inputs, valid_inputs)


if __name__ == '__main__':
    main()
