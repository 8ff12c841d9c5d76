"""Imports the modules beside the program with guarded loops, so that training in them is cut to the budget too."""

from __future__ import annotations

import importlib.machinery
import os
import sys
import tokenize
from typing import Any, Optional, Sequence

from . import loops, sites


def install(root: str) -> None:
    """Compile every module that is found in the folder `root` with guarded loops from now on."""
    sys.meta_path.insert(0, _Finder(root.rstrip(os.sep) + os.sep))


class _Finder:
    """Finds what the path finder finds, and gives files of user code the loader below."""

    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader or not spec.origin:
            return None
        if not spec.origin.startswith(self._root) or not sites.is_user_file(spec.origin):
            return None
        spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles from source each time: byte code of an unguarded module must not be taken, nor left behind."""

    def get_code(self, fullname: str) -> Any:
        with tokenize.open(self.path) as stream:
            text = stream.read()
        sites.add_source(self.path, text)
        return loops.compile_source(text, self.path)
