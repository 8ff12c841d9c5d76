"""What a call is allowed: settings come from files and from whoever started the server, never from an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dnnfix.config import Settings
from dnnfix.programs import SettingsByFolder


@dataclass
class _WithoutRules(SettingsByFolder):
    """Settings of programs, without rules that are programs of the folder's own: to look at a file must not run them."""

    def of(self, folder: Path) -> Settings:
        return replace(super().of(folder), templates=())


@dataclass(frozen=True)
class Guard:
    """The flags of `dnnfix mcp`. `given` are settings over those of files, which alone may lower the sandbox."""

    given: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    isolated: bool = False
    local_rules: bool = False

    def settings(self, budget: float | None = None) -> SettingsByFolder:
        """The settings of programs by their folder, with the seconds for one file if a call says how many."""
        kind = SettingsByFolder if self.local_rules else _WithoutRules
        given = self.given if budget is None else {**self.given, "budget": budget}
        return kind(given, self.file, self.isolated)
