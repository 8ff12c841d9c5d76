"""A loader for evaluation shuffles, and its results are put beside what is in the order of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    SetArgument,
    Source,
    Subject,
    loader_uses,
    within,
    words,
)

IN_ORDER = re.compile(
    r"to_csv|submission|sample_sub|test_df|df_test|\.imgs\b|\.samples\b|\.filenames|image_(paths|names|ids)|file_?names|\.targets\b|\b(y_test|test_labels|test_y)\b",
    re.IGNORECASE,
)

BY_COUNT = re.compile(r"(names?|files?|paths?|ids|imgs|images|samples|list)$", re.IGNORECASE)
COUNTERS = words("_ i j idx index batch_idx batch_index step n k")
KEEPS = words("append extend cat concat concatenate hstack vstack")


class EvaluationOrderLost(ReadTemplate):
    """Predictions of `DataLoader(test_set, shuffle=True)` are collected and put beside ids, files or labels in the order of the data.

    Shuffled batches give them in another order: each prediction gets the id of another sample. Measures that take labels from the same batch do not care, and are left
    alone.

    Fix safety: unsafe. The batches come in the order of the data.

    References: torch.utils.data.DataLoader.
    """

    code = "DNF761"
    name = "evaluation-order-lost"
    message = "`{loader}` shuffles, and what it gives is put beside `{beside}`, which is in the order of the data"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("DataLoader",)
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "shuffle" not in source.words:
            return
        for use in loader_uses.uses(source):
            if not use.evaluates or use.trains or not use.says("shuffle", True):
                continue
            loops: list[tuple[ast.For | ast.Call, ast.For]] = [(loop, loop) for loop in use.loops]
            loops += loader_uses.loops_elsewhere(source, use)
            beside = next((found for after, loop in loops if (found := _beside(source, loop, after))), "")
            if beside:
                site = source.site(use.call)
                edit = SetArgument(site, "shuffle", "False")
                said = {"loader": use.name or "the loader", "beside": beside}
                yield Fault.with_repair(site, said, "Keep the order", edit, confidence=self.confidence)

    programs = """
=== example: a table of predictions
import torch
from torch.utils.data import DataLoader

- test_loader = DataLoader(test_set, batch_size=32, shuffle=True)
+ test_loader = DataLoader(test_set, batch_size=32, shuffle=False)
predictions = []
with torch.no_grad():
    for x in test_loader:
        predictions.append(model(x).argmax(1))
table["label"] = torch.cat(predictions)
table.to_csv("predictions.csv")

=== example: a list that grows, of batches with labels that are not there
import torch
from torch.utils.data import DataLoader

- test_loader = DataLoader(test_set, batch_size=32, shuffle=True)
+ test_loader = DataLoader(test_set, batch_size=32, shuffle=False)
kinds = []
with torch.no_grad():
    for picture, _ in test_loader:
        kinds += model(picture).argmax(1).tolist()
table["kind"] = kinds
table.to_csv("kinds.csv")

=== example: by a function, and files by their number
import torch
from torch.utils.data import DataLoader

def paint(network, loader):
    for number, x in enumerate(loader):
        save_image(network(x), "after.png")
    for i, x in enumerate(loader):
        save_image(network(x), names[i])

- test_loader = DataLoader(test_set, batch_size=1, shuffle=True)
+ test_loader = DataLoader(test_set, batch_size=1, shuffle=False)
paint(network, test_loader)

=== reject: labels of the same batch
import torch
from torch.utils.data import DataLoader

test_loader = DataLoader(test_set, batch_size=32, shuffle=True)
right = []
for x, y in test_loader:
    right.append((model(x).argmax(1) == y).float().mean())
table.to_csv("accuracy.csv")

=== reject: in the order of the data
import torch
from torch.utils.data import DataLoader

test_loader = DataLoader(test_set, batch_size=32, shuffle=False)
predictions = []
for x in test_loader:
    predictions.append(model(x).argmax(1))
table.to_csv("predictions.csv")
"""


def _beside(source: Source, loop: ast.For, after: ast.For | ast.Call) -> str:
    """What in the order of the data the results of a loop are put beside, in it or later; empty where they keep labels or ids of their own batches."""
    collects = any(_last(call) in KEEPS for call in within(loop, ast.Call)) or any(
        isinstance(node.op, ast.Add)
        and (
            isinstance(node.value, (ast.List, ast.ListComp))
            or (isinstance(node.value, ast.Call) and _last(node.value) in ("tolist", "list"))
        )
        for node in within(loop, ast.AugAssign)
    )
    read = {
        name.id for statement in loop.body for name in within(statement, ast.Name) if isinstance(name.ctx, ast.Load)
    }
    names = [name.id for name in within(loop.target, ast.Name) if name.id in read and name.id not in COUNTERS]
    if len(names) != 1:
        return ""
    counted = {name.id for name in within(loop.target, ast.Name)} & COUNTERS
    for each in within(loop, ast.Subscript):  # the file of the n-th batch, in the order of the folder
        by_count = isinstance(each.slice, ast.Name) and each.slice.id in counted and isinstance(each.ctx, ast.Load)
        if by_count and BY_COUNT.search(ast.unparse(each.value)):
            return ast.unparse(each)
    later = "\n".join(source.text.split("\n")[after.end_lineno or after.lineno :]) if collects else ""
    found = IN_ORDER.search(later)
    return found.group(0) if found is not None else ""


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
