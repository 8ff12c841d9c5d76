"""What of a folder is offered to a trial, and what never is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dnnfix.run import project, visible
from dnnfix.run.project import Project, gather


def names(found: Project) -> set[str]:
    return {name for name, _offset, _size in found.files} | {name for name, _target in found.links} | set(found.folders)


def content(found: Project, name: str) -> bytes:
    _name, offset, size = next(entry for entry in found.files if entry[0] == name)
    return os.pread(found.bundle, size, offset)


def fill(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def test_modules_and_data_are_offered(tmp_path: Path) -> None:
    fill(tmp_path, "p/helper.py", "p/data/a.csv", "p/models/net.py")
    found = gather(tmp_path / "p", b"")
    assert names(found) == {"helper.py", "data", "data/a.csv", "models", "models/net.py"}
    assert content(found, "data/a.csv") == b"p/data/a.csv" and content(found, "helper.py") == b"p/helper.py"
    assert found.name == "p"


def test_environments_and_links_that_lead_out_are_not(tmp_path: Path) -> None:
    fill(
        tmp_path,
        "p/a.py",
        "p/venv/pyvenv.cfg",
        "p/venv/lib/x.py",
        "p/__pycache__/a.pyc",
        "out/secret.csv",
        "p/.env",
        "p/d/b.csv",
    )
    (tmp_path / "p" / "out.csv").symlink_to(tmp_path / "out" / "secret.csv")
    (tmp_path / "p" / "folder").symlink_to(tmp_path / "out")
    (tmp_path / "p" / "environment").symlink_to(tmp_path / "p" / ".env")
    (tmp_path / "p" / "again").symlink_to(tmp_path / "p" / "d")
    (tmp_path / "p" / "inside.csv").symlink_to(tmp_path / "p" / "d" / "b.csv")
    (tmp_path / "p" / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "p" / "pipe")
    assert names(gather(tmp_path / "p", b"")) == {"a.py", "d", "d/b.csv", "inside.csv"}


def test_large_files_are_linked_unless_the_program_names_them(tmp_path: Path) -> None:
    fill(tmp_path, "p/x.py")
    for name in ("named.pt", "other.pt"):
        (tmp_path / "p" / name).write_bytes(b"x" * (project.SMALL + 1))
    found = gather(tmp_path / "p", b"torch.save(model, 'named.pt')")
    assert {name for name, _target in found.links} == {"other.pt"}
    assert "named.pt" in {name for name, _offset, _size in found.files}


def test_the_number_of_entries_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "ENTRIES", 20)
    fill(tmp_path, *(f"p/deep/f{n}.txt" for n in range(50)), "p/near.py")
    found = gather(tmp_path / "p", b"")
    assert len(names(found)) == 20 and "near.py" in names(found) and found.left_out > 0


def test_crowded_folders_of_data_are_linked_as_a_whole_where_files_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "ENTRIES", 20)
    monkeypatch.setattr(visible, "CROWDED", 30)
    fill(tmp_path, "p/near.py", *(f"p/data/set/f{n}.txt" for n in range(50)), "p/data/few.txt")
    fill(
        tmp_path,
        *(f"p/keys/f{n}.txt" for n in range(50)),
        "p/keys/deep/id_rsa",
        *(f"p/pack/m{n}.py" for n in range(50)),
    )
    assert not any(Path(target).is_dir() for _, target in gather(tmp_path / "p", b"").links)
    found = gather(tmp_path / "p", b"", link_folders=True)
    linked = {name: target for name, target in found.links if Path(target).is_dir()}
    assert linked == {"data": str(tmp_path / "p" / "data")}
    assert not any(name.startswith("data") for name in names(found) - set(linked))


def test_where_all_files_can_be_taken_no_folder_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible, "CROWDED", 30)
    fill(tmp_path, "p/near.py", *(f"p/data/f{n}.txt" for n in range(50)))
    assert not gather(tmp_path / "p", b"", link_folders=True).links


def test_of_a_home_folder_only_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fill(tmp_path, "diary.txt", "data.csv", "helper.py", "other.py", "pack/__init__.py", "pack/m.py", ".ssh/id_rsa", "key.pem",
         "photos/a.jpg")  # fmt: skip
    text = b"import helper, numpy as np\nfrom pack.m import f\nopen('data.csv'); open('key.pem'); open('../x'); open('.ssh/id_rsa')"
    assert names(gather(tmp_path, text)) == {"data.csv", "helper.py", "pack", "pack/__init__.py", "pack/m.py"}


@pytest.mark.parametrize("folder", ["/", "/tmp", "/home", "/usr"])
def test_a_folder_of_many_projects_is_too_broad(folder: str) -> None:
    assert visible.too_broad(Path(folder))


def test_the_repository_is_that_of_git_or_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    own = tmp_path / "a" / "b" / "c"
    assert visible.repository_of(own) == own
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert visible.repository_of(own) == tmp_path / "a" / "b"
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")  # as a worktree has it
    assert visible.repository_of(own) == tmp_path / "a"
    monkeypatch.setenv("HOME", str(tmp_path / "a"))
    assert visible.repository_of(own) == tmp_path / "a" / "b"
    monkeypatch.chdir(tmp_path / "a")
    assert visible.repository_of(own) == own


def test_a_program_is_started_from_its_own_folder_unless_more_is_there_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "r/src/deep/train.py", "r/src/deep/a.csv", "r/src/b.csv", "r/c.csv")
    root = tmp_path / "r"

    def started(text: bytes, *arguments: str) -> str:
        return visible.started_from(root, "src/deep/train.py", text, arguments)

    monkeypatch.chdir(root / "src")
    assert started(b"open('a.csv')") == started(b"open('nowhere.csv')") == ""
    assert started(b"", "b.csv") == started(b"open('b.csv')") == ".."
    assert started(b"", "--data=.", "c.csv") == "../.."
    fill(root, "data/x/rows.txt")
    assert started(b"open('data/%s/rows.txt' % name)") == started(b'f"data/{name}/rows.txt"') == "../.."
    assert started(b"open('a.csv')", "c.csv") == "", "as much is there in its own folder"
    monkeypatch.chdir(tmp_path)
    assert started(b"", "b.csv") == "", "neither the working directory nor the repository"


def test_paths_are_those_in_the_repository(tmp_path: Path) -> None:
    fill(tmp_path, "r/src/train.py", "r/src/sub/a.py", "r/data/x.csv", "r/empty/deep/.keep", "r/.env", "r/README.md")
    found = gather(tmp_path / "r" / "src", b"", tmp_path / "r")
    assert names(found) == {"src/train.py", "src/sub", "src/sub/a.py", "data", "data/x.csv", "empty", "README.md"}
    assert content(found, "data/x.csv") == b"r/data/x.csv" and found.name == "r" and found.left_out == 0


def test_what_is_named_or_imported_comes_before_what_is_merely_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "AROUND", 5)
    fill(
        tmp_path,
        *(f"r/near{n}.txt" for n in range(9)),
        "r/far/off/x.csv",
        "r/src/train.py",
        "r/lib/utils/u.py",
        "r/other.py",
    )
    (tmp_path / "r" / "lib" / "net.py").write_text("from utils import u\nimport other")
    text = b"from lib.net import Net\nopen('../far/off/x.csv')\nopen('../../outside.txt'); open('..'); open('../src')"
    fill(tmp_path, "outside.txt")
    found = gather(tmp_path / "r" / "src", text, tmp_path / "r")
    assert {"far/off/x.csv", "lib/net.py", "lib/utils/u.py", "other.py", "src/train.py"} <= names(found)
    assert len([name for name in names(found) if name == "far" or name.startswith("near")]) == 5
    assert found.left_out > 0


def test_many_files_do_not_push_modules_out(tmp_path: Path) -> None:
    fill(tmp_path, *(f"r/data/f{n}.txt" for n in range(project.AROUND + 9)), "r/models/net.py", "r/src/train.py")
    assert "models/net.py" in names(gather(tmp_path / "r" / "src", b"", tmp_path / "r"))


def test_a_repository_of_many_files_is_looked_at_quickly(tmp_path: Path) -> None:
    fill(tmp_path, *(f"r/pkg{n // 250}/sub{n % 5}/f{n}.py" for n in range(5000)), "r/src/train.py")
    begun = time.process_time()
    found = gather(tmp_path / "r" / "src", b"", tmp_path / "r")
    assert time.process_time() - begun < 0.5
    assert len(found.files) + len(found.folders) <= project.AROUND + 1


def test_links_within_the_repository_are_followed(tmp_path: Path) -> None:
    fill(tmp_path, "r/src/train.py", "r/data/x.csv", "r/token.txt", "out.csv")
    for name, target in {"near.csv": "r/data/x.csv", "far.csv": "out.csv", "fine.txt": "r/token.txt"}.items():
        (tmp_path / "r" / "src" / name).symlink_to(tmp_path / target)
    found = names(gather(tmp_path / "r" / "src", b"", tmp_path / "r"))
    assert "src/near.csv" in found and not found & {"src/far.csv", "src/fine.txt", "token.txt"}


def test_no_folder_is_an_empty_project(tmp_path: Path) -> None:
    assert names(gather(None, b"")) == set() == names(gather(tmp_path / "gone", b""))
