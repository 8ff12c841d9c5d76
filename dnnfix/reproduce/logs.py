"""Edit action: logging. Windows that would wait for somebody, and services that a program reports to.

What a silent bug needs to be seen (loss, metric, gradients, outputs of each step) is recorded by the probe in every run, so
nothing of that is added to a program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.source.program import Source

ACTION = EditAction.LOGGING

_SERVICES = frozenset(
    {"wandb", "neptune", "comet_ml", "mlflow", "visdom", "clearml", "crayon", "losswise", "hyperdash"}
)
"""Modules that send what a training does somewhere; where they are not installed the imports take care of them."""

_WINDOWS = frozenset(
    {"imshow", "waitKey", "namedWindow", "destroyAllWindows", "destroyWindow", "moveWindow", "resizeWindow"}
)
_TOOLKITS = frozenset({"tkinter", "turtle", "pygame", "Tkinter"})
_INTERACTIVE = frozenset(
    {"TkAgg", "Qt4Agg", "Qt5Agg", "QtAgg", "GTKAgg", "GTK3Agg", "WXAgg", "macosx", "MacOSX", "nbAgg"}
)


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Stand-ins for services, windows that show nothing, and plots without a display."""
    imported = _imported(case.source)
    for module, line in imported.items():
        if module in _SERVICES and case.installed(module):
            yield _silent(module, line, "there is no network and no login in a trial")
    if "torch.utils.tensorboard" in _full_names(case.source) and not case.installed("tensorboard"):
        line = _full_names(case.source)["torch.utils.tensorboard"]
        yield _silent("torch.utils.tensorboard", line, "the package tensorboard is not installed")
    yield from _windows(case)
    yield from _backend(case)
    for module, line in imported.items():
        if module in _TOOLKITS:
            yield Gap(f"{module} opens a window, and there is no display here: take the drawing out", line)


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
        standins=("made_silent_module",),
    )


def _windows(case: Case) -> Iterator[EditStep | Gap]:
    """Windows of OpenCV, which need a display and wait for a key."""
    source = case.source
    calls = [call for call in source.all_calls if (source.written(call.func) or "").rpartition(".")[0] == "cv2"]
    shown = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _WINDOWS]
    if shown and case.installed("cv2"):
        yield EditStep(
            ACTION,
            "windows of OpenCV are not opened, and no key is waited for",
            "there is no display here",
            shown[0].lineno,
            scaffold=Scaffold(start="made_no_windows()"),
            standins=("made_no_windows",),
            invented=False,
        )


def _backend(case: Case) -> Iterator[EditStep | Gap]:
    """Back ends of matplotlib that need a display."""
    chosen = [
        node
        for node in case.source.nodes(ast.Constant)
        if isinstance(node.value, str) and node.value in _INTERACTIVE and "matplotlib" in case.source.words
    ]
    if chosen:
        yield EditStep(
            ACTION,
            "plots are drawn without a display",
            f"the program asks for {chosen[0].value!r}, which needs one",
            chosen[0].lineno,
            scaffold=Scaffold(literals=tuple((str(node.value), "Agg") for node in chosen)),
            invented=False,
        )
