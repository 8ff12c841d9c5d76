"""Codes and names that rules had before: settings, comments and baselines that speak of them go on to mean the rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix import config, registry
from dnnfix.errors import DuplicateCodeError
from dnnfix.index import former, today
from dnnfix.records import Family, Finding, Site
from dnnfix.selectors import verify
from dnnfix.suppress import BaselineWriter, fingerprint, split

OLD, NEW = "DNF202", "DNF201"
FOUND = Finding(NEW, "layer-size-mismatch", Family.LAYER_DIMENSION, Site(2, 1, 2, 5), "too small")
TEXT = "import torch\ntorch.nn.Conv2d(1, 2, 3)\n"


def test_a_rule_is_found_by_what_it_was_called() -> None:
    rule = registry.template(NEW)
    assert rule is not None and rule.code == NEW
    assert all(registry.template(word) is rule for word in rule.formerly)
    assert today(OLD) == NEW and today("convolution-size-mismatch") == NEW and today("DNF999") == "DNF999"
    assert OLD in former(NEW) and not former("DNF302")


@pytest.mark.parametrize("selector", [OLD, "convolution-size-mismatch", NEW, "layer-size-mismatch", "DNF2"])
def test_selectors_mean_it(selector: str, tmp_path: Path) -> None:
    chosen = config.load(tmp_path, {"select": [selector]}, isolated=True)
    verify(chosen)
    assert chosen.enabled(NEW, "layer-size-mismatch") and not chosen.enabled("DNF301", "output-unfit-for-loss")
    ignored = config.load(tmp_path, {"ignore": [selector]}, isolated=True)
    assert not ignored.enabled(NEW, "layer-size-mismatch")
    by_path = replace(ignored, ignore=(), per_file_ignores=(("*.py", (selector,)),))
    assert not split([FOUND], TEXT, "program.py", by_path).kept


@pytest.mark.parametrize("selector", ["DNF451", "arguments-packed-together"])
def test_settings_may_name_a_rule_that_the_search_replaced(selector: str, tmp_path: Path) -> None:
    chosen = config.load(tmp_path, {"select": [selector], "ignore": [selector]}, isolated=True)
    verify(chosen)
    assert not chosen.enabled(NEW, "layer-size-mismatch") and registry.template(selector) is None
    assert not split([], TEXT.replace("3)", f"3)  # noqa: {selector}"), "program.py", chosen, {NEW}).unused


@pytest.mark.parametrize("codes", [OLD, NEW])
def test_comments_mean_it_and_are_not_called_unused_before_it_was_looked_for(codes: str, tmp_path: Path) -> None:
    settings = config.load(tmp_path, {}, isolated=True)
    text = TEXT.replace("3)", f"3)  # noqa: {codes}")
    assert not split([FOUND], text, "program.py", settings, {NEW}).kept
    assert len(split([], text, "program.py", settings, {NEW}).unused) == 1
    assert not split([], text, "program.py", settings, {"DNF301"}).unused


def test_what_a_baseline_knows_under_the_old_code_stays_known(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    writer = BaselineWriter(baseline)
    writer.add(str(tmp_path / "program.py"), [replace(FOUND, code=OLD)], TEXT)
    baseline.write_text(writer.text())
    assert fingerprint(OLD, 2, TEXT.split("\n")) in writer.text()
    settings = replace(config.load(tmp_path, {}, isolated=True), baseline=baseline)
    known = split([FOUND, FOUND], TEXT, str(tmp_path / "program.py"), settings)
    assert len(known.suppressed) == 1 and len(known.kept) == 1


def test_nobody_else_may_take_a_former_code(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from dnnfix.api import Family, FixPattern, FixTemplate\n"
        "class Own(FixTemplate):\n"
        '    code, name, message = "DNF202", "own-rule", "found"\n'
        "    family, fix_pattern = Family.DATA_TYPE, FixPattern.DATA_TYPE\n"
    )
    with pytest.raises(DuplicateCodeError, match="both claim DNF202"):
        registry.listed((tmp_path,))
