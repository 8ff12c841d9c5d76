"""Edit action: downloading models and tokenizers. Networks keep random weights where pretrained ones are not available.

The architecture is the real one: it is built by the library, or by the program. What exists only in a file (a whole
saved network, a tokenizer) cannot be made and is reported as missing, except for a network that a program only calls
for predictions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import EditAction, EditStep, RunOutcome, Scaffold
from dnnfix.reproduce.arguments import options
from dnnfix.reproduce.arguments.guards import looks_for_file
from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import clues
from dnnfix.reproduce.syntax import assigned, given, named, string, strings, tests_around
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.spelling import misspelt
from dnnfix.source.tree import last_name, names_in

ACTION = EditAction.MODELS

_STATE = ("torch.nn.Module", "torch.optim.Optimizer")
_HOMES = ("keras.src.utils.file_utils", "keras.utils", "keras.utils.data_utils", "tensorflow.keras.utils")
_MODELS = ("keras.models.Model", "tensorflow.keras.models.Model")
_ELSEWHERE = {
    "spacy": "pipelines of spaCy",
    "tensorflow_hub": "networks of TensorFlow Hub",
    "gensim.downloader": "word vectors of gensim",
}
"""Hubs whose contents cannot be made: what a file there holds is nowhere else."""

_TORCH_STATE = "\n".join(f"made_in_place_of({place!r}, made_state_kept)" for place in _STATE)


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Random weights for networks that would download theirs or read a file that is not there; and what is missing."""
    yield from everywhere(_steps, case)


def _steps(case: Case) -> Iterator[EditStep | Gap]:
    yield from _applications(case)
    yield from _torchvision(case)
    yield from _timm(case)
    yield from _hub(case)
    yield from _weight_files(case)
    yield from _torch_files(case)
    yield from _checkpoints(case)
    yield from _saved_networks(case)
    yield from _elsewhere(case)


# --- weights that a library downloads


def _applications(case: Case) -> Iterator[EditStep]:
    """Networks of keras.applications, and weights that a program fetches with `get_file`."""
    source = case.source
    if not (case.installed("keras") or case.installed("tensorflow")):
        return
    calls = [call for call in source.all_calls if _builds_application(source, call)]
    fetched = [
        call
        for call in source.calls("keras.utils.get_file", "keras.applications.imagenet_utils.decode_predictions")
        if "get_file" not in (source.qualified(call.func) or "") or _fetches_weights(source, call)
    ]
    if not calls and not fetched:
        return
    names = dict.fromkeys((source.qualified(call.func) or "").rpartition(".")[2] for call in calls)
    code = [f"made_in_place_of('{home}.get_file', made_weights_file)" for home in _HOMES]
    code += [f"made_in_place_of({model!r}, made_weights_left())" for model in _MODELS]
    of = f"{', '.join(names)} keeps" if names else "networks keep"
    first = min(call.lineno for call in (*calls, *fetched))
    yield _random(f"{of} random weights in place of downloaded ones", first, *code)


def _random(
    what: str,
    line: int,
    *code: str,
    why: str = "the architecture is the library's own; the weights cannot be downloaded",
) -> EditStep:
    """The step by which a network of a known form keeps its random weights."""
    return EditStep(ACTION, what, why, line, scaffold=Scaffold(start="\n".join(code)), form_known=True)


def _builds_application(source: Source, call: ast.Call) -> bool:
    name = source.qualified(call.func) or ""
    if not name.startswith("keras.applications.") or not name.rpartition(".")[2][:1].isupper():
        return False
    weights = argument_value(call, "weights", 1)
    return not (isinstance(weights, ast.Constant) and weights.value is None)


def _fetches_weights(source: Source, call: ast.Call) -> bool:
    texts = (text for part in given(call) for text in _texts(source, part))
    return any(text.endswith((".h5", ".hdf5")) for text in texts)


def _torchvision(case: Case) -> Iterator[EditStep]:
    source = case.source
    calls = [
        call
        for call in source.all_calls
        if (name := source.qualified(call.func) or "").startswith(
            ("torchvision.models.", "torch.utils.model_zoo.load_url")
        )
        or name == "torch.hub.load_state_dict_from_url"
    ]
    asked = [call for call in calls if "models" not in (source.qualified(call.func) or "") or _pretrained(call)]
    if not asked or not case.installed("torch"):
        return
    names = dict.fromkeys((source.qualified(call.func) or "").rpartition(".")[2] for call in asked)
    places = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")
    code = [f"made_in_place_of({place!r}, made_weights_from_web)" for place in places]
    what = f"{', '.join(names)}: random weights in place of downloaded ones"
    yield _random(what, asked[0].lineno, *code, _TORCH_STATE)


def _pretrained(call: ast.Call) -> bool:
    """Whether a network of torchvision is asked for with weights, of its own or of its trunk."""
    keywords = ("pretrained", "weights", "weights_backbone", "pretrained_backbone")
    asked = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in keywords)]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in asked)


