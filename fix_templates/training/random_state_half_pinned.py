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
    Replace,
    Source,
    Subject,
    keyword_value,
    once,
    random_state,
    structure,
    training_loop,
    within,
    words,
)

Origin = random_state.Origin
CUDNN = "cuDNN"
ON_GPU = "torch where there is a GPU"
OF_SEEDING = random_state.OF_SEEDING
OF_BEGINNING = re.compile(
    r"seed|reproduc|determin|^_*(main|run|train|fit|setup|init|prepare|experiment)(?!\w*(split|load|data|sampl|ind[ei]))",
    re.IGNORECASE,
)
OF_SHOWING = re.compile(r"plot|show|visuali|display|demo|example|test", re.IGNORECASE)
"""Names of functions that draw what is looked at, and trained on by nobody."""
SAVED = words("set_rng_state fork_rng")
OF_PARTS = re.compile(r"worker|get_state|time|getpid|index|\bidx\b|initial_seed|urandom|epoch")
"""Words of seeds that are to differ: from worker to worker, from sample to sample."""
DRAWING = words("backward Module optim Linear Conv2d Dropout LSTM Sequential")
"""Words of texts in which torch draws random numbers."""
MIXING = words("shuffle permutation choice sample train_test_split random_split randperm")
OF_INIT = re.compile(
    r"^(apply|reset_parameters|(init|reset)\w*_(weight|param)\w*|\w*(uniform|normal|orthogonal)_|(xavier|kaiming)_\w+)$",
    re.IGNORECASE,
)
"""Names of what draws weights that are there already."""
LATER = words("DataLoader RandomSampler SubsetRandomSampler")
"""What draws as it is gone over, and not as it is made."""
LOADED = words("load_state_dict from_pretrained load load_weights")
WEIGHTED = words(
    "Linear Conv1d Conv2d Conv3d ConvTranspose2d Embedding LSTM GRU RNN Bilinear TransformerEncoderLayer Transformer MultiheadAttention"
)
BY_CUDNN = words(
    "Conv1d Conv2d Conv3d ConvTranspose2d LSTM GRU RNN models BatchNorm2d resnet18 resnet50 vgg16 timm LSTMCell conv conv2d backbone Unet UNet"
)


class RandomStateHalfPinned(ReadTemplate):
    """The text means to be reproducible, and pins a part of what is random.

    Python's `random`, NumPy and torch have generators of their own, each with its seed; `torch.cuda.manual_seed` seeds a GPU and not the weights that are made on the CPU;
    cuDNN may take other algorithms from run to run unless `cudnn.deterministic` is set; worker processes of a loader begin
    with seeds of their own. Reported where the text draws from a generator that is not seeded while others are, and the seeds are those of the program: not of one split,
    one worker or one sample; where weights, an order or data are made above their seed; where a GPU is seeded and the weights, made on the CPU, are not; where cuDNN tries its algorithms
    in spite of seeds, or is left out by a function that seeds all the rest, the GPU too, in a text of convolutions or recurrent layers; where all workers of a loader are given one seed; and where a function that seeds is given a value and not called.

    Fix safety: unsafe. The program draws other numbers from now on.

    References: https://docs.pytorch.org/docs/stable/notes/randomness.html.
    """

    code = "DNF765"
    name = "random-state-half-pinned"
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
        lost = random_state.seeds_overwritten(source)
        for origin, statement in lost:
            func = ast.unparse(statement.targets[0])
            said = f"`{func}` is given a value and not called: nothing pins {origin}"
            edit = Replace(source.site(statement), f"{func}({ast.unparse(statement.value)})")
            yield Fault.with_repair(source.site(statement), said, "Call it", edit)
        yield from _of_workers(source)
        found = tuple(each for each in random_state.seedings(source) if _is_for_all(source, each.call))
        seeded = {origin for each in random_state.seedings(source) for origin in each.origins}
        seeded |= {origin for origin, _ in lost}
        missing = [*_missing(source, found, seeded)] if found else []
        if not missing:
            return
        last = found[-1]
        shown = seeded - {Origin.CUDA} if Origin.TORCH in seeded else seeded
        said = f"there is a seed for {' and '.join(sorted(shown))}, and nothing pins {' and '.join(missing)}: runs differ all the same"
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

set_seed(4)
net = torch.nn.Conv2d(3, 8, 3).cuda()

=== example: tables are mixed, and loaders
import numpy as np
import torch

