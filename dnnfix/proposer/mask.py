"""Names, strings and paths of a program in other words: what is sent under `mask` says nothing of whose program it is.

What a library or Python itself names stays as it is, since the fault is about that, and so do words that every program has. A line
stays a line, so that an answer can be read at the lines it was given for; comments are left out, and come back with their lines.
An attribute that the program never sets is its library's, if it is called or many have it (`x.shape`).
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from dnnfix.proposer.excerpt import Excerpt

COMMON = words("""acc accuracy args batch batches batch_size classes cls config criterion data dataset device dim epoch epochs
    features hidden i idx index input inputs item items j k key kwargs label labels layer layers learning_rate line loader
    logits loss lr main mask metric metrics model module n name names net network number optim optimizer out output outputs
    param params pred predictions seed self size source src step steps target targets test text train utils valid val value
    values weights x y z""")
"""Words that say nothing of a program, as names or as strings."""

MEANT = words("""auc auto b batchmean bilinear binary border c categorical causal channels_first channels_last constant cpu csv cuda
    divide float float32 float64 glorot_normal glorot_uniform grayscale gru h he_normal he_uniform inf int int32 int64 latin1 long lstm
    max mean min mps nan ncwh nearest none normal orthogonal pt precision r ignore raise rb recall reflect replicate reuse rgb same
    sparse sum temporal truncated_normal uniform utf8 val_accuracy val_loss w wb zeros __main__""").union(
    *STAR_EXPORTS.values(), TORCH_FUNCTIONAL, TORCH, KERAS_LOSSES, KERAS_OPTIMIZERS, KERAS_LAYERS, COMMON
)
"""Strings that a library may be given and takes for a setting."""

PARAMETERS = words("""axis axes batch_first batch_size betas bias callbacks class_mode class_weight color_mode cooldown decay default
    delimiter device dilation dim dtype encoding end epochs eps figsize file flush gamma help in_channels in_features initial_epoch
    input_dim input_shape keepdim keepdims kernel_size learning_rate loss lr map_location max_length metrics mode momentum name nesterov
    non_blocking num_layers num_workers optimizer out_channels out_features p padding patience pin_memory random_state reduction
    requires_grad return_sequences return_state return_tensors retain_graph sample_weight seed sep set_to_none shape shuffle size
    start_dim step_size steps stride target_size test_size train truncation type validation_data validation_split verbose weight
    weight_decay x y""")
"""Keywords of methods of libraries: of other keywords it is not known whether they are the program's own."""

ATTRIBUTES = words("""T argv bias buffers classes_ columns data device dtype environ epoch grad grad_fn history iloc in_channels
    in_features index inf is_cuda keras layers loc losses metrics modules name names nan ndim nn optimizer out_channels out_features
    param_groups params parameters path pi requires_grad shape size state_dict stem stop_training suffix training trainable values
    version weight""")
"""What objects of libraries have, besides methods."""

HOOKS = re.compile(
    r"__\w+__|forward|backward|call|build|compute_\w+|setup|prepare_data|configure_\w+|extra_repr|reset_parameters|get_config|from_config"
    r"|(?:training|validation|test|predict|train)_step|(?:train|val|test|predict)_dataloader|on_(?:train|test|predict|epoch|batch|fit)_\w+"
    r"|step|zero_grad|fit|transform|predict|fit_transform|predict_proba|score|update_state|result|reset_states?|run|reset|close|render"
)
"""Methods that a library calls."""

_SWALLOWS = words(
    "dict OrderedDict defaultdict Namespace SimpleNamespace savez savez_compressed assign format update partial"
)
"""Functions that make names of their own of the keywords they are given."""

