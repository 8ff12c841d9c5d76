"""Training held to the budget, what it gives back, and what is measured of its steps."""

from __future__ import annotations

import pytest

from tests.keras.test_components import SEQUENTIAL
from tests.observing import Observe

MODEL = """
import keras, numpy as np
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
x = np.random.rand(400, 4)
y = x.sum(1)
"""


def test_fit_ends_with_the_budget_and_its_history_has_every_epoch(observe: Observe) -> None:
    run = observe(
        MODEL
        + "h = model.fit(x, y, batch_size=100, epochs=30, validation_split=0.25)\n"
        + "print(len(h.history['loss']), len(h.history['val_mae']), len(h.epoch), h.epoch[-1])\n",
        steps=5,
    )
    assert run.outcome == "finished" and len(run.steps) == 5
    assert run.printed.split() == ["30", "30", "30", "29"]
    assert [run.text(e["site"]).startswith("model.fit(") for e in run.of("cut")] == [True]


def test_a_training_within_the_budget_is_left_alone(observe: Observe) -> None:
    run = observe(MODEL + "h = model.fit(x, y, batch_size=200, epochs=3)\nprint(len(h.history['loss']))\n", steps=6)
    assert len(run.steps) == 6 and run.of("cut") == [] and run.printed.strip() == "3"


def test_evaluations_are_cut_and_predictions_keep_their_length(observe: Observe) -> None:
    run = observe(
        MODEL
        + "model.fit(x, y, epochs=1)\n"
        + "result = model.evaluate(x, y, batch_size=10)\n"
        + "given = model.predict(x, batch_size=10)\n"
        + "small = model.predict(x[:3])\n"
        + "print(len(result), given.shape, small.shape, bool((given[:20] == given[20:40]).all()))\n",
        evaluation_batches=2,
    )
    assert run.printed.strip() == "2 (400, 1) (3, 1) True"
    assert [run.text(e["site"]).partition("(")[0] for e in run.of("cut")] == [
        "model.fit", "model.evaluate", "model.predict",
    ]  # fmt: skip


def test_the_program_s_own_output_stays_and_progress_bars_do_not(observe: Observe) -> None:
    run = observe(MODEL + "print('before')\nmodel.fit(x, y, verbose=1)\nmodel.evaluate(x, y)\nprint('after')\n")
    assert run.printed.split() == ["before", "after"]


def test_callbacks_keep_working(observe: Observe) -> None:
    run = observe(
        MODEL
        + "import os\n"
        + "stop = keras.callbacks.EarlyStopping(monitor='val_loss', patience=0, min_delta=100.0)\n"
        + "save = keras.callbacks.ModelCheckpoint('best.keras', save_best_only=True)\n"
        + "h = model.fit(x, y, batch_size=100, epochs=9, validation_data=(x, y), callbacks=[stop, save])\n"
        + "print(len(h.history['loss']), os.path.exists('best.keras'))\n",
        steps=50,
    )
    assert run.printed.split() == ["2", "True"] and len(run.steps) == 8
    names = run.call("keras.Model.fit")["args"]["callbacks"]
    assert names == ["keras.callbacks.EarlyStopping", "keras.callbacks.ModelCheckpoint"]


def test_steps_tell_loss_skill_gradient_update_and_spread(observe: Observe) -> None:
    run = observe(
        MODEL.replace('"adam"', "keras.optimizers.Adam(0.05)") + "model.fit(x, y, epochs=40)\n",
        steps=60,
        record_steps=2,
    )
    first, last = run.steps[0], run.steps[-1]
    assert [s["index"] for s in run.steps] == list(range(60))
    assert all(s["gradient"] > 0 and s["output_std"] is not None for s in run.steps)
    assert first["update"] > 0 and last["update"] is None
    assert last["loss"] < 0.1 * first["loss"]
    assert last["skill"] > 0.5 > first["skill"]


@pytest.mark.parametrize(
    ("loss", "target", "outputs"),
    [
        ("sparse_categorical_crossentropy", "label", 3),
        ("sparse_categorical_crossentropy", "label.reshape(-1, 1).astype('float64')", 3),
        ("categorical_crossentropy", "np.eye(3)[label]", 3),
        ("binary_crossentropy", "(label > 0).astype(int)", 1),
    ],
)
def test_skill_of_a_classifier_grows_towards_one(observe: Observe, loss: str, target: str, outputs: int) -> None:
    run = observe(
        f"""
        import keras, numpy as np
        label = np.random.randint(0, 3, 300)
        x = np.eye(3)[label].astype("float32")
        activation = "softmax" if {outputs} > 1 else "sigmoid"
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense({outputs}, activation=activation)])
        model.compile(keras.optimizers.Adam(0.3), "{loss}")
        model.fit(x, {target}, epochs=9)
        """,
        steps=40,
    )
    assert run.steps[-1]["skill"] > 0.95


