"""What is taken from an answer: edits of lines that were shown, or nothing, whatever it says."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.proposer.answer import MOST_BLOCKS, MOST_CHARACTERS, MOST_LINES, Answer, Malformed, read_answer
from dnnfix.proposer.excerpt import Excerpt
from dnnfix.records import ReplaceLines, Site
from tests.proposer.asking import FAILING, PROGRAM, REPAIR, REPAIRED, answer, shown

SHOWN = (shown(PROGRAM), shown("import torch\n\n\ndef head(x):\n    return x.mean()\n", "lib/heads.py", "lib/heads.py"))
QUIET = settings(deadline=None, derandomize=True, max_examples=400)


def edits_of(text: str, excerpts: tuple[Excerpt, ...] = SHOWN) -> list[ReplaceLines]:
    return [block.edit for block in read_answer(text, excerpts).blocks]


def test_an_answer_is_an_edit_of_whole_lines() -> None:
    (edit,) = edits_of(REPAIR)
    assert edit == ReplaceLines(Site(14, 1, 14, len(FAILING) + 1), REPAIRED)
    assert read_answer(REPAIR, SHOWN).cause == "the key is misspelt"


def test_several_blocks_edit_several_files() -> None:
    text = answer("y = (x[:, 0] > 0).long()", "y = (x[:, 1] > 0).long()") + answer(
        "    return x.mean()", "    return x.sum()", "lib/heads.py"
    )
    assert [(edit.site.path, edit.site.line) for edit in edits_of(text)] == [("", 13), ("lib/heads.py", 5)]


def test_a_block_may_take_out_lines() -> None:
    text = REPAIR.replace(f"{REPAIRED}\n", "")
    assert [edit.code for edit in edits_of(text)] == [""]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(REPAIR.replace("\n", "\r\n"), id="lines that end as in Windows"),
        pytest.param(f"Sure!\n\n```\n{REPAIR}```\nThat is it.", id="all of it between fences"),
        pytest.param(REPAIR.replace("<<<<<<< S", "```python\n<<<<<<< S") + "```\n", id="the block between fences"),
        pytest.param(REPAIR.replace("train.py", "`train.py`"), id="the name in quotes"),
        pytest.param(REPAIR.replace("FILE:", "**FILE:**"), id="in bold"),
        pytest.param(REPAIR.rstrip("\n"), id="no end of the last line"),
        pytest.param(
            REPAIR.replace(FAILING, f"  14| {FAILING}").replace(REPAIRED, f"  14| {REPAIRED}"), id="with numbers"
        ),
        pytest.param(REPAIR.replace(FAILING, f"  14| {FAILING}"), id="the lines that are searched for with numbers"),
        pytest.param(REPAIR.replace(FAILING, f"{FAILING}   "), id="with blanks at the end"),
    ],
)
def test_small_slips_of_form_do_not_count(text: str) -> None:
    assert edits_of(text) == edits_of(REPAIR)


@pytest.mark.parametrize(
    "thought", ["<think>\nIt may be\n<<<<<<< SEARCH\n</think>\n\n", "The tag was in the prompt.</think>"]
)
def test_what_a_model_thinks_aloud_is_no_part_of_its_answer(thought: str) -> None:
    assert edits_of(thought + REPAIR) == edits_of(REPAIR)


def test_numbers_of_long_programs_are_taken_off() -> None:
    lines = "\n".join(f"a{n} = {n}" for n in range(12_000))
    (edit,) = edits_of(answer("11501| a11500 = 11500", "a11500 = 0"), (shown(lines),))
    assert edit.site.line == 11_501 and edit.code == "a11500 = 0"


LONG = "\n".join(f"a{n} = {n}" for n in range(MOST_LINES + 1))
REFUSED = {
    "nothing": ("", "no block"),
    "prose": ("I cannot find the fault, sorry.", "no block"),
    "a diff": (f"--- a/train.py\n+++ b/train.py\n@@ -14 +14 @@\n-{FAILING}\n+{REPAIRED}\n", "no block"),
    "no end": (REPAIR.replace(">>>>>>> REPLACE\n", ""), "not complete"),
    "no middle": (REPAIR.replace("=======\n", ""), "not complete"),
    "no start": (REPAIR.replace("<<<<<<< SEARCH\n", ""), "not complete"),
    "two starts": (REPAIR.replace("<<<<<<< SEARCH\n", "<<<<<<< SEARCH\n<<<<<<< SEARCH\n"), "not complete"),
    "a block in a block": (
        REPAIR.replace(REPAIRED, f"<<<<<<< SEARCH\n{FAILING}\n=======\nx\n>>>>>>> REPLACE"),
        "not compl",
    ),
    "marks of git": (REPAIR.replace(" SEARCH", " HEAD").replace(" REPLACE", " fix"), "not complete"),
    "no file": (REPAIR.replace("FILE: train.py\n", ""), "no line FILE"),
    "prose below the file": (REPAIR.replace("train.py\n", "train.py\nas follows\n"), "no line FILE"),
    "another file": (answer(FAILING, REPAIRED, "other.py"), "not shown"),
    "a path out": (answer(FAILING, REPAIRED, "../train.py"), "not shown"),
    "an absolute path": (answer(FAILING, REPAIRED, "/etc/passwd"), "not shown"),
    "a path that comes back": (answer(FAILING, REPAIRED, "lib/../train.py"), "not shown"),
    "a workflow": (answer("on: push", "on: [push]", ".github/workflows/ci.yml"), "not shown"),
    "lines that are not there": (answer("model = None", "model = 1"), "not among"),
    "lines of another file": (answer("    return x.mean()", "    return x"), "not among"),
    "lines that are apart": (answer("import torch\ntorch.manual_seed(0)", "import torch"), "not among"),
    "a part of a line": (answer('size_of("widht")', 'size_of("width")'), "not among"),
    "blank lines": (answer("\n", "x"), "searches for nothing"),
    "a search for nothing": (REPAIR.replace(f"{FAILING}\n", ""), "searches for nothing"),
    "the same lines twice": (REPAIR + answer(FAILING, "model = 1"), "the same lines"),
    "lines that overlap": (
        answer(f"{FAILING}\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "a = 1") + REPAIR,
        "the same lines",
    ),
    "many blocks": (REPAIR * (MOST_BLOCKS + 1), "blocks"),
    "many lines": (answer(FAILING, LONG), "lines"),
    "10 MB": (REPAIR + "x" * 10_000_000, "characters"),
    "a control character": (REPAIR.replace("width", "wi\x08dth"), "control"),
    "an escape of terminals": (REPAIR.replace("width", "\x1b[2Kwidth"), "control"),
    "text from right to left": (REPAIR.replace("width", "\u202ewidth"), "control"),
    "an isolate": (REPAIR.replace("width", "\u2066width\u2069"), "control"),
    "an Arabic mark": (REPAIR.replace("width", "\u061cwidth"), "control"),
    "a character without width": (REPAIR.replace("width", "wi\u200bdth"), "control"),
    "a soft hyphen": (REPAIR.replace("width", "wi\u00addth"), "control"),
    "a separator of lines": (REPAIR.replace("widht", "\u2028widht"), "control"),
    "a tag": (REPAIR.replace("width", "\U000e0041width"), "control"),
    "half a character": (REPAIR.replace("width", "\ud800width"), "control"),
    "a carriage return": (REPAIR.replace("the key", "the\rkey"), "control"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_answer_of_another_form_is_refused_with_the_reason(case: str) -> None:
    text, why = REFUSED[case]
    with pytest.raises(Malformed, match=why):
        read_answer(text, SHOWN)


def test_lines_that_stand_twice_are_no_place() -> None:
    with pytest.raises(Malformed, match="there 2 times"):
        read_answer(answer("a = 1", "a = 2"), (shown("a = 1\nb = 1\na = 1\n"),))


def test_lines_that_were_left_out_cannot_be_edited() -> None:
    whole = shown(PROGRAM)
    part = Excerpt("", "train.py", tuple(line for line in whole.lines if line[0] != 14), whole.of)
    with pytest.raises(Malformed, match="not among"):
        read_answer(REPAIR, (part,))
    around = answer("y = (x[:, 0] > 0).long()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "a = 1")
    with pytest.raises(Malformed, match="not among"):
        read_answer(around, (part,))


def test_what_a_file_says_of_itself_is_one_line_of_bounded_length() -> None:
    cause = read_answer(answer(FAILING, REPAIRED, cause="because " * 100), SHOWN).cause
    assert cause.startswith("because because") and len(cause) <= 160
    inside = answer(FAILING, "# CAUSE: told in a comment", cause="").replace("CAUSE: \n", "")
    assert read_answer(inside, SHOWN).cause == ""


@pytest.mark.parametrize(
    "piece",
    [
        "FILE: train.py\n<<<<<<< SEARCH\na\n=======\n",
        "\n",
        "FILE: a\n<<<<<<< SEARCH\n",
        "=======\n",
        " ",
        "**CAUSE",
        "```\n",
    ],
)
def test_what_does_not_end_takes_no_longer_to_read_than_what_does(piece: str) -> None:
    text = piece * (MOST_CHARACTERS // len(piece))
    began = time.process_time()
    with pytest.raises(Malformed):
        read_answer(text, SHOWN)
    assert time.process_time() - began < 1.0


_LINES = st.sampled_from([line for excerpt in SHOWN for _, line in excerpt.lines])
_MARKS = st.sampled_from(
    [
        "<<<<<<< SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "FILE: train.py",
        "FILE: lib/heads.py",
        "FILE: ../x.py",
        "CAUSE: x",
        "```",
    ]
)
_TEXTS = st.lists(_MARKS | _LINES | st.text(max_size=20) | _LINES.map(lambda line: f"  12| {line}"), max_size=24)
_ORDERED = st.lists(
    st.tuples(
        st.sampled_from(["train.py", "lib/heads.py", "x.py"]),
        st.lists(_LINES, min_size=1, max_size=3),
        st.text(max_size=30),
    ).map(lambda block: answer("\n".join(block[1]), block[2], block[0])),
    max_size=3,
)


@given(_TEXTS.map("\n".join) | _ORDERED.map("".join))
@QUIET
def test_any_text_is_edits_of_lines_that_were_shown_or_malformed(text: str) -> None:
    try:
        read = read_answer(text, SHOWN)
    except Malformed as wrong:
        assert str(wrong)
        return
    assert_only_shown(read)


def assert_only_shown(read: Answer) -> None:
    numbers = {excerpt.path: {number for number, _ in excerpt.lines} for excerpt in SHOWN}
    touched = [
        (edit.site.path, line)
        for edit in (b.edit for b in read.blocks)
        for line in range(edit.site.line, edit.site.end_line + 1)
    ]
    assert touched and len(touched) == len(set(touched))
    assert all(line in numbers[path] for path, line in touched)


@given(st.data())
@QUIET
def test_any_lines_that_stand_once_can_be_replaced(data: st.DataObject) -> None:
    excerpt = data.draw(st.sampled_from(SHOWN))
    first = data.draw(st.integers(0, len(excerpt.lines) - 1))
    last = data.draw(st.integers(first, len(excerpt.lines) - 1))
    lines = excerpt.lines[first : last + 1]
    text = "\n".join(line for _, line in lines)
    whole = "\n".join(line for _, line in excerpt.lines)
    if not text.strip() or f"\n{whole}\n".count(f"\n{text}\n") != 1:
        return
    (edit,) = edits_of(answer(text, "pass", excerpt.name))
    assert (edit.site.path, edit.site.line, edit.site.end_line) == (excerpt.path, lines[0][0], lines[-1][0])
