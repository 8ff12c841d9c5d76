"""An `autograd.Function` has an ordinary `forward` method instead of a static one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnnfix.api import ApiChange, Delete, Edit, Hit, Replace, Site, Source, Subject, uses_of

METHODS = ("forward", "backward")

PURE = (
    *(f"builtins.{name}" for name in ("abs", "bool", "float", "int", "len", "max", "min", "round", "str", "tuple")),
    "math.",
    "numpy.array",
    "numpy.asarray",
    "torch.tensor",
)
"""Functions that return the same for the same arguments, whenever they are called."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

NOT_CONSTANT = frozenset((ast.Name, ast.Attribute, ast.Call, ast.List, ast.Dict, ast.Set))
"""Expressions that are not constants: their value may change."""


class LegacyAutogradFunction(ApiChange):
    """Since torch 1.5 the methods of a `Function` are static and get a context; calling an instance raises.

    `forward` and `backward` become static methods with the context as their first parameter, and `relu = MyReLU()` with
    `relu(x)` becomes `MyReLU.apply(x)`. Arguments that a constructor stores become arguments of `forward` after its
    inputs, and `backward` returns `None` for each. Declined where a constructor does more, calls something that may
    return another value the next time, or where the number of gradients is not known.

    Fix safety: safe: the context holds what the methods stored on `self`, including constants of a constructor; unsafe
    where anything else that a constructor stored is evaluated at the call from now on.

    References: https://docs.pytorch.org/docs/stable/notes/extending.html.
    """

    code = "DNF513"
    name = "legacy-autograd-function"
    message = "{name}.forward is not static; since torch 1.5 calling such a Function raises"
    triggers = ("Function",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        for node in uses_of(source).classes():
            bases = {source.qualified(base) for base in node.bases}
            if bases.isdisjoint({"torch.autograd.Function", "torch.autograd.function.Function"}):
                continue
            methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
            forward = methods.get("forward")
            if forward is None or forward.decorator_list or not forward.args.args:
                continue
            kept = _kept(subject, methods)
            uses, decline = _uses(subject, node, kept or Kept())
            if kept is None or set(methods) - {*METHODS, "__init__"} or _keeps_for_all(node):
                decline = f"{node.name} stores more than its forward passes to its backward"
            elif kept.names and not _gives_one_each(source, methods):
                decline = f"the number of gradients that {node.name}.backward returns is not known"
            elif not decline and _is_taken(methods, kept):
                decline = f"{node.name} uses the name of the context argument for something else"
            edits: tuple[Edit, ...] = ()
            if kept is not None and not decline:
                edits = (Replace(source.site(node), _static(subject, node, methods, kept)), *uses)
            yield Hit(
                Site(node.lineno, node.col_offset + 1, node.lineno, node.col_offset + 1 + len(f"class {node.name}")),
                self.message.format(name=node.name),
                title=f"make the methods of {node.name} static and call apply",
                edits=edits,
                decline=decline,
                safe=kept is not None and kept.is_constant and not _is_counted_on(methods, kept),
                removed={"torch": "1.5"},
                within=source.site(node),
            )

    programs = """
=== example (runs): an instance that is called
import torch


class MyReLU(torch.autograd.Function):
-     def forward(self, input):
+     @staticmethod
+     def forward(ctx, input):
        # keep what backward needs
-         self.save_for_backward(input)
+         ctx.save_for_backward(input)
        return input.clamp(min=0)

-     def backward(self, grad_output):
-         input, = self.saved_tensors
+     @staticmethod
+     def backward(ctx, grad_output):
+         input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


x = torch.randn(3, requires_grad=True)
for t in range(2):
-     relu = MyReLU()
-     relu(x).sum().backward()
+     MyReLU.apply(x).sum().backward()

=== example: after a function
import torch


class Clip(torch.autograd.Function):
+     @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

+     @staticmethod
    def backward(ctx, grad):
        return grad


def clip(x):
-     return Clip()(x)
+     return Clip.apply(x)

=== example (runs): a constructor that keeps its argument
import torch
from torch.autograd import Function


class Reverse(Function):
-     def __init__(self, weight=1.0):
-         super(Reverse, self).__init__()
-         self.weight = weight
-
-     def forward(self, x):
+     @staticmethod
+     def forward(ctx, x, weight):
+         ctx.weight = weight
        return x.view_as(x)

-     def backward(self, grad):
-         return grad * -self.weight
+     @staticmethod
+     def backward(ctx, grad):
+         return grad * -ctx.weight, None


def reverse(x, weight):
-     return Reverse(weight)(x)
+     return Reverse.apply(x, weight)


x = torch.ones(2, requires_grad=True)
- (reverse(x, 0.5) + Reverse()(x)).sum().backward()
+ (reverse(x, 0.5) + Reverse.apply(x, 1.0)).sum().backward()

=== example (runs): gradients in parentheses, and constants
import torch


class Scale(torch.autograd.Function):
-     def __init__(self, factor):
-         self.factor = factor
-         self.twice = (2.0, -1)
+     @staticmethod
+     def forward(ctx, x, w, factor):
+         ctx.factor = factor
+         ctx.twice = (2.0, -1)
+         ctx.save_for_backward(x, w)
+         return x * w * ctx.factor

-     def forward(self, x, w):
-         self.save_for_backward(x, w)
-         return x * w * self.factor
-
-     def backward(self, g):
-         x, w = self.saved_tensors
-         if self.twice[1] < 0:
-             return (g * w * self.factor), (g * x * self.factor)
+     @staticmethod
+     def backward(ctx, g):
+         x, w = ctx.saved_tensors
+         if ctx.twice[1] < 0:
+             return (g * w * ctx.factor), (g * x * ctx.factor), None
        if x.dim() == 1:
-             return g * w, (g * x).sum(0)
-         return (g * w, (g * x))
+             return g * w, (g * x).sum(0), None
+         return (g * w, (g * x), None)


x = torch.ones(2, requires_grad=True)
- Scale(3.0)(x, x * 2).sum().backward()
+ Scale.apply(x, x * 2, 3.0).sum().backward()

=== reject: static methods
import torch


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        return grad


y = MyReLU.apply(torch.ones(2))

=== reject: a module of its own
import torch


class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2


y = Double()(torch.ones(2))
"""


@dataclass(frozen=True)
class Kept:
    """What a constructor stores: its parameters, their defaults, and the value of each attribute."""

    names: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)
    values: tuple[tuple[str, str], ...] = ()
    """The attributes with the code of their values, in which the context is named `ctx`."""
    is_constant: bool = True
    """Whether all values are constants."""


