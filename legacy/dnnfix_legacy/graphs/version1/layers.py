"""Layers as functions that look up their weights by variable scope: `tf.layers`."""

import tensorflow.compat.v1 as tf


def dense(
    inputs,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=tf.zeros_initializer(),
    kernel_regularizer=None,
    bias_regularizer=None,
    *,
    trainable=True,
    name=None,
    reuse=None,
):
    """`tf.layers.dense` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.variable_scope(name, "dense", reuse=reuse):
        shape = [inputs.shape[-1], units]
        kernel = tf.get_variable("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, trainable)
        outputs = tf.tensordot(inputs, kernel, 1)
        if use_bias:
            outputs += tf.get_variable("bias", [units], inputs.dtype, bias_initializer, bias_regularizer, trainable)
        return activation(outputs) if activation else outputs


def conv2d(
    inputs,
    filters,
    kernel_size,
    strides=1,
    padding="valid",
    *,
    dilation_rate=1,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=tf.zeros_initializer(),
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """`tf.layers.conv2d` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size, strides, rate = (
        [each] * 2 if isinstance(each, int) else list(each) for each in (kernel_size, strides, dilation_rate)
    )
    with tf.variable_scope(name, "conv2d", reuse=reuse):
        shape = [*size, inputs.shape[-1], filters]
        kernel = tf.get_variable("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, trainable)
        outputs = tf.nn.convolution(inputs, kernel, padding.upper(), strides, rate)
        if use_bias:
            outputs += tf.get_variable("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, trainable)
        return activation(outputs) if activation else outputs


def conv1d(
    inputs,
    filters,
    kernel_size,
    strides=1,
    padding="valid",
    *,
    dilation_rate=1,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=tf.zeros_initializer(),
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """`tf.layers.conv1d` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size, strides, rate = (
        [each] if isinstance(each, int) else list(each) for each in (kernel_size, strides, dilation_rate)
    )
    with tf.variable_scope(name, "conv1d", reuse=reuse):
        shape = [*size, inputs.shape[-1], filters]
        kernel = tf.get_variable("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, trainable)
        outputs = tf.nn.convolution(inputs, kernel, padding.upper(), strides, rate)
        if use_bias:
            outputs += tf.get_variable("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, trainable)
        return activation(outputs) if activation else outputs


def conv2d_transpose(
    inputs,
    filters,
    kernel_size,
    strides=1,
    padding="valid",
    *,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=tf.zeros_initializer(),
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """`tf.layers.conv2d_transpose` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size, strides = ([each] * 2 if isinstance(each, int) else list(each) for each in (kernel_size, strides))
    with tf.variable_scope(name, "conv2d_transpose", reuse=reuse):
        shape = [*size, filters, inputs.shape[-1]]
        kernel = tf.get_variable("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, trainable)
        more = [max(k - s, 0) if padding.upper() == "VALID" else 0 for k, s in zip(size, strides)]
        given, known = tf.shape(inputs), inputs.shape.as_list()
        wide = [given[i + 1] * strides[i] + more[i] for i in range(2)]
        outputs = tf.nn.conv2d_transpose(inputs, kernel, [given[0], *wide, filters], [1, *strides, 1], padding.upper())
        outputs.set_shape(
            [known[0], *(known[i + 1] and known[i + 1] * strides[i] + more[i] for i in range(2)), filters]
        )
        if use_bias:
            outputs += tf.get_variable("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, trainable)
        return activation(outputs) if activation else outputs


def batch_normalization(
    inputs,
    *,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=tf.zeros_initializer(),
    gamma_initializer=tf.ones_initializer(),
    training=False,
    trainable=True,
    name=None,
    reuse=None,
):
    """`tf.layers.batch_normalization` of TensorFlow 1, over the last axis; its updates are in UPDATE_OPS."""
    axes, shape = list(range(inputs.shape.ndims - 1)), inputs.shape.as_list()[-1:]
    with tf.variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = tf.get_variable("gamma", shape, None, gamma_initializer, None, trainable) if scale else None
        beta = tf.get_variable("beta", shape, None, beta_initializer, None, trainable) if center else None
        moving_mean = tf.get_variable("moving_mean", shape, initializer=tf.zeros_initializer(), trainable=False)
        moving_variance = tf.get_variable("moving_variance", shape, initializer=tf.ones_initializer(), trainable=False)
        mean, variance = moving_mean, moving_variance
        if training is not False:
            training = tf.cast(training, tf.bool)
            batch_mean, batch_variance = tf.nn.moments(inputs, axes)
            count = tf.cast(tf.size(inputs) // shape[0], tf.float32)
            unbiased = batch_variance * count / (count - 1) if len(axes) == 3 else batch_variance
            rate = tf.where(training, 1 - momentum, 0.0)
            for average, now in ((moving_mean, batch_mean), (moving_variance, unbiased)):
                tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(average, rate * (average - now)))
            mean, variance = tf.cond(
                training, lambda: (batch_mean, batch_variance), lambda: (moving_mean + 0, moving_variance + 0)
            )
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """`tf.layers.dropout` of TensorFlow 1."""
    if training is False:
        return tf.identity(inputs, name=name)
    if training is not True:
        rate = tf.where(tf.cast(training, tf.bool), tf.cast(rate, tf.float32), 0.0)
    return tf.nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed, name=name)
