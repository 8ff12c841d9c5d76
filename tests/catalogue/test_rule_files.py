"""Rules that are files: what is read, what is said of a bad one, and what each condition and fix does."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.detect.rule_files.matches import is_pattern, matches
from dnnfix.detect.rule_files.reading import read_rule
from dnnfix.detect.rule_files.template import template_of
from dnnfix.errors import CatalogueError
from dnnfix.records import Applicability, Nature
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose

HEAD = """\
[rule]
code = "LAB101"
name = "a-rule"
message = "found {0}"
why = "It is bad."
"""


def written(folder: Path, rest: str, head: str = HEAD.format("it")) -> Path:
    path = folder / "rule.toml"
    path.write_text(head + rest)
    return path


def found(path: Path, program: str) -> list[int]:
    """The lines that a rule finds in a program."""
    subject = Subject(Source.from_bytes(program.encode(), "program.py"))
    return [finding.site.line for finding in template_of(path)().detect(subject)]


def repaired(path: Path, program: str) -> str:
    """The program as the rule's fix writes it."""
    subject = Subject(Source.from_bytes(program.encode(), "program.py"))
    rule = template_of(path)
    finding = next(iter(rule().detect(subject)))
    (candidate,) = propose(finding, subject, rule).candidates
    return apply_edits(subject.source, candidate.edits).decode()


@pytest.mark.parametrize(
    ("rest", "line", "said"),
    [
        ("[find]\npatern = 'f($X)'\n", 7, "[find] patern: there is no such key. Did you mean 'pattern'?"),
        ("[find]\n", 6, "[find]: pattern is missing"),
        ("[find]\npattern = 'f($X'\n", 7, "[find] pattern: is not one expression or statement of Python"),
        ("[find]\npattern = 3\n", 7, "[find] pattern: is a text. Received: 3"),
        ("[finds]\npattern = 'f($X)'\n", 6, "[finds]: there is no table 'finds'"),
        ("[find]\npattern = 'f($X)'\n[where]\ninside = 'loop'\n", 8, "Write [[where]], not [where]"),
        (
            "[find]\npattern = 'f($X)'\n[[where]]\ninside = 'loop'\n[[where]]\nhole = 'Y'\n",
            11,
            "[where] hole: the pattern has no $Y. It has $X",
        ),
        ("[find]\npattern = 'f($X)'\n[[unless]]\ninside = 'house'\n", 9, "[unless] inside: 'house' is none of loop"),
        ("[find]\npattern = 'f($X)'\n[[where]]\ntext = '('\n", 9, "[where] text: is no regular expression"),
        ("[find]\npattern = 'f($X)'\n[fix]\nreplace = 'g($Z)'\n", 9, "[fix] replace: nothing fills $Z"),
        (
            "[find]\npattern = 'f($X)'\n[fix]\nset_argument = 'two'\n",
            9,
            "[fix] set_argument: is a keyword and its value",
        ),
        ("[find]\npattern = 'f($X)'\n[fix]\nremove = 'yes'\n", 9, "[fix] remove: is true or false"),
        ("[find]\npattern = 'f($X)'\n[fix]\nreplace = 'g($X'\n", 9, "[fix] replace: is not Python"),
        ("[find]\npattern = 'f($X)'\n[fix]\nimports = 'math'\n", 9, "[fix] imports: is a list of imports"),
        ("[find]\npattern = 'f($X)'\n[fix]\ntitle = 'use $Q'\n", 9, "[fix] title: nothing fills $Q"),
        ("[find]\npattern = 'f($X)'\n[[where]]\nhole = 'X'\n", 8, "[where]: a condition says what has to hold"),
        ("[find]\npattern = 'f($X)'\n[[where]]\nposition = -1\n", 9, "[where] position: is a whole number from 1"),
        ("[[case]]\nreplace = 'f()'\n", 6, "[case]: pattern is missing"),
        ("[[case]]\npattern = 'f($X)'\n[[case]]\npattern = 'g($Y)'\nreplace = 'g($X)'\n", 10, "nothing fills $X"),
        ("[case]\npattern = 'f($X)'\n", 6, "each case is a table of its own. Write [[case]]"),
        ("[[case]]\npattern = 'f($X)'\n[fix]\nremove = true\n", 8, "[fix]: a rule has [[case]] or [fix]"),
        ("[[case]]\npattern = 'f($X)'\ninside = 'loop'\n", 8, "[case] inside: there is no such key"),
    ],
)
def test_of_a_bad_file_the_line_and_the_key_are_named(tmp_path: Path, rest: str, line: int, said: str) -> None:
    path = written(tmp_path, rest)
    with pytest.raises(CatalogueError) as error:
        read_rule(path)
    assert str(error.value).startswith(f"{path}:{line}: ") and said in str(error.value)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (HEAD.format("$Y"), "nothing fills $Y"),
        (HEAD.format("it") + 'nature = "odd"\n', "'odd' is none of fault, risk, advice"),
        (HEAD.format("it").replace("why", "#"), "why is missing"),
        (HEAD.format("it") + "confidence = 1.5\n", "is a number from 0 to 1"),
        ("[rule\n", "is not TOML"),
    ],
)
def test_of_a_bad_head_too(tmp_path: Path, head: str, said: str) -> None:
    with pytest.raises(CatalogueError, match="rule.toml") as error:
        read_rule(written(tmp_path, "[find]\npattern = 'f($X)'\n", head))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "is_one"),
    [
        ("$X.step()", True),
        ("f($$$A, key=1, $$$B)", True),
        ("for $X in $Y: $$$BODY", True),
        ("class $C(nn.Module): $$$BODY", True),
        ("a = 1; b = 2", False),
        ("f(", False),
    ],
)
def test_a_pattern_is_one_statement_or_expression(pattern: str, is_one: bool) -> None:
    assert is_pattern(pattern) is is_one


