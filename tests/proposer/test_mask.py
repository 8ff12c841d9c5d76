"""What is sent under a mask: no word of the program's own, all words of libraries; and what comes back is in the program's words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.proposer import mask
from dnnfix.proposer.mask import Mask
from dnnfix.proposer.prompt import Prompt, prompt
from dnnfix.records import Finding, Frame, Json, Origin, Site
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from tests.proposer.asking import PROGRAM, crashed

QUIET = settings(deadline=None, derandomize=True, max_examples=150)
ROOT = Path(__file__).parents[2]

TELLING = '''"""Zebrafish study of Doctor Quagmire.

Confidential: zurich.
"""
import argparse
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from zebra_tools.quagga import load_zebra, ZebraSet as Herd

ZEBRA_ROOT = "/mnt/zebra/quagga.csv"  # the zebra share
CLASSES = {'zebra': 0, "it's a zebra": 1, 'zebra\\tquagga': 2, r"zebra\\d+": 3, b"zebra": 4}
NOTE = ("zebra one "
        "zebra two")
SQL = f"""select {ZEBRA_ROOT!r}
from zebra where quagga = {CLASSES['zebra']:>{4}d} and "zebra" """


class ZebraNet(nn.Module):
    """A zebra in a docstring."""

    zebra_count: int = 3

    def __init__(self, zebra_size=16, *, quagga=2, **zebra_more):
        super().__init__()
        self.zebra_layer = nn.Linear(8, zebra_size)  # zebra comment
        self.register_buffer("zebra_buffer", torch.zeros(3))
        self.head = nn.Linear(zebra_size, quagga, bias=True)

    def forward(self, zebra_input):
        stripes = F.relu(self.zebra_layer(zebra_input) + self.zebra_buffer.sum())
        assert stripes.ndim == 2, f"zebra {stripes.shape} of {len('zebra')} stripes"
        return self.zebra_head(stripes)

    def zebra_head(self, stripes):
        global zebra_total
        zebra_total = 1
        return self.head(stripes)


def make_zebra(zebra_size, **zebra_options):
    try:
        return ZebraNet(zebra_size=zebra_size, quagga=2, **zebra_options)
    except ValueError as zebra_error:
        raise RuntimeError("no zebra in %s, only %d quagga" % (ZEBRA_ROOT, 3)) from zebra_error


parser = argparse.ArgumentParser(description="zebra trainer")
parser.add_argument("--zebra-epochs", type=int, default=3)
zebra_args = parser.parse_args([])
herd = [zebra for zebra in range(3) if (quagga := zebra) > 0]
options = dict(zebra_rate=0.1, zebra_name="quagga")
frame = load_zebra().assign(zebra_column=3)
print(frame.zebra_field, zebra_args.zebra_epochs, sep="zebra")
match herd:
    case [zebra_first, *zebra_rest]:
        pass
zebra_model = make_zebra(16)
zebra_optimizer = torch.optim.SGD(zebra_model.parameters(), lr=0.1, momentum=0.9)
result = zebra_model(torch.randn(4, 9).to(dtype=torch.float32, device="cpu"))
loss = F.cross_entropy(result, torch.zeros(4).long(), reduction="mean")
'''
MODULE = '"""Zebra tools."""\nimport os\n\n\ndef load_zebra(zebra_path=None):\n    return os.environ.get("ZEBRA_HOME", "zebra")\n\n\nclass ZebraSet:\n    zebra_x = 3\n'
LIBRARY = words("""argparse np torch nn F Module Linear register_buffer zeros relu sum ndim shape parse_args add_argument SGD parameters lr
    momentum randn to dtype float32 device cross_entropy long reduction mean cpu bias super forward __init__ int range len dict
    ValueError RuntimeError print environ get os global match case""")
CODED = re.compile("zebra|quag|stripe|herd|study|zurich|confidential|share|trainer|/mnt|select", re.IGNORECASE)


def asked(masked: bool = True) -> Prompt:
    """A prompt about all of it, with what runs say of it: values, messages, names."""
    line = (
        TELLING.split("\n").index('result = zebra_model(torch.randn(4, 9).to(dtype=torch.float32, device="cpu"))') + 1
    )
    names: dict[str, Json] = {
        "zebra_size": 3,
        "self.zebra_layer": "zebra",
        "zebra_args": "Doctor Quagmire",
        "ZEBRA_ROOT": "/mnt/zebra/quagga.csv",
    }
    inner = (
        TELLING.split("\n").index("        stripes = F.relu(self.zebra_layer(zebra_input) + self.zebra_buffer.sum())")
        + 1
    )
    callers = (Frame(Site(line, 1, line, 20), "<module>", names), Frame(Site(inner, 9, inner, 30), "zebra_head", names))
    message = "no zebra in /mnt/zebra/quagga.csv, only 3 quagga ('zebra'): 'Quagmire' of zebra_tools/quagga.py"
    known = crashed(TELLING, line, message, {"zebra_tools/quagga.py": MODULE}, "studies/zebra_study.py", names, callers)
    origin = Origin(Site(inner, 9, inner, 30), "failing", 0, ("zebra_input is (4, 9)", "in zebra_tools/quagga.py"))
    finding: Finding = replace(known.claim, code="DNF201", message="zebra_layer takes 8, see 'it\\'s a zebra'")
    known = replace(
        known, origins=(origin,), findings=(finding,), signatures=("make_zebra(zebra_size, **zebra_options)",)
    )
    return prompt(known, Mask.of(known.source) if masked else None)


def test_nothing_of_the_program_s_own_is_told() -> None:
    assert len(CODED.findall(asked(masked=False).text)) > 100
    assert CODED.findall(asked().text) == []
    assert {excerpt.name for excerpt in asked().shown} == {"file_2.py", "file_3/file_4.py"}


def test_what_libraries_name_stays() -> None:
    words = set(re.findall(r"\w+", asked().text))
    assert [word for word in LIBRARY if word not in words] == []


def test_what_is_told_is_python_with_as_many_lines() -> None:
    source = Source.from_bytes(TELLING.encode(), "zebra_study.py")
    masked = Mask.of(source).lines[""]
    assert len(masked) == len(source.places.lines)
    assert shape("\n".join(masked)) == shape(TELLING)


def shape(code: str) -> list[str]:
    """The kinds of nodes of a program, in order."""
    return [type(node).__name__ for node in ast.walk(ast.parse(code))]


def programs() -> list[Path]:
    found = [
        *(ROOT / "examples").rglob("*.py"),
        *(ROOT / "tests").glob("*/test_*.py"),
        *(ROOT / "dnnfix" / "proposer").glob("[a-z]*.py"),
    ]
    return sorted(found)


def own_names(tree: ast.AST) -> Iterator[str]:
    """Names that a program gives: found otherwise than by the mask."""
    for node in ast.walk(tree):
        for field in ("name", "id", "arg", "asname"):
            value = getattr(node, field, None)
            bound = not isinstance(node, ast.Name | ast.alias | ast.keyword) or isinstance(
                getattr(node, "ctx", None), ast.Store
            )
            if isinstance(value, str) and bound:
                yield value


def telling(text: str) -> str:
    """The program with names that no library has, but for those that imports and calls of others may have."""
    tree = ast.parse(text)
    theirs = {
        word
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom)
        for word in re.findall(r"\w+", ast.unparse(n))
    }
    theirs |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    theirs |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {name for name in own_names(tree) if not name.startswith("__") and len(name) > 1} - theirs
    return re.sub(r"\b[^\W\d]\w*\b", lambda match: f"zzq_{match[0]}" if match[0] in names else match[0], text)


@pytest.mark.parametrize("number", range(6))
def test_no_telling_name_of_any_program_is_told(number: int) -> None:
    for path in programs()[number::24]:
        text = telling(path.read_text())
        assert "zzq_" in text, path
        masked = "\n".join(Mask.of(Source.from_bytes(text.encode(), "zzq_program.py")).lines[""])
        assert "zzq_" not in masked, path
        assert shape(masked) == shape(text), path


@pytest.mark.parametrize("number", range(6))
def test_no_comment_docstring_or_string_of_any_program_is_told(number: int) -> None:
    for path in programs()[number::24]:
        text = path.read_text()
        mask = Mask.of(Source.from_bytes(text.encode(), "program.py"))
        masked = "\n".join(mask.lines[""])
        assert "#" not in re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "", masked), path
        told = {
            node.value
            for node in ast.walk(ast.parse(masked))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        kept = {
            value
            for value in told
            if len(re.findall(r"[a-z]{3,}", value)) > 1 and not re.fullmatch(r"\w+|.*text_.*|.*->.*", value, re.DOTALL)
        }
        assert kept == set(), path


@pytest.mark.parametrize("path", programs()[::9], ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_that_come_back_unchanged_are_the_program_s(path: Path) -> None:
    source = Source.from_bytes(path.read_bytes(), path.name)
    mask = Mask.of(source)
    lines = source.places.lines
    for first in range(1, len(lines), 7):
        last = min(first + 9, len(lines))
        assert mask.restored("", first, last, "\n".join(mask.lines[""][first - 1 : last])) == "\n".join(
            lines[first - 1 : last]
        )


@pytest.mark.parametrize("path", programs()[::9], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_written_anew_means_the_same(path: Path) -> None:
    """Every line counts as changed, so that each word is put back by itself; what is left of comments is nothing."""
    source = Source.from_bytes(path.read_bytes(), path.name)
    mask = Mask.of(source)
    assert ast.dump(ast.parse(mask._plain("\n".join(mask.lines[""])))) == ast.dump(source.tree)


def repaired(program: str, old: str, new: str) -> str:
    """The program after an answer in masked words: `old` is a line of it, `new` what it becomes, both before the mask."""
    source = Source.from_bytes(program.encode(), "train.py")
    mask = Mask.of(source)
    line = program.split("\n").index(old) + 1
    made = mask.restored("", line, line, mask._written(new))
    return "\n".join([*program.split("\n")[: line - 1], *made.split("\n"), *program.split("\n")[line:]])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            'model = nn.Sequential(nn.Linear(8, size_of("widht")), nn.ReLU(), nn.Linear(16, 2))',
            'model = nn.Sequential(nn.Linear(8, size_of("width")), nn.ReLU(), nn.Linear(16, 2))',
        ),
        ("    return SIZES[part]", "    return SIZES.get(part, SIZES['width'])"),
        ("print(loss.item())", "print(f'{size_of(\"depth\")} {loss.item():.3f}')"),
        ("x = torch.randn(64, 8)", "x = torch.randn(SIZES['width'] * 4, 8)"),
    ],
)
def test_an_answer_in_other_words_is_the_edit_in_the_program_s(old: str, new: str) -> None:
    assert ast.dump(ast.parse(repaired(PROGRAM, old, new))) == ast.dump(ast.parse(PROGRAM.replace(old, new)))


def test_comments_and_docstrings_of_lines_that_stay_are_kept() -> None:
    program = 'def f(zebra):\n    """What it does,\n\n    and why."""\n    zebra = zebra + 1  # one more\n    return zebra  # all\n'
    mask = Mask.of(Source.from_bytes(program.encode(), "train.py"))
    lines = list(mask.lines[""])
    lines[4] = lines[4].replace("+ 1", "+ 2")
    made = mask.restored("", 1, 6, "\n".join(lines[:6]))
    assert made == program.rstrip("\n").replace("+ 1  # one more", "+ 2")


def test_words_that_look_masked_are_no_trouble() -> None:
    program = 'name_1 = 3\nzebra = {"text_1": name_1, "file_2": "name_2"}\nname__3 = zebra["quagga"]\n'
    source = Source.from_bytes(program.encode(), "file_1.py")
    mask = Mask.of(source)
    masked = "\n".join(mask.lines[""])
    for word in ("zebra", "quagga", "name_1", "text_1", "name__3"):
        assert not re.search(rf"\b{word}\b", masked)
    assert mask._plain(masked) == program


def test_a_name_that_is_a_library_s_keyword_stays_where_that_is_needed() -> None:
    program = "import torch\n\nmomentum = 0.9\nopt = torch.optim.SGD(p, momentum=momentum)\nzebra = dict(quagga=3)\nf(zebra=zebra, epochs=3)\n"
    masked = "\n".join(Mask.of(Source.from_bytes(program.encode(), "a.py")).lines[""])
    assert "momentum=momentum" in masked and "epochs=3" in masked
    assert "zebra" not in masked and "quagga" not in masked


def test_names_within_longer_words_stay() -> None:
    program = "import torch\n\nin_ = 'to'\nor_ = 'in'\nprint(torch.tensor(3).item(), in_, or_)\n"
    mask = Mask.of(Source.from_bytes(program.encode(), "train.py"))
    masked = "\n".join(mask.lines[""])
    assert "print(torch.tensor(3).item(), " in masked
    assert mask._plain(masked) == program


def test_the_name_of_the_file_is_no_word_of_libraries() -> None:
    program = "import torch\n\nmodel = torch.nn.Linear(3, 3)\nmodel.train()\nprint('constraint')\n"
    mask = Mask.of(Source.from_bytes(program.encode(), "home/zebra/train.py"))
    assert "model.train()" in mask.lines[""]
    assert "zebra" not in mask.hide("in home/zebra/train.py, and zebra_x")[:-8]


def test_what_a_program_says_of_its_crash_is_left_out() -> None:
    program = 'import torch\n\npatient = open("x").read()\nraise ValueError(f"{patient} has no scan")\n'
    known = crashed(program, 4, "Jane Doe has no scan")
    text = prompt(known, Mask.of(known.source)).text
    assert "Jane" not in text and "The program crashes: KeyError: in words of the program's own" in text
    assert "Jane Doe has no scan" in prompt(known).text


_NAMES = st.sampled_from(["zebra", "quagga_2", "_z", "Herd", "x", "model", "lr", "data", "größe"])
_STRINGS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]), max_size=12).map(
    repr
) | st.sampled_from(
    [
        "'it\\'s'",
        '"a\\tb"',
        "r'\\d+'",
        "b'zebra'",
        "''",
        '"""long"""',
        "'relu'",
        "f'{zebra} is {quagga_2:.2f}'",
        "f'{{zebra}} {x!r}'",
        "'zebra' 'quagga'",
    ]
)
_VALUES = st.recursive(
    _NAMES | _STRINGS | st.integers(0, 9).map(str),
    lambda inner: (
        st.tuples(inner, inner).map(lambda pair: f"f({pair[0]}, lr={pair[1]})")
        | st.tuples(_NAMES, inner).map(lambda pair: f"{pair[0]}[{pair[1]}]")
        | st.tuples(_NAMES, inner).map(lambda pair: f"dict({pair[0]}={pair[1]})")
    ),
    max_leaves=6,
)
_STATEMENTS = st.tuples(_NAMES, _VALUES).map(lambda pair: f"{pair[0]} = {pair[1]}") | _VALUES


@given(st.lists(_STATEMENTS, min_size=1, max_size=8), st.sampled_from(["", "  # a remark", "  # 'odd"]))
@QUIET
def test_what_is_masked_comes_back(statements: list[str], remark: str) -> None:
    program = "".join(f"{statement}{remark}\n" for statement in statements)
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError):
        return
    mask = Mask.of(Source.from_bytes(program.encode(), "zebra_study.py"))
    masked = "\n".join(mask.lines[""])
    assert "zebra" not in masked.replace("{{zebra}}", "") and "remark" not in masked
    assert ast.dump(ast.parse(mask._plain(masked))) == ast.dump(tree)
    assert mask.restored("", 1, len(statements), "\n".join(mask.lines[""][:-1])) == program.rstrip("\n")


@given(st.text(max_size=200))
@QUIET
def test_any_answer_is_put_into_other_words_without_an_error(text: str) -> None:
    mask = Mask.of(Source.from_bytes(PROGRAM.encode(), "train.py"))
    assert isinstance(mask.restored("", 1, 3, text), str) and isinstance(mask.shown(text), str)
    assert isinstance(mask.hide(text), str) and isinstance(mask.code(text), str)


def test_quotes_within_an_f_string_of_its_own_kind_are_not_taken_for_its_end() -> None:
    assert mask._reads_as_code('f"{row["patient"]} # x"')
    assert not mask._reads_as_code("f\"{row['patient']} # x\" 'and' f'more'")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (r"print(sep=' ', end='\n')", r"print(sep=' ', end='\n')"),
        (r"reads C:\work\secret.csv", "reads path_0"),
        ("reads /home/secret/file", "reads path_0"),
    ],
)
def test_what_ends_a_line_is_no_path(text: str, told: str) -> None:
    assert Mask.of(crashed(PROGRAM, 14).source).hide(text) == told
