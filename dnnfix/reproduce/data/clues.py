"""Evidence for shapes in a program and a report: comments, docstrings, messages, first and last layers, losses.

Every clue has its place. Of several clues about one array the report counts first, then comments and printed outputs,
then what the code does with the data, and the network's own input last: data made to fit the network cannot show a
mismatch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.network.from_source import network_from_source
from dnnfix.records import Call, Component, Network
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.syntax import comments, shortened
from dnnfix.source.program import Source, once
from dnnfix.source.tree import last_name

Shape = tuple[int | None, ...]

INPUTS, TARGETS = "<inputs>", "<targets>"
"""What messages speak of without a name."""

FROM_NETWORK = "the network's own {what}, for nothing else tells: that data and network do not fit could not show"

_BATCH = frozenset({"none", "batch", "batch_size", "batchsize", "n", "b", "bs", "?", "-1", "samples", "n_samples", "num_samples",
                    "examples", "m", "nb_samples", "batch size", "n_examples", "..."})  # fmt: skip
_SIZE = r"(?:-?\d[\d_]*|None|\?|[A-Za-z_]\w*(?: size)?)"
_SHAPE = rf"(?:torch\.Size\()?[(\[]\s*({_SIZE}(?:\s*[,x×*]\s*{_SIZE})*\s*,?)\s*[)\]]\)?"
_CROSSED = r"(\d[\d_]*(?:\s*[x×]\s*\d[\d_]*)+)"
_ANY = re.compile(rf"{_SHAPE}|(?<![\w.]){_CROSSED}(?![\w.])")
_NAMED = re.compile(
    rf"(?<![\w.'\"])(?P<name>[A-Za-z_]\w*)(?:\.(?:shape|size\(\))|['\"]?\s+(?:has |with |of |is of |in |its )?(?:the )?shape)?"
    rf"\s*(?:[:=]+>?|->|is|are|of|has|was|=|,)?\s*(?:shape|size|dimensions?)?\s*(?:is|of|:|=|are)?\s*{_SHAPE}"
)
_SHAPE_OF = re.compile(
    rf"(?:shape|size|dimensions?)\s+of\s+(?:the\s+|my\s+)?[`'\"]?(?P<name>[A-Za-z_]\w*)[`'\"]?(?:\s+(?:data|array|tensor))?"
    rf"\s*(?:is|are|:|=)?\s*[`'\"]?{_SHAPE}",
    re.IGNORECASE,
)
_MESSAGES = (
    (INPUTS, re.compile(rf"checking (?:model )?input[^\n]*?but got array with shape {_SHAPE}")),
    (TARGETS, re.compile(rf"checking (?:model )?target[^\n]*?but got array with shape {_SHAPE}")),
    (INPUTS, re.compile(rf"Full shape received: {_SHAPE}")),
    (INPUTS, re.compile(rf"but got \d+-dimensional input of size {_SHAPE}")),
    (TARGETS, re.compile(rf"[Tt]arget size \({_SHAPE}\)")),
)


@dataclass(frozen=True, slots=True)
class Clue:
    """A shape that something states; a lower `strength` is preferred where clues disagree."""

    shape: Shape
    evidence: str
    line: int | None = None
    strength: int = 0


@dataclass(frozen=True, slots=True)
class Ends:
    """The input and the output of the network, as far as its code states them.

    `inputs` is without the batch; None stands for a size that is open. `vocabulary` is set where it takes token ids.
    `batch` is set where the network has a batch size of its own. `form` is what its loss compares with: "classes",
    "one-hot", "binary", "labels" or "values".
    """

    inputs: Shape | None = None
    vocabulary: int | None = None
    batch: int | None = None
    outputs: int | None = None
    form: str | None = None
    loss: str = ""
    line: int | None = None
    first: str = ""
    per_step: bool = False
    spatial: bool = False
    several: tuple[Shape, ...] = ()

    def classes(self, or_untold: bool = False) -> int:
        """The number of classes of the outputs; 0 where they are not classes, and without `or_untold` where no loss
        shows it.
        """
        told = self.form in ("classes", "one-hot") or (or_untold and self.form is None)
        return (self.outputs or 0) if told else 0


def shapes_of(case: Case, name: str) -> list[Clue]:
    """The shapes that comments, docstrings and the report state for a name, the strongest evidence first."""
    found = [clue for other, clue in _said(case.source) if other == name]
    found += [clue for other, clue in _reported(case.said) if other == name]
    rebound = _rebound(case.source, name)
    return [clue for clue in found if rebound is None or (clue.line or 0) <= rebound]


def messages(case: Case, role: str) -> list[Clue]:
    """The shapes of inputs or of targets in error messages of the report or of the latest run."""
    return [clue for other, clue in _reported(case.said) if other == role]


def contradiction(clues: list[Clue]) -> tuple[Clue, Clue] | None:
    """Two clues about one piece of data that cannot both be right; the number of samples may differ."""
    for place, first in enumerate(clues):
        for second in clues[place + 1 :]:
            a, b = first.shape, second.shape
            if len(a) != len(b) or any(x != y for x, y in zip(a[1:], b[1:], strict=True) if x and y):
                return first, second
    return None


@once
def _said(source: Source) -> tuple[tuple[str, Clue], ...]:
    """Shapes in comments and docstrings with the names that they are said of."""
    return tuple(_read(source))


def _read(source: Source) -> Iterator[tuple[str, Clue]]:
    constants = _constants(source)
    assigned = _assigned(source)
    printed = _printed(source)
    for line, text, alone in comments(source):
        named = False
        for pattern in (_SHAPE_OF, _NAMED):
            for match in pattern.finditer(text):
                shape = _shape(match[2], constants)
                if shape is not None and match["name"].lower() not in ("shape", "size", "torch", "dim", "output"):
                    named = True
                    yield match["name"], Clue(shape, f"line {line}: #{text.rstrip()}", line, 1)
        if named:
            continue
        sizes = _ANY.search(text)
        shape = _shape(sizes[1] or sizes[2], constants) if sizes else None
        if shape is None or (alone and len(shape) < 2 and line - 1 not in printed):
            continue
        owners = (
            printed.get(line) or (() if alone else assigned.get(line, ())) or (printed.get(line - 1) if alone else ())
        )
        for name in owners or ():
            yield name, Clue(shape, f"line {line}: #{text.rstrip()}", line, 1)


def _reported(said: str) -> Iterator[tuple[str, Clue]]:
    for role, pattern in _MESSAGES:
        for match in pattern.finditer(said):
            shape = _shape(match[1], {})
            if shape is not None:
                yield role, Clue(shape, f"the report: {shortened(match.group(), 90)}", None, 0)
    for pattern in (_SHAPE_OF, _NAMED):
        for match in pattern.finditer(said):
            shape = _shape(match[2], {})
            if shape is not None:
                yield match["name"], Clue(shape, f"the report: {shortened(match.group(), 90)}", None, 0)


def _shape(text: str, constants: dict[str, int]) -> Shape | None:
    """The sizes in a text; None where one of them is a word that means nothing here."""
    sizes: list[int | None] = []
    for part in (part.strip() for part in re.split(r"[,x×*]" if re.fullmatch(r"[\d\s_,x×*]+", text) else ",", text)):
        if not part:
            continue
        if part.lstrip("-").replace("_", "").isdigit():
            sizes.append(int(part) if int(part) > 0 else None)
        elif part.lower() in _BATCH:
            sizes.append(None)
        elif part in constants:
            sizes.append(constants[part])
        elif not sizes and re.fullmatch(r"[A-Za-z_]\w*", part):
            sizes.append(None)
        else:
            return None
    return tuple(sizes) if sizes and any(sizes) else None


@once
def _constants(source: Source) -> dict[str, int]:
    """The names that are one integer in all of the program."""
    found: dict[str, set[int | None]] = {}
    for node in source.nodes(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                value = node.value.value if isinstance(node.value, ast.Constant) else None
                found.setdefault(target.id, set()).add(value if isinstance(value, int) else None)
    return {name: value for name, values in found.items() if len(values) == 1 and (value := next(iter(values)))}


@once
def _assigned(source: Source) -> dict[int, tuple[str, ...]]:
    """The names that a line assigns, where it assigns one."""
    found: dict[int, tuple[str, ...]] = {}
    for node in source.nodes(ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if len(names) == 1:
            found[node.end_lineno or node.lineno] = (names[0],)
    return found


@once
def _printed(source: Source) -> dict[int, tuple[str, ...]]:
    """The names whose shape a line prints or ends with, as a notebook's cell does."""
    found: dict[int, tuple[str, ...]] = {}
    for node in source.nodes(ast.Expr):
        inside = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr in ("shape", "size")]
        names = {n.value.id for n in inside if isinstance(n.value, ast.Name)}
        if len(names) == 1:
            found[node.end_lineno or node.lineno] = tuple(names)
    return found


