"""The operator "guards": what worked for values of one class is done only where `isinstance` says a value is of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import FixPattern
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import TENSOR, Scene
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_TYPE

BUILT_IN = frozenset({"dict", "float", "int", "list", "set", "str", "tuple"})


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """An element or a method of a value where it is of the class that it was of whenever its statement worked, else the value."""
    node = place.node
    match node:
        case ast.Subscript(value=owner) | ast.Call(func=ast.Attribute(value=owner)):
            pass
        case _:
            return
    told = scene.told(owner)
    worked = {_class(rank, kind) for rank, kind in scene.before.get(scene.site(owner), ())}
    if told is None or len(worked) != 1 or told.kind in TENSOR or told.last in worked:
        return
    if spelled := _spelled(scene, worked.pop()):
        code = scene.code(owner)
        yield replaced(scene, node, f"{scene.code(node)} if isinstance({code}, {spelled}) else {code}", "of its class")


def _class(rank: int | None, kind: str) -> str:
    """The class of what a name held, by its last name: of an array the kind of its numbers was told."""
    return kind if rank is None else "Tensor" if kind.startswith("torch.") else ""


def _spelled(scene: Scene, name: str) -> str:
    """How the program can write a class: as it calls it itself, or by the name that everybody knows it by."""
    if name in BUILT_IN:
        return name
    if name == "Tensor":
        spelling = spell(scene.subject, "torch.Tensor")
        return "" if spelling.imports else spelling.code
    for call in scene.subject.source.all_calls:
        if isinstance(call.func, ast.Name | ast.Attribute) and scene.code(call.func).rpartition(".")[2] == name:
            return scene.code(call.func)
    return ""
