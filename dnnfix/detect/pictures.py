"""The transforms of pictures that a text composes, and in which range their values are then."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.loops.training_loop import function_around
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

SCALES = words("""ToTensor to_tensor ToDtype to_dtype ConvertImageDtype convert_image_dtype ToFloat img_as_float img_as_float32
    ToImageTensor Rescale ToTensorV2 MinMaxScaler StandardScaler to_image AutoImageProcessor processor
    feature_extractor rescale convertImageDtype""")
"""What brings the values of pictures into [0, 1], or may."""
BY_HAND = re.compile(r"255|127\.5|[-/*]=?\s*\(?(256|128)\b|\b(div_?|sub_?|divide)\([^()]*\b(256|128)\b|mean=\(?\[?128")
OWN = re.compile(
    r"normali[sz]e|standardi[sz]e|preprocess|rescale|scale_|to_float|min_max|\.mean\(|\.std\(", re.IGNORECASE
)
OF_PREDICTION = re.compile(r"^_?(predict|infer|test|evaluate)", re.IGNORECASE)
OF_PHASE = re.compile(r"train|test|val|tr(n)?_|aug", re.IGNORECASE)
AT_RANDOM = re.compile(r"^(Random\w+|ColorJitter|AutoAugment|RandAugment|TrivialAugment\w*|AugMix|GaussNoise)$")


@record
class Composed:
    """Transforms that are composed: `steps` in their order, and what they are called or kept under."""

    call: ast.Call
    steps: tuple[ast.expr, ...]
    name: str
    alone: bool = False
    """Whether this is a single `ToTensor`, which a data set is given as its transform."""

    def step(self, *names: str) -> ast.Call | None:
        """The first step that is a call of one of these."""
        return next((s for s in self.steps if isinstance(s, ast.Call) and last_name(s.func) in names), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the transforms."""
        return tuple(last_name(s.func) if isinstance(s, ast.Call) else last_name(s) for s in self.steps)


def mean_and_deviation(source: Source, call: ast.Call) -> tuple[list[float], list[float]]:
    """The numbers that a `Normalize` is told, also those under names; empty where they are not seen."""
    found = []
    for place, name in enumerate(("mean", "std")):
        given = argument_value(call, name, place)
        values = source.bindings(given) if isinstance(given, ast.Name) else ()
        found.append(numbers_of(values[0] if len(values) == 1 else given))
    return found[0], found[1]


@once
def composed(source: Source) -> tuple[Composed, ...]:
    """The `Compose` calls of the text whose steps are all seen, in source order."""
    found = []
    for call in source.all_calls:
        above = source.parent(call)
        if last_name(call.func) == "ToTensor" and (
            isinstance(above, ast.Assign) or (isinstance(above, ast.keyword) and above.arg == "transform")
        ):
            found.append(Composed(call, (call,), _name_of(source, call), alone=True))
        if last_name(call.func) != "Compose" or not call.args:
            continue
        values = source.bindings(call.args[0]) if isinstance(call.args[0], ast.Name) else ()
        given = values[0] if len(values) == 1 and not _grows(source, call.args[0]) else call.args[0]
        if not isinstance(given, (ast.List, ast.Tuple)) or any(isinstance(one, ast.Starred) for one in given.elts):
            continue
        steps = (source.constructor(one) or one if isinstance(one, ast.Name) else one for one in given.elts)
        found.append(Composed(call, tuple(steps), _name_of(source, call)))
    return tuple(found)


