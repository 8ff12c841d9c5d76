"""A setting of `transformers` or `trl` is left out, which another part of the program makes necessary."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    SetArgument,
    Source,
    Subject,
    keyword_value,
    pretrained,
    training_loop,
    within,
    words,
)

OF_FORWARD = words("""input_ids attention_mask token_type_ids position_ids labels label label_ids pixel_values input_values input_features
    inputs_embeds decoder_input_ids pixel_mask bool_masked_pos mask_labels class_labels""")
"""Columns that the models themselves take: a Trainer keeps them."""


class SettingLeftOut(ReadTemplate):
    """A setting of a Trainer or of its model is left out, which another part of the program makes necessary.

    A Trainer takes away every column that the model's `forward` does not name, unless `remove_unused_columns=False`: a function of
    `set_transform` or `with_transform`, which makes the model's inputs from such columns when they are read, finds none. And a reward model has one output for
    each text (`num_labels=1`); a model for sequence classification has two where nothing is said, and the loss of `RewardTrainer` compares
    pairs of them.

    Fix safety: unsafe. The program could not run, or trained another model.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/trainer (`remove_unused_columns`),
    https://huggingface.co/docs/trl/main/en/reward_trainer ("num_labels=1").
    """

    code = "DNF737"
    name = "setting-left-out"
    message = "{what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("set_transform", "with_transform", "RewardTrainer")
    declined = "the call that takes the setting is not in this file"

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield from _columns_of_transforms(subject.source)
        yield from _reward_models(subject.source)

    programs = """
=== example: columns of a transform
from datasets import load_dataset
from transformers import Trainer, TrainingArguments, ViTForImageClassification

ds = load_dataset("cifar10")
model = ViTForImageClassification.from_pretrained("google/vit-base-patch16-224-in21k", num_labels=10)
column = "img"

def prepare(batch):
    return {"pixel_values": [transforms(image) for image in batch[column]], "labels": batch["label"]}

ds["train"].set_transform(prepare)
- args = TrainingArguments("out", num_train_epochs=1)
+ args = TrainingArguments("out", num_train_epochs=1, remove_unused_columns=False)
trainer = Trainer(model=model, args=args, train_dataset=ds["train"])

=== example: a data set with a transform, and arguments that are made in the call
from datasets import load_dataset
from transformers import AutoModelForCTC, Trainer, TrainingArguments

def read(batch):
    batch["input_values"] = processor([one["array"] for one in batch["audio"]]).input_values
    return batch

data = load_dataset("a/set", split="train").with_transform(read)
trainer = Trainer(
    model=AutoModelForCTC.from_pretrained("a/model"),
-     args=TrainingArguments("out", max_steps=10),
+     args=TrainingArguments("out", max_steps=10, remove_unused_columns=False),
    train_dataset=data,
)

=== example: a reward model of two outputs
from transformers import AutoModelForSequenceClassification
from trl import RewardConfig, RewardTrainer

- model = AutoModelForSequenceClassification.from_pretrained("gpt2")
+ model = AutoModelForSequenceClassification.from_pretrained("gpt2", num_labels=1)
trainer = RewardTrainer(model=model, args=RewardConfig("out"), train_dataset=pairs)

=== reject: columns that are kept, and columns of the model
from datasets import load_dataset
from transformers import AutoModelForImageClassification, Trainer, TrainingArguments

ds = load_dataset("cifar10")

def prepare(batch):
    batch["pixel_values"] = [transforms(image) for image in batch["img"]]
    return batch

def other(batch):
    batch["pixel_values"] = [flip(image) for image in batch["pixel_values"]]
    return batch

ds["train"].set_transform(prepare)
args = TrainingArguments("out", remove_unused_columns=False)
model = AutoModelForImageClassification.from_pretrained("a/model")
Trainer(model=model, args=args, train_dataset=ds["train"])
images = load_dataset("others", split="train").with_transform(other)
Trainer(model=model, args=TrainingArguments("out"), train_dataset=images)

=== reject: a loop of the program's own, and a data set that is trained on without its transform
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForImageClassification, Trainer, TrainingArguments

ds = load_dataset("cifar10")

def prepare(batch):
    return {"pixel_values": [transforms(image) for image in batch["img"]]}

shown = ds["test"].with_transform(prepare)
loader = DataLoader(shown)
Trainer(AutoModelForImageClassification.from_pretrained("a/model"), TrainingArguments("out"), train_dataset=ds["train"])

