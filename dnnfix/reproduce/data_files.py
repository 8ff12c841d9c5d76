"""Files and folders that a program reads and nobody has: what each must hold, and the step that makes it."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import arrays, clues, paths
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.flow.values import Datum, Flow, Use
from dnnfix.reproduce.frames import ROWS, Table, columns_in_words, listed, table_of
from dnnfix.source.program import Source, once

TEXT = 12_000
"""Characters of plain text: some 500 lines, small enough for programs that make a sample of every character."""

EACH = 24
"""Images of each class in a folder."""

_MISSING = re.compile(r"(?:No such file or directory|not found|does not exist)[^'\"]*['\"](?P<path>[^'\"]+)['\"]")
_WEIGHTS = re.compile(r"\.(?:h5|hdf5|pth?|ckpt|pb|weights|caffemodel|keras|onnx|tar)$")
"""Files of weights belong to the action that makes models."""
_IMAGE = re.compile(r"\.(?:jpe?g|png|bmp|tiff?|gif)$", re.IGNORECASE)

Made = tuple[str, str, str, tuple[str, ...]]
"""The code that makes a file, what it makes in words, the evidence, and the stand-ins of the code."""


def file_steps(case: Case, flow: Flow) -> Iterator[EditStep | Gap]:
    """The steps for all files that the program reads, and for the folders that it writes into."""
    _siblings(flow)
    done: set[str] = set()
    written = {path: line for path, line in reversed(flow.written)}
    for datum in flow.data:
        if datum.kind == "name" or not datum.reached:
            continue
        path = datum.path if datum.path is not None else _path_of_crash(case, datum)
        if path and _WEIGHTS.search(path) and datum.kind in ("folder", "handle", "array"):
            continue
        if not path or path in done or case.exists(path) or written.get(path, 10**9) < datum.line:
            continue
        if "://" in path:
            continue
        done.add(path)
        yield _step(case, datum, path)
    yield from _folders(case, flow, done)


def _step(case: Case, datum: Datum, path: str) -> EditStep | Gap:
    place = paths.inside(case.source, path)
    if place is None:
        return Gap(f"the program reads `{path}`, which is outside of its folder; give it a file inside", datum.line)
    new, literals = place
    maker = _MAKERS.get(datum.kind)
    try:
        made = _known(datum, new) or (maker(case, datum, new) if maker is not None else None)
    except arrays.Contradictory as clash:
        return Gap(str(clash), datum.line)
    if made is None:
        return Gap(
            f"nothing tells what `{path}` holds; the program needs that file, or a line of it as an example", datum.line
        )
    code, what, evidence, standins = made
    named = f"`{path}`" if not literals else f"`{path}` (as `{new}`)"
    scaffold = Scaffold(start=code, literals=literals)
    return EditStep(EditAction.INPUT_DATA, f"{named}: {what}", evidence, datum.line, True, scaffold, standins)


def _path_of_crash(case: Case, datum: Datum) -> str | None:
    """The path that the latest run missed, where this is the call that missed it."""
    crash = case.latest.crash if case.latest is not None else None
    if crash is None or not any(frame.site.line == datum.line for frame in crash.frames):
        return None
    match = _MISSING.search(crash.message)
    return match["path"] if match else None


def _folders(case: Case, flow: Flow, done: set[str]) -> Iterator[EditStep]:
    """The folders that the program writes into and does not make itself."""
    if {"mkdir", "makedirs"} & case.source.words:
        return
    seen: set[str] = set()
    for path, line in flow.written:
        place = paths.inside(case.source, path)
        if place is None or "://" in path or path.startswith("/tmp/"):
            continue
        folder = os.path.dirname(place[0])
        if (not folder or folder in seen or case.exists(folder)) and not place[1]:
            continue
        seen.add(folder)
        scaffold = Scaffold(start=f"made_folder({folder!r})", literals=place[1])
        yield EditStep(
            EditAction.INPUT_DATA,
            f"the folder `{folder}`, empty",
            f"line {line}: written into",
            line,
            False,
            scaffold,
            ("made_folder",),
        )


# --- files of data sets that everybody knows

_MNIST = "made_pair({samples}, {shape}, 'classes', 10, scale={scale!r}, part={part})"


def _known(datum: Datum, path: str) -> Made | None:
    """A file of a data set whose form is documented: the batches of CIFAR-10, MNIST as `mnist.npz` and `mnist.pkl.gz`."""
    name = path.rpartition("/")[2]
    if datum.kind == "pickle" and re.fullmatch(r"data_batch_[1-5]|test_batch", name):
        taken = {use.detail[1] for use in datum.of("column") if use.detail[0] == "one" and use.part == ()}
        keys = ("data", "labels") if taken & {"data", "labels"} else (b"data", b"labels")
        part = 1 if name == "test_batch" else int(name[-1]) + 1
        code = f"made_pickle({path!r}, dict(zip({keys!r}, made_cifar_batch({part}))))"
        words = "10000 rows of 3072 bytes and their labels of 10 classes"
        return code, words, "the documented form of CIFAR-10", ("made_pickle", "made_cifar_batch")
    if datum.kind == "array" and name == "mnist.npz":
        pairs = [
            _MNIST.format(samples=n, shape=(28, 28), scale="bytes", part=part) for part, n in ((0, 60000), (1, 10000))
        ]
        named = [(f"'{axis}_{which}'", f"{pairs[part]}[{place}]") for part, which in ((0, "train"), (1, "test"))
                for place, axis in ((0, "x"), (1, "y"))]  # fmt: skip
        code = f"made_npy({path!r}, {{{', '.join(f'{key}: {value}' for key, value in named)}}})"
        return (
            code,
            "60000 and 10000 images of 28x28 bytes, 10 classes",
            "the documented form of MNIST",
            ("made_npy", "made_pair"),
        )
    if datum.kind == "pickle" and re.fullmatch(r"mnist(?:_py3k)?\.pkl(?:\.gz)?", name):
        sets = [
            _MNIST.format(samples=n, shape=(784,), scale="unit", part=p)
            for p, n in ((0, 50000), (2, 10000), (1, 10000))
        ]
        code = f"made_pickle({path!r}, ({', '.join(sets)}))"
        words = "pairs of 50000, 10000 and 10000 rows of 784 values from 0 to 1 and labels"
        return code, words, "the documented form of MNIST", ("made_pickle", "made_pair")
    return None


# --- tables


def _table(case: Case, datum: Datum, path: str) -> Made | None:
    options = dict(datum.options)
    if datum.kind == "matrix":
        options["header"] = 0 if options.get("skiprows") or options.get("skip_header") else None
    before: tuple[str, ...] = ()
    table = table_of(case, datum, options)
    if table is None:
        looks = _whole(case, datum)
        if looks is None or datum.kind != "matrix" or len(looks.shape) != 1:
            return None
        table = table_of(
            case, replace(datum, uses=[Use((), "column", ("range", 0, looks.shape[0]), datum.line)]), options
        )
        if table is None:
            return None
        table.evidence = looks.evidence
    if "file" in table.kinds:
        table.rows = 2 * EACH
    header = options.get("header", 0)
    if isinstance(header, int) and not isinstance(header, bool) and header > 0:
        before = ("made for a program that reads it",) * header
    elif isinstance(skip := options.get("skiprows"), int) and datum.kind != "matrix":
        before = ("made for a program that reads it",) * skip
    separator = options.get("sep", options.get("delimiter"))
    if options.get("delim_whitespace") or (isinstance(separator, str) and "\\s" in separator):
        separator = " "
    elif not isinstance(separator, str) or len(separator) != 1:
        last = datum.name
        separator = "\t" if last == "read_table" else " " if last in ("read_fwf", "loadtxt", "genfromtxt") else ","
    rest = f"{table.rows}, {table.classes}, words={table.words!r}"
    if datum.name == "read_excel":
        code = f"made_excel({path!r}, {listed(table.kinds)}, {listed(table.names)}, {rest})"
        return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence, ("made_excel",)
    names = table.names
    code = f"made_csv({path!r}, {listed(table.kinds)}, {listed(names)}, {rest}, separator={separator!r}, before={before!r})"
    if "file" in table.kinds:
        return _with_images(case, datum, table, code)
    return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence, ("made_csv",)


def _with_images(case: Case, datum: Datum, table: Table, code: str) -> Made:
    """The images that a column of a table names, beside the table."""
    joined = next((use.detail for use in datum.of("joined")), "")
    (height, width), told = _size(case, datum)
    table_of_images = f"made_listed_images({joined!r}, {table.rows}, {(height, width, 3)!r}, {table.classes})"
    what = f"{table.rows} rows with {columns_in_words(table)}, and the images in `{joined}`"
    return f"{code}\n{table_of_images}", what, f"{table.evidence}; {told}", ("made_csv", "made_listed_images")


# --- arrays


def _whole(case: Case, datum: Datum) -> arrays.Looks | None:
    """How the data looks where a file holds one array."""
    name = _variable(case.source, datum) or os.path.splitext(os.path.basename(datum.path or ""))[0]
    role = arrays.role_of(name, datum.uses)
    return arrays.look(case, name, datum.uses, role) if role is not None else None


def _variable(source: Source, datum: Datum) -> str | None:
    """The name that the call's value is given."""
    statement = source.statement_of(datum.node)
    if (
        isinstance(statement, ast.Assign)
        and statement.value is datum.node
        and isinstance(statement.targets[0], ast.Name)
    ):
        return statement.targets[0].id
    if (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Tuple)
        and isinstance(statement.targets[0], ast.Tuple)
    ):
        for value, target in zip(statement.value.elts, statement.targets[0].elts, strict=False):
            if value is datum.node and isinstance(target, ast.Name):
                return target.id
    return None


