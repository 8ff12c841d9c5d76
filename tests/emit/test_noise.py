"""What the table of noise says, and that rules which were wrong too often are off by default."""

from __future__ import annotations

from dnnfix import registry
from dnnfix.emit import noise
from dnnfix.emit.noise import ALL, Noise


def test_rules_that_were_wrong_too_often_are_off_by_default() -> None:
    loud = [code for code, counted in noise.table().items() if counted.is_too_loud]
    assert [t.code for t in registry.templates() if t.code in loud and t.default] == []


def test_the_table_is_about_rules_that_there_are_and_many_files() -> None:
    codes = {template.code for template in registry.templates()} | {ALL}
    assert set(noise.table()) <= codes | {"DNF907", "DNF901", "DNF900"} and noise.table()[ALL].files >= 1500
    assert all(0 <= one.true <= one.read for one in noise.table().values())


def test_enough_have_to_be_read_before_a_rule_is_too_loud() -> None:
    assert Noise(40, 20, 17).is_too_loud and not Noise(40, 20, 18).is_too_loud and not Noise(40, 10, 2).is_too_loud


def test_in_words() -> None:
    files = noise.table()[ALL].files
    assert noise.in_words("DNF000") == f"In {files} public files: fires in none."
    assert noise.in_words("LAB101") == ""
    told = next(code for code, one in noise.table().items() if code != ALL and one.files)
    assert noise.in_words(told).startswith(f"In {files} public files: fires in {noise.noise(told).files} (")
