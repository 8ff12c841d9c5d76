"""A number is given a name that nobody reads, and the call that it is for goes on without it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    function_around,
    within,
    words,
)

EPOCHS = words(
    "epochs epoch nb_epoch nb_epochs num_epochs num_epoch n_epochs n_epoch max_epochs no_epochs no_of_epochs"
)
BATCH = words("batch_size batchsize")
RATE = words("lr learning_rate")
OF_FIT = ("fit", "fit_generator")
MODELS = tuple(
    f"{keras}.{where}"
    for keras in ("keras", "tensorflow.keras")
    for where in ("models.", "applications.", "Model", "Sequential")
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that is never read: how its name is written and in small letters, where it is bound, and its value."""

    text: str
    name: str
    bound: ast.Assign
    value: float


@dataclass(frozen=True, slots=True)
class NotGiven:
    """A setting with the one call that goes without it, or the number that stands in its place."""

    setting: Setting
    call: ast.Call
    parameter: str
    instead: ast.expr | None


class ConstantNotHandedOn(FaultTemplate[NotGiven]):
    """`epochs = 20` stands at the top of a program, and `fit` is called without it: the training has one epoch.

    Reported where a setting is given a value and never read, and there is just one call that has a parameter of that
    name and is not given it: of a function or class of the program, or the `fit` of Keras. A number that stands in the
    setting's place counts only for epochs, and where it is the smaller one.

    Fix safety: unsafe. The program trains with the setting that it states.

    References: keras.Model.fit ("epochs", "batch_size").
    """

    code = "DNF711"
    name = "constant-not-handed-on"
    family = Family.TRAINING
    fix_pattern = FixPattern.ITERATIONS
    message = "`{setting}` is set and never read, and `{call}` goes without it{instead}"
    declined = "the call takes its arguments from elsewhere"

    def faults(self, subject: Subject) -> Faults[NotGiven]:
        source = subject.source
        if not source.frameworks or source.beside:
            return
        for setting in _constants(source):
            calls = [found for call in source.all_calls if (found := _lacks(source, call, setting)) is not None]
            if len(calls) == 1:
                yield source.site(calls[0].call), calls[0]

    def report(self, site: Site, fault: NotGiven) -> Finding:
        instead = f": {ast.unparse(fault.instead)} stands in its place" if fault.instead is not None else ""
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.8,
            setting=fault.setting.text,
            call=ast.unparse(fault.call.func),
            instead=instead,
        )

    def repairs(self, subject: Subject, fault: NotGiven) -> Repairs:
        site = subject.source.site
        text = fault.setting.text
        edit: Edit = SetArgument(site(fault.call), fault.parameter, text)
        if fault.instead is not None:
            edit = Replace(site(fault.instead), text)
        yield f"Hand `{text}` on", (edit,), 0.8

    examples = (
        Example(
            "a number stands in its place",
            """\
import keras

batch_size = 32
nb_epoch = 20

model = keras.Sequential([keras.layers.Dense(2)])
model.compile('sgd', 'mse')
- model.fit(x, y, batch_size=batch_size, epochs=1)
+ model.fit(x, y, batch_size=batch_size, epochs=nb_epoch)
""",
        ),
        Example(
            "fit has one epoch by itself",
            """\
from tensorflow.keras.models import Sequential

EPOCHS = 50
model = Sequential(layers)
model.compile(optimizer='adam', loss='mse')
- history = model.fit(x_train, y_train, validation_data=(x_test, y_test))
+ history = model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=EPOCHS)
""",
        ),
        Example(
            "a constant that a function of the program has a parameter for",
            """\
import torch

hidden_size = 64


def build(inputs, hidden_size=8):
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden_size), torch.nn.Linear(hidden_size, 1))


- net = build(4)
+ net = build(4, hidden_size=hidden_size)
""",
        ),
    )
    rejects = (
        Reject(
            "the setting is read",
            """\
import keras

epochs = 20
model = keras.Sequential(layers)
for epoch in range(epochs):
    model.fit(x, y, epochs=1)
""",
        ),
        Reject(
            "two trainings with numbers of their own",
            """\
import keras

epochs = 20
model = keras.Sequential(layers)
model.fit(x, y, epochs=5)
model.fit(z, y, epochs=10)
""",
        ),
        Reject(
            "what is fitted makes pictures",
            """\
from keras.preprocessing.image import ImageDataGenerator

nb_epoch = 200
datagen = ImageDataGenerator(featurewise_center=True)
datagen.fit(x_train)
""",
        ),
        Reject(
            "more epochs than the setting says",
            """\
import keras

EPOCHS = 5
model = keras.Sequential(layers)
model.fit(x, y, epochs=100)
""",
        ),
        Reject(
            "the parameter has this value by itself",
            """\
import torch

hidden_size = 8


def build(inputs, hidden_size=8):
    return torch.nn.Linear(inputs, hidden_size)


net = build(4)
""",
        ),
        Reject(
            "it is read by its name",
            """\
import torch

hidden_size = 64

def build(inputs, hidden_size=8):
    return torch.nn.Linear(inputs, hidden_size)

config = {k: globals()[k] for k in ("hidden_size",)}
net = build(4)
""",
        ),
    )


