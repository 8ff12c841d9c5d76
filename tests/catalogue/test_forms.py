"""Expressions that a table has in another form: how patterns are read, and which parts of a call are edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.detect.versioning.local_changes import template_of
from dnnfix.errors import CatalogueError
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose

HEAD = """[template]
code = "ACME501"
name = "old-acme-forms"

[[form]]
removed = "4.0"
package = "acme"
"""


def migrated(folder: Path, form: str, line: str) -> str:
    """The line after the migration of a program by a table with one form; the same where nothing is found."""
    (folder / "acme.toml").write_text(HEAD + form)
    subject = Subject(Source.from_bytes(f"import torch\nimport acme\n{line}\n".encode(), "program.py"))
    mine = template_of(folder / "acme.toml")
    for finding in mine().detect(subject):
        candidates = propose(finding, subject, mine).candidates
        return apply_edits(subject.source, candidates[0].edits).decode().splitlines()[-1] if candidates else "declined"
    return line


@pytest.mark.parametrize(
    ("form", "line", "after"),
    [
        ('old = "acme.plain($x)"\nnew = "$x.item()"', "y = acme.plain(a + 1)", "y = (a + 1).item()"),
        ('old = "acme.plain($x)"\nnew = "$x.item()"', "y = acme.plain(*a)", "y = acme.plain(*a)"),
        ('old = "acme.plain($x)"\nnew = "$x.item()"', "y = other.plain(a)", "y = other.plain(a)"),
        ('old = "acme.f($$all)"\nadd = { kind = "1" }', "acme.f(a,  b=2)", "acme.f(a,  b=2, kind=1)"),
        ('old = "acme.f($$all)"\nadd = { kind = "1" }', "acme.f(a, kind=2)", "acme.f(a, kind=2)"),
        ('old = "$o.turn_($n, $t)"\nnew = "$o.turn_($t, by=$n)"', "x.turn_(2, t)", "x.turn_(t, by=2)"),
        ('old = "acme.f($x, keep=$k)"\nnew = "acme.f($x, rate=1 - $k)"', "acme.f(a, keep=0.8)", "acme.f(a, rate=0.2)"),
        ('old = "acme.f($x)"\nnew = "acme.g([$x])"\nat = "x"', "acme.f(a)", "acme.f(acme.g([a]))"),
        ('old = "acme.@($x)"\nof = ["f", "g"]\nnew = "{acme.h}($x, 1)"', "acme.g(a)", "acme.h(a, 1)"),
        ('old = "acme.f($x)"\nnote = "nothing does it"', "acme.f(a)", "declined"),
    ],
)
def test_the_new_form_is_written_with_what_both_have_left_alone(
    tmp_path: Path, form: str, line: str, after: str
) -> None:
    assert migrated(tmp_path, form, line) == after


def test_a_condition_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="not a condition"):
        migrated(tmp_path, 'old = "acme.f($x)"\nnew = "$x"\nwhere = { x = "nice" }', "acme.f(a)")
