"""The frozen records that flow between the stages of the pipeline.

Every stage is a function from these records to these records, so any stage can be run, cached and tested alone.
Nothing here does I/O, and nothing here imports another module of dnnfix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | tuple[Json, ...] | dict[str, Json] | Mapping[str, Json]"


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
        """Whether the run tells about the program itself rather than about the environment."""
        return self in {RunOutcome.FINISHED, RunOutcome.CRASHED, RunOutcome.BUDGET, RunOutcome.EXITED}


class FindingOutcome(StrEnum):
    """How a finding ended; each one ends in exactly one of these."""

    REPAIRED = "repaired"
    REJECTED = "rejected"
    DECLINED = "declined"
    FAILED = "failed"


class PatchVerdict(StrEnum):
    """What the ladder made of a candidate. `UNVALIDATED` is for the static path, which runs nothing."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNVALIDATED = "unvalidated"


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """File, line and column of an expression or statement.

    Lines and columns count from 1, columns in characters; the end column is one past the last character. `path` is
    empty for the program under analysis itself and relative to its folder for the modules that it imports.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    path: str = ""

    def encloses(self, other: Site) -> bool:
        """Whether `other` lies within this site (equal sites enclose each other)."""
        return (
            self.path == other.path
            and (self.line, self.column) <= (other.line, other.column)
            and (other.end_line, other.end_column) <= (self.end_line, self.end_column)
        )

    def overlaps(self, other: Site) -> bool:
        """Whether the two sites share at least one character."""
        return (
            self.path == other.path
            and (self.line, self.column) < (other.end_line, other.end_column)
            and (other.line, other.column) < (self.end_line, self.end_column)
        )

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}-{self.end_line}:{self.end_column}"
        return f"{self.path}:{place}" if self.path else place


# --- Edits: what a template asks for, as data; `dnnfix.source.edits` carries them out with LibCST -------------------


@dataclass(frozen=True, slots=True)
class Replace:
    """Put `code` in place of the expression or statement at `site`."""

    site: Site
    code: str


@dataclass(frozen=True, slots=True)
class Wrap:
    """Put `before` and `after` around the expression at `site`, whose own text is kept to the byte."""

    site: Site
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Unwrap:
    """Put the expression at `inner`, which lies within `site`, in place of the expression at `site`."""

    site: Site
    inner: Site


@dataclass(frozen=True, slots=True)
class SetArgument:
    """Give the call at `site` the argument `name`.

    The keyword `name` is replaced where it is given; else the positional argument number `position` where there is
    one; else the keyword is appended.
    """

    site: Site
    name: str
    code: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class RemoveArgument:
    """Take from the call at `site` the keyword `name` or the positional argument number `position`."""

    site: Site
    name: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class RenameArgument:
    """Rename the keyword `old` of the call at `site` to `new`."""

    site: Site
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """Put the statement or statements `code` (no indentation of their own) before the statement that holds `site`."""

    site: Site
    code: str


@dataclass(frozen=True, slots=True)
class InsertAfter:
    """Put the statement or statements `code` after the statement that holds `site`."""

    site: Site
    code: str


@dataclass(frozen=True, slots=True)
class InsertElement:
    """Put the expression `code` into the list, tuple or call arguments at `site`, before the element `index`."""

    site: Site
    index: int
    code: str


@dataclass(frozen=True, slots=True)
class DeleteElement:
    """Take the element `index` out of the list, tuple or call arguments at `site`."""

    site: Site
    index: int


@dataclass(frozen=True, slots=True)
class Enclose:
    """Put the statements from the one at `first` to the one at `last` of its block under the header `code`.

    The header is a compound statement's line, such as `with torch.no_grad():`; the statements are only indented, so
    that other edits may change what is in them.
    """

    first: Site
    last: Site
    code: str

    @property
    def site(self) -> Site:
        """From the first to the last statement."""
        return Site(self.first.line, self.first.column, self.last.end_line, self.last.end_column, self.first.path)


@dataclass(frozen=True, slots=True)
class Delete:
    """Take the whole statement at `site` away; a block left empty gets `pass`."""

    site: Site


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make sure that the module at `path` has this import statement at its top; nothing happens if it has it."""

    statement: str
    path: str = ""

    @property
    def site(self) -> Site:
        """The start of the file."""
        return Site(1, 1, 1, 1, self.path)


