"""Writes what public API a package has lost over its releases, as a table of API changes, from the wheels on the index.

    python tools/api_history.py [PACKAGE…] [--python PYTHON]… [--first VERSION] [--wheels FOLDER]

Without a package it makes the tables of all in `PACKAGES`. The last release of every minor version is read (`releases.py`, `static_api.py`): every name and keyword that a program could use and that the
newest release has no more is an entry, with the release in which it went. Where one of them is installed for PYTHON, it is asked in a process of
its own, and has the last word on all that went before: what it still has by decorators, inheritance or laziness is no entry. Of several
interpreters, as packages do not all fit together, the one with the newest release of a package is asked, the first such one. A successor
is named where the sources show it: the same thing under another path, a decorator that renames a keyword, a text of warning that says what
to use. What a table written by hand knows of a name is left to that table, and what `unknown_removals.toml` lists is left out; where such a
table tells of the years before, only what came after is read, from a first version on. The same releases, of which one is installed with the
same other packages, give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from packaging.version import Version
from releases import INDEX, Release, ReleaseError, releases, sources
from static_api import ANY, IMPLEMENTATION, Api, Callable, Sources, api

from dnnfix.detect.versioning.tables import Form
from dnnfix.detect.versioning.tables import table as read_table

QUESTION = Path(__file__).with_name("public_api.py")
REASONS = Path(__file__).with_name("unknown_removals.toml")
BY_HAND = ROOT / "fix_templates" / "data"
DATA = BY_HAND / "history"
OF_ANOTHER_KIND = frozenset(
    [
        "ImageGrid",
        "IterativeSFTTrainer",
        "LatinHypercube.centered",
        "MaxNewTokensCriteria",
        "MiniBatchDictionaryLearning.n_iter",
        "MiniBatchSparsePCA.n_iter",
        "NMF.alpha",
        "NMF.regularization",
        "OffloadedCache",
        "RGBAxes",
        "StableDiffusionKDiffusionPipeline",
        "Wav2Vec2Tokenizer",
        "assert_extension_array_equal.check_less_precise",
        "assert_frame_equal.check_less_precise",
        "assert_index_equal.check_less_precise",
        "assert_series_equal.check_less_precise",
        "cached_download",
        "dict_learning_online.n_iter",
        "draw_if_interactive",
        "non_negative_factorization.alpha",
        "non_negative_factorization.regularization",
        "profile.use_cuda",
        "setup_chat_format",
    ]
)
"""Names and keywords for which a release advises, or seems to have, a successor that is called otherwise or does another thing: they have none."""

OF_NAMES_ALONE = ("jax", "flax", "opencv-python")
"""Packages whose functions are wrapped or have several signatures, or whose classes are transformed: what these take and show cannot be read."""

PACKAGES = {
    "accelerate": "",
    "albumentations": "",
    "datasets": "",
    "diffusers": "",
    "evaluate": "",
    "flax": "",
    "gym": "",
    "gymnasium": "",
    "huggingface-hub": "",
    "jax": "",
    "keras": "3.4",
    "keras-cv": "",
    "keras-hub": "",
    "keras-nlp": "",
    "lightning": "",
    "matplotlib": "",
    "numpy": "1.24",
    "opencv-python": "4.7",
    "pandas": "1.3",
    "peft": "",
    "pytorch-lightning": "",
    "scikit-learn": "1.1",
    "scipy": "1.10",
    "sentence-transformers": "",
    "tensorflow": "2.2",
    "tensorflow-datasets": "",
    "tf-keras": "",
    "timm": "",
    "tokenizers": "",
    "torch": "2.4",
    "torchaudio": "",
    "torchmetrics": "",
    "torchtext": "",
    "torchvision": "0.18",
    "transformers": "",
    "trl": "",
}
"""The packages that have a table, as the index calls them, with the minor version to begin with, where a table by hand tells of the years before.

