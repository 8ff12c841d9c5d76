"""Edit action: what programs load from the Hugging Face hub. Models, tokenizers, data sets and metrics are made small.

What is asked for is often known when the program runs only (`from_pretrained(args.model)`), so the stand-ins act then. From
the source come the classes, sizes, columns and parts that a program uses, where the names of what it loads tell nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.actions.devices import HIDES
from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import string, strings
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

ACTION = EditAction.MODELS

_LIBRARIES = words(
    "transformers sentence_transformers diffusers peft trl tokenizers huggingface_hub timm accelerate lightning pytorch_lightning optimum setfit adapters unsloth"
)
"""Libraries that load from the hub by themselves."""

_LOADERS = words(
    "from_pretrained pipeline SentenceTransformer CrossEncoder SparseEncoder hf_hub_download snapshot_download "
    "from_hub login notebook_login create_repo upload_folder upload_file push_to_hub HfApi Repository whoami"
)
"""Calls that ask the hub."""

_Function = ast.FunctionDef | ast.Lambda

_FROM_DISK = ("datasets.load_from_disk", "datasets.Dataset.load_from_disk", "datasets.DatasetDict.load_from_disk")
_LOADED = ("datasets.load_dataset", *_FROM_DISK)
"""What gives a data set."""

_WIDTHS = range(96, 8193)
"""Numbers among which the width of a network is."""

_ROW_FUNCTIONS = words("map filter with_transform set_transform sort")
"""Methods of a data set that call a function for its rows."""

_PARTS = words("train test validation valid dev val eval unsupervised train_sft test_sft")
_OF_NETWORKS = words("input_ids attention_mask token_type_ids pixel_values decoder_input_ids labels input_values")
"""Columns that a tokenizer or processor makes; a data set does not bring them."""

_LITTLE_VOCABULARY = 2000
"""Words of a tokenizer where those that it has are too many for a run."""

_FOR_GPU = words(
    "fp16 bf16 fp8 load_in_8bit load_in_4bit BitsAndBytesConfig quantization_config mixed_precision deepspeed "
    "adamw_8bit adamw_bnb_8bit adamw_apex_fused paged_adamw_8bit paged_adamw_32bit paged_lion_8bit "
    "attn_implementation use_flash_attention_2 device_map push_to_hub tf32 log_with"
)
"""What trainers and loaders take that only a GPU, or an account of the hub, can do."""

_WANTED_BY_TRAINER = {
    "RewardTrainer": "chosen rejected",
    "DPOTrainer": "prompt chosen rejected",
    "CPOTrainer": "prompt chosen rejected",
    "ORPOTrainer": "prompt chosen rejected",
    "KTOTrainer": "prompt completion label",
    "GRPOTrainer": "prompt",
    "RLOOTrainer": "prompt",
    "PRMTrainer": "prompt completions labels",
}
"""Columns that the trainers of trl read."""

_WORD = re.compile(r"[A-Za-z]{2,}")
_MOST_WORDS = 300

_FEW = 1000
"""Rows of a part, of which each goes through a tokenizer."""


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Stand-ins for the models, data sets and metrics that a program or a module beside it loads from the hub."""
    yield from everywhere(_steps, case)


def _steps(case: Case) -> Iterator[EditStep | Gap]:
    yield from _models(case)
    yield from _data_sets(case)
    yield from _metrics(case)
    yield from _trainers(case)


def _models(case: Case) -> Iterator[EditStep]:
    source = case.source
    used = _libraries(source)
    if not used or not case.installed("transformers") or not case.installed("huggingface_hub"):
        return
    call = next(
        (
            call
            for call in source.all_calls
            if last_name(call.func) in _LOADERS or (source.qualified(call.func) or "").startswith("trl.")
        ),
        None,
    )
    if call is None:
        return
    size = _LITTLE_VOCABULARY if case.too_much or case.little_data else 0
    yield EditStep(
        ACTION,
        "models and tokenizers of the hub are small ones with random weights",
        "the architecture is the one its name tells, or the class that loads it; the hub cannot be asked",
        call.lineno,
        scaffold=Scaffold(
            start=f"made_small_hub({_classes(source)!r}, {_widths(source)!r}, {size}, {_words(source)!r})"
        ),
        form_known=True,
    )


