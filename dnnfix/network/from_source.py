"""The network of a program that was not run, read from its source."""

from __future__ import annotations

from dnnfix.network.interpreter import Interpreter
from dnnfix.records import Network
from dnnfix.source.program import Source


def network_from_source(source: Source) -> Network:
    """What the source alone tells of the program's network; what is not certain is unknown.

    Never raises for what the program contains. The work is bounded; `Component.called` is `None` where calls may have
    gone unseen.
    """
    found = source.frameworks
    framework = "torch" if "torch" in found else "keras" if found & {"keras", "tensorflow"} else ""
    if not framework:
        return Network("", "source")
    return Interpreter(source, framework).run().network()
