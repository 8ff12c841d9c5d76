"""The settings that may be at fault in a training that learns nothing, and how each is set otherwise."""

from __future__ import annotations

import textwrap

import pytest

from dnnfix.network.optimizers import default_rate, usual_rate
from dnnfix.records import Json, Symptom
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import edited
from dnnfix.synthesize.causes import causes
from dnnfix.validate.reading import Reading
from tests.observing import Observe

FLAT = (Reading("at-chance", "", Symptom.NOT_LEARNING), Reading("flat", "", Symptom.NOT_LEARNING))
AWAY = (Reading("diverging", "", Symptom.NOT_LEARNING),)

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

measured = {inputs}
wanted = {targets}
batches = DataLoader(TensorDataset(measured, wanted), batch_size={batch})
net = nn.Sequential({layers})
optimizer = torch.optim.{optimizer}
measure = nn.{loss}()
for x, y in batches:
    optimizer.zero_grad()
    measure(net(x), y).backward()
    optimizer.step()
"""
USUAL = {
    "inputs": "torch.randn(64, 6)",
    "targets": "torch.randint(3, (64,))",
    "batch": "16, shuffle=True",
    "layers": "nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)",
    "optimizer": "Adam(net.parameters())",
    "loss": "CrossEntropyLoss",
}


def proposed(
    observe: Observe, changed: dict[str, str] | None = None, symptoms: tuple[Reading, ...] = FLAT
) -> dict[str, list[str]]:
    """For each setting the lines that each of its edits adds."""
    text = textwrap.dedent(PROGRAM.format(**{**USUAL, **(changed or {})})).lstrip("\n")
    source = Source.from_bytes(text.encode(), "program.py")
    found: dict[str, list[str]] = {}
    for cause in causes(Subject(source, observe(text).trace()), symptoms):
        made = edited(source, cause.edits).text.splitlines()
        added = [line.strip() for line in made if line not in text.splitlines()]
        found.setdefault(cause.setting, []).append("; ".join(added))
    return found


@pytest.mark.parametrize(
    ("changed", "setting", "line"),
    [
        pytest.param(
            {"optimizer": "SGD(net.parameters(), lr=5.0)"},
            "learning-rate",
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.01)",
            id="rate",
        ),
        pytest.param(
            {}, "learning-rate", "optimizer = torch.optim.Adam(net.parameters(), lr=0.0001)", id="default rate"
        ),
        pytest.param(
            {"optimizer": "SGD(net.parameters(), lr=0.01, momentum=0.9)"},
            "optimizer",
            "optimizer = torch.optim.Adam(net.parameters(), lr=0.001)",
            id="optimizer",
        ),
        pytest.param(
            {"inputs": "torch.randint(256, (64, 6)).float()"}, "inputs", "measured = measured / 255", id="bytes"
        ),
        pytest.param(
            {"inputs": "torch.randn(64, 6) * 1000"},
            "inputs",
            "mean, deviation = measured.mean(axis=0), measured.std(axis=0) + 1e-7; measured = (measured - mean) / deviation",
            id="scale",
        ),
        pytest.param(
            {"layers": "nn.Linear(6, 32), nn.Sigmoid(), nn.Linear(32, 3)"},
            "hidden-activations",
            "net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))",
            id="activation",
        ),
        pytest.param(
            {"layers": "nn.Linear(6, 1), nn.ReLU(), nn.Linear(1, 3)"},
            "units",
            "net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 3))",
            id="units",
        ),
        pytest.param(
            {"layers": "nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3), nn.ReLU()"},
            "output",
            "net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))",
            id="output",
        ),
        pytest.param(
            {"layers": "nn.Linear(6, 32), nn.Dropout(0.9), nn.Linear(32, 3)"},
            "regularization",
            "net = nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.2), nn.Linear(32, 3))",
            id="dropout",
        ),
        pytest.param(
            {"optimizer": "Adam(net.parameters(), weight_decay=1.0)"},
            "regularization",
            "optimizer = torch.optim.Adam(net.parameters())",
            id="decay",
        ),
        pytest.param(
            {"batch": "16"},
            "shuffling",
            "batches = DataLoader(TensorDataset(measured, wanted), batch_size=16, shuffle=True)",
            id="order",
        ),
        pytest.param(
            {"batch": "1, shuffle=True"},
            "batch-size",
            "batches = DataLoader(TensorDataset(measured, wanted), batch_size=32, shuffle=True)",
            id="batch",
        ),
    ],
)
def test_a_setting_is_set_otherwise(observe: Observe, changed: dict[str, str], setting: str, line: str) -> None:
    assert line in proposed(observe, changed)[setting]


@pytest.mark.parametrize(
    ("behind", "line"),
    [("hidden", "hidden = 64"), ("1", None)],
    ids=["by one name", "by another number"],
)
def test_a_width_is_set_where_it_has_its_name(observe: Observe, behind: str, line: str | None) -> None:
    layers = f"nn.Linear(6, hidden), nn.ReLU(), nn.Linear({behind}, 3)"
    text = PROGRAM.format(**{**USUAL, "layers": layers}).replace("\nmeasured", "\nhidden = 1\nmeasured", 1).lstrip("\n")
    source = Source.from_bytes(text.encode(), "program.py")
    found = [one for one in causes(Subject(source, observe(text).trace()), FLAT) if one.setting == "units"]
    assert [line in edited(source, one.edits).text.splitlines() for one in found] == ([True] if line else [])
    assert all(one.prior > 0.8 for one in found), "one number is all that comes through"


def test_what_is_usual_is_left_as_it_is(observe: Observe) -> None:
    assert set(proposed(observe)) == {"learning-rate"}


SETTINGS = """\
import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float, default=7.0)
options = parser.parse_args()
config = {"rate": 7.0, "rounds": 2}
measured, wanted = torch.randn(64, 6), torch.randint(3, (64,))
net = nn.Linear(6, 3)
nn.init.zeros_(net.weight)
for weight in net.parameters():
    weight.requires_grad = FROZEN


