"""Command line of the probe, which is started by path in the user's interpreter.

`python <this folder> --serve DESCRIPTOR` is the zygote of a runner: it takes requests on that socket.
`python <this folder> --try TIER` says which promises of a sandbox tier hold.
`python <this folder> --job JOB.json` runs one program in the current folder, unprotected, for the tests of the probe
itself. The job file is the JSON object of a `dnnfix.run.job.Job`, whose `program` is the text. The trace is written to
the standard output; what the program prints goes to the standard error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
from typing import List


def _load_package() -> None:
    """Make this folder importable as `dnnfix_probe`, and take it off the path of the program's imports."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    spec = importlib.util.spec_from_file_location(
        "dnnfix_probe", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the probe is not complete: %s" % folder)
    package = importlib.util.module_from_spec(spec)
    sys.modules["dnnfix_probe"] = package
    spec.loader.exec_module(package)


def _run_one(path: str) -> None:
    from dnnfix_probe import wire  # type: ignore[import-not-found]
    from dnnfix_probe.program import execution  # type: ignore[import-not-found]

    with open(path, encoding="utf-8") as stream:
        job = json.load(stream)
    os.environ.setdefault("MPLBACKEND", "Agg")
    trace = os.dup(1)
    wire.attach(trace)
    os.dup2(2, 1)
    execution.run(job, job["program"].encode("utf-8"), os.getcwd(), trace, None)


def _serve(descriptor: int) -> None:
    from dnnfix_probe.process import zygote  # type: ignore[import-not-found]

    zygote.serve(socket.socket(fileno=descriptor))


def _try(tier: str) -> None:
    from dnnfix_probe.sandbox import tier_report  # type: ignore[import-not-found]

    tier_report.report(tier)


def main(arguments: List[str]) -> None:
    """Run as the arguments say."""
    sys.dont_write_bytecode = True
    _load_package()
    if arguments[:1] == ["--job"] and len(arguments) == 2:
        _run_one(arguments[1])
    elif arguments[:1] == ["--serve"] and len(arguments) == 2:
        _serve(int(arguments[1]))
    elif arguments[:1] == ["--try"] and len(arguments) == 2:
        _try(arguments[1])
    else:
        sys.exit("usage: python %s --job JOB.json | --serve DESCRIPTOR | --try TIER" % sys.argv[0])


if __name__ == "__main__":
    main(sys.argv[1:])