def _kept(subject: Subject, methods: dict[str, ast.FunctionDef]) -> Kept | None:
    """What a Function's constructor stores; `None` where that cannot become arguments of `forward`."""
    source, init, forward = subject.source, methods.get("__init__"), methods["forward"]
    if init is None:
        return Kept()
    given, taken = init.args, forward.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or init.decorator_list:
        return None
    names = tuple(parameter.arg for parameter in given.args[1:])
    plain = not (taken.vararg or taken.kwarg or taken.kwonlyargs or taken.defaults)
    if (names and not plain) or set(names) & {parameter.arg for parameter in taken.args}:
        return None
    own, values, is_constant = given.args[0].arg, [], not names
    for statement in init.body:
        if isinstance(statement, ast.Pass) or _is_text(statement) or _is_of_base(statement):
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Attribute):
            return None
        if (
            not isinstance(target.value, ast.Name)
            or target.value.id != own
            or "\n" in source.segment(source.site(statement))
            or not _is_same_again(source, statement.value)
        ):
            return None
        is_constant = is_constant and not {type(n) for n in ast.walk(statement.value)} & NOT_CONSTANT
        code = source.segment(source.site(statement.value))
        values.append((target.attr, _renamed(code, own, "ctx")))
    late = list(zip(reversed(given.args), reversed(given.defaults), strict=False))
    defaults = {parameter.arg: source.segment(source.site(default)) for parameter, default in late}
    return Kept(names, defaults, tuple(values), is_constant)


