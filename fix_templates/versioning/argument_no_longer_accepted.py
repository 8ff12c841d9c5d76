"""`SGD(decay=1e-6)`, `compile(lr=0.1)`, `Dense(10, weights=[W, b])`: arguments that Keras 3 no longer accepts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    InsertAfter,
    RemoveArgument,
    SetArgument,
    Source,
    Subject,
    argument_value,
    arithmetic,
    call_arguments,
    changed_calls,
    keras_era,
    spell,
    uses_of,
    words,
)

RATES = {"SGD": "0.01", **dict.fromkeys(("RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"), "0.001")}
"""The default learning rates of optimizers that had a decay (signatures of Keras 3)."""

OPTIMIZERS = {name.lower(): name for name in (*RATES, "AdamW", "Ftrl")}
"""The classes behind the names that `compile` accepts."""

NEGLIGIBLE = 1e-5
"""A decay up to which the learning rate has not halved after 100,000 steps (rate / (1 + decay * step))."""

SETTINGS = {"lr": "learning_rate", "learning_rate": "learning_rate", "momentum": "momentum", "nesterov": "nesterov"}
"""Settings of an optimizer that are passed to `compile`, and the class's names for them."""

ONLY_SOME = {"momentum": ("SGD", "RMSprop"), "nesterov": ("SGD",)}
"""Settings that only these optimizers have."""

ARRAYS = {
    **dict.fromkeys(("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"), ("kernel", "bias")),
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
}
"""By layer, its weights in the order of every version."""

SIDES = {"Conv2D": 2, "Conv2DTranspose": 2, "Conv3D": 3}
"""By layer, the number of sides of its kernel, which Keras 1 on Theano had after the channels."""

OTHERS = words("GRU LSTM SeparableConv1D SeparableConv2D SimpleRNN Conv3DTranspose")
"""Layers that accepted weights as well, in other arrays than today's."""

SIZE_KEYWORDS = ("size", "shape")

Moved = tuple[list[Edit], str]
"""The edits that set it in another way, and the reason if there are none."""


