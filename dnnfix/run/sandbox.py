"""Chooses the sandbox tier that works on this machine, and builds the command that starts a process inside it.

docs/sandbox.md says what each tier stops and what it does not.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dnnfix.errors import SandboxError
from dnnfix.run.command import run_command
from dnnfix.run.interpreter import Interpreter, describe
from dnnfix.run.job import Tier

__all__ = ["NOBODY", "PROBE", "RECORDER", "SCRATCH", "Confinement", "choose", "command", "probe_tiers", "run_command"]

PROBE = Path(__file__).resolve().parent / "probe"
"""The folder that is started in the user's interpreter."""
RECORDER = PROBE.with_name("baseline")
"""The folder that is started in an interpreter of an old era, and in the new one beside it."""
NOBODY = 65534
"""The user that trials become where dnnfix itself is run by the superuser."""
SCRATCH = "/scratch"
"""Where trials live inside bubblewrap."""
ZYGOTE_DISK = 64 * 2**20
"""Bytes that the warm process may write in memory before any trial starts (caches of the frameworks)."""

_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/sys/devices/system")
_WHAT_TO_DO = {
    Tier.BUBBLEWRAP: "install bubblewrap 0.7 or later and allow user namespaces (Ubuntu 24.04: an AppArmor profile)",
    Tier.LIMITS: "use a Linux kernel with seccomp",
}


@dataclass(frozen=True, slots=True)
class Confinement:
    """How a process is started: its tier, and which holes it has on this machine (none for bubblewrap)."""

    tier: Tier
    gaps: tuple[str, ...] = ()


def probe_tiers(interpreter: Path) -> dict[Tier, str | None]:
    """For each tier `None` where a trial run shows that it holds with this interpreter, else the reason why not."""
    return {tier: why for tier, (why, _gaps) in _attempts(interpreter).items()}


def choose(interpreter: Path, tier: Tier | None, trust: bool) -> Confinement:
    """The tier to use: the asked one, or the best that works. Raises `SandboxError` where it does not work.

    *None* is never chosen without `trust`, and never where a better one works unless it is asked for.
    """
    if tier is Tier.NONE:
        if not trust:
            raise SandboxError("Running without a sandbox needs --trust. Received: tier=none")
        return Confinement(Tier.NONE, ("nothing keeps the program from this machine",))
    attempts = _attempts(interpreter)
    for candidate in [tier] if tier is not None else [Tier.BUBBLEWRAP, Tier.LIMITS]:
        why, gaps = attempts[candidate]
        if why is None:
            return Confinement(candidate, gaps)
        if tier is not None:
            raise SandboxError(
                f"The sandbox tier {tier} does not work here: {why}; {_WHAT_TO_DO[tier]}. Received: tier={tier}"
            )
    if trust:
        return Confinement(Tier.NONE, ("nothing keeps the program from this machine",))
    reasons = "; ".join(f"{name}: {why}" for name, (why, _gaps) in attempts.items() if why)
    raise SandboxError(f"No sandbox works here ({reasons}). Use --trust to run the program without one.")


def command(
    confinement: Confinement, interpreter: Interpreter, arguments: Sequence[str], environment: Mapping[str, str],
    links: Mapping[str, str], gpu: bool, disk: int,
) -> list[str]:  # fmt: skip
    """The command that starts the probe with `arguments` inside the tier.

    `links` are further files to show, by where they appear inside; `disk` is the size of the scratch folder in bytes.
    """
    probe = [interpreter.executable, str(PROBE), *arguments]
    if confinement.tier is not Tier.BUBBLEWRAP:
        return probe
    bwrap = shutil.which("bwrap") or "bwrap"
    words = [bwrap, *_namespaces(), *_system(gpu)]
    for name in ("/tmp", SCRATCH):
        words += ["--perms", "1777", "--size", str(disk), "--tmpfs", name]
    shown = _shortest([*interpreter.readable, str(PROBE)])
    for place in _parents([*shown, *links]):
        # Made by hand: those that bubblewrap makes on its way may be closed to the user that trials become.
        words += ["--perms", "0755", "--dir", place]
    for place in shown:
        words += ["--ro-bind", place, place]
    for inside, outside in links.items():
        words += ["--ro-bind", outside, inside]
    words += ["--remount-ro", "/", "--chdir", SCRATCH]
    for key, value in environment.items():
        words += ["--setenv", key, value]
    return [*words, "--", *probe]


def covered(place: str, by: Iterable[str]) -> bool:
    """Whether a path is one of, or lies below one of, the others."""
    return any(place == other or place.startswith(other.rstrip("/") + "/") for other in by)


def _namespaces() -> list[str]:
    words = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # The superuser's trials become nobody. A user namespace would not do: files of the superuser in /proc/sys can
        # be written by him whatever his name inside is.
        return [*words, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [*words, "--unshare-user", "--uid", "1000", "--gid", "1000"]


def _system(gpu: bool) -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for place in _SYSTEM_LINKS:
        if os.path.islink(place):
            words += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            words += ["--ro-bind", place, place]
    for place in ("/sys", "/sys/class", "/sys/class/net"):
        # Empty: what looks for the properties of network interfaces, as gloo does, fails where it may not look at all.
        words += ["--perms", "0755", "--dir", place]
    for place in _SYSTEM_FILES:
        words += ["--ro-bind-try", place, place]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for device in sorted(glob.glob("/dev/nvidia*")) if gpu else ():
        words += ["--dev-bind-try", device, device]
    return [*words, "--perms", "1777", "--size", str(ZYGOTE_DISK), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]


def _shortest(places: Iterable[str]) -> list[str]:
    """The places without those that another one, or the system's folders, already show."""
    kept: list[str] = []
    for place in sorted(set(places)):
        if not covered(place, [*kept, "/usr"]):
            kept.append(place)
    return kept


def _parents(places: Iterable[str]) -> list[str]:
    """The folders above the places, the outer ones first."""
    above = {str(parent) for place in places for parent in Path(place).parents}
    return sorted(above - {"/", "/tmp", SCRATCH})


@lru_cache(maxsize=16)
def _attempts(interpreter: Path) -> dict[Tier, tuple[str | None, tuple[str, ...]]]:
    """For each tier why it does not work, and what it leaves open."""
    known = describe(interpreter)
    found: dict[Tier, tuple[str | None, tuple[str, ...]]] = {}
    for tier in (Tier.BUBBLEWRAP, Tier.LIMITS):
        if tier is Tier.BUBBLEWRAP and shutil.which("bwrap") is None:
            found[tier] = ("bubblewrap is not installed (no bwrap on the path)", ())
            continue
        words = command(
            Confinement(tier), known, ["--try", tier.value], {"PYTHONDONTWRITEBYTECODE": "1"}, {}, False, 2**20
        )
        found[tier] = _try(words)
    return found


def _try(words: list[str]) -> tuple[str | None, tuple[str, ...]]:
    try:
        done = subprocess.run(
            words,
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
            env={"PATH": os.defpath},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error), ()
    try:
        held = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return said[0], ()
    if held["network"] is not None:
        return str(held["network"]), ()
    return None, tuple(str(held[name]) for name in ("files",) if held[name] is not None)
