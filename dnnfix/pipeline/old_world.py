"""Hints that a program needs the rules for TensorFlow 1, Keras 1 or Python 2, where their package is not installed.

By a few telltale words, and without the package: it may be installed or not, and nothing of it is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.python2 import speaks_python2
from dnnfix.index import entry_points
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.program import Source

PACKAGE = "dnnfix-legacy"
MODULE = "dnnfix_legacy"
INSTALL = "pip install ./legacy"
"""How it is installed, in a checkout of dnnfix."""

CODES = frozenset(
    (
        *("DNF141", "DNF431", "DNF432", "DNF516", "DNF517", "DNF534", "DNF540", "DNF541", "DNF543"),
        *("DNF547", "DNF549", "DNF555", "DNF556", "DNF575", "DNF576", "DNF577"),
    )
)
"""The codes of the package's rules, which were in the catalogue before."""

TELLTALES = {
    "TensorFlow 1": (
        "tensorflow.InteractiveSession",
        "tensorflow.Session",
        "tensorflow.contrib.",
        "tensorflow.examples.tutorials.",
        "tensorflow.get_variable",
        "tensorflow.global_variables_initializer",
        "tensorflow.initialize_all_variables",
        "tensorflow.layers.",
        "tensorflow.placeholder",
        "tensorflow.variable_scope",
    ),
    "Keras 1": (
        "keras.initializations.",
        "keras.layers.Merge",
        "keras.layers.convolutional.",
        "keras.layers.core.",
        "keras.layers.merge",
        "keras.layers.normalization.",
    ),
    "Theano": ("theano.",),
}
"""By what a program was written for, names that show it: what begins with a module, or is called just so.

What is taken from `tensorflow.compat.v1` is called as it was in version 1.
"""

METHODS = {"iteritems": "Python 2", "iterkeys": "Python 2", "itervalues": "Python 2", "has_key": "Python 2"}

_WORDS = frozenset(name.strip(".").rpartition(".")[2] for names in TELLTALES.values() for name in names)


def is_installed() -> bool:
    """Whether the package's rules take part."""
    return any(point.partition(".")[0] == MODULE for point in entry_points())


def of_package(word: str) -> str:
    """A sentence for a word that means one of the package's rules, which are not there; empty for any other."""
    if word.upper() not in CODES or is_installed():
        return ""
    return f" It is a rule of the package {PACKAGE}: {INSTALL} in a checkout of dnnfix."


def elsewhere(source: Source) -> tuple[str, ...]:
    """One line on what a program was written for, where the rules for that are not installed; none where they are, or it needs none."""
    if is_installed() or not (found := _written_for(source)):
        return ()
    which = " and ".join(found)
    return (
        f"what is to be repaired in programs of {which}: {PACKAGE} has the rules ({INSTALL} in a checkout of dnnfix)",
    )


def refused_by_python3(source: Source) -> Unparsable | None:
    """Why Python does not read a program of Python 2, where the rule that says so is not installed."""
    if is_installed() or not _reads_only_with_python2(source):
        return None
    try:  # a notebook's commands are none of Python's
        parse("\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in source.document.own_lines))
    except Unparsable as refused:
        return refused
    return None


def _reads_only_with_python2(source: Source) -> bool:
    return any("Python 2" in note or note.startswith("tabs in the indentation") for note in source.recoveries)


def _written_for(source: Source) -> list[str]:
    """What the program was written for, by all that shows it."""
    found = {"Python 2"} if _reads_only_with_python2(source) or speaks_python2(source) else set()
    if not source.words.isdisjoint(METHODS):
        found |= {METHODS[node.attr] for node in source.nodes(ast.Attribute) if node.attr in METHODS}
    if not source.words.isdisjoint(_WORDS):
        names = {name.replace("tensorflow.compat.v1.", "tensorflow.") for name in _names(source)}
        for world, told in TELLTALES.items():
            if any(name == one or one.endswith(".") and f"{name}.".startswith(one) for name in names for one in told):
                found.add(world)
    return sorted(found)


def _names(source: Source) -> Iterator[str]:
    """What the program imports, and the names with dots that it uses."""
    for statement in source.nodes(ast.Import):
        yield from (alias.name for alias in statement.names)
    for imported in source.nodes(ast.ImportFrom):
        yield from (f"{imported.module}.{alias.name}" for alias in imported.names if not imported.level)
    for attribute in source.nodes(ast.Attribute):
        if attribute.attr in _WORDS:
            yield source.written(attribute) or ""
