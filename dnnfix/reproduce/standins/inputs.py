"""Synthetic data for undefined names: arrays, tensors, frames and loaders with learnable content."""

from dnnfix.reproduce.standins.learnable import (
    made_images,
    made_labels,
    made_masks,
    made_multilabel,
    made_one_hot,
    made_regression,
    made_sequences,
    made_series,
    made_table,
    made_targets,
    made_text,
    made_tokens,
    made_word,
)


def made_pair(samples, shape, form="classes", size=2, vocabulary=0, scale="plain", part=0, seed=0):
    """Inputs of `shape` and their targets.

    `form` says what the targets are: "classes" (indices), "one-hot", "binary" (0. or 1.), "labels" (rows of 0. and 1.),
    "values" (numbers), "steps" (one-hot for each step), "words", "same" (the inputs), "mask", "mask one-hot" or "mask binary" (for each place); `size` is how many, or the shape
    of a value. `vocabulary` makes token ids. `scale` is "plain" (around 0), "unit" (0..1) or "bytes" (0..255).
    """
    import numpy

    shape = tuple(shape)
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    classes = sizes[-1] if form in ("classes", "one-hot", "words", "steps") else 2
    if form.startswith("mask"):
        x, masks = made_masks(
            samples, shape, sizes[:-1], sizes[-1], 0, "uint8" if scale == "bytes" else "float32", part
        )
        forms = {"mask one-hot": lambda: made_one_hot(masks, sizes[-1]), "mask binary": lambda: masks.astype("float32")}
        return x, forms.get(form, lambda: masks)()
    if vocabulary:
        x, y = made_tokens(
            samples, int(numpy.prod(shape)), vocabulary, classes, seed, part, first=min(1, vocabulary - 1)
        )
        x = x.reshape((samples,) + shape)
    elif len(shape) == 1 and form == "values" and scale == "plain":
        x, y = made_regression(samples, shape[0], int(numpy.prod(sizes)), seed, part=part)
        return x, y.reshape((samples,) + sizes)
    elif len(shape) == 1 and form == "labels" and scale == "plain":
        x, y = made_multilabel(samples, shape[0], sizes[-1], seed, part=part)
        return x, y.astype("float32")
    elif scale != "plain" or len(shape) > 2:
        x, y = made_images(samples, shape, classes, seed, "uint8" if scale == "bytes" else "float32", part)
    elif len(shape) == 2:
        x, y = made_sequences(samples, shape[0], shape[1], classes, seed, part=part)
    elif shape:
        x, y = made_table(samples, shape[0], classes, seed, part=part)
    else:
        x, y = made_series(samples, 1, seed)[:, 0].astype("float32"), made_labels(samples, classes, seed, part)
    return x, made_form(x, y, form, sizes)


def made_form(x, y, form, sizes):
    """Targets of a form for samples and their class indices."""
    import numpy

    if form == "same":
        return x
    if form == "one-hot":
        return made_one_hot(y, sizes[-1])
    if form == "words":
        return numpy.array([made_word(int(kind)) for kind in y], dtype=object)
    if form == "binary":
        return y.astype("float32").reshape((len(y),) + tuple(sizes[1:]))
    if form == "labels":
        return numpy.stack([made_targets(x, 2, seed, "float32") for seed in range(sizes[-1])], axis=1)
    if form == "values":
        count = int(numpy.prod(sizes))
        places = [made_targets(x, 0, seed, "float32") for seed in range(min(4, count))]
        return numpy.resize(numpy.concatenate(places, axis=1).T, (count, len(y))).T.reshape((len(y),) + tuple(sizes))
    if form == "steps":
        inside = made_targets(x.reshape((x.shape[0] * x.shape[1], -1)), sizes[-1])
        return made_one_hot(inside, sizes[-1]).reshape(x.shape[:2] + (sizes[-1],))
    return y


def made_tensor(values):
    """An array as a tensor of PyTorch."""
    import torch

    return torch.as_tensor(values)


