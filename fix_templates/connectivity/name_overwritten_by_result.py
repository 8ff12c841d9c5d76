"""A name of the graph, a loss or a layer is overwritten with what was computed by it, and is needed again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Source,
    SourceTemplate,
    Subject,
    Symptom,
    component_kind,
    keyword_value,
    within,
)

_LOOPS = (ast.For, ast.While)


class NameOverwrittenByResult(SourceTemplate):
    """A loop gives the name of a loss, a layer or a tensor of the graph to the number that was computed with it.

    `loss = sess.run(loss)` and `loss = loss(output, target)` work once. In the next round the name holds a number, which
    can be neither fetched nor called.

    Fix safety: unsafe. The result gets a name of its own; what reads the number after it reads that name.

    References: tf.compat.v1.Session.run ("fetches"); the scoping of names in Python.
    """

    code = "DNF421"
    name = "name-overwritten-by-result"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    declined = "the name is changed in more places, so what each of them means cannot be told"
    symptom = Symptom.CRASH
    confidence = 0.95

    def mends(self, subject: Subject) -> Iterator[Mend]:
        source = subject.source
        if subject.ran and subject.crash is None:
            return
        loops: list[ast.For | ast.While] = [*source.nodes(ast.For), *source.nodes(ast.While)]
        for loop in loops:
            for statement in within(loop, ast.Assign):
                if source.enclosing(statement, *_LOOPS) is not loop or _leaves(source, statement, loop):
                    continue
                for target in _targets(statement):
                    fetched = _is_fetched(source, statement.value, target.id)
                    if (fetched or _is_called(source, statement.value, target.id)) and _needed(source, target, loop):
                        new = _free(source, target.id)
                        what = f"`{target.id}` is overwritten with its own result, and the next round of the loop needs it as it was"
                        title = f"Give the result a name of its own, `{new}`"
                        edits = _renamed(source, statement, target, new, fetched)
                        yield Mend(source.site(statement), what, ((title, edits, 0.9),))

    examples = (
        Example(
            "a loss that is fetched",
            """\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
train = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(100):
-         _, loss = sess.run([train, loss], feed_dict={x: [[0, 1]], y: [[1]]})
-         print(step, loss)
+         _, loss_value = sess.run([train, loss], feed_dict={x: [[0, 1]], y: [[1]]})
+         print(step, loss_value)
""",
        ),
        Example(
            "a loss that is called",
            """\
import torch
from torch import nn, optim

def train(net, batches):
    loss = nn.MSELoss()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
-         loss = loss(net(x), y)
+         loss_value = loss(net(x), y)
        optimizer.zero_grad()
-         loss.backward()
+         loss_value.backward()
        optimizer.step()
-     return loss.item()
+     return loss_value.item()

train(nn.Linear(2, 1), [(torch.randn(4, 2), torch.randn(4, 1))] * 3)
""",
            runs=True,
        ),
        Example(
            "an accuracy, evaluated",
            """\
import tensorflow as tf

def watch(sess, accuracy, feeds):
    for feed in feeds:
-         accuracy = accuracy.eval(feed, session=sess)
-         print("accuracy", accuracy)
+         accuracy_value = accuracy.eval(feed, session=sess)
+         print("accuracy", accuracy_value)
""",
        ),
    )
    rejects = (
        Reject(
            "a loss that is made anew in every round, and a layer whose input has another name",
            """\
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
x = torch.randn(3, 2)
for layer in layers:
    x = layer(x)
    loss = nn.MSELoss()
    loss = loss(x, torch.zeros(3, 2))
""",
        ),
        Reject(
            "a graph that is built in every round",
            """\
import tensorflow as tf

def losses(sess, build, rounds):
    for number in range(rounds):
        loss = build(number)
        loss = sess.run(loss)
        print(loss)
""",
        ),
        Reject(
            "a state that goes through the loop",
            """\
def roll(cell, state, inputs):
    for x in inputs:
        output, state = cell(x, state)
    return state
""",
        ),
    )


def _renamed(
    source: Source, statement: ast.Assign, target: ast.Name, new: str, fetched: bool
) -> tuple[Edit, ...] | None:
    """The edits that give a result another name where it is made and read; `None` where its name is given other values behind that."""
    function = source.enclosing(statement, ast.FunctionDef)
    edits: list[Edit] = [Replace(source.site(target), new)]
    for read in within(function or source.tree, ast.Name):
        if read.id != target.id or read.lineno <= (statement.end_lineno or 0):
            continue
        if not isinstance(read.ctx, ast.Load):
            return None
        if source.enclosing(read, ast.FunctionDef, ast.Lambda) is not function:
            continue
        if not (_in_fetches(source, read) if fetched else source.is_called(read)):
            edits.append(Replace(source.site(read), new))
    return tuple(edits)


def _targets(statement: ast.Assign) -> Iterator[ast.Name]:
    for target in statement.targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        yield from (part for part in parts if isinstance(part, ast.Name))


def _is_fetched(source: Source, value: ast.expr, name: str) -> bool:
    """Whether a session computes the tensor of that name: `sess.run(name)`, `sess.run([…, name])`, `name.eval()`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if "tensorflow" not in source.frameworks:
        return False
    if value.func.attr == "eval":
        return isinstance(value.func.value, ast.Name) and value.func.value.id == name
    fetches = _fetches(value)
    if value.func.attr != "run" or fetches is None:
        return False
    parts = fetches.elts if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _fetches(call: ast.Call) -> ast.expr | None:
    given = keyword_value(call, "fetches")
    return given or (call.args[0] if call.args else None)


def _is_called(source: Source, value: ast.expr, name: str) -> bool:
    """Whether the value is a call of the name, which holds a loss, a metric or a layer, or is a function."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id != name:
        return False
    made = [v for v in source.bindings(value.func) if v is not value]
    kinds = {component_kind(source.qualified(v.func) or "") if isinstance(v, ast.Call) else None for v in made}
    return bool(made) and kinds <= {"loss", "layer", "metric"}


def _needed(source: Source, target: ast.Name, loop: ast.For | ast.While) -> bool:
    """Whether nothing else in the loop gives the name back what it was."""
    stores = [n for n in within(loop, ast.Name) if n.id == target.id and not isinstance(n.ctx, ast.Load)]
    outer = source.enclosing(loop, *_LOOPS)
    while outer is not None:
        stores += [n for n in within(outer, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Store)]
        outer = source.enclosing(outer, *_LOOPS)
    return all(store is target for store in stores)


def _leaves(source: Source, statement: ast.stmt, loop: ast.AST) -> bool:
    """Whether the loop is left after the statement: then there is no next round."""
    above: ast.AST | None = statement
    while above is not None and above is not loop:
        above = source.parent(above)
        ends = getattr(above, "body", [])[-1:] if above is not None else []
        if ends and isinstance(ends[0], (ast.Break, ast.Return, ast.Raise)):
            return True
    return False


def _in_fetches(source: Source, read: ast.Name) -> bool:
    """Whether a read of the name means the tensor: it is fetched once more."""
    above = source.parent(read)
    if isinstance(above, ast.Attribute) and above.attr == "eval":
        return True
    call = source.parent(above) if isinstance(above, (ast.List, ast.Tuple)) else above
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "run":
        return False
    return _fetches(call) in (read, above)


def _free(source: Source, name: str) -> str:
    number, new = 2, f"{name}_value"
    while new in source.words:
        new, number = f"{name}_value{number}", number + 1
    return new
