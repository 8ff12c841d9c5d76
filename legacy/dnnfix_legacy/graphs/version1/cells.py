"""The recurrent cells of TensorFlow 1: `tf.nn.rnn_cell` and `tf.contrib.rnn`."""

import copy
from collections import namedtuple

import tensorflow.compat.v1 as tf

LSTMStateTuple = namedtuple("LSTMStateTuple", ("c", "h"))


class RNNCell:
    """The base of recurrent cells in TensorFlow 1: weights are made at the first call and kept."""

    name = "rnn_cell"
    reuse = None

    def __call__(self, inputs, state, scope=None):
        scope = self.name if scope is None and self.reuse else scope
        with tf.variable_scope(scope, self.name, reuse=self.reuse):
            return self.call(inputs, state)

    def get_weight(self, name, shape, initializer=None):
        kept = vars(self).setdefault("weights_by_name", {})
        if name not in kept:
            kept[name] = tf.get_variable(name, shape, initializer=initializer)
        return kept[name]

    def zero_state(self, batch_size, dtype):
        return tf.nest.map_structure(lambda size: tf.zeros([batch_size, size], dtype), self.state_size)


class BasicRNNCell(RNNCell):
    """`tf.nn.rnn_cell.BasicRNNCell` of TensorFlow 1."""

    def __init__(self, num_units, activation=None, reuse=None, name="basic_rnn_cell"):
        self.state_size = self.output_size = num_units
        self.activation, self.reuse, self.name = activation or tf.tanh, reuse, name

    def call(self, inputs, state):
        both = tf.concat([inputs, state], 1)
        kernel = self.get_weight("kernel", [both.shape[1], self.output_size])
        bias = self.get_weight("bias", [self.output_size], tf.zeros_initializer())
        output = self.activation(tf.matmul(both, kernel) + bias)
        return output, output


class BasicLSTMCell(RNNCell):
    """`tf.nn.rnn_cell.BasicLSTMCell` of TensorFlow 1."""

    def __init__(self, num_units, forget_bias=1.0, *, activation=None, reuse=None, name="basic_lstm_cell"):
        self.state_size, self.output_size = LSTMStateTuple(num_units, num_units), num_units
        self.forget_bias, self.activation, self.reuse, self.name = forget_bias, activation or tf.tanh, reuse, name

    def call(self, inputs, state):
        c, h = state
        both = tf.concat([inputs, h], 1)
        kernel = self.get_weight("kernel", [both.shape[1], 4 * self.output_size])
        bias = self.get_weight("bias", [4 * self.output_size], tf.zeros_initializer())
        i, j, f, o = tf.split(tf.matmul(both, kernel) + bias, 4, 1)
        c = c * tf.sigmoid(f + self.forget_bias) + tf.sigmoid(i) * self.activation(j)
        h = self.activation(c) * tf.sigmoid(o)
        return h, LSTMStateTuple(c, h)


class LSTMCell(RNNCell):
    """`tf.nn.rnn_cell.LSTMCell` of TensorFlow 1."""

    def __init__(
        self,
        num_units,
        *,
        initializer=None,
        num_proj=None,
        forget_bias=1.0,
        activation=None,
        reuse=None,
        name="lstm_cell",
    ):
        self.num_units, self.num_proj, self.output_size = num_units, num_proj, num_proj or num_units
        self.state_size = LSTMStateTuple(num_units, self.output_size)
        self.initializer, self.forget_bias = initializer, forget_bias
        self.activation, self.reuse, self.name = activation or tf.tanh, reuse, name

    def call(self, inputs, state):
        c, h = state
        both = tf.concat([inputs, h], 1)
        kernel = self.get_weight("kernel", [both.shape[1], 4 * self.num_units], self.initializer)
        bias = self.get_weight("bias", [4 * self.num_units], tf.zeros_initializer())
        i, j, f, o = tf.split(tf.matmul(both, kernel) + bias, 4, 1)
        c = c * tf.sigmoid(f + self.forget_bias) + tf.sigmoid(i) * self.activation(j)
        h = self.activation(c) * tf.sigmoid(o)
        if self.num_proj:
            h = tf.matmul(h, self.get_weight("projection/kernel", [self.num_units, self.num_proj], self.initializer))
        return h, LSTMStateTuple(c, h)


class GRUCell(RNNCell):
    """`tf.nn.rnn_cell.GRUCell` of TensorFlow 1."""

    def __init__(
        self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name="gru_cell"
    ):
        self.state_size = self.output_size = num_units
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.activation, self.reuse, self.name = activation or tf.tanh, reuse, name

    def call(self, inputs, state):
        gates = tf.sigmoid(self.linear("gates", inputs, state, 2 * self.output_size, tf.ones_initializer()))
        r, u = tf.split(gates, 2, 1)
        c = self.activation(self.linear("candidate", inputs, r * state, self.output_size, tf.zeros_initializer()))
        state = u * state + (1 - u) * c
        return state, state

    def linear(self, name, inputs, state, size, bias):
        both = tf.concat([inputs, state], 1)
        kernel = self.get_weight(name + "/kernel", [both.shape[1], size], self.kernel_initializer)
        return tf.matmul(both, kernel) + self.get_weight(name + "/bias", [size], self.bias_initializer or bias)


def copied(cell):
    """A cell of the same kind with weights of its own."""
    made = copy.copy(cell)
    vars(made).pop("weights_by_name", None)
    if hasattr(cell, "cell"):
        made.cell = copied(cell.cell)
    return made


