"""Explains why a trial could not read a file of the repository: its name looks secret, or it was not offered."""

from __future__ import annotations

import os

from dnnfix.records import RunOutcome, Trace
from dnnfix.run.project import Project
from dnnfix.run.secret import looks_secret


def why_missed(project: Project, place: str, trace: Trace) -> str | None:
    """Why a run of the program at `place` could not read the file that it ended for; `None` if the repository has no
    such file.
    """
    if trace.outcome is not RunOutcome.NEEDS_DATA or project.root is None:
        return None
    path = os.path.normpath(os.path.join(os.path.dirname(place), trace.detail))
    if path.startswith((os.pardir, os.sep)) or _is_shown(project, path) or not os.path.exists(project.root / path):
        return None
    if any(looks_secret(part) for part in path.split(os.sep)):
        return f"{trace.detail} is there, but its name looks like that of a secret, which no run gets to see"
    return f"{trace.detail} is there, but not among the files that a run gets to see of a repository (docs/sandbox.md)"


def _is_shown(project: Project, path: str) -> bool:
    """Whether a run got to see a file, or the folder that it lies in as a whole."""
    links = [link[0] for link in project.links]
    shown = {*project.folders, *(file[0] for file in project.files), *links}
    return path in shown or any(path.startswith(link + os.sep) for link in links)
