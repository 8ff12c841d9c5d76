"""Helpers for tests that read a network from a program's text."""

from __future__ import annotations

import textwrap

from dnnfix.network.facts import activation_of, loss_calls
from dnnfix.network.from_source import network_from_source
from dnnfix.records import Call, Network
from dnnfix.source.program import Source


def source(code: str) -> Source:
    """A program from indented text."""
    return Source.from_bytes(textwrap.dedent(code).encode(), "program.py")


def read(code: str) -> tuple[Source, Network]:
    """A program and its network."""
    program = source(code)
    return program, network_from_source(program)


def losses(code: str) -> list[tuple[str, str | None]]:
    """For each loss call, in call order: its short name, and the text of the call that made its prediction.

    A Keras layer with an activation is told as `Dense:softmax`; an unknown producer is `None`.
    """
    program, network = read(code)
    return [(call.name.rpartition(".")[2], _made_by(program, network, call)) for call, _ in loss_calls(network)]


def _made_by(program: Source, network: Network, call: Call) -> str | None:
    producer = network.producer(call.inputs[0])
    if producer is None:
        return None
    use = activation_of(producer)
    if use is not None and use.as_argument is not None:
        return f"{producer.name.rpartition('.')[2]}:{use.name}"
    if producer.component is not None:
        return producer.name.rpartition(".")[2] + (f" {producer.path}" if producer.path else "")
    if producer.site is None:
        return producer.name
    return program.segment(producer.site)


def names(network: Network) -> list[str]:
    """The short names of all calls, in call order."""
    return [call.name.rpartition(".")[2] for call in network.calls]
