"""What the tests of the proposer ask about: records written by hand, programs that only a model repairs here, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dnnfix.endpoint import Endpoint
from dnnfix.proposer.excerpt import Excerpt
from dnnfix.proposer.facts import Known
from dnnfix.records import Crash, Family, Finding, Frame, Json, RunOutcome, Site, Trace
from dnnfix.source.program import Source

PROGRAM = """import torch
from torch import nn

torch.manual_seed(0)
SIZES = {"width": 16, "depth": 2}


def size_of(part):
    return SIZES[part]


x = torch.randn(64, 8)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(8, size_of("widht")), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
"""
"""A key is misspelt, which no rule knows and no small edit repairs."""

FAILING = 'model = nn.Sequential(nn.Linear(8, size_of("widht")), nn.ReLU(), nn.Linear(16, 2))'
REPAIRED = FAILING.replace("widht", "width")


def answer(old: str, new: str, file: str = "train.py", cause: str = "the key is misspelt") -> str:
    """An answer of one block in the form that is asked for."""
    return f"CAUSE: {cause}\nFILE: {file}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


REPAIR = answer(FAILING, REPAIRED)


def shown(text: str, path: str = "", name: str = "train.py", first: int = 1) -> Excerpt:
    """An excerpt of these lines, numbered from `first`."""
    lines = text.splitlines()
    return Excerpt(path, name, tuple(enumerate(lines, first)), first + len(lines) - 1)


def crashed(
    program: str,
    line: int,
    message: str = "'widht'",
    modules: Mapping[str, str] | None = None,
    path: str = "train.py",
    names: Mapping[str, Json] | None = None,
    callers: tuple[Frame, ...] = (),
) -> Known:
    """What is known of a program that crashed in one of its lines, with modules beside it."""
    beside = [Source.from_bytes(text.encode(), name) for name, text in (modules or {}).items()]
    source = Source.from_bytes(program.encode(), path).along_with(beside)
    site = Site(line, 1, line, len(source.places.lines[line - 1]) + 1)
    frames = (*callers, Frame(site, "<module>", names or {}))
    trace = Trace(RunOutcome.CRASHED, crash=Crash("KeyError", message, frames))
    claim = Finding(
        "DNF901", "unexplained-crash", Family.OPINIONATED, site, f"the program crashes: KeyError: {message}"
    )
    return Known(source, trace, claim, (claim,))


def endpoint(address: str, **settings: object) -> Endpoint:
    """A model that is asked once, by default."""
    return Endpoint(**{"endpoint": address, "model": "scripted", "samples": 1, "timeout": 10.0, **settings})  # type: ignore[arg-type]


def configure(folder: Path, address: str, **settings: object) -> None:
    """Write the settings of a model into a folder."""
    rows = {"endpoint": address, "model": "scripted", "samples": 1, "timeout": 10, **settings}
    written = "\n".join(f"{name.replace('_', '-')} = {_toml(value)}" for name, value in rows.items())
    (folder / "dnnfix.toml").write_text(f"[model]\n{written}\n")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
