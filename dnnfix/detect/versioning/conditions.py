"""The conditions that a `[[form]]` of the tables may state for an expression, each a function under its name in the
tables.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from dnnfix.detect.call_arguments import added_by_statement, element_of
from dnnfix.detect.graph import keras_modules
from dnnfix.detect.tensors.symbolic import is_symbolic
from dnnfix.detect.versioning.calls import receiver_is
from dnnfix.detect.versioning.migration import claimed
from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.program import Source
from dnnfix.source.tree import receiver
from dnnfix.subject import Subject

_COUNTS = frozenset({"len", "int", "float", "bool", "round", "max", "min", "sum"})
"""Functions that give a number."""

_MAKING_WEIGHTS = ("builtins.", "numpy.", "keras.backend.", "keras.Variable")
"""Where functions come from that make weights, and no metrics."""

_OF_MODULES = frozenset(
    [
        "children",
        "eval",
        "modules",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "train",
        "zero_grad",
    ]
)
"""Methods that a network has, and neither a tensor nor a dictionary of parameters."""

_MEASURING = frozenset(["evaluate", "evaluate_generator", "fit", "fit_generator", "test_on_batch", "train_on_batch"])
"""Methods of models that took `show_accuracy`."""

_CALLED = {
    "logits": ("logit", "score", "output", "pred", "pre_activ"),
    "labels": ("label", "target", "y_true", "true_", "truth", "onehot", "one_hot", "gold"),
}
"""By what a cross entropy takes, the parts of names by which programs call it."""


def _names(values: list[ast.expr | ast.keyword]) -> set[str | None] | None:
    """The keywords of arguments; `None` where some are given by place."""
    named = [value for value in values if isinstance(value, ast.keyword)]
    return {keyword.arg for keyword in named} if len(named) == len(values) else None


def _is_keywords(subject: Subject, values: list[ast.expr | ast.keyword], words: str) -> bool:
    """Whether all that is given are keywords, of these where any are named."""
    names = _names(values)
    return names is not None and None not in names and (not words or names <= set(words.split()))


def _lacks(subject: Subject, values: list[ast.expr | ast.keyword], words: str) -> bool:
    """Whether none of these keywords is given, nor any by `**`."""
    named = [value for value in values if isinstance(value, ast.keyword)]
    return {keyword.arg for keyword in named}.isdisjoint({None, *words.split()})


def _has(subject: Subject, values: list[ast.expr | ast.keyword], words: str) -> bool:
    """Whether this keyword is given."""
    return any(isinstance(value, ast.keyword) and value.arg == words for value in values)


def _is_placed(subject: Subject, values: list[ast.expr | ast.keyword], words: str) -> bool:
    """Whether all that is given are expressions by their place."""
    return not any(isinstance(value, (ast.keyword, ast.Starred)) for value in values)


def _is_short(subject: Subject, values: list[ast.expr | ast.keyword], words: str) -> bool:
    """Whether at most so many arguments are given by their place, and none is unpacked."""
    placed = [value for value in values if not isinstance(value, ast.keyword)]
    return len(placed) <= int(words) and not any(isinstance(value, ast.Starred) for value in placed)


def _is_surely(subject: Subject, value: ast.expr, words: str) -> bool:
    return receiver_is(subject.source, value, words) is True


def _may_be(subject: Subject, value: ast.expr, words: str) -> bool:
    return receiver_is(subject.source, value, words) is not False


def _is_own(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether the program defines or binds no function of this name itself."""
    uses, name = uses_of(subject.source), getattr(call.func, "attr", "")
    return name not in uses.defined and name not in uses.bound


def _uses_framework(subject: Subject, call: ast.Call, words: str) -> bool:
    return words in subject.source.frameworks


