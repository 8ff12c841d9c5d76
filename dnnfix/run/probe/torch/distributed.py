"""What the ranks of a torch program do that joins a process group, and what makes the group one on the CPU.

`nccl` becomes `gloo`, and what `mp.spawn` would start runs in the rank itself. Recorded are batches that enter
`DistributedDataParallel`, parameters after the first steps, passes over a `DistributedSampler`, and files that are saved.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from typing import Any, Dict, List, Optional

import torch as _torch

from .. import sites, wire
from ..program import ranks
from .quiet import Patches, Quiet, guarded
from .values import tensors_in

torch: Any = _torch

COLLECTIVES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "barrier", "broadcast",
    "broadcast_object_list", "gather", "gather_object", "monitored_barrier", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list",
)  # fmt: skip
"""Functions of `torch.distributed` that every rank of the group has to call."""
_FIRST = 8
"""So many batches and steps are compared."""


class Distributed:
    """The watcher of one rank."""

    def __init__(self) -> None:
        self.joined = False
        self._left = False
        self._groups = 0
        self._batches: List[float] = []
        self._parameters: List[float] = []
        self._samplers: List[Dict[str, Any]] = []
        self._by_sampler: Any = weakref.WeakKeyDictionary()
        self._saved: Dict[str, Any] = {}
        self._hook: Any = None

    def install(self, patches: Patches) -> None:
        """Watch, and lead to the CPU, what concerns several ranks."""
        if not torch.distributed.is_available():
            return
        for module in (torch.distributed, sys.modules["torch.distributed.distributed_c10d"]):
            patches.put(module, "init_process_group", self._init)
            patches.put(module, "destroy_process_group", self._destroy)
        patches.put(torch.multiprocessing, "spawn", _spawn)
        patches.put(torch.cuda, "device_count", lambda original: lambda: ranks.WORLD)
        patches.put(torch.nn.SyncBatchNorm, "convert_sync_batchnorm", lambda original: lambda module, *_: module)
        for name in COLLECTIVES:
            if hasattr(torch.distributed, name):
                patches.put(torch.distributed, name, functools.partial(_announced, name))
        wrapper = torch.nn.parallel.DistributedDataParallel
        patches.put(wrapper, "__init__", _on_cpu)
        patches.put(wrapper, "forward", self._forward)
        sampler = torch.utils.data.distributed.DistributedSampler
        patches.put(sampler, "__init__", self._sampler_made)
        patches.put(sampler, "__iter__", self._sampler_iterated)
        patches.put(torch, "save", self._save)
        optimizer: Any = sys.modules["torch.optim.optimizer"]
        self._hook = optimizer.register_optimizer_step_post_hook(self._stepped)

    def finish(self) -> None:
        """The program is over, and nothing is patched any more: its networks are called without the group from now on."""
        if self._hook is not None:
            self._hook.remove()
            torch.nn.parallel.DistributedDataParallel.forward = _of_the_module

    def facts(self) -> Dict[str, Any]:
        """What this rank recorded."""
        return {
            "joined": self.joined, "batches": self._batches, "parameters": self._parameters,
            "samplers": self._samplers, "saved": self._saved,
        }  # fmt: skip

    def compared(self, other: Dict[str, Any]) -> Dict[str, Any]:
        """What the ranks show together; `other` are the facts of rank 1."""
        batches = list(zip(self._batches, other.get("batches", ())))
        steps = list(zip(self._parameters, other.get("parameters", ())))
        differing = [
            n for n, (one, two) in enumerate(steps, 1) if abs(one - two) > 1e-6 * max(abs(one), abs(two), 1e-9)
        ]
        saved = [{"site": site, "path": path} for path, site in self._saved.items() if path in other.get("saved", {})]
        return {
            "same_batches": len({one for one, _two in batches}) > 1 and all(one == two for one, two in batches),
            "steps_compared": len(steps),
            "differ_after_step": differing[0] if differing else None,
            "samplers": self._samplers,
            "saved_by_all": [] if not other else saved,
        }

    # The group

    def _init(self, original: Any) -> Any:
        @functools.wraps(original)
        def init_process_group(backend: Any = None, *args: Any, **given: Any) -> Any:
            own = given.get("rank", args[3] if len(args) > 3 else None)
            if own not in (None, -1, ranks.rank):
                ranks.astray()
            kept = {name: value for name, value in given.items() if name in ("timeout", "group_name")}
            if self._left:
                self._left = False
                torch.distributed.distributed_c10d.destroy_process_group.__wrapped__()
            # Ranks that meet in a file need no names of hosts, which a sandbox does not have.
            meeting = "file://%s" % os.path.join(os.environ.get("TMPDIR", "/tmp"), "ranks-%d" % self._groups)
            _comes_to("init_process_group")
            made = original("gloo", rank=ranks.rank, world_size=ranks.WORLD, init_method=meeting, **kept)
            self._groups += 1
            self.joined = True
            return made

        return init_process_group

    def _destroy(self, original: Any) -> Any:
        @functools.wraps(original)
        def destroy_process_group(group: Any = None) -> None:
            # A rank that left would end the other's waiting by an error, instead of the hang that it is on GPUs.
            if group is None:
                self._left = True
            else:
                original(group)

        return destroy_process_group

    # What enters, and what becomes of it

    def _forward(self, original: Any) -> Any:
        @functools.wraps(original)
        def forward(wrapper: Any, *inputs: Any, **named: Any) -> Any:
            if Quiet.depth:
                return _of_the_module(wrapper, *inputs, **named)
            if torch.is_grad_enabled() and wrapper.training:
                _comes_to("forward")
                self._entered(inputs, named)
            elif wrapper.modules_buffers:  # which are sent from rank to rank
                _comes_to("evaluation")
            return original(wrapper, *inputs, **named)

        return forward

    @guarded
    def _entered(self, inputs: Any, named: Dict[str, Any]) -> None:
        if len(self._batches) < _FIRST:
            with Quiet():
                self._batches.append(_fingerprint(tensors_in([inputs, named])))

    @guarded
    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.joined:
            ranks.withdraw()
        if self.joined and not Quiet.depth and len(self._parameters) < _FIRST:
            with Quiet():
                held = [each for group in optimizer.param_groups for each in group["params"]]
                self._parameters.append(_fingerprint(held))
        for seen in self._samplers:
            seen["trained"] = seen["trained"] or seen["under_way"]

    # Samplers

    def _sampler_made(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(
            sampler: Any, dataset: Any, num_replicas: Any = None, rank: Any = None, *args: Any, **given: Any
        ) -> None:
            if self.joined and num_replicas is not None and num_replicas < ranks.WORLD:
                num_replicas, rank = ranks.WORLD, ranks.rank  # the program was not told how many there are
            original(sampler, dataset, num_replicas, rank, *args, **given)
            self._add(sampler)

        return __init__

    @guarded
    def _add(self, sampler: Any) -> None:
        seen = {
            "site": sites.caller_site(), "shuffle": bool(sampler.shuffle), "epochs": [], "trained": False, "under_way": False,
        }  # fmt: skip
        self._samplers.append(seen)
        self._by_sampler[sampler] = seen

    def _sampler_iterated(self, original: Any) -> Any:
        @functools.wraps(original)
        def __iter__(sampler: Any) -> Any:
            self._begun(sampler)
            return original(sampler)

        return __iter__

    @guarded
    def _begun(self, sampler: Any) -> None:
        for seen in self._samplers:
            seen["under_way"] = False
        seen = self._by_sampler.get(sampler)
        if seen is not None:
            seen["epochs"].append(int(sampler.epoch))
            seen["under_way"] = True

    # Files

    def _save(self, original: Any) -> Any:
        @functools.wraps(original)
        def save(obj: Any, f: Any, *args: Any, **given: Any) -> Any:
            result = original(obj, f, *args, **given)
            if isinstance(f, (str, os.PathLike)):
                self._saved.setdefault(os.path.relpath(os.path.abspath(os.fspath(f))), sites.caller_site())
            return result

        return save


def _announced(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def collective(*args: Any, **given: Any) -> Any:
        if given.get("group") is None and not Quiet.depth:
            _comes_to(name)
        return original(*args, **given)

    return collective


@guarded
def _comes_to(name: str) -> None:
    ranks.reached(name, sites.caller_site())


def _of_the_module(wrapper: Any, *inputs: Any, **named: Any) -> Any:
    return wrapper.module(*inputs, **named)


def _spawn(original: Any) -> Any:
    @functools.wraps(original)
    def spawn(fn: Any, args: Any = (), *rest: Any, **given: Any) -> Optional[Any]:
        fn(ranks.rank, *args)
        return None

    return spawn


def _on_cpu(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(
        wrapper: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **given: Any
    ) -> None:
        original(wrapper, module, None, None, *args, **given)

    return __init__


def _fingerprint(tensors: Any) -> float:
    """A number that tells values apart, and is equal for equal ones."""
    total = 0.0
    for number, tensor in enumerate(tensors):
        flat = tensor.detach().reshape(-1)[:4096].to(torch.float64)
        weights = torch.arange(1, flat.numel() + 1, dtype=torch.float64, device=flat.device).sqrt()
        total += (number + 1) * float((flat * weights).sum())
    return total


@guarded
def tell(watcher: Distributed) -> None:
    """Write what the ranks show together, where both joined the group."""
    if ranks.rank == 0:
        other = ranks.of_the_other().get("rank") or {}
        if watcher.joined and other.get("joined"):
            wire.emit("probe", name="ranks", value=watcher.compared(other))
