"""The result of reproducing a program or a bug report."""

from __future__ import annotations

from dataclasses import dataclass, field

from dnnfix.records import Reproduction, RunOutcome, Trace
from dnnfix.reproduce.reports.kinds import Missing, Typed
from dnnfix.reproduce.reports.symptoms import Reported
from dnnfix.source.program import Source


@dataclass(frozen=True)
class Reproduced:
    """The program as it was run, the steps that made it run, its traces, and what they show of the report.

    `program` is what was run, which differs from `source` where outdated calls stood in the way of what was reported.
    `traces` are the runs in order, the first one of the program as it stands. `reported` is the symptom that a report
    names, `shows` whether the last run shows it (`None` where none was named) and `saw` what it shows instead or indeed.
    `asked` are the kinds of information that a report of this type of bug should have and this one has not.
    """

    source: Source
    program: Source
    typed: Typed
    traces: tuple[Trace, ...]
    reproduction: Reproduction = field(default_factory=Reproduction)
    asked: tuple[Missing, ...] = ()
    reported: Reported | None = None
    shows: bool | None = None
    saw: str = ""

    @property
    def runs(self) -> bool:
        """Whether the program runs now: to its end, to its budget, or to a crash of its own."""
        last = self.traces[-1]
        return last.outcome in {RunOutcome.FINISHED, RunOutcome.BUDGET, RunOutcome.CRASHED}

    @property
    def as_it_is(self) -> str:
        """How the program ends as it stands, and in what it had to be read otherwise before anything could run."""
        first = self.traces[0]
        read = f" (not as the file stands: {'; '.join(self.source.recoveries)})" if self.source.recoveries else ""
        return f"{first.outcome.value}{f': {first.detail}' if first.detail else ''}{read}"

    @property
    def ran(self) -> bool:
        """Whether the program ran as it stands."""
        return self.traces[0].outcome in {RunOutcome.FINISHED, RunOutcome.BUDGET}

    @property
    def succeeded(self) -> bool:
        """Whether the reported symptom appeared or, where none was reported, the program runs."""
        return self.runs if self.shows is None else self.shows

    @property
    def outcome(self) -> str:
        """The outcome in a line."""
        last = self.traces[-1]
        if self.reported is not None:
            if self.shows:
                return f"reproduced: {self.saw}"
            return f"not reproduced: the report says {self.reported}; here {self.saw}"
        if last.crash is not None and last.outcome is RunOutcome.CRASHED:
            place = f" at line {last.crash.site.line}" if last.crash.site else ""
            return f"runs and crashes{place}: {last.crash.kind}: {last.crash.message.strip().splitlines()[0][:200] if last.crash.message.strip() else ''}"
        if self.runs:
            return f"runs: {last.outcome.value}, {len(last.steps)} optimizer steps seen"
        return f"does not run: {last.outcome.value}: {last.detail}"
