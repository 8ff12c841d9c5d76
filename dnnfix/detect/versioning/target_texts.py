"""Texts of targets: a block in which a tokenizer was switched to its target language is a call with `text_target` today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Replace
from dnnfix.source.program import Source

SWITCHES = frozenset({"as_target_tokenizer", "as_target_processor"})

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
        code = _without_switch(source, block, switch.func.value)
        keyword = "text" if switch.func.attr == "as_target_processor" else "text_target"
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


def _without_switch(source: Source, block: ast.With, tokenizer: ast.expr) -> str:
    """The statements of a block with each call of its tokenizer given its texts as those of the target; empty where that
    cannot be written.
    """
    if len(block.items) > 1 or block.items[0].optional_vars is not None:
        return ""
    keyword = (
        "text" if source.segment(source.site(block.items[0].context_expr)).endswith("processor()") else "text_target"
    )
    called = ast.dump(tokenizer)
    lines = []
    for statement in block.body:
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        own = [call for call in calls if ast.dump(call.func) == called]
        if len(own) != 1 or not isinstance(statement, (ast.Assign, ast.Return, ast.Expr)) or len(own[0].args) != 1:
            return ""
        text, first = source.segment(source.site(statement)), source.site(own[0].args[0])
        if text.count("\n"):
            text = text.replace("\n" + " " * (source.site(statement).column - source.site(block).column), "\n")
        code = source.segment(first)
        before, found, after = text.partition(f"({code}")
        if not found or isinstance(own[0].args[0], ast.Starred):
            return ""
        lines.append(f"{before}({keyword}={code}{after}")
    return ("\n" + " " * (source.site(block).column - 1)).join(lines)
