"""Runs a program from weights that another run of it left, and writes down its first outputs and losses.

    python same_start.py RESULT WEIGHTS PRELUDE PROGRAM [ARGUMENT…]

The first run of a pair writes its weights into the folder WEIGHTS as the program makes an optimizer, and the second one takes them from there, so
that both start at the same place though libraries draw other numbers as they make a network. From there on both draw the same
numbers, go through their data in the order in which it lies, and drop nothing out. The program ends after five losses. What the outermost network that has
weights gave before each of them is kept with it. `PRELUDE`, a file or `-`, is run before the program: what it needs of data that nobody has here.
It runs in interpreters of Python 3.8 and later, with the torch that is there.
"""

import gc
import json
import os
import random
import runpy
import sys
import types
import warnings
from pathlib import Path

import numpy
import torch

STEPS = 5
SEED = 7
NAMED = ("torch", "transformers", "pytorch_transformers", "pytorch_lightning", "lightning", "torchvision", "accelerate", "peft",
         "trl", "datasets", "pandas", "numpy", "sklearn", "gym", "gymnasium")  # fmt: skip


class Enough(BaseException):
    """The first losses are there. No `Exception`, which the program might catch."""


def first_output(value):
    """The first tensor of numbers with more than one dimension in what a network gave."""
    if isinstance(value, torch.Tensor):
        return value if value.dim() > 1 and value.is_floating_point() else None
    if isinstance(value, dict):
        value = [value["logits"]] if "logits" in value else list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            found = first_output(part)
            if found is not None:
                return found
    return None


class Recording:
    """What one run has come to: its start, and the outputs and losses of its first steps."""

    def __init__(self, weights, steps=STEPS):
        self.weights, self.steps = Path(weights), steps
        self.losses, self.outputs = [], []
        self.optimizers, self.depth, self.last = 0, 0, None

    def start(self, parameters):
        """The same weights and the same random numbers in both runs, from an optimizer on."""
        file = self.weights / f"{self.optimizers}.pt"
        self.optimizers += 1
        named = by_name(parameters)
        if file.exists():
            kept = torch.load(file)
            if {name: tuple(one.shape) for name, one in kept.items()} != {n: tuple(p.shape) for n, p in named.items()}:
                raise ValueError(f"the weights are others: {sorted(set(kept) ^ set(named))}")
            with torch.no_grad():
                for name, parameter in named.items():
                    parameter.copy_(kept[name])
        else:
            torch.save({name: parameter.detach().clone() for name, parameter in named.items()}, file)
        seed()

    def called(self, network, call, *given, **named):
        """Keep what the outermost network gave."""
        self.depth += 1
        try:
            result = call(network, *given, **named)
        finally:
            self.depth -= 1
        if self.depth == 0 and torch.is_grad_enabled() and next(network.parameters(), None) is not None:
            found = first_output(result)
            self.last = self.last if found is None else found.detach().double().flatten()[:256].tolist()
        return result

    def lost(self, loss):
        """Keep a loss, and what was given before it."""
        self.losses.append(float(loss.detach().double().mean()))
        self.outputs.append(self.last)
        if len(self.losses) >= self.steps:
            raise Enough


def by_name(parameters):
    """Parameters by the names that the outermost network has for them, or by their places where none has all of them."""
    wanted = {id(parameter) for parameter in parameters}
    found = {}
    for network in gc.get_objects():
        if type(network).__module__ != "builtins" and issubclass(type(network), torch.nn.Module):
            named = {name: one for name, one in network.named_parameters() if id(one) in wanted}
            if len(named) == len(wanted) and len("".join(named)) > len("".join(found)):
                found = named
    return found or {str(place): parameter for place, parameter in enumerate(parameters)}


def drawn_one(chances, count, replacement=False, *, generator=None):
    """Places by their chances, from the numbers that `torch.rand` draws: its own way of drawing them is another one in each release."""
    bounds = (chances / chances.sum(-1, keepdim=True)).cumsum(-1)
    numbers = torch.rand(*chances.shape[:-1], count, generator=generator)
    return torch.searchsorted(bounds, numbers.to(bounds)).clamp(max=chances.shape[-1] - 1)


def seed():
    """The same numbers for whatever draws them."""
    random.seed(SEED)
    numpy.random.seed(SEED)
    torch.manual_seed(SEED)


def watch(recording):
    """Put the recording into torch, and take chance out of it."""
    make, call, backward = torch.optim.Optimizer.__init__, torch.nn.Module.__call__, torch.Tensor.backward

    def made(self, params, *given, **named):
        params = [{**part, "params": list(part["params"])} if isinstance(part, dict) else part for part in params]
        recording.start(
            [weight for part in params for weight in (part["params"] if isinstance(part, dict) else [part])]
        )
        return make(self, params, *given, **named)

    def gone_back(self, *given, **named):
        recording.lost(self)
        return backward(self, *given, **named)

    torch.optim.Optimizer.__init__ = made
    torch.nn.Module.__call__ = lambda self, *given, **named: recording.called(self, call, *given, **named)
    torch.Tensor.backward = gone_back
    torch.nn.Dropout.forward = lambda self, value: value
    torch.utils.data.RandomSampler.__iter__ = lambda self: iter(range(len(self.data_source)))
    torch.multinomial = drawn_one
    drawn = numpy.random.SeedSequence
    numpy.random.SeedSequence = lambda entropy=None, **named: drawn(SEED if entropy is None else entropy, **named)


def versions():
    """The releases of what the program has imported."""
    return {
        name: str(sys.modules[name].__version__)
        for name in NAMED
        if isinstance(getattr(sys.modules.get(name), "__version__", None), str)
    }


def main(arguments):
    """Run one side of a pair."""
    result, weights, prelude, program, *given = arguments
    warnings.simplefilter("ignore")
    if not hasattr(torch.optim.lr_scheduler, "SAVE_STATE_WARNING"):
        torch.optim.lr_scheduler.SAVE_STATE_WARNING = ""  # transformers 3 imports it, which torch had until 1.11
    torch.set_num_threads(1)
    recording = Recording(weights)
    if prelude != "-":
        runpy.run_path(prelude)
    seed()
    watch(recording)
    sys.argv = [program, *given]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    module = types.ModuleType("__main__")
    module.__file__ = program
    sys.modules["__main__"] = module
    code = compile(Path(program).read_text(encoding="utf-8"), program, "exec")
    error = ""
    try:
        exec(code, module.__dict__)
    except Enough:
        pass
    except (Exception, SystemExit) as stopped:  # it is told; the losses before it count
        error = f"{type(stopped).__name__}: {stopped}"
        if not recording.losses:
            raise
    finally:
        Path(result).write_text(
            json.dumps(
                {"losses": recording.losses, "outputs": recording.outputs, "versions": versions(), "error": error}
            ),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
