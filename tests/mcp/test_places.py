"""Which paths are taken, whatever they are made of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.errors import InputError
from dnnfix.mcp.places import admits, placed

PARTS = st.lists(
    st.sampled_from(["..", ".", "a", "b", "out", "file.py", "", "~", "\0"]) | st.text(max_size=3), max_size=6
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, a folder in it, links that lead out, and a secret beside it."""
    made = tmp_path_factory.mktemp("places").resolve()
    (made / "project" / "a" / "b").mkdir(parents=True)
    for file in ("secret.py", "project/file.py", "project/a/b/file.py"):
        (made / file).write_text("")
    (made / "project" / "out").symlink_to(made)
    (made / "project" / "a" / "out.py").symlink_to(made / "secret.py")
    (made / "linked").symlink_to(made / "project")
    return made


@given(parts=PARTS, absolute=st.booleans())
def test_only_what_is_there_and_inside_is_taken(home: Path, parts: list[str], absolute: bool) -> None:
    project = home / "project"
    path = "/".join([str(project), *parts] if absolute else parts)
    try:
        folder, below = placed(path, [project])
    except InputError as error:
        assert "Name a file or folder" in str(error) or "Check the path" in str(error)
    else:
        assert folder == project and (folder / below).exists()
        assert os.path.realpath(folder / below).startswith(str(project)) and not below.startswith("..")


def test_the_innermost_folder_counts(home: Path) -> None:
    project, inner = home / "project", home / "project" / "a"
    assert placed(str(inner / "b" / "file.py"), [project, inner]) == (inner, "b/file.py")
    assert placed("file.py", [inner, project]) == (project, "file.py")
    assert placed("a", [project]) == (project, "a") and placed(".", [project]) == (project, ".")
    assert placed("file.py", [home / "linked"]) == (project, "file.py")
    assert placed(str(home / "linked" / "file.py"), [project]) == (project, "file.py")


@pytest.mark.parametrize("path", ["", " ", "a\0b", "\ud800", "x" * 9000, "../secret.py", "out/secret.py", "a/out.py"])
def test_what_is_refused(home: Path, path: str) -> None:
    with pytest.raises(InputError) as raised:
        placed(path, [home / "project"])
    assert len(str(raised.value)) < 600 and str(raised.value).encode()


def test_a_file_is_admitted_by_where_it_is(home: Path) -> None:
    project = home / "project"
    assert admits(project / "file.py", [project]) and admits(project / "file.py", [home / "linked"])
    assert not admits(project / "a" / "out.py", [project])
