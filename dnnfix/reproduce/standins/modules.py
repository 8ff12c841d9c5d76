"""Stubs for packages that are not installed and only show, log or time, and for a few modules with known members."""

from dnnfix.reproduce.standins.datasets import made_image_set
from dnnfix.reproduce.standins.learnable import made_one_hot


class _MadeNothing:
    """Takes every call and attribute. A call gives its first argument back where that is a function or a series."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        first = args[0] if args else None
        if callable(first) or (hasattr(first, "__iter__") and not isinstance(first, (str, bytes, dict))):
            return first
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __bool__(self):
        return True

    def __lt__(self, other):
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __add__(self, other):
        return other

    __radd__ = __add__

    def __str__(self):
        return ""

    def __format__(self, form):
        return ""


class _MadeBar(_MadeNothing):
    """A progress bar that shows nothing and gives the items of what it was given."""

    def __init__(self, iterable=None, *args, **kwargs):
        self.iterable = iterable
        self.total = kwargs.get("total")
        self.n = 0

    def __iter__(self):
        return iter(() if self.iterable is None else self.iterable)

    def __len__(self):
        return len(self.iterable) if self.iterable is not None else (self.total or 0)

    def update(self, n=1):
        self.n += n

    @staticmethod
    def write(text, *args, **kwargs):
        print(text)


def _made_range(*args, **kwargs):
    return _MadeBar(range(*args))


def _made_same(value=None, *args, **kwargs):
    """What is given, as it is: a text without its colours, a table as text."""
    return value


def _made_printed(value="", *args, **kwargs):
    print(value)


def _made_subplots(nrows=1, ncols=1, *args, **kwargs):
    """A figure and as many axes as are asked for, in the form in which matplotlib gives them."""
    import numpy

    axes = numpy.empty((nrows, ncols), dtype=object)
    axes.fill(_MadeNothing())
    if kwargs.get("squeeze", True):
        axes = axes.squeeze()
    return _MadeNothing(), axes.item() if axes.ndim == 0 else axes


def _made_hist(x=None, bins=10, *args, **kwargs):
    import numpy

    counts, edges = numpy.histogram(numpy.asarray(x).ravel(), bins)
    return counts, edges, _MadeNothing()


def _made_line(*args, **kwargs):
    return [_MadeNothing()]


class _MadeSettings(dict):
    """Settings that are read as attributes as well as by key."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value

    def update(self, *args, **kwargs):
        kwargs.pop("allow_val_change", None)
        given = [vars(part) if hasattr(part, "__dict__") and not isinstance(part, dict) else part for part in args]
        dict.update(self, *given, **kwargs)


class _MadeRun(_MadeNothing):
    """What `wandb.init` gives: it holds the settings of the run."""

    def __init__(self, config):
        self.config = config


def made_service_members(name):
    """What a service has beside things that do nothing: that of `wandb` keeps settings, and calls what a search is for with some of them."""
    if name != "wandb":
        return {}
    config, searched = _MadeSettings(), {}
    run = _MadeRun(config)

    def init(*args, **kwargs):
        for part in (kwargs.get("config"), searched.get("chosen")):
            if part:
                config.update(part)
        return run

    def sweep(sweep=None, *args, **kwargs):
        searched["parameters"] = (sweep or {}).get("parameters") or {}
        return "made"

    def agent(sweep_id=None, function=None, *args, **kwargs):
        searched["chosen"] = {key: _made_choice(of) for key, of in searched.get("parameters", {}).items()}
        if function is not None:
            function()

    return {"config": config, "init": init, "run": run, "sweep": sweep, "agent": agent}


def _made_choice(parameter):
    """A value of what a search may choose from: the first of a list, the middle of a range."""
    import math

    if "values" in parameter:
        return next(iter(parameter["values"]))
    if "value" in parameter or "min" not in parameter:
        return parameter.get("value")
    middle = (parameter["min"] + parameter.get("max", parameter["min"])) / 2.0
    if parameter.get("distribution") == "log_uniform":
        return math.exp(middle)
    return int(middle) if isinstance(parameter["min"], int) and isinstance(parameter.get("max"), int) else middle


def _made_members(name):
    """What a module has beside things that do nothing."""
    root = name.partition(".")[0]
    if root == "tqdm":
        return {"tqdm": _MadeBar, "tqdm_notebook": _MadeBar, "trange": _made_range, "tnrange": _made_range}
    if root == "matplotlib":
        return {"subplots": _made_subplots, "hist": _made_hist, "plot": _made_line}
    if root == "wandb":
        return made_service_members(name)
    if root in ("termcolor", "tabulate", "unidecode", "emoji"):
        names = ("colored", "tabulate", "unidecode", "emojize", "demojize")
        return dict({one: _made_same for one in names}, cprint=_made_printed)
    return {}


