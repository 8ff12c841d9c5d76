"""Edits of expressions and arguments."""

from __future__ import annotations

import ast

import pytest

from dnnfix.errors import EditError, NestedSitesError, SiteNotFoundError
from dnnfix.records import (
    DeleteElement,
    Edit,
    Enclose,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Unwrap,
    Wrap,
)
from dnnfix.source import edits
from dnnfix.source.edits import apply_edits
from dnnfix.source.parse import parse
from tests.source.helpers import edited, first_call, place, read


@pytest.mark.parametrize(
    ("text", "site", "code", "expected"),
    [
        ("y = x * 2\n", "x", "a + b", "y = (a + b) * 2\n"),
        ("y = (x) * 2\n", "x", "a + b", "y = (a + b) * 2\n"),
        ("y = f(x)\n", "x", "a + b", "y = f(a + b)\n"),
        ("y = f(x, 1)\n", "x", "(a, b)", "y = f((a, b), 1)\n"),
        ("y = x.z\n", "x", "lambda: 1", "y = (lambda: 1).z\n"),
        ("y = x ** 2\n", "x", "-1", "y = (-1) ** 2\n"),
        ("y = x\n", "x", "a if b else c", "y = a if b else c\n"),
        ("y = [é, x]  # ü\n", "x", "'ö'", "y = [é, 'ö']  # ü\n"),
        ("y = f(\n    x,  # why\n)\n", "x", "z", "y = f(\n    z,  # why\n)\n"),
        ("for x in y: pass\n", "y", "range(3)", "for x in range(3): pass\n"),
        ("y = f(x)\n", "x", "g(\n    1\n)", "y = f(g(\n    1\n))\n"),
        ("x = 1\n", "x", "z", "z = 1\n"),
    ],
)
def test_an_expression_is_replaced(text: str, site: str, code: str, expected: str) -> None:
    assert edited(text, Replace(place(read(text), site), code)) == expected


@pytest.mark.parametrize("code", ["g(", "", "x = 1", "a\nb", "import x", "a)(b", "# c", "x for x in y)+(z"])
def test_what_is_no_expression_is_refused(code: str) -> None:
    with pytest.raises(EditError):
        edited("y = f(x)\n", Replace(place(read("y = f(x)\n"), "x"), code))


@pytest.mark.parametrize(
    ("text", "site", "before", "after", "expected"),
    [
        ("y = f(x)\n", "x", "torch.log(", " + 1e-8)", "y = f(torch.log(x + 1e-8))\n"),
        ("y = x + 2\n", "x + 2", "", ".float()", "y = (x + 2).float()\n"),
        ("y = x * 3\n", "x", "", " + 1", "y = (x + 1) * 3\n"),
        ("y = a if b else c\n", "a if b else c", "f(", ", 1)", "y = f(a if b else c, 1)\n"),
        ("y = f(x,  # c\n      1)\n", "f(x,  # c\n      1)", "g(", ")", "y = g(f(x,  # c\n      1))\n"),
        ("y = -x\n", "-x", "", "[0]", "y = (-x)[0]\n"),
        ("y = 'é' 'ü'\n", "'é' 'ü'", "[", "]", "y = ['é' 'ü']\n"),
    ],
)
def test_an_expression_is_wrapped(text: str, site: str, before: str, after: str, expected: str) -> None:
    assert edited(text, Wrap(place(read(text), site), before, after)) == expected


@pytest.mark.parametrize(("before", "after"), [("f(", ""), ("", " +"), ("x = ", ""), ("f(", "), g("), ("'", "'")])
def test_what_does_not_go_around_an_expression_is_refused(before: str, after: str) -> None:
    with pytest.raises(EditError):
        edited("y = x\n", Wrap(place(read("y = x\n"), "x"), before, after))


