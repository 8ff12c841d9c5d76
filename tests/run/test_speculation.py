"""Edits are tried where a program stopped: in its live frames, inside the sandbox, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dnnfix.records import RunOutcome, Trace
from dnnfix.run.job import Budget, Job, Speculation, TextEdit, Trying
from dnnfix.run.runner import Runner

BRANCHES = """\
import random

STORED = []


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, values):
        parts = list(values)
        STORED.append(len(parts))
        scaled = [part * self.by for part in parts]
        return sum(scaled) / len(scaled)


def load(size):
    random.seed(size)
    return [random.random() for _ in range(size)]


def main():
    data = load(4)
    scale = Scale("2")
    total = 0
    for _ in range(2):
        total = scale(data) + total
    print("total", round(total, 3))


main()
print("end")
"""


def edit(program: str, old: str, new: str, score: float = 0.0) -> Trying:
    """An edit of the one place where `old` stands."""
    before, _, _ = program.partition(old)
    assert program.count(old) == 1
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Trying((TextEdit("", (line, column), (line, column + len(old)), new),), score=score)


def speculate(
    runner: Runner, program: str, *edits: Trying, within: float = 100.0
) -> tuple[list[dict[str, Any]], Trace]:
    """What came of each edit, and the trace of the run."""
    job = Job("program.py", program.encode(), budget=Budget(seconds=30), speculation=Speculation(edits, 15.0, within))
    trace = runner.run(job)
    told: Any = trace.probes.get("speculation")
    return [] if told is None else list(told), trace


def test_an_edited_statement_is_run_in_its_frame_and_what_follows_it_too(runner: Runner) -> None:
    told, trace = speculate(
        runner,
        BRANCHES,
        edit(BRANCHES, "part * self.by", "part * float(self.by)"),
        edit(BRANCHES, "part * self.by", "part + self.by"),
        edit(BRANCHES, "part * self.by", "str(part)"),
    )
    assert trace.outcome is RunOutcome.CRASHED
    assert [one["ok"] for one in told] == [True, False, True]
    assert "error" not in told[0]
    assert told[1]["error"][0] == "TypeError"
    assert told[2]["error"][0] == "TypeError", "the sum of texts behind it fails"


def test_an_edit_of_what_made_an_object_makes_it_anew(runner: Runner) -> None:
    right, wrong = speculate(
        runner, BRANCHES, edit(BRANCHES, 'Scale("2")', "Scale(2)"), edit(BRANCHES, "self.by = by", "self.by = [by]")
    )[0]
    assert right["ok"]
    assert "error" not in right
    assert "error" in wrong


def test_code_elsewhere_in_a_function_on_the_way_is_exchanged(runner: Runner) -> None:
    (told,), _ = speculate(runner, BRANCHES, edit(BRANCHES, "list(values)", "[0 for _ in values]; self.by = 3"))
    assert told["ok"]
    assert "error" not in told


CARRIED = """\
def join(kept, value):
    return kept + value, value


def follow(values):
    kept = 0
    for value in values:
        kept = join(kept, value)
    return kept


print(follow([1, 2, 3]))
"""

FORGETFUL = """\
rows = iter([1, 2, "3", 4])


def ahead(by):
    row = next(rows)
    return row * by


total = 0
for _ in range(4):
    total = total + ahead(1.5)
