"""An optimizer whose variables are created after the variables initializer has run."""

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
    Subject,
    Symptom,
)

WITH_VARIABLES = (
    "AdamOptimizer",
    "AdagradOptimizer",
    "AdadeltaOptimizer",
    "FtrlOptimizer",
    "MomentumOptimizer",
    "RMSPropOptimizer",
)
"""Optimizers that keep something for each weight; plain gradient descent does not."""

INITIALIZERS = ("global_variables_initializer", "initialize_all_variables")
OTHER_INITIALIZERS = (
    "initialize_variables",
    "initializer",
    "report_uninitialized_variables",
    "variables_initializer",
)


class VariablesMadeAfterInitializer(FixTemplate):
    """In a graph of TensorFlow 1, the initializer knows the variables that are there when it is made.

    `minimize` of Adam and its like makes variables for each weight. Where that stands behind the one run of the initializer,
    the first step stops with FailedPreconditionError: the optimizer's variables have no value. They are initialized by
    themselves, so that what was trained before is kept.

    Fix safety: unsafe. The program begins to train, which is the point.

    References: https://www.tensorflow.org/api_docs/python/tf/compat/v1/global_variables_initializer.
    """

    code = "DNF555"
    name = "variables-made-after-initializer"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{optimizer}` creates variables after the initializer ran, and nothing initializes them"
    triggers = INITIALIZERS

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """The calls of `minimize` behind the last initializer of the same block."""
        source = subject.source
        for call in source.all_calls:
            made = _optimizer(subject, call)
            if made is None or _last_initializer(subject, call) is None:
                continue
            crashed = subject.crash is not None
            yield self.finding(
                source.site(call),
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                cause="crash" if crashed else "",
                optimizer=subject.text(source.site(made.func)),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """A run of the initializer of the optimizer's own variables, behind the call."""
        source, call = subject.source, subject.node(finding.site)
        made = _optimizer(subject, call) if isinstance(call, ast.Call) else None
        ran = _last_initializer(subject, call) if isinstance(call, ast.Call) else None
        if made is None or ran is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            yield Decline("the call is not in this file")
            return
        held = call.func.value
        maker = next(node for node in ast.walk(ran) if isinstance(node, ast.Attribute) and node.attr in INITIALIZERS)
        if not isinstance(held, ast.Name) or not isinstance(ran.func, ast.Attribute):
            yield Decline("the optimizer has no name by which its variables could be asked for")
            return
        session, module = (subject.text(source.site(each)) for each in (ran.func.value, maker.value))
        code = f"{session}.run({module}.variables_initializer({held.id}.variables()))"
        place = source.site(source.statement_of(call))
        yield self.candidate(finding, "Initialize the optimizer's variables", InsertAfter(place, code), prior=0.9)

    programs = """
=== example: within the session
import tensorflow.compat.v1 as tf

weight = tf.get_variable("weight", [3, 1])
cost = tf.reduce_mean(tf.square(tf.matmul(x, weight) - y))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    optimizer = tf.train.RMSPropOptimizer(0.01)
    train = optimizer.minimize(cost)
+     session.run(tf.variables_initializer(optimizer.variables()))
    for _ in range(20):
        session.run(train)

=== reject: the initializer runs last
import tensorflow.compat.v1 as tf

optimizer = tf.train.AdamOptimizer(0.001)
step = optimizer.minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())

=== reject: it runs again behind the optimizer, and gradient descent has no variables
import tensorflow.compat.v1 as tf

sess = tf.Session()
sess.run(tf.global_variables_initializer())
first = tf.train.GradientDescentOptimizer(0.1)
step = first.minimize(loss)
sess.run(step)
second = tf.train.AdamOptimizer(0.001)
step = second.minimize(loss)
sess.run(tf.variables_initializer(second.variables()))

=== reject: each in a function of its own
import tensorflow.compat.v1 as tf


def start(sess):
    sess.run(tf.global_variables_initializer())


def build(loss):
    optimizer = tf.train.AdamOptimizer(0.001)
    return optimizer.minimize(loss)
"""


def _optimizer(subject: Subject, call: ast.Call) -> ast.Call | None:
    """The call that makes the optimizer whose `minimize` or `apply_gradients` is called."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("minimize", "apply_gradients"):
        return None
    held = call.func.value
    made = held if isinstance(held, ast.Call) else subject.source.constructor(held)
    written = subject.source.written(made.func) if made is not None else None
    return made if written is not None and written.rpartition(".")[2] in WITH_VARIABLES else None


def _last_initializer(subject: Subject, call: ast.Call) -> ast.Call | None:
    """The one run of the initializer of the program, where it is in the block of a call and before it."""
    source = subject.source
    runs = [
        each
        for each in source.all_calls
        if isinstance(each.func, ast.Attribute)
        and each.func.attr == "run"
        and any(isinstance(node, ast.Attribute) and node.attr in INITIALIZERS for node in ast.walk(each))
    ]
    others = [node for node in source.nodes(ast.Attribute) if node.attr in (*INITIALIZERS, *OTHER_INITIALIZERS)]
    if len(runs) != 1 or len(others) != 1:
        return None
    statement, block = source.statement_of(call), getattr(source.parent(source.statement_of(call)), "body", [])
    ran = source.statement_of(runs[0])
    if statement not in block or ran not in block or block.index(ran) >= block.index(statement):
        return None
    return runs[0]
