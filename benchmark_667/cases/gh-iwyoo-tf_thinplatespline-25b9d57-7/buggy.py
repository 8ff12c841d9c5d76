"""Learns the thin plate spline that undoes an unknown bend of a picture."""
import numpy as np
import tensorflow as tf

SIZE = 24
POINTS = np.array([[x, y] for y in (-0.7, 0.0, 0.7) for x in (-0.7, 0.0, 0.7)], dtype="float32")


def radial(a, b):
    """r^2 log r^2 between two sets of points, [n, 2] and [m, 2] -> [n, m]."""
    d2 = tf.reduce_sum(tf.square(a[:, None, :] - b[None, :, :]), axis=2)
    return d2 * tf.math.log(d2 + 1e-6)


def solve_system(coord, vector):
    n = coord.shape[0]
    p = tf.concat([tf.ones([n, 1]), coord], 1)
    top = tf.concat([p, radial(coord, coord)], 1)
    bottom = tf.concat([tf.zeros([3, 3]), tf.transpose(p)], 1)
    system = tf.concat([top, bottom], 0)
    target = tf.pad(coord + vector, [[0, 3], [0, 0]])
    return tf.matmul(tf.linalg.inv(system), target)


def warp(image, coord, vector, out_size):
    """Samples `image` [height, width, channels] on the grid that the control points bend."""
    height, width, channels = image.shape
    out_height, out_width = out_size
    ys, xs = tf.meshgrid(tf.linspace(-1.0, 1.0, out_height), tf.linspace(-1.0, 1.0, out_width), indexing="ij")
    grid = tf.stack([tf.reshape(xs, [-1]), tf.reshape(ys, [-1])], axis=1)
    basis = tf.concat([tf.ones([out_height * out_width, 1]), grid, radial(grid, coord)], 1)
    source = tf.matmul(basis, solve_system(coord, vector))

    x = (source[:, 0] + 1.0) * (width - 1) / 2.0
    y = (source[:, 1] + 1.0) * (height - 1) / 2.0
    x = tf.clip_by_value(x, 0.0, width - 1.001)
    y = tf.clip_by_value(y, 0.0, height - 1.001)
    x0, y0 = tf.floor(x), tf.floor(y)
    flat = tf.reshape(image, [-1, channels])

    def pixel(row, column):
        return tf.gather(flat, tf.cast(row * width + column, tf.int32))

    wx, wy = (x - x0)[:, None], (y - y0)[:, None]
    upper = (1 - wx) * pixel(y0, x0) + wx * pixel(y0, x0 + 1)
    lower = (1 - wx) * pixel(y0 + 1, x0) + wx * pixel(y0 + 1, x0 + 1)
    output = tf.reshape((1 - wy) * upper + wy * lower, tf.pack([out_height, out_width, channels]))
    return output


def picture():
    y, x = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    rings = np.exp(-4 * (x - 0.3) ** 2 - 6 * y ** 2) + 0.8 * np.exp(-9 * (x + 0.5) ** 2 - 5 * (y - 0.4) ** 2)
    return tf.constant(rings[:, :, None], dtype=tf.float32)


def main():
    image = picture()
    bend = tf.constant(np.random.uniform(-0.15, 0.15, size=POINTS.shape), dtype=tf.float32)
    goal = warp(image, POINTS, bend, (SIZE, SIZE))

    vector = tf.Variable(tf.zeros(POINTS.shape))
    momentum = tf.zeros(POINTS.shape)
    for step in range(60):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(warp(image, POINTS, vector, (SIZE, SIZE)) - goal))
        momentum = 0.9 * momentum + tape.gradient(loss, vector)
        vector.assign_sub(0.3 * momentum)
        if step % 20 == 0:
            print("step %2d  mse %.5f" % (step, float(loss)))
    print("mean error of the control points %.3f" % float(tf.reduce_mean(tf.abs(vector - bend))))


if __name__ == "__main__":
    main()