class ArgumentNoLongerAccepted(ApiChange):
    """An optimizer, a layer or `compile` gets an argument that Keras 3 no longer accepts or ignores.

    Keras 1 and 2 divided the learning rate by `1 + decay * step`; Keras 3 ignores `decay` with a warning. The schedule
    `InverseTimeDecay` with one step computes the same. Where the program sets the rate itself during training, which a
    schedule does not allow, a decay without effect within 100,000 steps is removed, and a larger one is declined.

    `compile` accepted any keyword and passed it on; now it raises. A learning rate or momentum moves to the optimizer,
    which becomes an object instead of a name.

    Layers accepted initial weights as `weights=`; Keras 3 knows that of embeddings only. Where the layer is added to a
    model, the weights are set right after; elsewhere each array becomes an initializer. Kernels in Theano's order
    (channels of output and input first, recognized by the number of filters) are transposed. Recurrent layers, whose
    arrays differed, are declined.

    Fix safety: safe for a decay of 0; unsafe otherwise: old versions ignored some settings, a dropped decay was meant,
    and a layer has to be built where its weights are set.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model_training_apis/
    (`compile`), https://keras.io/api/optimizers/learning_rate_schedules/inverse_time_decay/,
    https://keras.io/api/optimizers/, https://keras.io/api/layers/base_layer/#setweights-method,
    https://keras.io/api/layers/initializers/.
    """

    code = "DNF508"
    name = "argument-no-longer-accepted"
    message = "{call} does not accept {argument} since Keras 3.0"
    formerly = (
        "setting-taken-no-more",
        "optimizer-decay",
        "DNF519", "optimizer-setting-in-compile",
        "DNF559", "weights-given-to-layer",
    )  # fmt: skip
    triggers = ("compile", "decay", "weights")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        for call in source.all_calls:
            written = source.written(call.func) or ""
            given = {keyword.arg: keyword for keyword in call.keywords if keyword.arg}
            moved = sorted(given.keys() & SETTINGS.keys(), key=list(given).index)
            if moved and _compiles(source, call):
                said, (edits, decline) = ", ".join(moved), _of_optimizer(subject, call, [given[one] for one in moved])
                what, title = f"compile does not accept {said}; the optimizer does", f"pass {said} to the optimizer"
                yield _hit(source, call, given[moved[0]], what, title, edits, decline)
            name = _today(source, written, "optimizers") if "decay" in given and ".legacy." not in written else ""
            if name in RATES:
                edits, decline = _schedule(subject, call, given["decay"].value, name)
                what = "decay has no effect in Keras 3: the learning rate stays constant"
                title = "write the decay as a schedule" if decline or len(edits) > 1 else "drop the decay"
                zero = isinstance(given["decay"].value, ast.Constant) and given["decay"].value.value == 0
                yield _hit(source, call, given["decay"], what, title, edits, decline, zero)
            layer = _today(source, written, "layers").replace("Convolution", "Conv") if "weights" in given else ""
            if layer in ARRAYS or layer in OTHERS:
                weights = given["weights"].value
                if isinstance(weights, ast.Constant) and not weights.value:
                    continue
                edits, decline = _set_behind(subject, call, weights, layer)
                what = f"{layer} does not accept weights since Keras 3.0; set them on the layer, or use an initializer"
                yield _hit(source, call, given["weights"], what, "set the weights on the layer", edits, decline)

    programs = """
=== example: a small decay under a rate that the program sets itself
from keras.callbacks import ReduceLROnPlateau
from keras.optimizers import SGD

- sgd = SGD(learning_rate=0.01, decay=1e-6)
+ sgd = SGD(learning_rate=0.01)
callbacks = [ReduceLROnPlateau(patience=3)]

=== example: a decay that acts
import keras

model = keras.Sequential([keras.layers.Dense(1)])
- model.compile(optimizer=keras.optimizers.Adam(lr=0.01, decay=0.001), loss="mse")
+ model.compile(optimizer=keras.optimizers.Adam(learning_rate=keras.optimizers.schedules.InverseTimeDecay(0.01, 1, 0.001)), loss="mse")

=== example: a decay spread over the epochs
from tensorflow.keras.optimizers import Adam
+ from tensorflow.keras.optimizers.schedules import InverseTimeDecay

EPOCHS = 10
- optimizer = Adam(1e-3, decay=1e-3 / EPOCHS)
+ optimizer = Adam(InverseTimeDecay(1e-3, 1, 1e-3 / EPOCHS))

=== example: rate of an optimizer that is named
from keras.models import Sequential
from keras.layers import Dense
+ from keras.optimizers import RMSprop

model = Sequential()
model.add(Dense(1, input_dim=3))
- model.compile(loss='mse', optimizer='rmsprop', lr=1e-10)
+ model.compile(loss='mse', optimizer=RMSprop(learning_rate=1e-10))

=== example: rate and momentum, with the library at hand
import keras

net = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
- net.compile("sgd", loss="categorical_crossentropy", learning_rate=0.05, momentum=0.9, metrics=["accuracy"])
+ net.compile(keras.optimizers.SGD(learning_rate=0.05, momentum=0.9), loss="categorical_crossentropy", metrics=["accuracy"])

=== example: an optimizer created in the call
from tensorflow.keras.models import Model
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.optimizers import Adam

RATE = 3e-4
inputs = Input((4,))
classifier = Model(inputs, Dense(1, activation="sigmoid")(inputs))
classifier.compile(
-     optimizer=Adam(),
+     optimizer=Adam(learning_rate=RATE),
    loss="binary_crossentropy",
-     lr=RATE,
)

=== example: a kernel in Theano's order
import numpy as np
from keras import backend as K
from keras.layers import Convolution2D
from keras.models import Sequential

- K.set_image_dim_ordering('th')
+ K.set_image_data_format('channels_first')
model = Sequential()
- model.add(Convolution2D(64, 3, 3, weights=[np.random.normal(0, 0.1, size=(64, 1, 3, 3)), np.zeros(64)],
-                         border_mode='same', input_shape=(1, 32, 32)))
+ model.add(Convolution2D(64, (3, 3),
+                         padding='same', input_shape=(1, 32, 32)))
+ model.layers[-1].set_weights([np.transpose(np.random.normal(0, 0.1, size=(64, 1, 3, 3)), (2, 3, 1, 0)), np.zeros(64)])

=== example: a functional model, and weights under a name
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model, Sequential
+ from keras.initializers import Constant

start = [np.ones((5, 2)), np.zeros(2)]
inputs = Input(shape=(5,))
- x = Dense(2, weights=[np.ones((5, 2)), np.zeros(2)])(inputs)
+ x = Dense(2, kernel_initializer=Constant(np.ones((5, 2))), bias_initializer=Constant(np.zeros(2)))(inputs)
model = Model(inputs, x)
other = Sequential()
- other.add(Dense(2, weights=start, input_shape=(5,)))
- third = Sequential([Dense(2, input_dim=5, weights=start)])
+ other.add(Dense(2, input_shape=(5,)))
+ other.layers[-1].set_weights(start)
+ third = Sequential([Dense(2, input_dim=5, kernel_initializer=Constant(start[0]), bias_initializer=Constant(start[1]))])

=== reject: weight decay is another matter
import keras

optimizer = keras.optimizers.AdamW(learning_rate=0.01, weight_decay=0.004)

=== reject: a function of the program's own
import keras


def schedule(rate, decay):
    return rate * decay


print(schedule(0.1, decay=0.5))
model = keras.Sequential()

=== reject: the rate where it belongs
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.1), loss="mse")

=== reject: a method of the program's own
import keras


class Setup:
    def compile(self, optimizer, loss, lr=0.1):
        self.model = keras.Sequential([keras.layers.Dense(1)])
        self.model.compile(optimizer=keras.optimizers.get(optimizer), loss=loss)


setup = Setup()
setup.compile(optimizer="sgd", loss="mse", lr=0.01)

=== reject: an embedding still accepts them
import numpy as np
from keras.layers import Embedding

layer = Embedding(100, 8, weights=[np.zeros((100, 8))], trainable=False)

=== reject: pretrained networks, and no weights
from keras.applications import VGG16
from keras.layers import Dense

base = VGG16(weights="imagenet", include_top=False)
layer = Dense(3, weights=None)
"""


