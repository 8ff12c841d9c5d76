"""Another name: one in scope that is spelt alike or holds what fits, another attribute of the same object, an import."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Iterator

from dnnfix.detect.misspellings import parts as words_of
from dnnfix.records import AddImport, FixPattern
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.NEURAL_CONNECTION

NEAR = 12
"""Names that are tried for one, the most alike first."""

SPELLING = 4.0
"""What a name loses, in logarithms, for each unit of likeness that another, or a good one, has more."""

GOOD = 0.9
"""Likeness from which on a name may be the one that was meant."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other names for the name, or the attribute, at a place."""
    node = place.node
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _for_name(scene, place, node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _for_attribute(scene, place, node)


def _for_name(scene: Scene, place: Place, node: ast.Name) -> Iterator[Change]:
    names = scene.names(node)
    missing = scene.kind in ("NameError", "UnboundLocalError") and f"'{node.id}'" in scene.message
    if missing and node.id in sys.stdlib_module_names:
        yield Change((AddImport(f"import {node.id}"),), f"Import {node.id}", "import")
    if f"self.{node.id}" in names:
        yield replaced(scene, node, f"self.{node.id}", "of self")
    held = place.told
    known = [name for name in names if name != node.id and not name.startswith("__")]
    if missing:
        known += [name for name in dir(builtins) if not name.startswith("_")]
        ranked = sorted(known, key=lambda name: -alike(node.id, name))[:NEAR]
        best = max(alike(node.id, ranked[0]), GOOD) if ranked else GOOD
    else:
        fits = [
            name
            for name in known
            if held is not None
            and not names[name].module
            and not (held.module or (held.takes and not names[name].takes))
        ]
        ranked = sorted(fits, key=lambda name: -alike(node.id, name))[:NEAR]
        best = 1.0
    for name in ranked:
        less = SPELLING * min(0.0, alike(node.id, name) - best)
        yield replaced(scene, node, name, "spelling" if missing else "name", less)


def _for_attribute(scene: Scene, place: Place, node: ast.Attribute) -> Iterator[Change]:
    missing = scene.kind in ("AttributeError", "ImportError") and f"'{node.attr}'" in scene.message
    if missing and place.role in (Role.FAILING, Role.STATEMENT):
        called = scene.subject.source.is_called(node)
        fits = [name for name, sort in scene.near if (sort != "value") == called]
        ranked = sorted(fits, key=lambda name: -alike(node.attr, name))[:NEAR]
        for name in ranked:
            less = SPELLING * (alike(node.attr, name) - max(alike(node.attr, ranked[0]), GOOD))
            yield replaced(scene, node, f"{scene.code(node.value)}.{name}", "attribute", less)
        yield replaced(scene, node, scene.code(node.value), "no attribute")
        return
    names = scene.names(node)
    own = f"{ast.unparse(node.value)}."
    others = [name for name in names if name.startswith(own) and name != ast.unparse(node)]
    for name in sorted(others, key=lambda name: -alike(ast.unparse(node), name))[:6]:
        yield replaced(scene, node, name, "other attribute")


def alike(one: str, other: str) -> float:
    """How alike two names are: letters, words in common, and the beginning of one in the other."""
    first, second = one.lower(), other.lower()
    shared = len(set(words_of(one)) & set(words_of(other)))
    begun = first.replace("_", "") in second.replace("_", "") or second in first
    return difflib.SequenceMatcher(None, first, second).ratio() + 0.3 * shared + 0.3 * begun
