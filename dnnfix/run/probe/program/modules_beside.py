"""Imports the modules beside the program with guarded loops, so that training in them is cut to the budget too, and with
the paths of made files in place of their own.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Dict, Optional, Sequence

from .. import sites
from . import cells, loops, scaffold


def install(top: str, program: str, around: Dict[str, Any]) -> None:
    """Put the program's folder first on the path, the folders above it, below `top`, last, and guard what is found.

    `around` is the scaffold of the program.
    """
    folder = os.path.dirname(program)
    sys.path.insert(0, folder)
    above = os.path.dirname(folder)
    while above.startswith(top.rstrip(os.sep) + os.sep):
        sys.path += [above] + [place for place in (os.path.join(above, "src"),) if os.path.isdir(place)]
        above = os.path.dirname(above)
    sys.meta_path.insert(0, _Finder(around))


class _Finder:
    """Finds what the path finder finds, and gives files of user code the loader below."""

    def __init__(self, around: Dict[str, Any]) -> None:
        self._around = around

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader or not spec.origin:
            return None
        if not sites.is_user_file(spec.origin):
            return None
        spec.loader = _Loader(name, spec.origin, self._around)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles from source each time: byte code of an unguarded module must not be taken, nor left behind."""

    def __init__(self, fullname: str, path: str, around: Dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self._around = around

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.path)
        sites.add_source(self.path, importlib.util.decode_source(source))
        tree = cells.parsed(source, self.path)
        scaffold.put_literals(tree, self._around)
        return loops.compile_tree(tree, self.path)