Edit: TypeAlias = (
    Replace
    | Wrap
    | Unwrap
    | SetArgument
    | RemoveArgument
    | RenameArgument
    | InsertBefore
    | InsertAfter
    | InsertElement
    | DeleteElement
    | Enclose
    | Delete
    | AddImport
)


# --- Findings, candidates, verdicts, patches ------------------------------------------------------------------------


CRASH_CAUSE = "crash"
"""The cause of findings that are rival explanations of one crash: at most one of them is right."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault located in a program, with its evidence.

    `evidence` holds plain JSON facts (shapes, dtypes, values, sites) that `propose` and the report read. `cause` groups
    findings: rival explanations of the crash (`CRASH_CAUSE`), or faults that one patch settles together (any other).
    """

    code: str
    rule: str
    family: Family
    site: Site
    message: str
    symptom: Symptom = Symptom.NONE_OBSERVED
    confidence: float = 0.8
    evidence: Mapping[str, Json] = field(default_factory=dict)
    cause: str = ""

    @property
    def id(self) -> str:
        """Stable within a report: the code and the site."""
        return f"{self.code}@{self.site}"


UNEXPLAINED_CODE, UNEXPLAINED_RULE = "DNF901", "unexplained-crash"
"""The engine's own finding for a crash that the catalogue does not know."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way of editing the program, not yet proven."""

    template: str
    title: str
    fix_pattern: FixPattern
    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]
    applicability: Applicability = Applicability.UNSAFE
    prior: float = 0.5


