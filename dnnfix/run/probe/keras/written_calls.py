"""Finds the source expressions of a call's arguments in the user's program."""

from __future__ import annotations

import ast
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Tuple

from .. import sites

Site = Optional[List[Any]]


def written_at(frame: Optional[FrameType]) -> Written:
    """The call that the frame is executing; looked up once for each site of the program."""
    if frame is None:
        return Written(None)
    key = (frame.f_code, frame.f_lasti)
    if key not in _written:
        _written[key] = Written(frame)
    return _written[key]


def forget_written() -> None:
    """Forget all calls, before another program runs."""
    _written.clear()


_written: Dict[Tuple[CodeType, int], Written] = {}


class Written:
    """A call as the user wrote it; `site` is the whole call, also for arguments that cannot be located on their own."""

    def __init__(self, frame: Optional[FrameType]) -> None:
        self.site: Site = sites.site_of(frame) if frame is not None else None
        self.name = str(self.site)
        """Tells the places of a program apart."""
        self._filename = frame.f_code.co_filename if frame is not None else ""
        self._node = self._find()

    def _find(self) -> Optional[ast.Call]:
        if self.site is None:
            return None
        file = sites.file_of(self._filename)
        wanted = tuple(self.site[:4])
        for node in file.nodes():
            if isinstance(node, ast.Call) and tuple(self._span(node)) == wanted:
                return node
        return None

    def _span(self, node: Any) -> List[Any]:
        return list(sites.file_of(self._filename).in_characters(sites.span_of(node)))

    def argument(self, name: str, position: Optional[int]) -> Optional[ast.expr]:
        """The expression given for a parameter, by keyword or by position."""
        if self._node is None:
            return None
        for keyword in self._node.keywords:
            if keyword.arg == name:
                return keyword.value
        given = self._node.args
        if (
            position is None
            or position >= len(given)
            or any(isinstance(one, ast.Starred) for one in given[: position + 1])
        ):
            return None
        return given[position]

    def site_of(self, node: Optional[ast.AST]) -> Site:
        """The site of an expression within the call; of the whole call where there is none."""
        if node is None or self.site is None:
            return self.site
        return self._span(node) + [self.site[4]]

    def elements(self, node: Optional[ast.expr], count: int) -> List[Optional[ast.expr]]:
        """The expressions of the `count` elements of a list, tuple or dictionary; the whole one where they are not there."""
        found: List[Optional[ast.expr]] = []
        if isinstance(node, (ast.List, ast.Tuple)):
            found = list(node.elts)
        elif isinstance(node, ast.Dict):
            found = list(node.values)
        return found if len(found) == count else [node] * count
