"""The predicted class is taken along the batch instead of along the classes."""

from __future__ import annotations

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Network,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
    Task,
    activation_of,
    argument_position,
    loss_uses,
    short,
    through,
)


class ClassesChosenOverBatch(FaultTemplate[Call]):
    """`argmax` or `max` of the network's class scores runs along axis 0, the batch.

    The result names for each class the sample that scores highest, not for each sample its class. Compared with the
    labels it gives a number that looks like an accuracy and says nothing, or shapes that do not meet.

    Fix safety: unsafe. What is reported changes; training is the same unless it depends on the report.

    References: torch.argmax, torch.max (dim: the dimension to reduce).
    """

    code = "DNF320"
    name = "classes-chosen-over-batch"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "{function} of the class scores runs along the batch (axis 0)"
    triggers = ("argmax", "max", "topk")

    declined = "the axis is not given at one place"

    def faults(self, subject: Subject) -> Faults[Call]:
        uses = [use for use in loss_uses(subject) if use.facts.task is Task.CLASSES and use.rank in (2, None)]
        if not uses:
            return
        network = subject.network
        scores = {_place(call) for call in map(network.producer, (use.prediction for use in uses)) if call is not None}
        for call in network.calls:
            if call.name not in _CHOOSING or call.args.get("dim") != 0 or not call.inputs:
                continue
            shape = call.inputs[0].shape
            maker = _scores(network, call)
            if maker is not None and _place(maker) in scores and (shape is None or len(shape) == 2):
                yield call.site, call

    def report(self, site: Site, call: Call) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.85,
            evidence={"axis": 0, "scores": call.inputs[0].shape},
            function=short(call.name),
        )

    def repairs(self, subject: Subject, call: Call) -> Repairs:
        node = subject.call_node(call)
        if node is not None:
            edit = SetArgument(subject.source.site(node), "dim", "1", argument_position(call.name, "dim"))
            yield "Choose along the classes (axis 1)", (edit,), 0.9

    examples = (
        Example(
            "max with the axis by position",
            """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
scores = net(torch.rand(6, 4))
loss = F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1, 2]))
- _, predicted = torch.max(scores.data, 0)
+ _, predicted = torch.max(scores.data, 1)
""",
        ),
        Example(
            "argmax of a softmax as a method, seen in a run",
            """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
scores = net(torch.rand(6, 4))
F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1, 2])).backward()
- predicted = F.softmax(scores, dim=1).argmax(0)
+ predicted = F.softmax(scores, dim=1).argmax(1)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "argmax along the classes",
            """\
import torch
from torch import nn
model = nn.Linear(4, 3)
out = model(torch.rand(6, 4))
loss = nn.CrossEntropyLoss()(out, torch.tensor([0, 1, 2, 0, 1, 2]))
predicted = out.argmax(dim=1)
""",
            runs=True,
        ),
        Reject(
            "one sample picked out of the batch",
            """\
import torch
from torch import nn
model = nn.Linear(4, 3)
out = model(torch.rand(6, 4))
loss = nn.CrossEntropyLoss()(out, torch.tensor([0, 1, 2, 0, 1, 2]))
first = out[0].argmax(dim=0)
""",
            runs=True,
        ),
    )


_CHOOSING = frozenset({"torch.argmax", "torch.max", "torch.Tensor.argmax", "torch.Tensor.max"})
_SAME = frozenset({"torch.Tensor.data", "torch.Tensor.detach", "torch.Tensor.cpu", "torch.autograd.Variable"})


def _scores(network: Network, call: Call) -> Call | None:
    """The call that made the scores, an activation between taken off."""
    maker = through(network, call.inputs[0], _SAME)
    if maker is not None and activation_of(maker) is not None and maker.component is None and maker.inputs:
        return through(network, maker.inputs[0], _SAME)
    return maker


def _place(call: Call) -> tuple[Site | None, Site | None]:
    return call.site, call.made_at
