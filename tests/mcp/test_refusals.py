"""What a call is refused for: paths that lead out, files that are no programs, arguments that make no sense."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnnfix.validate.certificate import digest
from tests.cli.programs import FAULTY
from tests.mcp.conftest import Agent, Started

BROKEN = {
    "binary.py": b"\x7fELF\x02\x01\x00\x00\xff\xfe\x00",
    "broken.ipynb": b'{"cells": [{"cell_type"',
    "not-a-notebook.ipynb": b"[1, 2]",
    "empty.py": b"",
    "large.py": b"x = 1\n" * 900_000,
    "notes.txt": b"import torch\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_no_programs(agent: Agent, name: str) -> None:
    (agent.folder / name).write_bytes(BROKEN[name])
    assert name in agent.refusal("check", path=name)


@pytest.mark.parametrize("tool", ["suggest", "reproduce"])
def test_they_are_refused_by_the_tools_that_run(agent: Agent, tool: str) -> None:
    (agent.folder / "broken.ipynb").write_bytes(BROKEN["broken.ipynb"])
    assert "broken.ipynb" in agent.refusal(tool, path="broken.ipynb")


def test_what_is_not_there(agent: Agent) -> None:
    (agent.folder / "nothing").mkdir()
    (agent.folder / "plain").mkdir()
    (agent.folder / "plain" / "a.py").write_text("print(1)\n")
    assert "no.py: no such file" in agent.refusal("check", path="no.py")
    assert "no Python files" in agent.refusal("check", path="nothing")
    assert "imports a library of deep learning" in agent.refusal("suggest", path="plain")
    assert "no rule has the code" in agent.refusal("explain", rule="DNF0")
    os.mkfifo(agent.folder / "pipe.py")
    assert "no regular file" in agent.refusal("check", path="pipe.py")


@pytest.mark.parametrize("tool", ["check", "suggest", "reproduce"])
def test_paths_that_lead_out(agent: Agent, tool: str, tmp_path: Path) -> None:
    outside = tmp_path / "theirs.py"
    outside.write_text(FAULTY)
    link = agent.folder / f"{tool}.py"
    link.symlink_to(outside)
    for path in (str(outside), os.path.relpath(outside, agent.folder), "/etc/passwd", "..", f"{agent.folder}/../cache"):
        assert "is outside of" in agent.refusal(tool, path=path)
    assert "a link leads out of" in agent.refusal(tool, path=link.name)


def test_links_in_a_folder_that_lead_out(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(FAULTY)
    folder = agent.folder / "linked"
    folder.mkdir()
    (folder / "own.py").write_text(FAULTY)
    (folder / "theirs.py").symlink_to(tmp_path / "theirs.py")
    found = agent.answer("check", path="linked")
    assert found["programs"] == 1 and "outside of the folders" in found["problems"][0]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_roots_of_a_client_are_where_it_works(started: Started, tmp_path: Path, mode: str) -> None:
    first, second, other = (tmp_path / name for name in ("first", "second, ä", "other"))
    for folder in (first, second, other):
        folder.mkdir()
        (folder / f"{folder.name[0]}.py").write_text(FAULTY)
    roots = [first, second]
    with started(other, roots=roots, mode=mode) as agent:
        found = agent.answer("check", path=str(second / "s.py"))
        assert found["folder"] == str(second) and found["findings"][0]["path"] == "s.py"
        assert agent.answer("check", path="f.py")["folder"] == str(first)
        assert "is outside of" in agent.refusal("check", path=str(other / "o.py"))
        assert "no such file" in agent.refusal("check", path="o.py")
        roots[:] = [tmp_path / "gone"]
        assert "none of the roots" in agent.refusal("check", path="o.py")
        roots.clear()
        assert agent.answer("check", path="o.py")["findings"]


def test_no_argument_lowers_the_guard(agent: Agent) -> None:
    (agent.folder / "net.py").write_text(FAULTY)
    for name, value in {
        "sandbox": "none",
        "trust": True,
        "python": "/bin/sh",
        "config": "x.toml",
        "device": "cuda",
    }.items():
        for tool in ("check", "suggest", "reproduce"):
            said = agent.refusal(tool, path="net.py", **{name: value})
            assert f"`{name}`" in said and "takes `path`" in said
    assert "`budget`" in agent.refusal("suggest", path="net.py", budget=0)
    assert "`budget`" in agent.refusal("suggest", path="net.py", budget=1e9)


def test_certificates_that_are_none(agent: Agent, tmp_path: Path) -> None:
    (agent.folder / "a.json").write_text("{}")
    (agent.folder / "b.json").write_bytes(b"\xff\x00")
    theirs = tmp_path / "c.json"
    theirs.write_text("{}")
    assert "not a dnnfix certificate" in agent.refusal("verify", certificate="a.json")
    assert "cannot be read" in agent.refusal("verify", certificate="b.json")
    assert "is no certificate" in agent.refusal("verify", certificate=".")
    assert "is outside of" in agent.refusal("verify", certificate=str(theirs))
    written: dict[str, Any] = {
        "schema": "dnnfix-certificate/1",
        "program": {"path": "/etc/hosts", "sha256": ""},
        "patch": {"diff": "diff a/hosts b/hosts\n"},
    }
    written["patch"]["sha256"] = digest(written["patch"]["diff"].encode())
    written |= {"findings": [], "seeds": [0], "sandbox": "none", "verdicts": [{"validator": "runs", "status": "pass"}]}
    written["budget"] = {"seconds": 1, "observed_steps": 1, "trained_steps": 1}
    (agent.folder / "a.json").write_text(json.dumps(written))
    assert "/etc/hosts: is outside of" in agent.refusal("verify", certificate="a.json")
    changes: tuple[dict[str, Any], ...] = ({"verdicts": []}, {"patch": {"diff": "", "sha256": digest(b"")}})
    for changed in changes:
        (agent.folder / "a.json").write_text(json.dumps({**written, **changed}))
        assert "proves nothing" in agent.refusal("verify", certificate="a.json")
    for odd in ("[" * 100_000, json.dumps({**written, "seeds": [float("inf")]})):
        (agent.folder / "a.json").write_text(odd)
        assert "internal" not in agent.refusal("verify", certificate="a.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["path", "budget", "script", "rule", "certificate", "sandbox"]) | st.text(max_size=8)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tool=st.sampled_from(["check", "suggest", "reproduce"]), arguments=st.dictionaries(NAMES, JSON, max_size=4))
def test_nonsense_is_refused(agent: Agent, tool: str, arguments: dict[str, Any]) -> None:
    """No argument of these names anything that is there."""
    path = arguments.get("path")
    if isinstance(path, str) and (path.strip("/. ") == "" or (agent.folder / path.replace("\0", "")).exists()):
        del arguments["path"]
    agent.refusal(tool, **arguments)
