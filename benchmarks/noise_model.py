"""A language model that says noise: well-formed edits by chance, each put to the ladder, which has to refuse every one.

    python benchmarks/noise_model.py [--samples 20] [--seed 0] [--budget 40] [--jobs 2] [--only NAME] [--keep FOLDER]

The server is real, `transformers serve` on loopback, and the models are made here: for each program a tiny one that says by
construction blocks of FILE, SEARCH and REPLACE about the lines that its prompt shows, with numbers, names, layers and operators drawn anew,
statements left out, doubled or swapped (`tests/proposer/noise.py`). No rule proposes anything. Edits are counted that were
run and judged; not those for which no time was left. What is accepted is printed, since noise may also write a repair: a person has to look.
Left out where the server's packages are not installed. `--keep` holds the models, and what they were asked and answered.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from _measure import ROOT, Table, arguments

sys.path.insert(0, str(ROOT))

from dnnfix.bench.instances import Half, read_index
from dnnfix.config import Settings
from tests.cli.programs import FAULTY
from tests.proposer.noise import Came, put_to_the_engine
from tests.proposer.served import MISSING, REASON, Served

WANTED = 300
"""Different edits that are to be judged."""

EXAMPLES = ("conv_flatten", "keras_flowers", "digits_softmax", "regression_shapes")
CASES = (
    # programs that crash
    "so-33152078",
    "so-33380897",
    "so-33859864",
    "gh-autuanliu-pytorch-ml-dcf0fb6",
    "gh-dhkim0225-keras-image-segmentation-3e93406",
    "gh-mattmacy-torchbiomed-330deeb-2",
    "gh-olimastro-deepmonster-f800cca-2",
    "gh-raviqqe-tensorflow-font2char-lm-e270fb7",
    # that train badly, or do something else wrong without a word
    "so-41668813",
    "so-42081257",
    "so-46240629",
    "gh-dstein64-pyfactorizationmachines-3a172ae",
    "gh-keras-team-keras-dab5551-3",
    "gh-khshim-lemontree-a028c15",
    "gh-morvanzhou-tutorials-29c4c9a-3",
)
"""Cases of the benchmark's open half."""


def main() -> None:
    """Measure, and say by the exit code whether enough noise was judged, and none of it accepted."""
    parser = arguments(__doc__)
    parser.add_argument("--samples", type=int, default=20, help="answers that are asked for at first (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (%(default)s)")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds for a program's edits (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="programs side by side, each with a server (%(default)s)")
    parser.add_argument("--only", nargs="+", default=[], help="these programs alone")
    parser.add_argument("--keep", type=Path, help="a new folder for the models and what they answered")
    given = parser.parse_args()
    if MISSING:
        print(f"left out: {REASON}")
        return
    wanted = {name: program for name, program in programs().items() if not given.only or name in given.only}
    if not wanted:
        raise SystemExit(f"there is no program of these names; there are {', '.join(programs())}")
    table = Table.of(given)
    names = sorted(wanted)
    parts = [[(name, wanted[name]) for name in names[place :: given.jobs]] for place in range(given.jobs)]
    work = partial(_noise, samples=given.samples, seed=given.seed, budget=given.budget, keep=given.keep)
    with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as pool:
        found = [came for part in pool.map(work, [part for part in parts if part]) for came in part]
    report(sorted(found, key=lambda came: came.name), table, whole=not given.only)


def programs() -> dict[str, bytes]:
    """The programs by name."""
    folder = ROOT / "benchmark_667"
    index = read_index(folder)
    closed = [id for id in CASES if index[id].half is not Half.OPEN]
    if closed:
        raise SystemExit(f"held out: {', '.join(closed)}")
    return {
        **{name: (ROOT / "examples" / f"{name}.py").read_bytes() for name in EXAMPLES},
        **{id: (folder / "cases" / id / "buggy.py").read_bytes() for id in CASES},
        "softmax_twice": FAULTY.encode(),
    }


def _noise(part: Sequence[tuple[str, bytes]], samples: int, seed: int, budget: float, keep: Path | None) -> list[Came]:
    """What comes of noise about some programs, with a server of their own: a seed holds for one question at a time."""
    found = []
    with tempfile.TemporaryDirectory(prefix="dnnfix-noise-") as made:
        folder = Path(made) if keep is None else keep / part[0][0]
        folder.mkdir(parents=True, exist_ok=True)
        settings = Settings(budget=budget, jobs=1, cache_dir=folder / "cache")
        with Served(folder) as server:
            for name, program in part:
                begun = time.monotonic()
                found.append(put_to_the_engine(program, name, server, settings, samples, seed))
                print(f"{time.monotonic() - begun:.0f} s", _words(found[-1]), file=sys.stderr, flush=True)
    return found


def _words(came: Came) -> str:
    refused = ", ".join(f"{validator} {count}" for validator, count in sorted(came.refused.items()))
    return (
        f"{came.name}: {came.answers} answers, {came.malformed} malformed, {came.candidates} judged "
        f"({refused}), {came.unrun} not run, {came.passed} passed, {len(came.accepted)} accepted; {came.symptom[:70]}"
    )


def report(found: Sequence[Came], table: Table, whole: bool) -> None:
    """Tell what came of it, program by program and as a whole."""
    for came in found:
        table.title(_words(came))
        for remark in came.remarks:
            if "tokens" not in remark:  # a token is a whole line here, so that no count of them is believed
                table.title(f"      {remark}")
        for kind, diffs in (("left to a person", came.choices), ("ACCEPTED", came.accepted)):
            for diff in diffs:
                table.title(f"      {kind}:\n{diff}")
    judged = sum(came.candidates for came in found)
    by = sum((Counter(came.refused) for came in found), Counter[str]())
    table.title(
        f"{len(found)} programs; refused by: {', '.join(f'{name} {count}' for name, count in by.most_common())}"
    )
    if whole:
        table.row(f"{judged} different edits judged: share of {WANTED} missing", max(0.0, 1 - judged / WANTED), 0.0)
    if judged:
        table.row("share that time ran out for while it was judged", by["budget"] / judged)
        table.row("share that passed every rung", sum(came.passed for came in found) / judged)
        table.row("share accepted", sum(len(came.accepted) for came in found) / judged, 0.0)
    table.end()


if __name__ == "__main__":
    main()
