"""What a fix template is called with: the program's source, the trace of its run if there is one, and the network."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dnnfix.records import Call, Component, Crash, Network, Site, Trace
from dnnfix.source.program import Source
from dnnfix.source.viewpoint import from_module, seen_from


@dataclass(frozen=True)
class Subject:
    """The program under analysis.

    `trace` is `None` on the static path. `network` comes from the trace where the program ran far enough to show one,
    else from the source; templates ask it the same questions either way and treat what is unknown as unknown.
    """

    source: Source
    trace: Trace | None = None

    @cached_property
    def _readings(self) -> dict[Hashable, Any]:
        """What functions made by `once` have read from the program and this trace."""
        return {}

    @cached_property
    def network(self) -> Network:
        """The network, from the trace where there is one with calls in it, else from the source."""
        if self.trace is not None and self.trace.network is not None and self.trace.network.calls:
            return self.trace.network
        return self.source_network

    @cached_property
    def source_network(self) -> Network:
        """The network recovered from the source alone."""
        from dnnfix.network.from_source import network_from_source

        return network_from_source(self.source)

    @cached_property
    def files(self) -> Mapping[str, Subject]:
        """The program under the path "", then each module beside it as a program of its own, the run seen from there."""
        found = {"": self}
        for module in self.source.beside:
            found[module.path] = Subject(module, seen_from(self.trace, from_module(module.path, self.source.path)))
        return found

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers and other words of the program and of the modules that it imports."""
        return self.source.words_of_program

    @property
    def crash(self) -> Crash | None:
        """The exception that ended the run, where one did."""
        return self.trace.crash if self.trace is not None else None

    @property
    def ran(self) -> bool:
        """Whether the program was run and the run says something about the program."""
        return self.trace is not None and self.trace.outcome.says_something

    def text(self, site: Site) -> str:
        """The source text at a site."""
        return self.source.segment(site)

    def node(self, site: Site | None) -> ast.expr | ast.stmt | None:
        """The syntax node that spans exactly the site; `None` where there is none (another file, generated code)."""
        return self.source.node_at(site) if site is not None and not site.path else None

    def call_node(self, of: Call | Component) -> ast.Call | None:
        """The syntax node of a recorded call, or of the constructor call of a component."""
        node = self.node(of.site)
        return node if isinstance(node, ast.Call) else None

    def constructor_node(self, call: Call) -> ast.Call | None:
        """The syntax node of the constructor of the component that was called."""
        node = self.node(call.made_at)
        return node if isinstance(node, ast.Call) else None
