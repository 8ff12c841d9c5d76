"""Versions of PyTorch and torchvision: the rules of another linter, the forms of calls, and what is installed."""

from __future__ import annotations

import importlib
import inspect
import warnings

import pytest
import torch

from dnnfix import registry
from dnnfix.config import Settings
from dnnfix.detect.versioning import names
from dnnfix.detect.versioning.migration import version_number
from dnnfix.detect.versioning.tables import table
from dnnfix.pipeline.check import check_file
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose

RULES = {
    # TorchFix's rule: our code, and a small program that both find
    "TOR001 removed function, used": ("DNF501", "import torch\nx, _ = torch.solve(b, a)\n"),
    "TOR001 renamed function, used": ("DNF501", "import torch\nr = torch.matrix_rank(a)\n"),
    "TOR002 misspelt requires_grad": ("DNF415", "import torch\nw = torch.ones(2)\nw.require_grad = True\n"),
    "TOR003 checkpoint without use_reentrant": (
        "DNF550",
        "import torch\nfrom torch.utils.checkpoint import checkpoint\ny = checkpoint(f, x)\n",
    ),
    "TOR004 removed function, imported": ("DNF501", "from torch.onnx import CheckerError\n"),
    "TOR101 deprecated function, used": ("DNF550", "import torch\nm = torch.ger(a, b)\n"),
    "TOR102 torch.load without weights_only": (
        "DNF530",
        "import torch\nnet = torch.load('net.pt')\nnet.eval()\n",
    ),
    "TOR103 deprecated function, imported": ("DNF550", "from functorch import vmap\ny = vmap(f)(x)\n"),
    "TOR104 collate function of a private module": (
        "DNF550",
        "import torch\nbatch = torch.utils.data._utils.collate.default_collate(rows)\n",
    ),
    "TOR105 collate function, imported from there": (
        "DNF550",
        "from torch.utils.data._utils.collate import default_collate\nbatch = default_collate(rows)\n",
    ),
    "TOR106 log(1 + x)": ("DNF350", "import torch\ny = torch.log(1 + x)\n"),
    "TOR107 exp(x) - 1": ("DNF350", "import torch\ny = torch.exp(x) - 1\n"),
    "TOR108 log(sum(exp(x)))": ("DNF350", "import torch\ny = torch.log(torch.sum(torch.exp(x), dim=1))\n"),
    "TOR201 pretrained": ("DNF550", "import torchvision\nnet = torchvision.models.resnet18(pretrained=True)\n"),
    "TOR202 v2.ToTensor": ("DNF550", "import torch\nfrom torchvision.transforms import v2\nt = v2.ToTensor()\n"),
    "TOR203 import of torchvision's modules": ("DNF903", "import torchvision.models as models\nnet = models.vgg16()\n"),
    "TOR401 num_workers": ("DNF904", "from torch.utils.data import DataLoader\nloader = DataLoader(rows)\n"),
    "TOR402 set_to_none": ("DNF902", "import torch\nnet = torch.nn.Linear(2, 1)\nnet.zero_grad(set_to_none=False)\n"),
}
"""Both leave out 401 and 402 by default. Weights alone are what `torch.load` reads today, so that 102 is left of what it
does not read."""

TODAY = """\
import torch
from torch.func import vmap
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, default_collate
from torchvision import models
from torchvision.transforms import v2

loader = DataLoader(rows, num_workers=4, collate_fn=default_collate)
net = models.resnet18(weights="IMAGENET1K_V1")
net.zero_grad(set_to_none=True)
net.load_state_dict(torch.load("net.pt", weights_only=True))
steps = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
weights = torch.ones(2, requires_grad=True)
solved = torch.linalg.solve(a, b) + torch.outer(a, b) + torch.log1p(x) + torch.expm1(x) + torch.logsumexp(x, dim=1)
kept = checkpoint(vmap(f), x, use_reentrant=False)
"""


def found(text: str, code: str) -> list[str]:
    rule = registry.template(code)
    assert rule is not None, code
    return [finding.message for finding in rule().detect(Subject(Source.from_bytes(text.encode(), "program.py")))]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_torchfix_has_a_template_that_finds_its_program(rule: str) -> None:
    code, text = RULES[rule]
    assert found(text, code)


