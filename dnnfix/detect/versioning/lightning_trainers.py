"""Trainers of Lightning 1 whose settings are given elsewhere today: to `fit`, to a tuner, as a callback or as a strategy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.lightning_modules import PACKAGES, ancestors, lightning_modules, own_method
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims, Hit
from dnnfix.detect.versioning.names import Uses, uses_of
from dnnfix.records import (
    AddImport,
    Edit,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Unwrap,
)
from dnnfix.source.program import Source, once

_CLASSES = tuple(
    f"{package}.Trainer"
    for package in (
        "lightning", "lightning.pytorch", "pytorch_lightning", "pytorch_lightning.trainer", "pytorch_lightning.trainer.trainer",
    )
)  # fmt: skip

TRAINERS = frozenset(name + made for name in _CLASSES for made in ("", ".from_argparse_args"))
"""What makes a trainer, under the names by which programs find it."""

TUNED = {"auto_lr_find": "lr_find", "auto_scale_batch_size": "scale_batch_size"}
"""By setting, the method of a tuner that does what `tune` did for it; the batch size came first."""

OBJECTS = ("checkpoint_callback", "early_stop_callback")
"""Settings that took a callback."""

PLUGINS = ("DDPPlugin", "DeepSpeedPlugin")
"""Plugins that are strategies today."""

LOADER = "pytorch_lightning.data_loader"

GUIDE = "https://lightning.ai/docs/pytorch/stable/upgrade/from_1_9.html"


def outdated_trainers(uses: Uses) -> Iterator[Hit]:
    """The trainers of a program with settings that moved."""
    source = uses.source
    for call in source.calls(*TRAINERS):
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        package = next(each for each in PACKAGES if (source.qualified(call.func) or "").startswith(each + "."))
        if "resume_from_checkpoint" in given and not _is_constant(given["resume_from_checkpoint"]):
            yield _resumed(source, call, given["resume_from_checkpoint"], package)
        if not TUNED.keys().isdisjoint(given) and not all(_is_off(given[name]) for name in TUNED if name in given):
            yield _tuned(source, call, given, package)
        if "plugins" in given and (plugin := _plugin(source, given["plugins"])) is not None:
            yield _as_strategy(source, call, given, plugin, package)
        for name in OBJECTS:
            if name in given and _made(source, given[name]):
                yield _as_callback(source, call, name, given[name], package)


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _of_trainer(source: Source, trainer: ast.Call, *methods: str) -> list[ast.Call]:
    """The calls of methods of the object that a call made."""
    return [
        call
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in methods
        and (call.func.value is trainer or source.constructor(call.func.value) is trainer)
    ]


def _is_same(source: Source, value: ast.expr, here: ast.Call, there: ast.Call) -> bool:
    """Whether a value that is given to one call is the same at another, further down: nothing is computed or set between."""
    kinds = (ast.Constant, ast.Name, ast.Attribute, ast.expr_context)
    functions = [source.enclosing(each, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) for each in (here, there)]
    if not all(isinstance(node, kinds) for node in ast.walk(value)) or functions[0] is not functions[1]:
        return False
    roots = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    stored = (
        node
        for kind in (ast.Name, ast.Attribute)
        for node in source.nodes(kind)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store)
    )
    first, last = source.site(here), source.site(there)
    return first.line <= last.line and not any(
        first.end_line < source.site(node).line <= last.line and ast.unparse(node).partition(".")[0] in roots
        for node in stored
    )


def _resumed(source: Source, trainer: ast.Call, value: ast.expr, package: str) -> Hit:
    """`Trainer(resume_from_checkpoint=path)`: `fit` takes the path."""
    fits = _of_trainer(source, trainer, "fit")
    decline = ""
    edits: list[Edit] = []
    if len(fits) != 1:
        decline = "it is not one fit of this trainer that is seen: give ckpt_path to fit"
    elif any(keyword.arg in (None, "ckpt_path") for keyword in fits[0].keywords):
        decline = "whether fit is given ckpt_path cannot be seen"
    elif not _is_same(source, value, trainer, fits[0]):
        decline = "its value is not known where fit is called: give ckpt_path to fit"
    else:
        edits = [
            RemoveArgument(source.site(trainer), "resume_from_checkpoint"),
            SetArgument(source.site(fits[0]), "ckpt_path", source.segment(source.site(value))),
        ]
    what = "the argument resume_from_checkpoint was removed in Lightning 2.0; fit takes ckpt_path"
    return _hit(source, trainer, value, what, "give ckpt_path to fit", edits, decline, package)


def _tuned(source: Source, trainer: ast.Call, given: dict[str, ast.expr], package: str) -> Hit:
    """`Trainer(auto_lr_find=True)`: a tuner looks for what `tune` looked for, and without `tune` nothing did."""
    names = [name for name in TUNED if name in given]
    edits: list[Edit] = [RemoveArgument(source.site(trainer), name) for name in names]
    decline = ""
    calls = _of_trainer(source, trainer, "tune")
    for call in calls:
        if not isinstance(source.parent(call), ast.Expr) or not isinstance(call.func, ast.Attribute):
            decline = "what tune returned is used: call the methods of a Tuner"
            continue
        arguments = ", ".join(source.segment(source.site(each)) for each in (*call.args, *call.keywords))
        holder = source.segment(source.site(call.func.value))
        lines = []
        for name in reversed(names):
            told = _told(source, name, given[name])
            if told is None:
                decline = f"whether {name} is on cannot be read: call {TUNED[name]} of a Tuner"
            elif told != "off":
                lines.append(f"Tuner({holder}).{TUNED[name]}({', '.join(filter(None, (arguments, told)))})")
        edits.append(Replace(source.site(source.statement_of(call)), "\n".join(lines)))
    if calls:
        module = "lightning.pytorch.tuner" if package == "lightning" else "pytorch_lightning.tuner"
        edits.append(AddImport(f"from {module} import Tuner"))
    what = f"the argument {' and '.join(names)} was removed in Lightning 2.0; a Tuner has {TUNED[names[0]]}"
    title = "call a Tuner" if calls else f"leave out {' and '.join(names)}, which nothing asked for"
    return _hit(source, trainer, given[names[0]], what, title, edits, decline, package)


def _told(source: Source, name: str, value: ast.expr) -> str | None:
    """What a setting says to the method of a tuner; `off`, or `None` where it cannot be read."""
    if not isinstance(value, ast.Constant):
        return None
    if not value.value:
        return "off"
    keyword = "attr_name" if name == "auto_lr_find" else "mode"
    return f"{keyword}={source.segment(source.site(value))}" if isinstance(value.value, str) else ""


def _made(source: Source, value: ast.expr) -> bool:
    """Whether a value is a callback of Lightning."""
    made = value if isinstance(value, ast.Call) else source.constructor(value)
    return made is not None and ".callbacks." in (source.qualified(made.func) or "")


def _as_callback(source: Source, trainer: ast.Call, name: str, value: ast.expr, package: str) -> Hit:
    """`Trainer(checkpoint_callback=saved)`: it is one of the callbacks."""
    site, code = source.site(trainer), source.segment(source.site(value))
    others = next((keyword.value for keyword in trainer.keywords if keyword.arg == "callbacks"), None)
    also = [one for one in OBJECTS if any(keyword.arg == one for keyword in trainer.keywords)]
    edits: list[Edit] = [RemoveArgument(site, name)]
    decline = ""
    if isinstance(others, ast.List):
        edits.append(InsertElement(source.site(others), len(others.elts), code))
    elif others is not None or any(keyword.arg is None for keyword in trainer.keywords):
        decline = "add it to what is given as callbacks"
    elif len(also) > 1:
        values = [keyword.value for keyword in trainer.keywords if keyword.arg in also]
        together = ", ".join(source.segment(source.site(one)) for one in values)
        edits.append(SetArgument(site, "callbacks", f"[{together}]"))
    else:
        edits.append(SetArgument(site, "callbacks", f"[{code}]"))
    what = f"the argument {name} no longer takes a callback since Lightning 1.5; callbacks does"
    return _hit(source, trainer, value, what, "give it to callbacks", edits, decline, package, "1.5")


def _plugin(source: Source, value: ast.expr) -> ast.expr | None:
    """The only plugin that is given, if it is one for several processes, which are strategies today."""
    only = value.elts[0] if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1 else value
    made = only if isinstance(only, ast.Call) else source.constructor(only)
    name = source.qualified(made.func) or "" if made is not None else ""
    return only if name.rpartition(".")[2] in PLUGINS and name.partition(".")[0] in PACKAGES else None


def _as_strategy(source: Source, trainer: ast.Call, given: dict[str, ast.expr], plugin: ast.expr, package: str) -> Hit:
    """`Trainer(plugins=DDPPlugin())`: it is a strategy."""
    value = given["plugins"]
    edits: list[Edit] = [RenameArgument(source.site(trainer), "plugins", "strategy")]
    if value is not plugin:
        edits.append(Unwrap(source.site(value), source.site(plugin)))
    also: list[str] = [name for name in ("strategy", "distributed_backend") if name in given]
    named = given.get("accelerator")
    if isinstance(named, ast.Constant) and str(named.value).startswith("ddp"):
        also.append("accelerator")
    decline = f"{also[0]} is given too" if also else ""
    what = "the argument plugins no longer takes a plugin for several processes since Lightning 1.8; strategy takes it"
    return _hit(source, trainer, value, what, "give it as strategy", edits, decline, package, "1.8")


def _hit(
    source: Source,
    trainer: ast.Call,
    value: ast.expr,
    what: str,
    title: str,
    edits: list[Edit],
    decline: str,
    package: str,
    removed: str = "2.0",
) -> Hit:
    keyword = source.parent(value)
    return Hit(
        source.site(keyword if isinstance(keyword, ast.keyword) else trainer),
        what,
        title=title,
        edits=() if decline else tuple(edits),
        decline=decline,
        removed={package: removed},
        evidence={"reference": GUIDE},
        within=source.site(trainer),
    )


@once
def claimed_of_lightning(source: Source) -> Claims:
    """What the tables would say of trainers and loaders a second time."""
    uses = uses_of(source)
    own = (*outdated_trainers(uses), *outdated_decorators(uses), *outdated_sizes(uses))

    kept = any(_keeps_dims(node) for file in source.files.values() for node in file.nodes(ast.Attribute))

    def covers(hit: Hit) -> bool:
        if hit.evidence.get("old") == "dims" and kept:
            return True  # an attribute of the program's own
        return any(hit.site == each.site or any(_touches(edit, hit) for edit in each.edits) for each in own)

    return Claims(frozenset({LOADER}) if own else frozenset(), covers=covers) if own or kept else NO_CLAIMS


def _keeps_dims(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "dims" and isinstance(node.ctx, ast.Store)


def _touches(edit: Edit, hit: Hit) -> bool:
    if isinstance(edit, RemoveArgument):
        return edit.site == hit.within and edit.name == hit.evidence.get("old")
    return isinstance(edit, Replace) and edit.site.encloses(hit.site)


def outdated_hyperparameters(uses: Uses) -> Iterator[Hit]:
    """`self.hparams = hparams` of a module, which cannot be set any more: it saves them."""
    source = uses.source
    for owner, package in lightning_modules(source).items():
        made = own_method(owner, "__init__")
        if any(_defines_hparams(each) for each in (owner, *ancestors(source, owner))):
            continue
        for statement in made.body if made is not None else ():
            if not isinstance(statement, ast.Assign) or not any(_is_hparams(each) for each in statement.targets):
                continue
            before = made.body[: made.body.index(statement)] if made is not None else []
            decline = ""
            if len(statement.targets) != 1:
                decline = "it is assigned along with another name: call save_hyperparameters"
            elif not any("__init__(" in ast.unparse(each) for each in before):
                decline = f"{owner.name} is no module yet where it is set: call save_hyperparameters behind super().__init__()"
            elif any(_reads_attributes(call) for call in source.all_calls):
                decline = "it is read by vars, which shows nothing of saved ones"
            code = f"self.save_hyperparameters({source.segment(source.site(statement.value))})"
            yield Hit(
                source.site(statement),
                "hparams of a module cannot be set since Lightning 1.3; save_hyperparameters sets it",
                title="save the hyperparameters",
                edits=() if decline else (Replace(source.site(statement), code),),
                decline=decline,
                removed={package: "1.3"},
                evidence={"reference": GUIDE},
            )


def _defines_hparams(owner: ast.ClassDef) -> bool:
    """Whether a class has an attribute or a property of that name, which may be set."""
    names = {getattr(each, "name", "") for each in owner.body}
    for each in owner.body:
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return "hparams" in names


def _is_hparams(node: ast.expr) -> bool:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return own and isinstance(node, ast.Attribute) and node.attr == "hparams"


def _reads_attributes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "vars" and any(_is_hparams(each) for each in call.args)


def outdated_decorators(uses: Uses) -> Iterator[Hit]:
    """`@pl.data_loader`, which marked what Lightning finds by its name today."""
    source = uses.source
    for method in source.nodes(ast.FunctionDef):
        for decorator in method.decorator_list:
            if source.written(decorator) == LOADER:
                yield Hit(
                    source.site(decorator),
                    f"{LOADER} was removed in pytorch_lightning 0.9; Lightning finds loaders by their names",
                    title="leave out the decorator data_loader",
                    edits=(ReplaceLines(source.site(decorator), ""),),
                    removed={"pytorch_lightning": "0.9"},
                    exact=True,
                )


def outdated_sizes(uses: Uses) -> Iterator[Hit]:
    """`data.size()` of a data module, which gave the `dims` that its class sets."""
    source = uses.source
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "size" or call.args or call.keywords:
            continue
        made = source.constructor(call.func.value)
        defined = source.defined(made.func) if made is not None else None
        file, owner = defined if defined is not None else (source, None)
        if not isinstance(owner, ast.ClassDef):
            continue
        package = lightning_modules(file, "LightningDataModule").get(owner)
        if package is None or own_method(owner, "size") is not None or "." in ast.unparse(call.func.value):
            continue
        kept = any(_keeps_dims(node) for node in ast.walk(owner))
        code = f"{source.segment(source.site(call.func.value))}.dims"
        yield Hit(
            source.site(call),
            "the method size of data modules was removed in Lightning 1.7; it gave their dims",
            title=f"write {code}",
            edits=(Replace(source.site(call), code),) if kept else (),
            decline="" if kept else f"{owner.name} sets no dims",
            exact=True,
            removed={package: "1.7"},
            evidence={"old": "size", "reference": "https://lightning.ai/docs/pytorch/stable/upgrade/from_1_6.html"},
        )
