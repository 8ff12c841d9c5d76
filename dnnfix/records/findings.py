"""Records of findings, candidates, verdicts, patches and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from dnnfix.records.record import record
from dnnfix.records.reproduction import Reproduction
from dnnfix.records.sites import Edit, Site
from dnnfix.records.trace import Trace
from dnnfix.records.words import (
    Applicability,
    Family,
    FindingOutcome,
    FixPattern,
    Json,
    Nature,
    PatchVerdict,
    RunOutcome,
    Status,
    Symptom,
)

CRASH_CAUSE = "crash"
"""The cause of findings that are rival explanations of one crash: at most one of them is right."""


PROGRESS = "progress"
"""Who says of a partial patch what the program does instead."""

LEFT = "twins_left"
"""What a verdict measures of a patch whose fault stands elsewhere too: the lines of these places, in the patched program."""

NOT_RUN = "not_run"
"""What a verdict measures of a patch to parts of which no run came: the lines of these parts, in the patched program."""


@record
class Finding:
    """A fault located in a program, with its evidence.

    `evidence` holds plain JSON facts (shapes, dtypes, values, sites) that `propose` and the report read. `cause` groups
    findings: rival explanations of the crash (`CRASH_CAUSE`), or faults that one patch settles together (any other).
    `reading` names the row of the template's table that saw the fault, where it has several; a number after a colon tells
    apart what was seen at one place.
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
    reading: str = ""
    nature: Nature = Nature.FAULT

    @property
    def kind(self) -> str:
        """What two findings have in common that speak of the same pattern: the code, and the reading."""
        row = self.reading.partition(":")[0]
        return f"{self.code}#{row}" if row else self.code

    @property
    def id(self) -> str:
        """Stable within a report: the code, the reading and the site."""
        return f"{self.code}#{self.reading}@{self.site}" if self.reading else f"{self.code}@{self.site}"


UNEXPLAINED_CODE, UNEXPLAINED_RULE = "DNF901", "unexplained-crash"
"""The engine's own finding for a crash that the catalogue does not know."""

UNLEARNED_CODE, UNLEARNED_RULE = "DNF905", "does-not-learn"
"""The engine's own finding for a training that learns nothing, whatever the cause."""

MISLEADING_CODE, MISLEADING_RULE = "DNF906", "misleading-evaluation"
"""The engine's own finding for a training that looks better than it is."""

OF_SYMPTOMS = (
    (UNEXPLAINED_CODE, UNEXPLAINED_RULE),
    (UNLEARNED_CODE, UNLEARNED_RULE),
    (MISLEADING_CODE, MISLEADING_RULE),
)
"""The engine's own findings, each for a symptom that no template has to explain."""

RETIRED = (
    ("DNF180", "axes-at-crash"),
    ("DNF451", "arguments-packed-together"),
    ("DNF680", "kind-at-crash"),
)
"""Rules that gave way to the search for small edits. Settings may still name them, and select nothing by it."""


@record
class Candidate:
    """One way of editing the program, not yet proven."""

    template: str
    title: str
    fix_pattern: FixPattern
    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]
    applicability: Applicability = Applicability.UNSAFE
    prior: float = 0.5
    at_either_end: bool = False
    """Whether it changes one of two things that do not fit, without knowing which was meant: for a crash it is a choice."""
    exact: bool = False
    """Whether each edit does just what the older version did, also where it is not safe, as more than what it changes differs today."""
    only_hinders: bool = False
    """Whether its fault is one only where training suffers from it: a program that learns all the same is to be left alone."""
    author: str = ""
    """The language model that wrote it; empty for what rules and the search wrote."""


@record
class Decline:
    """Why a template proposes no edit for a finding of its own."""

    reason: str


@record
class Verdict:
    """The result of one validator for one candidate, with the numbers that it rests on."""

    validator: str
    rung: str
    status: Status
    reason: str
    measured: Mapping[str, Json] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def passes(cls, reason: str, measured: Mapping[str, Json] | None = None) -> Verdict:
        """A verdict that lets a patch through. `Validator.judge` adds the validator's name, as to those below."""
        return cls("", "", Status.PASS, reason, measured or {})

    @classmethod
    def fails(cls, reason: str, measured: Mapping[str, Json] | None = None) -> Verdict:
        """A verdict that rejects the patch."""
        return cls("", "", Status.FAIL, reason, measured or {})

    @classmethod
    def inconclusive(cls, reason: str, measured: Mapping[str, Json] | None = None) -> Verdict:
        """A verdict that leaves it open, which lets no patch through."""
        return cls("", "", Status.INCONCLUSIVE, reason, measured or {})

    @classmethod
    def not_applicable(cls, reason: str, measured: Mapping[str, Json] | None = None) -> Verdict:
        """A verdict that the validator does not concern the patch."""
        return cls("", "", Status.NOT_APPLICABLE, reason, measured or {})


@record
class Curve:
    """How one trial went: means over equal parts of its steps, in order; NaN where a part left the finite numbers.

    `skill` is that of `Step`, `gradient` the norm of all gradients together; each is empty where it could not be taken.
    """

    seed: int
    patched: bool
    loss: tuple[float, ...] = ()
    skill: tuple[float, ...] = ()
    gradient: tuple[float, ...] = ()
    steps: int = 0
    """Optimizer steps of the trial."""