@once
def _rebound(source: Source, name: str) -> int | None:
    """The first line outside of functions that gives a name a value; a function's own variable is another one."""
    stored = (node for node in source.nodes(ast.Name) if node.id == name and isinstance(node.ctx, ast.Store))
    return min((node.lineno for node in stored if source.enclosing(node, ast.FunctionDef) is None), default=None)


# --- the ends of the network


@once
def ends(source: Source) -> Ends:
    """The input and output of the network, and the target form of its loss."""
    network = network_from_source(source)
    layers = [call for call in network.calls if _is_layer(network, call)]
    if not layers:
        made = [c for c in network.components if c.kind == "layer"]
        first, last = (made[0], made[-1]) if made else (None, None)
    else:
        first, last = network.component(layers[0].component), network.component(layers[-1].component)
    found = _input(first, [network.component(c.component) for c in layers])
    if found[0] is None:
        found = (_written_input(source), *found[1:])
    losses = [c for c in network.components if c.kind == "loss"]
    loss = losses[0].name if losses else next((c.name for c in network.calls if _is_loss(c.name)), "")
    loss = loss or _written_loss(source)
    outputs = _deconvolved(source, layers) or _units(network, layers, last) or _written_units(source)
    form = _form(loss, outputs)
    line = first.site.line if first is not None and first.site is not None else None
    spatial = bool(layers) and layers[-1].name.rpartition(".")[2].startswith(
        ("Conv2", "Conv3", "Convolution2", "Deconv")
    )
    flat = any(call.name.endswith(("Flatten", "flatten", ".view", ".reshape", "mean")) or "Global" in call.name
               or "Adaptive" in call.name for call in network.calls)  # fmt: skip
    spatial = spatial and not flat and not _flattens(source)
    return Ends(
        found[0],
        found[1],
        found[2],
        outputs,
        form,
        loss,
        line,
        first.name if first else "",
        _per_step(network, layers),
        spatial,
        _several(source),
    )


