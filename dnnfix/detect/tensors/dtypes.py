"""Dtypes that do not fit: which tensor has another dtype than the computation around it, and the edits that cast it.

Torch computes in one dtype per operation and refuses a mix; Keras casts inputs by itself, so that only the dtype of
what is passed to it (lists, objects, strings) matters there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument, input_expression
from dnnfix.network.facts import LOSSES, SHAPE_ONLY, Target, layer_facts
from dnnfix.records import Call, Edit, SetArgument, Value, Wrap
from dnnfix.source.program import Source
from dnnfix.subject import Subject

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
INTEGER = frozenset({"uint8", "int8", "int16", "int32", "int64", "bool"})
CASTS = {"float32": "float", "float64": "double", "int64": "long"}
"""Tensor methods that cast to a dtype."""

MAKERS = frozenset(
    {"torch.tensor", "torch.as_tensor", "torch.zeros", "torch.ones", "torch.full", "torch.arange", "torch.eye"}
)
"""Functions that take `dtype` and make data."""

WEIGHTED = frozenset({"linear", "convolution", "recurrent", "attention", "normalization"})
"""Kinds of layers whose weights fix the dtype that they compute in."""


def computed_in(subject: Subject) -> str:
    """The floating dtype that the network computes in: that of its weights' outputs, `float32` where none was seen."""
    for call in subject.network.calls:
        facts = layer_facts(call)
        if facts is not None and facts.kind in WEIGHTED and call.outputs:
            dtype = call.outputs[0].dtype
            if dtype in FLOATING and dtype is not None:
                return dtype
    return "float32"


def failing_call(subject: Subject) -> Call | None:
    """The call in flight at the crash; for a crash in `backward`, the loss that it started from."""
    crash = subject.crash
    if crash is None or crash.call is None:
        return None
    if crash.call.name not in ("torch.Tensor.backward", "torch.autograd.backward"):
        return crash.call
    losses = [call for call in subject.network.calls if call.name in LOSSES]
    return losses[-1] if losses else None


def odd_floats(subject: Subject) -> Iterator[tuple[Call, int, Value, str]]:
    """Inputs of the failing call whose dtype keeps it from computing: (call, index, value, wanted dtype).

    For a layer with weights that is any dtype but that of the weights; for an operation on two tensors the one that
    does not come from a layer gives way.
    """
    call = failing_call(subject)
    if call is None or not call.name.startswith("torch."):
        return
    facts = layer_facts(call)
    wanted = computed_in(subject)
    if facts is not None:
        if facts.kind in WEIGHTED and call.inputs and _differs(call.inputs[0], wanted):
            yield call, 0, call.inputs[0], wanted
        return
    loss = LOSSES.get(call.name)
    if loss is not None:
        if loss.target in (Target.REAL, Target.BINARY) and len(call.inputs) > 1:
            prediction, target = call.inputs[0].dtype, call.inputs[1]
            if prediction in FLOATING and prediction is not None and _differs(target, prediction):
                yield call, 1, target, prediction
        return
    if call.name == "torch.Tensor.setitem":
        return  # what is assigned is cast by torch
    dtypes = {value.dtype for value in call.inputs if value.dtype is not None}
    if len(dtypes) > 1 and dtypes & FLOATING and wanted in dtypes:
        for index, value in enumerate(call.inputs):
            if _differs(value, wanted):
                yield call, index, value, wanted


BINARY_LOSSES = frozenset(
    {"torch.nn.BCELoss", "torch.nn.BCEWithLogitsLoss"}
    | {f"torch.nn.functional.binary_cross_entropy{end}" for end in ("", "_with_logits")}
)
"""Losses that refuse targets of integers, whatever the prediction is; others of real targets promote them."""


