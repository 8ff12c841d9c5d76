"""The machine's GPU: whether there is one, which programs run on it, and a lock that admits one trial at a time."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from pathlib import Path

from dnnfix.errors import EnvironmentProblem
from dnnfix.run.job import Device

_CONTROL = Path("/dev/nvidiactl")
_DRIVER = Path("/proc/driver/nvidia/gpus")
_NAMES_ONE = re.compile(rb"""\.cuda\(|["']cuda(?::\d+)?["']|["']/?(?:device:)?gpu:\d+["']|device_put""", re.IGNORECASE)
_LOOKS_FOR_ONE = re.compile(rb"is_available\(|device_count\(|list_physical_devices\(|is_gpu_available\(")
_TAKES_ANY = re.compile(rb"^\s*(?:import|from)\s+(?:tensorflow|jax)\b", re.MULTILINE)
_MODEL = re.compile(r"^Model:\s*(.+?)\s*$", re.MULTILINE)


def present() -> bool:
    """Whether there is an NVIDIA GPU that this user's environment does not hide."""
    return _CONTROL.exists() and number() not in ("", "-1")


def number() -> str:
    """The one card that programs are shown: the first that `CUDA_VISIBLE_DEVICES` names, else the first there is."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()


def required(device: Device) -> None:
    """Raises `EnvironmentProblem` where a GPU was asked for, and there is none."""
    if device is Device.CUDA and not present():
        hidden = " that CUDA_VISIBLE_DEVICES shows" if _CONTROL.exists() else f" (no {_CONTROL})"
        raise EnvironmentProblem(
            f"There is no NVIDIA GPU here{hidden}. Leave --device out: programs that ask for a GPU are run on the CPU then."
        )


def runs_on_it(program: bytes, device: Device) -> bool:
    """Whether a program is run on the GPU.

    By itself only one that cannot run elsewhere, as it names a GPU and does not look whether there is one: on the CPU trials
    run side by side, and none has to start a card first.
    """
    if device is Device.CPU or not present():
        return False
    names, looks = _NAMES_ONE.search(program) is not None, _LOOKS_FOR_ONE.search(program) is not None
    if device is Device.CUDA:
        return names or looks or _TAKES_ANY.search(program) is not None
    return names and not looks


def device_of(program: bytes, device: Device) -> str:
    """What a program is run on, for the report: `cpu`, or `cuda` with the card's model where the driver names it."""
    if not runs_on_it(program, device):
        return Device.CPU.value
    models = [
        found.group(1)
        for told in sorted(_DRIVER.glob("*/information"))
        if (found := _MODEL.search(told.read_text(errors="replace")))
    ]
    place = int(number()) if number().isdecimal() else 0
    return f"{Device.CUDA.value} ({models[place]})" if place < len(models) else Device.CUDA.value


def remark(program: bytes, device: Device) -> str:
    """A remark for the report on where a program was run; empty where there is none."""
    if runs_on_it(program, device):
        return "on a GPU equal runs differ by rounding: operations without a repeatable form stay as they are"
    looks = _LOOKS_FOR_ONE.search(program) is not None and b"cuda" in program
    if looks and present() and device is Device.AUTO:
        return (
            "the program takes a GPU where there is one; it was run on the CPU, with --device cuda it is run on the GPU"
        )
    return ""


class Turn:
    """A lock on the GPU that one process of this user holds at a time; the kernel releases it when the process ends."""

    def __init__(self) -> None:
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._file is not None

    def take(self) -> bool:
        """Take the lock if nobody holds it; returns whether this process holds it now."""
        if self._file is not None:
            return True
        path = Path(tempfile.gettempdir(), f"dnnfix-gpu-{os.getuid()}-{number()}.lock")
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    def give_up(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