@pytest.mark.parametrize("rule", RULES)
def test_check_reports_by_default_what_torchfix_does(rule: str) -> None:
    code, text = RULES[rule]
    by_default = not rule.startswith("TOR4")
    report = check_file(text.encode(), "program.py", Settings(), patches=False)
    assert (code in {result.finding.code for result in report.findings}) is by_default


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.qr(a)", "torch.linalg.qr(a)"),
        ("torch.qr(a, False)", 'torch.linalg.qr(a, mode="complete")'),
        ("torch.qr(a, some=True)", "torch.linalg.qr(a)"),
        ("torch.cholesky(a @ a.T)", "torch.linalg.cholesky(a @ a.T)"),
        ("torch.cholesky(a @ a.T, upper=True)", "torch.linalg.cholesky(a @ a.T).mH"),
        ("torch.range(0, 3)", "torch.arange(0, 3 + 1, dtype=torch.float32)"),
    ],
)
def test_a_deprecated_function_gives_what_its_successor_gives(old: str, new: str) -> None:
    text = f"import torch\ny = {old}\n"
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    rule = registry.template("DNF550")
    assert rule is not None
    (finding,) = rule().detect(subject)
    (candidate,) = propose(finding, subject, rule).candidates
    assert apply_edits(subject.source, candidate.edits).decode() == f"import torch\ny = {new}\n"
    known = {"torch": torch, "a": torch.tensor([[2.0, 1.0], [1.0, 3.0], [0.5, 4.0]])[: 2 if "cholesky" in old else 3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = eval(old, known), eval(new, known)
    assert all(map(torch.equal, *((one if isinstance(one, tuple) else (one,)) for one in (before, after))))


@pytest.mark.parametrize("code", sorted({code for code, _ in RULES.values()}))
def test_the_same_written_as_it_is_today_is_left_alone(code: str) -> None:
    assert not found(TODAY, code)


def test_what_is_a_matter_of_opinion_is_off_by_default() -> None:
    ours = [rule for rule in registry.templates() if rule.code.startswith("DNF9")]
    assert ours and not any(rule.default for rule in ours)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("class Cursor:\n    def next(self): return 1\nx = iter(Cursor()).next()\n", 0),
        ("it = iter(loader)\nfor _ in range(3):\n    batch = it.next()\n", 1),
        ("batch = loader.__iter__().next()\n", 1),
        ("reader = csv.reader(f)\nrow = reader.next()\n", 0),
        ("mask = (x > 0).byte()\ny = x.masked_fill(mask, 0)\n", 1),
        ("mask = x > 0\ny = x.masked_fill(mask, 0)\n", 0),
        ("mask = torch.zeros(3, dtype=torch.uint8)\ny = torch.masked_select(x, mask.unsqueeze(0))\n", 1),
        ("x = torch.ones(3)\ny = 1 - (x == 1)\n", 1),
        ("x = torch.ones(3)\ny = 1 - (x == 1).float()\n", 0),
        ("y = 1 - (labels == 1)\n", 0),
        ("class S(torch.utils.data.Sampler):\n    def __init__(self, d):\n        super().__init__(d)\n", 1),
        ("class S(torch.utils.data.Sampler):\n    def __init__(self, d):\n        super().__init__()\n", 0),
        ("class S(torch.utils.data.BatchSampler):\n    def __init__(self, d):\n        super().__init__(d)\n", 0),
    ],
)
def test_forms_of_calls_that_torch_refuses(text: str, wanted: int) -> None:
    assert len(found(f"import torch\n{text}", "DNF530")) == wanted


def test_torchvisions_table_is_true_of_what_is_installed() -> None:
    try:
        torchvision = importlib.import_module("torchvision")
    except (
        ImportError,
        RuntimeError,
    ) as error:  # the latter where it was built for another torch than the installed one
        pytest.skip(f"torchvision cannot be imported: {error}")
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for change in table(names.DATA / "torchvision.toml").changes():
            gone = change.removed and version_number(change.removed) <= version_number(torchvision.__version__)
            if change.kind in ("name", "module"):
                wrong += [change.old] if gone and _there(change.old) else []
                wrong += [change.new] if change.new and not _there(change.new) else []
            for of in change.of if change.kind == "argument" else ():
                owner, _, name = of.rpartition(".")
                call = getattr(importlib.import_module(owner), name, None) if _there(owner) else None
                taken = inspect.signature(inspect.unwrap(call)).parameters if callable(call) else {}
                if change.new and callable(call) and change.new not in taken and "kwargs" not in taken:
                    wrong.append(f"{of}({change.new}=)")
    assert not wrong


def _there(path: str) -> bool:
    owner, _, name = path.rpartition(".")
    try:
        return not owner or hasattr(importlib.import_module(owner), name) or bool(importlib.import_module(path))
    except ImportError:
        return False


def test_a_graph_is_kept_by_its_name_of_today() -> None:
    old = "import torch\n\n\ndef step(loss):\n    loss.backward(retain_variables=True)\n"
    assert len(found(old, "DNF501")) == 1
    assert not found(old.replace("retain_variables", "retain_graph"), "DNF501")
