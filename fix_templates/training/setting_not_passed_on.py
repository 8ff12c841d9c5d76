"""A setting or a callback is created and never used, and the one call that it is for lacks it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    function_around,
    graph,
    progress_figures,
    training_loop,
    within,
    words,
)

EPOCHS = words(
    "epochs epoch nb_epoch nb_epochs num_epochs num_epoch n_epochs n_epoch max_epochs no_epochs no_of_epochs"
)
BATCH = words("batch_size batchsize")
OF_FIT = ("fit", "fit_generator")
MODELS = tuple(
    f"{keras}.{where}"
    for keras in ("keras", "tensorflow.keras")
    for where in ("models.", "applications.", "Model", "Sequential")
)
CALLBACKS = ("keras.callbacks.", "tensorflow.keras.callbacks.")
OF_CALLBACK = frozenset({"set_model", "set_params"})
_BY_NAME = frozenset({"getattr", "vars", "locals", "asdict", "__dict__", "save_hyperparameters", "get_params", "eval"})
"""Words of programs that may read their settings by name."""


class SettingNotPassedOn(ReadTemplate):
    """A setting has a value that is never read, and the one call that could use it is made without it.

    `epochs = 20` at the top of a program does nothing where `fit` is called without it: the training runs one epoch. A
    parameter such as `dropout` of a model does nothing where the model creates its network without it. A callback does
    nothing until it is in the `callbacks` of `fit`, even after `set_model`.

    Reported where the setting is never read, exactly one call has a parameter of that name and lacks it, and the value
    differs from the default. A number written in its stead counts only for epochs, and only where it is smaller. A
    callback counts where the program calls its `set_model` or `set_params` and nothing else.

    Fix safety: unsafe. The setting takes effect, which is the point; a callback may end the training earlier.

    References: keras.Model.fit ("epochs", "batch_size", "callbacks"); the reference of Python on calls ("default
    parameter value").
    """

    code = "DNF711"
    name = "setting-not-passed-on"
    message = "a setting has no effect: {what}"
    confidence = 0.85
    formerly = ("setting-not-handed-on", "constant-not-handed-on", "DNF423", "DNF713", "callback-not-handed-over")
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    declined = "the call gets its arguments from elsewhere"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not source.frameworks:
            return
        if not source.beside:
            yield from _constants(source)
            yield from _callbacks(source)
        if _BY_NAME.isdisjoint(source.words):
            yield from _parameters(source)

    programs = """
=== example: a literal instead of it
import keras

batch_size = 32
nb_epoch = 20

model = keras.Sequential([keras.layers.Dense(2)])
model.compile('sgd', 'mse')
- model.fit(x, y, batch_size=batch_size, epochs=1)
+ model.fit(x, y, batch_size=batch_size, epochs=nb_epoch)

=== example: fit has one epoch by itself
from tensorflow.keras.models import Sequential

EPOCHS = 50
model = Sequential(layers)
model.compile(optimizer='adam', loss='mse')
- history = model.fit(x_train, y_train, validation_data=(x_test, y_test))
+ history = model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=EPOCHS)

=== example: a constant that a function of the program has a parameter for
import torch

hidden_size = 64


def build(inputs, hidden_size=8):
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden_size), torch.nn.Linear(hidden_size, 1))


- net = build(4)
+ net = build(4, hidden_size=hidden_size)

=== example: a function that builds a model out of another
from keras import layers, models

def block(x, filters, normalize=False):
    x = layers.Conv2D(filters, 3, padding="same")(x)
    return layers.BatchNormalization()(x) if normalize else x

def build(shape, normalize=True):
    inputs = layers.Input(shape)
-     x = block(inputs, 8)
+     x = block(inputs, 8, normalize=normalize)
    return models.Model(inputs, layers.Flatten()(x))

=== example: a setting that another method of the model needs
import torch

def network(inputs, outputs, hidden=32):
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))

class Agent:
    def __init__(self, states, actions, hidden):
        self.states, self.actions = states, actions
        self.hidden = hidden
        self.reset()

    def reset(self):
-         self.net = network(self.states, self.actions)
+         self.net = network(self.states, self.actions, hidden=self.hidden)

agent = Agent(4, 2, hidden=128)

=== example: its model is set by hand
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile('adam', 'mse')
logger = keras.callbacks.CSVLogger('log.csv')
logger.set_model(model)
- model.fit(x, y, epochs=4)
+ model.fit(x, y, epochs=4, callbacks=[logger])

=== example: two of them
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint

