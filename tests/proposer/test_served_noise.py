"""Models that say noise, by a real server: their answers are read as any other's, and none of their edits is accepted.

`benchmarks/noise_model.py` does the same with twenty programs and hundreds of edits.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix.cli.main import run
from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint
from dnnfix.proposer.exchanges import Asked
from tests.cli.programs import FAULTY
from tests.proposer.noise import put_to_the_engine
from tests.proposer.served import MISSING, REASON, Bigrams, Served, write_bigrams, write_noise

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=REASON),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="what a model writes is not run without bubblewrap"),
]

ROOT = Path(__file__).parents[2]

SYLLABLES = Bigrams(["", "do ", "re ", "mi "], {0: {1: 1, 2: 1}, 1: {2: 1, 3: 1}, 2: {1: 1, 3: 2}, 3: {1: 3, None: 1}})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of three models: `noise`, `endless` noise, and `syllables`."""
    folder = tmp_path_factory.mktemp("models")
    write_noise(folder / "noise")
    write_noise(folder / "endless", ends=False)
    write_bigrams(folder / "syllables", SYLLABLES)
    with Served(folder) as server:
        yield server


@pytest.mark.slow
def test_pure_noise_is_malformed_and_comes_to_nothing(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "program.py").write_text(FAULTY)
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.dnnfix.model]\nendpoint = "{served.endpoint}"\nmodel = "noise"\nsamples = 1\n'
    )
    code = run(["suggest", "program.py", "--proposer", "model", "--unfixable", "ALL"])
    said = capsys.readouterr()
    assert code == 1, said.err
    assert "2 answers" in said.out and "2 malformed" in said.out, said.out
    assert not re.search(r"^[+-]\w", said.out, re.MULTILINE), said.out


@pytest.mark.slow
def test_the_server_streams_by_seed_and_tells_its_tokens(served: Served) -> None:
    from dnnfix.proposer.wire import ask

    endpoint = Endpoint(served.endpoint, "syllables", temperature=1.0)
    said = [ask(endpoint, "", Asked("Sing.", "La?", "syllables", 1.0, seed)) for seed in (*range(6), *range(6))]
    assert said[:6] == said[6:], "the same seed gave another answer"
    assert len({received.text for received in said}) > 2
    for received in said:
        assert re.fullmatch(r"(do |re )((do )?(re )?|(do |re )*mi (do |re )*)*", received.text)
        assert received.told is not None and received.told[1] == len(received.text.split()) + 1  # and the end itself


@pytest.mark.slow
def test_an_answer_that_does_not_end_is_cut_by_the_server(served: Served) -> None:
    from dnnfix.proposer.wire import ask

    received = ask(Endpoint(served.endpoint, "endless"), "", Asked("Sing.", "La?", "endless", 1.0))
    assert received.told is not None and received.told[1] == Endpoint().max_tokens


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conv_flatten", "regression_shapes"])
def test_noise_in_the_form_of_edits_is_judged_and_refused(served: Served, tmp_path: Path, name: str) -> None:
    program = (ROOT / "examples" / f"{name}.py").read_bytes()
    settings = Settings(budget=60.0, cache_dir=tmp_path)
    came = put_to_the_engine(program, name, served, settings, samples=12)
    print(came)
    assert came.candidates >= 5, came
    assert came.candidates == sum(came.refused.values()), came
    assert came.passed == 0 and came.accepted == () and came.choices == (), came
