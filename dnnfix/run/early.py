"""What a program writes into the environment for a framework that is about to be imported.

TensorFlow and Keras read a good part of their settings while they are imported. The process of a trial has imported them
before the program's first line, so such settings are read off the text and stand in the environment of that process from
its start; a warm process is shared by the programs that write the same.
"""

from __future__ import annotations

import re

_FRAMEWORK = re.compile(rb"^[ \t]*(?:from|import)[ \t]+[^\n#]*\b(?:tensorflow|keras|tf_keras)\b", re.MULTILINE)
_NAME = rb"""(?P<quote>["'])(?P<name>(?:TF|TF2|XLA)_[A-Z0-9_]+)(?P=quote)"""
_MENTIONED = re.compile(_NAME)
_WRITTEN = re.compile(
    rb"^(?:os\.)?(?:environ\[[ \t]*|environ\.setdefault\([ \t]*|putenv\([ \t]*)" + _NAME
    + rb"[ \t]*(?:\][ \t]*=|,)[ \t]*(?P<close>[\"'])(?P<value>[^\"'\\\n]*)(?P=close)[ \t]*\)?[ \t]*(?:#|$)",
    re.MULTILINE,
)  # fmt: skip

Settings = tuple[tuple[str, str], ...]


def settings_before_import(program: bytes) -> Settings | None:
    """The variables of TensorFlow and XLA that a program sets to texts of its own before it imports either framework.

    `None` where it has to do with such a variable in another way (a computed value, a condition, a loop): what the import
    would have read is not known then.
    """
    imported = _FRAMEWORK.search(program)
    before = program[: imported.start()] if imported else program
    written = list(_WRITTEN.finditer(before))
    if len(written) < len(_MENTIONED.findall(_without_comments(before))):
        return None
    return tuple(
        sorted({found["name"].decode(): found["value"].decode("utf-8", "replace") for found in written}.items())
    )


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"^[ \t]*#[^\n]*", b"", text, flags=re.MULTILINE)
