"""An embedding has fewer rows than the indices that it is given need."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    crashed_layer,
    label_count,
    made_as,
    set_constructor_argument,
    short,
    size_changes,
)


class EmbeddingTooSmall(FixTemplate):
    """An embedding has fewer rows than the indices that it is given need.

    Rows are counted from 0: for words numbered from 1 to n, with 0 for padding, n + 1 rows are needed. The program stops
    at the first index beyond the last row.

    Fix safety: unsafe. The embedding gets more rows; saved weights do not fit any more.

    References: torch.nn.Embedding (`num_embeddings`), keras.layers.Embedding (`input_dim`: "maximum integer index + 1").
    """

    code = "DNF212"
    name = "embedding-too-small"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} has {rows} rows and receives the index {highest}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _beyond(subject)
        site = found[0].made_at if found is not None else None
        if found is None or site is None:
            return
        call, rows, wanted = found
        yield self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"rows": rows, "wanted": wanted},
            layer=short(call.name),
            rows=rows,
            highest=wanted - 1,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _beyond(subject)
        if found is None:
            return
        call, rows, wanted = found
        name = _rows_argument(call)
        text = made_as(subject, call, name)
        one_more = set_constructor_argument(subject, call, name, f"{text} + 1") if text is not None else None
        if wanted == rows + 1 and one_more is not None:
            yield self.candidate(finding, f"Give the embedding {text} + 1 rows", *one_more, prior=0.9)
        changes = size_changes(subject, call, name, wanted)
        for change in changes:
            title = f"Give the embedding {change.written} rows"
            yield self.candidate(finding, title, *change.edits, prior=0.8 * change.prior)
        if not changes and one_more is None:
            yield Decline("the number of rows is not written at one place")

    examples = (
        Example(
            "words counted from 1",
            """\
import torch
import torch.nn as nn


class Words(nn.Module):
    def __init__(self, num_words, width):
        super().__init__()
        self.num_words = num_words
-         self.embedding = nn.Embedding(self.num_words, width, padding_idx=0)
+         self.embedding = nn.Embedding(self.num_words + 1, width, padding_idx=0)

    def forward(self, x):
        return self.embedding(x)


net = Words(30, 4)
print(net(torch.arange(1, 31).view(3, 10)).shape)
""",
            runs=True,
        ),
        Example(
            "Keras vocabulary",
            """\
import numpy as np
import keras
from keras import layers

x = np.arange(40).reshape(8, 5)
model = keras.Sequential([
    keras.Input((5,)),
-     layers.Embedding(input_dim=20, output_dim=2),
+     layers.Embedding(input_dim=40, output_dim=2),
    layers.Flatten(),
    layers.Dense(1),
])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, np.random.rand(8, 1), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "rows for every index",
            """\
import torch
import torch.nn as nn

nn.Embedding(10, 3)(torch.arange(10))
""",
            runs=True,
        ),
        Reject(
            "an index below zero",
            """\
import torch
import torch.nn as nn

nn.Embedding(10, 3)(torch.tensor([1, -2, 3]))
""",
            runs=True,
        ),
    )


def _rows_argument(call: Call) -> str:
    return "input_dim" if call.name.startswith("keras.") else "num_embeddings"


def _beyond(subject: Subject) -> tuple[Call, int, int] | None:
    """The embedding that crashed, its rows, and how many rows the indices need."""
    found = crashed_layer(subject)
    if found is None or found[1].kind != "embedding":
        return None
    call, _, value = found
    rows, wanted = call.args.get(_rows_argument(call)), label_count(subject, value)
    if not isinstance(rows, int) or wanted is None or wanted <= rows:
        return None
    return call, rows, wanted