def _hit(
    source: Source,
    call: ast.Call,
    keyword: ast.keyword,
    what: str,
    title: str,
    edits: list[Edit],
    decline: str,
    safe: bool = False,
) -> Hit:
    return Hit(
        source.site(keyword),
        what,
        title=title,
        edits=() if decline else tuple(edits),
        decline=decline,
        safe=safe,
        removed={"keras": "3.0"},
        within=source.site(call),
    )


def _today(source: Source, written: str, module: str) -> str:
    """The name of today's class, if the name is of this module of Keras; else empty."""
    if not written.removeprefix("tensorflow.").startswith("keras.") or "keras" not in source.frameworks:
        return ""
    target = uses_of(source).target(written)
    name = ((target.today if target is not None else "") or written).removeprefix("tensorflow.")
    return name.rpartition(".")[2] if name.startswith(f"keras.{module}.") else ""


def _compiles(source: Source, call: ast.Call) -> bool:
    """Whether a call is a model's `compile`: it has an optimizer or a loss beside the setting."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "compile":
        return False
    named = bool(call.args) or any(k.arg in ("optimizer", "loss") for k in call.keywords)
    return named and changed_calls.receiver_is(source, function.value, "keras.Model") is not False


def _of_optimizer(subject: Subject, call: ast.Call, given: list[ast.keyword]) -> Moved:
    """Settings of `compile`, moved to the optimizer."""
    source, site = subject.source, subject.source.site(call)
    optimizer = argument_value(call, "optimizer", 0)
    settings = {SETTINGS[str(k.arg)]: source.segment(source.site(k.value)) for k in given}
    gone: list[Edit] = [RemoveArgument(site, str(k.arg)) for k in given]
    if isinstance(optimizer, ast.Constant) and str(optimizer.value).lower() in OPTIMIZERS:
        name = OPTIMIZERS[str(optimizer.value).lower()]
        foreign = [one for one in settings if name not in ONLY_SOME.get(one, (name,))]
        if foreign:
            return [], f"{name} has no {foreign[0]}"
        made = spell(subject, f"keras.optimizers.{name}")
        code = f"{made.code}({', '.join(f'{one}={text}' for one, text in settings.items())})"
        return [SetArgument(site, "optimizer", code, 0 if call.args else None), *gone, *made.imports], ""
    if isinstance(optimizer, ast.Call):
        if optimizer.args or any(k.arg in SETTINGS for k in optimizer.keywords):
            return [], "the optimizer also receives its own settings"
        inner = source.site(optimizer)
        return [*(SetArgument(inner, one, text) for one, text in settings.items()), *gone], ""
    return [], "the optimizer is not created in the call"


def _is_steered(source: Source) -> bool:
    """Whether the program sets the learning rate during training."""
    if not source.words.isdisjoint(("ReduceLROnPlateau", "LearningRateScheduler")):
        return True
    rates = [node for node in uses_of(source).all_attributes() if node.attr in ("lr", "learning_rate")]
    return "set_value" in source.words and bool(rates) or any(isinstance(rate.ctx, ast.Store) for rate in rates)


def _schedule(subject: Subject, call: ast.Call, decay: ast.expr, optimizer: str) -> Moved:
    """A decay as a schedule of the learning rate, or removed where it has hardly any effect."""
    source, site, steered = subject.source, subject.source.site(call), _is_steered(subject.source)
    value = decay.value if isinstance(decay, ast.Constant) else None
    gone = RemoveArgument(site, "decay")
    if isinstance(value, (int, float)) and (value == 0 or steered and value <= NEGLIGIBLE):
        return [gone], ""
    if steered:
        return [], "the program sets the rate itself, which a schedule does not allow"
    rate = next((k for k in call.keywords if k.arg in ("lr", "learning_rate")), None)
    given = rate.value if rate is not None else call.args[0] if call.args else None
    text = source.segment(source.site(given)) if given is not None else RATES[optimizer]
    schedule = spell(subject, "keras.optimizers.schedules.InverseTimeDecay")
    code = f"{schedule.code}({text}, 1, {source.segment(source.site(decay))})"
    name = rate.arg if rate is not None and rate.arg else "learning_rate"
    return [SetArgument(site, name, code, 0), gone, *schedule.imports], ""


def _set_behind(subject: Subject, call: ast.Call, weights: ast.expr, layer: str) -> Moved:
    """A layer's `weights`, set after its statement or by initializers."""
    source = subject.source
    if layer in OTHERS:
        return [], "build the layer, then call set_weights with arrays in today's order"
    if any(keyword.arg in ("init", "kernel_initializer", "gamma_init") for keyword in call.keywords):
        return [], "the layer also receives an initializer"
    arrays = _arrays(source, weights)
    written = source.segment(source.site(weights))
    listed = not isinstance(weights, ast.Name)
    moved = [
        source.segment(source.site(array)) if listed else f"{written}[{place}]" for place, array in enumerate(arrays)
    ]
    as_they_are = list(moved)
    imports: list[Edit] = []
    if layer in SIDES:
        order = _order(source, call, arrays[0], SIDES[layer]) if arrays else ""
        if not order:
            return [], "the order of the axes of the kernel cannot be read"
        if order == "first":
            transposed = spell(subject, "numpy.transpose")
            axes = ", ".join(map(str, (*range(2, 2 + SIDES[layer]), 1, 0)))
            moved[0] = f"{transposed.code}({moved[0]}, ({axes}))"
            imports += transposed.imports
    site = source.site(call)
    removed = RemoveArgument(site, "weights")
    statement = call_arguments.added_by_statement(subject, call)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        owner = source.segment(source.site(function.value)) if isinstance(function, ast.Attribute) else ""
        given = written if moved == as_they_are else f"[{', '.join(moved)}]"
        after = InsertAfter(source.site(statement), f"{owner}.layers[-1].set_weights({given})")
        return [removed, after, *imports], ""
    if not 0 < len(arrays) <= len(ARRAYS[layer]):
        return [], "build the layer, then call set_weights"
    constant = spell(subject, "keras.initializers.Constant")
    names = [f"{name}_initializer" for name in ARRAYS[layer]]
    values = [SetArgument(site, name, f"{constant.code}({code})") for name, code in zip(names, moved, strict=False)]
    return [removed, *values, *imports, *constant.imports], ""


