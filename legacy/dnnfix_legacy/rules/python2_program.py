"""A program in Python 2: `print "loss", loss`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Hit,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Source,
    Subject,
    Wrap,
    python2,
    uses_of,
)
from dnnfix_legacy.iterators import asked_by_method

NAMES = {
    "xrange": "range", "raw_input": "input", "unicode": "str", "unichr": "chr", "basestring": "str", "long": "int",
    "file": "open", "StandardError": "Exception", "buffer": "memoryview",
}  # fmt: skip
"""Builtins of Python 2 and what they are called in Python 3."""

IMPORTED = {"reduce": "functools", "reload": "importlib", "intern": "sys"}
"""Builtins of Python 2 and the module that they are imported from in Python 3."""

METHODS = {
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "viewitems": "items", "viewvalues": "values",
    "viewkeys": "keys",
}  # fmt: skip
"""Methods of dictionaries that no library has, and what they are called in Python 3."""

OF_FUNCTIONS = {
    "func_name": "__name__", "func_code": "__code__", "func_defaults": "__defaults__", "im_func": "__func__",
    "im_self": "__self__",
}  # fmt: skip
"""Attributes of functions, under names that programs give to things of their own too."""

WORDS = frozenset(
    (*NAMES, *IMPORTED, *METHODS, *OF_FUNCTIONS, "has_key", "cmp", "sort", "sorted", "join", "next", "apply", "encode")
)

CALLED = frozenset(("encode", "setdefaultencoding", "sort", "sorted", "join", "has_key"))

PICKLES = ("pickle.load", "cPickle.load", "pickle.loads", "cPickle.loads", "pickle.Unpickler")
WRITERS = ("pickle.dump", "cPickle.dump", "pickle.dumps", "cPickle.dumps", "pickle.Pickler")


class Python2Program(ApiChange):
    """Python 3 does not compile print statements, and lacks `xrange`, `raw_input`, `reduce`, `has_key` and `iteritems`.

    Statements that only Python 2 reads are written as Python 3 writes them; where the text needed more than that to be
    read, those lines stay as they are. Where tabs and spaces are mixed in the indentation, which only Python 2 accepts, indentation becomes
    blanks. Names are changed where the program does not define them itself. `sort(cmp=f)` takes a key made of `f`,
    iterators have `__next__`, and what a program of Python 2 reads from a pickle that it has not written itself is read
    with the encoding that gives back arrays and texts of Python 2.

    Fix safety: unsafe: divisions, strings and the order of dictionaries differ between the two as well. Safe where the
    method `next` is called on what is an iterator for certain.

    References: https://docs.python.org/3/howto/pyporting.html, https://docs.python.org/3/library/pickle.html#pickle.load,
    https://docs.python.org/3/library/functools.html#functools.cmp_to_key.
    """

    code = "DNF516"
    name = "python-2-program"
    message = "{old} was removed in Python 3; use {new}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The statements that had to be rewritten to be read, then names, methods and calls."""
        source = subject.source
        edits = tuple(_statements(subject)) if any("Python 2" in note for note in source.recoveries) else ()
        if edits:
            site = edits[0].site
            yield Hit(
                site,
                "the program is written in Python 2, which Python 3 does not compile",
                title="convert it to Python 3",
                edits=edits,
                exact=True,
                confidence=0.9,
            )
        elif any(note.startswith("tabs in") for note in source.recoveries):
            yield from _tabs(source)
        if not source.frameworks:
            return
        if not source.words.isdisjoint(WORDS):
            yield from _names(subject)
            yield from _attributes(source)
            for call in uses_of(source).calls():
                yield from _call(source, call)
            yield from _iterators(source)
            yield from _taken(source)
        if not source.words.isdisjoint(("pickle", "cPickle")) and python2.speaks_python2(source):
            yield from _pickles(source)

    programs = """
=== example: an answer typed in
import torch

- width = int(raw_input("width? "))
- print torch.zeros(width)
+ width = int(input("width? "))
+ print(torch.zeros(width))

=== example: a pickle of Python 2, and where prints go
import sys, pickle
import torch
+ from functools import reduce

- print >>sys.stderr, "reading",
+ print("reading", file=sys.stderr, end=" ")
with open("w.pkl", "rb") as f:
-     x, y = pickle.load(f)
- if not x.has_key("w") or x.has_key("b"):
-     print reduce(lambda a, b: a + b, y)
+     x, y = pickle.load(f, encoding="latin1")
+ if "w" not in x or "b" in x:
+     print(reduce(lambda a, b: a + b, y))

=== example: batches that are compared and come one by one
- import sys
+ from functools import cmp_to_key
import torch

- reload(sys)
- sys.setdefaultencoding("utf8")


class Batches(object):
    def __iter__(self):
        return self

-     def next(self):
+     def __next__(self):
        return torch.ones(2)


def longer(a, b):
    return len(b) - len(a)


words = ["a", "bcd"]
- words.sort(longer)
- print(sorted(words, cmp=longer), Batches().next())
+ words.sort(key=cmp_to_key(longer))
+ print(sorted(words, key=cmp_to_key(longer)), next(Batches()))

=== example: a number that is printed, and keys that are indexed
- import numpy as np
import torch

loss = (torch.ones(2, requires_grad=True) - 1).pow(2).sum()
loss.backward()
- print "loss", loss.data[0], np.float(3)
- print {"a": loss}.keys()[0]
+ print("loss", loss.item(), float(3))
+ print(list({"a": loss}.keys())[0])

=== example: heads of loops, branches and handlers
import torch


def show(parts):
    try:
-         for name, value in sorted(parts.iteritems(), key=lambda (k, v): v):
-             print name, torch.tensor(value)
-     except ValueError, error:
-         print error
-     if len(parts) <> 2:
-         exec "pass"
+         for name, value in sorted(parts.items(), key=lambda pair: pair[1]):
+             print(name, torch.tensor(value))
+     except ValueError as error:
+         print(error)
+     if len(parts) != 2:
+         exec("pass")

=== example: tabs beside blanks
import torch

for i in range(2):
- 	loss = torch.ones(2).sum()
+         loss = torch.ones(2).sum()
        print(loss)

=== example: letters that are dropped from a text
import keras

- texts = [line.encode('ascii', 'ignore') for line in open("texts.txt")]
- print len(texts)
+ texts = [line.encode('ascii', 'ignore').decode("ascii") for line in open("texts.txt")]
+ print(len(texts))

=== example: the next batch of generators
import keras
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from keras.utils import to_categorical


def numbers(count):
    while True:
        yield to_categorical([count])


batches = numbers(3)
- first = batches.next()
+ first = next(batches)
lines = open("words.txt")
- print(lines.next(), numbers(2).next(), (n for n in first).next())
+ print(next(lines), next(numbers(2)), next((n for n in first)))


class Source:
    def batches(self):
        yield self

    def first(self):
-         return self.batches().next()
+         return next(self.batches())


def images(folder):
    made = ImageDataGenerator(rescale=1 / 255)
    return made.flow_from_directory(folder)


source = Source()
- print(source.batches().next(), images("a").next(), ImageDataGenerator().flow(first).next())
+ print(next(source.batches()), next(images("a")), next(ImageDataGenerator().flow(first)))

=== reject: methods of the program's own and of libraries, and a pickle of today
import pickle
import torch


class Reader:
    def has_key(self, key):
        return key in self.__dict__

    def next(self):
        return torch.ones(2)


class Both(Reader):
    def __iter__(self):
        return self

    def __next__(self):
        return 1

    next = __next__


reader = Reader()
print(reader.has_key("a"), reader.next(), torch.ones(2).sort(0), Both().next())
pickle.load(open("w.pkl", "rb"))

=== reject: the program knows both
import torch

try:
    xrange
except NameError:
    xrange = range
for i in xrange(3):
    print(torch.ones(i))

=== reject: methods called next of objects that are no iterators of Keras or of the program
import keras
import mylib
import sources


def batches():
    yield 1


@sources.threadsafe
def guarded():
    yield 1


class Pages:
    def batches(self):
        return sources.open()


source = sources.Source()
print(mylib.Augmenter().flow(keras.ops.ones(1)).next(), source.batches().next(), guarded().next())
print(Pages().batches().next())
for made in sources.all():
    print(made.flow_from_directory("images").next())

=== reject: Python 3
import torch

print("sum", torch.ones(2).sum())

=== reject: names that functions had, of records that others made
import torch


def shown(entries):
    return [(entry.func_name, entry.im_self) for entry in entries], torch.ones(1)
"""


