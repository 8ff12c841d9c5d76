"""Runs the analysis in a process of its own, without the environment variables that look like tokens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Event

from dnnfix import config
from dnnfix.errors import AnalysisFailed
from dnnfix.run.secret import looks_secret

KEYS = ("_KEY", "_KEY_ID", "_PAT")
"""Ends of names of variables that hold a secret, beside those that secret files have."""

POLL = 0.2
"""Seconds between two looks at whether an analysis is still wanted."""


@dataclass(frozen=True, slots=True)
class Flags:
    """How repositories are analysed: `budget` in seconds for each program, `whole` for all of them; what came after `since` alone."""

    budget: float | None = None
    whole: float | None = None
    python: str | None = None
    seed: int | None = None
    since: str | None = None
    proposer: str | None = None
    model_config: str | None = None
    """A file with the table of the language model that is asked."""
    allow_host: str | None = None

    def command(self, folder: Path, slug: str, target: Path, *, quiet: bool = True) -> list[str]:
        """The call of `dnnfix bot analyse` that writes the report of a checkout to `target`."""
        words = [sys.executable, "-P", "-m", "dnnfix", "bot", "analyse", str(folder), "--repo", slug]
        words += ["--output-file", str(target), *(["--quiet"] if quiet else [])]
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return words + [
            word
            for name, value in given.items()
            if value is not None
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]

    def overrides(self) -> dict[str, object]:
        """The same as settings for each program. Raises `ConfigError` for a file that makes no sense."""
        given: dict[str, object] = {"budget": self.budget, "python": self.python, "seed": self.seed}
        if self.proposer is None or self.model_config is None:
            return given
        allowed = [self.allow_host] if self.allow_host else None
        table = config.read(Path(self.model_config)).get("model", {})
        return {**given, "proposer": self.proposer, "model": table, "allow_host": allowed}

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that the analysis needs although they look like tokens: the key of the model."""
        model = self.overrides().get("model", {})
        return tuple(str(model[name]) for name in ("key-env", "key_env") if isinstance(model, dict) and name in model)


def secrets(needed: Collection[str] = ()) -> list[str]:
    """The variables of the environment that look like tokens, and are not needed."""
    return [name for name in os.environ if (looks_secret(name) or name.endswith(KEYS)) and name not in needed]


def without_secrets(needed: Collection[str] = ()) -> dict[str, str]:
    """The environment without them."""
    hidden = set(secrets(needed))
    return {name: value for name, value in os.environ.items() if name not in hidden}


@dataclass(frozen=True, slots=True)
class LocalAnalyser:
    """Analyses on this machine; ended where `stopped` is set."""

    flags: Flags
    stopped: Event | None = None
    quiet: bool = True

    def __call__(self, checkout: Path, slug: str, report: Path, since: str) -> None:
        """Write the report of a checkout. Raises `AnalysisFailed`."""
        flags = replace(self.flags, since=since or None)
        if analysed(flags.command(checkout, slug, report, quiet=self.quiet), self.stopped, flags.keys):
            raise AnalysisFailed("could not be analysed")


def _dying_with_us(command: list[str]) -> list[str]:
    """The same command, which is ended where this process is killed; without util-linux it goes on to its end."""
    return ["setpriv", "--pdeathsig", "TERM", "--", *command] if shutil.which("setpriv") else command


def analysed(command: list[str], stopped: Event | None = None, needed: Collection[str] = ()) -> int:
    """Run such a command and return its exit status; where `stopped` is set it is ended, with all that it started.

    `needed` are variables that it gets although they look like tokens.
    """
    with subprocess.Popen(
        _dying_with_us(command), env=without_secrets(needed), start_new_session=stopped is not None
    ) as process:
        while True:
            try:
                return process.wait(POLL if stopped else None)
            except subprocess.TimeoutExpired:
                if stopped is not None and stopped.is_set():
                    os.killpg(process.pid, signal.SIGKILL)
