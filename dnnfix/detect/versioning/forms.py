"""Calls of PyTorch that are written in another form today: what they are given changed, and not only their name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from dnnfix.detect.versioning.loaders import SAMPLERS, outdated_next, outdated_sampler
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.tensors import changed_tensor_calls
from dnnfix.records import AddImport, Edit, InsertElement, RemoveArgument, Replace, SetArgument, Wrap
from dnnfix.source.names import canonical
from dnnfix.source.program import Source

_AMP = {
    "torch.cuda.amp": "cuda",
    "torch.cuda.amp.autocast_mode": "cuda",
    "torch.cuda.amp.grad_scaler": "cuda",
    "torch.cpu.amp": "cpu",
    "torch.cpu.amp.autocast_mode": "cpu",
    "torch.cpu.amp.grad_scaler": "cpu",
}
"""By module, the device of which its autocast and GradScaler are."""

_SCALING = ("autocast", "GradScaler")

_CHECKPOINTS = ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")

_COUNTING = frozenset(
    f"torch.optim.lr_scheduler.{name}"
    for name in ("CosineAnnealingLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "StepLR")
)
"""Schedules of which a step is the next one; the others are told of more than an epoch, or of parts of one."""

_OF_MODULES = frozenset(
    (
        "children",
        "eval",
        "modules",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "train",
        "zero_grad",
    )
)
"""Methods that a network has, and neither a tensor nor a dictionary of parameters."""


def changed_forms(uses: Uses) -> Iterator[Hit]:
    """The hits of a program about calls that take other arguments today."""
    words = uses.source.words
    if "torch" not in words and "torchvision" not in words:
        return
    if not words.isdisjoint(_SCALING):
        yield from _scaling(uses)
    calls = {"chain_matmul": _product, "ToTensor": _to_tensor, "load": _load, "stft": _spectrum, "meshgrid": _grid}
    calls |= {"checkpoint": _checkpoint, "checkpoint_sequential": _checkpoint, "next": outdated_next, "step": _step}
    calls |= {"__init__": outdated_sampler} if not words.isdisjoint(SAMPLERS) else {}
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
                decline = "it is used in another way than by a call"
                break
            done.add(call)
            if of == "autocast" and call.args:
                decline = "what it is given by place has other places today"
                break
            edits.append(InsertElement(source.site(call), 0, f'"{device}"'))
        site = source.site(statement)
        text = source.segment(site)
        edits.append(Replace(site, text.replace(module, new, 1)))
        if heads:
            said = f"{module}.{' and '.join(names)} {'are' if len(names) > 1 else 'is'} deprecated since torch 2.4"
            yield _hit(uses, statement, f"{said}; torch.amp takes the kind of device", edits, decline, "2.4", safe=True)
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
            decline = "what it is given by place has other places today"
        today = f"{getattr(root, 'id', 'torch')}.amp.{function.attr}"
        edits = [
            Replace(source.site(function), today),
            InsertElement(source.site(call), 0, f'"{_AMP[owner]}"'),
        ]
        said = f"{owner}.{function.attr} is deprecated since torch 2.4; torch.amp takes the kind of device"
        yield _hit(uses, call, said, edits, decline, "2.4", safe=True)


def _product(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    if written not in ("torch.chain_matmul", "torch.functional.chain_matmul"):
        return
    source = uses.source
    function = call.func
    decline = ""
    if call.keywords or len(call.args) < 2 or any(isinstance(arg, ast.Starred) for arg in call.args):
        decline = "the matrices are not written out"
    elif not isinstance(function, ast.Attribute) or source.written(function.value) != "torch":
        decline = "the function is imported by its name"
    edits: list[Edit] = []
    if not decline and isinstance(function, ast.Attribute):
        owner = source.segment(source.site(function.value))
        matrices = ", ".join(source.segment(source.site(arg)) for arg in call.args)
        edits = [Replace(source.site(call), f"{owner}.linalg.multi_dot([{matrices}])")]
    said = "torch.chain_matmul is deprecated since torch 1.8; torch.linalg.multi_dot takes a list of the matrices"
    yield _hit(uses, call, said, edits, decline, "1.8", safe=True)


def _to_tensor(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    if written != "torchvision.transforms.v2.ToTensor":
        return
    source = uses.source
    function = call.func
    said = "v2.ToTensor is deprecated since torchvision 0.15; ToImage and ToDtype take its place"
    if not isinstance(function, ast.Attribute) or call.args or call.keywords:
        yield _hit(uses, call, said, (), "the class is imported by its name", "0.15")
        return
    owner = source.segment(source.site(function.value))
    torch = next((local for local, name in uses.imported.items() if name == "torch"), "")
    steps = f"{owner}.ToImage(), {owner}.ToDtype({torch or 'torch'}.float32, scale=True)"
    edits: list[Edit] = [Replace(source.site(call), f"{owner}.Compose([{steps}])")]
    if not torch:
        edits.append(AddImport("import torch"))
    yield _hit(uses, call, said, edits, "", "0.15")


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
        said = f"{name} is given pretrained; it takes {change.new} since torchvision 0.13"
        others = [source.segment(source.site(keyword)) for keyword in call.keywords]
        function = source.segment(source.site(call.func))
        code = f"{function}({', '.join([f'{change.new}={weights}', *others])})"
        edits = (Replace(source.site(call), code),)
        yield _hit(uses, call, said, edits, "" if weights else change.note, "0.13", safe=change.safe)


def _checkpoint(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    if written not in _CHECKPOINTS or any(k.arg in (None, "use_reentrant") for k in call.keywords):
        return
    edits = [SetArgument(uses.source.site(call), "use_reentrant", "True")]
    said = "checkpoint is to be told use_reentrant since torch 2.1: the default will change"
    yield _hit(uses, call, said, edits, "", "2.1", safe=True)


def _grid(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    if written not in ("torch.meshgrid", "torch.functional.meshgrid"):
        return
    if not call.args or any(k.arg in (None, "indexing") for k in call.keywords):
        return
    edits = [SetArgument(uses.source.site(call), "indexing", '"ij"')]
    said = 'meshgrid is to be told indexing="ij" since torch 1.10: the default will change'
    yield _hit(uses, call, said, edits, "", "1.10", safe=True)


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
    decline = "" if _counts_on(uses.source, call, given) else "step() would be another number of steps than it is given"
    said = "the argument epoch of step is deprecated since torch 1.4; a schedule counts its own steps"
    yield _hit(uses, call, said, edits, decline, "1.4")


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


def _load(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    """A file with a whole network in it: `torch.load` reads only weights unless it is told otherwise."""
    source = uses.source
    if written not in ("torch.load", "torch.serialization.load") or len(call.args) > 2:
        return
    if any(k.arg in (None, "weights_only", "pickle_module") for k in call.keywords):
        return
    if not source.words.isdisjoint({"add_safe_globals", "safe_globals"}) or not _holds_network(uses, call):
        return
    said = "torch.load reads no whole network since torch 2.6 unless it is told weights_only=False"
    yield Hit(
        source.site(call),
        said,
        title="say that the file holds more than weights",
        edits=(SetArgument(source.site(call), "weights_only", "False"),),
        removed={"torch": "2.6"},
        confidence=0.9,
    )


def _spectrum(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    """`torch.stft` of a real signal gave pairs of reals, and gives complex numbers, for which it has to be asked."""
    source = uses.source
    function = call.func
    if written not in ("torch.stft", "torch.functional.stft") or not isinstance(function, ast.Attribute):
        return
    if len(call.args) > 9 or any(k.arg in (None, "return_complex") for k in call.keywords):
        return
    owner = source.segment(source.site(function.value))
    site = source.site(call)
    yield Hit(
        site,
        "torch.stft has to be told return_complex since torch 2.0",
        title="ask for complex numbers and view them as pairs of reals",
        edits=(SetArgument(site, "return_complex", "True"), Wrap(site, f"{owner}.view_as_real(", ")")),
        removed={"torch": "2.0"},
        confidence=0.9,
    )


def _holds_network(uses: Uses, call: ast.Call) -> bool:
    """Whether what was loaded is then used as only a network is."""
    source = uses.source
    above = source.parent(call)
    if isinstance(above, ast.Attribute):
        return above.attr in _OF_MODULES
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or above.value is not call:
        return False
    target = above.targets[0]
    if not isinstance(target, ast.Name):
        return False
    for name in uses.names(target.id):
        user = source.parent(name)
        if not isinstance(name.ctx, ast.Load) or not isinstance(user, ast.Attribute) or user.attr not in _OF_MODULES:
            continue
        if source.bindings(name) == (call,):
            return True
    return False


def _hit(
    uses: Uses, node: ast.AST, said: str, edits: Iterable[Edit], decline: str, since: str, safe: bool = False
) -> Hit:
    return Hit(
        uses.source.site(node),
        said,
        title=said.partition(": ")[0] if decline else said.rpartition("; ")[2],
        edits=() if decline else tuple(edits),
        decline=decline,
        safe=safe,
        deprecated=True,
        evidence={"since": since},
    )
