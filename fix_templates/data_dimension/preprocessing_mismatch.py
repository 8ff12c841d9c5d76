"""Data for evaluation is preprocessed with other settings than the training data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    keyword_value,
    training_loop,
    within,
    words,
)

OF_FORM = words("""color_mode colour_mode channels_order channel_order padding truncating interpolation normalize
    normalization mean std scale rescale grayscale""")
"""Parameters that change what a value means, and should not differ between training and evaluation."""

GENERATOR = "ImageDataGenerator"
NORMALIZE = ("torchvision.transforms.Normalize", "torchvision.transforms.transforms.Normalize")

TRAINING = words("fit train_on_batch fit_generator")
USING = words("predict evaluate predict_on_batch test_on_batch predict_generator evaluate_generator predict_classes")

TRAIN = re.compile(r"(^|_)(train|training)(_|$|ing)", re.IGNORECASE)
TEST = re.compile(r"(^|_)(test|testing|val|valid|validation|eval)(_|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The call that preprocesses data for evaluation, the parameter, its training value, and its own value, if any."""

    call: ast.Call
    parameter: str
    wanted: str
    given: ast.expr | None


class PreprocessingMismatch(FaultTemplate[Otherwise]):
    """Data for evaluation is preprocessed with another colour order, scale, mean or padding than the training data.

    The predictions are wrong, since the network was trained on other values. Reported where one function preprocesses
    both, and a parameter that decides what the values mean differs: in two calls on arrays, in two
    `ImageDataGenerator`, or in two `Normalize` whose names say what they are for.

    Fix safety: unsafe. The data for evaluation is preprocessed like the training data.

    References: keras.preprocessing.image.ImageDataGenerator ("rescale"); torchvision.transforms.Normalize.
    """

    code = "DNF160"
    name = "preprocessing-mismatch"
    formerly = ("data-prepared-otherwise",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 8
    message = "the training data is preprocessed with {parameter}={wanted}, and this data is not"
    declined = "the setting for the training data is not a plain value"

    def faults(self, subject: Subject) -> Faults[Otherwise]:
        source = subject.source
        if not source.frameworks:
            return
        for found in (*_arrays(source), *_generators(source), *_normalized(source)):
            yield source.site(found.call), found

    def report(self, site: Site, fault: Otherwise) -> Finding:
        return self.finding(
            site, symptom=Symptom.VIOLATION, confidence=0.85, parameter=fault.parameter, wanted=fault.wanted
        )

    def repairs(self, subject: Subject, fault: Otherwise) -> Repairs:
        site = subject.source.site
        if fault.given is not None:
            yield f"Use {fault.wanted} here too", (Replace(site(fault.given), fault.wanted),), 0.85
        else:
            edit = SetArgument(site(fault.call), fault.parameter, fault.wanted)
            yield f"Use {fault.parameter}={fault.wanted} here too", (edit,), 0.85

    programs = """
=== example: the colours in another order
import keras
import numpy as np

def batch_of(pictures, color_mode="rgb"):
    batch = np.stack(pictures)
    return batch[..., ::-1] if color_mode == "bgr" else batch

x = batch_of(pictures)
model.fit(x, y, epochs=5)
- new = batch_of(others, color_mode="bgr")
+ new = batch_of(others, color_mode="rgb")
print(model.predict(new))

=== example: scaled for training alone
from tensorflow.keras.preprocessing.image import ImageDataGenerator

train_datagen = ImageDataGenerator(rescale=1./255, horizontal_flip=True)
- test_datagen = ImageDataGenerator()
+ test_datagen = ImageDataGenerator(rescale=1./255)
model.fit(train_datagen.flow_from_directory('train'), validation_data=test_datagen.flow_from_directory('test'))

=== example: another mean and deviation
import torch
from torchvision import transforms

train_transform = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])
test_transform = transforms.Compose([
    transforms.ToTensor(),
-     transforms.Normalize((0.1307,), (0.3081,)),
+     transforms.Normalize((0.5,), (0.5,)),
])

=== example: padded on the other side
from keras.utils import pad_sequences

x_train = pad_sequences(train_words, maxlen=40, padding='post')
model.fit(x_train, y_train)
- x_test = pad_sequences(test_words, maxlen=40)
+ x_test = pad_sequences(test_words, maxlen=40, padding='post')
print(model.evaluate(x_test, y_test))

=== reject: prepared alike, augmented in training
import keras

def batch_of(pictures, color_mode="rgb", augment=False):
    return pictures

model.fit(batch_of(pictures, augment=True), y)
print(model.predict(batch_of(others)))

=== reject: inputs and targets padded on different sides
from keras.utils import pad_sequences

sources = pad_sequences(a, padding='pre')
targets = pad_sequences(b, padding='post')
model.fit([sources, targets], y)
x_test = pad_sequences(c, padding='post')
print(model.predict([sources, x_test]))

=== reject: the same statistics, written alike
import torch
from torchvision import transforms

train_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
test_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, ), (0.5, ))])
"""


def _arrays(source: Source) -> Iterator[Otherwise]:
    """Calls of one function, one for training data and one for evaluation, that differ in such a parameter."""
    fitted = _prepared(source, TRAINING)
    used = _prepared(source, USING)
    for call in used:
        if call in fitted:
            continue
        same = [each for each in fitted if ast.unparse(each.func) == ast.unparse(call.func)]
        if len(same) != 1:
            continue
        for parameter in sorted(OF_FORM):
            first, second = keyword_value(same[0], parameter), keyword_value(call, parameter)
            default = _default(source, call, parameter)
            wanted = first or default
            if wanted is None or ast.dump(wanted) == ast.dump(second or default or wanted):
                continue
            if isinstance(wanted, ast.Constant) and isinstance(second or default, ast.Constant):
                yield Otherwise(call, parameter, _text(source, wanted), second)


def _text(source: Source, value: ast.expr) -> str:
    """A value as written in the program, if it is."""
    return source.segment(source.site(value)) if hasattr(value, "lineno") else ast.unparse(value)


def _prepared(source: Source, methods: frozenset[str]) -> list[ast.Call]:
    """The calls whose results are the first argument of these methods, directly or through a name."""
    found = []
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in methods or not call.args:
            continue
        given = call.args[0]
        values = [given] if isinstance(given, ast.Call) else source.bindings(given, call) or source.bindings(given)
        if len(values) == 1 and isinstance(values[0], ast.Call) and not training_loop.loops_around(source, values[0]):
            found.append(values[0])
    return found


def _default(source: Source, call: ast.Call, parameter: str) -> ast.expr | None:
    """The default of the parameter in a function of the program, or in the padding of Keras."""
    name = source.qualified(call.func) or ""
    if name.endswith(".pad_sequences") and parameter in ("padding", "truncating"):
        return ast.Constant("pre")
    function = source.definition(call.func)
    if not isinstance(function, ast.FunctionDef):
        return None
    every, defaults = function.args.args, function.args.defaults
    pairs = dict(zip([each.arg for each in every[len(every) - len(defaults) :]], defaults, strict=True))
    place = [each.arg for each in every].index(parameter) if parameter in pairs else len(call.args)
    return pairs.get(parameter) if place >= len(call.args) else None


def _generators(source: Source) -> Iterator[Otherwise]:
    """Image generators for evaluation that do not rescale, while the one for training does."""
    if GENERATOR not in source.words:
        return
    made = [(name, value) for name, value in _named(source) if ast.unparse(value.func).rpartition(".")[2] == GENERATOR]
    train = [value for name, value in made if TRAIN.search(name) and not TEST.search(name)]
    if len(train) != 1 or any(keyword.arg is None for _, value in made for keyword in value.keywords):
        return
    scale = keyword_value(train[0], "rescale")
    for name, value in made:
        if scale is None or not TEST.search(name) or TRAIN.search(name):
            continue
        if not value.keywords and not value.args and "preprocessing_function" not in source.words:
            yield Otherwise(value, "rescale", source.segment(source.site(scale)), None)


def _normalized(source: Source) -> Iterator[Otherwise]:
    """A `Normalize` for evaluation with other numbers than the one for training."""
    if "Normalize" not in source.words:
        return
    found: dict[str, list[ast.Call]] = {"train": [], "test": []}
    normalizing = list(source.calls(*NORMALIZE))
    for call in normalizing:
        holder = source.statement_of(call)
        names = [ast.unparse(each) for each in holder.targets] if isinstance(holder, ast.Assign) else []
        if len(names) == 1 and bool(TRAIN.search(names[0])) != bool(TEST.search(names[0])):
            found["train" if TRAIN.search(names[0]) else "test"].append(call)
    if len(found["train"]) != 1 or len(found["test"]) != 1 or len(normalizing) != 2:
        return
    first, second = found["train"][0], found["test"][0]
    plain = all(not within(each, ast.Name, ast.Attribute) for call in (first, second) for each in call.args)
    if not plain or len(first.args) != 2 or len(second.args) != 2 or first.keywords or second.keywords:
        return
    pairs = list(zip(first.args, second.args, strict=True))
    different = [(a, b) for a, b in pairs if ast.dump(a) != ast.dump(b)]
    if different and all(_length(a) == _length(b) for a, b in pairs):
        text = source.segment(source.site(first))
        yield Otherwise(second, "Normalize", text, second)


def _length(numbers: ast.expr) -> int:
    return len(numbers.elts) if isinstance(numbers, (ast.Tuple, ast.List)) else -1


def _named(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """The names assigned to the results of calls."""
    for statement in source.nodes(ast.Assign):
        target, value = statement.targets[0], statement.value
        if len(statement.targets) == 1 and isinstance(target, ast.Name) and isinstance(value, ast.Call):
            yield target.id, value
