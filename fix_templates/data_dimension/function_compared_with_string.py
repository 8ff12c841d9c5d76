"""A Keras function is compared with a string instead of its result."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Site,
    Subject,
    Symptom,
    Wrap,
)

ASKED = frozenset(
    f"keras.{place}.{name}"
    for place in ("backend", "config")
    for name in ("image_data_format", "image_dim_ordering", "backend", "floatx")
)
"""Functions without arguments that return a string."""


class FunctionComparedWithString(FaultTemplate[ast.expr]):
    """`if K.image_data_format == "channels_last":` compares the function with a string, not its result.

    A function never equals a string, so that one branch never runs: the axes of images stay in the wrong order, and a
    convolution reads rows as channels.

    Fix safety: unsafe. The other branch of the program runs.

    References: keras.config.image_data_format, keras.config.backend, keras.config.floatx.
    """

    code = "DNF144"
    name = "function-compared-with-string"
    formerly = ("function-compared-with-text",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "the function {function} is compared with a string, to which it is never equal"
    triggers = ("image_data_format", "image_dim_ordering", "backend", "floatx")
    declined = "the function is not compared in one expression"

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for finding in super().detect(subject):
            crashed = subject.crash is not None  # the branch that did not run may be the cause
            yield replace(finding, symptom=Symptom.CRASH, cause="crash") if crashed else finding

    def faults(self, subject: Subject) -> Faults[ast.expr]:
        for compare in subject.source.nodes(ast.Compare):
            if len(compare.ops) != 1 or not isinstance(compare.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
                continue
            for one, other in ((compare.left, compare.comparators[0]), (compare.comparators[0], compare.left)):
                named = isinstance(one, (ast.Name, ast.Attribute)) and subject.source.qualified(one) in ASKED
                if named and _is_text(other):
                    yield subject.source.site(one), one

    def report(self, site: Site, fault: ast.expr) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.95, function=ast.unparse(fault))

    def repairs(self, subject: Subject, fault: ast.expr) -> Repairs:
        yield "Call the function", (Wrap(subject.source.site(fault), "", "()"),), 0.95

    programs = """
=== example: the backend
from tensorflow.keras.backend import floatx
import numpy as np

- kind = np.float16 if floatx == "float16" else np.float32
+ kind = np.float16 if floatx() == "float16" else np.float32

=== reject: functions that are called
from keras import backend as K

if K.image_data_format() == "channels_first" and K.backend() != "torch":
    print("in front")

=== reject: a variable of the program's own with that name
import keras

floatx = "float32"
image_data_format = keras.config.image_data_format()
if image_data_format == "channels_last" or floatx == "float32":
    print(keras.backend.backend())
"""


def _is_text(expr: ast.expr) -> bool:
    if isinstance(expr, (ast.Tuple, ast.List, ast.Set)):
        return bool(expr.elts) and all(map(_is_text, expr.elts))
    return isinstance(expr, ast.Constant) and isinstance(expr.value, str)