def _renamed(code: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, code)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_of_base(statement: ast.stmt) -> bool:
    """Whether a statement calls the base class's constructor."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _is_same_again(source: Source, value: ast.expr) -> bool:
    """Whether an expression has the same value each time it is evaluated with the same arguments."""
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    return all((source.qualified(call.func) or "").startswith(PURE) for call in calls)


def _is_counted_on(methods: dict[str, ast.FunctionDef], kept: Kept) -> bool:
    """Whether a method reassigns what the constructor stored, which the next call of the instance would read."""
    own = {name for name, _ in kept.values}
    return any(
        isinstance(node, ast.Attribute) and node.attr in own and not isinstance(node.ctx, ast.Load)
        for name, method in methods.items()
        if name != "__init__"
        for node in ast.walk(method)
    )


def _is_taken(methods: dict[str, ast.FunctionDef], kept: Kept) -> bool:
    """Whether a method uses `ctx`, its own first parameter or a name of the new arguments for something else."""
    for name, method in methods.items():
        own = method.args.args[0].arg if method.args.args else ""
        bound = {arg.arg for arg in ast.walk(method.args) if isinstance(arg, ast.arg)} - {own}
        names = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        read = {node.id for node in names} - stored
        if own in stored or own != "ctx" and "ctx" in bound | stored | read:
            return True
        if name == "forward" and not read.isdisjoint(kept.names):
            return True
    return False


def _keeps_for_all(node: ast.ClassDef) -> bool:
    """Whether a class has class attributes, which the context does not have."""
    return any(not isinstance(item, (ast.FunctionDef, ast.Pass)) and not _is_text(item) for item in node.body)


def _returned(source: Source, method: ast.FunctionDef) -> list[ast.Return]:
    """The return statements of a method, not of functions within it."""
    found = (node for node in ast.walk(method) if isinstance(node, ast.Return))
    return [node for node in found if source.enclosing(node, ast.FunctionDef, ast.Lambda) is method]


def _gives_one_each(source: Source, methods: dict[str, ast.FunctionDef]) -> bool:
    """Whether `backward` is known to return one gradient per input of `forward`."""
    backward, inputs = methods.get("backward"), len(methods["forward"].args.args) - 1
    if backward is None:
        return True
    for statement in _returned(source, backward):
        given = statement.value
        if isinstance(given, ast.Tuple):
            if len(given.elts) != inputs or any(isinstance(one, ast.Starred) for one in given.elts):
                return False
        elif given is None or inputs != 1 or not _is_single(source, given):
            return False
    return True


def _is_single(source: Source, given: ast.expr) -> bool:
    """Whether an expression is one gradient."""
    if isinstance(given, ast.Name):
        return not any(isinstance(value, (ast.Tuple, ast.List, ast.ListComp)) for value in source.bindings(given))
    if isinstance(given, ast.IfExp):
        return _is_single(source, given.body) and _is_single(source, given.orelse)
    last = given.func.attr if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) else ""
    return last != "grad" and not isinstance(given, (ast.List, ast.ListComp, ast.Starred))


def _given_none(source: Source, node: ast.ClassDef, method: ast.FunctionDef, lines: list[str], count: int) -> None:
    """Append `None` for so many more arguments to each `return` of `backward`."""
    for statement in sorted(_returned(source, method), key=lambda n: -n.lineno):
        if statement.value is None:
            continue
        site = source.site(statement.value)
        number, end = site.end_line - node.lineno, site.end_column - 1
        if isinstance(statement.value, ast.Tuple) and _is_enclosed(source.segment(site)):
            end -= 1
        comma = lines[number][:end].rstrip().endswith(",")
        lines[number] = (
            lines[number][:end] + (" None" if comma else ", None") + ", None" * (count - 1) + lines[number][end:]
        )


def _is_enclosed(code: str) -> bool:
    """Whether the parentheses are the tuple's own: `(a, b)`, not `(a), (b)`."""
    return code.startswith("(") and isinstance(ast.parse(f"tuple{code}", mode="eval").body, ast.Call)


def _static(subject: Subject, node: ast.ClassDef, methods: dict[str, ast.FunctionDef], kept: Kept) -> str:
    """The class's source with static methods and nothing else changed."""
    source = subject.source
    lines = source.segment(source.site(node)).split("\n")
    for method in sorted(methods.values(), key=lambda m: -m.lineno):
        first, last = method.lineno - node.lineno, (method.end_lineno or method.lineno) - node.lineno
        if method.name == "__init__":
            empty = last + 1 < len(lines) and not lines[last + 1].strip()
            del lines[first : last + 1 + empty]
            continue
        own = method.args.args[0].arg
        if method.name == "backward" and kept.names:
            _given_none(source, node, method, lines, len(kept.names))
        if method.name == "forward" and kept.values:
            body = next((s for s in method.body if not _is_text(s)), method.body[0])
            at = body.lineno - node.lineno
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            context = "ctx" if own == "self" else own
            added = [f"{indent}{context}.{name} = {_renamed(code, 'ctx', context)}" for name, code in kept.values]
            lines[at:at] = added
            last += len(added)
        if method.name == "forward" and kept.names:
            site = source.site(method.args.args[-1])
            number, end = site.end_line - node.lineno, site.end_column - 1
            lines[number] = lines[number][:end] + "".join(f", {name}" for name in kept.names) + lines[number][end:]
        name = "ctx" if own == "self" else own
        for number in range(first, last + 1):
            lines[number] = re.sub(rf"(?<![\w.]){re.escape(own)}\b(?!\s*=[^=])", name, lines[number])
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines.insert(first, f"{indent}@staticmethod")
    return "\n".join(lines)


