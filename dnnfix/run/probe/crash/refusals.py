"""The names or parameters that an object or a function has, where the program used one that does not exist.

At such a crash the interpreter knows what no table does: the attributes that the object has, and the parameters of the
function. Those that are similar to what was used are written to the trace, as the `refusal` of the crash
(`dnnfix.records.Refusal`).

Of the program's own names only the spelling is recorded. A path is an expression that reaches an object of another
module from the names that the program has imported (`tf.nn.relu`).
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import re
import sys
from types import FrameType, ModuleType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .. import sites
from ..lookup import MISSING, value_of

_REFUSALS = (AttributeError, ImportError, TypeError, ValueError)
_NEAR = 8
"""How many names are told, of each way of being near."""
_CUTOFF = 0.7
"""How alike two spellings are at least, as difflib measures it; far below what a repair is made from."""
_LIKE = 0.55
"""How alike those are of which only the spelling is told."""
_MOST = 200
"""How many of these."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def asked_for(error: BaseException) -> Optional[Dict[str, Any]]:
    """The similar names or the parameters, for an error that may be about a wrong name or wrong arguments."""
    if not isinstance(error, _REFUSALS):
        return None
    try:
        return _asked_for(error)
    except Exception:  # the objects are the program's: looking at them may raise anything
        return None


def _asked_for(error: BaseException) -> Optional[Dict[str, Any]]:
    entries = sites.entries_of(error.__traceback__)
    if not entries:
        return None
    frame, site = entries[-1].tb_frame, sites.site_of_entry(entries[-1]) or []
    if isinstance(error, ImportError):
        found = _NO_NAME.match(str(error))
        module = sys.modules.get(found.group(2)) if found else None
        return _told(site, module, found.group(1), "name", None, frame) if found and module is not None else None
    node = sites.expression(frame.f_code.co_filename, site)
    if isinstance(error, AttributeError):
        if not isinstance(node, ast.Attribute):
            return None
        owner = error.obj if getattr(error, "name", None) == node.attr and hasattr(error, "obj") else None
        owner = _value(node.value, frame) if owner is None else owner
        return _told(site, owner, node.attr, "name", None, frame) if owner is not None else None
    if not isinstance(node, ast.Call):
        return None
    called = _value(node.func, frame)
    if called is None:
        return None
    if isinstance(called, ModuleType):
        name = called.__name__.rpartition(".")[2]
        return _told(site, called, name, "module", None, frame)
    if isinstance(node.func, ast.Attribute):
        return _told(site, _value(node.func.value, frame), node.func.attr, "call", called, frame)
    name = getattr(called, "__name__", type(called).__name__)  # an object that can be called has none
    return _told(site, sys.modules.get(getattr(called, "__module__", "")), name, "call", called, frame)


def _told(
    site: List[Any], owner: Any, name: str, asked: str, called: Any, frame: FrameType
) -> Optional[Dict[str, Any]]:
    if owner is None:
        return None
    if isinstance(owner, ModuleType):
        kind, title, home = "module", owner.__name__, owner
    else:
        cls = owner if isinstance(owner, type) else type(owner)
        kind = "class" if isinstance(owner, type) else "object"
        title = "%s.%s" % (cls.__module__, cls.__qualname__)
        home = sys.modules.get(cls.__module__, builtins)
    own = any(map(_is_own, (home, sys.modules.get(getattr(called, "__module__", None) or ""))))
    names = [] if own and asked == "call" else dir(owner)
    found = [] if own else [(each, "", getattr(owner, each, None)) for each in _near(name, names)]
    if asked == "module" and callable(getattr(owner, name, None)):
        found.append((name, "", getattr(owner, name)))
    if kind == "module" and asked != "call" and not own:
        found += [(name, path, thing) for path, thing in _elsewhere(name, title, frame)]
    near: List[Dict[str, Any]] = [
        {"name": each, "path": path, "callable": callable(thing), "parameters": _parameters(thing)}
        for each, path, thing in found
    ]
    known = [each for each, _, _ in found]
    near += [{"name": each} for each in _spelled_alike(name, names) if each not in known]
    return {
        "site": site,
        "name": name,
        "owner": title,
        "kind": kind,
        "asked": asked,
        "own": own,
        "parameters": _parameters(called) if called is not None else None,
        "near": near,
    }


