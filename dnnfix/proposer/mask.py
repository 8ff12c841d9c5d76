"""Names, strings and paths of a program in other words: what is sent under `mask` says nothing of whose program it is.

What a library or Python itself names stays as it is, since the fault is about that. A line stays a line, so that an answer can be
read at the lines it was given for; comments and docstrings are left out.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dnnfix.proposer.excerpt import Excerpt
from dnnfix.source.program import Source
from dnnfix.source.public_names import (
    KERAS_LAYERS,
    KERAS_LOSSES,
    KERAS_OPTIMIZERS,
    STAR_EXPORTS,
    TORCH,
    TORCH_FUNCTIONAL,
    words,
)

_WORD = re.compile(r"[^\W\d]\w*")
_PATH = re.compile(r"(?:[\w.~-]*/)+[\w.-]+|\b[\w-]+\.(?:py|ipynb|csv|txt|json|pt|pth|h5|npy|npz|pkl)\b")
KEPT = words("self cls args kwargs __main__ __name__")
"""Names that say nothing of a program; so do methods that Python calls."""

MEANT = words("""acc accuracy auc auto batchmean bilinear border categorical causal channels_first channels_last constant cpu cuda
    divide glorot_normal glorot_uniform grayscale gru he_normal he_uniform inf int lstm max mean min mps nan ncwh nearest none normal
    orthogonal precision r ignore raise rb recall reflect replicate reuse rgb same sum temporal truncated_normal uniform valid
    val_accuracy val_loss w wb zeros""").union(
    *STAR_EXPORTS.values(), TORCH_FUNCTIONAL, TORCH, KERAS_LOSSES, KERAS_OPTIMIZERS, KERAS_LAYERS
)
"""Texts that a library may be given and takes for a setting."""


@dataclass(frozen=True)
class Mask:
    """The words of one program that are replaced, and what by."""

    names: Mapping[str, str]
    strings: Mapping[str, str]
    prose: Mapping[tuple[str, int], str]
    """Lines that are a part of a text of several lines, by path and number, with what is left of them."""

    @classmethod
    def of(cls, source: Source) -> Mask:
        """The mask for a program with the modules beside it."""
        own, others = dict.fromkeys(_own_names(source)), _named_by_others(source)
        names = [name for name in own if name not in others]
        strings = dict.fromkeys(text for text in _strings(source) if len(text.strip()) > 1 and not _is_setting(text))
        stems = dict.fromkeys(stem for path in (source.path, *source.files) for stem in _stems(path))
        return cls(
            {name: f"name_{number}" for number, name in enumerate(names, 1)},
            {
                **{stem: f"file_{number}" for number, stem in enumerate(stems, 1) if stem not in own},
                **{text: f"text_{number}" for number, text in enumerate(strings, 1)},
            },
            dict(_prose(source)),
        )

    def hide(self, text: str) -> str:
        """A text of the prompt in other words."""
        for string in self._longest_first:
            text = text.replace(string, self.strings[string])
        text = _WORD.sub(lambda match: self.names.get(match[0], match[0]), text)
        return _PATH.sub(lambda match: match[0] if "file_" in match[0] or "text_" in match[0] else "path_0", text)

    def hidden(self, excerpt: Excerpt) -> Excerpt:
        """An excerpt in other words, without its comments."""
        plain = ((number, self.prose.get((excerpt.path, number), text)) for number, text in excerpt.lines)
        lines = tuple((number, self.hide(_without_comment(text))) for number, text in plain)
        return replace(excerpt, name=self.hide(excerpt.name), lines=lines)

    def shown(self, text: str) -> str:
        """An answer in the words of the program."""
        return _WORD.sub(lambda match: self._back.get(match[0], match[0]), text)

    @cached_property
    def _longest_first(self) -> list[str]:
        return sorted(self.strings, key=len, reverse=True)

    @cached_property
    def _back(self) -> dict[str, str]:
        return {masked: plain for table in (self.names, self.strings) for plain, masked in table.items()}


def _own_names(source: Source) -> Iterator[str]:
    """Every name that the program gives: variables, functions, classes, parameters, attributes of its objects."""
    for file in source.files.values():
        for node in ast.walk(file.tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    yield name
                case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                    yield name
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    yield name


def _named_by_others(source: Source) -> frozenset[str]:
    """Names that mean something to Python or a library wherever they stand: keywords of calls, attributes of modules, imports."""
    found = {*dir(builtins), *keyword.kwlist, *KEPT}
    for file in source.files.values():
        for node in ast.walk(file.tree):
            match node:
                case ast.keyword(arg=str() as name):
                    found.add(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found.update(part for one in names for part in one.name.split("."))
                    found.update(one.asname for one in names if one.asname)
                case ast.Attribute(attr=name) if file.qualified(node) is not None:
                    found.add(name)
                case ast.ClassDef(body=body, bases=[_, *_]):  # what a base class calls: `forward`, `training_step`
                    found.update(each.name for each in body if isinstance(each, ast.FunctionDef))
    return frozenset(found)


def _strings(source: Source) -> Iterator[str]:
    for file in source.files.values():
        for node in file.nodes(ast.Constant):
            if isinstance(node.value, str) and "\n" not in node.value:
                yield node.value


def _is_setting(text: str) -> bool:
    """Whether a text may be a setting of a library (`relu`, `cuda:0`), or says nothing."""
    return text.partition(":")[0] in MEANT or text.startswith("__")


def _prose(source: Source) -> Iterator[tuple[tuple[str, int], str]]:
    """What is left of the lines of texts that take several: their quotes."""
    for path, file in source.files.items():
        lines = file.text.splitlines()
        for node in file.nodes(ast.Constant):
            last = node.end_lineno or node.lineno
            if isinstance(node.value, str) and last > node.lineno:
                site = file.site(node)
                yield (path, node.lineno), f'{lines[node.lineno - 1][: site.column - 1]}"""'
                yield from (((path, number), "") for number in range(node.lineno + 1, last))
                yield (path, last), f'"""{lines[last - 1][site.end_column - 1 :]}'


def _stems(path: str) -> Iterator[str]:
    for part in path.removesuffix(".py").removesuffix(".ipynb").split("/"):
        if len(part) > 1 and part not in ("..", "src"):
            yield part


def _without_comment(line: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                indent = len(line) - len(line.lstrip())
                return line[: indent + token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # a line of a longer statement: what was read of it before the end has no comment, or is cut below
    return re.sub(r"(^|\s)#[^'\"]*$", "", line)