def _words(source: Source) -> tuple[str, ...]:
    """The words of the texts that a program writes, which real tokenizers know as well."""
    texts = (text for node in source.nodes(ast.Constant) if " " in (text := string(node) or "").strip())
    return tuple(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))[:_MOST_WORDS]


def _libraries(source: Source) -> frozenset[str]:
    """The libraries of the hub that a program imports."""
    modules = {alias.name for node in source.nodes(ast.Import) for alias in node.names}
    modules |= {node.module for node in source.nodes(ast.ImportFrom) if node.module and not node.level}
    return frozenset(module.partition(".")[0] for module in modules) & _LIBRARIES


def _classes(source: Source) -> tuple[str, ...]:
    """The classes of the libraries of the hub that load something, in the order of the program."""
    found: dict[str, None] = {}
    for call in source.all_calls:
        if last_name(call.func) == "from_pretrained" and isinstance(call.func, ast.Attribute):
            name = (source.qualified(call.func.value) or "").rpartition(".")[2]
            if name[:1].isupper():
                found[name] = None
    return tuple(found)


def _widths(source: Source) -> tuple[int, ...]:
    numbers = {node.value for node in source.nodes(ast.Constant) if type(node.value) is int}
    return tuple(sorted(number for number in numbers if number in _WIDTHS))


