"""The checks of three published training monitors, written anew, to be compared with `suggest` on seeded faults.

- AutoTrainer: X. Zhang, J. Zhai, S. Ma, C. Shen, ICSE 2021, doi 10.1109/ICSE43902.2021.00043;
- DeepLocalize: M. Wardat, W. Le, H. Rajan, ICSE 2021, arXiv 2103.03376;
- UMLAUT: E. Schoop, F. Huang, B. Hartmann, CHI 2021, doi 10.1145/3411764.3445538.

Of each paper the abstract was at hand; what is said of its inside is as it is remembered, without its text to compare, and is
marked "remembered". What is not even remembered is marked "chosen here". No line comes from the authors' own programs, so
a number here says what such checks see, not how those programs do.

The originals watch Keras models. To be fair to them the same checks watch torch too, by its hooks; and where a program has no
accuracy (regression), which AutoTrainer's checks need, the share of the first loss that is gone stands in for it.

What is seen of a training is a `Record`, which `_watching.py` writes inside the watched process; the checks read it here.
"""

from __future__ import annotations

import inspect
import itertools
import math
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

from _measure import environment
from _watching import Record, is_keras, read

VANISHED = (1e-3, 1e-4)
"""AutoTrainer, vanishing gradient: first layer's over last layer's, and the first layer's mean |g|, at most. Remembered."""

EXPLODED = 70.0
"""AutoTrainer, exploding gradient: first layer's over last layer's mean |g|, at least; or a gradient that is no number. Remembered."""

DEAD = 0.7
"""AutoTrainer, dying ReLU: share of a ReLU layer's units without a gradient, at least. Remembered."""

SWINGS = (0.03, 0.2)
"""AutoTrainer, oscillating loss: fall of the accuracy that is a swing, and the share of epochs that swing, at least. Remembered."""

SLOW = 0.01
"""AutoTrainer, slow convergence: gain of accuracy in an epoch, at most. Remembered; that it is the mean gain is chosen here."""

POOR = 0.6
"""AutoTrainer: accuracy above which vanishing, dying and slow convergence are no problems. Remembered."""

FEWEST = 5
"""Epochs from which on swings and slowness are judged. Chosen here."""

UNCHANGED = 0.01
"""DeepLocalize, "model does not learn": share of the loss, and accuracy, that count as no change. Chosen here."""

LIMITS = (-1.0, 1.0)
"""UMLAUT: range that the inputs should keep to. Remembered."""

RATES = (1e-7, 0.01)
"""UMLAUT: common learning rates. Remembered."""

DROPPED = 0.5
"""UMLAUT: dropout from which on it is high. Remembered; that the bound itself counts is chosen here."""

SUSPICIOUS = (0.95, 3)
"""UMLAUT: validation accuracy that is too good within so many epochs. 95 % is remembered; the epochs are chosen here."""

LOW = 0.1
"""UMLAUT: accuracy that is unusually low at the end. Chosen here."""

NAMES = {
    "activation": "hidden-activations",
    "normalization": "layers",
    "clipping": "clipping",
    "initializer": "initialization",
    "rate-down": "learning-rate",
    "rate-up": "learning-rate",
    "optimizer": "optimizer",
    "momentum": "optimizer-parameters",
    "batch": "batch-size",
}
"""The setting that each remedy of AutoTrainer changes."""

REMEDIES = {
    "gradient-vanish": ("activation", "normalization", "initializer"),
    "gradient-explode": ("normalization", "activation", "clipping", "initializer"),
    "dying-relu": ("activation", "normalization", "initializer"),
    "oscillating-loss": ("batch", "rate-down", "momentum", "optimizer"),
    "slow-convergence": ("rate-up", "initializer", "optimizer"),
}
"""AutoTrainer's remedies of each problem. The kinds of remedies are remembered. Their order is chosen here, and so are their sizes:
a rate ten times as large or small, a batch four times as large, gradients of norm 1, momentum 0.9, SELU, He's initializer, Adam."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a monitor said, the settings (in dnnfix's names) that its advice is about, and the layer if it named one."""

    monitor: str
    name: str
    settings: tuple[str, ...]
    layer: str