@pytest.mark.parametrize(
    ("text", "site", "inner", "expected"),
    [
        ("y = F.softmax(fc(x), 1)\n", "F.softmax(fc(x), 1)", "fc(x)", "y = fc(x)\n"),
        ("y = F.softmax(a + b, 1).sum()\n", "F.softmax(a + b, 1)", "a + b", "y = (a + b).sum()\n"),
        ("y = f(a +\n      b)\n", "f(a +\n      b)", "a +\n      b", "y = (a +\n      b)\n"),
        ("return_ = [f(x)]\n", "f(x)", "x", "return_ = [x]\n"),
    ],
)
def test_an_expression_is_unwrapped(text: str, site: str, inner: str, expected: str) -> None:
    source = read(text)
    assert edited(text, Unwrap(place(source, site), place(source, inner))) == expected


def test_unwrapping_takes_a_part_of_the_whole() -> None:
    source = read("y = f(x) + z\n")
    with pytest.raises(EditError, match="does not lie within"):
        apply_edits(source, [Unwrap(place(source, "f(x)"), place(source, "z"))])


SET = [
    ("f()", "b", None, "f(b=9)"),
    ("f( )", "b", None, "f(b=9 )"),
    ("f(1)", "b", None, "f(1, b=9)"),
    ("f(1, b=2)", "b", None, "f(1, b=9)"),
    ("f(1, b = 2 )", "b", None, "f(1, b = 9 )"),
    ("f(1, 2, 3)", "b", 1, "f(1, 9, 3)"),
    ("f(1, (2), 3)", "b", 1, "f(1, 9, 3)"),
    ("f(1)", "b", 1, "f(1, b=9)"),
    ("f(c=1)", "b", 0, "f(c=1, b=9)"),
    ("f(1, b=2)", "b", 0, "f(1, b=9)"),
    ("f(1, *a)", "b", 0, "f(9, *a)"),
    ("f(1, **k)", "b", 0, "f(9, **k)"),
    ("f(1,)", "b", None, "f(1, b=9,)"),
    ("f(\n    1,  # one\n    2,  # two\n)", "b", None, "f(\n    1,  # one\n    2,  # two\n    b=9,\n)"),
    ("f(\n    1,  # one\n    2  # two\n)", "b", None, "f(\n    1,  # one\n    2,  # two\n    b=9\n)"),
    ("f(1,\n  2)", "b", None, "f(1,\n  2,\n  b=9)"),
    ("f(\n    1, 2\n)", "b", None, "f(\n    1, 2, b=9\n)"),
    ("f(\n    1\n)", "b", None, "f(\n    1,\n    b=9\n)"),
    ("f(1)(2)", "b", None, "f(1)(2, b=9)"),
    ("f(g(1, 2), h(3))", "b", None, "f(g(1, 2), h(3), b=9)"),
    ("f (1, \\\n 2)", "b", None, "f (1, \\\n 2,\n b=9)"),
    ("f('é', ü)", "b", 1, "f('é', 9)"),
]