class _MadeFinder:
    """Finds the modules of packages that are not installed. It is asked last: a real one comes first."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        import importlib.machinery

        known = [p for p in self.packages if (name + ".").startswith(p + ".") or p.startswith(name + ".")]
        if not known:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        import types

        class Module(types.ModuleType):
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return _MadeNothing()

        return Module(spec.name)

    def exec_module(self, module):
        for name, value in _made_members(module.__name__).items():
            setattr(module, name, value)


def made_silent(*packages):
    """Modules of these packages, which are not installed, do nothing."""
    import sys

    sys.meta_path.append(_MadeFinder(packages))


def made_without_picture(original):
    """Stub for a function that draws a network with a program that is not installed."""
    return lambda *args, **kwargs: _MadeNothing()


def made_module(name, **members):
    """A module of the program that is not there, with what the program takes from it."""
    import sys
    import types

    module = types.ModuleType(name)
    module.__dict__.update(members)
    module.__path__ = []
    sys.modules[name] = module
    parent, _dot, last = name.rpartition(".")
    if parent:
        if parent not in sys.modules:
            made_module(parent)
        setattr(sys.modules[parent], last, module)


def made_ignored(*args, **kwargs):
    """Stub for a function that shows, writes or logs something, and whose result nothing uses."""


def made_new_folder(path, *args, **kwargs):
    """Stub for a function of the program that makes a folder."""
    import os

    os.makedirs(path, exist_ok=True)


class made_theano_config:
    """The settings of Theano that programs for other libraries read, with their defaults."""

    floatX = "float32"
    device = "cpu"
    optimizer = "fast_run"
    mode = "Mode"
    linker = "cvm"
    compute_test_value = "off"
    exception_verbosity = "low"
    blas = cxx = base_compiledir = ""


class made_BeautifulSoup:
    """The text of a page without its tags, for programs that clean texts with `bs4`."""

    def __init__(self, markup="", *args, **kwargs):
        from html.parser import HTMLParser

        if hasattr(markup, "read"):
            markup = markup.read()
        parts = []
        parser = HTMLParser()
        parser.handle_data = parts.append
        parser.feed(markup.decode("utf-8", "replace") if isinstance(markup, bytes) else str(markup))
        parser.close()
        self._parts = parts

    def get_text(self, separator="", strip=False, **kwargs):
        parts = [part.strip() for part in self._parts] if strip else self._parts
        return separator.join(part for part in parts if part)

    getText = get_text

    @property
    def text(self):
        return self.get_text()


class made_AverageMeter:
    """The running mean of a value, as programs for PyTorch keep it."""

    def __init__(self, *args, **kwargs):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def made_accuracy(output, target, topk=(1,)):
    """The percentage of samples whose target is among the k highest outputs, for each k."""
    ranked = output.topk(max(topk), 1, True, True)[1].t()
    correct = ranked.eq(target.reshape(1, -1).expand_as(ranked))
    return [correct[:k].reshape(-1).float().sum(0, keepdim=True) * (100.0 / target.size(0)) for k in topk]


class _MadeDigits:
    """Images and labels of one part of MNIST, given in batches as TensorFlow's tutorials did."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.num_examples = len(images)
        self.epochs_completed = self._at = 0

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        import numpy

        if self._at + batch_size > self.num_examples:
            self.epochs_completed += 1
            self._at = 0
            if shuffle:
                order = numpy.random.permutation(self.num_examples)
                self.images, self.labels = self.images[order], self.labels[order]
        batch = slice(self._at, self._at + batch_size)
        self._at += batch_size
        return self.images[batch], self.labels[batch]


def made_read_data_sets(
    train_dir=None, fake_data=False, one_hot=False, dtype="float32", reshape=True, validation_size=5000, **more
):
    """Stub for `read_data_sets` of the tutorial's file input_data.py: MNIST in three parts."""
    import types

    parts = []
    for train in (True, False):
        images, labels = made_image_set("mnist", train)
        images = images.reshape(-1, 784) if reshape else images.reshape(-1, 28, 28, 1)
        if str(getattr(dtype, "name", dtype)) != "uint8":
            images = images.astype("float32") / 255.0
        parts.append((images, made_one_hot(labels, 10, "float64") if one_hot else labels.astype("uint8")))
    (images, labels), test = parts
    return types.SimpleNamespace(
        train=_MadeDigits(images[validation_size:], labels[validation_size:]),
        validation=_MadeDigits(images[:validation_size], labels[:validation_size]),
        test=_MadeDigits(*test),
    )


def made_in_package(depth):
    """Have modules looked for where the package of the program lies, so many folders above it, and not in the program's own folder."""
    import os
    import sys

    folder = os.path.dirname(os.path.abspath(__file__))
    home = os.path.normpath(os.path.join(folder, *[".."] * depth))
    sys.path[:] = [home, *(place for place in sys.path if os.path.abspath(place or os.curdir) not in (folder, home))]


def made_on_the_path(folder):
    """Have modules looked for in a folder as well, last of all; `folder` is seen from that of the program."""
    import os
    import sys

    sys.path.append(os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), folder)))