def _data_sets(case: Case) -> Iterator[EditStep]:
    source = case.source
    call = next(source.calls(*_LOADED), None)
    if call is None or not case.installed("datasets"):
        return
    few = max([_FEW // 10 if case.little_data else _FEW, *_rows_taken(source)]) if _libraries(source) else 0
    columns, parts = _columns(source), _parts(source)
    given = f"{columns!r}, {parts!r}, {_classes_of_labels(source)}, {few}"
    told = f"{few} rows of a part at most" if few else "as many rows as the data set has, of which 2000 differ"
    known = "the documented columns of well-known data sets; of others the columns that the program uses"
    yield EditStep(
        EditAction.DATASETS,
        f"{source.qualified(call.func)} gives made-up data: {told}, with their columns and classes",
        known,
        call.lineno,
        scaffold=Scaffold(
            start=f"made_in_place_of('datasets.load.load_dataset', made_hub_dataset({given}))\n"
            f"made_in_place_of('datasets.load.load_from_disk', made_set_from_disk({given}))"
        ),
    )


def _columns(source: Source) -> tuple[str, ...]:
    """The columns of a data set that a program names: of the set, in functions for its rows, where it removes or renames them."""
    found: dict[str, None] = {}
    brought = dict.fromkeys(column for column in _asked_of_sets(source) if column not in _PARTS)
    stored = {string(node.slice) for node in source.nodes(ast.Subscript) if not isinstance(node.ctx, ast.Load)}
    for function in _row_functions(source):
        found.update(dict.fromkeys(_asked_of_rows(source, function, 0, set())))
        made = (node for node in ast.walk(function) if isinstance(node, ast.Dict))
        stored.update(string(key) for node in made for key in node.keys)
    for call in source.all_calls:
        name = last_name(call.func)
        if name in ("remove_columns", "select_columns"):
            given = argument_value(call, "column_names", 0)
            parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
            found.update(dict.fromkeys(string(part) or "" for part in parts))
        elif name == "rename_column":
            found[string(argument_value(call, "original_column_name", 0)) or ""] = None
            stored.add(string(argument_value(call, "new_column_name", 1)))
        found[string(argument_value(call, "dataset_text_field", None)) or ""] = None
        found.update(dict.fromkeys(_WANTED_BY_TRAINER.get(name, "").split()))
    kept = [
        name
        for name in found
        if name and name not in brought and name not in stored and name not in _OF_NETWORKS | _PARTS
    ]
    # What is read from the disk and not mapped was tokenized before it was saved.
    tokenized = next(source.calls(*_FROM_DISK), None) is not None and next(_row_functions(source), None) is None
    return (*kept, *brought, *(("input_ids", "attention_mask") if tokenized else ()))


def _asked_of_sets(source: Source) -> Iterator[str]:
    """The columns that a program asks a data set itself for, one of its parts, a row of it or its `features`."""
    for node in source.nodes(ast.Subscript):
        if not isinstance(node, ast.Subscript) or (column := string(node.slice)) is None:
            continue
        of: ast.expr = node.value
        while isinstance(of, ast.Subscript) or (isinstance(of, ast.Attribute) and of.attr == "features"):
            of = of.value
        made = source.constructor(of)
        if made is not None and source.qualified(made.func) in _LOADED:
            yield column


def _asked_of_rows(source: Source, function: _Function, place: int, seen: set[_Function]) -> Iterator[str]:
    """The columns that a function asks its parameter at `place` for, itself or in functions that it hands it on to."""
    parameters = [argument.arg for argument in function.args.args if argument.arg != "self"]
    if function in seen or place >= len(parameters):
        return
    seen.add(function)
    row = parameters[place]
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == row:
            yield from strings([node.slice, *source.bindings(node.slice)])
        elif isinstance(node, ast.Call):
            given = [isinstance(argument, ast.Name) and argument.id == row for argument in node.args]
            called = source.definition(node.func) if True in given else None
            if isinstance(called, ast.FunctionDef):
                yield from _asked_of_rows(source, called, given.index(True), seen)


def _row_functions(source: Source) -> Iterator[_Function]:
    """The functions that a program gives to the methods of a data set that call one for its rows."""
    for call in source.all_calls:
        given = argument_value(call, "formatting_func", None)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ROW_FUNCTIONS:
            given = argument_value(call, "function", 0) or argument_value(call, "transform", 0)
        if isinstance(given, ast.Lambda):
            yield given
        elif given is not None and isinstance(found := source.definition(given), ast.FunctionDef):
            yield found


def _parts(source: Source) -> tuple[str, ...]:
    """The parts of a data set that a program names, the one for training first."""
    keys = (string(node.slice) for node in source.nodes(ast.Subscript))
    splits = (string(argument_value(call, "split", None)) or "" for call in source.calls("datasets.load_dataset"))
    found = {key for key in keys if key in _PARTS} | {
        piece.partition("[")[0].strip() for split in splits for piece in split.split("+")
    }
    return tuple(sorted(found - {""}, key=lambda part: ("train" not in part, part)))


def _rows_taken(source: Source) -> Iterator[int]:
    """How many rows a program takes of a data set: `select(range(2000))`."""
    for call in source.all_calls:
        given = call.args[0] if last_name(call.func) in ("select", "take", "skip") and call.args else None
        ends = given.args if isinstance(given, ast.Call) else [given]
        yield from (end.value for end in ends if isinstance(end, ast.Constant) and type(end.value) is int)


def _classes_of_labels(source: Source) -> int:
    """How many classes labels are of: what the program says of its head, or two."""
    for call in source.all_calls:
        value = argument_value(call, "num_labels", None)
        if isinstance(value, ast.Constant) and type(value.value) is int and value.value > 1:
            return value.value
    return 2


def _metrics(case: Case) -> Iterator[EditStep]:
    source = case.source
    call = next(source.calls("evaluate.load", "evaluate.combine", "datasets.load_metric"), None)
    if call is None or not case.installed("evaluate"):
        return
    yield EditStep(
        ACTION,
        "metrics of evaluate are counted here",
        "the scripts of the metrics are on the hub; texts are compared by their words only",
        call.lineno,
        scaffold=Scaffold(
            start="made_in_place_of('evaluate.loading.load', made_metric)\n"
            "made_in_place_of('evaluate.module.combine', made_metrics_together)"
        ),
        form_known=True,
    )


def _trainers(case: Case) -> Iterator[EditStep]:
    """Trainers want a GPU for what their arguments ask, whether the program names one or not."""
    used = _libraries(case.source)
    if (
        case.gpu
        or not used
        or (not used & {"trl", "lightning", "pytorch_lightning"} and not case.source.words & _FOR_GPU)
    ):
        return
    yield EditStep(
        EditAction.HYPERPARAMETERS,
        "trainers train on the CPU, in 32 bits; quantized weights are left out",
        f"there is no GPU here; {HIDES}",
        scaffold=Scaffold(start="made_trainers_on_cpu()"),
        invented=False,
    )
