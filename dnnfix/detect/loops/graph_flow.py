"""Where the values of a program have a graph that leads back to weights, and where they lost it, as its text tells.

A small interpreter goes through each function, and through the statements outside of all, and keeps for each name whether what it
holds can be differentiated. It knows what is made by networks and leaves, what cuts (`detach()`, `.data`, new tensors, comparisons,
`no_grad`), and what passes both on. What a fragment leaves open is `UNKNOWN`; of several ways to a place the one with a graph counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TypeVar

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import Function, function_around
from dnnfix.records.record import record
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, receiver, within


class Flow(IntEnum):
    """How a value hangs together with weights; of the parts of a value the highest counts."""

    DATA = 0
    """It does not come from a network."""
    CUT = 1
    """It was computed by a network, and its graph is cut off."""
    UNKNOWN = 2
    GRAPH = 3
    """It has a graph."""


@record
class Value:
    """What is known of a value: where it was cut, and by what in words."""

    flow: Flow
    cut: ast.expr | ast.stmt | None = None
    how: str = ""
    is_sure: bool = False
    """Whether what was cut is known to have had a graph."""


@record
class Pass:
    """A backward pass, or the end of a function that computes what is trained: `end` is what has to have a graph there."""

    end: ast.expr
    value: Value
    function: Function | None


@record
class Lost:
    """A part that is added to what is trained and was cut before."""

    part: ast.expr
    value: Value
    target: str


@record
class Kept:
    """A value that is added to, or appended to, what holds the sum or the list."""

    node: ast.expr
    keeper: str
    value: Value
    statement: ast.stmt


_Read = TypeVar("_Read", Pass, Lost, Kept)


@record
class Account:
    """What going through a text found."""

    passes: tuple[Pass, ...]
    lost: tuple[Lost, ...]
    results: tuple[Pass, ...]
    """The ends of functions: what they give back."""
    given: tuple[Pass, ...]
    """The first arguments of layers in methods of networks."""
    scaled: tuple[Lost, ...]
    """Powers by which something with a graph is scaled, and which lost theirs."""
    flagged: tuple[Pass, ...]
    """What `requires_grad` is set on."""
    kept: tuple[Kept, ...]


DATA, UNKNOWN, GRAPH = Value(Flow.DATA), Value(Flow.UNKNOWN), Value(Flow.GRAPH)
KEPT_ELSEWHERE = Value(Flow.UNKNOWN, None, "an attribute")
"""What an object holds: a buffer, a network, data, and whether it has a graph another method tells."""

BY_NETWORK = Value(Flow.UNKNOWN, None, "a method of a network")
"""What a method of a network gives that is not seen: its loss, perhaps."""

UNGRADED = words("no_grad inference_mode set_grad_enabled")
METHODS = {
    "detach": "detach()",
    "detach_": "detach_()",
    "item": "item()",
    "numpy": "numpy()",
    "tolist": "tolist()",
    "argmax": "argmax()",
    "argmin": "argmin()",
    "argsort": "argsort()",
    "nonzero": "nonzero()",
    "round": "round()",
    "sign": "sign()",
    "floor": "floor()",
    "ceil": "ceil()",
    "long": "long()",
    "int": "int()",
    "byte": "byte()",
    "bool": "bool()",
    "eq": "a comparison",
    "ne": "a comparison",
    "gt": "a comparison",
    "lt": "a comparison",
    "ge": "a comparison",
    "le": "a comparison",
}
"""Methods, and functions of torch, whose result has no gradient, with what they are called in a message."""
PLAIN = words(".data item() numpy() tolist() Variable() torch.tensor() torch.Tensor() float()")
"""Cuts that say nothing of being meant."""
MAKERS = words(
    "torch.tensor torch.Tensor torch.FloatTensor torch.DoubleTensor torch.HalfTensor torch.LongTensor torch.IntTensor torch.from_numpy "
    "torch.cuda.FloatTensor torch.cuda.LongTensor torch.autograd.Variable torch.ByteTensor torch.BoolTensor torch.cuda.DoubleTensor"
)
"""Calls whose tensor has a graph of its own."""
FRESH = words(
    "torch.zeros torch.ones torch.empty torch.rand torch.randn torch.randint torch.full torch.arange torch.linspace torch.eye torch.randperm "
    "torch.zeros_like torch.ones_like torch.rand_like torch.randn_like torch.full_like torch.empty_like torch.normal torch.bernoulli "
    "torch.multinomial torch.load torch.device torch.numel torch.is_tensor torch.manual_seed torch.one_hot torch.nn.functional.one_hot"
)
NUMBERS = words("builtins.float builtins.int builtins.bool builtins.round builtins.abs")
OF_NUMBERS = ("numpy.", "math.", "sklearn.", "scipy.", "pandas.", "random.")
JOINING = words("cat concat hstack vstack")
INDICES = words("max min topk sort median mode kthvalue cummax cummin")
"""Functions that give values and their indices, if they are asked along an axis."""
ATTRIBUTES = words(
    "shape dtype device ndim is_leaf requires_grad grad is_cuda size grad_fn names layout itemsize nelement numel dim training"
)
PASSING = words(
    """view reshape float double half to cuda cpu mean sum squeeze unsqueeze transpose permute t contiguous clone flatten expand
    repeat add sub mul div pow sqrt exp log abs clamp norm max min type type_as size masked_fill gather index_select view_as expand_as matmul mm
    bmm dot softmax log_softmax sigmoid tanh relu narrow chunk split unbind repeat_interleave masked_select copy next iter items keys values get"""
)
"""Methods of tensors whose result has a graph if the tensor has."""
OF_VALUES = words("item detach cpu cuda to numpy float double sum mean tolist")
"""What is done with a loss to get its values."""
OF_DATA = re.compile(
    r"(^|_)(x|y|xs|ys|data|datas?|inputs?|targets?|labels?|images?|imgs?|batch|batches|masks?|ids?|rewards?|done|dones|device|args|config|cfg|opt|epochs?|i|j"
    r"|idx|step|lr|alpha|beta|gamma|lambda\w*|lam|eps|epsilon|n|num|(?<!loss_)(?<!task_)weights?|real|gt|truth|ground_truth|true|onehot|len\w*|size|temperature|tau"
    r"|scale|returns?|advantages?|coef\w*|ratio|samples?|noise|action|actions|tgt|trg|src|text|texts|seq|loader|dataloader|dl|criterion)\d*(_|$)"
    r"|^(?-i:[A-Z_0-9]{2,}|X|Y)$|(train|test|val)(_?(set|loader|data|iter))|label|target|loader",
    re.IGNORECASE,
)
OF_TARGETS = re.compile(r"target|label|truth|true|^gt|device|config|batch_size|loader|criterion", re.IGNORECASE)
OF_COEFFICIENT = re.compile(r"(^|_)(lambda\w*|lmbda|lambd|coeff?s?|coefficients?|ratio|margin)(_|$|\d)", re.IGNORECASE)
SETTINGS = words("args cfg config opt opts hparams hp flags FLAGS conf")
"""Usual names of what holds the settings of a program: numbers."""
OF_WEIGHTS = re.compile(r"weight|bias|param|embed|kernel|token", re.IGNORECASE)
OF_OUTPUT = re.compile(r"loss|pred|output|logits?|(^|[._])outs?$|y_?hat|scores?$", re.IGNORECASE)
OF_REPORT = re.compile(r"items?$|dict|logs?$|detail|stat|metric|info|value", re.IGNORECASE)
"""Names of what a loss function gives back besides the loss, to be reported: most let go of the graph first."""
OF_LAYER = re.compile(
    r"(^|[._])(conv|fc|lin|linear|layer|dense|dec|enc|head|out|proj|embed|lstm|gru|rnn|bn|norm|block|attn|classif|mlp|up|down|pool|act|relu|feature|stem|body|trunk|backbone|gat|gcn|rel|model|net|cell)",
    re.IGNORECASE,
)


@once
def account(source: Source) -> Account:
    """What each function and the statements outside of all do to graphs."""
    runs: list[_Run] = []
    outer = _Run(source, None)
    outer.run(source.tree.body)
    runs.append(outer)
    for function in structure.functions(source):
        run = _Run(source, function)
        run.run(function.body)
        runs.append(run)
    return Account(
        tuple(_distinct(each for run in runs for each in run.passes)),
        tuple(_distinct(each for run in runs for each in run.lost)),
        tuple(_distinct(each for run in runs for each in run.results)),
        tuple(_distinct(each for run in runs for each in run.given)),
        tuple(_distinct(each for run in runs for each in run.scaled)),
        tuple(_distinct(each for run in runs for each in run.flagged)),
        tuple(_distinct(each for run in runs for each in run.kept)),
    )


def _distinct(found: Iterable[_Read]) -> Iterator[_Read]:
    """The reading of each place with the most of a graph: in the first turn of a loop, what it carries round is not known."""
    last: dict[ast.expr, _Read] = {}
    for each in found:
        place = each.end if isinstance(each, Pass) else each.part if isinstance(each, Lost) else each.node
        before = last.get(place)
        if before is None or each.value.flow >= before.value.flow:
            last[place] = each
    yield from last.values()


def joined(values: Iterable[Value]) -> Value:
    """What is known of a value with these parts, or of one that came in one of these ways."""
    return max(values, key=lambda one: one.flow, default=DATA)


class _Run:
    """One way through the statements of a function."""

    def __init__(self, source: Source, function: Function | None, depth: int = 0) -> None:
        self.source = source
        self.function = function
        self.depth = depth
        self.known: dict[str, Value] = {}
        self.off: list[ast.expr | ast.stmt] = []
        """What keeps gradients from being recorded here."""
        self.passes: list[Pass] = []
        self.lost: list[Lost] = []
        self.results: list[Pass] = []
        self.given: list[Pass] = []
        self.flagged: list[Pass] = []
        self.scaled: list[Lost] = []
        self.kept: list[Kept] = []
        self.parts: list[tuple[Value, ...]] = []
        """What the function gives back, one by one, where it gives several values back."""
        if function is not None:
            self.off += [one for one in function.decorator_list if _turns_off(source, one)]
            if not self.off and _is_ungraded(source, function):
                self.off.append(function)
            owner = source.parent(function)
            self.owner = owner if isinstance(owner, ast.ClassDef) else None
            for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
                self.known[each.arg] = self._parameter(each.arg)
            given = [each.arg for each in function.args.args if each.arg not in ("self", "cls")]
            if is_loss_function(source, function) and not OF_TARGETS.search(given[0]):
                self.known[given[0]] = GRAPH
        else:
            self.owner = None

    def _parameter(self, name: str) -> Value:
        """What a parameter holds: in a function that computes a loss, what is no target has a graph."""
        if name in ("self", "cls") or OF_DATA.search(name):
            return DATA
        return GRAPH if is_loss_function(self.source, self.function) else UNKNOWN

    # --- statements

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Go through statements in their order."""
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                if isinstance(node.value, ast.BinOp):
                    self._summands(node.value, target)
                self._stored(node, target, value)
                self._bind(target, node.value, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.Expr):
            self._expression(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            over = self.value(node.iter)
            self._turns(node.body, lambda: self._names(node.target, over))
            self.run(node.orelse)
        elif isinstance(node, ast.While):
            self._turns(node.body, lambda: None)
        elif isinstance(node, ast.If):
            self._branches([node.body, node.orelse])
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            off = [item.context_expr for item in node.items if _turns_off(self.source, item.context_expr)]
            on = any("enable_grad" in _text(item.context_expr) for item in node.items)
            before, self.off = self.off, [] if on else [*self.off, *off]
            self.run(node.body)
            self.off = before
        elif isinstance(node, ast.Try):
            self.run(node.body)
            self._branches([*[handler.body for handler in node.handlers], []])
            self.run([*node.orelse, *node.finalbody])
        elif isinstance(node, ast.Return) and node.value is not None:
            self.results.append(Pass(node.value, self.value(node.value), self.function))
            if isinstance(node.value, ast.BinOp):
                self._summands(node.value, node.value)
            elements = node.value.elts if isinstance(node.value, ast.Tuple) else ()
            self.parts.append(tuple(self.value(each) for each in elements))

    def _turns(self, body: Sequence[ast.stmt], begin: Callable[[], None]) -> None:
        """Go through the body of a loop; again, where the first turn left other values to the second."""
        for _ in range(2):
            before = {name: each.flow for name, each in self.known.items()}
            begin()
            self._branches([body, []])
            if all(before.get(name) is each.flow for name, each in self.known.items() if name in before):
                return

    def _branches(self, ways: Sequence[Sequence[ast.stmt]]) -> None:
        before = self.known
        after: list[dict[str, Value]] = []
        for way in ways:
            self.known = dict(before)
            self.run(way)
            after.append(self.known)
        self.known = {}
        for name in dict.fromkeys(name for each in after for name in each):
            self.known[name] = joined(each[name] for each in after if name in each)

    def _augmented(self, node: ast.AugAssign) -> None:
        name, value = _text(node.target), self.value(node.value)
        before = self._named(node.target) if not isinstance(node.target, ast.Subscript) else self.value(node.target)
        if before.flow is Flow.GRAPH and value.flow is Flow.CUT and isinstance(node.op, ast.Add):
            self.lost.append(Lost(node.value, value, name))
        if isinstance(node.op, ast.Add):
            self.kept.append(Kept(node.value, name, value, node))
        self._set(name, joined([before, value]))

    def _summands(self, value: ast.expr, target: ast.expr) -> None:
        """Note the parts of a sum that were cut where another part has a graph."""
        parts = list(_parts(_unscaled(value)))
        readings = [self.value(part) for part in parts]
        name = _text(target)
        holders = [part for part in parts if name in {_text(each) for each in ast.walk(part)}]
        for part in parts if len(parts) > 1 and len(holders) == 1 else ():
            if part is not holders[0]:
                self.kept.append(Kept(part, name, self.value(part), self.source.statement_of(value)))
        has_graph = any(each.flow is Flow.GRAPH for each in readings)
        may_have = any(each.flow is Flow.UNKNOWN for each in readings)  # or else the backward pass raises
        if len(parts) > 1 and (has_graph or may_have):
            for part, each in zip(parts, readings, strict=True):
                named = any(structure.OF_LOSS.search(_text(one)) for one in within(part, ast.Name, ast.Attribute))
                of_loss = each.how in PLAIN and (each.is_sure or named)
                if each.flow is Flow.CUT and (has_graph or of_loss):
                    self.lost.append(Lost(part, each, _text(target)))

    def _factors(self, node: ast.BinOp, left: Value, right: Value) -> None:
        """Note a power that is a factor of what has a graph, and was computed from it with its own graph cut off: that of a focal loss."""
        for side, other in ((node.left, right), (node.right, left)):
            for power in within(side, ast.BinOp) if other.flow is Flow.GRAPH else ():
                base = self.value(power.left) if isinstance(power.op, ast.Pow) else DATA
                if base.flow is Flow.CUT and base.is_sure and base.how in PLAIN:
                    self.scaled.append(Lost(power, base, ""))

    def _stored(self, node: ast.Assign, target: ast.expr, value: Value) -> None:
        """Note what goes into a place of its own in a store, or is joined to what a name holds."""
        call = node.value
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
            self.kept.append(Kept(call, _text(target.value), value, node))
        if isinstance(call, ast.Call) and last_name(call.func) == "add" and call.args:
            added = [call.func.value, *call.args] if isinstance(call.func, ast.Attribute) else call.args
            if _text(target) in {_text(each) for each in added}:
                self.kept.append(Kept(call.args[-1], _text(target), self.value(call.args[-1]), node))
        joins = isinstance(call, ast.Call) and last_name(call.func) in JOINING and call.args
        if joins and isinstance(call, ast.Call) and isinstance(call.args[0], (ast.Tuple, ast.List)):
            name, joined_ones = _text(target), call.args[0].elts
            if name in {_text(each) for each in joined_ones}:
                for each in joined_ones:
                    if _text(each) != name:
                        self.kept.append(Kept(each, name, self.value(each), node))

    def _expression(self, node: ast.expr) -> None:
        value = self.value(node)
        call = node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return
        name, on = call.func.attr, _text(call.func.value)
        if name in ("update", "add_") and call.args:
            self.kept.append(Kept(call.args[0], on, self.value(call.args[0]), self.source.statement_of(call)))
        elif name in ("append", "extend", "insert", "add", "appendleft", "put", "push") and call.args:
            given = self.value(call.args[-1])
            if name in ("append", "extend", "appendleft", "insert"):
                self.kept.append(Kept(call.args[-1], on, given, self.source.statement_of(call)))
            self._set(on, joined([self.known.get(on, DATA), given]))
        elif name == "detach_":
            self._set(on, value)
        elif name == "set_grad_enabled" and call.args:
            self.off = [call] if _text(call.args[0]) == "False" else []

    def _bind(self, target: ast.expr, expr: ast.expr, value: Value) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, expr, value)
        elif isinstance(target, ast.Attribute) and target.attr == "requires_grad":
            if not (isinstance(expr, ast.Constant) and expr.value is False):
                on = self.value(target.value)
                self.flagged.append(Pass(target.value, on, self.function))
                if on.flow is Flow.DATA:
                    self._set(_text(target.value), GRAPH)
        elif isinstance(target, ast.Attribute) and target.attr in ("data", "grad"):
            pass
        elif isinstance(target, ast.Subscript):
            self._set(_text(target.value), joined([self.value(target.value), value]))
        elif isinstance(target, (ast.Name, ast.Attribute)):
            self._set(_text(target), value)

    def _unpack(self, target: ast.Tuple | ast.List, expr: ast.expr, value: Value) -> None:
        if isinstance(expr, (ast.Tuple, ast.List)) and len(expr.elts) == len(target.elts):
            found = [self.value(each) for each in expr.elts]
            for one, each, reading in zip(target.elts, expr.elts, found, strict=True):
                self._bind(one, each, reading)
            return
        body = structure.callee(self.source, expr) if isinstance(expr, ast.Call) else None
        if isinstance(expr, ast.Call) and body is not None and self.depth < 3:
            given = [self.value(each) for each in (*expr.args, *(k.value for k in expr.keywords))]
            parts = self._own(body, expr, given)[1]
            if len(parts) == len(target.elts):
                for one, reading in zip(target.elts, parts, strict=True):
                    self._names(one, reading)
                return
        of_loss = isinstance(expr, ast.Call) and bool(structure.OF_LOSS.search(_text(expr.func)))
        for place, one in enumerate(target.elts):
            reported = place > 0 and OF_REPORT.search(_text(one))
            if of_loss and value.flow is Flow.GRAPH and (reported or not structure.OF_LOSS.search(_text(one))):
                self._names(one, UNKNOWN)
                continue
            indices = place == 1 and isinstance(expr, ast.Call) and last_name(expr.func) in INDICES
            self._names(one, _cut(value, expr, "the index of a maximum") if indices else value)

    def _names(self, target: ast.expr, value: Value) -> None:
        for name in within(target, ast.Name):
            is_data = value.flow is Flow.UNKNOWN and OF_DATA.search(name.id)
            self.known[name.id] = DATA if is_data else value

    def _set(self, name: str, value: Value) -> None:
        self.known[name] = value
        for each in [key for key in self.known if key.startswith((f"{name}.", f"{name}["))]:
            del self.known[each]

    # --- expressions

    def value(self, node: ast.expr) -> Value:
        """What is known of the value of an expression."""
        if isinstance(node, ast.Call):
            return self._recorded(self._call(node))
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.BinOp):
            sides = [self.value(node.left), self.value(node.right)]
            if isinstance(node.op, ast.Mult):
                self._factors(node, *sides)
            return self._recorded(joined(sides))
        if isinstance(node, ast.Compare):
            parts = joined([self.value(node.left), *(self.value(each) for each in node.comparators)])
            return _cut(parts, node, "a comparison")
        if isinstance(node, ast.BoolOp):
            return joined(self.value(each) for each in node.values)
        if isinstance(node, ast.UnaryOp):
            return self.value(node.operand) if not isinstance(node.op, ast.Not) else DATA
        if isinstance(node, ast.IfExp):
            chosen, decision = joined([self.value(node.body), self.value(node.orelse)]), self.value(node.test)
            return decision if chosen.flow is Flow.DATA and decision.flow is Flow.CUT else chosen
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return joined(self.value(each) for each in node.elts)
        if isinstance(node, ast.Dict):
            return joined(self.value(each) for each in node.values)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._comprehension(node)
        if isinstance(node, (ast.Starred, ast.Await)):
            return self.value(node.value)
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self._set(node.target.id, value)
            return value
        return DATA

    def _recorded(self, value: Value) -> Value:
        """A value as it is where gradients may not be recorded."""
        if self.off and value.flow in (Flow.GRAPH, Flow.UNKNOWN):
            return Value(Flow.CUT, self.off[-1], "no_grad", value.flow is Flow.GRAPH)
        return value

    def _named(self, node: ast.expr) -> Value:
        text = _text(node)
        if text in self.known:
            return self.known[text]
        if isinstance(node, ast.Name):
            return DATA if OF_DATA.search(node.id) or self.source.qualified(node) else UNKNOWN
        return KEPT_ELSEWHERE

    def _attribute(self, node: ast.Attribute) -> Value:
        if node.attr in ATTRIBUTES:
            return DATA
        above = self.source.parent(node)
        if node.attr == "data" and not (
            isinstance(above, ast.Subscript)
            and isinstance(above.slice, ast.Constant)
            and isinstance(above.slice.value, str)
        ):
            return _cut(self.value(node.value), node, ".data")
        text = _text(node)
        if text in self.known:
            return self.known[text]
        if node.attr == "indices":
            return _cut(self.value(node.value), node, "the index of a maximum")
        if self.source.qualified(node):
            return DATA
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", *SETTINGS):
            is_setting = node.value.id in SETTINGS and not structure.is_network(self.source, node)
            return DATA if is_setting or OF_TARGETS.search(node.attr) else KEPT_ELSEWHERE
        if structure.is_network(self.source, node.value):
            return GRAPH if OF_WEIGHTS.search(node.attr) else KEPT_ELSEWHERE
        return self.value(node.value)

    def _element(self, node: ast.Subscript) -> Value:
        text = _text(node)
        if text in self.known:
            return self.known[text]
        value = self.value(node.value)
        call = node.value
        second = isinstance(node.slice, ast.Constant) and node.slice.value == 1
        if isinstance(call, ast.Call) and second and last_name(call.func) in INDICES:
            return _cut(value, node, "the index of a maximum")
        return value

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        before = dict(self.known)
        for part in node.generators:
            self._names(part.target, self.value(part.iter))
        value = self.value(node.elt)
        self.known = before
        return value

    def _call(self, call: ast.Call) -> Value:
        """What a call gives; the arguments are looked at once, in their order."""
        source, func = self.source, call.func
        given = [self.value(each) for each in (*call.args, *(k.value for k in call.keywords))]
        name, last = source.qualified(func) or "", last_name(func)
        if last in ("backward", "manual_backward"):
            self._backward(call)
            return DATA
        if isinstance(func, ast.Name) and func.id == "self":
            return GRAPH
        if isinstance(func, ast.Attribute):
            found = self._method(call, func, name, given)
            if found is not None:
                return found
        return self._function(call, name, last, given)

    def _method(self, call: ast.Call, func: ast.Attribute, name: str, given: list[Value]) -> Value | None:
        """What a method of a tensor gives; `None` where it is a method of something else."""
        if name:
            return None
        last = func.attr
        if last in ATTRIBUTES:
            return DATA
        if last in METHODS:
            return _cut(self.value(func.value), call, METHODS[last])
        if last == "generate" and structure.is_network(self.source, func.value):
            return Value(Flow.CUT, call, "generate()", True)
        if last in ("type", "to", "astype") and any(_is_integer(each) for each in call.args):
            return _cut(self.value(func.value), call, f"{last}()")
        if last == "requires_grad_":
            return self._flag(call, func)
        if structure.is_network(self.source, func) or last == "forward" or structure.callee(self.source, call):
            return None
        if isinstance(func.value, ast.Name) and func.value.id in ("self", "cls"):
            return None
        on = self.value(func.value)
        if last in PASSING:
            return joined([on, *given])
        if on.flow is not Flow.GRAPH and structure.is_network(self.source, func.value):
            if last.startswith("forward"):
                return GRAPH
            return UNKNOWN if structure.OF_EVALUATION.search(last) else BY_NETWORK
        return UNKNOWN if on.flow is not Flow.GRAPH and not _is_text(func.value) else on

    def _flag(self, call: ast.Call, func: ast.Attribute) -> Value:
        on = self.value(func.value)
        off = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is False
        if off:
            return _cut(on, call, "requires_grad_(False)")
        self.flagged.append(Pass(func.value, on, self.function))
        if on.flow is Flow.DATA:
            if isinstance(func.value, ast.Name):
                self._set(func.value.id, GRAPH)
            return GRAPH
        if on.flow is Flow.CUT and not isinstance(func.value, ast.Name):
            statement = self.source.statement_of(call)
            name = _text(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            return on if OF_OUTPUT.search(name) else GRAPH  # a new leaf, on purpose
        return on

    def _function(self, call: ast.Call, name: str, last: str, given: list[Value]) -> Value:
        """What a function, a network or a class gives."""
        source, parts = self.source, joined(given)
        flagged = keyword_value(call, "requires_grad")
        is_flagged = isinstance(flagged, ast.Constant) and flagged.value is True
        if name in MAKERS:
            if is_flagged and call.args and _is_loss(call.args[0]) and _becomes_loss(source, call):
                self.flagged.append(Pass(call.args[0], given[0], self.function))
            if parts.flow is Flow.DATA and is_flagged and not _is_named_loss(source, call):
                return GRAPH
            whatever = is_flagged and parts == KEPT_ELSEWHERE
            return _cut(UNKNOWN if whatever else parts, call, f"{_text(call.func)}()")
        if name in FRESH:
            return GRAPH if is_flagged and not _is_named_loss(source, call) else DATA
        if name == "torch.as_tensor":
            holds = bool(call.args) and isinstance(call.args[0], (ast.List, ast.ListComp))
            return _cut(parts, call, f"{_text(call.func)}()") if holds else parts
        if name.startswith("torch.") and last in METHODS:
            return _cut(parts, call, METHODS[last])
        if name == "torch.where":
            return joined(given[1:]) if len(given) > 1 else DATA
        if name in NUMBERS or name.startswith(OF_NUMBERS):
            return _cut(parts, call, f"{_text(call.func)}()") if name != "builtins.abs" else parts
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return GRAPH
        if name.startswith("torch.autograd.grad"):
            return UNKNOWN
        if name.startswith("torch."):
            return parts
        if name.startswith("builtins."):
            passing = last in (
                "sum",
                "max",
                "min",
                "list",
                "tuple",
                "zip",
                "enumerate",
                "reversed",
                "sorted",
                "dict",
                "map",
            )
            return parts if passing else DATA
        body = structure.callee(source, call)
        if body is not None and self.depth < 3:
            return self._own(body, call, given)[0]
        if structure.is_network(source, call.func) or self._is_layer(call):
            if call.args:
                self.given.append(Pass(call.args[0], given[0], self.function))
            return GRAPH
        if structure.OF_LOSS.search(_text(call.func)):
            return joined([parts, UNKNOWN]) if self._hands_over_network(call) else parts
        return parts if name and parts.flow is not Flow.GRAPH else UNKNOWN

    def _own(self, body: Function, call: ast.Call, given: list[Value]) -> tuple[Value, tuple[Value, ...]]:
        """What a function of this text gives for what it is given, as a whole and one by one."""
        names = [each.arg for each in (*body.args.posonlyargs, *body.args.args)]
        if names[:1] == ["self"] and isinstance(call.func, ast.Attribute):
            names = names[1:]
        known = dict(zip(names, given[: len(call.args)], strict=False))
        for keyword, value in zip(call.keywords, given[len(call.args) :], strict=True):
            if keyword.arg is not None:
                known[keyword.arg] = value
        return _given_back(self.source, body, tuple(known.items()), self.depth + 1)

    def _is_layer(self, call: ast.Call) -> bool:
        """Whether a call in a method of a network calls one of its layers."""
        func = call.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name) or func.value.id != "self":
            return False
        if structure.OF_LOSS.search(func.attr):
            return False
        made = self.source.constructor(func)
        named = (self.source.qualified(made.func) or "") if made is not None else ""
        if named.startswith("torch.nn."):
            return not named.endswith("Loss")
        return made is None and bool(OF_LAYER.search(func.attr)) and bool(call.args)

    def _hands_over_network(self, call: ast.Call) -> bool:
        """Whether a call is given a network, which it may call."""
        return any(structure.is_network(self.source, each) for each in call.args)

    def _backward(self, call: ast.Call) -> None:
        """Note what a backward pass goes back from."""
        func = call.func
        passes_on = call.args and isinstance(func, ast.Attribute)
        end: ast.expr = func.value if isinstance(func, ast.Attribute) else call
        text = _text(end)
        if passes_on and re.search(r"accelerator|fabric|autograd|engine$|^self$", text):
            end = call.args[0]
        if isinstance(end, ast.Call) and last_name(end.func) in ("scale", "scale_loss") and end.args:
            end = end.args[0]
        self.passes.append(Pass(end, self.value(end), self.function))
        if isinstance(end, ast.BinOp):
            self._summands(end, end)


