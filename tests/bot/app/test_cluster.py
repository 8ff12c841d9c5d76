"""Analyses on a Ray cluster: the report is that of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from dnnfix.bot.analysis_process import Flags
from dnnfix.bot.app import cluster
from dnnfix.bot.app.cluster import RayAnalyser
from dnnfix.bot.report import read
from dnnfix.errors import AnalysisFailed, EnvironmentProblem
from dnnfix.forge.git import cloned
from tests.bot.people import SLUG, Repository

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'dnnfix[ray]'")


@pytest.fixture
def analyser() -> Iterator[RayAnalyser]:
    """On a cluster of its own."""
    yield RayAnalyser("local", Flags(budget=200.0), Event())
    ray.shutdown()


@pytest.mark.slow
def test_a_checkout_is_analysed_on_the_cluster(analyser: RayAnalyser, repository: Repository, tmp_path: Path) -> None:
    checkout, report = tmp_path / "work" / "digits", tmp_path / "report.json"
    cloned(repository.forge.remote(SLUG), checkout, "main")
    analyser(checkout, SLUG, report, "")
    analysis = read(report.read_bytes(), "report.json")
    assert analysis.slug == SLUG and analysis.commit == repository.bare.run("rev-parse", "main").strip()
    assert [patch.faults[0].code for patch in analysis.patches] == ["DNF501"]
    with pytest.raises(AnalysisFailed, match="could not be analysed"):
        analyser(tmp_path / "work", SLUG, report, "")


@pytest.mark.slow
def test_an_analysis_that_is_not_wanted_any_more_is_ended(
    analyser: RayAnalyser, repository: Repository, tmp_path: Path
) -> None:
    checkout = tmp_path / "work" / "digits"
    cloned(repository.forge.remote(SLUG), checkout, "main")
    analyser._stopped.set()
    with pytest.raises(AnalysisFailed, match="was stopped"):
        analyser(checkout, SLUG, tmp_path / "report.json", "")


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an archive of strangers holds is written into the folder that is made for it, and nowhere else."""
    import io
    import tarfile

    secret = tmp_path / "secret"
    secret.write_text("before")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        link = tarfile.TarInfo("digits")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        packed.addfile(link)
        inside = tarfile.TarInfo("digits/secret")
        inside.size = 5
        packed.addfile(inside, io.BytesIO(b"after"))
    monkeypatch.setattr(cluster, "analysed", lambda command: 1)
    with pytest.raises(tarfile.FilterError):
        cluster.analysed_there(archive.getvalue(), "digits", SLUG, Flags())
    assert secret.read_text() == "before"


def test_a_cluster_that_is_not_there_is_said() -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        RayAnalyser("127.0.0.1:1", Flags(), Event())
