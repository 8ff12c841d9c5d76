"""Patches of the versioning family that must not be called safe, or not be made, where the program decides otherwise."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.records import Applicability, Crash, Frame, RunOutcome, Site, Trace
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


def test_numpy_is_imported_only_where_its_usual_name_is_free() -> None:
    text = f"{KERAS}import jax.numpy as np\n\nx = np.ones(4)\nprint(Sequential([Dense(3)]).predict_classes(x))\n"
    ((patched, _),) = patches(text, "DNF506")
    assert "import numpy" not in patched and "predicted_classes(Sequential" in patched


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


EMBEDDING = """\
from keras.models import Sequential
from keras.layers import Dense, Embedding, Flatten


def build():
    net = Sequential()
    net.add(Embedding(100, 3, input_length=4))
    net.add(Flatten())
    net.add(Dense(1))
    net.compile("adam", "mse")
    net.summary()
    return net


"""


@pytest.mark.parametrize(
    "text",
    [
        "model = build()\nmodel.load_weights(path)\nmodel.predict(x)\n",
        "model = build()\nmodel.layers[0].trainable = False\nmodel.layers[0].set_weights([matrix])\nmodel.fit(x, y)\n",
        "if __name__ == '__main__':\n    model = build()\n    print(model.count_params())\n",
    ],
    ids=["loaded", "set", "counted"],
)
def test_an_embedding_whose_weights_are_asked_for_first_gets_an_input(text: str) -> None:
    ((patched, level),) = patches(EMBEDDING + text, "DNF518")
    assert "    net.add(Input(shape=(4,)))\n" in patched and level is Applicability.SAFE


@pytest.mark.parametrize(
    "text",
    [
        "model = build()\nmodel.fit(x, y)\nmodel.load_weights(path)\n",
        "model = build()\nmodel(x)\nmodel.load_weights(path)\n",
        "model = build()\nmodel.build((None, 4))\nmodel.load_weights(path)\n",
        "model = build()\nmodel.layers[0].build((None, 4))\nmodel.layers[0].set_weights([matrix])\n",
        "model = build()\ntrain(model)\nmodel.count_params()\n",
        "model = build()\nif resume:\n    model.load_weights(path)\nmodel.fit(x, y)\n",
        "model = build()\nfor _ in range(epochs):\n    model.load_weights(path)\n",
        "model = build()\nmodel = load(path)\nmodel.load_weights(path)\n",
        "def train():\n    model.fit(x, y)\n\n\nmodel = build()\ntrain()\nmodel.load_weights(path)\n",
        "other.load_weights(path)\nbuild().fit(x, y)\n",
    ],
    ids=["fit", "call", "build", "layer", "given away", "branch", "loop", "another", "function", "unrelated"],
)
def test_an_embedding_that_may_meet_data_before_its_weights_are_asked_for_is_left_alone(text: str) -> None:
    assert not patches(EMBEDDING + text, "DNF518")


def test_an_embedding_whose_weights_some_callers_ask_for_first_is_not_safe() -> None:
    text = "model = build()\nmodel.load_weights(path)\nmodel.predict(x)\nlonger = build()\nlonger.fit(x, y)\n"
    assert not is_called_safe(EMBEDDING + text, "DNF518")
    copied = "model = build()\nmodel.set_weights(other.get_weights())\nmodel.fit(x, y)\n"
    assert not patches(EMBEDDING + copied, "DNF518")


def test_an_embedding_that_is_not_the_first_layer_is_left_alone() -> None:
    text = EMBEDDING.replace("    net.add(Emb", "    net.add(Dense(4))\n    net.add(Emb")
    assert not patches(text + "model = build()\nmodel.load_weights(path)\n", "DNF518")


STEPS = "import keras\n\nmodel = keras.Sequential([keras.layers.Dense(1)])\nsteps = len(x) / 32\n"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("model.fit_generator(batches(), len(x) / 32, 3)", "DNF507"),
        ("model.fit_generator(batches(), steps_per_epoch=steps)", "DNF507"),
        ("model.fit(batches(), steps_per_epoch=steps)", "DNF507"),
        ("model.fit(batches(), batch_size=steps, steps_per_epoch=steps)", "DNF514"),
    ],
)
def test_a_quotient_that_counts_batches_is_not_made_whole_as_safe(call: str, code: str) -> None:
    assert not is_called_safe(STEPS + call + "\n", code)


def test_whole_numbers_of_batches_are_safe() -> None:
    assert is_called_safe(STEPS + "model.fit_generator(batches(), 10, 3)\n", "DNF507")


OWN_TRAINING = """\
from keras.models import Model


class Reader(Model):
    def fit_generator(self, generator, steps, options):
        return self.fit(generator, steps_per_epoch=steps, verbose=options)
"""


def test_a_method_of_the_programs_own_in_another_of_its_files_is_left_alone() -> None:
    text = "import keras\nimport reader\n\n\ndef train(model):\n    model.fit_generator(iter([]), 3, 1)\n"
    program = Source.from_bytes(text.encode(), "train.py")
    template = registry.template("DNF507")
    assert template is not None
    assert list(template().detect(Subject(program)))
    beside = Source.from_bytes(OWN_TRAINING.encode(), "reader.py")
    assert not list(template().detect(Subject(program.along_with((beside,)))))


CRASHED = Trace(
    RunOutcome.CRASHED,
    crash=Crash("ImportError", "no Layer", (Frame(Site(1, 1, 1, 32), "<module>"),)),
    versions={"keras": "3.15.1"},
)


@pytest.mark.parametrize(
    ("trace", "alone"), [(CRASHED, True), (Trace(RunOutcome.FINISHED, versions={"keras": "3.15.1"}), False)]
)
def test_where_a_program_crashes_the_safe_migrations_are_a_candidate_by_themselves(trace: Trace, alone: bool) -> None:
    text = "from keras.engine import Layer\nimport keras\n\nkeras.callbacks.ModelCheckpoint('best.hdf5', save_weights_only=True)\n"
    subject = Subject(Source.from_bytes(text.encode(), "program.py"), trace)
    template = registry.template("DNF501")
    assert template is not None
    finding = next(iter(template().detect(subject)))
    levels = [candidate.applicability for candidate in propose(finding, subject, template).candidates]
    assert levels == [Applicability.UNSAFE, Applicability.SAFE][: 1 + alone]
