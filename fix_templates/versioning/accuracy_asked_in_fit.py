"""`model.fit(x, y, show_accuracy=True)`: the accuracy is asked for where the model is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, SetArgument, Source, Subject

METHODS = frozenset({"fit", "fit_generator", "evaluate", "evaluate_generator", "train_on_batch", "test_on_batch"})


class AccuracyAskedInFit(ApiChange):
    """The first Keras took `show_accuracy=True` in `fit` and `evaluate`; since Keras 1.0 it is a metric of `compile`.

    Without it nothing is measured: `evaluate` gives one number, and `score[1]` is an error. The metric is given to the
    `compile` of the same model; the keyword itself is dropped with the other arguments that are gone.

    Fix safety: unsafe: today's `"accuracy"` is chosen by the loss and the shapes, which may be another accuracy.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes;
    https://keras.io/api/models/model_training_apis/.
    """

    code = "DNF557"
    name = "accuracy-asked-in-fit"
    triggers = ("show_accuracy",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The `compile` of each model that is asked for its accuracy later."""
        source = subject.source
        if "show_accuracy" not in source.words or "keras" not in source.frameworks:
            return
        compiled = [call for call in source.all_calls if _method(call) == "compile"]
        asked = [call for call in source.all_calls if _method(call) in METHODS and _asks(call)]
        for call in compiled:
            if any(keyword.arg in ("metrics", None) for keyword in call.keywords) or len(call.args) > 2:
                continue
            if any(len(compiled) == 1 or _owner(source, call) == _owner(source, other) for other in asked):
                site = source.site(call)
                yield Hit(
                    site,
                    "show_accuracy is gone since Keras 1.0; compile takes the accuracy as a metric",
                    title="give the accuracy to compile as a metric",
                    edits=(SetArgument(site, "metrics", "['accuracy']"),),
                    removed={"keras": "2.0"},
                )

    examples = (
        Example(
            "accuracy of training and test",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(3, activation="softmax"))
- model.compile(loss="categorical_crossentropy", optimizer="adam")
- model.fit(x, y, batch_size=32, show_accuracy=True, verbose=1)
- score = model.evaluate(x, y, show_accuracy=True)
+ model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=['accuracy'])
+ model.fit(x, y, batch_size=32, verbose=1)
+ score = model.evaluate(x, y)
print(score[1])
""",
        ),
        Example(
            "one of two models",
            """\
from keras.models import Sequential
from keras.layers import Dense

coder = Sequential([Dense(4)])
coder.compile(optimizer="sgd", loss="mse")
judge = Sequential([Dense(1, activation="sigmoid")])
- judge.compile("sgd", "binary_crossentropy")
+ judge.compile("sgd", "binary_crossentropy", metrics=['accuracy'])
coder.fit(x, x)
- loss, accuracy = judge.train_on_batch(x, y, show_accuracy=True)
+ loss, accuracy = judge.train_on_batch(x, y)
""",
        ),
        Example(
            "a model that a function makes",
            """\
from keras.models import Sequential
from keras.layers import Dense


def network():
    net = Sequential()
    net.add(Dense(2, activation="softmax"))
    net.compile(loss="categorical_crossentropy",
-                 optimizer="rmsprop")
+                 optimizer="rmsprop",
+                 metrics=['accuracy'])
    return net


model = network()
- print(model.evaluate(x, y, batch_size=8, show_accuracy=True))
+ print(model.evaluate(x, y, batch_size=8))
""",
        ),
    )
    rejects = (
        Reject(
            "accuracy is not wanted",
            """\
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="sgd")
score = model.evaluate(x, y, verbose=0)
""",
        ),
        Reject(
            "a keyword of the program's own",
            """\
from keras.models import Sequential


def report(model, show_accuracy=False):
    return model.evaluate(x, y)


model = Sequential()
model.compile(loss="mse", optimizer="sgd")
report(model, show_accuracy=True)
""",
        ),
    )


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _owner(source: Source, call: ast.Call) -> str:
    return source.segment(source.site(call.func.value)) if isinstance(call.func, ast.Attribute) else ""


def _asks(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "show_accuracy"]
    return any(isinstance(value, ast.Constant) and bool(value.value) for value in given)
