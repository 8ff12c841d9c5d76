"""A list, a NumPy array, a tensor or a batch is used where another of them is expected."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Failure,
    Fault,
    Held,
    InsertBefore,
    Source,
    Subject,
    argument_value,
    function_around,
    held_values,
    loaders,
    reads,
    spell,
    training_loop,
    trees,
    undefined_names,
    within,
    words,
)

INTO_ARRAY = words("numpy cpu detach")
"""Methods that convert a tensor to an array."""

OF_TENSORS = words(
    """cuda to view unsqueeze permute float double long half contiguous dim backward requires_grad_ expand scatter_ softmax
    log_softmax sigmoid relu"""
)
"""Methods of tensors that arrays do not have."""

OF_ARRAYS = words(
    "shape reshape astype ndim dtype T flatten mean std sum argmax argmin ravel transpose squeeze min max"
)
"""Attributes of NumPy arrays that lists do not have."""

OF_TENSORS_ONLY = words("to cuda cpu view unsqueeze float long permute contiguous size detach dim")
"""Attributes of tensors that lists and arrays do not have."""

OF_BATCHES = words(
    """to size shape float double half long view cuda cpu unsqueeze squeeze permute reshape dim device dtype transpose mean
    sum flatten requires_grad_ type numpy detach"""
)
"""Attributes of tensors that programs use on a batch."""

DTYPES = words("float16 float32 float64 int8 int16 int32 int64 uint8")
"""Dtypes of both NumPy and torch."""

OF_PYTHON = {"float": "float32", "int": "int64", "bool": "bool", "bool_": "bool", "long": "int64", "double": "float64"}
"""Other names and their dtypes in torch; `float` is float32 as the weights are."""

IN_TORCH = words("sqrt exp log abs sin cos tanh mean sum square sign clip dot matmul stack concatenate zeros_like")
"""Functions of NumPy that torch has with the same name and first arguments."""

MAKERS = words("zeros ones empty")
"""Functions of NumPy and torch that create an array of a shape."""

WITH_PLACES = words("zeros ones empty full zeros_like ones_like empty_like full_like")
"""Functions of NumPy that preallocate an array."""

OF_NUMBERS = words("torch.tensor torch.as_tensor torch.FloatTensor torch.LongTensor torch.Tensor")
"""Functions that convert a list of numbers to a tensor."""

CASTS = {"torch.FloatTensor": ".float()", "torch.LongTensor": ".long()"}

TENSORS = words("torch.Tensor torch.nn.parameter.Parameter")
ARRAYS = words("numpy.ndarray torch.Tensor")
SEVERAL = TENSORS | words("numpy.ndarray list tuple")
NUMBERS = words("int float bool list tuple numpy.ndarray")
GROWING = words("append extend insert pop remove clear")
AGAIN = (*training_loop.LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@reads("AttributeError", r"'numpy\.ndarray' object has no attribute '(?!append')", ast.Attribute)
def _array_asked_as_tensor(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """An array is used like a tensor: calls that convert to an array are removed, else it becomes a tensor."""
    node, source = failure.node, failure.source
    code, held = failure.code(node.value), failure.held(node.value)
    what = f"{code} is a NumPy array, which has no attribute {node.attr}"
    if node.attr in INTO_ARRAY:
        whole = _chain(source, node)
        if whole is not None:
            yield failure.fault(node, what, "Use the array as it is", failure.exchange(whole, code), prior=0.85)
    elif node.attr in OF_TENSORS and isinstance(source.parent(node), ast.Call):
        spelling = spell(failure.subject, "torch.from_numpy")
        real = held is not None and held.dtype == "float64" and node.attr not in ("float", "double", "half", "long")
        wrapped = failure.wrap(node.value, f"{spelling.code}(", ").float()" if real else ")")
        yield failure.fault(node, what, "Convert the array to a tensor", wrapped, *spelling.imports, prior=0.8)


@reads("AttributeError", r"'numpy\.ndarray' object has no attribute 'append'", ast.Attribute)
def _array_appended_to(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """A value is appended to a one-dimensional array: the result of `np.append` is assigned."""
    source, array = failure.source, failure.node.value
    statement, held = source.statement_of(failure.node), failure.held(array)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.func is not failure.node or len(call.args) != 1:
        return
    if held is None or held.size != 1 or not _may_be_bound(source, array):
        return
    if _has_places(source, array) or not _is_one_value(failure, call.args[0]):
        return
    name, spelling = failure.code(array), spell(failure.subject, "numpy.append")
    longer = failure.exchange(statement, f"{name} = {spelling.code}({name}, {failure.code(call.args[0])})")
    what = f"{name} is a NumPy array, which has no attribute append"
    yield failure.fault(call, what, "Append with np.append", *spelling.imports, longer)


@reads("AttributeError", "'Tensor' object has no attribute", ast.Attribute)
def _tensor_asked_as_array(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """A tensor is used like an array: `astype` becomes `to`, and `copy` becomes `clone`."""
    node, call = failure.node, failure.source.parent(failure.node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return
    text = failure.code(call)  # including parentheses around the object
    code = text[: text.rindex(f".{node.attr}")]
    what = f"{code} is a tensor, which has no attribute {node.attr}"
    if node.attr == "copy" and not call.args and not call.keywords:
        yield failure.fault(node, what, "Clone the tensor", failure.exchange(call, f"{code}.clone()"))
    elif node.attr == "astype" and len(call.args) + len(call.keywords) == 1:
        dtype = _dtype(failure.source, argument_value(call, "dtype", 0))
        if dtype is not None:
            spelled = spell(failure.subject, f"torch.{dtype}")
            cast = failure.exchange(call, f"{code}.to({spelled.code})")
            yield failure.fault(node, what, "Cast the tensor", cast, *spelled.imports)


@reads("RuntimeError", r"numpy\(\) on Tensor that requires grad", ast.AST)
def _tensor_made_array(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """A tensor that requires grad is converted to an array: it is detached, or torch is used in a network."""
    node, source, subject = failure.node, failure.source, failure.subject

    def described(at: ast.expr, title: str, *edits: Edit) -> Fault:
        return failure.fault(at, f"{failure.code(at)} converts a tensor that requires grad to an array", title, *edits)

    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
        yield described(node.func.value, "Detach the tensor", failure.wrap(node.func.value, "", ".detach()"))
        return
    maker = _filled(failure)
    if maker is not None:
        spelling = spell(subject, (source.qualified(maker.func) or "").replace("numpy.", "torch."))
        yield described(maker, f"Create it with {spelling.code}", failure.exchange(maker.func, spelling.code))
    elif isinstance(node, ast.Call):
        library, _, name = (source.qualified(node.func) or "").partition(".")
        in_network = any(frame.function == "forward" for frame in failure.crash.frames)
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        tensors = [one for one in given if (held := failure.held(one)) is not None and held.kind in TENSORS]
        if source.enclosing(node, ast.ClassDef) is not None or in_network:
            if library == "numpy" and name in IN_TORCH:
                spelling = spell(subject, f"torch.{name}")
                edit = failure.exchange(node.func, spelling.code)
                yield described(node, f"Compute it with {spelling.code}", edit, *spelling.imports)
        elif tensors:
            yield described(node, "Detach the tensor", *(failure.wrap(one, "", ".detach()") for one in tensors))


@reads("ValueError TypeError RuntimeError", "converted to (Python scalar|Scalar)", ast.Call)
def _list_of_tensors_made_tensor(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """`torch.tensor` converts each tensor of a list to a number: `torch.stack` is used."""
    node = failure.node
    name, casts = failure.source.qualified(node.func) or "", {one.arg: one.value for one in node.keywords}
    if name not in OF_NUMBERS or len(node.args) != 1 or casts.keys() - {"dtype"}:
        return
    if not _are_alike(failure.subject, node.args[0]):
        return
    stack, given = spell(failure.subject, "torch.stack"), failure.code(node.args[0])
    after = f".to({failure.code(casts['dtype'])})" if "dtype" in casts else CASTS.get(name, "")
    stacked = failure.exchange(node, f"{stack.code}({given}){after}")
    what = f"{given} is a list of tensors, which {name} cannot convert"
    yield failure.fault(node, what, "Stack the tensors", stacked, *stack.imports, prior=0.95)


@reads("AttributeError", r"'(list|tuple)' object has no attribute '(\w+)'", ast.Attribute)
def _batch_asked_as_tensor(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """A batch is used like a tensor: it has one tensor, or two of which the labels are not needed."""
    source, batch, held = failure.source, failure.node.value, failure.held(failure.node.value)
    loop = _loop(source, batch)
    if failure.said[2] not in OF_BATCHES or loop is None or not isinstance(batch, ast.Name):
        return
    if held is None or held.of != "torch.Tensor" or held.size not in (1, 2):
        return
    if held.size == 2 and (_parts_read(source, loop, batch) or not _labels_unused(loop)):
        return
    place = next(one for one in within(loop.target, ast.Name) if one.id == batch.id)
    taken = f"{batch.id}{', _' if held.size == 2 else ','}"
    taken = taken if place is loop.target else f"({taken})"
    what = f"{batch.id} is the list of tensors of a batch"
    yield failure.fault(batch, what, "Unpack the tensor of the batch", failure.exchange(place, taken), prior=0.8)


@reads("TypeError AttributeError", "'DataLoader' object is not an iterator", ast.Call)
def _loader_asked_for_next(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """`next` is called on a loader instead of its iterator."""
    node = failure.node
    if len(node.args) != 1 or node.keywords or failure.source.qualified(node.func) != "builtins.next":
        return
    yield from _first_batch(failure, node.args[0], failure.wrap(node.args[0], "iter(", ")"))


@reads("AttributeError", "'DataLoader' object has no attribute", ast.Attribute)
def _loader_asked_by_method(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """A method of iterators is called on a loader."""
    call, loader = failure.source.parent(failure.node), failure.node.value
    if isinstance(call, ast.Call) and failure.node.attr in ("next", "__next__"):
        yield from _first_batch(failure, loader, failure.exchange(call, f"next(iter({failure.code(loader)}))"))


def _first_batch(failure: Failure[ast.Call] | Failure[ast.Attribute], loader: ast.expr, edit: Edit) -> Iterator[Fault]:
    if _asked_once(failure.source, failure.node, ast.unparse(loader)):
        what = f"{ast.unparse(loader)} is not an iterator, and next() expects one"
        yield failure.fault(failure.node, what, "Use the first batch of an iterator", edit, prior=0.95)


@reads("TypeError AttributeError", "", ast.Subscript)
def _list_indexed(failure: Failure[ast.Subscript]) -> Iterator[Fault]:
    """A list of numbers is indexed with a mask or an array of indices."""
    index = failure.held(failure.node.slice)
    by_array = index is not None and (index.kind in ARRAYS or index.kind == "list" and index.of in ("int", "bool"))
    said = "not tuple" in failure.crash.message or "only integer scalar arrays" in failure.crash.message
    if _is_list(failure.held(failure.node.value)) and (by_array or said):
        yield from _converted(failure, failure.node.value, "numpy.array")


@reads("TypeError AttributeError", "", ast.Attribute)
def _list_asked(failure: Failure[ast.Attribute]) -> Iterator[Fault]:
    """A list of numbers or tensors is used like an array or tensor."""
    node, held = failure.node, failure.held(failure.node.value)
    if held is not None and held.kind == "list" and held.of == "torch.Tensor":
        if node.attr in OF_TENSORS_ONLY | OF_ARRAYS and not _is_batch(failure.source, node.value):
            yield from _converted(failure, node.value, "torch.stack")
    elif _is_list(held) and node.attr in OF_ARRAYS | OF_TENSORS_ONLY:
        yield from _converted(failure, node.value, "numpy.array" if node.attr in OF_ARRAYS else "torch.tensor")


@reads("TypeError", "unsupported operand|non-int of type 'float'", ast.BinOp)
def _list_computed_with(failure: Failure[ast.BinOp]) -> Iterator[Fault]:
    """A list of numbers is an operand of an arithmetic operation."""
    lists = [side for side in (failure.node.left, failure.node.right) if _is_list(failure.held(side))]
    if lists and not isinstance(failure.node.op, (ast.Add, ast.Mod)):
        yield from _converted(failure, lists[0], "numpy.array")


class ArrayTypeMismatch(CrashTemplate):
    """A list, a NumPy array, a tensor or a batch is used where another of them is expected.

    The run shows the type of each value in the failing statement, the operation the type that it expects.

    An array used like a tensor becomes one, with the dtype of the weights if it holds floats; calls that would convert
    it to an array (`detach().cpu().numpy()`) are removed. Appending a value to a one-dimensional array becomes
    `np.append`, unless the array was preallocated (`np.zeros(epochs)`) or an array is appended.

    For a tensor, `astype` becomes `to`, with a dtype of both libraries, and `copy` becomes `clone`. A tensor that
    requires grad is not converted to an array where a network computes (in `forward`, or in what a network or a loss
    calls): the operation becomes that of torch, which keeps the gradient; elsewhere the tensor is detached.

    A list of numbers that is indexed with a mask, computed with, or asked for its shape becomes an array: where it is
    created, if that is one expression and nothing is appended to it, else where it is used. A list of tensors is
    stacked where it is used like a tensor, and where `torch.tensor` would convert each of them to a number.

    A loader over a `TensorDataset` yields each batch as a list of tensors, also if there is one only: this one is
    unpacked. If the loop reads inputs and targets from the batch elsewhere, nothing is proposed. `next` needs `iter` of
    a loader: only where one batch is read, outside of loops, since every `iter` starts again.

    Fix safety: unsafe. The line could not run before; a detached tensor passes no gradient on, a stacked tensor keeps
    those of its parts; other code that uses the list sees an array.

    References: torch.from_numpy, torch.Tensor.to, torch.Tensor.clone, torch.Tensor.numpy, torch.Tensor.detach,
    torch.stack, numpy.array, numpy.append, torch.utils.data.TensorDataset, torch.utils.data.DataLoader,
    https://docs.python.org/3/library/functions.html#next.
    """

    code = "DNF613"
    name = "array-type-mismatch"
    formerly = (
        "array-of-another-kind",
        "list-used-as-array",
        "DNF614",
        "tensor-into-numpy",
        "DNF615",
        "array-used-as-tensor",
        "DNF626",
        "batch-taken-for-tensor",
        "DNF627",
        "loader-asked-for-next",
        "DNF628",
        "tensor-used-as-array",
        "DNF629",
        "tensors-in-list-made-tensor",
        "DNF647",
        "array-appended-to",
    )
    message = "a list, an array or a tensor is used where another of them is expected: {what}"
    confidence = 0.9
    readings = (
        _array_asked_as_tensor,
        _array_appended_to,
        _tensor_asked_as_array,
        _tensor_made_array,
        _list_of_tensors_made_tensor,
        _batch_asked_as_tensor,
        _loader_asked_for_next,
        _loader_asked_by_method,
        _list_indexed,
        _list_asked,
        _list_computed_with,
    )

    programs = """
