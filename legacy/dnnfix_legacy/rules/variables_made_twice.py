"""A function that creates named variables and is called twice in one graph."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Repairs,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    keyword_value,
    within,
)

_SAYS = "already exists, disallowed"


@dataclass(frozen=True, slots=True)
class _Twice:
    """The function that makes the variables, the outermost that builds a whole graph, and the calls of the former."""

    maker: ast.FunctionDef
    whole: ast.FunctionDef | None
    calls: tuple[ast.Call, ...]


class VariablesMadeTwice(FaultTemplate[_Twice]):
    """A function that makes variables with `get_variable` is called twice in one graph.

    The second call finds the names taken. What was meant shows in what calls it. A function that has its own session
    builds a graph of its own each time, and begins with an empty one. A part of a network that is applied to a second
    tensor with the same settings, as a discriminator to real and made-up samples, is to use its variables again.

    Fix safety: unsafe. The variables are shared, or made in a new graph.

    References: tf.compat.v1.variable_scope ("reuse"), tf.compat.v1.reset_default_graph.
    """

    code = "DNF431"
    name = "variables-made-twice"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{maker}` creates its variables a second time under the same names"
    triggers = ("get_variable", "variable_scope")
    declined = "whether the variables are to be shared or made anew cannot be read"

    def faults(self, subject: Subject) -> Faults[_Twice]:
        source, crash = subject.source, subject.crash
        if subject.ran and (crash is None or crash.kind != "ValueError" or _SAYS not in crash.message):
            return
        if crash is None:
            for function in source.nodes(ast.FunctionDef):
                if _makes_variables(source, function) and _is_graph(source, function) and _runs_again(source, function):
                    yield source.site(_first(function)), _Twice(function, function, _calls(source, function))
            return
        functions = [
            found
            for frame in crash.frames
            if not frame.site.path and (node := subject.node(frame.site)) is not None
            if (found := source.enclosing(node, ast.FunctionDef)) is not None
        ]
        if functions:
            whole = next((f for f in functions if _is_graph(source, f)), None)
            scoped = [f for f in functions if _scopes(source, f)]
            maker = scoped[0] if scoped else functions[-1]
            yield source.site(_first(whole or maker)), _Twice(maker, whole, _calls(source, maker))

    def report(self, site: Site, found: _Twice) -> Finding:
        return self.finding(
            site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", maker=(found.whole or found.maker).name
        )

    def repairs(self, subject: Subject, found: _Twice) -> Repairs:
        source = subject.source
        if found.whole is not None:
            root = _root(source, found.whole)
            if root is not None:
                edit = InsertBefore(source.site(_first(found.whole)), f"{root}.reset_default_graph()")
                yield "Reset the default graph", (edit,), 0.9
            return
        scopes = _scopes(source, found.maker)
        if len(scopes) != 1 or not _on_other_tensors(found.calls):
            return
        call = scopes[0]
        asked = keyword_value(call, "reuse")
        root = ast.unparse(call.func).rpartition(".")[0]
        edits: tuple[Edit, ...] = (SetArgument(source.site(call), "reuse", f"{root}.AUTO_REUSE"),)
        parameter = asked.id if isinstance(asked, ast.Name) else _asked(found.maker)
        if parameter in [each.arg for each in found.maker.args.args]:
            later = sorted(found.calls, key=lambda each: each.lineno)[1:]
            edits = tuple(SetArgument(source.site(each), parameter or "reuse", "True") for each in later)
        if asked is None or parameter is not None:
            yield "Reuse the variables", edits, 0.85

    programs = '''
=== example: two calls, the variables in a function of their own
import tensorflow as tf

def dense(x, units):
    with tf.compat.v1.variable_scope("dense"):
        return x @ tf.compat.v1.get_variable("w", [3, units])

def train(rate):
    """The error after training."""
+     tf.compat.v1.reset_default_graph()
    x = tf.compat.v1.placeholder(tf.float32, [None, 3])
    loss = tf.reduce_mean(dense(x, 2) ** 2)
    op = tf.compat.v1.train.GradientDescentOptimizer(rate).minimize(loss)
    with tf.compat.v1.Session() as sess:
        sess.run(tf.compat.v1.global_variables_initializer())
        return sess.run([op, loss], {x: [[1, 2, 3]]})[1]

slow = train(0.01)
fast = train(0.1)

=== example: trials in a list
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

def accuracy(width, images):
+     tf.reset_default_graph()
    inputs = tf.placeholder(tf.float32, [None, 4])
    hidden = tf.nn.relu(tf.matmul(inputs, tf.get_variable("hidden", [4, width])))
    scores = tf.matmul(hidden, tf.get_variable("scores", [width, 2]))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session.run(scores, {inputs: images})

results = [accuracy(width, [[0, 1, 2, 3]]) for width in (8, 16)]

=== reject: a graph of its own for each call
import tensorflow.compat.v1 as tf

def run(size):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        w = tf.get_variable("w", [2, size])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            return sess.run(tf.matmul(x, w), {x: [[1, 2]]})

for size in (2, 4):
    print(run(size))

=== reject: one call, and variables that are shared
import tensorflow.compat.v1 as tf

def main():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        y = tf.matmul(x, tf.get_variable("w", [2, 2]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print(sess.run(y, {x: [[1, 2]]}))

main()
'''


def _ends(source: Source, call: ast.Call) -> str:
    name = source.qualified(call.func) or ast.unparse(call.func)
    return name.rpartition(".")[2]


def _first(function: ast.FunctionDef) -> ast.stmt:
    """The first statement of a function after its docstring."""
    first = function.body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return function.body[1] if told and len(function.body) > 1 else first


def _is_graph(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a function builds a graph from its placeholders on and runs it in a session of its own."""
    made = {_ends(source, call) for call in within(function, ast.Call)}
    taken = made & {"Session", "InteractiveSession"}
    return bool(taken) and not made & {"Graph", "as_default", "reset_default_graph"}


