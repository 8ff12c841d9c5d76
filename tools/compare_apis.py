"""Compares the public API of two installed versions of a package with each other and with the tables of API changes.

    python tools/compare_apis.py --old OLD/bin/python --new NEW/bin/python --package keras [--unknown] [--json OUT]

Each interpreter is asked in a process of its own. A line is printed for every name, module, method and argument that
the old version has and the new one lacks: what became of it (`gone`, `moved`, `argument`), its name, where it seems to
be now, and whether `fix_templates/data` knows it. What the new version has without showing it is no difference. Three
kinds of difference are left out, which the line says: what the old version had no documentation for, so that programs
were not told of it, an argument that has another name at the same place and has to be given, so that programs give it
by place, and what a class has lost of which programs make no object (`OF_ANOTHER`). The exit status is 0 where the
tables know everything else, 1 where they do not, and 2 where the comparison could not be made.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dnnfix.detect.versioning.tables import Table, table
from dnnfix.errors import CatalogueError
from dnnfix.source.names import canonical

QUESTION = Path(__file__).with_name("public_api.py")
DATA = ROOT / "fix_templates" / "data"
TEMPLATES = ROOT / "fix_templates" / "versioning"
UNDOCUMENTED = "never documented"
RENAMED = "given by place"
OF_ANOTHER = {
    "tensorflow.Tensor": "tensors of graphs have it",
    "tensorflow.compat.v1.Tensor": "tensors of graphs have it",
}
"""Classes of which no program makes an object: operations give objects of classes that nothing public names."""
TIMEOUT = 900
"""Seconds for one interpreter; importing all of TensorFlow's modules takes about a minute."""


