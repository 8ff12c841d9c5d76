"""Defaults that changed: the table is true of what is installed, and a program is told only what concerns its time."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from dnnfix.detect.versioning import names
from dnnfix.detect.versioning.defaults import TABLE, relied_defaults
from dnnfix.detect.versioning.era import older, proofs
from dnnfix.detect.versioning.migration import migration, version_number
from dnnfix.detect.versioning.tables import Change, table
from dnnfix.fix_templates.versioning.changed_default import ChangedDefault
from dnnfix.fix_templates.versioning.scheduler_stepped_before_optimizer import SchedulerSteppedBeforeOptimizer
from dnnfix.fix_templates.versioning.seed_without_effect import SeedWithoutEffect
from dnnfix.records import Applicability, Crash, RunOutcome, Trace
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose

ENTRIES = {
    f"{of}({change.argument}){change.given}": (of, change) for change in table(TABLE).changes() for of in change.of
}
"""By what a test is called: what is called, and the change of its default."""


def subject(text: str, trace: Trace | None = None) -> Subject:
    return Subject(Source.from_bytes(text.encode(), "program.py"), trace)


def installed(name: str) -> Any:
    """What is installed under a name; the test is skipped where the package or the version is not."""
    parts = name.split(".")
    found = pytest.importorskip(parts[0], reason=f"{parts[0]} is not installed")
    for number, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[:number]))
    return found


def parameters(name: str) -> list[inspect.Parameter]:
    """The parameters that a call gives, without the object a method is of."""
    found = list(inspect.signature(installed(name)).parameters.values())
    return found[1:] if found and found[0].name == "self" else found


def hard_sigmoid() -> float:
    keras, numpy = installed("keras"), installed("numpy")
    return float(keras.activations.hard_sigmoid(keras.ops.convert_to_tensor(numpy.array([1.5], "float32")))[0])


def upsampled(function: str, **stated: Any) -> list[float]:
    torch = installed("torch")
    line = torch.tensor([[[0.0, 1.0]]])
    functional = torch.nn.functional
    made = {
        "torch.nn.functional.interpolate": lambda: functional.interpolate(line, size=4, mode="linear", **stated),
        "torch.nn.functional.upsample": lambda: functional.upsample(line, size=4, mode="linear", **stated),
        "torch.nn.Upsample": lambda: torch.nn.Upsample(size=4, mode="linear", **stated)(line),
    }
    return list(made[function]().flatten().tolist())


def sampled(name: str, **stated: Any) -> list[float]:
    torch = installed("torch")
    functional = torch.nn.functional
    if name.endswith("affine_grid"):
        return list(functional.affine_grid(torch.eye(2, 3)[None], [1, 1, 2, 2], **stated).flatten().tolist())
    image, grid = torch.arange(4.0).reshape(1, 1, 2, 2), torch.full((1, 1, 1, 2), -1.0)
    return list(functional.grid_sample(image, grid, **stated).flatten().tolist())


BY_WHAT_IT_DOES: dict[str, Callable[[str], bool]] = {
    "torch.nn.functional.interpolate": lambda name: upsampled(name) == upsampled(name, align_corners=False),
    "torch.nn.functional.upsample": lambda name: upsampled(name) == upsampled(name, align_corners=False),
    "torch.nn.Upsample": lambda name: upsampled(name) == upsampled(name, align_corners=False),
    "torch.nn.functional.grid_sample": lambda name: sampled(name) == sampled(name, align_corners=False),
    "torch.nn.functional.affine_grid": lambda name: sampled(name) == sampled(name, align_corners=False),
    "pandas.get_dummies": lambda name: str(installed(name)(["a", "b"])["a"].dtype) == "bool",
    "numpy.linalg.lstsq": lambda name: installed(name)([[1.0, 0.0], [0.0, 1e-18]], [1.0, 1.0])[2] == 1,
    "torch.load": lambda name: (
        "weights_only: bool | None" in str(inspect.signature(installed(name)))
        or "weights_only: Optional[bool]" in str(inspect.signature(installed(name)))
    ),
}
"""Where a signature says `None` and the function decides: whether it does what the table says."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_default_of_today_is_the_one_that_is_installed(entry: str) -> None:
    of, change = ENTRIES[entry]
    by_name = {parameter.name: parameter for parameter in parameters(of)}
    package = of.partition(".")[0]
    version = str(installed(package).__version__)
    if version_number(version) < version_number(change.since):
        pytest.skip(f"{package} {version} is installed, and the default changed in {change.since}")
    if change.given:
        assert hard_sigmoid() == pytest.approx(1.5 / 6 + 0.5), "what the literal means"
    elif of in BY_WHAT_IT_DOES:
        assert BY_WHAT_IT_DOES[of](of)
    elif change.argument == "cv":
        assert by_name["cv"].default is None
        assert installed("sklearn.model_selection.check_cv")(None).get_n_splits() == ast.literal_eval(change.new)
    else:
        wanted = ast.literal_eval(change.new)
        default = by_name[change.argument].default
        assert default == wanted and isinstance(default, bool) == isinstance(wanted, bool)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_argument_is_where_the_table_says_and_takes_the_former_value(entry: str) -> None:
    of, change = ENTRIES[entry]
    if of == "torch.optim.Optimizer.zero_grad":
        return  # never edited
    names = [parameter.name for parameter in parameters(of)]
    assert change.argument in names
    if change.position is not None:
        assert names[change.position] == change.argument
    if change.silent or change.given or change.write or of.startswith("torch.nn.functional") or of.endswith(".fit"):
        return
    old = ast.literal_eval(change.old)
    if inspect.isclass(installed(of)) and not of.startswith(("torch.", "tensorflow.")) and "SearchCV" not in of:
        made = installed(of)(**{"units": 2} if of.startswith("keras.layers.") else {}, **{change.argument: old})
        kept = getattr(made, change.argument, old)
        assert kept is old or float(kept) == pytest.approx(old)