def _timm(case: Case) -> Iterator[EditStep]:
    call = next(case.source.calls("timm.create_model"), None)
    if call is None or not case.installed("timm"):
        return
    asked = argument_value(call, "pretrained", 1)
    if asked is None or (isinstance(asked, ast.Constant) and not asked.value):
        return
    code = "made_in_place_of('timm.create_model', made_without_weights)"
    yield _random("timm.create_model: random weights in place of downloaded ones", call.lineno, code)


def _hub(case: Case) -> Iterator[EditStep | Gap]:
    for call in case.source.calls("torch.hub.load"):
        repository = call.args[0] if call.args else None
        text = repository.value if isinstance(repository, ast.Constant) else None
        if not (isinstance(text, str) and text.startswith("pytorch/vision") and case.installed("torchvision")):
            yield Gap(f"torch.hub.load of {text!r} needs the network: its code is in that repository only", call.lineno)
            continue
        code = [
            f"made_in_place_of('torch.hub.{name}', {made})"
            for name, made in (("load", "made_hub"), ("load_state_dict_from_url", "made_weights_from_web"))
        ]
        what = "torch.hub.load builds the network with torchvision, with random weights"
        why = "the repository is that of the installed package"
        yield _random(what, call.lineno, *code, _TORCH_STATE, why=why)


# --- weights in files that are not there


def _weight_files(case: Case) -> Iterator[EditStep]:
    """`load_weights` of a Keras model from a file that is nowhere: the model keeps its initial weights."""
    source = case.source
    if not source.frameworks & {"keras", "tensorflow"}:
        return
    for call in method_calls(source, "load_weights"):
        for path in _missing_paths(case, call, ("save_weights", "save", "ModelCheckpoint", "save_model")):
            code = [f"made_in_place_of({model!r}, made_weights_left({path!r}))" for model in _MODELS]
            yield EditStep(
                ACTION,
                f"weights of {path!r} are left as they are",
                "the file is nowhere; whether it would fit the network cannot show",
                call.lineno,
                scaffold=Scaffold(start="\n".join(code)),
            )


def _torch_files(case: Case) -> Iterator[EditStep | Gap]:
    for call in case.source.calls("torch.load"):
        for path in _missing_paths(case, call, ("save",)):
            if not _is_state(case.source, call):
                yield Gap(
                    f"{path!r} holds a whole network or data that only that file has: put it beside the program",
                    call.lineno,
                )
                continue
            yield EditStep(
                ACTION,
                f"weights of {path!r} are left as they are; numbers in it (epoch, best score) are 0",
                "the file is nowhere; whether it would fit the network cannot show",
                call.lineno,
                scaffold=Scaffold(
                    start=f"made_in_place_of('torch.load', made_saved_weights({path!r}))\n{_TORCH_STATE}"
                ),
            )


def _is_state(source: Source, call: ast.Call) -> bool:
    """Whether what is loaded is used as weights: given to `load_state_dict`, itself or a part of it."""
    for other in method_calls(source, "load_state_dict"):
        loaded = other.args[0] if other.args else None
        while isinstance(loaded, ast.Subscript):
            loaded = loaded.value
        if loaded is not None and (loaded is call or call in source.bindings(loaded)):
            return True
    target = source.parent(call)
    bound = names_in(target) if isinstance(target, ast.Assign) else set()
    return (
        any(
            isinstance(node.value, ast.Name) and node.value.id in bound and node.attr in {"items", "keys"}
            for node in source.nodes(ast.Attribute)
        )
        and "load_state_dict" in source.words
    )


_SAVERS = ("tensorflow.train.Saver", "tensorflow.compat.v1.train.Saver")


def _checkpoints(case: Case) -> Iterator[EditStep]:
    """`saver.restore` of a program of graphs: where there is no checkpoint, variables begin as they are initialized."""
    source = case.source
    if "restore" not in source.words or not case.installed("tensorflow"):
        return
    saves = (call for call in source.all_calls if last_name(call.func) == "save")
    saved = {text for call in saves for arg in call.args for text in _texts(source, arg)}
    for call in method_calls(source, "restore"):
        if len(call.args) != 2 or _maker(source, call) not in _SAVERS or _asks_for_checkpoint(source, call):
            continue
        if any(misspelt(path, frozenset(saved)) is not None for path in _texts(source, call.args[1])):
            continue
        yield EditStep(
            ACTION,
            "variables keep their initial values where there is no checkpoint to restore",
            "the checkpoint is nowhere; whether it would fit the graph cannot show",
            call.lineno,
            scaffold=Scaffold(start="made_in_place_of('tensorflow.python.training.saver.Saver', made_checkpoint_left)"),
        )
        return


def _maker(source: Source, call: ast.Call) -> str | None:
    """The class of the object whose method a call is one of."""
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return source.qualified(made.func) if made is not None else None


