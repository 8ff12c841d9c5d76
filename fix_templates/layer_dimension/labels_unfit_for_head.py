"""Labels do not fit the head of a model of `transformers`: there are more classes than outputs, or their type means another task."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    Repair,
    Replace,
    SetArgument,
    Source,
    Subject,
    Wrap,
    keyword_value,
    pretrained,
    text_batches,
)

BEYOND = re.compile(r"Target (\d+) is out of bounds")
ROWS = re.compile(
    r"Target size \(torch\.Size\(\[(\d+)\]\)\) must be the same as input size \(torch\.Size\(\[\1, \d+\]\)\)"
)
WHOLE = re.compile(r"result type Float can't be cast to the desired output type Long")

SEVERAL, ONE = "multi_label_classification", "single_label_classification"

AS_FLOATS = "Give the labels as floats"

LABELS = ("labels", "label")
"""What the columns of labels are called that a trainer gives to a model."""

LIBRARIES = frozenset({"transformers", "peft"})


class LabelsUnfitForHead(CrashTemplate):
    """Labels name more classes than the head of a pretrained model has outputs, or are of a type that means another task.

    `AutoModelForSequenceClassification` has two outputs where `num_labels` is not given: a label of 2 is out of bounds. And where
    `problem_type` is not given either, the type of the labels chooses the loss: integers are classes, floating-point numbers
    one value for each output. Classes as floats fail for their shape, several labels for each text as integers for their type, and
    classes where `problem_type` announces several labels for each text.

    Fix safety: unsafe. The program could not run before; a head of another size is initialized anew.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/configuration (`num_labels`, `problem_type`).
    """

    code = "DNF230"
    name = "labels-unfit-for-head"
    message = "{what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    kinds = frozenset({"IndexError", "RuntimeError", "ValueError"})
    confidence = 0.85
    declined = "the program does not show where the size of the head is given"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source, node = subject.source, subject.node(crash.site)
        if LIBRARIES.isdisjoint(source.words) or crash.site is None or not isinstance(node, ast.Call):
            return
        beyond, labels = BEYOND.search(crash.message), keyword_value(node, "labels")
        if beyond is not None:
            target = crash.call.inputs[1] if crash.call is not None and len(crash.call.inputs) > 1 else None
            highest = target.high if target is not None and target.high is not None else float(beyond.group(1))
            wanted = int(max(highest, float(beyond.group(1)))) + 1
            edits = _of_size(source, wanted)
            what = f"a label is {wanted - 1}, and the head of the model has fewer outputs"
            if edits is not None and (target is None or target.low in (None, 0)):
                yield Fault(crash.site, {"what": what}, ((f"Give the head {wanted} outputs", edits, 0.85),))
        elif ROWS.search(crash.message) and (repair := _of_one_label(source)) is not None:
            what = "several labels for each sample are announced (`problem_type`), and each sample has one class"
            yield Fault(crash.site, {"what": what}, (repair,))
        elif labels is not None and ROWS.search(crash.message):
            what = "labels that are floating-point numbers stand for one value for each output, and these are classes"
            yield Fault(crash.site, {"what": what}, (_cast(source, labels, "long", "Give the classes as integers"),))
        elif WHOLE.search(crash.message):
            what = "several labels for each sample are compared one by one, which takes floating-point numbers"
            cast = _cast(source, labels, "float", AS_FLOATS) if labels is not None else None
            repairs = (cast,) if cast is not None else tuple(_made_of_floats(source))
            yield Fault(crash.site, {"what": what}, repairs)

    programs = """
=== example: three classes
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
- model = BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=2, **sizes))
+ model = BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=3, **sizes))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
ids, labels = torch.randint(0, 30, (6, 5)), torch.tensor([0, 1, 2, 0, 1, 2])
loss = model(input_ids=ids, labels=labels).loss
loss.backward()
optimizer.step()