@pytest.mark.parametrize("change", [c for _, c in ENTRIES.values()], ids=ENTRIES)
def test_every_entry_says_what_it_does_and_where_that_is_told(change: Change) -> None:
    assert change.reference.startswith("https://")
    assert change.effect and change.old != change.new
    if not change.given and not change.write:
        ast.parse(change.old, mode="eval")


def test_the_former_gates_are_written_as_they_were() -> None:
    keras, numpy = installed("keras"), installed("numpy")
    codes = {change.write for _, change in ENTRIES.values() if change.write}
    x = numpy.linspace(-4, 4, 81, dtype="float32")
    then = numpy.clip(0.2 * x + 0.5, 0, 1)
    for code in codes:
        gate = eval(code.replace("{", "").replace("}", ""), {"keras": keras})
        assert numpy.allclose(keras.ops.convert_to_numpy(gate(keras.ops.convert_to_tensor(x))), then, atol=1e-6)
    now = keras.ops.convert_to_numpy(keras.activations.hard_sigmoid(keras.ops.convert_to_tensor(x)))
    assert abs(now - then).max() == pytest.approx(0.083, abs=1e-3), "the number in the table"


@pytest.mark.parametrize(
    ("line", "package", "version"),
    [
        ("!pip install keras==2.1.5", "keras", "2.1.6"),
        ("# tensorflow-gpu==1.4", "tensorflow", "1.5"),
        ("# Tested with PyTorch 0.4.1", "torch", "0.4.2"),
        ("# tested on tensorflow version 1.12", "tensorflow", "1.13"),
        ("# this code runs on TF 1.x", "tensorflow", "1.999"),
        ("# needs keras >= 2.0", "", ""),
        ("# works with PyTorch 0.4+", "", ""),
        ("# tested with keras 2.0 or later", "", ""),
        ("# new in keras 2.3", "", ""),
        ("# Keras, see chapter 2.1", "", ""),
    ],
)
def test_versions_that_a_program_states(line: str, package: str, version: str) -> None:
    found = [(proof.package, proof.version) for proof in proofs(subject(f"{line}\nimport keras, torch\n"))]
    assert (package, version) in found if package else not found


