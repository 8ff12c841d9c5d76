"""A worker process that carries out assignments: JSON lines in, JSON lines out. The first line holds the settings.

It ends with its input, so that nothing is left running where the process that started it is gone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dnnfix.bench.assessment import Assessed, Assignment, assess
from dnnfix.bench.oracle import runner_for
from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint

SENT = ("python", "sandbox", "device", "trust", "seed", "proposer", "offline", "allow_host")
"""The settings that a worker is told."""


def settings_to_json(settings: Settings) -> dict[str, Any]:
    """What a worker has to know of the settings."""
    given = asdict(settings)
    folder = str(settings.exchanges.absolute())
    return {**{name: given[name] for name in SENT}, "model": given["model"], "exchanges_dir": folder}


def settings_from_json(data: Mapping[str, Any]) -> Settings:
    """The settings that `settings_to_json` told of."""
    return Settings(**{**data, "model": Endpoint(**data["model"]), "exchanges_dir": Path(data["exchanges_dir"])})


class Assessor:
    """Carries out assignments, one after the other, with warm processes that serve them all.

    Raises `SandboxError` and `InterpreterError` where nothing can be run here.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings_from_json(settings)
        self._runner = runner_for(self._settings)

    def __call__(self, assignment: Mapping[str, Any]) -> dict[str, Any]:
        """The result of an assignment, both as plain data."""
        found: Assessed = assess(Assignment.from_json(assignment), self._settings, self._runner)
        return found.to_json()

    def close(self) -> None:
        """End the warm processes."""
        self._runner.close()


def main() -> None:
    """Serve until the input ends."""
    lines = iter(sys.stdin.readline, "")
    assessor = Assessor(json.loads(next(lines)))
    try:
        for line in lines:
            sys.stdout.write(json.dumps(assessor(json.loads(line))) + "\n")
            sys.stdout.flush()
    finally:
        assessor.close()


if __name__ == "__main__":
    main()