What `tensorflow.keras` lost is told by the table of Keras. Nothing has gone from `tf-keras`, which has no table for that reason.
"""

TIMEOUT = 1800
"""Seconds for what is asked of an interpreter: it imports every module in question."""

_MAKING = frozenset(["__init__", "__new__", "__post_init__"])
"""Methods that a class may have to say that it is deprecated."""

_USE = r"(?:[Uu]se|[Uu]sing|favou?r of|replaced (?:by|with)|renamed (?:to|as)|switch to|[Pp]lease (?:use|see))"
_SETTINGS = ("Config", "Configuration", "Arguments", "Settings")
"""How classes of settings are called, where they are no records."""

_SUCCESSOR = re.compile(
    _USE
    + r"\s+(?:the\s+)?(?:argument\s+|parameter\s+)?[`'\"]+(?:--)?([A-Za-z_][\w.]*)(?![\w.]|\s*=|[`'\"]+,? (?:and|or) [`'\"])"
)
"""What is to be used instead; not `mixed_precision="fp16"`, which takes another value than the old keyword, nor two things at once."""


_NAMED = re.compile(_USE + r"\s+(?:the\s+)?(?:[`'\"]+([A-Za-z_][\w.]*)|([A-Za-z]\w+))")
"""The same of names, which are not always quoted: what they name is looked up."""


@dataclass
class Gone:
    """What went: the first and the last release that have it, by their place in the list, and its successor if one is known."""

    first: int
    last: int
    new: str = ""
    longer: tuple[str, ...] = ()
    """Other paths of the successor, the shorter ones first."""
    into: tuple[str, str] = ("", "")
    """The parameter that takes an object of settings today, and their class, where a keyword moved there."""

    @property
    def successor(self) -> str:
        """As the table has it: a name, or `args=trl.SFTConfig(max_length)`; empty where there is none."""
        by, of = self.into
        return f"{by}={of}({self.new})" if by else self.new


@dataclass
class History:
    """Everything that the releases of a package had at any time."""

    package: str
    found: Sequence[Release]
    names: dict[str, Gone] = field(default_factory=dict)
    modules: dict[str, Gone] = field(default_factory=dict)
    arguments: dict[tuple[str, str], Gone] = field(default_factory=dict)
    methods: dict[tuple[str, str], Gone] = field(default_factory=dict)
    entries: dict[str, Callable] = field(default_factory=dict)
    """By name, what it was when it was seen last."""
    texts: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """By name, the texts in it that speak of deprecation, in any release."""
    told: dict[tuple[str, str], dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """By name and keyword, what is said of the deprecation of that keyword."""
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    beside: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By name that went, the other names that the same thing had in the last release that had it, and kept in the next."""
    wrapped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the name of a class that adds nothing to what it derives from, how that is called where it is defined."""
    newest: Api = field(default_factory=lambda: Api({}, frozenset()))
    """What the last of the releases that were taken has."""

    @cached_property
    def imported(self) -> str:
        """The name under which programs import the package: its own, or else that of most modules."""
        roots = Counter(path.partition(".")[0] for path in self.newest.modules)
        own = self.package.replace("-", "_")
        return own if own in roots else max(roots, key=lambda root: (roots[root], root))

    @cached_property
    def called(self) -> Mapping[str, Sequence[str]]:
        """The names that there were at any time, by their last part; to be asked when all releases were taken."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in self.names:
            found[_parted(name)[1]].append(name)
        return found

    def take(self, number: int, one: Api) -> None:
        """Note what one release has."""
        self._note_other_names(one)
        for path in one.public_modules():
            _seen(self.modules, path, number)
        for name, entry in one.names.items():
            _seen(self.names, name, number)
            self.entries[name] = entry
            self.texts[name].update(dict.fromkeys(entry.warnings))
            home = one.home(*_parted(name))
            if home is None:
                continue
            for keyword in one.parameters(entry, home[0])[0] - {ANY}:
                if keyword.startswith("_"):
                    continue
                _seen(self.arguments, (name, keyword), number)
            for keyword, said in entry.told.items():
                self.told[name, keyword].update(dict.fromkeys(said))
            for keyword, new in entry.renamed.items():
                self.renamed[name, keyword] = new or self.renamed.get((name, keyword), "")
            if entry.kind == "class":
                self.wrapped[name] = _wrapped(one, home[0], entry)
                for method in (each for each in entry.methods if not each.startswith("_")):
                    _seen(self.methods, (name, method), number)
        self.newest = one

    def _note_other_names(self, one: Api) -> None:
        by_home: dict[tuple[str, str] | None, list[str]] = defaultdict(list)
        for name in self.newest.names:
            if name in one.names:
                by_home[self.newest.home(*_parted(name))].append(name)
        for name in self.newest.names.keys() - one.names.keys():
            self.beside[name] = tuple(by_home[self.newest.home(*_parted(name))])

    def other_names(self, name: str) -> set[str]:
        """The names under which a thing lives on, and those that led there."""
        found: set[str] = set()
        waiting = [name]
        for one in waiting:
            more = set(self.beside.get(one, ())) - found
            found |= more
            waiting += more
        return found

    def removed(self, gone: Gone) -> str:
        """The minor version that lacks it first; empty for what is still there."""
        if gone.last + 1 == len(self.found):
            return ""
        return ".".join(map(str, self.found[gone.last + 1].minor))