for fold, number in enumerate(numbers):
    np.random.seed(number)
+     torch.manual_seed(number)
    chosen = rows_of(fold)
    loader = torch.utils.data.DataLoader(chosen, batch_size=32, shuffle=True)

=== example: another generator draws
import random
import torch

def some_of(records, seed):
    random.seed(seed)
+     torch.manual_seed(seed)
    return [records[int(torch.randint(len(records), (1,)))] for _ in range(5)]

=== example: an option of the program, though a split is all that it pins
import numpy as np
import torch

np.random.seed(options.seed)
+ torch.manual_seed(options.seed)
np.random.shuffle(files)
net = torch.nn.Linear(4, 2)

=== example: a function that is overwritten
import random
import torch

random.seed(7)
- torch.manual_seed = 7
+ torch.manual_seed(7)
net = torch.nn.Linear(3, 1)

=== example: the setting is misspelt
import numpy as np
import torch

class Trial:
    def set_seed(self, seed):
        np.random.seed(seed)
        torch.manual_seed(seed)
+         torch.backends.cudnn.deterministic = True
+         torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.determinstic = True

    def fit(self):
        self.set_seed(1)

=== example: cuDNN tries its algorithms
import torch

torch.manual_seed(5)
- torch.backends.cudnn.benchmark = True
+ torch.backends.cudnn.benchmark = False

=== example: each worker alike
import numpy as np
from torch.utils.data import DataLoader

def start(number):
-     np.random.seed(99)
+     np.random.seed(99 + number)

loader = DataLoader(scans, batch_size=4, num_workers=2, worker_init_fn=start)

=== example: equal results are promised, and cuDNN tries
import torch

def set_seed(number):
    torch.manual_seed(number)
    torch.backends.cudnn.deterministic = False
-     torch.backends.cudnn.benchmark = True
+     torch.backends.cudnn.benchmark = False

=== example: weights are made on the CPU, and the GPU is all that has a seed
import torch

if torch.cuda.is_available():
    torch.cuda.manual_seed(6)
+     torch.manual_seed(6)
else:
    torch.manual_seed(6)
net = torch.nn.Linear(2, 1)

=== finds: a helper that is called too late
import torch

def fix_seeds(number):
    torch.manual_seed(number)

net = torch.nn.Linear(3, 3)
if torch.cuda.is_available():
    net.cuda()
fix_seeds(2)

=== finds: set anew in each turn, and too late for the weights
import torch

net = torch.nn.Linear(3, 3)
for turn in range(5):
    torch.manual_seed(1)
    train_once(net)

=== finds: a new head, made before
import torch
from torchvision import models

net = models.resnet18(weights="DEFAULT")
net.fc = torch.nn.Linear(512, 2)
torch.manual_seed(5)

=== finds: drawn before
import torch

inputs = torch.randn(64, 3)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
net(inputs).sum().backward()

=== finds: taken back where the work begins
import torch

class Runner:
    def fix_seed(self):
        torch.manual_seed(1)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False

    def run(self):
        torch.backends.cudnn.benchmark = True
        self.fit()

=== finds: an object that draws from another generator
import numpy as np
import random
import torch

class Noise:
    def __init__(self, size, number):
        self.state = torch.zeros(size)
        self.number = np.random.seed(number)

    def step(self):
        self.state += random.gauss(0, 1)

=== finds: folds that are mixed
import torch
from sklearn.model_selection import KFold

torch.manual_seed(2)
folds = KFold(4, shuffle=True)

=== finds: algorithms are another matter than seeds
import numpy as np
import torch

torch.manual_seed(9)
torch.use_deterministic_algorithms(True)
rows = np.random.permutation(rows)

=== example: each worker alike, in one line
from torch.utils.data import DataLoader
import numpy as np

- loader = DataLoader(rows, num_workers=3, worker_init_fn=lambda number: np.random.seed(7))
+ loader = DataLoader(rows, num_workers=3, worker_init_fn=lambda number: np.random.seed(7 + number))

=== finds: put on a GPU before
import torch

net = UNet(1, 2).cuda()
torch.manual_seed(0)

=== finds: mixed before
import numpy as np
import torch

order = np.random.permutation(50)
np.random.seed(0)
torch.manual_seed(0)

=== finds: made before by a function
import torch

def check():
    network = build_network()
    torch.manual_seed(3)
    return network(torch.rand(2, 3))

