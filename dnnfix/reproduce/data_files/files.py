"""Collects the edit steps for all missing files of a program, by kind, and for the folders that it writes into."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import paths
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import arrays
from dnnfix.reproduce.data_files import Made, images, pipelines, tables, texts, values
from dnnfix.reproduce.data_files.well_known_files import known
from dnnfix.reproduce.data_files.written import written_folders
from dnnfix.reproduce.flow.values import Datum, Flow

_MISSING = re.compile(r"(?:No such file or directory|not found|does not exist)[^'\"]*['\"](?P<path>[^'\"]+)['\"]")

_WEIGHTS = re.compile(r"\.(?:h5|hdf5|pth?|ckpt|pb|weights|caffemodel|keras|onnx|tar)$")
"""Files of weights belong to the action that makes models."""


def file_steps(case: Case, flow: Flow) -> Iterator[EditStep | Gap]:
    """The steps for all files that the program reads, and for the folders that it writes into."""
    images.note_siblings(flow)
    done: set[str] = set()
    written = {path: line for path, line in reversed(flow.written)}
    for datum in flow.data:
        if datum.kind == "name" or not datum.reached:
            continue
        path = datum.path if datum.path is not None else _path_of_crash(case, datum)
        if path and _WEIGHTS.search(path) and datum.kind in ("folder", "handle", "array"):
            continue
        if not path or path in done or case.exists(path) or "://" in path:
            continue
        if datum.kind == "style" and not path.endswith(texts.STYLE):
            continue  # the name of one that the library has
        filled = next((place for place in (path, _within(path)) if place in written), None)
        if filled is not None and (datum.module or written[filled] < datum.line):
            continue
        done.add(path)
        yield _step(case, datum, path)
    if (asked := images.asked_for(case, flow)) is not None:
        yield asked
    yield from _folders(case, flow)


def _within(path: str) -> str:
    """The folder whose files a path stands for, as it is written where files are put into it."""
    return f"{os.path.dirname(path) if '*' in path else path.rstrip('/')}/"


def _step(case: Case, datum: Datum, path: str) -> EditStep | Gap:
    place = paths.inside(case.source, path)
    line = datum.line if not datum.module else None
    if place is None:
        return Gap(f"the program reads `{path}`, which is outside of its folder; give it a file inside", line)
    new, literals = place
    maker = _MAKERS.get(datum.kind)
    try:
        made = known(case, datum, new) or (maker(case, datum, new) if maker is not None else None)
    except arrays.Contradictory as clash:
        return Gap(str(clash), line)
    if made is None:
        return Gap(
            f"nothing tells what `{path}` holds; the program needs that file, or a line of it as an example", line
        )
    code, what, evidence = made
    named = f"`{path}` (as `{new}`)" if literals else f"`{new if new.startswith('~') else path}`"
    if datum.module:
        named = f"{named} (read in {datum.module})"
    scaffold = Scaffold(start=paths.expanded(code), literals=literals)
    return EditStep(EditAction.INPUT_DATA, f"{named}: {what}", evidence, line, True, scaffold)


def _path_of_crash(case: Case, datum: Datum) -> str | None:
    """The path that a run missed, the latest one first, where this is the call that missed it."""
    for crash in (trace.crash for trace in reversed(case.traces) if trace.crash is not None):
        here = any((frame.site.path, frame.site.line) == (datum.module, datum.line) for frame in crash.frames)
        match = _MISSING.search(crash.message) if here else None
        if match:
            return match["path"]
    return None


def _folders(case: Case, flow: Flow) -> Iterator[EditStep]:
    """The folders that the program writes into and does not make itself."""
    if {"mkdir", "makedirs"} & case.source.words:
        return
    seen: set[str] = set()
    for path, line in (*flow.written, *written_folders(case.source)):
        place = paths.inside(case.source, path)
        if place is None or "://" in path or path.startswith("/tmp/"):
            continue
        folder = os.path.dirname(place[0])
        if (not folder or folder in seen or case.exists(folder)) and not place[1]:
            continue
        if case.sees(os.path.dirname(path)):
            continue
        seen.add(folder)
        scaffold = Scaffold(start=paths.expanded(f"made_folder({folder!r})"), literals=place[1])
        yield EditStep(
            EditAction.INPUT_DATA,
            f"the folder `{folder}`, empty",
            f"line {line}: written into",
            line,
            False,
            scaffold,
        )


_MAKERS: dict[str, Callable[[Case, Datum, str], Made | None]] = {
    "table": tables.table_file,
    "matrix": tables.table_file,
    "json": tables.json_file,
    "array": values.array_file,
    "raw": values.raw_file,
    "pickle": values.pickle_file,
    "h5": values.h5_file,
    "mat": values.mat_file,
    "handle": texts.text_file,
    "style": texts.style_sheet,
    "image folder": images.image_folder,
    "folder": images.listed_folder,
    "image": images.image_file,
    "audio": images.audio_file,
    "queue": pipelines.queued_file,
    "records": pipelines.records_file,
    "lines": pipelines.lines_file,
    "sentences": texts.sentences_file,
}
"""What tells the contents of a file, by the kind of thing that the program reads (`flow.reads`)."""