def test_a_hole_for_any_number_of_arguments_may_be_empty() -> None:
    source = Source.from_bytes(b"f(k=1)\nf(1, k=1)\nf(k=1, z=2)\nf(1, 2, k=1, z=2)\nf(k=2)\n", "program.py")
    hits = list(matches(source, "f($$$A, k=1, $$$B)"))
    assert [hit.site.line for hit in hits] == [1, 2, 3, 4]
    assert [hit.holes["A"].text for hit in hits] == ["", "1", "", "1, 2"]


def test_places_are_those_of_the_program_after_other_than_ascii_characters() -> None:
    source = Source.from_bytes("s = 'äöü€𝄞'; f(1)\n".encode(), "program.py")
    (hit,) = matches(source, "f($X)")
    assert source.segment(hit.site) == "f(1)" and hit.node is not None


LOOP = """\
import torch
from torch import nn, optim as o


class Net(nn.Module):
    def forward(self, x):
        show(x)
        return x


class Other:
    def forward(self, x):
        show(x)


net = Net()
adam = o.Adam(net.parameters())
for x, y in loader:
    show(x)
    adam.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    adam.step()
with torch.no_grad():
    show(net)
    for each in names:
        show(each)
show(adam)
show(x)
keep(x)
show(1, wide=True)
"""


@pytest.mark.parametrize(
    ("condition", "lines"),
    [
        ("inside = 'loop'", [19, 27]),
        ("inside = 'training loop'", [19]),
        ("inside = 'batch loop'", [7, 13, 19]),
        ("inside = 'no_grad'", [25, 27]),
        ("inside = 'function'", [7, 13]),
        ("inside = 'class'", [7, 13]),
        ("function = 'for\\w+'", [7, 13]),
        ("derives_from = 'torch.nn.Module'", [7]),
        ("hole = 'X'\nmade_by = 'torch.optim.*'", [28]),
        ("hole = 'X'\nmade_by = ['torch.optim.SGD']", []),
        ("hole = 'X'\ntext = 'a\\w+'", [28]),
        ("followed_by = 'keep($X)'", [19, 29]),
        ("preceded_by = 'keep($X)'", []),
        ("followed_by = '$X.step()'", []),
        ("hole = '$X'\nprogram_has = '$X.step()'", [28]),
        ("has = 'adam'", [28]),
    ],
)
def test_conditions(tmp_path: Path, condition: str, lines: list[int]) -> None:
    rest = "[find]\npattern = 'show($X)'\n"
    assert found(written(tmp_path, f"{rest}[[where]]\n{condition}\n"), LOOP) == lines
    every = found(written(tmp_path, rest), LOOP)
    assert found(written(tmp_path, f"{rest}[[unless]]\n{condition}\n"), LOOP) == [n for n in every if n not in lines]


