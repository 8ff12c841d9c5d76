"""Records the training steps of TensorFlow programs that train without `fit`: sessions of a graph, and gradient tapes.

In a graph program the optimizer's code runs once, while the graph is built: there a step is a run of a session that
fetches the operation which `minimize` or `apply_gradients` returned, and its loss is fetched along, in the same pass.
Functions that TensorFlow traces run their Python code once as well; they are run eagerly, so that every step is seen.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import wire
from ..guard import Patches, guarded
from ..keras.steps import Steps
from .loss_pairs import Pair, comes_from, pair_of

_MEASURED = 2
"""Steps of a session whose weights are read before and after."""

_DEEP = 4
"""How many operations may lie between what is fetched and the operation that trains: `tf.group`, control dependencies."""


class TensorFlowSteps:
    """Patches sessions and tapes, and reports their training steps to `Steps`."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._trained: Dict[Any, Tuple[Any, List[Any]]] = {}
        """For each operation that trains: the loss tensor and the variables."""
        self._leads: Dict[Any, Any] = {}
        """For each operation that was fetched: the one that trains and that runs with it, if any."""
        self._losses: Dict[int, Any] = {}
        self._pairs: Dict[Any, Optional[Pair]] = {}
        """For each loss what it compares, where that is known."""
        self._measured = 0

    def install(self, patches: Patches) -> None:
        """Install the recorders, where the program's TensorFlow is imported."""
        tensorflow: Any = sys.modules.get("tensorflow")
        if tensorflow is None or not hasattr(tensorflow, "compat"):
            return
        old = tensorflow.compat.v1
        for name in ("minimize", "compute_gradients", "apply_gradients"):
            patches.put(old.train.Optimizer, name, functools.partial(self._wrap_optimizer, name))
        for session in (old.Session, old.InteractiveSession):
            owner = next((base for base in session.__mro__ if "run" in vars(base)), None)
            if owner is not None and "run" in vars(owner) and not getattr(owner.run, "watched", False):
                patches.put(owner, "run", self._wrap_run)
        patches.put(tensorflow.GradientTape, "gradient", self._wrap_gradient)
        if tensorflow.executing_eagerly():
            patches.put(type(tensorflow.function(lambda: None)), "__call__", self._wrap_function)
            tensorflow.config.run_functions_eagerly(True)

    # Sessions

    def _wrap_optimizer(self, name: str, original: Any) -> Any:
        def method(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(optimizer, *args, **kwargs)
            self._built(name, optimizer, args, kwargs, result)
            return result

        return functools.update_wrapper(method, original)

    @guarded
    def _built(self, name: str, optimizer: Any, args: Any, kwargs: Any, result: Any) -> None:
        """What an optimizer of version 1 made: gradients of a loss, or the operation that trains."""
        import tensorflow

        if name != "apply_gradients":
            self._losses[id(optimizer)] = args[0] if args else kwargs.get("loss")
        if name == "compute_gradients":
            return
        if tensorflow.executing_eagerly():
            if name == "apply_gradients":
                self._steps.stepped_elsewhere()
            return
        pairs = args[0] if name == "apply_gradients" and args else kwargs.get("grads_and_vars", ())
        variables = [pair[1] for pair in pairs] if isinstance(pairs, (list, tuple)) else []
        self._trained[result] = (self._losses.get(id(optimizer)), variables or self._trained.get(result, (None, []))[1])

    def _wrap_run(self, original: Any) -> Any:
        def run(session: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
            found = self._trains(session, fetches)
            if found is None:
                return original(session, fetches, *args, **kwargs)
            loss, variables = found
            before = self._values(original, session, variables)
            pair = self._pair(session, loss)
            if loss is None:
                result, value = original(session, fetches, *args, **kwargs), None
            elif pair is None:
                result, value = original(session, [fetches, loss], *args, **kwargs)
            else:
                result, value, *compared = original(session, [fetches, loss, *pair[:2]], *args, **kwargs)
                self._compared(pair, compared, args, kwargs)
            self._ran(original, session, value, variables, before)
            return result

        run.watched = True  # type: ignore[attr-defined]
        return functools.update_wrapper(run, original)

    @guarded
    def _trains(self, session: Any, fetches: Any) -> Optional[Tuple[Any, List[Any]]]:
        """The loss and the variables of an operation that trains, where one is among what a run fetches."""
        import tensorflow

        if not self._trained:
            return None
        for fetched in tensorflow.nest.flatten(fetches):
            if isinstance(fetched, (str, bytes)):
                fetched = session.graph.as_graph_element(fetched)
            operation = getattr(fetched, "op", fetched)
            if not hasattr(operation, "control_inputs"):
                continue
            if operation not in self._leads:
                self._leads[operation] = self._trainer_before(operation)
            if self._leads[operation] is not None:
                return self._trained[self._leads[operation]]
        return None

    def _trainer_before(self, operation: Any) -> Any:
        """The operation that trains and that has to run before another one, or is it; None where there is none."""
        pending, seen = [(operation, 0)], set()
        while pending:
            one, depth = pending.pop()
            if one in self._trained:
                return one
            if one not in seen and depth < _DEEP:
                seen.add(one)
                pending.extend((before, depth + 1) for before in one.control_inputs)
        return None

    @guarded
    def _pair(self, session: Any, loss: Any) -> Optional[Pair]:
        """What a loss compares, where that can be fetched along with it."""
        if loss is None:
            return None
        if loss not in self._pairs:
            found = pair_of(loss)
            known = found is not None and all(session.graph.is_fetchable(one) for one in found[:2])
            self._pairs[loss] = found if known else None
        return self._pairs[loss]

    @guarded
    def _compared(self, pair: Pair, values: List[Any], args: Any, kwargs: Any) -> None:
        """Tell of a step's prediction and target, and of what was fed beside the target."""
        fed = args[0] if args else kwargs.get("feed_dict")
        asarray: Any = sys.modules["numpy"].asarray
        inputs = [asarray(value) for key, value in (fed or {}).items() if not comes_from(pair[1], key)]
        self._steps.losses.compared_elsewhere(inputs, values[1], values[0], pair[2])

    @guarded
    def _values(self, run: Any, session: Any, variables: List[Any]) -> Any:
        return run(session, variables) if variables and self._measured < _MEASURED else None

    @guarded
    def _ran(self, run: Any, session: Any, loss: Any, variables: List[Any], before: Any) -> None:
        update = None
        if before is not None:
            update = _tell(variables, before, run(session, variables))
            self._measured += 1
        scalar = loss if loss is not None and getattr(loss, "size", 1) == 1 else getattr(loss, "mean", lambda: None)()
        self._steps.stepped_elsewhere(scalar, update)

    # Functions and tapes

    def _wrap_function(self, original: Any) -> Any:
        """A function that states the types of its inputs converts to them; run eagerly it would not.

        In a graph, as that of `Dataset.map`, it has to be traced: only so are its `if` and `while` on tensors translated.
        """
        import tensorflow

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not tensorflow.executing_eagerly():
                tensorflow.config.run_functions_eagerly(False)
                try:
                    return original(function, *args, **kwargs)
                finally:
                    tensorflow.config.run_functions_eagerly(True)
            converted = self._converted(function, args)
            return original(function, *(args if converted is None else converted), **kwargs)

        return functools.update_wrapper(call, original)

    @guarded
    def _converted(self, function: Any, args: Any) -> Any:
        import numpy
        import tensorflow

        specified = getattr(function, "input_signature", None) or ()
        if not specified or not tensorflow.executing_eagerly():
            return None
        return [
            tensorflow.convert_to_tensor(numpy.asarray(value).astype(spec.dtype.as_numpy_dtype))
            if isinstance(spec, tensorflow.TensorSpec) and not tensorflow.is_tensor(value)
            else value
            for value, spec in zip(args, specified)
        ] + list(args[len(specified) :])

    def _wrap_gradient(self, original: Any) -> Any:
        def gradient(tape: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tape, target, *args, **kwargs)
            self._differentiated(target)
            return result

        return functools.update_wrapper(gradient, original)

    @guarded
    def _differentiated(self, target: Any) -> None:
        if not isinstance(target, (list, tuple, dict)):
            self._steps.losses.differentiated(target)


def _tell(variables: List[Any], before: Any, after: Any) -> Optional[float]:
    """Write which weights moved; gives the norm of the change over the norm of the weights."""
    moved = size = 0.0
    listed = []
    for variable, old, new in zip(variables, before, after):
        change = float(((new.astype("float64") - old) ** 2).sum())
        moved += change
        size += float((old.astype("float64") ** 2).sum())
        listed.append(
            {
                "name": variable.name,
                "shape": [int(each) for each in old.shape],
                "trainable": True,
                "optimized": True,
                "update": change**0.5,
            }
        )
    wire.emit("parameters", parameters=listed)
    return (moved / size) ** 0.5 if size else None
