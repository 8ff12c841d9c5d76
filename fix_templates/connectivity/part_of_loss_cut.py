"""A part of a loss is added without its graph: it changes the number, and nothing learns from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Subject, graph_flow


class PartOfLossCut(ReadTemplate):
    """`loss = first + second.item()`: the second part is a number, and only the first is trained.

    Reported where a backward pass goes back from the sum, another part of it has a graph, and this part had one before it was cut.

    Fix safety: unsafe. The part is trained from now on, which is the point.

    References: torch.Tensor.item; torch.Tensor.detach.
    """

    code = "DNF482"
    name = "part-of-loss-cut"
    message = "`{part}` is added to `{total}` without its graph ({how}): nothing learns from this part of the loss"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.FAULT
    silent = 5
    default = False
    triggers = ("backward", "manual_backward")
    declined = "what has no gradient cannot be taken out by one edit"
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not {"backward", "manual_backward"} & source.words:
            return
        account = graph_flow.account(source)
        ends = {ast.unparse(each.end) for each in account.passes if each.value.flow is not graph_flow.Flow.CUT}
        for each in account.lost:
            cut = each.value.cut
            if each.target not in ends or cut is None or (each.value.how == "no_grad" and not each.value.is_sure):
                continue
            said = {"part": ast.unparse(each.part), "total": each.target, "how": each.value.how}
            site = source.site(each.part)
            if (
                isinstance(cut, ast.Call)
                and isinstance(cut.func, ast.Attribute)
                and cut.func.attr in ("item", "detach")
            ):
                edit = Replace(source.site(cut), source.segment(source.site(cut.func.value)))
                yield Fault.with_repair(site, said, "Keep its graph", edit, confidence=self.confidence)
            else:
                yield Fault(site, said, ())

    programs = """
=== example: a second loss as a number
import torch

for x, y in loader:
    out, code = net(x)
    first = criterion(out, y)
    second = net.penalty(code).mean()
-     loss = first + 0.1 * second.item()
+     loss = first + 0.1 * second
    loss.backward()
    optimizer.step()

=== finds: beside what a method of the network gives
for x in batches:
    mean, spread = model.encode(x)
    rebuilt = model.decode(mean)
    kl = (mean ** 2 + spread - 1).sum()
    total = nn.functional.l1_loss(rebuilt, x) + kl.item()
    total.backward()

=== finds: scaled by a setting, beside a method of the network
import torch

for x, y in loader:
    distance = torch.from_numpy(gap(net(x)).cpu().data.numpy()).cuda()
    loss = 0.5 * (criterion(net.forward_head(x), y) + distance * args.share)
    loss.backward()

=== reject: a sum for the report
import torch

total = 0.0
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss.item()

=== reject: a straight-through estimate
import torch

for x, y in loader:
    code = encoder(x)
    rounded = code + (code.round() - code).detach()
    loss = criterion(decoder(rounded), y)
    loss.backward()
"""