def train(model, x, y):
    stop = EarlyStopping(monitor='val_loss', patience=3)
    stop.set_model(model)
    best = ModelCheckpoint('best.keras', save_best_only=True)
    best.set_model(model)
-     return model.fit(x, y, validation_split=0.2, epochs=100)
+     return model.fit(x, y, validation_split=0.2, epochs=100, callbacks=[stop, best])

=== reject: the setting is read
import keras

epochs = 20
model = keras.Sequential(layers)
for epoch in range(epochs):
    model.fit(x, y, epochs=1)

=== reject: two trainings with numbers of their own
import keras

epochs = 20
model = keras.Sequential(layers)
model.fit(x, y, epochs=5)
model.fit(z, y, epochs=10)

=== reject: what is fitted makes pictures
from keras.preprocessing.image import ImageDataGenerator

nb_epoch = 200
datagen = ImageDataGenerator(featurewise_center=True)
datagen.fit(x_train)

=== reject: more epochs than the setting says
import keras

EPOCHS = 5
model = keras.Sequential(layers)
model.fit(x, y, epochs=100)

=== reject: the parameter has this value by itself
import torch

hidden_size = 8


def build(inputs, hidden_size=8):
    return torch.nn.Linear(inputs, hidden_size)


net = build(4)

=== reject: it is read by its name
import torch

hidden_size = 64

def build(inputs, hidden_size=8):
    return torch.nn.Linear(inputs, hidden_size)

config = {k: globals()[k] for k in ("hidden_size",)}
net = build(4)

=== reject: a setting that is read, and one that the network does not know
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, size, dropout=0.0):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.dropout = nn.Dropout(dropout)

class Model:
    def __init__(self, size, dropout=0.2, name="model"):
        self.dropout = dropout
        self.name = name
        self.net = Net(size)

    def describe(self):
        return self.dropout

=== reject: the same default at both places, and an argument of an interface
import torch

def step(x, scale=1.0, training=False):
    return x * scale if training else x

class Net(torch.nn.Module):
    def forward(self, x, scale=1.0):
        return step(x)

=== reject: put aside
from keras.callbacks import EarlyStopping, ReduceLROnPlateau

slower = ReduceLROnPlateau(patience=2)
callbacks_list = [EarlyStopping(patience=3), slower]
model.fit(x, y, epochs=10)

=== reject: the training has callbacks of its own
from keras.callbacks import EarlyStopping, History

stop = EarlyStopping(patience=3)
history = History()
model.fit(x, y, callbacks=[history])

=== reject: called by the program's own loop
from keras.callbacks import TensorBoard

board = TensorBoard('logs')
board.set_model(model)
for epoch in range(3):
    model.fit(x, y, epochs=1)
    board.on_epoch_end(epoch, {})

=== reject: two trainings
from keras.callbacks import EarlyStopping

