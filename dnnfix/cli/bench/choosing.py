"""Flags that the commands of `dnnfix bench` share, and the instances and cases that they select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnnfix.bench.cases import Case, case_ids, read_case
from dnnfix.bench.instances import Instance, find_benchmark, read_index
from dnnfix.bench.ledger import Entry, read_ledger
from dnnfix.bench.selection import Selection, read_selection
from dnnfix.cli.options import separated
from dnnfix.errors import InputError
from dnnfix.run.interpreter import describe


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The benchmark of one call: its folder, index and ledger, and which instances were asked for."""

    folder: Path
    index: Mapping[str, Instance]
    ledger: Mapping[str, Entry]
    selection: Selection

    def case(self, id: str) -> Case:
        """The case of that id. Raises `InputError`."""
        return read_case(self.folder, self.index, id)

    def cases(self, problem: Callable[[str], None]) -> list[Case]:
        """The cases that were asked for; each malformed one is a problem of its own, and the others go on."""
        found = []
        for id in case_ids(self.folder):
            if id in self.index and not self.selection.may_take(self.index[id]):
                continue
            try:
                case = self.case(id)
            except InputError as error:
                problem(str(error))
                continue
            if self.selection.takes(case.instance, case):
                found.append(case)
        return found


@dataclass(frozen=True)
class Place:
    """Where the benchmark is."""

    benchmark: Annotated[
        str | None, Option(metavar="FOLDER", help="the folder benchmark_667 (the one here, above, or of this clone)")
    ] = None

    def opened(self, words: Sequence[str] | None = None) -> Benchmark:
        """The benchmark, of which these words choose. Raises `InputError`."""
        folder = find_benchmark(Path(self.benchmark) if self.benchmark else None)
        index = read_index(folder)
        return Benchmark(folder, index, read_ledger(folder), read_selection(words or (), index))


@dataclass(frozen=True)
class Sample(Place):
    """Which cases, and how many of them."""

    select: Annotated[
        list[str] | None,
        Option(
            metavar="WORDS",
            help="ids or words of the index, separated by commas; see `dnnfix bench list --help`",
            callback=separated,
        ),
    ] = None
    sample: Annotated[
        int | None, Option(metavar="N", help="N of the cases only, spread over patterns and libraries")
    ] = None

    def opened(self, words: Sequence[str] | None = None) -> Benchmark:
        """The benchmark, of which the words choose. Raises `InputError`."""
        return super().opened(words or self.select)


@dataclass(frozen=True)
class Words(Place):
    """Which instances."""

    words: Annotated[
        list[str] | None,
        Argument(
            metavar="WORD",
            help="ids, libraries (keras), sources (github), fix patterns (loss-function), bug types (api), halves "
            "(held-out), fidelities or symptoms (crash); words of one kind are alternatives, and all kinds have to fit",
        ),
    ] = None

    def opened(self, words: Sequence[str] | None = None) -> Benchmark:
        """The benchmark, of which the words choose. Raises `InputError`."""
        return super().opened(words or self.words)


def sampled(cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the cases, always the same ones: every n-th of them in the order of patterns and libraries.

    Raises `InputError` where there are fewer.
    """
    if not 0 < count <= len(cases):
        raise InputError(f"--sample: 1 to {len(cases)} cases can be chosen. Received: {count}")

    def stratum(case: Case) -> tuple[str, str, bytes]:
        return case.instance.fix_pattern, case.instance.library, blake2b(case.id.encode()).digest()

    ordered = sorted(cases, key=stratum)
    return sorted((ordered[(2 * n + 1) * len(ordered) // (2 * count)] for n in range(count)), key=lambda case: case.id)


def runnable(cases: Sequence[Case], python: Path, problem: Callable[[str], None]) -> list[Case]:
    """The cases whose framework an interpreter has; a problem for each framework that is missing."""
    installed = describe(python).installed
    missing = Counter(case.framework for case in cases if case.framework not in installed)
    for framework, count in sorted(missing.items()):
        problem(
            f"{count} of {len(cases)} cases are left out: {python} has no {framework}. "
            f"Install it there, or name with --python an interpreter that has it."
        )
    return [case for case in cases if case.framework in installed]
