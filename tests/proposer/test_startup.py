"""Who asks no model pays nothing for it: neither the client of the protocol nor what speaks it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix.testing import ScriptedModel
from tests.cli.programs import FAULTY
from tests.proposer.asking import PROGRAM, REPAIR, configure

ROOT = Path(__file__).parents[2]
FOREIGN = ("openai", "httpx2", "httpx", "dnnfix.proposer.wire", "dnnfix.proposer.propose", "dnnfix.testing")
SPY = f"""
import atexit, sys
atexit.register(lambda: print("FOREIGN", sorted({{*{FOREIGN!r}}} & {{*sys.modules}}), file=sys.stderr))
"""


def imported(folder: Path, code: str, *argv: str) -> str:
    """Which of the foreign modules a process has imported at its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SPY + code, *argv],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.splitlines()[-1].removeprefix("FOREIGN ")


RUN = "from dnnfix.cli.main import main; sys.argv[0] = 'dnnfix'; main()"


@pytest.mark.parametrize(
    ("code", "argv"),
    [
        ("import dnnfix, dnnfix.api, dnnfix.config, dnnfix.endpoint, dnnfix.pipeline", ()),
        (RUN, ("--help",)),
        (RUN, ("suggest", "--help")),
        (RUN, ("check", "faulty.py")),
        pytest.param(RUN, ("suggest", "faulty.py"), marks=pytest.mark.slow),
    ],
)
def test_nothing_of_the_model_is_imported_without_it(tmp_path: Path, code: str, argv: tuple[str, ...]) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    configure(tmp_path, "https://api.elsewhere.example/v1")
    assert imported(tmp_path, code, *argv) == "[]"


@pytest.mark.slow
def test_the_client_is_imported_for_new_questions_only(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the client of the protocol: pip install 'dnnfix[model]'")
    (tmp_path / "train.py").write_text(PROGRAM)
    ask = ("suggest", "train.py", "--proposer", "model")
    with ScriptedModel([REPAIR]) as model:
        configure(tmp_path, model.endpoint)
        assert "openai" not in imported(tmp_path, RUN, *ask, "--dry-run")
        assert "openai" in imported(tmp_path, RUN, *ask)
    assert "openai" not in imported(tmp_path, RUN, *ask, "--offline")
    assert "openai" not in imported(tmp_path, RUN, *ask)


def test_reading_programs_imports_nothing_of_the_search_or_of_models() -> None:
    code = "import sys, dnnfix.pipeline; print([n for n in sys.modules if n.startswith(('dnnfix.synthesize', 'dnnfix.proposer'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
