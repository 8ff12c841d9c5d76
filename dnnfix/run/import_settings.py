"""The environment variables that a program sets for the import of TensorFlow or Keras, read from its source.

TensorFlow and Keras read some of their settings while they are imported. A trial's process imports them before the
program's first line, so such settings are read from the source and set in the environment of that process when it
starts; a warm process is shared by the programs that set the same ones. Only numbers are taken, and only of the few
variables below, which have no other effect: others name files and libraries, and what a program chooses is never loaded
outside of a trial.
"""

from __future__ import annotations

import re

_FRAMEWORK = re.compile(rb"^[ \t]*(?:from|import)[ \t]+[^\n#]*\b(?:tensorflow|keras|tf_keras)\b", re.MULTILINE)
_MENTIONED = re.compile(rb"""["'](?P<name>(?:TF|TF2|XLA)_[A-Z0-9_]+)["']""")
_OF_LOGS = b"TF_CPP_MIN_LOG_LEVEL"
"""What only says how much is logged, so that it may be written in any way."""
_WRITTEN = re.compile(
    rb"""^(?:os\.)?(?:environ\[[ \t]*|environ\.setdefault\([ \t]*|putenv\([ \t]*)"""
    rb"""["'](?P<name>TF_CPP_MIN_LOG_LEVEL|TF_USE_LEGACY_KERAS|TF_ENABLE_ONEDNN_OPTS)["']"""
    rb"""[ \t]*(?:\][ \t]*=|,)[ \t]*["'](?P<value>\d+)["'][ \t]*\)?[ \t]*(?:#|$)""",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)

Settings = tuple[tuple[str, str], ...]


def settings_before_import(program: bytes) -> Settings | None:
    """The variables that a program sets to constant numbers before it imports either framework.

    `None` where it has to do with the variables of TensorFlow or XLA in another way (another name, a computed value, a
    condition, a loop): what the import would have read is not known then. How much is logged does not matter.
    """
    imported = _FRAMEWORK.search(program)
    before = _COMMENT.sub(b"", program[: imported.start()] if imported else program)
    written = list(_WRITTEN.finditer(before))
    known = [found for found in written if found["name"] != _OF_LOGS]
    mentioned = [found for found in _MENTIONED.finditer(before) if found["name"] != _OF_LOGS]
    if len(known) < len(mentioned):
        return None
    return tuple(sorted({found["name"].decode(): found["value"].decode() for found in written}.items()))