@once
def _given_back(
    source: Source, body: Function, given: tuple[tuple[str, Value], ...], depth: int
) -> tuple[Value, tuple[Value, ...]]:
    """What a function gives back where its parameters hold these values, as a whole and one by one."""
    inner = _Run(source, body, depth)
    inner.known.update(given)
    inner.run(body.body)
    whole = joined(each.value for each in inner.results) if inner.results else UNKNOWN
    alike = len({len(each) for each in inner.parts}) == 1
    return whole, tuple(joined(each) for each in zip(*inner.parts, strict=True)) if alike else ()


@once
def is_loss_function(source: Source, function: Function | None) -> bool:
    """Whether a function, or the method of a class, computes a loss of a prediction and a target that it is given."""
    if function is None:
        return False
    owner = source.parent(function)
    named = (
        owner.name if isinstance(owner, ast.ClassDef) and function.name in ("forward", "__call__") else function.name
    )
    if not re.search(r"loss|criterion", named, re.IGNORECASE) or structure.OF_EVALUATION.search(named):
        return False
    given = [each.arg for each in function.args.args if each.arg != "self"]
    own_calls = within(function, ast.Call)
    return len(given) >= 2 and not any(structure.is_network(source, call.func) for call in own_calls)


@once
def _is_ungraded(source: Source, function: Function, depth: int = 0) -> bool:
    """Whether a function is defined where no gradients are recorded, or is called there and nowhere else."""
    if UNGRADED.isdisjoint(source.words):
        return False
    around = source.enclosing(function, ast.FunctionDef)
    if around is not None and any(_turns_off(source, one) for one in around.decorator_list):
        return True
    calls = structure.callers(source, function)
    if isinstance(source.parent(function), ast.ClassDef) and any(receiver(call) != "self" for call in calls):
        return False  # the method of another class may have its name
    return bool(calls) and all(_is_called_ungraded(source, call, depth) for call in calls)


