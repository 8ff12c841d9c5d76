"""What a network, or a value made of its output, ends in: the last activation, or the layer without one, and which loss reads it.

It is read from the text alone, for fragments: a class that is never constructed, a loop whose network is not seen. What the text
leaves open is `None`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import FUNCTIONS, Function
from dnnfix.detect.written import all_written, written_above
from dnnfix.network.activations import ACTIVATION_FORMS
from dnnfix.network.losses import LOSSES
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value, keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_self, last_name, within

KEEPING = words("contiguous float double half cpu cuda to clone type type_as requires_grad_")
"""Methods that move values, and leave them and their axes as they are."""
SAME = KEEPING | words(
    """squeeze squeeze_ view reshape flatten unsqueeze unsqueeze_ transpose permute t expand view_as reshape_as swapaxes"""
)
"""Methods and functions that lay values out otherwise, or move them, and leave them as they are."""
THROUGH = words("Dropout Dropout1d Dropout2d Dropout3d Flatten Unflatten Identity Squeeze View Reshape Lambda")
"""Layers of which as much can be said."""
POOLING = re.compile(r"(adaptive_)?(avg|max)_?pool[123]d|(Adaptive)?(Avg|Max)Pool[123]d")
"""Functions and layers that give values between those that they get."""
SCORING = re.compile(r"^torch\.nn\.(Lazy)?(Linear|Conv\dd|ConvTranspose\dd|Bilinear)$")
OF_LOSS = re.compile(
    r"(self\.)?(criterion\w*|crit|loss_?(fn|func|function|fct|f|criterion|module)?|\w*_criterion|lossfn|lossfunc|cost)",
    re.IGNORECASE,
)
"""How the only loss of a text may be called where it is used."""
Network = ast.ClassDef | ast.Call | Function | ast.Module
"""A class, a sequence or a list of layers, a `forward` without its class, or the text where that one's head was cut off."""
METHODS = words("softmax log_softmax sigmoid tanh relu sigmoid_ tanh_ relu_")
NAMED = re.compile(r"(^|[._])(log_?)?softmax(ed)?(_\w+)?$", re.IGNORECASE)
"""How values are called that went through a softmax, where nothing else is seen of them."""
LOGARITHMS = {"exp": ("log_softmax", "softmax"), "log": ("softmax", "log_softmax")}
"""Functions that make one activation of another."""
OF_CLASSES = re.compile(r"^(CrossEntropyLoss|cross_entropy|NLLLoss|nll_loss)$")
"""Losses of one class among several."""
CHOICE = "a loss of classes"
"""What a loss is called that is not seen made, and whose targets are numbers of classes."""
CHOOSING = words("argmax max topk")
AT_END = words("softmax log_softmax sigmoid")
"""Activations that only stand at the end of a network."""
OTHER_LIBRARIES = ("tensorflow.", "keras.", "mxnet.", "paddle.")
DISTRIBUTIONS = re.compile(r"(OneHot)?Categorical$|Bernoulli$")
TOLD = ("CrossEntropyLoss", "BCEWithLogitsLoss")
DEPTH = 12


@record
class Ending:
    """What a value ends in: an `activation` by its short name, or none behind a layer that returns raw scores.

    `node` is the call that computes it, `made` what constructed its layer, `inner` what the activation is applied to, `width` how many
    values the layer returns for a sample, `axis` that of a softmax, `None` where none is given; `moved` tells that the axes are others since,
    `pooled` that values were averaged since, or the largest taken.
    """

    activation: str
    node: ast.expr
    made: ast.Call | None = None
    inner: Ending | None = None
    width: int | None = None
    axis: int | None = None
    moved: bool = False
    pooled: bool = False

    @property
    def layer(self) -> Ending:
        """The layer below all activations, as far as it is seen."""
        return self if self.inner is None else self.inner.layer

    @property
    def place(self) -> ast.expr:
        """What a person would point at: the construction of its layer, else the call."""
        return self.made or self.node


@record
class Loss:
    """A loss as the text uses it: its name without the module, the call that computes or makes it, and what it is given."""

    name: str
    node: ast.Call
    prediction: ast.expr | None
    target: ast.expr | None = None
    made: ast.Call | None = None


# --- losses