def _wrapped(one: Api, path: str, entry: Callable) -> tuple[str, ...]:
    """What a class of a module derives from without adding anything, by the names of where it is from."""
    takes_the_same = entry.parameters in (None, (), (ANY,)) and not entry.methods.keys() - _MAKING
    of_its_own = [one for one in entry.attributes if not one.startswith("_") and "deprecat" not in one]
    if of_its_own or not takes_the_same:
        return ()
    imported = one.modules[path].imported
    return tuple(imported.get(base, ("", _parted(base)[1]))[1] for base in entry.bases)


def _seen(known: dict[Any, Gone], key: Any, number: int) -> None:
    if key in known:
        known[key].last = number
    else:
        known[key] = Gone(number, number)


def history(package: str, wheels: Path, index: str = INDEX, since: str = "", first: str = "") -> History:
    """Read the releases from a minor version on, those from before a day but for the last one left out. Raises `ReleaseError`."""
    every = [release for release in releases(package, index) if not first or release.version >= Version(first)]
    if not every:
        raise ReleaseError(f"{package}: the index has no final release from {first} on.")
    before = sum(release.day < since for release in every)
    found = History(package, every[max(before - 1, 0) :])
    reader = Sources(wheels)
    for number, release in enumerate(found.found):
        print(f"{package} {release.version} ({number + 1} of {len(found.found)})", file=sys.stderr, flush=True)
        found.take(number, api(sources(release, wheels), reader))
    return found


class Installed:
    """What an interpreter says that has one of the releases; it says nothing where it has another or cannot import it."""

    def __init__(self, pythons: Iterable[Path], found: History) -> None:
        self.answers: Mapping[str, Any] = {}
        self.number = -1
        """Which of the releases it has, up to bug fixes; negative where it says nothing."""
        self.is_newest = False
        versions = {python: Version(_version(python, found.package, found.imported)) for python in pythons}
        self._python = max(versions, key=versions.__getitem__, default=None)
        minors = {str(release.version.release[:2]): number for number, release in enumerate(found.found)}
        number = minors.get(str(versions[self._python].release[:2]), -1) if self._python is not None else -1
        if number >= 0:
            self.answers = self.asked(sorted({*in_question(found), found.imported}))
            if found.imported in self.answers:  # it may have the package and lack what that imports
                self.number, self.is_newest = number, number + 1 == len(found.found)

    def asked(self, names: Sequence[str]) -> Mapping[str, Any]:
        """What it says of further names."""
        return _asked(self._python, names) if self._python is not None else {}

    def speaks_of(self, gone: Gone) -> bool:
        """Whether it has a release from after something went."""
        return gone.last < self.number

    def has(self, name: str, gone: Gone) -> bool:
        """Whether a name that seems to be gone is there after all."""
        return self.speaks_of(gone) and name in self.answers

    def takes(self, name: str, keyword: str, announced: bool) -> bool:
        """Whether a call takes a keyword after all, or may: behind a wrapper that takes any, unless its end was announced."""
        entry = self.answers.get(name)
        known = entry.get("parameters") if entry else None
        return known is None or keyword in known["names"] or ANY in known["names"] or known["open"] and not announced

    def shows(self, name: str, method: str) -> bool:
        """Whether a class has a method or attribute after all, or may."""
        entry = self.answers.get(name)
        return not entry or method in entry.get("methods", {}) or method in entry.get("assigned", ())


