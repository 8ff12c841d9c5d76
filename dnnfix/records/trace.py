"""Records of one run of a program: its outcome, crash, steps, calls and warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from dnnfix.records.network import Call, Network
from dnnfix.records.record import record
from dnnfix.records.sites import Site
from dnnfix.records.words import Json, RunOutcome

_NO_CUT = re.compile(
    r"TypeError: [\w.<>]+\(\) (?:missing \d+ required|takes |got an unexpected keyword|got multiple values)"
    r"|AttributeError: module '[\w.]+' has no attribute|(?:ImportError|ModuleNotFoundError): "
)
"""Crashes of which a shorter training is no cause."""


@record
class Frame:
    """One frame of user code on the way to an exception, outermost first in `Crash.frames`.

    `names` says what its variables held then: numbers as they are, an array or tensor as
    `{"shape", "dtype", "kind"}`, a list as `{"length", "items"}`, attributes of `self` under `self.name`. Only the
    innermost frames and the outermost one have it.
    """

    site: Site
    function: str
    names: Mapping[str, Json] = field(default_factory=dict, compare=False)


@record
class Held:
    """What a name, attribute or element in the failing statement held: its type, and the value of a string or truth value.

    `of` is the type of a container's first element (of a dictionary's first key), `size` the length of a container or
    the number of an array's axes.
    """

    site: Site
    kind: str
    of: str | None = None
    size: int | None = None
    dtype: str | None = None
    text: str | None = None


VAR_KEYWORD = 4
"""The kind of a parameter that takes all other keywords."""


@record
class CallParameter:
    """A parameter of a function: its name, how it is given (`kind`, as `inspect` numbers them), and whether it may be left out."""

    name: str
    kind: int
    optional: bool


@record
class Offer:
    """A name that there is. `path` reaches it from the program's own names where it is not of the same object."""

    name: str
    path: str = ""
    callable: bool = False
    parameters: tuple[CallParameter, ...] | None = None


@record
class Refusal:
    """What the program asked an object or a function for, and what there is near to it.

    `kind` is what was asked: a `module`, a `class` or an `object`; `asked` is `name`, `call`, or `module` where one was called;
    `own` says that it is the program's own. `parameters` are those of what was called.
    """

    site: Site
    name: str
    owner: str
    kind: str
    asked: str
    parameters: tuple[CallParameter, ...] | None
    near: tuple[Offer, ...]
    own: bool = False

    @property
    def passes_on(self) -> bool:
        """Whether the function accepts any keywords (`**kwargs`), which it passes on."""
        return any(each.kind == VAR_KEYWORD for each in self.parameters or ())


@record
class Crash:
    """The exception that ended a run. `call` is the recorded call in flight; its inputs are known, it has no outputs.

    `written` has the frames in which the operation that failed was written, where a graph was written first and run
    later (sessions of TensorFlow 1); their sites are whole statements. `held` has the values in the failing statement,
    `refusal` what would have been taken, where it was refused a name or arguments. `parts` are those of the network that a
    library was at work on, by dotted name (`layers.*.fc`), and the class of each.
    """

    kind: str
    message: str
    frames: tuple[Frame, ...] = ()
    call: Call | None = None
    written: tuple[Frame, ...] = ()
    held: tuple[Held, ...] = ()
    refusal: Refusal | None = None
    parts: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def site(self) -> Site | None:
        """The innermost expression of user code."""
        return self.frames[-1].site if self.frames else None

    @property
    def own_line(self) -> int:
        """The innermost line of the program's own file; 0 where none was on the way."""
        return next((frame.site.line for frame in reversed(self.frames) if not frame.site.path), 0)

    def held_at(self, site: Site) -> Held | None:
        """What the expression at a site of the failing statement held, where it is known."""
        return next((held for held in self.held if held.site == site), None)


@record
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


@record
class LoopEvent:
    """One operation of the training loop (`zero_grad`, `forward`, `backward`, `step`, `eval`, `train`, `no_grad`)."""

    name: str
    site: Site | None
    step: int


@record
class CodeWarning:
    """A warning that was raised while the program ran, with the user's line where there is one."""

    category: str
    message: str
    site: Site | None = None


@record
class Caught:
    """An exception that a broad handler of the program swallowed: the handler, its number in its file, and what it caught."""

    site: Site
    number: int
    kind: str
    message: str


@record
class Trace:
    """What one run recorded."""

    outcome: RunOutcome
    seed: int = 0
    seconds: float = 0.0
    detail: str = ""
    network: Network | None = None
    crash: Crash | None = None
    caught: Caught | None = None
    """The last exception that was swallowed."""
    steps: tuple[Step, ...] = ()
    loop: tuple[LoopEvent, ...] = ()
    warnings: tuple[CodeWarning, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    peak_memory: int = 0
    step_seconds: float | None = None
    cut: tuple[Site, ...] = ()
    spent: bool = False
    """Whether all optimizer steps of the budget were done, so that the program might have taken more."""
    hurried: bool = False
    """Whether training was cut by the clock, so that the number of steps says nothing of the program."""
    printed: str = ""
    notes: tuple[str, ...] = ()
    probes: Mapping[str, Json] = field(default_factory=dict)
    on_invented_data: bool = False
    """Whether the data that the program reads were made up, with nothing to tell their amounts."""

    @property
    def crashed_after_cut(self) -> bool:
        """Whether a crash came after training, behind a loop that the budget cut, which may be its cause: no cut makes a call that does
        not fit its function, or takes away what a module or an object of a library once had.
        """
        return self.crash is not None and bool(self.cut) and bool(self.steps) and not _NO_CUT.match(_said(self.crash))

    @property
    def losses(self) -> list[float]:
        """The losses of the steps, where they are known."""
        return [step.loss for step in self.steps if step.loss is not None]


def _said(crash: Crash) -> str:
    return f"{crash.kind}: {crash.message}"
