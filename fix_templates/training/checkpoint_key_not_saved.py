"""A key is read of a checkpoint under which nothing was saved, or under which something else was."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Source, Subject, checkpoints, function_around


class CheckpointKeyNotSaved(ReadTemplate):
    """`torch.save({"model": …}, path)` and then `torch.load(path)["state_dict"]`: the key is not there, or is that of something else.

    A training may run for days before what it saved is loaded for the first time. Reported where the text saves and loads one file,
    or just one file of each kind, and writes the dictionary out.

    Fix safety: unsafe. What is loaded was not loaded before.

    References: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html.
    """

    code = "DNF752"
    name = "checkpoint-key-not-saved"
    message = "the checkpoint is read under `{key}`, {what}"
    confidence = 0.9
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 4
    default = False
    triggers = ("load",)
    declined = "none of the saved keys is plainly meant"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        saves = [one for one in checkpoints.saves(source) if _is_checkpoint(one)]
        loads = [one for one in checkpoints.loads(source) if one.taken]
        for load in loads:
            same = [save for save in saves if save.path == load.path]
            sure = bool(same) and not _is_parameter(source, load)
            if not same and len(saves) == 1 and len(loads) == 1:
                same = saves
            if len(same) == 1 and same[0].entries is not None and not same[0].is_open:
                yield from _misread(source, same[0], load, sure)

    programs = """
=== example: another key
import torch

def save(net, optimizer, path):
    torch.save({"model": net.state_dict(), "optim": optimizer.state_dict()}, path)

def resume(net, optimizer, path):
    saved = torch.load(path)
-     net.load_state_dict(saved["net"])
+     net.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optim"])

=== example: the state of the optimizer in the network
torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
saved = torch.load("last.pt")
net.load_state_dict(saved["model"])
- optimizer.load_state_dict(saved["model"])
+ optimizer.load_state_dict(saved["optimizer"])

=== reject: the keys that were saved
torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
saved = torch.load("last.pt")
net.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])

=== reject: a file from elsewhere
import torch

torch.save({"model": net.state_dict()}, "last.pt")
first = torch.load("pretrained.pt")
net.load_state_dict(first["state_dict"])
second = torch.load("last.pt")
net.load_state_dict(second["model"])
"""


def _is_checkpoint(save: checkpoints.Save) -> bool:
    """Whether a dictionary has the state of something, or nothing is known of what is saved."""
    if save.entries is None:
        return False
    return any(checkpoints.state_of(value) for value in save.entries.values())


def _misread(source: Source, save: checkpoints.Save, load: checkpoints.Load, sure: bool) -> Iterator[Fault]:
    """The keys that are read and were not saved, and states that are given to something of another kind.

    Where it is not `sure` that one file is meant, only what is given to `load_state_dict` counts.
    """
    entries = dict(save.entries or {})
    states = {key: checkpoints.state_of(value) for key, value in entries.items()}
    for key, node in load.taken:
        wanted = _given_to(source, node)
        fitting = [one for one, state in states.items() if state and wanted and _same(state, wanted)]
        if key not in entries:
            if _is_tried(source, node) or not (sure or wanted):
                continue
            unread = [one for one in entries if one not in {read for read, _ in load.taken}]
            meant = fitting if len(fitting) == 1 else unread
            what = "which is not saved in it: it has " + ", ".join(f"`{one}`" for one in entries)
        elif wanted and states[key] and _kind(states[key]) != _kind(wanted):
            meant, what = fitting, f"where the state of `{states[key]}` is saved, for `{wanted}`"
        else:
            continue
        repairs = tuple(
            ("Read what was saved", (Replace(source.site(node.slice), f'"{one}"'),), 0.8) for one in meant[:1]
        )
        yield Fault(source.site(node), {"key": key, "what": what}, repairs)


def _is_parameter(source: Source, load: checkpoints.Load) -> bool:
    """Whether the path is a parameter of the function that loads: what it is called with is not told."""
    around = function_around(source, load.call)
    root = load.path.partition(".")[0].partition("[")[0]
    return around is not None and root != "self" and root in {each.arg for each in around.args.args}


def _given_to(source: Source, node: ast.Subscript) -> str:
    """What the state is loaded into, where it is at once."""
    above = source.parent(node)
    is_loaded = isinstance(above, ast.Call) and ast.unparse(above.func).endswith(".load_state_dict")
    return ast.unparse(above.func).removesuffix(".load_state_dict") if isinstance(above, ast.Call) and is_loaded else ""


def _kind(text: str) -> str:
    """Whether a text names an optimizer, a schedule or something else."""
    if checkpoints.is_optimizer_name(text):
        return "optimizer"
    return "schedule" if checkpoints.is_schedule_name(text) else "network"


def _same(state: str, wanted: str) -> bool:
    """Whether the state of one thing is that of another by their last names, or they are the only kind of theirs."""
    return state.rpartition(".")[2] == wanted.rpartition(".")[2] or _kind(state) == _kind(wanted)


def _is_tried(source: Source, node: ast.AST) -> bool:
    """Whether the key may not be there: it is read in a `try`, or under a condition."""
    for above in (source.enclosing(node, ast.Try), source.enclosing(node, ast.If), source.enclosing(node, ast.IfExp)):
        asked = ast.unparse(above.test) if isinstance(above, (ast.If, ast.IfExp)) else ""
        if above is not None and (" in " in asked or isinstance(above, ast.Try)):
            return True
    return False
