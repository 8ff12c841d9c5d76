"""Which accepted patches are good enough to be proposed to a maintainer who has not asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dnnfix.bot.entries import is_program
from dnnfix.bot.pins import Pin, keep_below, pins
from dnnfix.detect.versioning.migration import REMOVED
from dnnfix.emit.choice import chosen
from dnnfix.emit.hunks import sections
from dnnfix.records import Applicability, FileReport, Patch, Status, Symptom

_FILE_NAME = re.compile(r"""["'](?:[^"'\n]*[/\s{}%])?([^"'\n/\s{}%]*\.\w+)["'\\]""")
"""The name of a file in quotes, without its folder; of one that is put together its ending, `.h5`, or what stands before it as well."""


def proposable(looked: Iterable[FileReport], files: Mapping[str, bytes]) -> Iterator[tuple[FileReport, Patch]]:
    """The patches that may be proposed, each with the report of its program; `files` are those of the repository, content by path."""
    bounds = tuple(pins(files))
    for file in looked:
        for patch in chosen(file, unsafe=True):
            if (
                _was_seen(patch, file)
                and not _is_of_other_versions(patch, file.path, bounds)
                and not _renames_what_others_name(patch, files)
            ):
                yield file, patch


def _was_seen(patch: Patch, file: FileReport) -> bool:
    """Whether a run showed the fault, or the gain: where it came to neither, what does not keep the meaning is not for a stranger's eyes.

    What shows on data that were made up may come of them.
    """
    if patch.candidate.applicability is Applicability.SAFE:
        return True
    observed = any(finding.symptom is not Symptom.NONE_OBSERVED for finding in patch.candidate.findings)
    gains = any(verdict.rung == "learn" and verdict.status is Status.PASS for verdict in patch.verdicts)
    return (observed or gains) and not file.reproduction.invents_data


def _is_of_other_versions(patch: Patch, path: str, bounds: tuple[Pin, ...]) -> bool:
    """Whether it mends what is gone in versions that the repository does not run with."""
    gone = [str(finding.evidence[REMOVED]) for finding in patch.candidate.findings if REMOVED in finding.evidence]
    removed = [one.split(" ") for several in gone for one in several.split(", ")]
    return any(keep_below(bounds, path, package, version) for package, version in removed)


def _renames_what_others_name(patch: Patch, files: Mapping[str, bytes]) -> bool:
    """Whether it calls a file otherwise that another program of the repository calls as before: that one would not find it."""
    changed = sections(patch.diff)
    lines = [line for section in changed.values() for line in section.splitlines()]
    before, after = ({name for line in lines if line[:1] == sign for name in _FILE_NAME.findall(line)} for sign in "-+")
    gone = before - after
    others = (raw for path, raw in files.items() if gone and path not in changed and is_program(path))
    named = (name for raw in others for name in _FILE_NAME.findall(raw.decode("utf-8", "replace")))
    return any(_may_be_one(one, name) for name in named for one in gone)


def _may_be_one(name: str, other: str) -> bool:
    """Whether two names may be of one file: the same, or one of them an ending that the other has."""
    return name == other or (name[0] == "." and other.endswith(name)) or (other[0] == "." and name.endswith(other))
