"""`torch.symeig`, `torch.solve`, `torch.lstsq`: functions of linear algebra that are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, RemoveArgument, Replace, Subject, uses_of

SOLVERS = {
    "torch.solve": ("torch.linalg.solve", ""),
    "torch.gesv": ("torch.linalg.solve", ""),
    "torch.lstsq": ("torch.linalg.lstsq", ".solution"),
    "torch.gels": ("torch.linalg.lstsq", ".solution"),
}
"""By the old function, which gave a solution and a factorization, today's and the part of its result that is the solution."""


class RemovedLinearAlgebra(ApiChange):
    """`torch.linalg` took over from functions of other argument orders and results, which raise an error since 1.13.

    `symeig(A, eigenvectors=True)` is `linalg.eigh(A)`. `solve(B, A)` is `linalg.solve(A, B)` and gives the solution alone:
    it is repaired where only the solution is used. `eig` gave pairs of reals for complex numbers and is left.

    Fix safety: unsafe: `eigh` reads the lower triangle where `symeig` read the upper one, which is the same for the
    symmetric matrices that both are for.

    References: https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html,
    https://docs.pytorch.org/docs/stable/generated/torch.linalg.solve.html.
    """

    code = "DNF511"
    name = "removed-linear-algebra"
    triggers = ("symeig", "solve", "gesv", "lstsq", "gels", "eig")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of the removed functions."""
        source = subject.source
        for call in source.all_calls:
            name = source.qualified(call.func) or ""
            method = call.func.attr if isinstance(call.func, ast.Attribute) and not name else ""
            if name == "torch.symeig" or method == "symeig":
                yield self._symeig(subject, call, method)
            elif name in SOLVERS:
                yield self._solver(subject, call, name)
            elif name == "torch.eig":
                reason = (
                    "linalg.eig gives complex numbers, where eig gave pairs of reals: the code around it has to change"
                )
                yield self._hit(subject, call, name, (), reason)

    def _symeig(self, subject: Subject, call: ast.Call, method: str) -> Hit:
        source = subject.source
        edits: list[Edit] = []
        if method and isinstance(call.func, ast.Attribute):
            matrix = source.segment(source.site(call.func.value))
            edits = [Replace(source.site(call), f"torch.linalg.eigh({matrix})")]
        else:
            site = source.site(call)
            edits = [Replace(source.site(call.func), _name(subject, call, "torch.linalg.eigh"))]
            edits += [RemoveArgument(site, k.arg) for k in call.keywords if k.arg in ("eigenvectors", "upper")]
            edits += [RemoveArgument(site, "", position) for position in range(1, len(call.args))]
        return self._hit(subject, call, "torch.symeig", tuple(edits), "")

    def _solver(self, subject: Subject, call: ast.Call, name: str) -> Hit:
        source = subject.source
        if len(call.args) != 2 or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            return self._hit(subject, call, name, (), "its arguments are not the two matrices alone")
        right, left = (source.segment(source.site(argument)) for argument in call.args)
        new, part = SOLVERS[name]
        code = f"{_name(subject, call, new)}({left}, {right}){part}"
        above = source.parent(call)
        if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 0:
            return self._hit(subject, call, name, (Replace(source.site(above), code),), "")
        if isinstance(above, ast.Attribute) and above.attr == "solution":
            return self._hit(subject, call, name, (Replace(source.site(above), code),), "")
        if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Tuple):
            first, *others = above.targets[0].elts
            if len(others) == 1 and isinstance(others[0], ast.Name) and not _read(source.tree, others[0].id):
                edits: tuple[Edit, ...] = (
                    Replace(source.site(call), code),
                    Replace(source.site(above.targets[0]), source.segment(source.site(first))),
                )
                return self._hit(subject, call, name, edits, "")
        return self._hit(subject, call, name, (), "the factorization that it gave along with the solution is used")

    def _hit(self, subject: Subject, call: ast.Call, name: str, edits: tuple[Edit, ...], decline: str) -> Hit:
        new = {"torch.symeig": "torch.linalg.eigh", "torch.eig": "torch.linalg.eig"}.get(
            name, SOLVERS.get(name, ("",))[0]
        )
        gone = "1.2" if name in ("torch.gesv", "torch.gels") else "1.13"
        return Hit(
            subject.source.site(call.func),
            f"{name} is gone since torch {gone}; {new} takes its place",
            title=f"call {new}",
            edits=edits,
            decline=decline,
            removed={"torch": gone},
        )

    examples = (
        Example(
            "eigenvalues of a symmetric matrix",
            """\
import torch

m = torch.eye(3)
- w, v = torch.symeig(0.5 * (m + m.t()), eigenvectors=True)
+ w, v = torch.linalg.eigh(0.5 * (m + m.t()))
print(w)
""",
            runs=True,
        ),
        Example(
            "a system of equations",
            """\
import torch

a, b = torch.eye(3), torch.ones(3, 1)
- x, _ = torch.solve(b, a)
- y = torch.gesv(b, a)[0]
+ x = torch.linalg.solve(a, b)
+ y = torch.linalg.solve(a, b)
""",
        ),
        Example(
            "least squares",
            """\
import torch

x, y = torch.randn(5, 2), torch.randn(5, 1)
- weights = torch.lstsq(y, x).solution[:2]
+ weights = torch.linalg.lstsq(x, y).solution[:2]
""",
        ),
    )
    rejects = (
        Reject(
            "the functions of today",
            """\
import torch

a, b = torch.eye(3), torch.ones(3, 1)
print(torch.linalg.solve(a, b), torch.linalg.eigh(a), torch.linalg.lstsq(a, b).solution)
""",
            runs=True,
        ),
        Reject(
            "another library's solver",
            """\
import numpy as np
import torch
from scipy.linalg import solve

x = solve(np.eye(2), np.ones(2))
y = torch.ones(2)
""",
        ),
    )


def _name(subject: Subject, call: ast.Call, new: str) -> str:
    """Today's function as this program can write it, given how it writes torch."""
    source = subject.source
    if isinstance(call.func, ast.Attribute):
        owner = source.segment(source.site(call.func.value))
        return new.replace("torch", owner, 1) if source.qualified(call.func.value) == "torch" else new
    local = next((local for local, name in uses_of(source).imported.items() if name == "torch"), "torch")
    return new.replace("torch", local, 1)


def _read(tree: ast.Module, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(tree))
