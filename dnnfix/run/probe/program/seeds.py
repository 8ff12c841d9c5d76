"""Seeds the random generators of Python, NumPy, torch, Keras and TensorFlow, so that a run can be repeated."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any, List


def plant(seed: int, frameworks: List[str]) -> None:
    """Seed the imported libraries; the program's own seeds, set later, are left alone."""
    random.seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        _numpy(numpy, seed)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
    for name in frameworks:
        module: Any = sys.modules.get(name)
        if name in ("keras", "tensorflow") and module is not None and not _imports_tensorflow(module):
            utilities: Any = getattr(getattr(module, "keras", module), "utils", None)
            if hasattr(utilities, "set_random_seed"):
                utilities.set_random_seed(seed % 2**32)
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is not None and hasattr(tensorflow, "Graph"):
        _graphs(tensorflow.Graph, seed % 2**31)


def _graphs(graph: Any, seed: int) -> None:
    """A graph that is built and then run in sessions draws from a seed of its own, which nothing but the graph has."""
    original = graph.__init__

    @functools.wraps(original)
    def begin(made: Any, *args: Any, **named: Any) -> None:
        original(made, *args, **named)
        made.seed = seed

    graph.__init__ = begin


def _imports_tensorflow(module: Any) -> bool:
    """Whether Keras would import TensorFlow to seed it, for seconds, where nothing has imported it.

    On another backend Keras draws from the sources that are seeded already: Python's for the seeds of layers and of its
    own generator, and the backend's.
    """
    backend: Any = getattr(getattr(module, "backend", None), "backend", None)
    return "tensorflow" not in sys.modules and callable(backend) and backend() == "torch"


def _numpy(numpy: Any, seed: int) -> None:
    """Also for generators that the program makes without a seed: they would take one from the system."""
    numpy.random.seed(seed % 2**32)
    made = [0]
    original = numpy.random.default_rng

    def default_rng(seed_given: Any = None, *rest: Any, **named: Any) -> Any:
        given = named.pop("seed", seed_given)
        if given is None:
            made[0] += 1
            given = [seed % 2**32, made[0]]
        return original(given, *rest, **named)

    default_rng.__doc__ = original.__doc__
    numpy.random.default_rng = default_rng
