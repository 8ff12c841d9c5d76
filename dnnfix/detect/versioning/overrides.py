"""Methods that a class of the program defines for its library to call, and that the library calls no more: `training_epoch_end`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.calls import derives, said
from dnnfix.detect.versioning.epoch_ends import ENDS, outdated_ends
from dnnfix.detect.versioning.hook_signatures import hooks_of_any_epoch, longer_hooks
from dnnfix.detect.versioning.imports import facts, removed_in
from dnnfix.detect.versioning.lightning_modules import lightning_modules
from dnnfix.detect.versioning.logged_dictionaries import unlogged
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.several_optimizers import steps_for_optimizers
from dnnfix.subject import Subject


def overridden_methods(subject: Subject, uses: Uses) -> Iterator[Hit]:
    """The definitions that take the place of a method which a base class has lost, where the program itself does not call them."""
    source = uses.source
    yield from outdated_ends(subject)
    yield from steps_for_optimizers(subject)
    yield from longer_hooks(subject)
    yield from hooks_of_any_epoch(subject)
    yield from unlogged(subject)
    histories = [known for known in uses.tables if known.shown]
    if not histories:
        return
    called = {node.attr for node in source.nodes(ast.Attribute)}
    for owner in source.nodes(ast.ClassDef):
        for method in (one for one in owner.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))):
            if method.name in called or method.name in ENDS and owner in lightning_modules(source):
                continue
            for change in (change for known in histories for change in known.methods(method.name)):
                if any(derives(source, owner, kind) for kind in change.of):
                    yield Hit(
                        site=source.site(method),
                        what=f"{said(change)}, and nothing calls the one that {owner.name} defines",
                        decline=change.note,
                        removed=removed_in((change,)),
                        evidence=facts(change),
                    )
                    break