@once
def asked(source: Source) -> tuple[Shape, str, int] | None:
    """What a layer asks for where the shape is the data's own (`input_shape=x.shape[1:]`): sizes, layer and line."""
    for call in source.all_calls:
        name = last_name(call.func)
        if (shape := _ASKING.get(name.replace("olution", ""))) and (source.qualified(call.func) or "").startswith(
            _KERAS
        ):
            return shape, name, call.lineno
        if name in ("Flatten", "Reshape", "Dense", "Embedding", "TimeDistributed"):
            return None
    return None


_KERAS = ("keras.", "tensorflow.keras.")
_ASKING: dict[str, Shape] = {
    **dict.fromkeys(("Conv2D", "SeparableConv2D", "MaxPooling2D", "AveragePooling2D", "ZeroPadding2D"), (64, 64, 3)),
    **dict.fromkeys(("Conv1D", "MaxPooling1D", "LSTM", "GRU", "SimpleRNN", "CuDNNLSTM", "CuDNNGRU"), (None, 8)),
}
"""By layer, what it takes: images of a plain size, series of some numbers."""


def _deconvolved(source: Source, layers: list[Call]) -> int | None:
    """The filters of a network's last layer, where that is one of Keras 1 that nothing else knows any more."""
    if not layers or not layers[-1].name.endswith("Deconvolution2D"):
        return None
    calls = [call for call in source.all_calls if last_name(call.func) == "Deconvolution2D" and call.args]
    last = max(calls, key=lambda call: call.lineno, default=None)
    return _evaluated(last.args[0], _constants(source)) if last is not None else None


