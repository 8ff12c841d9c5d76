"""Stubs for word vectors and what NLTK would download."""

from dnnfix.reproduce.standins.datasets import _made_seed
from dnnfix.reproduce.standins.files import made_text_file
from dnnfix.reproduce.standins.learnable import _made_words, made_running_text, made_word
from dnnfix.reproduce.standins.wrapping import made_wraps

# --- NLTK


def made_nltk_download(original):
    """Stub for `nltk.download`: nothing is fetched."""

    @made_wraps(original)
    def download(*args, **kwargs):
        return True

    return download


def made_nltk_find(original):
    """Stub for `nltk.data.find`: what programs look for before they download it is there."""

    @made_wraps(original)
    def find(resource_name, paths=None):
        try:
            return original(resource_name, paths)
        except LookupError:
            return resource_name

    return find


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
