"""The catalogue as pages: a table of all rules, and one page for each family, from the rules themselves."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from dnnfix import registry
from dnnfix.cli.templates import HEAD, page
from dnnfix.emit.rules import rule
from dnnfix.records import Family

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate

ABOUT = {
    Family.DATA_DIMENSION: "shapes of data, labels and batches",
    Family.LAYER_DIMENSION: "sizes of layers that do not fit each other",
    Family.LOSS_ACTIVATION: "losses, and the activations before them",
    Family.CONNECTIVITY: "parts of a network that are missing, or joined in the wrong way",
    Family.VERSIONING: "what libraries have renamed, removed or changed",
    Family.DATA_TYPE: "dtypes and kinds of values",
    Family.TRAINING: "loops, optimizers and modes",
    Family.OPINIONATED: "not wrong, but often regretted",
}

FILTER = (
    '<input class="filter" type="search" placeholder="Filter: a code, a word, a library" aria-label="Filter the rules">'
)


@cache
def _rules() -> tuple[type[FixTemplate], ...]:
    return tuple(registry.templates(()))


def families() -> list[str]:
    """The families that have rules, in the order of the catalogue."""
    return list(dict.fromkeys(template.family.value for template in _rules()))


def overview() -> str:
    """The page with all rules, one line each."""
    lines = [HEAD, FILTER, ""]
    for family in families():
        lines += [
            f"## {family}",
            "",
            f"[{_said(family)}]({family}.md)",
            "",
            "| rule | what is wrong | |",
            "|---|---|---|",
        ]
        for template in _rules():
            if template.family.value == family:
                about = rule(template)
                place = f"{family}.md#{about.code.lower()}-{about.name}"
                marks = ", ".join(
                    word for word, is_said in (("run", template.needs_run), ("off", not template.default)) if is_said
                )
                lines.append(f"| [{about.code}]({place})<br>{about.name} | {_cell(about.summary)} | {marks} |")
        lines.append("")
    return "\n".join(lines)


def writer(family: str) -> Callable[[], str]:
    """What makes the page of a family."""

    def write() -> str:
        listed = [template for template in _rules() if template.family.value == family]
        text = "\n".join(page(listed)).removeprefix(HEAD).lstrip()
        return text.replace(f"## {family}\n", f"# {family}\n\n{_said(family)}\n", 1).replace("\n### ", "\n## ")

    return write


def _said(family: str) -> str:
    return f"{ABOUT[Family(family)][:1].upper()}{ABOUT[Family(family)][1:]}."


def _cell(words: str) -> str:
    return html.escape(words, quote=False).replace("|", "\\|") if "`" not in words else words.replace("|", "\\|")
