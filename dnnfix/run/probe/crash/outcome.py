"""Classifies how a run ended, by a fault of the program or a lack in the environment, and writes the crash."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import socket
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import budget, sites, wire
from ..libraries import SUCCESSORS
from ..lookup import type_name
from ..program import scaffold, unattended, writes
from ..program.removed_modules import OLD_PYTHON
from . import frame_names, network_parts, refusals, statement_values

FINISHED = "finished"
CRASHED = "crashed"
EXITED = "exited"
OUT_OF_MEMORY = "out-of-memory"
ENVIRONMENT = "environment"
NEEDS_NETWORK = "needs-network"
NEEDS_DATA = "needs-data"
NEEDS_INPUT = "needs-input"
NEEDS_GPU = "needs-gpu"
BUDGET = "budget"

Ending = Tuple[str, str]


def report(error: BaseException, hooks: List[Any]) -> Ending:
    """Write the `crash` event if the program crashed; returns (outcome, detail)."""
    if isinstance(error, SystemExit):
        return _exit(error)
    ending = classify(error)
    call = next(filter(None, (hook.call_in_flight(error) for hook in hooks)), None)
    failed = scaffold.failed(error, call is not None)
    if failed is not None:
        return ENVIRONMENT, failed
    if ending[0] == BUDGET:
        return ending
    frames = sites.frames_of(error.__traceback__)
    frame_names.add_names(frames, error.__traceback__)
    if isinstance(error, SyntaxError):
        frames = _syntax_frames(error) or frames
    fields: Dict[str, Any] = {"kind": type_name(error), "message": wire.shorten(_message(error)), "frames": frames}
    if call:
        fields["call"] = call
    fields["written"] = _written(error)
    fields["held"] = statement_values.held_at(error) or []
    fields["refusal"] = refusals.asked_for(error)
    fields["parts"] = network_parts.parts_of(error)
    wire.emit("crash", **fields)
    _look_closer(error, hooks)
    return ending


def _look_closer(error: BaseException, hooks: List[Any]) -> None:
    """What a search over edits wants to know of a crash, while the frames that it left are alive."""
    wanted = budget.job.get("speculation")
    if wanted:
        from ..edits import speculate, survey

        if wanted.get("edits"):
            for hook in hooks:
                hook.stop_recording()
            speculate.speculate(error, wanted)
        else:
            survey.survey(error)


def _written(error: BaseException) -> List[Dict[str, Any]]:
    """The frames of user code in which an operation of a TensorFlow graph that failed later was written."""
    frames = []
    for entry in getattr(getattr(error, "op", None), "traceback", None) or ():
        site = sites.line_site(getattr(entry, "filename", ""), getattr(entry, "lineno", 0))
        if site is not None:
            frames.append({"site": site, "function": str(getattr(entry, "name", ""))})
    return frames


def classify(error: BaseException) -> Ending:
    """(outcome, detail) of an exception that left the program."""
    for cause in sites.causes(error):
        found = _environmental(cause)
        if found is not None and found[0] == NEEDS_DATA and budget.used_up() and writes.is_of_a_series(found[1]):
            return BUDGET, "%s would have been written by a loop that was cut" % found[1]
        if found is not None:
            return found
    return CRASHED, "%s: %s" % (type_name(error), _message(error))


def missing_module(error: ImportError) -> str:
    """The package that is not installed, as a detail of the outcome."""
    name = (error.name or "").partition(".")[0]
    return "the package %r is not installed in %s" % (name, sys.executable) if name else _message(error)


def _environmental(error: BaseException) -> Optional[Ending]:
    """What the environment lacks, where the exception says that it lacks something."""
    message = _message(error)
    if isinstance(error, unattended.NeedsInput):
        return NEEDS_INPUT, message
    if isinstance(error, EOFError) and _went_through(error, "getpass.py"):
        return NEEDS_INPUT, "the program asks for a password"
    if type(error).__name__ == "BdbQuit":
        return NEEDS_INPUT, "the program stops in the debugger"
    if isinstance(error, ModuleNotFoundError) and _foreign(error):
        return ENVIRONMENT, missing_module(error)
    if isinstance(error, MemoryError) or _NO_MEMORY.search(message):
        return OUT_OF_MEMORY, message or "MemoryError"
    if _NO_GPU.search(message):
        return NEEDS_GPU, message
    if isinstance(error, ImportError) and not error.name and re.search(r"\binstall", message):
        return ENVIRONMENT, message.strip().replace("\n", " ")
    if isinstance(error, ImportError) and _PART_OF_PACKAGE in message:
        return ENVIRONMENT, "this is a module of a package, which other programs run; give one that imports it"
    if type(error).__name__ == "CalledProcessError":
        return ENVIRONMENT, "a command that the program starts failed: %s" % message
    if _NO_DISPLAY.search(message):
        return ENVIRONMENT, "there is no display to open a window on: %s" % message
    if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN or _NO_THREAD.search(message):
        return ENVIRONMENT, "no more processes or threads may be started: %s" % message
    if _is_network(error):
        return NEEDS_NETWORK, "%s: %s" % (type_name(error), message)
    if isinstance(error, OSError) and error.errno in _DISK_FULL or _HALF_WRITTEN.search(message):
        return ENVIRONMENT, "the disk budget of %s bytes is used up" % budget.job.get("budget", {}).get("disk")
    refused = isinstance(error, (FileNotFoundError, NotADirectoryError, PermissionError)) or _read_only(error)
    if refused and isinstance(error, OSError) and error.filename is not None:
        return _file_refused(error)
    if isinstance(error, PermissionError) and _went_through(error, "synchronize.py"):
        return ENVIRONMENT, "the sandbox refuses memory that processes share"
    unwritable = _NOT_WRITTEN.search(message)
    if unwritable:
        return ENVIRONMENT, "the sandbox refuses to write %s" % unwritable.group(1)
    if isinstance(error, OSError) or type(error).__name__ == "ParserError":
        named = _NO_FILE.search(message)
        if named is None and isinstance(error, FileNotFoundError):
            named = _NOT_FOUND_BY_NUMPY.match(message)
        if named:
            return NEEDS_DATA, named.group(1)
    return None


def _file_refused(error: OSError) -> Optional[Ending]:
    """What to say of a file or folder that is not there, or that the sandbox keeps away."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error.filename)
    if _went_through(error, "subprocess.py"):
        return ENVIRONMENT, "the command %r is not there" % name
    if writes.for_writing(name):
        # A folder of the project that is missing is the program's own mistake; beyond it the sandbox refuses.
        return (ENVIRONMENT, "the sandbox refuses to write %s" % name) if os.path.isabs(name) else None
    if isinstance(error, PermissionError) and not os.path.isabs(name):
        return None
    return NEEDS_DATA, name


