"""Reads the TOML tables of API changes, and looks the changes up by name.

A file holds arrays of tables, one for each kind of change, and nothing else:

    [[module]]    a module that moved:               old = "keras.layers.core"          new = "keras.layers"
    [[name]]      a function, class or constant:     old = "keras.layers.AtrousConv2D"  new = "keras.layers.Conv2D"
    [[method]]    a method or attribute of a class:  of = ["keras.Model"]  old = "fit_generator"  new = "fit"
    [[argument]]  a keyword argument:  of = ["keras.layers.Dense"]  old = "init"  new = "kernel_initializer"
    [[value]]     a literal argument:  of = [...]  argument = "reduction"  old = "elementwise_mean"  new = "mean"
    [[place]]     arguments that became keyword-only:  of = ["seaborn.lmplot"]  old = "x y data hue"  position = 1
    [[default]]   a default value:  of = [...]  argument = "learning_rate"  old = "1.0"  new = "0.001"
    [[form]]      an expression:  old = "numpy.asscalar($x)"  new = "$x.item()"

Keys of every kind:

    since       the version that deprecated it
    removed     the version that removed it, or made it do nothing; without it the old way still works
    safe        the rename provably keeps the meaning
    exact       it does just what the older version did, by what the package itself says or shows
    note        why no edit is made, where there is no `new`
    package     whose versions these are, if the name does not begin with it (`python` for its own library)
    reference   the address of a release note or page

Keys of some kinds:

    standalone  a module or name that changed in the package `keras` only, and not in `tensorflow.keras`
    telling     a method, keyword or literal so particular that it counts on any object; a keyword `of = ["*"]` or `["*.name"]`
                in any call, or any of that method, of the package or of an object that is not known
    read_only   a method or attribute whose successor cannot be set: a program that assigns it is left alone
    by, into    the argument moved into an object of settings: the parameter that takes it, and its class, whose keyword `new` is
    drop        an argument without `new` is removed (only for the literals in `when`, if given); calls of a function
                without `new` are, where they are statements of their own
    along       keywords with code that the call is given as well, where it has one of `beside`, none of them, and not `False` for `old`
    unset       what reading a setting that is gone gave where it was not given, as code
    values      literals of the argument that are renamed along with it; for `True` and `False`, the code instead

    also        further paths of a name

Keys of `[[place]]`: `old` has the parameters in their former order, `position` how many of them are still positional,
`argument` the parameter that comes first today, if it is another one.

Keys of `[[default]]`:

    since       when the default changed (`tensorflow`: when for `tensorflow.keras`)
    effect      what that does to a program
    silent      why no program gets a finding, for entries that are kept for the record
    write       the code with the old effect today, if the old value no longer has it (names of libraries in braces)
    given       a literal whose meaning changed
    also        former names of the argument
    where       literals of other arguments without which the default has no effect
    beside      functions of which a program must call one for the change to matter
    apart       functions of which a program must call none
    crash       the error by which a run shows that the program is from before

Keys of `[[form]]`: `where` has a condition for a hole, `crash` the error that the run has to have stopped with, `at`
the hole that alone is rewritten, `of` the names that replace `@` in turn; `Form` has the others. Patterns are
described in `dnnfix.detect.versioning.patterns`.

Reading TOML is slow, so what was read is kept in the user's cache folder by content; without one that can be written,
nothing is lost but time.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dnnfix.detect.versioning.history import document
from dnnfix.errors import CatalogueError
from dnnfix.records.record import record

ANY_CALL = "*"
"""What a keyword is of that means the same wherever it is given."""

FORMAT = 14
"""Changes when what is kept in the cache changes its form."""

_SHOWN = ""
"""Where a table has the names that its package shows: no word is empty."""

_TEXT, _TRUTH, _TEXTS = "a string", "true or false", "a list of strings"
_COMMON = {
    "old": _TEXT,
    "new": _TEXT,
    "since": _TEXT,
    "removed": _TEXT,
    "safe": _TRUTH,
    "exact": _TRUTH,
    "reference": _TEXT,
    "note": _TEXT,
    "package": _TEXT,
}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "module": {**_COMMON, "standalone": _TRUTH},
    "name": {**_COMMON, "standalone": _TRUTH, "drop": _TRUTH, "also": _TEXTS},
    "method": {**_COMMON, "of": _TEXTS, "telling": _TRUTH, "read_only": _TRUTH},
    "argument": {
        **_COMMON,
        "of": _TEXTS,
        "telling": _TRUTH,
        "drop": _TRUTH,
        "when": "a list of literals",
        "by": _TEXT,
        "into": _TEXT,
        "unset": _TEXT,
        "along": "a table of strings",
        "beside": _TEXTS,
        "values": "a table of strings",
    },
    "value": {**_COMMON, "of": _TEXTS, "argument": _TEXT, "position": "an integer", "telling": _TRUTH},
    "place": {**_COMMON, "of": _TEXTS, "argument": _TEXT, "position": "an integer", "telling": _TRUTH},
    "default": {
        **_COMMON,
        "of": _TEXTS,
        "argument": _TEXT,
        "position": "an integer",
        "also": _TEXTS,
        "beside": _TEXTS,
        "apart": _TEXTS,
        "where": "a table of strings",
        **dict.fromkeys(("tensorflow", "write", "given", "effect", "silent", "crash"), _TEXT),
    },
    "form": {
        **_COMMON,
        "of": _TEXTS,
        "always": _TRUTH,
        "where": "a table of strings",
        "add": "a table of strings",
        **dict.fromkeys(("at", "crash", "enclose", "message", "title"), _TEXT),
    },
}
_REQUIRED = {
    "module": ("old",),
    "name": ("old",),
    "method": ("of", "old"),
    "argument": ("of", "old"),
    "value": ("of", "argument", "old"),
    "place": ("of", "old"),
    "default": ("of", "argument", "old", "new", "since", "effect"),
    "form": ("old",),
}


@record
class Change:
    """One entry: what changed, when, and what is known of its replacement."""

    kind: str
    old: str
    new: str = ""
    of: tuple[str, ...] = ()
    since: str = ""
    removed: str = ""
    safe: bool = False
    exact: bool = False
    reference: str = ""
    note: str = ""
    package: str = ""
    """Whose versions `since` and `removed` are, where the name does not begin with it."""
    standalone: bool = False
    """Whether only the keras package changed so, and not `tensorflow.keras`."""
    telling: bool = False
    """Whether the word is so particular that it need not be known on what object it is used."""
    read_only: bool = False
    """Whether what takes an attribute's place cannot be set; an assignment to the old one is then left alone."""
    drop: bool = False
    when: tuple[object, ...] = ()
    """The literal values for which an argument may be dropped; any value where empty."""
    by: str = ""
    """The parameter of the same call that takes an object of settings, to which the argument moved."""
    into: str = ""
    """The class of these settings, which takes it as `new`."""
    along: Mapping[str, str] = field(default_factory=dict)
    """Keywords, with their code, that say today what the old one did besides."""
    unset: str = ""
    """The code of what a setting was where it was not given."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Literal values that are renamed along with the argument; any other literal is then refused. Under `True` and
    `False` stands the code that is written for them."""
    argument: str = ""
    position: int | None = None
    also: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    """By another argument of the call, its literals, one of which is given where the default matters."""
    tensorflow: str = ""
    write: str = ""
    given: str = ""
    effect: str = ""
    silent: str = ""
    crash: str = ""

    @property
    def deprecated(self) -> bool:
        """Whether it still works."""
        return not self.removed