def train(rate, rounds=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1)
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(measured), wanted).backward()
        optimizer.step()
        schedule.step()


train(7.0)
"""
SHORT = (Reading("unfinished", "", Symptom.NOT_LEARNING),)


@pytest.mark.parametrize(
    ("rate", "line"),
    [
        ("rate", "train(0.01)"),
        ('config["rate"]', 'config = {"rate": 0.01, "rounds": 2}'),
        ("options.learning_rate", 'parser.add_argument("--learning-rate", type=float, default=0.01)'),
    ],
)
def test_a_rate_is_set_where_it_is_written(observe: Observe, rate: str, line: str) -> None:
    assert line in added(observe, {"RATE": rate}, FLAT)["learning-rate"]


@pytest.mark.parametrize(
    ("rounds", "line"),
    [
        ("rounds", "def train(rate, rounds=20):"),
        ('config["rounds"]', 'config = {"rate": 7.0, "rounds": 20}'),
        ("2", "for _ in range(20):"),
        ("1, 3", "for _ in range(1, 21):"),
    ],
)
def test_training_that_ends_too_soon_is_given_more_epochs(observe: Observe, rounds: str, line: str) -> None:
    longer = (line.replace("20", "200").replace("21", "201"), line.replace("20", "2000").replace("21", "2001"))
    assert added(observe, {"ROUNDS": rounds}, SHORT)["epochs"] == [line, *longer]
    assert "epochs" not in added(observe, {"ROUNDS": rounds}, FLAT)


def test_the_size_of_batches_is_set_where_an_option_has_it(observe: Observe) -> None:
    behind = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--rows', type=int, default=1)\ngiven = parser.parse_args()\n"
    added = proposed(observe, {"inputs": "torch.randn(64, 6)\n" + behind, "batch": "given.rows, shuffle=True"})
    assert added["batch-size"] == ["parser.add_argument('--rows', type=int, default=32)"]


@pytest.mark.parametrize(
    ("name", "usual", "default"),
    [
        ("torch.optim.Adadelta", 1.0, 1.0),
        ("keras.optimizers.Adadelta", 1.0, 0.001),
        ("tensorflow.compat.v1.train.AdadeltaOptimizer", 1.0, 0.001),
        ("keras.optimizers.Adam", 0.001, 0.001),
        ("keras.layers.Dense", None, None),
    ],
)
def test_a_default_that_is_none_of_the_usual_rates(name: str, usual: float | None, default: float | None) -> None:
    assert (usual_rate(name), default_rate(name)) == (usual, default)


def test_what_keeps_weights_from_training_is_left_out(observe: Observe) -> None:
    gone = removed(observe, {"FROZEN": "False"}, FLAT)
    assert gone["optimizer-parameters"] == ["for weight in net.parameters():; weight.requires_grad = False"]
    assert removed(observe, {}, FLAT)["initialization"] == ["nn.init.zeros_(net.weight)"]
    assert removed(observe, {}, FLAT)["schedule"] == ["schedule.step()"]
    assert "optimizer-parameters" not in removed(observe, {}, FLAT)


@pytest.mark.parametrize(
    ("shuffle", "left"),
    [
        ("random.shuffle(labels)", None),
        ("numpy.random.shuffle(rows); numpy.random.shuffle(labels)", None),
        ("labels = numpy.random.permutation(labels)", None),
        ("labels = labels[torch.randperm(40)]", None),
        ("other = labels[torch.randperm(40)]", "other = labels"),
        ("order = torch.randperm(40); rows, labels = rows[order], labels[order]", None),
        ("rows, labels = sklearn.utils.shuffle(rows, labels)", None),
    ],
)
def test_rows_are_left_in_their_order(shuffle: str, left: str | None) -> None:
    statements = shuffle.replace("; ", "\n")
    text = f"import random, numpy, sklearn, torch\nrows, labels = load()\n{statements}\n"
    source = Source.from_bytes(text.encode(), "program.py")
    found = causes(Subject(source), (Reading("unpaired", "", Symptom.NOT_LEARNING),))
    texts = [edited(source, cause.edits).text for cause in found]
    together = "order" in shuffle or "sklearn" in shuffle
    kept = "" if left is None else f"{left}\n"
    assert (f"import random, numpy, sklearn, torch\nrows, labels = load()\n{kept}" in texts) is not together
    assert bool(texts) is not together
    assert not causes(Subject(source), FLAT)


def changed_lines(
    observe: Observe, changed: dict[str, str], symptoms: tuple[Reading, ...], gone: bool
) -> dict[str, list[str]]:
    text = SETTINGS
    for word, code in {"RATE": "rate", "ROUNDS": "rounds", "FROZEN": "True", **changed}.items():
        text = text.replace(word, code)
    source = Source.from_bytes(text.encode(), "program.py")
    found: dict[str, list[str]] = {}
    for cause in causes(Subject(source, observe(text).trace()), symptoms):
        sides = text.splitlines(), edited(source, cause.edits).text.splitlines()
        before, after = sides if gone else reversed(sides)
        lines = "; ".join(line.strip() for line in before if line not in after)
        found.setdefault(cause.setting, []).append(lines)
    return found


def added(observe: Observe, changed: dict[str, str], symptoms: tuple[Reading, ...]) -> dict[str, list[str]]:
    return changed_lines(observe, changed, symptoms, gone=False)


def removed(observe: Observe, changed: dict[str, str], symptoms: tuple[Reading, ...]) -> dict[str, list[str]]:
    return changed_lines(observe, changed, symptoms, gone=True)


def test_a_loss_that_runs_away_asks_for_no_greater_rate(observe: Observe) -> None:
    found = proposed(observe, {"optimizer": "SGD(net.parameters(), lr=5.0)"}, AWAY)
    assert not [line for line in found["learning-rate"] if "lr=50" in line]
    (clipped,) = found["clipping"]
    assert clipped == "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"


def test_what_is_computed_in_half_precision_gets_a_wider_range_where_a_loss_is_not_finite(observe: Observe) -> None:
    text = """\
    import torch
    from torch import nn
    net = nn.Linear(6, 2).half()
    data = torch.randn(64, 6).to(torch.float16)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        net(data).float().logsumexp(1).mean().backward()
        optimizer.step()
    """
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    subject = Subject(source, observe(text).trace())
    infinite = (Reading("non-finite", "", Symptom.NON_FINITE),)
    texts = [edited(source, c.edits).text for c in causes(subject, infinite) if c.setting == "precision"]
    wider = source.text.replace(".half()", ".bfloat16()").replace("float16)", "bfloat16)")
    assert texts == [wider, source.text.replace(".half()", ".float()").replace("float16)", "float32)")]
    assert not [c for c in causes(subject, FLAT) if c.setting == "precision"]


def test_the_array_that_is_tested_on_is_scaled_by_what_was_learned_from_the_other(observe: Observe) -> None:
    text = """\
    import torch
    from torch import nn
    train, test = torch.randn(64, 6) * 500, torch.randn(32, 6) * 500
    wanted = torch.randn(64, 1)
    net = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(train), wanted).backward()
        optimizer.step()
    held = net(test)
    """
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    found = [c for c in causes(Subject(source, observe(text).trace()), FLAT) if c.setting == "inputs"]
    lines = edited(source, found[0].edits).text.splitlines()
    assert lines[6:9] == [
        "mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-7",
        "train = (train - mean) / deviation",
        "test = (test - mean) / deviation",
    ]


def repaired(observe: Observe, text: str, setting: str, symptoms: tuple[Reading, ...] = FLAT) -> list[str]:
    """The program after the likeliest edit of a setting; empty where the setting is no cause."""
    source = Source.from_bytes(textwrap.dedent(text).lstrip("\n").encode(), "program.py")
    found = [c for c in causes(Subject(source, observe(text).trace()), symptoms) if c.setting == setting]
    return edited(source, found[0].edits).text.splitlines() if found else []


REGRESSION = """
import torch
from torch import nn
rows = torch.randn(64, 6)
prices = rows.sum(1, keepdim=True) * {size}
net = nn.Linear(6, 1)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(rows), prices).backward()
    optimizer.step()
