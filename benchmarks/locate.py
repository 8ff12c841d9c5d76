"""Finding the place from a report: `dnnfix locate` beside BM25, BugLocator and structured retrieval, and what each kind of evidence adds.

    python benchmarks/locate.py FOLDER [--peers] [--ablation] [--spectra FOLDER]

FOLDER holds clones, with history, of the repositories that `benchmarks/locate/reports.jsonl` names (as `OWNER+NAME`). Each report is
asked of the version before its fix, with what the history knew on the day it was written; the answer is right where it names files
(or definitions) that the fix changed. Tests are no candidates, for anybody. Weights are fitted to other projects than the one they are
measured on. The reports are restated ones: told anew from the facts of public reports, since their texts are not ours to keep.
`--spectra` names a folder of what the plugin of `dnnfix locate --test-command` wrote for tests of the fix in the version before it
(`OWNER+NAME-ISSUE.json`): on these reports Tarantula and Ochiai are measured too, and `dnnfix locate` with and without the tests.
`--peers` needs bm25s and snowballstemmer (pip install bm25s snowballstemmer).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from _learning import Quality, across_projects, by_project, mean, quality, with_files
from _measure import Table as Numbers
from _measure import arguments
from _reports import Table, by_repository, clone, columns_of, reports, spectrum_of, tables

from dnnfix.locate.said import said
from dnnfix.locate.spectra.spectrum import tarantula
from dnnfix.locate.tree import Revision

PRECISION, FIRST, GAIN, LOSS = 0.65, 0.62, 0.12, 0.03
FIVE_OF_DEFINITIONS = 0.40
WHOLE = "report in body"
"""BM25 of whole files by the index of dnnfix itself, where the peers are not measured."""
ROW = "{:42} {:6.3f} {:6.3f} {:6.3f} {:6.3f}\n"


def main() -> None:
    """Measure, and say by the exit code whether the targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--peers", action="store_true", help="rank by others too: some minutes")
    parser.add_argument("--ablation", action="store_true", help="leave each kind of evidence out in turn: some minutes")
    parser.add_argument("--spectra", type=Path, metavar="FOLDER", help="what failing and passing tests execute")
    given = parser.parse_args()
    numbers = Numbers.of(given)
    every = reports()
    files, definitions = tables(given.folder, every, given.spectra)
    kinds, kinds_of_definitions = columns_of()

    sys.stdout.write(
        f"{len(files)} reports of {len(by_repository(every))} projects\n{'':42}    MAP  Top@1  Top@5 Top@10\n"
    )
    whole = kinds.index(("text", WHOLE))
    beside = [quality(table.values[:, whole], table.right) for table in files]
    _row("BM25 by the index", beside)
    if given.peers:
        measured = _peers(given.folder, every, files)
        for name, qualities in measured.items():
            _row(name, qualities)
        beside = measured["BM25, whole files"]
    scores = across_projects(files, range(len(kinds)), [name for _, name in kinds])
    ours = [quality(own, table.right) for own, table in zip(scores, files, strict=True)]
    _row("dnnfix locate", ours)
    if given.ablation:
        _ablation(files, kinds)
    if given.spectra:
        _spectra(given.spectra, files, kinds, ours)
    for repository, own in by_project(files, ours):
        other = mean(dict(by_project(files, beside))[repository])
        sys.stdout.write(
            f"  {repository:34} {len(own):3}  MAP {other.precision:.2f} -> {mean(own).precision:.2f}"
            f"  Top@1 {other.first:.2f} -> {mean(own).first:.2f}\n"
        )

    numbers.title(f"{len(files)} restated reports of {len(by_repository(every))} projects, across projects")
    total, base = mean(ours), mean(beside)
    numbers.row("1 - mean average precision of files", 1 - total.precision, 1 - PRECISION)
    numbers.row("share of reports whose first file is wrong", 1 - total.first, 1 - FIRST)
    numbers.row("mean average precision that BM25 gains", base.precision - total.precision, -GAIN)
    numbers.row("share of first files that BM25 gains", base.first - total.first, -GAIN)
    others = dict(by_project(files, beside))
    for words, name in (("mean average precision", "precision"), ("share of first files", "first")):
        lost = {
            repository: getattr(mean(others[repository]), name) - getattr(mean(own), name)
            for repository, own in by_project(files, ours)
        }
        worst = max(lost, key=lambda each: lost[each])
        numbers.row(f"{words} lost on the worst project", lost[worst], LOSS, worst)
    changed = [table for table in with_files(definitions, scores) if table.changed]
    qualities = _ours(changed, range(len(kinds_of_definitions)), kinds_of_definitions)
    numbers.row(
        "share of reports without a changed function in 5",
        1 - mean(qualities).five,
        1 - FIVE_OF_DEFINITIONS,
        f"{len(changed)} reports whose fix changed functions; Top@1 {mean(qualities).first:.3f}",
    )
    seconds = [table.seconds for table in files]
    numbers.row("seconds of a question, median", statistics.median(seconds), 2.0, wall=True)
    numbers.row("seconds of a question, most", max(seconds), 10.0, wall=True)
    numbers.end()