def _read_only(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EROFS


_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HALF_WRITTEN = re.compile(
    r"inline_container\S*\] \. (?:unexpected pos|file write failed)|PytorchStreamWriter failed writing"
)
"""What torch says where a file takes no more of what it saves."""
_UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL)
_NO_MEMORY = re.compile(
    r"can't allocate memory|Cannot allocate memory|out of memory|Unable to allocate .* for an array"
)
_NO_GPU = re.compile(
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available|no NVIDIA GPU|CUDA driver|cudaGetDeviceCount"
    r"|Attempting to deserialize object on a CUDA device|CUDA-capable device|NVML|Invalid device .*cuda"
    r"|setup doesn't support bf16/gpu|No supported gpu backend found|mixed precision requires a GPU",
    re.IGNORECASE,
)
_PART_OF_PACKAGE = "attempted relative import with no known parent package"
_NO_DISPLAY = re.compile(
    r"no display name and no \$DISPLAY|couldn't connect to display|[Cc]annot (?:open|connect to) display"
    r"|Cannot load backend .* interactive framework|No available video device"
)
_NO_THREAD = re.compile(r"can't start new thread")
_NOT_WRITTEN = re.compile(r"(?:File|Parent directory) (/\S*) (?:cannot be opened|does not exist)")
_NO_FILE = re.compile(
    r"(?:[Uu]nable to (?:synchronously )?open file.*name = '|[Nn]o such file or directory: '?|"
    r"No file or directory found at |"
    r"Dataset not found|File not found: )([^'\"\n]*)"
)
_NOT_FOUND_BY_NUMPY = re.compile(r"(\S+) not found\.\Z")


_NO_NETWORK = re.compile(
    r"URL fetch failure|We couldn't connect to|<urlopen error|Temporary failure in name resolution|Network is unreachable"
)


def _is_network(error: BaseException) -> bool:
    if isinstance(error, (socket.gaierror, socket.timeout, ConnectionError)) and not isinstance(error, BrokenPipeError):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return True
    module = type(error).__module__.partition(".")[0]
    named = type(error).__name__
    if module in ("requests", "urllib", "urllib3", "httpx", "aiohttp", "huggingface_hub", "http"):
        words = (
            "Connect",
            "Timeout",
            "Proxy",
            "SSL",
            "LocalEntryNotFound",
            "LocalTokenNotFound",
            "Disconnected",
            "URLError",
            "Offline",
        )
        return any(word in named for word in words)
    message = _message(error)
    return bool(_NO_NETWORK.search(message))


def _went_through(error: BaseException, name: str) -> bool:
    """Whether code of a file of that name was on the way to an exception."""
    entries = sites.every_entry(error.__traceback__)
    return any(os.path.basename(one.tb_frame.f_code.co_filename) == name for one in entries)


def _foreign(error: ModuleNotFoundError) -> bool:
    """Whether the missing module is a package that is absent.

    It is not where its package, or Python, no longer has the module, or where the package goes under another name today.
    """
    name = error.name or ""
    parent = name.partition(".")[0]
    if parent in SUCCESSORS and importlib.util.find_spec(SUCCESSORS[parent]) is not None:
        return False
    return bool(name) and (parent == name or parent not in sys.modules) and parent not in OLD_PYTHON


def _exit(error: SystemExit) -> Ending:
    code = error.code
    if code is None or code == 0:
        return FINISHED, ""
    return EXITED, "the program ended itself with %s" % (code if isinstance(code, int) else repr(str(code)))


def _syntax_frames(error: SyntaxError) -> List[Dict[str, Any]]:
    if not error.filename or not sites.is_user_file(error.filename) or not error.lineno:
        return []
    column = error.offset or 1
    end_line = getattr(error, "end_lineno", None) or error.lineno
    end_column = getattr(error, "end_offset", None) or column
    if (end_line, end_column) <= (error.lineno, column):
        end_line, end_column = error.lineno, column + 1
    path = sites.path_of(error.filename)
    return [{"site": [error.lineno, max(column, 1), end_line, end_column, path], "function": "<module>"}]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "<no message>"
