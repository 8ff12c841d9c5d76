"""`dnnfix bench`: the benchmark of 667 (bug, repair) instances. Each module is a command."""

COMMANDS = {
    "list": "the instances, with the state of their cases",
    "show": "one instance, and its case where there is one",
    "stats": "how the instances and the cases are spread over libraries, patterns and types",
    "verify": "prove that cases show their fault and that their repairs take it away",
    "materialize": "bring the original programs into your own cache",
    "replay": "repair every case and say honestly how well that went",
    "report": "the results of one replay, or of its shards together",
    "compare": "what changed from one replay to another",
}

HELP = """usage: dnnfix bench COMMAND [options]

The benchmark of 667 (bug, repair) instances that people published, the cases that reconstruct them as programs that
run, and the replay that says how many of them dnnfix repairs. It lies in the folder benchmark_667 of dnnfix's repository.

commands:
{commands}

examples:
  dnnfix bench list --library keras --pattern loss-function
  dnnfix bench show so-37213388
  dnnfix bench verify so-37213388        is the fault there, and does the repair take it away?
  dnnfix bench replay --jobs 2           the whole benchmark; --resume goes on where it was stopped

options:
  -h, --help     this text; `dnnfix bench COMMAND --help` tells more
"""
