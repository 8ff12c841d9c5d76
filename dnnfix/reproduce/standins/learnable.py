"""Generators of synthetic data that an ordinary network learns within about 100 steps.

All functions return (x, y) of `samples` samples. `seed` chooses the rule and `part` the samples, so that parts 0 and 1
are training and test data of one rule. They use generators of their own: the program's random state is not touched.
"""


def _made_random(seed, part=0):
    """A generator for the samples of one part; the rule itself is drawn from part -1."""
    import numpy

    return numpy.random.RandomState((1000003 * (seed + 1) + 7919 * (part + 1)) % 2**32)


def made_labels(samples, classes, seed=0, part=0):
    """Balanced class indices in random order: int64 of shape (samples,)."""
    import numpy

    return _made_random(seed, part + 100).permutation(numpy.arange(samples) % max(1, classes)).astype("int64")


def _made_waves(shape, parameters, jitter):
    """Smooth patterns of values in 0..1, one for each row of `parameters`: sums of waves of low frequency.

    An axis of colours is one more direction of the wave, so images may have their channels first, last or not at all.
    """
    import numpy

    total = 0.0
    for wave in range(3):
        angle = (2 * numpy.pi * parameters[:, wave, 0] + jitter).reshape((-1,) + (1,) * len(shape))
        for axis, size in enumerate(shape):
            place = (numpy.arange(size) / max(1.0, size - 1.0)).reshape((size,) + (1,) * (len(shape) - axis - 1))
            frequency = (4.0 * parameters[:, wave, axis + 1] - 2.0).reshape((-1,) + (1,) * len(shape))
            angle = angle + 2 * numpy.pi * frequency * place
        total = total + numpy.cos(angle)
    brightness = (1.0 + 2.0 * parameters[:, 0, -1]).reshape((-1,) + (1,) * len(shape))
    return ((total / 6.0 + 0.5) ** brightness).astype("float32")


def _made_folded(shape):
    """The shape in which a flat row of values is an image, where it can be one: (784,) is (28, 28)."""
    if len(shape) != 1:
        return tuple(shape)
    for channels in (1, 3):
        side = round((shape[0] / channels) ** 0.5)
        if side > 4 and side * side * channels == shape[0]:
            return (side, side) if channels == 1 else (side, side, channels)
    return tuple(shape)


