"""What rules have earned: the table is of this catalogue, and the words for it say what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.emit import earned as module
from dnnfix.emit.earned import ALL, Earned, earned, in_words, table
from dnnfix.records import OF_SYMPTOMS

ROOT = Path(__file__).parents[2]


def test_the_table_counts_programs_of_rules_that_there_are() -> None:
    codes = {one.code for one in registry.listed()} | {code for code, _ in OF_SYMPTOMS}
    assert set(table()) - {ALL} <= codes
    every = table()[ALL]
    for code, own in table().items():
        assert own.right + own.wrong <= own.accepted <= own.faulty <= every.faulty, code
        assert own.sound <= every.sound, code


@pytest.mark.parametrize(
    ("own", "word"),
    [
        (Earned(), "medium"),
        (Earned(faulty=3), "medium"),
        (Earned(faulty=12, accepted=11, right=9, wrong=1), "high"),
        (Earned(faulty=3, accepted=3, right=2, wrong=1), "medium"),
        (Earned(faulty=1, accepted=1, right=1, sound=2), "low"),
        (Earned(sound=1), "low"),
    ],
)
def test_precision_is_the_share_of_what_was_right(own: Earned, word: str) -> None:
    assert own.precision == word


def test_the_words_say_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {ALL: Earned(20, 9, 8, 0, 30), "DNF302": Earned(4, 3, 2, 1, 5)}
    monkeypatch.setattr(module, "table", lambda: counted)
    assert earned("DNF302") is counted["DNF302"]
    said = "In the last replay of the benchmark: found in 4 of 20 faulty programs, 3 with an accepted patch of it (2 right, 1 wrong), and in 5 of 30 sound ones."
    assert in_words("DNF302") == said
    assert in_words("DNF101") == "In the last replay of the benchmark: not seen in 20 faulty and 30 sound programs."
    assert in_words("ACME101") == ""  # the rule of somebody else, which nobody counted


def test_reports_of_trials_on_sound_programs_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, codes in (("a", ["DNF302", "DNF302"]), ("b", []), ("c", ["DNF302", "DNF501"])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"findings": [{"code": code} for code in codes]}))
    counts = (
        "import sys; sys.path.insert(0, 'tools'); from earned import counted; from pathlib import Path;"
        "print({code: own.sound for code, own in counted([], [Path(sys.argv[1])]).items()})"
    )
    done = subprocess.run(
        (sys.executable, "-c", counts, str(tmp_path)), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'DNF302': 2, 'DNF501': 1, 'all': 3}\n"