=== example: a NumPy array converted to an array
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2)).detach().numpy()
guess = np.round(out)
- print(guess.detach().cpu().numpy().shape)
+ print(guess.shape)

=== example: an array moved to a device
import numpy as np
import torch

device = torch.device("cpu")
net = torch.nn.Linear(2, 1)
x = np.random.rand(4, 2)
- print(net(x.to(device)).shape)
+ print(net(torch.from_numpy(x).float().to(device)).shape)

=== example: labels in a function
import numpy
import torch


def labels_of(net, batches):
    found = numpy.zeros(0)
    for batch in batches:
-         found.append(net(batch).argmax().item())
+         found = numpy.append(found, net(batch).argmax().item())
    return found


print(labels_of(torch.nn.Linear(2, 3), torch.ones(3, 1, 2)).shape)

=== example: a dtype as a string, in an expression
import torch


def accuracy(scores, labels):
-     return (scores.argmax(1) == labels).astype("float32").mean()
+     return (scores.argmax(1) == labels).to(torch.float32).mean()


print(accuracy(torch.rand(4, 3), torch.zeros(4)))

=== example: a copy
import torch

row = torch.ones(3)
- other = row.copy()
+ other = row.clone()
other[0] = 5
print(row, other)

=== example: an array of predictions
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2))
- values = out.numpy()
+ values = out.detach().numpy()
print(values.shape)