def _is_written(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether the function is imported from below this module, under whatever other name it is public."""
    return (subject.source.written(call.func) or "").startswith(words)


def _is_alone(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether a call is a statement, and a name that the new code binds is free."""
    return isinstance(subject.source.parent(call), ast.Expr) and words not in uses_of(subject.source).bound


def _is_where_it_stopped(subject: Subject, node: ast.expr, words: str) -> bool:
    return subject.crash is not None and subject.node(subject.crash.site) is node


def _is_dictionary(subject: Subject, value: ast.expr, words: str) -> bool:
    return isinstance(value, ast.Dict)


def _is_unwrapped(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether what was read is used as one object: `.item()` or `[()]`."""
    above = subject.source.parent(call)
    empty = isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Tuple) and not above.slice.elts
    return empty or isinstance(above, ast.Attribute) and above.attr == "item"


def _is_other_than_self(subject: Subject, value: ast.expr, words: str) -> bool:
    return getattr(value, "id", "") != "self"


def _is_iterator(subject: Subject, value: ast.expr, words: str) -> bool:
    """Whether all that an expression may hold is made by `iter`."""
    source = subject.source
    values = (value,) if isinstance(value, ast.Call) else source.bindings(value)
    return bool(values) and all(
        isinstance(one, ast.Call)
        and (
            isinstance(one.func, ast.Attribute) and one.func.attr == "__iter__" and not one.args
            or source.qualified(one.func) in ("iter", "builtins.iter")
        )
        for one in values
    )  # fmt: skip


def _is_network(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether what was loaded is then used as only a network is, and the program does not name what may be loaded."""
    source = subject.source
    above = source.parent(call)
    if not source.words.isdisjoint({"add_safe_globals", "safe_globals"}):
        return False
    if isinstance(above, ast.Attribute):
        return above.attr in _OF_MODULES
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or above.value is not call:
        return False
    target = above.targets[0]
    for name in uses_of(source).names(target.id) if isinstance(target, ast.Name) else ():
        user = source.parent(name)
        used = isinstance(name.ctx, ast.Load) and isinstance(user, ast.Attribute) and user.attr in _OF_MODULES
        if used and source.bindings(name) == (call,):
            return True
    return False


def _is_number(subject: Subject, expr: ast.expr, words: str) -> bool:
    """Whether an expression is surely a number."""
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, (int, float))
    if isinstance(expr, ast.UnaryOp):
        return not isinstance(expr.op, ast.Not) and _is_number(subject, expr.operand, words)
    if isinstance(expr, ast.Call):
        return isinstance(expr.func, ast.Name) and expr.func.id in _COUNTS
    if isinstance(expr, ast.BinOp):
        divides = isinstance(expr.op, (ast.Div, ast.FloorDiv))
        sides = [_is_number(subject, expr.left, words), _is_number(subject, expr.right, words)]
        return all(sides) or (divides and sides[0])
    if isinstance(expr, ast.Name):
        bound = subject.source.bindings(expr)
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _is_number(subject, bound[0], words)
    return False


def _is_list(subject: Subject, expr: ast.expr, words: str) -> bool:
    """Whether an expression is written as a list or tuple."""
    return isinstance(expr, (ast.List, ast.Tuple))


def _is_literal(subject: Subject, expr: ast.expr, words: str) -> bool:
    """Whether an expression is written as a number other than 0."""
    value = expr.operand if isinstance(expr, ast.UnaryOp) else expr
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) and bool(value.value)


def _is_size(subject: Subject, expr: ast.expr, words: str) -> bool:
    """Whether an expression is an integer, as far as the source shows."""
    values = subject.source.bindings(expr) if isinstance(expr, ast.Name) else (expr,)
    return bool(values) and all(isinstance(one, ast.Constant) and type(one.value) is int for one in values)


