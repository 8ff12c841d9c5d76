"""Gradients of one model's weights are applied to the weights of another model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Subject, progress_figures, spelling, words


class GradientsOfAnotherModel(ReadTemplate):
    """A tape's gradients for one model are zipped with the weights of another one.

    In a program that trains several models, a copied line may keep the name of the first one. The weights then move
    along unrelated gradients, wherever the shapes agree, and the intended model never changes. The names of the
    gradients and of the optimizer say which model is meant.

    Fix safety: unsafe. The other model is trained from now on, which is the point.

    References: tf.GradientTape.gradient (sources); tf.keras.optimizers.Optimizer.apply_gradients.
    """

    code = "DNF329"
    name = "gradients-of-another-model"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.OPTIMIZER
    message = "the gradients are {what} the weights of `{model}`; expected those of `{meant}`"
    triggers = ("apply_gradients",)

    declined = "the model is not written there"

    def read(self, subject: Subject) -> Iterator[Fault]:
        return _applied_elsewhere(subject)

    programs = """
=== example: gradients applied to the other model
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(y - decoder(encoder(x))))
grads = tape.gradient(loss, decoder.trainable_weights)
- decoder_opt.apply_gradients(zip(grads, encoder.trainable_weights))
+ decoder_opt.apply_gradients(zip(grads, decoder.trainable_weights))

=== example: two tapes in a training step
import tensorflow as tf

class Trainer:
    def train_step(self, x):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as critic_tape:
            gen_loss, critic_loss = self.losses(x)
        gen_grads = gen_tape.gradient(gen_loss, self.generator.trainable_variables)
        self.gen_opt.apply_gradients(zip(gen_grads, self.generator.trainable_variables))
-         critic_grads = critic_tape.gradient(critic_loss, self.generator.trainable_variables)
+         critic_grads = critic_tape.gradient(critic_loss, self.critic.trainable_variables)
        self.critic_opt.apply_gradients(zip(critic_grads, self.critic.trainable_variables))

=== reject: names that do not tell
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = compare(net(x), y)
grads = tape.gradient(loss, net.trainable_variables)
opt.apply_gradients(zip(grads, slow.trainable_variables))

=== reject: gradients of the model that they are applied to
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = compare(model(x), y)
grads = tape.gradient(loss, model.trainable_variables)
opt.apply_gradients(zip(grads, model.trainable_variables))
params = model.trainable_variables
grads = tape.gradient(loss, params)
opt.apply_gradients(zip(grads, model.trainable_variables))
"""


_COMMON = words(
    "optimizer optimizers optim optims opt adam sgd net nets network model module self solver trainer grads grad"
)
_WEIGHTS = words("trainable_variables trainable_weights variables weights")


def _told(name: str, model: str) -> bool:
    """Whether a name is derived from a model's: they share a word, or one word starts with another (`disc`)."""
    first = [word for word in spelling.words_of(name) if word not in _COMMON]
    second = [word for word in spelling.words_of(model) if word not in _COMMON]
    return any(a.startswith(b) or b.startswith(a) for a in first for b in second)


def _applied_elsewhere(subject: Subject) -> Iterator[Fault]:
    """Gradients of one model's weights that are zipped with another model's weights."""
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
        if (
            not isinstance(gradient, ast.Call)
            or progress_figures.name_of(gradient.func) != "gradient"
            or len(gradient.args) < 2
        ):
            continue
        sources = gradient.args[1]
        if not all(isinstance(one, ast.Attribute) and one.attr in _WEIGHTS for one in (sources, weights)):
            continue
        if isinstance(sources, ast.Attribute) and isinstance(weights, ast.Attribute):
            yield from _told_apart(subject, grads, call.func.value, sources.value, weights.value)


def _told_apart(
    subject: Subject, grads: ast.expr, optimizer: ast.expr, taken: ast.expr, applied: ast.expr
) -> Iterator[Fault]:
    """Decides by the names of the gradients and of the optimizer which of the two models is meant."""
    first, second = ast.unparse(taken), ast.unparse(applied)
    if first == second:
        return
    names = [progress_figures.name_of(one) for one in (grads, optimizer)]
    says_taken, says_applied = (any(_told(name, model) for name in names) for model in (first, second))
    if says_applied and not says_taken:
        yield _mixed(subject, taken, second, "computed for")
    elif says_taken and not says_applied:
        yield _mixed(subject, applied, first, "applied to")


def _mixed(subject: Subject, model: ast.expr, meant: str, what: str) -> Fault:
    site = subject.source.site(model)
    way = f"Use `{meant}`", (Replace(site, meant),), 0.9
    return Fault(site, {"what": what, "model": ast.unparse(model), "meant": meant}, (way,))