def _statements(subject: Subject) -> Iterator[Edit]:
    """Each simple statement on a line that had to be rewritten, as it was read, and the other such lines."""
    source = subject.source
    lines = {number for number, line in source.document.rewritten.items() if line.segments}
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.Assert)):
            site = source.site(node)
            if lines.intersection(range(site.line, site.end_line + 1)):
                lines.difference_update(range(site.line, site.end_line + 1))
                yield Replace(site, source.segment(site))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == "print":
                yield Replace(site, "print()")
    heads: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.ExceptHandler, ast.FunctionDef)):
            heads.update(range(node.lineno, max(node.body[0].lineno, node.lineno + 1)))
    for number in sorted(lines & heads):
        line = source.places.lines[number - 1]
        yield ReplaceLines(Site(number, 1, number, len(line) + 1), line)


def _tabs(source: Source) -> Iterator[Hit]:
    """Tabs and blanks that only Python 2 can compare: all such lines are written with blanks once one of them is."""
    tabs = {number for number, line in source.document.rewritten.items() if line.raw.startswith(("\t", " "))}
    node = next((n for n in ast.walk(source.tree) if isinstance(n, ast.stmt) and n.lineno in tabs), None)
    if node is not None and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield Hit(
            source.site(node),
            "tabs and spaces are mixed in the indentation, which only Python 2 accepts",
            title="indent with spaces",
            edits=(Replace(source.site(node), source.segment(source.site(node))),),
            exact=True,
            confidence=0.9,
        )