def _version(python: Path, package: str, imported: str) -> str:
    """The release that an interpreter has, also under another name than the index's: `opencv-python-headless`; `0` where it has none."""
    asked = (
        "import importlib.metadata as m\n"
        f"try: print(m.version({package!r}))\n"
        f"except m.PackageNotFoundError: print(m.version(m.packages_distributions()[{imported!r}][0]))"
    )
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or "0"


def _asked(python: Path, names: Sequence[str]) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "asked.json", Path(folder) / "told.json"
        asked.write_text(json.dumps(list(names)))
        code = (
            f"import sys, json, warnings; sys.path.insert(0, {str(QUESTION.parent)!r}); warnings.simplefilter('ignore')\n"
            "import public_api as p; p.choose_backend()\n"
            f"json.dump(p.looked_up(json.load(open({str(asked)!r}))), open({str(told)!r}, 'w'))"
        )
        subprocess.run([python, "-c", code], capture_output=True, timeout=TIMEOUT, check=False)
        found: Mapping[str, Any] = json.loads(told.read_text()) if told.is_file() else {}
        return found


def successors(found: History, installed: Installed) -> None:
    """Find out by what the things that went are replaced, as far as the sources show it."""
    newest = found.newest
    places: dict[str, list[str]] = defaultdict(list)
    for name in newest.names:
        places[name.rpartition(".")[2]].append(name)
    for name, gone in found.names.items():
        if found.removed(gone):
            moved = _moved(name, found, newest, places)
            gone.new, gone.longer = moved[0] if moved else _advised(name, found, newest), tuple(moved[1:])
    for (name, keyword), gone in found.arguments.items():
        if found.removed(gone) and name in newest.names:
            gone.new = _renamed(found, newest, name, keyword, installed)
    by_home: dict[tuple[str, str] | None, str] = {}
    for name in sorted(newest.names, key=lambda path: (-path.count("."), -len(path), path)):
        by_home[newest.home(*_parted(name))] = name
    for (name, keyword), gone in found.arguments.items():
        if found.removed(gone) and not gone.new and name in newest.names:
            gone.new, gone.into = _into_settings(found, newest, name, keyword, by_home)
    for (name, keyword), gone in found.arguments.items():
        if found.removed(gone) and not gone.new and name in newest.names:
            for base in _bases(newest, name, by_home):
                above = found.arguments.get((base, keyword), gone)
                gone.new, gone.into = gone.new or above.new, gone.into if gone.new else above.into


def _moved(name: str, found: History, newest: Api, places: Mapping[str, Sequence[str]]) -> list[str]:
    """The paths of the same thing today, the shortest first, where there is one thing of that name alone that takes what it took.

    It is the same where a release had it under both names, where it came as the old one went and is called alike, and where
    the old one passed its arguments on to it. A function that was there beside it is another one of the same name; of a class,
    the old place may have kept a copy for a while.
    """
    old = found.entries[name]
    last = name.rpartition(".")[2]
    alike = [path for path in places.get(last, ()) if newest.names[path].kind == old.kind]
    homes = {newest.home(*_parted(path)) for path in alike}
    if len(homes) != 1 or old.kind == "value":
        return []
    new, path = newest.names[alike[0]], next(iter(homes))[0]  # type: ignore[index]
    taken, complete = newest.parameters(new, path)
    if complete and ANY not in taken and not set(old.parameters or ()) - {ANY} <= taken:
        return []
    if found.other_names(name).isdisjoint(alike):
        came = min(found.names[one].first for one in alike)
        has_moved = found.names[name].last < came <= _lasted(name, found) + 1 and _called_alike(old, new, is_move=True)
        is_copy = old.kind == "class" and came <= found.names[name].last and _called_alike(old, new)
        if not (has_moved or is_copy or _is_wrapper(found, name)) or "legacy" in name.split("."):
            return []
    return sorted(alike, key=lambda path: (path.count("."), len(path), path))


