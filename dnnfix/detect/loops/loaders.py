"""Data loaders: which loader a crashed loop iterated over, and the class of its dataset."""

from __future__ import annotations

import ast

from dnnfix.detect.tensors.axes import outward
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value
from dnnfix.source.tree import within
from dnnfix.subject import Subject

LOADER = "torch.utils.data.DataLoader"
"""The canonical name; other paths to the class are resolved to it."""


@record
class Loading:
    """The calls that make the loaders of one dataset's class, the class if the program has it, and the failed loop."""

    loaders: tuple[ast.Call, ...]
    dataset: ast.ClassDef | None
    loop: ast.For | None


def failed_loading(subject: Subject) -> Loading | None:
    """The loader whose next batch was asked for when the run ended; `None` where that is unknown."""
    crash = subject.crash
    own = [frame.site for frame in crash.frames if not frame.site.path] if crash is not None else []
    if not own:
        return None
    source = subject.source
    made = list(source.calls(LOADER))
    loop = next((one for one in source.nodes(ast.For) if _at_head(subject, one)), None)
    node = subject.node(own[-1])
    asked = loop.iter if loop is not None else node
    told: list[ast.Call] = []
    for name in within(asked, ast.Name, ast.Attribute) if asked is not None else ():
        call = source.constructor(outward(subject, name))
        if call is not None and any(call is one for one in made):
            told.append(call)
    if asked is not None:
        told += [call for call in within(asked, ast.Call) if any(call is one for one in made)]
    if not told and len({id(dataset_class(subject, call)) for call in made}) == 1:
        told = made
    if not told:
        return None
    owner = dataset_class(subject, told[0])
    alike = [call for call in made if owner is not None and dataset_class(subject, call) is owner]
    return Loading(tuple(alike or told[:1]), owner, loop)


def _at_head(subject: Subject, loop: ast.For) -> bool:
    """Whether the run ended at the head of a loop and not in its body."""
    crash = subject.crash
    site = crash.site if crash is not None else None
    if site is None or site.path:
        return False
    source = subject.source
    own = source.site(loop)
    head = source.site(loop.iter)
    begins = (site.line, site.column) == (own.line, own.column)
    return begins or head.encloses(site) or source.site(loop.target).encloses(site)


def dataset_class(subject: Subject, loader: ast.Call) -> ast.ClassDef | None:
    """The class of the program whose object a loader is made for."""
    given = argument_value(loader, "dataset", 0)
    made = subject.source.constructor(given) if given is not None else None
    if made is None and given is not None:
        made = _split(subject, given)
    owner = subject.source.definition(made.func) if made is not None else None
    return owner if isinstance(owner, ast.ClassDef) else None


def _split(subject: Subject, given: ast.expr) -> ast.Call | None:
    """The call that makes the dataset of which a loader is given a part."""
    source = subject.source
    if not isinstance(given, ast.Name):
        return None
    for statement in source.nodes(ast.Assign):
        made, stored = statement.value, {name.id for name in within(statement.targets[0], ast.Name)}
        if given.id not in stored or not isinstance(made, ast.Call) or not made.args:
            continue
        if source.qualified(made.func) in ("torch.utils.data.random_split", "torch.utils.data.Subset"):
            return source.constructor(made.args[0])
    return None