@record
class Form:
    """One entry about an expression that is written in another form today; `dnnfix.detect.versioning.patterns` reads it."""

    old: str
    new: str = ""
    of: tuple[str, ...] = ()
    """Names, one after the other of which takes the place of `@` in the pattern."""
    where: Mapping[str, str] = field(default_factory=dict)
    """By hole, or for the whole under `call`, the conditions that have to hold, with `;` between them."""
    add: Mapping[str, str] = field(default_factory=dict)
    """The keywords that the call is to be given beside what it is given, with their code."""
    always: bool = False
    """Whether it is no fault of deprecation, though no version took it away."""
    at: str = ""
    """The hole of which the expression alone is replaced."""
    crash: str = ""
    """What the run has to have stopped with at this place."""
    enclose: str = ""
    """The head of a block that the line is put into."""
    message: str = ""
    title: str = ""
    since: str = ""
    removed: str = ""
    safe: bool = False
    exact: bool = False
    reference: str = ""
    note: str = ""
    package: str = ""


class Table:
    """The changes of one file, by the names under which a program uses them.

    Entries are kept in parts by the word that a program must contain, and a part is unpacked when it is asked for.
    """

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self.words = parts
        """Identifiers, one of which a program must contain for anything here to concern it."""
        self._unpacked: dict[str, dict[str, dict[str, Any]]] = {}

    @property
    def shown(self) -> Collection[str]:
        """The names right below the package, of today and of before, where the table is of its releases (see `history`)."""
        found: Collection[str] = self._part(_SHOWN, _SHOWN).get(_SHOWN, ())
        return found

    def module(self, name: str) -> Change | None:
        """The change of a module with that name."""
        return _change("module", self._part(name, "module").get(name))

    def name(self, name: str) -> Change | None:
        """The change of the function, class or constant with that canonical name."""
        return _change("name", self._part(name, "name").get(name))

    def methods(self, name: str) -> tuple[Change, ...]:
        """The changes of methods of that name, whatever class they are of."""
        return _changes("method", self._part(name, "method").get(name, ()))

    def arguments(self, keyword: str) -> Mapping[str, Any]:
        """By what is called, the entries for a keyword; `argument` makes one of them a `Change`."""
        found: Mapping[str, Any] = self._part(keyword, "argument").get(keyword, {})
        return found

    def argument(self, of: str, keyword: str) -> Change | None:
        """The change of a keyword in calls of `of`."""
        return _change("argument", self.arguments(keyword).get(of))

    def values(self, of: str) -> tuple[Change, ...]:
        """The changes of literals given to calls of `of`."""
        return _changes("value", self._part(of, "value").get(of, ()))

    def places(self, of: str) -> tuple[Change, ...]:
        """How calls of `of` were given arguments that are taken by their names only today."""
        return _changes("place", self._part(of, "place").get(of, ()))

    def defaults(self, of: str) -> tuple[Change, ...]:
        """The changes of defaults of calls of `of`."""
        return _changes("default", self._part(of, "default").get(of, ()))

    def forms(self, word: str) -> tuple[Form, ...]:
        """The forms of expressions that name this last."""
        return tuple([Form(**entry) for entry in self._part(word, "form").get(word, ())])

    def changes(self) -> Iterable[Change]:
        """Every entry but those of forms, for tests and documents; one that is for several calls comes once for each."""
        for word in self.words:
            for kind in _KINDS.keys() - {"form"}:
                for found in self._part(word, kind).values():
                    if kind in ("module", "name"):
                        yield Change(kind=kind, **found)
                    else:
                        yield from _changes(kind, found.values() if kind == "argument" else found)

    def has(self, word: str, kind: str) -> bool:
        """Whether there is a change of that kind under any name that ends in the word."""
        return bool(self._part(word, kind))

    def _part(self, name: str, kind: str) -> dict[str, Any]:
        word = name.rpartition(".")[2]
        part = self._unpacked.get(word)
        if part is None:
            packed = self.words.get(word)
            part = self._unpacked[word] = marshal.loads(packed) if packed is not None else {}
        return part.get(kind, {})


