"""Whether the ladder tells a person's repair among nine wrong ones: a scripted model gives all ten, and the engine chooses.

    python benchmarks/scripted_model.py [--sample 12 | --whole] [--keep FILE] [--jobs 2]

For each case of the benchmark's open half the model is asked as `dnnfix bench replay --arms model` asks one: rules and search
propose nothing. First it gives the case's own repair alone: where that is accepted, the ladder can tell it. Then it gives the same
among nine edits that are wrong: random ones, near the repair and anywhere; the first statement of the repair left out, or skipped
where it raises; the program ended before it; half of a repair of several places. What is accepted is judged by the case's own oracle on
fresh seeds and by its repairs. `--keep` holds what was measured, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import ast
import difflib
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from _measure import ROOT, Table, arguments

sys.path.insert(0, str(ROOT))

from dnnfix.bench.arms import random_patch
from dnnfix.bench.assessment import NAME, Arm, Assessed, assess, assignments
from dnnfix.bench.cases import REPAIR, Case
from dnnfix.bench.oracle import runner_for
from dnnfix.cli.bench.choosing import Place, runnable, sampled
from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint
from dnnfix.testing import ScriptedModel

WRONG = 9
FOUND = 0.9
"""Share of the repairs that the ladder can tell that are to be chosen among the wrong ones."""
WRONGLY = 0.01
"""Share of the cases in which a wrong edit may be accepted."""
BUDGET = 120.0


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case: what was accepted of the repair alone, and of it among the wrong ones."""

    case: str
    alone: bool
    chosen: bool
    accepted: bool
    wrong: bool
    plausible: bool
    """Whether something was accepted under which the symptom is gone, and which is no repair of the case."""
    malformed: int
    candidates: int
    reason: str = ""
    diff: str = ""


