"""A program seeds some generators of random numbers, and draws from others: its runs differ all the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    random_state,
    structure,
    training_loop,
    words,
)

Origin = random_state.Origin
CUDNN = "cuDNN"
OF_SEEDING = re.compile(r"seed|reproduc|determin|random", re.IGNORECASE)
OF_BEGINNING = re.compile(r"seed|reproduc|determin|main|^run|train|^setup|^init|^prepare|experiment", re.IGNORECASE)
OF_INTENT = re.compile(r"reproduc|determinis|random seed|same results?|repeatab", re.IGNORECASE)
OF_PARTS = re.compile(r"worker|get_state|time|getpid|index|\bidx\b|initial_seed|urandom")
"""Words of seeds that are to differ: from worker to worker, from sample to sample."""
DRAWING = words("backward Module optim Linear Conv2d randn Dropout LSTM Sequential")
"""Words of texts in which torch draws random numbers."""
LOADED = words("load_state_dict from_pretrained pretrained load load_weights")
LAYERS = words("Linear Embedding Transformer TransformerEncoder MultiheadAttention LayerNorm")
BY_CUDNN = words(
    "Conv1d Conv2d Conv3d ConvTranspose2d LSTM GRU RNN models BatchNorm2d resnet18 resnet50 vgg16 timm LSTMCell conv conv2d backbone Unet UNet"
)


class RandomStateHalfPinned(ReadTemplate):
    """The text means to be reproducible, and pins a part of what is random.

    Python's `random`, NumPy and torch have generators of their own, each with its seed; `torch.cuda.manual_seed` seeds a GPU and not the weights that are made on the CPU;
    cuDNN may take other algorithms from run to run unless `cudnn.deterministic` is set; worker processes of a loader begin
    with seeds of their own. Reported where torch is not seeded and others are; where numbers are drawn from a generator that is not seeded while others are; and where
    a text that seeds several generators leaves out one of those that such a text has to pin.

    Fix safety: unsafe. The program draws other numbers from now on.

    References: https://docs.pytorch.org/docs/stable/notes/randomness.html.
    """

    code = "DNF765"
    name = "random-state-half-pinned"
    message = "there is a seed for {seeded}, and nothing pins {open}: runs differ all the same"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 7
    default = False
    triggers = ("seed", "manual_seed", "manual_seed_all", "seed_everything", "set_seed", "deterministic", "RandomState")
    declined = "nothing tells with what to seed"
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        found = tuple(each for each in random_state.seedings(source) if _is_for_all(source, each.call))
        seeded = {origin for each in random_state.seedings(source) for origin in each.origins}
        missing = [*_missing(source, found, seeded)] if found else []
        if not missing:
            return
        last = found[-1]
        shown = seeded - {Origin.CUDA} if Origin.TORCH in seeded else seeded
        said = {"seeded": " and ".join(sorted(shown)), "open": " and ".join(missing)}
        site, edits = source.site(last.call), _edits(source, last.call, missing)
        yield Fault(site, said, (("Pin the rest", edits, 0.7),), confidence=self.confidence)

    programs = """
=== example: torch is not seeded
import numpy as np
import torch

np.random.seed(0)
+ torch.manual_seed(0)
net = torch.nn.Linear(4, 2)

=== example: the split draws from NumPy
import numpy as np
import torch

torch.manual_seed(1)
+ np.random.seed(1)
order = np.random.permutation(100)

=== example: all seeds, and cuDNN as it likes
import random
import numpy as np
import torch

def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
+     torch.backends.cudnn.deterministic = True
+     torch.backends.cudnn.benchmark = False

=== reject: all of it
import random
import numpy as np
import torch

def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False

=== reject: torch is all that draws
import torch

torch.manual_seed(0)
x = torch.randn(8, 4)

=== reject: a helper from elsewhere
import numpy as np
import torch
from transformers import set_seed

