"""The patched program compiles, and differs from the original.

Parsing alone lets `return` outside a function or a misplaced `nonlocal` through; compiling does not. A program that
did not compile before (a snippet, Python 2) only has to parse as it did.
"""

from __future__ import annotations

import ast

from dnnfix.api import Evidence, Source, Verdict

NAME = "parses"
RUNG = "parse"


def judge(evidence: Evidence) -> Verdict:
    """Pass when the patched source differs from the original and compiles at least as well."""
    if evidence.source_before.contents == evidence.source_after.contents:
        return Verdict.fails("the patch changes nothing")
    error = _compile_error(evidence.source_after)
    for before, after in zip(evidence.source_before.beside, evidence.source_after.beside, strict=True):
        if (broken := _compile_error(after)) and not _compile_error(before):
            return Verdict.fails(f"the patched {after.path} does not compile: {broken}")
    if error and not _compile_error(evidence.source_before):
        return Verdict.fails(f"the patched program does not compile: {error}")
    return Verdict.passes("compiles" if not error else "parses as far as the original did")


def _compile_error(source: Source) -> str:
    try:
        tree = ast.parse(source.text)
        compile(tree, source.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return ""
