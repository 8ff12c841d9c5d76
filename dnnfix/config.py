"""The settings of one program, from `[tool.dnnfix]` or `dnnfix.toml` and the command line, in four steps.

`locate` finds the nearest file that configures dnnfix, `read` gives its table, `merge` puts the command line over it,
`freeze` checks every key and makes the `Settings`. Only the first two touch the disk, and neither keeps anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from dnnfix.endpoint import Endpoint, read_endpoint
from dnnfix.errors import ConfigError
from dnnfix.index import today
from dnnfix.records.record import record

if TYPE_CHECKING:
    from dnnfix.run.job import Device, Tier

Format = Literal["text", "diff", "json", "sarif", "github", "html"]
FORMATS: tuple[str, ...] = get_args(Format)
RECOMMENDED, SILENT, STRICT = "recommended", "silent", "strict"
PRESETS = (RECOMMENDED, SILENT, STRICT)
"""Selectors that mean what is on by default, the patterns of silent bugs, and every rule."""
COMMAND_LINE = "command line"
BOT = "bot"
"""The table of settings for the bot, which reads it itself (`dnnfix.bot.settings`)."""
DeviceName = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[str, ...] = get_args(DeviceName)
SandboxName = Literal["auto", "bubblewrap", "limits", "none"]
SANDBOXES: tuple[str, ...] = get_args(SandboxName)

_SHOWN_ONLY = frozenset(
    {
        "output_format",
        "unsafe",
        "jobs",
        "cache_dir",
        "exclude",
        "budget",
        "seed",
        "python",
        "baseline_python",
        "sandbox",
        "device",
        "trust",
        "test_command",
        "arguments",
        "model",
        "proposer",
        "offline",
        "dry_run",
        "allow_host",
        "exchanges_dir",
    }
)
"""Settings that change nothing in what the static analysis of a file finds."""


@record
class Settings:
    """The settings of the pipeline for one program.

    Codes in `select`, `ignore`, `extend_select`, `fixable` and `unfixable` are whole codes, prefixes of codes (`DNF3`),
    rule names, or `ALL`; the first three may also name presets (`PRESETS`). Patterns are relative to `root`, the folder of the configuration or the working folder.
    """

    select: tuple[str, ...] = ()
    """What to look for; empty means every template that is on by default."""
    extend_select: tuple[str, ...] = ()
    """What to look for besides, such as rules that are off by default."""
    ignore: tuple[str, ...] = ()
    """What not to look for."""
    fixable: tuple[str, ...] = ("ALL",)
    """What patches are proposed for."""
    unfixable: tuple[str, ...] = ()
    """What no patches are proposed for; it is still reported."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pairs of a pattern of paths and the codes that are not reported there."""
    exclude: tuple[str, ...] = ()
    """Patterns of paths that are passed over in folders."""
    root: Path = Path()
    """The folder that patterns and relative paths are taken from: that of the configuration, or the working folder."""
    budget: float = 60.0
    """Seconds of wall time for one file, runs included; twice that again for a second try with less made data."""
    seed: int = 0
    """The first random seed; the same seed gives the same report."""
    jobs: int | None = None
    """How many files or trials to work on side by side; by default one for each core."""
    python: str = sys.executable
    """The interpreter that runs the user's programs."""
    baseline_python: str | None = None
    """An interpreter of the era that programs were written for; versioning patches are compared with what they do there."""
    sandbox: str = "auto"
    """`auto` (the best tier that works), `bubblewrap`, `limits`, or `none`, which also needs `trust`."""
    device: str = "auto"
    """`cpu`, `cuda` (an NVIDIA GPU), or `auto`: the GPU for programs that cannot run elsewhere, where there is one."""
    trust: bool = False
    """Whether programs may run without a sandbox, with the user's rights."""
    arguments: tuple[str, ...] = ()
    """What the program is called with, one text per word."""
    test_command: str | None = None
    """A command that no patch may break."""
    templates: tuple[Path, ...] = ()
    """Folders with fix templates of the user's own."""
    rules: tuple[Path, ...] = ()
    """Files of rules that need no code, below `root`."""
    baseline: Path | None = None
    """A file of findings that are known, from `--write-baseline`; they are passed over."""
    cache_dir: Path | None = None
    """The folder for caches and certificates; by default `dnnfix` in the user's cache folder."""
    unsafe: bool = False
    """Whether `fix` also applies accepted patches that change what is trained."""
    output_format: str = "text"
    """How results are written; the choices are those of `--output-format`."""
    model: Endpoint = Endpoint()
    """The language model that `--proposer model` asks: a table, see below."""
    proposer: str = ""
    """`model`: a language model is asked for edits where nothing else repairs a program."""
    offline: bool = False
    """Whether a model's answers come from what is kept of earlier ones alone."""
    dry_run: bool = False
    """Whether it is only shown what a model would be asked."""
    allow_host: tuple[str, ...] = ()
    """Hosts that parts of programs may be sent to."""
    exchanges_dir: Path | None = None
    """The folder for what a model was asked and what it cost; by default one in the folder for caches, that of the user where only a file of settings names another."""

    @property
    def own_rules(self) -> tuple[Path, ...]:
        """Where rules of the user's own are: folders of templates, and files of rules."""
        return (*self.templates, *self.rules)

    @property
    def tier(self) -> Tier | None:
        """The sandbox tier that was asked for; `None` for the best one that works."""
        from dnnfix.run.job import Tier

        return None if self.sandbox == "auto" else Tier(self.sandbox)

    @property
    def asked_device(self) -> Device:
        """What programs are to be run on."""
        from dnnfix.run.job import Device

        return Device(self.device)

    @property
    def workers(self) -> int:
        """How many processes may work side by side: `jobs`, or every core this process may use."""
        if self.jobs is not None:
            return self.jobs
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    @property
    def cache(self) -> Path:
        """The folder for caches: `cache_dir`, or `dnnfix` in the user's cache folder (it need not exist)."""
        if self.cache_dir is not None:
            return self.cache_dir
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dnnfix"

    @property
    def exchanges(self) -> Path:
        """The folder for what a model was asked and answered, and what it cost (it need not exist)."""
        return self.exchanges_dir if self.exchanges_dir is not None else self.cache / "model"

    @property
    def certificates(self) -> Path:
        """The folder for certificates (it need not exist)."""
        return self.cache / "certificates"

    def enabled(self, code: str, name: str, default: bool = True, silent: bool = False) -> bool:
        """Whether the template of that code and name takes part; the most specific of select and ignore wins.

        `default` and `silent` say whether it is of the presets `recommended` and `silent`; each is of `strict`.
        """
        presets = {STRICT} | ({RECOMMENDED} if default else set()) | ({SILENT} if silent else set())
        selected = (*(self.select or (RECOMMENDED,)), *self.extend_select)
        chosen = _specificity(selected, code, name, presets)
        return chosen > 0 and chosen > _specificity(self.ignore, code, name, presets)

    def may_fix(self, code: str, name: str) -> bool:
        """Whether patches of that template may be proposed and tried at all."""
        return _specificity(self.fixable, code, name) > _specificity(self.unfixable, code, name)

    def fingerprint(self) -> str:
        """A string that is equal for settings under which the static analysis of a file returns the same report."""
        return repr([(f.name, getattr(self, f.name)) for f in fields(self) if f.name not in _SHOWN_ONLY])