def integer_targets(subject: Subject) -> Iterator[tuple[Call, int, Value, str]]:
    """Targets that the source turns into integers and passes to a loss that refuses those, in the form of `odd_floats`.

    None for a program that ran so far that its calls are known.
    """
    if subject.source.words.isdisjoint(name.rpartition(".")[2] for name in BINARY_LOSSES):
        return
    if subject.network.known_from != "source":
        return
    for call in subject.network.calls:
        if call.name in BINARY_LOSSES and len(call.inputs) > 1 and call.inputs[1].dtype in INTEGER:
            yield call, 1, call.inputs[1], "float32"


def _differs(value: Value, wanted: str) -> bool:
    return value.dtype is not None and value.dtype != wanted and value.dtype in FLOATING | INTEGER


def cast_where_made(subject: Subject, call: Call, index: int, dtype: str) -> tuple[Edit, ...] | None:
    """Edits that give the input number `index` of a call its dtype where it enters the program as a tensor.

    `None` where that place is not known.
    """
    source = subject.source
    moved = call.inputs[index].producer is not None
    made = _moved_from(subject, call.inputs[index]) if moved else _maker(subject, call, index)
    if made is None:
        return None
    name = source.qualified(made.func)
    if name in MAKERS and name is not None:
        torch = _torch_prefix(subject, made)
        if torch is not None and argument(subject, made, name, "dtype") is None:
            return (SetArgument(source.site(made), "dtype", f"{torch}.{dtype}"),)
    if name is not None and name.startswith("torch.") and not moved:
        return (Wrap(source.site(made), "", f".{CASTS[dtype]}()"),)
    return None


def cast_where_used(subject: Subject, call: Call, index: int, dtype: str) -> tuple[Edit, ...] | None:
    """Edits that cast the input number `index` in the call that refuses it; `None` where a method changes it in place."""
    node = input_expression(subject, call, index)
    if node is None or changed_in_place(subject.source, node):
        return None
    return cast_expression(subject, node, dtype)


def changed_in_place(source: Source, node: ast.expr) -> bool:
    """Whether a method of a tensor is called that changes it (`add_`): what is put in its place would be changed, and lost."""
    above = source.parent(node)
    return isinstance(above, ast.Attribute) and above.attr.endswith("_") and not above.attr.endswith("__")


def cast_expression(subject: Subject, node: ast.expr, dtype: str) -> tuple[Edit, ...]:
    """Edits that put a cast behind an expression."""
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    method = CASTS[dtype]
    site = subject.source.site(node)
    return (Wrap(site, "" if simple else "(", f".{method}()" if simple else f").{method}()"),)


MOVES = SHAPE_ONLY | frozenset(f"torch.Tensor.{name}" for name in ("getitem", "setitem", "clone", "detach", "data"))
"""Calls whose result holds the numbers of their first input, or a part of them, in the same dtype."""

MAX_MOVES = 512
"""Calls looked through on the way back to where numbers were first put; a buffer is often filled one row at a time."""


def _moved_from(subject: Subject, value: Value) -> ast.Call | None:
    """The call that made the tensor of which the value is a part, or the same with its axes in another order."""
    dtype = value.dtype
    for _ in range(MAX_MOVES):
        call = subject.network.producer(value)
        if call is None:
            node = subject.node(value.site) if value.producer is None and value.dtype == dtype else None
            return node if isinstance(node, ast.Call) else None
        if call.name not in MOVES or not call.inputs:
            return None
        value = call.inputs[0]
    return None


def _maker(subject: Subject, call: Call, index: int) -> ast.Call | None:
    """The call of torch that first brought the data up: recorded as such, or assigned to the name that is given."""
    value = call.inputs[index]
    if value.producer is not None:
        return None
    node = subject.node(value.site)
    if node is None or value.site == call.site:
        node = input_expression(subject, call, index)
    made = subject.source.constructor(node) if isinstance(node, ast.Name) else node
    return made if isinstance(made, ast.Call) and made is not subject.call_node(call) else None


def _torch_prefix(subject: Subject, node: ast.Call) -> str | None:
    """How the program spells the module `torch` in this call."""
    if isinstance(node.func, ast.Attribute) and subject.source.qualified(node.func.value) == "torch":
        return subject.source.segment(subject.source.site(node.func.value))
    return None