def _names(subject: Subject) -> Iterator[Hit]:
    source = subject.source
    uses = uses_of(source)
    taken = uses.bound | uses.imported.keys()
    for name in uses.names(*NAMES, *IMPORTED):
        if name.id in taken or source.written(name) is not None or not isinstance(name.ctx, ast.Load):
            continue
        above = source.parent(name)
        called = isinstance(above, ast.Call) and above.func is name
        if name.id in IMPORTED and isinstance(above, ast.Call) and called:
            if name.id == "reload" and ast.unparse(above.args[0] if above.args else name) == "sys":
                continue  # it goes along with the encoding that it is done for
            line = f"from {IMPORTED[name.id]} import {name.id}"
            yield Hit(
                source.site(name),
                f"{name.id} is not a builtin since Python 3; import it from {IMPORTED[name.id]}",
                title=f"import {name.id} from {IMPORTED[name.id]}",
                edits=(AddImport(line),),
                exact=True,
            )
        elif name.id in NAMES and (called or name.id not in ("file", "buffer")):
            yield _hit(source.site(name), name.id, NAMES[name.id])


def _attributes(source: Source) -> Iterator[Hit]:
    uses = uses_of(source)
    for attribute in uses.all_attributes():
        new = METHODS.get(attribute.attr) or OF_FUNCTIONS.get(attribute.attr)
        if new is None or attribute.attr in uses.defined or source.written(attribute) is not None:
            continue
        if attribute.attr in OF_FUNCTIONS and not _of_function(source, attribute):
            continue
        owner = source.segment(source.site(attribute.value))
        yield _hit(source.site(attribute), attribute.attr, new, f"{owner}.{new}")