def watched(folder: Path, program: bytes, python: str, seconds: float = 60.0) -> list[Problem]:
    """What the three monitors say of a program, run to its end or for so many seconds beside the files of its folder."""
    seen = recorded(folder, program, python, seconds)
    return [] if seen is None else [*autotrainer(seen), *deeplocalize(seen), *umlaut(seen)]


def remedied(
    folder: Path,
    program: bytes,
    python: str,
    problems: Sequence[Problem],
    seconds: float,
    skill: Callable[[bytes], float | None],
) -> float | None:
    """The skill after AutoTrainer's remedies; `None` where it saw no problem or could make none go away.

    The remedies of the first problem are tried one after another until it is gone, then, on top of the one that helped, those
    of what is still seen, each problem once. A remedy is a preamble that changes the model in memory, so that `skill` can
    measure the program as it measures any. In torch no normalization is added, only ReLU is replaced, and only a `DataLoader`
    has a batch size to change; in Keras normalization is added to a `Sequential` alone.
    """
    current, tried = program, set[str]()
    names = [problem.name for problem in problems if problem.monitor == "AutoTrainer"]
    while left := [name for name in names if name not in tried]:
        tried.add(left[0])
        for remedy in REMEDIES[left[0]]:
            changed = with_remedy(current, remedy)
            seen = recorded(folder, changed, python, seconds) if changed else None
            found = [problem.name for problem in autotrainer(seen)] if seen is not None else left
            if left[0] not in found:
                current, names = changed, found
                break
    return skill(current) if current != program else None


def with_remedy(program: bytes, remedy: str) -> bytes:
    """The program behind a preamble that applies the remedy; empty where it cannot be applied in that framework."""
    change = _change_keras if is_keras(program) else _change_torch
    if change is _change_torch and remedy == "normalization":
        return b""
    return f"from typing import Any\n{inspect.getsource(change)}\n{change.__name__}({remedy!r})\n".encode() + program


