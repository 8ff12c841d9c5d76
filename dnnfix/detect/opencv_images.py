"""Images as OpenCV gives them, blue first: what reads them, and under which names they, or parts of them, go on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import function_around
from dnnfix.records.record import record
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, names_in

KEEPS = words(
    "resize copy astype GaussianBlur medianBlur warpAffine warpPerspective uint8 asarray array ascontiguousarray flip"
)
"""What gives back the same image as far as its channels go."""
OF_ONE_CHANNEL = re.compile(r"mask|label|seg|gr[ae]y|depth|heat|(^|_)(gt|anno)", re.IGNORECASE)
OF_CAMERA = re.compile(r"(^|[._])(v?cap|capture|video_?cap\w*|cam|camera|webcam|stream)$", re.IGNORECASE)


@record
class Image:
    """An image as OpenCV gives it: the statement, its name, and the names that it, or a part of it, has later in the function."""

    statement: ast.Assign
    call: ast.Call
    name: str
    names: frozenset[str]


def images(source: Source) -> Iterator[Image]:
    """The images of OpenCV in colour that get a name."""
    for statement in source.nodes(ast.Assign):
        call, target = statement.value, statement.targets[0]
        if not isinstance(call, ast.Call):
            continue
        name = last_name(call.func)
        if name == "read" and isinstance(target, ast.Tuple) and len(target.elts) == 2 and _is_camera(source, call):
            target = target.elts[1]
        elif name not in ("imread", "imdecode") or not _is_of_opencv(source, call) or not _is_colour(call):
            continue
        if isinstance(target, ast.Name) and not OF_ONE_CHANNEL.search(target.id):
            yield Image(statement, call, target.id, _followed(source, statement, target.id))


def _is_camera(source: Source, call: ast.Call) -> bool:
    """Whether a call reads a frame of what `cv2.VideoCapture` made."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = source.constructor(held) if held is not None else None
    if made is not None:
        return last_name(made.func) == "VideoCapture"
    return held is not None and OF_CAMERA.search(ast.unparse(held)) is not None


def _is_of_opencv(source: Source, call: ast.Call) -> bool:
    name = source.qualified(call.func) or ast.unparse(call.func)
    return name.startswith(("cv2.", "cv."))


def _followed(source: Source, statement: ast.Assign, name: str) -> frozenset[str]:
    """The names that an image has further down in its function: those of its copies, of parts of it and in another size."""
    around, names = function_around(source, statement), {name}
    later = (node for node in source.nodes(ast.Assign) if node.lineno > statement.lineno)
    for node in sorted(later, key=lambda one: one.lineno):
        target = node.targets[0]
        if function_around(source, node) is around and isinstance(target, ast.Name):
            if keeps(node.value, names):
                names.add(target.id)
            elif target.id != name and target.id not in names_in(node.value):
                names.discard(target.id)
    return frozenset(one for one in names if not OF_ONE_CHANNEL.search(one))


def keeps(expr: ast.expr, names: set[str] | frozenset[str]) -> bool:
    """Whether an expression is one of these images, with its channels as they are."""
    if isinstance(expr, ast.Name):
        return expr.id in names
    if isinstance(expr, ast.Subscript):
        parts = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
        return len(parts) == 2 and all(isinstance(part, ast.Slice) for part in parts) and keeps(expr.value, names)
    if isinstance(expr, ast.Call) and last_name(expr.func) in KEEPS:
        is_method = isinstance(expr.func, ast.Attribute) and keeps(expr.func.value, names)
        return is_method or (bool(expr.args) and keeps(expr.args[0], names))
    return False


def _is_colour(call: ast.Call) -> bool:
    if len(call.args) + len(call.keywords) == 1:
        return True
    flag = call.args[1] if len(call.args) > 1 else call.keywords[0].value
    return (isinstance(flag, ast.Constant) and flag.value == 1) or ast.unparse(flag).endswith("IMREAD_COLOR")
