"""Where a network is evaluated: in which mode it is then, and whether gradients are recorded."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.structure import Kind
from dnnfix.detect.loops.training_loop import Function, Loop, block_of, function_around, loops_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, parameter_names, stored_names, within

HELPERS = re.compile(
    r"teacher|targ(et)?(_|$|\.)|ema|policy|actor|critic|agent|(^|\.)(pi|q\d?|v)$|(^|[._])old|ref(_|$)|frozen|fixed|extractor|vgg|lpips|inception|perceptual|clip",
    re.IGNORECASE,
)
"""Networks that are asked while another one is trained."""
OF_FRAMEWORKS = re.compile(
    r"^(on_)?(validation|test|predict|val|training)_(step|epoch_end|step_end|epoch)$|^forward$|^__call__$"
)
"""Methods whose modes and gradients Lightning and its like see to."""
CARING = words("""Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d
    SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d InstanceNorm2d dropout TransformerEncoderLayer
    TransformerDecoderLayer Transformer MultiheadAttention from_pretrained""")
"""Layers, and what makes networks with such layers, that compute something else in evaluation mode than in training mode."""
MADE_UP = words("torch.rand torch.randn torch.zeros torch.ones torch.empty torch.randint torch.Tensor torch.arange")
OF_CARING = re.compile(
    r"(resnet|resnext|densenet|mobilenet|efficientnet|inception|googlenet|vgg|alexnet|regnet|convnext|vit_)\d*\w*$",
    re.IGNORECASE,
)
"""Networks of torchvision and timm, all of which have such layers."""
OF_HELD_OUT_INPUT = re.compile(
    r"(^|\W)(x|inputs?|data|images?|imgs?|features?|batch|tensors?|seqs?)s?_?(test|val|valid|validation|dev|eval)(?![a-z])"
    r"|(^|\W)(test|val|valid|validation|dev|eval)_?(x|inputs?|data|images?|imgs?|features?|batch|tensors?|seqs?)s?(?![a-z])",
    re.IGNORECASE,
)
"""Names of held-out data that networks are given."""
USES_GRADIENTS = words(
    "grad requires_grad requires_grad_ autograd enable_grad backward saliency attribute attack retain_grad register_hook"
)
"""Words of functions that evaluate a network for its gradients."""


@record
class Evaluation:
    """Calls of one network in one function, or outside of all, that evaluate it.

    `mode` is the mode that was last asked for above the first call, `None` where none was; `recorded` are the calls whose gradients
    are recorded.
    """

    network: str
    function: Function | None
    calls: tuple[ast.Call, ...]
    mode: Kind | None
    recorded: tuple[ast.Call, ...]


@once
def evaluations(source: Source) -> tuple[Evaluation, ...]:
    """The evaluations that the text shows, in its order; those that a framework arranges are left out."""
    groups: dict[tuple[str, Function | None], list[ast.Call]] = {}
    for call in structure.forward_calls(source, source.tree):
        _add(source, groups, None, call)
    for function in structure.functions(source):
        if not _is_of_framework(source, function):
            for call in structure.forward_calls(source, function):
                _add(source, groups, function, call)
    found = []
    for (network, around), calls in groups.items():
        first = min(calls, key=lambda one: (one.lineno, one.col_offset))
        recorded = tuple(call for call in calls if not structure.without_gradients(source, call))
        found.append(Evaluation(network, around, tuple(calls), mode_at(source, first, network), recorded))
    return tuple(sorted(found, key=lambda one: one.calls[0].lineno))


def _is_of_framework(source: Source, function: Function) -> bool:
    """Whether a framework may call a function, in the mode that it sees fit: a method whose class, or what that derives from, is not seen."""
    if not OF_FRAMEWORKS.search(function.name):
        return False
    owner = source.parent(function)
    if isinstance(owner, ast.ClassDef):
        return bool(owner.bases) or function.name == "__call__"
    return structure.is_like_method(source, function)


@once
def phases(source: Source) -> tuple[tuple[ast.For, str], ...]:
    """The loops over the phases of an epoch, by name, in one of which a network is trained; each with the name of that phase."""
    found = []
    for loop in source.nodes(ast.For):
        listed: list[ast.List | ast.Tuple] = [*within(loop.iter, ast.List), *within(loop.iter, ast.Tuple)]
        named = [each.value for one in listed for each in one.elts if isinstance(each, ast.Constant)]
        trained = [phase for phase in named if isinstance(phase, str) and phase.lower().startswith("train")]
        plain = len(named) > 1 and len(trained) == 1 and isinstance(loop.target, ast.Name)
        if plain and structure.has(source, loop, Kind.BACKWARD):
            found.append((loop, trained[0]))
    return tuple(found)


def _add(
    source: Source, groups: dict[tuple[str, Function | None], list[ast.Call]], function: Function | None, call: ast.Call
) -> None:
    is_forward = isinstance(call.func, ast.Attribute) and call.func.attr == "forward"
    network = ast.unparse(call.func).removesuffix(".forward" if is_forward else "")
    owner = source.enclosing(call, ast.ClassDef)
    if network.startswith("self.") and owner is not None and structure.is_module(source, owner):
        return  # the mode of a part is that of the whole, and whoever calls its methods sees to the gradients
    if network != "self" and not HELPERS.search(network) and _is_evaluated(source, call, network):
        groups.setdefault((network, function), []).append(call)


def _is_evaluated(source: Source, call: ast.Call, network: str) -> bool:
    """Whether a call of a network evaluates it: it learns nothing from this call, and its surroundings say so."""
    loops = loops_around(source, call)
    if loops and structure.has(source, loops[0], Kind.BACKWARD):
        return _is_beside_training(source, call, loops[0])
    around = function_around(source, call)
    region: ast.AST = around or source.tree
    trains = structure.has(source, region, Kind.BACKWARD)
    ungraded = structure.without_gradients(source, call)
    if _is_tried(source, call, network):
        return False
    if trains and not loops:
        in_mode = ungraded and mode_at(source, call, network) is Kind.EVAL
        return in_mode or _is_beside_training(source, call, region)
    asked = (
        structure.evaluates(source, call)
        or mode_at(source, call, network) is Kind.EVAL
        or _is_only_asked(source, call, network)
    )
    return ungraded or (asked and not _learns_elsewhere(source, around))


def _is_beside_training(source: Source, call: ast.Call, region: ast.AST) -> bool:
    """Whether a call comes after all that a region learns from, and is given held-out data, by its names or those of its own block."""
    passes = [each.at.lineno for each in structure.happenings(source, region) if each.kind is Kind.BACKWARD]
    if call.lineno <= max(passes, default=0) or not any("train" in word.lower() for word in source.words):
        return False
    inside = source.parent(source.statement_of(call))
    block = inside.body if isinstance(inside, ast.If) else ()
    given = " ".join(ast.unparse(each) for each in call.args)
    return bool(OF_HELD_OUT_INPUT.search(given)) or any(
        structure.OF_HELD_OUT.search(ast.unparse(each)) for each in block
    )


def _is_only_asked(source: Source, call: ast.Call, network: str) -> bool:
    """Whether a text trains nothing, uses no gradients, and asks a network that has its weights from a file or from a library."""
    if any(each.kind not in (Kind.EVAL, Kind.TRAIN) for each in structure.operations(source)):
        return False
    if any(word in USES_GRADIENTS or "optim" in word.lower() for word in source.words):
        return False
    made = source.constructor(call.func)
    name = last_name(made.func) if made is not None else ""
    loaded = any(
        isinstance(each.func, ast.Attribute)
        and each.func.attr == "load_state_dict"
        and ast.unparse(each.func.value).removesuffix(".module") == network
        and function_around(source, each) in (None, function_around(source, call))
        for each in source.nodes(ast.Call)
    )
    return (
        loaded
        or name in ("from_pretrained", "load_from_checkpoint")
        or (made is not None and source.qualified(made.func) == "torch.load")
    )


def _is_tried(source: Source, call: ast.Call, network: str) -> bool:
    """Whether a network is only tried on made-up numbers, as for the shape of its output, and does not draw from them while it is trained."""
    around = function_around(source, call)
    over_data = any(isinstance(loop, ast.For) and structure.goes_over_data(loop) for loop in loops_around(source, call))
    if (
        around is not None
        and around.name.strip("_").startswith("test")
        and (_asserts(around) or not (network in parameter_names(around) or structure.of_kind(source, Kind.BACKWARD)))
        and not over_data
        and not structure.without_gradients(source, call)
    ):
        return True
    again = structure.of_kind(source, Kind.BACKWARD) or loops_around(source, call)
    if again and mode_at(source, call, network) is Kind.EVAL:
        return False
    for given in call.args:
        made = source.constructor(given)
        while made is not None and last_name(made.func) == "Variable" and made.args:
            made = source.constructor(made.args[0])
        if made is not None and source.qualified(made.func) in MADE_UP:
            return True
    return False


def _asserts(function: Function) -> bool:
    """Whether a function is a test of the program."""
    return any(within(function, ast.Assert)) or any(
        last_name(call.func).startswith("assert") for call in within(function, ast.Call)
    )


def _learns_elsewhere(source: Source, function: Function | None) -> bool:
    """Whether what a function computes may be learned from by its caller: it gives a loss back."""
    if function is None or structure.OF_EVALUATION.search(function.name):
        return False
    return any(node.value is not None and "loss" in ast.unparse(node.value) for node in within(function, ast.Return))


def mode_at(source: Source, node: ast.expr, network: str) -> Kind | None:
    """The mode that was last asked for above a node in its function: of that network, or of what it may be a part of."""
    around = function_around(source, node)
    last: Kind | None = None
    for operation in structure.operations(source):
        before = (operation.node.lineno, operation.node.col_offset) < (node.lineno, node.col_offset)
        own = operation.kind in (Kind.EVAL, Kind.TRAIN) and function_around(source, operation.node) is around
        if before and own and _concerns(source, operation, network):
            last = operation.kind
    if last is None and around is not None and Kind.EVAL in {one.kind for one in structure.operations(source)}:
        return _mode_of_callers(source, around, network) or _mode_of_all(source, around, network)
    return last


@once
def _mode_of_callers(source: Source, function: Function, network: str) -> Kind | None:
    """Evaluation mode, where all calls of a function come when the network that it asks is in that mode."""
    calls = [each for each in structure.callers(source, function) if function_around(source, each) is not function]
    names = [structure.as_caller_names(function, each, network) for each in calls]
    modes = {mode_at(source, each, name) if name else None for each, name in zip(calls, names, strict=True)}
    return Kind.EVAL if modes == {Kind.EVAL} and not any(_learned_from(source, each) for each in calls) else None


def _learned_from(source: Source, call: ast.Call) -> bool:
    """Whether a backward pass comes with a call or after it, in the loop around it or else in its function."""
    region: ast.AST = next(iter(loops_around(source, call)), None) or function_around(source, call) or source.tree
    return any(
        one.kind is Kind.BACKWARD and one.at.lineno >= call.lineno for one in structure.happenings(source, region)
    )


@once
def _mode_of_all(source: Source, function: Function, network: str) -> Kind | None:
    """Evaluation mode, where a text that trains nothing puts a network in it, outside of all functions, and in no other."""
    first = network.partition(".")[0]
    if structure.of_kind(source, Kind.BACKWARD) or not USES_GRADIENTS.isdisjoint(source.words):
        return None
    if first in {*parameter_names(function), *stored_names(function)}:
        return None
    modes = {one.kind: one for one in structure.operations(source) if one.on == network}
    put = modes.get(Kind.EVAL)
    return Kind.EVAL if put and Kind.TRAIN not in modes and function_around(source, put.node) is None else None


def _concerns(source: Source, operation: structure.Operation, network: str) -> bool:
    """Whether a mode is asked for of a network, of one that it is a part of, or of each of several in a loop."""
    on = operation.on
    in_loop = any(
        isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == on
        for loop in loops_around(source, operation.node)
    )
    return (
        on == network or network.startswith(f"{on}.") or on == "self" or in_loop or on.startswith(f"{network}.module")
    )


def mode_is_open(source: Source, evaluation: Evaluation) -> bool:
    """Whether what the text does not show, or shows elsewhere, may put the network in evaluation mode: a caller, a helper, its owner."""
    function, network, first = evaluation.function, evaluation.network, evaluation.calls[0]
    if _set_by_helper(source, first) or _is_one_of_many(source, first, network):
        return True
    if not structure.of_kind(source, Kind.BACKWARD) and _comes_from_elsewhere(source, first.func):
        return True
    if function is None:
        return False
    owner = source.enclosing(function, ast.ClassDef)
    if owner is not None and network.startswith("self."):
        module = structure.is_module(source, owner)
        if any(source.definition(base) is None and ast.unparse(base) != "object" for base in owner.bases):
            return True  # a class that is not seen may see to it
        return module or not structure.OF_EVALUATION.search(function.name) or _changes_mode(source, owner)
    if _is_put_above(source, function, frozenset()):
        return True
    given = network in parameter_names(function)
    if not given and any(
        one.on == network and function_around(source, one.node) is None for one in structure.of_kind(source, Kind.EVAL)
    ):
        return True
    whole = structure.OF_EVALUATION.search(function.name) and any(
        isinstance(loop, ast.For) and structure.goes_over_data(loop) for loop in loops_around(source, first)
    )
    if not given or _is_reached(source, function, frozenset()):
        return False
    if structure.is_fragment(source):  # whose other lines would call it, where there are any
        return any(
            not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for each in source.tree.body
        )
    return not whole


def _is_put_above(source: Source, function: Function, on_the_way: frozenset[Function]) -> bool:
    """Whether a caller of a function, or a caller of that, puts a network in evaluation mode, or has it made so by a function."""
    for caller in structure.callers(source, function):
        around = function_around(source, caller)
        for one in structure.happenings(source, around or source.tree):
            own = not on_the_way or one.at is one.operation.node or _gives(source, one.operation)
            if one.kind is Kind.EVAL and one.at is not caller and own:
                return True
        further = around is not None and around is not function and around not in on_the_way
        if around is not None and further and _is_put_above(source, around, on_the_way | {function}):
            return True
    return False


def _gives(source: Source, operation: structure.Operation) -> bool:
    """Whether a function gives the network back that it puts in a mode."""
    body = function_around(source, operation.node)
    first = operation.on.partition(".")[0]
    returned = within(body, ast.Return) if body is not None else []
    return any(node.id == first for each in returned for node in within(each, ast.Name))


def _is_reached(source: Source, function: Function, on_the_way: frozenset[Function]) -> bool:
    """Whether the text shows how a function is called, from where its own statements are run."""
    for caller in structure.callers(source, function):
        around = function_around(source, caller)
        if around is None:
            return True
        if around is not function and around not in on_the_way and _is_reached(source, around, on_the_way | {function}):
            return True
    return False


def _comes_from_elsewhere(source: Source, network: ast.expr) -> bool:
    """Whether a network was made by a function that is not seen, which may have put it in any mode."""
    made = source.constructor(network)
    if made is None or source.definition(made.func) is not None:
        return False
    name = last_name(made.func)
    return name[:1].islower() and not OF_CARING.match(name)


def _changes_mode(source: Source, owner: ast.ClassDef) -> bool:
    """Whether another method of a class puts something in evaluation mode."""
    return any(source.enclosing(one.node, ast.ClassDef) is owner for one in structure.of_kind(source, Kind.EVAL))


def _is_one_of_many(source: Source, call: ast.Call, network: str) -> bool:
    """Whether a network is taken from several by a loop."""
    return any(
        isinstance(loop, ast.For) and network.partition(".")[0] in stored_names(loop.target)
        for loop in loops_around(source, call)
    )


def _set_by_helper(source: Source, node: ast.expr) -> bool:
    """Whether a call above a node, of a function from elsewhere or from this text, may set the mode by what it is called."""
    around: ast.AST = function_around(source, node) or source.tree
    for call in within(around, ast.Call):
        name = ast.unparse(call.func).rpartition(".")[2]
        if re.search(r"eval_mode|set_eval|set_mode|to_eval|switch_to_eval|set_test|freeze|on_(val|test)", name):
            return True
        body = structure.callee(source, call)
        if (
            body is not None
            and call.lineno < node.lineno
            and any(one.kind is Kind.EVAL for one in structure.happenings(source, body))
        ):
            return True
    return any(
        isinstance(above, ast.Assign) and "training" in ast.unparse(above.targets[0])
        for above in within(around, ast.Assign)
    )


ASKING = re.compile(
    r"eval|val|test|predict|infer|translat|generat|sampl|accura|score|metric|plot|visual|decode|caption", re.IGNORECASE
)
"""Functions that ask a network for something, by their names."""
BY_HELPER = re.compile(r"(^|_)train(ing)?(_mode)?(_on)?$|set_mode|(_to|set|switch)_train")
"""Functions that may put a network in training mode, by their names."""


@record
class LeftBehind:
    """A network that a loop trains: `put` leaves it in evaluation mode, and the next turn of the loop trains it so."""

    loop: Loop
    network: str
    put: structure.Happening
    cares: bool | None
    """Whether the network has layers that care."""


@once
def left_in_evaluation(source: Source) -> tuple[LeftBehind, ...]:
    """The networks that loops put in evaluation mode, to evaluate them, and train on in it; of nested loops, the outermost says so."""
    found: dict[ast.AST, LeftBehind] = {}
    if not structure.of_kind(source, Kind.EVAL) or not structure.of_kind(source, Kind.BACKWARD):
        return ()
    loops: list[Loop] = [*source.nodes(ast.For), *source.nodes(ast.While)]
    for loop in sorted(loops, key=lambda one: one.lineno):
        happening = structure.happenings(source, loop) if structure.has(source, loop, Kind.BACKWARD) else ()
        passes = [each for each in happening if each.kind is Kind.BACKWARD]
        if not passes or any(each.kind is Kind.TRAIN for each in happening) or _may_put_back(source, loop):
            continue
        for put in (each for each in happening if each.kind is Kind.EVAL):
            learns = passes[0].at
            later = put.at.lineno > learns.lineno
            asked = [
                call
                for on, call in structure.forwards(source, loop)
                if on == put.on
                and (call.lineno <= learns.lineno or not later)
                and not structure.without_gradients(source, call)
            ]
            if (
                asked
                and put.at is not learns
                and (later or _asked_between(source, put, learns))
                and (len(_called_also(loop, put.on)) > 1 or not structure.made_in(loop, {put.on}))
                and not _is_last(source, put.at, loop)
            ):
                named = [node for node in within(loop, ast.Name, ast.Attribute) if ast.unparse(node) == put.on]
                cares = cares_for_mode(source, named[0] if named else asked[0].func)
                found.setdefault(put.operation.node, LeftBehind(loop, put.on, put, cares))
                break
    return tuple(found.values())


def _called_also(loop: Loop, network: str) -> set[str]:
    """The names of a network in a loop: its own, and those of the networks that the loop assigns to that name."""
    same = (node.value for node in within(loop, ast.Assign) if ast.unparse(node.targets[0]) == network)
    return {network, *(ast.unparse(each) for each in same if isinstance(each, (ast.Name, ast.Attribute)))}


def _may_put_back(source: Source, loop: Loop) -> bool:
    """Whether a loop may put something in training mode in a way that is no plain call of `train`."""
    known = {operation.node for operation in structure.operations(source)}
    for region in structure.reached(source, loop):
        set_by_hand = (node for node in within(region, ast.Attribute) if node.attr == "training")
        if any(isinstance(node.ctx, ast.Store) for node in set_by_hand):
            return True
        calls = (call for call in within(region, ast.Call) if BY_HELPER.search(last_name(call.func)))
        if any(call not in known and structure.callee(source, call) is None for call in calls):
            return True
    return False


def _asked_between(source: Source, put: structure.Happening, learns: ast.AST) -> bool:
    """Whether a network is evaluated after it was put in evaluation mode and before it is trained: else the mode is for the training."""
    if put.at is not put.operation.node:
        return True  # by a function, which evaluates
    block = block_of(source, source.statement_of(put.at))
    for statement in block[block.index(source.statement_of(put.at)) + 1 :]:
        if any(node is learns for node in ast.walk(statement)):
            return False
        for call in within(statement, ast.Call):
            given = put.on in {ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords))}
            if ast.unparse(call.func) == put.on or (given and ASKING.search(last_name(call.func))):
                return not _reaches(source, statement, learns)
    return False


def _reaches(source: Source, statement: ast.stmt, node: ast.AST) -> bool:
    """Whether a node stands in a statement, or in the loop over batches that the statement is in."""
    loops = loops_around(source, node)
    return bool(loops) and loops[0] in loops_around(source, statement)


def _is_last(source: Source, node: ast.AST, loop: Loop) -> bool:
    """Whether a loop ends after a node, by what follows it in its blocks or by the condition around it."""
    inside: ast.AST = source.statement_of(node)
    while inside is not loop and isinstance(inside, ast.stmt):
        block = block_of(source, inside)
        rest = block[block.index(inside) + 1 :] if inside in block else []
        leaving = (
            (ast.Break, ast.Return, ast.Raise)
            if loops_around(source, inside)[:1] == [loop]
            else (ast.Return, ast.Raise)
        )
        if any(isinstance(each, leaving) for each in rest):
            return True
        above = source.parent(inside)
        if isinstance(above, ast.If) and isinstance(above.test, ast.Compare):
            is_equal = isinstance(above.test.ops[0], ast.Eq)
            if is_equal and re.search(
                r"- 1$|last|max|total|final|epochs|steps$", ast.unparse(above.test.comparators[0])
            ):
                return True
        inside = above if above is not None else loop
    return False


def cares_for_mode(source: Source, network: ast.expr) -> bool | None:
    """Whether a network has layers that care for the mode; `None` where its layers are not seen."""
    made = source.constructor(network)
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name.startswith("torch.nn.") and name != "torch.nn.Sequential":
        return name.rpartition(".")[2] in CARING
    definition = source.definition(made.func) if made is not None else None
    written = source.definition(network)
    if isinstance(written, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _has_caring_part(source, written)
    if made is not None and (name == "torch.nn.Sequential" or isinstance(definition, ast.ClassDef)):
        return _has_caring_part(source, definition or made)
    caring = CARING & source.words
    if caring == {"from_pretrained"} and not structure.of_kind(source, Kind.TRAIN) and _comes_whole(source):
        return False  # it comes in evaluation mode
    if caring or any(map(OF_CARING.match, source.words)):
        return True
    classes = [node for node in source.nodes(ast.ClassDef) if structure.is_module(source, node)]
    return False if made is None and classes else None


@once
def _comes_whole(source: Source) -> bool:
    """Whether the text gets a network, and no mere tokenizer, from `from_pretrained`."""
    asked = (call.func for call in source.nodes(ast.Call) if last_name(call.func) == "from_pretrained")
    of = (ast.unparse(each.value) for each in asked if isinstance(each, ast.Attribute))
    return any(not re.search(r"token|config|process|extractor|dataset|scheduler", each, re.IGNORECASE) for each in of)


@once
def _has_caring_part(source: Source, made: ast.AST) -> bool | None:
    """Whether one of the layers that a class or `Sequential` is made of, also by classes and functions of this text, cares for the mode."""
    waiting, seen = [made], {made}
    is_whole = True
    while waiting:
        part = waiting.pop()
        named = {node.id for node in within(part, ast.Name)} | {node.attr for node in within(part, ast.Attribute)}
        if not CARING.isdisjoint(named) or any(map(OF_CARING.match, named)):
            return True
        bases = part.bases if isinstance(part, ast.ClassDef) else []
        for used in (*bases, *(call.func for call in within(part, ast.Call))):
            definition = source.definition(used)
            if definition is not None and definition not in seen:
                seen.add(definition)
                waiting.append(definition)
            elif definition is None and last_name(used)[:1].isupper():
                is_whole &= (source.qualified(used) or ast.unparse(used)).startswith(("torch.", "nn.", "numpy."))
    return False if is_whole else None


OF_CHANCE = re.compile(
    r"(^|_)mc(_|$)|uncertain|bayes|stochastic|monte|(n|num)_?(samples|passes|forward)|mcdrop", re.IGNORECASE
)
"""Names in functions that ask a network for the chance of its dropout."""


def wants_chance(function: Function | None) -> bool:
    """Whether a function evaluates a network in training mode on purpose, for the spread of its outputs."""
    return function is not None and any(map(OF_CHANCE.search, (function.name, *parameter_names(function))))


def asks_for_gradients(function: Function | None, source: Source) -> bool:
    """Whether a function evaluates a network for its gradients."""
    if function is None:
        return False
    if not USES_GRADIENTS.isdisjoint(source.words) and any(
        isinstance(each, ast.Name) and each.id == function.name for call in source.nodes(ast.Call) for each in call.args
    ):
        return True  # it is handed to what may ask for the gradients of its result
    named = {node.attr for node in within(function, ast.Attribute)} | {node.id for node in within(function, ast.Name)}
    named |= {keyword.arg or "" for call in within(function, ast.Call) for keyword in call.keywords}
    return not USES_GRADIENTS.isdisjoint(named) or any("attack" in name or "advers" in name for name in named)
