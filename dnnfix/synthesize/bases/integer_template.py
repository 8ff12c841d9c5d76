"""Base of the rules that cast an argument of the failing call to integers."""

from __future__ import annotations

import ast
from typing import ClassVar

from dnnfix.detect.tensors.dtypes import cast_where_made, cast_where_used, failing_call
from dnnfix.records import CRASH_CAUSE, Call, Family, Finding, FixPattern, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repairs
from dnnfix.synthesize.edits.size_conflicts import short


class IntegerTemplate(FaultTemplate[Call]):
    """Base of the templates for calls that take integers and are given something else.

    A subclass says of which calls it speaks (`refuses`), which input it is, and what the two repairs are called. Its
    `message` has the words `taker` and `received`.
    """

    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    needs_run = True
    elsewhere = True
    index: ClassVar[int]
    """The number of the input that has to be integers."""
    make: ClassVar[str]
    """The title of the repair where the input enters the program as a tensor."""
    cast: ClassVar[str]
    """The title of the repair in the call."""

    def refuses(self, call: Call) -> bool:
        """Whether the failing call refused the dtype of its input."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Call]:
        call = failing_call(subject)
        if call is not None and len(call.inputs) > self.index and self.refuses(call):
            yield call.site, call

    def report(self, site: Site, call: Call) -> Finding:
        given = call.inputs[self.index]
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            evidence={"received": given.dtype, "shape": given.shape},
            cause=CRASH_CAUSE,
            taker=short(call.name),
            received=given.dtype,
        )

    def repairs(self, subject: Subject, call: Call) -> Repairs:
        yield self.make, cast_where_made(subject, call, self.index, "int64"), 0.8
        likely = 0.2 if _is_cast_to_floats(subject, call) else 0.7
        yield self.cast, cast_where_used(subject, call, self.index, "int64"), likely


def _is_cast_to_floats(subject: Subject, call: Call) -> bool:
    """Whether the function around a call makes floats of what the call is given, for other cases than the one that failed."""
    node = subject.call_node(call)
    function = subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) if node is not None else None
    given = {each.id for each in node.args if isinstance(each, ast.Name)} if node is not None else set()
    for statement in ast.walk(function) if function is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="float" | "double"))):
                if name in given:
                    return True
    return False
