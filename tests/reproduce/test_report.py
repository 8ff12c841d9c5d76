"""Bug reports are taken apart: code, tracebacks, logs, the symptom, the type of bug and what is not said."""

from __future__ import annotations

import pytest

from dnnfix.errors import InputError
from dnnfix.records import Crash, RunOutcome, Step, Symptom, Trace
from dnnfix.reproduce.reports import report
from dnnfix.reproduce.reports.kinds import BugType, Information, missing_information, type_of
from dnnfix.reproduce.reports.report import BlockKind
from dnnfix.reproduce.reports.symptoms import Reported, reported_symptom, shown
from dnnfix.source.program import Source

REPORT = """# Training crashes

I want to train on 28x28 images. This is my code:

```python
import torch
net = torch.nn.Linear(784, 10)
```

and then

    x = torch.randn(4, 28, 28)
    net(x)

It stops with

```
Traceback (most recent call last):
  File "t.py", line 4, in <module>
    net(x)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (112x28 and 784x10)
```

```bash
pip install torch
```

```
Epoch 1/10 loss: 2.301 - acc: 0.11
```
"""


def test_blocks_are_told_apart() -> None:
    written = report.read(REPORT, "bug.md")
    kinds = [block.kind for block in written.blocks]
    assert kinds == [BlockKind.PROGRAM, BlockKind.PROGRAM, BlockKind.TRACEBACK, BlockKind.SHELL, BlockKind.LOG]
    assert written.program.splitlines()[0] == "import torch" and "net(x)" in written.program
    assert "28x28 images" in written.said and "RuntimeError" in written.logs


def test_an_excerpt_is_not_run_twice() -> None:
    code = "import torch\nnet = torch.nn.Linear(3, 1)\nnet(torch.zeros(2, 3))\n"
    text = f"```python\n{code}```\nthe line in question is\n```python\nnet(torch.zeros(2, 3))\n```\n"
    assert report.read(text, "bug.md").program.count("net(torch") == 1


@pytest.mark.parametrize("text", ["nothing but words", "```\nTraceback (most recent call last):\nKeyError: 3\n```", ""])
def test_a_report_without_code_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"bug\.md: the report holds no Python code.*fenced"):
        report.read(text, "bug.md")


def test_the_part_that_matters_shown_first_is_no_part_of_the_program() -> None:
    part = "with torch.no_grad():\n    w = w - lr * w.grad\nprint(w)\n"
    whole = "import torch\n\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()\nlr = 0.1\nwith torch.no_grad():\n    w = w - lr * w.grad\n"
    assert (
        report.read(f"```\n{part}```\n\nAll of it:\n\n```\n{whole}```\n", "issue.md").program.strip() == whole.strip()
    )
    after = report.read(f"```\n{whole}```\n\n```\n{part}```\n", "issue.md").program
    assert "print(w)" in after


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (">>> import torch\n>>> torch.zeros(3)\ntensor([0., 0., 0.])", BlockKind.PROGRAM),
        ("$ python train.py\n", BlockKind.SHELL),
        ("ValueError: Input 0 of layer dense is incompatible with the layer", BlockKind.TRACEBACK),
        ("loss: 0.3 accuracy: 0.9\nloss: 0.2 accuracy: 0.95", BlockKind.LOG),
        ("<div>\n", BlockKind.LOG),
        ("Net (\n  (layer): Linear (1 -> 1)\n)", BlockKind.LOG),
        ("tensor([[0., 2.],\n        [2., 0.]], grad_fn=<MulBackward0>)", BlockKind.LOG),
        ("tensor([0., 0., 2.])\ntensor(1.5)", BlockKind.LOG),
    ],
)
def test_kind_of_block(text: str, kind: BlockKind) -> None:
    assert report.kind_of(text, "") is kind