@pytest.mark.parametrize(("text", "name", "position", "expected"), SET)
def test_an_argument_is_set(text: str, name: str, position: int | None, expected: str) -> None:
    site = place(read(f"é = {text}\n"), text)
    assert edited(f"é = {text}\n", SetArgument(site, name, "9", position)) == f"é = {expected}\n"


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("f(1, **k)", SetArgument(Site(1, 1, 1, 10), "b", "9")),
        ("f(*a)", SetArgument(Site(1, 1, 1, 6), "b", "9", 0)),
        ("f(*a)", SetArgument(Site(1, 1, 1, 6), "b", "9")),
        ("f(x for x in y)", SetArgument(Site(1, 1, 1, 16), "b", "9")),
        ("f(1)", SetArgument(Site(1, 1, 1, 5), "b", "9)(")),
        ("f(1)", SetArgument(Site(1, 1, 1, 5), "b", "*c")),
        ("f(x for x in y)", InsertElement(Site(1, 1, 1, 16), 0, "z")),
        ("f(1)", SetArgument(Site(1, 1, 1, 5), "b c", "2")),
        ("f(1)", RemoveArgument(Site(1, 1, 1, 5), "b")),
        ("f(1)", RemoveArgument(Site(1, 1, 1, 5), "b", 1)),
        ("f(1)", RenameArgument(Site(1, 1, 1, 5), "b", "c")),
        ("f(b=1, c=2)", RenameArgument(Site(1, 1, 1, 12), "b", "c")),
        ("[1]", RenameArgument(Site(1, 1, 1, 4), "b", "c")),
        ("f(1)", InsertElement(Site(1, 1, 1, 5), 2, "x")),
        ("f(b=1)", InsertElement(Site(1, 1, 1, 7), 1, "x")),
        ("f(1)", DeleteElement(Site(1, 1, 1, 5), 1)),
        ("a + b", InsertElement(Site(1, 1, 1, 6), 0, "x")),
    ],
)
def test_an_argument_edit_that_cannot_be_right_is_refused(text: str, edit: Edit) -> None:
    with pytest.raises(EditError):
        edited(text, edit)


@pytest.mark.parametrize(
    ("text", "name", "position", "expected"),
    [
        ("f(b=1)", "b", None, "f()"),
        ("f(b=1,)", "b", None, "f()"),
        ("f(1, b=2)", "b", None, "f(1)"),
        ("f(1, b=2,)", "b", None, "f(1,)"),
        ("f(b=2, c=3)", "b", None, "f(c=3)"),
        ("f(1, 2, 3)", "b", 1, "f(1, 3)"),
        ("f(\n    1,  # one\n    b=2,  # two\n    c=3,\n)", "b", None, "f(\n    1,  # one\n    c=3,\n)"),
        ("f(1,  # one\n  b=2)", "b", None, "f(1,  # one\n  )"),
        ("f(b=2,  # two\n  c=3)", "b", None, "f(  # two\n  c=3)"),
        ("f(\n  1,\n  # of b\n  b=2,  # two\n  # of c\n  c=3\n)", "b", None, "f(\n  1,\n  # of b\n  # of c\n  c=3\n)"),
        ("f(1,  # one\n  b=2, \\\n  c=3)", "b", None, "f(1,  # one\n  c=3)"),
        ("f(1, \\\n  b=2,  # two\n  c=3)", "b", None, "f(1,  # two\n  c=3)"),
        ("f(x for x in y)", "b", 0, "f()"),
        ("f(1, *(x for x in y), b=(2))", "b", None, "f(1, *(x for x in y))"),
    ],
)
def test_an_argument_is_removed(text: str, name: str, position: int | None, expected: str) -> None:
    assert edited(f"{text}\n", RemoveArgument(place(read(f"{text}\n"), text), name, position)) == f"{expected}\n"


def test_several_edits_of_one_call_are_made_together() -> None:
    text = "m.fit(x, y, nb_epoch=3, show_accuracy=True, a=1)\n"
    site = first_call(text)
    assert (
        edited(
            text,
            RemoveArgument(site, "nb_epoch"),
            RemoveArgument(site, "show_accuracy"),
            RemoveArgument(site, "a"),
            SetArgument(site, "epochs", "3"),
            SetArgument(site, "b", "4"),
            SetArgument(site, "y", "z", 1),
        )
        == "m.fit(x, z, epochs=3, b=4)\n"
    )
    assert (
        edited(
            text,
            RenameArgument(site, "nb_epoch", "epochs"),
            SetArgument(site, "nb_epoch", "5"),
            RemoveArgument(site, "a"),
        )
        == "m.fit(x, y, epochs=5, show_accuracy=True)\n"
    )
    assert edited("f(a=1)\n", RemoveArgument(first_call("f(a=1)\n"), "a"), SetArgument(Site(1, 1, 1, 7), "b", "2")) == (
        "f(b=2)\n"
    )
    lines = "f(\n    a=1,  # one\n)\n"
    assert edited(lines, SetArgument(first_call(lines), "b", "2"), RemoveArgument(first_call(lines), "a")) == (
        "f(\n    b=2,\n)\n"
    )


