"""Sites, nodes, parents."""

from __future__ import annotations

import ast

import pytest

from dnnfix.records import Site
from tests.source.helpers import place, read

TEXT = """é = "ü"; x = f(é, g(1)) + 2
@deco(3)
class A(B):
    def m(self, y=h(4)):
        return (self
                .n(5)), [z for z in y]
"""


def test_sites_count_characters_from_one() -> None:
    source = read(TEXT)
    assert source.site(source.all_calls[0]) == Site(1, 14, 1, 24)
    assert source.segment(Site(1, 14, 1, 24)) == "f(é, g(1))"


def test_every_node_is_found_at_its_site() -> None:
    source = read(TEXT)
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.expr, ast.stmt)):
            site = source.site(node)
            found = source.node_at(site)
            assert found is not None and source.site(found) == site
            if isinstance(node, ast.expr):
                assert found is node
            expected = ast.get_source_segment(TEXT, node)
            assert source.segment(site) == expected


def test_an_expression_is_preferred_to_the_statement_that_it_is() -> None:
    source = read("f(1)\n")
    found = source.node_at(Site(1, 1, 1, 5))
    assert isinstance(found, ast.Call)
    assert isinstance(source.statement_of(found), ast.Expr)


@pytest.mark.parametrize("site", [Site(1, 14, 1, 23), Site(9, 1, 9, 2), Site(1, 1, 1, 1), Site(2, 1, 2, 4)])
def test_no_node_where_none_is(site: Site) -> None:
    assert read(TEXT).node_at(site) is None


def test_parents_lead_up_to_the_module() -> None:
    source = read(TEXT)
    for parent in ast.walk(source.tree):
        for child in ast.iter_child_nodes(parent):
            if not isinstance(child, (ast.expr_context, ast.operator)):
                assert source.parent(child) is parent
    assert source.parent(source.tree) is None


def test_what_encloses_a_node() -> None:
    source = read(TEXT)
    call = source.node_at(place(source, "h(4)"))
    assert call is not None
    function = source.enclosing(call, ast.FunctionDef, ast.ClassDef)
    assert isinstance(function, ast.FunctionDef)
    assert isinstance(source.enclosing(function, ast.FunctionDef, ast.ClassDef), ast.ClassDef)
    assert source.enclosing(call, ast.For) is None
    assert source.statement_of(call) is function
    decorator = source.node_at(place(source, "deco(3)"))
    assert decorator is not None and isinstance(source.statement_of(decorator), ast.ClassDef)


def test_a_line_of_a_plain_program_is_in_no_cell() -> None:
    assert read(TEXT).locate(3) == (None, 3)


def test_operators_have_no_place() -> None:
    source = read("a + b\n")
    with pytest.raises(ValueError, match="Add"):
        source.site(next(node for node in ast.walk(source.tree) if isinstance(node, ast.Add)))
