"""Bytes to text and back."""

from __future__ import annotations

import codecs
import warnings

import pytest

from dnnfix.errors import InputError
from dnnfix.records import InsertBefore, RenameArgument, Replace
from dnnfix.source.decode import MAX_PROGRAM_BYTES, words_of
from dnnfix.source.edits import apply_edits
from tests.source.helpers import place, read


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        ("é = 1\n".encode(), "utf-8", "é = 1\n"),
        (codecs.BOM_UTF8 + "é = 1\n".encode(), "utf-8", "é = 1\n"),
        (codecs.BOM_UTF16_LE + "é = 1\n".encode("utf-16-le"), "utf-16-le", "é = 1\n"),
        (codecs.BOM_UTF16_BE + "é = 1\n".encode("utf-16-be"), "utf-16-be", "é = 1\n"),
        ("# -*- coding: latin-1 -*-\né = 1\n".encode("latin-1"), "latin-1", "# -*- coding: latin-1 -*-\né = 1\n"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\nx = 'ж'\n".encode("cp1251"), "cp1251", None),
        ("x = '日本'  # coding: shift_jis\n".encode("shift_jis"), "latin-1", None),
        ("# coding: shift_jis\nx = '日本'\n".encode("shift_jis"), "shift-jis", "# coding: shift_jis\nx = '日本'\n"),
        (b"x = '\xe9'\n", "latin-1", "x = 'é'\n"),
        (b"# coding: no-such-codec\nx = 1\n", "utf-8", None),
        (b"# coding: rot13\nk = 1\n", "utf-8", "# coding: rot13\nk = 1\n"),
    ],
)
def test_the_encoding_is_found_and_untouched_bytes_come_back(raw: bytes, encoding: str, text: str | None) -> None:
    source = read(raw)
    assert source.encoding == encoding
    if text is not None:
        assert source.text == text
    line = source.text.count("\n") - 1
    last = source.text.split("\n")[line]
    after = apply_edits(source, [InsertBefore(place(source, last.partition("  #")[0]), "pass")])
    added = ("pass\n").encode(encoding)
    assert added in after
    assert after.replace(added, b"", 1) == raw


def test_bytes_that_are_no_text_in_the_declared_coding_are_told() -> None:
    assert "Latin-1" in read(b"# coding: ascii\nx = '\xe9'\n").recoveries[0]
    assert "line 2" in read(b"y = 1\nx = '\xe9'\n").recoveries[0]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"\x7fELF\x00\x01", "binary"),
        (b"x = 1\ny = 2\x00\n", "line 2"),
        (codecs.BOM_UTF16_LE + b"x", "UTF-8"),
        (b"x = 1\n" * (MAX_PROGRAM_BYTES // 6 + 1), "2 MiB"),
        (b"x = (" * 300, "program.py"),
        (b"-" * 200_000 + b"1", "nested too deeply"),
        (b"The quick brown fox\njumps over it.\nAnd so on and on.\n", "not Python, line 1"),
    ],
)
def test_what_cannot_be_read_gets_a_message_with_file_and_place(raw: bytes, told: str) -> None:
    with pytest.raises(InputError, match="program.py") as caught:
        read(raw)
    assert told in str(caught.value)


def test_line_ends_stay_and_new_lines_take_the_kind_around_them() -> None:
    raw = b"a = 1\r\nb = f(x=1)\nc = 3\rd = 4"
    source = read(raw)
    assert source.text == "a = 1\nb = f(x=1)\nc = 3\nd = 4"
    after = apply_edits(source, [RenameArgument(place(source, "f(x=1)"), "x", "y")])
    assert after == b"a = 1\r\nb = f(y=1)\nc = 3\rd = 4"
    after = apply_edits(source, [InsertBefore(place(source, "a = 1"), "z\ny")])
    assert after == b"z\r\ny\r\na = 1\r\nb = f(x=1)\nc = 3\rd = 4"
    after = apply_edits(source, [InsertBefore(place(source, "c = 3"), "z")])
    assert after == b"a = 1\r\nb = f(x=1)\nz\rc = 3\rd = 4"


def test_form_feeds_separators_and_tabs_are_no_line_ends() -> None:
    raw = "\x0cx = 'a\x1cb\x85c\u2028d'\nif x:\n\ty = f(x)\n".encode()
    source = read(raw)
    assert source.text.count("\n") == 3
    after = apply_edits(source, [Replace(place(source, "f(x)"), "g(x)")])
    assert after == raw.replace(b"f(x)", b"g(x)")


def test_a_mark_of_order_stays_in_front_of_an_insertion() -> None:
    raw = codecs.BOM_UTF8 + b"x = 1"
    source = read(raw)
    assert apply_edits(source, [InsertBefore(place(source, "x = 1"), "y")]) == codecs.BOM_UTF8 + b"y\nx = 1"


def test_reading_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("x = '\\d'\ny = 1 is 1\n")


def test_words_need_no_parsing() -> None:
    assert words_of(b"import torch\nx = (((nn.Linear2 \xff") == {"import", "torch", "x", "nn", "Linear2"}


@pytest.mark.parametrize(
    "raw",
    [
        b"x = '\xe9'\n",
        b"# coding: ascii\nx = '\xe9'\n",
        codecs.BOM_UTF16_LE + "x = 'é'\n".encode("utf-16-le"),
        "# coding: latin-1\nprint 'é', x\n".encode("latin-1"),
        "# coding: shift_jis\nx = '日'\n".encode("shift_jis"),
        b">>> x = 'a'\n",
    ],
)
def test_what_is_run_is_what_is_analysed(raw: bytes) -> None:
    source = read(raw)
    compiled = compile(source.runnable, "program.py", "exec")
    meant = compile(source.tree, "program.py", "exec")
    assert compiled.co_consts == meant.co_consts
    assert read(b"x = 1\r\n").runnable == b"x = 1\r\n"
