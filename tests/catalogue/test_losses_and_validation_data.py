"""What keeps a loss of symbolic tensors from becoming a layer, and a callback from being given validation data."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.detect.versioning.migration import ApiChange, Hit
from dnnfix.source.program import Source
from dnnfix.subject import Subject

NETWORK = """\
import numpy as np
import keras
from keras import layers, ops

x = layers.Input((8,))
layer = layers.Dense(2)
h = layer(x)
vae = keras.Model(x, layers.Dense(8)(h))
"""
ADDED = f"{NETWORK}vae.add_loss(ops.mean(ops.square(h)))\nvae.compile('sgd')\n"
CLOSES = f"""\
{NETWORK}

def loss(true, predicted):
    return ops.mean(ops.square(true - predicted)) + ops.mean(ops.abs(h))


vae.compile("adam", loss=loss)
"""
CALLBACK = """\
import keras


{before}class Scores({bases}):
{body}
    def on_epoch_end(self, epoch, logs=None):
        print(self.model.predict(self.validation_data[0]))


scores = {made}
{after}
model.fit(x, y, validation_data=(a, b), callbacks=[scores])
"""


def hits(text: str, code: str) -> list[Hit]:
    """All that a template says of a program."""
    found = registry.template(code)
    assert found is not None and issubclass(found, ApiChange)
    return list(found().hits(Subject(Source.from_bytes(text.encode(), "program.py"))))


def declined(text: str) -> str:
    """Why the one loss of a program is left as it is."""
    (only,) = hits(text, "DNF597")
    assert not only.edits
    return only.decline


def test_the_programs_are_repaired_where_nothing_is_in_the_way() -> None:
    for text in (f"{ADDED}vae.fit(data)\n", f"{CLOSES}vae.fit(data, data)\n"):
        (only,) = hits(text, "DNF597")
        assert only.edits and not only.decline


@pytest.mark.parametrize(
    "use",
    [
        "decoder = keras.Model(code, vae.layers[-1](code))",
        "best = keras.Model(vae.input, vae.layers[-2].output)",
        "for each in vae.layers[:-1]:\n    each.trainable = False",
        "print(vae.get_layer(index=2))",
        "print(vae.get_layer(None, 2))",
        "last = vae.layers.pop()",
        "for place, each in enumerate(vae.layers):\n    print(place)",
    ],
)
def test_layers_that_are_taken_by_their_places_keep_them(use: str) -> None:
    assert "which would change" in declined(f"{ADDED}{use}\n")


@pytest.mark.parametrize(
    "use",
    [
        "for each in vae.layers:\n    each.trainable = False",
        "print(vae.get_layer('dense'))",
        "np.save('x.npy', unknown)",
    ],
)
def test_layers_that_have_names_may_be_taken(use: str) -> None:
    assert hits(f"{ADDED}{use}\n", "DNF597")[0].edits


@pytest.mark.parametrize(
    "use",
    [
        "vae.save('vae.keras')",
        "keras.models.save_model(vae, 'vae.keras')",
        "text = vae.to_json()",
        "import tensorflow as tf\ntf.saved_model.save(vae, 'vae')",
        "kept = [keras.callbacks.ModelCheckpoint('vae.keras')]",
    ],
)
def test_a_model_that_is_saved_is_left(use: str) -> None:
    assert "saves" in declined(f"{ADDED}{use}\n")


@pytest.mark.parametrize(
    "fit",
    [
        "vae.fit(np.random.rand(32, 8), np.random.rand(32, 8))",
        "vae.fit(next(g), next(g))",
        "vae.fit(d, d, validation_data=(noisy, clean))",
        "vae.fit(d, d, validation_data=(load(), load()))",
        "vae.fit(d, d, validation_data=(d, d, weights))",
        "vae.fit(d, d, 8, 1, 0, None, 0.0, (noisy, clean))",
        "held = (noisy, clean)\nvae.fit(d, d, validation_data=held)",
        "vae.fit(d, d, **settings)",
        "vae.fit(d, other)",
    ],
)
def test_the_input_is_the_target_only_where_both_are_the_same(fit: str) -> None:
    assert declined(f"{CLOSES}{fit}\n")


def test_data_that_have_a_name_are_compared_as_well() -> None:
    assert hits(f"{CLOSES}held = (d, d)\nvae.fit(d, d, validation_data=held)\n", "DNF597")[0].edits


def test_a_model_that_is_compiled_with_another_loss_later_is_left() -> None:
    assert "compiles" in declined(f"{CLOSES}vae.fit(d, d)\nvae.compile('sgd', loss='mse')\nvae.fit(d, d)\n")


@pytest.mark.parametrize(
    "head",
    ["import tf_keras\n", "from tf_keras import backend\n", 'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n'],
)
def test_nothing_is_said_of_programs_that_keep_to_keras_2(head: str) -> None:
    assert not hits(head + ADDED, "DNF597") and not hits(f"{head}{CLOSES}vae.fit(d, d)\n", "DNF597")


@pytest.mark.parametrize("loss", ["0.01 * ops.sum(layer.kernel)", "lambda: ops.sum(layer.kernel)", "0.5", "unknown"])
def test_nothing_is_said_of_losses_that_are_no_tensors_of_the_network(loss: str) -> None:
    assert not hits(f"{NETWORK}vae.add_loss({loss})\nvae.compile('sgd')\n", "DNF597")


IN_CLASS = """\
import keras
from keras import layers, ops


