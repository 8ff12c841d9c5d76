"""Estimates a network's multiplications per sample, to limit synthetic data to what a short run can process.

A run of a few seconds cannot pass 512 samples through a network that needs a second for one batch of them. Where
nothing states the number of samples, fewer are made then.
"""

from __future__ import annotations

import ast
import math

from dnnfix.detect.loops.loaders import LOADER
from dnnfix.source.arguments import argument_value, keyword_value
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

EPOCH = 10_000_000_000
"""Multiplications of one pass forward over all samples: two or three seconds on one core."""

IMAGE_CHANNELS = 4
"""Channels that an image has at most: where so few stand first in Keras, it is told or set to take them there."""

BATCH = 3 * EPOCH
"""Multiplications of one pass forward over a batch from which on a run may be over before its first step."""

_GATES = {"LSTM": 4, "CuDNNLSTM": 4, "GRU": 3, "CuDNNGRU": 3, "SimpleRNN": 1, "RNN": 1}


def affordable(source: Source, shape: tuple[int, ...], most: int, least: int) -> int:
    """How many samples of a shape a short training can use: `most` for an ordinary network, fewer for a large one."""
    needed = multiplications(source, shape)
    fewer = most
    while fewer > least and fewer * needed > EPOCH:
        fewer //= 2
    return max(least, fewer)