=== reject: two generators, and these are all that is drawn from
import numpy as np
import torch

def main(options):
    np.random.seed(options.seed)
    torch.manual_seed(options.seed)
    network = torch.nn.Conv2d(3, 8, 3).cuda()

=== reject: a generator of its own
import numpy as np
import torch

torch.manual_seed(0)
for epoch in range(9):
    np.random.default_rng(epoch).shuffle(rows)

=== reject: nothing is drawn by torch
import numpy as np
import torch

np.random.seed(0)
points = torch.from_numpy(np.random.randn(50, 2))

=== reject: the state is put back
import random
import torch

state = torch.get_rng_state()
torch.manual_seed(1)
shown = torch.randn(16, 100)
torch.set_rng_state(state)
chosen = random.choice(rows)

=== reject: workers told apart
import numpy as np
import torch

def start(number):
    np.random.seed(torch.initial_seed() % 2**32)

loader = torch.utils.data.DataLoader(scans, num_workers=2, worker_init_fn=start)

=== reject: speed is chosen
import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = False
torch.backends.cudnn.benchmark = True

=== reject: a complete helper, and nothing that cuDNN computes
import random
import numpy as np
import torch

def seed_all(number):
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
    torch.cuda.manual_seed_all(number)

=== reject: one input of a network that is ready
import numpy as np
import torch

net = load_network(pretrained=True).cuda()
net.eval()
np.random.seed(3)
scan = np.random.rand(1, 1, 64, 64)
with torch.no_grad():
    print(net(torch.from_numpy(scan).cuda()))

=== reject: weights of others, before the seed
import torch
from torchvision import models

net = models.resnet18(pretrained=True)
torch.manual_seed(5)

=== reject: what is shown of the result
import random
import torch

torch.manual_seed(1)
for batch in loader:
    criterion(net(batch)).backward()
    optimizer.step()
print(net(held_out[random.randrange(100)]))

=== reject: weights that are drawn anew below
import torch

net = torch.nn.Linear(3, 3)
torch.manual_seed(1)
torch.nn.init.orthogonal_(net.weight)

=== reject: made anew below
import torch

net = torch.nn.Linear(3, 3)
print(net)
torch.manual_seed(1)
net = torch.nn.Linear(3, 3)

=== reject: a loader draws as it is gone over
import torch

loader = torch.utils.data.DataLoader(scans, shuffle=True)
torch.manual_seed(1)
net = torch.nn.Linear(2, 2)
for scan in loader:
    net(scan).sum().backward()

=== reject: the same numbers, twice
import torch

def check():
    network = build_network()
    torch.manual_seed(3)
    first = network(torch.rand(2, 3))
    torch.manual_seed(3)
    return first - network(torch.rand(2, 3))

=== reject: a layer without weights
import torch

drop = torch.nn.Dropout(0.4)
torch.manual_seed(3)
print(drop(torch.ones(9)))

=== reject: a first look
import torch

first = torch.rand(2, 2)
print(first)
torch.manual_seed(0)
print(torch.rand(2, 2))

=== reject: speed, and it is said what it costs
import torch

# reproducible but for cuDNN
torch.manual_seed(0)
torch.backends.cudnn.deterministic = False
torch.backends.cudnn.benchmark = True  # faster, not deterministic

=== reject: a helper for torch alone
import torch

