"""The script that keeps the tables of API changes up to date, on small packages made up for the purpose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "compare_apis.py"

OLD = {
    "__init__.py": """\
        from gadgets import parts, old_parts
        from gadgets.parts.wheel import Wheel
        from json import dumps
        __version__ = "1.0"
        LIMIT = 3
        FORMER_LIMIT = 4
        def turn(angle, speed=1, axis=0): pass
        def loose(angle, axis=0): pass
        def started(): "Whether it turns."
        def _private(): pass
        """,
    "parts/__init__.py": """\
        from gadgets.parts.wheel import Wheel, spoke
        """,
    "parts/wheel.py": """\
        class Wheel:
            def __init__(self, radius, color=None): pass
            def roll(self, distance, quick=False): pass
            def stop(self): pass
        def spoke(): "One of many."
        """,
    "old_parts/__init__.py": "def left(): pass\ndef right(): pass\n",
}
NEW = {
    "__init__.py": """\
        from gadgets import parts
        from gadgets.parts.wheel import Wheel
        __version__ = "2.0"
        LIMIT = 5
        def turn(angle, speed=1): pass
        def loose(angle, **others): pass
        """,
    "parts/__init__.py": """\
        from gadgets.parts import wheel
        from gadgets.parts.wheel import Wheel
        class Base: pass
        def started(): pass
        """,
    "parts/wheel.py": """\
        class Rolling:
            def roll(self, distance): pass
        class Wheel(Rolling):
            def __init__(self, radius): pass
        def spoke(): pass
        """,
}
TABLE = """
[[name]]
old = "gadgets.FORMER_LIMIT"
new = "gadgets.LIMIT"
removed = "2.0"

[[argument]]
of = ["gadgets.turn"]
old = "axis"
drop = true
removed = "2.0"