@pytest.mark.parametrize(
    ("said", "symptom"),
    [
        (
            "it ends with\nTypeError: bad argument\nValueError: shapes (3,) and (4,)",
            Reported(Symptom.CRASH, "ValueError", "shapes (3,) and (4,)"),
        ),
        ("after some steps the loss becomes nan", Reported(Symptom.NON_FINITE)),
        ("the network always predicts the same class", Reported(Symptom.CONSTANT_OUTPUT)),
        ("My model does not learn anything", Reported(Symptom.NOT_LEARNING)),
        ("accuracy stays at 10 %", Reported(Symptom.NOT_LEARNING)),
        ("UserWarning: implicit dim. Everything is fine otherwise", None),
        ("How do I save a model?", None),
    ],
)
def test_reported_symptom(said: str, symptom: Reported | None) -> None:
    assert reported_symptom(said) == symptom


def trained(*losses: float, skill: float | None = None) -> Trace:
    return Trace(RunOutcome.FINISHED, steps=tuple(Step(i, loss, skill) for i, loss in enumerate(losses)))


def crashed(kind: str, message: str) -> Trace:
    return Trace(RunOutcome.CRASHED, crash=Crash(kind, message))


@pytest.mark.parametrize(
    ("reported", "trace", "there"),
    [
        (Reported(Symptom.CRASH, "ValueError", "shapes (3,4) and (5,6)"), crashed("ValueError", "shapes (9,4) and (1,6)"), True),
        (Reported(Symptom.CRASH, "InvalidArgumentError", "shapes"), crashed("tensorflow.errors.InvalidArgumentError", "shapes"), True),
        (Reported(Symptom.CRASH, "ValueError", "shapes do not match"), crashed("KeyError", "'loss'"), False),
        (Reported(Symptom.CRASH, "ValueError", "x"), trained(1.0, 0.5), False),
        (Reported(Symptom.NON_FINITE), trained(1.0, float("nan")), True),
        (Reported(Symptom.NON_FINITE), trained(1.0, 0.5), False),
        (Reported(Symptom.NOT_LEARNING), trained(2.3, 2.3, 2.3, skill=0.01), True),
        (Reported(Symptom.NOT_LEARNING), trained(2.3, 1.0, 0.2, skill=0.9), False),
        (Reported(Symptom.NOT_LEARNING), trained(2.3, 2.29), True),
        (Reported(Symptom.NOT_LEARNING), crashed("KeyError", "x"), False),
        (Reported(Symptom.CONSTANT_OUTPUT), trained(2.3, 2.3, skill=0.0), True),
        (Reported(Symptom.CONSTANT_OUTPUT), trained(2.3, 0.1, skill=0.8), False),
    ],
)  # fmt: skip
def test_whether_a_run_shows_it(reported: Reported, trace: Trace, there: bool) -> None:
    found, saw = shown(reported, trace)
    assert found is there and saw


@pytest.mark.parametrize(
    ("said", "trace", "kind"),
    [
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied", None, BugType.TENSOR),
        ("ImportError: cannot import name 'merge'", None, BugType.API),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB on the GPU", None, BugType.GPU),
        (
            "The loss does not go down, accuracy is at 10 % whatever learning rate I take",
            trained(2.3, 2.3),
            BugType.TRAINING,
        ),
        ("Which activation should the last layer of my model have? Its weights look odd", None, BugType.MODEL),
        ("", crashed("AttributeError", "module 'keras' has no attribute 'merge'"), BugType.API),
    ],
)
def test_type_of_bug(said: str, trace: Trace | None, kind: BugType) -> None:
    typed = type_of(said, trace)
    assert typed.kind is kind and typed.reasons


def test_what_a_report_lacks_is_ranked_for_its_type() -> None:
    source = Source.from_bytes(b"import torch\nnet = torch.nn.Linear(3, 1)\n", "bug.py")
    lacks = [m.information for m in missing_information(BugType.TENSOR, "it crashes", "", source, True)]
    assert lacks == [Information.DATA, Information.LOGS, Information.HYPERPARAMETERS]
    full = "ValueError: x\nshape (3, 4), learning rate 0.1"
    assert not list(missing_information(BugType.TENSOR, full, full, source, True))