def matches(selector: str, code: str, name: str) -> bool:
    """Whether one selector (a code, a prefix of codes, a rule name, `ALL`) means the template."""
    return _specificity((selector,), code, name) > 0


def _specificity(selectors: Iterable[str], code: str, name: str, presets: Collection[str] = ()) -> int:
    best = 0
    for selector in map(today, selectors):
        if selector == "ALL" or selector in presets:
            best = max(best, 1)
        elif selector == name:
            best = max(best, 100)
        elif code.startswith(selector):
            best = max(best, 100 if selector == code else 1 + len(selector))
    return best


# --- The four steps -------------------------------------------------------------------------------------------------


def locate(folder: Path) -> Path | None:
    """The configuration nearest to the folder, upwards: `dnnfix.toml`, or a `pyproject.toml` with `[tool.dnnfix]`."""
    folder = folder.absolute()
    return next(filter(None, map(configuration_in, (folder, *folder.parents))), None)


def configuration_in(folder: Path) -> Path | None:
    """The configuration in the folder itself, if there is one."""
    own = folder / "dnnfix.toml"
    if own.is_file():
        return own
    shared = folder / "pyproject.toml"
    if shared.is_file():
        tool = _toml(shared).get("tool", {})
        if isinstance(tool, dict) and "dnnfix" in tool:
            return shared
    return None


