"""Diffs, as git and unidiff read them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from unidiff import PatchSet

from dnnfix.source.diff import unified_diff

LONG = b"".join(b"line %d\n" % n for n in range(60))


def applied(before: bytes, diff: str, path: str, folder: Path) -> bytes:
    """The file after `git apply`."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(before)
    patch = folder / "change.diff"
    patch.write_bytes(diff.encode("utf-8", "surrogateescape"))
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr + diff
    return target.read_bytes()


CASES = {
    "one line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no newline at the end": (b"a\nb", b"a\nB"),
    "newline at the end added": (b"a\nb", b"a\nb\n"),
    "newline at the end taken away": (b"a\nb\n", b"a\nb"),
    "added after a last line without newline": (b"a\nb", b"a\nb\nc"),
    "first line": (b"a\nb\nc\nd\ne\nf\n", b"z\na\nb\nc\nd\ne\nf\n"),
    "everything": (b"a\nb\n", b"c\nd\n"),
    "to nothing": (b"a\nb\n", b""),
    "from nothing": (b"", b"a\n"),
    "CRLF": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "mixed ends": (b"a\r\nb\rc\nd", b"a\r\nB\rc\nd"),
    "two hunks": (LONG, LONG.replace(b"line 7\n", b"seven\n").replace(b"line 40\n", b"")),
    "hunks that meet": (LONG, LONG.replace(b"line 7\n", b"seven\n").replace(b"line 14\n", b"x\ny\n")),
    "hunks that nearly meet": (LONG, LONG.replace(b"line 7\n", b"seven\n").replace(b"line 15\n", b"x\ny\n")),
    "first and last line": (LONG, LONG.replace(b"line 0\n", b"").replace(b"line 59\n", b"end")),
    "Latin-1": (b"x = '\xe9'\ny\n", b"x = '\xe9'\nz\n"),
    "UTF-8 and odd separators": ("é\x0c\x1c\u2028ü\nx\n".encode(), "é\x0c\x1c\u2028ü\ny\n".encode()),
    "lines that look like marks": (b"--- a\n+++ b\n@@ -1 +1 @@\nx\n", b"--- a\n+++ c\n@@ -1 +1 @@\ny\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_git_applies_it_and_gets_the_bytes(name: str, tmp_path: Path) -> None:
    before, after = CASES[name]
    assert applied(before, unified_diff(before, after, "sub/a.py"), "sub/a.py", tmp_path) == after


@pytest.mark.parametrize("name", CASES)
def test_unidiff_counts_its_lines(name: str) -> None:
    before, after = CASES[name]
    diff = unified_diff(before, after, "sub/a.py")
    (file,) = PatchSet(diff)
    assert file.path == "sub/a.py"
    assert (
        file.added - file.removed == len(after.splitlines()) - len(before.splitlines())
        or b"\r" in before
        or b"\x0c" in before
    )
    for hunk in file:
        assert hunk.is_valid()


@pytest.mark.parametrize(
    "path",
    ["a.py", "./a.py", "my file.py", "sub dir/é ü.py", 'q"uote.py', "back\\slash.py", "tab\tname.py", "日本.ipynb"],
)
def test_names_of_all_kinds(path: str, tmp_path: Path) -> None:
    before, after = CASES["one line"]
    assert applied(before, unified_diff(before, after, path), path.removeprefix("./"), tmp_path) == after


def test_headers_are_those_of_git() -> None:
    assert unified_diff(b"a\n", b"b\n", "/x/a.py") == (
        "diff a/x/a.py b/x/a.py\n--- a/x/a.py\n+++ b/x/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    )


def test_no_change_is_no_diff() -> None:
    assert unified_diff(b"a\n", b"a\n", "a.py") == ""


def test_it_is_the_diff_that_git_makes(tmp_path: Path) -> None:
    for before, after in CASES.values():
        (tmp_path / "old").write_bytes(before)
        (tmp_path / "new").write_bytes(after)
        command = [
            "git",
            "-c",
            "core.autocrlf=false",
            "diff",
            "--no-index",
            "--no-color",
            "--minimal",
            "-a",
            "old",
            "new",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=False)
        theirs = [line.split(b" @@")[0] for line in done.stdout.split(b"\n") if line.startswith(b"@@")]
        ours = unified_diff(before, after, "new").encode("utf-8", "surrogateescape")
        assert [line.split(b" @@")[0] for line in ours.split(b"\n") if line.startswith(b"@@ -")][
            : len(theirs)
        ] == theirs


def test_it_is_applied_below_the_top_of_a_repository_too(tmp_path: Path) -> None:
    """Git takes the names of its own patches from the top, and says nothing of those that it passes over."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    for path in ("net.py", "pkg/my net.py"):
        folder = tmp_path / "sub" / Path(path).stem
        folder.mkdir(parents=True)
        assert applied(b"a\nb\n", unified_diff(b"a\nb\n", b"a\nB\n", path), path, folder) == b"a\nB\n"