=== example: halves of a flow put together in an array
import numpy as np
import torch
from torch import nn


def join(first, second):
-     both = np.zeros([first.shape[0], first.shape[1] + second.shape[1]])
+     both = torch.zeros([first.shape[0], first.shape[1] + second.shape[1]])
    both[:, 0::2] = first
    both[:, 1::2] = second
    return both


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, x):
        return join(x[:, 0::2], x[:, 1::2] + self.net(x[:, 0::2]))


print(Flow()(torch.ones(3, 4)).sum())

=== example: a norm in the network
import numpy as np
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        h = self.fc(x)
-         return np.tanh(h)
+         return torch.tanh(h)


print(Scaled()(torch.ones(3, 2)).sum())

=== example: a measure after training
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2))
- print(np.allclose(out, 0))
+ print(np.allclose(out.detach(), 0))

=== example: with a dtype
import torch as t

rows = [t.arange(3) for _ in range(5)]
- data = t.tensor(rows, dtype=t.float32)
+ data = t.stack(rows).to(t.float32)
print(data.mean())

=== example: numbered batches
import torch
import torch.utils.data as data


def encode(coder, loader):
-     for i, rows in enumerate(loader):
+     for i, (rows,) in enumerate(loader):
        flat = rows.view(rows.size(0), -1)
        print(i, coder(flat).shape)


