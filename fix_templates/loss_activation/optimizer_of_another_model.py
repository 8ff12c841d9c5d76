"""An optimizer, or the gradients for it, are given the weights of another model than their names say."""

from __future__ import annotations

import ast
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
    Subject,
    Symptom,
    name_of,
    words,
    words_of,
)


@dataclass(frozen=True, slots=True)
class Mixed:
    """The model that is written, where, and the one that is meant."""

    model: ast.expr
    meant: str
    what: str


class OptimizerOfAnotherModel(FaultTemplate[Mixed]):
    """Two optimizers hold one model and none the other, or gradients of one model are applied to another one.

    Where a program trains several models, a line that was copied keeps the name of the first model. The second one then
    never changes, and the first one is changed by the losses of both. In torch this is reported where two optimizers
    hold the same model, no optimizer holds another one that the program calls, and the name of an optimizer tells which
    one it was made for; in TensorFlow where the gradients that are applied were taken for another model's weights.

    Fix safety: unsafe. The other model is trained from now on, which is the point.

    References: torch.optim ("Constructing it"); tf.GradientTape.gradient (sources).
    """

    code = "DNF329"
    name = "optimizer-of-another-model"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.OPTIMIZER
    message = "{what} `{model}`, where `{meant}` is meant"
    triggers = words("optim optimizers apply_gradients Adam SGD RMSprop AdamW")

    declined = "the model is not written there"

    def faults(self, subject: Subject) -> Faults[Mixed]:
        for mixed in (*_doubled(subject), *_applied_elsewhere(subject)):
            yield subject.source.site(mixed.model), mixed

    def report(self, site: Site, mixed: Mixed) -> Finding:
        model = ast.unparse(mixed.model)
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            evidence={"model": model, "meant": mixed.meant},
            what=mixed.what,
            model=model,
            meant=mixed.meant,
        )

    def repairs(self, subject: Subject, mixed: Mixed) -> Repairs:
        yield f"Take `{mixed.meant}`", (Replace(subject.source.site(mixed.model), mixed.meant),), 0.9

    examples = (
        Example(
            "two optimizers of the generator",
            before="""\
import torch
from torch import nn, optim

netG = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4)
optimizerD = optim.Adam(netG.parameters(), lr=2e-4)
for real in batches:
    fake = netG(torch.randn(16, 8))
    errD = loss(netD(real), ones) + loss(netD(fake.detach()), zeros)
""",
            after="""\
import torch
from torch import nn, optim

netG = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4)
for real in batches:
    fake = netG(torch.randn(16, 8))
    errD = loss(netD(real), ones) + loss(netD(fake.detach()), zeros)
""",
        ),
        Example(
            "actor and critic of an agent",
            before="""\
import torch

class Agent:
    def __init__(self):
        self.actor = Actor()
        self.critic = Critic()
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def update(self, s, r):
        value = self.critic(s)
        policy = self.actor(s)
""",
            after="""\
import torch

class Agent:
    def __init__(self):
        self.actor = Actor()
        self.critic = Critic()
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, s, r):
        value = self.critic(s)
        policy = self.actor(s)
""",
        ),
        Example(
            "gradients for the weights of the other model",
            before="""\
import tensorflow as tf

with tf.GradientTape() as tape:
    disc_loss = judge(discriminator(real), discriminator(generator(noise)))
disc_grads = tape.gradient(disc_loss, generator.trainable_variables)
disc_optimizer.apply_gradients(zip(disc_grads, discriminator.trainable_variables))
""",
            after="""\
import tensorflow as tf

with tf.GradientTape() as tape:
    disc_loss = judge(discriminator(real), discriminator(generator(noise)))
disc_grads = tape.gradient(disc_loss, discriminator.trainable_variables)
disc_optimizer.apply_gradients(zip(disc_grads, discriminator.trainable_variables))
""",
        ),
        Example(
            "gradients applied to the other model",
            before="""\
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(y - decoder(encoder(x))))
grads = tape.gradient(loss, decoder.trainable_weights)
decoder_opt.apply_gradients(zip(grads, encoder.trainable_weights))
""",
            after="""\
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(y - decoder(encoder(x))))
grads = tape.gradient(loss, decoder.trainable_weights)
decoder_opt.apply_gradients(zip(grads, decoder.trainable_weights))
""",
        ),
    )
    rejects = (
        Reject(
            "an optimizer for each model",
            """\
import torch
from torch import nn, optim

netG, netD = Generator(), Discriminator()
optimizerG = optim.Adam(netG.parameters(), lr=2e-4)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4)
score = netD(netG(noise))
""",
        ),
        Reject(
            "two stages of training one model, beside one that stays as it is",
            """\
import torch
from torch import optim

net = Net()
features = Features()
features.load_state_dict(torch.load("features.pt"))
first = optim.Adam(net.parameters(), lr=1e-3)
features_stage = optim.SGD(net.parameters(), lr=1e-3)
out = net(features(x))
""",
        ),
        Reject(
            "names that do not tell",
            """\
import torch
from torch import optim

a = Net()
b = Net()
warmup = optim.Adam(a.parameters(), lr=1e-3)
main = optim.SGD(a.parameters(), lr=1e-3)
out = a(b(x))
""",
        ),
        Reject(
            "gradients of the model that they are applied to",
            """\
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = compare(model(x), y)
grads = tape.gradient(loss, model.trainable_variables)
opt.apply_gradients(zip(grads, model.trainable_variables))
params = model.trainable_variables
grads = tape.gradient(loss, params)
opt.apply_gradients(zip(grads, model.trainable_variables))
""",
        ),
    )


