"""How a text scales its data: the scalers that it fits, the data that went through them or through a formula, and where these are split."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.loops.training_loop import Function, function_around
from dnnfix.detect.written import written_above
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.tree import last_name, within

SCALERS = re.compile(
    r"(Standard|MinMax|MaxAbs|Robust)Scaler$|^(Normalizer|PowerTransformer|QuantileTransformer|SimpleImputer|PCA|KBinsDiscretizer)$"
)
NAMED_SCALER = re.compile(
    r"(^|[._])(\w*scaler\w*|sc(_[xy])?|mms?|ss|scaling|normalizer|min_max|std_?scale)(_?[xyXY\d]\w*)?$", re.IGNORECASE
)
OTHERS = re.compile(r"encoder|\ble\b|(^|_)le$|vectorizer|tfidf|mlb|lb$|ohe|pipeline", re.IGNORECASE)
TRAIN = re.compile(r"(^|[^a-z])(x|y)?_?(tr|trn|train|training)(?![a-z])|train", re.IGNORECASE)
TEST = re.compile(
    r"(^|[^a-z])(test|testing|val|valid|validation|eval|dev|holdout|unseen|new_data)(?![a-z])|[xy]_?test|(^|[^a-z])test_?[xy](?![a-z])|[xy]_?val(?![a-z])|test_?set|test_?data",
    re.IGNORECASE,
)
FUNCTIONS = re.compile(r"(^|\.)preprocessing\.(scale|minmax_scale|maxabs_scale|robust_scale)$")
OF_EACH = re.compile(r"(axis|dim)=[\[(]?(-1|[1-9])|\.(mean|min|amin)\((-1|[1-9])\b")
PIPES = ("Pipeline", "make_pipeline", "ColumnTransformer", "make_column_transformer")
FITS = ("fit", "fit_transform")
SPLITS = re.compile(
    r"(^|\.)(train_test_split|random_split|train_val_split|train_validation_split|temporal_train_test_split|split_data|data_split|split_dataset)$"
)


@record
class Fitting:
    """A call that fits a scaler: the text of the scaler, its data, and whether the data are transformed at once."""

    call: ast.Call
    scaler: str
    data: ast.expr

    @property
    def function(self) -> str:
        """`fit` or `fit_transform`."""
        return last_name(self.call.func)


@once
def fittings(source: Source) -> tuple[Fitting, ...]:
    """The calls that fit a scaler, in source order."""
    found = []
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in FITS or not call.args:
            continue
        if is_scaler(source, call.func.value) and len(call.args) <= 1 + (call.func.attr == "fit_transform"):
            found.append(Fitting(call, ast.unparse(call.func.value), call.args[0]))
    return tuple(found)


def is_scaler(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is a scaler: by what made it, else by its name."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "fit":
        return is_scaler(source, expr.func.value)
    made = expr if isinstance(expr, ast.Call) else source.constructor(expr)
    if made is None and isinstance(expr, ast.Subscript):
        return _is_of_scalers(source, expr)
    if made is None:
        written = written_above(source, expr, expr)
        made = written.value if written is not None and isinstance(written.value, ast.Call) else None
    if made is not None and last_name(made.func) in PIPES:
        return any(SCALERS.search(last_name(call.func)) for call in within(made, ast.Call))
    if made is not None:
        return SCALERS.search(last_name(made.func)) is not None
    text = ast.unparse(expr)
    return NAMED_SCALER.search(text) is not None and OTHERS.search(text) is None


def _is_of_scalers(source: Source, expr: ast.Subscript) -> bool:
    """Whether what an expression is taken of holds scalers: one made for each, or kept under their names."""
    kept = written_above(source, expr, expr)
    values = [kept.value] if kept is not None else list(source.bindings(expr.value))
    calls = [call for value in values for call in within(value, ast.Call)]
    return any(SCALERS.search(last_name(call.func)) for call in calls) or (
        not calls and NAMED_SCALER.search(ast.unparse(expr.value).removesuffix("s")) is not None
    )


def standardized_by_hand(source: Source, node: ast.BinOp) -> str:
    """The data that a formula scales by their own statistics, as `(x - x.mean()) / x.std()`; empty where it is none."""
    if not isinstance(node.op, ast.Div):
        return ""
    lower = node.left
    while isinstance(lower, ast.Call) and lower.args and not isinstance(lower.func, ast.Attribute):
        lower = lower.args[0]
    if not isinstance(lower, ast.BinOp) or not isinstance(lower.op, ast.Sub):
        return ""
    data = ast.unparse(lower.left)
    subtracted, divisor = _origin(source, lower.right), _origin(source, node.right)
    if OF_EACH.search(subtracted):
        return ""  # each sample by its own
    of_own = re.search(
        rf"(?<![\w.]){re.escape(data)}(\.values)?\.(mean|min)\(|(mean|min)\({re.escape(data)}\b", subtracted
    )
    by_own = re.search(rf"(?<![\w.]){re.escape(data)}(\.values)?\.(std|max)\(|(std|max)\({re.escape(data)}\b", divisor)
    return data if of_own and by_own else ""


def scaled_by_itself(source: Source, node: ast.AST) -> str:
    """The data that an expression or statement scales by their own statistics: by a formula, in place or by a function of sklearn."""
    if isinstance(node, ast.BinOp):
        return standardized_by_hand(source, node)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        named = last_name(node.func).endswith("scale")
        name = (source.qualified(node.func) or ast.unparse(node.func)) if named else ""
        scales = FUNCTIONS.search(name) or _is_of_own_statistics(source, node)
        return ast.unparse(node.args[0]) if scales else ""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        data = ast.unparse(node.target)
        own = re.search(rf"(?<![\w.]){re.escape(data)}\.mean\(|mean\({re.escape(data)}\b", _origin(source, node.value))
        divides = (each for each in source.nodes(ast.AugAssign) if isinstance(each.op, ast.Div))
        return data if own and any(ast.unparse(each.target) == data for each in divides) else ""
    return ""


def _is_of_own_statistics(source: Source, call: ast.Call) -> bool:
    """Whether a function of the text gives back what it is given, scaled by its own statistics."""
    function = source.definition(call.func)
    last = function.body[-1] if isinstance(function, ast.FunctionDef) else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(last, ast.Return) or len(function.args.args) != 1:
        return False
    written = written_above(source, last.value, last) if isinstance(last.value, ast.Name) else None
    given = written.value if written is not None else last.value
    return isinstance(given, ast.BinOp) and standardized_by_hand(source, given) == function.args.args[0].arg


def _origin(source: Source, expr: ast.expr) -> str:
    """The text of an expression, with that of what its names were assigned right above."""
    texts = [ast.unparse(expr)]
    for name in within(expr, ast.Name):
        written = written_above(source, name, expr)
        if written is not None:
            texts.append(ast.unparse(written.value))
    return " ; ".join(texts)


@once
def split_after(source: Source, statement: ast.stmt, start: ast.expr) -> ast.stmt | None:
    """The statement below that splits what a statement computed into parts to train and to test; `None` where none is seen.

    `start` is what is followed: the target of the statement, or the data that a scaler was fitted on in place.
    """
    around = function_around(source, statement)
    follow = {ast.unparse(start)}
    follow |= {ast.unparse(start.value)} if isinstance(start, ast.Subscript) else set()
    for each in _statements(source, around):
        if each.lineno <= statement.lineno:
            continue
        split = _splits(source, each, follow)
        if split:
            return each
        if isinstance(each, ast.Assign):
            targets = {
                ast.unparse(t)
                for target in each.targets
                for t in (target.elts if isinstance(target, ast.Tuple) else [target])
            }
            if _reads(each.value, follow):
                follow |= targets
            else:
                follow -= targets
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and last_name(each.value.func) == "append":
            looped = isinstance(source.parent(each), ast.For)
            if (
                isinstance(each.value.func, ast.Attribute)
                and looped
                and any(_reads(a, follow) for a in each.value.args)
            ):
                follow.add(ast.unparse(each.value.func.value))
    return None


def _statements(source: Source, around: Function | None) -> list[ast.stmt]:
    """The plain statements of a function, or of the module's top, in source order."""
    kinds = (ast.Assign, ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign, ast.For)
    found: list[ast.stmt] = [
        node for kind in kinds for node in source.nodes(kind) if function_around(source, node) is around
    ]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def _reads(node: ast.AST, texts: set[str]) -> bool:
    """Whether one of these names, attributes or columns is read below a node."""
    return any(ast.unparse(one) in texts for one in within(node, ast.Name, ast.Attribute, ast.Subscript))


