"""What a call is allowed: settings come from files and from whoever started the server, never from an agent, which may write files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dnnfix import config
from dnnfix.config import Settings
from dnnfix.programs import SettingsByFolder

OF_WHO_STARTED_IT = ("python", "baseline_python", "test_command", "cache_dir", "baseline")
"""Settings that name what is run with the user's rights, and where files are written: those of a folder, which an agent may write, are passed over."""


@dataclass
class _Harmless(SettingsByFolder):
    """Settings of programs, without what would let a file of the folder run something outside of the sandbox, or write elsewhere."""

    def of(self, folder: Path) -> Settings:
        found = replace(super().of(folder), templates=())
        if self.file is not None:  # the user's own, whatever folder is looked at
            return found
        own = config.load(folder, self.overrides, isolated=True)
        return replace(found, **{name: getattr(own, name) for name in OF_WHO_STARTED_IT})


@dataclass(frozen=True)
class Guard:
    """The flags of `dnnfix mcp`. `given` are settings over those of files, which alone may lower the sandbox."""

    given: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    isolated: bool = False
    local_rules: bool = False

    def settings(self, budget: float | None = None) -> SettingsByFolder:
        """The settings of programs by their folder, with the seconds for one file if a call says how many."""
        kind = SettingsByFolder if self.local_rules else _Harmless
        given = self.given if budget is None else {**self.given, "budget": budget}
        return kind(given, self.file, self.isolated)
