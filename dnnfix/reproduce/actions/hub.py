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
from dnnfix.reproduce.data import columns
from dnnfix.reproduce.syntax import string
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

_WIDTHS = range(96, 8193)
"""Numbers among which the width of a network is."""

_LITTLE_VOCABULARY = 2000
"""Words of a tokenizer where those that it has are too many for a run."""

_FOR_GPU = words(
    "fp16 bf16 fp8 load_in_8bit load_in_4bit BitsAndBytesConfig quantization_config mixed_precision deepspeed "
    "adamw_8bit adamw_bnb_8bit adamw_apex_fused paged_adamw_8bit paged_adamw_32bit paged_lion_8bit "
    "attn_implementation use_flash_attention_2 device_map push_to_hub tf32 log_with"
)
"""What trainers and loaders take that only a GPU, or an account of the hub, can do."""

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
    call = next(source.calls(*columns.LOADED), None)
    if call is None or not case.installed("datasets"):
        return
    few = max([_FEW // 10 if case.little_data else _FEW, *columns.rows_taken(source)]) if _libraries(source) else 0
    named, parts = columns.of_hub(case), _parts(source)
    given = f"{named!r}, {parts!r}, {_classes_of_labels(source)}, {few}"
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


def _parts(source: Source) -> tuple[str, ...]:
    """The parts of a data set that a program names, the one for training first."""
    keys = (string(node.slice) for node in source.nodes(ast.Subscript))
    splits = (string(argument_value(call, "split", None)) or "" for call in source.calls("datasets.load_dataset"))
    found = {key for key in keys if key in columns.PARTS} | {
        piece.partition("[")[0].strip() for split in splits for piece in split.split("+")
    }
    return tuple(sorted(found - {""}, key=lambda part: ("train" not in part, part)))


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
