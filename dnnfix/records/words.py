"""The enumerations that records and reports use: families, patterns, symptoms, verdicts, outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = (
    "None | bool | int | float | str | list[Json] | tuple[Json, ...] | dict[str, Json] | Mapping[str, Json]"
)


class Family(StrEnum):
    """The fault families of the catalogue; the hundred of a code is the family's place here."""

    DATA_DIMENSION = "data-dimension"
    LAYER_DIMENSION = "layer-dimension"
    LOSS_ACTIVATION = "loss-activation"
    CONNECTIVITY = "connectivity"
    VERSIONING = "versioning"
    DATA_TYPE = "data-type"
    TRAINING = "training"
    TRAINING_LOOP = "training-loop"
    OPINIONATED = "opinionated"

    @property
    def hundred(self) -> int:
        """The first digit of the family's codes (`DNF3xx` is loss and activation)."""
        return list(Family).index(self) + 1


class Nature(StrEnum):
    """What a rule says of the code that it reports.

    A `FAULT` makes the program do something else than it says; a `RISK` does so under conditions that the code does not show;
    `ADVICE` is about code that works, and how it is better written: its patches are shown and never applied.
    """

    FAULT = "fault"
    RISK = "risk"
    ADVICE = "advice"


class FixPattern(StrEnum):
    """The 15 repair patterns of the study of 667 repairs."""

    LOSS_FUNCTION = "loss-function"
    NEURAL_CONNECTION = "neural-connection"
    ADD_LAYER = "add-layer"
    LAYER_DIMENSION = "layer-dimension"
    DATA_DIMENSION = "data-dimension"
    ACCURACY_METRIC = "accuracy-metric"
    DATA_TYPE = "data-type"
    ACTIVATION = "activation"
    ITERATIONS = "iterations"
    VERSIONING = "versioning"
    API_CONTRACT = "api-contract"
    DATA_WRANGLING = "data-wrangling"
    MONITOR = "monitor"
    OPTIMIZER = "optimizer"
    CHANGE_NEURAL_ARCHITECTURE = "change-neural-architecture"


class Symptom(StrEnum):
    """What a run shows. `NONE_OBSERVED` is for findings that rest on the source or on a violated property alone."""

    CRASH = "crash"
    NON_FINITE = "non-finite"
    CONSTANT_OUTPUT = "constant-output"
    NOT_LEARNING = "not-learning"
    NO_GRADIENT = "no-gradient"
    SILENT_BROADCAST = "silent-broadcast"
    WARNING = "warning"
    VIOLATION = "violation"
    NONE_OBSERVED = "none-observed"


class Applicability(StrEnum):
    """How far a patch may be applied without a person reading it.

    `SAFE` keeps the program's meaning provably; `UNSAFE` changes what is trained; `DISPLAY_ONLY` is never applied.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY_ONLY = "display-only"


class Status(StrEnum):
    """What one validator says. Only `PASS` and `NOT_APPLICABLE` let a patch through."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not-applicable"


RUNGS = ("parse", "run", "shapes", "property", "learn", "honest", "harmless")
"""The rungs of the validation ladder, cheapest first."""


class RunOutcome(StrEnum):
    """How a run of the user's program ended. The last eight are the environment's doing, never a verdict on a patch."""

    FINISHED = "finished"
    CRASHED = "crashed"
    BUDGET = "budget"
    EXITED = "exited"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out-of-memory"
    ENVIRONMENT = "environment"
    NEEDS_NETWORK = "needs-network"
    NEEDS_DATA = "needs-data"
    NEEDS_INPUT = "needs-input"
    NEEDS_GPU = "needs-gpu"
    KILLED = "killed"

    @property
    def says_something(self) -> bool:
        """Whether the outcome is due to the program itself rather than to the environment."""
        return self in {RunOutcome.FINISHED, RunOutcome.CRASHED, RunOutcome.BUDGET, RunOutcome.EXITED}


class FindingOutcome(StrEnum):
    """How a finding ended; each one ends in exactly one of these."""

    REPAIRED = "repaired"
    PARTIAL = "partial"
    UNDECIDED = "undecided"
    REJECTED = "rejected"
    DECLINED = "declined"
    FAILED = "failed"


class PatchVerdict(StrEnum):
    """The overall verdict of the ladder on a candidate. `UNVALIDATED` is for the static path, which runs nothing, and for
    candidates against which nothing is held but that no run came to what they write.

    `PARTIAL` removes its fault and gets the run further, to a stop that is not of its making; it never counts as accepted.
    `CHOICE` is one of several edits that pass every rung, under which the program does different things, or an unlikely one: which
    was meant no run can tell. It is shown, and applied only where a person takes it.
    """

    ACCEPTED = "accepted"
    PARTIAL = "partial"
    CHOICE = "choice"
    REJECTED = "rejected"
    UNVALIDATED = "unvalidated"
