"""Patches Keras, of any version, to catch the program's first training call and to make training deterministic.

Keras is looked for after each import of the program, so that the recorder itself never imports it. Layers that draw
random numbers in training (dropout, noise) pass their input through: what they draw differs between versions, and so
would every loss.
"""

import builtins
import functools
import inspect
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

TRAINING = ("fit", "fit_generator", "train_on_batch")
DROPPING = ("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout", "GaussianDropout",
            "GaussianNoise")  # fmt: skip
RECURRENT = (
    "LSTM",
    "GRU",
    "SimpleRNN",
    "LSTMCell",
    "GRUCell",
    "SimpleRNNCell",
    "ConvLSTM1D",
    "ConvLSTM2D",
    "ConvLSTM3D",
)
RATES = ("dropout", "recurrent_dropout", "dropout_W", "dropout_U")
"""Arguments of recurrent layers, of Keras 2 and later and of Keras 1."""

Taken = Callable[[Any, Any, str, Dict[str, Any]], None]

switched_off: List[str] = []
"""Class names of layers that were made and drop nothing now."""

made: Dict[int, Tuple[int, Any]] = {}
"""The number of each layer in the order in which the program made them, and the layer, by `id`."""

_done: Set[int] = set()
_busy: List[bool] = []


def install(keras_in_text: bool, announce: int, taken: Taken) -> None:
    """Call `taken(keras, model, method, arguments)` at the first training call; a byte on `announce` at the first Keras."""
    original = builtins.__import__
    waiting = [announce]
    depth = [0]

    def importing(name: str, *args: Any, **kwargs: Any) -> Any:
        depth[0] += 1
        try:
            return original(name, *args, **kwargs)
        finally:
            depth[0] -= 1
            if depth[0] == 0 and any(_look(keras, taken) for keras in _keras_modules(keras_in_text)) and waiting:
                os.write(waiting[0], b"r")
                os.close(waiting.pop())

    builtins.__import__ = importing


def _keras_modules(keras_in_text: bool) -> Iterator[Any]:
    own = sys.modules.get("keras")
    if own is not None:
        yield own
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and keras_in_text:
        within = getattr(tensorflow, "keras", None)
        if within is not None:
            yield within


def _look(keras: Any, taken: Taken) -> bool:
    """Put the hooks into one Keras; true where it is there in full."""
    layers, models = getattr(keras, "layers", None), getattr(keras, "models", None)
    if layers is None or models is None or not hasattr(models, "Sequential"):
        return False
    if id(keras) in _done:
        return True
    _done.add(id(keras))
    for owner in (getattr(models, "Model", None), models.Sequential):
        for name in TRAINING:
            definer = next((base for base in getattr(owner, "__mro__", ()) if name in vars(base)), None)
            if definer is not None and not hasattr(vars(definer)[name], "_dnnfix"):
                setattr(definer, name, _stand_in(keras, name, vars(definer)[name], taken))
    _number(getattr(layers, "Layer", None))
    for name in DROPPING:
        _pass_on(getattr(layers, name, None), name)
    for name in RECURRENT:
        _without_rates(getattr(layers, name, None), name)
    return True


def _stand_in(keras: Any, name: str, original: Any, taken: Taken) -> Any:
    parameters = list(inspect.signature(original).parameters)[1:]

    @functools.wraps(original)
    def method(model: Any, *args: Any, **kwargs: Any) -> Any:
        if not _busy:
            _busy.append(True)
            taken(keras, model, name, dict(list(zip(parameters, args)) + list(kwargs.items())))
        return original(model, *args, **kwargs)

    method._dnnfix = True  # type: ignore[attr-defined]
    return method


def _number(layer: Any) -> None:
    """Number layers as they are made: where branches are alike, versions list the layers of a model in other orders."""
    if layer is None:
        return
    original = layer.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made.setdefault(id(self), (len(made), self))
        original(self, *args, **kwargs)

    _put_init(layer, init, original)


def _put_init(layer: Any, init: Any, original: Any) -> None:
    init.__signature__ = inspect.signature(original)  # Keras 3 reads arguments there
    layer.__init__ = init


def _pass_on(layer: Any, name: str) -> None:
    if layer is None or "call" not in dir(layer):
        return

    def call(self: Any, inputs: Any, training: Any = None) -> Any:
        switched_off.append(name)
        return inputs

    def keras_1(self: Any, x: Any, mask: Any = None) -> Any:
        switched_off.append(name)
        return x

    layer.call = keras_1 if _takes_mask_only(layer.call) else call


def _takes_mask_only(call: Any) -> bool:
    """Whether a layer is one of Keras 1: its `call` takes `x` and `mask`, and Keras reads that off its signature."""
    names: Tuple[str, ...] = tuple(inspect.signature(call).parameters)
    return names[1:] == ("x", "mask")


def _without_rates(layer: Any, name: str) -> None:
    if layer is None:
        return
    original = layer.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for rate in RATES:
            if kwargs.get(rate):
                kwargs[rate] = 0.0
                switched_off.append("%s of %s" % (rate, name))
        original(self, *args, **kwargs)

    _put_init(layer, init, original)
