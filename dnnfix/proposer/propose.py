"""Asks a model for edits where nothing else repaired a program, and puts them to the same ladder as every other proposal.

What a model says is never believed: its edits are candidates. One is accepted where it comes up the whole ladder, and no other
edit of an answer does under which the program does something else; several of these are choices for a person.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dnnfix.endpoint import Endpoint
from dnnfix.errors import EditError
from dnnfix.proposer.answer import Malformed, read_answer, spoken
from dnnfix.proposer.chat import Chat, Silent
from dnnfix.proposer.exchanges import CUT, Exchanged
from dnnfix.proposer.facts import Known, in_words
from dnnfix.proposer.mask import Mask, cannot_be_masked
from dnnfix.proposer.prompt import AGAIN, MALFORMED, Prompt, may_be_shown, prompt, telling
from dnnfix.proposer.reach import reaches_out
from dnnfix.proposer.told import Told
from dnnfix.records import (
    UNLEARNED_CODE,
    Applicability,
    Candidate,
    Finding,
    FixPattern,
    ModelUse,
    Nature,
    Origin,
    Patch,
    ReplaceLines,
    Trace,
)
from dnnfix.source.program import Source
from dnnfix.synthesize.at_crash import Choice, one_of_each_class, signatures_at_crash, unexplained_crash
from dnnfix.synthesize.candidates import Variant, apply
from dnnfix.synthesize.rivals import OTHERWISE, UNLIKELY, writes_what_was_computed
from dnnfix.synthesize.search_state import Search
from dnnfix.validate.ladder import Climb

PRIOR = 0.5
"""How likely an edit of a model is held to be before it is run: a rule that is as sure of its patch is accepted, too."""

MOST_CHANGED = 40
"""Lines of a program that an edit may replace: what rewrites more is another program."""

REPEATED = 4_000
"""Characters of an answer in another form that are sent back with what is wrong with it."""

AT_ONCE = 4
"""Edits that are run side by side before the first of them is judged."""

PRIVATE = "the file of the fault is marked `dnnfix: private`, and was not sent"


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of a program besides its search: where a crash may come from, what was tried, what it was run in, how it trains."""

    origins: tuple[Origin, ...] = ()
    tried: tuple[Patch, ...] = ()
    made: tuple[str, ...] = ()
    looked: Trace | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked about one program: the finding that is to be repaired, and the words."""

    claim: Finding
    prompt: Prompt
    told: Told

    def cost(self, endpoint: Endpoint) -> float:
        """US dollars that the first answers cost at most, as far as prices are known."""
        return endpoint.samples * endpoint.cost(self.prompt.tokens, endpoint.max_tokens)


def what_to_repair(search: Search) -> Finding | None:
    """The finding that a model is asked about: the crash, a training that learns nothing, or else the surest fault that rules found."""
    if not search.trace.outcome.says_something:
        return None
    crash = unexplained_crash(search.origin, search.trace)
    if crash is not None:
        return crash if search.at_crash else None
    faults = [finding for finding in search.original if finding.nature is Nature.FAULT]
    faults.sort(key=lambda finding: (finding.code != UNLEARNED_CODE, -finding.confidence))
    return next(iter(faults), None)


def question(search: Search, context: Context, masked: bool) -> Question | str:
    """What a model would be asked, or why it is not asked."""
    claim = what_to_repair(search)
    if claim is None:
        return "nothing is known to be wrong with the program"
    signatures = signatures_at_crash(search.origin, search.trace, search.laboratory)
    known = Known(
        search.origin,
        search.trace,
        claim,
        search.original,
        context.origins,
        context.looked,
        context.tried,
        signatures,
        context.made,
    )
    if not may_be_shown(known):
        return PRIVATE
    if masked and cannot_be_masked(search.origin):
        return "the program has f-strings with quotes of their own kind in them, which `mask` cannot read: nothing was sent"
    mask = Mask.of(search.origin) if masked else None
    return Question(claim, prompt(known, mask), telling(known, mask))


@dataclass
class Round:
    """Answers to one question: the edits among them, each once, and what was used to get them."""

    search: Search
    chat: Chat
    question: Question
    use: ModelUse
    variants: list[Variant] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def ask(self, text: str, numbers: Sequence[int]) -> None:
        """Ask for so many answers, and for each that has another form once more."""
        for number in numbers:
            answered = self._asked(text, number)
            try:
                self._take(answered)
            except Malformed as wrong:
                (why,) = self.question.told.lines([str(wrong)]) or ("it cannot be carried out",)
                said = "".join(c for c in spoken(answered.answer)[:REPEATED] if c.isprintable() or c in "\n\t")
                more = MALFORMED.format(why=why, answer=said)
                self.use = replace(self.use, malformed=self.use.malformed + 1)
                try:
                    self._take(self._asked(self.question.prompt.with_more(more).text, number))
                except Malformed:
                    self.use = replace(self.use, malformed=self.use.malformed + 1)

    def _asked(self, text: str, number: int) -> Exchanged:
        answered = self.chat.ask(self.question.prompt.task, text, number)
        self.use = _with(self.use, answered)
        return answered

    def _take(self, answered: Exchanged) -> None:
        """Take the edits of an answer. Raises `Malformed` where it has none that can be carried out."""
        if answered.remark == CUT:
            raise Malformed("it did not end")
        answer = read_answer(answered.answer, self.question.prompt.shown)
        if sum(block.site.end_line - block.site.line + 1 for block in answer.blocks) > MOST_CHANGED:
            raise Malformed(f"it replaces more than {MOST_CHANGED} lines")
        mask = self.question.told.mask
        edits = [block.edit if mask is None else _unmasked(block.edit, mask) for block in answer.blocks]
        cause = mask.shown(answer.cause) if mask is not None else answer.cause
        name = self.chat.endpoint.model
        candidate = Candidate(
            self.question.claim.code,
            f"{name}: {cause or 'an edit'}",
            FixPattern.CHANGE_NEURAL_ARCHITECTURE,
            tuple(edits),
            (self.question.claim,),
            Applicability.UNSAFE,
            prior=PRIOR,
            author=name,
        )
        try:
            made = apply(Variant(self.search.origin), candidate)
        except EditError as error:
            raise Malformed(f"its edit cannot be carried out: {error}") from None
        reached = reaches_out(self.search.origin, made.source)
        if reached:
            raise Malformed(f"its edit reaches out of what the program does: {reached}")
        tree = _tree(made.source)
        if tree not in self.known and made.source.contents not in self.search.seen:
            self.known.add(tree)
            self.variants.append(made)


def _tree(source: Source) -> str:
    """What two programs have in common that differ in comments and layout alone."""
    return "\n".join(ast.dump(file.tree) for file in source.files.values())


def _unmasked(edit: ReplaceLines, mask: Mask) -> ReplaceLines:
    """The edit in the words of the program, at the lines as they are there."""
    site = edit.site
    width = len(mask.originals[site.path][site.end_line - 1])
    code = mask.restored(site.path, site.line, site.end_line, edit.code) if edit.code else ""
    return replace(edit, site=replace(site, end_column=width + 1), code=code)


def ask_model(search: Search, chat: Chat, context: Context, renew: Callable[[], None]) -> ModelUse:
    """Go on with a search by the edits that a model proposes, and say what that took.

    `renew` starts the clock of the program anew: what the model takes to answer is not the program's time.
    """
    endpoint = chat.endpoint
    use = ModelUse(endpoint.model, endpoint.host)
    renew()
    asked = question(search, context, endpoint.mask)
    if isinstance(asked, str):
        return replace(use, remarks=(asked,))
    own = Round(search, chat, asked, replace(use, prompt_tokens=asked.prompt.tokens))
    own.known.add(_tree(search.origin))
    held: list[tuple[Variant, Climb]] = []
    fallen: list[tuple[Variant, Climb]] = []
    text, numbers = asked.prompt.text, range(endpoint.samples)
    for turn in range(2):
        search.progress(f"asking {endpoint.model}")
        silent = False
        try:
            own.ask(text, numbers)
        except Silent as error:
            silent = True
            own.use = replace(own.use, remarks=(*own.use.remarks, str(error)), silent=True)
        renew()
        _climb(search, own.variants, held, fallen)
        own.variants.clear()
        if silent or held or not fallen or turn:
            break
        written = asked.told.mask.code if asked.told.mask is not None else str.strip
        came = asked.told.lines([in_words(variant, result, written) for variant, result in fallen])
        outcomes = "\n".join(f"- {line}" for line in came)
        text = asked.prompt.with_more(AGAIN.format(outcomes=outcomes)).text
        numbers = range(max(1, endpoint.samples // 2))
    _choose(search, asked.claim, held)
    return replace(own.use, candidates=len(held) + len(fallen))


def _climb(
    search: Search, variants: Sequence[Variant], held: list[tuple[Variant, Climb]], fallen: list[tuple[Variant, Climb]]
) -> None:
    for place, variant in enumerate(variants):
        if place % AT_ONCE == 0:  # not all of them: their runs would take the time in which the first are judged
            following = [one.source for one in variants[place : place + AT_ONCE]]
            search.laboratory.observe_all(following, search.trace.seed)
        search.seen.add(variant.source.contents)
        if search.laboratory.out_of_time():
            search.climbs.append((variant, search.unproven(variant)))
            continue
        result = search.climb(variant)
        (held if result.accepted else fallen).append((variant, result))


def _choose(search: Search, claim: Finding, held: Sequence[tuple[Variant, Climb]]) -> None:
    """Accept an edit that came up the ladder alone, of those under which the program does the same the first; else all are choices."""
    if not held:
        return
    if claim.id not in {finding.id for finding in search.original}:
        search.original = (*search.original, claim)
    results = {variant.source.contents: result for variant, result in held}
    ends = [(result.evidence.after, Choice(variant, 0.0)) for variant, result in held]
    classes = one_of_each_class(ends, search.laboratory)
    is_open = len(classes) > 1 or bool(search.choices)
    for choice in classes:
        result = results[choice.variant.source.contents]
        if is_open:
            search.take_back(choice.variant, result, OTHERWISE)
        elif writes_what_was_computed(search, choice.variant):
            search.take_back(choice.variant, result, UNLIKELY)
        else:
            search.accepted.append((choice.variant, result))


def _with(use: ModelUse, answered: Exchanged) -> ModelUse:
    remarks = (*use.remarks, answered.remark) if answered.remark and answered.remark not in use.remarks else use.remarks
    return replace(
        use,
        answers=use.answers + 1,
        cached=use.cached + answered.cached,
        asked_tokens=use.asked_tokens + answered.asked_tokens,
        answered_tokens=use.answered_tokens + answered.answered_tokens,
        cost=use.cost + (0.0 if answered.cached else answered.cost),
        remarks=remarks,
    )
