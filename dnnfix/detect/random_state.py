"""Which sources of randomness a text pins, and which it draws from: seeds, and the settings of cuDNN."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from enum import StrEnum

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import Function, block_of, function_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import within


class Origin(StrEnum):
    """A generator of random numbers."""

    PYTHON = "Python's random"
    NUMPY = "NumPy"
    TORCH = "torch"
    CUDA = "CUDA"


SEEDS = {
    "random.seed": (Origin.PYTHON,),
    "numpy.random.seed": (Origin.NUMPY,),
    "numpy.random.set_state": (Origin.NUMPY,),
    "random.setstate": (Origin.PYTHON,),
    "torch.manual_seed": (Origin.TORCH, Origin.CUDA),
    "torch.random.manual_seed": (Origin.TORCH, Origin.CUDA),
    "torch.set_rng_state": (Origin.TORCH,),
    "torch.random.set_rng_state": (Origin.TORCH,),
    "torch.cuda.manual_seed": (Origin.CUDA,),
    "torch.cuda.manual_seed_all": (Origin.CUDA,),
    "torch.cuda.random.manual_seed": (Origin.CUDA,),
    "torch.cuda.random.manual_seed_all": (Origin.CUDA,),
    "torch.cuda.set_rng_state": (Origin.CUDA,),
    "torch.cuda.set_rng_state_all": (Origin.CUDA,),
}
SEEDERS = re.compile(
    r"^(\w*_)?(seed_\w+|(set|fix|init|initiali[sz]e|setup|make|same|apply|ensure|enforce|global|random|all)_(\w+_)?(seeds?|seeding)(_\w+)?|(set|fix|init|setup|random)\w*Seeds?"
    r"|(make_|set_|ensure_|enable_)?(reproducib|determinis)\w*)$"
)
"""Functions from elsewhere that seed several generators."""


SETTINGS = ("benchmark", "deterministic", "enabled")
"""The settings of cuDNN that choose its algorithms."""


@record
class Setting:
    """An assignment to a setting of cuDNN: its name, the value, and the statement."""

    name: str
    value: ast.expr
    statement: ast.stmt

    def says(self, value: bool) -> bool:
        """Whether it is set to this constant."""
        return (
            isinstance(self.value, ast.Constant)
            and self.value.value in (value, int(value))
            and self.value.value is not None
        )


@record
class Seeding:
    """A call that seeds generators."""

    origins: tuple[Origin, ...]
    call: ast.Call


@once
def settings(source: Source) -> tuple[Setting, ...]:
    """The settings of cuDNN that a text assigns, in its order."""
    return tuple(each for each in _assigned(source) if each.name in SETTINGS)


@once
def misspelt(source: Source) -> tuple[Setting, ...]:
    """What a text assigns to cuDNN that is meant for a setting and is none, by the name that is meant."""
    near = [(each, difflib.get_close_matches(each.name, SETTINGS, 1, 0.8)) for each in _assigned(source)]
    return tuple(
        Setting(meant[0], each.value, each.statement) for each, meant in near if meant and each.name != meant[0]
    )


def _assigned(source: Source) -> Iterator[Setting]:
    """What a text assigns to attributes of cuDNN, settings or none."""
    if "cudnn" not in source.words:
        return
    for node in source.nodes(ast.Assign):
        for target, value in (pair for one in node.targets for pair in _pairs(one, node.value)):
            if isinstance(target, ast.Attribute) and _is_cudnn(source, target):
                yield Setting(target.attr, value, node)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What an assignment gives to what, also where it gives several values at once."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _is_cudnn(source: Source, target: ast.Attribute) -> bool:
    text = source.qualified(target.value) or ast.unparse(target.value)
    return text.rpartition(".")[2] == "cudnn"


@once
def asks_for_determinism(source: Source) -> ast.stmt | None:
    """The first statement that asks for deterministic algorithms of cuDNN or of torch as a whole."""
    found: list[ast.stmt] = [
        each.statement for each in settings(source) if each.name == "deterministic" and each.says(True)
    ]
    for call in source.all_calls:
        name = source.qualified(call.func) or ast.unparse(call.func)
        off = any(isinstance(each, ast.Constant) and each.value is False for each in call.args)
        if name in ("torch.use_deterministic_algorithms", "torch.set_deterministic") and not off:
            found.append(source.statement_of(call))
        if name.rpartition(".")[2] == "Trainer" and any(k.arg == "deterministic" for k in call.keywords):
            found.append(source.statement_of(call))
    return min(found, key=lambda one: one.lineno, default=None)


@once
def seedings(source: Source) -> tuple[Seeding, ...]:
    """The calls that seed generators, in the order of the text."""
    found = []
    own = {each.name for each in source.nodes(ast.FunctionDef)}
    for call in source.all_calls:
        name = _name(source, call.func)
        last = name.rpartition(".")[2]
        origins = SEEDS.get(name)
        if origins is None and SEEDERS.search(last) and last not in own and not name.startswith("torch."):
            origins = tuple(Origin)
        if origins is None and name in ("numpy.random.RandomState", "numpy.random.default_rng") and call.args:
            origins = (Origin.NUMPY,)
        if origins is not None:
            found.append(Seeding(origins, call))
    return tuple(found)


@once
def seeds_overwritten(source: Source) -> tuple[tuple[Origin, ast.Assign], ...]:
    """Where a function that seeds is given a value in place of being called: nothing is seeded, and the function is lost."""
    return tuple(
        (SEEDS[name][0], node)
        for node in source.nodes(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and (name := _name(source, target)) in SEEDS
    )


def _name(source: Source, func: ast.expr) -> str:
    """The canonical name of a function; in a fragment, which imports nothing, by the usual names of modules."""
    return re.sub(r"^np\.", "numpy.", source.qualified(func) or ast.unparse(func))


NO_DRAWS = words(
    "seed get_state set_state getstate setstate RandomState default_rng Generator SeedSequence Random PCG64 bit_generator"
)
OF_TORCH = re.compile(
    r"torch\.(rand|randn|randint|randperm|normal|bernoulli|multinomial)(_like)?|(torch\.utils\.data\.|data\.)?random_split"
)
OF_NO_RESULT = re.compile(r"seed|port$|(^|_)(uu|gu)?id$|name|suffix|color|colour", re.IGNORECASE)
OF_SKLEARN = words("train_test_split shuffle KFold StratifiedKFold ShuffleSplit")


@once
def draws(source: Source) -> dict[Origin, tuple[ast.Call, ...]]:
    """The calls that draw from the generator of a module: not from one of its own, and not a seed that is meant to be another one each time."""
    found: dict[Origin, tuple[ast.Call, ...]] = {}
    for call in source.all_calls:
        origin = _drawn_from(source, call)
        if origin is not None and not _is_for_no_result(source, call):
            found[origin] = (*found.get(origin, ()), call)
    return found


def is_draw(source: Source, value: ast.expr) -> bool:
    """Whether a value is drawn from the generator of a module."""
    return isinstance(value, ast.Call) and _drawn_from(source, value) is not None


def _drawn_from(source: Source, call: ast.Call) -> Origin | None:
    """The generator that a call draws from, by its name and the arguments that are named."""
    name, given = _name(source, call.func), {k.arg or "": k.value for k in call.keywords}
    last = name.rpartition(".")[2]
    if last in NO_DRAWS or "generator" in given or "random_state" in given:
        return None
    if re.fullmatch(r"numpy\.random\.\w+", name):
        return Origin.NUMPY
    if re.fullmatch(r"random\.[a-z]+", name):
        return Origin.PYTHON
    shuffles = isinstance(given.get("shuffle"), ast.Constant) and ast.unparse(given["shuffle"]) == "True"
    if (
        OF_TORCH.fullmatch(name)
        or (last == "DataLoader" and shuffles)
        or last in ("RandomSampler", "SubsetRandomSampler")
    ):
        return Origin.TORCH
    if last in OF_SKLEARN and (name.startswith("sklearn.") or (name == last and last != "shuffle")):
        return Origin.NUMPY if last not in ("KFold", "StratifiedKFold") or shuffles else None
    return Origin.NUMPY if last == "sample" and "frac" in given else None  # rows of a table of pandas


def _is_for_no_result(source: Source, call: ast.Call) -> bool:
    """Whether what is drawn becomes a seed, a name or a port."""
    statement, above = source.statement_of(call), source.parent(call)
    while isinstance(above, ast.expr):
        formats = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod) and _is_text(above.left)
        if formats or isinstance(above, ast.JoinedStr) or (isinstance(above, ast.Call) and _is_text(above.func)):
            return True
        above = source.parent(above)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return ".join(" in ast.unparse(statement) or any(OF_NO_RESULT.search(ast.unparse(each)) for each in targets)


def _is_text(expr: ast.expr) -> bool:
    """Whether an expression is a text, or a method of one, or what makes one."""
    of = expr.value if isinstance(expr, ast.Attribute) else expr
    return (isinstance(of, ast.Constant) and isinstance(of.value, str)) or ast.unparse(of) == "str"


OF_CHOICE = re.compile(r"determin|reprod|benchmark|seed is None|not \S*seed", re.IGNORECASE)
OF_GPU = re.compile(r"cuda|gpu|__name__")
OF_PROMISE = re.compile(r"reproduc|determinis|复现|重现|再現|재현", re.IGNORECASE)
"""Words of comments that speak of equal results."""
OF_TRADE = re.compile(
    r"(\b(not|less|lose|cost|sacrific|break|instead|non|faster|speed)|\b(un|ir|non)).*(reproduc|determin)"
    r"|(reproduc|determin).*\b(not |lose|lost|cost|sacrific|false|off|disable|faster|speed|trade)|(无法|不能|不可)(复现|重现)",
    re.IGNORECASE,
)
"""Comments that know of unequal results, and take them for speed."""
OF_SPEED = re.compile(
    r"speed|fast|boost|加速|加快|提速|高速|속도|빠르|accelerat|perform|optimi[sz]|auto-?tun|\b(same|fixed|constant) (\w+ )*sizes?\b|size\w* .*(fixed|constant|same|(not|n't) (vary|change))",
    re.IGNORECASE,
)
"""Comments that say what a setting is for: speed, or inputs of one size."""
OF_SEEDING = re.compile(r"seed|reproduc|determin|(set|fix|init)\w*random", re.IGNORECASE)
"""Names of functions that pin what is random."""
OF_TRAINING = re.compile(r"train|^fit|^main$|^run")
OF_WORK = re.compile(r"^_*(main|run|start|train|fit|test|eval|work)", re.IGNORECASE)
ON_DEVICE = re.compile(r"dev|gpu|cuda", re.IGNORECASE)


@once
def uses_gpu(source: Source) -> bool:
    """Whether a text puts something on a GPU, or on a device that is not seen to be the CPU."""
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "cuda" or (call.func.attr == "set_device" and "cuda" in ast.unparse(call.func)):
            return True
        if (
            call.func.attr == "to"
            and any(ON_DEVICE.search(ast.unparse(each)) for each in call.args)
            and not _is_cpu(source, call)
        ):
            return True
    texts = (node.value for node in source.nodes(ast.Constant) if isinstance(node.value, str))
    return any(re.fullmatch(r"gpu|cuda(:\d+)?", text) for text in texts)


def _is_cpu(source: Source, call: ast.Call) -> bool:
    """Whether the device that something is put on is the CPU."""
    given = [ast.unparse(value) for each in call.args for value in (source.bindings(each) or (each,))]
    return all("cpu" in text and "cuda" not in text for text in given)


def comments(source: Source, statement: ast.stmt) -> list[str]:
    """What is said of a statement on its line, and on a line above that says nothing else; code that is commented out says nothing."""
    lines = source.text.split("\n")[: statement.lineno]
    said = [lines[-1].partition("#")[2], *(line.strip()[1:] for line in lines[-2:-1] if line.strip().startswith("#"))]
    return [each for each in said if each and not re.search(r"cudnn\.\w+ *=", each)]


def is_chosen(source: Source, statement: ast.stmt) -> bool:
    """Whether a setting stands where its user chose against equal results: in a condition, or by a comment of its own, which may speak of speed alone where nobody asks for determinism."""
    said = comments(source, statement)
    if any(OF_TRADE.search(each) for each in said):
        return True
    if any(OF_SPEED.search(each) for each in said) and asks_for_determinism(source) is None:
        return True
    above = source.parent(statement)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.ClassDef)):
        if isinstance(above, ast.If) and OF_CHOICE.search(ast.unparse(above.test)):
            return True
        above = source.parent(above)
    return False


def is_on_every_way(source: Source, statement: ast.stmt) -> bool:
    """Whether a setting is made in any case, or in any that has a GPU: no other condition stands around it in its function."""
    above = source.parent(statement)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.ClassDef)):
        if isinstance(above, ast.If) and not OF_GPU.search(ast.unparse(above.test)):
            return False
        above = source.parent(above)
    return True


def takes_back(source: Source, tried: Setting) -> bool:
    """Whether a setting changes what a function of seeds has set before it: that is called above, or is there for all the work that this belongs to."""
    around = function_around(source, tried.statement)
    if not is_on_every_way(source, tried.statement):
        return False
    for each in settings(source):
        helper = function_around(source, each.statement)
        if each.name != "deterministic" or not each.says(True) or helper is None or helper is around:
            continue
        if any(
            function_around(source, call) is around and call.lineno < tried.statement.lineno
            for call in calls_of(source, helper)
        ):
            return True
        if OF_SEEDING.search(helper.name) and around is not None and OF_WORK.search(around.name):
            return True
    return False


def calls_of(source: Source, function: Function) -> list[ast.Call]:
    """The calls of a function of the text, by its name."""
    return [call for call in source.all_calls if ast.unparse(call.func).rpartition(".")[2] == function.name]


def effect(source: Source, seeding: Seeding) -> ast.stmt:
    """The statement by which a seed is set: the first call of the function of seeds that it stands in, or its own."""
    function = function_around(source, seeding.call)
    calls = [] if function is None or not OF_SEEDING.search(function.name) else calls_of(source, function)
    return min(
        (source.statement_of(call) for call in calls),
        key=lambda one: one.lineno,
        default=source.statement_of(seeding.call),
    )


def run_before(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The statements that are run before another one in any case: above it in its block, and above the conditions and loops that it stands in."""
    found: list[ast.stmt] = []
    block = block_of(source, statement)
    found += block[: block.index(statement)]
    around = source.parent(statement)
    return found + run_before(source, around) if isinstance(around, (ast.If, ast.With, ast.Try, ast.For)) else found


def is_after_training(source: Source, drawn: ast.AST) -> bool:
    """Whether something is drawn at the top of a text below all that trains there: what is shown of the result."""
    trained = [operation.node for operation in structure.of_kind(source, structure.Kind.BACKWARD)]
    functions = [function_around(source, each) for each in trained]
    begun = [call for function in functions if function is not None for call in calls_of(source, function)]
    named = [
        call for call in source.all_calls if OF_TRAINING.search(ast.unparse(call.func).rpartition(".")[2]) and call.args
    ]
    lines = [each.lineno for each in (*trained, *begun, *named) if function_around(source, each) is None]
    return bool(lines) and max(lines) < source.statement_of(drawn).lineno


def in_same_case(source: Source, one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes may both be reached: they do not stand in the two branches of one condition."""
    for above in source.nodes(ast.If):
        sides = [_side(above, one), _side(above, other)]
        if sides in ([0, 1], [1, 0]):
            return False
    return True


def _side(above: ast.If, node: ast.AST) -> int | None:
    """0 for a node in the body of a condition, 1 for one in its other branch."""
    for side, body in enumerate((above.body, above.orelse)):
        if any(each is node for statement in body for each in within(statement, type(node))):
            return side
    return None
