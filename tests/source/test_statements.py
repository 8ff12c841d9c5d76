"""Edits of statements and imports."""

from __future__ import annotations

import pytest

from dnnfix.errors import EditError, NestedSitesError, SiteNotFoundError
from dnnfix.records import (
    AddDefinition,
    AddImport,
    Delete,
    Enclose,
    InsertAfter,
    InsertBefore,
    Replace,
    SetArgument,
    Site,
)
from tests.source.helpers import edited, place, read

BLOCK = "for i in j:\n    k(i)\n"


@pytest.mark.parametrize(
    ("text", "site", "code", "before", "after"),
    [
        ("x\n", "x", "n()", "n()\nx\n", "x\nn()\n"),
        ("x", "x", "n()", "n()\nx", "x\nn()"),
        ("x  # c\n", "x", "n()", "n()\nx  # c\n", "x  # c\nn()\n"),
        (
            "if a:\n\tx\ny\n",
            "x",
            BLOCK,
            "if a:\n\tfor i in j:\n\t    k(i)\n\tx\ny\n",
            "if a:\n\tx\n\tfor i in j:\n\t    k(i)\ny\n",
        ),
        ("# lead\nx\n", "x", "n()", "# lead\nn()\nx\n", "# lead\nx\nn()\n"),
        ("a; x\n", "x", "n()", "a\nn()\nx\n", "a; x\nn()\n"),
        ("x; a  # c\n", "x", "n()", "n()\nx; a  # c\n", "x\nn()\na  # c\n"),
        ("a; x; b\n", "x", "n()", "a\nn()\nx; b\n", "a; x\nn()\nb\n"),
        ("a(\n  1); x; b\n", "x", "n()", "a(\n  1)\nn()\nx; b\n", "a(\n  1); x\nn()\nb\n"),
        ("if a: x\n", "x", "n()", "if a:\n    n()\n    x\n", "if a:\n    x\n    n()\n"),
        ("if a: x  # c\nb\n", "x", "n()", "if a:\n    n()\n    x  # c\nb\n", "if a:\n    x  # c\n    n()\nb\n"),
        ("if a: x; b\n", "x", "n()", "if a:\n    n()\n    x; b\n", "if a:\n    x\n    n()\n    b\n"),
        ("if a: b; x\n", "x", "n()", "if a:\n    b\n    n()\n    x\n", "if a:\n    b; x\n    n()\n"),
        (
            "if a:\n  b\nelse: x\n",
            "x",
            "n()",
            "if a:\n  b\nelse:\n    n()\n    x\n",
            "if a:\n  b\nelse:\n    x\n    n()\n",
        ),
        ("def f(): x\n", "x", "n()", "def f():\n    n()\n    x\n", "def f():\n    x\n    n()\n"),
        ("x = f(\n  1,\n)\n", "1", "n()", "n()\nx = f(\n  1,\n)\n", "x = f(\n  1,\n)\nn()\n"),
        (
            "class A:\n  @d(1)\n  def f(self):\n    x\n\ny\n",
            "d(1)",
            "n()",
            "class A:\n  n()\n  @d(1)\n  def f(self):\n    x\n\ny\n",
            "class A:\n  @d(1)\n  def f(self):\n    x\n  n()\n\ny\n",
        ),
        ("for q in f(1):\n  y\n", "f(1)", "n()", "n()\nfor q in f(1):\n  y\n", "for q in f(1):\n  y\nn()\n"),
        ("x\n", "x", "n('''\n q\n''')", "n('''\n q\n''')\nx\n", "x\nn('''\n q\n''')\n"),
        ("if a:\n  x\n", "x", "n('''\nq\n''')", "if a:\n  n('''\nq\n''')\n  x\n", "if a:\n  x\n  n('''\nq\n''')\n"),
        ("x\n", "x", "    n()\n    m()\n", "n()\nm()\nx\n", "x\nn()\nm()\n"),
        ("x\n", "x", "# only a comment", "# only a comment\nx\n", "x\n# only a comment\n"),
    ],
)
def test_statements_are_put_beside_others(text: str, site: str, code: str, before: str, after: str) -> None:
    where = place(read(text), site)
    assert edited(text, InsertBefore(where, code)) == before
    assert edited(text, InsertAfter(where, code)) == after


