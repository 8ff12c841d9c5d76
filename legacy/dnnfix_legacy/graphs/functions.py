"""Collects the TensorFlow 1 functions that a kept graph needs defined in the program, as TensorFlow no longer has
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnnfix.detect.versioning.names import Uses
from dnnfix.records import AddDefinition, AddImport, Edit
from dnnfix_legacy.graphs.old_functions import OldFunction, definitions, imports, old_function, superfluous
from dnnfix_legacy.graphs.rewriting import Rewriting


@dataclass
class GraphFunctions:
    """The functions of version 1 that a program gets, as they are found out."""

    uses: Uses
    new: Rewriting
    alias: str
    """The name that TensorFlow has in the program."""
    _names: dict[OldFunction, str] = field(default_factory=dict)

    def put(self, node: ast.expr, call: ast.Call | None, rest: str) -> str | None:
        """Have `node`, which is `tensorflow.rest`, name a function of the program's own. Why not, or `None` without one."""
        function = old_function(rest)
        if function is None:
            return None
        if call is not None and (reason := function.refused(call, rest)):
            return reason
        name = self._name(function)
        gone = function.unplaced(call) if call is not None else []
        if call is None or not gone and not any(self._goes(function, keyword) for keyword in call.keywords):
            self.new.write(node, name)
            return ""

        def written() -> str:
            given = [self.new.text(argument) for argument in call.args if argument not in gone]
            given += [self.new.text(keyword) for keyword in call.keywords if not self._goes(function, keyword)]
            return f"{name}({', '.join(given)})"

        self.new.write(call, written)
        return ""

    def edits(self) -> Iterator[Edit]:
        """The definitions, with what they import."""
        if self._names:
            for statement in imports(self._names):
                yield AddImport(statement)
            yield AddDefinition(definitions(self._names, self.alias, self._names))

    def _goes(self, function: OldFunction, keyword: ast.keyword) -> bool:
        return keyword.arg is not None and keyword.arg not in function.keywords and superfluous(keyword)

    def _name(self, function: OldFunction) -> str:
        if function not in self._names:
            imported = self.uses.imported.items()
            taken = self.uses.bound | {local for local, name in imported if not name.startswith("tensorflow.")}
            same = function.name in taken or function.name in self._names.values()
            self._names[function] = f"{function.name}_v1" if same else function.name
        return self._names[function]