def few_of_a_batch(source: Source, shape: tuple[int, ...], little_data: bool = False) -> int:
    """The number of samples a data set may have if one full batch is too expensive for a run; 0 if it is not.

    It is 0 too where the program counts on full batches. With `little_data`, a whole batch was too much already.
    """
    loaders = list(source.calls(LOADER))
    sizes = [size for call in loaders if (size := argument_value(call, "batch_size", 1)) is not None]
    if "drop_last" in source.words or any(_shapes_more(source, size) for size in sizes):
        return 0
    batch = max((_whole(source, size) for size in sizes), default=0)
    if little_data:
        return FEWEST
    needed = multiplications(source, shape)
    return min(batch, max(FEWEST_TO_NORMALIZE, EPOCH // needed)) if needed * batch > BATCH else 0


TOGETHER = 2**30
"""Bytes that the tensors of one pass over a whole set of images may take, of which some are held at the same time."""

HELD = 4
"""Outputs of a layer that are held together: of the convolution, with its bias, bent, and made smaller."""


def few_together(source: Source, shape: tuple[int, int, int], samples: int) -> int:
    """How many test images (height, width, channels) a program that feeds all of them at once to a graph may have.

    0 where as many as there are can be passed, where nothing is fed, and where the program counts on their number.
    """
    said = [source.parent(node) for node in source.nodes(ast.Constant) if node.value == samples]
    if "feed_dict" not in source.words or any(not isinstance(use, (ast.Assign, ast.Call)) for use in said):
        return 0  # steps are counted with such a number as well: `steps = 10000`, `range(10000)`
    height, width, channels = shape
    widest = max((kernel[3] for kernel in _kernels(source) if kernel[2] == channels), default=0)
    fit = TOGETHER // (max(1, height * width * widest) * 4 * HELD)
    return 0 if not widest or fit >= samples else max(FEW_TOGETHER, fit // 100 * 100)


FEW_TOGETHER = 500
"""Test images at least."""


def _kernels(source: Source) -> list[tuple[int, int, int, int]]:
    """The shapes of convolutions' kernels in a program for TensorFlow 1: height, width, channels in and out."""
    found = []
    lists: tuple[ast.List | ast.Tuple, ...] = (*source.nodes(ast.List), *source.nodes(ast.Tuple))
    for node in lists:
        sizes = [_whole(source, size) for size in node.elts] if len(node.elts) == 4 else []
        if sizes and all(sizes) and sizes[0] == sizes[1] <= 11 and sizes[3] > 1:
            found.append((sizes[0], sizes[1], sizes[2], sizes[3]))
    return found


_COUNTING = frozenset({"DataLoader", "print", "format", "range", "len", "int", "float", "round", "min", "max", "ceil"})
"""Calls that may be given the size of batches and make no tensor of that size."""


def _shapes_more(source: Source, size: ast.expr) -> bool:
    """Whether the size of batches is also the size of something else: `torch.zeros(batch_size, 20)`, `x.view(opt.batch, -1)`."""
    if not isinstance(size, (ast.Name, ast.Attribute)):
        return False
    written = ast.unparse(size)
    uses = [node for node in source.nodes(type(size)) if ast.unparse(node) == written]
    calls = [source.parent(use) for use in uses]
    return any(isinstance(call, ast.Call) and last_name(call.func) not in _COUNTING for call in calls)


FEWEST_TO_NORMALIZE = 8
"""Samples of a data set at least: layers that normalize want some."""

FEWEST = 2
"""Samples where even so few as above were too much."""


def multiplications(source: Source, shape: tuple[int, ...]) -> int:
    """The multiplications for one sample, after the layers in their order in the text; branches count one after the other.

    Each class of the program begins with the sample, one that begins with a transposed convolution with a single place.
    """
    if not shape:
        return 0
    first = len(shape) > 2 and ("torch" in source.frameworks or shape[0] <= IMAGE_CHANNELS < min(shape[1:]))
    width = shape[0] if first else shape[-1]
    places = math.prod(shape[1:] if first else shape[:-1])
    sample = width, places
    total, owner = 0, None
    for call in source.all_calls:
        kind = _layer(source, call)
        units = _number(source, call, 1 if "torch" in source.frameworks else 0)
        twice = 2 if _layer(source, source.parent(call)) == "Bidirectional" else 1
        inside = source.enclosing(call, ast.ClassDef)
        if kind and inside is not owner:
            width, places = (0, 1) if "Transpose" in kind else sample
            owner = inside
        if kind == "Flatten":
            width, places = width * places, 1
        elif "Pool" in kind:
            places = 1 if "Global" in kind else max(1, places // (4 if "2" in kind else 8 if "3" in kind else 2))
        elif kind.startswith(("UpSampling", "Upsample")):
            places *= 4 if "2" in kind else 2
        elif kind in _GATES and units:
            total += places * _GATES[kind] * units * (units + width) * twice
            width = units * twice
            sequences = keyword_value(call, "return_sequences")
            places = places if first or (isinstance(sequences, ast.Constant) and sequences.value) else 1
        elif "Transpose" in kind and units:
            given = _whole(source, call.args[0]) if "torch" in source.frameworks and call.args else width
            kernel, stride = _kernel(source, call, kind), _stride(source, call, kind)
            total += places * kernel * given * units
            width, places = units, kernel if places == 1 and stride == 1 else places * stride
        elif "Conv" in kind and units:
            places = max(1, places // _stride(source, call, kind))
            total += places * _kernel(source, call, kind) * width * units * (8 if "LSTM" in kind else 1)
            width = units
        elif kind in ("Dense", "Linear") and units:
            taken = _whole(source, argument_value(call, "in_features", 0)) if kind == "Linear" else width
            if taken and taken != width:  # what comes to it was flattened on its way
                width, places = taken, 1
            total += places * width * units
            width = units
    return total


def _layer(source: Source, node: ast.AST | None) -> str:
    """The class of the layer that a call builds, without its module; empty where it builds none."""
    name = source.qualified(node.func) if isinstance(node, ast.Call) else None
    return name.rpartition(".")[2] if name and name.startswith(("keras.layers.", "torch.nn.")) else ""


_UNITS = ("units", "filters", "out_channels", "out_features", "hidden_size", "output_dim", "nb_filter")


def _number(source: Source, call: ast.Call, place: int) -> int:
    """How wide the output of a layer is, by its name or at its place."""
    given = next((value for name in _UNITS if (value := keyword_value(call, name)) is not None), None)
    if given is None and len(call.args) > place:
        given = call.args[place]
    return _whole(source, given)


def _whole(source: Source, node: ast.expr | None) -> int:
    """A whole number that an expression is, where it is one for certain: a constant, a name for one, a product of such.

    A parameter is what it is without an argument.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _whole(source, node.left) * _whole(source, node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return _whole(source, node.left) // (_whole(source, node.right) or 1)
    values = [node] if isinstance(node, ast.Constant) else list(source.bindings(node)) if node is not None else []
    function = source.enclosing(node, ast.FunctionDef) if isinstance(node, ast.Name) else None
    if not values and isinstance(node, ast.Name) and function is not None:
        pairs = zip(function.args.args[::-1], function.args.defaults[::-1], strict=False)
        values = [default for argument_, default in pairs if argument_.arg == node.id]
    value = values[0].value if len(values) == 1 and isinstance(values[0], ast.Constant) else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _stride(source: Source, call: ast.Call, kind: str) -> int:
    """How many places of the input there are for one of the output of a convolution; the reverse of a transposed one."""
    axes = 3 if "3" in kind else 1 if "1" in kind else 2
    torch = "torch" in source.frameworks
    step = argument_value(call, "stride", 3) if torch else keyword_value(call, "strides")
    if isinstance(step, (ast.Tuple, ast.List)):
        return math.prod(_whole(source, part) or 1 for part in step.elts)
    return int((_whole(source, step) or 1) ** axes)


def _kernel(source: Source, call: ast.Call, kind: str) -> int:
    """How many places the kernel of a convolution covers."""
    axes = 3 if "3" in kind else 1 if "1" in kind else 2
    size = argument_value(call, "kernel_size", 2 if "torch" in source.frameworks else 1)
    if isinstance(size, (ast.Tuple, ast.List)):
        return math.prod(_whole(source, part) or 3 for part in size.elts)
    return int((_whole(source, size) or 3) ** axes)
