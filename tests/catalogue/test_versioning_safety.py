"""Patches of the versioning family that must not be called safe, or not be made, where the program decides otherwise."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.records import Applicability
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose


def patches(text: str, code: str) -> list[tuple[str, Applicability]]:
    """The best patch of each finding."""
    template = registry.template(code)
    assert template is not None
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    made = [propose(finding, subject, template).candidates[0] for finding in template().detect(subject)]
    return [(apply_edits(subject.source, each.edits).decode(), each.applicability) for each in made]


def is_called_safe(text: str, code: str) -> bool:
    found = patches(text, code)
    assert found, "no patch"
    return all(level is Applicability.SAFE for _, level in found)


KERAS = "from keras.models import Sequential, load_model\nfrom keras.layers import Dense\n\n"

DECIDED_LATER = {
    "two branches": """\
if binary:
    model = Sequential([Dense(1)])
else:
    model = Sequential([Dense(10)])
print(model.predict_classes(x))
""",
    "branches that add": """\
model = Sequential()
if binary:
    model.add(Dense(1))
else:
    model.add(Dense(10))
print(model.predict_classes(x))
""",
    "branches in a function": """\
def build(binary):
    if binary:
        return Sequential([Dense(1)])
    return Sequential([Dense(10)])


model = build(flag)
print(model.predict_classes(x))
""",
    "a choice among units": """\
model = Sequential([Dense(8), Dense(1 if binary else 10)])
print(model.predict_classes(x))
""",
    "a choice among layers": """\
model = Sequential([Dense(8), Dense(1) if binary else Dense(10)])
print(model.predict_classes(x))
""",
    "a loop over units": """\
model = Sequential()
for units in sizes:
    model.add(Dense(10))
    if units == 1:
        model.add(Dense(1))
print(model.predict_classes(x))
""",
    "a return before the last layer": """\
def build(binary):
    model = Sequential()
    if binary:
        model.add(Dense(1))
        return model
    model.add(Dense(10))
    return model


print(build(flag).predict_classes(x))
""",
    "another network when the loop comes round": """\
model = Sequential([Dense(1)])
for i in range(2):
    print(model.predict_classes(x))
    model = Sequential([Dense(10)])
""",
}


@pytest.mark.parametrize("case", DECIDED_LATER)
def test_a_network_that_is_decided_on_while_the_program_runs_is_asked_for_its_outputs(case: str) -> None:
    ((patched, level),) = patches(KERAS + DECIDED_LATER[case], "DNF506")
    assert "predicted_classes(" in patched and level is Applicability.UNSAFE


def test_the_classes_of_a_loaded_network_are_not_called_safe() -> None:
    assert not is_called_safe(
        KERAS + "other = Sequential([Dense(3)])\nload_model('m.h5').predict_classes(x)\n", "DNF506"
    )


SETTLED = {
    "a loop of hidden layers": """\
model = Sequential()
for _ in range(3):
    model.add(Dense(8))
model.add(Dense(1))
print(model.predict_classes(x))
""",
    "a network of each fold": """\
for train, test in folds:
    model = Sequential()
    model.add(Dense(8))
    model.add(Dense(1))
    print(model.predict_classes(test))
""",
    "the program's own main": """\
def show(model, x):
    print(model.predict_classes(x))


if __name__ == "__main__":
    model = Sequential([Dense(8), Dense(1)])
    show(model, x)
""",
}


@pytest.mark.parametrize("case", SETTLED)
def test_a_network_whose_last_layer_is_the_same_in_every_run_is_known(case: str) -> None:
    ((patched, level),) = patches(KERAS + SETTLED[case], "DNF506")
    assert "> 0.5)" in patched and "predicted_classes" not in patched and level is Applicability.SAFE


def test_functions_that_make_networks_of_both_kinds_are_told_apart_by_their_outputs() -> None:
    both = "def one():\n    return Sequential([Dense(1)])\n\n\ndef ten():\n    return Sequential([Dense(10)])\n\n\n"
    ((patched, _),) = patches(f"{KERAS}{both}model = made()\nprint(model.predict_classes(x))\n", "DNF506")
    assert "predicted_classes(model.predict(x))" in patched


@pytest.mark.parametrize("taken", ["predicted_classes", "predicted_classes, classes_of_outputs"])
def test_the_function_for_classes_has_a_name_of_its_own(taken: str) -> None:
    first = taken.partition(",")[0]
    text = f"{KERAS}def show(model):\n    {first} = model.predict_classes(x)\n    print({taken})\n\n\n"
    ((patched, _),) = patches(f"{text}show(Sequential([Dense(1)]))\nshow(Sequential([Dense(3)]))\n", "DNF506")
    name = "classes_of_outputs_2" if "," in taken else "classes_of_outputs"
    assert f"def {name}(outputs):" in patched and f"    {first} = {name}(model.predict(x))" in patched


GENERATOR = """\
import keras
{decorator}
def batches(x, y):
    while True:
        yield [x, x], y


def learn(model: keras.Model, x, y):
    made = batches(x, y)
    model.fit_generator(made, steps_per_epoch=4)
"""


def test_a_generator_of_lists_that_networks_alone_are_given_is_safe() -> None:
    ((patched, level),) = patches(GENERATOR.format(decorator=""), "DNF596")
    assert "yield (x, x), y" in patched and level is Applicability.SAFE


@pytest.mark.parametrize(
    "text",
    [
        GENERATOR.format(decorator="@threadsafe"),
        GENERATOR.format(decorator="") + "    next(made)[0].append(3)\n",
        GENERATOR.format(decorator="") + "\n\nfor x, _ in batches(a, b):\n    x.append(3)\n",
        GENERATOR.format(decorator="") + "\n\nkept = batches\n",
    ],
    ids=["decorated", "asked for a batch", "looped over", "with another name"],
)
def test_a_generator_of_lists_that_something_else_is_given_too_is_not_safe(text: str) -> None:
    assert not is_called_safe(text, "DNF596")


def test_a_generator_that_an_unknown_object_of_a_tensorflow_program_fits_is_left_alone() -> None:
    text = (
        GENERATOR.format(decorator="")
        .replace("model: keras.Model", "model")
        .replace("import keras", "import tensorflow")
    )
    assert not patches(text.replace("fit_generator", "fit"), "DNF596")
