"""A sparse matrix of SciPy, as text vectorizers give it, is handed to a network that takes arrays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    words,
)

SPARSE = re.compile(r"\b(csr|csc|coo|lil|dok|bsr|dia)_(matrix|array)\b|sparse (matrix|array) length", re.IGNORECASE)
TAKING = words("fit train_on_batch test_on_batch evaluate predict predict_on_batch predict_proba")
TORCH = ("torch.tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor", "torch.as_tensor")


@dataclass(frozen=True, slots=True)
class Given:
    """The call that refused a sparse matrix, and the argument that may be it."""

    call: ast.Call
    argument: ast.expr


class SparseMatrixAsBatch(FaultTemplate[Given]):
    """The matrix of a `TfidfVectorizer` or `OneHotEncoder` holds its non-zero entries only; Keras wants an array.

    Reported where the run ended in a call that trains, predicts or makes a tensor, and what it said names a sparse
    matrix. The batch is made dense where it is handed over, so that the whole matrix stays sparse.

    Fix safety: unsafe. The same numbers, with the zeros written out: a batch takes more memory.

    References: scipy.sparse.csr_matrix.toarray; sklearn.feature_extraction.text.TfidfVectorizer.
    """

    code = "DNF163"
    name = "sparse-matrix-as-batch"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    message = "`{argument}` is a sparse matrix, and {call} takes arrays"
    needs_run = True
    declined = "what is handed over has no expression of its own"

    def faults(self, subject: Subject) -> Faults[Given]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or SPARSE.search(crash.message) is None:
            return
        for given in _given(subject.source, crash.site):
            yield subject.source.site(given.argument), given
            return

    def report(self, site: Site, fault: Given) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            cause="crash",
            confidence=0.9,
            argument=ast.unparse(fault.argument),
            call=ast.unparse(fault.call.func),
        )

    def repairs(self, subject: Subject, fault: Given) -> Repairs:
        site = subject.source.site
        text = ast.unparse(fault.argument)
        others = [
            call
            for call in subject.source.all_calls
            if call is not fault.call
            and _takes(subject.source, call)
            and call.args
            and ast.unparse(call.args[0]) == text
        ]
        edits = [Wrap(site(each), "", ".toarray()") for each in (fault.argument, *(call.args[0] for call in others))]
        yield f"Hand over `{text}` as an array", tuple(edits), 0.9

    examples = (
        Example(
            "words counted, a batch at a time",
            """\
import keras
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

texts = ["good film", "bad film", "good play", "bad play"] * 4
counts = CountVectorizer().fit_transform(texts)
labels = np.array([1, 0, 1, 0] * 4)
model = keras.Sequential([keras.Input((counts.shape[1],)), keras.layers.Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
- model.train_on_batch(counts[:8], labels[:8])
+ model.train_on_batch(counts[:8].toarray(), labels[:8])
""",
        ),
        Example(
            "a matrix of SciPy as a tensor",
            """\
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
- adjacency = torch.tensor(graph)
+ adjacency = torch.tensor(graph.toarray())
net = torch.nn.Linear(2, 2).double()
print(net(adjacency).shape)
""",
        ),
    )
    rejects = (
        Reject(
            "a dense array",
            """\
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
adjacency = torch.tensor(graph.toarray())
""",
        ),
        Reject(
            "another crash beside a sparse matrix",
            """\
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
torch.nn.Linear(3, 1)(torch.tensor(graph.toarray()).float())
""",
        ),
    )


def _given(source: Source, crashed: Site) -> Iterator[Given]:
    """The calls at the place of a crash that may have been given the matrix, the innermost first."""
    calls = [call for call in source.all_calls if _takes(source, call) and _at(source.site(call), crashed)]
    for call in sorted(calls, key=lambda each: len(ast.unparse(each))):
        if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            yield Given(call, call.args[0])


def _takes(source: Source, call: ast.Call) -> bool:
    if source.qualified(call.func) in TORCH:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in TAKING


def _at(site: Site, crashed: Site) -> bool:
    return site.encloses(crashed) or crashed.encloses(site)
