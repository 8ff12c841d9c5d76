"""Stands between the errors of a command and the user: whatever is raised becomes a message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from dnnfix.cli.console import BROKEN_PIPE, ERROR, INTERRUPTED, Console
from dnnfix.errors import BudgetExceeded, CatalogueError, EnvironmentProblem, UserError

REPORT = "This is a fault of dnnfix, not of your program. Please report it with the command that you gave"


def guarded(work: Callable[[], int], console: Console) -> int:
    """Do the work of a command and return its exit code."""
    try:
        return work()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        console.problem("interrupted; nothing is left running.")
        return INTERRUPTED
    except (UserError, EnvironmentProblem, CatalogueError, BudgetExceeded) as error:
        console.problem(str(error))
    except OSError as error:
        console.problem(_refused(error))
    except Exception as error:  # noqa: BLE001 - the last guard: a user sees a message, never a traceback
        console.problem(internal(error, console.verbose))
    return ERROR


def _refused(error: OSError) -> str:
    """What the operating system refused."""
    try:
        os.getcwd()
    except OSError:
        return "the working folder is gone. Go to another and run dnnfix again."
    return f"{error.filename or 'input or output'}: {error.strerror or error}"


def internal(error: Exception, verbose: bool) -> str:
    """The message for an error that should not be: its type and place, and the traceback only when verbose."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    message = f"internal error: {type(error).__name__}{where}: {error}\n{REPORT}"
    if verbose:
        return f"{message}.\n{''.join(traceback.format_exception(error))}"
    return f"{message}; -v shows the traceback."
