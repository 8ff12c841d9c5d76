"""Writes a reproduced program with its scaffold as one standalone script."""

from __future__ import annotations

import ast
import copy

from dnnfix.records import Reproduction
from dnnfix.run.probe.program.cells import late_futures
from dnnfix.run.probe.program.scaffold import placements, smaller
from dnnfix.source.program import Source
from dnnfix.source.tree import first_line

_RULE = "# " + "-" * 70


def script(source: Source, reproduction: Reproduction) -> str:
    """The text of the script: a head that lists what is synthetic, the code before, the program, the code after."""
    scaffold = reproduction.scaffold
    lines = source.text.splitlines()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            new = dict(scaffold.literals).get(node.value)
            if new is not None and node.lineno == node.end_lineno:
                _replace(lines, node, repr(new))
    for constant, number in smaller(source.tree, scaffold.sizes):
        _replace(lines, constant, repr(number))
    futures = [ast.unparse(statement) for statement in late_futures(source.tree)]
    for statement in late_futures(source.tree):
        _replace(lines, statement, "pass")
    tree = copy.deepcopy(source.tree)
    inserted: dict[int, list[str]] = {}
    header = placements(tree, (("", ""),))[0].position
    first = tree.body[header].lineno if header < len(tree.body) else len(lines) + 1
    if futures:
        # A notebook's later cells may have them, a script only its top.
        inserted[first] = ["\n".join(futures)]
    if scaffold.arguments:
        inserted.setdefault(first, []).append(f"import sys\n\nsys.argv[1:] = {list(scaffold.arguments)!r}")
    if scaffold.start:
        inserted.setdefault(first, []).append(scaffold.start)
    places = placements(tree, scaffold.definitions)
    for (_name, code), place in zip(scaffold.definitions, places, strict=True):
        at_end = place.position >= len(place.block)
        like = place.block[-1 if at_end else place.position]
        line = (like.end_lineno or like.lineno) + 1 if at_end else first_line(like)
        indent = " " * like.col_offset
        inserted.setdefault(line, []).append("\n".join(indent + part for part in code.splitlines()))
    written: list[str] = []
    for number in range(1, len(lines) + 2):
        for code in inserted.get(number, ()):
            written.extend([*_fenced(code)])
        if number <= len(lines):
            written.append(lines[number - 1])
    if scaffold.end:
        written.extend(_fenced(scaffold.end))
    head = [*_head(reproduction)]
    shebang = 1 if written and written[0].startswith("#!") else 0
    return "\n".join([*written[:shebang], *head, *written[shebang:]]).rstrip() + "\n"


def _head(reproduction: Reproduction) -> list[str]:
    """What was done, as comments."""
    said = ["# Made runnable by `dnnfix reproduce`. Nothing of the program itself was repaired. What was done:"]
    said += [f"#   {line}" for step in reproduction.steps for line in str(step).splitlines()]
    return [*said, _RULE]


def _fenced(code: str) -> list[str]:
    indent = code[: len(code) - len(code.lstrip())].replace("\n", "")
    return [f"{indent}# dnnfix reproduce:", *code.splitlines(), f"{indent}# :dnnfix reproduce"]


def _replace(lines: list[str], node: ast.Constant | ast.stmt, new: str) -> None:
    """Put `new` in the place of a constant or statement, and nothing on its further lines; columns count bytes."""
    last = node.end_lineno or node.lineno
    rest = lines[last - 1].encode()[node.end_col_offset :] if node.end_col_offset is not None else b""
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + rest).decode()
    lines[node.lineno : last] = [""] * (last - node.lineno)
