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
            beside = next((found for loop in use.loops if (found := _beside(source, loop))), "")
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


def _beside(source: Source, loop: ast.For) -> str:
    """What in the order of the data the results of a loop are put beside; empty where they keep labels or ids of their own batches."""
    collects = any(_last(call) in KEEPS for call in within(loop, ast.Call)) or any(
        isinstance(node.op, ast.Add)
        and (isinstance(node.value, (ast.List, ast.ListComp)) or (isinstance(node.value, ast.Call) and _last(node.value) in ("tolist", "list")))
        for node in within(loop, ast.AugAssign)
    )
    names = [name.id for name in within(loop.target, ast.Name) if name.id not in ("_", "i", "idx", "batch_idx", "step")]
    if not collects or len(names) != 1:
        return ""
    end = loop.end_lineno or loop.lineno
    later = "\n".join(source.text.split("\n")[end:])
    found = IN_ORDER.search(later)
    return found.group(0) if found is not None else ""


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