def _asks_for_checkpoint(source: Source, call: ast.Call) -> bool:
    """Whether a call stands below an `if` that asks for the checkpoint, so that it is passed over without one."""
    named_by = _last_names(call.args[1])
    return any(named_by & _last_names(test) for test in tests_around(source, call)) or looks_for_file(source, call)


def _last_names(expr: ast.expr) -> set[str]:
    return {last_name(part) for part in ast.walk(expr) if isinstance(part, ast.expr)} - {""}


_LOADERS = ("keras.src.saving.saving_api.load_model", "keras.saving.load_model", "keras.models.load_model")


def _saved_networks(case: Case) -> Iterator[EditStep | Gap]:
    """Whole networks in files: their architecture is nowhere else, so only one that the program just asks can be made."""
    source = case.source
    for call in source.calls("keras.models.load_model"):
        for path in _missing_paths(case, call, ("save", "save_model", "ModelCheckpoint")):
            asked = _asked_of(source, call)
            if not asked or not asked <= _ASKED:
                yield Gap(f"the network saved in {path!r} is only in that file: put it beside the program", call.lineno)
                continue
            outputs = clues.ends(source).outputs or 2
            code = [f"made_in_place_of({place!r}, made_loaded_network({path!r}, {outputs}))" for place in _LOADERS]
            yield EditStep(
                ACTION,
                f"the network of {path!r}: one layer with random weights and {outputs} outputs",
                "the file is nowhere, and nothing tells its architecture: a guess",
                call.lineno,
                scaffold=Scaffold(start="\n".join(code)),
            )


_ASKED = frozenset(["predict", "predict_generator", "predict_classes", "predict_proba", "predict_on_batch", "summary"])
"""What any network can be asked; a program that takes its layers or trains on needs the one that was saved."""


def _asked_of(source: Source, call: ast.Call) -> frozenset[str] | None:
    """What the program asks of a network that it loads under a name; `None` where it hands the network on."""
    name = assigned(source.parent(call))
    uses = [source.parent(node) for node in named(source, name)] if name else [None]
    if not all(isinstance(use, ast.Attribute) for use in uses):
        return None
    return frozenset(use.attr for use in uses if isinstance(use, ast.Attribute))


def _missing_paths(case: Case, call: ast.Call, savers: tuple[str, ...]) -> list[str]:
    """The files that a call loads and that neither exist nor are written by the program.

    A name that is nearly one under which the program saves is a fault of the program.
    """
    source = case.source
    if looks_for_file(source, call):
        return []
    paths = _texts(source, call.args[0]) if call.args else []
    shown = case.latest is not None and case.latest.outcome is RunOutcome.NEEDS_DATA
    if not paths and shown and case.latest is not None and _was_at(case, call):
        paths = [case.latest.detail]
    saved: set[str] = set()
    anywhere = False
    for other in source.all_calls:
        if last_name(other.func) in savers:
            written = [text for part in given(other) for text in _texts(source, part)]
            saved.update(written)
            anywhere = anywhere or not written
    if anywhere and not (shown and _was_at(case, call)):
        return []
    return [
        path
        for path in paths
        if not case.exists(path) and path not in saved and misspelt(path, frozenset(saved)) is None
    ]


def _was_at(case: Case, call: ast.Call) -> bool:
    """Whether the last run ended in this call."""
    frames = case.crash.frames if case.crash is not None else ()
    return any(call.lineno <= frame.site.line <= (call.end_lineno or call.lineno) for frame in frames)


def _texts(source: Source, expr: ast.expr) -> list[str]:
    """The constant texts that an expression may be, where all of them are known."""
    if isinstance(expr, ast.Attribute) and isinstance(default := options.defaults(source).get(expr.attr), str):
        return [default]
    values = [expr] if isinstance(expr, ast.Constant) else list(source.bindings(expr))
    texts = strings(values)
    return texts if len(texts) == len(values) else []


# --- what cannot be made


def _elsewhere(case: Case) -> Iterator[Gap]:
    """Networks, tokenizers and vectors of hubs for which there is no stand-in."""
    told: set[str] = set()
    for call in case.source.all_calls:
        name = case.source.qualified(call.func) or ""
        hub = next((root for root in _ELSEWHERE if name.startswith(root + ".")), None)
        loads = name.rpartition(".")[2] in {"from_pretrained", "load", "KerasLayer", "pipeline", "SentenceTransformer"}
        if hub is None or not loads or not case.installed(hub.partition(".")[0]):
            continue
        first = call.args[0] if call.args else None
        what = repr(first.value) if isinstance(first, ast.Constant) else "what it loads"
        if (path := string(first)) is not None and case.exists(path):
            continue
        if what not in told:
            told.add(what)
            yield Gap(
                f"{name}: {_ELSEWHERE[hub]} need the network; save {what} in a folder beside the program and load that",
                call.lineno,
            )
