"""A program in Python 2: `print "loss", loss`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Site, Subject, uses_of

NAMES = {"xrange": "range", "raw_input": "input", "unicode": "str", "unichr": "chr", "basestring": "str", "long": "int"}
"""Builtins of Python 2 and what they are called in Python 3."""

METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}

MODULES = {"cPickle": "pickle", "Queue": "queue", "ConfigParser": "configparser", "StringIO": "io"}


class Python2Program(ApiChange):
    """Python 3 does not compile print statements, and lacks `xrange`, `raw_input`, `cPickle` and `iteritems`.

    Statements that only Python 2 reads are written as Python 3 writes them; where the text needed more than that to be
    read, those lines stay as they are. Names are changed where the program does not define them itself.

    Fix safety: unsafe: divisions, strings and the order of dictionaries differ between the two as well.

    References: https://docs.python.org/3/howto/pyporting.html.
    """

    code = "DNF516"
    name = "python-2-program"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The statements that had to be rewritten to be read, then names."""
        source = subject.source
        if any("Python 2" in note for note in source.recoveries):
            edits = tuple(_statements(subject))
            if edits:
                site = edits[0].site
                yield Hit(
                    site,
                    "the program is written in Python 2, which Python 3 does not compile",
                    title="write it in Python 3",
                    edits=edits,
                    confidence=0.9,
                )
        if not source.frameworks or source.words.isdisjoint({*NAMES, *METHODS, *MODULES}):
            return
        yield from _names(subject)

    examples = (
        Example(
            "print statements of a training loop",
            """\
import torch

x = torch.ones(2)
for i in xrange(2):
    print "step", i  # progress
    print 'sum: %f' % x.sum()
""",
            """\
import torch

x = torch.ones(2)
for i in range(2):
    print("step", i)  # progress
    print('sum: %f' % x.sum())
""",
        ),
        Example(
            "a pickle and a dictionary",
            """\
import torch
import cPickle as pickle

weights = pickle.load(open("w.pkl", "rb"))
for name, value in weights.iteritems():
    print(name, torch.tensor(value).shape)
""",
            """\
import torch
import pickle

weights = pickle.load(open("w.pkl", "rb"))
for name, value in weights.items():
    print(name, torch.tensor(value).shape)
""",
        ),
        Example(
            "an answer typed in",
            """\
import torch

width = int(raw_input("width? "))
print torch.zeros(width)
""",
            """\
import torch

width = int(input("width? "))
print(torch.zeros(width))
""",
        ),
    )
    rejects = (
        Reject(
            "the program knows both",
            """\
import torch

try:
    xrange
except NameError:
    xrange = range
for i in xrange(3):
    print(torch.ones(i))
""",
        ),
        Reject(
            "Python 3",
            """\
import torch

print("sum", torch.ones(2).sum())
""",
        ),
    )


def _statements(subject: Subject) -> Iterator[Edit]:
    """Each simple statement on a line that had to be rewritten, as it was read."""
    source = subject.source
    lines = {number for number, line in source.document.rewritten.items() if line.segments}
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.Assert)):
            site = source.site(node)
            if any(line in lines for line in range(site.line, site.end_line + 1)):
                yield Replace(site, source.segment(site))


def _names(subject: Subject) -> Iterator[Hit]:
    source = subject.source
    uses = uses_of(source)
    for name in uses.names(*NAMES):
        if name.id not in uses.bound and name.id not in uses.imported and source.written(name) is None:
            yield _hit(source.site(name), name.id, NAMES[name.id])
    for attribute in uses.all_attributes():
        if attribute.attr in METHODS and attribute.attr not in uses.defined and source.written(attribute) is None:
            site = source.site(attribute)
            owner = source.segment(source.site(attribute.value))
            yield _hit(site, attribute.attr, METHODS[attribute.attr], f"{owner}.{METHODS[attribute.attr]}")
    for statement in uses.imports():
        if isinstance(statement, ast.Import) and len(statement.names) == 1 and statement.names[0].name in MODULES:
            alias = statement.names[0]
            new, local = MODULES[alias.name], alias.asname or alias.name
            text = f"import {new}" if new == local else f"import {new} as {local}"
            yield _hit(source.site(statement), alias.name, new, text)


def _hit(site: Site, old: str, new: str, code: str = "") -> Hit:
    return Hit(
        site,
        f"{old} is gone since Python 3; it is {new} now",
        title=f"write {new} for {old}",
        edits=(Replace(site, code or new),),
    )