set_seed(1)
order = np.random.permutation(100)
"""


def _is_for_all(source: Source, call: ast.Call) -> bool:
    """Whether a seed is set for the whole program, and not for one object, one worker or one sample."""
    name = ast.unparse(call.func).rpartition(".")[2]
    if name in ("RandomState", "default_rng", "set_state", "setstate") or "rng_state" in name:
        return False
    given = " ".join(ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords)))
    if not given or OF_PARTS.search(given):
        return False
    if source.enclosing(call, ast.Lambda) is not None:
        return False
    function = source.enclosing(call, ast.FunctionDef)
    return function is None or not re.search(r"worker|__getitem__|sample|collate", function.name)


def _missing(source: Source, found: tuple[random_state.Seeding, ...], seeded: set[Origin]) -> Iterator[str]:
    """What the text leaves open, in words."""
    if Origin.TORCH not in seeded and (Origin.CUDA in seeded or _is_program(source, found)):
        yield Origin.TORCH
    draws, several = random_state.draws(source), len(seeded - {Origin.CUDA}) > 1
    determinism = random_state.asks_for_determinism(source)
    for origin in (Origin.PYTHON, Origin.NUMPY):
        is_used = origin in draws or ((several or determinism is not None) and _is_fragment(source))
        if origin not in seeded and is_used and Origin.TORCH in seeded:
            yield origin
    if Origin.TORCH in seeded and _is_made_before(source, found):
        yield "the weights that are made before"
    if any(len(each.origins) == len(Origin) for each in found):
        return
    if (Origin.TORCH in seeded or Origin.CUDA in seeded) and _is_cudnn_open(source, found, determinism):
        yield CUDNN


def _is_made_before(source: Source, found: tuple[random_state.Seeding, ...]) -> bool:
    """Whether a network is made above the first seed of torch, in the same block."""
    first = next((each for each in found if Origin.TORCH in each.origins), None)
    if first is None or not LOADED.isdisjoint(source.words):
        return False
    statement = source.statement_of(first.call)
    block = training_loop.block_of(source, statement)
    for each in block[: block.index(statement)] if statement in block else []:
        if not isinstance(each, ast.Assign) or not isinstance(each.value, ast.Call) or not _is_class(each.value.func):
            continue
        if structure.is_network(source, each.targets[0]):
            return True
    return False


def _is_class(func: ast.expr) -> bool:
    """Whether what is called is named as classes are."""
    return ast.unparse(func).rpartition(".")[2][:1].isupper()


def _is_program(source: Source, found: tuple[random_state.Seeding, ...]) -> bool:
    """Whether seeds are set where a program begins, or in a function that is there for it, and torch computes something in sight."""
    functions = [source.enclosing(each.call, ast.FunctionDef) for each in found]
    begins = any(each is None or OF_BEGINNING.search(each.name) for each in functions)
    makes = not DRAWING.isdisjoint(source.words) or any(
        structure.is_network(source, call.func) for call in source.all_calls
    )
    helper = any(each is not None and OF_SEEDING.search(each.name) for each in functions)
    return begins and (makes or helper)


def _is_fragment(source: Source) -> bool:
    """Whether the text is a part of a program, as far as is seen: what the rest of it imports, and draws from, is not known."""
    return not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in source.tree.body)


def _is_cudnn_open(source: Source, found: tuple[random_state.Seeding, ...], determinism: ast.stmt | None) -> bool:
    """Whether cuDNN may take other algorithms from run to run, as far as the text says."""
    settings = random_state.settings(source)
    if not settings and "deterministic" in source.words:
        return False  # set in a way that is not read, as by `setattr`
    for each in settings:
        if each.name == "benchmark" and each.says(True):
            same = any(random_state.in_same_case(source, one.call, each.statement) for one in found)
            chosen = any(one.name == "benchmark" and not one.says(True) for one in settings)
            return same and not chosen and not random_state.is_chosen(source, each.statement)
    if determinism is not None or any(
        each.name in ("deterministic", "benchmark", "enabled") for each in settings if not each.says(True)
    ):
        return False
    if not LAYERS.isdisjoint(source.words) and BY_CUDNN.isdisjoint(source.words):
        return False
    functions = [source.enclosing(each.call, ast.FunctionDef) for each in found]
    is_helper = any(each is not None and OF_SEEDING.search(each.name) for each in functions)
    by_option = any(isinstance(arg, ast.Attribute) for each in found for arg in each.call.args)
    is_meant = is_helper or by_option or bool(OF_INTENT.search(source.text))
    if any("cuda" in ast.unparse(each.call.func) for each in found):
        return True
    if random_state.uses_gpu(source) and is_meant:
        return True
    return is_helper and len({origin for each in found for origin in each.origins}) == len(Origin)


def _edits(source: Source, call: ast.Call, missing: list[str]) -> tuple[Edit, ...] | None:
    """Edits that pin the rest with the same number; `None` where nothing tells it."""
    if not call.args:
        return None
    number = ast.unparse(call.args[0])
    lines: list[str] = []
    imports: list[Edit] = []
    names = {what: name for name, what in source.imported_names}
    for each in missing:
        if each == Origin.TORCH:
            lines.append(f"torch.manual_seed({number})")
            imports += [] if "torch" in names else [AddImport("import torch")]
        elif each == Origin.NUMPY:
            lines.append(f"{names.get('numpy', 'np')}.random.seed({number})")
            imports += [] if "numpy" in names else [AddImport("import numpy as np")]
        elif each == Origin.PYTHON:
            lines.append(f"random.seed({number})")
            imports += [] if "random" in names else [AddImport("import random")]
        elif each == CUDNN:
            lines += ["torch.backends.cudnn.deterministic = True", "torch.backends.cudnn.benchmark = False"]
    statement = source.statement_of(call)
    return (InsertAfter(source.site(statement), "\n".join(lines)), *imports) if lines else None
