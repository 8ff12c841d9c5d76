"""The operator "sizes": a number in a call becomes a size of a failing value, written as a name where one holds it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from math import log2, prod

from dnnfix.records import FixPattern, Replace
from dnnfix.source.spelling import parts as words_of
from dnnfix.synthesize.definitions import FUNCTIONS
from dnnfix.synthesize.edits.size_conflicts import SMALLEST
from dnnfix.synthesize.operators.change import NUMBER, Change, replaced
from dnnfix.synthesize.operators.names import GOOD, IN_PLACE, alike
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.LAYER_DIMENSION

MOST = 40
"""Sizes that are tried in one place."""

FAR = -0.12
"""What a size loses, in logarithms, for each time that it is twice or half of the one that stands there."""

RENAMED = -2.0
"""What a name loses, in logarithms, for each unit of likeness that it falls short of the name that stands there."""

BOTH_SAID = 0.5
"""What it gains where the message names both the size that stands there and the other one: they should meet."""

SAID_OF_LAYER = 1.5
"""What it gains so where a layer is made: it says which size it was made for, and which one it was given."""

CHOSEN = frozenset({"class", "classes", "channel", "channels", "dim", "hidden", "features", "units", "embed", "vocab"})
"""Words of names for sizes that do not come from one batch."""

WINDOWS = frozenset({"kernel_size", "stride", "strides", "padding", "dilation", "dilation_rate", "pool_size", "groups"})
"""Parameters that say how a layer goes over its data, and not how large these are."""

OF_WINDOW = -1.0
"""What a size of the data's loses, in logarithms, as one of those."""

NO_SIZES = frozenset(
    {"AttributeError", "NameError", "UnboundLocalError", "KeyError", "ImportError", "ModuleNotFoundError"}
)
"""Exceptions that speak of no size."""

OF_TURNS = -1.5
"""What another number of turns of a loop loses, in logarithms: to stop before what fails mends nothing."""

MANY = 3
"""Places that read a name, from which on what it is given is not to blame for what fails in one of them."""

WIDELY = -0.8
"""What another number for such a name loses, in logarithms."""

OF_NETWORK = -1.0
"""What the size of an array loses, in logarithms, in the place of such a name."""

OF_SAMPLES = -2.0
"""What a size loses, in logarithms, for a layer that is made of how many samples there are."""

SPELLINGS = 3
"""Ways to write one size that are tried."""

FEW = (2, 3, 4)
"""Multiples of a size that are tried: two directions, the parts of a `cat`, the gates of a cell."""

WHERE_LAYERS_ARE_MADE = frozenset({Role.CONSTRUCTOR, Role.DEFINITION, Role.SOURCE})
"""Places that the sizes of layers come from."""

MORE_ROWS = 4
"""Rows that a table may lack for what is not counted: padding, unknown words, the begin and the end of a sentence."""

LARGEST = 1 << 18
"""Layers of larger sizes do not fit where many of them are tried."""

_BEYOND = re.compile(r"index (\d+) is out of bounds for (?:axis|dimension) \d+ with size (\d+)")


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other integers for the one at a place."""
    number = place.told.number if place.told is not None else None
    if scene.kind in NO_SIZES or not isinstance(number, int) or isinstance(number, bool):
        return
    if not _is_size(scene, place.node):
        return
    beyond = _BEYOND.search(scene.message)
    if beyond is not None:  # no size of the data's is meant: there is one index more than there are places
        yield from _one_less(scene, place)
        if beyond.group(1) == beyond.group(2) == str(number):
            code = f"{scene.code(place.node)} + 1"
            yield Change((Replace(scene.site(place.node), code),), f"Take {code}", "one more")
        return
    if scene.kind == "IndexError" and "index out of range in self" in scene.message:
        yield from _rows_more(scene, place, number)
        return
    if isinstance(place.node, ast.Call):
        return
    if scene.kind == "IndexError" and "out of range" in scene.message:
        yield from _counted(scene, place, number)
        return
    turns = OF_TURNS * _is_of_range(scene, place.node)
    wide = turns + WIDELY * _is_widely_read(scene, place.node) + OF_WINDOW * (scene.parameter(place.node) in WINDOWS)
    wide += IN_PLACE * (isinstance(place.node, ast.Name) and scene.parameter(place.node) == place.node.id)
    fixed = wide + OF_NETWORK * (isinstance(place.node, ast.Name | ast.Attribute) and _is_of_network(place.node))
    said = set(NUMBER.findall(scene.message))
    for size in list(sizes(scene))[:MOST]:
        if size == number:
            continue
        far = wide + (FAR * abs(log2(size / number)) if number > 0 else FAR)
        of_layer = place.role is Role.CONSTRUCTOR and min(number, size) >= SMALLEST  # both may be named by chance
        meeting = SAID_OF_LAYER if of_layer else BOTH_SAID
        both = meeting * ({str(number), str(size)} <= said)
        for code, form in _multiples(scene, place, number, size) if both else ():
            yield replaced(scene, place.node, code, form, both)
        for code in islice(scene.spelled(size, place.node), SPELLINGS):
            form = "number" if code.isdigit() else "named"
            other = _otherwise_named(place.node, code) if form == "named" else 0.0
            yield replaced(scene, place.node, code, form, far + other + both)
        for code, axis in islice(scene.measured(size, place.node), SPELLINGS):
            less = OF_SAMPLES * (axis == 0 and place.role is Role.CONSTRUCTOR) + both + fixed
            yield replaced(scene, place.node, code, "measured", less)


def _is_of_range(scene: Scene, node: ast.expr) -> bool:
    above = scene.subject.source.parent(node)
    return isinstance(above, ast.Call) and ast.unparse(above.func) == "range"


def _is_widely_read(scene: Scene, node: ast.expr) -> bool:
    """Whether a number is given to a name that many places read: all but one of them work with it."""
    statement = scene.subject.source.statement_of(node)
    if not isinstance(node, ast.Constant) or not isinstance(statement, ast.Assign):
        return False
    given = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    if isinstance(statement.value, ast.Call):  # an argument of what makes something else
        return False
    reads = [n.id for n in scene.subject.source.nodes(ast.Name) if isinstance(n.ctx, ast.Load)]
    return any(reads.count(name) >= MANY for name in given)


def _is_of_network(node: ast.Name | ast.Attribute) -> bool:
    """Whether a name speaks of a size that is chosen for the network, and not of how many or how long the data are."""
    return not CHOSEN.isdisjoint(words_of(ast.unparse(node).rpartition(".")[2]))


def _otherwise_named(node: ast.expr, code: str) -> float:
    """What a name for a size loses where another name stands there that is not spelt alike."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return 0.0
    last = node.id if isinstance(node, ast.Name) else node.attr
    return RENAMED * max(0.0, GOOD - alike(last, code.rpartition(".")[2]))