@once
def losses(source: Source) -> tuple[Loss, ...]:
    """The losses of torch that the text computes; those that it only constructs as well, without a prediction."""
    found: list[Loss] = []
    used: set[ast.Call] = set()
    makers = [call for call in source.all_calls if _loss_class(source, call) is not None]
    kinds = {_loss_class(source, call) for call in makers} | _renamed(source)
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        made: ast.Call | None = None
        if name.startswith("torch.nn.functional.") and name in LOSSES:
            short = name.rpartition(".")[2]
        elif name == "torchvision.ops.sigmoid_focal_loss":
            short = "binary_cross_entropy_with_logits"
        else:
            made = call.func if isinstance(call.func, ast.Call) else source.constructor(call.func)
            kind = _loss_class(source, made) if made is not None else None
            if (
                kind is None
                and made is None
                and len(kinds) == 1
                and OF_LOSS.fullmatch(ast.unparse(call.func))
                and not name
            ):
                kind, made = next(iter(kinds)), makers[0] if makers else None
            if kind is None and made is None and not kinds and not name and _is_choice(source, call):
                kind = CHOICE
            if kind is None:
                continue
            short = kind
        if not call.args and not call.keywords:
            continue
        if made is not None:
            used.add(made)
        prediction = argument_value(call, "input", 0) if call.args or call.keywords else None
        found.append(Loss(short, call, prediction, argument_value(call, "target", 1), made))
    found += [Loss(kind, call, None) for kind, call in _told(source)] if not found and not makers else []
    seen = {_loss_class(source, made) for made in used}
    for call in makers:
        kind = _loss_class(source, call)
        if call not in used and kind is not None and kind not in seen and not _is_idle(source, call):
            found.append(Loss(kind, call, None, None, call))
    return tuple(found)


def _is_choice(source: Source, call: ast.Call) -> bool:
    """Whether a call is that of a loss that is made elsewhere, and its targets are numbers of classes, as those of cross-entropy are."""
    target = argument_value(call, "target", 1)
    if target is None or not OF_LOSS.fullmatch(ast.unparse(call.func)) or source.definition(call.func) is not None:
        return False
    if any(word.endswith("Loss") for word in source.words):
        return False  # it may be one that reads probabilities
    return _is_chosen(source, target) or ast.unparse(_values(target)) in _compared(source)


def _values(expr: ast.expr) -> ast.expr:
    """What is laid out otherwise or moved by an expression."""
    while True:
        if isinstance(expr, ast.Attribute) and expr.attr == "data":
            expr = expr.value
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME | {"long"}:
            expr = expr.func.value
        else:
            return expr


def _is_chosen(source: Source, expr: ast.expr) -> bool:
    """Whether a value is where the largest of several is found."""
    expr = _values(expr)
    if isinstance(expr, ast.Name):
        written = written_above(source, expr, expr)
        if written is not None and written.place == 1:
            return isinstance(written.value, ast.Call) and last_name(written.value.func) in CHOOSING
        return written is not None and written.place is None and _is_chosen(source, written.value)
    if isinstance(expr, ast.Subscript):
        is_second = isinstance(expr.slice, ast.Constant) and expr.slice.value == 1
        return is_second and isinstance(expr.value, ast.Call) and last_name(expr.value.func) in CHOOSING
    return isinstance(expr, ast.Call) and last_name(expr.func) == "argmax"


@once
def _compared(source: Source) -> frozenset[str]:
    """The values that the numbers of classes are compared with that a network chose."""
    pairs = [(node.left, node.comparators[0]) for node in source.nodes(ast.Compare) if isinstance(node.ops[0], ast.Eq)]
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "eq" and call.args:
            pairs.append((call.args[0], call.func.value if len(call.args) == 1 else call.args[1]))
    both = [pair for a, b in pairs for pair in ((a, b), (b, a))]
    return frozenset(ast.unparse(_values(other)) for one, other in both if _is_chosen(source, one))


def _renamed(source: Source) -> set[str | None]:
    """The functions of torch that are given the name of a loss: `loss_fn = F.cross_entropy`."""
    found: set[str | None] = set()
    for node in source.nodes(ast.Assign):
        name = source.qualified(node.value) if isinstance(node.value, ast.Attribute) else None
        if name in LOSSES and name.startswith("torch.") and OF_LOSS.fullmatch(ast.unparse(node.targets[0])):
            found.add(last_name(node.value))
    return found


