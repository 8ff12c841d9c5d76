"""Says whether a migrated program does with the newest releases what it did with old ones: the same outputs and losses from the same weights.

    python tools/equal_pairs.py FOLDER --python PYTHON [NAME…] [--programs FOLDER --reports FOLDER] [--keep]

The programs of `tools/pairs` are written for releases of years ago; `pairs.toml` there says of which. FOLDER takes the environments of these, which are
made where they are not there (torch brings 800 MB). Each program is run as it is in its environment, is handed to `dnnfix suggest`, and, with the patch that was
accepted, is run by PYTHON, which has the newest releases. `same_start.py` runs both: from the same weights, with the same random numbers, for five losses. A row is
printed for each pair, with the greatest difference of an output and of a loss. `--programs` adds programs of other people, which are not
part of this repository: a folder with a `pairs.toml` of its own. The exit status is 1 where a pair differs or has no two sides.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).with_name("pairs")
RUNNER = Path(__file__).with_name("same_start.py")
TOLERANCE = 1e-5
RUN = 600
"""Seconds for one side of a pair, and for the migration of a program."""


class PairError(Exception):
    """A side of a pair that is not there."""


@dataclass(frozen=True)
class Environment:
    """Old releases that are installed together."""

    name: str
    python: str
    packages: Sequence[str]
    alone: Sequence[str] = ()
    """What is installed without what it asks for, which pip would choose among for a quarter of an hour."""
    beside: str = ""
    """Another environment, from which it takes what it lacks, torch first of all."""


@dataclass(frozen=True)
class Pair:
    """A program, and what it is run with."""

    name: str
    environment: str
    program: Path
    arguments: Sequence[str] = ()
    prelude: str = ""
    """Code that runs before it on both sides: data that nobody has here."""
    once: str = ""
    """Code that the old environment runs first, in the folder of both: networks and words that they load."""
    texts: Mapping[str, str] | None = None
    """What is written otherwise on both sides."""
    apart: str = ""
    """Why the two are apart after their first step, where no release of today can do what the old one did."""
    report: str = ""
    """A report of `dnnfix suggest` on it that is there already."""


@dataclass(frozen=True)
class Difference:
    """How far the two sides of a pair are apart."""

    steps: int
    loss: float
    output: float | None
    first: float
    """The greatest difference before anything was learned."""

    @property
    def is_none(self) -> bool:
        """Whether they do the same."""
        return self.steps > 0 and max(self.loss, self.output or 0.0) <= TOLERANCE

    @property
    def starts_from_none(self) -> bool:
        """Whether they do the same until the first step."""
        return self.steps > 0 and self.first <= TOLERANCE


def pairs(folder: Path) -> tuple[list[Environment], list[Pair]]:
    """What `pairs.toml` of a folder says, and, of the programs beside it, those that it does not name."""
    given = tomllib.loads((folder / "pairs.toml").read_text(encoding="utf-8"))
    environments = [Environment(**one) for one in given.get("environment", ())]
    found = [Pair(**{**one, "program": folder / one["program"]}) for one in given.get("pair", ())]
    return environments, found


def code_cells(notebook: str) -> str:
    """The code of a notebook as one script, without what is meant for its shell."""
    lines: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"])
            lines += [line for line in text.splitlines() if not line.lstrip().startswith(("%", "!"))]
    return "\n".join(lines) + "\n"


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """The greatest difference of the losses and of the outputs of two sides."""
    if len(old["losses"]) != len(new["losses"]):
        raise PairError(f"{len(old['losses'])} losses and {len(new['losses'])}: {old['error']} {new['error']}".strip())
    outputs: list[list[float]] = []
    for before, after in zip(old["outputs"], new["outputs"], strict=True):
        if (before is None) != (after is None) or len(before or ()) != len(after or ()):
            raise PairError("the outputs have different shapes")
        outputs.append([abs(one - other) for one, other in zip(before or (), after or (), strict=True)])
    losses = [abs(one - other) for one, other in zip(old["losses"], new["losses"], strict=True)]
    every = [one for step in outputs for one in step]
    first = max([*losses[:1], *(outputs[0] if outputs else ())], default=0.0)
    return Difference(len(losses), max(losses, default=0.0), max(every) if every else None, first)


def accepted(report: Mapping[str, Any]) -> str:
    """The diff of the first patch that was accepted, or of the first partial one."""
    for verdict in ("accepted", "partial"):
        for patch in report["patches"]:
            if patch["verdict"] == verdict:
                return str(patch["diff"])
    raise PairError(f"no patch was accepted ({', '.join(sorted({p['verdict'] for p in report['patches']})) or 'none'})")


def prepared(environments: Mapping[str, Environment], name: str, folder: Path) -> Path:
    """The interpreter of an environment, which is made where it is not there."""
    environment = environments[name]
    place = folder / name
    python = place / "bin" / "python"
    done = place / "done.txt"
    wanted = "\n".join([*environment.packages, *environment.alone])
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return python
    run([interpreter(environment.python), "-m", "venv", str(place)], folder)
    if environment.beside:
        other = prepared(environments, environment.beside, folder)
        (site_packages(python) / "beside.pth").write_text(f"{site_packages(other)}\n", encoding="utf-8")
    for packages in environment.packages, ["--no-deps", *environment.alone]:
        run([str(python), "-m", "pip", "install", "-q", *packages], folder, limit=3600)
    done.write_text(wanted, encoding="utf-8")
    return python


def interpreter(version: str) -> str:
    """A Python of a minor version, by its name on the path or as pyenv keeps it."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    found = str(kept[-1]) if kept else shutil.which(f"python{version}")
    if not found:
        raise PairError(f"there is no Python {version}")
    return found


