"""`model.predict(51)`: a number or a flat list where scikit-learn expects rows of samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, Source, Subject, Wrap, origins, uses_of, words

READING = words("decision_function inverse_transform predict predict_log_proba predict_proba score_samples transform")
"""Methods that expect samples."""

FITTING = frozenset(("fit", "fit_predict", "fit_transform", "partial_fit"))
"""Methods that learn from samples."""

FLAT = ("LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer", "IsotonicRegression")
"""Classes whose samples are not rows."""

WORDS = ("Expected 2D array, got scalar array instead", "Expected 2D array, got 1D array instead")


class SamplesNot2d(ApiChange):
    """Up to 0.18 scikit-learn reshaped a single number or a flat list itself; today it refuses them.

    A number is a sample of one feature. A flat list is one sample where it is predicted or transformed, as before, and
    one feature of many samples where it is learned from. The argument is known from the source, through variables and
    parameters, or from a run that crashed there.

    Fix safety: unsafe: for a flat list the two readings differ, and only the program's author knows which was meant.

    References: https://scikit-learn.org/stable/whats_new/v0.17.html (1d arrays deprecated),
    https://scikit-learn.org/stable/whats_new/v0.19.html.
    """

    code = "DNF582"
    name = "samples-not-2d"
    formerly = ("samples-without-rows",)
    message = "{method} is called with {what}, and scikit-learn expects a 2D array of samples since 0.19"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "sklearn" not in source.words:
            return
        for call in uses_of(source).calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in READING | FITTING or not call.args:
                continue
            if not _is_estimator(source, function.value):
                continue
            shape = _told(subject, call) or _read(subject, call.args[0])
            if shape:
                yield _hit(subject, call, function.attr, shape)

    programs = """
=== example: a number that is passed on
import torch
from sklearn import linear_model


def fitted(X, Y, value):
    regression = linear_model.LinearRegression()
    regression.fit(X, Y)
-     return regression.predict(value)
+     return regression.predict([[value]])


print(fitted(torch.ones(4, 1).numpy(), torch.ones(4, 1).numpy(), 51))

=== example: one flower
import torch
from sklearn.neighbors import KNeighborsClassifier

knn = KNeighborsClassifier(n_neighbors=1)
knn.fit(torch.rand(6, 4).numpy(), torch.arange(6).numpy())
- print(knn.predict([5.1, 3.5, 1.4, 0.2]))
+ print(knn.predict([[5.1, 3.5, 1.4, 0.2]]))

=== example (runs): one feature that is scaled, as a run shows
import numpy as np
import torch
from sklearn.preprocessing import MinMaxScaler

prices = torch.arange(10.0).numpy()
scaler = MinMaxScaler()
- scaled = scaler.fit_transform(prices)
+ scaled = scaler.fit_transform(np.reshape(prices, (-1, 1)))
print(scaled.shape)

=== reject (runs): rows, strings and labels
import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import LabelEncoder

regression = LinearRegression()
regression.fit([[1.0], [2.0]], [1, 2])
x, y = np.ones((2, 1)), [1, 2]
x *= 2
print(regression.fit(x, y).predict([[51]]), LabelEncoder().fit_transform([1, 2, 2]))
print(CountVectorizer().fit_transform(["a word", "two words"]).shape, torch.ones(2))

=== reject: a method of the program's own, and numbers of which little is known
import torch
from sklearn.linear_model import LinearRegression


class Net(torch.nn.Module):
    def predict(self, x):
        return x + 1


def predicted(model: LinearRegression, x):
    return model.predict(x)


print(Net().predict(51), Net().predict([1, 2]))
"""


def _is_estimator(source: Source, expr: ast.expr) -> bool:
    made = source.constructor(expr)
    name = source.written(made.func) or "" if made is not None else ""
    module, _, kind = name.rpartition(".")
    return (
        name.startswith("sklearn.") and kind[:1].isupper() and kind not in FLAT and "feature_extraction" not in module
    )


def _told(subject: Subject, call: ast.Call) -> str:
    """What the run says about the samples, where it crashed at this call."""
    crash = subject.crash
    if crash is None or crash.kind != "ValueError" or not crash.message.startswith(WORDS):
        return ""
    site = subject.source.site(call)
    lines = {frame.site.line for frame in crash.frames if not frame.site.path}
    if not any(site.line <= line <= site.end_line for line in lines):
        return ""
    return "number" if crash.message.startswith(WORDS[0]) else "list"


def _read(subject: Subject, given: ast.expr) -> str:
    """What the source says about the samples: `number`, `list`, or ""."""
    changed = (n.target.id for n in subject.source.nodes(ast.AugAssign) if isinstance(n.target, ast.Name))
    if isinstance(given, ast.Name) and given.id in changed:
        return ""  # `X *= 10` does not say what `X` is
    ends = [
        expr for expr in origins.origins(subject, given) if not isinstance(expr, (ast.Name, ast.UnaryOp, ast.IfExp))
    ]
    if ends and all(_is_number(end) for end in ends):
        return "number"
    value = given
    if isinstance(given, ast.Name) and len(bound := subject.source.bindings(given)) == 1:
        value = bound[0]
    if isinstance(value, ast.List) and value.elts and all(_is_number(element) for element in value.elts):
        return "list"
    return ""


def _is_number(expr: ast.expr) -> bool:
    if isinstance(expr, ast.UnaryOp):
        expr = expr.operand
    return isinstance(expr, ast.Constant) and isinstance(expr.value, (int, float)) and not isinstance(expr.value, bool)


def _hit(subject: Subject, call: ast.Call, method: str, shape: str) -> Hit:
    source, given = subject.source, call.args[0]
    site = source.site(given)
    edit: Replace | Wrap
    rows = "(1, -1)" if method in READING and not _one_feature(subject, call) else "(-1, 1)"
    if shape == "number":
        edit, title = Wrap(site, "[[", "]]"), "pass a batch of one sample"
    elif rows == "(1, -1)" and isinstance(given, ast.List):
        edit, title = Wrap(site, "[", "]"), "pass a batch of one sample"
    else:
        numpy = next((local for local, name in uses_of(source).imported.items() if name == "numpy"), "")
        if numpy:
            edit = Wrap(site, f"{numpy}.reshape(", f", {rows})")
        elif _read(subject, given) == "list":
            text = source.segment(site)
            edit = Wrap(site, "[", "]") if rows == "(1, -1)" else Replace(site, f"[[value] for value in {text}]")
        else:
            edit = Wrap(site, "", f".reshape{rows}")
        title = "reshape it to one sample" if rows == "(1, -1)" else "reshape it to a column"
    what = "a number" if shape == "number" else "a flat list of numbers"
    return Hit(
        source.site(call),
        SamplesNot2d.message.format(method=method, what=what),
        title=title,
        edits=(edit,),
        removed={"sklearn": "0.19"},
        confidence=0.9,
    )


def _one_feature(subject: Subject, call: ast.Call) -> bool:
    """Whether the estimator learned from a flat list, or a column."""
    source = subject.source
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    for other in uses_of(source).calls():
        if isinstance(other.func, ast.Attribute) and other.func.attr in FITTING and other.args:
            flat = _read(subject, other.args[0]) == "list" or ".reshape(-1, 1)" in ast.unparse(other.args[0])
            if flat and made is not None and source.constructor(other.func.value) is made:
                return True
    return False
