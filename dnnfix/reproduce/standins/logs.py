"""Stubs for windows, plots, progress bars and logging services: nothing is shown, sent or waited for."""

from dnnfix.reproduce.standins.modules import made_service_members
from dnnfix.reproduce.standins.wrapping import made_in_place_of


def made_silent_module(name):
    """Replace the named module, and all below it, by one that accepts every call and does nothing, but keeps settings."""
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
            for member, value in made_service_members(module.__name__).items():
                setattr(module, member, value)

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


def made_no_waiting():
    """Have matplotlib never wait: an event loop ends at once, a key was pressed, clicks are at the centre."""

    def ended(canvas, timeout=0):
        return None

    def pressed(*args, **kwargs):
        return True

    def clicked(figure, n=1, *args, **kwargs):
        axes = figure.gca()
        left, right = axes.get_xlim()
        low, high = axes.get_ylim()
        return [((left + right) / 2.0, (low + high) / 2.0)] * max(1, n)

    def at_once(*args, **kwargs):
        return None

    def for_canvas(original):
        original.start_event_loop = ended
        return original

    def for_figure(original):
        original.waitforbuttonpress, original.ginput = pressed, clicked
        return original

    made_in_place_of("matplotlib.backend_bases.FigureCanvasBase", for_canvas)
    made_in_place_of("matplotlib.figure.Figure", for_figure)
    made_in_place_of("matplotlib.pyplot.pause", lambda original: at_once)


def made_short_pause(original):
    """Stub for `time.sleep`: what the program itself asks for takes a hundredth of a second at most."""

    def sleep(seconds):
        import sys

        own = sys._getframe(1).f_globals.get("__name__") == "__main__"
        original(min(seconds, 0.01) if own else seconds)

    return sleep


def made_plain_bar(original):
    """The progress bar of a terminal, in the place of a notebook's."""
    from tqdm.std import tqdm

    return tqdm


def made_no_board(original):
    """A callback that takes the arguments of another one and does nothing."""
    import keras

    class TensorBoard(keras.callbacks.Callback):
        def __init__(self, *args, **kwargs):
            super().__init__()

    return TensorBoard


def made_backend_without_display(original):
    """Stub for `matplotlib.use`: whatever back end is asked for, plots are drawn without a display."""

    def use(backend=None, *args, **kwargs):
        return original("Agg")

    return use


def made_font(path):
    """A font in the file that a program takes one from."""
    import os
    import shutil

    import matplotlib

    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        shutil.copy(os.path.join(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), path)
