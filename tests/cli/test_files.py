"""From paths to programs: what is taken, what is passed over, and what is said of the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dnnfix.errors import InputError
from dnnfix.programs import MAX_SOURCE, Finder, SettingsByFolder, read, shown

TORCH = "import torch\n"


def found(*paths: str, **overrides: object) -> tuple[list[str], list[str], int]:
    problems: list[str] = []
    finder = Finder(SettingsByFolder(overrides), problems.append)
    return [program.path for program in finder.programs(paths, "stdin.py")], problems, finder.passed_over


def make(root: Path, *names: str, text: str = TORCH) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_folders_are_searched_in_order(folder: Path) -> None:
    make(folder, "b.py", "a/z.py", "a/y.ipynb", "c.txt", "d.pyc")
    assert found(".") == (["b.py", "a/y.ipynb", "a/z.py"], [], 0)


def test_other_peoples_folders_are_passed_over(folder: Path) -> None:
    make(folder, "a.py", ".git/x.py", "node_modules/x.py", "lib/site-packages/x.py", "build/x.py", "__pycache__/x.py")
    make(folder, "my-env/lib/x.py")
    (folder / "my-env" / "pyvenv.cfg").write_text("")
    assert found(".")[0] == ["a.py"]


def test_files_that_name_no_framework_are_counted(folder: Path) -> None:
    make(folder, "a.py", "src/b.py", text="import os\n")
    make(folder, "k.py", text="from tensorflow import keras\n")
    assert found(".") == (["k.py"], [], 2)
    assert found("a.py")[0] == ["a.py"], "a file that is named is always looked at"


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "from datasets import load_dataset\n",
        "import pandas as pd\n",
        "def load():\n    from scipy.io import loadmat\n",
        '{"cells": [{"source": ["import jax.numpy as jnp\\n"]}], "nbformat": 4}',
    ],
)
def test_a_file_that_imports_any_library_of_the_list_is_looked_at(folder: Path, text: str) -> None:
    make(folder, "a.ipynb" if text[0] == "{" else "a.py", text=text)
    assert len(found(".")[0]) == 1


@pytest.mark.parametrize("text", ["import os  # no numpy\n", "import scipyx\n", "numpy = 'on from cv2'\n"])
def test_a_library_that_is_only_spoken_of_is_not_imported(folder: Path, text: str) -> None:
    make(folder, "a.py", text=text)
    assert found(".") == ([], [], 1)


def test_one_list_says_what_brings_a_framework_along(folder: Path) -> None:
    from dnnfix import libraries
    from dnnfix.run.probe.program import frameworks
    from dnnfix.source.program import Source

    every = (
        *libraries.FRAMEWORKS,
        *libraries.ON_TORCH,
        *libraries.ON_KERAS,
        *libraries.ABOUT_MODELS,
        *libraries.OF_DATA,
    )
    assert len(set(every)) == len(every)
    for name in every:
        text = f"import {name}\n"
        make(folder, f"{name}.py", text=text)
        wanted = "torch" if name in libraries.ON_TORCH else "keras" if name in libraries.ON_KERAS else ""
        if wanted:
            assert frameworks.named_in(text) == [wanted]
            assert Source.from_bytes(text.encode(), "a.py").frameworks == {wanted}
    assert len(found(".")[0]) == len(every)


def test_what_has_a_table_of_changes_is_in_the_list() -> None:
    from dnnfix import libraries
    from dnnfix.detect.versioning.names import DATA

    every = (
        *libraries.FRAMEWORKS,
        *libraries.ON_TORCH,
        *libraries.ON_KERAS,
        *libraries.ABOUT_MODELS,
        *libraries.OF_DATA,
    )
    tables = {path.stem for path in DATA.rglob("*.json")}
    assert tables <= set(every)


def test_symbolic_links_end(folder: Path) -> None:
    make(folder, "real/a.py")
    (folder / "real" / "loop").symlink_to("..")
    (folder / "alias.py").symlink_to("real/a.py")
    (folder / "dangling.py").symlink_to("nowhere.py")
    assert found(".") == (["real/a.py"], [], 0), "each file once, under the name that `git apply` takes"
    assert found("alias.py")[0] == ["real/a.py"]
    (folder / "store").write_text("import torch\n")
    (folder / "b.py").symlink_to("store")
    assert found("b.py")[0] == ["b.py"], "what has no ending is nothing by itself"
    (folder / "b.py").unlink()
    (folder / "linked").symlink_to("real")
    assert found("linked")[0] == ["linked/a.py"], "a link that is named is followed"


def test_each_file_once(folder: Path) -> None:
    make(folder, "a.py")
    assert found("a.py", ".", "./a.py")[0] == ["a.py"]


def test_exclude(folder: Path) -> None:
    make(folder, "a.py", "old/b.py", "src/gen_c.py")
    assert found(".", exclude=["old", "gen_*"])[0] == ["a.py"]
    assert found("old/b.py", exclude=["old"])[0] == ["old/b.py"], "a file that is named is always looked at"


def test_nearest_settings_count(folder: Path) -> None:
    make(folder, "a.py", "sub/b.py", "sub/deep/c.py")
    (folder / "dnnfix.toml").write_text("seed = 1")
    (folder / "sub" / "dnnfix.toml").write_text("seed = 2")
    finder = Finder(SettingsByFolder({}), lambda text: None)
    seeds = {program.path: program.settings.seed for program in finder.programs(["."], "x")}
    assert seeds == {"a.py": 1, "sub/b.py": 2, "sub/deep/c.py": 2}


def test_the_others_are_still_found(folder: Path) -> None:
    make(folder, "a.py", "z.py")
    (folder / "empty.py").write_text(" \n")
    (folder / "nothing").mkdir()
    (folder / "big.py").write_bytes(b"#" * (MAX_SOURCE + 1))
    os.mkfifo(folder / "pipe.py")
    paths = ("a.py", "missing.py", "empty.py", "nothing", "big.py", "pipe.py", "nul\0.py", "z.py")
    programs, problems, _ = found(*paths)
    assert programs == ["a.py", "z.py"]
    said = [
        "missing.py: no such file or folder. Check the path.",
        "empty.py: is empty.",
        "nothing: no Python files (.py, .ipynb) in this folder.",
        "big.py: is too large for a program (4.0 MiB; at most 4 MiB).",
        "pipe.py: is no regular file.",
        "nul\0.py: cannot be read",
    ]
    assert len(problems) == len(said)
    assert all(problem.startswith(start) for problem, start in zip(problems, said, strict=True)), problems


def test_empty_files_in_folders_are_no_mistake(folder: Path) -> None:
    make(folder, "a.py")
    make(folder, "__init__.py", text="")
    assert found(".") == (["a.py"], [], 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(folder: Path) -> None:
    make(folder, "a.py", "closed/b.py")
    (folder / "a.py").chmod(0)
    (folder / "closed").chmod(0)
    try:
        problems = found("a.py", ".")[1]
    finally:
        (folder / "closed").chmod(0o755)
    assert "a.py: permission denied. Make the file readable for this user." in problems
    assert "./closed: cannot be read (Permission denied)." in problems[-1]


def test_permission_error_is_a_message(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(folder, "a.py")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(InputError, match="a.py: permission denied. Make the file readable"):
        read("a.py")


def test_paths_are_shown_from_the_working_folder(folder: Path, tmp_path: Path) -> None:
    assert shown("./a/../b.py") == "b.py"
    assert shown(str(folder / "a" / "b.py")) == "a/b.py"
    assert shown("../x.py") == str(tmp_path / "x.py")
