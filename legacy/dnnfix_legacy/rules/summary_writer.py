"""`tf.summary.FileWriter(folder)`: a writer of summaries in a program that has no session."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Enclose,
    Example,
    Hit,
    Reject,
    Replace,
    Subject,
    spell,
    uses_of,
)
from dnnfix.detect.versioning.migration import Claims
from dnnfix_legacy.graphs.programs import graph_of

WRITERS = frozenset({"tensorflow.summary.FileWriter", "tensorflow.train.SummaryWriter"})
SUCCESSOR = "tensorflow.compat.v1.summary.FileWriter"


class SummaryWriter(ApiChange):
    """TensorFlow 2 has no `tf.summary.FileWriter`; that of `tf.compat.v1` is made inside of a graph only.

    Programs of PyTorch and NumPy log their curves with a class around the writer of TensorFlow 1: they put a `tf.Summary`
    together and hand it to `add_summary`. All of that is in `tf.compat.v1`, but the writer refuses to be made where
    TensorFlow runs eagerly; so its line stands under `with tf.Graph().as_default():`. Programs that build a graph of
    their own keep it as a whole (`DNF540`).

    Fix safety: safe: the files of events have the same contents, and the graph is nothing but the writer's surroundings.

    References: https://www.tensorflow.org/api_docs/python/tf/compat/v1/summary/FileWriter.
    """

    code = "DNF590"
    name = "summary-writer"
    triggers = ("FileWriter", "SummaryWriter")

    def claims(self, subject: Subject) -> Claims:
        """The writers, wherever they are used."""
        return Claims(WRITERS)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The writers that are made outside of any graph."""
        source = subject.source
        if source.words.isdisjoint(self.triggers) or graph_of(source) is not None:
            return
        calls = {call.func: call for call in uses_of(source).calls()}
        imported = {name for name, what in source.imported_names if what in WRITERS}
        bare = (node for node in source.nodes(ast.Name) if node.id in imported)
        for named in (*source.nodes(ast.Attribute), *bare):
            written = source.written(named)
            if written not in WRITERS or not isinstance(named, ast.expr):
                continue
            statement = source.statement_of(named)
            call = calls.get(named)
            decline = ""
            if call is None or not isinstance(statement, (ast.Assign, ast.Expr)):
                decline = "the writer is not made in a line of its own"
            elif len(call.args) > 1 or any(keyword.arg == "graph" for keyword in call.keywords):
                decline = "the writer is given a graph, and nothing here makes one"
            graph, writer = spell(subject, "tensorflow.Graph"), spell(subject, SUCCESSOR)
            place = source.site(statement)
            edits: tuple[Edit, ...] = (
                *graph.imports,
                *writer.imports,
                Replace(source.site(named), writer.code),
                Enclose(place, place, f"with {graph.code}().as_default():"),
            )
            yield Hit(
                source.site(named),
                f"{written} is gone since TensorFlow 2.0; the writer of tf.compat.v1 is made inside of a graph",
                title="make the writer of tf.compat.v1 inside of a graph",
                edits=() if decline else edits,
                decline=decline,
                safe=True,
                removed={"tensorflow": "2.0"},
            )

    examples = (
        Example(
            "a class that logs for a program of PyTorch",
            """\
import tensorflow as tf


class Logger:
    def __init__(self, folder):
-         self.writer = tf.summary.FileWriter(folder)
+         with tf.Graph().as_default():
+             self.writer = tf.compat.v1.summary.FileWriter(folder)

    def scalar(self, tag, value, step):
-         summary = tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])
+         summary = tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag=tag, simple_value=value)])
        self.writer.add_summary(summary, step)
""",
        ),
        Example(
            "the name of before 1.0, in a module",
            """\
import tensorflow

- writer = tensorflow.train.SummaryWriter("logs", flush_secs=10)
+ with tensorflow.Graph().as_default():
+     writer = tensorflow.compat.v1.summary.FileWriter("logs", flush_secs=10)
""",
        ),
        Example(
            "one for each part of the data",
            """\
import tensorflow as tf

writers = {}
for part in ("train", "test"):
-     writers[part] = tf.summary.FileWriter(logdir="logs/" + part)
+     with tf.Graph().as_default():
+         writers[part] = tf.compat.v1.summary.FileWriter(logdir="logs/" + part)
""",
        ),
    )
    rejects = (
        Reject(
            "the writer of today",
            """\
import tensorflow as tf

writer = tf.summary.create_file_writer("logs")
with writer.as_default():
    tf.summary.scalar("loss", 0.5, step=1)
""",
        ),
        Reject(
            "PyTorch's own",
            """\
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("logs")
writer.add_scalar("loss", 0.5, 1)
""",
        ),
    )
