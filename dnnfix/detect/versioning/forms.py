"""Calls whose arguments changed in a way that the tables cannot state, mostly of PyTorch, and the edits that rewrite
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from dnnfix.detect.versioning.first_releases import boolean_axes, is_older, reordered
from dnnfix.detect.versioning.lightning_modules import PACKAGES
from dnnfix.detect.versioning.lightning_trainers import (
    claimed_of_lightning,
    outdated_decorators,
    outdated_hyperparameters,
    outdated_sizes,
    outdated_trainers,
)
from dnnfix.detect.versioning.loaders import SAMPLERS, outdated_sampler
from dnnfix.detect.versioning.metric_tasks import outdated_metrics
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims, Hit, claimed
from dnnfix.detect.versioning.names import Uses, uses_of
from dnnfix.detect.versioning.patterns import outdated_forms
from dnnfix.detect.versioning.pictures import outdated_pictures
from dnnfix.detect.versioning.target_texts import SWITCHES, outdated_targets
from dnnfix.detect.versioning.tensors import changed_tensor_calls
from dnnfix.records import Edit, InsertElement, RemoveArgument, Replace
from dnnfix.source.names import canonical
from dnnfix.source.program import Source, once
from dnnfix.subject import Subject

_AMP = {
    "torch.cuda.amp": "cuda",
    "torch.cuda.amp.autocast_mode": "cuda",
    "torch.cuda.amp.grad_scaler": "cuda",
    "torch.cpu.amp": "cpu",
    "torch.cpu.amp.autocast_mode": "cpu",
    "torch.cpu.amp.grad_scaler": "cpu",
}
"""By module, the device of which its autocast and GradScaler are."""

_DEVICE = "; torch.amp takes the type of the device"

_SCALING = ("autocast", "GradScaler")

_COUNTING = frozenset(
    f"torch.optim.lr_scheduler.{name}"
    for name in ("CosineAnnealingLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "StepLR")
)
"""Schedules of which a step is the next one; the others are told of more than an epoch, or of parts of one."""


@once
def changed_forms(subject: Subject) -> tuple[Hit, ...]:
    """The hits of a program about calls and other expressions that are written in another form today."""
    return tuple(_changed(subject))


def _changed(subject: Subject) -> Iterator[Hit]:
    uses, words = uses_of(subject.source), subject.source.words
    yield from outdated_forms(subject, uses)
    yield from outdated_pictures(uses)
    if not words.isdisjoint(SWITCHES):
        yield from outdated_targets(uses)
    if not words.isdisjoint(PACKAGES):
        yield from outdated_trainers(uses)
        yield from outdated_hyperparameters(uses)
        yield from outdated_decorators(uses)
        yield from outdated_sizes(uses)
    if not words.isdisjoint(("metrics", "torchmetrics")):
        yield from outdated_metrics(uses)
    if "torch" not in words and "torchvision" not in words:
        return
    if not words.isdisjoint(_SCALING):
        yield from _scaling(uses)
    calls = {"step": _step, **({"__init__": outdated_sampler} if not words.isdisjoint(SAMPLERS) else {})}
    yield from changed_tensor_calls(uses)
    if "torchvision" in words:
        yield from _pretrained(uses)
    wanted = {word: read for word, read in calls.items() if word in words}
    for call in uses.calls() if wanted else ():
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        written = uses.source.written(call.func) or ""
        read = wanted.get(last) or wanted.get(written.rpartition(".")[2])
        if read is not None:
            yield from read(uses, call, written)


def claims(subject: Subject) -> Claims:
    """What of a program is answered for here in the place of the tables."""
    return NO_CLAIMS if subject.source.words.isdisjoint(PACKAGES) else claimed_of_lightning(subject.source)


def former_order(subject: Subject) -> Iterator[Hit]:
    """Calls of TensorFlow in the argument order from before 1.0; programs of graphs are migrated as a whole."""
    source, removed = subject.source, {"tensorflow": "1.0"}
    if "tensorflow" not in source.frameworks or claimed(subject).graph:
        return
    older = is_older(uses_of(source))
    for call in source.all_calls:
        written = source.written(call.func) or ""
        if not written.startswith("tensorflow."):
            continue
        if marks := boolean_axes(call, written):
            edits: tuple[Edit, ...] = (Replace(source.site(marks[0]), marks[1]),)
            what = f"{written} takes the indices of axes since TensorFlow 1.0"
            yield Hit(
                source.site(call), what, title="pass the indices of the axes", edits=edits, safe=True, removed=removed
            )
            continue
        changed = reordered(source, call, written, older)
        if changed is not None and not written.endswith("_summary"):
            edits, title = tuple(changed.edits(source)), "put the arguments in today's order"
            yield Hit(source.site(call), changed.what, title=title, edits=edits, safe=True, removed=removed)


def _scaling(uses: Uses) -> Iterator[Hit]:
    """`torch.cuda.amp.autocast()` is `torch.amp.autocast("cuda")`: an import is changed with all calls or not at all."""
    source = uses.source
    done: set[ast.Call] = set()
    for statement in uses.imports():
        if not isinstance(statement, ast.ImportFrom):
            continue
        module, names = statement.module or "", [alias.name for alias in statement.names]
        locals_ = tuple(alias.asname or alias.name for alias in statement.names)
        if module in _AMP and set(names) <= set(_SCALING):
            heads: list[ast.expr] = list(uses.names(*locals_))
            device, new = _AMP[module], "torch.amp"
        elif f"{module}.amp" in _AMP and names == ["amp"]:
            heads = []
            for name in uses.names(*locals_):
                above = source.parent(name)
                heads.append(above if isinstance(above, ast.Attribute) else name)
            device, new = _AMP[f"{module}.amp"], "torch"
        else:
            continue
        heads = [head for head in heads if source.written(head)]
        calls = [source.parent(head) for head in heads]
        edits: list[Edit] = []
        decline = ""
        for head, call in zip(heads, calls, strict=True):
            of = head.attr if isinstance(head, ast.Attribute) else (source.written(head) or "").rpartition(".")[2]
            if not isinstance(call, ast.Call) or call.func is not head or of not in _SCALING:
                decline = "it is used other than by a call"
                break
            done.add(call)
            if of == "autocast" and call.args:
                decline = "its positional arguments have different positions now"
                break
            edits.append(InsertElement(source.site(call), 0, f'"{device}"'))
        site = source.site(statement)
        text = source.segment(site)
        edits.append(Replace(site, text.replace(module, new, 1)))
        if heads:
            what = f"{module}.{' and '.join(names)} {'are' if len(names) > 1 else 'is'} deprecated since torch 2.4{_DEVICE}"
            yield _hit(uses, statement, what, "pass the device to torch.amp", edits, decline, "2.4", safe=True)
    for call in uses.calls():
        function = call.func
        if call in done or not isinstance(function, ast.Attribute) or function.attr not in _SCALING:
            continue
        owner = source.written(function.value) or ""
        if owner not in _AMP:
            continue
        root = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        decline = ""
        if not isinstance(root, ast.Name) or source.written(root) != "torch":
            decline = "torch itself is not imported here"
        elif function.attr == "autocast" and call.args:
            decline = "its positional arguments have different positions now"
        today = f"{getattr(root, 'id', 'torch')}.amp.{function.attr}"
        edits = [
            Replace(source.site(function), today),
            InsertElement(source.site(call), 0, f'"{_AMP[owner]}"'),
        ]
        what = f"{owner}.{function.attr} is deprecated since torch 2.4{_DEVICE}"
        yield _hit(uses, call, what, "pass the device to torch.amp", edits, decline, "2.4", safe=True)


def _pretrained(uses: Uses) -> Iterator[Hit]:
    """`resnet18(True)`: the first argument was `pretrained`, which the tables know by its name only."""
    source = uses.source
    for call in uses.calls():
        given = call.args[0] if len(call.args) == 1 else None
        if not isinstance(given, ast.Constant) or not isinstance(given.value, bool):
            continue
        name = canonical(source.written(call.func) or "")
        changes = (known.argument(name, "pretrained") for known in uses.tables if name.startswith("torchvision."))
        change = next((one for one in changes if one is not None), None)
        if change is None:
            continue
        weights = change.values.get(repr(given.value), "")
        what = f"{name} takes {change.new} instead of pretrained since torchvision 0.13"
        others = [source.segment(source.site(keyword)) for keyword in call.keywords]
        function = source.segment(source.site(call.func))
        code = f"{function}({', '.join([f'{change.new}={weights}', *others])})"
        edits = (Replace(source.site(call), code),)
        yield _hit(
            uses, call, what, f"pass {change.new}", edits, "" if weights else change.note, "0.13", safe=change.safe
        )


def _step(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    """`scheduler.step(epoch)`: a schedule counts its steps itself, and is only asked for a step out of turn so."""
    function = call.func
    if written or not isinstance(function, ast.Attribute) or len(call.args) + len(call.keywords) != 1:
        return
    given = call.args[0] if call.args else call.keywords[0].value
    if call.keywords and call.keywords[0].arg != "epoch" or isinstance(given, ast.Starred):
        return
    made = uses.source.constructor(function.value)
    if made is None or uses.source.qualified(made.func) not in _COUNTING:
        return
    edits = [RemoveArgument(uses.source.site(call), "epoch", 0 if call.args else None)]
    decline = "" if _counts_on(uses.source, call, given) else "step() would not count the steps that it receives"
    what = "the argument epoch of step is deprecated since torch 1.4; a schedule counts its own steps"
    yield _hit(uses, call, what, "drop epoch", edits, decline, "1.4")


def _counts_on(source: Source, call: ast.Call, given: ast.expr) -> bool:
    """Whether a schedule is told the very step that comes next: `epoch + 1` at the end of `for epoch in range(n)`."""
    loop = source.parent(source.statement_of(call))
    if not isinstance(loop, ast.For) or source.statement_of(call) not in loop.body:
        return False
    if not isinstance(loop.iter, ast.Call) or len(loop.iter.args) != 1 or not isinstance(loop.target, ast.Name):
        return False
    return (
        source.qualified(loop.iter.func) in ("range", "builtins.range")
        and ast.unparse(given) == f"{loop.target.id} + 1"
    )


def _hit(
    uses: Uses,
    node: ast.AST,
    what: str,
    title: str,
    edits: Iterable[Edit],
    decline: str,
    since: str,
    safe: bool = False,
) -> Hit:
    return Hit(
        uses.source.site(node),
        what,
        title=title,
        edits=() if decline else tuple(edits),
        decline=decline,
        safe=safe,
        deprecated=True,
        evidence={"since": since},
    )
