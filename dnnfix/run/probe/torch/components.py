"""Records the layers, losses, models, optimizers, schedulers and loaders of a torch program, with their sites."""

from __future__ import annotations

import inspect
import sys
import weakref
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch as _torch

from .. import recorded, sites
from ..recorded import MOST_COMPONENTS, ComponentLog
from ..user_classes import is_user_class
from .arguments import Construction
from .names import class_name, kind_of, plain
from .quiet import Patches, Quiet, guarded

torch: Any = _torch

MARK = "_dnnfix_component"
"""Attribute of a module that holds its component's id, so that a deep copy still knows what it is a copy of."""


class Components(ComponentLog):
    """Every component made so far, with the fields that the trace gets."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: Dict[int, Dict[str, Any]] = {}
        self.roots: List[Any] = []
        self.optimizers: List[Any] = []
        self._objects: Dict[int, Any] = {}
        self._others: Dict[int, int] = {}
        self._latest: Dict[Tuple[str, str], int] = {}

    def install(self, patches: Patches) -> None:
        """Watch constructors."""
        patches.put(torch.nn.Module, "__init__", self._module_init)
        patches.put(torch.optim.Optimizer, "__init__", self._watch("optimizer", ("params",)))
        schedulers = torch.optim.lr_scheduler
        patches.put(schedulers.LRScheduler, "__init__", self._watch("scheduler", ("optimizer",)))
        if "__init__" in vars(schedulers.ReduceLROnPlateau):
            patches.put(schedulers.ReduceLROnPlateau, "__init__", self._watch("scheduler", ("optimizer",)))

    def _module_init(self, original: Any) -> Any:
        def __init__(module: Any, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self.module_made(module, sys._getframe(1))

        return __init__

    def _watch(self, kind: str, skip: Tuple[str, ...]) -> Any:
        def make(original: Any) -> Any:
            def __init__(instance: Any, *args: Any, **kwargs: Any) -> None:
                original(instance, *args, **kwargs)
                self.other_made(instance, kind, sys._getframe(1), skip)

            __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
            __init__.__doc__ = original.__doc__
            return __init__

        return make

    @guarded
    def module_made(self, module: Any, frame: Optional[FrameType]) -> None:
        """Enter a module that is being constructed; `frame` is the one that calls `nn.Module.__init__`."""
        if self.id_of(module) is not None or len(self.fields) >= MOST_COMPONENTS or Quiet.depth:
            return
        made = Construction(module, frame)
        inner = not made.direct and _within_constructor(made.caller)
        site = None if inner else made.site
        name, place = class_name(type(module)), str(site)
        if self._too_many(site):
            self._take_over(self._latest.get((place, name)), module, made.arguments())
            return
        fields = self._enter(kind_of(module), name, site, made.arguments())
        self._latest[place, name] = fields["id"]
        module.__dict__[MARK] = fields["id"]
        self._remember(fields["id"], module)
        self.send(fields, counted=False)

    def _take_over(self, component: Optional[int], module: Any, args: Dict[str, Any]) -> None:
        """Let a module stand for the one made before it at its place, if that is gone and was made the same way.

        A layer made anew in every forward is one component from then on; without one its arguments would be unknown.
        """
        if component is not None and self.object(component) is None and self.fields[component]["args"] == args:
            module.__dict__[MARK] = component
            self._remember(component, module)

    @guarded
    def other_made(self, instance: Any, kind: str, frame: Optional[FrameType], skip: Tuple[str, ...]) -> None:
        """Enter an optimizer or a scheduler that has just been constructed."""
        if id(instance) in self._others or Quiet.depth:
            return
        made = Construction(instance, frame)
        if self._too_many(made.site):
            return
        fields = self._enter(kind, class_name(type(instance)), made.site, made.arguments(skip))
        self._others[id(instance)] = fields["id"]
        self._remember(fields["id"], instance)
        if kind == "optimizer":
            self.optimizers.append(instance)
        self.send(fields, counted=False)

    def add(self, kind: str, instance: Any, site: Any, args: Dict[str, Any]) -> int:
        """Enter an object whose constructor is watched elsewhere; gives its id."""
        fields = self._enter(kind, class_name(type(instance)), site, args)
        self._others[id(instance)] = fields["id"]
        self._remember(fields["id"], instance)
        self.send(fields, counted=False)
        return int(fields["id"])

    def id_of(self, module: Any) -> Optional[int]:
        """The component of a module; a copy of a module becomes a component of its own, with the original's site."""
        known = module.__dict__.get(MARK)
        if known is None or self.object(known) is module:
            return known  # type: ignore[no-any-return]
        original = self.fields.get(known)
        if original is None or len(self.fields) >= MOST_COMPONENTS:
            return None
        fields = self._enter(original["kind"], original["name"], original["site"], original["args"])
        module.__dict__[MARK] = fields["id"]
        self._remember(fields["id"], module)
        return int(fields["id"])

    def id_of_other(self, instance: Any) -> Optional[int]:
        """The component of an optimizer, scheduler or loader."""
        known = self._others.get(id(instance))
        return known if known is not None and self.object(known) is instance else None

    def object(self, component: Optional[int]) -> Any:
        """The living object of a component."""
        reference = self._objects.get(component) if component is not None else None
        return reference() if reference is not None else None

    def called(self, module: Any) -> None:
        """Count one call of a module."""
        component = self.id_of(module)
        if component is not None:
            self.fields[component]["called"] += 1

    def add_root(self, module: Any) -> bool:
        """Enter a module that user code calls as a whole; gives whether it is new."""
        if any(root is module for root in self.roots):
            return False
        inner = {id(part) for _, part, _ in members(module)}
        if not any(True for _ in self._parameters_under(module)):
            return False
        if any(id(module) == id(part) for root in self.roots for _, part, _ in members(root)):
            return False
        self.roots = [root for root in self.roots if id(root) not in inner] + [module]
        return True

    def _parameters_under(self, module: Any) -> Iterator[Any]:
        for _, part, _ in members(module):
            yield from part._parameters.values()

    @guarded
    def describe_root(self, root: Any) -> None:
        """Fill in where the components hang in a model, and send those that changed."""
        for path, module, _ in members(root):
            component = self.id_of(module)
            if component is None:
                continue
            fields = self.fields[component]
            fields["attribute"] = path or None
            children = (self.id_of(child) for child in module._modules.values() if child is not None)
            fields["children"] = [child for child in children if child is not None]
            fields["parameters"] = [name for name, value in module._parameters.items() if value is not None]
            self.send(fields, counted=False)

    @guarded
    def send_all(self) -> None:
        """Send every component that changed since it was last sent."""
        for root in self.roots:
            self.describe_root(root)
        for fields in self.fields.values():
            self.send(fields)

    def _enter(self, kind: str, name: str, site: Any, args: Dict[str, Any]) -> Dict[str, Any]:
        fields = recorded.component(len(self.fields) + 1, kind, name, site, args, called=0)
        self.fields[fields["id"]] = fields
        return fields

    def _remember(self, component: int, instance: Any) -> None:
        self._objects[component] = weakref.ref(instance)


