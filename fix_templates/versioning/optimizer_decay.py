"""`SGD(lr=0.1, decay=1e-6)`: a decay of the learning rate that Keras 3 ignores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import AddImport, ApiChange, Edit, Example, Hit, Reject, RemoveArgument, SetArgument, Subject, uses_of

DEFAULTS = {
    "SGD": "0.01",
    "RMSprop": "0.001",
    "Adagrad": "0.001",
    "Adadelta": "0.001",
    "Adam": "0.001",
    "Adamax": "0.001",
    "Nadam": "0.001",
}
"""By optimizer, the learning rate where none is given (signatures of Keras 3)."""

NEGLIGIBLE = 1e-5
"""A decay up to which the learning rate has not halved after 100,000 steps (rate / (1 + decay * step))."""


class OptimizerDecay(ApiChange):
    """Keras 1 and 2 divided the learning rate by `1 + decay * step`; Keras 3 ignores `decay` with a warning.

    The schedule `InverseTimeDecay` with one step computes the same. A program that sets the rate itself while it trains
    cannot have one: there a decay that hardly acts within 100,000 steps is taken away, and a larger one is left.

    Fix safety: safe for a decay of 0; unsafe otherwise, since what the program trains with today changes or what it
    meant is left out.

    References: https://keras.io/guides/migrating_to_keras_3/,
    https://keras.io/api/optimizers/learning_rate_schedules/inverse_time_decay/.
    """

    code = "DNF508"
    name = "optimizer-decay"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Optimizers of Keras with a decay."""
        source = subject.source
        if "decay" not in source.words or "keras" not in source.frameworks:
            return
        uses = uses_of(source)
        for call in source.all_calls:
            keyword = next((k for k in call.keywords if k.arg == "decay"), None)
            written = source.written(call.func) if keyword is not None else None
            if keyword is None or not written or ".legacy." in written or written.startswith("tf_keras"):
                continue
            target = uses.target(written)
            name = (target.today if target is not None else written).removeprefix("tensorflow.")
            optimizer = name.rpartition(".")[2]
            if not name.startswith("keras.optimizers.") or optimizer not in DEFAULTS:
                continue
            steered = _is_steered(subject)
            in_tensorflow = written.startswith("tensorflow.")
            edits, title, safe = _edits(subject, call, keyword.value, optimizer, in_tensorflow, steered)
            steered = steered and any(isinstance(edit, SetArgument) for edit in edits)
            yield Hit(
                source.site(keyword),
                "decay does nothing in Keras 3: the learning rate stays as it is",
                title=title,
                edits=() if steered else tuple(edits),
                decline="the program sets the rate itself, which a schedule does not allow" if steered else "",
                safe=safe,
                removed={"keras": "3.0"},
                within=source.site(call),
            )

    examples = (
        Example(
            "a small decay under a rate that the program sets itself",
            """\
from keras.callbacks import ReduceLROnPlateau
from keras.optimizers import SGD

- sgd = SGD(learning_rate=0.01, decay=1e-6)
+ sgd = SGD(learning_rate=0.01)
callbacks = [ReduceLROnPlateau(patience=3)]
""",
        ),
        Example(
            "a decay that acts",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1)])
- model.compile(optimizer=keras.optimizers.Adam(lr=0.01, decay=0.001), loss="mse")
+ model.compile(optimizer=keras.optimizers.Adam(learning_rate=keras.optimizers.schedules.InverseTimeDecay(0.01, 1, 0.001)), loss="mse")
""",
        ),
        Example(
            "a decay spread over the epochs",
            """\
from tensorflow.keras.optimizers import Adam
+ from tensorflow.keras.optimizers.schedules import InverseTimeDecay

EPOCHS = 10
- optimizer = Adam(1e-3, decay=1e-3 / EPOCHS)
+ optimizer = Adam(InverseTimeDecay(1e-3, 1, 1e-3 / EPOCHS))
""",
        ),
    )
    rejects = (
        Reject(
            "weight decay is another matter",
            """\
import keras

optimizer = keras.optimizers.AdamW(learning_rate=0.01, weight_decay=0.004)
""",
        ),
        Reject(
            "a function of the program's own",
            """\
import keras


def schedule(rate, decay):
    return rate * decay


print(schedule(0.1, decay=0.5))
model = keras.Sequential()
""",
        ),
    )


def _is_steered(subject: Subject) -> bool:
    """Whether the program sets the learning rate while it trains."""
    source = subject.source
    if not source.words.isdisjoint(("ReduceLROnPlateau", "LearningRateScheduler")):
        return True
    rates = [
        n for n in source.nodes(ast.Attribute) if isinstance(n, ast.Attribute) and n.attr in ("lr", "learning_rate")
    ]
    return "set_value" in source.words and bool(rates) or any(isinstance(rate.ctx, ast.Store) for rate in rates)


def _edits(
    subject: Subject, call: ast.Call, decay: ast.expr, optimizer: str, in_tensorflow: bool, steered: bool
) -> tuple[list[Edit], str, bool]:
    source = subject.source
    site = source.site(call)
    number = decay.value if isinstance(decay, ast.Constant) else None
    gone: list[Edit] = [RemoveArgument(site, "decay")]
    if isinstance(number, (int, float)) and (number == 0 or steered and number <= NEGLIGIBLE):
        return gone, "drop the decay", number == 0
    rate = next((k for k in call.keywords if k.arg in ("lr", "learning_rate")), None)
    given = rate.value if rate is not None else call.args[0] if call.args else None
    text = source.segment(source.site(given)) if given is not None else DEFAULTS[optimizer]
    root = "tensorflow.keras" if in_tensorflow else "keras"
    uses = uses_of(source)
    whole = next((local for local, name in uses.imported.items() if name == root), None)
    edits: list[Edit] = []
    schedule = "InverseTimeDecay"
    if whole is not None:
        schedule = f"{whole}.optimizers.schedules.InverseTimeDecay"
    else:
        edits.append(AddImport(f"from {root}.optimizers.schedules import InverseTimeDecay"))
    code = f"{schedule}({text}, 1, {source.segment(source.site(decay))})"
    name = rate.arg if rate is not None and rate.arg else "learning_rate"
    return [SetArgument(site, name, code, 0), *gone, *edits], "write the decay as a schedule", False
