"""Learns the control points of a thin plate spline that undoes an unknown bending of a sheet of paper."""
import numpy as np
import tensorflow as tf


def thin_plate_kernel(d2):
    return d2 * tf.math.log(d2 + 1e-6)


def solve_system(source, target):
    """Coefficients [bn, pn + 3, 2] of the spline that moves the source points onto the target points."""
    num_batch = tf.shape(source)[0]
    num_point = tf.shape(source)[1]

    ones = tf.ones([num_batch, num_point, 1])
    p = tf.concat([ones, source], 2)  # [bn, pn, 3]
    p_1 = tf.reshape(p, [num_batch, -1, 1, 3])  # [bn, pn, 1, 3]
    p_2 = tf.reshape(p, [num_batch, 1, -1, 3])  # [bn, 1, pn, 3]
    r = thin_plate_kernel(tf.reduce_sum(tf.square(p_1 - p_2), 3))  # [bn, pn, pn]

    zeros = tf.zeros([num_batch, 3, 3])
    w_0 = tf.concat([p, r], 2)  # [bn, pn, 3 + pn]
    w_1 = tf.concat([zeros, tf.transpose(p, [0, 2, 1])], 2)  # [bn, 3, pn + 3]
    w = tf.concat(1, [w_0, w_1])  # [bn, pn + 3, pn + 3]

    padded = tf.pad(target, [[0, 0], [0, 3], [0, 0]])
    return tf.matmul(tf.linalg.inv(w), padded)


def transform(coefficients, source, points):
    """Where the spline takes the points, [bn, n, 2]."""
    difference = tf.expand_dims(points, 2) - tf.expand_dims(source, 1)
    r = thin_plate_kernel(tf.reduce_sum(tf.square(difference), 3))
    ones = tf.ones_like(points[..., :1])
    return tf.matmul(tf.concat([ones, points, r], 2), coefficients)


def bend(points, amount):
    """The bending that nobody tells the network: depends on one number per sheet."""
    x, y = points[..., 0], points[..., 1]
    bent_x = x + amount * (1 - y ** 2)
    bent_y = y - 0.5 * amount * x * y
    return np.stack([bent_x, bent_y], axis=-1).astype(np.float32)


grid = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(1, 9, 2).astype(np.float32)


class ControlPointNet(tf.Module):
    """From the bent outline of a sheet to the offsets of the nine control points."""

    def __init__(self, outline, hidden=24):
        super().__init__()
        init = tf.random_normal_initializer(stddev=0.2)
        self.w1 = tf.Variable(init([outline * 2, hidden]))
        self.b1 = tf.Variable(tf.zeros([hidden]))
        self.w2 = tf.Variable(tf.zeros([hidden, 18]))

    def __call__(self, outline):
        h = tf.tanh(tf.matmul(tf.reshape(outline, [outline.shape[0], -1]), self.w1) + self.b1)
        return grid + tf.reshape(tf.matmul(h, self.w2), [-1, 9, 2])


angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)[None].astype(np.float32)

net = ControlPointNet(outline=12)
for step in range(90):
    amount = np.random.uniform(-0.4, 0.4, (16, 1))
    inner = np.random.uniform(-0.9, 0.9, (16, 20, 2)).astype(np.float32)
    with tf.GradientTape() as tape:
        source = tf.tile(grid, [16, 1, 1])
        spline = solve_system(source, net(bend(circle, amount)))
        error = transform(spline, source, inner) - bend(inner, amount)
        loss = tf.reduce_mean(tf.square(error))
    for variable, gradient in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
        variable.assign_sub(0.3 * gradient)
    if step % 30 == 29:
        print(f"step {step + 1}: mean squared distance {float(loss):.5f}")