def _keyed(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """A dict of arrays for the keys that the program takes: code, words, evidence; None where it takes none."""
    keys = {
        use.detail[1]: use.line
        for use in datum.uses
        if use.kind == "column" and use.part == () and use.detail[0] == "one" and isinstance(use.detail[1], str)
    }
    entries: dict[str, arrays.Looks] = {}
    for key in keys:
        own = _below(datum, ("column", ("one", key)))
        role = arrays.role_of(key, own)
        wanted = "targets" if role == "inputs" else "inputs"
        alike = [k for k in keys if arrays.part_of(k) == arrays.part_of(key) and k != key]
        roles = {k: arrays.role_of(k, _below(datum, ("column", ("one", k)))) for k in alike}
        partner = next((k for k in alike if roles[k] == wanted), "")
        looks = (
            arrays.look(case, key, own, role, partner, _below(datum, ("column", ("one", partner)))) if role else None
        )
        if looks is None:
            return None
        entries[key] = looks
    if not entries:
        return None
    inside = ", ".join(f"{key!r}: {looks.code}" for key, looks in entries.items())
    words = "; ".join(f"{key}: {looks.words}" for key, looks in entries.items())
    first = next(iter(entries.values()))
    return f"{{{inside}}}", words, f"line {min(keys.values())}: these keys are taken; {first.evidence}"


def _below(datum: Datum, step: tuple[object, ...]) -> list[Use]:
    """The uses of a part of the data, as if the part were all."""
    return [replace(use, part=use.part[1:]) for use in datum.uses if use.part[:1] == (step,)]


def _items(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """A tuple of arrays, or of pairs of them, for a value that is unpacked."""
    unpacked = next((use for use in datum.uses if use.kind == "unpacked" and use.part == ()), None)
    if unpacked is None:
        return None
    texts: list[str] = []
    words: list[str] = []
    evidence = ""
    names = unpacked.detail
    for place, name in enumerate(names):
        own = _below(datum, ("item", place))
        inner = next((use for use in own if use.kind == "unpacked" and use.part == ()), None)
        pairs = inner is not None or any(use.kind == "item" and use.part == () for use in own)
        if pairs and len(names) in (2, 3):
            looks = arrays.look(case, name, own, "inputs")
            form = _form_of_pair(case, looks, own)
            if looks is None:
                return None
            looks = replace(looks, form=form[0], size=form[1], part=arrays.part_of(name) or (place if place else 0))
            texts.append(looks.pair)
            words.append(f"{name}: {looks.words} with their targets")
        else:
            role = arrays.role_of(name, own)
            found = arrays.look(case, name, own, role) if role else None
            if found is None:
                return None
            looks = found
            texts.append(looks.code)
            words.append(f"{name}: {looks.words}")
        evidence = evidence or looks.evidence
    return (
        f"({', '.join(texts)},)",
        "; ".join(words),
        f"line {unpacked.line}: unpacked as {', '.join(names)}; {evidence}",
    )


def _form_of_pair(case: Case, looks: arrays.Looks | None, uses: list[Use]) -> tuple[str, tuple[int, ...]]:
    """The targets of pairs in old data files are class indices; how many classes is the network's word."""
    return ("classes", (clues.ends(case.source).outputs or 10,))


def _structure(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """The value that a file holds: a dict of arrays, a tuple of them, or one array."""
    found = _keyed(case, datum) or _items(case, datum)
    if found is not None:
        return found
    looks = _whole(case, datum)
    return (looks.code, looks.words, looks.evidence) if looks is not None else None


def _array(case: Case, datum: Datum, path: str) -> Made | None:
    found = _structure(case, datum)
    if found is None:
        return None
    return f"made_npy({path!r}, {found[0]})", found[1], found[2], ("made_npy", "made_pair")


def _pickle(case: Case, datum: Datum, path: str) -> Made | None:
    if datum.name == "read_pickle" and (table := table_of(case, datum, {})) is not None and table.names:
        code = f"made_pickle({path!r}, made_frame({listed(table.names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r}))"
        return code, f"a table with {columns_in_words(table)}", table.evidence, ("made_pickle", "made_frame")
    found = _structure(case, datum)
    if found is None:
        return None
    return f"made_pickle({path!r}, {found[0]})", found[1], found[2], ("made_pickle", "made_pair")


def _h5(case: Case, datum: Datum, path: str) -> Made | None:
    found = _keyed(case, datum)
    return (f"made_h5({path!r}, {found[0]})", found[1], found[2], ("made_h5", "made_pair")) if found else None


def _mat(case: Case, datum: Datum, path: str) -> Made | None:
    found = _keyed(case, datum)
    path = path if path.endswith(".mat") else path + ".mat"
    return (f"made_mat({path!r}, {found[0]})", found[1], found[2], ("made_mat", "made_pair")) if found else None


# --- text


def _text(case: Case, datum: Datum, path: str) -> Made | None:
    fields = _fields(datum, clues.ends(case.source))
    if fields is not None and not fields[1]:
        return None
    if fields is not None:
        separator, kinds, line = fields
        ends = clues.ends(case.source)
        classes = ends.outputs if ends.outputs and ends.form in ("classes", "one-hot") else 2
        made = f"made_lines({ROWS}, {listed(kinds)}, {separator!r}, {max(2, classes)})"
        if any(step == ("split", "\n") for use in datum.uses for step in use.part):
            made += ".rstrip()"  # split at newlines, a last one would make a line without fields
        what = f"{ROWS} lines of {len(kinds)} fields ({', '.join(kinds)})"
        return (
            f"made_text_file({path!r}, {made})",
            what,
            f"line {line}: split at {separator!r}",
            ("made_text_file", "made_lines"),
        )
    if not any(use.kind in ("iterated", "text", "method", "passed") for use in datum.uses):
        return None
    text = f"made_running_text({TEXT})"
    evidence = f"line {datum.line}: read as text"
    return (
        f"made_text_file({path!r}, {text})",
        f"{TEXT} characters of plain sentences",
        evidence,
        ("made_text_file", "made_running_text"),
    )


def _fields(datum: Datum, ends: clues.Ends) -> tuple[str, list[str], int] | None:
    """The fields of a line: what they are split at, and the kind of each."""
    count, separator, line = 0, "", 0
    last = numbers = False
    kinds: dict[int, str] = {}
    for use in datum.uses:
        splits = [place for place, step in enumerate(use.part) if step[0] == "split" and step[1] not in ("\n", "\r\n")]
        in_lines = (
            any(step[0] == "element" or step == ("split", "\n") for step in use.part[: splits[0]]) if splits else False
        )
        if not splits or not in_lines:
            continue
        separator = use.part[splits[0]][1]
        after = use.part[splits[0] + 1 :]
        if not after:
            line = line or use.line
            if use.kind == "unpacked":
                count = max(count, len(use.detail))
            if use.kind == "item" and isinstance(use.detail, int) and use.detail >= 0:
                count = max(count, use.detail + 1)
            if use.kind == "item" and use.detail == -1:
                last = True
            if use.kind == "slice" and isinstance(use.detail[0], int) and use.detail[1] is None:
                count = max(count, use.detail[0] + 1)
            numbers = numbers or use.kind in ("number", "iterated")
        elif after[0][0] == "element":
            numbers = numbers or use.kind == "number"
        elif after[0][0] == "item" and isinstance(after[0][1], int) and after[0][1] >= 0:
            kind = {"number": "number", "encoded": "word", "one-hot": "label", "targets": "label", "text": "text"}.get(
                use.kind
            )
            if kind and kinds.get(after[0][1], "text") == "text":
                kinds[after[0][1]] = kind
    if last and numbers and not count:
        wanted = ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else None
        return separator or " ", [*["number"] * wanted, "label"] if wanted else [], line
    if not count or not isinstance(separator, (str, type(None))):
        return None
    found = [kinds.get(place, "text") for place in range(count)]
    if "text" in found and found.count("text") == len(found) > 1:
        found[0] = "word"
    return separator or " ", found, line


def _json(case: Case, datum: Datum, path: str) -> Made | None:
    """A list of records with the keys that the program takes of each, or a dict of such lists."""
    own = replace(datum, uses=_below(datum, ("element",)))
    of_each = any(use.kind in ("iterated", "item") and use.part == () for use in datum.uses) and own.of("column")
    table = table_of(case, own if of_each else datum, {})
    if table is None or not table.names:
        return None
    rest = f"{listed(table.names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r}, listed={bool(of_each)}"
    what = f"{table.rows} records with {columns_in_words(table)}"
    return f"made_json({path!r}, made_records({rest}))", what, table.evidence, ("made_json", "made_records")


# --- images and folders


def _size(case: Case, datum: Datum) -> tuple[tuple[int, int], str]:
    """The height and width of images, and what tells them."""
    for key in ("target_size", "image_size", "second"):
        value = datum.options.get(key)
        if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(side, int) for side in value):
            return (value[0], value[1]), f"line {datum.line}: {key}={tuple(value)}"
    sides = [
        arg.value
        for call in case.source.all_calls
        if _last(call.func)
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


def _image_folder(case: Case, datum: Datum, path: str) -> Made | None:
    names, classes_told = _classes(case, datum)
    (height, width), size_told = _size(case, datum)
    channels = 1 if datum.options.get("color_mode") == "grayscale" else 3
    each = max(4, min(EACH, 240 // len(names)))
    part = arrays.part_of(path.rstrip("/").rpartition("/")[2])
    code = f"made_image_folder({path!r}, {names!r}, {(height, width, channels)!r}, {each}, part={part})"
    what = f"{each} images of {height}x{width} in each of {len(names)} folders"
    return code, what, f"{classes_told}; {size_told}", ("made_image_folder",)


def _folder(case: Case, datum: Datum, path: str) -> Made | None:
    opened = {use.detail[0] for use in datum.of("opened")}
    if datum.of("sibling"):
        return _one_class(case, datum, path)
    folder, pattern = (os.path.split(path)) if "*" in path else (path, "")
    ending = os.path.splitext(pattern)[1]
    if "*" in folder:
        top = folder.split("*")[0].rstrip("/")
        return _image_folder(case, datum, top) if "image" in opened or _IMAGE.search(ending) else None
    if "folder" in opened:
        return _image_folder(case, datum, folder)
    names, classes_told = _classes(case, datum)
    if "image" in opened or _IMAGE.search(ending):
        (height, width), size_told = _size(case, datum)
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
    (height, width), told = _size(case, datum)
    name = path.rstrip("/").rpartition("/")[2]
    code = f"made_images_in({path!r}, [{name!r}], {(height, width, 3)!r}, {EACH}, seed={number})"
    return (
        code,
        f"{EACH} images of {height}x{width}",
        f"line {datum.line}: the folder is listed; {told}",
        ("made_images_in",),
    )


def _siblings(flow: Flow) -> None:
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


def _image(case: Case, datum: Datum, path: str) -> Made | None:
    (height, width), told = _size(case, datum)
    code = f"made_image_file({path!r}, made_images(1, {(height, width, 3)!r}, 2)[0][0])"
    return code, f"an image of {height}x{width}", told, ("made_image_file", "made_images")


def _audio(case: Case, datum: Datum, path: str) -> Made | None:
    return f"made_wav({path!r})", "a second of a tone", "a guess: nothing tells what is heard", ("made_wav",)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_MAKERS: dict[str, Callable[[Case, Datum, str], Made | None]] = {
    "table": _table, "matrix": _table, "array": _array, "pickle": _pickle, "h5": _h5, "mat": _mat, "handle": _text, "json": _json,
    "image folder": _image_folder, "folder": _folder, "image": _image, "audio": _audio,
}  # fmt: skip
