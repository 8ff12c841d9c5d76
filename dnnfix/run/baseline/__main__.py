"""Command line of the recorder, which is started by path: `python <this folder> JOB.json TRACE ANNOUNCE`.

JOB.json says which program in the current folder is run and, in the new interpreter, what was recorded in the old one.
TRACE is the descriptor that events are written to, ANNOUNCE the one that gets a byte once a framework is imported.
"""

import importlib.util
import os
import sys


def _load_package() -> None:
    """Make this folder importable as `dnnfix_baseline`, and take it off the path of the program's imports."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    spec = importlib.util.spec_from_file_location(
        "dnnfix_baseline", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the recorder is not complete: %s" % folder)
    package = importlib.util.module_from_spec(spec)
    sys.modules["dnnfix_baseline"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    _load_package()
    from dnnfix_baseline import program  # type: ignore[import-not-found]

    program.run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
