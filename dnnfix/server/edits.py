"""Patches as edits of the client's documents: no more characters than have to change, so that the cursor stays where it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePath

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec, Workspace

from dnnfix.emit import hunks
from dnnfix.errors import InputError
from dnnfix.records import Patch
from dnnfix.server.programs import Part, Program
from dnnfix.server.texts import Ruler
from dnnfix.source.cells import code_cells
from dnnfix.source.decode import decode


@dataclass(frozen=True)
class Editor:
    """Writes edits for one client: `versioned` tells whether it takes edits that hold for one version of a document alone."""

    workspace: Workspace
    codec: PositionCodec
    versioned: bool

    def patches(self, program: Program, patches: Sequence[Patch]) -> WorkspaceEdit:
        """The edit that makes the changes of patches, modules beside the program included.

        Raises:
            InputError: the documents are not those that the patches were made for, or two patches touch the same lines.
        """
        changes: dict[str, dict[hunks.Replacement, None]] = {}
        for patch in patches:
            for path, section in hunks.sections(patch.diff).items():
                changes.setdefault(path, {}).update(dict.fromkeys(hunks.replacements(section)))
        own = changes.pop(hunks.own_section(program.path), {})
        edits = list(self._own(program, hunks.apply(program.raw, own)))
        for path, others in changes.items():
            edits.append(self._beside(Path("/", path) if program.path.startswith("/") else Path(path), list(others)))
        return self.edit(edits)

    def lines(self, part: Part, line: int, text: str) -> WorkspaceEdit:
        """The edit that gives a line (from 0) of a document another text; its end stays."""
        ruler = Ruler.of(part.text, self.codec)
        before = ruler.lines[line].rstrip("\r\n")
        lines = [*ruler.lines]
        lines[line] = text + lines[line][len(before) :]
        return self.edit([(part, text_edits(part.text, "".join(lines), self.codec))])

    def edit(self, changed: Sequence[tuple[Part, list[TextEdit]]]) -> WorkspaceEdit:
        """Edits of documents as one."""
        made = [(part, edits) for part, edits in changed if edits]
        if not self.versioned:
            return WorkspaceEdit(changes={part.uri: edits for part, edits in made})
        named = [(OptionalVersionedTextDocumentIdentifier(part.uri, part.version), edits) for part, edits in made]
        return WorkspaceEdit(document_changes=[TextDocumentEdit(document, [*edits]) for document, edits in named])

    def _own(self, program: Program, after: bytes) -> Iterator[tuple[Part, list[TextEdit]]]:
        for name, text in _texts(program, after).items():
            part = program.parts[name]
            yield part, text_edits(part.text, text, self.codec)

    def _beside(self, path: Path, changes: list[hunks.Replacement]) -> tuple[Part, list[TextEdit]]:
        """The edit of a module beside the program: as it is in an open document, or on the disk."""
        uri = from_fs_path(posixpath.normpath(PurePath(path).as_posix())) or ""
        document = self.workspace.get_text_document(uri)
        try:
            text = document.source if document.version is not None else decode(path.read_bytes(), str(path)).text
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}), and the patch changes it.") from None
        after = hunks.apply(text.encode("utf-8", "surrogatepass"), changes).decode("utf-8", "surrogatepass")
        return Part(uri, document.version, text), text_edits(text, after, self.codec)


def _texts(program: Program, after: bytes) -> dict[str | None, str]:
    """The texts of a program's documents in its changed bytes."""
    if not program.is_notebook:
        return {None: decode(after, program.path).text}
    cells, _ = code_cells(after.decode("utf-8"))
    return {cell.name: cell.source for cell in cells if cell.name in program.parts}


def text_edits(before: str, after: str, codec: PositionCodec) -> list[TextEdit]:
    """The edits that make one text of the other."""
    ruler, new = Ruler.of(before, codec), Ruler.of(after, codec).lines
    old = ruler.lines
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    # Patches are small and programs are long: only what lies between is compared line by line.
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return [
        _edit(ruler, head + first, head + last, "".join(new[head + c : head + d]))
        for tag, first, last, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _edit(ruler: Ruler, first: int, last: int, new: str) -> TextEdit:
    """The edit that puts a text in place of lines; where it is one line for one, what both begin and end with stays."""
    if last - first == 1 and len(ruler.lines[first].splitlines()) == len(new.splitlines()) == 1:
        old = ruler.lines[first]
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        if len(old) - tail <= len(old.rstrip("\r\n")):  # the line's end is part of what stays
            return TextEdit(ruler.range((first, head), (first, len(old) - tail)), new[head : len(new) - tail])
    return TextEdit(Range(ruler.position(first, 0), ruler.position(last, 0)), new)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many characters two texts begin with together, or lines two lists of them."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))
