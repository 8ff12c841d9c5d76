"""The definitions that are written into programs do what the libraries' own did."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from dnnfix.detect.versioning.definitions import definitions

np = pytest.importorskip("numpy")


def defined(name: str) -> Any:
    """What a definition of the data file defines, by the last part of a qualified name."""
    definition = next(d for n, d in definitions().items() if n.endswith(f".{name}"))
    namespace: dict[str, Any] = {}
    exec("\n".join([*definition.imports, definition.code]), namespace)  # noqa: S102 - as the program would run it
    return namespace


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"input_shape": None}, (224, 224, 3)),
        ({"input_shape": None, "data_format": "channels_first"}, (3, 224, 224)),
        ({"input_shape": None, "require_flatten": False}, (None, None, 3)),
        ({"input_shape": (64, 64, 1)}, (64, 64, 1)),
        ({"input_shape": (3, 64, 96), "data_format": "channels_first"}, (3, 64, 96)),
        ({"input_shape": (None, None, 3), "include_top": False}, (None, None, 3)),
        ({"input_shape": (224, 224, 3), "weights": "imagenet"}, (224, 224, 3)),
    ],
)
def test_shape_of_an_image(given: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    settings = {"default_size": 224, "min_size": 48, "data_format": "channels_last", **given}
    assert defined("_obtain_input_shape")["_obtain_input_shape"](**settings) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"input_shape": (32, 32, 3)},
        {"input_shape": (64, 64)},
        {"input_shape": (None, None, 3)},
        {"input_shape": (64, 64, 3), "weights": "imagenet"},
    ],
)
def test_shape_of_an_image_that_does_not_fit(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Received"):
        defined("_obtain_input_shape")["_obtain_input_shape"](
            **{"default_size": 224, "min_size": 48, "data_format": "channels_last", **given}
        )


def test_prices_are_read_from_rows_of_two_lines() -> None:
    pytest.importorskip("sklearn")
    namespace = defined("load_boston")
    rows = np.arange(3 * 14).reshape(3, 14)
    lines = [part for row in rows for part in (row[:11], row[11:])]
    text = "\n".join([*["of the page"] * 22, *("  ".join(map(str, line)) for line in lines)])
    namespace["urlopen"] = lambda address: BytesIO(text.encode())
    boston = namespace["load_boston"]()
    assert (boston.data == rows[:, :13]).all() and (boston.target == rows[:, 13]).all()
    assert list(boston.feature_names[[0, 12]]) == ["CRIM", "LSTAT"]
    assert [part.shape for part in namespace["load_boston"](return_X_y=True)] == [(3, 13), (3,)]


def test_a_network_is_searched_and_scored_as_an_estimator() -> None:
    keras = pytest.importorskip("keras")
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler
    namespace = defined("KerasClassifier")
    trained: list[int] = []

    begins = {"on_train_begin": lambda self, logs=None: trained.append(self.params["epochs"])}
    counting = type("Counting", (keras.callbacks.Callback,), begins)()

    def build(units: int = 3, loss: str = "categorical_crossentropy", width: int = 3) -> Any:
        last = "sigmoid" if width == 1 and "binary" in loss else "softmax" if width > 1 else "linear"
        model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(width, activation=last)])
        model.compile(loss=loss, optimizer="adam", metrics=["accuracy"] if last != "linear" else [])
        return model

    x = np.random.RandomState(0).rand(30, 4)
    y = np.arange(30) % 3
    classifier = namespace["KerasClassifier"](build, epochs=2, verbose=0, callbacks=[counting])
    search = selection.GridSearchCV(classifier, {"units": [2, 4], "epochs": [1, 3]}, cv=2, refit=False).fit(x, y)
    assert sorted(trained) == [1] * 4 + [3] * 4 and 0 <= search.best_score_ <= 1
    classes = np.array(["a", "b", "c"])
    classifier.fit(x, classes[y])
    assert set(classifier.predict(x)) <= set(classes) and classifier.predict_proba(x).shape == (30, 3)
    folds = selection.KFold(3)
    assert selection.cross_val_score(classifier, x, np.eye(3)[y], cv=folds).shape == (3,)
    two = namespace["KerasClassifier"](build, width=1, loss="binary_crossentropy", verbose=0)
    two.fit(x, y > 0)
    assert two.predict(x).shape == (30, 1) and two.predict_proba(x).shape == (30, 2) and 0 <= two.score(x, y > 0) <= 1
    regressor = namespace["KerasRegressor"](build_fn=build, width=1, loss="mse", verbose=0)
    whole = pipeline.Pipeline([("scale", scaler()), ("regression", regressor)])
    scores = selection.cross_val_score(whole, x, x.sum(axis=1), cv=folds)
    assert (scores < 0).all()
    whole.fit(x, x.sum(axis=1))
    predicted = whole.predict(x)
    assert predicted.shape == (30,)
    assert whole.score(x, x.sum(axis=1)) == pytest.approx(-np.mean((predicted - x.sum(axis=1)) ** 2), rel=1e-4)


def test_options_of_a_trainer() -> None:
    pytest.importorskip("pytorch_lightning")
    from argparse import ArgumentParser

    functions = defined("from_argparse_args")
    parser = ArgumentParser()
    parser.add_argument("--max_epochs", default=3, type=int)
    assert functions["add_argparse_args"](parent_parser=parser) is parser
    args = parser.parse_args(["--limit_train_batches", "0.5", "--gpus", "0", "--enable_progress_bar", "False"])
    trainer = functions["from_argparse_args"](args, logger=False)
    assert (trainer.max_epochs, trainer.limit_train_batches, trainer.progress_bar_callback) == (3, 0.5, None)
    assert type(trainer.accelerator).__name__ == "CPUAccelerator" and trainer.logger is None
    values = {
        "1": 1,
        "-1": -1,
        "0.5": 0.5,
        ".5": 0.5,
        "1e-3": 1e-3,
        "True": True,
        "None": None,
        "16-mixed": "16-mixed",
        "": "",
    }
    assert {text: functions["option_value"](text) for text in values} == values
