"""The caps on calls and costs: they hold whatever happens, for all processes with one folder."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dnnfix.proposer.ledger import PERIOD, CapReached, Ledger
from tests.proposer.asking import endpoint

HERE = "http://127.0.0.1:1/v1"
ROOT = Path(__file__).parents[2]


def test_calls_end_at_the_cap(tmp_path: Path) -> None:
    ledger, model = Ledger(tmp_path / "deep" / "calls.sqlite"), endpoint(HERE, max_calls=2)
    for _ in range(2):
        with ledger.call(model, 0.0):
            pass
    with pytest.raises(CapReached, match="`max-calls` is 2"), ledger.call(model, 0.0):
        pytest.fail("a third call was allowed")
    assert ledger.spent() == (2, 0.0)


def test_no_calls_are_no_calls(tmp_path: Path) -> None:
    with pytest.raises(CapReached), Ledger(tmp_path / "calls").call(endpoint(HERE, max_calls=0), 0.0):
        pytest.fail("a call was allowed")


def test_what_a_call_may_cost_is_set_aside_before_it_is_made(tmp_path: Path) -> None:
    ledger, model = Ledger(tmp_path / "calls"), endpoint(HERE, max_cost=1.0, prices=(1.0, 1.0))
    with ledger.call(model, 0.6) as entry:
        assert ledger.spent() == (1, 0.6)
        with pytest.raises(CapReached, match="`max-cost` is 1 dollars"), ledger.call(model, 0.5):
            pytest.fail("a call was allowed")
        entry.cost = 0.2
    assert ledger.spent() == (1, 0.2)
    with ledger.call(model, 0.8):
        pass


def test_a_call_that_fails_counts_as_what_was_set_aside(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls")
    with pytest.raises(ZeroDivisionError), ledger.call(endpoint(HERE), 0.4):
        raise ZeroDivisionError
    assert ledger.spent() == (1, 0.4)


def test_calls_of_another_day_are_forgotten(tmp_path: Path) -> None:
    ledger, model = Ledger(tmp_path / "calls"), endpoint(HERE, max_calls=1, max_cost=1.0, prices=(1.0, 1.0))
    with ledger.call(model, 1.0):
        pass
    with closing(sqlite3.connect(ledger.path)) as base, base:
        base.execute("UPDATE call SET time = time - ?", (PERIOD - 60,))
    with pytest.raises(CapReached), ledger.call(model, 0.1):
        pytest.fail("the day is not over")
    with closing(sqlite3.connect(ledger.path)) as base, base:
        base.execute("UPDATE call SET time = time - 120")
    with ledger.call(model, 0.1):
        pass
    assert ledger.spent() == (1, 0.1)


CALLER = """
import sys, time
from pathlib import Path
from dnnfix.endpoint import Endpoint
from dnnfix.proposer.ledger import CapReached, Ledger
folder, ended = Path(sys.argv[1]), 0
model = Endpoint("http://127.0.0.1:1/v1", "m", max_calls=int(sys.argv[2]), max_cost=float(sys.argv[3]), prices=(1.0, 1.0))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    try:
        with Ledger(folder / "calls.sqlite").call(model, 0.25) as entry:
            print("call", flush=True)
            time.sleep(float(sys.argv[4]))
            entry.cost = 0.125
    except CapReached:
        break
"""


def callers(folder: Path, number: int, calls: int, cost: float, seconds: float) -> list[subprocess.Popen[str]]:
    """Processes that call as often as they may, from the same moment on."""
    argv = [sys.executable, "-c", CALLER, str(folder), str(calls), str(cost), str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(number)
    ]
    for each in made:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    for each in made:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return made


@pytest.mark.parametrize(("calls", "cost", "made"), [(7, 100.0, 7), (1000, 1.0, 7)])
def test_caps_hold_for_processes_that_call_at_once(tmp_path: Path, calls: int, cost: float, made: int) -> None:
    """Each call costs an eighth of a dollar and sets aside a quarter: the eighth call would need 1.125."""
    said = [process.communicate(timeout=60)[0] for process in callers(tmp_path, 4, calls, cost, 0.0)]
    assert sum(text.count("call") for text in said) <= made
    number, spent = Ledger(tmp_path / "calls.sqlite").spent()
    assert number == sum(text.count("call") for text in said) and spent == number / 8
    assert number == made or cost < 100.0


def test_a_killed_process_has_spent_what_it_set_aside(tmp_path: Path) -> None:
    (process,) = callers(tmp_path, 1, 2, 100.0, 60.0)
    assert process.stdout is not None and process.stdout.readline() == "call\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    ledger, model = Ledger(tmp_path / "calls.sqlite"), endpoint(HERE, max_calls=2)
    assert ledger.spent() == (1, 0.25)
    with ledger.call(model, 0.0):
        pass
    with pytest.raises(CapReached), ledger.call(model, 0.0):
        pytest.fail("a third call was allowed")


def broken(folder: Path) -> Path:
    (folder / "calls").write_bytes(b"no database, but long enough to be taken for one" * 50)
    return folder / "calls"


def folder_in_its_place(folder: Path) -> Path:
    (folder / "calls").mkdir()
    return folder / "calls"


def file_for_the_folder(folder: Path) -> Path:
    (folder / "model").write_text("a file")
    return folder / "model" / "calls"


def another_table(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "calls")) as base, base:
        base.execute("CREATE TABLE call (something TEXT)")
    return folder / "calls"


def locked_read_only(folder: Path) -> Path:
    path = folder / "calls"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE other (a)")
    path.chmod(0o400)
    folder.chmod(0o500)
    return path


@pytest.mark.parametrize("made", [broken, folder_in_its_place, file_for_the_folder, another_table, locked_read_only])
def test_where_nothing_can_be_counted_no_call_is_made(tmp_path: Path, made: object) -> None:
    assert callable(made)
    path = made(tmp_path)
    if made is locked_read_only and os.access(path, os.W_OK):
        pytest.skip("this user may write what is read-only")
    with pytest.raises(OSError, match="the calls of the model") as raised, Ledger(path).call(endpoint(HERE), 0.0):
        pytest.fail("a call was allowed")
    assert str(path.parent) in str(raised.value)


def test_a_ledger_that_breaks_during_a_call_loses_no_answer(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "model" / "calls")
    with ledger.call(endpoint(HERE), 0.0) as entry:
        ledger.path.unlink()
        ledger.path.parent.rmdir()
        ledger.path.parent.write_text("a file")
        entry.cost = 1.0
