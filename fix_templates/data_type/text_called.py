"""A text with places to fill in is called as if it were the function that fills them in."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, Held, Mend, Reject, Replace, Subject, Wrap

_PERCENT = re.compile(r"%(?!%)[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrs]")


class TextCalled(CrashTemplate):
    """A text with places to fill in is called as if it were the function that fills them in.

    The text that the run shows has as many places, `{}` or `%d`, as the call has arguments.

    Fix safety: unsafe. The call could not run before.

    References: https://docs.python.org/3/library/string.html#format-string-syntax.
    """

    code = "DNF611"
    name = "text-called"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or "'str' object is not callable" not in crash.message:
            return
        source = subject.source
        function = source.site(node.func)
        text = _text(node.func, crash.held_at(function))
        if text is None or any(isinstance(one, ast.Starred) for one in node.args):
            return
        code = subject.text(function)
        edits: tuple[Edit, ...] | None = None
        if _formatted(text, len(node.args), [k.arg for k in node.keywords]):
            edits = (Wrap(function, "", ".format"),)
        elif (
            node.args and not node.keywords and _alone(subject, node) and len(_PERCENT.findall(text)) == len(node.args)
        ):
            given = ", ".join(subject.text(source.site(one)) for one in node.args)
            edits = (Replace(source.site(node), f"{code} % ({given}{',' * (len(node.args) == 1)})"),)
        if edits is not None:
            what = f"{code} is the text {text!r}, which is called and not filled in"
            yield Mend(source.site(node), what, (("Fill the text in", edits, 0.9),))

    examples = (
        Example(
            "a text with names",
            """\
import torch

report = "epoch {epoch}: loss {loss:.3f}"
- print(report(epoch=1, loss=torch.ones(1).item()))
+ print(report.format(epoch=1, loss=torch.ones(1).item()))
""",
            runs=True,
        ),
        Example(
            "a text without its percent sign",
            """\
import torch

loss = torch.ones(1).item()
- print("loss %.3f after %d steps"(loss, 10))
+ print("loss %.3f after %d steps" % (loss, 10))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a name of a function",
            """\
import torch

activation = "relu"
print(activation(torch.ones(2)))
""",
            runs=True,
        ),
        Reject(
            "another number of places",
            """\
import torch

name = "net-{}.pt"
print(name(1, 2), torch.ones(1))
""",
            runs=True,
        ),
    )


def _text(called: ast.expr, held: Held | None) -> str | None:
    """The text that is called: it stands there, or the run shows it."""
    if isinstance(called, ast.Constant):
        return called.value if isinstance(called.value, str) else None
    return held.text if held is not None else None


def _alone(subject: Subject, node: ast.Call) -> bool:
    """Whether an operator in place of the call needs no brackets there."""
    return isinstance(subject.source.parent(node), (ast.Call, ast.keyword, ast.Assign, ast.Return, ast.Expr))


def _formatted(text: str, given: int, names: list[str | None]) -> bool:
    """Whether a text has a place for each argument and no others."""
    try:
        places = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        return False
    if not places:
        return False
    heads = [re.split(r"[.\[]", field)[0] for field in places]
    numbered = {int(head) for head in heads if head.isdigit()}
    wanted = heads.count("") or len(numbered)
    named = {head for head in heads if head and not head.isdigit()}
    return wanted == given and named == set(names) and (not numbered or numbered == set(range(given)))
