"""The scripts that learn the prior of small edits: faults that are made, weights that are fitted, and weights that are there."""

from __future__ import annotations

import ast
import random
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

from dnnfix.records import Crash, RunOutcome, Trace
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize import prior
from dnnfix.synthesize.operators import operators
from dnnfix.synthesize.scene import Frame, Parameter, Scene, Told
from dnnfix.synthesize.slices import Place, Role
from tools.conditional_logit import Choice, fit, folds
from tools.inverse_edits import FAMILIES, Fault, draws, faults, misspelt

PROGRAM = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden_size=8):
        super().__init__()
        self.first = nn.Linear(4, hidden_size)
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(hidden_size, 3, bias=True))

    def forward(self, inputs):
        inputs = inputs.view(-1, 4)
        return self.layers(self.first(inputs))


samples = np.random.rand(6, 2, 2)
labels = torch.tensor([0, 1, 2, 0, 1, 2], dtype=torch.long)
net, criterion = Net(), nn.CrossEntropyLoss()
outputs = net(torch.from_numpy(samples).float())
for row in range(len(labels) // 2):
    print(outputs[row, 0].item(), criterion(outputs, labels).item())
"""


def source(text: str = PROGRAM) -> Source:
    return Source.from_bytes(text.encode(), "program.py")


def test_broken_programs_can_be_parsed_and_differ() -> None:
    program = source()
    texts = {program.text}
    for _, broken in draws(program, 0):
        assert ast.dump(ast.parse(broken.text)) != ast.dump(program.tree)
        texts.add(broken.text)
    assert len(texts) > 300


def test_every_family_of_faults_is_made() -> None:
    assert {fault.family for fault in faults(source())} == set(FAMILIES)


def drawn(seed: int) -> list[Fault]:
    return [fault for fault, _ in islice(draws(source(), seed), 40)]


def test_the_same_seed_makes_the_same_faults() -> None:
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_faults_are_drawn_as_often_as_people_make_them() -> None:
    families = [next(draws(source(), seed))[0].family for seed in range(400)]
    share = FAMILIES["data dimension"] / sum(FAMILIES.values())
    assert families.count("data dimension") / len(families) == pytest.approx(share, abs=0.07)
    assert families.count("data wrangling") < families.count("data type")


@pytest.mark.parametrize(
    ("name", "other"),
    [("zero_grad", "zero_grads"), ("colors", "color"), ("MaxPool", "max_pool"), ("normalize", "normalise")],
)
def test_names_are_misspelt_as_people_do(name: str, other: str) -> None:
    assert other in misspelt(name)


def choice(right: str, *others: str) -> Choice:
    rows = tuple((("forms", name, 1.0),) for name in (right, *others))
    return Choice(rows, (True,) + (False,) * len(others))


def preferring(much: int, little: int) -> list[Choice]:
    """Crashes at which `a` is right against `b`, and some the other way round."""
    return [choice("a", "b")] * much + [choice("b", "a")] * little


def test_a_preference_is_recovered_on_the_scale_of_logarithms() -> None:
    found = fit(preferring(300, 100), {}, lambda key: 1e-3)
    assert found.weights["forms", "a"] - found.weights["forms", "b"] == pytest.approx(1.0986, abs=0.02)


def test_a_form_that_is_seen_once_stays_near_where_it_was_typed() -> None:
    start = {("forms", "a"): -1.0, ("forms", "b"): 1.0}
    found = fit(preferring(1, 0), start, lambda key: 3.0)
    assert found.weights["forms", "a"] < 0 < found.weights["forms", "b"]


def test_of_several_right_guesses_each_may_be_the_one() -> None:
    both = Choice(((("forms", "a", 1.0),), (("forms", "b", 1.0),), (("forms", "c", 1.0),)), (True, True, False))
    found = fit([both] * 50, {}, lambda key: 0.1)
    assert found.weights["forms", "a"] == pytest.approx(found.weights["forms", "b"])
    assert found.weights["forms", "c"] < found.weights["forms", "a"]


def test_guesses_of_which_none_is_right_lose_against_none() -> None:
    wrong = Choice(((("forms", "a", 1.0),),), (False,))
    found = fit([wrong] * 30 + [choice("b")] * 30, {}, lambda key: 0.1)
    assert found.weights["forms", "a"] < found.none < found.weights["forms", "b"]


def test_folds_share_out_programs() -> None:
    names = [f"p{number}" for number in range(23)]
    parts = list(folds(random.Random(0).sample(names, 23), 10))
    assert parts == list(folds(names, 10))
    assert sorted(name for part in parts for name in part) == sorted(names)


def test_a_score_is_the_sum_of_the_weights_and_the_likeness() -> None:
    traits = prior.Traits("axes", "squeeze", "failing", 2, 3, -0.5)
    weights = {
        "operators": {"axes": 1.0},
        "forms": {"axes.squeeze": 0.5},
        "numbers": {"steps": -0.1, "order": -0.2, "likeness": 1.0},
    }
    assert prior.score(traits, weights) == pytest.approx(1.0 + 0.5 - 0.2 - 0.6 - 0.5)
    assert prior.score(replace(traits, operator="unheard of"), weights) < prior.score(traits, weights)


VALUES = {
    "net": Told("__main__.Net", takes=(Parameter("x", "both", "None"),)),
    "picture": Told("torch.Tensor", (1, 3, 4, 4), "float32"),
    "row": Told("torch.Tensor", (4,), "int64"),
    "table": Told("torch.Tensor", (6, 4), "float32", grown=True),
    "one": Told("torch.Tensor", (1,), "float32"),
    "cube": Told("torch.Tensor", (6, 4, 2), "float32"),
    "array": Told("numpy.ndarray", (6, 4, 1), "float64"),
    "vector": Told("numpy.ndarray", (6,), "float64"),
    "sheet": Told("numpy.ndarray", (6, 4), "float64"),
    "images": Told("numpy.ndarray", (6, 4, 4, 3), "float64"),
    "items": Told("list", size=2, items=(Told("int"),)),
    "pairs": Told("dict", size=1, keys=("a",)),
    "text": Told("str", text="7"),
    "raw": Told("bytes"),
    "lazy": Told("map"),
    "real": Told("float", number=1.5),
    "whole": Told("int", number=4),
    "sparse": Told("scipy.sparse.csr_matrix"),
    "frame": Told("pandas.DataFrame"),
    "nn": Told("module", module="torch.nn"),
    "np": Told("module", module="numpy"),
    "torch": Told("module", module="torch"),
    "side": Told("int", number=2),
    "self.near": Told("int", number=2),
    "layer": Told("function", takes=(Parameter("bias", "both", "True"), Parameter("padding", "both", "0"), Parameter("side", "both"))),
}  # fmt: skip

USES = """\
import numpy as np
import torch
def use(net, picture, row, table, one, cube, array, vector, sheet, images, items, pairs, text, raw, lazy, real, whole, sparse, frame, side, layer):
    layer(picture, 3, side=2, near=1)
    layer(row, table, one, cube, array, vector, sheet, images, items, pairs, text, raw, lazy, real, whole, sparse, frame)
    layer(4, bias=False)
    nn.Linear(nn.Linear(4, 2)(table), 3)
    nn.Linear(table)
    np.cat([row, table])
    torch.mm(row, table)
    net[table]
    pairs(table)
    a, b = real / 2 + 3 * whole
    picture[0, 1] + pairs["b"] + items[3]
    self.near + self.nearer + near + net.missing
    layer(net)
"""


def scene(kind: str, message: str) -> Scene:
    program = source(USES)
    statement = program.nodes(ast.FunctionDef)[0].body[0]
    crash = Crash(kind, message)
    subject = Subject(program, Trace(RunOutcome.CRASHED, crash=crash))
    calls = {program.site(call.func): VALUES["layer"].takes for call in program.all_calls}
    frame = Frame("", "use", program.site(statement), VALUES, {})
    return Scene(subject, (frame,), calls=calls, near=(("shape", "value"), ("fit", "call")))


MESSAGES = (
    ("TypeError", "wrong kind: [6, 4]"),
    ("NameError", "name 'near' is not defined"),
    ("AttributeError", "object has no attribute 'missing'"),
    ("RuntimeError", "sizes [2, 3] and [6, 4]"),
)


def test_every_form_has_a_weight_that_operators_offer_which_have_one() -> None:
    weights = prior._weights()
    offered: set[str] = set()
    for kind, message in MESSAGES:
        seen = scene(kind, message)
        for node in (node for node in ast.walk(seen.subject.source.tree) if isinstance(node, ast.expr)):
            place = Place(node, Role.FAILING, 0, seen.told(node))
            offered |= {f"{o.name}.{change.form}" for o in operators() for change in o.changes(seen, place)}
    assert set(weights["operators"]) <= {"statements", *(operator.name for operator in operators())}
    assert {role.value for role in Role} == set(weights["places"])
    fitted = {form for form in offered if form.partition(".")[0] in weights["operators"]}  # others are new
    assert fitted and fitted <= set(weights["forms"])


def test_every_form_that_has_a_weight_is_one_of_its_operator() -> None:
    for form in prior._weights()["forms"]:
        operator, _, name = form.partition(".")
        modules = ["statements", "beginnings"] if operator == "statements" else [operator]
        found = [import_module(f"dnnfix.synthesize.operators.{module}") for module in modules]
        text = "\n".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in found)
        texts = {
            n.value.strip()
            for n in ast.walk(ast.parse(text))
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        assert name in texts or name.partition(" ")[0] in texts, form  # some are put together: `add flag`
