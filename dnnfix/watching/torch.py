"""Watches a torch training: hooks for `backward` and the optimizers, and in the steps looked at for modules and losses.

In most steps it counts the optimizer's step and reads the loss, which takes about a microsecond each. Modules have hooks, and the functions
of losses are wrapped, for the single steps that are looked at, since every hook slows all calls.
"""

from __future__ import annotations

import math
import sys
import time
import weakref
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
import torch as _torch

from dnnfix.errors import ConfigError
from dnnfix.records import Json
from dnnfix.run.probe.guard import Patches
from dnnfix.run.probe.measures.units import is_activation
from dnnfix.run.probe.torch.skill import Skill, class_count, norms_of, output_spreads
from dnnfix.run.probe.torch.targets import Targets
from dnnfix.run.probe.torch.values import as_numpy, tensors_in
from dnnfix.validate.symptoms import ENOUGH_TO_TELL
from dnnfix.watching.monitor import Look
from dnnfix.watching.outlets import LOGGER
from dnnfix.watching.pace import now, since
from dnnfix.watching.places import Program, program_of
from dnnfix.watching.session import Watch, Wishes

torch: Any = _torch

MOST_LAYERS = 64
"""Modules whose outputs are looked at."""

MOST_ROWS = 64
MOST_NUMBERS = 1 << 16
"""Rows, and numbers of them, that are looked at of the output of a module."""

MOST_WEIGHTS = 128
"""Weights whose updates are looked at, evenly spread over the model."""

MOST_INDIRECT = 10.0
"""How many times of what hooks take themselves a step that is looked at may be longer by their doing: what is beyond is the program's own, as an evaluation is."""

MOST_WAITING = 32
"""Losses that wait on a device until they are read: that waits for the device."""

PIECE = 1 << 16
"""Elements of each of them that are kept for it."""

_HERE = torch.__path__[0]


def watched(model: Any, wishes: Wishes) -> TorchWatch:
    """Begin to watch the training of a module. Raises `ConfigError` where it is none, or one of Keras."""
    if any(base.__module__.startswith("keras.") for base in type(model).__mro__):
        raise ConfigError("A model of Keras trains in `fit`: give that callbacks=[dnnfix.keras.WatchCallback()].")
    if not isinstance(model, torch.nn.Module):
        raise ConfigError(f"dnnfix.watch takes a torch.nn.Module. Received: {type(model).__name__}")
    return TorchWatch(model, wishes, program_of(model))


