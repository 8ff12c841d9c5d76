"""Edits of calls that many rules need: remove a call, insert a layer, set or remove a constructor's argument.

A recipe answers `None` where it cannot tell how to make the edit right; the template then declines.
"""

from __future__ import annotations

import ast
import re

from dnnfix.detect.call_arguments import added_by_statement, argument, element_of, input_expression, positional
from dnnfix.network.facts import activation_of, argument_position
from dnnfix.records import (
    Call,
    Component,
    Delete,
    DeleteElement,
    Edit,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Unwrap,
    Wrap,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject


def together(*parts: tuple[Edit, ...] | None) -> tuple[Edit, ...] | None:
    """The edits of all parts in order; `None` where one of them cannot be made."""
    edits: list[Edit] = []
    for part in parts:
        if part is None:
            return None
        edits += part
    return tuple(edits)


def reword(subject: Subject, node: ast.Constant, text: str) -> Replace:
    """The edit that replaces a string literal by another, in the quotes that the program uses."""
    site = subject.source.site(node)
    quote = subject.source.segment(site)[-1]
    return Replace(site, f"{quote}{text}{quote}")


def rename_method(source: Source, function: ast.FunctionDef, name: str) -> Edit:
    """The line that begins a method, with another name for it."""
    line = function.lineno
    text = source.places.lines[line - 1]
    renamed = re.sub(rf"\bdef(\s+){function.name}\b", rf"def\g<1>{name}", text, count=1)
    return ReplaceLines(Site(line, 1, line, len(text) + 1), renamed)


def bypass(subject: Subject, call: Call) -> tuple[Edit, ...] | None:
    """Edits that remove a call from the network, so that its first input flows on in its place.

    An activation that a layer applies by its own argument loses that argument; the layer stays. Knows functions, tensor methods, layers held by an attribute or variable (whose constructor goes too when nothing
    else uses it), elements of containers, `model.add(…)`, and Keras layers called on the spot.
    """
    use = activation_of(call)
    if use is not None and use.as_argument is not None and call.name != "keras.layers.Activation":
        return remove_constructor_argument(subject, call, use.as_argument)
    if call.made_at is not None:
        return _bypass_layer(subject, call)
    node = subject.call_node(call)
    return _unwrap(subject, node, call.name.startswith("torch.Tensor.")) if node is not None else None


def insert_layer_before(subject: Subject, call: Call, code: str) -> tuple[Edit, ...] | None:
    """Edits that make the input of a layer's call pass through the layer or function that `code` names.

    `code` is a constructor such as `nn.Flatten()` for containers; elsewhere the input expression is wrapped in
    `code(…)`. Where the layer is an element of a container the new layer becomes the element before it.
    """
    constructor = subject.constructor_node(call)
    if constructor is not None:
        element = element_of(subject, constructor)
        if element is not None:
            return (InsertElement(element[0], element[1], code),)
        if added_by_statement(subject, constructor) is not None:
            statement = subject.source.parent(constructor)
            if isinstance(statement, ast.Call):
                owner = subject.source.segment(subject.source.site(statement.func))
                return (InsertBefore(subject.source.site(constructor), f"{owner}({code})"),)
    given = input_expression(subject, call)
    return (Wrap(subject.source.site(given), f"{code}(", ")"),) if given is not None else None


def set_constructor_argument(subject: Subject, of: Call | Component, name: str, code: str) -> tuple[Edit, ...] | None:
    """Edits that give the constructor of a layer, loss or optimizer the argument `name`.

    Where the argument is given as a variable or constant that is assigned once, the constructor's argument is still
    the place that is edited: changing the variable could reach other uses.
    """
    node = subject.constructor_node(of) if isinstance(of, Call) else subject.call_node(of)
    if node is None or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    return (SetArgument(subject.source.site(node), name, code, argument_position(of.name, name)),)


def remove_constructor_argument(subject: Subject, of: Call | Component, name: str) -> tuple[Edit, ...] | None:
    """Edits that remove the argument `name` from the constructor of a layer, loss or optimizer."""
    node = subject.constructor_node(of) if isinstance(of, Call) else subject.call_node(of)
    if node is None or argument(subject, node, of.name, name) is None:
        return None
    position = argument_position(of.name, name)
    last = position is not None and len(node.args) == position + 1
    if not any(keyword.arg == name for keyword in node.keywords) and not last:
        return None
    return (RemoveArgument(subject.source.site(node), name, position),)


def _bypass_layer(subject: Subject, call: Call) -> tuple[Edit, ...] | None:
    constructor = subject.constructor_node(call)
    if constructor is None or _serves_elsewhere(subject, call):
        return None
    source = subject.source
    element = element_of(subject, constructor)
    if element is not None:
        return (DeleteElement(*element),)
    named = _named_element(subject, constructor)
    if named is not None:
        return (named,)
    statement = added_by_statement(subject, constructor)
    if statement is not None:
        return (Delete(source.site(statement)),)
    parent = source.parent(constructor)
    if isinstance(parent, ast.Call) and parent.func is constructor:
        return _unwrap(subject, parent, method=False)
    node = subject.call_node(call)
    if node is None or source.constructor(node.func) is not constructor:
        return None
    edits = _unwrap(subject, node, method=False)
    if edits is None:
        return None
    holder = source.statement_of(constructor)
    if isinstance(holder, ast.Assign) and holder.value is constructor and _used_once(subject, node.func):
        return (*edits, Delete(source.site(holder)))
    return edits


def _serves_elsewhere(subject: Subject, call: Call) -> bool:
    """Whether the constructor of a called layer makes others as well, one of which other calls than the layer's come after.

    A network of the same class that only predicts is a copy of the one that is trained.
    """
    network = subject.network
    made = [other for other in network.made_at(call.made_at) if other.phase == call.phase]
    after = {frozenset(user.name for value in other.outputs for user in network.users(value)) for other in made}
    return len({other.component for other in made}) > 1 and len(after) > 1


def _named_element(subject: Subject, constructor: ast.Call) -> Edit | None:
    """The edit that takes a layer with a name out of a container: `add_module("name", layer)`, `("name", layer)`."""
    source = subject.source
    parent = source.parent(constructor)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add_module":
        statement = source.parent(parent)
        return Delete(source.site(statement)) if isinstance(statement, ast.Expr) else None
    listed = source.parent(parent) if isinstance(parent, ast.Tuple) else None
    if not isinstance(parent, ast.Tuple) or not isinstance(listed, ast.List) or len(parent.elts) != 2:
        return None
    ordered = source.parent(listed)
    if isinstance(ordered, ast.Call) and source.qualified(ordered.func) == "collections.OrderedDict":
        return DeleteElement(source.site(listed), listed.elts.index(parent))
    return None


def _used_once(subject: Subject, function: ast.expr) -> bool:
    written = ast.dump(function)
    uses = 0
    for node in ast.walk(subject.source.tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            uses += ast.dump(node) == written
    return uses == 1


def _unwrap(subject: Subject, node: ast.Call, method: bool) -> tuple[Edit, ...] | None:
    source = subject.source
    if method and isinstance(node.func, ast.Attribute):
        inner: ast.expr | None = node.func.value
    else:
        inner = positional(node, 0) or next((k.value for k in node.keywords if k.arg in ("input", "x")), None)
    if inner is None:
        return None
    statement = source.statement_of(node)
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and isinstance(inner, ast.Name) and target.id == inner.id:
            return (Delete(source.site(statement)),)
    return (Unwrap(source.site(node), source.site(inner)),)