_LEXEME = re.compile(
    r"""(?P<prefix>[rRbBuUfF]{0,2})(?P<quote>(?P<long>'''|\"\"\")|'|")"""
    r"(?P<body>(?:\\.|(?!(?P=quote))(?(long)[^\\]|[^\\\n]))*)(?P=quote)"
    r"|(?P<comment>#[^\n]*)|(?P<word>[^\W\d]\w*)|\d\w*|.",
    re.DOTALL,
)
_WORD = re.compile(r"[^\W\d]\w*")
_MASKED = re.compile(r"([^\W\d]\w*)(\n*)")
_QUOTED = re.compile(r"""(?<!\w)(?:'([^'\n]*)'|"([^"\n]*)")(?!\w)""")
_NAMELESS = re.compile(r"%[-+ #\d.]*[a-zA-Z]|\{\d*(?:[:!][^{}\w]*[\d.]*\w?)?\}|\\.")
_FIELD = re.compile(r"%[-+ #\d.]*[a-zA-Z]|\{[^{}]*\}|\\.")
_PATH = re.compile(
    r"(?<![\w.)\]])(?:[A-Za-z]:|~|\.{1,2})?(?:(?:/|\\(?![abfnrtv0](?!\w)))[\w.@+ -]*\w){1,}|\b[\w-]+\.(?:py|ipynb|csv|tsv|txt|json|ya?ml|pt|pth|h5|npy|npz|pkl)\b"
)
_BELOW = re.compile(r"^(?:\.\./)*(?:src/)?")
_SHORTEST = 4
"""Characters of a part of a string that is looked for in messages."""


