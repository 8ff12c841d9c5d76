"""Ends of epochs: hooks that Lightning 1 called with the outputs of all steps, which Lightning 2 calls without them.

`validation_epoch_end(self, outputs)` becomes `on_validation_epoch_end(self)`, and the module keeps the outputs itself. It adds each of them in
the hook behind a batch, which receives just what the list held: whatever way the step returned, and of a training the loss in a dictionary,
without its graph. Where the epoch ends they are taken out, so that nothing is left for the next one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dnnfix.detect.versioning.lightning_modules import (
    Function,
    always_returns,
    ancestors,
    constructed,
    first_statement,
    lightning_modules,
    method_of,
    own_method,
    parameters,
)
from dnnfix.detect.versioning.method_headers import Header
from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import Delete, Edit, InsertAfter, InsertBefore, Replace, Site
from dnnfix.source.program import Source
from dnnfix.subject import Subject

ENDS = {
    "training_epoch_end": "training",
    "validation_epoch_end": "validation",
    "validation_end": "validation",
    "test_epoch_end": "test",
    "test_end": "test",
}
"""By hook, the kind of steps whose outputs it received."""

REMOVED = {"validation_end": "1.0", "test_end": "1.0"}
"""When a hook went, where that was not in 2.0."""

GUIDE = "https://github.com/Lightning-AI/pytorch-lightning/pull/16520"


def outdated_ends(subject: Subject) -> Iterator[Hit]:
    """The hooks for the end of an epoch that modules of the program define under the names of Lightning 1."""
    source = subject.source
    if source.words.isdisjoint(ENDS):
        return
    for owner, package in lightning_modules(source).items():
        for name in ENDS:
            method = own_method(owner, name)
            if method is None or name in REMOVED and _is_own(source, name):
                continue
            end = _End(source, owner, method)
            decline = end.reason()
            removed = REMOVED.get(name, "2.0")
            yield Hit(
                source.site(method),
                f"{name} was removed in Lightning {removed}; Lightning calls {end.today}, without the outputs of the steps",
                title=f"write {name} as {end.today}" + (", and collect the outputs" if end.collects else ""),
                edits=() if decline else tuple(end.edits()),
                decline=decline,
                exact=True,
                removed={package: removed},
                evidence={"old": name, "new": end.today, "reference": GUIDE},
                felt=_felt(subject, owner, name),
            )


def _is_own(source: Source, name: str) -> bool:
    """Whether a method is one of the program's own, which it calls elsewhere than where another epoch ends."""
    around = (source.enclosing(node, ast.FunctionDef) for node in source.nodes(ast.Attribute) if node.attr == name)
    return any(method is None or method.name not in ENDS for method in around)


def _felt(subject: Subject, owner: ast.ClassDef, name: str) -> Site | None:
    """Where the run stopped, if it was for this hook: Lightning refuses a module when the training begins."""
    crash = subject.crash
    told = crash is not None and crash.kind == "NotImplementedError" and f"`{name}`" in crash.message
    return crash.site if crash is not None and told and f"`{owner.name}`" in crash.message else None


