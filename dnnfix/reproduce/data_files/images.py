"""Edit steps for missing images and sounds, and for the folders that programs list for them."""

from __future__ import annotations

import ast
import os.path
import re
from contextlib import suppress

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import arrays, clues
from dnnfix.reproduce.data.numbers import numbers_of
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.flow.values import Datum, Flow, Use
from dnnfix.reproduce.syntax import strings
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

EACH = 24
"""Images of each class in a folder."""

_IMAGE = re.compile(r"\.(?:jpe?g|png|bmp|tiff?|gif)$", re.IGNORECASE)


MOST_CLASSES = 10_000
"""Classes of a made folder at most."""


def size_of(case: Case, datum: Datum) -> tuple[tuple[int, int], str]:
    """The height and width of images, and the evidence: at least as large as what a run cut out of them in vain."""
    (height, width), told = _size_told(case, datum)
    for trace in case.traces:
        cut = _CUT_OUT.search(trace.crash.message) if trace.crash is not None else None
        if cut is not None and (int(cut["height"]) > height or int(cut["width"]) > width):
            height, width = max(height, int(cut["height"])), max(width, int(cut["width"]))
            told = f"a run cut {cut['height']}x{cut['width']} out of them"
    return (height, width), told


_CUT_OUT = re.compile(
    r"(?:\bcrop size (?=.*\blarger th[ae]n\b)|\bshape >= size, got\s+\[.*?\])\W*(?P<height>\d+)\W+(?P<width>\d+)",
    re.IGNORECASE,
)
"""Of the message where a crop is larger than the image."""


def _size_told(case: Case, datum: Datum) -> tuple[tuple[int, int], str]:
    for key in ("target_size", "image_size", "second"):
        value = datum.options.get(key)
        if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(side, int) for side in value):
            return (value[0], value[1]), f"line {datum.line}: {key}={tuple(value)}"
    own = case.source.within or case.source
    found = sides(case.source) or [side for module in own.beside for side in sides(module)]
    if found:
        return (max(found), max(found)), f"the program resizes images to {max(found)}"
    inputs = clues.ends(case.source).inputs
    spatial = [size for size in inputs or () if size and size > 4]
    if len(spatial) == 2:
        return (spatial[0], spatial[1]), clues.FROM_NETWORK.format(what="input")
    return (64, 64), "a guess: nothing tells the size of the images"


@once
def largest_batch(source: Source) -> int:
    """The largest batch size in a program; 0 where it has none."""
    given = [k.value for call in source.all_calls for k in call.keywords if k.arg and "batch" in k.arg.lower()]
    for function in source.nodes(ast.FunctionDef):
        pairs = zip(function.args.args[::-1], function.args.defaults[::-1], strict=False)
        given += [default for argument, default in pairs if "batch" in argument.arg.lower()]
    for statement in source.nodes(ast.Assign):
        if any(isinstance(name, ast.Name) and "batch" in name.id.lower() for name in statement.targets):
            given.append(statement.value)
    return max((number for value in given for number in numbers_of(source, value)), default=0)


_RESIZING = ("Resize", "resize", "Scale", "RandomResizedCrop", "CenterCrop", "RandomCrop", "RandomSizedCrop")


def sides(source: Source) -> list[int]:
    """The sizes that a program brings images to."""
    given = [arg for call in source.all_calls if last_name(call.func) in _RESIZING for arg in call.args]
    found = [number for arg in given for node in ast.walk(arg) for number in numbers_of(source, node)]
    return [number for number in found if number >= 8]


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
    count = clues.ends(case.source).classes(or_untold=True)
    told = clues.FROM_NETWORK.format(what="output")
    if count < 2:
        count, line = likeliest_asked(case.source)
        told = f"line {line}: the {count} likeliest classes are asked for" if count > 2 else "a guess: two classes"
    return [f"class_{place}" for place in range(min(max(2, count), MOST_CLASSES))], told


