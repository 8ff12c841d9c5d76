"""Entry point of the torch probe: installs its recorders and offers the hooks that the runner calls."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

import torch as _torch

from .. import wire
from ..program import ranks
from .calls import Recorder
from .components import Components
from .distributed import Distributed, tell
from .experiments import Experiments
from .image_batches import ImageBatches
from .in_flight import call_in_flight
from .loaders import Loaders
from .loop import Loop
from .names import learn_functions
from .quiet import Patches, Quiet, forget_notes, guarded, note
from .shuffled_targets import ShuffledTargets
from .steps import Steps
from .targets import Pair, Targets
from .text_batches import TextBatches
from .training_data import TrainingData
from .unit_listener import Listener

torch: Any = _torch


def _each(*looks: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    """What looks at the call of a model in each of several ways."""

    def look(model: Any, args: Any, kwargs: Any) -> None:
        for one in looks:
            one(model, args, kwargs)

    return look


def warm() -> None:
    """Do once, in the process that runs are forked from, what every run would have to do."""
    learn_functions()


class Hooks:
    """The installed probe of one run."""

    def __init__(self, job: Dict[str, Any]) -> None:
        warm()
        forget_notes()
        Quiet.depth = 0
        record = int(job.get("record_steps", 2))
        self._patches = Patches()
        self._components = Components()
        self._recorder = Recorder(self._components, str(job.get("program", "")))
        self._loop = Loop(self._recorder)
        self._targets = Targets()
        self._steps = Steps(self._recorder, self._components, self._loop, self._targets, record)
        self._record = record
        self._distributed = Distributed() if ranks.rank is not None else None
        self._wanted = wanted = set(job.get("experiments", ()))
        seed = int(job.get("seed", 0))
        self._experiments = Experiments(wanted, seed, self._recorder, self._components, self._targets)
        self._training_data = TrainingData(wanted, self._recorder, self._targets)
        self._shuffled = ShuffledTargets(seed) if "shuffle-targets" in wanted else None
        self._targets.replace = self._shuffled.shuffled if self._shuffled is not None else None
        self._listener = Listener(self._components, self._steps.parameters) if "units" in wanted else None

    def begin(self) -> None:
        """Install the recorders."""
        self._components.install(self._patches)
        self._targets.install(self._patches)
        self._loop.install(self._patches)
        self._steps.install(self._patches)
        Loaders(self._components, self._recorder).install(self._patches)
        self._patches.put(torch, "compile", _not_compiled)
        self._patches.put(torch.nn.Module, "compile", lambda original: _compile_nothing)
        if self._distributed is not None:
            self._distributed.install(self._patches)
        self._recorder.on_forward = self._forward
        self._training_data.install(self._patches)
        if self._wanted:
            self._steps.on_pair = self._stepped
        self._recorder.on_input = self._experiments.saw_input
        self._recorder.on_library_model = _each(TextBatches().saw, ImageBatches().saw)
        self._recorder.on_output = self._experiments.saw_output
        if self._record > 0:
            self._recorder.start()

    def withdraw(self) -> None:
        """Take the watchers away."""
        self.stop_recording()
        self._patches.undo()
        self._steps.remove()
        self._loop.remove()

    def stop_recording(self) -> None:
        """Record no more calls; steps are counted all the same."""
        self._steps.stop_recording()
        self._recorder.stop()
        self._recorder.settle()

    def flush(self) -> None:
        """Write what was put aside."""
        self.stop_recording()
        self._recorder.flush()
        self._steps.flush(final=True)

    @property
    def step_seconds(self) -> Optional[float]:
        """The median time of a step after the recorded ones; `None` where there were too few."""
        return self._steps.step_seconds

    def call_in_flight(self, error: BaseException) -> Optional[Dict[str, Any]]:
        """The fields of the call that raised an exception."""
        found: Optional[Dict[str, Any]] = call_in_flight(error, self._recorder, self._components)
        return found

    def finish(self) -> None:
        """The program has ended: write what is still to be written, experiment, and take the watchers away."""
        if self._distributed is not None:
            tell(self._distributed)
        self._recorder.flush()
        self._steps.finish()
        self.withdraw()
        if self._distributed is not None:
            self._distributed.finish()
        self._components.send_all()
        if self._shuffled is not None:
            wire.emit("probe", name="shuffle-targets", value=self._shuffled.happened)
        self._training_data.tell()
        if self._listener is not None:
            wire.emit("probe", name="units", value=guarded(self._listener.units.found)())
        self._experiments.run()

    def tell_rank(self) -> None:
        """Write what this rank recorded for the other to compare."""
        if self._distributed is not None:
            wire.emit("probe", name="rank", value=self._distributed.facts())

    def _stepped(self, pair: Optional[Pair]) -> None:
        if self._listener is not None:
            self._listener.step_done(self._recorder.step + 1)
        self._training_data.saw_step(pair)

    def _forward(self, module: Any, site: Any) -> None:
        self._loop.happened("forward", site)
        self._steps.parameters.survey()


def _not_compiled(original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compile` that gives back what it is given: compiling takes longer than a whole run may."""

    def compile(model: Any = None, **options: Any) -> Any:
        _tell_not_compiled()
        return model if model is not None else (lambda function: function)

    return compile


def _compile_nothing(module: Any, *args: Any, **kwargs: Any) -> None:
    _tell_not_compiled()


@guarded
def _tell_not_compiled() -> None:
    note("torch.compile was left out: the program ran uncompiled")
