"""Edit action: neural network construction. Builds, feeds and trains networks that a program defines and never uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import clues, input_operations
from dnnfix.reproduce.harness import callers, functions, graphs, methods, roles
from dnnfix.reproduce.harness.construct import (
    CONTAINERS,
    LAYERS,
    Built,
    called,
    instance,
    is_model,
    kind_of,
    makes_network,
    method,
    never,
    required,
    returns_model,
)
from dnnfix.reproduce.harness.unused import FRAMEWORKS, TRAINING, is_active, leads_to, roots, unreached
from dnnfix.reproduce.syntax import assigned
from dnnfix.source.bindings import Definition
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import names_in

ACTION = EditAction.NETWORK

MOST = 4
"""Networks that a harness builds of one program."""

CANNOT_SHOW = "nothing states the input, so it was made to fit the first layer: a mismatch between the data and the network cannot show"

_SMALL = re.compile(r"cifar|mnist|small|tiny|test|18|11|simple|base", re.IGNORECASE)
_STATED = re.compile(
    r"(?:torch\.(?:randn|rand|zeros|ones)|np\.random\.(?:randn|rand)|np\.(?:zeros|ones))\(\(?\s*(?P<whole>\d+(?:\s*,\s*\d+)+)\s*\)?\s*[,)]"
    r"|(?:input_shape|batch_input_shape|input_size|shape)\s*=\s*\(\s*(?P<behind>\d+(?:\s*,\s*\d+)*)\s*,?\s*\)"
    r"|summary\(\s*\w+\s*,\s*(?:input_size\s*=\s*)?\(\s*(?P<summed>\d+(?:\s*,\s*\d+)*)\s*,?\s*\)"
)
_SPEAKS_OF_INPUT = re.compile(r"input|summary|\bx\s*=|\b(?:data|images?|img)\s*=|torch\.rand", re.IGNORECASE)
_OF_SOMETHING_ELSE = re.compile(r"noise|hidden|Parameter|weight|target|label|self\.|\bh0|\bc0|Variable\(torch\.zeros")


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Steps that define the missing parts of a training, and harnesses for definitions that nothing calls."""
    for found in methods.steps(case):
        yield found
        if isinstance(found, EditStep):
            case = case.taking(frozenset(name for name, _ in found.scaffold.definitions))
    yield from roles.steps(case)
    if not case.source.frameworks:
        return
    if is_active(case.source):
        yield from _instances(case)
        return
    left = roots(case.source)
    whole = next((node for node in left if _is_whole(case, node)), None)
    if whole is not None:
        yield EditStep(
            ACTION,
            f"{whole.name}() is called",
            "the program defines it and never calls it",
            whole.lineno,
            scaffold=Scaffold(end=f"{whole.name}()"),
        )
        return
    yield from _harness(case, left)


def _harness(case: Case, left: tuple[Definition, ...]) -> Iterator[EditStep | Gap]:
    """Steps for the roots: networks first, then what trains them, then what stands alone."""
    networks = list(_networks(case, left))
    trainers = [node for node in left if callers.is_trainer(case, node)]
    for node in networks[:MOST]:
        if not trainers:
            yield from _trained(case, node)
    for node in trainers[:2]:
        yield from callers.trainer(case, node, networks[0] if networks else None)
    if networks or trainers:
        return
    if any(graphs.is_built(case.source, node) for node in left):
        yield from graphs.steps(case, left, MOST)
        return
    for node in left[:MOST]:
        if isinstance(node, ast.ClassDef):
            yield from _alone(case, node)
        elif callers.is_loss(node):
            yield from callers.loss(case, node)
    yield from functions.steps(case, tuple(node for node in left if not callers.is_loss(node)))


def _networks(case: Case, left: tuple[Definition, ...]) -> Iterator[Definition]:
    """The roots that are networks or build one; of several functions that build the same one the smallest by its name."""
    seen: set[str] = set()
    builders = [node for node in left if _builds(case, node)]
    for node in sorted(builders, key=lambda n: (_tests(case, n) is None, not _SMALL.search(n.name), n.lineno)):
        made = leads_to(case.source, node)
        if not made & seen:
            yield node
        seen |= made
    for definition in left:
        if isinstance(definition, ast.ClassDef) and is_model(kind_of(case, definition)):
            runs = method(definition, "forward") or method(definition, "call")
            if runs or (kind_of(case, definition).endswith(".Sequential") and method(definition, "__init__")):
                yield definition


def _builds(case: Case, node: Definition) -> bool:
    return not isinstance(node, ast.ClassDef) and (returns_model(case, node) or _tests(case, node) is not None)


