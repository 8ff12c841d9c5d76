"""A sum, mean or norm over an axis meets the tensor that it was taken of, without that axis."""

from __future__ import annotations

from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
    short,
    words,
)

REDUCTIONS = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("sum", "mean", "norm", "std", "var", "prod", "logsumexp", "median", "amax", "amin")
)

MEETINGS = words("""torch.Tensor.expand_as torch.Tensor.expand torch.Tensor.add torch.Tensor.sub torch.Tensor.mul torch.Tensor.div
    torch.Tensor.truediv torch.Tensor.add_ torch.Tensor.sub_ torch.Tensor.mul_ torch.Tensor.div_ torch.add torch.sub
    torch.mul torch.div torch.Tensor.floordiv torch.Tensor.pow torch.pow""")

ELEMENTWISE = words("""torch.sqrt torch.Tensor.sqrt torch.log torch.Tensor.log torch.exp torch.Tensor.exp torch.abs torch.Tensor.abs
    torch.clamp torch.Tensor.clamp torch.Tensor.add torch.Tensor.sub torch.Tensor.mul torch.Tensor.div torch.Tensor.pow
    torch.pow torch.Tensor.truediv torch.rsqrt torch.Tensor.rsqrt torch.Tensor.neg torch.Tensor.float torch.Tensor.detach
    torch.autograd.Variable torch.Tensor.reciprocal torch.reciprocal""")
"""What may be done to the reduced value before it meets the tensor."""


@dataclass(frozen=True, slots=True)
class _Reduced:
    """A reduction whose result crashed against a tensor of the shape that was reduced."""

    call: Call
    axis: int
    reduced: tuple[int | None, ...]
    whole: tuple[int | None, ...]


class ReducedAxisNotKept(FaultTemplate[_Reduced]):
    """A sum, mean or norm over an axis meets the tensor that it was taken of, without that axis.

    Tensors are aligned at their last axes. A mean over any other axis stands on the wrong axes of the tensor from which
    it was taken, unless `keepdim=True` leaves an axis of size one in its place. Before torch 0.2 that axis was kept
    always, which is why old programs lack the argument.

    Fix safety: unsafe. What is computed from the mean from then on has one axis more.

    References: torch.sum (`keepdim`); "Broadcasting semantics" of the torch manual.
    """

    code = "DNF224"
    name = "reduced-axis-not-kept"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.API_CONTRACT
    message = "{what} over axis {axis} gives {reduced}, which does not stand on the axes of {whole}"
    needs_run = True
    declined = "the reduction is not written as a call"
    elsewhere = True

    def faults(self, subject: Subject) -> Faults[_Reduced]:
        found = _found(subject)
        if found is not None:
            yield found.call.site, found

    def report(self, site: Site, found: _Reduced) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"reduced": list(found.reduced), "whole": list(found.whole)},
            what=short(found.call.name),
            axis=found.axis,
            reduced=found.reduced,
            whole=found.whole,
        )

    def repairs(self, subject: Subject, found: _Reduced) -> Repairs:
        node = subject.call_node(found.call)
        edits = (SetArgument(subject.source.site(node), "keepdim", "True"),) if node is not None else None
        yield "Keep the axis that is reduced", edits, 0.9

    examples = (
        Example(
            "a softmax written out",
            """\
import torch

def softmax(scores):
    powers = torch.exp(scores)
-     return powers / powers.sum(dim=1)
+     return powers / powers.sum(dim=1, keepdim=True)

print(softmax(torch.randn(4, 7)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a mean over the first axis, and one that keeps its axis",
            """\
import torch

x = torch.randn(6, 10)
y = (x - x.mean(0)) / x.std(1, keepdim=True)
z = x.sum(0).expand_as(x)
""",
            runs=True,
        ),
        Reject(
            "sums of two different tensors",
            """\
import torch

a, b = torch.randn(4, 3), torch.randn(5, 3)
try:
    a.sum(1) + b.sum(1)
except RuntimeError:
    pass
""",
            runs=True,
        ),
    )


def _found(subject: Subject) -> _Reduced | None:
    crash = subject.crash.call if subject.crash is not None else None
    if crash is None or crash.name not in MEETINGS or not crash.inputs:
        return None
    shapes = [value.shape for value in crash.inputs]
    for place, value in enumerate(crash.inputs[:2]):
        call = subject.network.producer(value)
        for _ in range(4):
            if call is None or not call.inputs or call.name in REDUCTIONS or call.name not in ELEMENTWISE:
                break
            call = subject.network.producer(call.inputs[0])
        axis = _axis(call) if call is not None and call.name in REDUCTIONS and call.inputs else None
        whole = call.inputs[0].shape if call is not None and call.inputs else None
        if call is None or axis is None or whole is None or value.shape is None or not -len(whole) <= axis < len(whole):
            continue
        left = tuple(size for i, size in enumerate(whole) if i != axis % len(whole))
        others = [shape for i, shape in enumerate(shapes[:2]) if i != place]
        meets = others[0] == whole if others else _widened(crash) == whole
        if left == value.shape and call.args.get("keepdim") is not True and meets:
            return _Reduced(call, axis, left, whole)
    return None


def _axis(call: Call) -> int | None:
    given = call.args.get("dim", call.args.get("axis"))
    given = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _widened(call: Call) -> tuple[int | None, ...] | None:
    """The shape that `expand` was to give, where the call tells it."""
    sizes = next((value for value in call.args.values() if isinstance(value, (list, tuple))), None)
    known = [size for size in sizes if isinstance(size, int)] if sizes is not None else []
    return tuple(known) if sizes is not None and len(known) == len(sizes) else None
