"""Which of the patches that pass the ladder is accepted and which are only choices, where another one may have been
meant.

Many edits remove a crash. One is accepted where the others that do so make the program do the same, or where priors
tell them apart: how likely a rule holds its patch to be, and how likely a small edit is among small edits.
"""

from __future__ import annotations

import ast
from collections import Counter

from dnnfix.records import Family
from dnnfix.source.program import Source
from dnnfix.synthesize.at_crash import OF_DIMENSIONS, Choice, search_at_crash
from dnnfix.synthesize.candidates import Variant
from dnnfix.synthesize.merit import certainty, least_likely, merit
from dnnfix.synthesize.search_state import Search
from dnnfix.validate.behaviour import behaviour
from dnnfix.validate.ladder import Climb

MARGIN = 1.05
"""How much likelier (in logarithms) a small edit has to be than another that holds and makes the program do something else.

The least at which, on programs that the weights were not fitted on, no more than one in fifty of the edits that are ahead by it
is wrong where another one is right (`tools/fit_prior.py fit --check`).
"""

LIKELY = -0.75
"""Score from which on a small edit that nothing rivals is accepted; below it is a choice.

Of 22 that were accepted at -1.3 and more in 126 programs not seen before 16 were right; 12 of these have more than this, and of
the wrong ones one (a conversion that no message asks for, which is less likely since).
"""

RIVALLING = -1.5
"""Score from which on a small edit rivals a rule that explains the same crash otherwise."""

RIVAL = 1.5
"""How many times likelier a rule's patch has to be than another rule's that explains the same crash otherwise."""

GUESSED = 0.25
"""How likely a rule must hold its patch to be for it to be accepted: a number in place of a name that is computed is a guess."""

UNLIKELY = "it removes the fault, and it is too unlikely a repair to be taken for the one that was meant"

FITS = "the shapes fit then, as they would with an edit elsewhere: which one is meant is for you to say"

OTHERWISE = "the program does something else under each of several edits that remove the crash"

SHOWN = 3
"""Patches that a person may choose from, the likeliest."""


def accept_of_rule(search: Search, variant: Variant, result: Climb) -> None:
    """Accept a rule's patch that passed the ladder, unless a part of it is only a guess; then it is a choice."""
    if least_likely(variant) < GUESSED or writes_what_was_computed(search, variant):
        search.take_back(variant, result, UNLIKELY)
    elif fits_only(search, variant):
        search.take_back(variant, result, FITS)
    else:
        search.accepted.append((variant, result))


def is_clear(search: Search, variant: Variant, score: float, ahead: float) -> bool:
    """Whether a small edit is likely, and likelier by far than the next that moves the crash as well."""
    return score >= LIKELY and ahead >= MARGIN and not fits_only(search, variant)


def choose(search: Search, held: list[tuple[Choice, Climb]]) -> None:
    """Of the small edits that passed the ladder accept the likeliest, if it has no rival; the others are choices."""
    if not held:
        return
    best = held[0][0]
    if search.choices or any(best.score - choice.score < MARGIN for choice, _ in held[1:]):
        refused, reason = held, OTHERWISE
    elif best.score < LIKELY:
        refused, reason = held, UNLIKELY
    elif fits_only(search, best.variant):
        refused, reason = held, FITS
    else:
        refused, reason = held[1:], "another small edit is likelier"
        search.accepted.append((best.variant, held[0][1]))
    for choice, result in refused:
        search.take_back(choice.variant, result, reason)


def fits_only(search: Search, variant: Variant) -> bool:
    """Whether a part of a patch for a crash makes two things fit, and it is unknown which of them was meant."""
    return search.trace.crash is not None and any(step.at_either_end for step in variant.applied)


def writes_what_was_computed(search: Search, variant: Variant) -> bool:
    """Whether a patch for a crash of sizes has a number where the program has a name: for other data it is another one."""
    if search.trace.crash is None or all(step.fix_pattern not in OF_DIMENSIONS for step in variant.applied):
        return False
    names, numbers = _names_and_numbers(search.origin)
    names_left, numbers_now = _names_and_numbers(variant.source)
    return bool(names - names_left and numbers_now - numbers)


def _names_and_numbers(source: Source) -> tuple[Counter[str], Counter[int]]:
    """How often a program reads each name, and writes each whole number from 2 on."""
    nodes = [node for file in source.files.values() for node in ast.walk(file.tree)]
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return names, Counter(value for value in values if type(value) is int and value > 1)


def weigh_rivals(search: Search) -> None:
    """Where rules explain a crash in several ways, under whose patches the program does something else, accept the one that is far likelier."""
    accepted = sorted(search.accepted, key=lambda item: merit(*item), reverse=True)
    best = accepted[0]
    start = _before_choices(best[0])
    if start is None:
        return
    settled = _ids(best)
    rivals = [
        other
        for other in (*accepted[1:], *search.choices)
        if settled.isdisjoint(_ids(other))
        and RIVAL * certainty(other[0]) > certainty(best[0])
        and _explains_otherwise(other, best, start.source)
    ]
    if rivals:
        search.accepted.clear()
        for item in accepted:
            if item is best or item in rivals:
                search.take_back(*item, OTHERWISE)


def seek_rivals(search: Search) -> None:
    """Where a small edit removes a crash as well, of which a rule has another patch, neither can be told to be the one that was meant.

    An edit that would be only a guess by itself is not a rival.
    """
    best = max(search.accepted, key=lambda item: merit(*item))
    start = _before_choices(best[0])
    if start is None or not search.may_search_at_crash():
        return
    trace = search.laboratory.observe(start.source, search.trace.seed)
    found = search_at_crash(start, trace, search.laboratory, search.progress, depth=1)
    accepted = {variant.source.contents for variant, _ in search.accepted}
    for choice in found.choices:
        written = choice.variant.source.contents
        if choice.score < RIVALLING or written in accepted or search.laboratory.out_of_time():
            return
        if written in search.seen or writes_what_was_computed(search, choice.variant):
            continue
        rival = (choice.variant, search.climb(choice.variant))
        if not rival[1].accepted:
            continue
        if _explains_otherwise(rival, best, start.source):
            for item in (*search.accepted, rival):
                search.take_back(*item, OTHERWISE)
            search.accepted.clear()
        return


def _before_choices(variant: Variant) -> Variant | None:
    """What a patch makes of the program before it does more than follow the versions of libraries; `None` where it does no more.

    That has no rivals: it is written in a table, and what the program did before is known.
    """
    for place, step in enumerate(variant.applied):
        if any(finding.family is not Family.VERSIONING for finding in step.findings):
            return Variant(variant.made_from[place], variant.applied[:place], variant.made_from[:place])
    return None


def _explains_otherwise(one: tuple[Variant, Climb], other: tuple[Variant, Climb], start: Source) -> bool:
    """Whether of two patches each writes something else than the other, and under each the program does something else."""
    known = _lines(start)
    if not (_lines(one[0].source) - known).isdisjoint(_lines(other[0].source) - known):
        return False
    doing = behaviour(other[1].evidence.after)
    return not behaviour(one[1].evidence.after).comes_to_the_same(doing)


def _lines(source: Source) -> set[tuple[str, str]]:
    return {(path, line.strip()) for path, file in source.files.items() for line in file.text.splitlines()}


def _ids(item: tuple[Variant, Climb]) -> set[str]:
    return {finding.id for finding in item[1].evidence.findings}
