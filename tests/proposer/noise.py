"""Noise in the form of an answer: edits of a program that nobody thought about, for a model that says them by chance (`served.Bigrams`).

Lines that the prompt shows are searched for, one or two at a time. In their place come: nothing; the same with another
number, name, layer, operator or string; twice the same; another line; both the other way round. What does not parse, or changes nothing, is
left out, so that the more of the noise is a candidate.
"""

from __future__ import annotations

import ast
import contextlib
import io
import keyword
import random
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint
from dnnfix.pipeline import suggest_file
from dnnfix.records import PatchVerdict
from dnnfix.source import public_names
from tests.proposer.served import Bigrams, Served, write_bigrams

EDITS = 8
"""Replacements for each line or pair of lines."""

CAUSE = "CAUSE: noise\n"
BEGINNING = "FILE: {name}\n<<<<<<< SEARCH\n"
BETWEEN = "=======\n"
ENDING = ">>>>>>> REPLACE\n"

UNDECIDED = "unambiguous"
"""What is said of an edit that passes every rung and is left to a person."""

ENDS = 3.0
"""How much likelier an answer ends after a block than goes on with another one."""

NAMES = 0.6
"""Share of the names that stay where a token is drawn anew: most of those that come in their place are crashes."""

TOLD = 4.0
"""How much likelier those lines are taken that the prompt tells of."""

_TOLD = re.compile(r"\bline (\d+)")
_SHOWN = re.compile(r"^ *(\d+)\| (.*)$")
_FAMILIES = (
    public_names.TORCH_NN,
    public_names.TORCH_FUNCTIONAL,
    public_names.TORCH_OPTIM,
    public_names.TORCH,
    public_names.KERAS_LAYERS,
    public_names.KERAS_OPTIMIZERS,
    public_names.KERAS_LOSSES,
)
_OPERATORS = ("+", "-", "*", "/", "//", "%", "@", "**", "<", ">", "<=", ">=", "==", "!=")
_NUMBERS = ("0", "1", "2", "3", "7", "16", "100", "1000", "0.5", "1e-3", "-1")


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a program, one right after the other, and what may come in their place."""

    number: int
    """The number of the first."""
    lines: tuple[str, ...]
    edits: tuple[str, ...]


def said_by_chance(prompt: str, program: str, seed: int = 0) -> Bigrams:
    """What a model may say to a prompt about a program in one file."""
    drawn = random.Random(seed)
    name, shown = _shown(prompt)
    told = {int(number) for number in _TOLD.findall(prompt.split("# The program\n", 1)[0])}
    windows = [*_windows(program.splitlines(), shown, drawn)]
    weights = {window: TOLD if window.number in told else 1.0 for window in windows}
    begins = BEGINNING.format(name=name)
    numbers = {"": 0, ENDING: 1}
    following: dict[int, dict[int | None, float]] = {0: {}, 1: {None: ENDS}}
    for window in windows:
        places = [numbers.setdefault(edit, len(numbers)) if edit else 1 for edit in window.edits]
        chances: dict[int | None, float] = {place: drawn.expovariate(1) for place in places}
        searched = "".join(f"{line}\n" for line in window.lines) + BETWEEN
        for before, piece in ((0, CAUSE + begins + searched), (1, begins + searched)):
            number = numbers.setdefault(piece, len(numbers))
            following[before][number] = weights[window] / sum(weights.values())
            following[number] = chances
        following.update({place: {1: 1.0} for place in places if place != 1})
    return Bigrams([*numbers], MappingProxyType(following))


def _shown(prompt: str) -> tuple[str, Mapping[int, str]]:
    """The name of the program's first file, and its lines that the prompt shows, by number."""
    lines = iter(prompt.split("# The program\n", 1)[1].splitlines())
    name = next(line.removeprefix("## ") for line in lines if line.startswith("## "))
    found: dict[int, str] = {}
    for line in lines:
        if line.startswith("## "):
            break
        if shown := _SHOWN.match(line):
            found[int(shown[1])] = shown[2]
    return name, found


def _windows(program: Sequence[str], shown: Mapping[int, str], drawn: random.Random) -> Iterator[Window]:
    """The lines and pairs of lines that stand once among those that are shown, each with its edits; imports and docstrings stay."""
    tree = ast.parse("\n".join(program))
    whole = ast.dump(tree)
    left = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)
        and (not isinstance(node, ast.Expr) or isinstance(node.value, ast.Constant))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    texts = [text.rstrip() for text in shown.values()]
    words = Words.of(texts)
    for first in shown:
        for size in (1, 2):
            numbers = range(first, first + size)
            if any(n in left or n not in shown or program[n - 1] != shown[n] for n in numbers):
                continue
            lines = [shown[number].rstrip() for number in numbers]
            if not all(lines) or sum(texts[i : i + size] == lines for i in range(len(texts))) != 1:
                continue
            edits: set[str] = set()
            for edit in _edits(lines, texts, words, drawn):
                changed = [*program[: first - 1], *edit.splitlines(), *program[first - 1 + size :]]
                with contextlib.suppress(SyntaxError, ValueError):
                    if len(edits) < EDITS and ast.dump(ast.parse("\n".join(changed))) != whole:
                        edits.add(edit)
            if edits:
                yield Window(first, tuple(lines), tuple(sorted(edits)))