class Net:
    def build(self):
        x = layers.Input((8,))
        h = layers.Dense(2)(x)
        self.vae = keras.Model(x, layers.Dense(8)(h))
        {between}
        self.vae.add_loss(ops.mean(ops.square(h)))
        self.vae.compile("adam", "mse")
"""


def test_a_model_that_something_else_holds_is_left() -> None:
    assert "another name" in declined(ADDED.replace("vae = keras", "auto = vae = keras"))
    assert "as it was before" in declined(ADDED.replace("vae.add_loss", "trainer = Trainer(vae)\nvae.add_loss"))
    assert "as it was before" in declined(IN_CLASS.format(between="self.trainer = Trainer(self.vae)"))
    assert "another name" in declined(
        IN_CLASS.format(between="pass").replace("self.vae = keras", "net = self.vae = keras")
    )
    assert hits(IN_CLASS.format(between="self.vae.summary()"), "DNF597")[0].edits


def callback(body: str = "", made: str = "Scores()", bases: str = "keras.callbacks.Callback", **more: str) -> list[Hit]:
    text = CALLBACK.format(**{"before": "", "after": "", "body": body, "made": made, "bases": bases} | more)
    return hits(text, "DNF598")


def test_a_callback_without_data_of_its_own_is_given_them() -> None:
    assert [bool(hit.edits) for hit in callback()] == [True]
    mixed = callback(before="class Base:\n    level = 1\n\n\n", bases="Base, keras.callbacks.Callback")
    assert [bool(hit.edits) for hit in mixed] == [True]


@pytest.mark.parametrize(
    "body",
    [
        "    @property\n    def validation_data(self):\n        return self.kept\n",
        "    validation_data = load()\n",
        "    validation_data: tuple = ()\n",
        "    def __init__(self, **given):\n        self.__dict__.update(given)\n",
        "    def __init__(self, data):\n        setattr(self, 'validation_' + 'data', data)\n",
        "    def __init__(self, data):\n        vars(self)['validation_data'] = data\n",
        "    def __init__(self, validation_data):\n        self.keep(validation_data)\n",
        "    def __getattr__(self, name):\n        return self.held\n",
    ],
)
def test_nothing_is_said_of_a_class_that_has_the_data_by_itself(body: str) -> None:
    assert not callback(body)


def test_nothing_is_said_where_a_base_or_the_program_gives_the_data() -> None:
    base = "class Base:\n    validation_data = load()\n\n\n"
    assert not callback(before=base, bases="Base, keras.callbacks.Callback")
    assert not callback(bases="elsewhere.Base, keras.callbacks.Callback")
    assert not callback(after="setattr(scores, 'validation_data', (a, b))")
    assert not callback(after="scores.__dict__['validation_data'] = (a, b)")
    assert not callback(made="Scores(validation_data=(x, y))")
