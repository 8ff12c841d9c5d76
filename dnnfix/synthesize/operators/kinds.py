"""The operator "kinds": a value is converted to another type, such as an integer, an array, a tensor, a list or a
string.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.tensors.dtypes import changed_in_place
from dnnfix.detect.tensors.symbolic import parameters
from dnnfix.records import Edit, FixPattern
from dnnfix.source.public_names import words
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.operators.change import Change, around, replaced
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import DATA_SETS, Place, Role

PATTERN = FixPattern.DATA_TYPE

LAZY = words("map filter zip range dict_keys dict_values dict_items generator set reversed enumerate")
"""Kinds of values that are gone through once, or have no order: a list of them can be indexed and counted."""

PULLED = ("map", "filter", "zip", "enumerate")
"""Those of them that are asked for one value after the other, and that some functions do not take for generators."""

MODELS = ("Functional", "Sequential", "Model")
"""Models of Keras: what a layer is called on is what they give, not they."""

CHANGING = words("append extend insert remove pop sort reverse update add setdefault clear discard")
"""Methods of plain containers that change them and give nothing back."""

MORE = ("places", "names")
"""Parameters that take any number of arguments, and so none."""

SIMILAR = frozenset({"list", "tuple", "set", "frozenset", "int", "float"})
"""Kinds of which one is often tested for where another will do."""

CALLABLE = ("function", "method", "builtin_function_or_method")

_COUNTED = re.compile(
    r"between instances of '(?:tuple|list|Size|dict|str)' and '(?:int|float)'"
    r"|between instances of '(?:int|float)' and '(?:tuple|list|Size|dict|str)'"
)
_JOINED = re.compile(
    r"can only concatenate (?:list|tuple) \(not|unsupported operand type\(s\) for .+: '(?:list|tuple)' and 'int'"
)
GRADIENTS = re.compile(r"backward|require grad|requires grad|requires_grad|grad_fn|leaf", re.IGNORECASE)
"""What is said where gradients do not flow as they should."""

OF_NUMBERS = -2.0
"""What numbers of another kind lose there, in logarithms: that they cut what flows is no reason to take them."""

CUTTING = -1.5
"""What whole numbers lose that are made of what gradients flow through."""

OUT_OF_GRAPH = -1.5
"""What an array of NumPy loses where a function of a framework is given it: no gradient flows through."""

ONLY_ARRAY = 0.9
"""What the element of a tuple gains that alone is an array, where the message says that a tuple is not taken."""

NAMED = 0.5
"""What numbers of a kind gain that the message names."""

OF_RESULTS = -1.2
"""What one tensor made of a tuple loses: rather these are the results of a function, of which one is meant."""

KINDS_OF_NUMBERS = {
    "float64": "double|float64",
    "double": "double|float64",
    "float": "float|float32",
    "long": "long|int64",
    "int64": "long|int64",
    "bool": "bool|boolean",
}
"""What messages call a kind of number, by what is in the text of a conversion to it."""

_NO_TUPLE = re.compile(r"not tuple|'tuple' object|got tuple|found tuple")
_NO_TENSOR = re.compile(r"must be Tensor, not (?:numpy\.)?(?:float|int)")
_MISSING = re.compile(r"has no attribute '(\w+)'")
_OF_NUMBERS = re.compile(r"\b(?:float|double|half|int32|int64|long)\b", re.IGNORECASE)
_OF_SIZES = re.compile(r"\b(?:shapes?|sizes?|dimensions?|channels|cardinality|broadcast|aligned)\b", re.IGNORECASE)


def _asked_for(scene: Scene, node: ast.expr) -> Iterator[Change]:
    """A test for one kind lets the kind pass as well that the value is of."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kinds]):
            told = scene.told(value)
            asked = [ast.unparse(each) for each in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
            if told is not None and told.kind in SIMILAR and set(asked) <= SIMILAR and told.kind not in asked:
                yield replaced(scene, kinds, f"({', '.join([*asked, told.kind])})", "asked for")


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other kinds for the value at a place."""
    yield from _asked_for(scene, place.node)
    if place.told is None or _changed_in_place(scene, place):
        return
    missing = _MISSING.search(scene.message) if scene.kind == "AttributeError" else None
    if missing and missing.group(1) in CHANGING:
        return  # another kind has such a method, and what it gives back is nothing
    of_numbers = place.told.is_array and not place.told.is_sparse
    if of_numbers and scene.kind != "TypeError" and _OF_SIZES.search(scene.message):
        return  # sizes do not depend on what kind the numbers are of
    if isinstance(place.node, ast.Constant) and (place.role is not Role.FAILING or _is_no_number(place.told)):
        return
    if scene.site(place.node) in scene.compared:
        yield around(scene, place.node, "", "()", "call compared")
        return
    if place.told.is_torch and place.told.grown and "leaf" in scene.message:
        yield around(scene, place.node, "", ".data", "data")
    if place.told.size is not None and scene.kind == "TypeError" and _is_counted(scene, place.node):
        yield around(scene, place.node, "len(", ")", "length")
    of_gradients = GRADIENTS.search(scene.message) is not None
    returned = _NO_TUPLE.search(scene.message) is not None and not _is_given(scene, place.node)
    for before, after, form, imports in _conversions(scene, place.told):
        less = OF_NUMBERS if of_gradients and form == "number" else 0.0
        less += CUTTING * (place.told.grown and after == ".long()")
        less += OUT_OF_GRAPH * (form == "numpy" and _is_operand(scene, place.node))
        less += OF_RESULTS * (form == "tensor" and place.told.kind == "tuple")
        less += NAMED * (form == "number" and _is_named(scene.message, after))
        less += ONLY_ARRAY * (form == "element" and returned and _is_only_array(place.told, after))
        yield around(scene, place.node, before, after, form, imports, less)


def _is_counted(scene: Scene, node: ast.expr) -> bool:
    """Whether the number of its elements is what a value is used for: it is compared with a number, or a range ends at it."""
    if _COUNTED.search(scene.message):
        return True
    above = scene.subject.source.parent(node)
    while isinstance(above, ast.BinOp):
        above = scene.subject.source.parent(above)
    ends_range = isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "range"
    return ends_range and _JOINED.search(scene.message) is not None


def _is_named(message: str, conversion: str) -> bool:
    """Whether a message names the kind of number that a conversion gives."""
    names = next((names for part, names in KINDS_OF_NUMBERS.items() if part in conversion), None)
    return names is not None and re.search(rf"\b(?:{names})\b", message, re.IGNORECASE) is not None


def _is_operand(scene: Scene, node: ast.expr) -> bool:
    """Whether a function of a framework takes an expression."""
    above = scene.subject.source.parent(node)
    name = scene.subject.source.qualified(above.func) or "" if isinstance(above, ast.Call) else ""
    return name.startswith(("torch.", "tensorflow.", "keras."))


def _is_given(scene: Scene, node: ast.expr) -> bool:
    """Whether an expression is a parameter of the function around it: what was given is the caller's to take apart."""
    function = scene.subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.id in parameters(function)


def _is_only_array(told: Told, index: str) -> bool:
    """Whether the first (`[0]`) or the last (`[-1]`) of several elements is an array, and no other is."""
    arrays = [number for number, item in enumerate(told.items) if item.is_array]
    return told.size == len(told.items) > 1 and arrays == [0 if index == "[0]" else len(told.items) - 1]


def _is_no_number(told: Told) -> bool:
    """Whether a written value has no whole number in it: another text, or a part of one."""
    if told.text is not None:
        return not told.text.strip().lstrip("+-").replace(".", "", 1).isdigit()
    return isinstance(told.number, float) and not told.number.is_integer()


def _changed_in_place(scene: Scene, place: Place) -> bool:
    """Whether a method of the value is called that changes it: of what it is converted to, the change would be lost."""
    above = scene.subject.source.parent(place.node)
    changing = isinstance(above, ast.Attribute) and above.value is place.node and above.attr in CHANGING
    return changing or changed_in_place(scene.subject.source, place.node)


def _conversions(scene: Scene, told: Told) -> Iterator[tuple[str, str, str, tuple[Edit, ...]]]:
    def plain(before: str, after: str, form: str) -> tuple[str, str, str, tuple[Edit, ...]]:
        return before, after, form, ()

    def called(function: str, form: str, rest: str = "") -> tuple[str, str, str, tuple[Edit, ...]]:
        spelling = spell(scene.subject, function)
        return f"{spelling.code}(", f"{rest})", form, tuple(spelling.imports)

    kind = told.last
    frameworks = scene.subject.source.frameworks
    if told.number is not None and _NO_TENSOR.search(scene.message):
        yield called("torch.tensor", "tensor asked for")
    if told.is_torch:
        if told.dtype != "bool" and "bool" in scene.message:
            yield plain("", ".bool()", "number")
        yield plain("", ".float()" if told.dtype != "float32" else ".long()", "number")
        if told.dtype != "float32":
            yield plain("", ".long()", "number")
        if _speaks_of_double(scene, told):
            yield plain("", ".double()", "number")
        if told.size == 1 or told.shape in ((), (1,)):
            yield plain("", ".item()", "item")
        yield plain("", ".detach()", "detach")
        yield plain("", ".detach().numpy()" if told.grown else ".numpy()", "numpy")
        yield plain("", ".tolist()", "list")
    elif told.is_numpy:
        yield plain("", ".astype('float32')" if told.dtype != "float32" else ".astype('int64')", "number")
        if told.dtype != "int64":
            yield plain("", ".astype('int64')", "number")
        if "torch" in frameworks:
            yield called("torch.from_numpy", "tensor")
        yield plain("", ".tolist()", "list")
    elif told.is_sparse:
        yield plain("", ".toarray()", "dense")
    elif told.is_array:
        if "tensorflow" in told.kind:
            yield called("tensorflow.cast", "number", ", tf.float32")
            yield called("tensorflow.cast", "number", ", tf.int64")
            if _speaks_of_double(scene, told):
                yield called("tensorflow.cast", "number", ", tf.float64")
        yield plain("", ".numpy()", "numpy")
    elif kind in ("list", "tuple"):
        yield called("numpy.array", "array")
        if "torch" in frameworks:
            held = told.items[0] if told.items else None
            yield called("torch.stack" if held is not None and held.is_torch else "torch.tensor", "tensor")
        yield plain("", "[0]", "element")
        yield plain("", "[-1]", "element")
        if kind == "list":
            yield plain("tuple(", ")", "tuple")
    elif kind in LAZY:
        yield plain("list(", ")", "list")
        yield plain("next(", ")", "next")
        yield called("numpy.array", "array")
        if kind in PULLED:
            yield plain("(each for each in ", ")", "generator")
    elif told.kind.startswith(DATA_SETS) and "Batch" not in kind:
        yield plain("", ".batch(32)", "batched")
    elif kind == "dict":
        yield plain("list(", ".values())", "values")
        yield plain("", ".items()", "items")
        for key in told.keys[:8]:
            yield plain("", f"[{key!r}]", "entry")
    elif kind in MODELS or {"input", "output", "layers"} <= set(told.attributes):
        yield plain("", ".output", "output")
    elif kind == "str":
        yield from (plain("int(", ")", "number"), plain("float(", ")", "number"), plain("", ".encode()", "bytes"))
        yield plain("[", "]", "element of")
    elif kind == "bytes":
        yield plain("", ".decode()", "text")
    elif kind in ("float", "float64", "float32"):
        yield from (plain("int(", ")", "whole"), plain("str(", ")", "text"))
    elif kind in ("int", "int64", "int32", "bool"):
        yield from (plain("str(", ")", "text"), plain("[", "]", "element of"), plain("(", ",)", "tuple of"))
    elif (kind in CALLABLE or told.takes) and all(p.default is not None or p.how in MORE for p in told.takes):
        yield plain("", "()", "call")
    if kind in ("DataFrame", "Series"):
        yield plain("", ".values", "values")
        yield plain("", ".to_numpy()", "values")
    if not _OF_NUMBERS.search(scene.message) or _OF_SIZES.search(scene.message):
        yield from _of_one(told)


def _speaks_of_double(scene: Scene, told: Told) -> bool:
    """Whether the message speaks of real numbers of twice the length, which the value does not have."""
    return told.dtype != "float64" and "double" in scene.message.lower()


def _of_one(told: Told) -> Iterator[tuple[str, str, str, tuple[Edit, ...]]]:
    """One value where several are wanted: a batch of one."""
    if told.is_array and not told.is_torch:
        yield "[", "]", "element of", ()
