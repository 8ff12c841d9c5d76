"""The record `Job`, one run of one program with its budget and options, which is sent as JSON to the runner."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dnnfix.records import Scaffold


class Tier(StrEnum):
    """How strongly a run is isolated from the machine; a weaker tier is never used without saying so."""

    BUBBLEWRAP = "bubblewrap"
    LIMITS = "limits"
    NONE = "none"


class Device(StrEnum):
    """What programs are run on: `AUTO` is the GPU for a program that cannot run elsewhere, where there is one."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Experiment(StrEnum):
    """Extra measurements that the probe makes in a run; results arrive as `probe` events under the same name."""

    SHUFFLE_TARGETS = "shuffle-targets"
    """Permute the targets within each batch at the loss, so that nothing can be learned from them."""
    BATCH_SIZES = "batch-sizes"
    """After the first step, call the model on fake or meta tensors of other batch sizes: {"3": "ok" | message}."""
    INPUT_DEPENDENCE = "input-dependence"
    """After the last step, compare outputs for the real inputs and for other ones: relative change, a float."""
    ADVERSARIAL = "adversarial"
    """After the last step, relative rise of the loss under a sign-gradient step of 1 % of the input's spread."""
    INFORMATION = "information"
    """Share of the elements of the data that reach the first layer: 1.0 when nothing was cropped or dropped."""
    REFERENCE = "reference"
    """What simple learners come to on the rows that training goes through: `skill`, `linear` (of the linear one), `luck` (what
    they come to on permuted targets), `learner`, `rows`, `counts` (of each class), `answer` (the column that is the target);
    null where the rows are of a form that they do not know. And what the
    program's own evaluations show: as `held-back` the last one, as `parts` rows that parts of its data share (`new_rows.py`)."""
    UNITS = "units"
    """What the units of each layer give, and the gradients of its weights, in steps 4, 8, 16 and so on: `steps`; `layers` with
    `name`, `site`, `shares` (of outputs that are zero, or at an end of their range), `spreads` (over the rows, beside their size);
    `weights` with `name` and `gradients` (root mean square)."""
    ANSWERS = "answers"
    """The first rows of training with the targets they are given: `rows`, `targets`, `width` (`answers.py`)."""
    LINES = "lines"
    """The lines on which statements begin that ran, by the path of each file of the program that was loaded. Where TensorFlow compiles
    functions from their text, in which it is not seen what runs, the result is called `some-lines`."""
    ROWS_APART = "rows-apart"
    """After the last step, how far the rows of a batch change with the rows beside them: `axis` (of the batch), `rows`,
    `change` (0.0 when they do not); null where the axis of the batch is not known for certain."""


WHOLE = 10**9
"""More steps and batches than any program takes, so that nothing is cut."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a run may use. A training loop is cut after `steps` optimizer steps; code after it still runs.

    With `training` (in seconds from the program's start) it is cut there too, once it has taken a step, so that a slow
    network leaves time for what comes after.
    """

    steps: int = 20
    evaluation_batches: int = 4
    seconds: float = 20.0
    training: float | None = None
    memory: int = 4 * 2**30
    disk: int = 2**30
    output: int = 1 * 2**20
    processes: int = 64


@dataclass(frozen=True, slots=True)
class Recorder:
    """Settings that have the program run by the recorder (`dnnfix/run/baseline`) in another interpreter, instead of by
    the probe.

    `given` is what a recording carried, as JSON text: the weights and data that are put in; empty for the first one.
    """

    interpreter: str
    given: str = ""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A replacement of the text from `start` to before `end` (line and column from 1) of the file `path`."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Trying:
    """One edit to try where the program stops: its text changes, the imports that they need, and its likelihood."""

    changes: tuple[TextEdit, ...]
    imports: tuple[str, ...] = ()
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Speculation:
    """What to do at a crash while its frames are alive: without edits record what is in reach, otherwise try them all.

    The edits are given the likeliest first; once one of them holds, none is tried any more whose score is lower by more
    than `within`. What it saw is the probe `survey`, what became of the edits, in their order, the probe `speculation`. It
    takes at most `seconds`.
    """

    edits: tuple[Trying, ...] = ()
    seconds: float = 10.0
    within: float = 2.0
    watched: tuple[tuple[str, int], ...] = ()
    """Statements (path of the file, a line of it) of which is told what their names held before they failed."""

    def to_json(self) -> dict[str, object]:
        """As the probe reads it."""
        return {
            "seconds": self.seconds,
            "within": self.within,
            "watched": self.watched,
            "edits": [
                {
                    "changes": [[c.path, c.start, c.end, c.text] for c in one.changes],
                    "imports": one.imports,
                    "score": one.score,
                }
                for one in self.edits
            ],
        }


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one program with one seed.

    `program` is the text to run in place of the file at `path`; the folder of `path` provides the modules and data
    that the program uses. `beside` are modules in that folder, by their paths in it, with the text that they are to have.
    `record_steps` is the number of optimizer steps for which every call is recorded; later steps record their loss, skill
    and gradient only.
    """

    path: str
    program: bytes
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    record_steps: int = 2
    experiments: tuple[Experiment, ...] = ()
    arguments: tuple[str, ...] = ()
    scaffold: Scaffold | None = None
    """What the program is run in, where it does not run as it stands."""
    recorder: Recorder | None = None
    beside: tuple[tuple[str, bytes], ...] = ()
    speculation: Speculation | None = None
    """What to do where the program crashes."""
    pace: float = 1.0
    """How fast the program's clocks run: what it prints of them is another number where they run faster."""
