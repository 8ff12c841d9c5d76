"""Harness for TensorFlow: calls unused functions and classes, and runs the graphs that they build."""

from dnnfix.reproduce.standins.harness import _made_says, _made_steps
from dnnfix.reproduce.standins.learnable import made_images, made_sequences, made_table

_made_graph_results: dict = {}


def made_graph(name, function, given, returns=(), trains=False, guesses=0):
    """Call `function` with synthetic arguments and run what it builds for a moment; prints why where it cannot.

    `given` tells of each argument: ("value", it), ("result", name of what another function gave) or ("tensor", its shape
    or None where its rank is open, "ids" or "floats"). `returns` names what comes back. With `trains` a loss among that is
    minimized. What fails in the same way whatever the ranks is the program's; where they fail differently nothing is run.
    """
    import sys

    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return _made_says("%s is not called: the program imports no TensorFlow" % name)
    missing = [one[1] for one in given.values() if one[0] == "result" and one[1] not in _made_graph_results]
    if missing:
        return _made_says("%s is not called: there is no %s" % (name, ", ".join(missing)))
    chosen = _made_rank(tensorflow, function, given)
    if chosen is None:
        return _made_says("%s is not called: nothing goes through it whatever the ranks of its arguments" % name)
    _made_count_steps(tensorflow)
    try:
        result = function(**_made_tensors_of(tensorflow, given, chosen))
    except (ValueError, AssertionError, tensorflow.errors.OpError) as error:
        if guesses < 2:
            raise
        return _made_says("%s could not be called with guessed arguments: %s" % (name, error))
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    _made_graph_results.update((one, value) for one, value in zip(returns, values) if one)
    if not tensorflow.executing_eagerly():
        parts = list(vars(result).items()) if hasattr(result, "__dict__") and not hasattr(result, "graph") else []
        _made_graph_run(tensorflow, name, [*zip(returns or [name], values), *parts], trains)
    return None


def _made_count_steps(tensorflow):
    """The variable that counts steps, which programs expect to be there."""
    if not tensorflow.executing_eagerly():
        tensorflow.compat.v1.train.get_or_create_global_step()


def _made_rank(tensorflow, function, given):
    """The shapes for arguments whose rank is open, by name; None where no rank fits and the failures differ."""
    import contextlib
    import itertools

    shapes = [(4, 8), (4, 16, 16, 3), (4,), (4, 20, 8), ()]
    free = [name for name, one in given.items() if one[0] == "tensor" and one[1] is None]
    if not free:
        return {}
    failures, first = set(), None
    for ranks in itertools.product(shapes, repeat=min(len(free), 3)):
        chosen = dict(zip(free, list(ranks) + [shapes[0]] * len(free)))
        first = first or chosen
        apart = contextlib.nullcontext() if tensorflow.executing_eagerly() else tensorflow.Graph().as_default()
        with apart:
            _made_count_steps(tensorflow)
            try:
                function(**_made_tensors_of(tensorflow, given, chosen, apart=True))
                return chosen
            except Exception as error:  # noqa: BLE001 - whatever it is, it is compared with the failures of other ranks
                if isinstance(error, (AttributeError, ImportError, NameError)):
                    return chosen
                failures.add(_made_failure(error))
    return first if len(failures) == 1 else None


def _made_failure(error):
    """A failure without what depends on sizes."""
    import re

    return type(error).__name__ + re.sub(r"[\d\[\](),\s]+", " ", str(error))[:80]


