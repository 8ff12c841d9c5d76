"""Calls of PyTorch that are written in another form today: what they are given changed, and not only their name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from dnnfix.detect.api_names import Uses
from dnnfix.detect.versions import Hit
from dnnfix.records import AddImport, Edit, InsertElement, Replace, SetArgument, Wrap

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
    calls = {"chain_matmul": _product, "ToTensor": _to_tensor, "load": _load, "stft": _spectrum}
    calls |= {"checkpoint": _checkpoint, "checkpoint_sequential": _checkpoint}
    wanted = {word: read for word, read in calls.items() if word in words}
    for call in uses.calls() if wanted else ():
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        written = uses.source.written(call.func) or ""
        read = wanted.get(last) or wanted.get(written.rpartition(".")[2])
        if read is not None and written:
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


def _checkpoint(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    if written not in _CHECKPOINTS or any(k.arg in (None, "use_reentrant") for k in call.keywords):
        return
    edits = [SetArgument(uses.source.site(call), "use_reentrant", "True")]
    said = "checkpoint is to be told use_reentrant since torch 2.1: the default will change"
    yield _hit(uses, call, said, edits, "", "2.1", safe=True)


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