def _lasted(name: str, found: History) -> int:
    """The last release that has something at its place or, without a gap, at others that it moved to and that went as well."""
    old, last = found.entries[name], found.names[name].last
    for other in sorted(found.called[_parted(name)[1]], key=lambda one: found.names[one].first):
        of, there = found.entries[other], found.names[other]
        is_same = _called_alike(old, of) or _is_wrapper(found, other)
        if there.first <= last + 1 and of.kind == old.kind and is_same and found.removed(there):
            last = max(last, there.last)
    return last


def _called_alike(old: Callable, new: Callable, is_move: bool = False) -> bool:
    """Whether what a call of the old one gives by place or by name means the same for the new one, as far as signatures tell.

    What came under its name as the old one went may have got parameters in between, and may have lost some methods.
    """
    if old.is_record and new.is_record:
        return True
    if (old.parameters is None) != (new.parameters is None):
        return False
    shown = [method for method in old.methods if not method.startswith("_") or method == "__call__"]
    if old.parameters is None and not shown:
        return is_move or [_parted(base)[1] for base in old.bases] == [_parted(base)[1] for base in new.bases]
    kept = [method for method in shown if method in new.methods]
    if is_move:
        rest = iter(new.parameters or ())
        return bool(kept or not shown) and all(one in rest for one in old.parameters or ())
    pairs = [(old, new)] if old.parameters is not None else []
    pairs += [(old.methods[one], new.methods[one]) for one in kept]
    return kept == shown and all(
        (of.parameters or ())[: len(before.parameters or ())] == (before.parameters or ()) for before, of in pairs
    )


def _advised(name: str, found: History, newest: Api) -> str:
    """The public name that the warnings of something say to use, in full or as one beside it, where it takes what this took."""
    beside, old = _parted(name)[0], found.entries[name]
    for text in reversed(found.texts[name]):
        for quoted, bare in _NAMED.findall(text):
            for word in (quoted, f"{beside}.{quoted or bare}"):
                new = newest.names.get(word)
                if new is None or new.kind != old.kind:
                    continue
                if old.parameters == () and not old.is_record and new.parameters:
                    continue  # what it gave to the new one by itself is not known
                if _passes_on(found, name, _parted(word)[1]) or old.parameters and _called_alike(old, new):
                    return str(word)
    return ""


def _passes_on(found: History, name: str, new: str) -> bool:
    """Whether what a call is given goes to the new one as it is: a function of any arguments, or a class that adds nothing."""
    old = found.entries[name]
    if old.kind == "function":
        return old.parameters == (ANY,)
    return new in found.wrapped.get(name, ())


def _is_wrapper(found: History, name: str) -> bool:
    """Whether something passes what it is given on to what has its name elsewhere; a function has to say so."""
    old, last = found.entries[name], _parted(name)[1]
    tells = old.kind == "class" or any(last in text for text in found.texts[name])
    return tells and old.parameters != () and _passes_on(found, name, last)


def _renamed(found: History, newest: Api, name: str, keyword: str, installed: Installed) -> str:
    """The keyword that a call takes today instead."""
    taken = newest.parameters(newest.names[name], _module_of(newest, name))[0]

    def is_taken(word: str) -> bool:
        return word in taken or word in _names(installed.answers.get(name))

    told = found.renamed.get((name, keyword), "")
    if told and is_taken(told):
        return told
    for text in reversed(found.told[name, keyword]):
        words = [word for word in _SUCCESSOR.findall(text) if word != keyword and is_taken(word)]
        if len(set(words)) == 1:
            return str(words[0])
    about = re.compile(rf"(?<![\w.])(?:--)?{re.escape(keyword)}(?!\w)")
    for text in reversed(found.texts[name]):
        for sentence in re.split(r"(?<=\w[.;!])\s+(?=[A-Z])(?!(?:Please )?[Uu]se)", text):
            if about.search(sentence):
                words = [word for word in _SUCCESSOR.findall(sentence) if word != keyword and is_taken(word)]
                if len(set(words)) == 1:
                    return str(words[0])
    return ""


