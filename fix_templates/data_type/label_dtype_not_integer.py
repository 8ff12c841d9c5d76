"""A classification loss is called with class indices that are not int64."""

from __future__ import annotations

from dnnfix.api import Call, IntegerTemplate, network_facts


class LabelDtypeNotInteger(IntegerTemplate):
    """A classification loss is called with class indices that are floats or small integers, for which torch raises.

    `CrossEntropyLoss` and `NLLLoss` expect class indices as int64. Floats of the shape of the prediction would be class
    probabilities and are left alone, and so are fractions.

    Fix safety: unsafe. The program did not run before; integer values stay.

    References: torch.nn.CrossEntropyLoss and torch.nn.NLLLoss, section "Shape" ("Target").
    """

    code = "DNF602"
    name = "label-dtype-not-integer"
    in_modules = True
    message = "{taker} expects class indices as int64, got {received}"
    declined = "the labels are not created in this file"
    index = 1
    make = "Make the labels 64-bit integers"
    cast = "Cast the labels to 64-bit integers in the loss"

    def refuses(self, call: Call) -> bool:
        facts, (prediction, labels) = network_facts.LOSSES.get(call.name), call.inputs[:2]
        if facts is None or facts.target is not network_facts.Target.INDICES or not call.name.startswith("torch."):
            return False
        if labels.dtype in (None, "int64", "uint8") or labels.integral is False:
            return False
        if prediction.shape is None or labels.shape is None:
            return False
        return len(labels.shape) == len(prediction.shape) - 1

    programs = """
=== example: float labels from a table
import numpy as np
import torch
import torch.nn as nn

table = np.random.rand(12, 4).astype(np.float32)
classes = np.arange(12) % 3
net = nn.Linear(4, 3)
- targets = torch.tensor(classes, dtype=torch.float32)
+ targets = torch.tensor(classes, dtype=torch.float32).long()
loss = nn.CrossEntropyLoss()(net(torch.from_numpy(table)), targets)

=== example: 32-bit labels into the negative log-likelihood
import torch
import torch.nn.functional as F

def objective(scores, truth):
-     return F.nll_loss(F.log_softmax(scores, dim=1), truth)
+     return F.nll_loss(F.log_softmax(scores, dim=1), truth.long())

truth = torch.IntTensor([0, 1, 1, 0])
print(objective(torch.randn(4, 2), truth))

=== reject: class probabilities as floats
import torch
loss = torch.nn.CrossEntropyLoss()(torch.randn(4, 3), torch.softmax(torch.randn(4, 3), dim=1))

=== reject: float targets of a regression
import torch
loss = torch.nn.MSELoss()(torch.nn.Linear(2, 1)(torch.rand(4, 2)), torch.rand(4, 1))
"""