@pytest.mark.parametrize(
    ("outputs", "targets", "least", "most"),
    [(1, "x[:, :2]", 0.2, 0.8), (2, "x[:, :2]", 0.95, 1.0), (2, "x[:, :1]", 0.95, 1.0)],
)
def test_skill_of_a_regression_is_told_of_every_target(
    observe: Observe, outputs: int, targets: str, least: float, most: float
) -> None:
    """One output for two targets is right about neither; the loss stretches it, and the skill shows it."""
    run = observe(
        f"""
        import keras, numpy as np
        keras.utils.set_random_seed(0)
        x = np.random.rand(300, 3).astype("float32")
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense({outputs})])
        model.compile(keras.optimizers.Adam(0.05), "mse")
        model.fit(x, {targets}, epochs=20, batch_size=50)
        """,
        steps=120,
    )
    assert least <= run.steps[-1]["skill"] <= most


def test_parameters_tell_what_trained(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        frozen = keras.layers.Dense(4, name="frozen")
        frozen.trainable = False
        model = keras.Sequential([
            keras.Input((3,)), frozen, keras.layers.Dense(4, kernel_initializer="zeros", name="flat"),
            keras.layers.Bidirectional(keras.layers.LSTM(2)) if False else keras.layers.Dense(1, name="last"),
        ])
        model.compile("sgd", "mse")
        model.fit(np.random.rand(8, 3), np.random.rand(8), epochs=3)
        """
    )
    known = {name.partition("/")[2]: p for name, p in run.parameters.items()}
    assert (known["frozen/kernel"]["trainable"], known["frozen/kernel"]["optimized"]) == (False, False)
    assert known["frozen/kernel"]["update"] == 0.0 and known["frozen/kernel"]["gradient"] is None
    assert known["flat/kernel"]["constant"] is True and known["last/kernel"]["constant"] is False
    assert known["last/bias"]["update"] > 0 and known["last/bias"]["constant"] is None
    assert known["last/kernel"]["component"] == run.component("keras.layers.Dense", 2)["id"]


def test_a_second_model_is_recorded_like_the_first(observe: Observe) -> None:
    run = observe(SEQUENTIAL + SEQUENTIAL.replace("import numpy as np\n", "\n"), steps=6)
    fits = run.calls("keras.Model.fit")
    second = [c for c in run.calls("keras.layers.Dense") if c["phase"] == "train" and c["id"] > fits[1]["id"]]
    assert second and second[0]["inputs"][0]["id"] == fits[1]["inputs"][0]["id"]
    assert len(run.parameters) == 8 and all(p["optimized"] for p in run.parameters.values())


def test_loops_of_the_program_s_own_count_steps_and_tell_their_operations(observe: Observe) -> None:
    run = observe(
        """
        import torch
        import keras
        from keras import layers
        model = keras.Sequential([keras.Input((6,)), layers.Dense(3)])
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras.optimizers.Adam(0.01)
        x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
        for step in range(1000):
            loss = entropy(y, model(x, training=True))
            model.zero_grad()
            loss.backward()
            weights = model.trainable_weights
            with torch.no_grad():
                optimizer.apply([w.value.grad for w in weights], weights)
        """,
        steps=5,
    )
    assert len(run.steps) == 5 and len(run.of("cut")) == 1
    assert [e["name"] for e in run.of("loop") if e["step"] == 0] == ["zero_grad", "backward", "step"]
    assert run.text(run.call("keras.losses.SparseCategoricalCrossentropy")["site"]).startswith("entropy(y,")
    assert run.steps[0]["loss"] is not None and run.steps[-1]["gradient"] > 0


def test_a_train_step_of_the_program_s_own_counts_once_per_batch_and_words_of_torch_change_nothing(
    observe: Observe,
) -> None:
    run = observe(
        """
        import keras, torch
        import numpy as np
        class Net(keras.Model):
            "Calls torch.nn.Module.zero_grad()."
            def train_step(self, data):
                x, y = data
                self.zero_grad()
                loss = keras.ops.mean((self(x, training=True) - y) ** 2)
                loss.backward()
                weights = self.trainable_weights
                with torch.no_grad():
                    self.optimizer.apply([w.value.grad for w in weights], weights)
                return {"loss": loss}
        inputs = keras.Input((3,))
        net = Net(inputs, keras.layers.Dense(1)(inputs))
        net.compile("sgd")
        net.fit(np.random.rand(64, 3), np.random.rand(64, 1), batch_size=8, epochs=20)
        """,
        steps=5,
    )
    assert run.outcome == "finished" and len(run.steps) == 5
    assert all(step["loss"] is not None for step in run.steps)