STEPS = """import torch
for name, each_loader in loaders.items():
    show(name)
    for x in each_loader:
        show(x)
if wanted:
    for x in test_loader:
        try:
            score(x)
        except ValueError:
            show(x)
        if torch.cuda.is_available():
            show(1)
        if x > 3:
            show(2)
def training_step(batch):
    show(batch)
"""


@pytest.mark.parametrize(
    ("condition", "lines"),
    [
        ("inside = 'batch loop'", [5, 11, 13, 15, 17]),
        ("inside = 'condition'", [15]),
        ("inside = 'try'", [11]),
        ("inside = 'except'", [11]),
    ],
)
def test_what_is_done_for_each_batch_and_under_what_condition(tmp_path: Path, condition: str, lines: list[int]) -> None:
    path = written(tmp_path, f"[find]\npattern = 'show($X)'\n[[where]]\n{condition}\n")
    assert found(path, STEPS) == lines


def test_what_a_loop_changes_does_not_stay_and_what_stays_moves_before_it(tmp_path: Path) -> None:
    program = (
        "for a in b:\n    for c in d:\n        f(a)\n        f(e)\n        f(g.h)\n    g.h = f(k)\n    k = f(k)\nf(a)\n"
    )
    path = written(tmp_path, "[find]\npattern = 'f($X)'\n[[where]]\nhole = 'X'\nstays = true\n")
    assert found(path, program) == [4, 7, 8]
    moves = "[find]\npattern = 'f($X)'\n[fix]\nbefore_loop = 'f($X)'\nremove = true\n"
    assert repaired(written(tmp_path, moves), "for a in b:\n    for c in d:\n        f(1)\n        g(c)\n") == (
        "f(1)\nfor a in b:\n    for c in d:\n        g(c)\n"
    )


def test_one_of_several_patterns_is_enough(tmp_path: Path) -> None:
    rest = "[find]\npattern = 'show($X)'\n[[where]]\n"
    assert found(written(tmp_path, rest + "preceded_by = ['keep($X)', '$X = 1']\n"), "a = 1\nshow(a)\nshow(b)\n") == [2]
    assert found(written(tmp_path, rest + "program_has = ['keep($X)', 'go($X)']\n"), "show(a)\ngo(a)\n") == [1]


def test_resolved_names_and_arguments_that_are_lacking(tmp_path: Path) -> None:
    program = "import torch.utils.data as d\nd.DataLoader(x)\nd.DataLoader(x, 1, True)\nd.DataLoader(x, shuffle=s)\nd.DataLoader(**k)\nDataLoader(x)\n"
    rest = "[find]\npattern = '$F($$$ARGS)'\n[[where]]\nnamed = 'torch.utils.data.DataLoader'\nlacks_argument = 'shuffle'\nposition = 3\n"
    assert found(written(tmp_path, rest), program) == [2, 6]  # a fragment may use the name without an import


@pytest.mark.parametrize(
    ("fix", "after"),
    [
        ("replace = 'g($Y, $X)'", "for a in b:\n    g(2, 1)  # why\n"),
        ('before = "g($X)\\nh($Y)"', "for a in b:\n    g(1)\n    h(2)\n    f(1, 2)  # why\n"),
        ("after = 'g($X)'", "for a in b:\n    f(1, 2)  # why\n    g(1)\n"),
        ("set_argument = 'k=$X'", "for a in b:\n    f(1, 2, k=1)  # why\n"),
        ("replace = 'g($X)'\nimports = ['import g']", "import g\nfor a in b:\n    g(1)  # why\n"),
    ],
)
def test_fixes(tmp_path: Path, fix: str, after: str) -> None:
    path = written(tmp_path, f"[find]\npattern = 'f($X, $Y)'\n[fix]\n{fix}\n")
    assert repaired(path, "for a in b:\n    f(1, 2)  # why\n") == after