def _is_called_ungraded(source: Source, call: ast.Call, depth: int) -> bool:
    """Whether a call stands where no gradients are recorded, by a block around it or by the callers of its function."""
    around = function_around(source, call)
    by_callers = around is not None and depth < 3 and _is_ungraded(source, around, depth + 1)
    return structure.without_gradients(source, call) or by_callers


def _turns_off(source: Source, expr: ast.expr) -> bool:
    """Whether a context or decorator keeps gradients from being recorded, whatever a variable says."""
    text = _text(expr)
    if "set_grad_enabled" in text:
        return text.endswith("(False)")
    return structure.is_ungraded(source, expr)


def _cut(value: Value, node: ast.expr, how: str) -> Value:
    """A value after something that cuts it: nothing, where there is no graph to lose."""
    if value.flow in (Flow.GRAPH, Flow.UNKNOWN) and value != KEPT_ELSEWHERE:
        return Value(Flow.CUT, node, how, value.flow is Flow.GRAPH)
    if value.flow is Flow.CUT and value.how in ("detach()", ".data") and how == "numpy()":
        return Value(Flow.CUT, value.cut, how, value.is_sure)  # an array: no new layer is meant to go on from there
    return value


def _parts(expr: ast.expr) -> Iterator[ast.expr]:
    """The summands of a sum."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        yield from _parts(expr.left)
        yield from _parts(expr.right)
    else:
        yield expr


def _unscaled(expr: ast.expr) -> ast.expr:
    """A sum without what it is divided or multiplied by as a whole: `a + b` of `0.5 * (a + b) / n`."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div):
        return _unscaled(expr.left)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        sides = [_unscaled(each) for each in (expr.left, expr.right)]
        sums = [each for each in sides if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add)]
        return sums[0] if len(sums) == 1 else expr
    return expr


