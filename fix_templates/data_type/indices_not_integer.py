"""An embedding is called with floating-point indices."""

from __future__ import annotations

from dnnfix.api import Call, IntegerTemplate

LOOKUPS = frozenset({"torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.functional.embedding"})


class IndicesNotInteger(IntegerTemplate):
    """An embedding is called with floating-point indices, for which torch raises.

    Token ids may have gone through a float tensor: a padded buffer made by `torch.zeros`, or a table read as numbers.
    Ids with integer values are cast; fractions are left alone.

    Fix safety: unsafe. The program did not run before.

    References: torch.nn.Embedding, section "Shape" ("IntTensor or LongTensor of arbitrary shape").
    """

    code = "DNF603"
    name = "indices-not-integer"
    in_modules = True
    message = "{taker} expects integer indices, got {received}"
    declined = "the indices are not created in this file"
    index = 0
    make = "Make the indices integers"
    cast = "Cast the indices to integers"

    def refuses(self, call: Call) -> bool:
        indices = call.inputs[0]
        floating = indices.dtype is not None and indices.dtype.startswith(("float", "bfloat"))
        return call.name in LOOKUPS and floating and indices.integral is not False

    programs = """
=== example: a float tensor passed to a model
import torch

class Tagger(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(size, 4)

    def forward(self, ids):
-         return self.table(ids).mean(dim=1)
+         return self.table(ids.long()).mean(dim=1)

ids = torch.FloatTensor([[1, 2], [3, 0]])
print(Tagger(6)(ids))

=== example: sampled tokens passed back to the network
import torch
import torch.nn as nn

class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(7, 4), nn.Linear(4, 7)

    def sample(self, count):
-         tokens = torch.ones(count, 5)
+         tokens = torch.ones(count, 5, dtype=torch.int64)
        for step in range(1, 5):
            chances = self.out(self.table(tokens[:, step - 1])).softmax(dim=1)
            tokens[:, step] = chances.multinomial(1).view(-1)
        return tokens

print(Sampler().sample(3))

=== example: ids computed in floats
import torch
from torch import nn

lookup = nn.Embedding(5, 2)
positions = torch.linspace(0, 4, 5).round()
- out = lookup(positions * 1)
+ out = lookup((positions * 1).long())

=== reject: integer ids
import torch
print(torch.nn.Embedding(4, 2)(torch.tensor([0, 3])))

=== reject: an id outside the table
import torch
print(torch.nn.Embedding(4, 2)(torch.tensor([0, 4])))
"""
