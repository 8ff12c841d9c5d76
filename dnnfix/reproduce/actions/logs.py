"""Edit action: logging. Replaces windows that wait for a person, and services that a program reports to.

What makes a silent fault visible (loss, metric, gradients, outputs of each step) is recorded by the probe in every run,
so nothing of that is added to a program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import paths
from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import string
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

ACTION = EditAction.LOGGING

_SERVICES = frozenset(
    {"wandb", "neptune", "comet_ml", "mlflow", "visdom", "clearml", "crayon", "losswise", "hyperdash"}
)
"""Modules that send what a training does somewhere; where they are not installed the imports take care of them."""

_WINDOWS = frozenset(
    {"imshow", "waitKey", "namedWindow", "destroyAllWindows", "destroyWindow", "moveWindow", "resizeWindow"}
)
_FONTS = (".ttf", ".otf", ".ttc")
_WAITS = frozenset({"waitforbuttonpress", "ginput", "pause", "start_event_loop"})
"""Functions and methods of matplotlib that wait for somebody at the screen, or for time to pass."""

_NOTEBOOK_BARS = frozenset({"tqdm_notebook", "tnrange"})
_TOOLKITS = frozenset({"tkinter", "turtle", "pygame", "Tkinter"})
_SHOWS_ONLY = frozenset({"tkinter", "turtle"})
"""Toolkits that only show something: what a program tells them can be passed over."""
_INTERACTIVE = frozenset({"tkagg", "qt4agg", "qt5agg", "qtagg", "gtkagg", "gtk3agg", "wxagg", "macosx", "nbagg"})
"""Back ends of matplotlib that need a display; case says nothing in their names."""


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Stubs for services, windows that show nothing, and plots without a display."""
    imported = _imported(case.source)
    for module, line in imported.items():
        if module in _SERVICES and case.installed(module):
            yield _silent(module, line, "there is no network and no login in a trial")
    if "torch.utils.tensorboard" in _full_names(case.source) and not case.installed("tensorboard"):
        line = _full_names(case.source)["torch.utils.tensorboard"]
        yield _silent("torch.utils.tensorboard", line, "the package tensorboard is not installed")
    yield from everywhere(_shown, case)
    yield from _fonts(case)
    yield from _pauses(case)
    yield from _bars(case)
    yield from _boards(case)
    for module, line in imported.items():
        if module in _TOOLKITS:
            yield from _toolkit(case, module, line)


def _imported(source: Source) -> dict[str, int]:
    """The top-level modules that a program imports, each with the line of its first import."""
    found: dict[str, int] = {}
    for name, line in _full_names(source).items():
        found.setdefault(name.partition(".")[0], line)
    return found


def _full_names(source: Source) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in source.nodes(ast.Import):
        for alias in node.names:
            found.setdefault(alias.name, node.lineno)
    for statement in source.nodes(ast.ImportFrom):
        if statement.module and not statement.level:
            found.setdefault(statement.module, statement.lineno)
    return found


def _silent(module: str, line: int, why: str) -> EditStep:
    return EditStep(
        ACTION,
        f"what the program tells {module} is not sent and not written",
        f"{why}; losses and metrics are recorded anyway",
        line,
        scaffold=Scaffold(start=f"made_silent_module({module!r})"),
    )


def _windows(case: Case) -> Iterator[EditStep | Gap]:
    """Windows of OpenCV, which need a display and wait for a key."""
    source = case.source
    calls = method_calls(source, *_WINDOWS)
    shown = [call for call in calls if (source.written(call.func) or "").rpartition(".")[0] == "cv2"]
    if shown and case.installed("cv2"):
        yield EditStep(
            ACTION,
            "windows of OpenCV are not opened, and no key is waited for",
            "there is no display here",
            shown[0].lineno,
            scaffold=Scaffold(start="made_no_windows()"),
            invented=False,
        )


def _shown(case: Case) -> Iterator[EditStep | Gap]:
    """Windows and plots: they are drawn for nobody."""
    yield from _windows(case)
    yield from _backend(case)
    yield from _waiting(case)


def _backend(case: Case) -> Iterator[EditStep | Gap]:
    """Back ends of matplotlib that need a display."""
    chosen = [node for node in case.source.nodes(ast.Constant) if (string(node) or "").lower() in _INTERACTIVE]
    if chosen and "matplotlib" in case.source.words:
        yield EditStep(
            ACTION,
            "plots are drawn without a display",
            f"the program asks for {chosen[0].value!r}, which needs one",
            chosen[0].lineno,
            scaffold=Scaffold(
                start="made_in_place_of('matplotlib.use', made_backend_without_display)",
                literals=tuple((str(node.value), "Agg") for node in chosen),
            ),
            invented=False,
        )