@pytest.mark.parametrize(
    ("pattern", "replace", "before", "after"),
    [
        ("neg($A)", "-$A", "y = neg(a + b)\n", "y = -(a + b)\n"),
        ("neg($A)", "-$A", "y = neg(a.b[0])\n", "y = -a.b[0]\n"),
        ("mul($A, $B)", "$A * $B", "y = mul(a + 1, b or c)\n", "y = (a + 1) * (b or c)\n"),
        ("mul($A, $B)", "mul($B, $A)", "y = mul(a + 1, b or c)\n", "y = mul(b or c, a + 1)\n"),
        ("$T += $L", "$T += $L.item()", "t += a + b\n", "t += (a + b).item()\n"),
        ("$T = $L", "$T = f($L)", "t = a if b else c\n", "t = f(a if b else c)\n"),
        ("f($A)", "g($A) == $A", "x = f(a and b)\n", "x = g(a and b) == (a and b)\n"),
    ],
)
def test_an_expression_keeps_its_meaning_in_its_new_place(
    tmp_path: Path, pattern: str, replace: str, before: str, after: str
) -> None:
    path = written(tmp_path, f"[find]\npattern = '{pattern}'\n[fix]\nreplace = '{replace}'\n")
    assert repaired(path, before) == after


@pytest.mark.parametrize(
    ("pattern", "replace", "before", "after"),
    [
        ("f($A)", "g($A)\nh($A)", "def m():\n    f(1)\n    return 2\n", "def m():\n    g(1)\n    h(1)\n    return 2\n"),
        (
            "with a: $$$BODY",
            "with b:\n    $$$BODY",
            "for x in y:\n    with a:\n        f(x)\n        if x:\n            g(x)\n",
            "for x in y:\n    with b:\n        f(x)\n        if x:\n            g(x)\n",
        ),
        (
            "if True: $$$BODY",
            "$$$BODY",
            "def m():\n    if True:\n        f(x)\n        g(x)\n",
            "def m():\n    f(x)\n    g(x)\n",
        ),
    ],
)
def test_code_of_several_lines_is_indented_as_its_place_is(
    tmp_path: Path, pattern: str, replace: str, before: str, after: str
) -> None:
    path = written(tmp_path, f"[find]\npattern = '{pattern}'\n[fix]\nreplace = '''\n{replace}\n'''\n")
    assert repaired(path, before) == after


CASES = """
[[case]]
pattern = "f($X)"
message = "$X is given to f"
replace = "g($X)"

[[case]]
pattern = "drop($Y)"
remove = true

[[where]]
hole = "Y"
text = "b"
"""


def test_each_case_has_its_own_message_and_fix_and_only_the_conditions_of_its_holes(tmp_path: Path) -> None:
    path = written(tmp_path, CASES)
    program = "drop(a)\nf(a)\ndrop(b)\n"
    assert found(path, program) == [2, 3]
    subject = Subject(Source.from_bytes(program.encode(), "program.py"))
    assert [one.message for one in template_of(path)().detect(subject)] == ["a is given to f", "found it"]
    assert repaired(path, "f(a)\n") == "g(a)\n"
    assert repaired(path, "drop(b)\nk()\n") == "k()\n"


def test_advice_is_shown_only_and_a_fix_is_safe_where_the_file_says_so(tmp_path: Path) -> None:
    rest = "[find]\npattern = 'f($X)'\n[fix]\nreplace = 'g($X)'\n"
    for said, expected in (
        ("", Applicability.UNSAFE),
        ('safety = "safe"\n', Applicability.SAFE),
        ('safety = "safe"\nnature = "advice"\n', Applicability.DISPLAY_ONLY),
    ):
        rule = template_of(written(tmp_path, rest, HEAD.format("it") + said))
        subject = Subject(Source.from_bytes(b"f(1)\n", "program.py"))
        finding = next(iter(rule().detect(subject)))
        (candidate,) = propose(finding, subject, rule).candidates
        assert candidate.applicability is expected
        assert (finding.nature is Nature.ADVICE) is ("advice" in said)


def test_a_rule_is_asked_where_a_word_of_its_pattern_is(tmp_path: Path) -> None:
    assert template_of(written(tmp_path, "[find]\npatterns = ['f($X)', '$X.long_name(1)']\n")).triggers == (
        "f",
        "long_name",
    )
    assert template_of(written(tmp_path, "[find]\npattern = '$F($X)'\n")).triggers == ()
    tied = "f.log(f.sum(f.exp($X))) + f.max($X)"  # the first of these, whatever order a set has today
    assert template_of(written(tmp_path, f"[find]\npattern = '{tied}'\n")).triggers == ("exp",)


def test_rules_of_the_catalogue_are_files_too() -> None:
    files = [one for one in registry.listed() if one.kind.endswith(".toml")]
    assert files and all(Path(one.place).is_file() for one in files)
    assert registry.template(files[0].code) is files[0].load()
