"""Whatever the bytes of a file, `check` and every format answer with a report or a message, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnnfix.emit import contract
from tests.cli.programs import FAULTY, Call

VALIDATOR = jsonschema.Draft202012Validator(contract.schema())
RAW = FAULTY.encode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The faulty program with pieces cut out, doubled, or replaced by any bytes."""
    raw = RAW
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 40)))
        piece = draw(
            st.binary(max_size=6) | st.just(raw[start:end] * 2) | st.sampled_from([b"\r", b"\f", b"\t", b"'''"])
        )
        raw = raw[:start] + piece + raw[end:]
    return raw


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=damaged() | st.binary(max_size=200), name=st.sampled_from(["a.py", "a.ipynb"]))
def test_check(call: Call, folder: Path, raw: bytes, name: str) -> None:
    (folder / name).write_bytes(raw)
    said = call("check", name, "--output-format", "json", "--no-cache")
    assert "internal error" not in said.err, said.err
    assert said.code in (0, 1, 2)
    document: Any = json.loads(said.out)
    VALIDATOR.validate(document)
    assert (said.code == 2) == bool(said.err)
    assert call("check", name, "--no-cache").code == said.code
    assert (folder / name).read_bytes() == raw
    os.unlink(folder / name)