def _flattens(source: Source) -> bool:
    """Whether a program flattens something: in Keras, what only its own losses and metrics flatten does not count."""
    if not {"flatten", "Flatten", "view"} & source.words:
        return False
    named = [*source.nodes(ast.Attribute), *source.nodes(ast.Name)]  # not in a comment, such as "in order to view"
    found = [node for node in named if last_name(node) in ("flatten", "Flatten", "view")]
    return any(source.qualified(node) not in _OF_LOSSES for node in found)


_OF_LOSSES = ("keras.backend.flatten", "tensorflow.keras.backend.flatten", "keras.backend.batch_flatten")


def _written_input(source: Source) -> Shape | None:
    """The shape in the program's first `input_shape=`, `Input(…)` or `input_dim=`, whoever takes it."""
    constants = _constants(source)
    for call in source.all_calls:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if last_name(call.func) in ("Input", "InputLayer"):
            given.setdefault("input_shape", given.get("shape") or (call.args[0] if call.args else None))  # type: ignore[arg-type]
            given.setdefault("batch_input_shape", given.get("batch_shape"))  # type: ignore[arg-type]
        for key in ("input_shape", "batch_input_shape"):
            node = given.get(key)
            if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
                shape = tuple(_evaluated(part, constants) for part in node.elts)
                return shape if key == "input_shape" else shape[1:]
        if (size := _evaluated(given.get("input_dim"), constants)) and last_name(call.func) != "Embedding":
            return (size,)
    return None


def _several(source: Source) -> tuple[Shape, ...]:
    """The shapes of all inputs of a network that has more than one, in their order."""
    constants = _constants(source)
    found: list[Shape] = []
    for call in source.all_calls:
        if last_name(call.func) == "Input":
            given = [keyword.value for keyword in call.keywords if keyword.arg == "shape"] or call.args[:1]
            if given and isinstance(given[0], ast.Tuple):
                found.append(tuple(_evaluated(part, constants) for part in given[0].elts))
    return tuple(found) if len(found) > 1 else ()


def _written_units(source: Source) -> int | None:
    """The units of the last layer that is written with some, where the network was not understood."""
    constants = _constants(source)
    for call in reversed(source.all_calls):
        if last_name(call.func) in ("Dense", "LSTM", "GRU", "SimpleRNN", "Linear"):
            given = [k.value for k in call.keywords if k.arg in ("units", "output_dim", "out_features")]
            place = 1 if last_name(call.func) == "Linear" else 0
            given += call.args[place : place + 1]
            return _evaluated(given[0], constants) if given else None
    return None


def _written_loss(source: Source) -> str:
    """A loss that is only named: `loss="mse"` of a `compile` that was not understood, or a function of TensorFlow 1."""
    for call in source.all_calls:
        for keyword in call.keywords:
            if (
                keyword.arg == "loss"
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, str)
            ):
                return keyword.value.value
        if (name := last_name(call.func)).endswith(
            ("cross_entropy_with_logits", "mean_squared_error", "CrossEntropyLoss")
        ):
            return name.removesuffix("_v2")
    return ""