def _is_idle(source: Source, made: ast.Call) -> bool:
    """Whether a loss is constructed and never read in a text that trains, which has another one then."""
    statement = source.statement_of(made)
    if "backward" not in source.words or not isinstance(statement, ast.Assign) or statement.value is not made:
        return False
    target = statement.targets[0]
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return False
    read = (node for node in source.nodes(type(target)) if isinstance(node.ctx, ast.Load))
    return all(last_name(node) != last_name(target) for node in read)


def _told(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """The losses of scores that a trainer is told by their class or its name, which it makes itself."""
    for call in source.all_calls:
        by_name = re.search(r"loss|criterion", last_name(call.func), re.IGNORECASE) and len(call.args) == 1
        given = call.args[0] if by_name else keyword_value(call, "criterion") or keyword_value(call, "loss_fn")
        if isinstance(given, ast.Constant) and given.value in TOLD:
            yield str(given.value), call
        elif isinstance(given, (ast.Name, ast.Attribute)) and last_name(given) in TOLD and not by_name:
            yield last_name(given), call


def _loss_class(source: Source, call: ast.Call) -> str | None:
    """The class of a loss that a call constructs."""
    name = source.qualified(call.func) or ""
    short = last_name(call.func)
    if not name.startswith(OTHER_LIBRARIES) and source.definition(call.func) is None:
        if re.match(r"(Soft|SoftTarget|LabelSmoothing|Weighted)?CrossEntropy(Loss)?(2d|2D)?$", short):
            return "CrossEntropyLoss"
        if short.endswith("BCEWithLogitsLoss"):
            return "BCEWithLogitsLoss"
    return name.rpartition(".")[2] if name.startswith("torch.nn.") and name in LOSSES and name.count(".") == 2 else None


@record
class Draw:
    """Where a distribution of classes, or a draw of one, is given `value`: `scores` tells whether it takes it for scores."""

    call: ast.Call
    name: str
    value: ast.expr
    scores: bool


@once
def draws(source: Source) -> tuple[Draw, ...]:
    """The distributions over classes that the text makes."""
    found = []
    for call in source.all_calls:
        name, short = source.qualified(call.func) or "", last_name(call.func)
        if name == "torch.nn.functional.gumbel_softmax" or (short == "gumbel_softmax" and not name):
            given = argument_value(call, "logits", 0)
            is_own = source.definition(call.func) is not None
            found += [Draw(call, short, given, True)] if given is not None and not is_own else []
        elif DISTRIBUTIONS.match(short) and (name.startswith("torch.") or not name):
            scores = argument_value(call, "logits", 1)
            given = scores or argument_value(call, "probs", 0)
            is_own = source.definition(call.func) is not None
            found += [Draw(call, short, given, scores is not None)] if given is not None and not is_own else []
    return tuple(found)


# --- networks


@once
def networks(source: Source) -> tuple[Network, ...]:
    """The networks of the text that are part of no other: classes with a `forward`, sequences, and where there are none a `forward` without its class or head, lists of layers."""
    classes = [node for node in source.nodes(ast.ClassDef) if _forward(node) is not None and _is_module(source, node)]
    inside: set[ast.AST] = set()
    for call in source.all_calls:
        definition = source.definition(call.func)
        around = source.enclosing(call, ast.ClassDef)
        if definition in classes and around in classes and definition is not around:
            inside.add(definition)
    for node in classes:
        inside.update(d for base in node.bases if (d := source.definition(base)) in classes and d is not node)
    whole: list[Network] = [node for node in classes if node not in inside]
    for call in source.calls("torch.nn.Sequential"):
        if source.enclosing(call, ast.ClassDef) is None and not isinstance(source.parent(call), ast.Call):
            whole.append(call)
    if not whole:
        whole += [
            f
            for f in source.nodes(ast.FunctionDef)
            if f.name == "forward" and f.args.args and f.args.args[0].arg == "self"
        ]
    if not whole and "self" in source.words and any(_returned(source, source.tree)):
        whole.append(source.tree)
    return tuple(whole or (call for call in source.all_calls if _layers_given(source, call) is not None))


def _layers_given(source: Source, call: ast.Call) -> list[ast.expr] | None:
    """The layers that a network is given as a list whose class the text does not have; the last is an activation, to which it adds none."""
    if (
        source.qualified(call.func)
        or source.definition(call.func) is not None
        or not last_name(call.func)[:1].isupper()
    ):
        return None
    given = [*call.args, *(k.value for k in call.keywords)]
    lists = [one.elts for one in given if isinstance(one, (ast.List, ast.Tuple))]
    layers = [each for each in lists if any(isinstance(one, ast.Call) for one in each)]
    if len(layers) != 1 or any(isinstance(one, ast.Call) for one in given):
        return None
    names = [source.qualified(one.func) or "" if isinstance(one, ast.Call) else "" for one in layers[0]]
    is_whole = all(name.startswith("torch.nn.") for name in names) and ACTIVATION_FORMS.get(names[-1]) in AT_END
    return list(layers[0]) if is_whole else None


def _is_module(source: Source, node: ast.ClassDef) -> bool:
    """Whether a class may be a network, not a loss or a function with its own gradient."""
    bases = " ".join(ast.unparse(base) for base in node.bases)
    return not re.search(r"Function|Loss|Dataset|Transform", bases) and not re.search(
        r"loss|criterion", node.name, re.IGNORECASE
    )


def _forward(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)


def ending_of_network(source: Source, network: Network, depth: int = DEPTH) -> Ending | None:
    """What a network ends in."""
    if isinstance(network, ast.Call):
        return _of_layer(source, network, network, None, depth)
    forward = _forward(network) if isinstance(network, ast.ClassDef) else network
    return _of_returns(source, forward, None, depth) if forward is not None else None


def _returned(source: Source, function: Function | ast.Module) -> list[ast.expr]:
    """What a function returns, or a text whose head was cut off within one."""
    around = function if isinstance(function, FUNCTIONS) else None
    found = [node for node in source.nodes(ast.Return) if source.enclosing(node, *FUNCTIONS) is around]
    return [node.value for node in found if node.value is not None]


def _of_returns(source: Source, function: Function | ast.Module, key: str | int | None, depth: int) -> Ending | None:
    """What the values that a function returns end in, where they agree; of a tuple or dictionary the element of a key."""
    if depth <= 0:
        return None
    returned = _returned(source, function)
    values = [_element(source, value, key) for value in returned] if key is not None else returned
    ends = [ending(source, value, depth - 1) if value is not None else None for value in values]
    first = ends[0] if ends else None
    return None if first is None or any(one is None or one.activation != first.activation for one in ends) else first


def _element(source: Source, value: ast.expr, key: str | int) -> ast.expr | None:
    """What a key gives of a tuple or dictionary as it is written."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return value.elts[key] if isinstance(key, int) and key < len(value.elts) else None
    if isinstance(value, ast.Call) and last_name(value.func) == "dict":
        return keyword_value(value, key) if isinstance(key, str) else None
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return next((one for k, one in pairs if isinstance(k, ast.Constant) and k.value == key), None)
    if not isinstance(value, ast.Name):
        return None
    item = ast.Subscript(value, ast.Constant(key), ast.Load())
    written = written_above(source, item, value) or written_above(source, value, value)
    return (
        None
        if written is None or written.place is not None or isinstance(written.value, ast.Name)
        else (
            written.value
            if ast.unparse(item) in map(ast.unparse, getattr(written.statement, "targets", ()))
            else _element(source, written.value, key)
        )
    )


def ending_of_loss(source: Source, loss: Loss) -> Ending | None:
    """What the prediction that a loss is given ends in; for one that is only constructed, what the only network of the text ends in."""
    if loss.prediction is not None:
        return ending(source, loss.prediction)
    found, names = networks(source), [one.name for one in losses(source)]
    if len(found) != 1:
        return None
    return ending_of_network(source, found[0]) if len({*names}) == 1 else _own_output(source, found[0], loss, names)


def _own_output(source: Source, network: Network, loss: Loss, names: list[str]) -> Ending | None:
    """What that output of several ends in which a loss is there for: a loss of classes for the only softmax, where it is the only one of its kind."""
    forward = _forward(network) if isinstance(network, ast.ClassDef) else None
    if forward is None or not OF_CLASSES.search(loss.name) or sum(bool(OF_CLASSES.search(one)) for one in names) > 1:
        return None
    returned = [node.value for node in within(forward, ast.Return) if isinstance(node.value, ast.Tuple)]
    outputs = returned[0].elts if len(returned) == 1 else []
    ends = [end for each in outputs if (end := ending(source, each)) is not None]
    chosen = [end for end in ends if end.activation in ("softmax", "log_softmax")]
    return chosen[0] if len(chosen) == 1 else None


# --- values


def ending(source: Source, expr: ast.expr, depth: int = DEPTH) -> Ending | None:
    """What the value of an expression ends in."""
    if depth <= 0:
        return None
    if isinstance(expr, (ast.Tuple, ast.List)) and expr.elts:
        return ending(source, expr.elts[0], depth - 1)
    if isinstance(expr, ast.Subscript) and not isinstance(getattr(expr.slice, "value", 0), str):
        return _moved(ending(source, expr.value, depth - 1))
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) and isinstance(expr.slice.value, str):
        return _of_key(source, expr, expr.slice.value, depth)
    if isinstance(expr, ast.BinOp):
        return _of_mean(source, expr, depth)
    if isinstance(expr, ast.Attribute) and expr.attr in ("data", "T", "mT"):
        return _moved(ending(source, expr.value, depth - 1))
    if isinstance(expr, (ast.Name, ast.Attribute)):
        found = written_above(source, expr, expr)
        known = ending(source, found.value, depth - 1) if found is not None and not found.place else None
        if found is not None and found.place and not found.nested and isinstance(found.value, ast.Call):
            function = _function(source, found.value)
            known = _of_returns(source, function, found.place, depth - 1) if function is not None else None
        if known is None and NAMED.search(ast.unparse(expr)):
            kind = "log_softmax" if "log" in last_name(expr).lower() else "softmax"
            return Ending(kind, expr)
        return known
    return _of_call(source, expr, depth) if isinstance(expr, ast.Call) else None


def _function(source: Source, call: ast.Call) -> Function | ast.Module | None:
    """What a call runs of this text: a function, or the `forward` of its only network."""
    body = structure.callee(source, call)
    found = networks(source)
    if body is not None or len(found) != 1 or not structure.is_network(source, call.func):
        return body
    return (
        _forward(found[0])
        if isinstance(found[0], ast.ClassDef)
        else None
        if isinstance(found[0], ast.Call)
        else found[0]
    )


def _of_key(source: Source, expr: ast.Subscript, key: str, depth: int) -> Ending | None:
    """What an element of a dictionary ends in: of one of this function, or of what a network returns, where the text has one alone."""
    if (own := _element(source, expr.value, key)) is not None:
        return ending(source, own, depth - 1)
    written = written_above(source, expr.value, expr)
    found = networks(source)
    function: Function | ast.Module | None = None
    if written is not None:
        function = _function(source, written.value) if isinstance(written.value, ast.Call) else None
    elif len(found) == 1 and not isinstance(found[0], ast.Call):
        function = _forward(found[0]) if isinstance(found[0], ast.ClassDef) else found[0]
    return _of_returns(source, function, key, depth - 1) if function is not None else None


def _of_mean(source: Source, expr: ast.BinOp, depth: int) -> Ending | None:
    """What a sum that is divided by the number of its values ends in."""
    summed = expr.left
    if not isinstance(summed, ast.Call) or not isinstance(summed.func, ast.Attribute) or summed.func.attr != "sum":
        return None
    by_number = re.search(r"\.(size\(|shape\b)|^len\(", ast.unparse(expr.right))
    if not isinstance(expr.op, ast.Div) or not by_number or source.qualified(summed.func):
        return None
    return _pooled(ending(source, summed.func.value, depth - 1))


def _pooled(end: Ending | None) -> Ending | None:
    """Averages of values, or the largest, which lie where these do."""
    return replace(end, width=None, moved=True, pooled=True) if end is not None else None


def _moved(end: Ending | None) -> Ending | None:
    """The same values, with axes of which no more is known."""
    return replace(end, width=None, moved=True) if end is not None else None


def _of_call(source: Source, call: ast.Call, depth: int) -> Ending | None:
    func = call.func
    name = source.qualified(func) or ""
    given = argument_value(call, "input", 0)
    if (
        name in ACTIVATION_FORMS
        and name.startswith("torch.")
        and not name.startswith("torch.nn.")
        or name.startswith("torch.nn.functional.")
        and name in ACTIVATION_FORMS
    ):
        return _activation(source, ACTIVATION_FORMS[name], call, None, given, dimension(call, 1), depth)
    if name.startswith("torch.") and name.rpartition(".")[2] in SAME and given is not None:
        return _moved(ending(source, given, depth - 1))
    if name.endswith("functional.linear"):
        return Ending("", call)
    if name.rpartition(".")[2] in ("dropout", "dropout2d") and given is not None and name.startswith("torch."):
        return ending(source, given, depth - 1)
    if given is not None and (
        name == "torch.mean" or (name.startswith("torch.") and POOLING.fullmatch(last_name(func)))
    ):
        return _pooled(ending(source, given, depth - 1))
    made = func if isinstance(func, ast.Call) else _layer(source, func)
    while (
        made is not None
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in SAME
        and isinstance(made.func.value, ast.Call)
    ):
        made = made.func.value
    if made is not None:
        return _of_layer(source, made, call, given, depth)
    if last_name(func) in LOGARITHMS and name in ("", f"torch.{last_name(func)}"):
        of = given if name else getattr(func, "value", None)
        inner = ending(source, of, depth - 1) if of is not None else None
        before, after = LOGARITHMS[last_name(func)]
        return Ending(after, call, None, inner.inner) if inner is not None and inner.activation == before else None
    if isinstance(func, ast.Attribute) and not name:
        if func.attr in SAME:
            end = ending(source, func.value, depth - 1)
            return end if func.attr in KEEPING else _moved(end)
        if func.attr == "mean" and (call.args or call.keywords):
            return _pooled(ending(source, func.value, depth - 1))
        if func.attr in METHODS and not is_self(func.value):
            return _activation(source, func.attr.rstrip("_"), call, None, func.value, dimension(call, 0), depth)
    return _of_unseen(source, call, given, depth)


def _layer(source: Source, func: ast.expr) -> ast.Call | None:
    """What constructed the layer or network that is called."""
    if not isinstance(func, (ast.Name, ast.Attribute)):
        return None
    made = source.constructor(func)
    if made is None and isinstance(func, ast.Attribute) and func.attr == "forward":
        made = source.constructor(func.value)
    if made is None and source.enclosing(func, ast.ClassDef) is None:
        written = all_written(source, func)  # of a fragment that begins within a class
        value = written[0].value if len(written) == 1 and written[0].place is None else None
        return value if isinstance(value, ast.Call) and isinstance(func, ast.Attribute) else None
    return made


def _of_unseen(source: Source, call: ast.Call, given: ast.expr | None, depth: int) -> Ending | None:
    """What the call of something that no construction is seen of ends in: of the only network of the text, or of a layer by its name."""
    func = call.func
    if (body := structure.callee(source, call)) is not None:
        return _of_returns(source, body, None, depth - 1)
    text = ast.unparse(func).removesuffix(".forward")
    around = source.enclosing(call, ast.ClassDef)
    if text == "self" and around is not None and _forward(around) is not None:
        return ending_of_network(source, around, depth - 1)
    if text == "self" and around is None and len(networks(source)) == 1:
        return ending_of_network(source, networks(source)[0], depth - 1)
    inside = around is not None and _forward(around) is not None and around in networks(source)
    short = last_name(func)
    if (
        text.startswith("self.")
        and given is not None
        and re.fullmatch(r"(log_?)?soft_?max\w?|sigmoid\d?|sigm|sig|logsoftmax", short.lower())
    ) and not all_written(source, func):
        kind = "log_softmax" if "log" in short.lower() else "softmax" if "max" in short.lower() else "sigmoid"
        return _activation(source, kind, call, None, given, None, depth)
    if text.startswith("self.") and re.fullmatch(
        r"(fc|linear|lin|out|dense|l|conv|output)_?\d*(_?out)?", short.lower()
    ):
        return Ending("", call) if not all_written(source, func) else None
    if (
        inside
        or not structure.is_network(source, func)
        and not structure.is_network(source, getattr(func, "value", func))
    ):
        return None
    if source.definition(func) is not None or not (call.args or call.keywords):
        return None
    found = networks(source)
    return ending_of_network(source, found[0], depth - 1) if len(found) == 1 else None


def _of_layer(source: Source, made: ast.Call, call: ast.expr, given: ast.expr | None, depth: int) -> Ending | None:
    """What a layer ends in that `made` constructs and `call` calls with `given`."""
    if depth <= 0:
        return None
    name = source.qualified(made.func) or ""
    short = name.rpartition(".")[2]
    if name in ACTIVATION_FORMS and name.startswith("torch.nn."):
        return _activation(source, ACTIVATION_FORMS[name], call, made, given, dimension(made, 0), depth)
    if name == "torch.nn.Sequential":
        return _of_sequence(source, _parts(source, made), call, given, depth)
    if SCORING.match(name):
        return Ending("", call, made, width=_width(made))
    if short in THROUGH and given is not None:
        return ending(source, given, depth - 1)
    if POOLING.fullmatch(short) and given is not None:
        return _pooled(ending(source, given, depth - 1))
    if (layers := _layers_given(source, made)) is not None:
        return _of_sequence(source, layers, call, given, depth)
    if name == "torch.nn.DataParallel" or name.endswith("DistributedDataParallel"):
        inner = made.args[0] if made.args else None
        inner_made = inner if isinstance(inner, ast.Call) else source.constructor(inner) if inner is not None else None
        return _of_layer(source, inner_made, call, given, depth - 1) if inner_made is not None else None
    if re.match(r"(segmentation_models_pytorch|smp)\.\w+$", name or ast.unparse(made.func)) and not short.endswith(
        "Loss"
    ):
        chosen = getattr(keyword_value(made, "activation"), "value", None)
        kinds = {
            None: "",
            "sigmoid": "sigmoid",
            "softmax2d": "softmax",
            "softmax": "softmax",
            "logsoftmax": "log_softmax",
        }
        return Ending(kinds[chosen], call, made) if chosen in kinds else None
    definition = source.definition(made.func)
    if isinstance(definition, ast.ClassDef):
        return ending_of_network(source, definition, depth - 1)
    if ".models." in name or name.startswith("timm."):
        return _of_known_model(source, made, call, depth)
    return None


def _of_known_model(source: Source, made: ast.Call, call: ast.expr, depth: int) -> Ending | None:
    """What a model of torchvision ends in whose last layer the text replaces."""
    func = call.func if isinstance(call, ast.Call) else None
    if func is None:
        return None
    for part in ("fc", "classifier", "head", "heads", "_fc"):
        for one in all_written(source, ast.Attribute(func, part, ast.Load())):
            if isinstance(one.value, ast.Call):
                return _of_layer(source, one.value, one.value, None, depth - 1)
    return None


def _parts(source: Source, made: ast.Call) -> list[ast.expr] | None:
    """The layers of a sequence; `None` where not all are seen."""
    given: list[ast.expr] = list(made.args)
    if (
        len(given) == 1
        and isinstance(given[0], ast.Call)
        and last_name(given[0].func) == "OrderedDict"
        and given[0].args
    ):
        pairs = given[0].args[0]
        if isinstance(pairs, (ast.List, ast.Tuple)):
            given = [p.elts[1] if isinstance(p, ast.Tuple) and len(p.elts) == 2 else p for p in pairs.elts]
    if not given:
        added = _added(source, made)
        return added or None
    if isinstance(given[-1], ast.Starred):
        return _listed(source, given[-1].value)
    return given


def _added(source: Source, made: ast.Call) -> list[ast.expr]:
    """The layers that are added to an empty sequence by `add_module`."""
    found: list[ast.expr] = []
    for call in source.all_calls:
        is_added = isinstance(call.func, ast.Attribute) and call.func.attr == "add_module" and len(call.args) == 2
        if is_added and isinstance(call.func, ast.Attribute) and source.constructor(call.func.value) is made:
            found.append(call.args[1])
    return found


def _listed(source: Source, expr: ast.expr) -> list[ast.expr] | None:
    """The layers that a list of layers ends in: as it is written, with what is appended below."""
    if isinstance(expr, (ast.List, ast.Tuple)):
        return list(expr.elts)
    if not isinstance(expr, (ast.Name, ast.Attribute)):
        return None
    text, statement = ast.unparse(expr), source.statement_of(expr)
    found: list[tuple[int, list[ast.expr]]] = []
    for one in all_written(source, expr):
        if isinstance(one.value, (ast.List, ast.Tuple)):
            found.append((one.statement.lineno, list(one.value.elts)))
    for call in source.all_calls:
        adds = isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend") and len(call.args) == 1
        if adds and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == text:
            value = call.args[0]
            found.append((call.lineno, list(value.elts) if isinstance(value, (ast.List, ast.Tuple)) else [value]))
    for node in source.nodes(ast.AugAssign):
        if ast.unparse(node.target) == text and isinstance(node.value, (ast.List, ast.Tuple)):
            found.append((node.lineno, list(node.value.elts)))
    before = sorted((pair for pair in found if pair[0] < statement.lineno), key=lambda pair: pair[0])
    return [each for _, group in before for each in group] or None


def _of_sequence(
    source: Source, parts: list[ast.expr] | None, call: ast.expr, given: ast.expr | None, depth: int
) -> Ending | None:
    """What a sequence of layers ends in."""
    if not parts:
        return ending(source, given, depth - 1) if parts == [] and given is not None else None
    last = parts[-1]
    made = last if isinstance(last, ast.Call) else source.constructor(last)
    if made is None:
        return None
    name = source.qualified(made.func) or ""
    if name.rpartition(".")[2] in THROUGH:
        return _of_sequence(source, parts[:-1], call, given, depth - 1)
    if POOLING.fullmatch(name.rpartition(".")[2]):
        return _pooled(_of_sequence(source, parts[:-1], call, given, depth - 1))
    if name in ACTIVATION_FORMS and name.startswith("torch.nn."):
        inner = _of_sequence(source, parts[:-1], call, given, depth - 1)
        return Ending(ACTIVATION_FORMS[name], made, made, inner, axis=dimension(made, 0))
    return _of_layer(source, made, call, None, depth - 1)


def _activation(
    source: Source,
    kind: str,
    call: ast.expr,
    made: ast.Call | None,
    given: ast.expr | None,
    axis: int | None,
    depth: int,
) -> Ending:
    inner = ending(source, given, depth - 1) if given is not None else None
    return Ending(kind, call, made, inner, axis=axis)


def dimension(call: ast.Call, place: int) -> int | None:
    """The axis that a softmax is given."""
    given = argument_value(call, "dim", place)
    try:
        value = ast.literal_eval(given) if given is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _width(made: ast.Call) -> int | None:
    name = "out_features" if "Linear" in ast.unparse(made.func) else "out_channels"
    given = argument_value(made, name, 1)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


@once
def applied(source: Source) -> tuple[Ending, ...]:
    """Every activation that the text applies by a call, and the last of each sequence of layers, in source order."""
    found: list[Ending] = []
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if name == "torch.nn.Sequential":
            end = _of_layer(source, call, call, None, DEPTH)
        elif name.startswith("torch.nn.") and name.count(".") == 2:
            continue
        else:
            end = _of_call(source, call, 2) if _may_activate(source, call, name) else None
            end = _of_call(source, call, DEPTH) if end is not None and end.activation and end.node is call else None
        if end is not None and end.activation and end.node in (call, end.made):
            found.append(end)
    return tuple(found)


def _may_activate(source: Source, call: ast.Call, name: str) -> bool:
    """Whether a call may be that of an activation, by its name or by what constructed what is called."""
    made = source.constructor(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    made_name = source.qualified(made.func) if made is not None else None
    return name in ACTIVATION_FORMS or last_name(call.func) in METHODS or (made_name or "") in ACTIVATION_FORMS


def is_output(source: Source, end: Ending) -> bool:
    """Whether an activation is the last of a network of the text, or is applied to the output of one outside of all networks."""
    for network in networks(source):
        last = ending_of_network(source, network)
        if last is not None and last.node is end.node and last.made is end.made:
            return True
    around = source.enclosing(end.node, ast.ClassDef)
    if around is not None and _forward(around) is not None:
        return False
    given = end.node.args[0] if isinstance(end.node, ast.Call) and end.node.args else None
    if isinstance(end.node, ast.Call) and isinstance(end.node.func, ast.Attribute) and end.node.func.attr in METHODS:
        given = given if given is not None and source.qualified(end.node.func) else end.node.func.value
    return given is not None and of_network(source, given)


def of_network(source: Source, expr: ast.expr, depth: int = 6) -> bool:
    """Whether a value is what the call of a network returns."""
    if depth <= 0:
        return False
    if isinstance(expr, ast.Call):
        if structure.is_network(source, expr.func) and not source.qualified(expr.func):
            return True
        method = isinstance(expr.func, ast.Attribute) and expr.func.attr in KEEPING
        return method and isinstance(expr.func, ast.Attribute) and of_network(source, expr.func.value, depth - 1)
    if isinstance(expr, (ast.Name, ast.Attribute)):
        found = written_above(source, expr, expr)
        return found is not None and not found.place and of_network(source, found.value, depth - 1)
    return False