"""


def test_a_loop_is_run_from_its_beginning_where_an_earlier_round_made_what_failed(runner: Runner) -> None:
    right, wrong = speculate(
        runner,
        CARRIED,
        edit(CARRIED, "kept = join(kept, value)", "kept, _ = join(kept, value)"),
        edit(CARRIED, "kept = join(kept, value)", "kept = join(kept, 2 * value)"),
    )[0]
    assert right["ok"]
    assert right["plan"] == "again"
    assert "error" not in right
    assert wrong["error"][0] == "TypeError"


def test_a_statement_that_holds_as_it_is_proves_no_edit(runner: Runner) -> None:
    told, unchanged = speculate(
        runner, FORGETFUL, edit(FORGETFUL, "ahead(1.5)", "ahead(2.5)"), edit(FORGETFUL, "row * by", "float(row) * by")
    )[0]
    assert "print" not in told, "the statement alone would have taken the next row"
    assert unchanged["ok"], "the function's own statement has its row still"


def test_edits_that_come_to_the_same_have_the_same_print(runner: Runner) -> None:
    program = "values = [1, 2]\nother = values + 3\nprint(other)\n"
    told, _ = speculate(
        runner,
        program,
        edit(program, "values + 3", "values + [3]"),
        edit(program, "values + 3", "[*values, 3]"),
        edit(program, "values + 3", "values"),
    )
    assert told[0]["print"] == told[1]["print"] != told[2]["print"]


def test_what_is_much_less_likely_than_one_that_holds_is_not_tried(runner: Runner) -> None:
    program = "value = 1 + '1'\n"
    many = [edit(program, "'1'", str(n), score=-float(n)) for n in range(120)]
    told, _ = speculate(runner, program, *many, within=2.0)
    assert told[0]["ok"]
    assert told[-1] == {}


def test_an_edit_that_hangs_or_dies_costs_itself_alone(runner: Runner) -> None:
    program = "import os, time\nvalue = 1 + '1'\nprint(value)\n"
    told, _ = speculate(
        runner,
        program,
        edit(program, "'1'", "os._exit(3)"),
        edit(program, "'1'", "time.sleep(60)"),
        edit(program, "'1'", "os.kill(os.getpid(), 11)"),
        edit(program, "'1'", "1"),
    )
    assert [bool(one.get("ok")) for one in told] == [False, False, False, True]


EFFECTS = """\
import os
import random

random.seed(3)
kept = [random.random()]
with open("notes.txt", "w") as stream:
    stream.write("one")
print("before")


def note(value):
    print("noted", value)
    kept.append(random.random())
    with open("notes.txt", "a") as stream:
        stream.write(str(value))
    return value


import atexit


@atexit.register
def tell():
    print("at the end", len(kept), random.random(), len(os.listdir("/proc/self/task")))


note(1) + "1"
"""


@pytest.fixture(scope="module")
def plain(runner: Runner) -> Iterator[Trace]:
    """The run of the program with side effects in which nothing is tried."""
    yield runner.run(Job("program.py", EFFECTS.encode(), budget=Budget(seconds=30)))


def test_a_program_with_side_effects_is_not_changed(runner: Runner, plain: Trace) -> None:
    # Files are written, in a scratch folder that is thrown away with the run.
    told, trace = speculate(runner, EFFECTS, *[edit(EFFECTS, '+ "1"', f"+ {n}") for n in range(40)])
    assert all(one["ok"] for one in told)

    def ended(printed: str) -> list[str]:
        words = printed.strip().splitlines()
        return [
            *words[:-1],
            *words[-1].split()[:5],
        ]  # what is written to files is written, in a folder that is thrown away

    assert ended(trace.printed) == ended(plain.printed)
    assert trace.printed.count("noted") == 1


def test_nothing_is_left_behind(runner: Runner) -> None:
    program = "import subprocess, sys, time\nvalue = 1 + '1'\n"
    code = 'str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]).pid)'
    _, trace = speculate(runner, program, edit(program, "'1'", f"len({code})"))
    assert trace.outcome is RunOutcome.CRASHED
    assert trace.seconds < 25


def test_the_network_is_as_far_away_as_for_the_program(runner: Runner) -> None:
    program = "import socket\nvalue = 1 + '1'\n"
    (told,), _ = speculate(
        runner, program, edit(program, "'1'", "len(socket.create_connection(('198.51.100.1', 80), 2).getpeername())")
    )
    assert told["ok"] is False
    assert told["error"][0] in ("OSError", "PermissionError", "TimeoutError")


def test_what_was_in_reach_is_told(runner: Runner) -> None:
    trace = runner.run(Job("program.py", BRANCHES.encode(), budget=Budget(seconds=30), speculation=Speculation()))
    survey: Any = trace.probes["survey"]
    assert [frame["function"] for frame in survey["frames"]] == ["<module>", "main", "__call__"]
    inner = survey["frames"][-1]
    assert inner["names"]["parts"]["size"] == 4
    assert inner["names"]["self.by"]["text"] == "2"
    assert survey["frames"][1]["names"]["total"]["number"] == 0


HALVES = """\
import torch

weights = torch.ones(3, dtype=torch.bfloat16)
turned = torch.tensor([1j]).conj()
scaled = weights * "2"
print(scaled.sum(), turned)
"""


def test_values_that_numpy_does_not_have_are_no_reason_to_refuse_an_edit(torch_runner: Runner) -> None:
    (told,), _ = speculate(torch_runner, HALVES, edit(HALVES, 'weights * "2"', "weights * 2"))
    assert told["ok"] and "error" not in told
