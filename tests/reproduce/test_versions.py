"""Programs of old versions: migrated where the report is about something else, left alone where it is about that."""

from __future__ import annotations

from dnnfix.records import EditAction
from dnnfix.reproduce.actions.versions import complaints, migrated
from dnnfix.source.program import Source

OLD = """from keras.models import Sequential
from keras.layers.core import Dense
import numpy as np

model = Sequential()
model.add(Dense(1, input_dim=4, activation="softmax"))
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(np.zeros((32, 4)), np.zeros(32), nb_epoch=3)
"""


def source(text: str) -> Source:
    return Source.from_bytes(text.encode(), "program.py")


def test_everything_outdated_is_migrated_where_the_report_speaks_of_something_else() -> None:
    after, steps = migrated(source(OLD), "The accuracy stays at 0.5 whatever I do.")
    assert "epochs=3" in after.text
    assert "keras.layers.core" not in after.text
    assert 'activation="softmax"' in after.text  # the fault stays
    assert {step.action for step in steps} == {EditAction.OBSOLETE_PARAMETERS, EditAction.VERSIONS}
    renamed = next(step for step in steps if step.action is EditAction.OBSOLETE_PARAMETERS)
    assert renamed.line == 8
    assert not renamed.invented


def test_the_removal_that_is_reported_stays() -> None:
    after, steps = migrated(source(OLD), "TypeError: fit() got an unexpected keyword argument 'nb_epoch'")
    assert "nb_epoch=3" in after.text
    assert "keras.layers.core" not in after.text
    assert all(step.action is EditAction.VERSIONS for step in steps)


def test_a_program_of_today_is_left_alone() -> None:
    text = "import torch\nmodel = torch.nn.Linear(3, 1)\nprint(model(torch.zeros(2, 3)))\n"
    given = source(text)
    assert migrated(given, "") == (given, ())


def test_complaints_of_libraries_are_understood() -> None:
    said = """AttributeError: module 'tensorflow' has no attribute 'placeholder'
    ModuleNotFoundError: No module named 'keras.layers.merge'
    ValueError: Argument(s) not recognized: {'lr': 0.01}
    NameError: name 'xrange' is not defined"""
    assert complaints(said) >= {"placeholder", "keras.layers.merge", "merge", "lr", "xrange"}
