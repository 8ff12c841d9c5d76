"""Calls whose discarded result is all that they do (`x.view(3)`): which variable was meant to receive it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.graph import (
    holds_tensor,
    imported,
    is_display,
    is_module_made_by,
    keras_modules,
    read_again,
    torch_modules,
)
from dnnfix.network.facts import ACTIVATION_FORMS, component_kind, layer_facts
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_self
from dnnfix.subject import Subject

SHAPING = words("""permute view reshape unsqueeze transpose swapaxes expand expand_as view_as repeat_interleave masked_fill
    index_select flip movedim astype type_as narrow""")
"""Methods of tensors and arrays that change nothing in place; called with arguments."""

BARE = words("squeeze flatten detach unsqueeze")
"""Such methods that may be called without an argument."""

CASTS = words("to cuda cpu float double half type long int")
"""Methods that a module carries out in place, and a tensor does not."""

FUNCTIONS = words("""torch.unsqueeze torch.squeeze torch.reshape torch.permute torch.transpose torch.flatten torch.relu
    torch.sigmoid torch.tanh torch.softmax torch.log_softmax torch.clamp torch.cat torch.concat torch.flip torch.swapaxes
    torch.nn.functional.relu torch.nn.functional.softmax torch.nn.functional.log_softmax torch.nn.functional.sigmoid
    torch.nn.functional.tanh torch.nn.functional.dropout torch.nn.functional.elu torch.nn.functional.gelu
    torch.nn.functional.leaky_relu torch.nn.functional.max_pool1d torch.nn.functional.max_pool2d
    torch.nn.functional.avg_pool2d torch.nn.functional.normalize torch.nn.functional.interpolate torch.nn.functional.pad
    numpy.reshape numpy.transpose numpy.expand_dims numpy.squeeze numpy.append numpy.delete numpy.insert
    numpy.concatenate numpy.swapaxes tensorflow.reshape tensorflow.transpose tensorflow.expand_dims tensorflow.squeeze
    tensorflow.cast keras.ops.reshape keras.ops.transpose keras.ops.expand_dims keras.ops.squeeze keras.ops.cast""")
"""Functions whose result is all that they do."""

TENSOR_CLASSES = words("Tensor FloatTensor LongTensor DoubleTensor IntTensor Variable")
IN_PLACE = frozenset({"inplace", "out"})


def discarded(subject: Subject) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls whose result is discarded, each with what it was meant for, where this is read later and the call is no display or trial."""
    source = subject.source
    for statement in source.nodes(ast.Expr):
        call = statement.value
        target = meant_for(subject, call) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or target is None or is_display(source, statement):
            continue
        if not _is_tried(source, statement) and read_again(source, statement, target):
            yield call, target


def _is_tried(source: Source, statement: ast.stmt) -> bool:
    """Whether the statement is only there to see if it raises: in a `try`, or in `with pytest.raises(…)`."""
    above = source.parent(statement)
    if isinstance(above, ast.Try) and statement in above.body and above.handlers:
        return len(above.body) == 1
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(above, ast.With) and any(
            "raises" in ast.unparse(item.context_expr).lower() for item in above.items
        ):
            return True
        above = source.parent(above)
    return False


def meant_for(subject: Subject, call: ast.Call) -> ast.expr | None:
    """The expression that the result of a bare call was meant for; `None` where the call may have an effect."""
    if any(keyword.arg in IN_PLACE or keyword.arg is None for keyword in call.keywords):
        return None
    name = subject.source.qualified(call.func)
    if name in FUNCTIONS:
        return _named(_first(call))
    if isinstance(call.func, ast.Call):
        return _layer_on_the_spot(subject, call)
    if not isinstance(call.func, ast.Attribute) or name is not None:
        return None
    receiver, method = call.func.value, call.func.attr
    if _is_own_layer(subject, call):
        return _named(_first(call))
    if _named(receiver) is None or is_self(receiver):
        return None
    given = bool(call.args or call.keywords)
    if method in CASTS and _is_tensor(subject, call, receiver):
        return receiver
    if (method in SHAPING and given) or method in BARE:
        return receiver if not _is_other_object(subject, receiver) else None
    return None


