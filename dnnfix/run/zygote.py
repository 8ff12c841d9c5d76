"""The parent's side of one warm process: starting it, asking it for trials, ending it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dnnfix.errors import EnvironmentProblem
from dnnfix.run import gpu, sandbox
from dnnfix.run.interpreter import Interpreter
from dnnfix.run.job import Tier

START_SECONDS = 180.0
"""Time that a process may take to import its framework."""
END_SECONDS = 3.0
"""Time that a process has to end its trials before it is killed."""
INSIDE_LINKS = "/links"
"""Where large files of the program's folder appear inside bubblewrap."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a warm process is for: two jobs of one kind share it."""

    framework: str | None = None
    modules: tuple[str, ...] = ()
    backend: str = "torch"
    gpu: bool = False
    links: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Variables of the environment that its programs set before they import the framework."""
    once: int | None = None
    """A number of its own for a process that serves one job only."""
    disk: int = 2**30


@dataclass
class Zygote:
    """A process inside the sandbox that forks a trial per request. `ready` is its message once it was warm."""

    kind: Kind
    interpreter: Interpreter
    confinement: sandbox.Confinement
    started: float = field(default_factory=time.monotonic)
    used: float = 0.0
    ready: dict[str, object] | None = None
    requests: int = 0

    def __post_init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._inside = self.confinement.tier is Tier.BUBBLEWRAP
        # Inside bubblewrap scratch is in memory: a runner that is killed leaves nothing on the disk.
        self.base = Path("/") if self._inside else Path(tempfile.mkdtemp(prefix="dnnfix-"))
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        environment = self._environment()
        links = dict(zip((f"{INSIDE_LINKS}/{n}" for n in range(len(self.kind.links))), self.kind.links, strict=True))
        words = sandbox.command(
            self.confinement, self.interpreter, ["--serve", str(theirs.fileno())], environment, links, self.kind.gpu,
            self.kind.disk if self.kind.once is not None else sandbox.ZYGOTE_DISK,
        )  # fmt: skip
        try:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                env=environment,
                cwd=self.base,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            self.control.close()
            self._clear()
            raise EnvironmentProblem(f"The process for trials cannot be started: {error}") from error
        finally:
            theirs.close()
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps(self._settings(environment)).encode())

    def link_targets(self) -> dict[str, str]:
        """Where the trial finds each large file."""
        if self.confinement.tier is not Tier.BUBBLEWRAP:
            return {path: path for path in self.kind.links}
        return {path: f"{INSIDE_LINKS}/{number}" for number, path in enumerate(self.kind.links)}

    def hear(self) -> bool:
        """Take the message that has come on the control socket; false where the process is gone."""
        try:
            message = self.control.recv(1 << 16)
        except OSError:
            return False
        if not message:
            return False
        self.ready = json.loads(message)
        return True

    def request(self, descriptors: Sequence[int]) -> bool:
        """Ask for a trial with these descriptors (report channel, trace, output, job, bundle)."""
        try:
            socket.send_fds(self.control, [b"run"], list(descriptors))
        except OSError:
            return False
        self.requests += 1
        self.used = time.monotonic()
        return True

    @property
    def forkable(self) -> bool:
        """Whether further trials may be forked from it: it has one thread and no card, and each trial namespaces of its own."""
        if self.ready is None or self.ready.get("threads") != 1 or self.ready.get("gpu"):
            return False
        return self.confinement.tier is not Tier.BUBBLEWRAP or self.ready.get("nested") is None

    def said(self) -> str:
        """The last of what the process wrote to its standard streams."""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - 2000))
        return self._said.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        """End the process and everything in it."""
        self.control.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._said.close()
        self._clear()

    def _clear(self) -> None:
        if not self._inside:
            shutil.rmtree(self.base, ignore_errors=True)

    def _settings(self, environment: dict[str, str]) -> dict[str, object]:
        bubblewrap = self.confinement.tier is Tier.BUBBLEWRAP
        return {
            "tier": self.confinement.tier.value,
            "framework": self.kind.framework if self.kind.once is None else None,
            "modules": list(self.kind.modules) if self.kind.once is None else [],
            "environment": environment,
            "scratch": sandbox.SCRATCH if bubblewrap else str(self.base),
            "readable": [*self.interpreter.readable, str(sandbox.PROBE)],
            "private_tmp": not any(
                place.startswith("/tmp/") for place in (*self.interpreter.readable, str(sandbox.PROBE))
            ),
            "user": sandbox.NOBODY if bubblewrap and os.geteuid() == 0 else None,
            "gpu": self.kind.gpu,
            "forks": self.kind.once is None,
        }

    def _environment(self) -> dict[str, str]:
        """The whole environment of trials: nothing of the caller's own is passed on."""
        home = sandbox.SCRATCH if self.confinement.tier is Tier.BUBBLEWRAP else str(self.base)
        known = {
            "PATH": f"{os.path.dirname(self.interpreter.executable)}:/usr/local/bin:/usr/bin:/bin",
            "HOME": home, "TMPDIR": home, "USER": "user", "LOGNAME": "user", "LANG": "C.UTF-8", "TERM": "dumb",
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8:replace",
            "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1",
            "VECLIB_MAXIMUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "TOKENIZERS_PARALLELISM": "false",
            "MPLBACKEND": "Agg", "KERAS_BACKEND": self.kind.backend, "WANDB_MODE": "disabled", "HYDRA_FULL_ERROR": "1",
            "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
            # pyarrow, which pandas and so Keras import, else starts a thread, and nothing is forked from a process with two.
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
        }  # fmt: skip
        known.update(self.kind.settings)
        known["CUDA_VISIBLE_DEVICES"] = gpu.number() if self.kind.gpu else ""
        if self.kind.gpu:
            known |= {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
            known["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # else to ask whether there is a card starts its driver
        if self.interpreter.user_base is not None:
            known["PYTHONUSERBASE"] = self.interpreter.user_base
        return known
