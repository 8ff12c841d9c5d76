"""The log of symptoms: what is written is read, and what cannot be used is an error that names the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix.errors import InputError
from dnnfix.records import Symptom
from dnnfix.validate.reading import Reading
from dnnfix.watching.log import LogWriter, Seen, read_log

DEAD = Seen(300, Reading("dead-units", "it is dead", Symptom.NOT_LEARNING, {"share": 1.0}), "layers.1", "train.py", 7)
LOST = Seen(200, Reading("non-finite", "it is lost", Symptom.NON_FINITE, {"loss": float("nan")}))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("train()\n")
    return path


@pytest.fixture
def log(tmp_path: Path, program: Path) -> Path:
    path = tmp_path / "symptoms.jsonl"
    writer = LogWriter(path, str(program), "torch", "Net")
    writer.add(DEAD)
    writer.add(LOST)
    writer.end(400, 0.01)
    return path


def test_what_is_written_is_read_in_order(log: Path, program: Path) -> None:
    read = read_log(log)
    assert [seen.step for seen in read.seen] == [200, 300]
    assert read.seen[1] == DEAD
    assert read.seen[0].reading.numbers == {"loss": "nan"}, "JSON has no such number"
    assert (read.steps, read.framework, read.program) == (400, "torch", str(program))


def test_only_the_last_run_counts_and_all_its_models(log: Path, program: Path) -> None:
    lines = log.read_text().splitlines()
    earlier = [json.dumps({**json.loads(line), "run": "earlier"}) for line in lines]
    log.write_text("\n".join([*earlier, *lines]) + "\n")
    second = LogWriter(log, str(program), "torch", "Other")
    second.add(DEAD)
    assert len(read_log(log).seen) == 3


def test_of_several_programs_that_write_one_log_the_one_that_is_meant_counts(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("train(2)\n")
    second = json.loads(log.read_text().splitlines()[0]) | {"program": str(other), "run": "later"}
    log.write_text(log.read_text() + json.dumps(second) + "\n")
    assert read_log(log).program == read_log(log, "unknown.py").program == str(other)
    assert len(read_log(log, "elsewhere/train.py").seen) == 2 and not read_log(log, "other.py").seen


def test_a_run_that_was_killed_is_read(log: Path) -> None:
    log.write_text("".join(log.read_text().splitlines(True)[:-1]))
    assert read_log(log).steps == 300


def test_a_log_belongs_to_its_program(log: Path, program: Path) -> None:
    read = read_log(log)
    read.verify(program.read_bytes(), "elsewhere/renamed.py")
    with pytest.raises(InputError, match=r"symptoms.jsonl: the run was one of .*train.py, not of other.py"):
        read.verify(b"other()\n", "other.py")
    with pytest.raises(InputError, match="train.py was changed since that run. Train again"):
        read.verify(b"train(1)\n", "folder/train.py")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ('{"run": 3}', "expected a string `run`"),
        ('{"step": -1, "symptom": "flat", "kind": "not-learning"}', "`said`"),
        ('{"symptom": "flat", "kind": "odd"}', "unknown kind of symptom"),
        ('{"schema": "dnnfix-symptoms/9", "run": "x"}', "expected the schema dnnfix-symptoms/1"),
    ],
)
def test_a_broken_line_is_named(log: Path, line: str, said: str) -> None:
    run = json.loads(log.read_text().splitlines()[0])["run"]
    if line.startswith('{"s') and "schema" not in line:
        line = json.dumps({"numbers": {}, **json.loads(line), "run": run})
    log.write_text(log.read_text() + line + "\n")
    if line == '{"run": 3}':
        line = json.dumps({**json.loads(log.read_text().splitlines()[0]), "run": 3})
        log.write_text("".join(log.read_text().splitlines(True)[:-1]) + line + "\n")
    with pytest.raises(InputError, match=r"symptoms.jsonl:5: broken line in the log of symptoms: ") as caught:
        read_log(log)
    assert said in str(caught.value)


def test_what_is_no_log_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    with pytest.raises(InputError, match="cannot be read"):
        read_log(path)
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_log(path)
    path.write_text('{"step": 3}\n')
    with pytest.raises(InputError, match=":1: .*expected a first line"):
        read_log(path)