def made_loader(pair, batch=32, items=2):
    """A DataLoader of PyTorch over inputs and targets, or over the inputs alone."""
    import torch

    parts = [torch.as_tensor(part) for part in pair[:items]]
    data = torch.utils.data.TensorDataset(*parts)
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)


def made_batches(pair, batch=32):
    """An endless generator of batches of inputs and targets."""
    x, y = pair
    start = 0
    while True:
        yield x[start : start + batch], y[start : start + batch]
        start = start + batch if start + 2 * batch <= len(x) else 0


def made_some_batches(pair, batch=32):
    """Batches of inputs and targets, each sample once."""
    x, y = pair
    return [(x[start : start + batch], y[start : start + batch]) for start in range(0, len(x), batch)]


def made_function(*results):
    """A stub for a function that reads data: each place that calls it gets its own data, in the order of the calls."""
    import sys

    places = []

    def read(*args, **kwargs):
        frame = sys._getframe(1)
        place = (frame.f_code, frame.f_lineno)
        if place not in places:
            places.append(place)
        return results[min(places.index(place), len(results) - 1)]()

    return read


def made_tf_dataset(pair, batch=32):
    """A tf.data.Dataset of batches."""
    import tensorflow

    return tensorflow.data.Dataset.from_tensor_slices(tuple(pair)).batch(batch)


def made_frame(names, kinds, rows=400, classes=2, seed=0, words=()):
    """A DataFrame of pandas with columns of these kinds, see `made_columns`."""
    import pandas

    columns = made_columns(rows, kinds, classes, seed, words)
    frame = pandas.DataFrame(dict(enumerate(columns)))
    frame.columns = list(names)
    return frame


def made_columns(rows, kinds, classes=2, seed=0, words=()):
    """Columns of a table, by kind: "number", "text", "date", "index", "series" and, to be learned from the numbers and
    the text, "label" (an index), "label from 1", "word" (its name) and "value" (a number).
    """
    import datetime

    numbers = max(1, sum(kind == "number" for kind in kinds))
    values = sum(kind == "value" for kind in kinds)
    if values and not any(kind in ("label", "label from 1", "word") for kind in kinds):
        x, targets = made_regression(rows, numbers, values, seed)
        labels = made_targets(x, classes)
    else:
        x, labels = made_table(rows, numbers, classes, seed)
        targets = made_regression(rows, numbers, max(1, values), seed)[1]
    lines = made_text(rows, classes, seed)[0] if "text" in kinds else ()
    if "text" in kinds:
        x, labels = made_table(rows, numbers, classes, seed)[0], made_text(rows, classes, seed)[1]
    if "byte" in kinds:
        bytes_of, labels = made_images(rows, (sum(kind == "byte" for kind in kinds),), classes, seed)
        place_of = {column: number for number, column in enumerate(c for c, kind in enumerate(kinds) if kind == "byte")}
    series = made_series(rows, max(1, sum(kind == "series" for kind in kinds)), seed)
    first = datetime.date(2015, 1, 1)
    columns, place = [], {"number": 0, "value": 0, "series": 0}
    for column, kind in enumerate(kinds):
        number = place.get(kind, 0)
        place[kind] = number + 1
        if kind == "number":
            columns.append([round(float(value), 4) for value in x[:, number]])
        elif kind == "byte":
            columns.append(bytes_of[:, place_of[column]].tolist())
        elif kind == "value":
            columns.append([round(float(value), 4) for value in targets[:, number]])
        elif kind == "series":
            columns.append([round(float(value), 2) for value in series[:, number]])
        elif kind == "text":
            columns.append([str(line) for line in lines])
        elif kind == "date":
            columns.append([(first + datetime.timedelta(days=day)).isoformat() for day in range(rows)])
        elif kind == "file":
            columns.append(["image_%d.jpg" % row for row in range(rows)])
        elif kind == "word":
            columns.append([words[label] if label < len(words) else made_word(int(label)) for label in labels])
        elif kind == "label":
            columns.append([int(label) for label in labels])
        elif kind == "label from 1":
            columns.append([int(label) + 1 for label in labels])
        else:
            columns.append(list(range(rows)))
    return columns