def set_deterministic(options):
    torch.manual_seed(options.seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    if options.fast:
        torch.backends.cudnn.deterministic = False
        torch.backends.cudnn.benchmark = True

=== reject: a split that stays the same
import numpy as np
import torch

np.random.seed(11)
np.random.shuffle(files)
net = torch.nn.Linear(4, 2)

=== reject: names and ports
import random
import torch

torch.manual_seed(0)
run = "".join(random.choice("abc") for _ in range(8))
log = "logs/%s" % random.randint(0, 9)
kept = f"kept-{random.random()}"
port = random.randint(2000, 3000)

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


@once
def _workers(source: Source) -> tuple[ast.AST | None, ...]:
    """The functions of the text that each worker of a loader calls as it begins."""
    if "worker_init_fn" not in source.words:
        return ()
    begun = [keyword_value(call, "worker_init_fn") for call in source.all_calls]
    named = [source.definition(each) for each in begun if isinstance(each, ast.Name)]
    return (*named, *(each for each in begun if isinstance(each, ast.Lambda)))


def _of_workers(source: Source) -> Iterator[Fault]:
    """Functions that each worker of a loader calls, and that seed all workers alike."""
    for each in random_state.seedings(source):
        function = source.enclosing(each.call, ast.Lambda) or training_loop.function_around(source, each.call)
        if not isinstance(function, (ast.FunctionDef, ast.Lambda)) or function not in _workers(source):
            continue
        if not each.call.args or not function.args.args:
            continue
        given = each.call.args[0]
        if each.origins[0] is Origin.NUMPY and isinstance(given, ast.Constant) and isinstance(given.value, int):
            edit = Replace(source.site(given), f"{given.value} + {function.args.args[0].arg}")
            said = "each worker of the loader is given the same seed: all draw the same numbers"
            yield Fault.with_repair(source.site(each.call), said, "Tell the workers apart", edit)


def _is_for_all(source: Source, call: ast.Call) -> bool:
    """Whether a seed is set for the whole program, and not for one object, one worker or one sample."""
    name = _name(call)
    if name in ("RandomState", "default_rng", "set_state", "setstate") or "rng_state" in name:
        return False
    given = " ".join(ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords)))
    if not given or OF_PARTS.search(given):
        return False
    if source.enclosing(call, ast.Lambda) is not None or not SAVED.isdisjoint(source.words):
        return False
    function = training_loop.function_around(source, call)
    is_part = function is not None and re.search(r"worker|__getitem__|sample|collate", function.name)
    if is_part or (function is not None and function in _workers(source)):
        return False
    named = call.args[0].value if call.args and isinstance(call.args[0], ast.Subscript) else None
    statement = source.statement_of(call)
    same = [each for each in training_loop.block_of(source, statement) if ast.unparse(each) == ast.unparse(statement)]
    if len(same) > 1:
        return False  # the same numbers are to be drawn twice
    values = source.bindings(named or call.args[0]) if call.args else None
    is_drawn = bool(values) and all(random_state.is_draw(source, each) for each in values or ())
    return not is_drawn and not _is_for_one_draw(source, call)


def _is_for_one_draw(source: Source, call: ast.Call) -> bool:
    """Whether NumPy or Python is seeded for the sake of what is drawn right below, as a split that is to stay the same; an option of the program is for more."""
    if any(isinstance(each, ast.Attribute) and ast.unparse(each.value) != "self" for each in call.args):
        return False
    statement = source.statement_of(call)
    block = training_loop.block_of(source, statement)
    below = block[block.index(statement) + 1 :][:2]
    mixed = (one for each in below for one in within(each, ast.Call) if random_state.is_draw(source, one))
    return "torch" not in ast.unparse(call.func) and any(_name(one) in MIXING for one in mixed)


def _missing(source: Source, found: tuple[random_state.Seeding, ...], seeded: set[Origin]) -> Iterator[str]:
    """What the text leaves open, in words."""
    draws = random_state.draws(source)
    if Origin.TORCH not in seeded and (Origin.CUDA in seeded or _is_torch_drawn(source, found)):
        yield Origin.TORCH
        return
    of_torch = [each.call for each in found if Origin.TORCH in each.origins]
    of_gpu = [each.call for each in found if each.origins == (Origin.CUDA,)]
    if of_torch and any(not any(random_state.in_same_case(source, one, gpu) for one in of_torch) for gpu in of_gpu):
        yield ON_GPU
    for origin in (Origin.PYTHON, Origin.NUMPY):
        if origin not in seeded and any(_is_reached(source, found, call) for call in draws.get(origin, ())):
            yield origin
    if Origin.TORCH not in seeded:
        return
    yield from _made_before(source, found)
    if not any(len(each.origins) == len(Origin) for each in found) and _is_cudnn_open(source, found):
        yield CUDNN


def _around(source: Source, each: random_state.Seeding) -> str | None:
    """The name of the function that a seed is set in; `None` at the top of the text."""
    function = training_loop.function_around(source, each.call)
    return None if function is None else function.name


def _is_reached(source: Source, found: tuple[random_state.Seeding, ...], drawn: ast.Call) -> bool:
    """Whether a seed of the program is meant for what is drawn: it is set where the program begins, or in the same function."""
    inside = training_loop.function_around(source, drawn)
    names = {_around(source, each) for each in found}
    if inside is not None and (inside.name in names or _is_of_object(source, found, drawn)):
        return True
    shown = OF_SHOWING.search(inside.name) if inside is not None else random_state.is_after_training(source, drawn)
    return not shown and any(name is None or OF_BEGINNING.search(name) for name in names)