"""


def test_targets_far_from_one_are_scaled_before_training(observe: Observe) -> None:
    lines = repaired(observe, REGRESSION.format(size=5000), "targets")
    place = lines.index("prices = (prices - target_mean) / target_deviation")
    assert lines[place - 1] == "target_mean, target_deviation = prices.mean(axis=0), prices.std(axis=0) + 1e-7"
    assert lines[place + 1] == "for _ in range(4):"
    assert not repaired(observe, REGRESSION.format(size=1), "targets")


def test_gradients_that_nothing_uses_are_given_an_optimizer(observe: Observe) -> None:
    text = REGRESSION.format(size=1)
    for line in (
        "optimizer = torch.optim.Adam(net.parameters())\n",
        "    optimizer.zero_grad()\n",
        "    optimizer.step()\n",
    ):
        text = text.replace(line, "")
    lines = repaired(observe, text, "updating")
    assert lines[-5:] == [
        "optimizer = torch.optim.Adam(net.parameters(), lr=0.001)",
        "for _ in range(4):",
        "    optimizer.zero_grad()",
        "    nn.functional.mse_loss(net(rows), prices).backward()",
        "    optimizer.step()",
    ]
    assert not repaired(observe, REGRESSION.format(size=1), "updating")


def test_a_loss_that_is_computed_before_the_loop_is_computed_in_it(observe: Observe) -> None:
    text = """
    import torch
    from torch import nn
    rows, wanted = torch.randn(64, 6), torch.randn(64, 1)
    net = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(net.parameters())
    given = net(rows)
    error = (given - wanted).pow(2).mean()
    for _ in range(4):
        optimizer.zero_grad()
        error.backward(retain_graph=True)
        optimizer.step()
    """
    text = textwrap.dedent(text)
    lines = repaired(observe, text, "recomputing")
    place = lines.index("    error.backward(retain_graph=True)")
    assert lines[place - 2 : place] == ["    given = net(rows)", "    error = (given - wanted).pow(2).mean()"]
    assert not repaired(observe, REGRESSION.format(size=1), "recomputing")


@pytest.mark.parametrize(
    ("behind", "moved"),
    [
        ("print(epoch)", ["    schedule.step()", "    print(epoch)"]),
        ("", None),
    ],
)
def test_a_schedule_is_moved_on_once_an_epoch(observe: Observe, behind: str, moved: list[str] | None) -> None:
    text = f"""