def _change(kind: str, entry: Mapping[str, Any] | None) -> Change | None:
    return Change(kind=kind, **entry) if entry is not None else None


def _changes(kind: str, entries: Collection[Mapping[str, Any]]) -> tuple[Change, ...]:
    return tuple([Change(kind=kind, **entry) for entry in entries]) if entries else ()


@cache
def table(path: Path) -> Table:
    """The table of one file, TOML or JSON (see `history`). Raises `CatalogueError`, which names file and entry, where it is not sound."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CatalogueError(f"{path}: the table of API changes cannot be read: {error.strerror}.") from None
    folder = _cache_folder()
    kept = (
        folder / f"api-{blake2b(content, digest_size=12).hexdigest()}-{FORMAT}-{sys.hexversion:x}" if folder else None
    )
    if kept is not None:
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            parts = marshal.loads(kept.read_bytes())
            if isinstance(parts, dict):
                return Table(parts)
    text = content.decode("utf-8", "replace")
    if path.suffix == ".json":
        data = _loaded(text, path)
        parts = {**packed(document(data), str(path)), _SHOWN: marshal.dumps({_SHOWN: {_SHOWN: data["shown"]}})}
    else:
        parts = compiled(text, str(path))
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):
            _write(kept, marshal.dumps(parts))
    return Table(parts)


def _loaded(text: str, path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise CatalogueError(f"{path}: not JSON: {error}.") from None
    return found


def compiled(text: str, place: str) -> dict[str, bytes]:
    """Check the text of a TOML file and pack its entries by word. Raises `CatalogueError` with the place and the entry."""
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{place}: not TOML: {error}.") from None
    return packed(found, place)


def packed(by_kind: Mapping[str, Any], place: str) -> dict[str, bytes]:
    """Check entries by kind and pack them by word. Raises `CatalogueError` with the place and the entry."""
    raw: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
    for kind, entries in by_kind.items():
        if kind == "template":
            continue
        if kind not in _KINDS:
            known = ", ".join(f"[[{name}]]" for name in _KINDS)
            raise CatalogueError(f"{place}: {kind!r} is not a kind of change. Use {known}.")
        if not isinstance(entries, list):
            raise CatalogueError(f"{place}: write [[{kind}]] with two brackets, once for each change.")
        for number, entry in enumerate(entries, 1):
            where = f"{place}: [[{kind}]] number {number}"
            _check(kind, entry, where)
            _add(raw, kind, _frozen(entry), f"{where} ({entry['old']})")
    parts: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, group in raw.items():
        for key, found in group.items():
            parts.setdefault(key.rpartition(".")[2], {}).setdefault(kind, {})[key] = found
    return {word: marshal.dumps(part) for word, part in parts.items()}


def heading(path: Path) -> tuple[str, str]:
    """Code and name that a file of the user's own states under `[template]`. Raises `CatalogueError` without them."""
    import tomllib

    try:
        head = tomllib.loads(path.read_text("utf-8")).get("template")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path}: the table of API changes cannot be read: {error}.") from None
    if not isinstance(head, dict) or not all(isinstance(head.get(key), str) for key in ("code", "name")):
        raise CatalogueError(f"{path}: state the code and the name of the template under [template].")
    if unknown := set(head) - {"code", "name"}:
        raise CatalogueError(f"{path}: unknown key {min(unknown)!r} under [template]. Use code and name.")
    return head["code"], head["name"]


