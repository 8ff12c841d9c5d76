"""A parameter is made of memory as it was found, and nothing gives it values."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import Edit, Family, Fault, FixPattern, InsertAfter, ReadTemplate, Subject, initialization, spell


class ParameterNeverInitialized(ReadTemplate):
    """`nn.Parameter(torch.empty(…))` holds what was in the memory before: zeros on one run, huge numbers or NaN on another.

    `torch.Tensor(3, 4)` and `torch.FloatTensor(3, 4)` are the same. The layers of torch initialize their weights in
    `reset_parameters`; a parameter of one's own needs that, too. Reported where nothing in the text sets it: no function of `nn.init`, no
    method with an underscore, no loop over the parameters, and no call of what is not seen and may do so.

    Fix safety: unsafe. Training starts from other weights, which is the point.

    References: torch.empty; torch.nn.init.
    """

    code = "DNF472"
    name = "parameter-never-initialized"
    message = "`{weight}` is never initialized: it holds what was in the memory before"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    default = False
    triggers = ("Parameter",)
    declined = "the number of its axes is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for made in initialization.made_empty(source):
            if initialization.set_somewhere(source, made.name):
                continue
            function = spell(subject, "torch.nn.init.xavier_uniform_" if made.axes > 1 else "torch.nn.init.zeros_")
            edits: tuple[Edit, ...] = (
                InsertAfter(source.site(made.statement), f"{function.code}({made.text})"),
                *function.imports,
            )
            title = f"Initialize it with {function.code}"
            yield Fault(source.site(made.call), {"weight": made.text}, ((title, edits if made.axes else None, 0.7),))

    programs = """
=== example: the weight of an attention
import torch
import torch.nn as nn

class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query = nn.Linear(size, size)
        self.v = nn.Parameter(torch.Tensor(size, 1))
+         nn.init.xavier_uniform_(self.v)

    def forward(self, x):
        return torch.tanh(self.query(x)) @ self.v

=== example: a function that is applied sets others
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.empty(4, 4))
+         nn.init.xavier_uniform_(self.scale)
        self.apply(start)

def start(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)

=== example: sizes, by any names
import torch
from torch import nn

class Bilinear(nn.Module):
    def __init__(self, left, right):
        super().__init__()
        self.form = nn.Parameter(torch.FloatTensor(left, right))
+         nn.init.xavier_uniform_(self.form)

    def forward(self, a, b):
        return a @ self.form @ b.t()

=== reject: initialized in every way
import math
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.a = nn.Parameter(torch.empty(n_in, n_out))
        self.b = nn.Parameter(torch.Tensor(n_out).uniform_(-1, 1))
        self.c = nn.Parameter(torch.Tensor(n_out))
        self.d = nn.Parameter(torch.Tensor([1.0, 2.0]))
        self.e = nn.Parameter(torch.empty(n_in, n_out))
        self.f = nn.Parameter(torch.Tensor(values))
        self.g = nn.Parameter(torch.empty(3), requires_grad=False)
        with torch.no_grad():
            self.e[0] = 1
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.c.data.fill_(0.1)

=== reject: a loop over all
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.a = nn.Parameter(torch.empty(n_in, n_out))
        for p in self.parameters():
            p.data.uniform_(-0.1, 0.1)

=== reject: by what is not seen
import torch
from torch import nn
from mine import start

class Layer(Base):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.a = nn.Parameter(torch.empty(n_in, n_out))
        self.init_weights()
"""
