"""`fix --select DNF5` on old programs: whole files in one patch, folders, and what could not be migrated with its reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix import pipeline
from tests.cli.programs import Call

OLD = """\
from keras.layers.core import Dense, Highway
from keras.models import Sequential
from keras.utils import np_utils

model = Sequential()
model.add(Dense(output_dim=4, input_dim=3))
model.add(Highway())
labels = np_utils.to_categorical([0, 1])
"""
NEW = """\
from keras.layers import Dense
from keras.layers.core import Highway
from keras.models import Sequential
from keras.utils import to_categorical

model = Sequential()
model.add(Dense(units=4, input_dim=3))
model.add(Highway())
labels = to_categorical([0, 1])
"""


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two old modules that no run reaches, and one of today."""
    monkeypatch.setattr(
        pipeline,
        "suggest_file",
        lambda raw, path, settings, progress, log, said: pipeline.check_file(raw, path, settings),
    )
    (folder / "old.py").write_text(OLD)
    (folder / "more").mkdir()
    (folder / "more" / "train.py").write_text("import keras\n\nkeras.Sequential().fit(x, y, nb_epoch=3)\n")
    (folder / "new.py").write_text("import keras\n\nlayer = keras.layers.Dense(3)\n")
    return folder


def test_a_folder_is_migrated_and_what_is_left_is_listed_with_its_reason(call: Call, repository: Path) -> None:
    said = call("fix", "--unsafe", "--unproven", "--select", "DNF5", ".")
    migrated = (repository / "old.py").read_text()
    assert sorted(migrated.splitlines()) == sorted(NEW.splitlines())
    assert (repository / "more" / "train.py").read_text().endswith("fit(x, y, epochs=3)\n")
    assert "Not migrated, 1 place:\n  old.py:" in said.out
    assert "DNF501 keras.layers.core.Highway" in said.out and "write a custom layer that computes" in said.out
    again = call("fix", "--unsafe", "--unproven", "--select", "DNF5", ".")
    assert (repository / "old.py").read_text() == migrated
    assert "Not migrated, 1 place:" in again.out


def test_a_program_that_could_not_be_run_is_only_migrated_when_that_is_asked_for(call: Call, repository: Path) -> None:
    said = call("fix", "--unsafe", "--select", "DNF5", "more/train.py")
    assert "nb_epoch=3" in (repository / "more" / "train.py").read_text()
    assert "more/train.py:3: DNF501" in said.out and "its patch was not proven" in said.out


def test_the_diff_holds_the_migration_and_the_list_stands_beside_it(call: Call, repository: Path) -> None:
    said = call("fix", "--unsafe", "--unproven", "--diff", "--select", "DNF5", "old.py")
    assert "Not migrated, 1 place:" in said.err and "Highway" in said.err
    assert (repository / "old.py").read_text() == OLD


def test_programs_of_today_have_no_such_list(call: Call, repository: Path) -> None:
    assert "Not migrated" not in call("fix", "--select", "DNF5", "new.py").out


def test_what_is_left_in_a_module_beside_the_program_is_listed_once(
    call: Call, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named where it lies, whether the program or the folder was named."""
    checked = pipeline.check_file
    beside = {"old.py": OLD.encode()}
    monkeypatch.setattr(
        pipeline,
        "suggest_file",
        lambda raw, path, settings, progress, log, said: replace(
            checked(raw, path, settings), modules=beside if path == "main.py" else {}
        ),
    )
    (repository / "main.py").write_text("import old\n\nold.model.fit(x, y, epochs=1)\n")
    said = call("fix", "--diff", "--select", "DNF5", "main.py")
    assert "  old.py:1: DNF501 keras.layers.core.Highway" in said.err
    assert "main.py:" not in said.err.partition("Not migrated")[2]
    said = call("fix", "--diff", "--select", "DNF5", ".")
    assert said.err.count("old.py:1: DNF501 keras.layers.core.Highway") == 1