def _is_first_layer(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether a layer is the first of its sequential model."""
    element = element_of(subject, call)
    if element is not None:
        return element[1] == 0
    statement = added_by_statement(subject, call)
    if statement is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = ast.dump(statement.value.func)
    for earlier in getattr(subject.source.parent(statement), "body", []):
        if earlier is statement:
            return True
        value = earlier.value if isinstance(earlier, ast.Expr) else None
        if isinstance(value, ast.Call) and ast.dump(value.func) == function:
            return False
    return False


def _are_metrics(subject: Subject, given: ast.expr, words: str) -> bool:
    """Whether an argument is a list of strings or functions, or a dictionary of such, as weights never are."""
    return all(_is_metric(subject.source, value) for value in subject.source.bindings(given) or (given,))


def _is_metric(source: Source, value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return bool(value.elts) and all(_is_metric(source, each) or _is_function(source, each) for each in value.elts)
    if isinstance(value, ast.Dict):
        return bool(value.values) and all(_is_metric(source, each) for each in value.values)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_function(source: Source, value: ast.expr) -> bool:
    """Whether an element is a function or class of the program or of a library, or an object made by one."""
    named = value.func if isinstance(value, ast.Call) else value
    known = source.qualified(named) or ""
    return source.definition(named) is not None or bool(known) and not known.startswith(_MAKING_WEIGHTS)


def _is_called(subject: Subject, value: ast.expr, words: str) -> bool:
    """Whether the name of a value, or of what it is made of first, has one of these words in it, and none of the others'."""
    node: object = value
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "value", None)
    name = (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")).lower()
    said = [kind for kind, parts in _CALLED.items() if any(part in name for part in parts)]
    return said == [words]


def _is_made_layer(subject: Subject, value: ast.expr, words: str) -> bool:
    """Whether an expression is the call that makes a layer of Keras."""
    made = subject.source.qualified(value.func) if isinstance(value, ast.Call) else None
    return (made or "").startswith("keras.layers.")


def _is_not_called(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether what a call gives is not called itself."""
    above = subject.source.parent(call)
    return not (isinstance(above, ast.Call) and above.func is call)


def _is_without_graph(subject: Subject, node: ast.expr, words: str) -> bool:
    """Whether the program builds no graph of TensorFlow 1, or none that is `migrated` or left as a whole."""
    graph = claimed(subject).graph
    return not graph or words == "migrated" and graph == "made"


def _is_own_line(subject: Subject, call: ast.Call, words: str) -> bool:
    return isinstance(subject.source.statement_of(call), (ast.Assign, ast.Expr))


def _is_viewed(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether it is the one `view` at which the run stopped, or one of the same value in the same function."""
    source, crash = subject.source, subject.crash
    if crash is None or crash.kind != "RuntimeError" or crash.site is None or crash.site.path:
        return False
    if "view size is not compatible with input tensor's size and stride" not in crash.message:
        return False
    views = [one for one in source.all_calls if isinstance(one.func, ast.Attribute) and one.func.attr == "view"]
    refused = [one for one in views if crash.site.encloses(source.site(one)) or source.site(one) == crash.site]
    alike = [(_rows_of(one), source.enclosing(one, ast.FunctionDef)) for one in (call, *refused)]
    return len(refused) == 1 and (call is refused[0] or alike[0] == alike[1])


def _rows_of(call: ast.Call) -> str:
    """What a view is taken of, whatever rows of it."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else call
    while isinstance(value, ast.Subscript):
        value = value.value
    return ast.unparse(value)


def _is_asked_for_accuracy(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether `show_accuracy=True` is given to a method of the model that is compiled here."""
    methods = [(one, one.func.attr) for one in subject.source.all_calls if isinstance(one.func, ast.Attribute)]
    only = sum(name == "compile" for _, name in methods) == 1
    for one, name in methods:
        given = [keyword.value for keyword in one.keywords if keyword.arg == "show_accuracy"]
        asked = any(isinstance(value, ast.Constant) and value.value for value in given)
        if asked and name in _MEASURING and (only or receiver(one) == receiver(call)):
            return True
    return False


def _is_past_keras(subject: Subject, call: ast.Call, words: str) -> bool:
    """Whether another method of a model or layer calls its `call` on symbolic tensors."""
    source, function = subject.source, call.func
    method = source.enclosing(call, ast.FunctionDef)
    if method is None or method.name == "call" or source.parent(method) not in keras_modules(source):
        return False
    own = method.args.args[0].arg if method.args.args else ""
    given = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else [call.args[0]]
    holder = function.value if isinstance(function, ast.Attribute) else None
    symbolic = bool(given) and all(is_symbolic(source, each) for each in given)
    return symbolic and isinstance(holder, ast.Name) and holder.id == own


def _is_chosen_by(subject: Subject, indexer: ast.expr, words: str) -> bool:
    """Whether columns are chosen by `names`, or by `numbers` in all rows: `frame.ix[rows, columns]`."""
    index, uses = subject.source.parent(indexer), uses_of(subject.source)
    if not isinstance(index, ast.Subscript) or index.value is not indexer or "ix" in uses.kept:
        return False  # a class of the program keeps something under this name
    parts = index.slice.elts if isinstance(index.slice, ast.Tuple) else [index.slice]
    kind = _columns(parts[1]) if len(parts) > 1 else "all"
    if words != "numbers":
        return not words or kind in ("name", "all")
    return kind == "number" and isinstance(parts[0], ast.Slice) and not (parts[0].lower or parts[0].upper)


def _columns(part: ast.expr) -> str:
    """What columns are chosen by: `name`, `number`, `all` of them, or nothing that is known."""
    if isinstance(part, ast.Slice):
        ends = [_columns(end) for end in (part.lower, part.upper) if end is not None]
        return ends[0] if ends and len(set(ends)) == 1 else "" if ends else "all"
    if isinstance(part, (ast.List, ast.Tuple)):
        kinds = {_columns(element) for element in part.elts}
        return kinds.pop() if len(kinds) == 1 else ""
    if isinstance(part, ast.UnaryOp):
        return _columns(part.operand)
    if isinstance(part, ast.Constant):
        return "name" if isinstance(part.value, str) else "number" if isinstance(part.value, int) else ""
    return ""


def _is_plain(subject: Subject, value: Any, words: str) -> bool:
    """Whether an expression may be written twice: names, attributes and calls without arguments, which change nothing."""
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.expr_context)
    called = (node for node in ast.walk(value) if isinstance(node, ast.Call)) if isinstance(value, ast.expr) else ()
    plain = isinstance(value, ast.expr) and all(isinstance(node, kinds) for node in ast.walk(value))
    return plain and not any(call.args or call.keywords for call in called)


CONDITIONS: Mapping[str, Callable[[Subject, Any, str], bool]] = {
    "keywords": _is_keywords,
    "lacks": _lacks,
    "has": _has,
    "by place": _is_placed,
    "at most": _is_short,
    "is": _is_surely,
    "may be": _may_be,
    "no name of the program": _is_own,
    "framework": _uses_framework,
    "from": _is_written,
    "alone": _is_alone,
    "stopped here": _is_where_it_stopped,
    "dictionary": _is_dictionary,
    "used as an object": _is_unwrapped,
    "not self": _is_other_than_self,
    "iterator": _is_iterator,
    "used as a network": _is_network,
    "list": _is_list,
    "literal": _is_literal,
    "number": _is_number,
    "plain": _is_plain,
    "size": _is_size,
    "first layer": _is_first_layer,
    "metrics": _are_metrics,
    "called": _is_called,
    "made layer": _is_made_layer,
    "not called": _is_not_called,
    "without a graph": _is_without_graph,
    "own line": _is_own_line,
    "view of what was refused": _is_viewed,
    "asked for its accuracy": _is_asked_for_accuracy,
    "past Keras": _is_past_keras,
    "columns by": _is_chosen_by,
}
"""By name, whether it holds of a hole, or of the whole expression; what stands behind the colon is handed on."""
