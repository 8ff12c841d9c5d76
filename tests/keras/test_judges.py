"""What the judges say of wrong repairs of crashing Keras programs, of right ones, and of a comment in sound programs."""

from __future__ import annotations

import pytest

from dnnfix.records import Status
from tests.keras.test_rows import CLASSES, IMAGES, PROGRAM, ROWS, SERIES, WORDS, functional, sequential
from tests.observing import Observe, judged

JUDGES = ("rows-stay-apart", "gradients-reach", "distinct-values-kept", "named-ranges-hold", "nothing-thrown-away")
FITS = (Status.PASS, Status.NOT_APPLICABLE)


def program(model: str, data: str = ROWS, loss: str = CLASSES) -> str:
    return PROGRAM.format(model=model, data=data, loss=loss)


FLAT = "layers.Dense(4, activation='softmax')(x)"
AUTO = "*[rng.normal(size=(24, 12, 12, 3))] * 2"
OWN = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Dense(6), layers.Dense(4, activation="softmax")
    def call(self, x):
        {call}
model = Net()
"""


@pytest.mark.parametrize(
    ("judge", "broken", "wrong", "right"),
    [
        ("rows-stay-apart",
         program(functional("(6, 5)", "x = ops.reshape(x, (-1, 31))", f"x = {FLAT}"), SERIES),
         program(functional("(6, 5)", "x = ops.reshape(ops.transpose(x, (1, 0, 2)), (-1, 30))", f"x = {FLAT}"), SERIES),
         program(functional("(6, 5)", "x = ops.reshape(x, (-1, 30))", f"x = {FLAT}"), SERIES)),
        ("gradients-reach",
         program(OWN.format(call="return self.b(self.a(x).reshape(7, -1))")),
         program(OWN.format(call="return self.b(ops.stop_gradient(self.a(x)))")),
         program(OWN.format(call="return self.b(self.a(x))"))),
        ("distinct-values-kept",
         program(sequential("layers.Dense(8)"), "rng.normal(size=(24, 5)), rng.random((24, 3)).ravel()[:25]"),
         program(sequential("layers.Dense(8)"), "rng.normal(size=(24, 5)), rng.random((24, 3)).ravel()[:24].astype('int64')"),
         program(functional("(5,)", "x = layers.Dense(1)(x)"), "rng.normal(size=(24, 5)), rng.random((24, 3)).ravel()[:24]", "mse")),
    ],
    ids=["transposed", "stopped", "truncated"],
)  # fmt: skip
def test_a_wrong_repair_is_refused_and_a_right_one_is_not(
    observe: Observe, judge: str, broken: str, wrong: str, right: str
) -> None:
    assert judged(observe, broken, wrong)[judge] is Status.FAIL
    fine = judged(observe, broken, right)
    assert fine["runs"] is not Status.FAIL
    assert {name: fine[name] for name in JUDGES if fine[name] not in FITS} == {}


SOUND = {
    "mlp": program(sequential("layers.Dense(8)", "layers.Dropout(0.5)", "layers.BatchNormalization()")),
    "conv-net": program(sequential("layers.Conv2D(4, 3)", "layers.Flatten()"), IMAGES),
    "lstm": program(sequential("layers.LSTM(6)"), SERIES),
    "masked": program(sequential("layers.Embedding(9, 4, mask_zero=True)", "layers.Bidirectional(layers.GRU(6))"), WORDS),
    "subclass": program(OWN.format(call="return self.b(ops.relu(self.a(x)))")),
    "autoencoder": program(functional("(12, 12, 3)", "x = layers.Conv2D(3, 3, padding='same')(x)"), AUTO, "mse"),
    "two-outputs": program(functional("(5,)", "x = [layers.Dense(1, name=name)(x) for name in 'ab']"),
                           "rng.normal(size=(24, 5)), [rng.normal(size=(24, 1))] * 2", "mse"),
}  # fmt: skip


@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND)
def test_a_comment_breaks_nothing(observe: Observe, source: str) -> None:
    found = judged(observe, source, source + "# a comment\n")
    assert {name: found[name] for name in JUDGES if found[name] not in FITS} == {}


@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND)
def test_a_right_repair_of_a_crash_elsewhere_is_not_refused(observe: Observe, source: str) -> None:
    broken = source + "picture = np.arange(12.0)\nprint(picture.reshape(5, 5).sum())\n"
    found = judged(observe, broken, broken.replace("reshape(5, 5)", "reshape(2, 6).argmax(1).astype('float32')"))
    assert found["runs"] is Status.PASS
    assert {name: found[name] for name in JUDGES if found[name] not in FITS} == {}