def _bases(newest: Api, name: str, by_home: Mapping[tuple[str, str] | None, str], deep: int = 4) -> Iterator[str]:
    """The public names of the classes that a class derives from, the nearest first."""
    home = newest.home(*_parted(name))
    if home is None or not deep:
        return
    for word in newest.names[name].bases:
        held = newest.class_of(home[0], word)
        base = by_home.get(newest.home(home[0], word), "") if held is not None else ""
        if base:
            yield base
            yield from _bases(newest, base, by_home, deep - 1)


def _into_settings(
    found: History, newest: Api, name: str, keyword: str, by_home: Mapping[tuple[str, str] | None, str]
) -> tuple[str, tuple[str, str]]:
    """Where a call takes an object of settings, and these took the keyword over: its name there, the parameter, and their class."""
    path = _module_of(newest, name)
    went = found.arguments[name, keyword].last
    for parameter, words in newest.names[name].kinds.items():
        for word in words:
            held = newest.class_of(path, word)
            if held is None or not (held[1].is_record or word.endswith(_SETTINGS)):
                continue
            settings = by_home.get(newest.home(path, word), "")
            there = found.arguments.get((settings, keyword))
            if there is None or there.first > went + 1:
                continue
            now = there.new if found.removed(there) else keyword
            if now:
                return now, (parameter, settings)
    return "", ("", "")


def _names(answer: Mapping[str, Any] | None) -> Sequence[str]:
    known = (answer or {}).get("parameters")
    names: Sequence[str] = known["names"] if known else ()
    return names


def _module_of(newest: Api, name: str) -> str:
    """The module that defines what has that name; empty where that is not found."""
    return (newest.home(*_parted(name)) or ("", ""))[0]


def _parted(name: str) -> tuple[str, str]:
    path, _, last = name.rpartition(".")
    return path, last


def _named_successors(found: History) -> set[str]:
    """The names that are to be used instead of others, their modules, and the classes of settings that took keywords over."""
    names = {path for gone in found.names.values() if gone.new for path in (gone.new, *gone.longer)}
    modules = {_parted(name)[0] for name in names}
    return names | modules | {gone.into[1] for gone in found.arguments.values() if gone.into[1]}


def leave_out_missing(found: History, there: Collection[str]) -> None:
    """Forget successors that the newest release, as it is installed, lacks; of a module that needs more than is installed it says nothing."""
    for gone in found.names.values():
        paths = (gone.new, *gone.longer) if gone.new else ()
        unsaid = (path for path in paths if _parted(path)[0] not in there)
        gone.new = next((path for path in paths if path in there), next(unsaid, ""))
    for gone in found.arguments.values():
        if gone.into[1] and gone.into[1] not in there:
            gone.new, gone.into = "", ("", "")


def in_question(found: History) -> list[str]:
    """What an interpreter is to be asked for: names that seem to be gone, and those of which something seems to be."""
    asked = {name for name, gone in found.names.items() if found.removed(gone)}
    asked |= {path for path, gone in found.modules.items() if found.removed(gone)}
    for known in (found.arguments, found.methods):
        asked |= {name for (name, _), gone in known.items() if found.removed(gone)}
    return sorted(asked)


def reasons(package: str) -> Mapping[str, str]:
    """By pattern of names, why no table has to know what a package lost."""
    listed = tomllib.loads(REASONS.read_text("utf-8"))["reason"]
    return {name: one["reason"] for one in listed if one["package"] == package for name in one["names"]}


def by_hand(package: str) -> Known:
    """What the tables know that are written by hand, and what of a package none has to know."""
    return Known(BY_HAND.glob("*.toml"), reasons(package))


