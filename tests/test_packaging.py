"""The shape of the project: links, modules that stand alone, and arrows between packages that never point back."""

from __future__ import annotations

import ast
import graphlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import dnnfix

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dnnfix"
FRAMEWORKS = {"torch", "keras", "tensorflow", "numpy"}
CATALOGUE = {"fix_templates", "validators"}

FLOOR = {"records", "errors"}
READING = FLOOR | {"network", "source", "subject"}
"""A program and its network, as rules see them."""

MAY_IMPORT = {
    "records": set[str](),
    "errors": set[str](),
    "apart": FLOOR,
    "libraries": set[str](),
    "source": FLOOR | {"libraries"},
    "run": FLOOR,
    "network": FLOOR | {"source"},
    "subject": FLOOR | {"network", "source"},
    "examples": FLOOR,
    "template": READING | {"examples"},
    "index": FLOOR | {"template"},
    "endpoint": FLOOR,
    "config": FLOOR | {"endpoint", "index", "run"},
    "suppress": FLOOR | {"config", "index"},
    "detect": READING | {"index", "libraries", "template"},
    "reproduce": READING | {"detect", "libraries", "run"},
    "validate": READING | {"reproduce", "run"},
    "synthesize": READING | {"detect", "run", "template", "validate"},
    "proposer": READING | {"endpoint", "synthesize", "validate"},
    "emit": FLOOR | {"index", "source", "suppress", "template"},
    "api": READING | {"detect", "examples", "synthesize", "template", "validate"},
    "registry": FLOOR | {"detect", "index", "template", "validate"},  # tables of API changes are templates too
    "pipeline": READING
    | {
        "config",
        "detect",
        "emit",
        "index",
        "proposer",
        "registry",
        "reproduce",
        "run",
        "suppress",
        "synthesize",
        "template",
        "validate",
        "watching",
    },
    "watching": FLOOR | {"network", "run", "validate"},
    "keras": {"watching"},
    "lightning": {"watching"},
    "transformers": {"watching"},
    "programs": FLOOR | {"config", "libraries", "suppress"},
    "through": FLOOR | {"emit", "programs", "reproduce", "run", "source"},
    "selectors": FLOOR | {"config", "pipeline", "registry", "suppress"},
    "rewrite": FLOOR,
    "library": FLOOR
    | {"config", "emit", "pipeline", "programs", "rewrite", "selectors", "source", "through", "watching"},
    "notebook": FLOOR | {"emit", "library", "programs", "rewrite", "source"},
    "testing": READING | {"examples", "pipeline", "registry", "run", "synthesize", "template"},
    "forge": FLOOR,
    "locate": FLOOR | {"emit", "forge", "libraries", "programs", "reproduce", "run", "source"},
    "bench": FLOOR | {"config", "emit", "endpoint", "index", "pipeline", "run", "source", "validate"},
    "bot": FLOOR | {"config", "detect", "emit", "forge", "index", "pipeline", "programs", "run", "suppress"},
    "server": FLOOR
    | {"apart", "config", "emit", "pipeline", "programs", "registry", "selectors", "source", "suppress", "template"},
    "mcp": FLOOR
    | {
        "apart",
        "config",
        "emit",
        "pipeline",
        "programs",
        "registry",
        "reproduce",
        "selectors",
        "server",  # the story of a rule in Markdown
        "through",
        "validate",
    },
    "cli": FLOOR
    | {
        "bench",
        "bot",
        "config",
        "emit",
        "forge",
        "index",
        "locate",
        "mcp",
        "pipeline",
        "programs",
        "registry",
        "reproduce",
        "rewrite",
        "run",
        "selectors",
        "server",
        "source",
        "suppress",
        "template",
        "testing",
        "through",
        "watching",
    },
    "__main__": {"cli"},
    "__init__": READING | {"config", "library", "notebook", "pipeline", "suppress", "template", "watching"},
}
"""For each part of the package, the other parts that it may import (DESIGN, "Layout")."""


