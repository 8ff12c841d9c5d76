"""A library says in its error, or in a warning of a fault, which setting has to be given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    Symptom,
    pretrained,
    words,
)

SETTING = re.compile(r"\b([a-z_]{3,})\s*=\s*(True|False|None|'[\w-]+'|\"[\w-]+\"|\d+)(?![\w.])")
"""An argument with its value, as `remove_unused_columns=False`."""

STATEMENT = re.compile(r"\b([a-z_]+)\.([a-z_]+) = \1\.([a-z_]+)\b")
"""An attribute that is given the value of another, as `tokenizer.pad_token = tokenizer.eos_token`."""

MEANT = re.compile(
    r"\b([\w-]+)['\"`]?[.,;]? Did you mean ['\"`]?([\w-]+)['\"`]?\?"
    r"|['\"`]([\w-]+)['\"`] is no longer supported[^.]*\. Please use ['\"`]([\w-]+)['\"`] instead"
)
"""A value that is refused, and the one that was meant: `Invalid frequency: H. Did you mean h?`."""

ASKING = re.compile(
    r"\b(?:set|setting|pass|passing|use|using|should|activate|specify|try|select|adding|instantiate)\b", re.IGNORECASE
)
REFUSING = re.compile(
    r"\b(?:not|instead of|without|when|got|received|cannot|can't|since|because|if)\b[^.]*$", re.IGNORECASE
)
"""What comes before a setting that is the trouble and not the remedy."""

HIDING = words("retain_graph strict allow_unused create_graph weights_only trust_remote_code verify")
"""Settings by which an error is hidden, or that ask for trust: not the remedy that comes to mind first."""

NEAR = 120
"""Characters before a setting in which it is asked for."""

OF_FAULTS = (
    "right-padding was detected",
    "trying to rescale already rescaled images",
)
"""Warnings of what is a fault whenever they come; others give advice that a sound program need not follow."""


class SettingAskedFor(ReadTemplate):
    """A library says which setting has to be given, and the program does not give it.

    `You may need to set remove_unused_columns=False in TrainingArguments`, `set padding_side='left' when initializing the
    tokenizer`: the error, or a warning that always speaks of a fault, names the argument and its value. It is given in the call that the
    message names, or in the call that was refused; a statement in the message (`tokenizer.pad_token = tokenizer.eos_token`) is
    written after what it is about. Where the error says what a value that was refused is called today (`Invalid frequency: H. Did
    you mean h?`), it is called so wherever it is given by the same keyword. The run of the patched program decides.

    Fix safety: unsafe. The program runs otherwise than it did, as its library asks.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/trainer (`remove_unused_columns`),
    https://huggingface.co/docs/transformers/main/en/llm_tutorial ("wrong padding side").
    """

    code = "DNF731"
    name = "setting-asked-for"
    message = "{what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    needs_run = True
    declined = "the program does not show in which call the setting is to be given"

    def read(self, subject: Subject) -> Iterator[Fault]:
        crash = subject.crash
        if crash is not None and crash.site is not None and not crash.site.path:
            repairs = tuple(_repairs(subject, crash.message, subject.node(crash.site)))
            if repairs:
                what = f"the program crashes, and the error says what to give: {repairs[0][0][5:]}"
                yield Fault(crash.site, what, repairs, symptom=Symptom.CRASH, confidence=0.9)
        for warning in subject.trace.warnings if subject.trace is not None else ():
            if warning.site is None or warning.site.path or not any(said in warning.message for said in OF_FAULTS):
                continue
            repairs = tuple(_repairs(subject, warning.message, subject.node(warning.site)))
            yield Fault(warning.site, _sentence(warning.message), repairs, symptom=Symptom.WARNING)

    programs = """
=== example: columns that a collator reads
import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
model = BertForSequenceClassification(config)
data = Dataset.from_dict({"numbers": [[1, 2, 3], [4, 5, 6]] * 4, "kind": [0, 1] * 4})


def collate(rows):
    return {"input_ids": torch.tensor([row["numbers"] for row in rows]), "labels": torch.tensor([row["kind"] for row in rows])}


- args = TrainingArguments("out", max_steps=4, report_to=[], use_cpu=True)
+ args = TrainingArguments("out", max_steps=4, report_to=[], use_cpu=True, remove_unused_columns=False)
trainer = Trainer(model, args, data_collator=collate, train_dataset=data)
trainer.train()

=== example: an object that lacks what the message assigns
class Reader:
    def __init__(self):
        self.end, self.fill = "end", None

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __call__(self, text):
        if self.fill is None:
            raise ValueError("Asking to fill without a sign. Please select one (tokenizer.fill = tokenizer.end, e.g.)")
        return text + self.fill


Tokenizer = Reader
words = Tokenizer.from_pretrained("small")
+ words.fill = words.end
print(words("a text"))

