"""cuDNN is switched off for a whole program, and nothing says why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    keyword_value,
    random_state,
)

OF_REASON = re.compile(
    r"error|bug|issue|work[- ]?around|crash|CUDNN_|double.?backward|second.?(order|deriv)|support|\bnan|memory|because|since|otherwise|avoid",
    re.IGNORECASE,
)
DERIVED = re.compile(r"create_graph *= *True|gradient_penalty|double_backward")
"""Second derivatives, which cuDNN has not for recurrent layers."""


class CudnnSwitchedOff(ReadTemplate):
    """cuDNN is switched off for the whole program, most often to get around an error that has gone since.

    Convolutions, batch normalization and recurrent layers on a GPU then run on torch's own code, which is several times as slow and takes other amounts of memory.
    A switch of the command line that is off unless somebody gives it does the same. A block of `torch.backends.cudnn.flags(enabled=False)`, as second derivatives of recurrent layers need
    it, is left alone; so are a value that another variable gives, a setting that a condition asks for, one that is put back, and one whose comment gives a reason.

    Fix safety: unsafe. Other algorithms compute the same, with other roundings.

    References: torch.backends.cudnn.enabled.
    """

    code = "DNF917"
    name = "cudnn-switched-off"
    message = "cuDNN is switched off{when}: convolutions and recurrent layers run several times as slow"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 14
    default = False
    triggers = ("cudnn",)
    declined = "its switch would do nothing any more: turn it around, or give it"
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        found = [each for each in random_state.settings(source) if each.name == "enabled"]
        if len(found) != 1 or DERIVED.search(source.text):
            return
        setting = found[0]
        said = random_state.comments(source, setting.statement)
        if not random_state.is_on_every_way(source, setting.statement) or any(OF_REASON.search(each) for each in said):
            return
        is_off, by_default = setting.says(False), _is_off_by_default(source, setting.value)
        if is_off or by_default:
            when = "" if is_off else ", unless its switch is given"
            site = source.site(setting.statement)
            edits = (Delete(site),) if is_off else None  # its switch would be read nowhere
            yield Fault(site, {"when": when}, (("Leave cuDNN on", edits, self.confidence),))

    programs = """
=== example: at the top of a program
import torch

- torch.backends.cudnn.enabled = False
model = torch.nn.Conv2d(3, 8, 3).cuda()

=== reject: its user asks for it
import torch

if args.no_cudnn:
    torch.backends.cudnn.enabled = False

=== reject: on
import torch

torch.backends.cudnn.enabled = True

=== reject: off for a while
import torch

torch.backends.cudnn.enabled = False
penalty = second_derivative(rnn(x))
torch.backends.cudnn.enabled = True

=== reject: second derivatives of recurrent layers, which cuDNN has not
import torch

torch.backends.cudnn.enabled = False
slope = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]

=== reject: put back as it was
import torch

was = torch.backends.cudnn.enabled
torch.backends.cudnn.enabled = False
slope = second_derivative(rnn(x))
torch.backends.cudnn.enabled = was

=== reject: for a block
import torch

with torch.backends.cudnn.flags(enabled=False):
    out = rnn(x)

=== finds: by a switch that nobody gives
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--use-cudnn", action="store_true")
options = parser.parse_args()
torch.backends.cudnn.enabled = options.use_cudnn
net = torch.nn.Conv2d(3, 8, 3).cuda()

=== reject: by a switch for it
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--no-cudnn", action="store_true")
options = parser.parse_args()
torch.backends.cudnn.enabled = not options.no_cudnn

=== reject: a reason
import torch

# convolutions with these strides crash otherwise
torch.backends.cudnn.enabled = False
"""


def _is_off_by_default(source: Source, value: ast.expr) -> bool:
    """Whether a value is that of a switch of the command line that is off if it is not given."""
    if isinstance(value, ast.IfExp) and ast.unparse(value.body) == "True":
        value = value.test
    if not isinstance(value, ast.Attribute) or "add_argument" not in source.words:
        return False
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            named = {
                str(each.value).lstrip("-").replace("-", "_") for each in call.args if isinstance(each, ast.Constant)
            }
            action, default = (keyword_value(call, name) for name in ("action", "default"))
            is_switch = isinstance(action, ast.Constant) and action.value == "store_true"
            if value.attr in named and is_switch and (default is None or ast.unparse(default) == "False"):
                return True
    return False
