"""A dataset iterator of TensorFlow 1 that is never initialized."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertAfter,
    InsertBefore,
    Site,
    Subject,
    Symptom,
)

MAKERS = (
    "tensorflow.compat.v1.data.make_initializable_iterator",
    "tensorflow.data.make_initializable_iterator",
)
INITIALIZERS = (
    "global_variables_initializer",
    "initialize_all_variables",
    "tables_initializer",
    "local_variables_initializer",
)
ENDINGS = ("OutOfRangeError",)


class IteratorNotInitialized(FixTemplate):
    """`make_initializable_iterator` makes an iterator that gives nothing before its `initializer` has run.

    A program that nowhere names `initializer` stops with FailedPreconditionError as soon as a session asks for an element.
    Where the program goes through the data once for each turn of a loop, which ends with OutOfRangeError, the initializer
    runs at the begin of each turn; else it runs once, behind the initializer of the variables.

    Fix safety: unsafe. The program begins to train, which is the point.

    References: https://www.tensorflow.org/api_docs/python/tf/compat/v1/data/make_initializable_iterator.
    """

    code = "DNF556"
    name = "iterator-not-initialized"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{iterator}` has to be initialized before it is read, and its initializer is never run"
    triggers = ("make_initializable_iterator",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """The one iterator of a program that does not name any initializer of it."""
        source = subject.source
        if any(node.attr in ("initializer", "make_initializer") for node in source.nodes(ast.Attribute)):
            return
        made = [call for call in source.all_calls if _makes(subject, call)]
        if len(made) != 1 or "initializer" in {str(node.value) for node in source.nodes(ast.Constant)}:
            return
        name = _name(subject, made[0])
        if name is None or len([call for call in source.all_calls if _initializes(call)]) != 1:
            return  # another module may have the session, and initialize it there
        crashed = subject.crash is not None
        yield self.finding(
            source.site(made[0]),
            symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
            cause="crash" if crashed else "",
            iterator=name,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The initializer, at the begin of each turn or behind that of the variables."""
        source = subject.source
        made = subject.node(finding.site)
        name = _name(subject, made) if isinstance(made, ast.Call) else None
        started = [call for call in source.all_calls if _initializes(call)]
        if name is None or len(started) != 1 or not isinstance(started[0].func, ast.Attribute):
            yield Decline("the iterator has no name of its own, or the session that reads it is not known")
            return
        session = subject.text(source.site(started[0].func.value))
        code = f"{session}.run({name}.initializer)"
        turn = _first_of_turn(subject, source.enclosing(started[0], ast.FunctionDef))
        if turn is not None:
            yield self.candidate(finding, "Initialize the iterator in each turn", InsertBefore(turn, code), prior=0.9)
            return
        place = source.site(source.statement_of(started[0]))
        yield self.candidate(finding, "Initialize the iterator", InsertAfter(place, code), prior=0.9)

    programs = """
=== example: one pass for each epoch
import tensorflow.compat.v1 as tf

iterator = tf.data.make_initializable_iterator(dataset)
x, y = iterator.get_next()
loss, step = network(x, y)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(5):
+         sess.run(iterator.initializer)
        total = 0.0
        try:
            while True:
                total += sess.run([loss, step])[0]
        except tf.errors.OutOfRangeError:
            pass

=== example: a dataset that repeats, with a function that makes the iterator
import tensorflow.compat.v1 as tf


def pipeline(data):
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(8)
    return tf.data.make_initializable_iterator(dataset)


it = pipeline(data)
step = train(it.get_next())
session = tf.Session()
session.run(tf.global_variables_initializer())
+ session.run(it.initializer)
for _ in range(100):
    session.run(step)

=== reject: the initializer runs
import tensorflow.compat.v1 as tf

iterator = tf.data.make_initializable_iterator(dataset)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), iterator.initializer])

=== reject: another module has the session
import tensorflow.compat.v1 as tf


def make_batch(dataset):
    iterator = dataset.make_initializable_iterator()
    batch = iterator.get_next()
    return batch, iterator

=== reject: an iterator that needs none
import tensorflow.compat.v1 as tf

iterator = tf.data.make_one_shot_iterator(dataset)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(iterator.get_next())
"""


def _makes(subject: Subject, call: ast.Call) -> bool:
    method = isinstance(call.func, ast.Attribute) and call.func.attr == "make_initializable_iterator"
    return method or subject.source.written(call.func) in MAKERS


def _name(subject: Subject, made: ast.Call) -> str | None:
    """The name that an iterator has, in the code that makes it or calls the function that returns it."""
    source = subject.source
    above = source.parent(made)
    if isinstance(above, ast.Return):
        function = source.enclosing(made, ast.FunctionDef)
        calls = [each for each in source.all_calls if function and getattr(each.func, "id", "") == function.name]
        return _name(subject, calls[0]) if len(calls) == 1 else None
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        return above.targets[0].id
    return None


def _initializes(call: ast.Call) -> bool:
    """Whether a call is a session's run of the initializer of the variables."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "run"
        and any(
            isinstance(node, ast.Attribute) and node.attr in INITIALIZERS
            for each in call.args
            for node in ast.walk(each)
        )
    )


def _first_of_turn(subject: Subject, function: ast.FunctionDef | None) -> Site | None:
    """The first statement of the loop in which a pass over the data ends with an error that is caught."""
    source = subject.source
    for handler in source.nodes(ast.ExceptHandler):
        caught = handler.type
        if not isinstance(caught, ast.Attribute) or caught.attr not in ENDINGS:
            continue
        loop = source.enclosing(handler, ast.For)
        if loop is not None and source.enclosing(loop, ast.FunctionDef) is function:
            return source.site(loop.body[0])
    return None
