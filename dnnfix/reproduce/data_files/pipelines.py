"""Edit steps for files that a TensorFlow input pipeline reads: lines of fields, and records of named features."""

from __future__ import annotations

import ast
import math

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import clues
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.data_files.images import image_file, size_of
from dnnfix.reproduce.flow.values import Datum
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

LINES = 400
"""Lines or records of a file."""

_PICTURES = ("decode_jpeg", "decode_png", "decode_image")


def queued_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A file in a queue, by the reader that takes it from there."""
    words = frozenset().union(*(file.words for file in _files(case.source)))
    if "TFRecordReader" in words:
        return records_file(case, datum, path)
    if "TextLineReader" in words:
        return lines_file(case, datum, path)
    return image_file(case, datum, path) if words.intersection(_PICTURES) else None


def lines_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Lines of the fields that `decode_csv` makes of them: its defaults tell their kinds."""
    call = _call(case.source, "decode_csv")
    if call is None:
        return None
    given = argument_value(call, "record_defaults", 1)
    defaults = _constant(case.source, given) if given is not None else None
    if not isinstance(defaults, list) or not all(isinstance(one, list) for one in defaults):
        return None
    separator = _constant(case.source, argument_value(call, "field_delim", 2))
    separator = separator if isinstance(separator, str) else ","
    kinds = [_kind(one, place == len(defaults) - 1) for place, one in enumerate(defaults)]
    text = f"made_lines({LINES}, {kinds!r}, {separator!r}, {_classes(case)})"
    if _has_header(case.source):
        text = f"{separator.join(f'column_{place}' for place in range(len(kinds)))!r} + '\\n' + {text}"
    what = f"{LINES} lines of {len(kinds)} fields ({', '.join(kinds)})"
    told = f"line {call.lineno}: the defaults of decode_csv"
    return f"made_text_file({path!r}, {text})", what, told


def _kind(default: list[object], last: bool) -> str:
    value = default[0] if default else 0.0
    if isinstance(value, str):
        return "word"
    if isinstance(value, int):
        return "label"
    return "value" if last else "number"


def _has_header(source: Source) -> bool:
    calls = [call for file in _files(source) for call in file.all_calls]
    skipped = any(k.arg == "skip_header_lines" for call in calls for k in call.keywords)
    return skipped or any(
        last_name(call.func) == "skip" and len(call.args) == 1 and ast.unparse(call.args[0]) == "1" for call in calls
    )


def records_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Records of the features that the program takes from them."""
    call = _call(case.source, "parse_single_example") or _call(case.source, "parse_example")
    given = _resolved(case.source, argument_value(call, "features", 1)) if call is not None else None
    if call is None or not isinstance(given, ast.Dict):
        return None
    features: dict[str, tuple[object, ...]] = {}
    for key, value in zip(given.keys, given.values, strict=True):
        name = _constant(case.source, key)
        made = _feature(case, datum, name, value) if isinstance(name, str) else None
        if made is None or not isinstance(name, str):
            return None
        features[name] = made
    said = ", ".join(f"{name} ({made[0]})" for name, made in features.items())
    return (
        f"made_tf_records({path!r}, {features!r}, {LINES}, {_classes(case)})",
        f"{LINES} records of {said}",
        f"line {call.lineno}: these features are taken",
    )


def _feature(case: Case, datum: Datum, name: str, value: ast.expr) -> tuple[object, ...] | None:
    """What a feature holds: its kind, then what a maker of it has to know."""
    value = _resolved(case.source, value) or value
    if not isinstance(value, ast.Call):
        return None
    shaped = last_name(value.func) == "FixedLenFeature"
    dtype = last_name(
        argument_value(value, "dtype", 1 if last_name(value.func) != "VarLenFeature" else 0) or ast.Constant("")
    )
    shape = _constant(case.source, argument_value(value, "shape", 0)) if shaped else [8]
    if not isinstance(shape, (list, tuple)) or not all(isinstance(side, int) for side in shape):
        return None
    count = math.prod(shape)
    if dtype == "string":
        return _bytes(case, datum, name)
    if dtype.startswith("float"):
        return ("numbers", count)
    sides = dict(zip(("height", "width", "depth"), _picture_of(case.source), strict=False))
    side = next((size for part, size in sides.items() if part in name.lower().replace("channel", "depth")), None)
    return ("whole number", side) if side is not None else ("labels", count)


def _bytes(case: Case, datum: Datum, name: str) -> tuple[object, ...]:
    """What bytes stand for: a picture, the values of an array, or a word."""
    for file in _files(case.source):
        for call in file.all_calls:
            taken = call.args[0] if call.args else None
            taken = _resolved(file, taken) or taken
            if not isinstance(taken, ast.Subscript) or _constant(file, taken.slice) != name:
                continue
            if last_name(call.func) in _PICTURES:
                return ("picture", (*size_of(case, datum)[0], 3))
            if last_name(call.func) == "decode_raw":
                of = argument_value(call, "out_type", 1)
                return ("array", last_name(of) if of is not None else "uint8", math.prod(_picture_of(file)))
    return ("word",)


def _picture_of(source: Source) -> tuple[int, ...]:
    """The shape that what is read is brought to: one that `reshape` or `set_shape` names, of those with most axes."""
    found: list[tuple[int, ...]] = []
    for call in source.all_calls:
        given = None
        if last_name(call.func) == "set_shape":
            given = argument_value(call, "shape", 0)
        elif last_name(call.func) == "reshape":
            given = argument_value(call, "shape", 1)
        shape = _constant(source, given)
        if isinstance(shape, (list, tuple)) and shape and all(isinstance(side, int) and side > 0 for side in shape):
            found.append(tuple(shape))
    return max(found, key=lambda shape: (len(shape) == 3, math.prod(shape)), default=(784,))


def _classes(case: Case) -> int:
    return max(2, clues.ends(case.source).classes(or_untold=True))


def _files(source: Source) -> tuple[Source, ...]:
    return (source, *source.beside)


def _call(source: Source, name: str) -> ast.Call | None:
    """The first call of that name, in the program or beside it."""
    return next((call for file in _files(source) for call in file.all_calls if last_name(call.func) == name), None)


def _resolved(source: Source, node: ast.expr | None) -> ast.expr | None:
    """What a name holds, where it is bound once."""
    for file in _files(source):
        values = file.bindings(node) if isinstance(node, (ast.Name, ast.Attribute)) and node in _nodes(file) else ()
        if len(values) == 1:
            return values[0]
    return node


def _nodes(source: Source) -> frozenset[ast.expr]:
    return frozenset([*source.nodes(ast.Name), *source.nodes(ast.Attribute)])


def _constant(source: Source, node: ast.expr | None) -> object:
    """The constant that an expression is, through names that are bound once; None for all else."""
    node = _resolved(source, node)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_constant(source, item) for item in node.elts]
    if isinstance(node, ast.ListComp) and isinstance(node.generators[0].iter, ast.Call):
        counted = node.generators[0].iter  # `[[0.0] for _ in range(9)]`
        count = _constant(source, counted.args[0]) if last_name(counted.func) in ("range", "xrange") else None
        return [_constant(source, node.elt)] * count if isinstance(count, int) and 0 < count < 10_000 else None
    if isinstance(node, ast.BinOp):
        left, right = _constant(source, node.left), _constant(source, node.right)
        if isinstance(node.op, ast.Mult) and isinstance(right, int) and 0 < right < 10_000:
            return left * right if isinstance(left, (int, list)) else None
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return left + right
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(source, node.operand)
        return -value if isinstance(value, (int, float)) else None
    return node.value if isinstance(node, ast.Constant) else None
