"""Replays cases: has each repaired blind, has the result judged, and stores every result as it comes."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import dnnfix
from dnnfix import index
from dnnfix.bench.assessment import Arm, Assessed, Assignment, assignments
from dnnfix.bench.cases import Case
from dnnfix.bench.executors import Executor
from dnnfix.bench.oracle import KERAS_BACKEND
from dnnfix.bench.store import Store, engine, hash_of
from dnnfix.config import Settings
from dnnfix.run.interpreter import versions
from dnnfix.run.job import Tier


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts of equal chance; a case is always in the same one, whatever else was selected."""

    number: int = 1
    count: int = 1

    def holds(self, id: str) -> bool:
        """Whether the case is in this part."""
        place = int.from_bytes(blake2b(id.encode(), digest_size=8).digest())
        return place % self.count == self.number - 1


def read_shard(text: str) -> Shard:
    """The shard that `i/n` names. Raises `ValueError`."""
    number, slash, count = text.partition("/")
    if not slash or not number.isdecimal() or not count.isdecimal() or not 1 <= int(number) <= int(count):
        raise ValueError(f"a shard is i/n with 1 <= i <= n, as in 1/4. Received: {text}")
    return Shard(int(number), int(count))


def surroundings(settings: Settings, tier: Tier) -> dict[str, str]:
    """What results depend on besides the assignment: the engine's files, other packages with rules, the versions, and how programs are run."""
    known = versions(Path(settings.python))
    return {
        "engine": engine(),
        "dnnfix": dnnfix.__version__,
        "sandbox": tier.value,
        "device": settings.device,
        "keras backend": KERAS_BACKEND,
        "rules of packages": ", ".join(index.entry_points()) or "none",
        "seed": str(settings.seed),
        **({"proposer": settings.model.named} if settings.proposer else {}),
        **{name: known[name] for name in sorted(known)},
    }


def machine() -> dict[str, str]:
    """What kind of machine this is, without its name: results do not depend on it, times do."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"machine": f"{platform.system()} {platform.machine()}, {cores} cores"}


def planned(cases: Iterable[Case], budget: float, arms: Sequence[Arm], model: str = "") -> Iterator[Assignment]:
    """The assignments of cases, those of one case one after the other. Raises `InputError` for a diff that does not apply."""
    for case in cases:
        yield from assignments(case, budget, arms, model)


def replay(
    wanted: Sequence[Assignment],
    around: Mapping[str, str],
    store: Store,
    caches: Sequence[Store],
    executor: Executor,
    progress: Callable[[int, Assessed | None], None],
) -> None:
    """Bring every assignment to a result in the store.

    A result that is there, or in one of the caches, under the same hash is taken as it is; one that failed is made
    again. `progress` is called with the number done and the newest result.
    Whenever this is stopped, what was done is kept.
    """
    pending: list[tuple[str, Assignment]] = []
    done = 0
    for assignment in wanted:
        key = hash_of(assignment, around)
        known = store.get(key)
        if known is None or known.failed:
            known = next((found for cache in caches if (found := cache.get(key)) and not found.failed), None)
            if known is not None:
                store.put(key, known)
        if known is None:
            pending.append((key, assignment))
        else:
            done += 1
    progress(done, None)
    keys = {(assignment.case, assignment.arm): key for key, assignment in pending}
    for assignment, found in executor.run([assignment for _, assignment in pending]):
        key = keys[assignment.case, assignment.arm]
        store.put(key, found)
        for cache in caches:
            if not found.failed:
                cache.put(key, found)
        done += 1
        progress(done, found)