def test_insertions_at_one_place_keep_their_order() -> None:
    site = Site(1, 1, 1, 2)
    assert edited(
        "x\n", InsertBefore(site, "a"), InsertBefore(site, "b"), InsertAfter(site, "c"), InsertAfter(site, "d")
    ) == ("a\nb\nx\nc\nd\n")


@pytest.mark.parametrize("code", ["", "f(", "  a\n b\n   c", "else: x"])
def test_what_is_no_statement_is_refused(code: str) -> None:
    with pytest.raises(EditError):
        edited("x\n", InsertBefore(Site(1, 1, 1, 2), code))


def test_an_elif_is_no_place_for_statements() -> None:
    text = "if a:\n  b\nelif c:\n  d\n"
    site = place(read(text), "elif c:\n  d")
    for edit in (InsertBefore(site, "n()"), InsertAfter(site, "n()"), Replace(site, "n()")):
        with pytest.raises(EditError, match="elif"):
            edited(text, edit)
    with pytest.raises(EditError, match="elif"):
        edited(text, InsertBefore(place(read(text), "c"), "n()"))


@pytest.mark.parametrize(
    ("text", "site", "expected"),
    [
        ("# lead\nx = 1  # own\ny\n", "x = 1", "# lead\ny\n"),
        ("x = f(\n    1,\n)\ny\n", "x = f(\n    1,\n)", "y\n"),
        ("def f():\n    # lead\n    x()\n", "x()", "def f():\n    # lead\n    pass\n"),
        ("if a: x()\n", "x()", "if a: pass\n"),
        ("x(); y()\n", "x()", "y()\n"),
        ("x(); y()  # c\n", "y()", "x()  # c\n"),
        ("if a:\n  b\nelif c:\n  d\nelse:\n  e\n", "elif c:\n  d\nelse:\n  e", "if a:\n  b\n"),
        ("@d\ndef f():\n  x\ny\n", "def f():\n  x", "y\n"),
        ("class A:\n  @d\n  def f():\n    x\n", "def f():\n    x", "class A:\n  pass\n"),
        ("y\nx = 1", "x = 1", "y\n"),
        ("x()\n", "x()", ""),
        ("try:\n  x()\nfinally:\n  y()\n", "y()", "try:\n  x()\nfinally:\n  pass\n"),
        ("for a in b:\n  c\nelse:\n  x()\n", "x()", "for a in b:\n  c\nelse:\n  pass\n"),
    ],
)
def test_a_statement_is_deleted(text: str, site: str, expected: str) -> None:
    assert edited(text, Delete(place(read(text), site))) == expected


def test_a_block_that_loses_all_statements_keeps_one_pass() -> None:
    text = "def f():\n    x()\n    y()\nz()\n"
    source = read(text)
    assert edited(text, Delete(place(source, "x()")), Delete(place(source, "y()"))) == "def f():\n    pass\nz()\n"


def test_only_statements_are_deleted() -> None:
    with pytest.raises(SiteNotFoundError):
        edited("x = f(1)\n", Delete(Site(1, 5, 1, 9)))
    with pytest.raises(NestedSitesError):
        edited("x = f(1)\n", Delete(Site(1, 1, 1, 9)), SetArgument(Site(1, 5, 1, 9), "a", "1"))


@pytest.mark.parametrize(
    ("text", "site", "code", "expected"),
    [
        ("a\nx = f(1)  # c\nb\n", "x = f(1)", "y = 2", "a\ny = 2  # c\nb\n"),
        ("if a:\n    f(1)\n", "f(1)", "g()\nh()", "if a:\n    g()\n    h()\n"),
        ("f(1)\n", "f(1)", BLOCK, "for i in j:\n    k(i)\n"),
        ("a; f(1)\n", "f(1)", "y = 2", "a; y = 2\n"),
        ("if a: f(1)\n", "f(1)", "g()\nh()", "if a:\n    g()\n    h()\n"),
        ("if a: f(1)\n", "f(1)", "if b: h()", "if a:\n    if b: h()\n"),
        ("for q in r:\n  x\n", "for q in r:\n  x", "y", "y\n"),
    ],
)
def test_a_statement_is_replaced(text: str, site: str, code: str, expected: str) -> None:
    assert edited(text, Replace(place(read(text), site), code)) == expected