@dataclass(frozen=True)
class _End:
    """A hook for the end of an epoch, in the class that defines it."""

    source: Source
    owner: ast.ClassDef
    method: Function

    @property
    def stage(self) -> str:
        return ENDS[self.method.name]

    @property
    def short(self) -> str:
        return "train" if self.stage == "training" else self.stage

    @property
    def today(self) -> str:
        return f"on_{self.short}_epoch_end"

    @property
    def each(self) -> str:
        """The hook behind a batch."""
        return f"on_{self.short}_batch_end"

    @property
    def start(self) -> str:
        return f"on_{self.short}_epoch_start"

    @property
    def kept_as(self) -> str:
        """The attribute that holds the outputs until the epoch ends."""
        return f"{self.stage}_step_outputs"

    @property
    def apart(self) -> str:
        """What the method is called where the program calls it as well, and the hook is one of its own."""
        return f"_{self.method.name}"

    @cached_property
    def outputs(self) -> str:
        """The name of the parameter that received the outputs."""
        return parameters(self.method)[-1]

    @cached_property
    def mentioned(self) -> list[ast.Attribute]:
        """Where the program names the hook, of whatever object."""
        return [node for node in self.source.nodes(ast.Attribute) if node.attr == self.method.name]

    @cached_property
    def passed_up(self) -> list[ast.stmt]:
        """The statements that call the hook of Lightning's own class, which did nothing."""
        found = []
        for node in self.mentioned:
            if _is_super(node.value) and self.source.enclosing(node, ast.FunctionDef) is self.method:
                found.append(self.source.statement_of(node))
        return found

    @cached_property
    def called(self) -> list[ast.Attribute]:
        """Where the program calls the method itself: `self.validation_epoch_end(outputs)`."""
        return [node for node in self.mentioned if not _is_super(node.value)]

    @cached_property
    def collects(self) -> bool:
        """Whether the outputs are used, which otherwise need not be kept."""
        if len(parameters(self.method)) != 2:
            return False
        left_out = {node for statement in self.passed_up for node in ast.walk(statement)}
        named = (node for node in ast.walk(self.method) if isinstance(node, ast.Name) and node.id == self.outputs)
        return bool(self.called) or any(node not in left_out for node in named)

    # --- why it is left

    def reason(self) -> str:
        """Why the hook cannot be written anew; empty where it can."""
        taken = self.method.args
        if len(parameters(self.method)) != 2 or taken.vararg or taken.kwonlyargs or taken.kwarg or taken.defaults:
            return f"the parameters of {self.method.name} are not those that it was called with"
        if not Header(self.source, self.method).is_apart:
            return "it stands on the line of its `def`"
        others = [name for name, stage in ENDS.items() if stage == self.stage and name != self.method.name]
        if any(own_method(self.owner, name) is not None for name in others):
            return f"{self.owner.name} defines {' and '.join((self.method.name, *others))}"
        if method_of(self.source, self.owner, self.today) is not None:
            return f"{self.owner.name} has {self.today} too"
        return self._unsettled_calls() or (self._unsettled_outputs() if self.collects else "")

    def _unsettled_calls(self) -> str:
        """What the calls of the method leave open."""
        name, source = self.method.name, self.source
        above = ancestors(source, self.owner)
        if self.passed_up and any(own_method(each, name) is not None for each in above):
            return f"it goes on with the {name} of a class that {self.owner.name} derives from"
        if not all(source.is_called_in_vain(node) for node in self.mentioned if _is_super(node.value)):
            return f"it uses what the {name} of Lightning returns"
        for node in self.mentioned:
            around = source.enclosing(node, ast.ClassDef)
            if around is None or around is not self.owner and self.owner not in ancestors(source, around):
                if around is None or around not in lightning_modules(source):
                    return f"the program calls {name} itself"
                continue
            if _is_super(node.value):
                if around is not self.owner or source.statement_of(node) not in self.passed_up:
                    return f"{around.name} goes on with it"
            elif not (isinstance(node.value, ast.Name) and node.value.id == "self" and source.is_called(node)):
                return f"the program uses {name} otherwise than by a call"
        if self.called and self.apart in source.words:
            return f"the program has a name {self.apart} already"
        beside = (other for other in source.files.values() if other is not source)
        if any(node.attr == name for other in beside for node in other.nodes(ast.Attribute)):
            return f"another file calls {name}"
        return ""

    def _unsettled_outputs(self) -> str:
        """What keeps the outputs from being the plain list that is collected."""
        step = method_of(self.source, self.owner, f"{self.stage}_step")
        taken = parameters(step) if step is not None else []
        if "optimizer_idx" in taken:
            return "there is a list of outputs for each optimizer"
        if "dataloader_idx" in taken:
            return "where there are several loaders there is a list of outputs for each: collect them by dataloader_idx"
        if method_of(self.source, self.owner, f"{self.stage}_step_end") is not None:
            return f"its outputs are what {self.stage}_step_end made of those of the steps"
        held = {node.attr for node in self.source.nodes(ast.Attribute)}
        if self.kept_as in held or method_of(self.source, self.owner, self.kept_as) is not None:
            return f"the program has an attribute {self.kept_as} already"
        above = ancestors(self.source, self.owner)
        below = [each for each in lightning_modules(self.source) if self.owner in ancestors(self.source, each)]
        if any(own_method(each, self.each) is not None for each in (*above, *below)):
            return f"a class above or below {self.owner.name} defines {self.each}"
        behind = own_method(self.owner, self.each)
        if behind is not None and len(parameters(behind)) < 2:
            return f"the parameters of {self.each} are not known"
        return ""

    # --- the edits

    def edits(self) -> Iterator[Edit]:
        """The edits that write the hook anew."""
        source, header = self.source, Header(self.source, self.method)
        added = [self._made_anew(), self._collecting(), self._apart_hook()] if self.collects else []
        if self.called:
            yield header.written_anew(self.apart, above=added)
        else:
            yield header.written_anew(self.today, without=[self.outputs], above=added)
        yield from (Delete(source.site(statement)) for statement in self.passed_up)
        if not self.collects:
            return
        yield from self._within_methods()
        if self.called:
            yield from (Replace(source.site(node), f"self.{self.apart}") for node in self.called)
        elif (first := first_statement(self.method)) is not None:
            yield InsertBefore(source.site(first), self._taken(self.outputs))

    def _taken(self, name: str) -> str:
        return f"{name}, self.{self.kept_as} = self.{self.kept_as}, []"

    def _apart_hook(self) -> str:
        """The hook by itself, where the program calls the method as well."""
        if not self.called:
            return ""
        return f"def {self.today}(self):\n    {self._taken('outputs')}\n    self.{self.apart}(outputs)"

    def _added(self, name: str) -> str:
        """The statement that keeps an output; an output of `None` was left out."""
        step = method_of(self.source, self.owner, f"{self.stage}_step")
        kept = f"self.{self.kept_as}.append({name})"
        if step is not None and always_returns(step):
            return kept
        given = name if self.stage == "training" else f"{name} is not None"
        return f"if {given}:\n    {kept}"

    def _collecting(self) -> str:
        """The hook behind a batch, where the class has none."""
        if own_method(self.owner, self.each) is not None:
            return ""
        loader = "" if self.stage == "training" else ", dataloader_idx=0"
        body = self._added("outputs").replace("\n", "\n    ")
        return f"def {self.each}(self, outputs, batch, batch_idx{loader}):\n    {body}"

    def _made_anew(self) -> str:
        """The hook at the start of an epoch that makes the list, where there is no constructor to do so."""
        if constructed(self.owner) is not None or own_method(self.owner, self.start) is not None:
            return ""
        return f"def {self.start}(self):\n    self.{self.kept_as} = []"

    def _within_methods(self) -> Iterator[Edit]:
        """The statements that go into methods which the class has."""
        behind_super, start = constructed(self.owner), own_method(self.owner, self.start)
        made = f"self.{self.kept_as} = []"
        if behind_super is not None:
            yield InsertAfter(self.source.site(behind_super), made)
        elif start is not None:
            yield InsertBefore(self.source.site(first_statement(start) or start.body[-1]), made)
        behind = own_method(self.owner, self.each)
        if behind is not None:
            place = first_statement(behind) or behind.body[-1]
            yield InsertBefore(self.source.site(place), self._added(parameters(behind)[1]))


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