def made_images(samples, shape, classes=10, seed=0, dtype="uint8", part=0):
    """Images of `shape` with int64 class indices: each class is a pattern of light and dark, under noise.

    Integers lie in 0..255, floats in 0..1.
    """
    import numpy

    classes = max(1, classes)
    folded = _made_folded(shape)
    coarse = tuple(min(length, 64) for length in folded)
    size = int(numpy.prod(folded))
    labels = made_labels(samples, classes, seed, part)
    rule, random = _made_random(seed, -1), _made_random(seed, part)
    variants = int(max(1, min(12, 20000000 // (classes * max(1, size)))))
    parameters = rule.uniform(size=(classes, 3, len(folded) + 2))
    bank = numpy.empty((classes * variants, size), "uint8")
    for variant in range(variants):
        jitter = random.uniform(-0.5, 0.5, classes)
        patterns = _made_waves(coarse, parameters, jitter)
        for axis, (wanted, had) in enumerate(zip(folded, coarse)):
            if wanted != had:
                patterns = patterns.take(numpy.arange(wanted) * had // wanted, axis=axis + 1)
        patterns = patterns.reshape(classes, size)
        strength = random.uniform(120.0, 200.0, (classes, 1))
        bank[variant::variants] = (patterns * strength).astype("uint8")
    images = bank[labels * variants + random.randint(0, variants, samples)]
    flat = images.reshape(-1)
    noise = random.randint(0, 56, 1048573).astype("uint8")
    for start in range(0, flat.size, noise.size):
        flat[start : start + noise.size] += noise[: flat.size - start]
    images = images.reshape((samples,) + tuple(shape))
    if numpy.dtype(dtype).kind == "f":
        return (images / numpy.asarray(255, dtype)).astype(dtype, copy=False), labels
    return images.astype(dtype, copy=False), labels


def made_masks(samples, shape, mask_shape, classes=2, seed=0, dtype="uint8", part=0):
    """Images of bright shapes on a darker ground, and class indices (0 is the ground) for each pixel of `mask_shape`.

    The rows and columns are the two longest axes of each shape.
    """
    import numpy

    random = _made_random(seed, part)

    def spread(values, wanted):
        rows, columns = sorted(sorted(range(len(wanted)), key=lambda axis: -wanted[axis])[:2])
        row = numpy.arange(wanted[rows]) * values.shape[1] // wanted[rows]
        column = numpy.arange(wanted[columns]) * values.shape[2] // wanted[columns]
        small = values[:, row][:, :, column]
        full = [wanted[axis] if axis in (rows, columns) else 1 for axis in range(len(wanted))]
        return numpy.broadcast_to(small.reshape([samples] + full), (samples,) + tuple(wanted)).copy()

    side = 64
    row, column = numpy.mgrid[0:side, 0:side] / float(side)
    masks = numpy.zeros((samples, side, side), "int64")
    for kind in range(1, max(2, classes)):
        centre = random.uniform(0.25, 0.75, (samples, 2, 1, 1))
        radius = random.uniform(0.12, 0.3, (samples, 1, 1))
        masks[(row - centre[:, 0]) ** 2 + (column - centre[:, 1]) ** 2 < radius**2] = kind
    light = (40 + 160 * masks // max(1, classes - 1)).astype("uint8")
    images = spread(light, shape)
    images += random.randint(0, 40, images.shape).astype("uint8")
    if numpy.dtype(dtype).kind == "f":
        images = images / numpy.asarray(255, dtype)
    return images.astype(dtype, copy=False), spread(masks, mask_shape)


def made_table(samples, features, classes=2, seed=0, dtype="float32", part=0):
    """Rows of numbers around 0 with int64 class indices: each class is two clusters, so that a bend is of use."""
    import numpy

    rule, random = _made_random(seed, -1), _made_random(seed, part)
    classes = max(1, classes)
    labels = made_labels(samples, classes, seed, part)
    middle, apart = rule.normal(size=(2, classes, 1, features))
    centres = 0.7 * middle + 1.3 * apart * numpy.array([-1.0, 1.0]).reshape(1, 2, 1)
    centres -= centres.mean(axis=(0, 1))
    noise = random.normal(size=(samples, features)) * (0.5 if features < 4 else 0.8)
    rows = centres[labels, random.randint(0, 2, samples)] + noise
    return (rows / numpy.maximum(1e-6, centres.std(axis=(0, 1)) + 0.5)).astype(dtype), labels


def made_regression(samples, features, outputs=1, seed=0, dtype="float32", part=0):
    """Rows of numbers with mean 0 and deviation 1, and targets of the shape (samples, outputs) of the same spread."""
    import numpy

    rule, random = _made_random(seed, -1), _made_random(seed, part)
    rows = random.normal(size=(samples, features))
    weights = rule.normal(size=(features, outputs)) / features**0.5
    bends = rule.normal(size=(features, outputs)) / features**0.5
    targets = 0.85 * rows @ weights + 0.5 * numpy.sin(2 * rows @ bends) + 0.1 * random.normal(size=(samples, outputs))
    return rows.astype(dtype), targets.astype(dtype)


def made_multilabel(samples, features, labels, seed=0, dtype="float32", part=0):
    """Rows of numbers around 0, and for each label whether it applies: int64 zeros and ones of (samples, labels)."""
    import numpy

    rule, random = _made_random(seed, -1), _made_random(seed, part)
    marks = (random.uniform(size=(samples, labels)) < 0.4).astype("int64")
    directions = rule.normal(size=(labels, features)) * min(3.0, 1.5 + labels / float(features))
    rows = (marks - 0.4) @ directions + 0.6 * random.normal(size=(samples, features))
    spread = numpy.maximum(1e-6, (directions**2).sum(axis=0) * 0.24 + 0.36) ** 0.5
    return (rows / spread).astype(dtype), marks


def made_sequences(samples, steps, features=1, classes=2, seed=0, dtype="float32", part=0):
    """Sequences (samples, steps, features) of values around 0 with int64 class indices: a class is how they swing."""
    import numpy

    random = _made_random(seed, part)
    classes = max(1, classes)
    labels = made_labels(samples, classes, seed, part)
    rule = _made_random(seed, -1).uniform(size=(classes, 3, 4))
    rule[:, 0, 1] = (numpy.arange(classes) + 0.5) / classes
    patterns = _made_waves((steps, features), rule, numpy.zeros(classes)) * 3.0 - 1.2
    drift = numpy.linspace(-1.0, 1.0, classes)[labels].reshape(-1, 1, 1)
    values = patterns[labels] + drift + 0.4 * random.normal(size=(samples, steps, features))
    return values.astype(dtype), labels


def made_series(length, features=1, seed=0):
    """One series (length, features) of positive values that swing and rise, like prices or temperatures: float64."""
    import numpy

    random = _made_random(seed)
    time = numpy.arange(length).reshape(-1, 1)
    period = numpy.array([24.0, 61.0, 150.0]).reshape(3, 1, 1)
    phase = random.uniform(0, 2 * numpy.pi, (3, 1, features))
    swings = (numpy.array([6.0, 9.0, 15.0]).reshape(3, 1, 1) * numpy.sin(2 * numpy.pi * time / period + phase)).sum(0)
    level = 100.0 + 20.0 * numpy.arange(features)
    return level + swings + 20.0 * time / max(1.0, float(length)) + 0.8 * random.normal(size=(length, features))


def made_tokens(samples, length, vocabulary=10000, classes=2, seed=0, part=0, ragged=False, first=4):
    """Token ids in first..vocabulary-1, frequent ones low as in Zipf's law, and class indices; classes have own words.

    int64 of (samples, length); with `ragged` an object array of lists, of half to one and a half times that length.
    """
    import numpy

    rule, random = _made_random(seed, -1), _made_random(seed, part)
    classes = max(1, classes)
    first = min(first, max(0, vocabulary - 2))
    labels = made_labels(samples, classes, seed, part)
    usable = max(1, vocabulary - first)
    longest = length + length // 2 if ragged else length
    common = first + (usable ** random.uniform(size=65536) - 1).astype("int64")
    ids = common.clip(0, vocabulary - 1)[random.randint(0, 65536, (samples, longest))]
    own = max(1, min(20, usable // (2 * classes)))
    known = max(classes * own, min(usable, 500))
    words = first + rule.permutation(known)[: classes * own] % usable
    words = numpy.resize(words, (classes, own))
    said = random.randint(0, 10, ids.shape) < 3
    chosen = words[labels.reshape(-1, 1), random.randint(0, own, ids.shape)]
    ids = numpy.where(said, chosen, ids)
    if not ragged:
        return ids, labels
    lengths = random.randint(max(1, length // 2), longest + 1, samples)
    lists = numpy.empty(samples, dtype=object)
    lists[:] = [row[:end].tolist() for row, end in zip(ids, lengths)]
    return lists, labels


_made_syllables = "ba ce di fo gu ka le mi no pu ra se ti vo zu".split()
_made_words = (
    "the a this that and but so then of in on with for is was has had will can very more new old good small great "
    "time day year people way man woman child world life hand part place work week case point company number group"
).split()


def made_word(number):
    """A made-up word, another one for each number."""
    word = ""
    number += len(_made_syllables)
    while number:
        word += _made_syllables[number % len(_made_syllables)]
        number //= len(_made_syllables)
    return word


def made_text(samples, classes=2, seed=0, length=20, part=0):
    """Lines of lower-case words and their class indices: a third of the words belong to the line's class alone."""
    import numpy

    random = _made_random(seed, part)
    labels = made_labels(samples, classes, seed, part)
    own = [[made_word(20 * kind + number) for number in range(20)] for kind in range(max(1, classes))]
    lines = []
    for label in labels:
        count = random.randint(max(2, length // 2), length + length // 2 + 1)
        draws = random.uniform(size=count)
        picks = random.randint(0, 1000, count)
        lines.append(
            " ".join(
                own[label][pick % 20] if draw < 0.35 else _made_words[pick % len(_made_words)]
                for draw, pick in zip(draws, picks)
            )
        )
    return numpy.array(lines, dtype=object), labels


def made_running_text(characters=20000, seed=0):
    """Plain text of about so many characters: simple English sentences in paragraphs, for models of language."""
    random = _made_random(seed)
    nouns = "cat dog bird child king queen river garden house tree ship teacher farmer stone letter door".split()
    verbs = "sees finds follows likes leaves carries watches hears opens paints".split()
    traits = "old young small quiet red white happy strange long bright".split()
    places = "near the river|in the garden|behind the house|at night|in the morning|under a tree|by the sea".split("|")

    def pick(words):
        return words[random.randint(len(words))]

    text, size, sentences = [], 0, 0
    while size < characters:
        subject = "the %s %s" % (pick(traits), pick(nouns)) if random.uniform() < 0.6 else "the %s" % pick(nouns)
        sentence = "%s %s the %s" % (subject, pick(verbs), pick(nouns))
        if random.uniform() < 0.5:
            sentence += " " + pick(places)
        sentence = sentence[0].upper() + sentence[1:] + "."
        sentences += 1
        sentence += "\n\n" if sentences % 8 == 0 else ("\n" if sentences % 2 == 0 else " ")
        text.append(sentence)
        size += len(sentence)
    return "".join(text)


def made_targets(x, classes=2, seed=0, dtype="int64"):
    """Class indices for given samples, learnable from them: by the position along one smooth direction.

    With classes=0 the place itself, a float of mean 0 and deviation 1, of the shape (samples, 1).
    """
    import numpy

    values = numpy.asarray(x, dtype="float64").reshape(len(x), -1)
    values = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-8)
    direction = numpy.cumsum(_made_random(seed, -1).normal(size=values.shape[1]))
    place = values @ (direction - direction.mean() * (values.shape[1] > 1))
    if not classes:
        return ((place - place.mean()) / (place.std() + 1e-8)).astype(dtype).reshape(-1, 1)
    return (numpy.argsort(numpy.argsort(place)) * classes // max(1, len(place))).astype(dtype)


def made_one_hot(labels, classes=None, dtype="float32"):
    """Class indices as rows with a single one."""
    import numpy

    labels = numpy.asarray(labels)
    return numpy.eye(int(labels.max()) + 1 if classes is None else classes, dtype=dtype)[labels]