def _made_tensors_of(tensorflow, given, chosen, apart=False):
    """The arguments of a call; `apart` is a graph of its own, in which results of others are told by their shapes only."""
    import numpy

    values = {}
    for name, one in given.items():
        if one[0] == "value":
            values[name] = one[1]
        elif one[0] == "result":
            result = _made_graph_results[one[1]]
            if apart and not tensorflow.executing_eagerly() and hasattr(result, "graph"):
                shape = [size or 4 for size in (result.shape.as_list() if result.shape.rank is not None else [])]
                dtype = result.dtype.base_dtype
                result = tensorflow.zeros(shape, dtype)
                if dtype.is_floating:  # as the true one does, it depends on something that can be trained
                    result += tensorflow.compat.v1.Variable(0.0, dtype=dtype)
            values[name] = result
        else:
            shape = tuple(chosen[name] if one[1] is None else one[1])
            array = _made_rows(shape) if one[2] == "floats" else numpy.arange(int(numpy.prod(shape))).reshape(shape) % 2
            values[name] = tensorflow.constant(array.astype("float32" if one[2] == "floats" else "int32"))
    return values


def _made_rows(shape):
    """Floats of a shape, learnable where its rank is that of rows, series or images."""
    import numpy

    if len(shape) < 2 or 0 in shape:
        return numpy.linspace(0.1, 0.9, int(numpy.prod(shape)) if shape else 1).reshape(shape)
    if len(shape) == 2:
        return made_table(shape[0], shape[1])[0]
    if len(shape) == 3:
        return made_sequences(shape[0], shape[1], shape[2])[0]
    return made_images(shape[0], tuple(shape[1:]), 2, 0, "float32")[0]


def _made_graph_run(tensorflow, name, named, trains):
    """Run what was built in a session, with made data in every placeholder, a few times, or until training is over."""
    import time

    old = tensorflow.compat.v1
    graph = old.get_default_graph()
    found = [(one, value) for one, value in named if isinstance(value, (tensorflow.Tensor, tensorflow.Operation))]
    if not found:
        return
    losses = [value for one, value in found if "loss" in one or "cost" in one]
    scalars = [loss for loss in losses if isinstance(loss, tensorflow.Tensor) and loss.shape.rank == 0]
    fetched = [value for _one, value in found]
    if trains and scalars and old.trainable_variables():
        try:
            fetched.append(old.train.AdamOptimizer(0.001).minimize(scalars[0]))
        except ValueError:  # nothing that it depends on can be trained
            pass
    most, over = _made_steps()
    begun = time.monotonic()
    try:
        with old.Session() as session:
            session.run([old.global_variables_initializer(), old.local_variables_initializer()])
            feeds = {one.outputs[0]: _made_feed(one) for one in graph.get_operations() if one.type == "Placeholder"}
            repeat = any(isinstance(one, tensorflow.Operation) for one in fetched)
            for _step in range(most if repeat else 2):
                if over() or time.monotonic() - begun > 5.0:
                    break
                session.run(fetched, feeds)
    except (tensorflow.errors.OpError, ValueError, TypeError) as error:
        _made_says("what %s builds could not be run with made data: %s" % (name, str(error).split("\n")[0]))


def _made_feed(placeholder):
    """Data for a placeholder: by its type, its shape and its name."""
    import re

    import numpy

    tensor, name = placeholder.outputs[0], placeholder.name.lower()
    sizes = tensor.shape.as_list() if tensor.shape.rank is not None else []
    shape = tuple(size or (16 if place == 0 else 8) for place, size in enumerate(sizes))
    kind = tensor.dtype.as_numpy_dtype
    if tensor.dtype.is_bool:
        return numpy.ones(shape, dtype=bool)
    if tensor.dtype.is_integer:
        return (numpy.arange(int(numpy.prod(shape))).reshape(shape) % 2).astype(kind)
    if not tensor.dtype.is_floating:
        return numpy.full(shape, "text", dtype=object)
    if not shape:
        return numpy.asarray(0.001 if re.search("rate|lr", name) and "drop" not in name else 0.5, dtype=kind)
    if len(shape) == 2 and shape[1] > 1 and re.search(r"(?:^|[_/])(?:\w*y|labels?|targets?|truth)", name):
        return numpy.eye(shape[1], dtype=kind)[made_table(shape[0], 2, shape[1])[1]]
    return _made_rows(shape).astype(kind)
