"""`dnnfix bench`: the benchmark of 667 (bug, repair) instances. Each module is a command."""

from __future__ import annotations

from typing import Any

from dnnfix.cli.groups import Commands, Listed, built

COMMANDS = {
    "list": Listed("the instances, with the state of their cases"),
    "show": Listed("one instance, and its case where there is one"),
    "stats": Listed("how the instances and the cases are spread over libraries, patterns and types"),
    "verify": Listed("prove that cases show their fault and that their repairs take it away"),
    "materialize": Listed("bring the original programs into your own cache"),
    "replay": Listed("repair every case and say honestly how well that went"),
    "prompts": Listed("what a language model would be asked about each case"),
    "report": Listed("the results of one replay, or of its shards together"),
    "compare": Listed("what changed from one replay to another"),
}

ABOUT = """The benchmark of 667 (bug, repair) instances that people published, the cases that reconstruct them as programs that
run, and the replay that says how many of them dnnfix repairs. It lies in the folder benchmark_667 of dnnfix's repository."""

EXAMPLES = """  dnnfix bench list --library keras --pattern loss-function
  dnnfix bench show so-37213388
  dnnfix bench verify so-37213388        is the fault there, and does the repair take it away?
  dnnfix bench replay --jobs 2           the whole benchmark; --resume goes on where it was stopped
"""


class _Commands(Commands):
    listed, package, examples = COMMANDS, __name__, EXAMPLES


def group() -> Any:
    """The commands of `dnnfix bench`."""
    return built(_Commands, ABOUT)