@pytest.mark.parametrize(("kernel", "keras"), [("2.7.13", "2.4"), ("3.5.2", "2.5"), ("3.6.9", "2.7"), ("3.11.4", "")])
def test_the_kernel_of_a_notebook_tells_its_time(kernel: str, keras: str) -> None:
    cells = [{"cell_type": "code", "source": ["import keras\n"], "metadata": {}, "outputs": [], "execution_count": 1}]
    about = {"language_info": {"name": "python", "pygments_lexer": "ipython3", "version": kernel}}
    raw = json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 2}, indent=1).encode()
    known = Subject(Source.from_bytes(raw, "notebook.ipynb"))
    assert [proof.version for proof in proofs(known) if proof.package == "keras"][:1] == ([keras] if keras else [])


@pytest.mark.parametrize(
    ("text", "package", "version"),
    [
        ("import keras\nkeras.layers.Dense(output_dim=1)\n", "keras", "2.0"),
        ("import tensorflow as tf\nprint(tf.contrib.learn)\n", "keras", "2.4"),
        ("import torch\nprint 'step', 1\n", "torch", "1.5"),
        ("import torch\nfrom sklearn.cross_validation import train_test_split\n", "sklearn", "0.20"),
        ("import torch\nfrom torch.autograd import Variable\nx = Variable(t, volatile=True)\n", "torch", "0.4"),
    ],
)
def test_what_a_program_uses_tells_its_time(text: str, package: str, version: str) -> None:
    known = subject(text)
    assert older(known, package, version) is not None
    before = version_number(version)
    assert older(known, package, f"{before[0]}.{before[1] - 1}" if before[1] else f"{before[0] - 1}.0") is None


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nif keras.__version__ < '2':\n    keras.layers.Dense(output_dim=1)\nkeras.optimizers.Adadelta()\n",
        "import keras\ntry:\n    from keras.utils import np_utils\nexcept ImportError:\n    pass\nkeras.optimizers.Adadelta()\n",
        "import keras\nfrom keras.layers.core import Dense\nkeras.optimizers.Adadelta()\n",
        "# keras==2.4.3\nimport keras\nkeras.optimizers.Adadelta()\n",
        "# keras==2.1.6\nimport keras\nkeras.optimizers.Adadelta(**settings)\n",
        "# keras==2.1.6\nimport keras\nkeras.optimizers.Adadelta(1.0)\n",
        "# keras==2.1.6\nimport keras\nkeras.optimizers.Adadelta(lr=rate)\n",
        "# keras==2.1.6\nimport keras\nkeras.layers.LSTM(3)\n",
        "# tensorflow==1.15\nfrom tensorflow import keras\nkeras.optimizers.Adadelta()\n",
        "# torch==0.4.1\nimport torch.nn.functional as F\ny = F.dropout(x, 0.5, self.training)\n",
        "# torch==0.4.1\nimport torch.nn as nn\nup = nn.Upsample(scale_factor=2, mode='bilinear')\n",
    ],
)
def test_no_proof_or_nothing_that_changed_is_no_finding(text: str) -> None:
    assert not list(ChangedDefault().detect(subject(text)))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("# keras==2.1.6\nimport keras\nkeras.optimizers.Adadelta()\n", ["learning_rate"]),
        ("# keras==2.1.2\nimport keras\nkeras.optimizers.Adadelta(lr=1.0)\n", ["epsilon"]),
        ("# keras==2.2.4\nimport keras\nm = keras.Sequential()\nm.compile('adagrad', 'mse')\n", ["learning_rate"]),
        ("import keras\nkeras.layers.Dense(output_dim=1)\nkeras.optimizers.Adadelta()\n", ["learning_rate", "epsilon"]),
        (
            "import keras\nkeras.layers.Dense(output_dim=1)\nkeras.layers.Dense(units=1)\nkeras.optimizers.Adadelta()\n",
            ["learning_rate"],
        ),
        ("# torch==0.4.1\nimport torch.nn.functional as F\ny = F.dropout(x, 0.5)\n", ["training"]),
        ("# torch==0.3.1\nimport torch.nn as nn\nup = nn.Upsample(scale_factor=2, mode='bilinear')\n", ["align_corners"]),
        ("# scikit-learn==0.19\nimport torch\nfrom sklearn import svm\nsvm.SVC(C=2)\n", ["gamma"]),
        (
            "import keras\nm = keras.Sequential()\nm.add(keras.layers.Dense(output_dim=1))\nm.fit(x, y)\n",
            ["epochs"],
        ),
        (
            "# keras==2.2.4\nfrom keras.layers import LSTM\nlayer = LSTM(3)\nmodel.load_weights('w.h5')\n",
            ["recurrent_activation"],
        ),
        ("# tensorflow==1.15\nfrom tensorflow.keras.layers import GRU\nlayer = GRU(3)\nmodel.load_weights('w')\n", [
            "recurrent_activation", "reset_after",
        ]),
    ],
)  # fmt: skip
def test_what_a_program_of_its_time_relies_on(text: str, arguments: list[str]) -> None:
    assert [reliance.change.argument for reliance, _ in relied_defaults(subject(text))] == arguments