def _text(node: ast.AST) -> str:
    """As `ast.unparse`, at once for names and their attributes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_text(node.value)}.{node.attr}"
    return ast.unparse(node)


def _is_integer(expr: ast.expr) -> bool:
    """Whether an expression names a type of whole numbers."""
    return bool(
        re.search(r"(Long|Int|Byte|Bool)Tensor|^(torch\.|np\.)?(long|int(8|16|32|64)?|uint8|bool)$", _text(expr))
    )


def _is_text(expr: ast.expr) -> bool:
    return isinstance(expr, (ast.Constant, ast.JoinedStr))


def _is_loss(expr: ast.expr) -> bool:
    """Whether an expression is a loss that was computed, or its values, by its names: weights of losses, and what else is made for them, are none."""
    called = [last_name(call.func) for call in within(expr, ast.Call)]
    names = [one.id for one in within(expr, ast.Name)] + [one.attr for one in within(expr, ast.Attribute)]
    return (
        any(structure.OF_LOSS.search(name) for name in names)
        and not any(OF_WEIGHTS.search(name) or OF_COEFFICIENT.search(name) for name in names)
        and all(name in OF_VALUES or structure.OF_LOSS.search(name) for name in called)
    )


def _becomes_loss(source: Source, call: ast.Call) -> bool:
    """Whether what a call makes is trained as a loss, by its name, or given back."""
    above = source.parent(call)
    return isinstance(above, (ast.Return, ast.Attribute)) or _is_named_loss(source, call)


def _is_named_loss(source: Source, call: ast.Call) -> bool:
    """Whether what a call makes is kept under the name of a loss: no weight, but the beginning of a sum."""
    above = source.parent(call)
    targets = above.targets if isinstance(above, ast.Assign) else []
    return any(structure.OF_LOSS.search(_text(target)) for target in targets)