def _check(kind: str, entry: Any, where: str) -> None:
    if not isinstance(entry, dict):
        raise CatalogueError(f"{where}: an entry has keys and values. Received: {entry!r}")
    if isinstance(entry.get("old"), str):
        where = f"{where} ({entry['old']})"
    for key, value in entry.items():
        wanted = _KINDS[kind].get(key)
        if wanted is None:
            raise CatalogueError(f"{where}: unknown key {key!r}. Use {', '.join(_KINDS[kind])}.")
        if not _is(value, wanted):
            raise CatalogueError(f"{where}: {key} must be {wanted}. Received: {key}={value!r}")
    missing = [key for key in _REQUIRED[kind] if not entry.get(key)]
    if missing:
        raise CatalogueError(f"{where}: {' and '.join(missing)} must be given.")
    if not entry.get("since") and not entry.get("removed"):
        raise CatalogueError(f"{where}: state since (deprecated) or removed, the version that changed it.")
    if kind != "place" and not (entry.get("new") or entry.get("add") or entry.get("drop")) and not entry.get("note"):
        raise CatalogueError(f"{where}: without new, say in note why nothing replaces it.")
    if entry.get("old") == entry.get("new") and not entry.get("values") and not entry.get("into"):
        raise CatalogueError(f"{where}: old and new are the same.")


def _is(value: object, wanted: str) -> bool:
    if wanted == _TEXT:
        return isinstance(value, str)
    if wanted == _TRUTH:
        return isinstance(value, bool)
    if wanted == _TEXTS:
        return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
    if wanted == "a table of strings":
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if wanted == "a list of literals":
        return isinstance(value, list) and all(isinstance(v, (str, int, float, bool)) for v in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _frozen(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _add(raw: dict[str, dict[str, Any]], kind: str, entry: dict[str, Any], where: str) -> None:
    old = entry["old"]
    group = raw[kind]
    if kind in ("module", "name"):
        for name in (old, *entry.pop("also", ())):
            if name in group:
                raise CatalogueError(f"{where}: listed twice{'' if name == old else f', as {name}'}. Keep one entry.")
            group[name] = {**entry, "old": name}
    elif kind == "argument":
        by_call = group.setdefault(old, {})
        for of in entry["of"]:
            if of in by_call:
                raise CatalogueError(f"{where}: listed twice for {of}. Keep one entry.")
            by_call[of] = entry
    elif kind == "form":
        head = re.split(r"[(\[]", old, maxsplit=1)[0].rpartition(".")[2]
        for word in entry.get("of", ()) if head == "@" else (head,):
            last = word.rpartition(".")[2]
            group[last] = (*group.get(last, ()), entry)
    else:
        keys = (old,) if kind == "method" else entry["of"]
        for key in keys:
            others = group.get(key, ())
            for other in others:
                same = set(other["of"]) & set(entry["of"])
                if same and (
                    kind in ("method", "place") or (other["argument"], other["old"]) == (entry["argument"], old)
                ):
                    raise CatalogueError(f"{where}: listed twice for {min(same)}. Keep one entry.")
            group[key] = (*others, entry)


@cache
def _cache_folder() -> Path | None:
    """The user's folder for caches, `None` where there is none."""
    given = os.environ.get("XDG_CACHE_HOME") or ""
    with contextlib.suppress(RuntimeError, OSError):
        root = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        folder = root / "dnnfix"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return None


def _write(path: Path, content: bytes) -> None:
    """Put the content there whole or not at all: another process may be reading or writing the same."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    os.replace(draft, path)