stop = EarlyStopping(patience=3)
model.fit(x, y)
other.fit(x, y)
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that is never read: its name as written and in lower case, its assignment, and its value."""

    text: str
    name: str
    bound: ast.Assign
    value: float


def _constants(source: Source) -> Iterator[Fault]:
    """Numbers at module level that are never read, each with the one call that lacks it."""
    for setting in _unread_constants(source):
        calls = [found for call in source.all_calls if (found := _lacks(source, call, setting)) is not None]
        if len(calls) == 1:
            call, parameter, instead = calls[0]
            edit: Edit = SetArgument(source.site(call), parameter, setting.text)
            if instead is not None:
                edit = Replace(source.site(instead), setting.text)
            called = f"`{ast.unparse(call.func)}` is called {'without it' if instead is None else f'with {ast.unparse(instead)}'}"
            what = f"`{setting.text}` is assigned and never read, and {called}"
            yield Fault.with_repair(source.site(call), what, f"Pass `{setting.text}`", edit, prior=0.8)


def _unread_constants(source: Source) -> Iterator[Setting]:
    """The module-level names that are assigned a number once and are never read."""
    if not {"globals", "locals", "vars", "eval", "exec", "__all__"}.isdisjoint(source.words):
        return
    found: dict[str, Setting] = {}
    for statement in source.tree.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            continue
        value = statement.value.value if isinstance(statement.value, ast.Constant) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and len(source.bindings(target)) == 1:
            found[target.id] = Setting(target.id, target.id.lower(), statement, float(value))
    for node in source.nodes(ast.Name):
        if node.id in found and not isinstance(node.ctx, ast.Store) and _at_top(source, node):
            del found[node.id]
    yield from found.values()


def _at_top(source: Source, read: ast.Name) -> bool:
    """Whether a name may be the module-level one: it is not a parameter of a function around it."""
    around = function_around(source, read)
    while around is not None:
        if read.id in {each.arg for each in within(around.args, ast.arg)}:
            return False
        around = function_around(source, around)
    return True


_Lacking = tuple[ast.Call, str, ast.expr | None]
"""A call, its parameter for the setting, and the number that is written instead, if any."""


def _lacks(source: Source, call: ast.Call, setting: Setting) -> _Lacking | None:
    """The call with its parameter for the setting, where it lacks it."""
    if any(isinstance(given, ast.Starred) for given in call.args) or any(k.arg is None for k in call.keywords):
        return None
    if call.lineno <= setting.bound.lineno:
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr in OF_FIT:
        return _fit(source, call, setting)
    function = _callee(source, call)
    if function is None or (isinstance(source.definition(call.func), ast.FunctionDef) and not _is_named(call)):
        return None
    settings = list(_settings(function))
    given = {*(name for name, _ in settings[: len(call.args)]), *(keyword.arg for keyword in call.keywords)}
    meant = [(name, own) for name, own in settings if own is not None and name.lower() == setting.name]
    if len(meant) != 1 or meant[0][0] in given:
        return None
    own = meant[0][1]
    same = isinstance(own, ast.Constant) and own.value == setting.value
    return None if same else (call, meant[0][0], None)


def _is_named(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name)


def _fit(source: Source, call: ast.Call, setting: Setting) -> _Lacking | None:
    """A call of Keras's `fit` that lacks the setting."""
    if "keras" not in source.frameworks or _fits_otherwise(source, call):
        return None
    name = "epochs" if setting.name in EPOCHS else "batch_size" if setting.name in BATCH else ""
    if not name or setting.value != int(setting.value) or setting.value < 1:
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg in (name, "nb_epoch")), None)
    if given is not None:
        smaller = isinstance(given, ast.Constant) and isinstance(given.value, int) and given.value < setting.value
        return (call, name, given) if smaller and name == "epochs" else None
    if name == "batch_size" and (len(call.args) < 2 or progress_figures.name_of(call.func) != "fit"):
        return None
    return (call, name, None) if len(call.args) <= 2 else None


def _fits_otherwise(source: Source, call: ast.Call) -> bool:
    """Whether the object is a scaler, a search, a data generator or another object whose `fit` has no epochs."""
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    name = source.qualified(made.func) if made is not None else None
    if name is not None:
        return not name.startswith(MODELS)
    if not isinstance(call.func, ast.Attribute) or not re.search("model|net", ast.unparse(call.func.value).lower()):
        return True
    return len(call.args) + sum(keyword.arg in ("x", "y") for keyword in call.keywords) < 2 and not any(
        keyword.arg in ("validation_data", "validation_split", "verbose", "batch_size") for keyword in call.keywords
    )


def _parameters(source: Source) -> Iterator[Fault]:
    """Parameters that are never read, each with the one call in scope that lacks it."""
    functions = [each for each in source.nodes(ast.FunctionDef) if _is_plain(each)]
    taken = Counter(setting for each in functions for setting, default in _settings(each) if default is not None)
    for function in functions:
        for setting, default in _settings(function):
            if taken[setting] == (default is not None):
                continue  # no other function could take it
            calls = [
                (call, text)
                for where, text in _unread(source, function, setting)
                for call in within(where, ast.Call)
                if source.enclosing(call, ast.FunctionDef) is where and _could_take(source, call, setting)
            ]
            if len(calls) == 1 and _differs(source, function, calls[0][0], setting, default):
                site, callee = source.site(calls[0][0]), ast.unparse(calls[0][0].func)
                what = f"the parameter `{setting}` is never read, and `{callee}`, which has a parameter of that name, is called without it"
                edit = SetArgument(site, setting, calls[0][1])
                yield Fault.with_repair(site, what, f"Pass `{setting}` on", edit, prior=0.85)


def _is_plain(function: ast.FunctionDef) -> bool:
    return function.args.kwarg is None and not function.decorator_list


