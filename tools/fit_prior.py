"""Learns how likely each small edit is before it is run: the weights of `dnnfix/synthesize/prior.json`.

    python tools/fit_prior.py make HEALTHY_FOLDER PAIRS.jsonl [--rounds 4] [--seed 0]
    python tools/fit_prior.py fit PAIRS.jsonl [--check]

`make` wants a folder of programs (`*.py`, side by side, with the modules and data that they need) that run to their end in
seconds, without network, and print or train something that is the same each time; those that do not are left out. It puts
faults into them, as often of each kind as people make it (`inverse_edits.py` says where the figures come from), and appends
one line for each crash: what the operators offered that held there, with its traits, and whether it was right
(`labelled_guesses.py`). Each round breaks every program once; the same seed breaks them in the same way.

`fit` fits a conditional logit (`conditional_logit.py`), drawn towards the weights typed by hand (`typed_prior.json`), and writes
`prior.json`. With `--check` it writes nothing, and prints how often the right edit comes first, over programs that the weights
were not fitted on, and how often what comes first by a margin is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conditional_logit import Choice, Fitted, Key, fit, folds
from labelled_guesses import labelled

from dnnfix.synthesize.at_crash import FLOOR
from dnnfix.synthesize.prior import WEIGHTS, Traits, features
from dnnfix.synthesize.rivals import MARGIN

TYPED = Path(__file__).with_name("typed_prior.json")

STRENGTHS = {"operators": 12.0, "forms": 24.0, "ways": 12.0, "places": 1e5, "numbers": 1e5}
"""How strongly the weights of a group are held where they were typed: those of forms more, as many are seen seldom.

A sixth of it puts the right edit first more often, but more wrong ones are then far ahead of the right one (`fit --check`).
Places and distances are not learned: nine of ten faults that are made at random lie in the statement that crashes; of those
that people ask about, half. Nor are the order and the likeness of its edits, which an operator says itself.
"""

SILENCING = frozenset(
    ["arguments.drop", "axes.first", "axes.last", "axes.mean", "axes.sum", "calls.no index", "calls.no method", "calls.uncalled",
     "calls.unwrap", "elements.drop", "kinds.element", "kinds.entry", "names.name", "names.no attribute", "names.other attribute",
     "operations.left alone", "operations.right alone"]
)  # fmt: skip
"""Forms that take away what crashes, or put something else of the program in its place: they silence more often than they mend,
and are never held for likelier than they were typed, with the weight of their operator, whatever the pairs say."""

FOLDS = 10

MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.05, 1.25, 1.5, 2.0, 2.5, 3.0)
"""Leads of the likeliest class over the second that are tried; see `dnnfix.synthesize.rivals.MARGIN`."""

FLOORS = (-9.0, -3.5, -3.0, -2.6, -2.0, -1.5, -1.0)
"""Least scores of a class that are tried; see `dnnfix.synthesize.at_crash.FLOOR`."""


@dataclass(frozen=True)
class Ranked:
    """The classes of equal behaviour at one crash that runs left, the likeliest first: the score, and whether it is right."""

    classes: tuple[tuple[float, bool], ...]

    @property
    def place(self) -> int | None:
        """The place of the right class, from 1; `None` where none is right."""
        return next((number for number, (_, right) in enumerate(self.classes, 1) if right), None)

    @property
    def lead(self) -> float:
        """How far the first one is ahead of the second."""
        scores = [score for score, _ in self.classes[:2]]
        return scores[0] - scores[1] if len(scores) > 1 else float("inf")


def main() -> int:
    """Make pairs, or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make")
    make.add_argument("folder", type=Path)
    make.add_argument("pairs", type=Path)
    make.add_argument("--rounds", type=int, default=4)
    make.add_argument("--seed", type=int, default=0)
    fitting = commands.add_parser("fit")
    fitting.add_argument("pairs", type=Path)
    fitting.add_argument("--check", action="store_true")
    given = parser.parse_args()
    return _make(given) if given.command == "make" else _fit(given)


def _make(given: argparse.Namespace) -> int:
    started = time.monotonic()
    with open(given.pairs, "a", encoding="utf-8") as file:
        for pair in labelled(given.folder, given.rounds, given.seed):
            file.write(json.dumps(pair) + "\n")
            file.flush()
            right = sum(guess["label"] == "right" for guess in pair["guesses"])
            seconds = round(time.monotonic() - started)
            print(
                f"{seconds} s: {pair['program']}, {pair['form']}: {right} right of {len(pair['guesses'])}", flush=True
            )
    return 0


