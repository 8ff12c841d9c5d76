"""Which lines failing and passing tests execute."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dnnfix.errors import InputError
from dnnfix.locate.spectra.spectrum import dstar, ochiai, run, spectrum, tarantula

TESTS = {
    "test_a": {"failed": True, "lines": {"a.py": [1, 2, 3]}},
    "test_b": {"failed": True, "lines": {"a.py": [1, 3]}},
    "test_c": {"failed": False, "lines": {"a.py": [1, 2], "b.py": [7]}},
}


def test_the_formulas_are_those_of_their_papers() -> None:
    seen = spectrum(TESTS)
    assert (seen.failed, seen.passed) == (2, 1)
    by = {name: seen.by(formula) for name, formula in (("o", ochiai), ("t", tarantula), ("d", dstar))}
    assert set(by["o"]) == {("a.py", 1), ("a.py", 2), ("a.py", 3)}  # no failing test executes b.py
    assert by["o"]["a.py", 3] == 1.0 and by["o"]["a.py", 1] == pytest.approx(2 / math.sqrt(6))
    assert by["t"]["a.py", 3] == 1.0 and by["t"]["a.py", 2] == pytest.approx(0.5 / 1.5)
    assert by["d"]["a.py", 3] == math.inf and by["d"]["a.py", 1] == 4.0


def project(folder: Path, assertion: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / "shop.py").write_text("def double(x):\n    if x < 0:\n        return x\n    return 2 * x\n")
    (folder / "test_shop.py").write_text(
        "import pytest\nfrom shop import double\n\n\ndef test_up():\n    assert double(2) == 4\n\n\n"
        f"def test_down():\n    assert {assertion}\n\n\n@pytest.mark.skip\ndef test_not():\n    assert False\n\n\n"
        "@pytest.mark.xfail\ndef test_expected():\n    assert False\n"
    )
    return folder


def test_the_lines_of_a_failing_test_are_found(tmp_path: Path) -> None:
    seen = run("python -m pytest -q", project(tmp_path / "shop", "double(-2) == -4"), 60.0)
    assert (seen.failed, seen.passed) == (1, 1)
    suspect = {line: score for line, score in seen.by(ochiai).items() if line[0] == "shop.py"}
    assert max(suspect, key=lambda line: suspect[line]) == ("shop.py", 3) and ("shop.py", 4) not in suspect
    assert not list((tmp_path / "shop").glob("*.json"))


def test_tests_of_unittest_count_as_they_end(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", "True")
    (folder / "test_old.py").write_text(
        "import unittest\nfrom shop import double\n\n\nclass TestDouble(unittest.TestCase):\n"
        "    def test_down(self):\n        self.assertEqual(double(-2), -4)\n\n"
        "    def test_skipped(self):\n        self.skipTest('not today')\n\n"
        "    @unittest.expectedFailure\n    def test_expected(self):\n        self.assertTrue(False)\n"
    )
    seen = run("python -m pytest -q", folder, 60.0)
    assert (seen.failed, seen.passed) == (1, 2)
    assert all(path.endswith(".py") for path, _ in seen.failing)


@pytest.mark.parametrize(
    ("command", "assertion", "said"),
    [
        ("python -m pytest -q", "True", "2 tests passed and none failed"),
        ("python -c 'print(1)'", "True", "no pytest ran to its end"),
        ("sleep 9", "True", "ran longer than 1 seconds"),
    ],
)
def test_what_shows_nothing_is_refused(tmp_path: Path, command: str, assertion: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(command, project(tmp_path / "shop", assertion), 1.0 if command.startswith("sleep") else 60.0)