def _is_of_object(source: Source, found: tuple[random_state.Seeding, ...], drawn: ast.AST) -> bool:
    """Whether an object that sets seeds as it is made draws in another of its methods."""
    own = source.enclosing(drawn, ast.ClassDef)
    return own is not None and any(
        _around(source, each) == "__init__" and source.enclosing(each.call, ast.ClassDef) is own for each in found
    )


def _is_torch_drawn(source: Source, found: tuple[random_state.Seeding, ...]) -> bool:
    """Whether torch draws what is computed behind seeds of other generators, or a helper that seeds them all leaves it out."""
    if any(_is_reached(source, found, call) for call in random_state.draws(source).get(Origin.TORCH, ())):
        return True
    names = {_around(source, each) for each in found} - {"__init__"}
    if any(name and OF_SEEDING.search(name) for name in names):
        return True
    if not {"eval", "evaluate"}.isdisjoint(source.words) and _is_ready(source):
        return False
    makes = not DRAWING.isdisjoint(source.words) or any(
        structure.is_network(source, call.func) or _is_made(source, source.statement_of(call))
        for call in source.all_calls
    )
    return makes and any(name is None or OF_BEGINNING.search(name) for name in names)


def _is_ready(source: Source) -> bool:
    """Whether the networks of a text have weights that others have trained, and nothing trains them here."""
    loaded = not LOADED.isdisjoint(source.words) or any(
        not isinstance(given, ast.Constant) or bool(given.value)
        for call in source.all_calls
        for given in _pretrained(call)
    )
    return loaded and not structure.of_kind(source, structure.Kind.BACKWARD) and "optim" not in source.words


def _made_before(source: Source, found: tuple[random_state.Seeding, ...]) -> Iterator[str]:
    """What is made, mixed or drawn above the first seed that is meant for it, on the same way through the program."""
    trains = bool(structure.of_kind(source, structure.Kind.BACKWARD))
    said = set()
    for origin in (Origin.TORCH, Origin.NUMPY, Origin.PYTHON):
        first = min(
            (random_state.effect(source, each) for each in found if origin in each.origins), key=_line, default=None
        )
        above = random_state.run_before(source, first) if first is not None else []
        for call in random_state.draws(source).get(origin, ()):
            statement = source.statement_of(call)
            if statement not in above or _name(call) in LATER:
                continue
            if _name(call) in MIXING or (trains and isinstance(statement, ast.Assign)):
                said.add("the order made before" if _name(call) in MIXING else "what is drawn before")
        made = [each for each in above if origin is Origin.TORCH and _is_made(source, each)]
        if first is not None and made and not _are_drawn_anew(source, made, first.lineno):
            said.add("the weights made before")
    yield from sorted(said)


def _line(statement: ast.stmt) -> int:
    return statement.lineno


def _are_drawn_anew(source: Source, made: list[ast.stmt], line: int) -> bool:
    """Whether weights are drawn again below a line: by what initializes them, or as what holds them is made anew."""
    targets = {ast.unparse(each.targets[0]) for each in made if isinstance(each, ast.Assign)}
    again = (target for each in source.nodes(ast.Assign) for target in each.targets if each.lineno > line)
    return any(call.lineno > line and OF_INIT.search(_name(call)) for call in source.all_calls) or any(
        ast.unparse(target) in targets and _is_made(source, source.statement_of(target)) for target in again
    )


