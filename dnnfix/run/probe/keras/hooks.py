"""Entry point of the Keras probe: installs its recorders and offers the hooks that the runner calls."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .. import wire
from ..guard import Patches, forget_notes, guarded
from ..tensorflow.sessions import TensorFlowSteps
from .calls import Recorder
from .channels_first import compute_channels_first
from .compiled import Compiled
from .components import Components
from .experiments import Experiments
from .functions import Functions
from .graphs import Graphs
from .in_flight import call_in_flight
from .losses import Losses
from .names import api, class_name
from .optimizers import Optimizers
from .parameters import Parameters
from .shuffled_targets import ShuffledTargets
from .skill import Measure
from .steps import Steps
from .traced_steps import Traced
from .training import Training
from .training_data import TrainingData
from .unit_listener import Listener
from .written_calls import forget_written


class Hooks:
    """The installed probe of one run."""

    def __init__(self, job: Dict[str, Any]) -> None:
        forget_notes()
        class_name.forget()
        forget_written()
        keras = api()
        backend = keras.backend.backend() if hasattr(keras.backend, "backend") else "tensorflow"
        record = int(job.get("record_steps", 2))
        self._keras = keras
        self._backend = backend
        self._patches = Patches()
        self._components = Components()
        self._recorder = Recorder(self._components)
        self._graphs = Graphs(self._recorder)
        self._functions = Functions(self._recorder, self._graphs)
        self._measure = Measure()
        self._parameters = Parameters(self._components, self._measure.norm)
        self._losses = Losses(self._recorder)
        self._steps = Steps(self._recorder, self._losses, self._parameters, self._measure, record)
        self._optimizers = Optimizers(self._steps)
        self._sessions = TensorFlowSteps(self._steps)
        self._training = Training(self._components, self._recorder, self._steps)
        self._compiled = Compiled(self._components, backend)
        wanted, seed = set(job.get("experiments", ())), int(job.get("seed", 0))
        self._experiments = Experiments(wanted, seed, self._recorder)
        self._training_data = TrainingData(wanted)
        self._shuffled = ShuffledTargets(seed) if "shuffle-targets" in wanted else None
        self._listener = Listener(self._components, self._recorder) if "units" in wanted else None
        self._in_graph = not record or "reference" in wanted
        """Whether steps may run traced: an observing run has few, and tells of a crash what only eager code tells."""
        self._called: List[Any] = []

    def begin(self) -> None:
        """Install the recorders."""
        keras = self._keras
        filtering = getattr(getattr(keras, "config", None), "disable_traceback_filtering", None)
        if filtering is not None:
            filtering()
        if self._backend == "tensorflow":
            compute_channels_first(self._patches)
            if self._in_graph:
                Traced(self._losses, self._looks_into_step, self._compiled.runs_eagerly).install(self._patches)
        self._components.install(keras)
        self._compiled.install(self._patches, keras)
        self._losses.install(self._patches, keras)
        self._optimizers.install(self._patches, keras)
        self._sessions.install(self._patches)
        self._training.install(self._patches, keras)
        self._recorder.install(self._patches, keras)
        self._graphs.install(self._patches, keras)
        self._functions.install(self._patches, keras)
        self._recorder.on = self._steps.recording
        self._recorder.on_input = self._input
        self._recorder.on_output = self._experiments.saw_output
        self._recorder.on_loss = self._loss
        self._recorder.loss_made = lambda loss: self._compiled.made_of(self._training.model, loss)
        self._losses.replace = self._shuffled.shuffled if self._shuffled is not None else None
        self._losses.on_batch = self._training_data.saw_batch
        self._losses.on_evaluation = self._training_data.saw_evaluation
        self._training.on_parts = self._training_data.saw_parts
        if self._listener is not None:
            self._listener.install(self._patches, keras)
            self._optimizers.on_gradients = self._listener.saw_gradients
            self._steps.on_step = self._listener.step_done
        self._steps.key = lambda: id(self._training.plans[-1].model) if self._training.plans else None
        self._parameters.models = self._models

    def withdraw(self) -> None:
        """Take the watchers away."""
        self.stop_recording()
        self._components.quiet += 1
        self._patches.undo()
        self._optimizers.remove()

    def stop_recording(self) -> None:
        """Record no more calls; steps are counted all the same."""
        self._steps.stop_recording()
        self._recorder.on = False

    @property
    def step_seconds(self) -> Optional[float]:
        """The median time of a step after the recorded ones; `None` where there were too few."""
        return self._steps.step_seconds

    def call_in_flight(self, error: BaseException) -> Optional[Dict[str, Any]]:
        """The fields of the call that raised an exception."""
        found: Optional[Dict[str, Any]] = call_in_flight(error, self._recorder, self._components, self._training)
        return found

    def finish(self) -> None:
        """The program has ended: write what is still to be written, experiment, and take the watchers away."""
        self._graphs.flush()
        self._steps.finish()
        self.withdraw()
        for model in self._components.of_kind("model"):
            self._components.describe(model)
        self._components.send_all()
        if self._shuffled is not None:
            wire.emit("probe", name="shuffle-targets", value=self._shuffled.happened)
        self._training_data.tell()
        if self._listener is not None:
            wire.emit("probe", name="units", value=guarded(self._listener.units.found)())
        self._experiments.run()

    def _looks_into_step(self) -> bool:
        return self._steps.recording or (self._listener is not None and self._listener.on)

    def _models(self) -> List[Any]:
        """The models that training methods or the program itself call, or else all that there are."""
        found = list(self._training.models)
        for model in self._called:
            if not any(model is one for one in found):
                found.append(model)
        return found or self._components.of_kind("model")

    def _input(self, layer: Any, args: Any, kwargs: Any) -> None:
        if hasattr(layer, "weights") and not any(layer is one for one in self._called):
            self._called.append(layer)
            self._components.describe(layer)
        self._experiments.saw_input(layer, args, kwargs)

    def _loss(self, loss: Any, target: Any, prediction: Any, result: Any) -> None:
        made = self._recorder.loss_made(loss) if loss is not None else None
        name = made.fields["name"] if made is not None else class_name(type(loss)) if loss is not None else ""
        self._losses.called(name, target, prediction, result)
        self._experiments.saw_loss(loss, target, prediction)
