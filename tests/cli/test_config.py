"""The four steps of the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.config import Settings, freeze, load, locate, matches, merge, read
from dnnfix.errors import ConfigError


def test_nearest_wins(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "dnnfix.toml").write_text('ignore = ["DNF1"]')
    assert locate(inner) == tmp_path / "dnnfix.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.black]\n")
    assert locate(inner) == tmp_path / "dnnfix.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.dnnfix]\nbudget = 5\n")
    assert locate(inner) == tmp_path / "a" / "pyproject.toml"
    (inner / "dnnfix.toml").write_text("")
    assert locate(inner) == inner / "dnnfix.toml"


def test_command_line_over_file(tmp_path: Path) -> None:
    (tmp_path / "dnnfix.toml").write_text(
        'select = ["DNF1"]\nbudget = 5\nseed = 3\n[per-file-ignores]\n"t/*" = ["DNF2"]\n'
    )
    settings = load(tmp_path, {"select": ["DNF3"], "seed": None})
    assert (settings.select, settings.budget, settings.seed) == (("DNF3",), 5.0, 3)
    assert settings.per_file_ignores == (("t/*", ("DNF2",)),)
    assert settings.root == tmp_path


def test_paths_are_relative_to_whoever_gave_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "dnnfix.toml").write_text('templates = ["rules"]\nbaseline = "base.json"\n')
    settings = load(tmp_path, {"baseline": "mine.json"})
    assert settings.templates == (tmp_path / "rules",)
    assert settings.baseline == tmp_path / "here" / "mine.json"


def test_isolated_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "dnnfix.toml").write_text("nonsense")
    assert load(tmp_path, {}, isolated=True) == Settings(root=Path.cwd())


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"selct": ["DNF1"]}, "unknown setting `selct`. Did you mean `select`?"),
        ({"zzz": 1}, "Known are: arguments, baseline"),
        ({"select": "DNF1"}, "`select` has to be a list of texts. Received: 'DNF1'"),
        ({"select": ["DNF-1"]}, "`DNF-1`, which is no code"),
        ({"budget": 0}, "above 0"),
        ({"budget": True}, "above 0"),
        ({"budget": float("nan")}, "above 0"),
        ({"seed": -1}, "at least 0"),
        ({"jobs": 0}, "at least 1"),
        ({"device": "tpu"}, "one of auto, cpu, cuda"),
        ({"sandbox": "docker"}, "one of auto, bubblewrap, limits, none"),
        ({"sandbox": "none"}, "needs --trust"),
        ({"output-format": "xml"}, "one of text"),
        ({"per-file-ignores": ["a"]}, "has to be a table"),
        ({"unsafe-fixes": "yes"}, "true or false"),
        ({"test-command": " "}, "not empty"),
        ({"arguments": 3}, "a list of words"),
        ({"arguments": "--name 'open"}, "No closing quotation"),
    ],
)
def test_wrong_settings_say_what_to_do(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        freeze(table, Path())
    assert said in str(error.value)
    assert "Received" in str(error.value) or "unknown setting" in str(error.value)


def test_settings_with_underscores_are_the_same() -> None:
    assert merge({"test_command": "a"}, {"extend_select": ["DNF1"]}) == {"test-command": "a", "extend-select": ["DNF1"]}


@pytest.mark.parametrize("text", ["trust = true", 'sandbox = "none"', 'sandbox = "limits"'])
def test_a_repository_cannot_lower_its_guard(tmp_path: Path, text: str) -> None:
    (tmp_path / "dnnfix.toml").write_text(text)
    with pytest.raises(ConfigError, match="command line only"):
        load(tmp_path, {"trust": True})


@pytest.mark.parametrize("text", ["a = [", "\xff"])
def test_broken_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "dnnfix.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="not valid TOML"):
        read(tmp_path / "dnnfix.toml")


def test_tool_dnnfix_has_to_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ndnnfix = 3\n")
    with pytest.raises(ConfigError, match="has to be a table"):
        load(tmp_path, {})


@pytest.mark.parametrize(
    ("settings", "on"),
    [
        (Settings(), True),
        (Settings(select=("DNF3",)), True),
        (Settings(select=("DNF4",)), False),
        (Settings(select=("softmax-twice",)), True),
        (Settings(select=("ALL",), ignore=("DNF3",)), False),
        (Settings(select=("DNF302",), ignore=("DNF3",)), True),
        (Settings(select=("DNF3",), ignore=("DNF302",)), False),
        (Settings(ignore=("DNF3",), extend_select=("DNF302",)), True),
        (Settings(ignore=("softmax-twice",)), False),
    ],
)
def test_the_more_specific_selector_wins(settings: Settings, on: bool) -> None:
    assert settings.enabled("DNF302", "softmax-twice") is on


def test_off_by_default_needs_to_be_selected() -> None:
    assert not Settings().enabled("DNF901", "noisy", default=False)
    assert Settings(extend_select=("DNF9",)).enabled("DNF901", "noisy", default=False)
    assert Settings(select=("ALL",)).enabled("DNF901", "noisy", default=False)
    assert Settings(extend_select=("DNF9",)).enabled("DNF301", "x")


@pytest.mark.parametrize(
    ("settings", "on"),
    [
        (Settings(), {"default"}),
        (Settings(select=("recommended",)), {"default"}),
        (Settings(select=("silent",)), {"silent"}),
        (Settings(select=("strict",)), {"default", "silent", "opinion"}),
        (Settings(extend_select=("silent",)), {"default", "silent"}),
        (Settings(select=("strict",), ignore=("silent",)), {"default", "opinion"}),
        (Settings(select=("silent",), ignore=("DNF302",)), set()),
        (Settings(select=("silent", "DNF302"), ignore=("silent",)), {"default", "silent", "opinion"}),
    ],
)
def test_presets_select_by_what_a_rule_is(settings: Settings, on: set[str]) -> None:
    rules = {"default": (True, False), "silent": (False, True), "opinion": (False, False)}
    assert {kind for kind, said in rules.items() if settings.enabled("DNF302", "softmax-twice", *said)} == on


def test_rule_files_lie_below_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "one.toml").write_text("")
    (tmp_path / "rules" / "other.py").write_text("")
    settings = freeze({"rules": ["rules/*"], "templates": ["mine"]}, tmp_path)
    assert settings.rules == (tmp_path / "rules" / "one.toml",)
    assert settings.own_rules == (tmp_path / "mine", tmp_path / "rules" / "one.toml")


@pytest.mark.parametrize(
    ("pattern", "said"), [("../*.toml", "leads out"), ("/etc/*.toml", "leads out"), ("none/*.toml", "no .toml file")]
)
def test_of_rule_files_that_are_none_it_is_said(tmp_path: Path, pattern: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        freeze({"rules": [pattern]}, tmp_path)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outer.toml").write_text("")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.toml").symlink_to(tmp_path / "outer.toml")
    with pytest.raises(ConfigError, match="leads out"):
        freeze({"rules": ["*.toml"]}, inner)


def test_fixable() -> None:
    assert Settings().may_fix("DNF302", "x")
    assert not Settings(unfixable=("DNF3",)).may_fix("DNF302", "x")
    assert not Settings(fixable=("DNF4",)).may_fix("DNF302", "x")
    assert matches("DNF3", "DNF302", "x") and not matches("DNF3", "DNF401", "x")


def test_fingerprint_ignores_what_changes_no_finding() -> None:
    assert Settings(jobs=3, seed=1).fingerprint() == Settings().fingerprint()
    assert Settings(ignore=("DNF3",)).fingerprint() != Settings().fingerprint()


def test_tier() -> None:
    assert Settings().tier is None
    assert Settings(sandbox="limits").tier == "limits"
