"""Sites name the expression that runs, in characters, in every Python that is at hand."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dnnfix.run.probe import sites
from dnnfix.run.sandbox import PROBE


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Runs a text in which `here()` gives the site of its own caller."""

    def run(text: str) -> dict[str, Any]:
        name = str(tmp_path / "program.py")
        sites.configure(str(tmp_path), name)
        sites.add_source(name, text)
        names: dict[str, Any] = {"here": library}
        exec(compile(text, name, "exec"), names)  # noqa: S102 - that is what is tested
        return names

    return run


def library(*_: Any) -> Any:
    """Stands for code of a framework: a frame between the user's code and the question."""
    return sites.caller_site()


def cut_out(text: str, site: list[Any]) -> str:
    lines = text.split("\n")[site[0] - 1 : site[2]]
    lines[-1] = lines[-1][: site[3] - 1]
    lines[0] = lines[0][site[1] - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = here()", "here()"),
        ("x = [1, here(2, 3)][1]", "here(2, 3)"),
        ("ä = 'ö'; x = here(ä, 'ü') ; y = 1", "here(ä, 'ü')"),
        ("x = here(\n  1,\n  2\n)", "here(\n  1,\n  2\n)"),
        ("class A:\n    h = staticmethod(here)\n    def me(self): return self\nx = (A()\n   .me()\n   .h(4))", "A()\n   .me()\n   .h(4)"),
        ("def f(): return here()\nx = f()", "here()"),
        ("x = [here(i) for i in range(1)][0]", "here(i)"),
        ("x = (lambda: here())()", "here()"),
        ("class C:\n    x = here()\nx = C.x", "here()"),
        ("class M:\n    def __init__(self): self.s = here()\nx = M().s", "here()"),
        ("class V:\n    def __add__(self, o): return here()\nx = V() + 1", "here()"),
        ("x = eval('here()')", "eval('here()')"),
        ("x = list(map(here, [1]))[0]", "map(here, [1])"),
        ("x = sorted([1], key=lambda v: [y.append(here()), 1][1]) if (y := []) == [] else 0\nx = y[0]", "here()"),
    ],
)  # fmt: skip
def test_the_expression_that_runs(program: Any, text: str, expected: str) -> None:
    found = cut_out(text, program(text)["x"])
    assert found == expected or (expected == "map(here, [1])" and found == "list(map(here, [1]))")


def test_operators_have_a_site_too(program: Any) -> None:
    text = "class V:\n    pass\nV.__matmul__ = here\na, b = V(), V()\nx = 1, (a @ b)"
    assert cut_out(text, program(text)["x"][1]) == "a @ b"


def test_code_that_is_not_the_users_has_no_site() -> None:
    sites.configure("/nowhere/project", "/nowhere/project/program.py")
    assert sites.caller_site() is None
    assert not sites.is_user_file("/nowhere/project/venv/lib/python3.11/site-packages/torch/nn.py")
    assert sites.is_user_file("/nowhere/project/models/net.py")
    assert not sites.is_user_file("/nowhere/projects/net.py")


def test_asking_again_is_cheap(program: Any) -> None:
    names = program("def f():\n    return here()\nx = [f() for _ in range(3)]")
    assert names["x"][0] is names["x"][1] is names["x"][2]


PROGRAM = "def ö(x):\n    return x['a' + 'ü'] if x else {}[\n        1]\n\nw = [0]; ö(w)\n"
OTHERS = sorted({str(p) for v in ("8", "9", "10", "12", "13", "14") for p in Path.home().glob(f".pyenv/versions/3.{v}.*/bin/python")}
                | {p for v in ("8", "9", "10", "12", "13", "14") if os.path.exists(p := f"/usr/bin/python3.{v}")})  # fmt: skip


@pytest.mark.skipif(not OTHERS, reason="no other Python is installed here")
@pytest.mark.parametrize("python", OTHERS)
def test_the_probe_works_in_older_and_newer_interpreters(python: str, tmp_path: Path) -> None:
    job = {
        "path": "p.py",
        "program": PROGRAM,
        "seed": 1,
        "budget": {"steps": 3},
        "record_steps": 1,
        "experiments": [],
        "arguments": [],
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    (tmp_path / "p.py").write_text(PROGRAM)
    done = subprocess.run(
        [python, str(PROBE), "--job", "job.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    crash = next(event for event in events if event["event"] == "crash")
    version = tuple(int(part) for part in events[0]["versions"]["python"].split(".")[:2])
    inner = [2, 12, 2, 24, ""] if version >= (3, 11) else [2, 5, 3, 11, ""]
    outer = [5, 10, 5, 14, ""]
    assert [frame["site"] for frame in crash["frames"]] == [outer, inner]
    assert events[-1]["outcome"] == "crashed"


@pytest.mark.parametrize("python", [p for p in OTHERS if "3.8" in p])
def test_every_file_of_the_probe_is_written_for_python_3_8(python: str) -> None:
    check = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name, encoding='utf-8').read(), name)"
    files = [str(path) for path in sorted(PROBE.glob("*.py"))]
    subprocess.run([python, "-c", check, *files], check=True)
