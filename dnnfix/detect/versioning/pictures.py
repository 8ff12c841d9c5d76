"""SciPy's removed `imread` and `imresize`, and the Pillow expression that does the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import AddImport, Replace
from dnnfix.source.program import Source

_OF_SCIPY = ("scipy.misc.imread", "scipy.misc.imresize", "scipy.ndimage.imread")
"""What is written out as a function of the program where a call of it is not plain, by the template for definitions."""

_FILTERS = {
    "nearest": "NEAREST",
    "bilinear": "BILINEAR",
    "bicubic": "BICUBIC",
    "cubic": "BICUBIC",
    "lanczos": "LANCZOS",
}
"""By the word that `imresize` was given, the filter of Pillow."""

_READERS = ("cv2.imread", "imageio.imread", "scipy.misc.imread", "scipy.ndimage.imread", "skimage.io.imread")
_FOLLOWED = 4
"""Names in a row through which a picture is followed."""


def pictures_are_plain(source: Source, function: str) -> bool:
    """Whether an expression takes the place of every use of SciPy's `imread` or `imresize` in the program."""
    last = function.rpartition(".")[2]
    for node in (*source.nodes(ast.Name), *source.nodes(ast.Attribute)):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if (source.written(node) or "").rpartition(".")[2] != last or source.written(node) != function:
            continue
        call = source.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node or not plain_picture(source, call, "np"):
            return False
    return True


def plain_picture(source: Source, call: ast.Call, numpy: str) -> str:
    """The expression that takes the place of a call of SciPy's `imread` or `imresize`; empty where none does.

    `numpy` is the name under which the program has NumPy.
    """
    if not call.args or any(isinstance(arg, ast.Starred) for arg in call.args) or any(not k.arg for k in call.keywords):
        return ""
    resizes = (source.written(call.func) or "").endswith("imresize")
    return _resized(source, call, numpy) if resizes else _read(source, call, numpy)


def _read(source: Source, call: ast.Call, numpy: str) -> str:
    """`imread(path, flatten, mode)`."""
    named = {k.arg: k.value for k in call.keywords} | dict(zip(("flatten", "mode"), call.args[1:], strict=False))
    flat, mode = named.pop("flatten", None), named.pop("mode", None)
    if named or len(call.args) > 3 or (flat is not None and not isinstance(flat, ast.Constant)):
        return ""
    turned = f".convert({source.segment(source.site(mode))})" if mode is not None else ""
    turned += '.convert("F")' if isinstance(flat, ast.Constant) and flat.value else ""
    return f"{numpy}.array(Image.open({source.segment(source.site(call.args[0]))}){turned})"


def _resized(source: Source, call: ast.Call, numpy: str) -> str:
    """`imresize(picture, (height, width), interp)`, where it did nothing but to resize."""
    named = {k.arg: k.value for k in call.keywords} | dict(zip(("size", "interp"), call.args[1:], strict=False))
    size, chosen = named.pop("size", None), named.pop("interp", None)
    word = chosen.value if isinstance(chosen, ast.Constant) else "bilinear" if chosen is None else None
    if named or len(call.args) > 3 or word not in _FILTERS or not _of_bytes(source, call.args[0], _FOLLOWED):
        return ""
    bound = source.bindings(size) if isinstance(size, ast.Name) else ()
    if isinstance(size, (ast.Tuple, ast.List)) and len(size.elts) >= 2:
        high, wide = (source.segment(source.site(side)) for side in size.elts[:2])
        sides = f"({wide}, {high})"
    elif size is not None and len(bound) == 1 and isinstance(bound[0], (ast.Tuple, ast.List)):
        sides = f"{source.segment(source.site(size))}[1::-1]"
    else:
        return ""  # a percentage or a fraction
    inner = call.args[0]
    own = plain_picture(source, inner, numpy) if isinstance(inner, ast.Call) and _is_picture(source, inner) else ""
    picture = own or source.segment(source.site(inner))
    return f"{numpy}.array(Image.fromarray({picture}).resize({sides}, Image.{_FILTERS[str(word)]}))"


def _is_picture(source: Source, call: ast.Call) -> bool:
    return (source.written(call.func) or "") in _OF_SCIPY


def _of_bytes(source: Source, picture: ast.expr, left: int) -> bool:
    """Whether an expression is surely a picture whose numbers are bytes: Pillow takes no others as they are."""
    if isinstance(picture, ast.Name):
        bound = source.bindings(picture) if left else ()
        return bool(bound) and all(_of_bytes(source, value, left - 1) for value in bound)
    if not isinstance(picture, ast.Call):
        return False
    function = source.written(picture.func) or ""
    if function in _READERS:
        return not any(k.arg in ("flatten", "as_gray", "as_grey") for k in picture.keywords) and len(picture.args) == 1
    if isinstance(picture.func, ast.Attribute) and picture.func.attr == "astype" and picture.args:
        kind = picture.args[0]
        return source.written(kind) == "numpy.uint8" or (isinstance(kind, ast.Constant) and kind.value == "uint8")
    return function == "scipy.misc.imresize"


def outdated_pictures(uses: Uses) -> Iterator[Hit]:
    """The hits of a program about `imread` and `imresize` of SciPy, where each use of the function is plain."""
    source = uses.source
    for call in uses.calls() if not source.words.isdisjoint(("imread", "imresize")) else ():
        written, above = source.written(call.func) or "", source.parent(call)
        around = (source.written(above.func) or "") if isinstance(above, ast.Call) and call in above.args[:1] else ""
        if written not in _OF_SCIPY or not pictures_are_plain(source, written):
            continue
        if around in _OF_SCIPY and pictures_are_plain(source, around):
            continue  # a picture that is resized as it is read is written anew with what is around it
        numpy = next((local for local, name in uses.imported.items() if name == "numpy"), "")
        there, site = uses.imported.get("Image"), source.site(call)
        free = numpy and numpy not in uses.bound
        code = plain_picture(source, call, numpy if free else "np")
        imports = [] if there is not None else [AddImport("from PIL import Image")]
        imports += [] if free else [AddImport("import numpy as np")]
        taken = "Image" in uses.bound or there not in (None, "PIL.Image")
        yield Hit(
            site,
            f"{written} was removed in scipy 1.3",
            title=f"write {code}",
            edits=() if taken else (Replace(site, code), *imports),
            decline="the name Image is taken in this program" if taken else "",
            removed={"scipy": "1.3"},
        )
