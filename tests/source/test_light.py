"""What reading and editing a program may cost."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from dnnfix.errors import InputError
from tests.source.helpers import read

HEAVY = "{'libcst', 'torch', 'keras', 'tensorflow', 'numpy', 'rich', 'typer'}"


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("s = Source.from_bytes(b'x = f(1)', 'a.py'); list(s.calls('f'))", "set()"),
        ("apply_edits(Source.from_bytes(b'x = f(1)', 'a.py'), [Replace(Site(1, 5, 1, 9), 'g()')])", "set()"),
        (
            "apply_edits(Source.from_bytes(b'x = f(1)', 'a.py'), [SetArgument(Site(1, 5, 1, 9), 'b', '2')])",
            "{'libcst'}",
        ),
    ],
)
def test_libcst_is_loaded_only_for_arguments_and_elements(code: str, loaded: str) -> None:
    program = (
        "import sys\nfrom dnnfix.source.program import Source\nfrom dnnfix.source.edits import apply_edits\n"
        f"from dnnfix.records import *\n{code}\nprint({HEAVY} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == loaded


@pytest.mark.parametrize(
    "text",
    [
        "x = f(1, a=2)\n" * 4_000 + "this is no Python\n" + "y = g(3)\n" * 4_000,
        "this is no Python at all\n" * 10_000,
        "print 'x', y\n" * 8_000,
        '"""' + "prose's\n" * 10_000,
        "(" * 50_000,
        "'" * 50_001,
        "\n" * 100_000 + "x = (",
        ">>> x\nout of it\n" * 4_000,
    ],
)
def test_large_texts_are_read_or_refused_in_bounded_time(text: str) -> None:
    started = time.process_time()
    try:
        assert read(text).text.count("\n") == text.count("\n")
    except InputError:
        pass
    assert time.process_time() - started < 10