def _is_own(module: Any) -> bool:
    """Whether a module is one of the program's."""
    return getattr(module, "__name__", "") == "__main__" or sites.is_user_file(getattr(module, "__file__", None) or "")


def _value(node: ast.AST, frame: FrameType) -> Any:
    """What a name, a chain of attributes of one, or an element of a container stands for in a frame."""
    if isinstance(node, ast.Name):
        for known in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in known:
                return known[node.id]
        return None
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        return getattr(owner, node.attr, None) if owner is not None else None
    found = value_of(node, frame)
    return None if found is MISSING else found


def _parameters(thing: Any) -> Optional[List[Dict[str, Any]]]:
    """Name, kind (as `inspect` numbers them) and whether it may be left out, of each parameter that a call fills."""
    if not callable(thing):
        return None
    made = isinstance(thing, type)
    try:
        # a class of Keras has a `__new__` that takes anything, and an `__init__` that does not
        signature = inspect.signature(thing.__init__ if made else thing)
    except (TypeError, ValueError):
        return None
    found = [
        {"name": each.name, "kind": int(each.kind), "optional": each.default is not each.empty}
        for each in signature.parameters.values()
    ]
    return found[1:] if made else found


def _near(name: str, names: List[str]) -> List[str]:
    """The public names that are spelled like a name, and those whose words hold or are its words."""
    public = [each for each in names if not each.startswith("_") and each != name]
    asked = words(name)
    plain = "".join(asked)
    found = [each for each in public if "".join(words(each)) == plain]
    found += difflib.get_close_matches(name, public, _NEAR, _CUTOFF)
    related = [each for each in public if _related(asked, words(each))]
    found += sorted(related, key=lambda each: (abs(len(words(each)) - len(asked)), len(each)))[:_NEAR]
    return list(dict.fromkeys(found))


def _spelled_alike(name: str, names: List[str]) -> List[str]:
    """The names whose spelling is alike, or goes on or ends before this one; who reads them is stricter."""
    wanted, asked, found = name.lower(), set(words(name)), []
    for each in names:
        lower = each.lower()
        if each != name and (name.startswith("_") or not each.startswith("_")):
            within = bool(asked) and asked <= set(words(each)) or lower.startswith(wanted) or wanted.startswith(lower)
            if within or difflib.SequenceMatcher(None, wanted, lower).ratio() >= _LIKE:
                found.append(each)
    return found[:_MOST]


def words(name: str) -> List[str]:
    """The words of a name, in lower case: `LayerNorm` and `layer_norm` have the same."""
    return [word.lower() for word in _WORD.findall(name)]


def _related(asked: List[str], known: List[str]) -> bool:
    """Whether the words of one name are among those of the other, or are shortened from them."""
    if not asked or not known:
        return False
    if set(asked) <= set(known) or set(known) <= set(asked) and len("".join(known)) > 3:
        return True
    return len(asked) == len(known) and all(
        (one.startswith(other) or other.startswith(one)) and min(len(one), len(other)) > 2
        for one, other in zip(asked, known)
    )


def _elsewhere(name: str, title: str, frame: FrameType) -> Iterator[Tuple[str, Any]]:
    """Where modules of the same library, that the program can reach by name, have exactly this name."""
    package = title.partition(".")[0]
    seen: List[Any] = []
    for local, module in list(frame.f_globals.items()):
        if not isinstance(module, ModuleType) or module.__name__.partition(".")[0] != package:
            continue
        parts = [(local, module)]
        parts += [
            ("%s.%s" % (local, each), part)
            for each, part in list(vars(module).items())
            if isinstance(part, ModuleType) and not each.startswith("_") and each not in _INSIDE
        ]
        for path, part in parts:
            thing = vars(part).get(name)
            if thing is not None and not any(thing is known for known in seen):
                seen.append(thing)
                yield "%s.%s" % (path, name), thing


_INSIDE = ("compat", "python", "core", "src", "raw_ops")
"""Parts of libraries that programs do not call, or that stand for another version."""