class TorchWatch(Watch):
    """The watch of one module."""

    framework = "torch"

    def __init__(self, model: Any, wishes: Wishes, program: Program) -> None:
        super().__init__(model, type(model).__name__, wishes, program)
        self._model = weakref.proxy(model)
        self._goes = weakref.finalize(model, self.close)
        self._goes.atexit = True
        self._modules = [(path, module) for path, module in model.named_modules() if path]
        self._modules = [(path, weakref.ref(module)) for path, module in self._modules]
        self._is_compiled = any(_is_compiled(module) for module in model.modules())
        self._holds: dict[int, tuple[Any, int, bool]] = {}
        self._own: dict[int, str] = {}
        self._skill = Skill()
        self._others = 0
        self._later: list[tuple[int, list[Any]]] = []
        """Steps whose losses are not read yet."""
        self._armed: _Armed | None = None
        self._usual: float | None = None
        self._begun = 0.0
        self._counted: tuple[Any, int] = (None, -1)
        """The optimizer whose step was counted last, and the number of the backward pass that led to it."""
        self._name_weights()
        _hub.add(self)

    # Each step

    def stepped(self, optimizer: Any, losses: list[Any], number: int, is_first: bool) -> None:
        """An optimizer took a step; `losses` are those of the backward passes that led to it, which have that number.

        `is_first` is whether no other optimizer stepped since them.
        """
        known = self._holds.get(id(optimizer))
        if known is None or known[1] != len(optimizer.param_groups):
            known = self._entered(optimizer)
        if not known[2]:
            self._other_stepped(is_first)
            return
        ended = time.perf_counter()
        monitor, pace = self._monitor, self._pace
        last, led_to = self._counted
        if optimizer is not last:
            if led_to == number:
                return  # another optimizer of the same step
            monitor.in_turns = monitor.in_turns or (is_first and last is not None)
        self._counted = (optimizer, number)
        if not losses or isinstance(losses[0], float):
            loss = _mean(losses) if losses else None
            if not monitor.took(loss) and not monitor.broken:
                self._broke(loss, monitor.step)
        else:
            monitor.took(None)
            self._later.append((monitor.step, losses))
            if len(self._later) >= MOST_WAITING or self._armed is not None:
                self._settle()
        if self._armed is not None:
            self._measure(optimizer, ended)
        elif self._begun:
            took = ended - self._begun
            self._usual = took if self._usual is None else 0.9 * self._usual + 0.1 * min(took, 4 * self._usual)
            if not monitor.step % 64:
                _hub.every = _read_every(self._usual)
        if monitor.step + 1 >= pace.next and pace.has_time(monitor.step):
            self._arm()
        self._begun = time.perf_counter()
        if self.stopped:
            self._end_if_stopped()

    def _entered(self, optimizer: Any) -> tuple[Any, int, bool]:
        held = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
        if len(self._own) != sum(1 for _ in self._model.parameters()):
            self._name_weights()
        known = (optimizer, len(optimizer.param_groups), not held.isdisjoint(self._own))
        self._holds[id(optimizer)] = known
        return known

    def _name_weights(self) -> None:
        self._own = {id(weight): name for name, weight in self._model.named_parameters()}

    def _other_stepped(self, is_first: bool) -> None:
        """An optimizer stepped that holds none of the model's weights."""
        holders = [one for one, _, holds in self._holds.values() if holds]
        if holders:
            self._monitor.in_turns = self._monitor.in_turns or is_first
            return
        self._others += 1
        if self._others == ENOUGH_TO_TELL:
            reached = sum(weight.grad is not None and weight.requires_grad for weight in self._model.parameters())
            if reached:
                self._monitor.not_held(len(self._own), self._others)

    def _settle(self) -> None:
        """Read the losses that wait on a device, all at once."""
        begun = now()
        means = torch.stack([torch.stack(losses).float().mean() for _, losses in self._later]).tolist()
        for (step, _), loss in zip(self._later, means, strict=True):
            if not self._monitor.knew(step, loss) and not self._monitor.broken:
                self._broke(loss, step)
        self._later = []
        self._pace.also(since(begun))

    def _broke(self, loss: float | None, step: int) -> None:
        lost = [name for name, weight in self._model.named_parameters() if not bool(torch.isfinite(weight).all())]
        numbers: dict[str, Json] = {"loss": str(loss), "not_finite": len(lost), "of": len(self._own)}
        self._monitor.loss_broke(lost[0] if lost else "", numbers, step)

    # Looks

    def _arm(self) -> None:
        """Have the next step looked at."""
        self._armed = _Armed(self)

    def _measure(self, optimizer: Any, ended: float) -> None:
        """The step that was looked at is over: what it showed."""
        armed, self._armed = self._armed, None
        if armed is None:
            return
        armed.disarm()
        begun = now()
        try:
            with torch.no_grad():
                look = self._look(optimizer, armed)
                self._layers_looked({name: look.gradients[name] for name in look.matrices if name in look.gradients})
            self._monitor.looked(look)
        except Exception as error:  # noqa: BLE001 - whatever the model is, its training goes on
            _tell_failed(error)
        # What hooks cost is more than what they do: every call of a module, and of a function, takes longer.
        wall, processor = since(begun)
        slower = ended - self._begun - self._usual if self._usual is not None else 0.0
        worked = begun[1] - armed.begun[1] - self._pace.step_takes(self.steps)
        wall += max(armed.seconds, min(slower, MOST_INDIRECT * armed.seconds))
        processor += max(armed.seconds, min(worked, MOST_INDIRECT * armed.seconds))
        self._pace.looked(self.steps, (wall, processor))
        self._ask_learners()

    def _look(self, optimizer: Any, armed: _Armed) -> Look:
        weights = [(name, weight) for name, weight in self._model.named_parameters() if weight.requires_grad]
        gradients = [(name, weight.grad) for name, weight in weights if weight.grad is not None]
        look = Look(gradients=_sizes(gradients), weights=_sizes(weights))
        look.matrices = frozenset(name for name, weight in weights if weight.dim() >= 2)
        look.updates = armed.updates()
        look.rates = tuple(
            (type(one).__name__, float(one.param_groups[0]["lr"]))
            for one, _, holds in self._holds.values()
            if holds and "lr" in one.param_groups[0]
        )
        pair = armed.targets.take()
        inputs = [as_numpy(item) for item in armed.inputs]
        if inputs:
            look.batch = zlib.crc32(numpy.ascontiguousarray(inputs[0][:256]).tobytes())
            look.batches = _hub.batches(self.steps)
        if pair is not None and pair[0].dim() and pair[0].numel() <= 64 * MOST_NUMBERS:
            (look.skill,) = self._skill.of_many([pair])
            (look.spread,) = output_spreads([pair])
            classes = class_count(pair) if not self._examples.full and inputs else None
            if classes is not None and sum(item.size for item in inputs) <= 64 * MOST_NUMBERS:
                self._examples.add(inputs, as_numpy(pair[1]), classes or None)
        return look

    def _layers(self) -> Iterator[tuple[str, Any]]:
        """The modules whose outputs are looked at: those that contain no others, evenly spread where there are many."""
        known = [(path, found) for path, module in self._modules if (found := module()) is not None]
        leaves = [(path, module) for path, module in known if next(module.children(), None) is None]
        yield from leaves[:: -(-len(leaves) // MOST_LAYERS) or 1]

    def _attribute(self, owner: Any, name: str, default: Any) -> Any:
        modules = getattr(owner, "_modules", {})
        return modules.get(name, default)

    def _detach(self) -> None:
        if self._armed is not None:
            self._armed.disarm()
            self._armed = None
        if self._later and self._goes.alive:
            self._settle()
        self._goes.detach()
        _hub.remove(self)
        self._holds.clear()


class _Armed:
    """The hooks of one step that is looked at, and what they measured."""

    def __init__(self, watch: TorchWatch) -> None:
        self.inputs: list[Any] = []
        self.targets = Targets()
        self.seconds = 0.0
        """Seconds that the hooks took."""
        self._watch = watch
        self._patches = Patches()
        self._handles: list[Any] = []
        self._mode: Any = None
        self._outermost: Any = None
        self._own: set[int] = set()
        self._before: list[tuple[str, Any, Any]] = []
        self._layers: dict[int, str] = {}
        alive = watch._goes.peek()
        self.begun = now()
        self._root: Any = alive[0] if alive is not None and not watch._is_compiled else None
        begun = time.perf_counter()
        optimizer: Any = sys.modules["torch.optim.optimizer"]
        self._handles.append(optimizer.register_optimizer_step_pre_hook(self._before_step))
        if self._root is not None:
            # Hooks of the modules themselves would be copied and pickled with them.
            modules: Any = torch.nn.modules.module
            self.targets.install(self._patches)
            self._patches.put(torch, "save", self._wrap_save)
            self._own = {id(module) for module in self._root.modules()}
            self._layers = {id(module): path for path, module in watch._layers()}
            self._handles.append(modules.register_module_forward_pre_hook(self._enters))
            self._handles.append(modules.register_module_forward_hook(self._leaves, with_kwargs=True, always_call=True))
        self.seconds += time.perf_counter() - begun

    def disarm(self) -> None:
        """Take all hooks away."""
        begun = time.perf_counter()
        self._end_of_call()
        self._root = None
        self._patches.undo()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.seconds += time.perf_counter() - begun

    def updates(self) -> Mapping[str, float]:
        """By how much the step changed each weight that was kept."""
        changed = [(name, _piece(weight) - before) for name, weight, before in self._before]
        return _sizes(changed)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        begun = time.perf_counter()
        own = self._watch._own
        held = [(own[id(one)], one) for group in optimizer.param_groups for one in group["params"] if id(one) in own]
        held = [(name, weight) for name, weight in held if weight.requires_grad]
        with torch.no_grad():
            for name, weight in held[:: -(-len(held) // MOST_WEIGHTS) or 1]:
                self._before.append((name, weight, _piece(weight).clone()))
        self.seconds += time.perf_counter() - begun

    def _enters(self, module: Any, args: Any) -> None:
        if self._outermost is None and id(module) in self._own and torch.is_grad_enabled():
            self._outermost = module  # the model itself, but where a trainer calls parts of it
            self._mode = _Activations(self)
            self._mode.__enter__()

    def _leaves(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        if module is self._outermost:
            self._end_of_call()
            if torch.is_grad_enabled() and not self.inputs:
                self.inputs = [item.detach() for item in tensors_in([list(args), kwargs])]
        path = self._layers.get(id(module))
        if path is not None:
            self.gave(path, type(module).__name__, None, output)

    def _end_of_call(self) -> None:
        if self._mode is not None:
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)
        self._outermost = None

    def _wrap_save(self, original: Any) -> Any:
        """What is kept by `pickle` may hold the function of a loss, which it looks for where it is not, as long as it is wrapped."""

        def save(*args: Any, **kwargs: Any) -> Any:
            self._patches.undo()
            return original(*args, **kwargs)

        return save

    def gave(self, key: Any, name: str, line: int | None, output: Any) -> None:
        """A module or a function gave something in the step that is looked at."""
        begun = time.perf_counter()
        try:
            first = next(tensors_in(output), None)
            if first is not None and first.requires_grad and first.is_floating_point() and first.dim() >= 2:
                with torch.no_grad():
                    rows = max(2, min(MOST_ROWS, MOST_NUMBERS // max(1, math.prod(first.shape[1:]))))
                    site = None if line is None else [line]
                    units, few = self._watch._units, as_numpy(first[:rows])
                    units.gave(self._watch.steps + 1, key, name, site, few)
                    self._watch._paths.setdefault(key, key if isinstance(key, str) else "")
        except Exception as error:  # noqa: BLE001 - whatever a layer gives, its training goes on
            _tell_failed(error)
        self.seconds += time.perf_counter() - begun


class _Activations(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Sees the activations that a model calls as functions: those of modules have hooks."""

    def __init__(self, armed: _Armed) -> None:
        super().__init__()
        self._armed = armed

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if is_activation(name):
            frame: Any = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith(_HERE):
                if frame.f_code.co_filename.endswith("activation.py"):
                    return output
                frame = frame.f_back
            if frame is not None:
                file, line = frame.f_code.co_filename, frame.f_lineno
                started = self._armed._watch._program.file
                self._armed.gave((file, line, frame.f_lasti), name, line if file == started else None, output)
        return output


class _Hub:
    """What all watches of the process share: the hooks for `backward`, for every optimizer, and for data loaders."""

    def __init__(self) -> None:
        self._watches: tuple[TorchWatch, ...] = ()
        self._patches = Patches()
        self._hook: Any = None
        self._losses: list[Any] = []
        self._number = 0
        self.every = 1
        """Of how many steps the loss of one is read: reading takes microseconds."""
        self._used = False
        self._within = False
        self._scaled: tuple[Any, Any] = (None, None)
        self._loader: Any = None
        self._begun = 0

    def add(self, watch: TorchWatch) -> None:
        """Watch one more."""
        if not self._watches:
            optimizer: Any = sys.modules["torch.optim.optimizer"]
            self._losses, self._used, self._begun, self._loader = [], False, 0, None
            self.every = 1
            self._hook = optimizer.register_optimizer_step_post_hook(self._after_step)
            self._patches.put(torch.autograd, "backward", self._wrap_backward)
            self._patches.put(torch.amp.GradScaler, "scale", self._wrap_scale)
            self._patches.put(torch.utils.data.DataLoader, "__iter__", self._wrap_iter)
        self._watches = (*self._watches, watch)

    def remove(self, watch: TorchWatch) -> None:
        """Watch one less; without any all hooks are gone."""
        self._watches = tuple(one for one in self._watches if one is not watch)
        if not self._watches and self._hook is not None:
            self._hook.remove()
            self._patches.undo()
            self._hook, self._loader, self._losses, self._scaled = None, None, [], (None, None)

    def batches(self, steps: int) -> int | None:
        """How many batches the data have where their loader is begun anew for about every step; `None` elsewhere."""
        try:
            return len(self._loader) if self._loader is not None and 2 * self._begun > steps else None
        except TypeError:
            return None

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within:
                return original(tensors, *args, **kwargs)
            self._within = True
            try:
                result = original(tensors, *args, **kwargs)
            finally:
                self._within = False
            if self._used:
                self._losses, self._used = [], False
                self._number += 1
            if self._number % self.every and not any(watch._armed for watch in self._watches):
                return result
            if isinstance(tensors, torch.Tensor) and tensors.numel() == 1:
                loss = self._scaled[1] if tensors is self._scaled[0] else tensors
                self._losses.append(float(loss.item()) if _is_read_at_once(loss) else loss.detach().reshape(()))
            return result

        return backward

    def _wrap_scale(self, original: Any) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            self._scaled = (result, outputs) if isinstance(outputs, torch.Tensor) else (None, None)
            return result

        return scale

    def _wrap_iter(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:
            self._loader = loader
            self._begun += 1
            return original(loader)

        return __iter__

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        is_first, self._used = not self._used, True
        for watch in self._watches:
            watch.stepped(optimizer, self._losses, self._number, is_first)


_hub = _Hub()
_failed: set[str] = set()


def _tell_failed(error: Exception) -> None:
    said = f"dnnfix: a look failed: {type(error).__name__}: {str(error)[:200]}"
    if said not in _failed:
        _failed.add(said)
        LOGGER.info(said)


def _is_read_at_once(loss: Any) -> bool:
    """Whether a loss is read without waiting for a device."""
    return bool(loss.is_cpu)


def _read_every(seconds: float) -> int:
    """Of how many steps the loss of one is read, where a step takes so long."""
    return 16 if seconds < 0.0006 else 4 if seconds < 0.002 else 1


def _mean(losses: list[Any]) -> float:
    """The mean of the losses of one step: those of the parts that a batch was accumulated of."""
    return math.fsum(losses) / len(losses) if len(losses) > 1 else float(losses[0])


def _piece(weight: Any) -> Any:
    """The first elements of a weight, as a vector."""
    return weight.detach().reshape(-1)[:PIECE].float()


def _sizes(named: list[tuple[str, Any]]) -> dict[str, float]:
    """The root mean squares of tensors; one that leaves the range of its type as a norm is not finite only if an element is not."""
    kept = [(name, tensor) for name, tensor in named if tensor.numel() and not tensor.is_complex()]
    norms = norms_of([tensor.detach() for _, tensor in kept])
    values = torch.stack([norm.float().to(norms[0].device) for norm in norms]).tolist() if norms else []
    sizes = {}
    for (name, tensor), value in zip(kept, values, strict=True):
        if not math.isfinite(value) and bool(torch.isfinite(tensor).all()):
            value = float(tensor.double().norm())
        sizes[name] = value / math.sqrt(tensor.numel())
    return sizes


def _is_compiled(module: Any) -> bool:
    """Whether a module is compiled, or scripted: hooks would have it compiled anew for each look."""
    compiled = getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")
    return compiled or isinstance(module, torch.jit.ScriptModule)
