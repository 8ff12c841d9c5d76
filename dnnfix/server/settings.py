"""Settings of programs in an editor: what its user set there, over the configuration nearest to the program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dnnfix import config
from dnnfix.config import Settings
from dnnfix.errors import ConfigError
from dnnfix.selectors import verify

CONFIGURATIONS = ("dnnfix.toml", "pyproject.toml")
"""The files that settings are read from."""

CHECK = "check"
WHEN = ("on-type", "on-save", "never")
OF_CLIENTS = frozenset({"server", "trace", CHECK})
"""What editors keep under the same heading and the engine has no use for."""
GUARDED = frozenset({"trust", "sandbox", "templates"})
"""What a folder that is merely opened must not decide, and an editor may take from the folder."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class EditorSettings:
    """The settings of each program. `given` are those of the command line, which alone may lower the guard."""

    def __init__(
        self,
        given: Mapping[str, Any],
        file: Path | None = None,
        *,
        isolated: bool = False,
        local_rules: bool = False,
    ) -> None:
        self._given, self._file, self._isolated, self._local_rules = given, file, isolated, local_rules
        self._of_editor: Mapping[str, Any] = {}
        self._known: dict[tuple[Path, Path], Settings] = {}
        self.when = WHEN[0]
        """When programs are checked: one of `WHEN`."""

    def take(self, options: object) -> None:
        """The settings that the editor sent take the place of those before.

        Raises:
            ConfigError: they make no sense, and those before stay.
        """
        told = _table(options)
        when = told.get(CHECK) or WHEN[0]
        if when not in WHEN:
            raise ConfigError(f"editor: `check` has to be one of {', '.join(WHEN)}. Received: {when!r}")
        if guarded := GUARDED & told.keys():
            names = ", ".join(f"`{name}`" for name in sorted(guarded))
            raise ConfigError(f"editor: {names} count on the command line of `dnnfix server` only. Remove them here.")
        of_editor = {key.replace("-", "_"): value for key, value in told.items() if key not in OF_CLIENTS}
        verify(config.load(Path.cwd(), {**self._given, **of_editor}, isolated=True))
        self.when, self._of_editor = when, of_editor
        self.forget()

    def of(self, path: str, root: Path) -> Settings:
        """The settings of the program at a path in the workspace folder `root`. Raises `ConfigError`."""
        where = Path(path).parent, root
        if where not in self._known:
            self._known[where] = self._read(*where)
        return self._known[where]

    def forget(self) -> None:
        """Read configurations anew: one of them changed."""
        self._known.clear()

    def _read(self, folder: Path, root: Path) -> Settings:
        found = None if self._isolated else self._file or config.locate(folder)
        overrides = {**self._given, **self._of_editor}
        settings = config.load(folder, overrides, file=found, isolated=found is None)
        if found is None:
            settings = replace(settings, root=root)
        if not self._local_rules:
            # To open a folder must run nothing of it, and a rule is a program.
            settings = replace(settings, templates=())
        verify(settings)
        return settings


def _table(options: object) -> dict[str, Any]:
    """The settings in what an editor sends: under `settings` or `dnnfix` or bare; `null` is what the user left as it is."""
    for heading in ("settings", "dnnfix"):
        if isinstance(options, Mapping) and heading in options:
            options = options[heading]
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ConfigError(f"editor: settings have to be an object. Received: {options!r}")
    told = ((_HUMP.sub("-", str(key)).replace("_", "-").lower(), value) for key, value in options.items())
    return {key: value for key, value in told if value is not None}