def test_a_call_may_begin_lines_above_its_parenthesis() -> None:
    text = "x = ((f\n    )\n    (2))\n"
    assert edited(text, SetArgument(first_call(text), "b", "9")) == "x = ((f\n    )\n    (2, b=9))\n"


def test_a_call_gets_no_two_arguments_of_one_name() -> None:
    site = first_call("f(1, a=2)\n")
    with pytest.raises(EditError):
        edited("f(1, a=2)\n", RenameArgument(site, "a", "c"), SetArgument(site, "c", "3"))
    with pytest.raises(NestedSitesError):
        edited("f(1, a=2)\n", RenameArgument(site, "a", "c"), RenameArgument(site, "a", "d"))
    same = RenameArgument(site, "b", "c", 0), RenameArgument(site, "d", "c", 0)
    assert edited("f(1, a=2)\n", *same) == "f(c=1, a=2)\n"


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("[]", 0, "[x]"),
        ("()", 0, "(x,)"),
        ("[a]", 0, "[x, a]"),
        ("[a]", 1, "[a, x]"),
        ("[a, b,]", 2, "[a, b, x,]"),
        ("(a,)", 1, "(a, x,)"),
        ("{a}", 1, "{a, x}"),
        ("S(a, b)", 1, "S(a, x, b)"),
        ("S(\n    a,\n    b,\n)", 1, "S(\n    a,\n    x,\n    b,\n)"),
        ("S(\n    a,\n    b,\n)", 2, "S(\n    a,\n    b,\n    x,\n)"),
        ("S(*a)", 1, "S(*a, x)"),
        ("[\n    a,  # c\n]", 1, "[\n    a,  # c\n    x,\n]"),
        ("[\n    S(\n        a\n    ), b\n]", 0, "[\n    x,\n    S(\n        a\n    ), b\n]"),
        ("(a), (b)", 1, "(a), x, (b)"),
        ("((a), (b))", 2, "((a), (b), x)"),
    ],
)
def test_an_element_is_inserted(text: str, index: int, expected: str) -> None:
    assert edited(f"y = {text}\n", InsertElement(place(read(f"y = {text}\n"), text), index, "x")) == f"y = {expected}\n"


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("[a]", 0, "[]"),
        ("[a, b]", 0, "[b]"),
        ("[a, b]", 1, "[a]"),
        ("(a, b)", 1, "(a,)"),
        ("(a, b)", 0, "(b,)"),
        ("(a, b,)", 0, "(b,)"),
        ("(a, b, c)", 0, "(b, c)"),
        ("a, b", 1, "a,"),
        ("S(\n    a,\n    b,\n    c\n)", 1, "S(\n    a,\n    c\n)"),
        ("S(\n    a,\n    b,  # gone\n)", 1, "S(\n    a,\n)"),
    ],
)
def test_an_element_is_deleted(text: str, index: int, expected: str) -> None:
    assert edited(f"y = {text}\n", DeleteElement(place(read(f"y = {text}\n"), text), index)) == f"y = {expected}\n"


def test_elements_inserted_at_one_place_keep_their_order() -> None:
    site = Site(1, 1, 1, 4)
    assert edited("[a]\n", InsertElement(site, 1, "x"), InsertElement(site, 1, "y")) == "[a, x, y]\n"
    assert edited("[a]\n", InsertElement(site, 0, "x"), InsertElement(site, 0, "y")) == "[x, y, a]\n"


