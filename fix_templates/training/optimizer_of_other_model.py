"""An optimizer that is named after one model is given the parameters of another, which has an optimizer already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    is_optimizer,
    words,
)

OF_ALL = words("optimizer optimiser optim opt model net network module solver the self")
"""Parts of names that optimizers and models have in common, whatever they are of."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """The model whose parameters an optimizer was given, where it stands, and the model that it is named after."""

    optimizer: str
    given: ast.expr
    meant: str


class OptimizerOfOtherModel(FaultTemplate[Mixed]):
    """`optimizer_d = Adam(net_g.parameters())` beside `optimizer_g = Adam(net_g.parameters())`.

    Two optimizers step one model, and the model that one of them is named after has none: it stays as it was
    initialized, whatever its loss.

    Reported where two optimizers hold the same model, one of them has a part of its name from a second model, and the
    parameters of this one are read nowhere in the program.

    Fix safety: unsafe. The second model is trained from now on, which is the point.

    References: torch.optim ("Constructing it").
    """

    code = "DNF714"
    name = "optimizer-of-other-model"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    message = "`{optimizer}` is given the parameters of `{given}`, which has an optimizer, and `{meant}` has none"
    triggers = ("parameters",)
    declined = "the model that is meant has no name there"

    def faults(self, subject: Subject) -> Faults[Mixed]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for mixed in _mixed(source):
            yield source.site(mixed.given), mixed

    def report(self, site: Site, fault: Mixed) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            optimizer=fault.optimizer,
            given=ast.unparse(fault.given),
            meant=fault.meant,
        )

    def repairs(self, subject: Subject, fault: Mixed) -> Repairs:
        edit = Replace(subject.source.site(fault.given), fault.meant)
        yield f"Give `{fault.optimizer}` the parameters of `{fault.meant}`", (edit,), 0.9

    examples = (
        Example(
            "a value network's parameters given twice",
            """\
import torch

policy_net, value_net, discrim_net = Policy(), Value(), Discriminator()
optimizer_policy = torch.optim.Adam(policy_net.parameters())
optimizer_value = torch.optim.Adam(value_net.parameters())
optimizer_discrim = torch.optim.Adam(value_net.parameters())
score = discrim_net(policy_net(x))
""",
            """\
import torch

policy_net, value_net, discrim_net = Policy(), Value(), Discriminator()
optimizer_policy = torch.optim.Adam(policy_net.parameters())
optimizer_value = torch.optim.Adam(value_net.parameters())
optimizer_discrim = torch.optim.Adam(discrim_net.parameters())
score = discrim_net(policy_net(x))
""",
        ),
        Example(
            "the two halves of a GAN",
            """\
import torch.optim as optim
from models import Generator, Discriminator

netG = Generator()
netD = Discriminator()
optimizerD = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss = netD(netG(noise)).mean()
""",
            """\
import torch.optim as optim
from models import Generator, Discriminator

netG = Generator()
netD = Discriminator()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss = netD(netG(noise)).mean()
""",
        ),
        Example(
            "attributes of an agent",
            """\
from torch.optim import Adam


class Agent:
    def __init__(self, actor, critic):
        self.actor = actor
        self.critic = critic
        self.actor_optimizer = Adam(self.actor.parameters(), lr=1e-4)
        self.critic_optimizer = Adam(self.actor.parameters(), lr=1e-3)

    def value(self, state):
        return self.critic(state)
""",
            """\
from torch.optim import Adam


class Agent:
    def __init__(self, actor, critic):
        self.actor = actor
        self.critic = critic
        self.actor_optimizer = Adam(self.actor.parameters(), lr=1e-4)
        self.critic_optimizer = Adam(self.critic.parameters(), lr=1e-3)

    def value(self, state):
        return self.critic(state)
""",
        ),
    )
    rejects = (
        Reject(
            "two optimizers of one model, for two phases",
            """\
import torch

net = Net()
teacher = Net()
optimizer_fast = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer_slow = torch.optim.SGD(net.parameters(), lr=0.01)
goal = teacher(x)
""",
        ),
        Reject(
            "a target network that is copied",
            """\
import torch

actor, critic, target = Net(), Net(), Net()
actor_optimizer = torch.optim.Adam(actor.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
goal = target(x)
""",
        ),
        Reject(
            "the second model has an optimizer as well",
            """\
import torch

net_g, net_d = Net(), Net()
opt_g = torch.optim.Adam(net_g.parameters())
opt_d = torch.optim.Adam(net_d.parameters())
opt_d_slow = torch.optim.Adam(net_d.parameters())
net_g(net_d(x))
""",
        ),
    )


def _mixed(source: Source) -> Iterator[Mixed]:
    held = [(target, given) for target, value in _made(source) if (given := _model_of(value)) is not None]
    read = {
        ast.unparse(node.value)
        for node in source.nodes(ast.Attribute)
        if node.attr in ("parameters", "named_parameters", "state_dict", "load_state_dict", "eval", "requires_grad_")
    }
    called = {ast.unparse(call.func) for call in source.all_calls if isinstance(call.func, (ast.Name, ast.Attribute))}
    for target, given in held:
        model = ast.unparse(given)
        others = [each for each, other in held if each is not target and ast.unparse(other) == model]
        own = _parts(ast.unparse(target)) - OF_ALL
        if not others or not own or own & _parts(model):
            continue
        if not any(_parts(ast.unparse(each)) & (_parts(model) - OF_ALL) for each in others):
            continue
        meant = [name for name in called - read if own & (_parts(name) - OF_ALL) and _is_like(name, model)]
        if len(meant) == 1:
            yield Mixed(ast.unparse(target), given, meant[0])


def _made(source: Source) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The optimizers with the names that hold them."""
    for statement in source.nodes(ast.Assign):
        if len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, made in pairs:
            if (
                isinstance(name, (ast.Name, ast.Attribute))
                and isinstance(made, ast.Call)
                and is_optimizer(source, made)
            ):
                yield name, made


def _model_of(optimizer: ast.Call) -> ast.expr | None:
    """The model in `Adam(model.parameters(), …)`."""
    given = optimizer.args[0] if optimizer.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "parameters":
        return given.func.value if isinstance(given.func.value, (ast.Name, ast.Attribute)) else None
    return None


def _parts(name: str) -> frozenset[str]:
    """The words that a name is made of: `optimizerD` of `optimizer` and `d`."""
    return frozenset(part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name))


def _is_like(name: str, model: str) -> bool:
    """Whether two models are named alike: both attributes of the same object, or both plain names."""
    same_owner = name.rpartition(".")[0] == model.rpartition(".")[0]
    return same_owner and name != model and not name.rpartition(".")[2][:1].isupper()