def _name_of(source: Source, call: ast.Call) -> str:
    """The name or key that composed transforms are kept under."""
    above = source.parent(call)
    if isinstance(above, ast.Dict):
        key = next((k for k, v in zip(above.keys, above.values, strict=True) if v is call), None)
        return str(key.value) if isinstance(key, ast.Constant) else ast.unparse(key) if key is not None else ""
    if isinstance(above, ast.keyword) or (isinstance(above, ast.Call) and call in above.args):
        holder = source.statement_of(call)
        around = source.parent(above) if isinstance(above, ast.keyword) else above
        named = ast.unparse(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
        if isinstance(around, ast.Call) and isinstance(argument_value(around, "train", None), ast.Constant):
            return "train" if ast.unparse(argument_value(around, "train", None) or around) == "True" else "test"
        return named
    name = ast.unparse(above.targets[0]) if isinstance(above, ast.Assign) else ""
    around = function_around(source, call)
    if isinstance(above, ast.Return) and around is not None:
        name = around.name
    if OF_PHASE.search(name):
        return name
    if around is not None and OF_PREDICTION.search(around.name):
        return f"{name} test"
    if phase := _of_branch(source, call):
        return f"{name} {phase}"
    uses = {_of_use(source, one) for one in source.nodes(ast.Name) if one.id == name and isinstance(one.ctx, ast.Load)}
    return f"{name} {uses.pop()}".strip() if len(uses) == 1 else name


def _of_branch(source: Source, call: ast.Call) -> str:
    """What data a branch is for, by what it asks: `train`, `test`, or nothing that is told."""
    statement: ast.AST = source.statement_of(call)
    above = source.parent(statement)
    if isinstance(statement, ast.Return) and isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        place = above.body.index(statement)
        before = above.body[place - 1] if place else None
        is_over = isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], ast.Return)
        return _other_phase(_phase(before.test)) if isinstance(before, ast.If) and is_over else ""
    if not isinstance(above, ast.If):
        return ""
    if statement in above.body:
        return _phase(above.test)
    return _other_phase(_phase(above.test))


def _phase(asked: ast.expr) -> str:
    """The data that a condition says are meant."""
    text = ast.unparse(asked)
    trains, tests = re.search(r"train", text), re.search(r"test|(^|\W)val|eval", text)
    if re.search(r"\bnot\b|!=|\bor\b|None|pretrain|\(", text) or bool(trains) == bool(tests):
        return ""
    return "train" if trains else "test"


def _other_phase(phase: str) -> str:
    """What is left where a condition does not hold: an `else` of `val` may be for training or for a test."""
    return "test" if phase == "train" else ""


def _of_use(source: Source, name: ast.Name) -> str:
    """What data a transform is given to: those to `train`, to `test`, or nothing that is told."""
    keyword = source.parent(name)
    call = source.parent(keyword) if isinstance(keyword, ast.keyword) else None
    if not isinstance(call, ast.Call) or not isinstance(keyword, ast.keyword) or keyword.arg != "transform":
        return ""
    holder = source.statement_of(call)
    told = argument_value(call, "train", None)
    named = ast.unparse(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
    if isinstance(told, ast.Constant):
        return "train" if told.value else "test"
    trains, tests = re.search(r"train", named) is not None, re.search(r"test|val(?!ue)|eval", named) is not None
    return "" if trains == tests else "train" if trains else "test"


def _grows(source: Source, steps: ast.expr) -> bool:
    """Whether a list of transforms is added to after it was written down."""
    adds = words("append insert extend")
    return any(
        node.attr in adds and ast.unparse(node.value) == ast.unparse(steps) for node in source.nodes(ast.Attribute)
    )


def of_albumentations(source: Source) -> bool:
    """Whether the text speaks of albumentations, whose `Normalize` scales by itself."""
    return bool(re.search(r"albumentations|\bA\.(Compose|Normalize)|ToTensorV2|\bT_co\b", source.text))


@once
def scales_somewhere(source: Source) -> bool:
    """Whether anything of the text may bring values of pictures into another range."""
    return bool(SCALES & source.words) or BY_HAND.search(source.text) is not None or OWN.search(source.text) is not None


def divided(node: ast.expr) -> ast.expr | None:
    """What is divided by 255: `x / 255`, `x.div(255)`; `None` for another expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_255(node.right):
        return node.left
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and ast.unparse(node.right).replace(" ", "") in ("1/255", "1.0/255", "1/255.0", "1.0/255.0")
    ):
        return node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("div", "div_"):
        return node.func.value if node.args and _is_255(node.args[0]) else None
    return None


def _is_255(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value in (255, 255.0)


def numbers_of(expr: ast.expr | None) -> list[float]:
    """The numbers of a list or tuple of them; empty for anything else."""
    try:
        value = ast.literal_eval(expr) if expr is not None else None
    except ValueError:
        return []
    values = value if isinstance(value, (list, tuple)) else [value]
    return [float(one) for one in values if isinstance(one, (int, float))]


@once
def scales_somewhere_but_normalize(source: Source) -> bool:
    """Whether anything of the text may scale values of pictures, besides a `Normalize` of torchvision."""
    if SCALES & source.words or BY_HAND.search(source.text):
        return True
    own = OWN.sub(lambda found: "" if found.group().lower().startswith("normali") else found.group(), source.text)
    return re.search(r"standardi|rescale|\.mean\(|\.std\(|to_float|min_max", own) is not None