def _fonts(case: Case) -> Iterator[EditStep]:
    """The files of fonts that plots and pictures are lettered with: the font that matplotlib brings stands for each."""
    if not case.installed("matplotlib"):
        return
    for node in case.source.nodes(ast.Constant):
        path = string(node) or ""
        if not path.lower().endswith(_FONTS) or "\n" in path or case.exists(path):
            continue
        place = paths.inside(case.source, path)
        if place is not None:
            yield EditStep(
                ACTION,
                f"the font `{path}` is the one that matplotlib brings",
                "a font says nothing about the network",
                node.lineno,
                scaffold=Scaffold(start=f"made_font({place[0]!r})", literals=place[1]),
            )


def _waiting(case: Case) -> Iterator[EditStep]:
    """Plots that wait for a key, for clicks or for time to pass: nobody is there."""
    source = case.source
    if "matplotlib" not in source.words or not case.installed("matplotlib"):
        return
    calls = [call for call in source.all_calls if last_name(call.func) in _WAITS]
    if calls:
        yield EditStep(
            ACTION,
            "plots wait for nobody: a key counts as pressed, clicks are made in the middle, pauses take no time",
            "there is no display here, and nobody before it",
            calls[0].lineno,
            scaffold=Scaffold(start="made_no_waiting()"),
        )


_LONG = 0.05
"""Seconds of a pause from which on a training would notice it."""


def _pauses(case: Case) -> Iterator[EditStep]:
    """Pauses that the program makes so that somebody can read or watch."""
    calls = list(case.source.calls("time.sleep"))
    long = [call for call in calls if not _is_short(call)]
    if long:
        yield EditStep(
            ACTION,
            "pauses of the program are cut short",
            "they would use up the time of the run",
            long[0].lineno,
            scaffold=Scaffold(start="made_in_place_of('time.sleep', made_short_pause)"),
            invented=False,
        )


def _is_short(call: ast.Call) -> bool:
    seconds = call.args[0] if call.args else None
    return isinstance(seconds, ast.Constant) and isinstance(seconds.value, (int, float)) and seconds.value < _LONG


def _bars(case: Case) -> Iterator[EditStep]:
    """Progress bars of notebooks, which need a package for widgets."""
    source = case.source
    if not case.installed("tqdm") or case.installed("ipywidgets"):
        return
    names = {alias.name: node.lineno for node in source.nodes(ast.ImportFrom) for alias in node.names}
    lines = [line for name, line in names.items() if name in _NOTEBOOK_BARS]
    lines += [line for name, line in _full_names(source).items() if name in ("tqdm.notebook", "tqdm._tqdm_notebook")]
    lines += [node.lineno for node in source.nodes(ast.Attribute) if node.attr in _NOTEBOOK_BARS]
    if lines:
        places = ("tqdm.notebook.tqdm_notebook", "tqdm.notebook.tqdm")
        yield EditStep(
            ACTION,
            "progress bars of the notebook are those of a terminal",
            "ipywidgets, which they need, is not installed",
            min(lines),
            scaffold=Scaffold(start="\n".join(f"made_in_place_of({place!r}, made_plain_bar)" for place in places)),
            invented=False,
        )


def _boards(case: Case) -> Iterator[EditStep]:
    """The callback of Keras that writes for TensorBoard, where neither it nor TensorFlow is installed."""
    if case.installed("tensorflow") or case.installed("tensorboard"):
        return
    call = next(case.source.calls("keras.callbacks.TensorBoard"), None)
    if call is not None:
        yield EditStep(
            ACTION,
            "nothing is written for TensorBoard",
            "the package tensorboard is not installed; losses and metrics are recorded anyway",
            call.lineno,
            scaffold=Scaffold(start="made_in_place_of('keras.callbacks.TensorBoard', made_no_board)"),
        )


def _toolkit(case: Case, module: str, line: int) -> Iterator[EditStep | Gap]:
    """Windows of other kinds: pygame can draw without a display, and what only shows something is passed over."""
    starred = any(node.module == module and node.names[0].name == "*" for node in case.source.nodes(ast.ImportFrom))
    if module == "pygame" and case.installed(module):
        yield EditStep(
            ACTION,
            "pygame draws without a display",
            "there is none here",
            line,
            scaffold=Scaffold(start='import os as _made_os\n_made_os.environ.setdefault("SDL_VIDEODRIVER", "dummy")'),
            invented=False,
        )
    elif module in _SHOWS_ONLY and not starred:
        yield _silent(module, line, "there is no display here")
    else:
        yield Gap(f"{module} opens a window, and there is no display here: take the drawing out", line)