def site_packages(python: Path) -> Path:
    """Where an environment keeps its packages."""
    return next((python.parent.parent / "lib").glob("python3*")) / "site-packages"


def run(command: Sequence[str], folder: Path, limit: int = RUN, **variables: str) -> str:
    """Run a command and hand back what it printed."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        **variables,
    }
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PairError(f"{Path(command[0]).name} ran for more than {limit} seconds") from error
    if done.returncode not in (0, 1) or (done.returncode == 1 and "suggest" not in command):
        raise PairError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:300])
    return done.stdout


def laid(pair: Pair, folder: Path) -> Path:
    """The program in a folder of its own, with what lies beside it if it has several files."""
    if pair.program.parent.name.isdigit():
        shutil.copytree(pair.program.parent, folder, dirs_exist_ok=True)
    else:
        shutil.copy(pair.program, folder)
    return folder / pair.program.name


def one_side(pair: Pair, python: Path, program: Path, weights: Path) -> dict[str, Any]:
    """Run a program from the weights, and read what it came to."""
    folder = program.parent
    for file in [*folder.glob("*.py"), *folder.glob("*.ipynb")]:
        text = file.read_text(encoding="utf-8")
        for before, after in (pair.texts or {}).items():
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")
    if program.suffix == ".ipynb":
        script = program.with_suffix(".py")
        script.write_text(code_cells(program.read_text(encoding="utf-8")), encoding="utf-8")
        program = script
    prelude = "-"
    if pair.prelude:
        (folder / "prelude_of_pair.py").write_text(pair.prelude, encoding="utf-8")
        prelude = "prelude_of_pair.py"
    result = folder / "result.json"
    command = [str(python), str(RUNNER), str(result), str(weights), prelude, program.name, *pair.arguments]
    run(command, folder)
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def migrated(pair: Pair, folder: Path, python: Path) -> Path:
    """The program in a folder of its own, with the patch that was accepted."""
    program = laid(pair, folder)
    if pair.report:
        report = json.loads(Path(pair.report).read_text(encoding="utf-8"))
    else:
        with tempfile.TemporaryDirectory(prefix="dnnfix-pair-") as scratch:
            copy = laid(pair, Path(scratch))
            command = [sys.executable, "-m", "dnnfix", "suggest", copy.name, "--isolated", "--output-format", "json"]
            report = json.loads(run([*command, "--python", str(python)], copy.parent, PYTHONPATH=str(ROOT)))
    (folder / "migration.diff").write_text(accepted(report), encoding="utf-8")
    run(["git", "apply", "--whitespace=nowarn", "migration.diff"], folder, GIT_CEILING_DIRECTORIES=str(folder.parent))
    return program


def said(difference: Difference, pair: Pair) -> str:
    """What a row says of a pair whose two sides ran."""
    if difference.is_none:
        return "same"
    return f"the first is the same ({difference.first:.1e}); {pair.apart}" if pair.apart else "differs"


def releases(side: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    """The libraries of a side whose release differs from that of the other one, but for what every program has."""
    own = {name: version for name, version in side["versions"].items() if version != pair["versions"].get(name)}
    named = [name for name in own if name not in ("numpy", "torch")] or list(own)
    return ", ".join(
        f"{name} {own[name].split('+')[0]}"
        for name in [*named, *([] if "torch" in named else ["torch"])]
        if name in own
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environments, run the pairs and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the old environments are, or are made")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these pairs alone")
    parser.add_argument("--python", type=Path, required=True, help="the interpreter that has the newest releases")
    parser.add_argument("--programs", type=Path, action="append", default=[], help="a folder of other programs")
    parser.add_argument("--keep", type=Path, help="keep both sides of each pair in this folder")
    given = parser.parse_args(arguments)
    environments: dict[str, Environment] = {}
    found: list[Pair] = []
    for folder in [PROGRAMS, *given.programs]:
        its_environments, its_pairs = pairs(folder)
        environments.update((one.name, one) for one in its_environments)
        found += its_pairs
    given.folder.mkdir(parents=True, exist_ok=True)
    status = 0
    sys.stdout.write("| program | old | new | losses | of an output | of a loss | |\n|---|---|---|---|---|---|---|\n")
    for pair in found:
        if given.names and pair.name not in given.names:
            continue
        with tempfile.TemporaryDirectory(prefix=f"pair-{pair.name}-") as scratch:
            place = given.keep / pair.name if given.keep else Path(scratch)
            shutil.rmtree(place, ignore_errors=True)
            weights = place / "weights"
            for part in ("old", "new", "weights"):
                (place / part).mkdir(parents=True)
            try:
                old = prepared(environments, pair.environment, given.folder.resolve())
                if pair.once:
                    for part in ("old", "new"):
                        (place / part / "once_of_pair.py").write_text(pair.once, encoding="utf-8")
                    run([str(old), "once_of_pair.py"], place / "old")
                    shutil.copytree(place / "old", place / "new", dirs_exist_ok=True)
                before = one_side(pair, old, laid(pair, place / "old"), weights.resolve())
                after = one_side(pair, given.python, migrated(pair, place / "new", given.python), weights.resolve())
                difference = compare(before, after)
            except PairError as error:
                row, good = f"| {pair.name} | {pair.environment} | | | | | {error} |", False
            else:
                good = difference.is_none or bool(pair.apart and difference.starts_from_none)
                output = "–" if difference.output is None else f"{difference.output:.1e}"
                row = (
                    f"| {pair.name} | {releases(before, after)} | {releases(after, before)} | {difference.steps} | {output} "
                    f"| {difference.loss:.1e} | {said(difference, pair)} |"
                )
        sys.stdout.write(row + "\n")
        sys.stdout.flush()
        status = status if good else 1
    return status


if __name__ == "__main__":
    sys.exit(main())