def _constants(source: Source) -> Iterator[Setting]:
    """The names at the top of the program that are given a number once and are read nowhere."""
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
    """Whether a name may be the one at the top of the program: no function around it has a parameter of that name."""
    around = function_around(source, read)
    while around is not None:
        if read.id in {each.arg for each in within(around.args, ast.arg)}:
            return False
        around = function_around(source, around)
    return True


def _lacks(source: Source, call: ast.Call, setting: Setting) -> NotGiven | None:
    """The call with the parameter that the setting is for, where the call is not given it."""
    if any(isinstance(given, ast.Starred) for given in call.args) or any(k.arg is None for k in call.keywords):
        return None
    if call.lineno <= setting.bound.lineno:
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr in OF_FIT:
        return _fit(source, call, setting)
    return _own(source, call, setting)


def _fit(source: Source, call: ast.Call, setting: Setting) -> NotGiven | None:
    """A `fit` of Keras that goes without the setting."""
    if "keras" not in source.frameworks or _fits_otherwise(source, call):
        return None
    name = "epochs" if setting.name in EPOCHS else "batch_size" if setting.name in BATCH else ""
    if not name or setting.value != int(setting.value) or setting.value < 1:
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg in (name, "nb_epoch")), None)
    if given is not None:
        smaller = isinstance(given, ast.Constant) and isinstance(given.value, int) and given.value < setting.value
        return NotGiven(setting, call, name, given) if smaller and name == "epochs" else None
    if name == "batch_size" and (len(call.args) < 2 or call.func.attr != "fit"):  # type: ignore[attr-defined]
        return None
    return NotGiven(setting, call, name, None) if len(call.args) <= 2 else None


def _fits_otherwise(source: Source, call: ast.Call) -> bool:
    """Whether what is fitted is a scaler, a search, a data generator or another thing without epochs."""
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    name = source.qualified(made.func) if made is not None else None
    if name is not None:
        return not name.startswith(MODELS)
    if not isinstance(call.func, ast.Attribute) or not re.search("model|net", ast.unparse(call.func.value).lower()):
        return True
    return len(call.args) + sum(keyword.arg in ("x", "y") for keyword in call.keywords) < 2 and not any(
        keyword.arg in ("validation_data", "validation_split", "verbose", "batch_size") for keyword in call.keywords
    )


def _own(source: Source, call: ast.Call, setting: Setting) -> NotGiven | None:
    """A call of a function or class of the program that leaves out its parameter of the setting's name."""
    definition = source.definition(call.func)
    if isinstance(definition, ast.ClassDef):
        made = [n for n in definition.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if len(made) != 1:
            return None
        arguments, taken = made[0].args, 1
    elif isinstance(definition, ast.FunctionDef) and isinstance(call.func, ast.Name):
        arguments, taken = definition.args, 0
    else:
        return None
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)][taken:]
    given = {*positional[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    last = len(arguments.defaults)
    optional = [*(positional[-last:] if last else []), *(each.arg for each in arguments.kwonlyargs)]
    meant = [name for name in optional if name.lower() == setting.name]
    if len(meant) != 1 or meant[0] in given or _default(arguments, meant[0]) == setting.value:
        return None
    return NotGiven(setting, call, meant[0], None)


def _default(arguments: ast.arguments, name: str) -> object:
    """The plain value that a parameter has by itself; `None` where it is not written out."""
    every = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(every), reversed(arguments.defaults), strict=False)]
    pairs += [(each, value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    value = next((value for each, value in pairs if each.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None
