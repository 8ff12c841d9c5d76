"""`tf.python.control_flow_ops = tf`: a workaround for TensorFlow 0.12 and Keras 1, which raises today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Delete, Hit, Subject, uses_of


class InternalsOverwritten(ApiChange):
    """A statement assigns to `tf.python`, as a workaround for Keras 1 after TensorFlow 0.12 had moved its internals.

    It made dropout and batch normalization of Keras 1 work. Keras does not read it any more, and TensorFlow 2 has no
    `tf.python`: the statement raises. It is removed.

    Fix safety: safe: nothing else reads the assigned value, and the program itself does not.

    References: https://github.com/keras-team/keras/issues/3857.
    """

    code = "DNF525"
    name = "internals-overwritten"
    message = "tf.python was removed in TensorFlow 2.0, and Keras does not read what is assigned there"
    triggers = ("control_flow_ops",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "control_flow_ops" not in source.words:
            return
        places = [node for node in uses_of(source).all_attributes() if node.attr == "control_flow_ops"]
        inside = [node for node in places if (source.written(node) or "").startswith("tensorflow.python.")]
        if any(isinstance(node.ctx, ast.Load) for node in inside):
            return
        for node in inside:
            statement = source.statement_of(node)
            if isinstance(statement, ast.Assign) and statement.targets == [node]:
                yield Hit(
                    source.site(statement),
                    self.message,
                    title="remove the workaround for TensorFlow 0.12",
                    edits=(Delete(source.site(statement)),),
                    safe=not isinstance(statement.value, ast.Call),
                    removed={"tensorflow": "2.0"},
                )

    programs = """
=== example: the module under its own name, within a function
- import tensorflow
from keras.layers import Dropout


def build():
-     tensorflow.python.control_flow_ops = tensorflow
    return Dropout(0.5)

=== example: what moved, in the place where it was
- import tensorflow as tf
from keras.layers import Dropout
- from tensorflow.python.ops import control_flow_ops

- tf.python.control_flow_ops = control_flow_ops
layer = Dropout(0.5)

=== reject: what the program reads itself
import tensorflow as tf
from keras.layers import Dropout

tf.python.control_flow_ops = tf
print(tf.python.control_flow_ops, Dropout(0.5))

=== reject: a module that is there
import keras
from tensorflow.python.ops import control_flow_ops

keras.control_flow_ops = control_flow_ops
"""