def _first(call: ast.Call) -> ast.expr | None:
    first = call.args[0] if call.args else None
    if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
        first = first.elts[0]
    return first


def _named(expr: ast.expr | None) -> ast.expr | None:
    """The expression where it can be assigned to."""
    if isinstance(expr, ast.Subscript):
        return expr if isinstance(expr.slice, (ast.Constant, ast.Name)) and _named(expr.value) is not None else None
    if isinstance(expr, ast.Attribute):
        # Of `self.backend.numpy` the last may as well be a module.
        return expr if isinstance(expr.value, ast.Name) and expr.attr not in ("data", "T", "grad", "weight") else None
    return expr if isinstance(expr, ast.Name) else None


def _is_other_object(subject: Subject, receiver: ast.expr) -> bool:
    """Whether the receiver is known to be an object of a class, a module or what a library's class made."""
    if subject.source.qualified(receiver) is not None or subject.source.definition(receiver) is not None:
        return True
    if isinstance(receiver, ast.Name) and receiver.id in imported(subject.source):
        return True
    values = subject.source.bindings(receiver)
    if any(isinstance(value, ast.Call) and _is_class(value) for value in values):
        return True
    made = subject.source.constructor(receiver)
    if made is None:
        return False
    if is_module_made_by(subject.source, made):
        return True
    short = (subject.source.qualified(made.func) or "").rpartition(".")[2]
    return short[:1].isupper() and short not in TENSOR_CLASSES


def _is_class(call: ast.Call) -> bool:
    """Whether a call makes an object of a class that is no tensor, by the custom that classes begin with a capital."""
    function = call.func
    short = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return short[:1].isupper() and not short.isupper() and short not in TENSOR_CLASSES


def _is_tensor(subject: Subject, call: ast.Call, receiver: ast.expr) -> bool:
    """Whether the run or the source tells that a tensor is cast."""
    site = subject.source.site(call)
    if subject.trace is not None and subject.trace.network is not None:
        at = [c for c in subject.trace.network.calls if c.site == site and c.name.startswith("torch.Tensor.")]
        if at:
            return True
    return holds_tensor(subject.source, receiver)


def _is_own_layer(subject: Subject, call: ast.Call) -> bool:
    """Whether a method of a model calls one of the model's own layers, one that does not work in place."""
    source = subject.source
    owner = source.enclosing(call, ast.ClassDef)
    if owner is None or not (isinstance(call.func, ast.Attribute) and is_self(call.func.value)):
        return False
    if owner not in (*torch_modules(source), *keras_modules(source)):
        return False
    made = source.constructor(call.func)
    name = source.qualified(made.func) if made is not None else None
    if made is None or name is None or component_kind(name) != "layer":
        return False
    if any(keyword.arg == "inplace" for keyword in made.keywords) or (made.args and name.startswith("torch.nn.ReLU")):
        return False
    facts = layer_facts(name)
    if facts is None:
        return name in ACTIVATION_FORMS
    return facts.kind in ("dropout", "normalization", "pooling", "shape", "padding")


def _layer_on_the_spot(subject: Subject, call: ast.Call) -> ast.expr | None:
    """What a layer that is made and called at once was given, where that is part of a Keras network."""
    source = subject.source
    if not isinstance(call.func, ast.Call):
        return None
    name = source.qualified(call.func.func) or ""
    given = _first(call)
    if not isinstance(given, ast.Name) or component_kind(name) != "layer":
        return None
    if name.startswith("torch."):
        return given if source.enclosing(call, ast.ClassDef) in torch_modules(source) else None
    values = source.bindings(given, call)
    for value in values:
        if isinstance(value, ast.Call):
            made = value.func.func if isinstance(value.func, ast.Call) else value.func
            kind = source.qualified(made) or ""
            if kind in ("keras.Input", "keras.layers.Input") or isinstance(value.func, ast.Call):
                return given
    return None