@dataclass(frozen=True, slots=True)
class Decline:
    """Why a template proposes no edit for a finding of its own."""

    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one validator says of one candidate, with the numbers that it rests on."""

    validator: str
    rung: str
    status: Status
    reason: str
    measured: Mapping[str, Json] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Patch:
    """A candidate as a unified diff with what the ladder said."""

    id: str
    candidate: Candidate
    diff: str
    verdict: PatchVerdict
    verdicts: tuple[Verdict, ...] = ()
    side_effects: Mapping[str, Json] = field(default_factory=dict)
    certificate: str | None = None
    rank: int = 0

    @property
    def refusal(self) -> Verdict | None:
        """The verdict that kept the patch from being accepted, if one did."""
        blocking = (Status.FAIL, Status.INCONCLUSIVE)
        return next((v for v in self.verdicts if v.status in blocking), None)


@dataclass(frozen=True, slots=True)
class FindingResult:
    """A finding with its end: outcome, reason and the patches that were made for it."""

    finding: Finding
    outcome: FindingOutcome
    reason: str
    patches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of the program as the report names it."""

    id: str
    outcome: RunOutcome
    seconds: float
    seed: int
    reproduction: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FileReport:
    """Everything that is said of one program."""

    path: str
    findings: tuple[FindingResult, ...] = ()
    patches: tuple[Patch, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    unchecked: tuple[str, ...] = ()
    sandbox: str = "none"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to one call of the tool: `errors` are inputs that failed, `unchecked` what was passed over and why."""

    files: tuple[FileReport, ...] = ()
    errors: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def findings(self) -> Iterator[tuple[FileReport, FindingResult]]:
        """Every finding with the file it is in."""
        for file in self.files:
            for result in file.findings:
                yield file, result

    def patches(self) -> Iterator[tuple[FileReport, Patch]]:
        """Every patch with the file it is for."""
        for file in self.files:
            for patch in file.patches:
                yield file, patch


# --- The network and the trace --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of one tensor; `None` means unknown.

    `producer` is the id of the `Call` that made it. `origin` tells what it is where no recorded call made it: `data`
    (entered from outside), `parameter`, `constant`, `symbolic` (a Keras input). `site` is then the expression that
    first brought it up. Statistics (`low` to `row_sums_to_one`) are taken for model inputs, model outputs and the
    inputs of losses only.
    """

    id: int | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    producer: int | None = None
    origin: str | None = None
    site: Site | None = None
    requires_grad: bool | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    std: float | None = None
    integral: bool | None = None
    distinct: int | None = None
    finite: bool | None = None
    row_sums_to_one: bool | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """An object that the program made: a layer, loss, metric, optimizer, model, data loader.

    `name` is the canonical qualified name (`torch.nn.Linear`, `keras.layers.Dense`) or `user.ClassName`. `args` are the
    constructor's arguments by parameter name, defaults included. `site` is the constructor call. `attribute` is where
    the object hangs in the model (`fc1`, `features.0`), when it hangs there. `called` counts the calls seen; `None`
    means that calls may have gone unseen.
    """

    id: int
    kind: str
    name: str
    site: Site | None = None
    args: Mapping[str, Json] = field(default_factory=dict)
    attribute: str | None = None
    parameters: tuple[str, ...] = ()
    children: tuple[int, ...] = ()
    called: int | None = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a layer, loss or tensor function, in the order of the run.

    For a call of a `Component`, `component` is its id, `made_at` its constructor's site and `args` the constructor's
    arguments; for a function, `args` are the call's own arguments by name where they are plain values. A loss has what is
    given as its prediction as first input and what is given as its target as second, whatever their order in the text.
    """

    id: int
    name: str
    site: Site | None
    component: int | None = None
    made_at: Site | None = None
    args: Mapping[str, Json] = field(default_factory=dict)
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    phase: str = "unknown"
    step: int = 0
    scope: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One weight tensor: where its layer was made, whether it can train, whether it did."""

    name: str
    shape: tuple[int, ...]
    component: int | None = None
    trainable: bool = True
    optimized: bool | None = None
    gradient: float | None = None
    update: float | None = None
    constant: bool | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """The DNN, recovered from a trace or from the source; `known_from` is `trace` or `source`."""

    framework: str
    known_from: str
    components: tuple[Component, ...] = ()
    calls: tuple[Call, ...] = ()
    parameters: tuple[Parameter, ...] = ()

    def component(self, id: int | None) -> Component | None:
        """The component of that id."""
        return next((c for c in self.components if c.id == id), None) if id is not None else None

    def call(self, id: int | None) -> Call | None:
        """The call of that id."""
        return next((c for c in self.calls if c.id == id), None) if id is not None else None

    def producer(self, value: Value) -> Call | None:
        """The call that made the value; `None` for data and for what is unknown."""
        return self.call(value.producer)

    def users(self, value: Value) -> tuple[Call, ...]:
        """The calls that take the value, in call order."""
        return tuple(c for c in self.calls if value.id is not None and any(i.id == value.id for i in c.inputs))

    def calls_of(self, component: Component) -> tuple[Call, ...]:
        """The calls of a component, in call order."""
        return tuple(c for c in self.calls if c.component == component.id)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of user code on the way to an exception, outermost first in `Crash.frames`."""

    site: Site
    function: str


@dataclass(frozen=True, slots=True)
class Crash:
    """The exception that ended a run. `call` is the recorded call in flight; its inputs are known, it has no outputs."""

    kind: str
    message: str
    frames: tuple[Frame, ...] = ()
    call: Call | None = None

    @property
    def site(self) -> Site | None:
        """The innermost expression of user code."""
        return self.frames[-1].site if self.frames else None


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step.

    `skill` measures what was learned independently of the loss's scale: accuracy against the majority class, rank
    agreement for binary targets, or explained variance, 1 for perfect and about 0 for guessing.
    """

    index: int
    loss: float | None = None
    skill: float | None = None
    gradient: float | None = None
    update: float | None = None
    output_std: float | None = None


@dataclass(frozen=True, slots=True)
class LoopEvent:
    """One operation of the training loop (`zero_grad`, `forward`, `backward`, `step`, `eval`, `train`, `no_grad`)."""

    name: str
    site: Site | None
    step: int


@dataclass(frozen=True, slots=True)
class CodeWarning:
    """A warning that was raised while the program ran, with the user's line where there is one."""

    category: str
    message: str
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run recorded."""

    outcome: RunOutcome
    seed: int = 0
    seconds: float = 0.0
    detail: str = ""
    network: Network | None = None
    crash: Crash | None = None
    steps: tuple[Step, ...] = ()
    loop: tuple[LoopEvent, ...] = ()
    warnings: tuple[CodeWarning, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    peak_memory: int = 0
    step_seconds: float | None = None
    cut: tuple[Site, ...] = ()
    printed: str = ""
    notes: tuple[str, ...] = ()
    probes: Mapping[str, Json] = field(default_factory=dict)