def _of_function(source: Source, attribute: ast.Attribute) -> bool:
    """Whether an attribute is one of a function: the program defines that, or is one of Python 2 with no such attribute."""
    if isinstance(source.definition(attribute.value), ast.FunctionDef):
        return True
    return attribute.attr not in uses_of(source).kept and python2.speaks_python2(source)


def _call(source: Source, call: ast.Call) -> Iterator[Hit]:
    """Calls that are written in another form."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in CALLED:
        return
    uses, site = uses_of(source), source.site(call)
    written = source.written(function) or ""
    if name == "encode" and python2.speaks_python2(source):
        yield from _narrowed(source, call)
    if name == "setdefaultencoding" and written == "sys.setdefaultencoding":
        yield from _encoding(source, call)
    elif name in ("sort", "sorted") and name not in uses.defined:
        yield from _compared(source, call, name, written)
    elif name == "join" and written in ("string.join", "string.joinfields") and call.args and not call.keywords:
        words = source.segment(source.site(call.args[0]))
        between = source.segment(source.site(call.args[1])) if len(call.args) > 1 else '" "'
        yield _hit(site, written, "the method join", f"{between}.join({words})")
    elif name == "has_key" and name not in uses.defined and not written and isinstance(function, ast.Attribute):
        if len(call.args) != 1 or call.keywords:
            return
        above = source.parent(call)
        negated = isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
        key, owner = source.segment(source.site(call.args[0])), source.segment(source.site(function.value))
        code = f"{key} {'not in' if negated else 'in'} {owner}"
        whole: ast.AST = above if negated and above is not None else call
        bare = isinstance(source.parent(whole), (ast.If, ast.While, ast.BoolOp, ast.Assign, ast.Return, ast.Assert))
        yield _hit(source.site(whole), name, "in", code if bare else f"({code})")


def _narrowed(source: Source, call: ast.Call) -> Iterator[Hit]:
    """`text.encode("ascii", "ignore")` drops letters of a text, which was a text afterwards and is bytes today."""
    given = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    above = source.parent(call)
    within = above.func if isinstance(above, ast.Call) else above
    last = within.attr if isinstance(within, ast.Attribute) else ""
    if given != ["ascii", "ignore"] or last in (
        "decode",
        "write",
        "update",
        "send",
        "sendall",
        "md5",
        "sha1",
        "sha256",
    ):
        return
    yield Hit(
        source.site(call),
        "encode returns bytes in Python 3, not a string",
        title="decode it to a string",
        edits=(Wrap(source.site(call), "", '.decode("ascii")'),),
    )


def _encoding(source: Source, call: ast.Call) -> Iterator[Hit]:
    """`reload(sys); sys.setdefaultencoding("utf8")`: nothing takes its place, as nothing has to."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return
    edits: list[Edit] = [Delete(source.site(statement))]
    for other in uses_of(source).calls():
        name = other.func.id if isinstance(other.func, ast.Name) else ""
        above = source.statement_of(other)
        if name == "reload" and isinstance(above, ast.Expr) and [ast.unparse(a) for a in other.args] == ["sys"]:
            edits.append(Delete(source.site(above)))
    yield Hit(
        source.site(call),
        "sys.setdefaultencoding was removed in Python 3, which reads source and text as UTF-8",
        title="drop sys.setdefaultencoding",
        edits=tuple(edits),
    )


def _compared(source: Source, call: ast.Call, name: str, written: str) -> Iterator[Hit]:
    """`words.sort(cmp=f)`, `sorted(words, f)`: a comparison is made a key."""
    if name == "sorted" and written != "builtins.sorted" or name == "sort" and written:
        return
    site = source.site(call)
    place = 1 if name == "sorted" else 0
    keyword = next((k for k in call.keywords if k.arg == "cmp"), None)
    given = keyword.value if keyword is not None else call.args[place] if len(call.args) == place + 1 else None
    if given is None or any(k.arg in (None, "key") for k in call.keywords):
        return
    if keyword is None and not _compares(source, given):
        return
    code = f"key=cmp_to_key({source.segment(source.site(given))})"
    part = source.site(keyword) if keyword is not None else source.site(given)
    yield Hit(
        site,
        f"{name} takes a key function since Python 3, not a comparison",
        title="convert the comparison to a key function",
        edits=(_exchanged(source, call, part, code), AddImport("from functools import cmp_to_key")),
        exact=True,
    )


