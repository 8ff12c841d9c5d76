"""The cause "gradient clipping": a bound on the norm of the gradients, where the loss diverges."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import is_optimizer, operated_on, operations_named
from dnnfix.records import Edit, FixPattern, InsertBefore, SetArgument
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.learning_rate import TOO_GREAT
from dnnfix.synthesize.causes.optimizing import optimizers
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.validate.reading import Reading


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """A bound of one on the norm of all gradients together, only where the loss ran away or left the finite numbers."""
    if not {reading.name for reading in symptoms} & TOO_GREAT:
        return
    for made in _in_torch(subject), _in_keras(subject):
        if made:
            yield Cause("clipping", "Cut the gradients to a norm of 1", FixPattern.OPTIMIZER, made, 0.3)


def _in_torch(subject: Subject) -> tuple[Edit, ...]:
    source = subject.source
    steps = [one for one in operations_named(source, "step") if is_optimizer(source, operated_on(one))]
    if len(steps) != 1:
        return ()
    made = source.constructor(operated_on(steps[0]))
    given = made.args[0] if made is not None and made.args else None
    if given is None or not isinstance(given, ast.Call):
        return ()
    spelled = spell(subject, "torch.nn.utils.clip_grad_norm_")
    weights = source.segment(source.site(given))
    return (InsertBefore(source.site(steps[0].statement), f"{spelled.code}({weights}, 1.0)"), *spelled.imports)


def _in_keras(subject: Subject) -> tuple[Edit, ...]:
    source = subject.source
    made = [one.node for one in optimizers(subject) if one.name.startswith("keras.") and isinstance(one.node, ast.Call)]
    clipped = [k.arg for node in made for k in node.keywords if (k.arg or "").startswith(("clip", "global_clip"))]
    return (SetArgument(source.site(made[0]), "clipnorm", "1.0"),) if len(made) == 1 and not clipped else ()