@dataclass(frozen=True)
class Mask:
    """The words of one program that are replaced, and what by."""

    names: Mapping[str, str]
    strings: Mapping[str, str]
    """By what stands between the quotes, as it is written."""
    files: Mapping[str, str]
    """By their paths in sites, and by the program's name."""
    kept: frozenset[str]
    """Words of the program that are a library's."""
    originals: Mapping[str, tuple[str, ...]]
    """The lines of each file."""

    @classmethod
    def of(cls, source: Source) -> Mask:
        """The mask for a program with the modules beside it."""
        texts = [file.text for file in source.files.values()]
        mark = _unused("".join(texts))
        kept = _named_by_others(source)
        stems = dict.fromkeys(stem for path in (source.path, *source.files) for stem in _stems(path))
        stem_names = {stem: f"file{mark}{n}" for n, stem in enumerate(stems, 1) if stem not in kept}
        own = dict.fromkeys(name for name in _own_names(source) if name not in kept and name not in stem_names)
        bodies = dict.fromkeys(body for text in texts for body in _bodies(text) if not _is_setting(body))
        return cls(
            {**stem_names, **{name: f"name{mark}{n}" for n, name in enumerate(own, 1)}},
            {body: f"text{mark}{n}" for n, body in enumerate(bodies, 1)},
            {
                path: _renamed(path, stem_names)
                for path in (source.path, PurePath(source.path).name, *source.files)
                if path
            },
            kept,
            {path: tuple(file.places.lines) for path, file in source.files.items()},
        )

    @cached_property
    def lines(self) -> Mapping[str, tuple[str, ...]]:
        """The lines of each file in other words, without comments: as many as it has."""
        return {
            path: tuple(line.rstrip() for line in self._written("\n".join(lines)).split("\n"))
            for path, lines in self.originals.items()
        }

    def code(self, line: str) -> str:
        """A line of code in other words, without its indentation and comment."""
        return self._known.get(_normal(line)) or self._written(line).strip()

    def hide(self, text: str) -> str:
        """What is said of the program in other words."""
        for path in sorted(self.files, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-]){re.escape(path)}(?!\w)", self.files[path], text)
        text = _QUOTED.sub(self._quoted, text)
        text = self._phrases.sub(lambda match: self._of_phrase[match[0]], text) if self._of_phrase else text
        text = _PATH.sub(lambda match: match[0] if match[0] in self.files.values() else "path_0", text)
        return _WORD.sub(lambda match: self.names.get(match[0], match[0]), text)

    def hidden(self, excerpt: Excerpt) -> Excerpt:
        """An excerpt in other words, without its comments."""
        lines = self.lines[excerpt.path]
        return replace(
            excerpt,
            name=self.files[excerpt.path or excerpt.name],
            lines=tuple((number, lines[number - 1]) for number, _ in excerpt.lines),
        )

    def shown(self, text: str) -> str:
        """What an answer says in the words of the program."""
        return _MASKED.sub(self._unmasked, text)

    def restored(self, path: str, first: int, last: int, code: str) -> str:
        """The new lines of an answer in the words of the program; those that are as they were have their comments again."""
        before, now = self.lines[path][first - 1 : last], code.split("\n")
        matcher = SequenceMatcher(None, before, [line.rstrip() for line in now], autojunk=False)
        made: list[str] = []
        for kind, start, end, new_start, new_end in matcher.get_opcodes():
            if kind == "equal":
                made += self.originals[path][first - 1 + start : first - 1 + end]
            elif new_end > new_start:
                made.append(self._plain("\n".join(now[new_start:new_end])))
        return "\n".join(made)

    # --- code

    def _written(self, code: str) -> str:
        return "".join(self._lexeme(match) for match in _LEXEME.finditer(code))

    def _lexeme(self, match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return ""
        if match["word"] is not None:
            return self.names.get(match[0], match[0])
        if match["quote"] is None:
            return match[0]
        prefix, quote, body = match["prefix"], match["quote"], match["body"]
        if "f" in prefix.lower():
            return f"{prefix}{quote}{''.join(map(self._part, _parts(body)))}{quote}"
        text = self._text(body).replace("\n", "\n" if match["long"] else "\\\n")
        return f"{prefix}{quote}{text}{quote}"

    def _part(self, part: tuple[bool, str]) -> str:
        is_code, text = part
        return self._written(text) if is_code else self._text(text)

    def _text(self, body: str) -> str:
        return self.strings[body] + "\n" * body.count("\n") if body in self.strings else body

    def _plain(self, code: str) -> str:
        return "".join(self._plain_lexeme(match) for match in _LEXEME.finditer(code))

    def _plain_lexeme(self, match: re.Match[str]) -> str:
        if match["quote"] is None:
            return self.shown(match[0])
        prefix, quote, body = match["prefix"], match["quote"], match["body"]
        if "f" in prefix.lower():
            inner = "".join(self._plain(text) if is_code else self.shown(text) for is_code, text in _parts(body))
            return f"{prefix}{quote}{inner}{quote}"
        whole = self._back[body.strip()] if body.strip() in self._string_words else None
        if whole is None:
            return f"{prefix}{quote}{self.shown(body)}{quote}"
        fits = quote not in whole and (match["long"] or "\n" not in whole)
        return f"{prefix}{quote}{whole}{quote}" if fits else self._literals.get(whole, f"{prefix}{quote}{whole}{quote}")

    def _unmasked(self, match: re.Match[str]) -> str:
        plain = self._back.get(match[1], match[1])
        return plain + match[2][plain.count("\n") :]  # as many as stand in for its lines

    # --- words

    @cached_property
    def _known(self) -> Mapping[str, str]:
        return {
            _normal(line): masked.strip()
            for path, lines in self.originals.items()
            for line, masked in zip(lines, self.lines[path], strict=True)
            if line.strip()
        }

    @cached_property
    def _literals(self) -> Mapping[str, str]:
        """Whole literals, with the quotes that they were written with, by what stands between these."""
        texts = ("\n".join(lines) for lines in self.originals.values())
        return {
            match["body"]: match[0] for text in texts for match in _LEXEME.finditer(text) if match["quote"] is not None
        }

    @cached_property
    def _values(self) -> Mapping[str, str]:
        """Words for strings by what they stand for."""
        return {_value(body): masked for body, masked in self.strings.items()}

    @cached_property
    def _of_phrase(self) -> Mapping[str, str]:
        """Parts of strings that may stand in a message."""
        found: dict[str, str] = {}
        for value, masked in self._values.items():
            for part in (value, *_FIELD.split(value), *value.split("\n")):
                plain = " ".join(part.split())
                if len(plain) >= _SHORTEST and not _is_setting(plain):
                    found.setdefault(plain, masked)
        return found

    @cached_property
    def _phrases(self) -> re.Pattern[str]:
        longest_first = sorted(self._of_phrase, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")

    def _quoted(self, match: re.Match[str]) -> str:
        content = match[1] if match[1] is not None else match[2]
        quote = match[0][0]
        if content in self._values:
            return f"{quote}{self._values[content]}{quote}"
        found = _WORD.findall(content)
        masked = {*self._back, *self.names}
        if all(word in self.kept or word in MEANT or word in masked or word in _TYPES for word in found):
            return match[0]
        return f"{quote}text_0{quote}"

    @cached_property
    def _string_words(self) -> frozenset[str]:
        return frozenset(self.strings.values())

    @cached_property
    def _back(self) -> dict[str, str]:
        return {masked: plain for table in (self.names, self.strings) for plain, masked in table.items()}


_TYPES = words(
    "Tensor NoneType module method builtin_function_or_method ndarray DataFrame Series torch numpy keras tensorflow"
)


def _unused(text: str) -> str:
    """What stands between a word and its number in words that the program has none of."""
    mark = "_"
    while re.search(rf"\b(?:name|text|file){mark}\d", text):
        mark += "_"
    return mark


def _own_names(source: Source) -> Iterator[str]:
    """Every name that the program gives: variables, functions, classes, parameters, attributes of its objects, keywords."""
    quoted = {body.lstrip("-").replace("-", "_") for file in source.files.values() for body in _bodies(file.text)}
    for file in source.files.values():
        called = {id(node.func) for node in file.nodes(ast.Call)}
        for node in ast.walk(file.tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    yield name
                case ast.arg(arg=name) | ast.Name(id=name):  # also one that is misspelt, and bound nowhere
                    yield name
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    yield name
                case ast.MatchMapping(rest=str(name)) | ast.alias(asname=str(name)) | ast.keyword(arg=str(name)):
                    yield name
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    yield from names
                case ast.ImportFrom(module=module, names=names, level=level) if level or is_own(source, module or ""):
                    yield from (each.name for each in names if each.name != "*")
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    yield name
                case ast.Attribute(attr=name) if file.qualified(node) is None and (
                    name in quoted or (id(node) not in called and name not in ATTRIBUTES)
                ):
                    yield name


def _named_by_others(source: Source) -> frozenset[str]:
    """Names that mean something to Python or a library wherever they stand."""
    found = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *COMMON, *ATTRIBUTES}
    for kind in (str, list, dict, set, int, float, type, BaseException):
        found.update(dir(kind))
    for file in source.files.values():
        stored = {node.id for node in file.nodes(ast.Name) if isinstance(node.ctx, ast.Store)}
        for node in ast.walk(file.tree):
            match node:
                case ast.Call(func=func, keywords=keywords):
                    found.update(_taken(source, file, func, keywords))
                case ast.Import(names=names):
                    for one in names:
                        if not is_own(source, one.name):
                            found.update(_imported(one, one.name.split(".")))
                case ast.ImportFrom(module=str(module), names=names, level=0) if not is_own(source, module):
                    found.update(module.split("."))
                    for one in names:
                        found.update(_imported(one, [one.name, *module.split(".")]))
                case ast.Attribute(attr=name) if _is_of_library(source, file, node):
                    found.add(name)
                case ast.Name(id=name) if name not in stored and _is_of_library(source, file, node):
                    found.add(name)  # of `from torch.nn import *`
                case ast.ClassDef(body=body, bases=[_, *_]):  # what a base class calls: `forward`, `training_step`
                    found.update(e.name for e in body if isinstance(e, ast.FunctionDef) and HOOKS.fullmatch(e.name))
    return frozenset(found)


def _imported(one: ast.alias, parts: Sequence[str]) -> Iterator[str]:
    yield from one.name.split(".")
    if one.asname and (len(one.asname) <= 3 or any(one.asname in (part, part[:4]) for part in parts)):
        yield one.asname  # `np`, `plt`: what everyone calls it


def _taken(source: Source, file: Source, func: ast.expr, keywords: Sequence[ast.keyword]) -> Iterator[str]:
    """The keywords of a call that are a library's."""
    last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if last in _SWALLOWS:
        return
    for given in keywords:
        if given.arg is not None and (_is_of_library(source, file, func) or given.arg in PARAMETERS):
            yield given.arg


def cannot_be_masked(source: Source) -> bool:
    """Whether a program has strings that cannot be told from code here: since Python 3.12 an f-string may hold quotes like its own."""
    return any(
        _reads_as_code(ast.get_source_segment(file.text, node) or "")
        for file in source.files.values()
        for node in file.nodes(ast.JoinedStr)
    )


def _reads_as_code(literal: str) -> bool:
    return any(match["word"] is not None for match in _LEXEME.finditer(literal))


def is_own(source: Source, name: str) -> bool:
    """Whether a dotted name is that of something in a module of the program."""
    first = name.partition(".")[0]
    return any(first == re.split(r"/|\.py$", _BELOW.sub("", module.path))[0] for module in source.beside)


def _is_of_library(source: Source, file: Source, node: ast.expr) -> bool:
    qualified = file.qualified(node)
    return qualified is not None and not is_own(source, qualified)


def _bodies(text: str) -> Iterator[str]:
    """What stands between the quotes of each string, of one that is put together its parts."""
    for match in _LEXEME.finditer(text):
        if match["quote"] is None:
            continue
        if "f" not in match["prefix"].lower():
            yield match["body"]
            continue
        for is_code, part in _parts(match["body"]):
            yield from _bodies(part) if is_code else (part,)


def _parts(body: str) -> Iterator[tuple[bool, str]]:
    """The parts of an f-string: what it says, and what is put in, with braces and format."""
    start = place = 0
    while place < len(body):
        if body[place] not in "{}" or body[place : place + 2] in ("{{", "}}"):
            place += 2 if body[place] in "{}" else 1
            continue
        end = _closed(body, place)
        if place > start:
            yield False, body[start:place]
        yield True, body[place:end]
        start = place = end
    if start < len(body):
        yield False, body[start:]


def _closed(body: str, place: int) -> int:
    depth = 0
    for end in range(place, len(body)):
        depth += {"{": 1, "}": -1}.get(body[end], 0)
        if depth <= 0:
            return end + 1
    return len(body)


def _is_setting(body: str) -> bool:
    """Whether a string may be a setting of a library (`relu`, `cuda:0`, `bij,jk->bik`), or says nothing."""
    if len(body.strip()) < 2 or not _WORD.search(_NAMELESS.sub("", body)):
        return len(re.sub(r"\D", "", body)) < 4  # a number that long may be someone's
    if "->" in body:
        return all(len(word) <= 4 for word in _WORD.findall(body))
    return re.sub(r":\d+$", "", body) in MEANT


def _value(body: str) -> str:
    """What the literal stands for, as far as that shows without its prefix."""
    with warnings.catch_warnings(), suppress(SyntaxError, ValueError):
        warnings.simplefilter("ignore")  # such as `\\d`, which is its program's matter
        return str(ast.literal_eval(f'''"""{body}"""''' if not body.endswith('"') else f"'''{body}'''"))
    return body


def _normal(line: str) -> str:
    return " ".join(line.split())


def _stems(path: str) -> Iterator[str]:
    for part in re.sub(r"\.(?:py|ipynb)$", "", path).split("/"):
        if len(part) > 1 and part not in ("..", "__init__"):
            yield part


def _renamed(path: str, stems: Mapping[str, str]) -> str:
    stem, suffix = re.fullmatch(r"(.*?)(\.(?:py|ipynb))?", path, re.DOTALL).groups()  # type: ignore[union-attr]
    return "/".join(stems.get(part, part) for part in stem.split("/")) + (suffix or "")