@pytest.mark.parametrize("text", ["f(1); a\n", "if a: f(1); b\n", "x; f(1)\n"])
def test_a_compound_statement_needs_lines_of_its_own(text: str) -> None:
    with pytest.raises(EditError):
        edited(text, Replace(place(read(text), "f(1)"), BLOCK))


@pytest.mark.parametrize(
    ("text", "statement", "expected"),
    [
        ("x = 1\n", "import torch", "import torch\nx = 1\n"),
        ("", "import torch", "import torch\n"),
        ("# only\n", "import torch", "# only\nimport torch\n"),
        ("#!/bin/python\n# c\nx = 1\n", "import torch", "#!/bin/python\n# c\nimport torch\nx = 1\n"),
        ('"""doc"""\nx = 1\n', "import torch", '"""doc"""\nimport torch\nx = 1\n'),
        (
            '"""doc"""\nfrom __future__ import annotations\nx = 1\n',
            "import torch",
            '"""doc"""\nfrom __future__ import annotations\nimport torch\nx = 1\n',
        ),
        ("import os\nimport sys  # c\n\nx = 1\nimport re\n", "import a.b as c", None),
        ("import os; import sys\nx\n", "import a", "import os; import sys\nimport a\nx\n"),
        ("import torch.nn.functional as F\n", "import torch.nn.functional as F", "="),
        ("from torch.nn import functional as F\n", "import torch.nn.functional as F", "="),
        ("import torch.nn\n", "import torch.nn", "="),
        ("import torch\n", "import torch.nn", "import torch\nimport torch.nn\n"),
        ("from a import b\n", "from a import b, c", "from a import b\nfrom a import c\n"),
        ("try:\n  import a\nexcept E:\n  a = None\n", "import a", "="),
        ("import os\ndef f():\n  import a\n", "import a", "import os\nimport a\ndef f():\n  import a\n"),
        ("import os\r\nx = 1\r\n", "import a", "import os\r\nimport a\r\nx = 1\r\n"),
        (
            'import os\nos.environ["KERAS_BACKEND"] = "torch"\nfrom keras import layers\nx = 1\n',
            "import keras",
            'import os\nos.environ["KERAS_BACKEND"] = "torch"\nfrom keras import layers\nimport keras\nx = 1\n',
        ),
        (
            'import os\nos.environ.setdefault("KERAS_BACKEND", "torch")\n\nx = 1\n',
            "import keras",
            'import os\nos.environ.setdefault("KERAS_BACKEND", "torch")\nimport keras\n\nx = 1\n',
        ),
    ],
)
def test_an_import_is_added_at_the_top(text: str, statement: str, expected: str | None) -> None:
    if expected is None:
        expected = "import os\nimport sys  # c\nimport a.b as c\n\nx = 1\nimport re\n"
    after = edited(text, AddImport(statement))
    assert after == (text if expected == "=" else expected)
    assert edited(after, AddImport(statement)) == after


@pytest.mark.parametrize("statement", ["x = 1", "import", "torch", "import a\nimport b"])
def test_what_is_no_import_is_refused(statement: str) -> None:
    with pytest.raises(EditError):
        edited("x = 1\n", AddImport(statement))


def test_an_import_does_not_take_a_name_from_something_else() -> None:
    with pytest.raises(EditError, match="'F'"):
        edited("import numpy as F\n", AddImport("import torch.nn.functional as F"))
    with pytest.raises(EditError, match="'keras'"):
        edited("import keras\n", AddImport("from tensorflow import keras"))


