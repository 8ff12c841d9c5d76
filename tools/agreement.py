"""Whether what is read in a program agrees with what it does: static answers of the silent patterns beside those of a run.

    python tools/agreement.py FOLDER OUT [--seconds 40] [--jobs 2] [--only PREFIX]

FOLDER has a folder for each program, with `main.py` and what it imports; the programs are other people's and stay where they are.
Each is made runnable by `dnnfix reproduce`, and run under bubblewrap with its own watch on torch, which shares no code with the engine:
loaders give four batches, and the run ends after some seconds. A question that does not arise in the run (no evaluation was reached) is left
open. OUT gets `table.tsv`, with a line for each program and question that the run answers: what was read, what was seen.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

QUESTIONS: dict[str, tuple[str, ...]] = {
    "gradients are never cleared": ("DNF701",),
    "steps find no gradients": ("DNF702", "DNF703", "DNF480", "DNF481"),
    "no step follows the backward passes": ("DNF702",),
    "the schedule steps before the optimizer": ("DNF523", "DNF748"),
    "evaluated in training mode": ("DNF705", "DNF714", "DNF746"),
    "evaluated with gradients": ("DNF747",),
    "trained in evaluation mode": ("DNF705", "DNF749"),
    "training data in their order": ("DNF760",),
    "output unfit for its loss": ("DNF301", "DNF326", "DNF360", "DNF361"),
    "network pickled as a whole": ("DNF912",),
    "benchmark beside equal results": ("DNF916",),
}
"""What is asked, and the rules that say yes."""

STAYS = "stays in evaluation mode"
"""What DNF705 says of training, and not of an evaluation."""
BATCHES = 4
"""Batches that each loader gives."""


# --- the child: a program under watch


class Enough(BaseException):
    """The time is up."""


class Watch:
    """What a program does with torch, as far as the questions need it."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        self.seen: Counter[str] = Counter()
        self.optimizers: dict[int, Any] = {}
        self.cleared: set[int] = set()
        self.depth = 0
        self.asked: list[
            tuple[Any, bool]
        ] = []  # outermost calls with gradients since the last backward pass: network, its mode
        self.iterating: list[Any] = []
        self.backwards = 0

    def install(self) -> None:
        """Put the watch around what training is made of."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        torch = self.torch
        functional = torch.nn.functional
        register_optimizer_step_pre_hook(self.stepped)
        modules = torch.nn.modules.module
        modules.register_module_forward_pre_hook(self.enters)
        modules.register_module_forward_hook(self.leaves, always_call=True)
        self.put(torch.optim.Optimizer, "__init__", self.made)
        self.put(torch.optim.Optimizer, "zero_grad", lambda optimizer, *_a, **_k: self.cleared.add(id(optimizer)))
        self.put(torch.nn.Module, "zero_grad", self.cleared_by_network)
        self.put(torch.Tensor, "backward", self.passed_back)
        self.put(torch, "save", self.saved)
        self.put(torch, "manual_seed", lambda *_a, **_k: self.seen.update(["seeded"]))
        for name in ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"):
            self.put(functional, name, functools.partial(self.measured, name))
        loader = torch.utils.data.DataLoader
        loader.__iter__ = self.shortened(loader.__iter__)

    def put(self, owner: Any, name: str, before: Callable[..., Any]) -> None:
        """Call something before a function of torch."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            before(*args, **kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, watched)

    def made(self, optimizer: Any, *_args: Any, **_kwargs: Any) -> None:
        self.optimizers[id(optimizer)] = optimizer
        self.cleared.add(id(optimizer))

    def weights(self, optimizer: Any) -> Iterator[Any]:
        return (weight for group in getattr(optimizer, "param_groups", ()) for weight in group["params"])

    def has_gradients(self, optimizer: Any) -> bool:
        return any(each.grad is not None and bool((each.grad != 0).any()) for each in self.weights(optimizer))

    def cleared_by_network(self, network: Any, *_args: Any, **_kwargs: Any) -> None:
        own = {id(weight) for weight in network.parameters()}
        for key, optimizer in self.optimizers.items():
            if any(id(weight) in own for weight in self.weights(optimizer)):
                self.cleared.add(key)

    def passed_back(self, *_args: Any, **_kwargs: Any) -> None:
        self.backwards += 1
        self.cleared.update(key for key, each in self.optimizers.items() if not self.has_gradients(each))
        for network, is_training in self.asked:
            trained = {id(weight) for each in self.optimizers.values() for weight in self.weights(each)}
            if any(id(weight) in trained and weight.requires_grad for weight in network.parameters()):
                self.seen["trained in training mode" if is_training else "trained in evaluation mode"] += 1
        self.asked.clear()
        if self.iterating:
            sampler = getattr(self.iterating[-1], "sampler", None)
            kind = {"SequentialSampler": "data in order", "RandomSampler": "data shuffled"}.get(type(sampler).__name__)
            self.seen.update([kind] if kind else [])

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if args[1:] or kwargs:
            return  # a closure computes the gradients
        self.seen["steps"] += 1
        self.seen["full steps" if self.has_gradients(optimizer) else "empty steps"] += 1
        self.seen["cleared" if id(optimizer) in self.cleared else "uncleared"] += 1
        self.cleared.discard(id(optimizer))

    def is_sensitive(self, network: Any) -> bool:
        kinds = (self.torch.nn.modules.dropout._DropoutNd, self.torch.nn.modules.batchnorm._BatchNorm)
        return any(isinstance(each, kinds) for each in network.modules())

    def enters(self, network: Any, _args: Any) -> None:
        self.depth += 1
        if self.depth > 1 or not self.is_sensitive(network):
            return
        if self.torch.is_grad_enabled():
            self.ungraded()
            self.asked.append((network, network.training))
        else:
            self.seen["evaluated in training mode" if network.training else "evaluated as one should"] += 1

    def ungraded(self) -> None:
        """What was asked in evaluation mode with gradients, and never passed back."""
        for _, is_training in self.asked:
            if not is_training:
                self.seen["evaluated with gradients"] += 1
        self.asked = [one for one in self.asked if one[1]]

    def leaves(self, _network: Any, _args: Any, _output: Any) -> None:
        self.depth -= 1

    def measured(self, name: str, output: Any, *_args: Any, **_kwargs: Any) -> None:
        """A loss: by what its input was made, past changes of its shape."""
        made = getattr(output, "grad_fn", None)
        while made is not None and made.name().startswith(
            ("View", "Squeeze", "Unsqueeze", "Transpose", "Permute", "UnsafeView", "Reshape", "Alias")
        ):
            made = made.next_functions[0][0] if made.next_functions else None
        if made is None:
            return
        kind = made.name().removesuffix("0").removesuffix("Backward")
        unfit = {
            "cross_entropy": kind in ("Softmax", "LogSoftmax", "Sigmoid", "Relu"),
            "nll_loss": kind in ("Softmax", "Sigmoid", "Relu", "Addmm", "Mm"),
            "binary_cross_entropy_with_logits": kind in ("Softmax", "Sigmoid", "Relu"),
        }[name]
        self.seen["unfit" if unfit else "fit"] += 1

    def saved(self, what: Any, *_args: Any, **_kwargs: Any) -> None:
        parts = [what, *(what.values() if isinstance(what, dict) else ())]
        whole = any(isinstance(part, self.torch.nn.Module) for part in parts)
        self.seen["network saved" if whole else "weights saved"] += 1

    def shortened(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Iterator[Any]:
            self.iterating.append(loader)
            try:
                yield from itertools.islice(original(loader), BATCHES)
            finally:
                self.iterating.remove(loader)

        return iterate

    def answers(self, warned: str) -> dict[str, bool]:
        """The questions that the run answers."""
        seen, found = self.seen, {}
        self.ungraded()
        if seen["steps"] >= 3:
            found["gradients are never cleared"] = seen["uncleared"] >= 2 and seen["cleared"] <= len(self.optimizers)
            found["steps find no gradients"] = not seen["full steps"]
            found["the schedule steps before the optimizer"] = "lr_scheduler.step()` before" in warned
        if self.optimizers and self.backwards >= 3:
            found["no step follows the backward passes"] = not seen["steps"]
        if seen["evaluated in training mode"] or seen["evaluated as one should"]:
            found["evaluated in training mode"] = bool(seen["evaluated in training mode"])
        if seen["evaluated with gradients"] or seen["evaluated as one should"]:
            found["evaluated with gradients"] = bool(seen["evaluated with gradients"])
        if seen["trained in training mode"] or seen["trained in evaluation mode"]:
            found["trained in evaluation mode"] = bool(seen["trained in evaluation mode"])
        if seen["data in order"] or seen["data shuffled"]:
            found["training data in their order"] = bool(seen["data in order"])
        if seen["fit"] or seen["unfit"]:
            found["output unfit for its loss"] = bool(seen["unfit"])
        if seen["network saved"] or seen["weights saved"]:
            found["network pickled as a whole"] = bool(seen["network saved"])
        cudnn = self.torch.backends.cudnn
        if cudnn.benchmark:
            found["benchmark beside equal results"] = bool(cudnn.deterministic or seen["seeded"])
        return found


def watched(script: Path, out: Path, seconds: int) -> None:
    """Run a program under watch, and write what its run answers."""
    watch, said = Watch(), []
    watch.install()
    warnings.showwarning = lambda message, *_args, **_kwargs: said.append(str(message))

    def up(*_: object) -> None:
        raise Enough

    def write(*_: object) -> None:
        out.write_text(json.dumps(watch.answers("\n".join(said))), encoding="utf-8")
        os._exit(0)

    signal.signal(signal.SIGALRM, up)
    signal.signal(signal.SIGUSR1, write)  # sent where a program swallows the end
    signal.alarm(seconds)
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except BaseException as error:  # noqa: BLE001 -- whatever ends it, what was seen counts
        print(f"ended by {type(error).__name__}: {error}", file=sys.stderr)
    write()


# --- the parent: each program, and the table


def read_in(folder: Path) -> set[str]:
    """The questions that the rules answer with yes, by what they read."""
    command = [sys.executable, "-m", "dnnfix", "check", "--isolated", "--no-cache", "--select", "silent,DNF523", "--output-format", "json", "main.py"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    found = {(one["code"], STAYS in one["message"]) for one in json.loads(done.stdout)["findings"]}
    yes = set()
    for question, codes in QUESTIONS.items():
        of_training = question.startswith("trained")
        yes |= {question for code, stays in found if code in codes and (code != "DNF705" or stays is of_training)}
    return yes


def seen_in(folder: Path, seconds: int) -> dict[str, bool] | None:
    """What a run answers; `None` where the program cannot be made to run."""
    with tempfile.TemporaryDirectory() as made:
        work = Path(made) / "work"
        shutil.copytree(folder, work)
        reproduce = [
            sys.executable,
            "-m",
            "dnnfix",
            "reproduce",
            "main.py",
            "--isolated",
            "--quiet",
            "--output",
            "made.py",
        ]
        subprocess.run(reproduce, capture_output=True, check=False, cwd=work)
        if not (work / "made.py").is_file():
            return None
        out = work / "answers.json"
        child = [sys.executable, __file__, "--watch", str(work / "made.py"), str(out), "--seconds", str(seconds)]
        room = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(work), str(work), "--unshare-net", "--unshare-pid", "--die-with-parent", "--chdir", str(work)]  # fmt: skip
        environment = os.environ | {"HOME": str(work), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            [*room, *child], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                _, ended = process.communicate(timeout=seconds + 30)
            except subprocess.TimeoutExpired:
                process.kill()
                _, ended = process.communicate()
        print(f"  {folder.name}: {(ended or '').strip().splitlines()[-1:]}", file=sys.stderr)
        answers: dict[str, bool] | None = json.loads(out.read_text("utf-8")) if out.is_file() else None
        return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=int, default=40, help="of each run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="PREFIX")
    parser.add_argument("--watch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        watched(given.folder, given.out, given.seconds)
    programs = sorted(
        one for one in given.folder.iterdir() if (one / "main.py").is_file() and one.name.startswith(given.only)
    )
    given.out.mkdir(parents=True, exist_ok=True)
    asked, same, answered, agreed = 0, 0, 0, 0
    with ThreadPoolExecutor(given.jobs) as pool, (given.out / "table.tsv").open("w", encoding="utf-8") as table:
        print("program", "question", "read", "seen", sep="\t", file=table)
        for folder, seen in zip(programs, pool.map(lambda one: seen_in(one, given.seconds), programs), strict=True):
            if not seen:
                continue
            read = read_in(folder)
            for question, yes in seen.items():
                print(folder.name, question, question in read, yes, sep="\t", file=table, flush=True)
            differ = [question for question, yes in seen.items() if (question in read) is not yes]
            asked, same = asked + len(seen), same + len(seen) - len(differ)
            answered, agreed = answered + 1, agreed + (not differ)
            for question in differ:
                print(f"{folder.name}: {question}: read {question in read}, seen {seen[question]}", flush=True)
    print(
        f"{answered} of {len(programs)} programs answer; {same} of {asked} answers agree; in {agreed} of {answered} programs all do"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