def table(found: History, installed: Installed, left_out: Known) -> dict[str, Any]:
    """What went, in the form that `dnnfix.detect.versioning.history` reads, without what other tables know."""
    newest = found.newest
    made: dict[str, Any] = {"package": found.package, "first": str(found.found[0].version)}
    made |= {"last": str(found.found[-1].version), "day": found.found[-1].day}
    hidden = (
        path for path in IMPLEMENTATION if path.startswith(f"{found.imported}.")
    )  # some programs import it all the same
    shown = {name.split(".")[1] for name in (*found.names, *found.modules, *hidden) if name.count(".")}
    made["shown"] = sorted(shown)
    made |= {kind: {} for kind in ("module", "name", "argument", "method")}
    lost: set[str] = set()
    for path, gone in sorted(found.modules.items()):
        version = found.removed(gone)
        if version and not installed.has(path, gone) and not _under(path, lost):
            lost.add(path)
            if not left_out.knows(path):
                made["module"].setdefault(version, {})[path] = ""
    for name, gone in sorted(found.names.items()):
        version = found.removed(gone)
        new = "" if name.rpartition(".")[2] in OF_ANOTHER_KIND else gone.new
        if not version or installed.has(name, gone) or name in newest.modules or _under(name, lost) and not new:
            continue
        if newest.at(*_parted(name)) is not None:
            continue  # its module imports for its own use what it had itself before, and programs have it from there as ever
        if not left_out.knows(name):
            made["name"].setdefault(version, {})[name] = new
    for kind, known, still in (
        ("argument", found.arguments, _still_takes),
        ("method", found.methods, _still_shows),
    ):
        if found.package in OF_NAMES_ALONE:
            continue
        for (name, old), gone in sorted(known.items()):
            version = found.removed(gone)
            if version and name in newest.names and not still(found, name, old, installed):
                if left_out.knows_keyword(name, old) if kind == "argument" else left_out.knows_method(name, old):
                    continue
                new = "" if f"{_parted(name)[1]}.{old}" in OF_ANOTHER_KIND else gone.successor
                made[kind].setdefault(version, {}).setdefault(old, {}).setdefault(new, []).append(name)
    for kind in ("module", "name", "argument", "method"):
        made[kind] = dict(sorted(made[kind].items(), key=lambda pair: tuple(map(int, pair[0].split(".")))))
    return made


def written(made: Mapping[str, Any]) -> str:
    """A table as JSON with a line for each release or, of parts of things, for each of their names."""
    lines = ["{"]
    for key, value in made.items():
        if not isinstance(value, dict):
            lines.append(f" {json.dumps(key)}: {_compact(value)},")
            continue
        lines.append(f" {json.dumps(key)}: {{")
        for release, names in value.items():
            lines.append(f"  {json.dumps(release)}: {{")
            lines += [f"   {json.dumps(name)}: {_compact(found)}," for name, found in names.items()]
            lines[-1] = lines[-1][:-1]
            lines.append("  },")
        lines[-1] = lines[-1].rstrip(",")
        lines.append(" },")
    lines[-1] = lines[-1].rstrip(",")
    return "\n".join([*lines, "}"]) + "\n"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def count(made: Mapping[str, Any]) -> int:
    """How many entries a table has."""
    whole = sum(len(names) for kind in ("module", "name") for names in made[kind].values())
    parts = sum(len(new) for kind in ("argument", "method") for names in made[kind].values() for new in names.values())
    return whole + parts