def _row(name: str, qualities: Sequence[Quality]) -> None:
    found = mean(qualities)
    sys.stdout.write(ROW.format(name, found.precision, found.first, found.five, found.ten))
    sys.stdout.flush()


def _ours(every: Sequence[Table], columns: Sequence[int], kinds: Sequence[tuple[str, str]]) -> list[Quality]:
    scores = across_projects(every, list(columns), [name for _, name in kinds])
    return [quality(own, table.right) for own, table in zip(scores, every, strict=True)]


def _ablation(files: Sequence[Table], kinds: Sequence[tuple[str, str]]) -> None:
    for left_out in dict.fromkeys(module for module, _ in kinds):
        _row(
            f"  without {left_out}",
            _ours(files, [i for i, (module, _) in enumerate(kinds) if module != left_out], kinds),
        )
    for alone in dict.fromkeys(module for module, _ in kinds):
        _row(f"  {alone} alone", _ours(files, [i for i, (module, _) in enumerate(kinds) if module == alone], kinds))


def _spectra(spectra: Path, files: Sequence[Table], kinds: Sequence[tuple[str, str]], ours: Sequence[Quality]) -> None:
    """The reports whose tests were run: by the tests alone, and with and without them."""
    executed = kinds.index(("executed", "executed"))
    kept = [i for i, table in enumerate(files) if table.values[:, executed].any()]
    without = _ours(files, [i for i in range(len(kinds)) if i != executed], kinds)
    sys.stdout.write(f"{len(kept)} reports whose tests were run\n")
    _row("  Tarantula", [quality(_by_tests(spectra, files[i], tarantula), files[i].right) for i in kept])
    _row("  Ochiai", [quality(files[i].values[:, executed], files[i].right) for i in kept])
    _row("  dnnfix locate without the tests", [without[i] for i in kept])
    _row("  dnnfix locate with them", [ours[i] for i in kept])


def _by_tests(spectra: Path, table: Table, formula: Callable[[int, int, int, int], float]) -> Any:
    """The greatest suspiciousness of each file's lines."""
    seen = spectrum_of(spectra, table.report)
    best = dict.fromkeys(table.paths, 0.0)
    for (path, _), score in seen.by(formula).items() if seen is not None else ():
        if path in best:
            best[path] = max(best[path], score)
    return _array([best[path] for path in table.paths])


def _peers(folder: Path, every: Sequence[Any], files: Sequence[Table]) -> Mapping[str, list[Quality]]:
    from _retrieval import PEERS, Sources, rvsm

    right = {table.report.name: table for table in files}
    found: dict[str, dict[str, Quality]] = {name: {} for name in PEERS}
    for repository, own in by_repository(every).items():
        git, sources = clone(folder, repository), Sources()
        for report in own:
            tree = Revision(git, report.version)
            stamps = tree.stamps()
            texts = dict(tree.texts(stamps))
            parts = [sources.of(stamps[path], text) for path, text in texts.items()]
            paths = list(texts)
            asked = said(report.text)
            earlier = [
                (said(other.text), [paths.index(path) for path in other.files if path in texts])
                for other in own
                if other.written < report.written
            ]
            for name, peer in PEERS.items():
                scores = peer(asked, parts, earlier) if peer is rvsm else peer(asked, parts)
                hit = [path in report.files for path in paths]
                if report.name in right:
                    found[name][report.name] = quality(scores, _array(hit))
    return {name: [own[table.report.name] for table in files] for name, own in found.items()}


def _array(values: Sequence[float]) -> Any:
    import numpy as np

    return np.array(values)


if __name__ == "__main__":
    main()
