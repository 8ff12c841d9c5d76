"""Reads the network of a program from its source alone, without a run."""

from __future__ import annotations

from dnnfix.network.interpreter import Interpreter
from dnnfix.records import Network
from dnnfix.source.program import Source


def network_from_source(source: Source) -> Network:
    """The network as far as the source determines it; everything else is unknown.

    Never raises for what the program contains. The work is bounded; `Component.called` is `None` where calls may have
    gone unseen.
    """
    found = source.frameworks
    framework = "torch" if "torch" in found else "keras" if found & {"keras", "tensorflow"} else ""
    if not framework:
        return Network("", "source")
    return Interpreter(source, framework).run().network()
