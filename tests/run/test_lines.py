"""The statements of a program that ran are told, those of processes that it forks included, and the program stays as it is."""

from __future__ import annotations

from dataclasses import replace

from dnnfix.run.job import Budget, Experiment, Job
from dnnfix.run.runner import Runner
from dnnfix.validate.reach import ran_in, seen_to_run

PROGRAM = '''"""What it is."""
from __future__ import annotations

import os
import helper


def documented(flag):
    """Tells."""
    if flag:
        return 1
    return 2


def forked():
    return 3


class Net:
    """A net."""

    def never(self):
        return 4


if documented(False) == 2 and __doc__ == "What it is." and documented.__doc__ == "Tells." and Net.__doc__ == "A net.":
    print("as it is")
for number in range(2):
    try:
        raise ValueError(number)
        print("behind")
    except ValueError:
        pass
child = os.fork()
if child == 0:
    forked()
    os._exit(0)
os.waitpid(child, 0)
'''
HELPER = "def used():\n    return 1\n\n\ndef unused():\n    return 2\n\n\nused()\n"


def test_statements_that_ran_are_told_by_file(runner: Runner) -> None:
    job = Job("program.py", PROGRAM.encode(), 0, Budget(seconds=10.0), beside=(("helper.py", HELPER.encode()),))
    silent = runner.run(job)
    assert "lines" not in silent.probes
    trace = runner.run(replace(job, experiments=(Experiment.LINES,)))
    assert trace.printed == silent.printed == "as it is\n"
    lines = ran_in(trace)
    assert lines is not None
    ran = {PROGRAM.split("\n")[line - 1].strip() for line in lines[""]}
    assert {"if flag:", "return 2", "return 3", "pass", "raise ValueError(number)", "os.waitpid(child, 0)"} <= ran
    assert ran.isdisjoint({"return 1", "return 4", 'print("behind")'})
    assert lines["helper.py"] == {1, 2, 5, 9}


def test_what_ran_of_a_program_of_tensorflow_is_told_under_another_name(runner: Runner) -> None:
    program = b"import sys\n\n\ndef compiled():\n    return 1\n\n\nsys.modules['tensorflow'] = sys\nprint(2)\n"
    trace = runner.run(Job("program.py", program, 0, Budget(seconds=10.0), experiments=(Experiment.LINES,)))
    assert ran_in(trace) is None
    assert seen_to_run(trace) == {"": frozenset({1, 4, 8, 9})}