def main() -> None:
    """Measure, and say by the exit code whether the targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("--sample", type=int, default=12, metavar="N", help="so many cases (%(default)s)")
    parser.add_argument("--whole", action="store_true", help="every case of the open half: more than an hour")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="a file of JSON lines for what was measured")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    given = parser.parse_args()
    table = Table.of(given)
    benchmark = Place().opened(["open"])
    cases = runnable([*benchmark.cases(lambda text: None)], Path(sys.executable), print)
    if not given.whole:
        cases = sampled(cases, given.sample)
    known = _kept(given.keep)
    left = [case for case in cases if case.id not in known]
    with ProcessPoolExecutor(given.jobs) as pool:
        for done in pool.map(_measured, left):
            known[done.case] = done
            if given.keep:
                with given.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(done)) + "\n")
            print(f"{len(known)} of {len(cases)}  {done.case}: {_said(done)}", flush=True)
    found = [known[case.id] for case in cases]
    told = [one for one in found if one.alone]
    table.title(f"{len(found)} open cases; the ladder can tell the repair of {len(told)}")
    table.row("share of those whose repair is not chosen", _share(told, "chosen", False), 1 - FOUND)
    table.row("share of cases in which a wrong edit is accepted", _share(found, "wrong", True), WRONGLY)
    table.row("share in which another edit that works is accepted", _share(found, "plausible", True), 1.0)
    table.end()


def _said(result: Result) -> str:
    words = [name for name in ("alone", "chosen", "wrong", "plausible") if getattr(result, name)]
    return f"{', '.join(words) or 'nothing accepted'} ({result.candidates} edits, {result.malformed} malformed) {result.reason[:160]}"


def _share(results: Sequence[Result], name: str, value: bool) -> float:
    return sum(getattr(one, name) is value for one in results) / max(1, len(results))


def _kept(file: Path | None) -> dict[str, Result]:
    if file is None or not file.exists():
        return {}
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {row["case"]: Result(**row) for row in rows}


def _measured(case: Case) -> Result:
    """Both questions about one case."""
    program, repaired = case.program.decode(), case.after(REPAIR).decode()
    human = _answer(program, repaired)
    alone = _asked(case, [human])
    answers = [human, *(_answer(program, other) for other in _wrong(program, repaired))]
    random.Random(case.id).shuffle(answers)
    among = _asked(case, answers)
    use = among.model or {}
    return Result(
        case.id,
        alone.accepted and alone.correct,
        among.correct,
        among.accepted,
        among.wrong,
        among.accepted and not among.correct and not among.wrong,
        use.get("malformed", 0),
        use.get("candidates", 0),
        alone.failed or among.failed or among.reason or ("" if alone.accepted else alone.reason),
        among.diff if among.accepted and not among.correct else "",
    )


def _asked(case: Case, answers: Sequence[str]) -> Assessed:
    (assignment,) = assignments(case, BUDGET, [Arm.MODEL], "scripted")
    with ScriptedModel(lambda asked: answers[asked.settings["seed"]]) as model:
        endpoint = Endpoint(model.endpoint, model.name, samples=len(answers), max_calls=10**6)
        settings = Settings(model=endpoint, python=sys.executable)
        with tempfile.TemporaryDirectory() as folder, runner_for(settings) as runner:
            return assess(assignment, replace(settings, exchanges_dir=Path(folder)), runner)


def _answer(program: str, other: str) -> str:
    """Another program as an answer: a block for each place where lines differ, with enough lines around to find it by."""
    old, new = program.splitlines(), other.splitlines()
    blocks = [
        f"FILE: {NAME}\n<<<<<<< SEARCH\n{_lines(old[first:last])}=======\n{_lines(new[start:stop])}>>>>>>> REPLACE\n"
        for first, last, start, stop in _places(old, new)
    ]
    return f"CAUSE: scripted\n{''.join(blocks)}"


def _places(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Where lines differ, as ranges of both, each grown until its old lines stand once in the program; those that meet are one."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    merged: list[tuple[int, int, int, int]] = []
    for kind, first, last, start, stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        while last - first < len(old) and not _stands_once(old, first, last):
            if first > 0 and start > 0:
                first, start = first - 1, start - 1
            if last < len(old) and stop < len(new):
                last, stop = last + 1, stop + 1
        if merged and first <= merged[-1][1] + 1:
            first, start = min(first, merged[-1][0]), min(start, merged[-1][2])
            last, stop = max(last, merged[-1][1]), max(stop, merged[-1][3])
            merged.pop()
        merged.append((first, last, start, stop))
    return merged


def _stands_once(lines: Sequence[str], first: int, last: int) -> bool:
    wanted = lines[first:last]
    if not any(line.strip() for line in wanted):
        return False
    return sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines))) == 1


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _wrong(program: str, repaired: str) -> Iterator[str]:
    """Nine programs that are wrong, or as good as surely so."""
    made = list(dict.fromkeys(_made(program, repaired)))
    made = [one for one in made if one not in (program, repaired)][:WRONG]
    seed = 0
    while len(made) < WRONG and seed < 200:
        other = random_patch(program.encode(), seed := seed + 1).decode()
        if other not in (program, repaired, *made):
            made.append(other)
    yield from made


def _made(program: str, repaired: str) -> Iterator[str]:
    lines = program.splitlines(keepends=True)
    tree = ast.parse(program)
    places = _places(program.splitlines(), repaired.splitlines())
    at = places[0][0] + 1
    statements = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.Assign | ast.Return) and node.lineno >= at and node.lineno == node.end_lineno
    ]
    if statements:
        node = min(statements, key=lambda node: node.lineno)
        indent = " " * node.col_offset
        before, own, after = lines[: node.lineno - 1], lines[node.lineno - 1], lines[node.lineno :]
        yield "".join([*before, f"{indent}pass\n", *after])
        yield "".join([*before, f"{indent}try:\n    {own}{indent}except Exception:\n{indent}    pass\n", *after])
        yield "".join([*before, f"{indent}raise SystemExit\n", *lines[node.lineno - 1 :]])
    if len(places) > 1:
        new = repaired.splitlines()
        half = program.splitlines()
        first, last, start, stop = places[0]
        yield _lines([*half[:first], *new[start:stop], *half[last:]])
    near = [number for first, last, *_ in places for number in range(first, last + 2)]
    for seed in range(400):
        other = random_patch(program.encode(), seed).decode()
        pairs = zip(lines, other.splitlines(keepends=True), strict=False)
        at = next(number for number, (one, new) in enumerate(pairs) if one != new)
        if any(abs(at - number) <= 2 for number in near):
            yield other


if __name__ == "__main__":
    main()