encode(torch.nn.Linear(4, 2), data.DataLoader(data.TensorDataset(torch.rand(6, 2, 2)), batch_size=2))

=== example: an autoencoder, which needs no labels
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

coder = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 4))
- for pictures in DataLoader(TensorDataset(torch.rand(6, 2, 2), torch.zeros(6)), batch_size=3):
+ for pictures, _ in DataLoader(TensorDataset(torch.rand(6, 2, 2), torch.zeros(6)), batch_size=3):
    pictures = pictures.view(-1, 4)
    loss = nn.functional.mse_loss(coder(pictures), pictures)
    loss.backward()

=== example: a first batch to look at
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(8, 2), torch.zeros(8)), batch_size=4)
- inputs, labels = next(loader)
+ inputs, labels = next(iter(loader))
print(inputs.shape, labels.shape)

=== example: called as a method
import torch
import torch.utils.data as data


def sample(batches):
-     return batches.__next__()
+     return next(iter(batches))


print(sample(data.DataLoader(torch.rand(8, 2), batch_size=4)).shape)

=== example: a shuffled list indexed with a mask
import numpy as np
import torch
from random import sample

data = torch.ones(10, 2)
- order = sample(range(len(data)), len(data))
+ order = np.array(sample(range(len(data)), len(data)))
held_out = np.random.rand(len(order)) < 0.5
print(data[order[held_out]].shape, data[order[~held_out]].shape)