def _arguments(subject: Subject, made: ast.Call, kept: Kept) -> list[str] | None:
    """The code for each parameter of the constructor in a call; `None` where it is not known."""
    source = subject.source
    if len(made.args) > len(kept.names) or any(isinstance(arg, ast.Starred) for arg in made.args):
        return None
    given = dict(kept.defaults)
    given |= {name: source.segment(source.site(arg)) for name, arg in zip(kept.names, made.args, strict=False)}
    for keyword in made.keywords:
        if keyword.arg not in kept.names:
            return None
        given[keyword.arg] = source.segment(source.site(keyword.value))
    return [given[name] for name in kept.names] if all(name in given for name in kept.names) else None


def _applied(subject: Subject, call: ast.Call, name: str, arguments: list[str]) -> Edit | None:
    """The edit of a call of an instance to `apply`, with the constructor's arguments after its own."""
    source = subject.source
    if not arguments:
        return Replace(source.site(call.func), f"{name}.apply")
    if call.keywords or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    own = [source.segment(source.site(arg)) for arg in call.args]
    return Replace(source.site(call), f"{name}.apply({', '.join([*own, *arguments])})")


def _uses(subject: Subject, node: ast.ClassDef, kept: Kept) -> tuple[list[Edit], str]:
    """The edits of the uses of the class, or the reason why there are none."""
    source = subject.source
    edits: list[Edit] = []
    for name in uses_of(source).names(node.name):
        if not isinstance(name.ctx, ast.Load):
            continue
        made = source.parent(name)
        if isinstance(made, ast.Attribute) or _within_class(subject, name, node):
            continue
        if not isinstance(made, ast.Call) or made.func is not name:
            return [], f"{node.name} is passed on at line {name.lineno}, where it cannot be followed"
        arguments = _arguments(subject, made, kept)
        if arguments is None:
            return [], f"{node.name} receives arguments at line {name.lineno}, which have to become arguments of apply"
        above = source.parent(made)
        if isinstance(above, ast.Call) and above.func is made:
            applied = _applied(subject, above, node.name, arguments)
            if applied is None:
                return [], f"the arguments of the {node.name} of line {name.lineno} are not known"
            edits.append(applied)
        elif isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            calls = _calls_of(subject, above.targets[0].id, node.name, above, arguments)
            edits += calls
            if not calls:
                return [], f"the uses of the {node.name} of line {name.lineno} are not known"
        else:
            return [], f"the uses of the {node.name} of line {name.lineno} are not known"
    return list(dict.fromkeys(edits)), ""


def _within_class(subject: Subject, name: ast.Name, node: ast.ClassDef) -> bool:
    """Whether a class names itself: `super(Reverse, self)`."""
    return subject.source.enclosing(name, ast.ClassDef) is node


def _calls_of(subject: Subject, local: str, name: str, statement: ast.Assign, arguments: list[str]) -> list[Edit]:
    """The edits that remove a variable with an instance; empty where it is not only called."""
    source = subject.source
    edits: list[Edit] = [Delete(source.site(statement))]
    given = [part for argument in arguments for part in ast.walk(ast.parse(argument, mode="eval").body)]
    named = any(isinstance(part, ast.Name) for part in given)
    if not _stays(source, given):
        return []
    for use in uses_of(source).names(local):
        if not isinstance(use.ctx, ast.Load):
            other = source.parent(use)
            if not isinstance(other, ast.Assign) or ast.dump(other.value) != ast.dump(statement.value):
                return []
            continue
        call = source.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return []
        if named and source.enclosing(use, *_SCOPES) is not source.enclosing(statement, *_SCOPES):
            return []
        applied = _applied(subject, call, name, arguments)
        if applied is None:
            return []
        edits.append(applied)
    return edits


def _stays(source: Source, given: list[ast.AST]) -> bool:
    """Whether the constructor's arguments have the same value where its instance is called."""
    for part in given:
        if isinstance(
            part, (ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.NamedExpr, ast.Await, ast.Yield)
        ):
            return False
        if isinstance(part, ast.Name):
            uses: list[ast.Name] | list[ast.Attribute] = list(uses_of(source).names(part.id))
        elif isinstance(part, ast.Attribute):
            uses = [node for node in uses_of(source).all_attributes() if node.attr == part.attr]
        else:
            continue
        if sum(not isinstance(use.ctx, ast.Load) for use in uses) > 1:
            return False
    return True
