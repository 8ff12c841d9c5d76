"""Images, sounds and the folders that programs list for them."""

from __future__ import annotations

import ast
import os.path
import re

from dnnfix.reproduce import arrays, clues
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data_files.made import Made
from dnnfix.reproduce.flow.values import Datum, Flow, Use
from dnnfix.reproduce.syntax import last_name
from dnnfix.source.program import Source, once

EACH = 24
"""Images of each class in a folder."""

_IMAGE = re.compile(r"\.(?:jpe?g|png|bmp|tiff?|gif)$", re.IGNORECASE)


def size_of(case: Case, datum: Datum) -> tuple[tuple[int, int], str]:
    """The height and width of images, and what tells them."""
    for key in ("target_size", "image_size", "second"):
        value = datum.options.get(key)
        if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(side, int) for side in value):
            return (value[0], value[1]), f"line {datum.line}: {key}={tuple(value)}"
    sides = [
        arg.value
        for call in case.source.all_calls
        if last_name(call.func)
        in ("Resize", "resize", "Scale", "RandomResizedCrop", "CenterCrop", "RandomCrop", "RandomSizedCrop")
        for arg in [n for a in call.args for n in ast.walk(a) if isinstance(n, ast.Constant)]
        if isinstance(arg.value, int) and arg.value >= 8
    ]
    if sides:
        return (max(sides), max(sides)), f"the program resizes images to {max(sides)}"
    inputs = clues.ends(case.source).inputs
    spatial = [size for size in inputs or () if size and size > 4]
    if len(spatial) == 2:
        return (spatial[0], spatial[1]), clues.FROM_NETWORK.format(what="input")
    return (64, 64), "a guess: nothing tells the size of the images"


def _classes(case: Case, datum: Datum) -> tuple[list[str], str]:
    """The names of the classes of a folder, and what tells them."""
    given = datum.options.get("classes", datum.options.get("class_names"))
    if isinstance(given, (list, tuple)) and given:
        return [str(name) for name in given], f"line {datum.line}: classes={list(given)}"
    compared = list(
        dict.fromkeys(str(use.detail) for use in datum.of("compared") if re.fullmatch(r"\w+", str(use.detail)))
    )
    if len(compared) == 1:
        return [*compared, "other"], f"line {datum.of('compared')[0].line}: names are compared with {compared[0]!r}"
    if compared:
        return compared, f"line {datum.of('compared')[0].line}: names are compared with these"
    ends = clues.ends(case.source)
    count = ends.outputs if ends.outputs and ends.outputs > 1 and ends.form in ("classes", "one-hot", None) else 2
    told = clues.FROM_NETWORK.format(what="output") if ends.outputs else "a guess: two classes"
    return [f"class_{place}" for place in range(count)], told


def image_folder(case: Case, datum: Datum, path: str) -> Made | None:
    """A folder with a folder of images for each class."""
    names, classes_told = _classes(case, datum)
    (height, width), size_told = size_of(case, datum)
    channels = 1 if datum.options.get("color_mode") == "grayscale" else 3
    each = max(4, min(EACH, 240 // len(names)))
    part = arrays.part_of(path.rstrip("/").rpartition("/")[2])
    code = f"made_image_folder({path!r}, {names!r}, {(height, width, channels)!r}, {each}, part={part})"
    what = f"{each} images of {height}x{width} in each of {len(names)} folders"
    return code, what, f"{classes_told}; {size_told}", ("made_image_folder",)


def listed_folder(case: Case, datum: Datum, path: str) -> Made | None:
    """A folder that is listed, with what the program opens in it."""
    opened = {use.detail[0] for use in datum.of("opened")}
    if datum.of("sibling"):
        return _one_class(case, datum, path)
    folder, pattern = (os.path.split(path)) if "*" in path else (path, "")
    ending = os.path.splitext(pattern)[1]
    if "*" in folder:
        top = folder.split("*")[0].rstrip("/")
        return image_folder(case, datum, top) if "image" in opened or _IMAGE.search(ending) else None
    if "folder" in opened:
        return image_folder(case, datum, folder)
    names, classes_told = _classes(case, datum)
    if "image" in opened or _IMAGE.search(ending):
        (height, width), size_told = size_of(case, datum)
        each = max(4, min(EACH, 240 // len(names)))
        code = f"made_images_in({folder!r}, {names!r}, {(height, width, 3)!r}, {each}, {ending or '.jpg'!r})"
        what = f"{each} images of {height}x{width} for each of {', '.join(names[:6])}, named after them"
        return code, what, f"{classes_told}; {size_told}", ("made_images_in",)
    if "audio" in opened:
        code = f"[made_wav({folder + '/%d.wav'!r} % number, seed=number) for number in range(12)]"
        return (
            code,
            "12 sounds of a second, each of another tone",
            f"line {datum.line}: listed and heard",
            ("made_wav",),
        )
    if "handle" in opened or ending in (".txt", ".text"):
        names = list(_keys(case.source)) or names
        code = f"made_texts_in({folder!r}, {names!r}, {ending or '.txt'!r})"
        return (
            code,
            f"a text for each of {', '.join(names[:6])}",
            f"line {datum.line}: opened as text",
            ("made_texts_in",),
        )
    return None


def _one_class(case: Case, datum: Datum, path: str) -> Made | None:
    """One of several folders that are listed, each of which is a class."""
    number = datum.of("sibling")[0].detail
    (height, width), told = size_of(case, datum)
    name = path.rstrip("/").rpartition("/")[2]
    code = f"made_images_in({path!r}, [{name!r}], {(height, width, 3)!r}, {EACH}, seed={number})"
    return (
        code,
        f"{EACH} images of {height}x{width}",
        f"line {datum.line}: the folder is listed; {told}",
        ("made_images_in",),
    )


def note_siblings(flow: Flow) -> None:
    """Note which folders are listed side by side, as those of classes are."""
    listed = [
        d for d in flow.data if d.kind == "folder" and d.path and any(u.detail[0] == "image" for u in d.of("opened"))
    ]
    for datum in listed:
        beside = [d for d in listed if os.path.dirname(d.path or "") == os.path.dirname(datum.path or "")]
        if len(beside) > 1 and not datum.of("sibling"):
            datum.uses.append(Use((), "sibling", beside.index(datum), datum.line))


@once
def _keys(source: Source) -> tuple[str, ...]:
    """Constants that look something up in a dict of the program's own."""
    dicts = {
        target.id
        for node in source.nodes(ast.Assign)
        if isinstance(node.value, ast.Dict) and not node.value.keys
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = [
        node.slice.value
        for node in source.nodes(ast.Subscript)
        if isinstance(node.value, ast.Name) and node.value.id in dicts and isinstance(node.slice, ast.Constant)
        if isinstance(node.slice.value, str)
    ]
    names = tuple(dict.fromkeys(found))
    return (*names, "Other") if len(names) == 1 else names


def image_file(case: Case, datum: Datum, path: str) -> Made | None:
    """One image."""
    (height, width), told = size_of(case, datum)
    code = f"made_image_file({path!r}, made_images(1, {(height, width, 3)!r}, 2)[0][0])"
    return code, f"an image of {height}x{width}", told, ("made_image_file", "made_images")


def audio_file(case: Case, datum: Datum, path: str) -> Made | None:
    """One sound."""
    return f"made_wav({path!r})", "a second of a tone", "a guess: nothing tells what is heard", ("made_wav",)
