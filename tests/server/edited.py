"""What a client makes of the server's edits: written by the protocol's description, and by nothing of the server."""

from __future__ import annotations

import itertools
import re

from lsprotocol import types

WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def at(text: str, place: types.Range, encoding: str = "utf-16") -> str:
    """The text in a range."""
    raw = text.encode(CODECS[encoding])
    return raw[_offset(text, place.start, encoding) : _offset(text, place.end, encoding)].decode(CODECS[encoding])


def edited(text: str, edits: list[types.TextEdit], encoding: str = "utf-16") -> str:
    """The text with edits, which must not overlap, carried out."""
    raw = text.encode(CODECS[encoding])
    spans = sorted((_offset(text, e.range.start, encoding), _offset(text, e.range.end, encoding), e) for e in edits)
    for (_, end, _), (start, _, _) in itertools.pairwise(spans):
        assert end <= start, "edits overlap"
    for start, end, edit in reversed(spans):
        raw = raw[:start] + edit.new_text.encode(CODECS[encoding]) + raw[end:]
    return raw.decode(CODECS[encoding])


def of(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    """The edits of a document in an action."""
    edit = action.edit
    assert edit is not None
    if edit.changes is not None:
        return list(edit.changes[uri])
    changes = [change for change in edit.document_changes or [] if isinstance(change, types.TextDocumentEdit)]
    found = [one for change in changes if change.text_document.uri == uri for one in change.edits]
    return [one for one in found if isinstance(one, types.TextEdit)]


def _offset(text: str, position: types.Position, encoding: str) -> int:
    """Where a position is among the bytes of the text; the line and the column have to be there."""
    starts = [0, *(end.end() for end in re.finditer(r"\r\n|\r|\n", text))]
    codec = CODECS[encoding]
    line = re.split(r"\r\n|\r|\n", text)[position.line].encode(codec)
    column = position.character * WIDTHS[encoding]
    assert column <= len(line), "beyond the line"
    line[:column].decode(codec)  # not amid a character
    return len(text[: starts[position.line]].encode(codec)) + column
