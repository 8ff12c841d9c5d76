"""Layers as functions that look up their weights by variable scope: `tf.contrib.layers` and `tf.contrib.slim`."""

import tensorflow.compat.v1 as tf


def fully_connected(
    inputs,
    num_outputs,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=tf.zeros_initializer(),
    biases_regularizer=None,
    *,
    trainable=True,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.fully_connected` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.variable_scope(scope, "fully_connected", reuse=reuse):
        shape = [inputs.shape[-1], num_outputs]
        weights = tf.get_variable("weights", shape, inputs.dtype, weights_initializer, weights_regularizer, trainable)
        outputs = tf.tensordot(inputs, weights, 1)
        if normalizer_fn:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        elif biases_initializer:
            shape = [num_outputs]
            outputs += tf.get_variable("biases", shape, inputs.dtype, biases_initializer, biases_regularizer, trainable)
        return activation_fn(outputs) if activation_fn else outputs


def conv2d(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    *,
    rate=1,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=tf.zeros_initializer(),
    biases_regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.conv2d` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size, strides, rates = ([each] * 2 if isinstance(each, int) else list(each) for each in (kernel_size, stride, rate))
    with tf.variable_scope(scope, "Conv", reuse=reuse):
        shape = [*size, inputs.shape[-1], num_outputs]
        weights = tf.get_variable("weights", shape, inputs.dtype, weights_initializer, weights_regularizer, trainable)
        outputs = tf.nn.convolution(inputs, weights, padding.upper(), strides, rates)
        if normalizer_fn:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        elif biases_initializer:
            shape = [num_outputs]
            outputs += tf.get_variable("biases", shape, inputs.dtype, biases_initializer, biases_regularizer, trainable)
        return activation_fn(outputs) if activation_fn else outputs


def conv2d_transpose(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    *,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=tf.zeros_initializer(),
    biases_regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.conv2d_transpose` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size, strides = ([each] * 2 if isinstance(each, int) else list(each) for each in (kernel_size, stride))
    with tf.variable_scope(scope, "Conv2d_transpose", reuse=reuse):
        shape = [*size, num_outputs, inputs.shape[-1]]
        weights = tf.get_variable("weights", shape, inputs.dtype, weights_initializer, weights_regularizer, trainable)
        more = [max(k - s, 0) if padding.upper() == "VALID" else 0 for k, s in zip(size, strides)]
        given, known = tf.shape(inputs), inputs.shape.as_list()
        wide = [given[i + 1] * strides[i] + more[i] for i in range(2)]
        outputs = tf.nn.conv2d_transpose(
            inputs, weights, [given[0], *wide, num_outputs], [1, *strides, 1], padding.upper()
        )
        wide = [known[i + 1] and known[i + 1] * strides[i] + more[i] for i in range(2)]
        outputs.set_shape([known[0], *wide, num_outputs])
        if normalizer_fn:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        elif biases_initializer:
            shape = [num_outputs]
            outputs += tf.get_variable("biases", shape, inputs.dtype, biases_initializer, biases_regularizer, trainable)
        return activation_fn(outputs) if activation_fn else outputs


def max_pool2d(inputs, kernel_size, stride=2, padding="VALID", *, scope=None):
    """`tf.contrib.layers.max_pool2d` of TensorFlow 1."""
    return tf.nn.max_pool2d(inputs, kernel_size, stride, padding.upper(), name=scope)


def avg_pool2d(inputs, kernel_size, stride=2, padding="VALID", *, scope=None):
    """`tf.contrib.layers.avg_pool2d` of TensorFlow 1."""
    return tf.nn.avg_pool2d(inputs, kernel_size, stride, padding.upper(), name=scope)


def flatten(inputs, *, scope=None):
    """`tf.contrib.layers.flatten` of TensorFlow 1."""
    inputs = tf.convert_to_tensor(inputs)
    size = 1
    for length in inputs.shape.as_list()[1:]:
        size *= length
    return tf.reshape(inputs, [-1, size], name=scope)


def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, *, scope=None, seed=None):
    """`tf.contrib.layers.dropout` of TensorFlow 1."""
    rate = 1 - keep_prob
    if is_training is not True:
        rate = tf.where(tf.cast(is_training, tf.bool), rate, 0.0)
    return tf.nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed, name=scope)


def batch_norm(
    inputs,
    decay=0.999,
    center=True,
    scale=False,
    epsilon=0.001,
    activation_fn=None,
    *,
    updates_collections=tf.GraphKeys.UPDATE_OPS,
    is_training=True,
    trainable=True,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.batch_norm` of TensorFlow 1."""
    axes, shape = list(range(inputs.shape.ndims - 1)), inputs.shape.as_list()[-1:]
    with tf.variable_scope(scope, "BatchNorm", reuse=reuse):
        ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
        beta = tf.get_variable("beta", shape, initializer=zeros, trainable=trainable) if center else None
        gamma = tf.get_variable("gamma", shape, initializer=ones, trainable=trainable) if scale else None
        moving_mean = tf.get_variable("moving_mean", shape, initializer=zeros, trainable=False)
        moving_variance = tf.get_variable("moving_variance", shape, initializer=ones, trainable=False)
        mean, variance, updates = moving_mean, moving_variance, []
        if is_training is not False:
            training = tf.cast(is_training, tf.bool)
            batch_mean, batch_variance = tf.nn.moments(inputs, axes)
            count = tf.cast(tf.size(inputs) // shape[0], tf.float32)
            unbiased = batch_variance * count / (count - 1) if len(axes) in (1, 3) else batch_variance
            rate = tf.where(training, 1 - decay, 0.0)
            for average, now in ((moving_mean, batch_mean), (moving_variance, unbiased)):
                updates.append(tf.assign_sub(average, rate * (average - now)))
            mean, variance = tf.cond(
                training, lambda: (batch_mean, batch_variance), lambda: (moving_mean + 0, moving_variance + 0)
            )
        if updates_collections is not None:
            for update in updates:
                tf.add_to_collections(updates_collections, update)
            updates = []
        with tf.control_dependencies(updates):
            outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        return activation_fn(outputs) if activation_fn else outputs


def layer_norm(
    inputs,
    center=True,
    scale=True,
    activation_fn=None,
    *,
    trainable=True,
    begin_norm_axis=1,
    begin_params_axis=-1,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.layer_norm` of TensorFlow 1."""
    rank = inputs.shape.ndims
    with tf.variable_scope(scope, "LayerNorm", reuse=reuse):
        shape = inputs.shape.as_list()[begin_params_axis:]
        beta = tf.get_variable("beta", shape, None, tf.zeros_initializer(), None, trainable) if center else None
        gamma = tf.get_variable("gamma", shape, None, tf.ones_initializer(), None, trainable) if scale else None
        mean, variance = tf.nn.moments(inputs, list(range(begin_norm_axis % rank, rank)), keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
        return activation_fn(outputs) if activation_fn else outputs


def instance_norm(
    inputs, center=True, scale=True, epsilon=1e-6, activation_fn=None, *, trainable=True, scope=None, reuse=None
):
    """`tf.contrib.layers.instance_norm` of TensorFlow 1, with the channels in the last axis."""
    with tf.variable_scope(scope, "InstanceNorm", reuse=reuse):
        shape = inputs.shape.as_list()[-1:]
        beta = tf.get_variable("beta", shape, None, tf.zeros_initializer(), None, trainable) if center else None
        gamma = tf.get_variable("gamma", shape, None, tf.ones_initializer(), None, trainable) if scale else None
        mean, variance = tf.nn.moments(inputs, list(range(1, inputs.shape.ndims - 1)), keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        return activation_fn(outputs) if activation_fn else outputs


def embed_sequence(
    ids,
    vocab_size=None,
    embed_dim=None,
    unique=False,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """`tf.contrib.layers.embed_sequence` of TensorFlow 1."""
    with tf.variable_scope(scope, "EmbedSequence", reuse=reuse):
        shape = [vocab_size, embed_dim]
        embeddings = tf.get_variable("embeddings", shape, None, initializer, regularizer, trainable)
        return tf.nn.embedding_lookup(embeddings, ids)


def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, *, scope=None):
    """`tf.contrib.layers.one_hot_encoding` of TensorFlow 1."""
    return tf.one_hot(tf.cast(labels, tf.int64), num_classes, on_value, off_value, name=scope)


def apply_regularization(regularizer, weights_list=None):
    """`tf.contrib.layers.apply_regularization` of TensorFlow 1."""
    weights_list = tf.get_collection(tf.GraphKeys.WEIGHTS) if weights_list is None else weights_list
    penalty = tf.add_n([regularizer(weights) for weights in weights_list]) if weights_list else tf.constant(0.0)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, penalty)
    return penalty


def optimize_loss(loss, global_step, learning_rate, optimizer, *, clip_gradients=None, variables=None, name=None):
    """`tf.contrib.layers.optimize_loss` of TensorFlow 1, with the updates that wait in UPDATE_OPS."""
    optimizers = {
        "Adagrad": tf.train.AdagradOptimizer,
        "Adam": tf.train.AdamOptimizer,
        "Ftrl": tf.train.FtrlOptimizer,
        "Momentum": lambda rate: tf.train.MomentumOptimizer(rate, momentum=0.9),
        "RMSProp": tf.train.RMSPropOptimizer,
        "SGD": tf.train.GradientDescentOptimizer,
    }
    optimizer = optimizers.get(optimizer, optimizer) if isinstance(optimizer, str) else optimizer
    with tf.variable_scope(name, "OptimizeLoss"):
        if isinstance(learning_rate, float):
            initializer = tf.constant_initializer(learning_rate)
            learning_rate = tf.get_variable("learning_rate", [], initializer=initializer, trainable=False)
        if not isinstance(optimizer, tf.train.Optimizer):
            optimizer = optimizer(learning_rate) if learning_rate is not None else optimizer()
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            loss = tf.identity(loss)
        gradients, variables = zip(*optimizer.compute_gradients(loss, var_list=variables))
        if clip_gradients is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, clip_gradients)
        step = tf.train.get_global_step() if global_step is None else global_step
        train = optimizer.apply_gradients(zip(gradients, variables), global_step=step)
        with tf.control_dependencies([train]):
            return tf.identity(loss)
