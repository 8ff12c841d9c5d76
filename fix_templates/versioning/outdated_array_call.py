"""`np.asscalar(x)`, `np.load("x.npy").item()`, `scipy.misc.imread(path)`: calls that have another form today."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    Replace,
    SetArgument,
    Source,
    Subject,
    pictures_are_plain,
    plain_picture,
    uses_of,
    words,
)

OF_MATRICES = {"A1": ".ravel()", "A": ""}
"""Attributes that matrices have and arrays do not, and what takes their place."""

WORDS = words(
    "A A1 NINF array asarray asfarray asscalar fromstring imread imresize load msort permutation save to_numpy_matrix"
)
ARRAYS = ("numpy.array", "numpy.asarray")
MADE_ARRAYS = {"numpy.save": 1, "numpy.random.permutation": 0}
"""By function that makes an array of what it is given: the place of that."""

PICTURES = ("scipy.misc.imread", "scipy.misc.imresize", "scipy.ndimage.imread")
"""What is written out as a function of the program where a call of it is not plain, by the template for definitions."""

SINCE = {
    "networkx.to_numpy_matrix": "3.0",
    "numpy.NINF": "2.0",
    "numpy.asfarray": "2.0",
    "numpy.asscalar": "1.23",
    "numpy.fromstring": "2.3",
    "numpy.msort": "2.0",
    "scipy.misc.imread": "1.3",
    "scipy.misc.imresize": "1.3",
    "scipy.ndimage.imread": "1.3",
}
"""By name, the version that took it away."""


class OutdatedArrayCall(ApiChange):
    """Calls of NumPy, SciPy and networkx that nothing replaces under another name, but an expression does.

    `np.asscalar(x)` is `x.item()`, `np.asfarray(x)` an array of floats, `np.msort(x)` a sort along the first axis, `-np.inf`
    takes the place of `np.NINF`, and `np.fromstring` of bytes is `np.frombuffer`. `np.load` reads objects only if it is
    told to, which is done where what it read is used as an object. An array of rows of different lengths is one of
    objects, and `nx.to_numpy_matrix(g)` a matrix made of an array. `scipy.misc` read and resized pictures with Pillow, which does so itself where the numbers are bytes.

    Fix safety: safe for `asscalar`, `asfarray`, `msort`, `NINF` and `to_numpy_matrix`; unsafe for `np.load`, as a file of objects can run any
    code, and for the others, whose results differ in detail.

    References: https://numpy.org/doc/stable/release/1.23.0-notes.html, https://numpy.org/doc/stable/release/1.16.3-notes.html,
    https://numpy.org/doc/stable/release/1.24.0-notes.html, https://docs.scipy.org/doc/scipy/release/1.2.0-notes.html.
    """

    code = "DNF585"
    name = "outdated-array-call"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls, and the constant, that are written in another form."""
        source = subject.source
        if source.words.isdisjoint(WORDS):
            return
        uses = uses_of(source)
        for attribute in uses.all_attributes():
            if attribute.attr not in WORDS:
                continue
            if attribute.attr in OF_MATRICES:
                yield from _matrix(subject, attribute)
                continue
            written, above = source.written(attribute) or "", source.parent(attribute)
            if written == "numpy.NINF":
                owner = source.segment(source.site(attribute.value))
                code = f"(-{owner}.inf)" if isinstance(above, (ast.BinOp, ast.Attribute)) else f"-{owner}.inf"
                yield _hit(source, attribute, written, code, safe=True)
            elif written in FORMS and not (isinstance(above, ast.Call) and above.func is attribute):
                yield from _left(source, attribute, written)
        for call in uses.calls():
            written = source.written(call.func) or ""
            if written in FORMS:
                found = (
                    () if any(isinstance(arg, ast.Starred) for arg in call.args) else (*FORMS[written](source, call),)
                )
                yield from found or _left(source, call, written)
            elif written == "numpy.load":
                yield from _load(subject, call)
            elif written in ARRAYS:
                yield from _ragged(subject, call)
            elif written in MADE_ARRAYS:
                yield from _ragged_inside(subject, call, MADE_ARRAYS[written])

    examples = (
        Example(
            "sums of a sparse array, which are no matrix",
            """\
import numpy as np
import scipy.sparse as sp
import torch

near = sp.csr_array(np.eye(3))
- print(torch.tensor(near.sum(1).A1))
+ print(torch.tensor(near.sum(1).ravel()))
""",
            runs=True,
        ),
        Example(
            "the matrix of a graph",
            """\
import networkx as nx
import torch
+ import numpy as np

graph = nx.path_graph(3)
- near = torch.tensor(nx.to_numpy_matrix(graph, weight=None)).float()
+ near = torch.tensor(np.asmatrix(nx.to_numpy_array(graph, weight=None))).float()
""",
        ),
        Example(
            "numbers and infinities",
            """\
import numpy as np
import torch

- best = np.NINF
+ best = -np.inf
loss = torch.ones(1).numpy()
- print(np.asscalar(loss), np.asscalar(loss[0] + 1), np.msort([2, 1]), np.asfarray([1, 2]), best)
+ print(loss.item(), (loss[0] + 1).item(), np.sort([2, 1], axis=0), np.asarray([1, 2], dtype=float), best)
""",
            runs=True,
        ),
        Example(
            "a dictionary in a file of NumPy, and bytes",
            """\
import numpy as np
import torch

np.save("labels.npy", {"a": 1})
- labels = np.load("labels.npy").item()
- pixels = np.fromstring(b"ab", dtype=np.uint8)
+ labels = np.load("labels.npy", allow_pickle=True).item()
+ pixels = np.frombuffer(b"ab", dtype=np.uint8).copy()
print(labels["a"], torch.from_numpy(pixels))
""",
        ),
        Example(
            "pictures that SciPy read",
            """\
import torch
- from scipy.misc import imread, imresize
+ from PIL import Image
+ import numpy as np

- picture = imread("a.png")
- small = imresize(picture, (32, 64), interp="bicubic")
+ picture = np.array(Image.open("a.png"))
+ small = np.array(Image.fromarray(picture).resize((64, 32), Image.BICUBIC))
size = (8, 8)
- x = torch.from_numpy(imresize(small, size))
- y = imresize(imread("b.png", mode="RGB"), (4, 4))
+ x = torch.from_numpy(np.array(Image.fromarray(small).resize(size[1::-1], Image.BILINEAR)))
+ y = np.array(Image.fromarray(np.array(Image.open("b.png").convert("RGB"))).resize((4, 4), Image.BILINEAR))
""",
        ),
        Example(
            "rows of different lengths, as a run shows",
            """\
import numpy as np
import torch

- rows = np.array([[1, 2, 3], [4, 5]])
+ rows = np.array([[1, 2, 3], [4, 5]], dtype=object)
print(torch.tensor(rows[0]))
""",
            runs=True,
        ),
        Example(
            "lists of different lengths that are kept in one file",
            """\
import numpy as np
import torch

losses, rates = [1.0, 0.5, 0.2], torch.ones(2).tolist()
- np.save("history.npy", [losses, rates])
+ np.save("history.npy", np.array([losses, rates], dtype=object))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a matrix, and an array under a name of its own",
            """\
import numpy as np
import torch

m = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
A = m.sum(1).A1
print(torch.tensor(A), m.A.shape)
""",
            runs=True,
        ),
        Reject(
            "arrays of numbers, and text that is read as numbers",
            """\
import numpy as np
import torch

np.save("x.npy", np.ones(3))
x = np.load("x.npy")
print(np.fromstring("1 2", sep=" "), torch.from_numpy(x).sum().item(), np.array([[1, 2], [3, 4]]))
""",
            runs=True,
        ),
        Reject(
            "functions of the program's own",
            """\
import torch


def asscalar(x):
    return x.item()


def imread(path):
    return torch.ones(2)


print(asscalar(torch.ones(1)), imread("a.png"))
""",
        ),
    )


def _owner(source: Source) -> tuple[str, tuple[Edit, ...]]:
    """The name under which a program has NumPy, and the import of it where it has it not."""
    uses = uses_of(source)
    local = next((local for local, name in uses.imported.items() if name == "numpy"), "")
    return (local, ()) if local and local not in uses.bound else ("np", (AddImport("import numpy as np"),))


def _text(source: Source, expr: ast.expr, called: bool = False) -> str:
    text = source.segment(source.site(expr))
    simple = isinstance(expr, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return text if simple or not called else f"({text})"


def _left(source: Source, node: ast.expr, written: str) -> Iterator[Hit]:
    """A use that no expression takes the place of, told of all the same; `fromstring` with `sep` reads text as ever."""
    if written != "numpy.fromstring" and written not in PICTURES:
        decline = "what it is given has no plain counterpart"
        yield _hit(source, node, written, "", decline=decline)


def _scalar(source: Source, call: ast.Call) -> Iterator[Hit]:
    if len(call.args) == 1 and not call.keywords:
        code = f"{_text(source, call.args[0], called=True)}.item()"
        yield _hit(source, call, "numpy.asscalar", code, safe=True)


def _floats(source: Source, call: ast.Call) -> Iterator[Hit]:
    if len(call.args) == 1 and not call.keywords:
        name, edits = _owner(source)
        code = f"{name}.asarray({_text(source, call.args[0])}, dtype=float)"
        yield _hit(source, call, "numpy.asfarray", code, edits, safe=True)


def _sorted(source: Source, call: ast.Call) -> Iterator[Hit]:
    if len(call.args) == 1 and not call.keywords:
        name, edits = _owner(source)
        code = f"{name}.sort({_text(source, call.args[0])}, axis=0)"
        yield _hit(source, call, "numpy.msort", code, edits, safe=True)


def _bytes(source: Source, call: ast.Call) -> Iterator[Hit]:
    if len(call.args) > 3 or any(k.arg not in ("dtype", "count", "string") for k in call.keywords):
        return  # with `sep`, it reads text and still does
    name, edits = _owner(source)
    given = [_text(source, arg) for arg in call.args]
    given += [f"{'buffer' if k.arg == 'string' else k.arg}={_text(source, k.value)}" for k in call.keywords]
    code = f"{name}.frombuffer({', '.join(given)}).copy()"
    yield _hit(source, call, "numpy.fromstring of bytes", code, edits)


def _picture(source: Source, call: ast.Call) -> Iterator[Hit]:
    """`imread` and `imresize` of SciPy, where each use of the function is plain."""
    written = source.written(call.func) or ""
    above = source.parent(call)
    around = (source.written(above.func) or "") if isinstance(above, ast.Call) and call in above.args[:1] else ""
    if not pictures_are_plain(source, written) or (around in PICTURES and pictures_are_plain(source, around)):
        return  # a picture that is resized as it is read is written anew with what is around it
    uses, (name, edits) = uses_of(source), _owner(source)
    there = uses.imported.get("Image")
    decline = "Image is something else here" if "Image" in uses.bound or there not in (None, "PIL.Image") else ""
    if there is None:
        edits = (AddImport("from PIL import Image"), *edits)
    yield _hit(source, call, written, plain_picture(source, call, name), edits, decline=decline)


def _matrix(subject: Subject, attribute: ast.Attribute) -> Iterator[Hit]:
    """`counts.sum(1).A1`: the run stopped at it, as what libraries gave as a matrix is an array by now."""
    crash, source = subject.crash, subject.source
    said = f"'numpy.ndarray' object has no attribute '{attribute.attr}'"
    if crash is None or said not in crash.message or subject.node(crash.site) is not attribute:
        return
    site = source.site(attribute)
    yield Hit(
        site,
        f"{attribute.attr} is asked of an array, where libraries gave matrices before they had sparse arrays",
        title=f"write {OF_MATRICES[attribute.attr]}" if OF_MATRICES[attribute.attr] else f"leave out {attribute.attr}",
        edits=(Replace(site, source.segment(source.site(attribute.value)) + OF_MATRICES[attribute.attr]),),
        exact=True,
        confidence=0.9,
    )


def _load(subject: Subject, call: ast.Call) -> Iterator[Hit]:
    """A file of objects: what was read is used as an object, or the run stopped at it."""
    source = subject.source
    if any(k.arg in (None, "allow_pickle") for k in call.keywords) or len(call.args) > 2:
        return
    above = source.parent(call)
    called = isinstance(above, ast.Attribute) and above.attr == "item"
    unwrapped = isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Tuple) and not above.slice.elts
    if called or unwrapped or _stopped(subject, call, "allow_pickle=False"):
        edits = (SetArgument(source.site(call), "allow_pickle", "True"),)
        yield Hit(
            source.site(call),
            "numpy.load reads no objects since numpy 1.16.3 unless it is told to",
            title="let numpy.load read objects",
            edits=edits,
            exact=True,
            removed={"numpy": "1.16.3"},
            confidence=0.9,
        )


def _ragged(subject: Subject, call: ast.Call) -> Iterator[Hit]:
    """Rows of different lengths, at which the run stopped."""
    source = subject.source
    if len(call.args) == 1 and not call.keywords and _stopped(subject, call, "inhomogeneous shape"):
        yield Hit(
            source.site(call),
            "an array of rows of different lengths has to be told that it holds objects since numpy 1.24",
            title="make an array of objects",
            edits=(SetArgument(source.site(call), "dtype", "object"),),
            removed={"numpy": "1.24"},
            confidence=0.8,
        )


def _ragged_inside(subject: Subject, call: ast.Call, place: int) -> Iterator[Hit]:
    """Rows of different lengths, given to a function that makes an array of them, where the run stopped."""
    source = subject.source
    if len(call.args) > place and _stopped(subject, call, "inhomogeneous shape"):
        given = call.args[place]
        name, edits = _owner(source)
        code = f"{name}.array({_text(source, given)}, dtype=object)"
        yield Hit(
            source.site(given),
            "an array of rows of different lengths has to be told that it holds objects since numpy 1.24",
            title="give it an array of objects",
            edits=(Replace(source.site(given), code), *edits),
            removed={"numpy": "1.24"},
            confidence=0.8,
        )


def _stopped(subject: Subject, call: ast.Call, said: str) -> bool:
    crash = subject.crash
    if crash is None or crash.kind != "ValueError" or said not in crash.message:
        return False
    site = subject.source.site(call)
    return site.line <= crash.own_line <= site.end_line


def _hit(
    source: Source,
    node: ast.expr,
    old: str,
    code: str,
    edits: tuple[Edit, ...] = (),
    safe: bool = False,
    decline: str = "",
) -> Hit:
    site, package, removed = source.site(node), old.partition(".")[0], SINCE[old.partition(" ")[0]]
    return Hit(
        site,
        f"{old} is gone since {package} {removed}",
        title=f"write {code}",
        edits=() if decline else (Replace(site, code), *edits),
        decline=decline,
        safe=safe,
        removed={package: removed},
    )


def _dense(source: Source, call: ast.Call) -> Iterator[Hit]:
    """`nx.to_numpy_matrix(graph)`: the array has a function, and a matrix is made of that."""
    if not isinstance(call.func, ast.Attribute):
        return
    numpy, edits = _owner(source)
    given = ", ".join(source.segment(source.site(each)) for each in (*call.args, *call.keywords))
    code = f"{numpy}.asmatrix({source.segment(source.site(call.func.value))}.to_numpy_array({given}))"
    yield _hit(source, call, "networkx.to_numpy_matrix", code, edits, safe=True)


FORMS: Mapping[str, Callable[[Source, ast.Call], Iterator[Hit]]] = {
    "networkx.to_numpy_matrix": _dense,
    "numpy.asscalar": _scalar,
    "numpy.asfarray": _floats,
    "numpy.msort": _sorted,
    "numpy.fromstring": _bytes,
    "scipy.misc.imread": _picture,
    "scipy.ndimage.imread": _picture,
    "scipy.misc.imresize": _picture,
}
"""By function, what reads a call of it."""
