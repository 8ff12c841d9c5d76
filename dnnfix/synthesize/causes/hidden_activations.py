"""The cause "hidden activations": ReLU in place of saturating activations, in all hidden layers at once."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.detect.tensors.values import loss_uses
from dnnfix.network.facts import activation_of, layer_facts
from dnnfix.records import Call, Edit, FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.losses import change_activation
from dnnfix.validate.reading import Reading

LIKELY = {"softmax": 0.6, "sigmoid": 0.45, "hard_sigmoid": 0.45, "tanh": 0.2, "softsign": 0.2}
"""How likely each is to be what stops a network from learning, where it stands between layers."""

KINDS = frozenset({"linear", "convolution"})


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """One cause for each kind of saturating activation between layers, with an edit at every place of it."""
    ends = {use.producer.made_at or use.producer.site for use in loss_uses(subject) if use.producer is not None}
    found: dict[str, dict[object, tuple[Edit, ...]]] = {}
    for call in subject.network.calls:
        place = call.made_at or call.site
        use = activation_of(call)
        if use is None or place is None or place in ends or use.name not in LIKELY or not _between(call):
            continue
        made = change_activation(subject, call, "relu")
        if made is not None:
            found.setdefault(use.name, {})[place] = made
    for name, places in found.items():
        together = tuple(edit for one in places.values() for edit in one)
        depth = min(1.0, 0.6 + 0.1 * len(places))
        title = f"Use relu between the layers rather than {name}"
        yield Cause("hidden-activations", title, FixPattern.ACTIVATION, together, LIKELY[name] * depth)


def _between(call: Call) -> bool:
    """Whether an activation is a layer's own argument or stands by itself, and not within a recurrent layer or attention."""
    facts = layer_facts(call)
    return facts is None or facts.kind in KINDS or facts.kind == "activation"