class MultiRNNCell(RNNCell):
    """`tf.nn.rnn_cell.MultiRNNCell` of TensorFlow 1: cells, each with weights of its own, one on top of the other."""

    name = "multi_rnn_cell"

    def __init__(self, cells):
        self.cells = [copied(cell) if cell in cells[:i] else cell for i, cell in enumerate(cells)]
        self.state_size = tuple(cell.state_size for cell in self.cells)
        self.output_size = self.cells[-1].output_size

    def call(self, inputs, state):
        states = []
        for i, cell in enumerate(self.cells):
            with tf.variable_scope("cell_%d" % i):
                inputs, new_state = cell(inputs, state[i])
            states.append(new_state)
        return inputs, tuple(states)


class DropoutWrapper(RNNCell):
    """`tf.nn.rnn_cell.DropoutWrapper` of TensorFlow 1."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, *, seed=None):
        self.cell, self.state_size, self.output_size, self.seed = cell, cell.state_size, cell.output_size, seed
        self.input_keep_prob, self.output_keep_prob = input_keep_prob, output_keep_prob
        self.state_keep_prob = state_keep_prob

    def __call__(self, inputs, state, scope=None):
        output, state = self.cell(self.dropout(inputs, self.input_keep_prob), state, scope=scope)
        if isinstance(state, tuple) and hasattr(state, "h"):
            state = state._replace(h=self.dropout(state.h, self.state_keep_prob))
        else:
            state = tf.nest.map_structure(lambda each: self.dropout(each, self.state_keep_prob), state)
        return self.dropout(output, self.output_keep_prob), state

    call = __call__

    def dropout(self, values, keep_prob):
        if isinstance(keep_prob, (int, float)) and keep_prob >= 1:
            return values
        return tf.nn.dropout(values, rate=1 - keep_prob, seed=self.seed)


class ResidualWrapper(RNNCell):
    """`tf.nn.rnn_cell.ResidualWrapper` of TensorFlow 1: what goes in is added to what comes out."""

    def __init__(self, cell):
        self.cell, self.state_size, self.output_size = cell, cell.state_size, cell.output_size

    def __call__(self, inputs, state, scope=None):
        output, state = self.cell(inputs, state, scope=scope)
        return inputs + output, state

    call = __call__


class DeviceWrapper(RNNCell):
    """`tf.nn.rnn_cell.DeviceWrapper` of TensorFlow 1: a cell that runs on one device."""

    def __init__(self, cell, device):
        self.cell, self.device, self.state_size, self.output_size = cell, device, cell.state_size, cell.output_size

    def __call__(self, inputs, state, scope=None):
        with tf.device(self.device):
            return self.cell(inputs, state, scope=scope)

    call = __call__


class OutputProjectionWrapper(RNNCell):
    """`tf.contrib.rnn.OutputProjectionWrapper` of TensorFlow 1: a linear layer behind a cell."""

    name = "output_projection_wrapper"

    def __init__(self, cell, output_size, activation=None, reuse=None):
        self.cell, self.state_size, self.output_size = cell, cell.state_size, output_size
        self.activation, self.reuse = activation or tf.identity, reuse

    def call(self, inputs, state):
        output, state = self.cell(inputs, state)
        kernel = self.get_weight("kernel", [output.shape[1], self.output_size])
        bias = self.get_weight("bias", [self.output_size], tf.zeros_initializer())
        return self.activation(tf.matmul(output, kernel) + bias), state


class InputProjectionWrapper(RNNCell):
    """`tf.contrib.rnn.InputProjectionWrapper` of TensorFlow 1: a linear layer before a cell."""

    name = "input_projection_wrapper"

    def __init__(self, cell, num_proj, activation=None):
        self.cell, self.state_size, self.output_size = cell, cell.state_size, cell.output_size
        self.num_proj, self.activation = num_proj, activation or tf.identity

    def call(self, inputs, state):
        kernel = self.get_weight("kernel", [inputs.shape[1], self.num_proj])
        bias = self.get_weight("bias", [self.num_proj], tf.zeros_initializer())
        return self.cell(self.activation(tf.matmul(inputs, kernel) + bias), state)


class EmbeddingWrapper(RNNCell):
    """`tf.contrib.rnn.EmbeddingWrapper` of TensorFlow 1: a cell whose inputs are numbers of words."""

    name = "embedding_wrapper"

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None):
        self.cell, self.state_size, self.output_size = cell, cell.state_size, cell.output_size
        self.shape = [embedding_classes, embedding_size]
        self.initializer = initializer or tf.random_uniform_initializer(-(3**0.5), 3**0.5)

    def call(self, inputs, state):
        with tf.device("/cpu:0"):
            embedding = self.get_weight("embedding", self.shape, self.initializer)
            embedded = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
        return self.cell(embedded, state)


def stack_bidirectional_dynamic_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    parallel_iterations=None,
    time_major=False,
    scope=None,
):
    """`tf.contrib.rnn.stack_bidirectional_dynamic_rnn` of TensorFlow 1."""
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope("cell_%d" % i):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    time_major=time_major,
                )
            inputs = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """`tf.contrib.rnn.stack_bidirectional_rnn` of TensorFlow 1."""
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope("cell_%d" % i):
                inputs, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    dtype=dtype,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
