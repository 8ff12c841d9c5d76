"""The exceptions of dnnfix, grouped by whose fault they are.

DnnfixError
├── UserError                what the caller gave cannot be used; the message says what to do (exit code 2)
│   ├── InputError           a path, file or notebook
│   ├── ConfigError          a setting
│   ├── CertificateError     a certificate
│   └── BotReportError       a report of an analysis that is to be published
├── EnvironmentProblem       this machine or interpreter cannot do what is needed
│   ├── SandboxError         no sandbox of the asked tier
│   ├── InterpreterError     the interpreter given by --python
│   ├── ForgeError           a forge, or git, refused what was asked of it
│   └── AnalysisFailed       the analysis of a repository ended without a report
├── CatalogueError           a template or validator is wrong
│   ├── DuplicateCodeError   two templates claim one code or name
│   └── EditError            an edit cannot be carried out
│       ├── NestedSitesError two edits touch the same text
│       └── SiteNotFoundError no node at the site
├── BudgetExceeded           the time of a file or run is used up
└── TrainingStopped          a watched training left the finite numbers, and was to end then
"""

from __future__ import annotations

import importlib.util
import os
import sys
from enum import Enum


class DnnfixError(Exception):
    """Root of everything that dnnfix raises on purpose."""


class UserError(DnnfixError):
    """The caller's input cannot be used. The message names the file, the place and what to do."""


class InputError(UserError):
    """A path, file, notebook or standard input that cannot be analysed."""


class ConfigError(UserError):
    """A setting that is unknown or has a wrong value."""


class CertificateError(UserError):
    """A certificate that cannot be read or does not belong to the program."""


class BotReportError(UserError):
    """A report of an analysis that does not follow its schema, or asks for what no patch may do."""


class EnvironmentProblem(DnnfixError):
    """This machine or interpreter cannot do what is needed."""


class SandboxError(EnvironmentProblem):
    """The asked sandbox tier does not work on this machine."""


class InterpreterError(EnvironmentProblem):
    """The interpreter that programs are to run in cannot be started."""


class ForgeError(EnvironmentProblem):
    """A forge, or git, cannot be reached or refused what was asked of it."""


class AnalysisFailed(EnvironmentProblem):
    """The analysis of a repository ended without a report."""


class CatalogueError(DnnfixError):
    """A template or validator is wrong; its author has to fix it."""


class DuplicateCodeError(CatalogueError):
    """Two templates claim one code or one name."""


class EditError(CatalogueError):
    """An edit cannot be carried out on this source."""


class NestedSitesError(EditError):
    """Two edits of one candidate touch the same text."""


class SiteNotFoundError(EditError):
    """The source has no expression or statement at the site of an edit."""


class BudgetExceeded(DnnfixError):
    """The time that a file or run was given is used up."""


class TrainingStopped(DnnfixError):
    """A loss, gradient or weight of a watched training is no finite number, and the caller asked to stop at that."""


def in_words(error: BaseException) -> str:
    """The kind of an error and what it says; of a name that an enumeration lacks also which names it has."""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, AttributeError) and isinstance(error.obj, type) and issubclass(error.obj, Enum):
        said = f"{error.obj.__name__} has no {error.name}. It has {', '.join(error.obj.__members__)}"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def line_of(error: BaseException, file: str) -> str:
    """`FILE:LINE`, as far as known: the line of this file that the error came through, or the one that is no Python."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    return file if line is None else f"{file}:{line}"


def not_importable(module: str, error: BaseException) -> CatalogueError:
    """What to raise where a module of rules, validators or operators cannot be imported: its file, the line, and why."""
    place = line_of(error, file_of(module))
    named = place if module.startswith("dnnfix.") else f"{place}: the installed module {module}"
    return CatalogueError(f"{named}: cannot be imported: {in_words(error)}")


def failure(error: BaseException, module: str) -> str:
    """What went wrong in a module that a rule is in, and at which of its lines, for a report: the name of its file alone."""
    return f"at {os.path.basename(line_of(error, file_of(module)))}: {in_words(error)}"


def file_of(module: str) -> str:
    """The file of a module, whether it was imported or not; its name where there is none."""
    loaded = sys.modules.get(module)
    if loaded is not None and loaded.__file__:
        return loaded.__file__
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # noqa: BLE001 - what is above the module is imported to find it, and is as foreign as the module
        return module
    return spec.origin if spec is not None and spec.origin is not None else module