=== example: a list that was filled
import numpy as np
import torch

losses = []
for step in range(4):
    losses.append(torch.rand(1).item())
+ losses = np.array(losses)
print(losses.mean())

=== example: a list of tensors
import torch


def gather(count):
-     rows = [torch.ones(3) for _ in range(count)]
+     rows = torch.stack([torch.ones(3) for _ in range(count)])
    return rows.view(-1)


print(gather(2))

=== example: lists that are subtracted
import numpy as np
import torch

- wanted = torch.arange(3).tolist()
+ wanted = np.array(torch.arange(3).tolist())
print(wanted / 2)

=== reject: values of the expected types
import numpy as np
import torch
from torch.utils.data import DataLoader

print(torch.ones(2).numpy(), torch.from_numpy(np.ones(3).astype("float32").copy()))
print(torch.tensor([torch.ones(1), torch.zeros(1)]))
batches = iter(DataLoader(torch.rand(8, 2), batch_size=4))
print(next(batches).shape)
losses = []
losses.append(torch.ones(1).item())
print(np.mean(losses))

=== reject: an attribute that neither has
import numpy as np
import torch

print(np.ones(2).colour, torch.ones(1))

=== reject: a preallocated array
import numpy as np
import torch

losses = np.zeros(3)
for step in range(3):
    losses.append(torch.ones(1).item())