_COMMON = words(
    "optimizer optimizers optim optims opt adam sgd net nets network model module self solver trainer grads grad"
)
_LEFT_ALONE = words("load_state_dict eval requires_grad_ requires_grad parameters state_dict load_weights")
_WEIGHTS = words("trainable_variables trainable_weights variables weights")


def _told(name: str, model: str) -> bool:
    """Whether a name was made from a model's: they share a word, or one begins as the other's goes on (`disc`)."""
    first = [word for word in words_of(name) if word not in _COMMON]
    second = [word for word in words_of(model) if word not in _COMMON]
    return any(a.startswith(b) or b.startswith(a) for a in first for b in second)


def _doubled(subject: Subject) -> Iterator[Mixed]:
    """Optimizers of torch that hold a model that another one holds, and are called after a model that none holds."""
    source = subject.source
    if "torch" not in source.frameworks:
        return
    made = [(call, target, model) for call, target, model in _optimizers(subject)]
    for call, target, model in made:
        text = ast.unparse(model)
        scope = source.enclosing(call, ast.FunctionDef)
        others = [o for o, _, m in made if o is not call and ast.unparse(m) == text]
        if not any(source.enclosing(other, ast.FunctionDef) is scope for other in others) or _told(target, text):
            continue
        meant = [name for name in _models(subject, model, scope) if name != text and _told(target, name)]
        if len(meant) == 1:
            yield Mixed(model, meant[0], f"`{target}` is given the weights of")


def _optimizers(subject: Subject) -> Iterator[tuple[ast.Call, str, ast.expr]]:
    """The optimizers that hold all weights of one model: their calls, their names and the model."""
    source = subject.source
    for call in source.all_calls:
        if not (source.qualified(call.func) or "").startswith("torch.optim.") or not call.args:
            continue
        statement = source.parent(call)
        given = call.args[0]
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(given, ast.Call):
            continue
        if isinstance(given.func, ast.Attribute) and given.func.attr == "parameters" and not given.args:
            yield call, name_of(statement.targets[0]), given.func.value


def _models(subject: Subject, like: ast.expr, scope: ast.FunctionDef | None) -> Iterator[str]:
    """What the program makes beside a model, calls, and never hands to an optimizer, loads or freezes."""
    source = subject.source
    called = {ast.unparse(call.func) for call in source.all_calls}
    owners = {
        ast.unparse(node.value) for node in source.nodes(ast.Attribute) if node.attr in _LEFT_ALONE
    }  # fmt: skip
    for statement in source.nodes(ast.Assign):
        target = statement.targets[0]
        if type(target) is not type(like) or source.enclosing(statement, ast.FunctionDef) is not scope:
            continue
        name = ast.unparse(target)
        if isinstance(statement.value, ast.Call) and name in called and name not in owners:
            yield name


def _applied_elsewhere(subject: Subject) -> Iterator[Mixed]:
    """Gradients that a tape took for the weights of one model, zipped with the weights of another one."""
    source = subject.source
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "apply_gradients" or not call.args:
            continue
        zipped = call.args[0]
        if not isinstance(zipped, ast.Call) or ast.unparse(zipped.func) != "zip" or len(zipped.args) != 2:
            continue
        grads, weights = zipped.args
        taken = source.bindings(grads, at=call) if isinstance(grads, ast.Name) else (grads,)
        gradient = taken[0] if len(taken) == 1 else None
        if not isinstance(gradient, ast.Call) or name_of(gradient.func) != "gradient" or len(gradient.args) < 2:
            continue
        sources = gradient.args[1]
        if not all(isinstance(one, ast.Attribute) and one.attr in _WEIGHTS for one in (sources, weights)):
            continue
        if isinstance(sources, ast.Attribute) and isinstance(weights, ast.Attribute):
            yield from _told_apart(grads, call.func.value, sources.value, weights.value)


def _told_apart(grads: ast.expr, optimizer: ast.expr, taken: ast.expr, applied: ast.expr) -> Iterator[Mixed]:
    """Which of the two models is meant, by the names of the gradients and of the optimizer."""
    first, second = ast.unparse(taken), ast.unparse(applied)
    if first == second:
        return
    names = [name_of(one) for one in (grads, optimizer)]
    says_taken, says_applied = (any(_told(name, model) for name in names) for model in (first, second))
    if says_applied and not says_taken:
        yield Mixed(taken, second, "the gradients are taken for the weights of")
    elif says_taken and not says_applied:
        yield Mixed(applied, first, "the gradients are applied to the weights of")
