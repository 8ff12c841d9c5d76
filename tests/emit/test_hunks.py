"""Our own diffs read back: applying them gives the new bytes, and nothing is applied to the wrong text."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.emit.hunks import Replacement, apply, backwards, replacements, sections
from dnnfix.errors import InputError
from dnnfix.source.diff import unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "", "-x", "+y", "@@ -1 +1 @@", "\\ No", "é", "\tq\r"]), max_size=12)


def bytes_of(lines: list[str], newline: bool) -> bytes:
    return ("\n".join(lines) + ("\n" if newline and lines else "")).encode()


@settings(max_examples=150, deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_round_trip(old: list[str], new: list[str], old_end: bool, new_end: bool) -> None:
    before, after = bytes_of(old, old_end), bytes_of(new, new_end)
    diff = unified_diff(before, after, "x.py")
    assert apply(before, replacements(diff)) == after
    assert apply(after, backwards(replacements(diff))) == before


def test_positions() -> None:
    old = [f"{n}\n" for n in range(1, 21)]
    new = [*old[:2], "new\n", *old[2:9], *old[10:], "last\n"]
    diff = "".join(difflib.unified_diff(old, new, "a", "b"))
    assert replacements(diff) == (
        Replacement(3, (), (b"new\n",)),
        Replacement(10, (b"10\n",), ()),
        Replacement(21, (), (b"last\n",)),
    )


def test_other_text_is_refused() -> None:
    diff = unified_diff(b"a\nb\nc\n", b"a\nB\nc\n", "x.py")
    with pytest.raises(InputError, match="line 2"):
        apply(b"a\nq\nc\n", replacements(diff))


def test_patches_on_the_same_line_are_refused() -> None:
    changes = [*replacements(unified_diff(b"a\n", b"b\n", "x")), *replacements(unified_diff(b"a\n", b"c\n", "x"))]
    with pytest.raises(InputError, match="same lines"):
        apply(b"a\n", changes)


def test_far_patches_go_together() -> None:
    before = b"".join(b"%d\n" % n for n in range(20))
    one, two = before.replace(b"3\n", b"three\n", 1), before.replace(b"17\n", b"", 1)
    changes = [*replacements(unified_diff(before, two, "x")), *replacements(unified_diff(before, one, "x"))]
    assert apply(before, changes) == one.replace(b"17\n", b"", 1)


def test_a_diff_of_several_files_is_parted_by_their_names() -> None:
    names = ["a.py", "in folder/b c.py", 'odd"\t.py', "é.py"]
    diffs = {name: unified_diff(b"+++ b/x\n1\n", b"diff --git a/x b/x\n1\n", name) for name in names}
    assert sections("".join(diffs.values())) == diffs
    assert sections("") == {}