def _is_open(bound: ast.expr | None) -> bool:
    """Whether a bound of a slice is none: `0`, or the length."""
    return bound is None or ast.unparse(bound) == "0" or ast.unparse(bound).startswith("len(")


def _is_drawn(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether a part to train on is drawn by chance: `train = table.sample(frac=0.8)`."""
    named = " ".join(ast.unparse(t) for t in statement.targets) if isinstance(statement, ast.Assign) else ""
    drawn = last_name(call.func) == "sample" and any(keyword.arg == "frac" for keyword in call.keywords)
    whole = any(ast.unparse(keyword.value) in ("1", "1.0") for keyword in call.keywords)
    return drawn and not whole and (TRAIN.search(named) or TEST.search(named)) is not None


def _splits(source: Source, statement: ast.stmt, follow: set[str]) -> bool:
    """Whether a statement splits one of these."""
    if isinstance(statement, ast.For):
        return (
            re.search(r"\.split\(", ast.unparse(statement.iter)) is not None
            and re.search(r"fold|\bs?kf\b|\bcv\b", ast.unparse(statement.iter).lower()) is not None
            and _reads(statement.iter, follow)
        )
    for call in within(statement, ast.Call):
        if _is_drawn(statement, call) and any(_reads(call.func, {text}) for text in follow):
            return True
        if SPLITS.search(ast.unparse(call.func)) and any(
            _reads(a, follow) for a in (*call.args, *(k.value for k in call.keywords))
        ):
            return True
    for part in within(statement, ast.Subscript):
        first = part.slice.elts[0] if isinstance(part.slice, ast.Tuple) and part.slice.elts else part.slice
        if ast.unparse(part.value) not in {
            *follow,
            *(f"{text}.iloc" for text in follow),
            *(f"{text}.loc" for text in follow),
            *(f"{text}.values" for text in follow),
        }:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        named = " ".join(ast.unparse(t) for t in targets)
        chosen = [source.enclosing(part, ast.IfExp), source.enclosing(statement, ast.If)]
        asked = " ".join([named, *(ast.unparse(one.test) for one in chosen if isinstance(one, (ast.If, ast.IfExp)))])
        if (
            isinstance(first, ast.Slice)
            and (TEST.search(asked) or TRAIN.search(asked))
            and _is_open(first.lower) != _is_open(first.upper)
        ):
            return True
        if (
            isinstance(first, ast.Name)
            and re.search(r"train|test|val", first.id)
            and (TEST.search(named) or TRAIN.search(named))
        ):
            return True
    return False
