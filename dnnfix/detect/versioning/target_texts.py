"""Texts of targets: a block in which a tokenizer was switched to its target language is a call with `text_target` today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Replace
from dnnfix.source.program import Source

SWITCHES = frozenset({"as_target_tokenizer", "as_target_processor"})

_SIMPLE = (ast.Assign, ast.Return, ast.Expr)
"""Statements of a block that can stand without it."""

_GUIDE = "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md"


def outdated_targets(uses: Uses) -> Iterator[Hit]:
    """The blocks of `with tokenizer.as_target_tokenizer():`, which transformers 5 took away."""
    source = uses.source
    for block in source.nodes(ast.With):
        switch = block.items[0].context_expr
        if not isinstance(switch, ast.Call) or not isinstance(switch.func, ast.Attribute):
            continue
        if switch.func.attr not in SWITCHES or switch.args or switch.keywords:
            continue
        keyword = "text" if switch.func.attr == "as_target_processor" else "text_target"
        code = _without_switch(source, block, switch.func.value, keyword)
        yield Hit(
            source.site(block),
            f"{switch.func.attr} was removed in transformers 5.0; give the texts as {keyword}",
            f"give the texts of targets as {keyword}",
            edits=(Replace(source.site(block), code),) if code else (),
            decline="" if code else f"what is done in the block is not only a call of {ast.unparse(switch.func.value)}",
            removed={"transformers": "5.0"},
            evidence={"reference": _GUIDE},
            within=source.site(block),
        )


def _without_switch(source: Source, block: ast.With, tokenizer: ast.expr, keyword: str) -> str:
    """The statements of a block with each call of its tokenizer given its texts as those of the target; empty where that
    cannot be written.
    """
    if len(block.items) > 1 or block.items[0].optional_vars is not None:
        return ""
    called, statements = ast.dump(tokenizer), []
    for statement in block.body:
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and ast.dump(node.func) == called]
        given = calls[0].args if len(calls) == 1 else []
        if len(given) != 1 or isinstance(given[0], ast.Starred) or not isinstance(statement, _SIMPLE):
            return ""
        site, first = source.site(statement), source.site(given[0])
        lines = source.segment(site).split("\n")
        row = first.line - site.line
        column = first.column - (1 if row else site.column)
        lines[row] = f"{lines[row][:column]}{keyword}={lines[row][column:]}"
        indented = " " * (site.column - 1)
        statements.append("\n".join([lines[0], *(line.removeprefix(indented) for line in lines[1:])]))
    return "\n".join(statements)
