"""`cudnn.benchmark = True` in a program that means to be reproducible: cuDNN may choose other algorithms in each run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    keyword_value,
    random_state,
)


class CudnnBenchmarkNotDeterministic(ReadTemplate):
    """With `benchmark = True`, cuDNN times its algorithms at the first batch and takes the fastest, which may be another one in the next run.

    Results then differ from run to run, in spite of seeds and of `deterministic = True`, which leaves the choice among the deterministic
    ones. Reported where the text asks for deterministic algorithms or seeds torch, on the same way through the program. What one of two branches says
    is left alone, as is a pair of `deterministic = False` and `benchmark = True`: there somebody chooses. What a function of seeds has pinned and a later statement
    takes back is reported.

    Fix safety: unsafe. Training may be slower.

    References: https://docs.pytorch.org/docs/stable/notes/randomness.html#cuda-convolution-benchmarking.
    """

    code = "DNF916"
    name = "cudnn-benchmark-not-deterministic"
    message = "cudnn.benchmark is True, though {asked}: each run may choose other algorithms"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 14
    default = False
    triggers = ("cudnn", "benchmark")
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        yield from _of_trainers(source)
        settings = random_state.settings(source)
        if any(each.name == "deterministic" and each.says(False) for each in settings):
            return  # a pair that somebody has chosen
        found = [each for each in settings if each.name == "benchmark"]
        is_off = any(each.says(False) for each in found)
        for each in found:
            if is_off and not random_state.takes_back(source, each):
                continue
            asked = _asked(source, each.statement)
            if not each.says(True) or not asked or random_state.is_chosen(source, each.statement):
                continue
            site = source.site(each.value)
            edit = Replace(site, "False")
            yield Fault.with_repair(
                source.site(each.statement), {"asked": asked}, "Let cuDNN choose by its rules", edit
            )

    programs = """
=== example: deterministic algorithms are asked for
import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
- torch.backends.cudnn.benchmark = True
+ torch.backends.cudnn.benchmark = False

=== example: seeds
import torch
import torch.backends.cudnn as cudnn

def set_seed(seed):
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
-     cudnn.benchmark = True
+     cudnn.benchmark = False

=== example: taken back
import numpy as np
import torch

def fix_all(number):
    np.random.seed(number)
    torch.manual_seed(number)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False

fix_all(8)
if torch.cuda.is_available():
-     torch.backends.cudnn.benchmark = True
+     torch.backends.cudnn.benchmark = False
net = Net()

=== reject: set before the helper
import torch

torch.backends.cudnn.benchmark = True

def set_seed(number):
    torch.manual_seed(number)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False

set_seed(8)

=== reject: a helper for each
import torch

def set_seed(number):
    torch.manual_seed(number)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False

def be_fast():
    torch.backends.cudnn.benchmark = True

=== reject: a pair
import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = False
torch.backends.cudnn.benchmark = True

=== reject: a comment that is code
import torch

# torch.backends.cudnn.deterministic = False
torch.backends.cudnn.benchmark = True

=== reject: one or the other
import torch

if args.deterministic:
    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
else:
    torch.backends.cudnn.benchmark = True

=== reject: where nobody asked for determinism
import torch

torch.manual_seed(args.seed)
if not args.deterministic:
    torch.backends.cudnn.benchmark = True

=== reject: speed is taken, and what it costs is known
import torch

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True  # faster, at the cost of reproducible runs

=== reject: what it is for is said in another language
import torch

torch.manual_seed(3)
torch.backends.cudnn.benchmark = True  # 加快卷积

=== reject: what it is for is said, and nobody asks for equal algorithms
import torch

torch.manual_seed(3)
# All pictures have a fixed size, so the search pays
torch.backends.cudnn.benchmark = True

=== reject: speed alone
import torch

torch.backends.cudnn.benchmark = True

=== reject: reproducible
import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
"""


def _of_trainers(source: Source) -> Iterator[Fault]:
    """Trainers that are asked for both."""
    for call in source.all_calls:
        both = [keyword_value(call, name) for name in ("benchmark", "deterministic")]
        if all(isinstance(each, ast.Constant) and each.value is True for each in both):
            edit = SetArgument(source.site(call), "benchmark", "False")
            said = {"asked": "deterministic algorithms are asked for"}
            yield Fault.with_repair(source.site(call), said, "Let cuDNN choose by its rules", edit)


def _asked(source: Source, statement: ast.stmt) -> str:
    """What in the text asks for equal results, on the same way as a statement; empty where nothing does."""
    determinism = random_state.asks_for_determinism(source)
    if determinism is not None:
        return (
            "deterministic algorithms are asked for"
            if random_state.in_same_case(source, determinism, statement)
            else ""
        )
    if any(random_state.OF_PROMISE.search(each) for each in random_state.comments(source, statement)):
        return "the text speaks of equal results"
    for each in random_state.seedings(source):
        unseen = len(each.origins) == len(
            random_state.Origin
        )  # a helper from elsewhere, which may see to cuDNN or ask for no more
        is_torch = not unseen and {random_state.Origin.TORCH, random_state.Origin.CUDA} & {*each.origins}
        if is_torch and random_state.in_same_case(source, each.call, statement):
            return "the program seeds torch"
    return ""
