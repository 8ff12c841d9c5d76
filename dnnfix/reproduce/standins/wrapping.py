"""Replaces functions of libraries by stubs, whether the module is imported already, later or never."""

_made_waiting: dict = {}


def made_in_place_of(place, stand_in):
    """Replace the function or class of a module that `place` names by `stand_in(original)`.

    A module that is not imported yet is changed when it is, so that nothing is imported for it here. Every module that
    has the original under the same name gets the new one.
    """
    import sys

    module, _dot, name = place.rpartition(".")
    if module in sys.modules:
        _made_put(sys.modules[module], name, stand_in)
        return
    if not _made_waiting:
        sys.meta_path.insert(0, _MadeWatch())
    _made_waiting.setdefault(module, []).append((name, stand_in))


def made_wraps(original):
    """A decorator for the replacement of `original`, which gets its name and signature.

    What the original raises when it is called from there is the program's affair, not that of the stand-ins: the code
    counts as a library's.
    """
    import functools

    def wraps(function):
        if hasattr(function.__code__, "replace"):  # not before Python 3.8, where the old era is
            function.__code__ = function.__code__.replace(co_filename="<stand-in>")
        return functools.wraps(original)(function)

    return wraps


def made_arguments(function, args, kwargs):
    """The arguments of a call by the parameters of `function`; `None` where the call does not fit, as the function
    will report.
    """
    import inspect

    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


def _made_put(module, name, stand_in):
    import sys

    original = vars(module).get(name)
    if original is None:
        try:  # a name that its module loads when it is asked for
            original = getattr(module, name)
        except (AttributeError, ImportError):
            return
    if getattr(original, "__dict__", {}).get("made_for") is stand_in:
        return
    new = stand_in(original)
    if new is original:
        return
    try:
        new.made_for = stand_in
    except AttributeError:
        pass
    for other in [module, *sys.modules.values()]:
        names = getattr(other, "__dict__", None)
        if isinstance(names, dict) and (other is module or names.get(name) is original):
            setattr(other, name, new)


class _MadeWatch:
    """Sees modules being imported, and changes those that something waits for once they are there."""

    def find_spec(self, name, path=None, target=None):
        import sys

        if name not in _made_waiting:
            return None
        for finder in sys.meta_path:
            spec = None if isinstance(finder, _MadeWatch) else finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _MadeLoader(spec.loader)
                return spec
        return None


class _MadeLoader:
    """A loader that changes what another one has loaded."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self.__dict__["_loader"], name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for name, stand_in in _made_waiting.pop(module.__name__, ()):
            _made_put(module, name, stand_in)