def _each(case: Case, names: list[str]) -> int:
    """How many images of each class there are."""
    return 1 if case.little_data else max(4, min(EACH, 240 // len(names)))


def image_folder(case: Case, datum: Datum, path: str) -> Made | None:
    """A folder with a folder of images for each class."""
    names, classes_told = _classes(case, datum)
    (height, width), size_told = size_of(case, datum)
    channels = 1 if datum.options.get("color_mode") == "grayscale" else 3
    each = _each(case, names)
    part = arrays.part_of(path.rstrip("/").rpartition("/")[2])
    code = f"made_image_folder({path!r}, {names!r}, {(height, width, channels)!r}, {each}, part={part})"
    what = f"{each} images of {height}x{width} in each of {len(names)} folders"
    return code, what, f"{classes_told}; {size_told}"


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
        each = _each(case, names)
        form = f", form={form!r}" if (form := _form(case.source, folder, ending or ".jpg")) else ""
        code = f"made_images_in({folder!r}, {names!r}, {(height, width, 3)!r}, {each}, {ending or '.jpg'!r}{form})"
        what = f"{each} images of {height}x{width} for each of {', '.join(names[:6])}, named after them"
        return code, what, f"{classes_told}; {size_told}"
    if "audio" in opened:
        code = f"[made_wav({folder + '/%d.wav'!r} % number, seed=number) for number in range(12)]"
        return (
            code,
            "12 sounds of a second, each of another tone",
            f"line {datum.line}: listed and heard",
        )
    if "handle" in opened or ending in (".txt", ".text"):
        names, classes_told = _named(case, names, classes_told)
        code = f"made_texts_in({folder!r}, {names!r}, {ending or '.txt'!r})"
        return (
            code,
            f"a text for each of {', '.join(names[:6])}",
            f"line {datum.line}: opened as text; {classes_told}",
        )
    return None


_FORMS = ("%s.%d", "%s_%d", "%s-%d", "%d_%s", "%d.%s")
"""How names of images are made of a class and a number, the usual one first."""


def _form(source: Source, folder: str, ending: str) -> str:
    """The form of names that the program's patterns for them find something in; empty where it has none, or the usual one will do."""
    known = [
        text for call in source.calls(*_SEEKING) for text in strings(call.args[:1]) if _IMAGE.search(text.rstrip("$"))
    ]
    for form in _FORMS if known else ():
        name = form % (("class_0", 10) if form.startswith("%s") else (10, "class_0"))
        with suppress(re.error):
            if all(
                re.search(pattern, f"{folder}/{name}{ending}") or re.match(pattern, name + ending) for pattern in known
            ):
                return form if form != _FORMS[0] else ""
    return ""


_SEEKING = words("re.search re.match re.fullmatch re.findall re.compile")


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


def _named(case: Case, names: list[str], told: str) -> tuple[list[str], str]:
    """The names of the classes that the program looks up, and more where it asks for more of them; and what tells them."""
    keys = _keys(case.source)
    if not keys:
        return names, told
    outputs = clues.ends(case.source).classes(or_untold=True)
    wanted = min(max(likeliest_asked(case.source)[0], outputs, len(keys)), MOST_CLASSES)
    more = [f"Other_{place}" for place in range(len(keys), wanted)]
    return [*keys, *more], f"names are looked up{f', and {wanted} classes are asked for' if more else ''}"


@once
def likeliest_asked(source: Source) -> tuple[int, int]:
    """The largest `k` for which a program asks for the top classes (`topk(3)`), and the line; 0 where it asks for
    none.
    """
    found = [(0, 0)]
    for call in source.all_calls:
        name = last_name(call.func)
        told = [k.value for k in call.keywords if k.arg in ("topk", "top_k")]
        found += [(count, call.lineno) for value in told for count in numbers_of(source, value)]
        if name not in _LIKELIEST:
            continue
        method = name == "topk" and source.qualified(call.func) not in ("torch.topk",)
        given = argument_value(call, "k", 0 if method else _LIKELIEST[name])
        found += [(count, call.lineno) for count in numbers_of(source, given)]
    return max(found)


_LIKELIEST = {"topk": 1, "top_k": 1, "in_top_k": 2, "TopKCategoricalAccuracy": 0, "SparseTopKCategoricalAccuracy": 0,
              "top_k_categorical_accuracy": 2, "sparse_top_k_categorical_accuracy": 2}  # fmt: skip
"""Calls that ask for the likeliest classes, and the place of their number."""


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
    looked_up = [
        node.slice
        for node in source.nodes(ast.Subscript)
        if isinstance(node.value, ast.Name) and node.value.id in dicts
    ]
    names = tuple(dict.fromkeys(strings(looked_up)))
    return (*names, "Other") if len(names) == 1 else names


_OPENING = ("builtins.open", "cv2.imread", "imageio.imread", "imageio.v2.imread", "matplotlib.image.imread",
            "matplotlib.pyplot.imread", "skimage.io.imread")  # fmt: skip
"""What opens the file of an image; other libraries open it by the first."""


def asked_for(case: Case, flow: Flow) -> EditStep | None:
    """The images whose names the program works out, in folders that it does not list: made when they are asked for."""
    folders = {os.path.normpath(d.path) for d in flow.data if d.kind in ("folder", "image folder") and d.path}
    for datum in flow.data:
        if datum.kind != "image" or datum.path is not None or not datum.reached:
            continue
        sources = [d for d in flow.data if any(use.detail == ("image", datum.node) for use in d.of("opened"))]
        if any(d.kind in ("handle", "table") for d in sources):
            continue  # made with the table that names them
        begun = [str(use.detail) for d in sources for use in d.of("joined")]
        others = [text for text in begun if _folder_of(text) and _folder_of(text) not in folders]
        if (sources and not others) or any(case.exists(text) for text in others):
            continue
        (height, width), told = size_of(case, datum)
        stand_in = f"made_when_asked({(height, width)!r}, {min(clues.ends(case.source).classes() or 2, 255)})"
        return EditStep(
            EditAction.INPUT_DATA,
            f"images of {height}x{width}, each made when the program opens it in a folder that is not there",
            f"line {datum.line}: their names are worked out; {told}",
            datum.line if not datum.module else None,
            True,
            Scaffold(start="\n".join(f"made_in_place_of({place!r}, {stand_in})" for place in _OPENING)),
        )
    return None


def _folder_of(text: str) -> str:
    """The folder in the text that begins a path; empty where it begins a file's name."""
    folder = text if "." not in os.path.basename(text) and not text.endswith("_") else os.path.dirname(text)
    return os.path.normpath(folder) if "/" in text or folder else ""


def image_file(case: Case, datum: Datum, path: str) -> Made | None:
    """One image."""
    (height, width), told = size_of(case, datum)
    code = f"made_image_file({path!r}, made_images(1, {(height, width, 3)!r}, 2)[0][0])"
    return code, f"an image of {height}x{width}", told


def audio_file(case: Case, datum: Datum, path: str) -> Made | None:
    """One sound."""
    return f"made_wav({path!r})", "a second of a tone", "a guess: nothing tells what is heard"
