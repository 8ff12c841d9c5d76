"""What a person reads: the frame, the verdict in one line, and never a clean bill without what was not checked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from dnnfix.emit.choice import applicable, chosen
from dnnfix.emit.github import commands, problem
from dnnfix.emit.sparkline import MARKS, sparkline
from dnnfix.emit.text import COLOURS, PLAIN, diff_lines, file_text, frame, paragraphs, summary, verdict_line
from dnnfix.emit.values import effect_text, value_text
from dnnfix.emit.view import View, columns
from dnnfix.records import (
    CRASH_CAUSE,
    LEFT,
    NOT_RUN,
    Applicability,
    Curve,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    Json,
    Patch,
    PatchVerdict,
    Report,
    Site,
    Status,
    Symptom,
    Verdict,
)
from tests.emit.conftest import finding, patch


def underlined(finding: Finding, text: str) -> list[str]:
    lines = list(frame(finding, View(tuple(text.split("\n"))), PLAIN))
    found = []
    for shown, marks in pairwise(lines):
        if set(marks.split("|", 1)[-1].strip()) == {"^"}:
            found.append(shown[marks.index("^") : marks.rindex("^") + 1])
    return found


def test_frame_underlines_the_site(repaired: FileReport, views: dict[str, View]) -> None:
    text = "\n".join(views["pkg/train.py"].lines)
    assert underlined(repaired.findings[0].finding, text) == ["softmax(x)"]


@pytest.mark.parametrize(("line", "column", "word"), [("\tx = f(y)", 6, "f(y)"), ("\f  f(y)", 4, "f(y)")])
def test_frame_with_tabs_and_form_feeds(repaired: FileReport, line: str, column: int, word: str) -> None:
    site = Site(1, column, 1, column + len(word))
    assert underlined(replace(repaired.findings[0].finding, site=site), line) == [word]


def test_wide_characters_take_two_cells(repaired: FileReport) -> None:
    found = replace(repaired.findings[0].finding, site=Site(1, 7, 1, 11))
    lines = list(frame(found, View(("模型名 = f(y)",)), PLAIN))
    assert lines[1].split("|")[1] == " " + " " * 9 + "^^^^"


@pytest.mark.parametrize("width", [0, 30, 60, 80, 200])
@pytest.mark.parametrize(
    ("before", "word", "after"),
    [
        ("x = f(", "softmax(y)", ")"),
        ("x = [" + "1, " * 900, "softmax(y)", "]"),
        ("x = ", "softmax(y)", "  # " + "long " * 900),
        ("\t'" + "漢字" * 90 + "'; x =\t", "softmax(模型)", "; " + "模型 = 1; " * 60),
        ("x = ", "f(" + "模型, " * 300 + ")", ""),
        ("'" + "e\u0301" * 200 + "'; x = ", "softmax(y)", ""),
    ],
)
def test_of_a_long_line_what_is_underlined_is_shown(
    repaired: FileReport, width: int, before: str, word: str, after: str
) -> None:
    site = Site(1, len(before) + 1, 1, len(before + word) + 1)
    palette = replace(PLAIN, width=width)
    lines = list(frame(replace(repaired.findings[0].finding, site=site), View((before + word + after,)), palette))
    assert all(columns(line) <= (width or 205) for line in lines)
    start, end = lines[1].index("^"), lines[1].rindex("^") + 1
    assert word.startswith(in_columns(lines[0], start, end))


def in_columns(line: str, start: int, end: int) -> str:
    """What a terminal shows in these columns of a line."""
    first = next(n for n in range(len(line)) if columns(line[:n]) >= start)
    return line[first : next(n for n in range(first, len(line) + 1) if columns(line[:n]) >= end)]


@pytest.mark.parametrize(
    "before", ["'👨‍👩‍👧'; ", "'❤️'; ", "'हिन्दी'; ", "'ไทยที่'; ", "'e\u0301'; ", "'שלום'; ", "'각'; "]
)
def test_what_joins_the_character_before_it_takes_no_column(repaired: FileReport, before: str) -> None:
    site = Site(1, len(before) + 1, 1, len(before) + 5)
    lines = list(frame(replace(repaired.findings[0].finding, site=site), View((before + "f(y)",)), PLAIN))
    assert in_columns(lines[0], lines[1].index("^"), lines[1].rindex("^") + 1) == "f(y)"


def test_words_of_wide_characters_are_wrapped_by_their_columns(repaired: FileReport, views: dict[str, View]) -> None:
    found = replace(repaired.findings[0].finding, message="模型的输出 不适合 它的损失函数 " * 5)
    one = replace(repaired, findings=(replace(repaired.findings[0], finding=found),), patches=())
    text = file_text(one, views["pkg/train.py"], replace(PLAIN, width=60))
    own = [line for line in text.splitlines() if "模型" in line or "损失" in line]
    assert len(own) > 2 and all(columns(line) <= 60 for line in own)


def test_a_file_name_with_a_line_end_makes_no_line_of_its_own(repaired: FileReport) -> None:
    text = file_text(replace(repaired, path="a\nfaked.py:1:1: DNF301\t.py"), View())
    assert not any(line.startswith("faked") for line in text.splitlines())


@pytest.mark.parametrize("width", [40, 60, 80])
def test_paragraphs_and_lists_fill_a_terminal(width: int) -> None:
    words = ("a word and another one, " * 8).strip()
    text = f"{words}\n{words}\n\n- {words}\n  {words}\n- short\n\n    code {words}\n\nA list:\n- one\n"
    shown = paragraphs(text, replace(PLAIN, width=width))
    lines = shown.split("\n")
    assert all(len(line) <= width for line in lines if not line.startswith("    "))
    assert f"    code {words}" in lines and "- short" in lines and "- one" in lines
    assert shown.split() == text.split()
    assert paragraphs(text, PLAIN) == text


def test_long_sites_are_cut(repaired: FileReport) -> None:
    site = Site(1, 1, 40, 2)
    lines = list(frame(replace(repaired.findings[0].finding, site=site), View(("x",) * 40), PLAIN))
    assert len(lines) == 13 and "34 more lines" in lines[-1]


def test_repair_shows_diff_and_verdict_in_one_line(repaired: FileReport, views: dict[str, View]) -> None:
    text = file_text(repaired, views["pkg/train.py"])
    assert '    -über = "ü"; loss = f(softmax(x), y)\n    +über = "ü"; loss = f(x, y)\n' in text
    assert "proven     the loss falls; passed parse, learn" in text
    assert "pkg/train.py:3:22: DNF301 output-unfit-for-loss" in text
    assert "observed   not-learning; row_sums (1, nan), high inf" in text
    assert "rejected   crash-gone: RuntimeError" in text
    assert "declined   two names fit" in text
    assert "failed     synthesize: KeyError" in text
    assert "also       1 other candidate: 1 accepted (-v shows each)" in text
    assert "\033" not in text


def test_curves_of_one_seed_are_drawn_on_one_scale(repaired: FileReport, views: dict[str, View]) -> None:
    sides = (Curve(3, False, (2.0, float("nan"))), Curve(3, True, (2.0, 1.0, 0.0)), Curve(4, False, (9.0,)))
    drawn = replace(repaired, patches=(replace(repaired.patches[0], curves=sides), *repaired.patches[1:]))
    text = file_text(drawn, views["pkg/train.py"], replace(PLAIN, levels=MARKS))
    assert "curves     loss #! before, #=_ after (seed 3)" in text
    skilled = tuple(replace(side, skill=(0.0, 1.0)) for side in sides)
    drawn = replace(repaired, patches=(replace(repaired.patches[0], curves=skilled), *repaired.patches[1:]))
    assert "curves     skill ▁█ before, ▁█ after (seed 3)" in file_text(drawn, views["pkg/train.py"])
    assert "curves" not in file_text(repaired, views["pkg/train.py"])


def test_a_long_curve_is_drawn_in_means() -> None:
    assert sparkline([float(step) for step in range(100)], 4, 0.0, 100.0, MARKS) == "_-=*"
    assert sparkline([], 4, 0.0, 1.0) == "" and sparkline([5.0, 5.0], 4, 5.0, 5.0) == "▁▁"


def test_colour_only_when_asked(repaired: FileReport, views: dict[str, View]) -> None:
    assert "\033[31m" in file_text(repaired, views["pkg/train.py"], COLOURS)


def test_terminal_escapes_of_a_program_are_not_passed_on(repaired: FileReport) -> None:
    seen = View(("", "", "x = '\033]0;owned\007' # \u202e"))
    result = replace(repaired.findings[1], reason="\033[2Jgone")
    text = file_text(replace(repaired, findings=(repaired.findings[0], result)), seen)
    assert not set(text) & set("\033\007\u202e")


def test_a_module_names_the_program_that_was_run_for_it() -> None:
    text = file_text(FileReport("net.py", through="train.py"), View())
    assert text == "net.py: has no program of its own; it was run in train.py, which uses it\n\n"


def test_code_of_a_module_is_shown_as_that_of_the_program_is() -> None:
    found = FindingResult(replace(finding(), site=Site(2, 1, 2, 4, "net.py")), FindingOutcome.DECLINED, "not run")
    text = file_text(FileReport("pkg/train.py", (found,), modules={"net.py": b"a = 1\nbad = 2\n"}), View())
    assert "pkg/net.py:2:1" in text and "  2 | bad = 2\n    | ^^^\n" in text


def test_no_problems_never_stands_alone() -> None:
    clean = FileReport("a.py", unchecked=("the program was not run",))
    text = summary(Report((clean,)))
    assert text.startswith("No problems found in 1 file")
    assert "Not checked: the program was not run" in text
    assert "Not checked" in summary(Report((replace(clean, unchecked=()),)))


def test_summary_counts(report: Report) -> None:
    text = summary(report)
    assert text.startswith(
        "Found 5 problems in 2 files: 1 repaired, 1 rejected, 2 declined, 1 failed. 1 input could not"
    )


def test_explanations_of_one_crash_are_said_to_be_of_one(report: Report) -> None:
    file = report.files[0]
    crash = replace(file.findings[0], finding=replace(file.findings[0].finding, cause=CRASH_CAUSE))
    one, two, three = (replace(file, findings=(crash,) * number) for number in (1, 2, 3))
    assert "crash" not in summary(Report((one,)))
    assert "Both are about one crash." in summary(Report((two,)))
    assert "5 of them are about 2 crashes." in summary(Report((one, two, three)))


def test_github_escapes(report: Report, views: dict[str, View]) -> None:
    lines = list(commands(report.files[0], views["pkg/train.py"]))
    assert lines[0].startswith("::error title=dnnfix DNF301 output-unfit-for-loss,file=pkg/train.py,line=3,")
    assert "col=22,endColumn=31::softmax is applied twice: 100%25, by you" in lines[0]
    assert problem("a\nb: 5%") == "::error title=dnnfix::a%0Ab: 5%25"
    strange = replace(report.files[0], path="a,b:c.py")
    assert "file=a%2Cb%3Ac.py," in next(commands(strange, View()))
    assert all("\n" not in line for line in lines)


def safe(patch: Patch) -> Patch:
    return replace(patch, candidate=replace(patch.candidate, applicability=Applicability.SAFE))


def test_only_accepted_patches_are_ever_applied(repaired: FileReport) -> None:
    assert [patch.id for patch in applicable(repaired)] == ["patch-1"]
    assert chosen(repaired, unsafe=False) == ()
    assert [patch.id for patch in chosen(repaired, unsafe=True)] == ["patch-1"]


def test_rivals_are_not_applied_together(repaired: FileReport) -> None:
    first = safe(repaired.patches[0])
    rival = replace(first, id="rival", rank=1)
    file = replace(repaired, patches=(first, rival))
    assert [patch.id for patch in chosen(file, unsafe=False)] == ["patch-1"]


def test_drafts_count_only_when_asked_for(repaired: FileReport) -> None:
    file = replace(repaired, patches=(safe(repaired.patches[2]),))
    assert chosen(file, unsafe=True) == ()
    assert [patch.id for patch in chosen(file, unsafe=False, drafts=True)] == ["patch-3"]


def test_what_could_not_be_run_and_where_the_rest_was_run_is_said(report: Report) -> None:
    text = summary(replace(report, files=(replace(report.files[0], unrun=True), *report.files[1:])))
    assert "1 program could not be run. Sandbox: bubblewrap.\n" in text
    assert "Sandbox" not in summary(Report((FileReport("a.py"),)))


def test_side_effects_are_in_words_and_units(repaired: FileReport) -> None:
    effects: dict[str, Json] = {
        "step_seconds": {"before": 0.000327, "after": 0.000288},
        "peak_memory": {"before": None, "after": 353505280},
        "parameters": {"before": 81, "after": 81},
        "information": {"before": None, "after": None},
        "adversarial": {"before": 0.25, "after": 0.0},
        "score": {"before": -0.0001, "after": 0.998},
        "else_wise": 3,
    }
    told = file_text(replace(repaired, patches=(replace(repaired.patches[0], side_effects=effects),)), View())
    line = next(line for line in told.splitlines() if line.startswith("  effects"))
    assert line == (
        "  effects    step 0.327 -> 0.288 ms, memory 337 MiB, parameters 81 as before, "
        "adversarial rise of the loss 25 -> 0 %, score -0.0001 -> 0.998, else wise 3"
    )


def test_nothing_is_observed_where_nothing_was_run(repaired: FileReport) -> None:
    assert "observed" not in file_text(replace(repaired, runs=()), View())


def test_a_rival_of_a_repair_is_told_as_one(repaired: FileReport) -> None:
    first, other = repaired.patches[0], replace(repaired.patches[0], id="rival", rank=1)
    second = replace(repaired.findings[0], finding=replace(repaired.findings[1].finding), patches=("rival",))
    file = replace(repaired, findings=(repaired.findings[0], second), patches=(first, other))
    assert file_text(file, View()).count("to be taken instead of a repair above") == 1
    assert "instead of" not in file_text(replace(file, findings=file.findings[:1]), View())


def test_a_test_command_that_fails_anyway_is_told(repaired: FileReport) -> None:
    failing = Verdict(
        "user-tests-pass", "harmless", Status.NOT_APPLICABLE, "it fails anyway", {"before": 4, "after": 4}
    )
    none = replace(failing, measured={})
    first = repaired.patches[0]
    assert "; it fails anyway; passed" in verdict_line(replace(first, verdicts=(*first.verdicts, failing)))
    assert "anyway" not in verdict_line(replace(first, verdicts=(*first.verdicts, none)))


def test_a_partial_patch_is_marked_and_says_what_remains(partial: FileReport, views: dict[str, View]) -> None:
    said = file_text(partial, views["pkg/train.py"])
    assert "  partial    hand raw scores to the loss (unsafe: it changes what is trained)\n" in said
    assert "  remains    removes this fault; the program then stops at line 3: KeyError: 'd'\n" in said
    assert "repaired" not in said and "proven" not in said
    assert "1 partial" in summary(Report((partial,)))
    (line,) = commands(partial, views["pkg/train.py"])
    assert line.startswith("::error ") and "(partial: removes this fault; the program then stops at line 3" in line


def test_a_partial_patch_is_taken_as_an_accepted_one_is(partial: FileReport) -> None:
    (step,) = partial.patches
    assert chosen(partial, unsafe=True) == (step,)
    assert chosen(partial, unsafe=False) == ()
    safe = replace(step, candidate=replace(step.candidate, applicability=Applicability.SAFE))
    assert chosen(replace(partial, patches=(safe,)), unsafe=False) == (safe,)


def test_choices_are_all_shown_and_said_not_to_be_proven(choices: FileReport, views: dict[str, View]) -> None:
    said = file_text(choices, views["pkg/train.py"])
    assert "  undecided  the program does something else under each\n" in said
    assert "  choice 1   hand raw scores to the loss (not proven to be what was meant" in said
    assert "  choice 2   hand raw scores to the loss" in said and said.count("+++ b/pkg/train.py") == 2
    assert "proven    " not in said and "tried" not in said
    assert "1 undecided" in summary(Report((choices,)))


def test_choices_are_never_taken_without_asking(choices: FileReport) -> None:
    assert chosen(choices, unsafe=True, unproven=True) == ()
    assert list(applicable(choices)) == []
    assert list(applicable(choices, choices=True)) == list(choices.patches)


def test_an_explanation_that_another_one_beat_takes_two_lines(views: dict[str, View]) -> None:
    crash = finding("DNF410", 3, symptom=Symptom.CRASH, cause=CRASH_CAUSE, evidence={})
    other = finding("DNF610", 3, symptom=Symptom.CRASH, cause=CRASH_CAUSE, evidence={"name": "inputs"})
    results = (
        FindingResult(crash, FindingOutcome.REPAIRED, "repair", ("patch-1",)),
        FindingResult(other, FindingOutcome.REJECTED, "another explanation of the crash was proven: DNF410"),
    )
    file = FileReport("pkg/train.py", results, (patch(crash),))
    short, long = (file_text(file, views["pkg/train.py"], verbose=verbose) for verbose in (False, True))
    assert "  rejected   another explanation of the crash was proven: DNF410\n" in short
    assert "name inputs" in long and "name inputs" not in short


@pytest.mark.parametrize("width", [40, 60, 200])
def test_words_are_wrapped_below_their_labels_and_diffs_are_not(
    repaired: FileReport, views: dict[str, View], width: int
) -> None:
    seen = views["pkg/train.py"]
    plain = file_text(repaired, seen).splitlines()
    lines = file_text(repaired, seen, replace(PLAIN, width=width)).splitlines()
    whole, start = next((line[13:], number) for number, line in enumerate(plain) if line.startswith("  observed"))
    at = next(number for number, line in enumerate(lines) if line.startswith("  observed"))
    end = next(number for number in range(at + 1, len(lines)) if not lines[number].startswith(" " * 13))
    assert " ".join(line[13:] for line in lines[at:end]) == whole
    assert all(len(line) <= width for line in lines[at:end])
    assert [line for line in lines if line.startswith("    ") and line[4:5] in "+-@"] == [
        line for line in plain if line.startswith("    ") and line[4:5] in "+-@"
    ]
    assert start <= at and (width > 40 or end - at > 1)


def test_nothing_is_minus_zero() -> None:
    assert effect_text("score", {"before": -0.0, "after": 1.0}) == "score 0 -> 1"
    assert value_text([-0.0, -1e-9]) == "(0, -1e-09)"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_line_end_ends_a_line_of_a_diff(end: str) -> None:
    diff = f"@@ -1,2 +1,2 @@\n a\x0cb{end}-c\u2028d{end}+c{end}"
    assert list(diff_lines(diff)) == [
        "    @@ -1,2 +1,2 @@",
        "     a\N{REPLACEMENT CHARACTER}b",
        "    -c\u2028d",
        "    +c",
    ]


NOT_REACHED = "the run did not come to what the patch writes at line 7"


def test_a_patch_that_no_run_came_to_is_proposed_and_never_called_proven(repaired: FileReport) -> None:
    found = finding("DNF504", 7)
    verdict = Verdict("edits-reached", "property", Status.INCONCLUSIVE, NOT_REACHED, {NOT_RUN: ("7",)})
    unseen = patch(found, verdict=PatchVerdict.UNVALIDATED, verdicts=(verdict,), certificate=None)
    result = FindingResult(found, FindingOutcome.DECLINED, f"not validated: {NOT_REACHED}", ("patch-1",))
    text = file_text(replace(repaired, findings=(result,), patches=(unseen,)), View())
    assert "  proposed   hand raw scores to the loss" in text and "    +" in text
    assert f"  unproven   not validated: {NOT_REACHED}\n" in text
    assert "proven     " not in text and "repaired" not in text


def test_what_a_proven_patch_did_not_run_and_where_its_fault_is_left_is_told(repaired: FileReport) -> None:
    unseen = Verdict("edits-reached", "property", Status.PASS, NOT_REACHED, {NOT_RUN: ("7",)})
    left = Verdict("twins-repaired", "property", Status.PASS, "not changed is x[0] at line 9", {LEFT: ("9",)})
    whole = repaired.patches[0]
    told = replace(whole, verdicts=(*whole.verdicts, unseen, left))
    text = file_text(replace(repaired, patches=(told, *repaired.patches[1:])), View())
    assert "  proven     the loss falls; passed parse, learn, property\n" in text
    assert f"  unproven   {NOT_REACHED}\n  left       not changed is x[0] at line 9\n" in text
    assert "unproven" not in file_text(repaired, View())
