"""Nothing is shown and nothing is sent: stand-ins for windows and for services that watch a training."""


def made_silent_module(name):
    """Put a module that takes everything and does nothing in the place of the named one, and of all below it."""
    import importlib.abc
    import importlib.machinery
    import sys
    import types

    class Silent:
        """What every name of such a module is: a class to inherit from, a function, a context and a plain object."""

        def __init__(self, *args, **kwargs):
            pass

        def __call__(self, *args, **kwargs):
            if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType):
                return args[0]
            return self

        def __getattr__(self, attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return Silent()

        def __setitem__(self, key, value):
            pass

        def __getitem__(self, key):
            return Silent()

        def __iter__(self):
            return iter(())

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return None

        def __bool__(self):
            return False

    class Module(types.ModuleType):
        def __getattr__(self, attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return type(attribute, (Silent,), {}) if attribute[:1].isupper() else Silent()

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, fullname, path=None, target=None):
            if fullname == name or fullname.startswith(name + "."):
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            return None

        def create_module(self, spec):
            return Module(spec.name)

        def exec_module(self, module):
            module.__path__ = []

    for known in [known for known in sys.modules if known == name or known.startswith(name + ".")]:
        del sys.modules[known]
    sys.meta_path.insert(0, Finder())


def made_no_windows():
    """Have OpenCV open no windows; the key that is waited for is `q`, which programs take as the end."""
    import importlib

    cv2 = importlib.import_module("cv2")

    def nothing(*args, **kwargs):
        return None

    for name in ("imshow", "namedWindow", "destroyAllWindows", "destroyWindow", "moveWindow", "resizeWindow"):
        setattr(cv2, name, nothing)
    cv2.waitKey = lambda *args, **kwargs: ord("q")
