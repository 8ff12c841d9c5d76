"""The operator "connections": a Keras model is given the inputs that its outputs are computed from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import FixPattern
from dnnfix.synthesize.definitions import definitions
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.NEURAL_CONNECTION

MOST = 6
"""Inputs up to which a model is given all there are."""

_APART = re.compile(r"not connected to `?inputs|Graph disconnected")


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other inputs for the model that is made at a place."""
    call = place.node
    if not isinstance(call, ast.Call) or place.role is not Role.FAILING or not _APART.search(scene.message):
        return
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "inputs"), None)
    given = given if given is not None else call.args[0] if call.args else None
    if given is None or isinstance(given, ast.Starred):
        return
    names = scene.names(call)
    inputs = [name for name, told in names.items() if told.last == "KerasTensor" and _is_input(scene, call, name)]
    if 1 <= len(inputs) <= MOST:
        code = inputs[0] if len(inputs) == 1 else f"[{', '.join(inputs)}]"
        if code != scene.code(given):
            yield replaced(scene, given, code, "all inputs")
    parts = [name for name, told in names.items() if told.last in ("Sequential", "Functional", "Model")]
    if 1 < len(parts) <= MOST:
        yield replaced(scene, given, f"[{', '.join(f'{name}.inputs[0]' for name in parts)}]", "inputs of parts")


def _is_input(scene: Scene, call: ast.Call, name: str) -> bool:
    """Whether a name was given a new input, in the function that a call stands in."""
    use = ast.parse(name, mode="eval").body
    source = scene.subject.source
    owner = source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    uses = [n for n in source.nodes(type(use)) if ast.unparse(n) == name]
    uses = [n for n in uses if source.enclosing(n, ast.FunctionDef, ast.AsyncFunctionDef) is owner] or uses
    made = definitions(source, uses[0]) if uses and isinstance(uses[0], ast.expr) else ()
    return any(isinstance(value, ast.Call) and ast.unparse(value.func).endswith("Input") for value in made)
