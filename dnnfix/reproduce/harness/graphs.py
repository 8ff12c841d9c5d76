"""Harness for unused functions and classes of TensorFlow programs: calls them and runs the graph or the result.

Arguments are tensors whose sizes the docstring or the code states, results of the program's other functions, or numbers
by their names. Where only the rank is known, sizes are tried out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.construct import instance, method, never, required
from dnnfix.reproduce.harness.roles import role_of
from dnnfix.reproduce.harness.sizes import GUESS, usual, value_of
from dnnfix.reproduce.harness.unused import unreached
from dnnfix.reproduce.syntax import shortened
from dnnfix.source.bindings import Definition
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

ACTION = EditAction.NETWORK

_BATCH = re.compile(r"(?:n|num|nb)?_?(?:batch(?:_?size)?|samples|examples|bs?|n|none|\?|-1)\Z", re.IGNORECASE)
_KNOWN_SIZES = (
    (re.compile(r"(?:\w*_)?(?:height|width|h|w|rows|cols|size)\Z", re.IGNORECASE), 16),
    (re.compile(r"(?:\w*_)?(?:channels?|c|depth)\Z", re.IGNORECASE), 3),
)
_APART = r"(?:\s*,\s*|\s+x\s+)"
"""What stands between the sizes of a shape in a docstring."""

BATCH, OTHER = 4, 5
"""The size of a batch, and of an axis whose name says nothing."""

_RANKS = {
    "conv2d": 4, "max_pool": 4, "avg_pool": 4, "depthwise_conv2d": 4, "conv2d_transpose": 4, "lrn": 4, "conv1d": 3,
    "conv3d": 5, "max_pool3d": 5, "xw_plus_b": 2, "dynamic_rnn": 3, "bidirectional_dynamic_rnn": 3, "fully_connected": 2,
    "max_pool2d": 4, "convolution2d": 4, "resize_images": 4, "resize_bilinear": 4, "resize_nearest_neighbor": 4,
}  # fmt: skip
"""The rank of what these functions take first."""

_IDS = {"embedding_lookup": 1, "gather": 1, "one_hot": 0, "embedding_lookup_sparse": 1}
"""Functions that take indices, and at which place."""

_READ = words("get_shape shape dtype set_shape graph op")
_ELSEWHERE = words("get_variable Variable placeholder zeros ones fill range constant random_normal truncated_normal")
"""Functions whose first argument is a name, a shape or a number, and no tensor."""


def is_built(source: Source, node: Definition) -> bool:
    """Whether a definition computes with TensorFlow when it is called or constructed."""
    return "tensorflow" in source.frameworks and any(_calls_tensorflow(source, part) for part in _begins(node))


def _begins(node: Definition) -> Iterator[ast.AST]:
    """What runs when a function is called, or an object made: of a class the methods that its `__init__` leads to."""
    if not isinstance(node, ast.ClassDef):
        yield node
        return
    pending, seen = ["__init__"], set[str]()
    while pending:
        name = pending.pop()
        part = method(node, name) if name not in seen else None
        seen.add(name)
        if part is not None:
            yield part
            pending += [inner.attr for inner in ast.walk(part) if isinstance(inner, ast.Attribute)]


def _calls_tensorflow(source: Source, node: ast.AST) -> bool:
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any((source.qualified(call.func) or "").startswith("tensorflow.") for call in calls)


def steps(case: Case, left: tuple[Definition, ...], most: int) -> Iterator[EditStep | Gap]:
    """A call for each of the definitions that nothing uses, those first whose results others take."""
    functions = [node for node in _uncalled(case.source) if is_built(case.source, node)]
    results = {name: node for node in functions for name in _returned(node)}
    ready: list[ast.FunctionDef] = []
    for node in functions:
        _in_order(node, results, ready, [])
    for function in ready[:most]:
        yield _called(case, function, results)
    for definition in left[:most]:
        if isinstance(definition, ast.ClassDef) and is_built(case.source, definition):
            yield _made(case, definition)


def _uncalled(source: Source) -> list[ast.FunctionDef]:
    """The functions that no other one calls; a parameter of the same name is another thing."""
    functions = [node for node in unreached(source) if isinstance(node, ast.FunctionDef)]
    called: set[str] = set()
    for definition in unreached(source):
        inner = [part for part in ast.walk(definition) if isinstance(part, ast.Call)]
        names = {call.func.id for call in inner if isinstance(call.func, ast.Name)} - {definition.name}
        called |= names - {part.arg for part in ast.walk(definition) if isinstance(part, ast.arg)}
    return [node for node in functions if node.name not in called]


def _in_order(
    node: ast.FunctionDef,
    results: dict[str, ast.FunctionDef],
    ready: list[ast.FunctionDef],
    above: list[ast.FunctionDef],
) -> None:
    """Put a function behind those whose results it takes."""
    if node in ready or node in above:
        return
    for parameter in required(node):
        maker = results.get(parameter.arg)
        if maker is not None and maker is not node:
            _in_order(maker, results, ready, [*above, node])
    ready.append(node)


def _returned(node: ast.FunctionDef) -> tuple[str, ...]:
    """The names that a function returns its values under; its own name where it returns one value without a name."""
    for part in ast.walk(node):
        if isinstance(part, ast.Return) and part.value is not None and part in node.body:
            values = part.value.elts if isinstance(part.value, (ast.Tuple, ast.List)) else [part.value]
            named = tuple(value.id if isinstance(value, ast.Name) else "" for value in values)
            return named if any(named) else (node.name,)
    return ()


def _made(case: Case, node: ast.ClassDef) -> EditStep | Gap:
    built = instance(case, node)
    if built.lacking:
        return never(node, "used", f"to build it {built.lacking} is missing")
    return _step(case, node, f"lambda: {built.code}", "{}", built.code, built.evidence, built.guesses)


def _called(case: Case, node: ast.FunctionDef, results: dict[str, ast.FunctionDef]) -> EditStep | Gap:
    given: dict[str, str] = {}
    evidence: list[str] = []
    for parameter in required(node):
        maker = results.get(parameter.arg)
        if maker is not None and maker is not node:
            given[parameter.arg] = f"('result', {parameter.arg!r})"
            evidence.append(f"line {maker.lineno}: {parameter.arg} is what {maker.name} gives")
            continue
        found = _argument(case, node, parameter.arg)
        if found is None:
            return never(node, "called", f"what its `{parameter.arg}` is is not told")
        given[parameter.arg], why = found
        evidence.append(why)
    code = "{" + ", ".join(f"{name!r}: {value}" for name, value in given.items()) + "}"
    guesses = sum(GUESS in why for why in evidence)
    return _step(case, node, node.name, code, f"{node.name}({', '.join(given)})", evidence, guesses)


def _step(
    case: Case, node: Definition, function: str, given: str, shown: str, evidence: list[str], guesses: int
) -> EditStep:
    """The call of the harness; it trains a loss itself only where the program never does."""
    trains = not case.source.words & {"minimize", "apply_gradients", "compute_gradients"}
    names = _returned(node) if isinstance(node, ast.FunctionDef) else ()
    return EditStep(
        ACTION,
        f"{shown} is called with made data, and what it builds is run",
        "; ".join([*dict.fromkeys(evidence), "the program defines it and never uses it"]),
        node.lineno,
        scaffold=Scaffold(end=f"made_graph({node.name!r}, {function}, {given}, {names!r}, {trains}, {guesses})"),
    )


# --- arguments


def _argument(case: Case, node: ast.FunctionDef, name: str) -> tuple[str, str] | None:
    """What stands for an argument, as code, and why."""
    told = _told(case, node, name)
    if told is not None:
        return told
    rank, ids, tensor = _used(case.source, node, name)
    if ids:
        return f"('tensor', [{BATCH}], 'ids')", f"line {ids}: {name} are indices"
    if tensor or role_of(name) in ("inputs", "targets") or name.endswith(("_batch", "_tensor", "logits")):
        kind = "ids" if role_of(name) == "targets" and "sparse" in " ".join(case.source.words) else "floats"
        why = (
            f"line {tensor}: {name} is a tensor of rank {rank}" if rank else f"{name}: a tensor whose rank is tried out"
        )
        return f"('tensor', {[BATCH, *_inner(rank)] if rank else None!r}, {kind!r})", f"{why}; {GUESS}"
    known = value_of(case, name, data=True)
    return None if known is None else (f"('value', {known.code})", known.evidence)


def _inner(rank: int) -> list[int]:
    """The sizes behind the batch of a tensor of that rank."""
    return {2: [8], 3: [20, 8], 4: [16, 16, 3], 5: [8, 8, 8, 3]}.get(rank, [])


def _told(case: Case, node: ast.FunctionDef, name: str) -> tuple[str, str] | None:
    """What the docstring says of an argument: `U: float Tensor [num_batch, height, width, 3]`, `a tuple (height, width)`."""
    said = ast.get_docstring(node, clean=False) or ""
    found = re.search(
        rf"^[ \t]*:?(?:param\s+)?[`*]*{re.escape(name)}[`*]*\s*(?:\([^)]*\))?\s*[:\-](?P<said>.*(?:\n(?![ \t]*\w+\s*:).*)?)",
        said,
        re.MULTILINE,
    )
    shape = (
        re.search(rf"[\[(]\s*(?P<sizes>[\w?\-]+(?:{_APART}[\w?\-]+)*)\s*,?\s*[\])]", found["said"]) if found else None
    )
    if found is None or shape is None:
        return None
    sizes = [_size(word) for word in re.split(_APART, shape["sizes"])]
    before = found["said"][: shape.start()].lower()
    why = f"line {node.lineno}: its docstring says `{shortened(found.group(), 80)}`"
    if re.search(r"\b(?:tuple|list|size|integers)\b", before) and "tensor" not in before:
        return f"('value', {tuple(sizes)!r})", why
    whole = re.search(r"\bint(?:eger)?s?\d*\b|\bind(?:ex|ices)\b|\bids?\b|labels?", before)
    return f"('tensor', {sizes!r}, {'ids' if whole else 'floats'!r})", why


def _size(word: str) -> int:
    """The size that a word of a shape stands for."""
    if word.lstrip("-").isdigit() and int(word) > 0:
        return int(word)
    if _BATCH.match(word):
        return BATCH
    size = next((size for pattern, size in _KNOWN_SIZES if pattern.match(word)), None)
    known = usual(word) if size is None else None
    return size or (int(known.code) if known is not None and known.code.isdigit() and known.code != "0" else OTHER)


def _used(source: Source, node: ast.FunctionDef, name: str) -> tuple[int, int, int]:
    """What the code does with an argument: its rank (0 is open), and the lines that show indices, and a tensor."""
    rank = ids = tensor = 0
    for use in ast.walk(node):
        if not (isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)):
            continue
        above = source.parent(use)
        if isinstance(above, ast.Attribute) and above.attr in _READ:
            tensor = tensor or use.lineno
            rank = max(rank, _read_at(source, above))
        elif isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Tuple):
            tensor, rank = tensor or use.lineno, max(rank, len(above.slice.elts))
        elif isinstance(above, ast.Call) and use in above.args:
            function = last_name(above.func)
            place = above.args.index(use)
            if _IDS.get(function) == place:
                ids = ids or use.lineno
            elif (source.qualified(above.func) or "").startswith("tensorflow.") and function not in _ELSEWHERE:
                tensor = tensor or use.lineno
                rank = max(rank, _RANKS.get(function, 0) if place == 0 else 0, _transposed(above) if place == 0 else 0)
    return rank, ids, tensor


def _read_at(source: Source, node: ast.Attribute) -> int:
    """The least rank of a tensor of whose shape an axis is read: `x.get_shape().as_list()[3]`, `a, b, c = x.shape`."""
    above = source.parent(node)
    while isinstance(above, (ast.Call, ast.Attribute)):
        above = source.parent(above)
    if (
        isinstance(above, ast.Subscript)
        and isinstance(above.slice, ast.Constant)
        and isinstance(above.slice.value, int)
    ):
        return above.slice.value + 1 if above.slice.value >= 0 else 0
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Tuple):
        return len(above.targets[0].elts)
    return 0


def _transposed(call: ast.Call) -> int:
    """The rank of what a call transposes, where it lists all axes."""
    axes = call.args[1] if last_name(call.func) == "transpose" and len(call.args) > 1 else None
    return len(axes.elts) if isinstance(axes, (ast.List, ast.Tuple)) else 0
