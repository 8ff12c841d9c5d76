"""Stubs for text data sets of the Hugging Face hub, word vectors, and what NLTK would download."""

from dnnfix.reproduce.standins.datasets import _made_seed, made_image_set
from dnnfix.reproduce.standins.files import made_text_file
from dnnfix.reproduce.standins.learnable import _made_words, made_running_text, made_text, made_word
from dnnfix.reproduce.standins.wrapping import made_wraps

_made_hub_texts = {  # column of the text, classes, and the size of each part
    "imdb": ("text", "neg pos", {"train": 25000, "test": 25000, "unsupervised": 50000}),
    "rotten_tomatoes": ("text", "neg pos", {"train": 8530, "validation": 1066, "test": 1066}),
    "ag_news": ("text", "World Sports Business Sci/Tech", {"train": 120000, "test": 7600}),
    "emotion": ("text", "sadness joy love anger fear surprise", {"train": 16000, "validation": 2000, "test": 2000}),
    "sst2": ("sentence", "negative positive", {"train": 67349, "validation": 872, "test": 1821}),
    "yelp_polarity": ("text", "1 2", {"train": 560000, "test": 38000}),
    "tweet_eval": ("text", "negative neutral positive", {"train": 45615, "validation": 2000, "test": 12284}),
}
_made_hub_images = {"mnist": "image", "fashion_mnist": "image", "cifar10": "img"}


def made_hub_dataset(original):
    """Stub for `datasets.load_dataset`, for the data sets that are known here; pictures are 2000 of each part."""

    @made_wraps(original)
    def load_dataset(path, *args, **kwargs):
        name = str(path).rpartition("/")[2]
        if str(path) == "glue" and (args[:1] == ("sst2",) or kwargs.get("name") == "sst2"):
            name = "sst2"
        if name not in _made_hub_texts and name not in _made_hub_images:
            return original(path, *args, **kwargs)
        import datasets

        split = kwargs.get("split")
        parts = {part: _made_hub_part(name, part) for part in _made_hub_parts(name)}
        if split is None:
            return datasets.DatasetDict(parts)
        wanted = [_made_hub_cut(parts, str(one)) for one in (split if isinstance(split, (list, tuple)) else [split])]
        return wanted if isinstance(split, (list, tuple)) else wanted[0]

    return load_dataset


def _made_hub_parts(name):
    return _made_hub_texts[name][2] if name in _made_hub_texts else ("train", "test")


def _made_hub_part(name, part):
    """One part of a data set, as the package has it."""
    import datasets
    import numpy

    number = {"train": 0, "test": 1}.get(part, 2)
    if name in _made_hub_images:
        from PIL import Image

        images, labels = made_image_set(name, number == 0)
        features = datasets.Features({_made_hub_images[name]: datasets.Image(), "label": datasets.Value("int64")})
        pictures = [Image.fromarray(image) for image in images[:2000]]
        return datasets.Dataset.from_dict(
            {_made_hub_images[name]: pictures, "label": labels[:2000].tolist()}, features=features
        )
    column, names, sizes = _made_hub_texts[name]
    classes = names.split()
    distinct = min(sizes[part], 2000)
    texts, labels = made_text(distinct, len(classes), _made_seed(name), 40, number)
    which = numpy.random.RandomState(number).permutation(sizes[part]) % distinct
    if name == "sst2" and part == "test" or part == "unsupervised":
        labels = labels * 0 - 1
    features = datasets.Features({column: datasets.Value("string"), "label": datasets.ClassLabel(names=classes)})
    return datasets.Dataset.from_dict(
        {column: [str(texts[index]) for index in which], "label": labels[which].tolist()}, features=features
    )


def _made_hub_cut(parts, text):
    """What `train[:10%]` names of the parts."""
    part, _bracket, inner = text.partition("[")
    found = parts[part]
    if not inner:
        return found
    places = []
    for place, otherwise in zip(inner.rstrip("]").split(":"), (0, len(found))):
        value = otherwise
        if place:
            value = len(found) * int(place[:-1]) // 100 if place.endswith("%") else int(place)
        places.append(value + len(found) if value < 0 else value)
    return found.select(range(places[0], min(places[1], len(found))))


# --- NLTK


def made_nltk_download(original):
    """Stub for `nltk.download`: nothing is fetched."""

    @made_wraps(original)
    def download(*args, **kwargs):
        return True

    return download


def made_word_tokenize(original):
    """Stub for `nltk.word_tokenize`, whose model is not there: words and signs, split by a rule."""

    @made_wraps(original)
    def word_tokenize(text, *args, **kwargs):
        import re

        return re.findall(r"\w+(?:'\w+)?|[^\w\s]", text)

    return word_tokenize


def made_sent_tokenize(original):
    """Stub for `nltk.sent_tokenize`: a sentence ends with a dot, a question mark or an exclamation mark."""

    @made_wraps(original)
    def sent_tokenize(text, *args, **kwargs):
        import re

        return [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]

    return sent_tokenize


class _MadeCorpus:
    """A corpus of NLTK: plain text in sentences, or a list of words."""

    def __init__(self, name):
        self.made_name = name

    def words(self, *args, **kwargs):
        if self.made_name == "stopwords":
            return list(_made_words[:25])
        return made_running_text(50000, _made_seed(self.made_name)).replace(".", " .").split()

    def raw(self, *args, **kwargs):
        return made_running_text(50000, _made_seed(self.made_name))

    def sents(self, *args, **kwargs):
        return [line.split() + ["."] for line in self.raw().replace("\n", " ").split(". ") if line.strip()]

    def fileids(self, *args, **kwargs):
        return ["made.txt"]


def made_corpus(name):
    """Stub for a corpus of NLTK that is not there."""
    return lambda original: _MadeCorpus(name)


def made_word_vectors(path, size, header=False, words=1500):
    """A file of pretrained word vectors: on each line a word and its numbers; made texts are of these words."""
    import numpy

    from_rule = numpy.random.RandomState(7)
    known = list(dict.fromkeys(list(_made_words) + [made_word(number) for number in range(words)]))
    rows = from_rule.normal(0.0, 0.4, (len(known), size))
    lines = ["%d %d" % rows.shape] if header else []
    lines += ["%s %s" % (word, " ".join("%.4f" % value for value in row)) for word, row in zip(known, rows)]
    made_text_file(path, "\n".join(lines) + "\n")