def _arrays(source: Source, weights: ast.expr) -> list[ast.expr]:
    """The arrays of a list that is written out, in the call or in the assignment of its name."""
    bound = source.bindings(weights) if isinstance(weights, ast.Name) else (weights,)
    listed = bound[0] if len(bound) == 1 else None
    return list(listed.elts) if isinstance(listed, (ast.List, ast.Tuple)) else []


def _order(source: Source, call: ast.Call, kernel: ast.expr, sides: int) -> str:
    """Whether a kernel's channels are `first`, as in Theano, or `last`, as today; empty if not known."""
    shape = _shape(source, kernel)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    filters = arithmetic.number(call.args[0] if call.args else given.get("filters", given.get("nb_filter")))
    if len(shape) != sides + 2 or filters is None:
        return ""
    first, last = shape[0] == filters, shape[-1] == filters
    if first == last:
        return ""
    return "last" if last else "first" if keras_era.is_multi_backend(source) else ""


def _shape(source: Source, array: ast.expr) -> Sequence[int | None]:
    """The shape that an array is created with, where it is written out."""
    bound = source.bindings(array) if isinstance(array, ast.Name) else (array,)
    made = bound[0] if len(bound) == 1 else None
    if not isinstance(made, ast.Call):
        return ()
    given = [*made.args, *(k.value for k in made.keywords if k.arg in SIZE_KEYWORDS)]
    shapes = [one for one in given if isinstance(one, (ast.Tuple, ast.List))]
    axes = shapes[0].elts if len(shapes) == 1 else made.args
    return [arithmetic.number(axis) for axis in axes]