def read(path: Path) -> dict[str, Any]:
    """The table of settings in that file, keys as written.

    Raises:
        ConfigError: the file cannot be read or is not TOML, or its entry is not a table.
    """
    table = _toml(path)
    if path.name == "pyproject.toml":
        tool = table.get("tool", {})
        table = tool.get("dnnfix", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.dnnfix] has to be a table. Received: {table!r}")
    return {key: value for key, value in table.items() if key != BOT}


def merge(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the command line's settings over it; an override of `None` is ignored."""
    merged = {str(key).replace("_", "-"): value for key, value in table.items()}
    merged.update({key.replace("_", "-"): value for key, value in overrides.items() if value is not None})
    return merged


def freeze(table: Mapping[str, Any], root: Path, origin: str = COMMAND_LINE, given: Collection[str] = ()) -> Settings:
    """The settings that a merged table stands for; relative paths are taken from `root`.

    `origin` is the file that messages name, but for the keys in `given`, which come from the command line.

    Raises:
        ConfigError: a key is unknown (the nearest known one is suggested) or a value has the wrong type or range.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        named = COMMAND_LINE if key in given else origin
        read = _KEYS.get(key) or _ASKED.get(key)
        if read is None:
            raise ConfigError(f"{named}: unknown setting `{key}`.{_suggestion(key, _KEYS)}")
        try:
            values[_field(key)] = read(value, root)
        except (TypeError, ValueError) as error:
            received = "" if key == "model" else f". Received: {value!r}"  # where somebody may have put a key
            raise ConfigError(f"{named}: `{key}` {error}{received}") from None
    settings = replace(Settings(root=root), **values)
    if settings.sandbox == "none" and not settings.trust:
        raise ConfigError(
            f"{COMMAND_LINE}: the sandbox `none` runs programs with your rights and needs --trust. Received: trust=False"
        )
    return settings


def load(folder: Path, overrides: Mapping[str, Any], *, file: Path | None = None, isolated: bool = False) -> Settings:
    """The settings for programs in `folder`: all four steps. `file` names the configuration, `isolated` means none."""
    found = None if isolated else file or locate(folder)
    if found is None:
        return freeze(merge({}, overrides), Path.cwd())
    table = read(found)
    _refuse_lower_guard(table, found)
    here = {key: _from_cwd(key, value) for key, value in overrides.items()}
    made = freeze(merge(table, here), found.absolute().parent, str(found), merge({}, here))
    if overrides.get("cache_dir") is None:  # a repository does not choose where calls of a model are counted
        made = replace(made, exchanges_dir=Settings().exchanges)
    return made


def keys() -> dict[str, str]:
    """The keys of a settings file, each with the field of `Settings` that it sets."""
    return {key: _field(key) for key in _KEYS}


def _field(key: str) -> str:
    return _FIELDS.get(key, key.replace("-", "_"))


def _refuse_lower_guard(table: Mapping[str, Any], found: Path) -> None:
    """A repository must not be able to switch off the sandbox that its own programs run in."""
    if "trust" in table or table.get("sandbox") in ("limits", "none"):
        raise ConfigError(f"{found}: `trust` and a lower `sandbox` count on the command line only. Remove them here.")
    for key in _ASKED:
        if key in {str(name).replace("_", "-") for name in table}:
            raise ConfigError(f"{found}: `{key}` counts on the command line only. Remove it here.")


# --- What each key takes --------------------------------------------------------------------------------------------


def _toml(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        if path.name == "pyproject.toml" and b"dnnfix" not in raw:
            return {}
        import tomllib

        return tomllib.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}). Mend its permissions or pass --isolated."
        ) from None
    except ValueError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}. Mend it or pass --isolated.") from None


def _suggestion(word: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean `{near[0]}`?" if near else f" Known are: {', '.join(sorted(known))}."


def _from_cwd(key: str, value: Any) -> Any:
    """Paths given on the command line are relative to the working folder, not to the configuration's."""
    if value is None or key.replace("-", "_") not in {"baseline", "cache_dir", "templates"}:
        return value
    return [str(Path(v).absolute()) for v in value] if isinstance(value, (list, tuple)) else str(Path(value).absolute())


def _text(value: Any, root: Path) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError("has to be a text that is not empty")
    return value


def _flag(value: Any, root: Path) -> bool:
    if not isinstance(value, bool):
        raise TypeError("has to be true or false")
    return value


def _texts(value: Any, root: Path) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) and v.strip() for v in value):
        raise TypeError("has to be a list of texts")
    return tuple(v.strip() for v in value)