def _settings(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters of a function with their defaults."""
    taken = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(taken) - len(function.args.defaults)) + list(function.args.defaults)
    for parameter, default in zip(taken, defaults, strict=True):
        if parameter.arg != "self":
            yield parameter.arg, default
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        yield parameter.arg, default


def _unread(source: Source, function: ast.FunctionDef, setting: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions in which a parameter that is never read is in scope, with the expression for it there."""
    named = [node for node in within(function, ast.Name) if node.id == setting]
    owner = source.parent(function)
    if not named:
        yield function, setting
        return
    stored = source.parent(named[0])
    if len(named) != 1 or not isinstance(owner, ast.ClassDef) or not isinstance(stored, ast.Assign):
        return
    target = stored.targets[0]
    if not isinstance(target, ast.Attribute) or stored.value is not named[0] or target.attr != setting:
        return
    if any(isinstance(node.ctx, ast.Load) for node in source.nodes(ast.Attribute) if node.attr == setting):
        return
    yield function, setting
    for other in owner.body:
        if isinstance(other, ast.FunctionDef) and other is not function:
            yield other, f"self.{setting}"


def _could_take(source: Source, call: ast.Call, setting: str) -> bool:
    """Whether a function or class of the program is called that has the setting, with a default, without passing it."""
    taken = _callee(source, call)
    if taken is None or not _is_plain(taken) or any(isinstance(given, ast.Starred) for given in call.args):
        return False
    if any(keyword.arg in (None, setting) for keyword in call.keywords):
        return False
    known = dict(_settings(taken))
    if known.get(setting) is None or len(call.args) > list(known).index(setting):
        return False
    return any(node.id == setting for node in within(taken, ast.Name))


def _callee(source: Source, call: ast.Call) -> ast.FunctionDef | None:
    definition = source.definition(call.func)
    if isinstance(definition, ast.ClassDef):
        found = graph.method(definition, "__init__")
        return found if isinstance(found, ast.FunctionDef) else None
    return definition if isinstance(definition, ast.FunctionDef) else None


def _differs(
    source: Source, function: ast.FunctionDef, lacking: ast.Call, setting: str, default: ast.expr | None
) -> bool:
    """Whether the setting has another value than the default of the function that is called."""
    taken = _callee(source, lacking)
    if taken is None or taken is function:
        return False
    own = dict(_settings(taken))[setting]
    if default is not None and own is not None and ast.dump(own) != ast.dump(default):
        return not (isinstance(default, ast.Constant) and default.value is None)
    return any(
        keyword.arg == setting and own is not None and ast.dump(keyword.value) != ast.dump(own)
        for call in source.all_calls
        if _callee(source, call) is function
        for keyword in call.keywords
    )


def _callbacks(source: Source) -> Iterator[Fault]:
    """Callbacks of Keras that get their model by `set_model`, in a program whose one `fit` has no callbacks."""
    if "keras" not in source.frameworks or "callbacks" not in source.words:
        return
    fits = [call for call in training_loop.method_calls(source, *OF_FIT) if not _is_of_others(source, call)]
    if len(fits) != 1 or len(fits[0].args) > 5 or any(k.arg in ("callbacks", None) for k in fits[0].keywords):
        return
    found = [(name, made) for name, made in _only_told(source) if _reaches(source, made, fits[0])]
    if found:
        given = f"[{', '.join(name for name, _ in found)}]"
        names = ", ".join(f"`{name}`" for name, _ in found)
        what = f"{names} is created and not passed to fit"
        edit = SetArgument(source.site(fits[0]), "callbacks", given)
        yield Fault.with_repair(
            source.site(found[0][1]), what, f"Pass callbacks={given} to the training", edit, prior=0.85
        )


def _only_told(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """The names of callbacks on which only `set_model` and `set_params` are called, with their values."""
    for statement in source.nodes(ast.Assign):
        target, value = statement.targets[0], statement.value
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            continue
        made = value if isinstance(value, ast.Call) else source.constructor(value)
        name = (source.qualified(made.func) or "") if made is not None else ""
        if not name.startswith(CALLBACKS) or name.endswith(("History", "LambdaCallback")):
            continue
        uses = [n for n in source.nodes(ast.Name) if n.id == target.id and not isinstance(n.ctx, ast.Store)]
        above = [source.parent(node) for node in uses]
        told = all(isinstance(each, ast.Attribute) and each.attr in OF_CALLBACK for each in above)
        if uses and told and len(source.bindings(target)) == 1:
            yield target.id, value


def _is_of_others(source: Source, call: ast.Call) -> bool:
    """Whether a `fit` is known to belong to another library, such as a scaler's."""
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    name = source.qualified(made.func) if made is not None else None
    return name is not None and not name.startswith(("keras.", "tensorflow."))


def _reaches(source: Source, made: ast.expr, fit: ast.Call) -> bool:
    """Whether the name that holds a value is in scope where `fit` is called."""
    own = source.enclosing(made, ast.FunctionDef)
    return made.lineno < fit.lineno and (own is None or own is source.enclosing(fit, ast.FunctionDef))