def _one_less(scene: Scene, place: Place) -> Iterator[Change]:
    """One less for how many there are to be asked for: the last index is beyond the last place."""
    node, source = place.node, scene.subject.source
    above = source.parent(node)
    owner = source.enclosing(node, *FUNCTIONS)
    counts = isinstance(above, ast.Return) and isinstance(owner, FUNCTIONS) and owner.name == "__len__"
    if counts or (isinstance(above, ast.Call) and ast.unparse(above.func) == "range"):
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
                code = scene.code(left)
            case ast.Constant():
                return
            case _:
                code = f"{scene.code(node)} - 1"
        yield replaced(scene, node, code, "one less")


def _multiples(scene: Scene, place: Place, number: int, size: int) -> Iterator[tuple[str, str]]:
    """The size of a layer as a small multiple, or a part, of the name that stands there."""
    code = scene.code(place.node)
    if number > 1 and isinstance(place.node, ast.Name | ast.Attribute) and place.role in WHERE_LAYERS_ARE_MADE:
        if size % number == 0 and size // number in FEW:
            yield f"{size // number} * {code}", "multiple"
        if number % size == 0 and number // size in FEW:
            yield f"{code} // {number // size}", "part"


def _rows_more(scene: Scene, place: Place, number: int) -> Iterator[Change]:
    """More rows for a table that is indexed beyond its last: as many as the highest index asks for, else one."""
    crash = scene.subject.crash
    inputs = crash.call.inputs if crash is not None and crash.call is not None else ()
    highest = max((value.high for value in inputs if value.high is not None), default=None)
    named = isinstance(place.node, ast.Name | ast.Attribute)
    if highest is not None and (named or (isinstance(place.node, ast.Call) and ast.unparse(place.node.func) == "len")):
        more = int(highest) + 1 - number
        if 1 < more <= MORE_ROWS:
            code = f"{scene.code(place.node)} + {more}"
            yield Change((Replace(scene.site(place.node), code),), f"Take {code}", "rows more")
        if more != 1:
            return
    above = scene.subject.source.parent(place.node)
    if isinstance(above, ast.Call) and above.args[:1] == [place.node] and ast.unparse(above.func).endswith("Embedding"):
        code = f"{scene.code(place.node)} + 1"
        yield Change((Replace(scene.site(place.node), code),), f"Take {code}", "one more")
        same = [call for call in scene.subject.source.all_calls if ast.unparse(call.func) == ast.unparse(above.func)]
        edits = tuple(
            Replace(scene.site(call.args[0]), f"{scene.code(call.args[0])} + 1") for call in same if call.args
        )
        if len(edits) > 1:
            yield Change(edits, f"Take {code}, and so for the others", "one more")


def _counted(scene: Scene, place: Place, number: int) -> Iterator[Change]:
    """For a number beyond the places of a list that was indexed: how many it has."""
    source = scene.subject.source
    statement = None if scene.frames[0].path else source.places.node_at(scene.frames[0].statement)
    for node in ast.walk(statement) if statement is not None else ():
        owner = scene.told(node.value) if isinstance(node, ast.Subscript) else None
        beyond = owner is not None and owner.size is not None and owner.size < number
        if beyond and isinstance(node, ast.Subscript) and ast.unparse(node.value) in scene.names(place.node):
            code = f"len({scene.code(node.value)})"
            yield Change((Replace(scene.site(place.node), code),), f"Take {code} for {number}", "counted")


def _is_size(scene: Scene, node: ast.expr) -> bool:
    """Whether a number is an argument, an element of one, or what a name is given: no index, no exponent."""
    above = scene.subject.source.parent(node)
    while isinstance(above, ast.Tuple | ast.List | ast.keyword | ast.BinOp):
        above = scene.subject.source.parent(above)
    return isinstance(above, ast.Call | ast.Assign | ast.Return)


def sizes(scene: Scene) -> Iterator[int]:
    """The sizes of the failing values, those of the message first, then their products."""
    found: dict[int, None] = {}
    for text in NUMBER.findall(scene.message):
        found[int(text)] = None
    crash = scene.subject.crash
    shapes: list[tuple[int, ...]] = []
    if crash is not None and crash.call is not None:
        shapes += [tuple(size for size in value.shape if size) for value in crash.call.inputs if value.shape]
    for frame in scene.frames[:2]:
        shapes += [told.sizes for told in frame.values.values() if told.sizes]
    for shape in shapes:
        for size in shape:
            found[size] = None
        for start in range(1, len(shape)):  # the first axis is most often that of the batch
            found[prod(shape[start:])] = None
    for number in found:
        if 0 < number <= LARGEST:
            yield number
