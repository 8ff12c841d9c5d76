"""Records what `compile` is called with: loss, optimizer and metrics become components, also where they are strings."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Dict, List, Optional, Tuple

from .. import sites
from ..guard import Patches, guarded, note
from .components import Components, Made, bound
from .names import class_name, class_of_function, function_name
from .written_calls import Written, written_at

_ACCURACY = frozenset({"accuracy", "acc", "Accuracy"})


class Compiled:
    """Watches `compile`, and knows which component each loss of a model is."""

    def __init__(self, components: Components, backend: str) -> None:
        self._components = components
        self._backend = backend
        self._losses: Dict[int, List[Made]] = {}
        self._kept: List[Any] = []
        self._eager: List[Any] = []
        self._by_site: Dict[Tuple[str, str], Made] = {}

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch the method wherever in Keras it is defined."""
        definer = next(
            (base for base in keras.Model.__mro__ if "compile" in vars(base) and "keras" in base.__module__), None
        )
        if definer is not None:
            patches.put(definer, "compile", self._wrap)

    def _wrap(self, original: Any) -> Any:
        signature = inspect.signature(original)

        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
            args = tuple(_unwrapped(one) for one in args)
            kwargs = {key: _unwrapped(value) for key, value in kwargs.items()}
            result = original(model, *args, **kwargs)
            self._happened(model, signature, args, kwargs)
            return result

        return functools.update_wrapper(compile, original)

    @guarded
    def _happened(self, model: Any, signature: Any, args: Any, kwargs: Any) -> None:
        given = dict(signature.bind(model, *args, **kwargs).arguments)
        if self._backend == "torch" and getattr(model, "jit_compile", False):
            # Compiling takes longer than a whole run may.
            model.jit_compile = False
            note("jit_compile was left out: the program ran uncompiled")
        if self._backend == "tensorflow":
            # In a traced function no call of a layer and no number could be seen.
            if given.get("run_eagerly"):
                self._eager.append(model)
            model.run_eagerly = True
        order = list(signature.parameters)[1:]
        written = written_at(sites.user_frame())
        losses = self._components_of("loss", "losses", given.get("loss"), self._node(written, order, "loss"), written)
        self._losses[id(model)] = losses
        self._kept.append(model)
        self._optimizer(model, self._node(written, order, "optimizer"), written)
        for name in ("metrics", "weighted_metrics"):
            if given.get(name):
                self._components_of("metric", "metrics", given[name], self._node(written, order, name), written)

    def _node(self, written: Written, order: List[str], name: str) -> Any:
        return written.argument(name, order.index(name) if name in order else None)

    def _components_of(self, kind: str, area: str, given: Any, node: Any, written: Written) -> List[Made]:
        found: List[Made] = []
        if isinstance(given, dict):
            given = list(given.values())
        if isinstance(given, (list, tuple)):
            for one, inner in zip(given, written.elements(node, len(given))):
                found += self._components_of(kind, area, one, inner, written)
            return found
        made = self._one(kind, area, given, written.site_of(node)) if given is not None else None
        return [made] if made is not None else []

    def _one(self, kind: str, area: str, given: Any, site: Any) -> Optional[Made]:
        known = self._components.made(given)
        if known is not None:
            return known
        if (
            isinstance(given, str)
            or callable(given)
            and not hasattr(type(given), "get_config")
            and hasattr(given, "__name__")
        ):
            name = given if isinstance(given, str) else str(given.__name__)
            own = not isinstance(given, str) and function_name(given).startswith("user.")
            cls = None if own else class_of_function(area, name)
            if kind == "metric" and name in _ACCURACY:
                return self._add(kind, "keras.metrics.Accuracy", site, {})
            title = (
                function_name(given) if own else class_name(cls) if cls is not None else "keras.%s.%s" % (area, name)
            )
            return self._add(kind, title, site, bound(cls, (), {}) if cls is not None else {})
        return self._add(kind, class_name(type(given)), site, {})

    def _add(self, kind: str, name: str, site: Any, args: Dict[str, Any]) -> Made:
        key = (name, str(site))
        if key not in self._by_site or site is None:
            holder = _Holder()
            self._kept.append(holder)
            args = {key: value for key, value in args.items() if key != "fn"}
            self._by_site[key] = self._components.add(kind, holder, name, site, args)
        made: Made = self._by_site[key]
        return made

    def _optimizer(self, model: Any, node: Any, written: Written) -> None:
        instance = getattr(model, "optimizer", None)
        if instance is None or self._components.made(instance) is not None:
            return
        inner = getattr(instance, "inner_optimizer", None)
        if inner is not None and self._components.made(inner) is not None:
            return
        cls = next(
            (base for base in type(instance).__mro__ if not base.__module__.startswith("keras.src.backend")),
            type(instance),
        )
        site = written.site_of(node) if node is not None else written.site
        made = self._components.add("optimizer", instance, class_name(type(instance)), site, bound(cls, (), {}))
        made.fields["called"] = None
        self._kept.append(instance)

    def runs_eagerly(self, model: Any) -> bool:
        """Whether the program itself has a model run eagerly."""
        return any(one is model for one in self._eager)

    def made_of(self, model: Any, loss: Any) -> Optional[Made]:
        """The component of a loss object, also of one that Keras made from a string or a function."""
        own = self._components.made(loss)
        listed = self._losses.get(id(model), [])
        if own is not None or not listed:
            return own
        flat = getattr(getattr(model, "_compile_loss", None), "_flat_losses", None) or []
        for index, one in enumerate(flat):
            if getattr(one, "loss", None) is loss:
                return listed[min(index, len(listed) - 1)]
        return listed[0]


class _Holder:
    """Stands for what `compile` was given as a string or a function."""

    __slots__ = ("__weakref__",)


def _unwrapped(item: Any) -> Any:
    """The functions of Keras as they are without the probe: Keras compares and saves them by identity."""
    if isinstance(item, list):
        return [_unwrapped(one) for one in item]
    if type(item) is tuple:
        return tuple(_unwrapped(one) for one in item)
    if type(item) is dict:
        return {key: _unwrapped(one) for key, one in item.items()}
    return getattr(item, "__wrapped__", item) if _is_ours(item) else item


def _is_ours(item: Any) -> bool:
    code = getattr(item, "__code__", None)
    return code is not None and code.co_filename.startswith(sites.PROBE)