def _tests(case: Case, node: Definition) -> ast.expr | None:
    """The network that a function without parameters builds to try it out: `def test(): net = ResNet18(); …`."""
    if isinstance(node, ast.ClassDef) or required(node):
        return None
    for part in node.body:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            defined = case.source.definition(part.value.func)
            if isinstance(defined, ast.ClassDef) and is_model(kind_of(case, defined)):
                return part.value
            if defined is not None and returns_model(case, defined):
                return part.value
    return None


def _is_whole(case: Case, node: Definition) -> bool:
    """Whether a function that takes nothing trains a network by itself."""
    if isinstance(node, ast.ClassDef) or required(node):
        return False
    inner = leads_to(case.source, node)
    bodies = [node, *(other for other in unreached(case.source) if other.name in inner)]
    calls = (part for body in bodies for part in ast.walk(body) if isinstance(part, ast.Call))
    attributes = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
    return bool(attributes & TRAINING)


def _trained(case: Case, node: Definition) -> Iterator[EditStep | Gap]:
    """A harness for one network."""
    built, inner = _built(case, node)
    if built.lacking:
        yield never(node, "used", f"to build it {built.lacking} is missing")
        return
    shape, where = stated_input(case, inner)
    if shape is None and inner is not None and not _is_fed(case, inner):
        yield Gap(
            f"{node.name} is never used, and nothing tells what goes into it: state the shape of its input in a comment "
            "such as `# x = torch.randn(8, 3, 32, 32)`",
            node.lineno,
        )
        return
    told = where if shape is not None else CANNOT_SHOW
    yield EditStep(
        ACTION,
        f"{built.code} is built, fed with made data and trained for a moment",
        "; ".join([*built.evidence, told]),
        node.lineno,
        scaffold=Scaffold(end=training(case, built.code, shape, built.guesses)),
    )


def training(case: Case, code: str, shape: tuple[int, ...] | None, guesses: int = 0) -> str:
    """The call of the harness for what `code` makes."""
    called = [node.id for node in case.source.nodes(ast.Name)] + [node.arg for node in case.source.nodes(ast.arg)]
    speaks = any(re.search(r"class|label|categor", name, re.IGNORECASE) for name in called)
    table = input_operations.as_code(case.source)
    return f"made_network(lambda: {code}, {table}, {[shape] if shape else None!r}, {speaks}, {guesses})"


def _built(case: Case, node: Definition) -> tuple[Built, ast.ClassDef | None]:
    """Code that builds the network of a root, and its class where it is one of the program's."""
    if isinstance(node, ast.ClassDef):
        return instance(case, node), node
    tried = _tests(case, node)
    if tried is not None and not returns_model(case, node):
        defined = case.source.definition(tried.func) if isinstance(tried, ast.Call) else None
        plain = all(
            isinstance(
                n,
                (ast.Call, ast.Name, ast.Constant, ast.Load, ast.keyword, ast.Tuple, ast.List, ast.BinOp, ast.operator),
            )
            for n in ast.walk(tried)
        )
        local = {
            target.id
            for s in node.body
            if isinstance(s, ast.Assign)
            for target in s.targets
            if isinstance(target, ast.Name)
        }
        if plain and not local & names_in(tried):
            built = Built(ast.unparse(tried), [f"line {tried.lineno}: the program builds it like that"])
            return built, defined if isinstance(defined, ast.ClassDef) else None
    return called(case, node.name, required(node), within=[node]), None


def _is_fed(case: Case, node: ast.ClassDef) -> bool:
    """Whether the code of a class tells what goes into it."""
    inputs = input_operations.feeds(case.source).get(node.name)
    if inputs is None:
        return kind_of(case, node) in CONTAINERS
    needed = [one for one in inputs if one.required]
    return bool(needed) and all(
        (one.known and one.layer) or one.name.lower().startswith(("h", "prev", "state")) for one in needed
    )


def stated_input(case: Case, node: ast.ClassDef | None = None) -> tuple[tuple[int, ...] | None, str]:
    """The shape of the network's input without the batch, where comments and example calls agree on one, and where."""
    found: dict[tuple[int, ...], str] = {}
    for number, text in enumerate(case.source.text.split("\n"), 1):
        if not _SPEAKS_OF_INPUT.search(text) or _OF_SOMETHING_ELSE.search(text):
            continue
        match = _STATED.search(text)
        if match:
            group = next(name for name in ("whole", "behind", "summed") if match[name])
            sizes = tuple(int(size) for size in match[group].split(","))
            found.setdefault(sizes[1:] if group == "whole" else sizes, f"line {number}: {' '.join(text.split())[:80]}")
    if len(found) == 1:
        return next(iter(found.items()))
    return _commented(case, node) if node is not None and not found else (None, "")