def _evaluated(node: ast.AST | None, constants: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = _evaluated(node.left, constants), _evaluated(node.right, constants)
        return sides[0] * sides[1] if sides[0] and sides[1] else None
    return None


def _is_layer(network: Network, call: Call) -> bool:
    component = network.component(call.component)
    return component is not None and component.kind == "layer" and not component.name.endswith(("Input", "InputLayer"))


def _is_loss(name: str) -> bool:
    return name.startswith("torch.nn.functional.") and name.endswith(("loss", "entropy", "_logits"))


def _input(first: Component | None, layers: list[Component | None]) -> tuple[Shape | None, int | None, int | None]:
    """The shape that the first layer takes, without the batch, the vocabulary and the batch size."""
    if first is None:
        return None, None, None
    args = first.args
    whole = _ints(args.get("batch_input_shape") or args.get("batch_shape"))
    batch = whole[0] if whole else None
    shape = whole[1:] if whole else _ints(args.get("input_shape") or args.get("shape"))
    if shape is None and isinstance(args.get("input_dim"), int) and not first.name.endswith("Embedding"):
        size = args["input_dim"]
        length = args.get("input_length")
        recurrent = first.name.endswith(("LSTM", "GRU", "RNN", "Conv1D", "Convolution1D"))
        shape = (length if isinstance(length, int) else None, size) if recurrent else (size,)  # type: ignore[assignment]
    if first.name.endswith("Embedding"):
        words = args.get("input_dim", args.get("num_embeddings"))
        length = args.get("input_length")
        length = length if isinstance(length, int) else shape[0] if shape else None
        return (length,), words if isinstance(words, int) else None, batch
    if shape is None and isinstance(size := args.get("in_features"), int):
        shape = (size,)
    if shape is None and isinstance(size := args.get("in_channels"), int):
        rank = next((int(c) for c in first.name if c.isdigit()), 2)
        shape = (size, *([_fitting(first, layers)] * rank))
    if shape is None and isinstance(size := args.get("input_size"), int):
        shape = (None, size)
    return shape, None, batch


def _fitting(first: Component, layers: list[Component | None]) -> int | None:
    """The height and width of images that make the first flat layer of a torch network fit."""
    for side in (28, 32, 64, 96, 128, 224, 227, 256, 48, 100, 150, 50, 84, 105, 112, 160, 192, 299, 300, 16, 20, 40):
        size: float = side
        channels = first.args.get("in_channels")
        for layer in layers:
            if layer is None:
                continue
            name = layer.name.rpartition(".")[2]
            if name.startswith("Conv") or "Pool" in name:
                if name.startswith("Adaptive"):
                    return None
                kernel = _number(layer.args.get("kernel_size"), 1)
                stride = _number(layer.args.get("stride"), kernel if "Pool" in name else 1)
                size = (size + 2 * _number(layer.args.get("padding"), 0) - kernel) // max(1, stride) + 1
                channels = layer.args.get("out_channels", channels)
            elif name == "Linear":
                wanted = layer.args.get("in_features")
                if isinstance(channels, int) and size >= 1 and wanted == channels * size * size:
                    return side
                break
    return None


def _number(value: object, default: int) -> int:
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _ints(value: object) -> Shape | None:
    if isinstance(value, (list, tuple)) and all(item is None or isinstance(item, int) for item in value):
        return tuple(value)
    return None


def _units(network: Network, layers: list[Call], last: Component | None) -> int | None:
    """The number of values that the last layer with units gives."""
    called = [network.component(call.component) for call in layers]
    made = [component for component in network.components if component.kind == "layer"]
    wrapped = any(c is not None and c.name.endswith(("TimeDistributed", "Bidirectional")) for c in called[-2:])
    order = called if called and not wrapped else made
    for component in [*reversed(order), last]:
        if component is None:
            continue
        for key in ("units", "out_features", "output_dim", "filters", "nb_filter", "out_channels", "hidden_size"):
            if key in component.args:
                value = component.args[key]
                return value if isinstance(value, int) else None
        if component.name.endswith(("Dense", "Linear")):
            return None
    return None


def _per_step(network: Network, layers: list[Call]) -> bool:
    """Whether a recurrent network gives an output for each step."""
    for call in reversed(layers):
        component = network.component(call.component)
        if component is not None and component.name.endswith(("LSTM", "GRU", "SimpleRNN", "TimeDistributed")):
            return component.args.get("return_sequences") is True or component.name.endswith("TimeDistributed")
        if component is not None and component.name.endswith(("Flatten", "Pooling1D", "Lambda")):
            return False
    return False


def _form(loss: str, outputs: int | None) -> str | None:
    """What a loss compares with."""
    last = loss.rpartition(".")[2].replace("_", "").lower().removesuffix("loss")
    if last in ("crossentropy", "nll", "sparsecategoricalcrossentropy", "sparsesoftmaxcrossentropywithlogits"):
        return "classes"
    if last in (
        "categoricalcrossentropy",
        "softmaxcrossentropywithlogits",
        "kldiv",
        "kldivergence",
        "categoricalhinge",
    ):
        return "one-hot"
    if last in ("bce", "bcewithlogits", "binarycrossentropy", "sigmoidcrossentropywithlogits", "softmargin", "hinge",
                "binarycrossentropywithlogits", "multilabelsoftmargin"):  # fmt: skip
        return "labels" if outputs is not None and outputs > 1 else "binary"
    if last:
        return "values"
    return None