def test_the_message_has_the_numbers_and_the_proof_and_the_patch_is_never_safe() -> None:
    known = subject("# keras==2.1.6\nfrom keras.optimizers import Adadelta\na = Adadelta()\nb = Adadelta(rho=0.9)\n")
    (finding,) = ChangedDefault().detect(known)
    assert "changed from 1.0 to 0.001 in Keras 2.4" in finding.message
    assert "accuracy dropped from 94 % to 11 % in measurements" in finding.message
    assert "(and 1 more such call)" in finding.message and "line 1: it says 'keras==2.1.6'" in finding.message
    (candidate,) = propose(finding, known, ChangedDefault).candidates
    assert candidate.applicability is Applicability.UNSAFE
    patched = apply_edits(known.source, candidate.edits).decode()
    assert patched.endswith("a = Adadelta(learning_rate=1.0)\nb = Adadelta(rho=0.9, learning_rate=1.0)\n")
    assert not list(ChangedDefault().detect(subject(patched)))


def test_the_migration_leaves_defaults_and_seeds_as_they_are_and_their_patches_bring_it_along() -> None:
    text = (
        "import numpy as np\nimport keras\nfrom keras.layers.core import Dense\nnp.random.seed(7)\nx = np.ones(3)\n"
        "layer = Dense(output_dim=3)\noptimizer = keras.optimizers.Adadelta()\n"
    )
    known = subject(text)
    assert not {"DNF521", "DNF522"} & {edit for hit in migration(known) for edit in hit.evidence}
    migrated = apply_edits(known.source, [edit for hit in migration(known) for edit in hit.edits]).decode()
    assert "np.random.seed(7)" in migrated and "Adadelta()" in migrated
    for kind, stated in (
        (ChangedDefault, "Adadelta(learning_rate=1.0, epsilon=1e-08)"),
        (SeedWithoutEffect, "set_random_seed(7)"),
    ):
        (finding,) = kind().detect(known)
        assert finding.cause == "", "the patch of another finding does not settle it"
        patched = apply_edits(known.source, propose(finding, known, kind).candidates[0].edits).decode()
        assert stated in patched and "units=3" in patched and "layers.core" not in patched