def _is_made(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement makes weights that are drawn: a network, by a class or by a function that is named as one that makes something new, or a new layer of one."""
    if not isinstance(statement, ast.Assign) or not LOADED.isdisjoint(source.words):
        return False
    value, target = statement.value, statement.targets[0]
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("cuda", "to"):
        value = value.func.value
    if not isinstance(value, ast.Call):
        return False
    if any(_is_layer(source, each) for each in within(value, ast.Call)):
        return True
    if (source.qualified(value.func) or ast.unparse(value.func)).startswith(("torch.nn.", "nn.")):
        return False  # without weights, as a loss
    is_new = [isinstance(given, ast.Constant) and not given.value for given in _pretrained(value)]
    if not all(is_new):
        return False
    is_maker = is_new or re.match(r"_*([A-Z]|(build|make|create|init)_)", _name(value))
    return bool(is_maker) and structure.is_network(source, target)


def _pretrained(made: ast.Call) -> list[ast.expr]:
    """What a call is told of weights that others have trained."""
    return [k.value for k in made.keywords if k.arg in ("pretrained", "weights")]


def _is_layer(source: Source, call: ast.Call) -> bool:
    """Whether a call makes a layer of torch that has weights."""
    name = source.qualified(call.func) or ast.unparse(call.func)
    return name.startswith(("torch.nn.", "nn.")) and name.rpartition(".")[2] in WEIGHTED


def _name(call: ast.Call) -> str:
    """The last name of what is called."""
    return ast.unparse(call.func).rpartition(".")[2]


def _is_cudnn_open(source: Source, found: tuple[random_state.Seeding, ...]) -> bool:
    """Whether the text plainly leaves open which algorithms cuDNN takes: it lets cuDNN try them, misspells the setting, or seeds all there is but for this."""
    settings = random_state.settings(source)
    determinism = random_state.asks_for_determinism(source)
    if determinism is None and any(each.name == "deterministic" for each in random_state.misspelt(source)):
        return True
    tried = [each for each in settings if each.name == "benchmark" and each.says(True)]
    if any(random_state.takes_back(source, each) for each in tried):
        return True
    if any(each.says(False) for each in settings if each.name != "enabled"):  # somebody has chosen
        return determinism is None and any(_is_promised(source, found, each) for each in tried)
    if tried:
        return any(
            not random_state.is_chosen(source, each.statement)
            and random_state.in_same_case(source, one.call, each.statement)
            for each in tried
            for one in found
        )
    if settings or "deterministic" in source.words or determinism is not None or BY_CUDNN.isdisjoint(source.words):
        return False
    seeding = [each for each in found if OF_SEEDING.search(_around(source, each) or "")]
    on_gpu = any("cuda" in ast.unparse(each.call.func) for each in seeding)
    return on_gpu and len({origin for each in seeding for origin in each.origins}) == len(Origin)


def _is_promised(source: Source, found: tuple[random_state.Seeding, ...], tried: random_state.Setting) -> bool:
    """Whether equal results are promised where cuDNN tries its algorithms: in a function of seeds, or by what is said of seeds that are set in the same block."""
    around = training_loop.function_around(source, tried.statement)
    if random_state.is_chosen(source, tried.statement) or not random_state.is_on_every_way(source, tried.statement):
        return False
    for each in found:
        statement = source.statement_of(each.call)
        if training_loop.function_around(source, each.call) is not around:
            continue
        if around is not None and OF_SEEDING.search(around.name):
            return not random_state.OF_TRADE.search(ast.get_docstring(around) or "")
        said = random_state.comments(source, statement)
        if any(random_state.OF_PROMISE.search(one) and not random_state.OF_TRADE.search(one) for one in said):
            return True
    return False


def _edits(source: Source, call: ast.Call, missing: list[str]) -> tuple[Edit, ...] | None:
    """Edits that pin the rest with the same number; `None` where nothing tells it."""
    if not call.args:
        return None
    number = ast.unparse(call.args[0])
    lines: list[str] = []
    others: list[Edit] = []
    names = {what: name for name, what in source.imported_names}
    for each in missing:
        if each == Origin.TORCH:
            lines.append(f"torch.manual_seed({number})")
            others += [] if "torch" in names else [AddImport("import torch")]
        elif each == Origin.NUMPY:
            lines.append(f"{names.get('numpy', 'np')}.random.seed({number})")
            others += [] if "numpy" in names else [AddImport("import numpy as np")]
        elif each == Origin.PYTHON:
            lines.append(f"random.seed({number})")
            others += [] if "random" in names else [AddImport("import random")]
        elif each == ON_GPU:
            others += [
                InsertAfter(source.site(source.statement_of(one.call)), f"torch.manual_seed({number})")
                for one in random_state.seedings(source)
                if one.origins == (Origin.CUDA,)
            ]
        elif each == CUDNN and (tried := [one for one in random_state.settings(source) if one.name == "benchmark"]):
            others += [Replace(source.site(one.value), "False") for one in tried if one.says(True)]
        elif each == CUDNN:
            lines += ["torch.backends.cudnn.deterministic = True", "torch.backends.cudnn.benchmark = False"]
    statement = source.statement_of(call)
    inserted = (InsertAfter(source.site(statement), "\n".join(lines)),) if lines else ()
    return (*inserted, *others) or None