def test_edits_at_several_sites_are_made_in_one_pass() -> None:
    text = "a = L(1)\nb = L(2)\nc = S(L(3), L(4))\n"
    source = read(text)
    edits: list[Edit] = [SetArgument(source.site(c), "n", "0", 0) for c in source.all_calls if len(c.args) == 1]
    edits.append(InsertElement(place(source, "S(L(3), L(4))"), 1, "F()"))
    assert apply_edits(source, edits).decode() == "a = L(0)\nb = L(0)\nc = S(L(0), F(), L(0))\n"


def test_what_a_wrap_or_unwrap_leaves_as_it_is_may_be_edited_too() -> None:
    source = read("x = f(g(a))\n")
    call, inner = place(source, "f(g(a))"), place(source, "g(a)")
    edits: list[Edit] = [Wrap(call, "w(", ")"), Replace(place(source, "f"), "h"), Wrap(inner, "v(", ")")]
    assert apply_edits(source, edits).decode() == "x = w(h(v(g(a))))\n"
    assert apply_edits(source, [Unwrap(call, inner), Replace(place(source, "a"), "b")]).decode() == "x = g(b)\n"


def test_statements_are_enclosed_and_edited_at_once() -> None:
    text = 'for x in y:\n    a = f(x)\n    # why\n    print("""\nz""",\n          a)\nb = 1\n'
    source = read(text)
    first, last = Site(2, 5, 2, 13), Site(4, 5, 6, 13)
    edits: list[Edit] = [Enclose(first, last, "with g():"), Replace(Site(2, 9, 2, 10), "h")]
    changed = '    with g():\n        a = h(x)\n        # why\n        print("""\nz""",\n              a)\n'
    assert apply_edits(source, edits).decode() == f"for x in y:\n{changed}b = 1\n"
    with pytest.raises(EditError):
        apply_edits(source, [Enclose(first, last, "print(1)")])


@pytest.mark.parametrize(
    "edits",
    [
        (Replace(Site(1, 5, 1, 12), "a"), Replace(Site(1, 7, 1, 11), "b")),
        (Replace(Site(1, 5, 1, 12), "a"), SetArgument(Site(1, 7, 1, 11), "b", "c")),
        (Wrap(Site(1, 7, 1, 11), "a(", ")"), Wrap(Site(1, 7, 1, 11), "b(", ")")),
        (SetArgument(Site(1, 5, 1, 12), "a", "b", 0), SetArgument(Site(1, 7, 1, 11), "b", "c")),
        (Unwrap(Site(1, 5, 1, 12), Site(1, 7, 1, 11)), Replace(Site(1, 5, 1, 12), "c")),
        (RemoveArgument(Site(1, 7, 1, 11), "a", 0), DeleteElement(Site(1, 7, 1, 11), 0)),
    ],
)
def test_edits_of_the_same_text_are_refused(edits: tuple[Edit, ...]) -> None:
    with pytest.raises(NestedSitesError):
        edited("y = f(g(x))\n", *edits)


def test_nested_edits_of_different_text_are_made() -> None:
    text = "y = f(g(x))\n"
    assert edited(text, SetArgument(Site(1, 7, 1, 11), "a", "1"), SetArgument(Site(1, 5, 1, 12), "b", "2")) == (
        "y = f(g(x, a=1), b=2)\n"
    )
    assert edited(text, SetArgument(Site(1, 7, 1, 11), "a", "1"), Wrap(Site(1, 5, 1, 12), "", ".h()")) == (
        "y = f(g(x, a=1)).h()\n"
    )
    assert edited(text, Wrap(Site(1, 5, 1, 12), "a(", ")"), Wrap(Site(1, 7, 1, 11), "b(", ")")) == "y = a(f(b(g(x))))\n"
    assert edited(text, Unwrap(Site(1, 5, 1, 12), Site(1, 7, 1, 11)), SetArgument(Site(1, 7, 1, 11), "a", "1")) == (
        "y = g(x, a=1)\n"
    )