import torch
from torch import nn
rows, wanted = torch.randn(64, 6), torch.randn(64, 1)
net = nn.Linear(6, 1)
optimizer = torch.optim.Adam(net.parameters())
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
for epoch in range(2):
    for batch in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(rows), wanted).backward()
        optimizer.step()
        schedule.step()
    {behind}
"""
    lines = repaired(observe, text, "schedule")
    assert "        schedule.step()" not in lines
    assert moved is None or lines[-2:] == moved


def curved(linear: float) -> tuple[Reading, ...]:
    numbers: dict[str, Json] = {"reference": 0.9, "learner": "neighbours", "linear": linear}
    return (Reading("behind", "", Symptom.NOT_LEARNING, numbers),)


def test_a_linear_network_is_given_a_layer_where_the_data_are_not_linear(observe: Observe) -> None:
    only = "net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))"
    text = REGRESSION.format(size=1).lstrip("\n")
    assert only in repaired(observe, text, "layers", curved(0.1))
    seen = Subject(Source.from_bytes(text.encode(), "program.py"), observe(text).trace())
    for linear, likely in ((0.1, 0.9), (0.7, 0.3)):
        assert [c.prior for c in causes(seen, curved(linear)) if c.setting == "layers"] == [likely]
    deeper = text.replace("nn.Linear(6, 1)", "nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 1))")
    assert not repaired(observe, deeper, "layers", curved(0.1))


@pytest.mark.parametrize(
    ("changed", "kind", "counts", "line"),
    [
        pytest.param({}, "class", [90, 6, 4], "measure = nn.CrossEntropyLoss(weight=torch.tensor([0.37, 5.56, 8.33]))", id="classes"),
        pytest.param(
            {"loss": "BCEWithLogitsLoss", "targets": "(torch.rand(64, 1) > 0.9).float()",
             "layers": "nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)"},
            "binary", [95, 5],
            "measure = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([19.0]))",
            id="yes or no",
        ),
    ],
)  # fmt: skip
def test_classes_are_weighed_where_targets_are_unbalanced(
    observe: Observe, changed: dict[str, str], kind: str, counts: list[Json], line: str
) -> None:
    unbalanced = Reading("unbalanced", "", Symptom.NOT_LEARNING, {"counts": counts, "kind": kind})
    assert proposed(observe, changed, (*FLAT, unbalanced))["class-weights"] == [line]
    assert "class-weights" not in proposed(observe, changed)


HUGGING_FACE = """
from transformers import Trainer, TrainingArguments
from models import model, rows