def _exchanged(source: Source, call: ast.Call, part: Site, code: str) -> Edit:
    """The call with one argument written anew; what stands around it stays."""
    site, tree = source.site(call), source.places
    begin = tree.offset(site.line, site.column)
    first, last = tree.offset(part.line, part.column), tree.offset(part.end_line, part.end_column)
    text = source.segment(site)
    return Replace(site, text[: first - begin] + code + text[last - begin :])


def _compares(source: Source, given: ast.expr) -> bool:
    """Whether an argument is a function of two values."""
    made = given if isinstance(given, ast.Lambda) else source.definition(given)
    if not isinstance(made, (ast.Lambda, ast.FunctionDef)):
        return False
    return len(made.args.args) == 2 and not made.args.defaults


def _iterators(source: Source) -> Iterator[Hit]:
    """Classes whose objects are iterated by a method `next`, and the calls of it."""
    uses = uses_of(source)
    found: dict[str, ast.FunctionDef] = {}
    for owner in uses.classes():
        methods = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef)}
        named = {
            n.id for line in owner.body if isinstance(line, ast.Assign) for n in line.targets if isinstance(n, ast.Name)
        }
        if "__iter__" in methods and "next" in methods and "__next__" not in {*methods, *named}:
            found[owner.name] = methods["next"]
    defined = [node for node in source.nodes(ast.FunctionDef) if node.name == "next"]
    for method in found.values():
        edits: list[Edit] = [_header(source, method)]
        if len(defined) == len(found):  # every next of the program is such a method
            for call in uses.calls():
                function = call.func
                if isinstance(function, ast.Attribute) and function.attr == "next" and not call.args:
                    holder = source.segment(source.site(function.value))
                    edits.append(Replace(source.site(call), f"next({holder})"))
        site = source.site(method)
        yield Hit(
            site,
            "an iterator has the method __next__ since Python 3, not next",
            title="rename the method to __next__",
            edits=tuple(edits),
            exact=True,
        )


def _taken(source: Source) -> Iterator[Hit]:
    """`batches.next()` of a generator of the program's own, of a reader of lines, or of images that Keras changes."""
    for call, iterator, keras in asked_by_method(source):
        yield Hit(
            source.site(call),
            "an iterator has no method next since " + ("Keras 3.0" if keras else "Python 3"),
            title="write next(...)",
            edits=(Replace(source.site(call), f"next({source.segment(source.site(iterator))})"),),
            safe=True,
            removed={"keras": "3.0"} if keras else {},
        )


def _header(source: Source, method: ast.FunctionDef) -> Edit:
    line = source.places.lines[method.lineno - 1]
    site = Site(method.lineno, 1, method.lineno, len(line) + 1)
    return ReplaceLines(site, line.replace("next", "__next__", 1))


def _pickles(source: Source) -> Iterator[Hit]:
    """What was pickled by Python 2, as a program of Python 2 that pickles nothing itself reads it."""
    calls = [(call, source.written(call.func)) for call in uses_of(source).calls()]
    if any(name in WRITERS for _, name in calls):
        return
    for call, name in calls:
        if name not in PICKLES or len(call.args) != 1 or any(k.arg in (None, "encoding") for k in call.keywords):
            continue
        site = source.site(call)
        yield Hit(
            site,
            "a pickle of Python 2 needs an encoding in Python 3",
            title="read strings and arrays of Python 2",
            edits=(SetArgument(site, "encoding", '"latin1"'),),
            confidence=0.8,
        )


def _hit(site: Site, old: str, new: str, code: str = "") -> Hit:
    return Hit(
        site,
        Python2Program.message.format(old=old, new=new),
        title=f"write {new} for {old}",
        edits=(Replace(site, code or new),),
        exact=True,
    )