def _makes_variables(source: Source, function: ast.FunctionDef, depth: int = 3) -> bool:
    """Whether a function makes named variables, itself or through functions that it calls; shared ones do not count."""
    for call in within(function, ast.Call):
        if any(keyword.arg == "reuse" for keyword in call.keywords):
            return False
    for call in within(function, ast.Call):
        if _ends(source, call) == "get_variable":
            return True
        called = source.definition(call.func)
        if depth and isinstance(called, ast.FunctionDef) and _makes_variables(source, called, depth - 1):
            return True
    return False


def _calls(source: Source, function: ast.FunctionDef) -> tuple[ast.Call, ...]:
    owner = source.parent(function)
    if isinstance(owner, ast.ClassDef):
        every = (call for call in source.all_calls if isinstance(call.func, ast.Attribute))
        return tuple(call for call in every if ast.unparse(call.func) == f"self.{function.name}")
    return tuple(call for call in source.all_calls if source.definition(call.func) is function)


def _runs_again(source: Source, function: ast.FunctionDef) -> bool:
    """Whether the program calls a function at its top more than once, or in a loop."""
    calls = [call for call in _calls(source, function) if source.enclosing(call, ast.FunctionDef) is None]
    loops = (ast.For, ast.While, ast.ListComp)
    return len(calls) > 1 or any(source.enclosing(call, *loops) is not None for call in calls)


def _scopes(source: Source, function: ast.FunctionDef) -> list[ast.Call]:
    """The variable scopes that a function opens, outermost only."""
    calls = [call for call in within(function, ast.Call) if _ends(source, call) == "variable_scope"]
    opened = [call for call in calls if source.enclosing(call, ast.FunctionDef) is function and call.args]
    return [call for call in opened if not any(_holds(source, other, call) for other in opened if other is not call)]


def _holds(source: Source, outer: ast.Call, inner: ast.Call) -> bool:
    block = source.enclosing(outer, ast.With)
    return block is not None and block is not source.enclosing(inner, ast.With) and inner in within(block, ast.Call)


def _on_other_tensors(calls: tuple[ast.Call, ...]) -> bool:
    """Whether the calls differ in their first argument alone: the same part of a network on another tensor."""
    rest = {(*(ast.dump(a) for a in call.args[1:]), *(ast.dump(k) for k in call.keywords)) for call in calls}
    return len(calls) > 1 and len(rest) == 1 and all(call.args for call in calls)


def _asked(function: ast.FunctionDef) -> str | None:
    """The parameter on which a function shares its variables: `if reuse: scope.reuse_variables()`."""
    for node in within(function, ast.If):
        called = [call.func for call in within(node, ast.Call)]
        shares = any(isinstance(func, ast.Attribute) and func.attr == "reuse_variables" for func in called)
        if shares and isinstance(node.test, ast.Name):
            return node.test.id
    return None


def _root(source: Source, function: ast.FunctionDef) -> str | None:
    """How the module of sessions is spelled in a function: `tf`, `tf.compat.v1`."""
    for call in within(function, ast.Call):
        if _ends(source, call) in ("Session", "InteractiveSession") and isinstance(call.func, ast.Attribute):
            return ast.unparse(call.func.value)
    return None
