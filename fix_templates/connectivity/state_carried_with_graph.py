"""A recurrent state is carried from batch to batch with the graphs of all batches before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    kept_graphs,
    structure,
    within,
)


class StateCarriedWithGraph(ReadTemplate):
    """`out, hidden = net(x, hidden)` in a training loop that never detaches `hidden`.

    Each backward pass goes back through all batches before: it raises, or, with `retain_graph=True`, takes longer and more memory from
    batch to batch. Detached, the state keeps its value, and the pass ends at the batch.

    Reported where each turn of a loop with a backward pass gives the state that the turn before gave it to the network again, and nothing in the loop
    detaches it or begins it anew; and where a network keeps such a state in an attribute.

    Fix safety: unsafe. Gradients stop at the state, as in truncated backpropagation.

    References: torch.Tensor.detach; https://github.com/pytorch/examples/blob/main/word_language_model/main.py (`repackage_hidden`).
    """

    code = "DNF484"
    name = "state-carried-with-graph"
    message = "`{state}` is carried from one turn to the next with its graph: each backward pass goes back through all turns before"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 5
    default = False
    triggers = ("backward",)
    declined = "the state is made in more than one place"
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or "backward" not in source.words:
            return
        for each in kept_graphs.carried(source):
            edit = InsertBefore(source.site(each.statement), _detached(source, each))
            yield Fault.with_repair(source.site(each.call), {"state": each.state}, "Detach the state", edit)
        for state, call in _kept_by_network(source):
            yield Fault(source.site(call), {"state": state}, ())

    programs = """
=== example: a state from before the loop
import torch
from torch import nn

rnn = nn.GRU(4, 8)
hidden = torch.zeros(1, 16, 8)
for x, y in loader:
    optimizer.zero_grad()
+     hidden = hidden.detach()
    out, hidden = rnn(x, hidden)
    loss = criterion(out, y)
    loss.backward(retain_graph=True)
    optimizer.step()

=== example: the two states of an LSTM
import torch

hidden = model.init_hidden(16)
for x, y in loader:
    model.zero_grad()
+     hidden = tuple(each.detach() for each in hidden)
    out, hidden = model(x, hidden)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
h, c = hidden

=== example: a state that is given another name
import torch

for x, y in loader:
    optimizer.zero_grad()
+     hidden = hidden.detach()
    out, new = model(x, hidden)
    criterion(out, y).backward(retain_graph=True)
    optimizer.step()
    hidden = new

=== reject: detached under the other name
import torch

for x, y in loader:
    out, new = model(x, hidden)
    criterion(out, y).backward()
    new = new.detach()
    hidden = new

=== reject: detached
import torch

hidden = None
for x, y in loader:
    out, hidden = model(x, hidden)
    hidden = hidden.detach()
    criterion(out, y).backward()

=== reject: made anew for each batch
import torch

for x, y in loader:
    hidden = model.init_hidden()
    for t in range(x.size(1)):
        out, hidden = model(x[:, t], hidden)
    criterion(out, y).backward()

=== reject: a helper detaches it
import torch

hidden = model.init_hidden(16)
for x, y in loader:
    hidden = repackage_hidden(hidden)
    out, hidden = model(x, hidden)
    criterion(out, y).backward()

=== reject: given without its graph
import torch

hidden = torch.zeros(1, 16, 8)
for x, y in loader:
    out, hidden = model(x, hidden.detach())
    criterion(out, y).backward()
"""


def _detached(source: Source, each: kept_graphs.Carried) -> str:
    """The statement that detaches a state: a tensor, or the two of an LSTM."""
    made = source.constructor(each.call.func)
    is_pair = "LSTM" in source.text or (
        made is None and any(_is_unpacked(node, each.state) for node in source.nodes(ast.Assign))
    )
    return (
        f"{each.state} = tuple(each.detach() for each in {each.state})"
        if is_pair
        else f"{each.state} = {each.state}.detach()"
    )


def _is_unpacked(node: ast.Assign, state: str) -> bool:
    """Whether an assignment takes a state apart, or makes it of several."""
    pair = isinstance(node.targets[0], ast.Tuple) and ast.unparse(node.value) == state
    return pair or (ast.unparse(node.targets[0]) == state and isinstance(node.value, (ast.Tuple, ast.List)))


def _kept_by_network(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """The states that a network keeps in an attribute, which nothing in a text with a training loop ever lets go."""
    if not structure.batch_loops(source):
        return
    for function in structure.functions(source):
        if function.name != "forward":
            continue
        for statement in within(function, ast.Assign):
            call = statement.value
            if not isinstance(call, ast.Call):
                continue
            given = {
                ast.unparse(one) for arg in call.args for one in kept_graphs.bare(arg) if isinstance(one, ast.Attribute)
            }
            stored = {ast.unparse(one) for target in statement.targets for one in kept_graphs.bare(target)}
            for state in sorted(given & stored):
                attribute = state.rpartition(".")[2]
                if kept_graphs.OF_STATE.search(attribute) and not _is_begun_anew(
                    source, function, attribute, statement
                ):
                    yield state, call


def _is_begun_anew(source: Source, function: ast.AST, attribute: str, own: ast.stmt) -> bool:
    """Whether something in the text sets a state of a network anew, other than when the network is made, or lets its graph go."""
    for node in source.nodes(ast.Attribute):
        statement, around = source.statement_of(node), source.enclosing(node, ast.FunctionDef)
        if node.attr != attribute or statement is own or (around is not None and around.name == "__init__"):
            continue
        if kept_graphs.LETS_GO.search(ast.unparse(statement)):
            return True
        if isinstance(node.ctx, ast.Store):
            calls = structure.callers(source, around) if around is not None else ()
            if around is None or around is function or any(_is_outside_init(source, call) for call in calls):
                return True
    return False


def _is_outside_init(source: Source, call: ast.Call) -> bool:
    around = source.enclosing(call, ast.FunctionDef)
    return around is None or around.name != "__init__"