settings = TrainingArguments(output_dir="out", {settings})
Trainer(model=model, args=settings, train_dataset=rows).train()
"""
LIGHTNING = """
import lightning as L
from models import Net, rows

trainer = L.Trainer(max_epochs=3)
trainer.fit(Net(), rows)
"""


def of_trainer(text: str, observe: Observe, *shown: str) -> dict[str, list[str]]:
    """What is proposed for a program whose libraries are not here, by setting; the run is that of another program."""
    text = text.lstrip("\n")
    source = Source.from_bytes(text.encode(), "program.py")
    trace = observe(textwrap.dedent(PROGRAM.format(**USUAL)).lstrip("\n")).trace()
    symptoms = tuple(Reading(name, "", Symptom.NOT_LEARNING) for name in shown)
    found: dict[str, list[str]] = {}
    for cause in causes(Subject(source, trace), symptoms):
        made = edited(source, cause.edits).text.splitlines()
        added = [line.strip() for line in made if line not in text.splitlines()]
        found.setdefault(cause.setting, []).append("; ".join(added))
    return found


def test_settings_of_trainers_are_set_otherwise(observe: Observe) -> None:
    written = HUGGING_FACE.format(
        settings="learning_rate=1.0, num_train_epochs=2, per_device_train_batch_size=1, weight_decay=0.5"
    )
    found = of_trainer(written, observe, "unfinished")
    assert "learning_rate=0.001" in found["learning-rate"][0]
    assert "num_train_epochs=20" in found["epochs"][0]
    assert "per_device_train_batch_size=32" in found["batch-size"][0]
    assert "weight_decay" not in found["regularization"][0]
    left = of_trainer(HUGGING_FACE.format(settings="num_train_epochs=2"), observe, "at-chance", "flat")
    assert "learning_rate=0.001" in left["learning-rate"][0]
    assert "max_epochs=30" in of_trainer(LIGHTNING, observe, "unfinished")["epochs"][0]