print(losses.mean())

=== reject: outputs of batches
import numpy as np
import torch

outputs = np.array([])
for batch in torch.ones(4, 5, 2):
    outputs.append(torch.nn.Linear(2, 3)(batch).detach().numpy())
print(len(outputs))

=== reject: rows of a table
import numpy as np
import torch

rows = np.zeros((0, 3))
rows.append(torch.ones(3).numpy())
print(rows.shape)

=== reject: a dtype that torch does not have
import torch

print(torch.ones(3).astype("S8"))

=== reject: a crash about sizes
import torch

print(torch.nn.Linear(2, 1)(torch.ones(3, 3)).numpy())

=== reject: tensors of different lengths
import torch

parts = [torch.ones(2), torch.ones(3)]
print(torch.tensor(parts))

=== reject: a batch whose parts are read by index
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch in DataLoader(TensorDataset(torch.rand(6, 2), torch.zeros(6)), batch_size=3):
    x, y = batch[0].to("cpu"), batch[1].to("cpu")
    print(x.shape, y.shape)

=== reject: a list that no loader gave
import torch
from torch.utils.data import DataLoader

outputs = [torch.ones(2), torch.ones(2)]
loader = DataLoader(torch.rand(4, 2), batch_size=2)
print(outputs.numpy())

=== reject: inputs and targets that are moved together and unpacked later
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch in DataLoader(TensorDataset(torch.rand(6, 2), torch.zeros(6)), batch_size=3):
    batch = batch.to("cpu")
    x, y = batch
    print(x.shape, y.shape)

=== reject: a function that asks is called in a loop
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)


def step():
    return next(loader).mean()


for _ in range(2):
    print(step())

=== reject: a second batch is read
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)
first = next(loader)
second = next(loader)
print(first.shape, second.shape)

=== reject: every turn of a loop asks for a batch
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)
for step in range(2):
    print(next(loader).shape)

=== reject: a list of texts
import torch

names = ["a", "b"]
print(names.shape, torch.ones(1))

=== reject: an index that is a string
import torch

rows = [1, 2]
print(rows["a"], torch.ones(1))

=== reject: an array with an index of floats
import numpy as np
import torch

