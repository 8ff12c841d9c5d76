"""Reads constructor and function signatures from the installed frameworks.

`python tests/network/read_signatures.py` writes `dnnfix/network/signatures.json` anew; a test compares that file with
what is installed.
"""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "dnnfix" / "network" / "signatures.json"
PLAIN = (bool, int, float, str, type(None))


def plain(value: Any) -> bool:
    """Whether a default can be written as JSON and means the same when it is read back."""
    if isinstance(value, (tuple, list)):
        return all(plain(v) for v in value)
    return isinstance(value, PLAIN) and (not isinstance(value, float) or math.isfinite(value))


def describe(target: Any, skip: int = 0) -> list[Any] | None:
    """`[positional parameters, keyword-only parameters, {parameter: default}]`, or `None` where it cannot be told."""
    try:
        parameters = list(inspect.signature(target).parameters.values())[skip:]
    except (TypeError, ValueError):
        return None
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    private = {p.name for p in parameters if p.name.startswith("_")}
    given = [p for p in parameters if p.default is not p.empty and p.name not in private]
    default = {p.name: p.default for p in given if plain(p.default)}
    return [positional, keyword, default] if positional or keyword else None


def targets() -> Iterator[tuple[str, Any, int]]:
    """Canonical name, object, and how many leading parameters to skip."""
    import keras
    import torch
    from torch import nn, optim
    from torch.nn import functional as F
    from torch.optim import lr_scheduler
    from torch.utils.data import DataLoader, TensorDataset

    for name in sorted(vars(nn)):
        thing = getattr(nn, name)
        if isinstance(thing, type) and issubclass(thing, nn.Module):
            if name in ("RNN", "LSTM", "GRU"):
                yield f"torch.nn.{name}", nn.RNNBase.__init__, 2
            elif name not in ("Module", "Sequential", "Container"):
                yield f"torch.nn.{name}", thing, 0
    for name in sorted(vars(F)):
        thing = getattr(F, name)
        if (
            not name.startswith("_")
            and inspect.isfunction(thing)
            and (thing.__module__ == F.__name__ or "pool" in name)
        ):
            dispatched = getattr(F, f"_{name}", None) if "pool" in name and "lp_" not in name else None
            yield f"torch.nn.functional.{name}", dispatched or thing, 0
    for module, prefix in ((optim, "torch.optim"), (lr_scheduler, "torch.optim.lr_scheduler")):
        for name in sorted(vars(module)):
            thing = getattr(module, name)
            if isinstance(thing, type) and not name.startswith("_") and thing.__module__.startswith("torch.optim"):
                yield f"{prefix}.{name}", thing, 0
    yield "torch.utils.data.DataLoader", DataLoader, 0
    yield "torch.utils.data.TensorDataset", TensorDataset, 0
    yield "torch.nn.Module.load_state_dict", torch.nn.Module.load_state_dict, 1
    for area in ("layers", "losses", "metrics", "optimizers", "callbacks"):
        module = getattr(keras, area)
        for name in sorted(vars(module)):
            thing = getattr(module, name)
            if not name.startswith("_") and callable(thing) and name not in ("get", "serialize", "deserialize"):
                yield f"keras.{area}.{name}", thing, 0
    yield "keras.Input", keras.Input, 0
    yield "keras.Model.compile", keras.Model.compile, 1
    yield "keras.Model.fit", keras.Model.fit, 1
    yield "keras.Model.evaluate", keras.Model.evaluate, 1


def read() -> dict[str, list[Any]]:
    """All signatures by canonical name."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    found = {name: describe(thing, skip) for name, thing, skip in targets()}
    return {name: entry for name, entry in sorted(found.items()) if entry is not None}


def main() -> None:
    """Write the data file, one name to a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in read().items()]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