def modules() -> list[Path]:
    """Every module of the engine and of the catalogue, once, by its path under `dnnfix/`."""
    found = []
    for folder, _, files in os.walk(PACKAGE, followlinks=True):
        found += [Path(folder, name) for name in files if name.endswith(".py")]
    return sorted(found)


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


ELSEWHERE = (PACKAGE / "run" / "probe", PACKAGE / "run" / "baseline")
"""What runs in the user's interpreters, started by path."""


def in_probe(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in ELSEWHERE)


def runs_elsewhere(path: Path) -> bool:
    """Whether a module is never imported by ours: it runs in the user's interpreter, is cut out as text, or is run by Alembic."""
    folders = ("run/probe", "run/baseline", "reproduce/standins", "bot/app/migrations")
    return any(path.is_relative_to(PACKAGE / folder) for folder in folders)


WITH_FRAMEWORK = {PACKAGE / name for name in ("keras.py", "lightning.py", "transformers.py")} | {
    PACKAGE / "watching" / name for name in ("keras.py", "torch.py")
}
"""What is imported by the user's own trainings, and imports their framework."""


def imports(path: Path) -> Iterator[str]:
    """Every name that a module imports, wherever in it; `from dnnfix import x` is `dnnfix.x`."""
    tree = ast.parse(path.read_bytes())
    package = name_of(path).split(".") if path.name == "__init__.py" else name_of(path).split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names) if base == "dnnfix" else (base,)


MODULES = modules()
ENGINE_MODULES = [p for p in MODULES if part_of(p) not in CATALOGUE and not runs_elsewhere(p)]
IDS = {path: str(path.relative_to(PACKAGE)) for path in MODULES}