def _edits(lines: Sequence[str], texts: Sequence[str], words: Words, drawn: random.Random) -> Iterator[str]:
    """Replacements in no order; more than are needed, as some do not parse."""
    space = re.match(r"\s*", lines[0])
    indented = space[0] if space is not None else ""
    whole = [
        [],
        [*lines, *lines],
        [*reversed(lines)],
        [indented + drawn.choice(texts).strip()],
        [indented + drawn.choice(texts).strip(), *lines],
        [f"{indented}if {drawn.choice(words.names)}:", *(f"    {line}" for line in lines)],
    ]
    for _ in range(3 * EDITS):
        place = drawn.randrange(len(lines))
        changed = _otherwise(lines[place], words, drawn)
        whole.append([*lines[:place], changed, *lines[place + 1 :]])
    drawn.shuffle(whole)
    return ("".join(f"{line.rstrip()}\n" for line in edit) for edit in whole)


@dataclass(frozen=True, slots=True)
class Words:
    """What a program names: the names that stand alone, and those behind a dot."""

    names: tuple[str, ...]
    attributes: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Words:
        """Those in these lines."""
        found: dict[bool, set[str]] = {False: {"x"}, True: {"shape"}}
        for text in texts:
            for before, token in _tokens(text):
                if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                    found[before == "."].add(token.string)
        return cls(tuple(sorted(found[False])), tuple(sorted(found[True])))

    def instead(self, before: str, token: tokenize.TokenInfo, drawn: random.Random) -> str:
        """Something in a token's place; empty where it stays. `before` is the token in front of it."""
        text = token.string
        if token.type == tokenize.NUMBER:
            near = [str(int(text) + drawn.choice((-2, -1, 1, 2))), str(2 * int(text))] if text.isdigit() else []
            return drawn.choice([*_NUMBERS, *near, str(drawn.randrange(1000))])
        if token.type == tokenize.OP and text in _OPERATORS:
            return drawn.choice(_OPERATORS)
        if token.type == tokenize.STRING:
            return repr(drawn.choice(self.names))
        if token.type != tokenize.NAME or keyword.iskeyword(text) or drawn.random() < NAMES:
            return ""
        family = next((family for family in _FAMILIES if text in family), None)
        if family is not None:
            return drawn.choice(sorted(family))
        return drawn.choice(self.attributes if before == "." else self.names)


def _otherwise(line: str, words: Words, drawn: random.Random) -> str:
    """The line with one of its tokens, or two, drawn anew."""
    for _ in range(drawn.choice((1, 1, 2))):
        found = [(token, words.instead(before, token, drawn)) for before, token in _tokens(line)]
        changes = [(token, other) for token, other in found if other]
        if changes:
            token, other = drawn.choice(changes)
            line = line[: token.start[1]] + other + line[token.end[1] :]
    return line


def _tokens(line: str) -> list[tuple[str, tokenize.TokenInfo]]:
    """The tokens of a line, which need not be a whole statement, each with the one in front of it."""
    found: list[tuple[str, tokenize.TokenInfo]] = []
    shift, before = len(line) - len(line.lstrip()), ""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.start[0] == 1 and token.string.strip():
                moved = token._replace(start=(1, token.start[1] + shift), end=(1, token.end[1] + shift))
                found.append((before, moved))
                before = token.string
    return found


@dataclass(frozen=True, slots=True)
class Came:
    """What came of noise about one program."""

    name: str
    symptom: str
    """What the model was asked about, or why it was not asked."""
    answers: int = 0
    malformed: int = 0
    candidates: int = 0
    """Different edits that were run and judged."""
    unrun: int = 0
    """Further ones for which no time was left."""
    passed: int = 0
    """Those that no rung refused: what is accepted, and what is left to a person."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many each validator refused; `budget` stands for those that were run, and not judged to their end."""
    choices: tuple[str, ...] = ()
    """The diffs of those that passed every rung and are left to a person."""
    accepted: tuple[str, ...] = ()
    """The diffs of those that were accepted."""
    remarks: tuple[str, ...] = ()


def put_to_the_engine(
    program: bytes, name: str, server: Served, settings: Settings, samples: int = 20, seed: int = 0
) -> Came:
    """Have a model that was made for a program say noise about it, and the engine judge that.

    `settings` are those of a user; no rule proposes anything, so that the model is asked.
    """
    endpoint = Endpoint(server.endpoint, name, samples=samples, temperature=1.0, max_calls=100_000)
    settings = replace(settings, unfixable=("ALL",), proposer="model", model=endpoint)
    asked = suggest_file(program, "program.py", replace(settings, dry_run=True), lambda done: None).model
    if asked is None or not asked.prompt:
        return Came(name, " ".join(asked.remarks) if asked is not None else "the model is not asked")
    wrong = re.search(r"^# What is wrong\n- (.*)$", asked.prompt, re.MULTILINE)
    write_bigrams(server.folder / name, said_by_chance(asked.prompt, program.decode(), seed), seed)
    report = suggest_file(program, "program.py", settings, lambda done: None)
    use, own = report.model, [patch for patch in report.patches if patch.candidate.author == name]
    if use is None:
        return Came(name, "the model was not asked")
    by = Counter(patch.refusal.validator for patch in own if patch.refusal is not None)
    choices = tuple(patch.diff for patch in own if patch.refusal is not None and patch.refusal.validator == UNDECIDED)
    del by[UNDECIDED]
    return Came(
        name,
        wrong[1] if wrong is not None else "",
        use.answers,
        use.malformed,
        use.candidates,
        sum(not patch.verdicts for patch in own),
        use.candidates - sum(by.values()),
        by,
        choices,
        tuple(patch.diff for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED),
        use.remarks,
    )