class Known:
    """What tables know, whatever file it is in, and patterns of names that are to count as known."""

    def __init__(self, paths: Iterable[Path], listed: Iterable[str] = ()) -> None:
        self._tables = [read_table(path) for path in sorted(paths)]
        self._listed = tuple(listed)

    def knows(self, name: str) -> bool:
        """Whether they have a name or a module, or what replaces a call of it."""
        last = _parted(name)[1]
        return self._lists(name) or any(
            one.name(name) is not None
            or one.module(name) is not None
            or any(form.old.startswith(f"{name}(") or name in form.of for form in one.forms(last))
            for one in self._tables
        )

    def knows_method(self, of: str, method: str) -> bool:
        """Whether they have a method of a class, its call on whatever object, or an attribute of what is of that class."""
        used = re.compile(rf"\$(\w+)\.{re.escape(method)}(\(|$)")

        def is_about(form: Form) -> bool:
            found = used.match(form.old)
            return found is not None and (found[2] == "(" or of in form.where.get(found[1], "").split())

        return self._lists(f"{of}.{method}") or any(
            any(of in change.of for change in one.methods(method)) or any(map(is_about, one.forms(method)))
            for one in self._tables
        )

    def knows_keyword(self, of: str, keyword: str) -> bool:
        """Whether they have a keyword of a call, by itself or as a part of an expression."""
        last = of.rpartition(".")[2]
        given = re.compile(rf"\b{re.escape(keyword)}=")
        return self._lists(f"{of}.{keyword}") or any(
            one.argument(of, keyword) is not None
            or any(given.search(form.old) and (of in form.of or form.old.startswith(of)) for form in one.forms(last))
            for one in self._tables
        )

    def _lists(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._listed)


def _still_takes(found: History, name: str, keyword: str, installed: Installed) -> bool:
    newest = found.newest
    if installed.speaks_of(found.arguments[name, keyword]):
        return installed.takes(name, keyword, _announced(found, name, keyword))
    taken, complete = newest.parameters(newest.names[name], _module_of(newest, name))
    return not complete or ANY in taken or keyword in taken or keyword in newest.names[name].renamed


def _announced(found: History, name: str, keyword: str) -> bool:
    """Whether some release spoke of the end of a keyword, or what takes its place was found."""
    about = re.compile(rf"\b{re.escape(keyword)}\b")
    return bool(
        found.arguments[name, keyword].new
        or (name, keyword) in found.renamed
        or found.told.get((name, keyword))
        or any(about.search(text) for text in found.texts.get(name, ()))
    )


def _still_shows(found: History, name: str, method: str, installed: Installed) -> bool:
    newest = found.newest
    known, complete = newest.methods(newest.names[name], _module_of(newest, name))
    if method in known:
        return True  # as the fields of a record without a default are, which the class itself does not show
    if installed.speaks_of(found.methods[name, method]):
        return installed.shows(name, method)
    return not complete or "__getattr__" in newest.names[name].methods


def _under(name: str, lost: set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:count]) in lost for count in range(1, len(parts)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or say how large they would be."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="as the index calls it (all that have a table)")
    parser.add_argument(
        "--python",
        type=Path,
        action="append",
        default=[],
        help="an interpreter that has the newest releases, or a part",
    )
    parser.add_argument("--first", default="", metavar="VERSION", help="the minor version to begin with (as listed)")
    parser.add_argument(
        "--wheels",
        type=Path,
        default=Path.home() / ".cache" / "dnnfix-wheels",
        help="where wheels are kept (%(default)s)",
    )
    parser.add_argument("--index", default=INDEX, help="another index, or a mirror, that answers in JSON (%(default)s)")
    parser.add_argument("--output", type=Path, default=DATA, help="the folder for the tables (%(default)s)")
    given = parser.parse_args(arguments)
    for package in given.packages or PACKAGES:
        try:
            found = history(package, given.wheels, given.index, first=given.first or PACKAGES.get(package, ""))
        except ReleaseError as error:
            print(f"api_history: {error}", file=sys.stderr)
            return 2
        installed = Installed(given.python, found)
        successors(found, installed)
        if installed.is_newest:
            leave_out_missing(found, installed.asked(sorted(_named_successors(found))))
        made = table(found, installed, by_hand(package))
        if not count(made):
            print(f"{package}: nothing went from {made['first']} to {made['last']} that no other table knows; no table")
            continue
        text = written(made)
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / f"{found.imported}.json").write_text(text, encoding="utf-8")
        asked = "alone" if installed.number < 0 else f"and {found.found[installed.number].version} as it is installed"
        print(f"{package}: {count(made)} entries, {len(text):,} characters, by its sources {asked}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