@record
class Ablation:
    """What a patch of several edits came to without one of them: whether the rest was accepted, and why or what it leaves."""

    title: str
    accepted: bool
    reason: str


@record
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
    curves: tuple[Curve, ...] = ()
    """Those of the paired trials, before and after on each seed; only of a patch that was accepted."""
    ablation: tuple[Ablation, ...] = ()
    """For each edit of a patch of several that was also tried without it."""

    @property
    def refusal(self) -> Verdict | None:
        """The verdict that kept the patch from being accepted, if one did."""
        blocking = (Status.FAIL, Status.INCONCLUSIVE)
        return next((v for v in self.verdicts if v.status in blocking), None)

    @property
    def remains(self) -> str:
        """Where the program stops once a partial patch is applied; empty for other patches."""
        return next((v.reason for v in self.verdicts if v.validator == PROGRESS), "")

    @property
    def not_run(self) -> str:
        """What of the patch no run came to, so that it stands by reading alone; empty where that is nothing, or not known."""
        return next((v.reason for v in self.verdicts if NOT_RUN in v.measured), "")

    @property
    def left(self) -> str:
        """Where what the patch replaces still stands, in code that no run came to; empty where that is nowhere."""
        return next((v.reason for v in self.verdicts if LEFT in v.measured), "")


@record
class FindingResult:
    """A finding with its end: outcome, reason and the patches that were made for it."""

    finding: Finding
    outcome: FindingOutcome
    reason: str
    patches: tuple[str, ...] = ()


@record
class Origin:
    """A line that the value may come from at which a program crashed: a step of the crash's slice.

    `role` is how it came into the slice (`failing`, `statement`, `caller`, `definition`, `constructor`, `source`), `steps`
    how far it is from the failing expression, `held` what its names held when the program stopped.
    """

    site: Site
    role: str
    steps: int
    held: tuple[str, ...] = ()


@record
class LayerCurve:
    """How the units of one layer went in a training that was looked at: a number for each step that was looked at.

    `dead` is the share of a rectifier's outputs that are zero, or of those of another activation that are at an end of its
    range; `spread` that of the outputs over the samples. Either is `None` where it could not be taken.
    """

    layer: str
    line: int | None
    steps: tuple[int, ...]
    dead: tuple[float | None, ...] = ()
    spread: tuple[float | None, ...] = ()


@record
class RunRecord:
    """One run of the program as the report names it."""

    id: str
    outcome: RunOutcome
    seconds: float
    seed: int
    reproduction: tuple[str, ...] = ()
    detail: str = ""


@record
class ModelUse:
    """What a language model was asked for one program, and what that took."""

    model: str = ""
    host: str = ""
    prompt_tokens: int = 0
    """The estimated size of the first prompt."""
    answers: int = 0
    cached: int = 0
    """How many of the answers were there from before, and cost nothing."""
    malformed: int = 0
    """How many had another form than was asked for, or could not be carried out."""
    candidates: int = 0
    """How many different edits came of them."""
    asked_tokens: int = 0
    answered_tokens: int = 0
    cost: float = 0.0
    """US dollars of the answers that were not there from before, as far as prices are known."""
    remarks: tuple[str, ...] = ()
    """Why no (further) answer was asked for or given, and what was odd about those that were."""
    silent: bool = False
    """Whether an answer was asked for and not given."""
    prompt: str = ""
    """What would be sent, where nothing was to be."""


@record
class FileReport:
    """Everything that is said of one program."""

    path: str
    findings: tuple[FindingResult, ...] = ()
    patches: tuple[Patch, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    unchecked: tuple[str, ...] = ()
    sandbox: str = "none"
    device: str = "cpu"
    """What the program was run on: `cpu`, or `cuda` with the model of the card."""
    notes: tuple[str, ...] = ()
    reproduction: Reproduction = field(default_factory=Reproduction)
    """What was done to make the program run; without steps where it ran as it stands or nothing could be done."""
    unrun: bool = False
    """Whether the program was to be run, and the run ended before it told anything: no data, no package, its own exit."""
    through: str = ""
    """The path of the program that was run for the sake of this file, which is a module that it uses; what that showed is said there."""
    modules: Mapping[str, bytes] = field(default_factory=dict)
    """The modules beside the program as they were when it was looked at, by their paths in its folder."""
    trace: Trace | None = None
    """The run that the findings rest on, where the program was run."""
    slice: tuple[Origin, ...] = ()
    """Where the value may come from at which that run crashed, nearest first."""
    layers: tuple[LayerCurve, ...] = ()
    """What its layers did in a training that was looked at since it learns little."""
    model: ModelUse | None = None
    """What a language model was asked, where one was to propose."""


@record
class Report:
    """The answer to one call of the tool: `errors` are inputs that failed, `unchecked` what was passed over and why."""

    files: tuple[FileReport, ...] = ()
    errors: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def __repr__(self) -> str:
        files, patches = len(self.files), sum(1 for _ in self.patches())
        return f"Report(files={files}, findings={sum(1 for _ in self.findings())}, patches={patches}, errors={self.errors})"

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