def test_equal_edits_count_once() -> None:
    edit = Wrap(Site(1, 5, 1, 6), "f(", ")")
    assert edited("y = x\n", edit, Wrap(Site(1, 5, 1, 6), "f(", ")"), edit) == "y = f(x)\n"


@pytest.mark.parametrize(
    "site", [Site(1, 5, 1, 8), Site(9, 1, 9, 3), Site(1, 3, 1, 4), Site(1, 99, 1, 100), Site(0, 0, 0, 0)]
)
def test_a_site_without_a_node_is_refused(site: Site) -> None:
    for edit in (Replace(site, "a"), Wrap(site, "f(", ")"), SetArgument(site, "a", "b"), InsertElement(site, 0, "x")):
        with pytest.raises(SiteNotFoundError):
            edited("y = ff(x)\n", edit)


def test_an_edit_for_another_file_is_refused() -> None:
    with pytest.raises(EditError, match=r"other\.py"):
        edited("y = x\n", Replace(Site(1, 5, 1, 6, "other.py"), "z"))


def test_expressions_within_an_f_string_are_left_alone() -> None:
    text = "y = f'{g(x)}' + g(x)\n"
    source = read(text)
    inner = next(c for c in ast.walk(source.tree) if isinstance(c, ast.Call))
    try:
        after = apply_edits(source, [RenameArgument(source.site(inner), "a", "b")])
    except EditError:
        return
    assert after != text.encode()


def test_an_argument_that_gets_a_name_keeps_the_edits_within_it() -> None:
    text = "f(a, h['x'] + 1, k=2)\n"
    named = RenameArgument(first_call(text), "b", "c", 1)
    assert edited(text, named, Replace(place(read(text), "'x'"), "'y'")) == "f(a, c=h['y'] + 1, k=2)\n"
    assert edited(text, named, Replace(place(read(text), "h['x']"), "g")) == "f(a, c=g + 1, k=2)\n"
    with pytest.raises(EditError):
        edited(text, RenameArgument(first_call(text), "b", "c", 0))


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    raw = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    source = read(raw)
    with pytest.raises(EditError, match="latin-1"):
        apply_edits(source, [Replace(place(source, "'é'"), "'日'")])


def test_a_call_with_deep_arguments_is_edited() -> None:
    text = "f(" + "-" * 400 + "1)\n"
    assert edited(text, SetArgument(first_call(text), "a", "1")) == "f(" + "-" * 400 + "1, a=1)\n"


def test_of_a_long_file_only_the_statements_that_an_edit_changes_are_parsed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "".join(f"@f\ndef f{n}(x):\n    return g(x, {n})\n\n\n" for n in range(400))
    source, parsed = read(text), []

    def watched(part: str) -> ast.Module:
        parsed.append(part)
        return parse(part)

    monkeypatch.setattr(edits, "parse", watched)
    for n in (0, 200, 399):
        assert f"return ({n}, x)" in apply_edits(source, [Replace(place(source, f"g(x, {n})"), f"({n}, x)")]).decode()
    assert len(parsed) == 3
    assert max(map(len, parsed)) < 100


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a = 1; x = 2; c = 4\n", "2", "f()"),
        ("x = 1 \\\n\ny = 2\n", "y", "z"),
        ("if a:\n\tx = 1\n\n# why\n\nelse:\n  x = 2\n", "2", "3"),
        ("x = '''\n\ny = 1\n'''\nz = 2", "2", "3"),
        ("@f\n# why\n@g(1)\nclass A: pass\n", "1", "2"),
        ("\n\nx = 1", "1", "2"),
    ],
)
def test_a_change_is_parsed_with_all_of_the_statements_that_it_is_in(text: str, old: str, new: str) -> None:
    source = read(text)
    change = Replace(place(source, old), new)
    assert edited(text, change) == text.replace(old, new)
    with pytest.raises(EditError, match="would not be Python"):
        apply_edits(source, [ReplaceLines(place(source, text.rstrip().splitlines()[-1]), "  (")])