def _commented(case: Case, node: ast.ClassDef) -> tuple[tuple[int, ...] | None, str]:
    """The shape that the report, or a comment or docstring of a `forward`, gives for its input before anything is done to it."""
    forward = method(node, "forward") or method(node, "call")
    inputs = required(forward, bound=True) if forward is not None else []
    if forward is None or len(inputs) != 1:
        return None, ""
    name = inputs[0].arg
    stored = (
        n.lineno for n in ast.walk(forward) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name
    )
    first = min(stored, default=(forward.end_lineno or forward.lineno) + 1)
    for clue in (*clues.shapes_of(case, name), *clues.messages(case, clues.INPUTS)):
        if clue.line is not None and not forward.lineno <= clue.line < first:
            continue
        sizes = tuple(size for size in clue.shape[1:] if size is not None)
        if sizes and len(sizes) == len(clue.shape) - 1 and (clue.shape[0] is None or len(clue.shape) == 4):
            return sizes, clue.evidence
    return None, ""


def _alone(case: Case, node: ast.ClassDef) -> Iterator[EditStep | Gap]:
    """A harness for a class that is no network: a layer of Keras, a function of autograd, a data set."""
    kind = kind_of(case, node)
    if kind in LAYERS or kind.startswith("keras.layers."):
        shape, where = stated_input(case)
        built = instance(case, node)
        if built.lacking or shape is None:
            lacks = built.lacking or "the shape of its input"
            yield Gap(f"the layer {node.name} is never used, and {lacks} is missing: add a model with it", node.lineno)
            return
        yield EditStep(
            ACTION,
            f"{built.code} is put into a model of its own, which is trained for a moment",
            "; ".join([*built.evidence, where]),
            node.lineno,
            scaffold=Scaffold(end=training(case, built.code, shape, built.guesses)),
        )
    elif kind == "torch.autograd.Function":
        yield from callers.function_of_autograd(node)
    elif kind.startswith("torch.utils.data.") and kind.endswith("Dataset"):
        yield from callers.data_set(node)
    elif (init := method(node, "__init__")) is not None and _uses_framework(case.source, init):
        built = instance(case, node)
        if built.lacking:
            yield never(node, "used", f"to build it {built.lacking} is missing")
            return
        yield EditStep(
            ACTION,
            f"{built.code} is built",
            "; ".join([*built.evidence, "the program defines it and never uses it"]),
            node.lineno,
            scaffold=Scaffold(end=built.code),
        )


def _uses_framework(source: Source, node: ast.AST) -> bool:
    names = (source.qualified(part.func) or "" for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(name.startswith(FRAMEWORKS) for name in names)


def _instances(case: Case) -> Iterator[EditStep | Gap]:
    """Networks that the module builds and never calls: they are fed where they stand."""
    latest = case.latest
    if latest is not None and (latest.steps or (latest.network is not None and latest.network.calls)):
        return
    source = case.source
    built: dict[str, ast.Assign] = {}
    for statement in (one for one in source.tree.body if isinstance(one, ast.Assign) and assigned(one)):
        if isinstance(statement.value, ast.Call) and makes_network(case, statement.value):
            built[assigned(statement)] = statement
    for name in [name for name in built if _is_used(source, name)]:
        del built[name]
    if method_calls(source, *TRAINING, "train_step"):
        return
    for name, statement in list(built.items())[:MOST]:
        defined = source.definition(statement.value.func) if isinstance(statement.value, ast.Call) else None
        node = defined if isinstance(defined, ast.ClassDef) else None
        shape, where = stated_input(case, node)
        if shape is None and node is not None and not _is_fed(case, node):
            yield Gap(f"{name} is never called, and nothing tells what goes into it: state its shape", statement.lineno)
            continue
        yield EditStep(
            ACTION,
            f"{name} is fed with made data and trained for a moment",
            where or CANNOT_SHOW,
            statement.lineno,
            scaffold=Scaffold(end=training(case, name, shape)),
        )


def _is_used(source: Source, name: str) -> bool:
    """Whether a network is called, handed on or put to use anywhere; to be printed, summed up or moved is no use."""
    harmless = words("summary add compile parameters to cuda train eval state_dict named_parameters")
    for node in source.nodes(ast.Name):
        if node.id != name or isinstance(node.ctx, ast.Store):
            continue
        parent = source.parent(node)
        if isinstance(parent, ast.Attribute):
            if parent.attr not in harmless | {"layers", "weights", "children", "modules", "get_config", "summary"}:
                return True
        elif isinstance(parent, ast.Call):
            if parent.func is node or source.qualified(parent.func) not in ("builtins.print", "keras.utils.plot_model"):
                return True
        elif not isinstance(parent, (ast.Expr, ast.FormattedValue)):
            return True
    return False