def _fit(given: argparse.Namespace) -> int:
    pairs = [json.loads(line) for line in given.pairs.read_text(encoding="utf-8").splitlines()]
    if given.check:
        check(pairs)
        return 0
    written = weights_of(fitted(pairs))
    WEIGHTS.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return 0


def traits_in(guess: dict[str, Any]) -> Traits:
    """The traits of a guess in a line of pairs."""
    return Traits(**{field.name: guess[field.name] for field in fields(Traits)})


def choices(pairs: Iterable[dict[str, Any]]) -> Iterator[Choice]:
    """What is to be chosen at each crash, of the guesses whose label is known."""
    for pair in pairs:
        known = [guess for guess in pair["guesses"] if guess["label"] != "not run"]
        if known:
            rows = tuple(tuple(features(traits_in(guess))) for guess in known)
            yield Choice(rows, tuple(guess["label"] == "right" for guess in known))


def typed() -> dict[Key, float]:
    """The weights typed by hand."""
    read = json.loads(TYPED.read_text(encoding="utf-8"))
    return {(group, name): float(weight) for group, named in read.items() for name, weight in named.items()}


def fitted(pairs: Iterable[dict[str, Any]]) -> Fitted:
    """The weights fitted on pairs; see `SILENCING`."""
    start = typed()
    found = fit(tuple(choices(pairs)), start, lambda key: STRENGTHS[key[0]])
    most = {("forms", form): ("operators", form.partition(".")[0]) for form in SILENCING}
    capped = {
        form: min(found.weights[form], start[form] + start[operator] - found.weights[operator])
        for form, operator in most.items()
    }
    return Fitted({**found.weights, **capped}, found.none)


def weights_of(found: Fitted) -> dict[str, dict[str, float]]:
    """Weights as `prior.json` has them."""
    groups = dict.fromkeys(group for group, _ in found.weights)
    return {
        group: {name: round(weight, 2) for (own, name), weight in sorted(found.weights.items()) if own == group}
        for group in groups
    }


def ranked(pair: dict[str, Any], found: Fitted) -> Ranked:
    """The classes of equal behaviour at a crash, by their likeliest member; what crashed when it was run is none."""
    best: dict[int, tuple[float, bool]] = {}
    for guess in pair["guesses"]:
        if guess["label"] in ("right", "other"):
            score = found.score(features(traits_in(guess)))
            if guess["class"] not in best or best[guess["class"]][0] < score:
                best[guess["class"]] = (score, guess["label"] == "right")
    return Ranked(tuple(sorted(best.values(), reverse=True)))


def crossed(pairs: Sequence[dict[str, Any]]) -> Iterator[Ranked]:
    """The guesses at each crash, ranked by weights that were fitted on other programs."""
    for fold in folds((pair["program"] for pair in pairs), FOLDS):
        found = fitted(pair for pair in pairs if pair["program"] not in fold)
        yield from (ranked(pair, found) for pair in pairs if pair["program"] in fold)


def check(pairs: Sequence[dict[str, Any]]) -> None:
    """Print how good the ranking is, typed and fitted, and what comes of each floor and margin."""
    by_hand = Fitted(typed(), 0.0)
    programs = len({pair["program"] for pair in pairs})
    print(
        f"{len(pairs)} crashes of {programs} programs, {sum(bool(pair['guesses']) for pair in pairs)} with edits that hold"
    )
    for name, found in (("typed", [ranked(pair, by_hand) for pair in pairs]), ("fitted", list(crossed(pairs)))):
        places = [one.place for one in found if one.place is not None]
        first, three = (sum(place <= most for place in places) / len(places) for most in (1, 3))
        reciprocal = sum(1 / place for place in places) / len(places)
        print(
            f"{name}: of {len(places)} with a right edit: first {first:.3f}, within three {three:.3f}, mean {reciprocal:.3f}"
        )
        for floor in FLOORS:
            print(f"  floor {floor:5.2f}, margin {MARGIN}: {_taken(found, floor, MARGIN)}")
        for margin in MARGINS:
            print(f"  floor {FLOOR:5.2f}, margin {margin}: {_taken(found, FLOOR, margin)}")


def _taken(found: Sequence[Ranked], floor: float, margin: float) -> str:
    """What of the likeliest classes would be accepted, if none fell on the ladder."""
    right = wrong = alone = 0
    for one in found:
        left = Ranked(tuple((score, is_right) for score, is_right in one.classes if score >= floor))
        if left.classes and left.lead >= margin:
            right += left.place == 1
            wrong += left.place != 1 and one.place is not None
            alone += one.place is None
    return f"{right} right, {wrong} wrong, and {alone} where no edit was right"


if __name__ == "__main__":
    sys.exit(main())