def _within_constructor(frame: Optional[FrameType]) -> bool:
    """Whether library code that constructs a module is itself the constructor of one."""
    for _ in range(6):
        if frame is None or sites.is_user_frame(frame):
            return False
        code = frame.f_code
        if code.co_name == "__init__" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            return isinstance(owner, torch.nn.Module)
        frame = frame.f_back
    return False


def members(module: Any) -> List[Tuple[str, Any, bool]]:
    """Every module under a module, itself first: path, module, whether torch knows of it.

    Modules that a user's module keeps in a plain list, tuple or dictionary are found too; torch does not register
    those, so their parameters are no parameters of the model. Their path reads `layers[0]`.
    """
    found: List[Tuple[str, Any, bool]] = []
    seen: Dict[int, bool] = {}
    _collect(module, "", True, found, seen)
    return found


def _collect(
    module: Any, path: str, registered: bool, found: List[Tuple[str, Any, bool]], seen: Dict[int, bool]
) -> None:
    if id(module) in seen:
        return
    seen[id(module)] = True
    found.append((path, module, registered))
    for name, child in module._modules.items():
        if child is not None:
            _collect(child, path + "." + name if path else name, registered, found, seen)
    if is_user_class(type(module)):
        for name, value in list(vars(module).items()):
            if name.startswith("_") and name in {"_modules", "_parameters", "_buffers"}:
                continue
            for key, child in _hidden(value):
                _collect(child, (path + "." if path else "") + name + key, False, found, seen)


def _hidden(value: Any, depth: int = 0) -> Iterator[Tuple[str, Any]]:
    if depth > 2:
        return
    if isinstance(value, dict):
        items: Any = list(value.items())[:256]
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value[:256]))
    else:
        return
    for key, item in items:
        if isinstance(item, torch.nn.Module):
            yield "[%s]" % (repr(key) if isinstance(key, str) else plain(key)), item
        else:
            for inner, module in _hidden(item, depth + 1):
                yield "[%s]%s" % (repr(key) if isinstance(key, str) else plain(key), inner), module
