"""Prepares a process for a GPU: limits its memory there, and asks torch for deterministic operations."""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import Any


def bound(memory: int) -> None:
    """Limit torch to so many bytes of GPU memory, and have it prefer deterministic operations.

    Nothing is started on the card for it: a program that stays on the CPU does not wait for that.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return
    warnings.filterwarnings("ignore", message=".*deterministic.*")
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)

    def share() -> None:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory / total), 0)

    torch.cuda._lazy_call(share)


def started() -> bool:
    """Whether this process has started a GPU driver; its forks could not use the GPU."""
    try:
        with open("/proc/self/maps") as stream:
            if "libcuda.so" not in stream.read():
                return False
        answer: int = ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
        return answer == 0
    except OSError:
        return False