def _codes(value: Any, root: Path) -> tuple[str, ...]:
    codes = _texts(value, root)
    for code in codes:
        is_code = code == "ALL" or (code.startswith("DNF") and (code[3:].isdigit() or not code[3:]))
        is_name = code == code.lower() and code.replace("-", "").isalnum()
        third_party = code.isalnum() and code == code.upper()
        if not (is_code or is_name or third_party) or (code.startswith("DNF") and not is_code):
            raise ValueError(f"names `{code}`, which is no code (DNF302), prefix (DNF3), rule name or ALL")
    return codes


def _path(value: Any, root: Path) -> Path:
    return root / Path(_text(value, root)).expanduser()


def _words(value: Any, root: Path) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return tuple(value)
    if not isinstance(value, str):
        raise TypeError("has to be a text as on a command line, or a list of words")
    import shlex

    return tuple(shlex.split(value))


def _paths(value: Any, root: Path) -> tuple[Path, ...]:
    return tuple(_path(v, root) for v in _texts(value, root))


def _rule_files(value: Any, root: Path) -> tuple[Path, ...]:
    """The files that patterns such as `rules/*.toml` mean; each lies below `root`, and each pattern means at least one."""
    found: dict[Path, None] = {}
    for pattern in _texts(value, root):
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise ValueError(
                f"names `{pattern}`, which leads out of {root}; folders elsewhere are named in `templates`"
            )
        files = sorted(file for file in root.glob(pattern) if file.suffix == ".toml" and file.is_file())
        if any(not file.resolve().is_relative_to(root.resolve()) for file in files):
            raise ValueError(f"names `{pattern}`, and a link there leads out of {root}")
        if not files:
            raise ValueError(f"names `{pattern}`, and no .toml file in {root} fits that")
        found.update(dict.fromkeys(files))
    return tuple(found)


def _python(value: Any, root: Path) -> str:
    text = _text(value, root)
    given = Path(text).expanduser()
    return str(root / given) if len(given.parts) > 1 and (root / given).exists() else str(given)


def _budget(value: Any, root: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 86_400:
        raise ValueError("has to be a number of seconds, above 0 and at most 86400")
    return float(value)


def _count(least: int) -> Callable[[Any, Path], int]:
    def read_count(value: Any, root: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**32:
            raise ValueError(f"has to be a whole number of at least {least}")
        return value

    return read_count


def _one_of(choices: tuple[str, ...]) -> Callable[[Any, Path], str]:
    def read_choice(value: Any, root: Path) -> str:
        if value not in choices:
            raise ValueError(f"has to be one of {', '.join(choices)}")
        return str(value)

    return read_choice


def _ignores(value: Any, root: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise TypeError('has to be a table such as {"tests/*.py" = ["DNF3"]}')
    return tuple((str(pattern), _codes(codes, root)) for pattern, codes in value.items())


def _endpoint(value: Any, root: Path) -> Endpoint:
    return read_endpoint(value)


_ASKED: dict[str, Callable[[Any, Path], Any]] = {
    "proposer": _one_of(("model",)),
    "offline": _flag,
    "dry-run": _flag,
    "allow-host": _texts,
}
"""What no file sets: whether programs are sent anywhere is for the one to say who calls."""

_KEYS: dict[str, Callable[[Any, Path], Any]] = {
    "select": _codes,
    "extend-select": _codes,
    "ignore": _codes,
    "fixable": _codes,
    "unfixable": _codes,
    "per-file-ignores": _ignores,
    "exclude": _texts,
    "budget": _budget,
    "seed": _count(0),
    "jobs": _count(1),
    "python": _python,
    "baseline-python": _python,
    "sandbox": _one_of(SANDBOXES),
    "device": _one_of(DEVICES),
    "trust": _flag,
    "arguments": _words,
    "test-command": _text,
    "templates": _paths,
    "rules": _rule_files,
    "baseline": _path,
    "cache-dir": _path,
    "unsafe-fixes": _flag,
    "output-format": _one_of(FORMATS),
    "model": _endpoint,
}
_FIELDS = {"unsafe-fixes": "unsafe"}