def test_an_import_and_other_edits_of_the_first_line() -> None:
    assert edited("x = f(1)\n", AddImport("import a"), AddImport("import b"), Replace(Site(1, 5, 1, 9), "a.g()")) == (
        "import a\nimport b\nx = a.g()\n"
    )


def test_statements_are_put_under_a_header() -> None:
    text = "def f():\r\n    # lead\r\n    x = g(1)\r\n    if x: y\r\n    s = '''\r\n q\r\n'''  # c\r\n    z\r\n"
    source = read(text)
    first, last = place(source, "x = g(1)"), place(source, "s = '''\n q\n'''")
    assert edited(text, Enclose(first, last, "with h():"), SetArgument(place(source, "g(1)"), "a", "2")) == (
        "def f():\r\n    # lead\r\n    with h():\r\n        x = g(1, a=2)\r\n        if x: y\r\n"
        "        s = '''\r\n q\r\n'''  # c\r\n    z\r\n"
    )
    with pytest.raises(EditError):
        edited(text, Enclose(first, place(source, "y"), "with h():"))
    with pytest.raises(EditError):
        edited(text, Enclose(first, first, "h()"))


def test_definitions_stand_below_the_imports_behind_what_they_use() -> None:
    text = '"""Words."""\nimport os\nimport numpy as np\n\nos.environ["A"] = "1"\nimport sys\nx = 1\n'
    code = "def f():\n    return np.ones(3)"
    assert edited(text, AddDefinition(code), AddImport("import re")) == (
        '"""Words."""\nimport os\nimport numpy as np\n\nos.environ["A"] = "1"\nimport sys\nimport re\n\n\n'
        "def f():\n    return np.ones(3)\n\n\nx = 1\n"
    )
    later = "import os\n\nx = 1\nimport numpy as np\n\ny = 2\n"
    assert edited(later, AddDefinition(code)) == f"import os\n\nx = 1\nimport numpy as np\n\n\n{code}\n\n\ny = 2\n"
    again = "import numpy as np\n\nx = f()\nimport numpy as np\n\ny = f()\n"
    assert (
        edited(again, AddDefinition(code))
        == f"import numpy as np\n\n\n{code}\n\n\nx = f()\nimport numpy as np\n\ny = f()\n"
    )
    assert edited("x = 1\n", AddDefinition("def f():\n    pass")) == "def f():\n    pass\n\n\nx = 1\n"
    head = "#!/usr/bin/python\n# -*- coding: latin-1 -*-\n"
    assert edited(f"{head}x = 1\n", AddDefinition("def f():\n    pass")) == f"{head}def f():\n    pass\n\n\nx = 1\n"
    both = edited("x = 1\n", AddImport("import os"), AddDefinition("def f():\n    os"))
    assert both == "import os\n\n\ndef f():\n    os\n\n\nx = 1\n"
    alone = edited("import os\n\n\nx = 1\n", Delete(Site(1, 1, 1, 10)), AddDefinition("def f():\n    pass"))
    assert alone == "def f():\n    pass\n\n\nx = 1\n"


def test_two_definitions_and_a_deleted_import() -> None:
    text = "import a\nimport b\n\n\nx = 1\n"
    after = edited(
        text, AddDefinition("def f():\n    pass"), Delete(Site(2, 1, 2, 9)), AddDefinition("def g():\n    pass")
    )
    assert edited(text, Delete(Site(2, 1, 2, 9)), AddImport("import c")) == "import a\nimport c\n\n\nx = 1\n"
    assert after == "import a\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n\n\nx = 1\n"


def test_definitions_in_a_notebook_stand_below_the_imports_that_its_magics_come_before() -> None:
    text = "%matplotlib inline\nimport numpy as np\nimport os\n\nos.umask(0)\n\nimport re\n\ndef f(): pass\n"
    code = "class A(Base):\n    x = np.pi"
    assert edited(text, AddDefinition(code), AddImport("from made import Base")) == (
        "%matplotlib inline\nimport numpy as np\nimport os\nfrom made import Base\n\nos.umask(0)\n\nimport re\n\n\n"
        f"{code}\n\n\ndef f(): pass\n"
    )
