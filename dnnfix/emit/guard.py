"""The text of a guard test: a small pytest file that fails while a repaired fault is in a program, and passes once it is gone."""

from __future__ import annotations

import re
from collections.abc import Sequence

BUDGET = 60
"""Seconds that a guard gives the program."""


def name_of(stem: str, codes: Sequence[str]) -> str:
    """The file that guards a program against faults of some rules: the name has both."""
    return f"test_{_word(stem)}_{'_'.join(code.lower() for code in codes)}.py"


def text(program: str, up: int, rules: Sequence[tuple[str, str]], reads_only: bool, as_class: bool) -> str:
    """The test of a program at the path `program` below the folder that lies `up` above the test.

    `rules` are the codes and names of what was repaired. Where `reads_only`, the source alone shows the fault, and the program is not
    run. With `as_class` the test is one of `unittest`.
    """
    said = " and ".join(f"{code} {name}" for code, name in rules)
    name = f"test_{_word(program.rpartition('/')[2].removesuffix('.py'))}_has_no_{'_'.join(_word(name) for _, name in rules)}"
    codes = ", ".join(f'"{code}"' for code, _ in rules)
    call = f"dnnfix.check(PROGRAM, select=[{codes}])"
    if not reads_only:
        call = f'dnnfix.suggest(PROGRAM, select=[{codes}], unfixable=["ALL"], budget={BUDGET})'
    body = [
        f"report = {call}",
        "self.assertFalse(report.errors)" if as_class else "assert not report.errors",
    ]
    if not reads_only:
        unrun = "any(file.unrun for file in report.files)"
        said_unrun = '"the program could not be run"'
        body.append(f"self.assertFalse({unrun}, {said_unrun})" if as_class else f"assert not {unrun}, {said_unrun}")
    found = "[result.finding.message for _, result in report.findings()]"
    body.append(f"self.assertEqual({found}, [])" if as_class else f"assert {found} == []")
    head = f'"""Keeps out of {program} what dnnfix found and repaired there: {said}."""\n\n'
    if as_class:
        indented = "".join(f"        {line}\n" for line in body)
        return (
            f"{head}import unittest\nfrom pathlib import Path\n\ntry:\n    import dnnfix\nexcept ImportError:\n    dnnfix = None\n\n"
            f'PROGRAM = Path(__file__).parents[{up}] / "{program}"\n\n\n'
            f'@unittest.skipIf(dnnfix is None, "pip install dnnfix")\nclass GuardTest(unittest.TestCase):\n    def {name}(self):\n{indented}'
        )
    indented = "".join(f"    {line}\n" for line in body)
    return (
        f"{head}from pathlib import Path\n\nimport pytest\n\n"
        f'dnnfix = pytest.importorskip("dnnfix", reason="pip install dnnfix")\n\n'
        f'PROGRAM = Path(__file__).parents[{up}] / "{program}"\n\n\ndef {name}():\n{indented}'
    )


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()
