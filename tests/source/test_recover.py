"""Text that is not quite Python: what is read, what is told, and edits that go back into the text as it was."""

from __future__ import annotations

import ast

import pytest

from dnnfix.errors import EditError, InputError
from dnnfix.records import InsertAfter, InsertBefore, RenameArgument, Replace, SetArgument
from dnnfix.source.edits import apply_edits
from tests.source.helpers import edited, place, read

READ = {
    "Python 2": (
        'print "a", x\nif x: print y  # c\nprint >>f, "z" % (1,\n  2)\nprint\n',
        'print("a", x)\nif x: print(y)  # c\nprint("z" % (1,\n  2), file=f)\nprint\n',
        "Python 2",
    ),
    "Python 2 exceptions": (
        'try:\n    pass\nexcept (A, B), e:\n    raise E, "msg"\n',
        'try:\n    pass\nexcept (A, B) as e:\n    raise E("msg")\n',
        "Python 2",
    ),
    "Python 2 literals": (
        'x = `3` <> 0777 + 10L\ns = ur"a 0777 `b`"\nexec "code"\nsort(lambda (k, v): v)\n',
        'x = repr(3) != 0o777 + 10\ns = r"a 0777 `b`"\nexec("code")\nsort(lambda pair: pair[1])\n',
        "Python 2",
    ),
    "escaped by a web page": (
        "for i in range(3):\n    if i &lt; 2 and i &gt; 0:\n        print(&quot;a&quot;)\n",
        'for i in range(3):\n    if i < 2 and i > 0:\n        print("a")\n',
        "web page had escaped",
    ),
    "with the numbers of its lines": (
        " 9 import torch\n10 class A:\n11     def f(self):\n12         return 1\n13\n14 A().f()\n",
        "import torch\nclass A:\n    def f(self):\n        return 1\n\nA().f()\n",
        "numbers of the lines",
    ),
    "with numbers and bars": (
        " 1| x = 3\n 2| if x:\n 3|     print(x)\n",
        "x = 3\nif x:\n    print(x)\n",
        "numbers of the lines",
    ),
    "blocks without their colon": (
        "def f(x)  # adds\n    return x + 1\nprint(f(2))\n",
        "def f(x):  # adds\n    return x + 1\nprint(f(2))\n",
        "without its colon",
    ),
    "parameters that were left out": (
        "def train(model, ...):\n    model.fit()\n",
        "def train(model, *args, **kwargs):\n    model.fit()\n",
        "read as any others",
    ),
    "indented as a whole": (
        '    class A:\n        """doc\n  odd\n        """\n        x = 1\n  # c\n    y = 2\n',
        'class A:\n    """doc\n  odd\n        """\n    x = 1\n# c\ny = 2\n',
        "indentation that all lines share",
    ),
    "begins in the middle of a function": (
        "        x = self.fc(x)\n        return x\n\nnet = Net()\n",
        "x = self.fc(x)\nreturn x\n\nnet = Net()\n",
        "brought in line",
    ),
    "interpreter prompts": (
        ">>> x = f(3)\n>>> for i in x:\n...     print(i)\n...\ntensor(1)\n>>> x\n1 is it\n",
        "x = f(3)\nfor i in x:\n    print(i)\n\n\nx\n\n",
        "prompts",
    ),
    "IPython prompts": (
        "In [1]: import torch\n\nIn [2]: for i in x:\n   ...:     print(i)\n   ...:\nOut[2]: 3\n",
        "import torch\n\nfor i in x:\n    print(i)\n\n\n",
        "prompts",
    ),
    "full-width punctuation and curly quotes": (
        'print（"你好，"）\nx = f（a，b）\ny = “curly，” + ‘x’\nz\u00a0=\u30003\n',
        'print("你好，")\nx = f(a,b)\ny = "curly，" + \'x\'\nz = 3\n',
        "full-width",
    ),
    "return and await outside a function": ("return x\nawait y\nyield z\n", "return x\nawait y\nyield z\n", ""),
    "cut off within brackets": ("x = g(1,\n      [h(2", "x = g(1,\n      [h(2)])", "closed"),
    "cut off after a header": (
        "class A:\n    def f(self):  # why\n",
        "class A:\n    def f(self): pass  # why\n",
        "closed",
    ),
    "cut off within a docstring": ('def f():\n    """doc\n   more', 'def f():\n    """doc\n   more"""', "closed"),
    "try without except": ("try:\n    x = 1\ny = 2\n", "if 1:\n    x = 1\ny = 2\n", ""),
    "prose around code": (
        "Here's my code, it doesn't work:\n\nimport torch\nx = f(3)\nand then I call\ny = x.foo()\nz = 3\n",
        "\n\nimport torch\nx = f(3)\n\ny = x.foo()\nz = 3\n",
        "lines 1, 5",
    ),
    "an ellipsis of the author": ("a = 1\n.....\nb = 2\n", "a = 1\n\nb = 2\n", "lines 2"),
    "a traceback": (
        'x = f(1)\nTraceback (most recent call last):\n  File "a.py", line 3, in g\n    x = f(1)\nValueError: no\ny = 2\n',
        "x = f(1)\n\n\n\n\ny = 2\n",
        "lines 2-5",
    ),
    "a bracket that a line forgets": ("f(g(1)\nh(2)\n", "f(g(1))\nh(2)\n", "closed"),
    "odd indentation": ("def f():\n        a = 1\n    b = 2\nc = 3\n", None, "brought in line"),
    "tabs and spaces": ("def f():\n\ta = 1\n        b = 2\n", "def f():\n        a = 1\n        b = 2\n", "tabs"),
    "a Markdown fence": ("My code:\n```python\nx = 1\n```\nand then?\n", "\n\nx = 1\n\n\n", "fences"),
    "cut off at the head, within a docstring": (
        '    that it has.\n\n    >>> f(1)\n    """\n    return x\n\ndef g():\n    """Doc."""\n    return 1\n',
        '\n\n\n\nreturn x\n\ndef g():\n    """Doc."""\n    return 1\n',
        "head of the text",
    ),
    "magics": (
        "%matplotlib inline\n!pip install x \\\n  y\nfiles = !ls\n%time fit(x)\nmodel?\nx = ('a'\n  % b)\n",
        "pass\npass\n\nfiles = []\nfit(x)\npass\nx = ('a'\n  % b)\n",
        "magics",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_line_by_line(name: str) -> None:
    given, expected, told = READ[name]
    source = read(given)
    if expected is not None:
        assert source.text == expected
    assert source.text.count("\n") == given.count("\n")
    assert any(told in note for note in source.recoveries) if told else len(source.recoveries) <= 1


@pytest.mark.parametrize("name", READ)
def test_an_edit_of_it_leaves_every_other_line_as_it_was(name: str) -> None:
    given = READ[name][0]
    source = read(given)
    after = apply_edits(source, [InsertBefore(source.site(source.tree.body[0]), "added = 1")]).decode()
    lines = after.split("\n")
    added = [line for line in lines if "added = 1" in line]
    assert len(added) == 1
    lines.remove(added[0])
    assert lines == (given if name != "tabs and spaces" else source.text).split("\n")


def test_edits_go_back_behind_prompts_and_indentation() -> None:
    given = ">>> x = f(a=3)\n>>> for i in x:\n...     g(i)\n1\n"
    assert edited(given, RenameArgument(place(read(given), "f(a=3)"), "a", "b")) == given.replace("a=", "b=")
    assert edited(given, InsertBefore(place(read(given), "g(i)"), "h()\nk()")) == (
        ">>> x = f(a=3)\n>>> for i in x:\n...     h()\n...     k()\n...     g(i)\n1\n"
    )
    given = "    if x:\r\n        y = f(1)\r\n"
    assert edited(
        given, SetArgument(place(read(given), "f(1)"), "n", "2"), InsertAfter(place(read(given), "f(1)"), "z")
    ) == ("    if x:\r\n        y = f(1, n=2)\r\n        z\r\n")


def test_an_edit_within_a_rewritten_statement_reaches_the_original() -> None:
    given = 'print "loss", f(x, a=1)\n'
    assert edited(given, RenameArgument(place(read(given), "f(x, a=1)"), "a", "b")) == 'print "loss", f(x, b=1)\n'
    given = "x = f（a， b=1）\n"
    source = read(given)
    assert edited(given, Replace(place(source, "f(a, b=1)"), "g()")) == "x = g()\n"
    assert edited(given, SetArgument(place(source, "f(a, b=1)"), "b", "2")) == "x = f（a， b=2）\n"


def test_with_an_edit_all_tabs_that_python_refuses_become_blanks() -> None:
    given = 'def f():\n\ta = 1\n        b = 2\n\tc = """\n\td"""\n'
    expected = 'def f():\n        a = 4\n        b = 2\n        c = """\n\td"""\n'
    assert edited(given, Replace(place(read(given), "1"), "4")) == expected
    assert edited("def f():\n\ta = 1\n", Replace(place(read("def f():\n\ta = 1\n"), "1"), "4")) == "def f():\n\ta = 4\n"


def test_an_edit_that_cannot_be_carried_back_is_refused() -> None:
    given = "x = `y`\n"
    with pytest.raises(EditError):
        edited(given, Replace(place(read(given), "repr"), "str"))
    given = "x = f(1,\n      g(2"
    with pytest.raises(EditError):
        edited(given, InsertAfter(place(read(given), "g(2)"), "y = 3"))


@pytest.mark.parametrize(
    "text",
    [
        "Lorem ipsum dolor sit amet,\nconsectetur adipiscing elit.\nSed do eiusmod tempor.\n",
        "```\nonly prose here, no code\n```\n",
        "<html>\n<body>\n<p>it is</p>\n</body>\n</html>\n",
        "%PDF-1.4 of things\n1 0 obj of it\n<< /Length 3 0 R >>\nstream it\n",
    ],
)
def test_what_is_not_code_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="program.py"):
        read(text)


def test_examples_in_docstrings_are_no_prompts_or_fences() -> None:
    text = (
        'def f(x):\n    """Doc.\n\n    >>> f(1)\n    2\n    ```python\n    f(3)\n    ```\n    """\n    return x\n'
        "y = = 1\nz = f(2)\n"
    )
    source = read(text)
    assert source.text.split("\n")[:10] == text.split("\n")[:10]
    assert "z = f(2)" in source.text


def test_healthy_text_is_left_alone() -> None:
    text = "x = 'a' \\\n  % b\ns = '''\n>>> x\n%magic\n!ls\n'''\n"
    source = read(text)
    assert (source.text, source.recoveries) == (text, ())
    assert ast.dump(source.tree) == ast.dump(ast.parse(text))
