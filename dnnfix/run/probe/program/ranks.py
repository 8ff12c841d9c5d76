"""Runs a program that joins a process group as two ranks: the observed process is rank 0, a fork of it rank 1.

Rank 1 runs the same program in the same folder and under the same limits, and writes what it records into a pipe that
rank 0 reads. A thread in each rank looks where its program is: where one waits for a collective operation that the other
does not reach, rank 0 ends the run with both places. Nothing here is done for programs that join no process group.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import itertools
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

from .. import budget, sites, wire

WORLD = 2
"""How many ranks there are."""
HANG = "DistributedHang"
"""The kind of the crash that is reported where a rank waits in vain."""
LOOK_EVERY = 0.2
"""Seconds between two looks at what a rank does."""
ENDED_FOR = 1.5
"""Seconds that a rank has to wait for one whose program is over before that is called a hang."""
BOTH_FOR = 4.0
"""Seconds that both have to wait, at different places, before that is called one."""
AT_THE_END = 8.0
"""Seconds that rank 0 waits for the other at its end."""
MOST = 2000
"""So many collective operations of a rank are remembered."""

_ASKED = frozenset(
    {
        "gather", "gather_for_metrics", "is_local_main_process", "is_main_process", "local_main_process_first",
        "main_process_first", "num_processes", "process_index", "reduce", "split_between_processes", "wait_for_everyone",
    }
)  # fmt: skip
"""What programs ask an `Accelerator` that care about several processes; others are as well run alone."""
_OTHER_WAYS = frozenset({"Process", "start_processes", "notebook_launcher", "debug_launcher"})
"""Calls that start the ranks in ways that are not followed."""
PAIRS = 8
"""So many of those that the ranks do not share are told."""
_TOLD = re.compile(r"""^[^#\n]*add_argument\(\s*["'](--local[_-]rank)["']""", re.MULTILINE)
"""The argument that older launchers tell a program its rank by."""
_HEAVY = ("accelerate", "datasets", "evaluate", "transformers")
_SETS = re.compile(r"""environ\[\s*["'](?:RANK|WORLD_SIZE)["']\s*\]\s*=[^=]""")
_WAITS = tuple(
    os.path.join("torch", *parts) for parts in (("distributed", ""), ("nn", "parallel", ""), ("autograd", ""))
)
_IDLE = 0.02
"""Seconds of processor time that a thread which waits may use between two looks."""

rank: Optional[int] = None
"""The rank of this process; `None` where the program is run alone."""

_reached: List[Any] = []
_second: Optional["_Second"] = None
_me: Optional["_Place"] = None
_hold: Optional[int] = None
_turn: Optional[int] = None


def wanted(text: Optional[str]) -> bool:
    """Whether a program joins a process group whose other ranks somebody else starts, or `mp.spawn` does."""
    if not text or not ("init_process_group" in text or "Accelerator" in text) or _SETS.search(text):
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    calls = [(_name(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if any(name in _OTHER_WAYS for name, _call in calls):
        return False
    if any(name == "init_process_group" and not _is_alone(call) for name, call in calls):
        return True
    # What is made in place of a model of the hub is made for one process; such a program runs as well alone.
    return "from_pretrained" not in text and _asks(tree)


def begin(text: Optional[str], job: Dict[str, Any], folder: str, top: str) -> None:
    """Start rank 1 where the program wants one and the sandbox lets two processes meet; `rank` is then set in both."""
    global rank, _second, _me, _hold, _turn
    rank = _second = _me = _hold = _turn = None
    _reached.clear()
    if job.get("gpu") or job.get("recorder") or not wanted(text):
        return
    port = _free_port()
    if port is None:
        return
    _import_for_both(text or "")
    wire.emit("probe", name="world", value=WORLD)
    budget.share()
    lines, told = os.pipe()
    until, held = os.pipe()
    after, before = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    rank = 1 if process == 0 else 0
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": WORLD, "LOCAL_WORLD_SIZE": WORLD, "GROUP_RANK": 0}
    os.environ.update({name: str(value) for name, value in numbers.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ.update(ACCELERATE_USE_CPU="true", GLOO_SOCKET_IFNAME="lo")
    _me = _Place()
    if rank == 0:
        for other in (told, until, after):
            os.close(other)
        _turn = before
        _second = _Second(process, lines, held)
        return
    job["budget"] = dict(job["budget"], training=None)
    for other in (lines, held, before):
        os.close(other)
    _hold, _turn = until, after
    wire.attach(told, folder, top)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    threading.Thread(target=_tell, args=(_me,), daemon=True).start()


def arguments(text: Optional[str]) -> List[str]:
    """What a launcher adds to the program's arguments: its rank, where the program takes it as one."""
    told = _TOLD.search(text or "")
    return [] if told is None or rank is None else ["%s=%d" % (told.group(1), rank)]


@contextlib.contextmanager
def in_turn() -> Iterator[None]:
    """What writes files that the program reads: rank 0 does it first, and rank 1 finds them."""
    if rank == 1 and _turn is not None:
        os.read(_turn, 1)
    try:
        yield
    finally:
        if rank == 0 and _turn is not None:
            os.close(_turn)


def watch(end: Callable[[Optional[Dict[str, Any]]], None]) -> None:
    """Have rank 0 look at both; `end` ends the process.

    It is called with the fields of a crash where neither can go on, and with `None` where rank 1 is astray.
    """
    if _second is not None and _me is not None:
        threading.Thread(target=_second.watch, args=(_me, end), daemon=True).start()


def over(ended: str, detail: str) -> None:
    """The program of this rank is over. Rank 1 stays, so that its connections do, until rank 0 is gone; it never returns.

    In rank 0 it returns once the other is over as well, or is not waited for any longer.
    """
    if rank is None or _me is None:
        return
    _me.ended = ended
    if rank == 1:
        wire.emit("end", outcome=ended, detail=detail)
        if _hold is not None:
            os.read(_hold, 1)
        os._exit(0)
    if _second is not None and ended == "finished" and _reached:
        _second.await_end()


def astray() -> None:
    """This rank takes itself for the other one: nothing told it, and what the two do then says nothing."""
    wire.emit("astray")


def withdraw() -> None:
    """Rank 1 ends where it has nothing to do: its program trains, and joined no group."""
    if rank == 1:
        wire.emit("end", outcome="alone", detail="")
        os._exit(0)


def reached(kind: str, site: Optional[sites.Site]) -> None:
    """This rank comes to a collective operation of a kind, at a site of the program; the first is that it joins the group."""
    if rank is not None and len(_reached) < MOST:
        _reached.append([kind, site])
        if rank == 1:
            wire.emit("reached", kind=kind, site=site)


def parted() -> List[Any]:
    """The first pairs of operations, `[kind, site]` or `None`, that the ranks came to as their n-th and do not share."""
    others = _second.reached if _second is not None else []
    pairs = ([one, two] for one, two in itertools.zip_longest(_reached, others) if one != two)
    return list(itertools.islice(pairs, PAIRS))


def of_the_other() -> Dict[str, Any]:
    """What the probes of rank 1 recorded, by the names of their `probe` events."""
    return _second.probes if _second is not None else {}


def stop() -> None:
    """Rank 1 ends, whatever it does."""
    if _second is not None:
        _second.stop()


def _name(node: ast.AST) -> str:
    """The last part of a dotted name; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _asks(tree: ast.AST) -> bool:
    """Whether a program asks something of its `Accelerator` that concerns several processes."""
    made = {
        _name(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func) == "Accelerator"
        for target in node.targets
    }
    asked = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _ASKED)
    return any(_name(holder) in made for holder in asked if _name(holder))


def _is_alone(call: ast.Call) -> bool:
    """Whether a call joins a group of one."""
    for keyword in call.keywords:
        if keyword.arg == "world_size" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value == 1
        if keyword.arg == "rank" and isinstance(keyword.value, ast.Constant):
            return True
    return False


def _import_for_both(text: str) -> None:
    """Import, before there are two processes, the packages of a program that take seconds."""
    for name in _HEAVY:
        if re.search(r"^\s*(?:import|from)\s+%s\b" % name, text, re.MULTILINE):
            with contextlib.suppress(Exception):
                found = importlib.util.find_spec(name)
                if found is not None and not sites.is_user_file(found.origin or ""):
                    importlib.import_module(name)


def _free_port() -> Optional[int]:
    """A port for the ranks to meet at; `None` where the sandbox has no network of its own, or hides its interfaces."""
    try:
        os.listdir("/sys/class/net")
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.bind(("127.0.0.1", 0))
            port: int = tried.getsockname()[1]
            return port
    except OSError:
        return None


class _Place:
    """Where the program of this rank is, and for how long it has been waiting there for others."""

    def __init__(self) -> None:
        self.ended = ""
        self._thread = threading.main_thread().ident or 0
        self._last: Any = None
        self._used = 0.0
        self._since = time.monotonic()

    def look(self) -> Dict[str, Any]:
        """`waits` (seconds), and `frames` of user code, outermost first."""
        frame = sys._current_frames().get(self._thread)
        if frame is None or self.ended:
            return {"waits": 0.0, "frames": []}
        used = time.clock_gettime(time.pthread_getcpuclockid(self._thread))
        here = (id(frame), frame.f_lasti)
        if here != self._last or used - self._used > _IDLE or not _is_waiting(frame.f_code.co_filename):
            self._since = time.monotonic()
        self._last, self._used = here, used
        waits = time.monotonic() - self._since
        frames: List[Dict[str, Any]] = []
        found = sites.user_frame(frame) if waits >= 1.0 else None
        while found is not None:
            site = sites.site_of(found)
            if site is not None:
                frames.insert(0, {"site": site, "function": found.f_code.co_name})
            found = sites.user_frame(found.f_back) if found.f_back is not None else None
        return {"waits": waits if frames else 0.0, "frames": frames}


def _is_waiting(filename: str) -> bool:
    return any(part in filename for part in _WAITS)


def _tell(place: _Place) -> None:
    while not place.ended:
        wire.emit("place", **place.look())
        time.sleep(LOOK_EVERY)


class _Second:
    """Rank 1 as rank 0 sees it."""

    def __init__(self, process: int, lines: int, held: int) -> None:
        self.process = process
        self.probes: Dict[str, Any] = {}
        self.reached: List[Any] = []
        self._crash: Optional[Dict[str, Any]] = None
        self._ended: Optional[str] = None
        self._place: Dict[str, Any] = {"waits": 0.0, "frames": []}
        self._lines, self._held = lines, held
        self._rest = b""
        self._astray = False
        self._over = threading.Event()
        os.set_blocking(lines, False)

    def watch(self, me: _Place, end: Callable[[Optional[Dict[str, Any]]], None]) -> None:
        """Look at both ranks until one of them cannot go on."""
        ended_at: Optional[float] = None
        while True:
            time.sleep(LOOK_EVERY)
            self._read()
            own = me.look()
            if me.ended not in ("", "finished"):
                return
            crash = self._in_vain(own, bool(me.ended))
            if crash is not None or self._astray:
                end(None if self._astray else crash)
                return
            if self._ended is not None and me.ended:
                self._over.set()
                return
            if me.ended:
                ended_at = ended_at or time.monotonic()
                if time.monotonic() - ended_at > AT_THE_END:
                    self._over.set()
                    return

    def await_end(self) -> None:
        """Return when rank 1 is over too, or has been waited for long enough."""
        self._over.wait(AT_THE_END + 2.0)

    def stop(self) -> None:
        """End the process."""
        try:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        except OSError:
            return

    def _in_vain(self, own: Dict[str, Any], over: bool) -> Optional[Dict[str, Any]]:
        """The crash to report where neither can go on; ranks that joined no group have nothing to do with each other."""
        if not _reached:
            return None
        mine, others = own["waits"], self._place["waits"]
        if self._ended is not None and (over or mine >= ENDED_FOR):
            if self._crash is not None:
                return self._crash
            return None if over else _hang(own, 0, "rank 1 has ended, and never reaches it")
        if over and others >= ENDED_FOR:
            return _hang(self._place, 1, "rank 0 has ended, and never reaches it")
        if min(mine, others) >= BOTH_FOR and own["frames"][-1:] != self._place["frames"][-1:]:
            return _hang(own, 0, "rank 1 waits at %s" % _where(self._place))
        return None

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                data = os.read(self._lines, 1 << 16)
                if not data:
                    self._ended = self._ended or "gone"
                    break
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in lines:
                    with contextlib.suppress(ValueError):  # two threads wrote long lines at the same time
                        self._take(json.loads(line))

    def _take(self, fields: Dict[str, Any]) -> None:
        event = fields.pop("event", "")
        if event == "place":
            self._place = fields
        elif event == "crash":
            self._crash = dict(fields, message="on rank 1: %s" % fields.get("message", ""))
        elif event == "end":
            self._ended = str(fields.get("outcome"))
            self._place = {"waits": 0.0, "frames": []}
        elif event == "astray":
            self._astray = True
        elif event == "reached":
            self.reached.append([fields["kind"], fields["site"]])
        elif event == "probe":
            self.probes[str(fields.get("name"))] = fields.get("value")


def _hang(place: Dict[str, Any], which: int, other: str) -> Dict[str, Any]:
    message = "rank %d waits at %s for the other: %s" % (which, _where(place), other)
    return {"kind": HANG, "message": message, "frames": place["frames"]}


def _where(place: Dict[str, Any]) -> str:
    site = place["frames"][-1]["site"]
    return "line %d%s" % (site[0], " of %s" % site[4] if site[4] else "")