=== reject: a reward model that has one output
from transformers import AutoModelForSequenceClassification
from trl import RewardTrainer

model = AutoModelForSequenceClassification.from_pretrained("gpt2", num_labels=1)
trainer = RewardTrainer(model=model, train_dataset=pairs)

=== reject: a model that was trained for it
from transformers import AutoModelForSequenceClassification
from trl import RewardTrainer

model = AutoModelForSequenceClassification.from_pretrained("someone/a-reward-model")
trainer = RewardTrainer(model=model, train_dataset=pairs)
"""


def _columns_of_transforms(source: Source) -> Iterator[Fault]:
    for call in training_loop.method_calls(source, "set_transform", "with_transform"):
        function = source.definition(call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else None
        columns = _columns_read(source, function) if isinstance(function, ast.FunctionDef) else []
        if not columns or not isinstance(call.func, ast.Attribute):
            continue
        data = _data_with_transform(source, call)
        for trainer in source.all_calls:
            kind = ast.unparse(trainer.func).rpartition(".")[2]
            given = (keyword_value(trainer, name) for name in ("train_dataset", "eval_dataset"))
            if not kind.endswith("Trainer") or data not in {ast.unparse(each) for each in given if each is not None}:
                continue
            args = keyword_value(trainer, "args") or (trainer.args[1] if len(trainer.args) > 1 else None)
            made = source.constructor(args) if args is not None else None
            if made is None or not ast.unparse(made.func).rpartition(".")[2].endswith("TrainingArguments"):
                continue
            if {"remove_unused_columns", None} & {each.arg for each in made.keywords} or _is_set_later(source):
                continue
            what = f"a Trainer takes the column `{columns[0]}` away, which the transform of `{data}` reads"
            edit = SetArgument(source.site(made), "remove_unused_columns", "False")
            yield Fault.with_repair(source.site(call), what, "Keep the columns", edit)
            return


def _is_set_later(source: Source) -> bool:
    return any(node.attr == "remove_unused_columns" for node in source.nodes(ast.Attribute))


def _columns_read(source: Source, function: ast.FunctionDef) -> list[str]:
    """The columns that a transform reads, but for those that models take themselves."""
    if not function.args.args:
        return []
    batch, found = function.args.args[-1].arg, []
    for node in within(function, ast.Subscript):
        is_read = isinstance(node.ctx, ast.Load) and ast.unparse(node.value) == batch
        known = source.bindings(node.slice) if isinstance(node.slice, ast.Name) else (node.slice,)
        value = known[0].value if len(known) == 1 and isinstance(known[0], ast.Constant) else None
        if is_read and isinstance(value, str):
            found.append(value)
    made = {ast.unparse(node.slice) for node in within(function, ast.Subscript) if isinstance(node.ctx, ast.Store)}
    return [each for each in found if each not in OF_FORWARD and repr(each) not in made]


def _data_with_transform(source: Source, call: ast.Call) -> str:
    """How the data set with the transform is written where it is used."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "set_transform":
        return ast.unparse(call.func.value)
    statement = source.statement_of(call)
    is_kept = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement.value is call
    return ast.unparse(statement.targets[0]) if is_kept and isinstance(statement, ast.Assign) else ""


def _reward_models(source: Source) -> Iterator[Fault]:
    trainers = [call for call in source.all_calls if ast.unparse(call.func).rpartition(".")[2] == "RewardTrainer"]
    model = pretrained.model(source) if len(trainers) == 1 else None
    if model is None or not ast.unparse(model.call.func).endswith("ForSequenceClassification.from_pretrained"):
        return
    given = keyword_value(trainers[0], "model") or (trainers[0].args[0] if trainers[0].args else None)
    told = {each.arg for each in model.call.keywords}
    if given is None or ast.unparse(given) != model.name or told & {"num_labels", "config", "id2label", None}:
        return
    is_set = any(node.attr == "num_labels" for node in source.nodes(ast.Attribute))
    if is_set or any("reward" in ast.unparse(each).lower() for each in model.call.args):
        return  # a model that was trained for it says so in its own configuration
    what = f"`{model.name}` has two outputs for each text where nothing is said, and a reward model has one"
    edit = SetArgument(source.site(model.call), "num_labels", "1")
    yield Fault.with_repair(source.site(model.call), what, "Give the model one output", edit)