[[method]]
of = ["gadgets.Wheel"]
old = "stop"
removed = "2.0"
note = "nothing replaces it"
"""


def interpreter(folder: Path, files: dict[str, str], package: str = "gadgets") -> Path:
    """An interpreter that has a package of these files."""
    from textwrap import dedent

    for name, text in files.items():
        path = folder / "site" / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder / "site"}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def compare(old: Path | str, new: Path | str, *more: str, package: str = "gadgets") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--old", str(old), "--new", str(new), "--package", package, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path, Path]:
    data = tmp_path / "data"
    data.mkdir()
    (data / "gadgets.toml").write_text(TABLE)
    return interpreter(tmp_path / "old", OLD), interpreter(tmp_path / "new", NEW), data


def test_what_is_gone_moved_or_without_an_argument_is_listed_under_each_public_name(
    versions: tuple[Path, Path, Path],
) -> None:
    old, new, data = versions
    done = compare(old, new, "--data", str(data))
    assert done.stdout.splitlines() == [
        "gone\targument\tgadgets.Wheel(color=)\tunknown",
        "gone\targument\tgadgets.parts.Wheel(color=)\tunknown",
        "gone\targument\tgadgets.parts.wheel.Wheel(color=)\tunknown",
        "gone\targument\tgadgets.turn(axis=)\tknown",
        "gone\tmethod\tgadgets.Wheel.stop\tknown",
        "gone\tmethod\tgadgets.parts.Wheel.stop\tknown",
        "gone\tmethod\tgadgets.parts.wheel.Wheel.stop\tknown",
        "gone\tmodule\tgadgets.old_parts\tunknown",
        "gone\tname\tgadgets.FORMER_LIMIT\tknown",
        "moved\tname\tgadgets.parts.spoke -> gadgets.parts.wheel.spoke\tunknown",
        "moved\tname\tgadgets.started -> gadgets.parts.started\tunknown",
        "gadgets 1.0 -> 2.0: 11 differences, 0 left out, 6 not in the tables",
    ]
    assert done.returncode == 1


def test_only_what_is_unknown_and_all_of_it_as_json(versions: tuple[Path, Path, Path], tmp_path: Path) -> None:
    old, new, data = versions
    done = compare(old, new, "--data", str(data), "--unknown", "--json", str(tmp_path / "out.json"))
    assert len(done.stdout.splitlines()) == 7 and "\tknown" not in done.stdout
    report = json.loads((tmp_path / "out.json").read_text())
    assert (report["package"], report["old"], report["new"]) == ("gadgets", "1.0", "2.0")
    stop = {"kind": "method", "name": "gadgets.Wheel.stop", "now": "", "known": True, "left_out": "never documented"}
    assert stop in report["differences"]
    assert len(report["differences"]) == 11


def test_what_programs_were_not_told_of_or_still_reach_is_left_out(tmp_path: Path) -> None:
    head = "import json\nfrom math import pi\nfor letter in 'ab': pass\n"
    old = {
        "__init__.py": f"{head}'see `gadgets.OPEN`'\nOPEN = SHUT = 1\nfrom gadgets import tools\n"
        "def oil(): pass\ndef turn(angle, speed=1): 'Turns.'\ndef stop(*, gently=True): 'Stops; see `OPEN`.'\n",
        "tools.py": "def saw(): 'Cuts.'\ndef plane(): 'Smooths.'\n",
    }
    new = {
        "__init__.py": "__all__ = ['turn', 'stop']\ndef turn(degrees, speed=1): 'Turns.'\ndef stop(**kind): 'Stops.'\n",
        "tools.py": "from gadgets._own import saw\n",
        "_own.py": "def saw(): 'Cuts.'\n",
    }
    data = tmp_path / "data"
    data.mkdir()
    (data / "gadgets.toml").write_text(TABLE)
    done = compare(interpreter(tmp_path / "old", old), interpreter(tmp_path / "new", new), "--data", str(data))
    assert done.stdout.splitlines() == [
        "gone\targument\tgadgets.turn(angle=)\tleft out: given by place",
        "gone\tname\tgadgets.OPEN\tunknown",
        "gone\tname\tgadgets.SHUT\tleft out: never documented",
        "gone\tname\tgadgets.oil\tleft out: never documented",
        "gone\tname\tgadgets.tools.plane\tunknown",
        "gadgets  -> : 5 differences, 3 left out, 2 not in the tables",
    ]


def test_what_a_template_repairs_needs_no_entry(tmp_path: Path) -> None:
    old = interpreter(
        tmp_path / "old", {"__init__.py": "def gesv(b, a): 'Solves.'\ndef sieve(b): 'Sieves.'\n"}, "torch"
    )
    new = interpreter(tmp_path / "new", {"__init__.py": ""}, "torch")
    done = compare(old, new, package="torch")
    assert done.stdout.splitlines()[:2] == ["gone\tname\ttorch.gesv\tknown", "gone\tname\ttorch.sieve\tunknown"]


def test_the_same_version_twice_differs_in_nothing(versions: tuple[Path, Path, Path]) -> None:
    old, _, data = versions
    done = compare(old, old, "--data", str(data))
    assert (done.returncode, done.stdout) == (0, "gadgets 1.0 -> 1.0: 0 differences, 0 left out, 0 not in the tables\n")


def test_the_tables_of_the_project_are_asked_by_default(tmp_path: Path) -> None:
    layers = "def Dense(units): pass\ndef MaxoutDense(units): pass\n"
    old = interpreter(
        tmp_path / "old", {"__init__.py": "from keras import layers\n", "layers/__init__.py": layers}, "keras"
    )
    new = interpreter(
        tmp_path / "new",
        {"__init__.py": "from keras import layers\n", "layers/__init__.py": "def Dense(units): pass\n"},
        "keras",
    )
    done = compare(old, new, package="keras")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "gone\tname\tkeras.layers.MaxoutDense\tknown")


@pytest.mark.parametrize(
    ("old", "package", "said"),
    [
        ("/no/such/python", "gadgets", "/no/such/python: cannot be started"),
        (sys.executable, "no_such_package_here", "no_such_package_here cannot be read there: ModuleNotFoundError"),
        (sys.executable, "gadgets.parts", "Received: --package gadgets.parts"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(old: str, package: str, said: str) -> None:
    done = compare(old, sys.executable, package=package)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    done = compare(sys.executable, sys.executable, "--data", str(tmp_path))
    assert done.returncode == 2 and "no table of API changes" in done.stderr