def test_links_are_committed_and_lead_to_the_catalogue() -> None:
    for name in sorted(CATALOGUE):
        assert os.readlink(PACKAGE / name) == f"../{name}"
        assert not (ROOT / name / "__init__.py").exists(), "a package of that name would shadow another on PyPI"
    listed = subprocess.run(["git", "ls-files", "-s", "dnnfix"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        links = {line.split("\t")[1] for line in listed.stdout.splitlines() if line.startswith("120000")}
        assert {f"dnnfix/{name}" for name in CATALOGUE} <= links


@pytest.mark.parametrize("path", ENGINE_MODULES, ids=IDS.get)
def test_arrows_point_down(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"say in MAY_IMPORT where {part} stands"
    used = {name.split(".")[1] for name in imports(path) if name.startswith("dnnfix.") and name != "dnnfix.__version__"}
    wrong = used - MAY_IMPORT[part] - {part}
    assert not wrong, f"dnnfix.{part} must not import {sorted(wrong)}"


def test_no_part_may_import_itself_by_way_of_others() -> None:
    below = graphlib.TopologicalSorter(MAY_IMPORT)
    assert set(below.static_order()) == set(MAY_IMPORT)  # a circle is an error


def test_the_map_shows_the_packages_as_they_are() -> None:
    command = (sys.executable, str(ROOT / "tools" / "draw_packages.py"), "--check")
    assert subprocess.run(command, check=False).returncode == 0, "make docs draws docs/architecture.md anew"


@pytest.mark.parametrize("path", [p for p in MODULES if part_of(p) in CATALOGUE], ids=IDS.get)
def test_catalogue_imports_only_the_api(path: Path) -> None:
    used = {name for name in imports(path) if name.split(".")[0] == "dnnfix"}
    own = {name for name in used if name.startswith(("dnnfix.fix_templates", "dnnfix.validators"))}
    assert used - own <= {"dnnfix.api"}


LEGACY = ROOT / "legacy" / "dnnfix_legacy"
PLUG_IN = sorted(p for p in LEGACY.rglob("*.py") if "version1" not in p.parts)
"""The modules of dnnfix-legacy, but for those that become part of programs."""


@pytest.mark.parametrize("path", PLUG_IN, ids=lambda path: str(path.relative_to(LEGACY)))
def test_the_plug_in_imports_dnnfix_and_no_framework(path: Path) -> None:
    used = set(imports(path))
    assert not {name.split(".")[0] for name in used} & FRAMEWORKS
    parts = {name.split(".")[1] for name in used if name.startswith("dnnfix.")}
    assert parts <= {"api", "detect", "errors", "records", "source"}


def test_nothing_of_dnnfix_imports_the_plug_in() -> None:
    every = (*MODULES, *(ROOT / "tests").rglob("*.py"))
    assert not [path for path in every if any(name.split(".")[0] == "dnnfix_legacy" for name in imports(path))]


@pytest.mark.parametrize("path", [p for p in MODULES if in_probe(p)], ids=IDS.get)
def test_probe_imports_nothing_of_dnnfix(path: Path) -> None:
    """It runs in the user's interpreter: the standard library, the frameworks, and its own modules relatively."""
    home = next(folder for folder in ELSEWHERE if path.is_relative_to(folder))
    rooms = len(path.relative_to(home).parts) - 1
    own = {p.stem for p in path.parent.glob("*.py")} | {f"dnnfix_{home.name}"}  # its name when started by path
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= rooms + 1, f"line {node.lineno} leaves the probe"
            names = [node.module] if node.module and not node.level else []
        foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names - FRAMEWORKS - own
        assert not foreign


@pytest.mark.parametrize("path", [p for p in MODULES if not runs_elsewhere(p) and p not in WITH_FRAMEWORK], ids=IDS.get)
def test_parent_never_imports_a_framework(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & FRAMEWORKS


SERVES = PACKAGE / "bench" / "worker.py"
"""A process of its own, which hears and answers the one that started it by its standard streams."""
SILENT = [p for p in MODULES if part_of(p) != "cli" and not runs_elsewhere(p) and p != SERVES]


@pytest.mark.parametrize("path", SILENT, ids=IDS.get)
def test_only_the_command_line_prints_exits_and_reads_argv(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "input", "exit", "quit"}, f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            assert node.attr not in {"exit", "argv", "stdout", "stderr", "stdin"}, f"line {node.lineno}"


@pytest.mark.slow
def test_every_module_imports_alone() -> None:
    """Each in a forked process, so that none leans on what another imported; nothing is printed on the way.

    The catalogue, which begins with `dnnfix.api` and may import nothing else of the engine, finds that imported.
    """
    own = [p for p in MODULES if not runs_elsewhere(p) and p not in WITH_FRAMEWORK]
    names = [name_of(p) for p in own if p.name != "__main__.py"]
    names.sort(key=lambda name: name.startswith(("dnnfix.fix_templates.", "dnnfix.validators.")))
    program = (
        "import importlib, os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    if name.startswith(('dnnfix.fix_templates.', 'dnnfix.validators.')): importlib.import_module('dnnfix.api')\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        try: importlib.import_module(name)\n"
        "        except BaseException as error: print(name, repr(error)); sys.stdout.flush(); os._exit(1)\n"
        f"        heavy = sorted({FRAMEWORKS!r} & set(sys.modules))\n"
        "        if heavy: print(name, 'brings', heavy); sys.stdout.flush()\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *names],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "" and done.stderr == ""


def test_folders_of_the_package_are_packages() -> None:
    """A folder without `__init__.py` would be missing from a wheel, silently."""
    lone = {p.parent for p in MODULES if not (p.parent / "__init__.py").exists()}
    assert lone <= {PACKAGE / "validators", PACKAGE / "fix_templates"} | {PACKAGE / "run" / "probe"}


def test_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert [re.split("[<>]", need)[0] for need in project["dependencies"]] == [
        "ast-grep-py",
        "libcst",
        "markdown-it-py",
        "pyflakes",
        "typer",
    ]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert pinned["torch"] == "2.13.0"
    needs = [need for extra in project["optional-dependencies"].values() for need in extra]
    names = {re.split(r"[\[>]", need)[0] for need in [*needs, *project["dependencies"]]}
    assert names - {"dnnfix", "dnnfix-legacy"} <= set(pinned)
    legacy = tomllib.loads((ROOT / "legacy" / "pyproject.toml").read_text())["project"]
    assert legacy["dependencies"] == ["dnnfix"] and legacy["version"] == dnnfix.__version__
    assert legacy["requires-python"] == project["requires-python"]
    assert dnnfix.__version__.count(".") == 2
