"""Fully convolutional network that marks the organ in slices of a scan."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class loss(object):
    """
    Works by adding loss values (computed from net and target) to the loss collection named lkey.
    Before the training, total_loss collects all of them and adds them together.
    """

    def __init__(self, lkey='losses'):
        self.lkey = lkey

    def softmax_log_loss(self, X, target, target_weight=None, lm=1):
        """
        :param X: scores of the net
        :param target: expected output, one hot
        :param target_weight: balances the classes, or takes padded pixels out
        :param lm: how important this loss is compared to the others
        """
        xdev = X - tf.reduce_max(X, keepdims=True, axis=-1)
        lsm = xdev - tf.log(tf.reduce_sum(tf.exp(xdev), keepdims=True, axis=-1))
        if target_weight is None:
            target_weight = 1
        l = -lm * tf.reduce_mean(weight * target * lsm, name='softmax_log_loss')
        tf.add_to_collection(self.lkey, l)

    def l2_loss(self, wkey, lm):
        """
        :param wkey: collection of the weights to be kept small
        :param lm: how important this loss is compared to the others
        """
        for w in tf.get_collection(wkey):
            tf.add_to_collection(self.lkey, lm * tf.nn.l2_loss(w))

    def total_loss(self):
        return tf.add_n(tf.get_collection(self.lkey), name='total_loss')


def conv(x, n_out, size, name, act=tf.nn.relu):
    n_in = int(x.shape[-1])
    with tf.variable_scope(name):
        std = np.sqrt(2.0 / (size * size * n_in))
        w = tf.get_variable('w', [size, size, n_in, n_out], initializer=tf.truncated_normal_initializer(stddev=std))
        b = tf.get_variable('b', [n_out], initializer=tf.zeros_initializer())
    tf.add_to_collection('weights', w)
    out = tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding='SAME') + b
    return act(out) if act is not None else out


def slices(n, size=28):
    """Noisy slices with an ellipse (the organ) and a bright rim (the skin)."""
    r, c = np.mgrid[:size, :size]
    scans = np.random.normal(0, 0.2, (n, size, size, 1))
    masks = np.zeros((n, size, size), int)
    for scan, mask in zip(scans, masks):
        y, x = np.random.randint(9, 19, 2)
        a, b = np.random.randint(3, 6, 2)
        mask[((r - y) / a) ** 2 + ((c - x) / b) ** 2 < 1] = 1
        scan[..., 0] += 0.5 * mask
        scan[[0, -1]] += 1
        scan[:, [0, -1]] += 1
    return scans.astype(np.float32), np.eye(2, dtype=np.float32)[masks]


def main():
    scans, masks = slices(120)
    share = masks.mean(axis=(0, 1, 2))

    X = tf.placeholder(tf.float32, [None, 28, 28, 1])
    Y = tf.placeholder(tf.float32, [None, 28, 28, 2])
    net = conv(X, 8, 5, 'conv1')
    net = conv(net, 8, 5, 'conv2')
    net = conv(net, 2, 1, 'score', act=None)

    losses = loss()
    losses.softmax_log_loss(net, Y, target_weight=tf.constant(0.5 / share, tf.float32))
    losses.l2_loss('weights', 1e-4)
    total = losses.total_loss()
    train = tf.train.AdamOptimizer(3e-3).minimize(total)
    hit = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(net, -1), tf.argmax(Y, -1)), tf.float32))

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(4):
            for i in range(0, len(scans), 12):
                sess.run(train, {X: scans[i:i + 12], Y: masks[i:i + 12]})
            print(epoch, 'loss %.4f pixels %.3f' % tuple(sess.run([total, hit], {X: scans, Y: masks})))


if __name__ == '__main__':
    main()
