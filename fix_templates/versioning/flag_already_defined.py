"""`tf.app.flags.DEFINE_string("log_dir", …)` defines a flag that the library already defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, SetArgument, Subject, uses_of, words

MODULES = ("tensorflow.app.flags.", "tensorflow.flags.", "tensorflow.compat.v1.app.flags.", "tensorflow.compat.v1.flags.",
           "tensorflow.python.platform.flags.", "absl.flags.")  # fmt: skip
"""Modules with the functions that define flags, in the order of the releases."""

TAKEN = words(
    """alsologtostderr log_dir logger_levels logtostderr showprefixforinfo stderrthreshold v verbosity
    only_check_args pdb pdb_post_mortem profile_file run_with_pdb run_with_profiling use_cprofile_for_profiling
    test_random_seed test_randomize_ordering_seed test_srcdir test_tmpdir xml_output_file
    delta_threshold op_conversion_fallback_to_while_loop runtime_oom_exit hbm_oom_exit"""
)
"""The flags of absl, which TensorFlow depends on, and those of TensorFlow 2 itself."""


class FlagAlreadyDefined(ApiChange):
    """TensorFlow's flags are those of absl since 1.5, which has flags of its own and refuses to define one again.

    Most programs hit `log_dir`. With `allow_override=True` the program's flag replaces the library's.

    Fix safety: unsafe: the program crashed where it defines the flag; now the library's logging gets the flag's value,
    too.

    References: https://github.com/abseil/abseil-py/blob/main/absl/logging/__init__.py (log_dir, v),
    https://abseil.io/docs/python/guides/flags, https://github.com/tensorflow/tensorflow/releases/tag/v1.5.0.
    """

    code = "DNF587"
    name = "flag-already-defined"
    formerly = ("flag-of-library",)
    message = "absl already defines the flag {flag!r} and refuses a second definition"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if source.words.isdisjoint(TAKEN) or "tensorflow" not in source.words:
            return
        for call in uses_of(source).calls():
            written = source.written(call.func) or ""
            if not written.startswith(MODULES) or not written.rpartition(".")[2].startswith("DEFINE"):
                continue
            named = call.args[0] if call.args else _given(call, "name", "flag_name")
            taken = named.value if isinstance(named, ast.Constant) else None
            if taken not in TAKEN or any(k.arg in ("allow_override", None) for k in call.keywords):
                continue
            yield Hit(
                source.site(call),
                self.message.format(flag=taken),
                title=f"let the program's definition of {taken} override the library's",
                edits=(SetArgument(source.site(call), "allow_override", "True"),),
                confidence=0.9,
            )

    programs = """
=== example: where logs are written
import tensorflow.compat.v1 as tf

- tf.app.flags.DEFINE_string("log_dir", "logs", "where the logs are written")
+ tf.app.flags.DEFINE_string("log_dir", "logs", "where the logs are written", allow_override=True)
tf.app.flags.DEFINE_integer("steps", 10, "steps of training")
FLAGS = tf.app.flags.FLAGS

=== example: a module of flags that has a name
import tensorflow.compat.v1 as tf

flags = tf.flags
- flags.DEFINE_boolean(name='verbosity', default=False, help='say more')
+ flags.DEFINE_boolean(name='verbosity', default=False, help='say more', allow_override=True)
flags.DEFINE_string('model_dir', './model', '')

=== example: the flags of absl beside TensorFlow
from absl import flags
import tensorflow as tf

flags.DEFINE_integer(
    "v", 1,
    "how much is said",
+     allow_override=True,
)
print(tf.zeros(1))

=== reject: flags of the program's own
import tensorflow.compat.v1 as tf

tf.app.flags.DEFINE_string("logdir", "logs", "where the logs are written")
tf.app.flags.DEFINE_string("log_dir", "logs", "where the logs are written", allow_override=True)
FLAGS = tf.app.flags.FLAGS

=== reject: options of argparse
import argparse
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", default="logs")
parser.add_argument("-v", action="store_true")
args = parser.parse_args([])
print(tf.zeros(1), args.log_dir, args.v)
"""


def _given(call: ast.Call, *names: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg in names), None)