=== example: classes as floats
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=3, **sizes))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
ids, labels = torch.randint(0, 30, (6, 5)), torch.tensor([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
- loss = model(input_ids=ids, labels=labels).loss
+ loss = model(input_ids=ids, labels=labels.long()).loss
loss.backward()
optimizer.step()

=== example: several labels as integers
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
config = BertConfig(vocab_size=30, num_labels=3, problem_type="multi_label_classification", **sizes)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
ids, marks = torch.randint(0, 30, (2, 5)), torch.tensor([[0, 1, 1], [1, 0, 0]])
- loss = model(input_ids=ids, labels=marks).loss
+ loss = model(input_ids=ids, labels=marks.float()).loss
loss.backward()
optimizer.step()

=== example: classes, where several labels are announced
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
- config = BertConfig(vocab_size=30, num_labels=3, problem_type="multi_label_classification", **sizes)
+ config = BertConfig(vocab_size=30, num_labels=3, problem_type="single_label_classification", **sizes)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
batch = {"input_ids": torch.randint(0, 30, (6, 5)), "labels": torch.tensor([0, 1, 2, 0, 1, 2])}
loss = model(**batch).loss
loss.backward()
optimizer.step()

=== example: several labels in a column that a trainer reads
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
config = BertConfig(vocab_size=30, num_labels=2, problem_type="multi_label_classification", **sizes)
data = Dataset.from_dict({"input_ids": [[1, 2, 3], [4, 5, 6]] * 4, "old": [0, 1] * 4, "new": [1, 1] * 4})


def with_labels(row):
-     row["labels"] = [row[kind] for kind in ("old", "new")]
+     row["labels"] = [float(row[kind]) for kind in ("old", "new")]
    return row


model = BertForSequenceClassification(config)
args = TrainingArguments("out", max_steps=3, report_to="none", use_cpu=True)
Trainer(model, args, train_dataset=data.map(with_labels, remove_columns=["old", "new"])).train()

=== example: several labels of a batch, as a matrix
import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
config = BertConfig(vocab_size=30, num_labels=2, problem_type="multi_label_classification", **sizes)
data = Dataset.from_dict({"input_ids": [[1, 2, 3], [4, 5, 6]] * 4, "old": [0, 1] * 4, "new": [1, 1] * 4})


def with_labels(rows):
    marks = np.zeros((len(rows["old"]), 2), dtype=int)
    for index, kind in enumerate(("old", "new")):
        marks[:, index] = rows[kind]
-     return {"input_ids": rows["input_ids"], "labels": marks.tolist()}
+     return {"input_ids": rows["input_ids"], "labels": marks.astype(float).tolist()}


model = BertForSequenceClassification(config)
args = TrainingArguments("out", max_steps=3, report_to="none", use_cpu=True)
Trainer(model, args, train_dataset=data.map(with_labels, batched=True, remove_columns=["old", "new"])).train()

=== reject: labels that count from one
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=2, **sizes))
ids, labels = torch.randint(0, 30, (4, 5)), torch.tensor([1, 2, 1, 2])
loss = model(input_ids=ids, labels=labels).loss

=== reject: another model, whose sizes are its own
import torch
from transformers import BertConfig

loss = torch.nn.functional.cross_entropy(torch.nn.Linear(4, 2)(torch.rand(3, 4)), torch.tensor([0, 1, 2]))
"""


def _of_size(source: Source, wanted: int) -> tuple[Edit, ...] | None:
    """The head is given a size where the program states one, or where it loads the model."""
    stated = [(call, keyword_value(call, "num_labels")) for call in source.all_calls]
    given = [(call, value) for call, value in stated if value is not None]
    if given:
        call, value = given[0]
        is_literal = isinstance(value, ast.Constant) and isinstance(value.value, int) and value.value < wanted
        return (SetArgument(source.site(call), "num_labels", str(wanted)),) if len(given) == 1 and is_literal else None
    model = pretrained.model(source)
    told = {each.arg for each in model.call.keywords} if model is not None else {None}
    if model is None or told & {None, "config", "id2label"} or "Classification" not in ast.unparse(model.call.func):
        return None
    return (SetArgument(source.site(model.call), "num_labels", str(wanted)),)


def _cast(source: Source, labels: ast.expr, method: str, title: str) -> Repair:
    return title, (Wrap(source.site(labels), "", f".{method}()"),), 0.85


def _of_one_label(source: Source) -> Repair | None:
    """Classes are announced where a program says that each sample has several labels."""
    told = [node for node in source.nodes(ast.Constant) if node.value == SEVERAL]
    edits = tuple(Replace(source.site(node), f'"{ONE}"') for node in told)
    return ("Announce one class for each sample", edits, 0.85) if edits else None


def _made_of_floats(source: Source) -> Iterator[Repair]:
    """Labels are made floats where a column of them is made, for one sample, a batch, an array or a tensor."""
    for made in text_batches.kept_under(source, *LABELS):
        site, text = source.site(made), source.segment(source.site(made))
        if isinstance(made, ast.ListComp):
            yield AS_FLOATS, (Wrap(source.site(made.elt), "float(", ")"),), 0.9
            yield AS_FLOATS, (Replace(source.site(made.elt), _each(source, made.elt)),), 0.8
            continue
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "tolist":
            array = source.segment(source.site(made.func.value))
            yield AS_FLOATS, (Replace(site, f"{array}.astype(float).tolist()"),), 0.9
            yield AS_FLOATS, (Replace(site, f"{array}.float().tolist()"),), 0.7
        yield AS_FLOATS, (Replace(site, _each(source, made)),), 0.8
        yield AS_FLOATS, (Replace(site, f"[[float(one) for one in row] for row in {text}]"),), 0.75
        if isinstance(made, ast.Call | ast.Name | ast.Attribute | ast.Subscript):
            yield AS_FLOATS, (Wrap(site, "", ".float()"),), 0.7


def _each(source: Source, made: ast.expr) -> str:
    return f"[float(one) for one in {source.segment(source.site(made))}]"
