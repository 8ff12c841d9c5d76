"""What an agent is told of the tools, and those that run nothing."""

from __future__ import annotations

import json

import jsonschema
from mcp_types import Tool

from tests.cli.programs import FAULTY, HEALTHY
from tests.mcp.conftest import Agent

TAKEN = {
    "check": {"path"},
    "suggest": {"path", "budget"},
    "reproduce": {"path", "budget", "script"},
    "explain": {"rule"},
    "verify": {"certificate"},
}


def listed(agent: Agent) -> dict[str, Tool]:
    return {tool.name: tool for tool in agent.portal.call(agent.client.list_tools).tools}


def test_the_tools_and_what_they_take(agent: Agent) -> None:
    tools = listed(agent)
    assert {name: set(tool.input_schema["properties"]) for name, tool in tools.items()} == TAKEN
    for tool in tools.values():
        assert tool.title and tool.description and len(tool.description) > 100
        assert tool.annotations is not None and tool.annotations.read_only_hint and not tool.annotations.open_world_hint
        assert tool.input_schema["additionalProperties"] is False
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            for name, about in (schema or {})["properties"].items():
                assert about["description"], f"{tool.name}: {name} is not described"
    assert "git apply" in (agent.client.instructions or "")
    assert len(json.dumps([tool.model_dump(exclude_none=True) for tool in tools.values()])) < 20_000


def test_what_check_finds(agent: Agent) -> None:
    (agent.folder / "net.py").write_text(FAULTY)
    (agent.folder / "fine.py").write_text(HEALTHY)
    found = agent.answer("check", path="net.py")
    (one,) = found["findings"]
    assert (one["code"], one["path"], one["line"], one["cell"], one["nature"]) == ("DNF301", "net.py", 4, None, "fault")
    assert found["folder"] == str(agent.folder.resolve()) and found["programs"] == 1 and not found["left_out"]
    assert "nothing was run: `suggest` does that" in " ".join(found["unchecked"])
    fine = agent.answer("check", path=str(agent.folder / "fine.py"))
    assert not fine["findings"] and fine["unchecked"]
    whole = agent.answer("check", path=".")
    assert whole["programs"] == 2 and [one["code"] for one in whole["findings"]] == ["DNF301"]


def test_the_cell_of_a_finding(agent: Agent) -> None:
    cells = [{"cell_type": "markdown", "source": "#"}, {"cell_type": "code", "source": FAULTY}]
    (agent.folder / "cells.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (one,) = agent.answer("check", path="cells.ipynb")["findings"]
    assert (one["cell"], one["line"]) == (2, 4)


def test_a_folder_with_many_findings_is_told_in_part(agent: Agent) -> None:
    folder = agent.folder / "many"
    folder.mkdir()
    for number in range(25):
        (folder / f"net{number}.py").write_text(FAULTY + f"# {number}\n")
    found = agent.answer("check", path="many")
    assert found["programs"] == 25 and len(found["findings"]) == 20
    assert found["left_out"][0].startswith("5 findings")


def test_the_story_of_a_rule(agent: Agent) -> None:
    told = agent.answer("explain", rule="output-unfit-for-loss")
    assert told["code"] == "DNF301" and "Fix safety" in told["story"] and "```diff" in told["story"]
    assert len(told["story"]) <= 6000 and "dnnfix explain DNF301" in told["left_out"][0]
    assert agent.answer("explain", rule="DNF901")["name"] == "unexplained-crash"


def test_settings_of_the_folder_count(agent: Agent) -> None:
    folder = agent.folder / "quiet"
    folder.mkdir()
    (folder / "net.py").write_text(FAULTY)
    (folder / "dnnfix.toml").write_text('ignore = ["DNF301"]\n')
    assert not agent.answer("check", path="quiet/net.py")["findings"]
    (folder / "rules").mkdir()
    (folder / "rules" / "mine.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    (folder / "dnnfix.toml").write_text('templates = ["rules"]\n')
    assert agent.answer("check", path="quiet/net.py")["findings"]
    assert not (folder / "ran").exists(), "a rule is a program, and runs only where --local-rules says so"
    ran = folder / "ran.sh"
    ran.write_text(f'#!/bin/sh\ntouch {folder / "ran"}\nexec python3 "$@"\n')
    ran.chmod(0o755)
    (folder / "old.py").write_text("import numpy as np\nx = np.zeros(3, dtype=np.int)\nprint(x)\n")
    moved = {"python": "./ran.sh", "baseline-python": "./ran.sh", "test-command": "./ran.sh", "cache-dir": "moved"}
    (folder / "dnnfix.toml").write_text("".join(f'{name} = "{value}"\n' for name, value in moved.items()))
    assert [one["verdict"] for one in agent.answer("suggest", path="quiet/old.py")["programs"][0]["patches"]] == [
        "accepted"
    ]
    assert not (folder / "ran").exists() and not (folder / "moved").exists()
    (folder / "dnnfix.toml").write_text('sandbox = "none"\n')
    assert "command line only" in agent.refusal("check", path="quiet/net.py")
