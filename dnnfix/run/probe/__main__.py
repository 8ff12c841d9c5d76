"""Starts the probe: `python <this folder> --job JOB.json` runs one program in the current folder.

The job file is the JSON object of a `dnnfix.run.job.Job`, whose `program` is the text. The trace is written to the
standard output; what the program prints goes to the standard error.
"""

from __future__ import annotations

import importlib.util
import json
import os
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
    from dnnfix_probe import program, wire  # type: ignore[import-not-found]

    with open(path, encoding="utf-8") as stream:
        job = json.load(stream)
    os.environ.setdefault("MPLBACKEND", "Agg")
    wire.attach(os.dup(1), os.getcwd())
    os.dup2(2, 1)
    program.run(job, job["program"])


def main(arguments: List[str]) -> None:
    """Run as the arguments say."""
    sys.dont_write_bytecode = True
    _load_package()
    if arguments[:1] == ["--job"]:
        _run_one(arguments[1])
    else:
        sys.exit("usage: python %s --job JOB.json" % sys.argv[0])


if __name__ == "__main__":
    main(sys.argv[1:])
