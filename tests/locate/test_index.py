"""The index: what changes is read again, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.forge.git import Git
from dnnfix.locate.index import Index
from dnnfix.locate.tree import Folder, Revision
from tests.locate.conftest import FILES, commit


def ranked(index: Index, *terms: str) -> list[str]:
    found = sorted(index.alike("file_words", terms), key=lambda each: -each[1])
    return [index.paths[number] for number, _ in found]


def test_only_what_changed_is_read_again(repository: Path, tmp_path: Path) -> None:
    database = tmp_path / "index.sqlite"
    with Index(database) as index:
        assert index.update(Folder(repository)) == 5
        assert set(ranked(index, "focal")) == {"shop/loss.py", "shop/__init__.py"}
    (repository / "shop/model.py").write_text("class Focal: pass\n")
    (repository / "shop/loss.py").unlink()
    with Index(database) as index:
        assert index.update(Folder(repository)) == 1
        assert set(ranked(index, "focal")) == {"shop/model.py", "shop/__init__.py"}
        assert [place.name for place in index.definitions.values() if "ocal" in place.name] == ["Focal"]
        assert index.update(Folder(repository)) == 0
        assert index.rows("SELECT count(*) FROM built") == [(0,)]


def test_tests_are_left_out(repository: Path) -> None:
    (repository / "test.py").write_text("import torch\n")  # evaluates a network
    (repository / "test_shop.py").write_text("import shop\n")
    with Index() as index:
        index.update(Folder(repository))
        assert set(index.paths.values()) == (set(FILES) | {"test.py"}) - {"tests/test_loss.py"}


def test_a_revision_is_read_from_the_objects(repository: Path) -> None:
    git = Git(repository)
    with Index() as index:
        index.update(Revision(git, "HEAD~2"))
        before = ranked(index, "spacing")
        assert index.update(Revision(git, "HEAD")) == 1
        assert before == ranked(index, "spacing") == ["shop/data/reader.py"]


def test_the_history_is_read_once_and_anew_where_it_was_rewritten(repository: Path) -> None:
    git = Git(repository)
    with Index() as index:
        index.update_history(git, git.run("rev-parse", "HEAD").strip())
        assert [(change.subject, change.fixes) for change in index.past.values()] == [
            ("Fix wrong voxel distance after rescaling", True),
            ("First version", False),
        ]
        commit(repository, "Another", "2024-04-01", {"shop/loss.py": "x = 1\n"})
        index.update_history(git, git.run("rev-parse", "HEAD").strip())
        assert len(index.rows("SELECT id FROM past")) == 3
        git.run("reset", "-q", "--hard", "HEAD~2")
        index.update_history(git, git.run("rev-parse", "HEAD").strip())
        assert len(index.rows("SELECT id FROM past")) == 2


@pytest.mark.parametrize("text", ["def f(:\n  pass\n", "print 'two'\n", "\x00", "é" * 10, "x = 1\n" * 9])
def test_any_file_is_indexed_or_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_bytes(text.encode("utf-8"))
    (tmp_path / "b.py").write_text("value = 1\n")
    with Index() as index:
        index.update(Folder(tmp_path))
        assert "b.py" in index.paths.values()


def test_an_index_of_another_version_is_made_anew(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "index.sqlite"
    with Index(database) as index:
        index.update(Folder(repository))
    monkeypatch.setattr("dnnfix.locate.index.VERSION", 99)
    with Index(database) as index:
        assert index.paths == {} and index.update(Folder(repository)) == 5