def recorded(folder: Path, program: bytes, python: str, seconds: float) -> Record | None:
    """What is seen of the program's training; `None` where nothing was, be it that it did not start or did not train."""
    with tempfile.TemporaryDirectory(prefix="dnnfix-monitors-") as name:
        space, told = Path(name, "run"), Path(name, "record.json")
        copytree(folder, space, ignore=ignore_patterns("meta.toml", "__pycache__"))
        (space / "program.py").write_bytes(program)
        command = [python, str(Path(__file__).with_name("_watching.py")), "program.py", str(told), str(seconds)]
        try:
            subprocess.run(
                command,
                cwd=space,
                env=environment(MPLBACKEND="Agg"),
                capture_output=True,
                timeout=2 * seconds + 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return read(told.read_text()) if told.exists() else None


def autotrainer(seen: Record) -> list[Problem]:
    """The five training problems of the paper (section III), in the order in which it tells of them (remembered)."""
    found: list[tuple[str, str]] = []
    progress = seen.progress
    is_poor = not progress or progress[-1] <= POOR
    graded = [layer for layer in seen.layers if layer.gradients]
    first, last = (_late(graded[0].gradients), _late(graded[-1].gradients)) if len(graded) > 1 else (1.0, 1.0)
    if is_poor and first <= VANISHED[1] and first <= VANISHED[0] * last:
        found.append(("gradient-vanish", graded[0].name))
    if any(phase != "forward" for phase, _ in seen.errors) or (last > 0 and first >= EXPLODED * last):
        found.append(("gradient-explode", next((layer for phase, layer in seen.errors if phase == "backward"), "")))
    dying = [layer for layer in graded if layer.activation == "relu" and layer.dead and _late(layer.dead) >= DEAD]
    if is_poor and dying:
        found.append(("dying-relu", dying[0].name))
    gains = [after - before for before, after in itertools.pairwise(progress)]
    if len(progress) >= FEWEST and sum(gain <= -SWINGS[0] for gain in gains) >= SWINGS[1] * len(gains):
        found.append(("oscillating-loss", ""))
    if len(progress) >= FEWEST and is_poor and statistics.fmean(gains) <= SLOW:
        found.append(("slow-convergence", ""))
    return [
        Problem("AutoTrainer", name, tuple(dict.fromkeys(NAMES[remedy] for remedy in REMEDIES[name])), layer)
        for name, layer in found
    ]


def _late(values: Sequence[float]) -> float:
    """The median of the last quarter; what is no number has no size and counts as none."""
    last = [value for value in values[-max(1, len(values) // 4) :] if math.isfinite(value)]
    return statistics.median(last) if last else 1.0


def deeplocalize(seen: Record) -> list[Problem]:
    """The first that Algorithm 1 comes to: numerical errors forward, in the loss, backward, in the weights; else no learning.

    The order is remembered. The paper names phase and layer (or hyperparameter), not a setting; which settings a phase
    speaks of is chosen here, generously. "Does not learn" names none.
    """
    weighted = [layer.name for layer in seen.layers if layer.weighted]
    if seen.errors:
        phase, layer = seen.errors[0]
        place = "output" if weighted and layer == weighted[-1] else "hidden-activations"
        settings = {
            "forward": (place, "initialization"),
            "loss": ("loss",),
            "backward": (place, "loss"),
            "weights": ("learning-rate", "optimizer"),
        }
        return [Problem("DeepLocalize", f"error-in-{phase}", settings[phase], layer)]
    if len(seen.losses) > 1:
        loss_stands = seen.losses[-1] >= seen.losses[0] - UNCHANGED * abs(seen.losses[0])
        accuracy_stands = not seen.accuracies or seen.accuracies[-1] <= seen.accuracies[0] + UNCHANGED
        if loss_stands and accuracy_stands:
            return [Problem("DeepLocalize", "does-not-learn", (), "")]
    return []


def umlaut(seen: Record) -> list[Problem]:
    """The heuristics of the paper's table of errors, by data, model and parameters (remembered).

    "Missing softmax" is taken to be about softmax or sigmoid where Keras's losses want one of them, since the programs have binary
    losses too, and about what torch's losses want in their place.
    """
    found: list[tuple[str, tuple[str, ...], str]] = []
    if not (math.isfinite(seen.least) and math.isfinite(seen.most)):
        found.append(("nan-in-input", ("inputs",), ""))
    elif seen.least < LIMITS[0] or seen.most > LIMITS[1]:
        found.append(("input-not-normalized", ("inputs",), ""))
    weighted = [layer for layer in seen.layers if layer.weighted]
    if len(seen.shape) == 4 and weighted and weighted[0].kind.startswith("Conv"):
        channels = 1 if weighted[0].kind.endswith("d") else -1  # torch's Conv2d takes them first
        found += [("input-shape", ("inputs",), "")] if seen.shape[channels] not in (1, 3, 4) else []
    accepted = ("log_softmax",) if seen.wanted == "log_softmax" else ("softmax", "sigmoid")
    if weighted and seen.wanted and weighted[-1].activation not in accepted:
        found.append(("missing-softmax", ("output",), weighted[-1].name))
    bare = [
        layer.name
        for layer in weighted[:-1]
        if layer.kind in ("Dense", "Linear") or layer.kind.startswith("Conv")
        if not layer.activation
    ]
    if bare:
        found.append(("missing-activation", ("hidden-activations",), bare[0]))
    if seen.rate is not None and seen.rate > RATES[1]:
        found.append(("learning-rate-high", ("learning-rate",), ""))
    if seen.rate is not None and seen.rate < RATES[0]:
        found.append(("learning-rate-low", ("learning-rate",), ""))
    dropping = [layer.name for layer in seen.layers if layer.dropped >= DROPPED]
    if dropping:
        found.append(("dropout-high", ("regularization",), dropping[0]))
    if not all(map(math.isfinite, seen.losses)) or any(phase == "loss" for phase, _ in seen.errors):
        found.append(("loss-nan", ("learning-rate", "inputs"), ""))
    # Chosen here: overfitting is a validation loss that ends above its least while the training loss is at its least.
    later = seen.later_losses
    if len(later) >= 3 and later[-1] > later[-2] > later[-3] and seen.losses[-1] <= min(seen.losses):
        found.append(("overfitting", ("regularization",), ""))
    if not later and seen.losses:
        found.append(("no-validation", (), ""))
    if any(accuracy > SUSPICIOUS[0] for accuracy in seen.later_accuracies[: SUSPICIOUS[1]]):
        found.append(("validation-accuracy-high", (), ""))
    if seen.accuracies and max(seen.accuracies) == 0:
        found.append(("accuracy-zero", ("loss", "output", "labels"), ""))
    elif seen.accuracies and seen.accuracies[-1] < LOW:
        found.append(("accuracy-low", ("loss", "output", "labels"), ""))
    return [Problem("UMLAUT", *each) for each in found]


def _change_keras(remedy: str) -> None:
    """Change every model of this process as a remedy says. Stands by itself: its text becomes a preamble."""
    import keras

    compiled, fitted = keras.Model.compile, keras.Model.fit

    def compile_model(self: Any, optimizer: Any = "rmsprop", *given: Any, **named: Any) -> Any:
        optimizer = keras.optimizers.get(optimizer)
        if remedy == "optimizer":
            optimizer = keras.optimizers.Adam()
        elif remedy in ("rate-down", "rate-up"):
            optimizer.learning_rate = float(optimizer.learning_rate) * (0.1 if remedy == "rate-down" else 10.0)
        elif remedy == "momentum" and hasattr(optimizer, "momentum"):
            optimizer.momentum = 0.9
        elif remedy == "clipping":
            optimizer.clipnorm = 1.0
        elif remedy == "normalization" and isinstance(self, keras.Sequential):
            layers = list(self.layers)
            for _ in layers[1:]:  # a model that is left without layers cannot be built
                self.pop()
            for layer in layers:
                if layer is not layers[0]:
                    self.add(layer)
                if layer is not layers[-1] and hasattr(layer, "kernel_initializer"):
                    self.add(keras.layers.BatchNormalization())
        return compiled(self, optimizer, *given, **named)

    def fit(self: Any, *given: Any, **named: Any) -> Any:
        weighted = [layer for layer in self.layers if hasattr(layer, "kernel_initializer")]
        last = self.layers.index(weighted[-1]) if weighted else 0
        for place, layer in enumerate(self.layers):
            if remedy == "activation" and place < last and hasattr(layer, "activation"):
                linear = layer.activation is keras.activations.linear
                layer.activation = layer.activation if linear else keras.activations.selu
            elif remedy == "initializer" and layer in weighted:
                layer.kernel_initializer = keras.initializers.HeNormal()
                if layer.built and hasattr(layer, "kernel"):
                    layer.kernel.assign(layer.kernel_initializer(layer.kernel.shape))
        if remedy == "batch" and len(given) < 3:
            named["batch_size"] = 4 * (named.get("batch_size") or 32)
        return fitted(self, *given, **named)

    keras.Model.compile, keras.Model.fit = compile_model, fit


def _change_torch(remedy: str) -> None:
    """Change the training of this process as a remedy says. Stands by itself: its text becomes a preamble."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook as before_step

    begin = torch.optim.Optimizer.__init__
    load = torch.utils.data.DataLoader.__init__
    adam = torch.optim.Adam

    def begin_changed(self: Any, parameters: Any, defaults: Any) -> None:
        if remedy in ("rate-down", "rate-up"):
            defaults["lr"] = defaults["lr"] * (0.1 if remedy == "rate-down" else 10.0)
        elif remedy == "momentum" and "momentum" in defaults:
            defaults["momentum"] = 0.9
        begin(self, parameters, defaults)
        if remedy == "initializer":
            for group in self.param_groups:
                for weight in group["params"]:
                    if weight.dim() > 1:
                        torch.nn.init.kaiming_normal_(weight)

    def load_changed(self: Any, dataset: Any, batch_size: int = 1, *given: Any, **named: Any) -> None:
        load(self, dataset, 4 * batch_size if batch_size else batch_size, *given, **named)

    def clip(optimizer: Any, *_: object) -> None:
        for group in optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)

    torch.optim.Optimizer.__init__ = begin_changed
    if remedy == "optimizer":
        for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "AdamW"):
            setattr(torch.optim, name, lambda params, *_, **__: adam(params))
    elif remedy == "batch":
        torch.utils.data.DataLoader.__init__ = load_changed
    elif remedy == "clipping":
        before_step(clip)
    elif remedy == "activation":
        torch.nn.ReLU = torch.nn.SELU
        torch.relu = torch.Tensor.relu = torch.nn.functional.relu = lambda input, *_, **__: torch.selu(input)