class ComparisonError(Exception):
    """The comparison cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Difference:
    """One thing that the new version lacks."""

    kind: str
    """`module`, `name`, `method` or `argument`."""
    name: str
    now: str = ""
    """Where the same thing seems to be in the new version."""
    known: bool = False
    left_out: str = ""
    """Why no table has to know it."""

    @property
    def state(self) -> str:
        """In one word or few, whether the tables know it."""
        return "known" if self.known else f"left out: {self.left_out}" if self.left_out else "unknown"

    def line(self) -> str:
        """For a person, and for grep."""
        word = "moved" if self.now else "gone"
        arrow = f" -> {self.now}" if self.now else ""
        return f"{word}\t{self.kind}\t{self.name}{arrow}\t{self.state}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and say by the exit status whether the tables are up to date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="compare_apis.py"
    )
    parser.add_argument("--old", required=True, metavar="PYTHON", help="interpreter that has the old version")
    parser.add_argument("--new", required=True, metavar="PYTHON", help="interpreter that has the new version")
    parser.add_argument("--package", required=True, metavar="NAME", help="torch, keras, tensorflow or another package")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables (default: fix_templates/data)")
    parser.add_argument("--unknown", action="store_true", help="print only what the tables do not know")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the differences to a file as well")
    given = parser.parse_args(arguments)
    try:
        tables = [table(path) for path in sorted(given.data.glob("*.toml"))]
        if not tables:
            raise ComparisonError(f"{given.data}: no table of API changes there. Give the folder with --data.")
        old = asked(given.old, given.package)
        new = asked(given.new, given.package, paths(old))
    except (ComparisonError, CatalogueError) as error:
        sys.stderr.write(f"compare_apis: {error}\n")
        return 2
    found = sorted(differences(old, new, tables), key=lambda d: (d.kind, d.name))
    unknown = [difference for difference in found if difference.state == "unknown"]
    left_out = sum(not difference.known and bool(difference.left_out) for difference in found)
    for difference in unknown if given.unknown else found:
        sys.stdout.write(difference.line() + "\n")
    sys.stdout.write(
        f"{given.package} {old['version']} -> {new['version']}: {len(found)} differences, "
        f"{left_out} left out, {len(unknown)} not in the tables\n"
    )
    if given.json is not None:
        versions = {"package": given.package, "old": old["version"], "new": new["version"]}
        content = {**versions, "differences": [asdict(difference) for difference in found]}
        given.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 1 if unknown else 0


def paths(api: Mapping[str, Any]) -> list[str]:
    """Every path of an API: modules, names and the methods that classes have themselves."""
    own = (f"{name}.{one}" for name, entry in api["names"].items() for one in entry.get("own", ()))
    return [*api["modules"], *api["names"], *own]


def asked(interpreter: str, package: str, also: Sequence[str] = ()) -> dict[str, Any]:
    """The public API that an interpreter has of a package, and what it has under other paths. Raises `ComparisonError`."""
    if not package.isidentifier():
        raise ComparisonError(f"give the name under which the package is imported. Received: --package {package}")
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory(prefix="dnnfix-api-") as folder:
        out, names = Path(folder) / "api.json", Path(folder) / "asked.json"
        names.write_text(json.dumps(also), encoding="utf-8")
        command = [interpreter, str(QUESTION), package, str(out), str(names)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=quiet, timeout=TIMEOUT, check=False
            )
        except OSError as error:
            raise ComparisonError(
                f"{interpreter}: cannot be started: {error.strerror}. Give a Python interpreter."
            ) from None
        except subprocess.TimeoutExpired:
            raise ComparisonError(f"{interpreter}: no answer within {TIMEOUT} s.") from None
        if done.returncode or not out.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ComparisonError(f"{interpreter}: {package} cannot be read there: {last}")
        answer: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return answer


def differences(old: Mapping[str, Any], new: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Difference]:
    """What the old API has and the new one lacks. What is in a module that is gone is not listed one by one."""
    there = {path: entry for path, entry in new["asked"].items() if entry is not None}
    names, modules = {**there, **new["names"]}, {*new["modules"], *new["asked"]}
    lost = {module for module in old["modules"] if module not in modules and module not in names}
    for module in sorted(lost):
        if module.rpartition(".")[0] not in lost:
            yield Difference("module", module, known=_name_known(module, tables))
    places = _by_origin(new["names"])
    for name, entry in old["names"].items():
        if name in names or name in modules:
            yield from _inside(name, entry, names.get(name, {}), modules, tables)
        elif name.rpartition(".")[0] not in lost:
            without = "" if entry.get("documented", True) else UNDOCUMENTED
            yield Difference("name", name, _moved(name, entry, places), _name_known(name, tables), without)


def _inside(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], there: Collection[str], tables: Sequence[Table]
) -> Iterator[Difference]:
    """The parameters and methods that a function or class has lost."""
    another = OF_ANOTHER.get(name, "")
    for keyword, why in _lost(old.get("parameters"), new.get("parameters")):
        known = any(one.argument(of, keyword) is not None for one in tables for of in _spelled(name))
        yield Difference("argument", f"{name}({keyword}=)", "", known or _name_known(name, tables), why or another)
    if old.get("kind") != "class" or new.get("kind") != "class":
        return
    for method, words in old["own"].items():
        full = f"{name}.{method}"
        if method in new.get("assigned", ()):
            continue
        if method not in new["methods"] and full not in there:
            known = any(_method_known(one, name, method) for one in tables)
            without = another or ("" if words else UNDOCUMENTED)
            yield Difference("method", full, "", known or _name_known(name, tables), without)
            continue
        for keyword, why in _lost(old["methods"].get(method), new["methods"].get(method)):
            known = any(_argument_known(one, name, method, keyword) for one in tables)
            yield Difference("argument", f"{full}({keyword}=)", "", known or _name_known(name, tables), why)


def _argument_known(one: Table, name: str, method: str, keyword: str) -> bool:
    """Whether a table has a keyword of a method, of whatever class of the same package."""
    roots = _roots(name)
    return any(of.rpartition(".")[2] == method and of.partition(".")[0] in roots for of in one.arguments(keyword))


def _method_known(one: Table, name: str, method: str) -> bool:
    """Whether a table has a method, of whatever class of the same package: what a class inherits is listed once."""
    if f'"{method}"' in _templates():
        return True
    roots = _roots(name)
    return any(of.partition(".")[0] in roots for change in one.methods(method) for of in change.of)


def _roots(name: str) -> set[str]:
    return {spelled.partition(".")[0] for spelled in _spelled(name)}


def _lost(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The parameters that are taken no longer, and why one is left out; none where a signature is unknown or takes any."""
    if old is None or new is None or "**" in new["names"]:
        return
    for place, name in enumerate(old["names"]):
        if name in new["names"] or name in ("self", "**") or name.startswith("_"):
            continue
        by_place = place < old["needed"] and (new["places"] is None or place < new["places"])
        yield name, RENAMED if by_place else ""


def _by_origin(names: Mapping[str, Any]) -> dict[str, list[str]]:
    """The public paths of everything, by where it is defined and by its last word."""
    found: dict[str, list[str]] = {}
    for name, entry in names.items():
        if entry.get("origin"):
            found.setdefault(entry["origin"], []).append(name)
            found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


def _moved(name: str, entry: Mapping[str, Any], places: Mapping[str, list[str]]) -> str:
    """The shortest path under which the same object is public, or the only one under which its last word is."""
    same = places.get(entry.get("origin", ""), [])
    if same:
        return min(same, key=lambda path: (path.count("."), len(path), path))
    alike = places.get(name.rpartition(".")[2], []) if entry.get("origin") else []
    return alike[0] if len(alike) == 1 else ""


def _spelled(name: str) -> tuple[str, ...]:
    """The names under which the tables may have it: as it is, canonical, and of Keras within TensorFlow."""
    return tuple(dict.fromkeys((name, canonical(name), name.removeprefix("tensorflow."))))


@cache
def _templates() -> str:
    """The text of the templates that know names without a table, since their repair is more than a rename."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.glob("*.py")))


def _name_known(name: str, tables: Sequence[Table]) -> bool:
    """Whether a template names it, or a table has an entry for the name or for a module that it is in."""
    for spelled in _spelled(name):
        if f'"{spelled}"' in _templates() or any(one.name(spelled) is not None for one in tables):
            return True
        while spelled:
            if any(one.module(spelled) is not None for one in tables):
                return True
            spelled = spelled.rpartition(".")[0]
    return False


if __name__ == "__main__":
    sys.exit(main())
