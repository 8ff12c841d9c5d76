"""The losses and decoders of sequences of TensorFlow 1: `tf.contrib.seq2seq`, `tf.contrib.legacy_seq2seq`,
`tf.nn.seq2seq`.
"""

import copy

import tensorflow.compat.v1 as tf


def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    *,
    softmax_loss_function=None,
    name=None,
):
    """`tf.contrib.seq2seq.sequence_loss` of TensorFlow 1."""
    classes = tf.shape(logits)[2]
    loss = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
    losses = loss(labels=tf.reshape(targets, [-1]), logits=tf.reshape(logits, [-1, classes]))
    losses = tf.reshape(losses * tf.reshape(weights, [-1]), tf.shape(logits)[:2])
    if average_across_timesteps and average_across_batch:
        return tf.divide(tf.reduce_sum(losses), tf.reduce_sum(weights) + 1e-12, name=name)
    if average_across_timesteps or average_across_batch:
        axis = 1 if average_across_timesteps else 0
        return tf.divide(tf.reduce_sum(losses, axis), tf.reduce_sum(weights, axis) + 1e-12, name=name)
    return losses


def sequence_loss_by_example(
    logits, targets, weights, average_across_timesteps=True, softmax_loss_function=None, name=None
):
    """`sequence_loss_by_example` of TensorFlow 1: the cross entropy of each sequence, from lists over time."""
    loss = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
    losses = tf.add_n(
        [
            loss(labels=tf.reshape(target, [-1]), logits=logit) * weight
            for logit, target, weight in zip(logits, targets, weights)
        ]
    )
    return tf.divide(losses, tf.add_n(weights) + 1e-12, name=name) if average_across_timesteps else losses


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """`rnn_decoder` of TensorFlow 1: a cell that reads a list of inputs, or what `loop_function` makes of its output."""
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, []
        for i, inputs in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], i)
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
    return outputs, state


def tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, loop_function=None, dtype=tf.float32, scope=None):
    """`tied_rnn_seq2seq` of TensorFlow 1: one cell reads the inputs and then writes the outputs."""
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=tf.float32, scope=None):
    """`basic_rnn_seq2seq` of TensorFlow 1: one cell reads the inputs, another one like it writes the outputs."""
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)