print(np.ones(3)[np.array([0.0])], torch.ones(1))
"""


def _chain(source: Source, node: ast.Attribute) -> ast.Call | None:
    """The last of a chain of calls without arguments that convert a tensor to an array."""
    whole: ast.Call | None = None
    current: ast.AST | None = node
    while isinstance(current, ast.Attribute) and current.attr in INTO_ARRAY:
        call = source.parent(current)
        if not isinstance(call, ast.Call) or call.func is not current or call.args or call.keywords:
            break
        whole, current = call, source.parent(call)
    return whole


def _may_be_bound(source: Source, array: ast.expr) -> bool:
    """Whether the name can be assigned where it is used: an attribute, or a variable of the same scope."""
    if isinstance(array, ast.Attribute):
        return isinstance(array.value, ast.Name)
    function = source.enclosing(array, ast.FunctionDef)
    if not isinstance(array, ast.Name) or array.id not in undefined_names.bound_by(source, array):
        return False
    names = within(function, ast.Name) if function is not None else ()
    return function is None or any(one.id == array.id and isinstance(one.ctx, ast.Store) for one in names)


def _has_places(source: Source, array: ast.expr) -> bool:
    """Whether the array was preallocated."""
    made = [one for one in source.bindings(array) if isinstance(one, ast.Call)]
    return any(
        (source.qualified(call.func) or "").rpartition(".")[2] in WITH_PLACES
        and not (call.args and ast.unparse(call.args[0]) in ("0", "(0,)", "[0]"))
        for call in made
    )


def _is_one_value(failure: Failure[ast.Attribute], value: ast.expr) -> bool:
    """Whether the appended value is not an array, as far as the run and its last method show."""
    held = failure.held(value)
    if held is not None:
        return held.kind not in SEVERAL or held.size in (0, None) and held.kind not in ("list", "tuple")
    method = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return method not in ("numpy", "tolist", "detach", "cpu", "flatten", "ravel", "reshape")


def _dtype(source: Source, given: ast.expr | None) -> str | None:
    """The dtype of torch for one of NumPy."""
    name = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
    if isinstance(given, (ast.Name, ast.Attribute)):
        library, _, name = (source.qualified(given) or "").rpartition(".")
        name = name if library in ("numpy", "builtins", "torch") else ""
    return name if name in DTYPES else OF_PYTHON.get(name)


def _filled(failure: Failure[ast.AST]) -> ast.Call | None:
    """The call that creates the array that a tensor is assigned to, if torch has the same function."""
    statement = failure.source.statement_of(failure.node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
        return None
    into = statement.targets[0].value
    held, bound = failure.held(into), failure.source.bindings(into) if isinstance(into, ast.Name) else ()
    if held is None or held.kind != "numpy.ndarray" or len(bound) != 1 or not isinstance(bound[0], ast.Call):
        return None
    library, _, name = (failure.source.qualified(bound[0].func) or "").partition(".")
    plain = len(bound[0].args) == 1 and not bound[0].keywords
    return bound[0] if library == "numpy" and name in MAKERS and plain else None


def _are_alike(subject: Subject, given: ast.expr) -> bool:
    """Whether the recorded elements of a list are tensors of one shape."""
    told = held_values.held_list(subject, given)
    items = [item if isinstance(item, dict) else {} for item in (told[1] if told is not None else ())]
    return {item.get("kind") for item in items} == {"torch.Tensor"} and len(
        {str(one.get("shape")) for one in items}
    ) == 1


def _loop(source: Source, batch: ast.expr) -> ast.For | None:
    """The loop over a loader whose target is the variable."""
    loop = source.enclosing(batch, ast.For)
    while isinstance(loop, ast.For) and isinstance(batch, ast.Name):
        whole, over = loop.target, loop.iter
        if isinstance(over, ast.Call) and (source.qualified(over.func) or "").rpartition(".")[2] == "enumerate":
            whole = whole.elts[-1] if isinstance(whole, ast.Tuple) else whole
            over = over.args[0] if over.args else over
        if isinstance(whole, ast.Name) and whole.id == batch.id:
            return loop if _is_loader(source, over) else None
        loop = source.enclosing(loop, ast.For)
    return None


def _is_loader(source: Source, over: ast.expr) -> bool:
    """Whether a loop is over a loader: created here or by a function, or a parameter."""
    made = over if isinstance(over, ast.Call) else source.constructor(over)
    if made is not None:
        maker = source.definition(made.func)
        if isinstance(maker, ast.FunctionDef):
            return any(source.qualified(call.func) == loaders.LOADER for call in within(maker, ast.Call))
        return source.qualified(made.func) == loaders.LOADER
    function = function_around(source, over)
    names = [one.arg for one in function.args.args] if function is not None else []
    return isinstance(over, ast.Name) and over.id in names and any(True for _ in source.calls(loaders.LOADER))


def _parts_read(source: Source, loop: ast.For, batch: ast.Name) -> bool:
    """Whether the parts of a batch are read from it elsewhere, by an index or by unpacking."""
    for name in within(loop, ast.Name):
        above = source.parent(name) if name.id == batch.id and isinstance(name.ctx, ast.Load) else None
        if isinstance(above, (ast.Subscript, ast.Starred)):
            return True
        if isinstance(above, ast.Assign) and above.value is name and isinstance(above.targets[0], ast.Tuple):
            return True
    return False


def _labels_unused(loop: ast.For) -> bool:
    """Whether a loss in the loop compares with the batch itself, so that labels are not needed."""
    name = within(loop.target, ast.Name)[-1].id
    targets = [call.args[1] for call in within(loop, ast.Call) if len(call.args) == 2]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _asked_once(source: Source, node: ast.AST, loader: str) -> bool:
    """Whether the program reads only one batch of a loader: a second `iter` would return the first again."""
    function = source.enclosing(node, ast.FunctionDef)
    if sum(_asks(call, loader) for call in source.all_calls) > 1 or source.enclosing(node, *AGAIN) is not None:
        return False
    name = function.name if function is not None else None
    calls = [
        call for call in source.all_calls if name in (getattr(call.func, "id", ""), getattr(call.func, "attr", ""))
    ]
    return len(calls) <= 1 and all(source.enclosing(call, *AGAIN) is None for call in calls)


def _asks(call: ast.Call, loader: str) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "next" and bool(call.args) and ast.unparse(call.args[0]) == loader
    asked = isinstance(call.func, ast.Attribute) and call.func.attr in ("next", "__next__")
    return asked and trees.receiver(call) == loader


def _is_batch(source: Source, expr: ast.expr) -> bool:
    """Whether the list is the target of a loop, as a batch is: its tensors are separate on purpose."""
    name, loop = expr.id if isinstance(expr, ast.Name) else "", source.enclosing(expr, ast.For)
    while loop is not None:
        if any(one.id == name for one in within(loop.target, ast.Name)):
            return True
        loop = source.enclosing(loop, ast.For)
    return False


def _is_list(held: Held | None) -> bool:
    return held is not None and held.kind == "list" and held.of in NUMBERS


def _converted(
    failure: Failure[ast.Subscript] | Failure[ast.Attribute] | Failure[ast.BinOp], used: ast.expr, maker: str
) -> Iterator[Fault]:
    """The list converted to an array: where it is created, after it is filled, or where it is used."""
    source, spelling = failure.source, spell(failure.subject, maker)
    around = (f"{spelling.code}(", ")")
    made = _made(source, used)
    edit: Edit
    if made is not None:
        edit, prior = failure.wrap(made, *around), 0.8
    elif isinstance(used, ast.Name) and _filled_before(source, used):
        edit, prior = InsertBefore(source.site(source.statement_of(used)), f"{used.id} = {used.id.join(around)}"), 0.75
    else:
        edit, prior = failure.wrap(used, *around), 0.65
    what = f"{failure.code(used)} is a list, and an array is expected"
    title = f"Convert the list with {spelling.code}"
    yield failure.fault(used, what, title, edit, *spelling.imports, prior=prior)


def _made(source: Source, used: ast.expr) -> ast.expr | None:
    """The one value of the list, if no call changes it later."""
    if not isinstance(used, (ast.Name, ast.Attribute)) or any(_changing(source, used)):
        return None
    bound = source.bindings(used)
    return bound[0] if len(bound) == 1 and isinstance(bound[0], (ast.Call, ast.ListComp, ast.List)) else None


def _changing(source: Source, used: ast.expr) -> Iterator[ast.Call]:
    """The calls that add elements to the list or remove some."""
    code = ast.unparse(used)
    for call in source.all_calls:
        changes = isinstance(call.func, ast.Attribute) and call.func.attr in GROWING
        if changes and trees.receiver(call) == code:
            yield call


def _filled_before(source: Source, used: ast.Name) -> bool:
    """Whether all changes of a variable are before its use, which is not in a loop."""
    function, statement = source.enclosing(used, ast.FunctionDef), source.statement_of(used)
    block = function.body if function is not None else source.tree.body
    return (
        statement in block
        and bool(source.bindings(used))
        and all(call.lineno < statement.lineno for call in _changing(source, used))
    )