=== example: a value that has another name today
import pandas as pd

- hours = pd.date_range("2020-01-01", periods=3, freq="2H")
- print(hours, pd.date_range("2021-01-01", periods=5, freq="H"))
+ hours = pd.date_range("2020-01-01", periods=3, freq="2h")
+ print(hours, pd.date_range("2021-01-01", periods=5, freq="h"))
print("H")

=== example: a value that is no longer supported
import pandas as pd

- print(pd.date_range("2020-01-01", periods=3, freq="M"))
+ print(pd.date_range("2020-01-01", periods=3, freq="ME"))

=== reject: what the message says is the trouble
import numpy as np


def load(name, allow_pickle=False):
    raise ValueError("Object arrays cannot be loaded when allow_pickle=False")


load("data.npy")

=== reject: no call takes the setting
def train(model):
    raise RuntimeError("You may need to set deterministic=True in Engine")


train(None)
"""


def _repairs(
    subject: Subject, message: str, node: ast.AST | None
) -> Iterator[tuple[str, tuple[Edit, ...] | None, float]]:
    source = subject.source
    for said in STATEMENT.finditer(message):
        owner, attribute, other = said.groups()
        made = {"tokenizer": pretrained.tokenizer, "model": pretrained.model}.get(owner, lambda _: None)(source)
        if made is not None:
            new = f"{made.name}.{attribute} = {made.name}.{other}"
            yield f"Give {new}", (InsertAfter(source.site(made.statement), new),), 0.85
    for wrong, right in dict.fromkeys(tuple(filter(None, said.groups())) for said in MEANT.finditer(message)):
        given = list(_texts(source, ast.walk(node), wrong)) if node is not None else []
        named = {_given_as(source, text) for text in given} - {None}
        others = (
            text for text in _texts(source, source.nodes(ast.Constant), wrong) if _given_as(source, text) in named
        )
        meant = [
            Replace(source.site(text), _token(wrong).sub(right, source.segment(source.site(text))))
            for text in dict.fromkeys((*given, *others))
        ]
        if meant:
            yield f"Give {right} for {wrong}", tuple(meant), 0.9
    asked = {
        said.group(1): said.group(2).replace("'", '"')
        for said in SETTING.finditer(message)
        if said.group(1) not in HIDING and _is_asked_for(message, said)
    }
    for name, value in asked.items():
        for other in source.nodes(ast.Assign):
            target = other.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == name:  # given again after it was made
                yield f"Give {ast.unparse(target)} = {value}", (Replace(source.site(other.value), value),), 0.9
    for call in _calls(subject, message, node) if asked else ():
        told = {keyword.arg for keyword in call.keywords}
        if None in told:
            continue
        edits = tuple(SetArgument(source.site(call), name, value) for name, value in asked.items())
        yield (
            f"Give {', '.join(f'{name}={value}' for name, value in asked.items())} in `{ast.unparse(call.func)}`",
            edits,
            0.85,
        )


def _token(word: str) -> re.Pattern[str]:
    """A word in a text, though a number may stand before it: `H` in `12H`."""
    return re.compile(rf"(?<![A-Za-z_]){re.escape(word)}(?![A-Za-z_\d])")


def _texts(source: Source, within: Iterable[ast.AST], word: str) -> Iterator[ast.Constant]:
    for node in within:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _token(word).search(node.value):
            yield node


def _given_as(source: Source, text: ast.Constant) -> str | None:
    """The keyword by which a text is given to a call."""
    above = source.parent(text)
    return above.arg if isinstance(above, ast.keyword) else None


def _is_asked_for(message: str, said: re.Match[str]) -> bool:
    before = message[max(0, said.start() - NEAR) : said.start()]
    asking = list(ASKING.finditer(before))
    return bool(asking) and not REFUSING.search(before[asking[-1].end() :])


def _calls(subject: Subject, message: str, node: ast.AST | None) -> Iterator[ast.Call]:
    """The calls that a setting may be meant for: of what the message names, the tokenizer's, and the one under way."""
    source = subject.source
    made = pretrained.tokenizer(source) if "initializing the tokenizer" in message else None
    made = pretrained.model(source) if "instantiate your model" in message else made
    found = [made.call] if made is not None else []
    for name in dict.fromkeys(re.findall(r"\b[A-Z]\w+[a-z]\w*\b", message)):
        named = [call for call in source.all_calls if ast.unparse(call.func).rpartition(".")[2].endswith(name)]
        found += named if len(named) == 1 else []
    yield from found or ([node] if isinstance(node, ast.Call) else [])


def _sentence(message: str) -> str:
    """The message on one line, as far as it is short enough to be read."""
    text = " ".join(message.split())
    return text if len(text) <= 200 else f"{text[:200].rpartition(' ')[0]} …"