def test_an_error_that_only_the_new_default_raises_is_proof_as_well() -> None:
    text = "import torch\nimport pandas as pd\nframe = pd.get_dummies(data)\nx = torch.tensor(frame.values)\n"
    message = "can't convert np.ndarray of type numpy.object_. The only supported types are: float64, float32."
    trace = Trace(outcome=RunOutcome.CRASHED, crash=Crash(kind="TypeError", message=message, frames=()))
    assert not list(ChangedDefault().detect(subject(text)))
    known = subject(text, trace)
    (finding,) = ChangedDefault().detect(known)
    patched = apply_edits(known.source, propose(finding, known, ChangedDefault).candidates[0].edits).decode()
    assert "pd.get_dummies(data, dtype='uint8')" in patched


def test_gates_of_a_network_that_is_trained_anew_are_told_of_and_left() -> None:
    text = (
        "from keras.models import Sequential\nfrom keras.layers import Dense, LSTM\n"
        "model = Sequential([LSTM(output_dim=8, input_shape=(10, 4)), Dense(1)])\nmodel.fit(x, y, nb_epoch=5)\n"
    )
    assert not list(ChangedDefault().detect(subject(text)))
    known = subject(text, Trace(outcome=RunOutcome.FINISHED, versions={"keras": "3.15.0"}))
    (finding,) = ChangedDefault().detect(known)
    assert "hard_sigmoid" in finding.message and finding.confidence == 0.5
    proposed = propose(finding, known, ChangedDefault)
    assert not proposed.candidates and "trained from scratch" in str(proposed)


def test_an_older_version_that_is_installed_has_the_former_default() -> None:
    trace = Trace(outcome=RunOutcome.FINISHED, versions={"keras": "2.1.6"})
    assert not list(
        ChangedDefault().detect(subject("# keras==2.1.6\nimport keras\nkeras.optimizers.Adadelta()\n", trace))
    )


def test_the_seed_of_keras_3_is_the_only_one_that_its_weights_hear() -> None:
    keras, numpy = installed("keras"), installed("numpy")
    if version_number(keras.__version__) < (3,):
        pytest.skip(f"Keras {keras.__version__} is installed, and hears the seeds of its backend")

    def weights(seed: Callable[[int], object]) -> Any:
        seed(7)
        return numpy.asarray(keras.ops.convert_to_numpy(keras.initializers.GlorotUniform()((4, 4))))

    assert (weights(keras.utils.set_random_seed) == weights(keras.utils.set_random_seed)).all()
    assert not (weights(numpy.random.seed) == weights(numpy.random.seed)).all()


def test_the_table_is_one_of_the_catalogues() -> None:
    assert TABLE.parent == names.DATA and len(ENTRIES) > 60


@pytest.mark.parametrize(("first", "rates"), [(True, [1.0, 0.1, 0.1, 0.01]), (False, [1.0, 1.0, 0.1, 0.1])])
def test_the_rates_of_a_schedule_that_is_stepped_first_and_last(first: bool, rates: list[float]) -> None:
    torch = installed("torch")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)
    seen = []
    for _ in rates:
        weight.grad = torch.zeros(1)
        if first:
            schedule.step()
        seen.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        if not first:
            schedule.step()
    assert seen == rates, "the numbers in the message: of today, and of the end of the epoch"


def test_a_schedule_is_not_moved_to_an_end_that_is_not_always_reached() -> None:
    text = (
        "import torch\noptimizer = torch.optim.SGD(net.parameters(), lr=1.0)\n"
        "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)\nfor epoch in range(9):\n    schedule.step()\n"
        "    if epoch == 3:\n        continue\n    optimizer.step()\n"
    )
    known = subject(text)
    (finding,) = SchedulerSteppedBeforeOptimizer().detect(known)
    declined = propose(finding, known, SchedulerSteppedBeforeOptimizer)
    assert not declined.candidates and "continue" in declined.declined
