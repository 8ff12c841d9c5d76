"""Whether a torch program uses TensorFlow only for the MNIST reader of the TensorFlow 1 tutorials."""

from __future__ import annotations

from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.program import Source

TUTORIALS = "tensorflow.examples.tutorials.mnist"


def reads_for_torch(source: Source) -> bool:
    """Whether a torch program uses nothing of TensorFlow or Keras but the tutorials' MNIST reader."""
    taken = {
        name
        for statement in uses_of(source).imports()
        for name in [getattr(statement, "module", None) or "", *(alias.name for alias in statement.names)]
        if name.partition(".")[0] in ("tensorflow", "keras")
    }
    return "torch" in source.frameworks and bool(taken) and all(name.startswith(TUTORIALS) for name in taken)
