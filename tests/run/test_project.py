"""What of a folder is offered to a trial, and what never is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dnnfix.run import project, visible
from dnnfix.run.project import Project, gather
from dnnfix.run.secret import looks_secret


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


def test_what_looks_secret_is_not(tmp_path: Path) -> None:
    secret = [".env", ".git/config", ".netrc", ".ssh/id_rsa", "id_ed25519", "server.pem", "my.key", "credentials.json",
              "aws_credentials", "secrets.toml", "passwords.txt", "token.txt", "token", "kaggle.json", "netrc", "api_key.txt",
              "service-account.json", "sub/.hidden/x.py", "sub/private_key.txt"]  # fmt: skip
    fill(tmp_path, *(f"p/{name}" for name in secret), "p/tokenizer.json", "p/monkey.csv", "p/sub/fine.py")
    assert names(gather(tmp_path / "p", b"")) == {"tokenizer.json", "monkey.csv", "sub", "sub/fine.py"}
    assert not looks_secret("keyboard.py") and not looks_secret("tokens_of_text.csv")


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


def test_of_a_home_folder_only_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fill(tmp_path, "diary.txt", "data.csv", "helper.py", "other.py", "pack/__init__.py", "pack/m.py", ".ssh/id_rsa", "key.pem",
         "photos/a.jpg")  # fmt: skip
    text = b"import helper, numpy as np\nfrom pack.m import f\nopen('data.csv'); open('key.pem'); open('../x'); open('.ssh/id_rsa')"
    assert names(gather(tmp_path, text)) == {"data.csv", "helper.py", "pack", "pack/__init__.py", "pack/m.py"}


@pytest.mark.parametrize("folder", ["/", "/tmp", "/home", "/usr"])
def test_a_folder_of_many_projects_is_too_broad(folder: str) -> None:
    assert visible.too_broad(Path(folder))


def test_no_folder_is_an_empty_project(tmp_path: Path) -> None:
    assert names(gather(None, b"")) == set() == names(gather(tmp_path / "gone", b""))
