"""The weights of a network that was never trained are frozen, as if they were pretrained."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    checkpoints,
    training_loop,
)

FREEZES = re.compile(r"(^|_)(freeze|set_parameters?_requires_grad)\w*$")
THAWS = re.compile(r"unfreeze|thaw|requires_grad(_\(\)|_\(True\)| = True)|requires_grad_?\(\w+, True\)")
LOADS = re.compile(r"load|restore|weights|ckpt|checkpoint|from_pretrained|copy_")
"""Words of statements by which a network may get weights from elsewhere."""


class FreshWeightsFrozen(ReadTemplate):
    """`resnet18(pretrained=False)` has random weights: where they are frozen, a new head is trained on random features.

    Reported where the text makes a network without pretrained weights, freezes it or a part of it, and puts a new layer in; and loads
    nothing into it and trains it no further.

    Fix safety: unsafe. The network begins with the weights of another training.

    References: torchvision.models ("Initializing pre-trained models"); https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    ("ConvNet as fixed feature extractor").
    """

    code = "DNF488"
    name = "fresh-weights-frozen"
    message = "`{network}` is made without pretrained weights, and frozen: its features stay random"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 1
    default = False
    triggers = ("pretrained", "weights")
    declined = "which weights are meant is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not any("requires_grad" in word or "freeze" in word for word in source.words):
            return
        for node in source.nodes(ast.Assign):
            made, target = checkpoints.bare(source, node.value), node.targets[0]
            if isinstance(made, ast.Call) and isinstance(target, (ast.Name, ast.Attribute)) and _is_fresh(made):
                network = ast.unparse(target)
                if _is_frozen_for_head(source, node, network):
                    yield Fault(source.site(made), {"network": network}, ())

    programs = """
=== finds: a loop over all parameters
from torch import nn
from torchvision import models

net = models.vgg16(weights=None)
for weight in net.features.parameters():
    weight.requires_grad = False
net.classifier[6] = nn.Linear(4096, 3)
fit(net)

=== finds: a function that freezes
net = mobilenet_v2(pretrained=False)
freeze_layers(net)
net.classifier[1] = nn.Linear(1280, 5)

=== finds: at once, in a class
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = timm.create_model("resnet50", pretrained=False)
        self.body.requires_grad_(False)
        self.body.fc = nn.Linear(2048, 4)

=== reject: weights that are loaded, trained on, or pretrained
from torch import nn
from torchvision import models

first = models.vgg16(weights=None)
first.load_state_dict(state)
for weight in first.parameters():
    weight.requires_grad = False
first.classifier[6] = nn.Linear(4096, 3)
second = models.vgg16(pretrained=True)
for weight in second.parameters():
    weight.requires_grad = False
second.classifier[6] = nn.Linear(4096, 3)
third = models.resnet18(pretrained=False)
third.fc = nn.Linear(512, 3)

=== reject: frozen for a while, or only where another option says so
from torch import nn

net = resnet18(pretrained=False)
freeze(net)
net.fc = nn.Linear(512, 3)
warm_up(net)
unfreeze(net)
other = resnet34(pretrained=False)
if options.file:
    restore(other, options.file)
    freeze(other)
other.fc = nn.Linear(512, 3)

=== reject: frozen without a new head
critic = resnet18(pretrained=False)
for weight in critic.parameters():
    weight.requires_grad = False
"""


def _is_fresh(call: ast.Call) -> bool:
    """Whether a call says that it makes a network without weights of a training."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    says = [value for name, value in given.items() if name in ("pretrained", "weights", "pretrained_weights")]
    return bool(says) and all(isinstance(each, ast.Constant) and not each.value for each in says)


def _is_frozen_for_head(source: Source, made: ast.Assign, network: str) -> bool:
    """Whether a network is frozen below the place where it is made, beside it, gets a new layer, and nothing else that counts."""
    block = training_loop.block_of(source, made)
    below = block[block.index(made) + 1 :]
    frozen = headed = False
    for statement in below:
        text = ast.unparse(statement)
        if not re.search(rf"(?<![\w.]){re.escape(network)}\b", text) and not THAWS.search(text):
            continue
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == network:
            return False
        if THAWS.search(text) or (LOADS.search(text) and network in text):
            return False
        frozen = frozen or _freezes(statement, network)
        headed = headed or (
            isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).startswith(f"{network}.")
        )
    return frozen and headed


def _freezes(statement: ast.stmt, network: str) -> bool:
    """Whether a statement freezes a network or a part of it."""
    if isinstance(statement, ast.For):
        over = re.match(rf"{re.escape(network)}(\.\w+)*\.parameters\(\)$", ast.unparse(statement.iter))
        only = len(statement.body) == 1 and ast.unparse(statement.body[0]).endswith("requires_grad = False")
        return over is not None and only
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    called = ast.unparse(call.func)
    if called == f"{network}.requires_grad_":
        return ast.unparse(call).endswith("(False)")
    given = [ast.unparse(each) for each in call.args]
    return bool(FREEZES.search(called)) and given[:1] == [network]
