"""Decodes a program's bytes to text: byte order marks, coding declarations, and what to do with undecodable bytes.

Whatever encoding is taken gives back the same bytes when the text is encoded again, so that an edited program differs
from the user's file only where it was edited.
"""

from __future__ import annotations

import codecs
import re

from dnnfix.errors import InputError
from dnnfix.records.record import record

MAX_PROGRAM_BYTES = 2 * 2**20
"""The largest program that is analysed. Programs that people write stay below a tenth of it."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COOKIE = re.compile(rb"^[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#[^\r\n]*)?$")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_ASCII = bytes(range(32, 127))


@record
class Decoded:
    """A file's text with its own line endings, and how to get its bytes back."""

    text: str
    encoding: str
    bom: bytes
    notes: tuple[str, ...] = ()

    def encode(self, text: str) -> bytes:
        """The bytes of `text` in the file's encoding. Raises `UnicodeEncodeError` where it lacks a character."""
        return self.bom + text.encode(self.encoding)


def decode(raw: bytes, path: str) -> Decoded:
    """The text of a Python file. Raises `InputError` for a file that is too large or is not text."""
    if len(raw) > MAX_PROGRAM_BYTES:
        limit = MAX_PROGRAM_BYTES // 2**20
        raise InputError(
            f"{path}: {len(raw):,} bytes is more than the {limit} MiB that dnnfix analyses; split the file."
        )
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            return _marked(raw, path, bom, encoding)
    _refuse_nul(raw, path)
    cookie = _cookie(raw)
    if cookie is None:
        try:
            return Decoded(raw.decode("utf-8"), "utf-8", b"")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            note = f"line {line} is not UTF-8 and no coding is declared; the file was read as Latin-1"
            return Decoded(raw.decode("latin-1"), "latin-1", b"", (note,))
    text = _round_trip(raw, cookie)
    if text is not None:
        return Decoded(text, cookie, b"")
    note = f"the declared coding {cookie!r} does not fit the file, which was read as "
    text = _round_trip(raw, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8", b"", (note + "UTF-8",))
    return Decoded(raw.decode("latin-1"), "latin-1", b"", (note + "Latin-1",))


def words_of(raw: bytes) -> frozenset[str]:
    """The identifiers (and other words) in the bytes of a program, found without parsing it."""
    return frozenset(word.decode("ascii") for word in set(_WORD.findall(raw)))


def runnable(text: str, encoding: str) -> bytes:
    """`text` as bytes that an interpreter reads as that text, whatever coding its first lines declare."""
    declared = _cookie(text[:2048].encode("utf-8", "replace"))
    if declared is None:
        return text.encode("utf-8")
    if declared == encoding:
        return text.encode(encoding)
    lines = text.split("\n", 2)
    lines[:2] = [line.replace("coding", "c0ding") if _COOKIE.match(line.encode()) else line for line in lines[:2]]
    return "\n".join(lines).encode("utf-8")


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of `text` as Python counts them, and their endings; the last ending is empty.

    There is always one line more than there are line endings.
    """
    if "\r" not in text:
        lines = text.split("\n")
        return lines, ["\n"] * (len(lines) - 1) + [""]
    return _NEWLINE.split(text), [*_NEWLINE.findall(text), ""]


def usual_newline(endings: list[str]) -> str:
    """The line ending that most lines have; `\\n` for a text of one line."""
    counts = {ending: endings.count(ending) for ending in ("\n", "\r\n", "\r")}
    return max(counts, key=lambda ending: counts[ending])


def _marked(raw: bytes, path: str, bom: bytes, encoding: str) -> Decoded:
    try:
        text = raw[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        place = f"byte {error.start + len(bom)}"
        raise InputError(
            f"{path}: starts with the byte order mark of {encoding} but is not {encoding} at {place}; save it as UTF-8."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{path}: line {line} has a NUL character, so this is not Python source.")
    return Decoded(text, encoding, bom)


def _refuse_nul(raw: bytes, path: str) -> None:
    position = raw.find(b"\0")
    if position >= 0:
        line = raw.count(b"\n", 0, position) + 1
        raise InputError(
            f"{path}: line {line} has a NUL byte, so this is a binary file; give a Python program or a notebook."
        )


def _cookie(raw: bytes) -> str | None:
    """The coding that the first two lines declare (PEP 263), where they declare one that is not UTF-8."""
    for line in re.split(rb"\r\n|\r|\n", raw[:1024], maxsplit=2)[:2]:
        found = _COOKIE.match(line)
        if found:
            name = found.group(1).decode("ascii", "replace").lower().replace("_", "-")
            return None if re.match(r"utf-?8(-|$)", name) else name
        if not _BLANK.match(line):
            return None
    return None


def _round_trip(raw: bytes, encoding: str) -> str | None:
    """`raw` as text, if the encoding exists, extends ASCII, and gives the same bytes back."""
    if "escape" in encoding:
        return None
    try:
        if _ASCII.decode(encoding) != _ASCII.decode("ascii"):
            return None
        text = raw.decode(encoding)
        return text if text.encode(encoding) == raw and "\0" not in text else None
    except (LookupError, ValueError):
        return None
