"""A language model is trained or asked with batches whose padding, ends or labels mean something else to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    argument_value,
    pretrained,
    text_batches,
    words,
)

COPIES = frozenset({"copy", "clone", "squeeze", "tolist", "detach"})
"""Methods whose result is still the ids."""

LEFT_OUT = "Leave padding out of the loss: -100 for its labels"

WRITES = words(
    "AutoModelForCausalLM GPT2LMHeadModel LlamaForCausalLM MistralForCausalLM OPTForCausalLM AutoModelForSeq2SeqLM"
)
"""Models that learn to write."""

WITHOUT_PADDING = re.compile(r"DataCollatorFor(?:LanguageModeling|CompletionOnlyLM)$")
"""Collators that set the label of each padding token to -100."""

_Repair = tuple[str, tuple[Edit, ...] | None, float]


class TextBatchMisread(ReadTemplate):
    """A batch of text means something else to its language model than to the program.

    Seen in the batches of a run; of padding and ends, where no batch was seen, in what the program says of them. Reported

    - where *padding is learned*: the labels of tokens that only fill up a row are not -100, so the loss is mostly that of
      guessing padding;
    - where *the end is not learned*: every end of a text is left out of the loss, as a collator does that leaves out the
      padding token where that is the end token. The model never stops;
    - where *labels are shifted twice*: a causal model of `transformers` shifts its labels itself, and was given shifted ones: it
      learns the token after the next;
    - where *padding is attended to*: a model that reads both ways gets rows with padding and no mask, or one of ones, and
      so does a model that reads one way whose rows begin with padding;
    - where *the mask is inverted*: it hides the text and shows the padding.

    Fix safety: unsafe. The loss is that of other tokens from now on, which is the point.

    References: https://huggingface.co/docs/transformers/main/en/model_doc/gpt2 ("labels are shifted inside the model", "all
    labels set to -100 are ignored"), https://huggingface.co/docs/transformers/main/en/pad_truncation.
    """

    code = "DNF335"
    name = "text-batch-misread"
    message = "{what}"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    triggers = ("transformers", "peft")
    declined = "where the batches are made is not seen in the program"

    def read(self, subject: Subject) -> Iterator[Fault]:
        batches_seen = list(text_batches.seen(subject))
        if not batches_seen and not WRITES.isdisjoint(subject.words):
            yield from _told(subject)
        for batches in batches_seen:
            call = text_batches.given(subject, batches)
            for reading, what, repairs in _faults(subject, batches, call):
                yield Fault(batches.site, what, repairs, {"model": batches.model}, reading=reading)

    programs = """
=== example: the labels of a padded text
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")


def encode(rows):
    encoded = tokenizer(rows["text"], padding="max_length", truncation=True, max_length=64)
-     encoded["labels"] = encoded["input_ids"].copy()
+     encoded["labels"] = [[token if kept else -100 for token, kept in zip(*row)] for row in zip(encoded["input_ids"], encoded["attention_mask"])]
    return encoded


data = load_dataset("a/set", split="train").map(encode, batched=True)
Trainer(model, TrainingArguments("out"), DataCollatorWithPadding(tokenizer), data).train()

=== example: the end that is the padding
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer

tokenizer = AutoTokenizer.from_pretrained("a/model")
model = AutoModelForCausalLM.from_pretrained("a/model")
- tokenizer.pad_token = tokenizer.eos_token
+ tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
+ model.resize_token_embeddings(len(tokenizer))
data = dataset.map(lambda row: tokenizer(row["text"] + tokenizer.eos_token, truncation=True))
Trainer(model, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()

=== reject: labels of texts that are not padded, or whose padding is hidden
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator, Trainer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")


def encode(rows):
    encoded = tokenizer(rows["text"])
    encoded["labels"] = encoded["input_ids"].copy()
    return encoded


data = dataset.map(encode, batched=True)
Trainer(model, train_dataset=data, data_collator=default_data_collator).train()

=== reject: a collator that makes the labels, and texts without an end
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token


def encode(rows):
    encoded = tokenizer(rows["text"], padding="max_length", max_length=64)
    encoded["labels"] = encoded["input_ids"].copy()
    return encoded


data = dataset.map(encode, batched=True)
Trainer(model, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()

=== example (runs): padding is learned
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=49))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[4, 5, 6, 7, 8, 9], [4, 5, 6, 49, 49, 49], [7, 8, 9, 7, 49, 49]])
mask = (ids != 49).long()
for step in range(4):
-     loss = model(input_ids=ids, attention_mask=mask, labels=ids).loss
+     loss = model(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): padding is learned, the batch is unpacked
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=49))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[4, 5, 6, 7, 8, 9], [4, 5, 6, 49, 49, 49], [7, 8, 9, 7, 49, 49]])
batch = {"input_ids": ids, "attention_mask": (ids != 49).long(), "labels": ids.clone()}
for step in range(4):
+     batch["labels"] = batch["labels"].masked_fill(batch["attention_mask"] == 0, -100)
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): a trainer learns padding
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=49))


def encode(row):
    kept = row["length"]
    encoded = {"input_ids": [*range(4, 4 + kept), *[49] * (6 - kept)], "attention_mask": [1] * kept + [0] * (6 - kept)}
-     encoded["labels"] = encoded["input_ids"].copy()
+     encoded["labels"] = [token if kept else -100 for token, kept in zip(encoded["input_ids"], encoded["attention_mask"])]
    return encoded


data = Dataset.from_dict({"length": [2, 6, 3, 4] * 4}).map(encode)
args = TrainingArguments("out", max_steps=4, per_device_train_batch_size=4, report_to=[], use_cpu=True)
Trainer(model, args, train_dataset=data).train()

=== example (runs): a trainer leaves out the ends
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForLanguageModeling,
    GPT2Config,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

words = Tokenizer(models.WordLevel({word: n for n, word in enumerate("<unk> <end> a cat sat on the mat".split())}, "<unk>"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="<end>")
- tokenizer.pad_token = tokenizer.eos_token
+ tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
sizes = {"n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
model = AutoModelForCausalLM.from_config(GPT2Config(vocab_size=8, eos_token_id=1, **sizes))
+ model.resize_token_embeddings(len(tokenizer))
texts = ["a cat sat <end>", "a cat sat on the mat <end>"] * 8
data = Dataset.from_dict({"text": texts}).map(lambda row: tokenizer(row["text"]), remove_columns="text")
args = TrainingArguments("out", max_steps=4, per_device_train_batch_size=4, report_to=[], use_cpu=True)
Trainer(model, args, DataCollatorForLanguageModeling(tokenizer, mlm=False), data).train()

=== example (runs): labels are shifted twice
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
tokens = torch.randint(0, 50, (8, 9))
for step in range(4):
    x, y = tokens[:, :-1], tokens[:, 1:]
-     loss = model(x, labels=y).loss
+     loss = model(x, labels=x).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): padding is attended to
import torch
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[4, 5, 6, 7, 8, 9], [4, 5, 6, 0, 0, 0], [7, 8, 9, 7, 0, 0]])
for step in range(4):
-     loss = model(ids, labels=torch.tensor([0, 1, 1])).loss
+     loss = model(ids, labels=torch.tensor([0, 1, 1]), attention_mask=(ids != model.config.pad_token_id).long()).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): a mask of ones, for texts with padding before them
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, Trainer, TrainingArguments

words = Tokenizer(models.WordLevel({word: n for n, word in enumerate("<unk> <pad> a cat sat on the mat".split())}, "<unk>"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", padding_side="left").save_pretrained("made")
tokenizer = AutoTokenizer.from_pretrained("made")
config = GPT2Config(vocab_size=8, n_positions=16, n_embd=16, n_layer=1, n_head=2)


def encode(row):
    ids = tokenizer(row["text"], padding="max_length", max_length=8)["input_ids"]
    labels = [one if one != tokenizer.pad_token_id else -100 for one in ids]
-     return {"input_ids": ids, "labels": labels, "attention_mask": [1] * len(ids)}
+     return {"input_ids": ids, "labels": labels, "attention_mask": [int(token != tokenizer.pad_token_id) for token in ids]}


data = Dataset.from_dict({"text": ["a cat sat", "a cat sat on the mat"] * 8}).map(encode, remove_columns="text")
args = TrainingArguments("out", max_steps=4, per_device_train_batch_size=4, report_to=[], use_cpu=True)
Trainer(GPT2LMHeadModel(config), args, train_dataset=data).train()

=== example (runs): the mask is inverted
import torch
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[4, 5, 6, 7, 8, 9], [4, 5, 6, 0, 0, 0], [7, 8, 9, 7, 0, 0]])
mask = (ids == 0).long()
for step in range(4):
-     loss = model(ids, attention_mask=mask, labels=torch.tensor([0, 1, 1])).loss
+     loss = model(ids, attention_mask=1 - mask, labels=torch.tensor([0, 1, 1])).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): padding that is left out; a causal model needs no mask for what comes after
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=49))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[4, 5, 6, 7, 8, 9], [4, 5, 6, 49, 49, 49], [7, 8, 9, 7, 49, 49]])
labels = ids.masked_fill(ids == 49, -100)
for step in range(4):
    loss = model(ids, labels=labels).loss + model(ids, attention_mask=(ids != 49).long(), labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): texts that begin with the token that ends and fills them
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(
    GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, pad_token_id=49, bos_token_id=49, eos_token_id=49)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ids = torch.tensor([[49, 5, 6, 7, 8, 49], [49, 5, 6, 49, 49, 49], [49, 8, 9, 7, 49, 49]])
labels = torch.tensor([[49, 5, 6, 7, 8, 49], [49, 5, 6, 49, -100, -100], [49, 8, 9, 7, 49, -100]])
for step in range(4):
    loss = model(ids, labels=labels, attention_mask=(labels != -100).long()).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): rows of one length, and prompts whose ends are not learned
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

reader = BertForMaskedLM(
    BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, eos_token_id=49))
optimizer = torch.optim.AdamW([*model.parameters(), *reader.parameters()], lr=0.01)
whole = torch.randint(1, 49, (3, 6))
asked = torch.tensor([[4, 5, 49, 7, 8, 49], [4, 49, 6, 7, 8, 49]])
told = torch.tensor([[-100, -100, -100, 7, 8, 49], [-100, -100, 6, 7, 8, 49]])
for step in range(4):
    loss = reader(whole, labels=whole).loss + model(asked, labels=told).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _faults(
    subject: Subject, batches: text_batches.TextBatches, call: text_batches.Given | None
) -> Iterator[tuple[str, str, tuple[_Repair, ...]]]:
    """What is wrong with the batches of a place: the reading, the message, and the repairs."""
    if batches.inverted:
        what = f"the attention mask of `{batches.model}` hides the text and shows the padding"
        yield "mask-inverted", what, tuple(_turned(subject, call))
    elif batches.unmasked + batches.attended:
        share = (batches.unmasked + batches.attended) / batches.tokens
        where = "" if batches.both_ways else " before the texts"
        what = f"`{batches.model}` attends to padding{where}, {share:.0%} of its tokens: no attention mask hides it"
        repairs = _masked(subject, call) if batches.unmasked else _masks_of_data(subject.source)
        yield "padding-attended", what, tuple(repairs)
    if batches.learned_padding:
        share = batches.learned_padding / max(batches.labelled, 1)
        what = f"{share:.0%} of the labels of `{batches.model}` are padding: -100 leaves a label out of the loss"
        yield "padding-learned", what, tuple(_left_out(subject, batches, call))
    if batches.ends_left_out and not batches.ends:
        what = (
            f"no end of a text is among the labels of `{batches.model}`: as the padding token is the end token, "
            "ends are left out of the loss along with padding, and the model does not learn to stop"
        )
        yield "end-not-learned", what, tuple(_with_ends(subject))
    if batches.compared > 2 and batches.next == batches.compared and batches.same * 2 < batches.labelled:
        what = f"`{batches.model}` shifts its labels itself, and is given labels that are shifted already"
        yield "shifted-twice", what, tuple(_unshifted(subject, call))


def _told(subject: Subject) -> Iterator[Fault]:
    """What a program says of its labels: that padding is among them, or that the ends of its texts are left out."""
    source = subject.source
    collators = [call for call in source.all_calls if WITHOUT_PADDING.search(ast.unparse(call.func))]
    if not collators and not _hides_labels(source):
        for made in _made_of_ids(source):
            if _is_padded(source, made):
                what = "the labels are the ids of a padded text: padding is learned, and -100 leaves a label out of the loss"
                repairs = tuple(_left_out_of_data(source))
                yield Fault(source.site(made), what, repairs, reading="padding-learned", confidence=0.85)
                return
    masked = [call for call in collators if _says(call, "mlm", False) or "Completion" in ast.unparse(call.func)]
    repairs = tuple(_with_ends(subject)) if masked and _writes_ends(source) else ()
    if repairs:
        what = "texts end with the end token, which is the padding token too: its labels are left out, and no end is learned"
        yield Fault(source.site(masked[0]), what, repairs, reading="end-not-learned", confidence=0.85)


def _hides_labels(source: Source) -> bool:
    """Whether any label may be set to -100."""
    return "ignore_index" in source.words or any(
        isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and node.operand.value == 100
        for node in source.nodes(ast.UnaryOp)
    )


def _is_padded(source: Source, ids: ast.expr) -> bool:
    """Whether ids are those of a tokenizer that fills each text up."""
    part = _without_copies(ids)
    while isinstance(part, ast.Subscript | ast.Attribute):
        part = part.value
    made = source.constructor(part)
    padding = argument_value(made, "padding", None) if made is not None else None
    return isinstance(padding, ast.Constant) and padding.value in (True, "max_length", "longest")


def _writes_ends(source: Source) -> bool:
    """Whether texts are given the end token: by the tokenizer, or as they are put together."""
    if any(_says(call, "add_eos_token", True) for call in source.all_calls):
        return True
    for node in source.nodes(ast.Attribute):
        above = source.parent(node)
        is_added = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)
        if node.attr == "eos_token" and (is_added or isinstance(above, ast.FormattedValue)):
            return True
    return False


def _turned(subject: Subject, call: text_batches.Given | None) -> Iterator[_Repair]:
    if call is not None and call.mask is not None:
        site, text = subject.source.site(call.mask), _operand(subject, call.mask)
        yield "Invert the attention mask", (Replace(site, f"1 - {text}"),), 0.9
        yield "Invert the attention mask", (Replace(site, f"~{text}"),), 0.8


def _masked(subject: Subject, call: text_batches.Given | None) -> Iterator[_Repair]:
    if call is None or call.ids is None:
        return
    site = subject.source.site(call.call)
    beside = call.mask_text
    if beside:
        yield "Give the tokenizer's attention mask", (SetArgument(site, "attention_mask", beside),), 0.9
    made = f"({call.ids_text} != {ast.unparse(call.call.func)}.config.pad_token_id).long()"
    yield "Give a mask that hides the padding", (SetArgument(site, "attention_mask", made),), 0.8


def _masks_of_data(source: Source) -> Iterator[_Repair]:
    """Masks of ones, one for each of some ids, hide the padding among these instead."""
    tokenizer = pretrained.tokenizer(source)
    if tokenizer is None:
        return
    pad, edits = f"{tokenizer.name}.pad_token_id", []
    for value in text_batches.kept_under(source, "attention_mask"):
        match value:
            case (
                ast.BinOp(
                    left=ast.List(elts=[ast.Constant(value=1)]),
                    op=ast.Mult(),
                    right=ast.Call(func=ast.Name(id="len"), args=[ids]),
                )
                | ast.ListComp(elt=ast.Constant(value=1), generators=[ast.comprehension(iter=ids, ifs=[])])
            ):
                made = f"[int(token != {pad}) for token in {ast.unparse(ids)}]"
            case ast.Call(func=ast.Attribute(attr="ones_like"), args=[ids]):
                made = f"({ast.unparse(ids)} != {pad}).long()"
            case _:
                continue
        edits.append(Replace(source.site(value), made))
    if edits:
        yield "Give a mask that hides the padding", tuple(edits), 0.85


def _left_out(
    subject: Subject, batches: text_batches.TextBatches, call: text_batches.Given | None
) -> Iterator[_Repair]:
    """Set the labels of padding to -100, where the model is called or where labels are made of ids."""
    source, title = subject.source, LEFT_OUT
    if call is not None and call.labels_text:
        of_model = f"{ast.unparse(call.call.func)}.config.pad_token_id"
        hidden = f"{call.labels_text} == {of_model}" if batches.encoder_decoder else f"{call.mask_text} == 0"
        if call.labels is not None and (batches.encoder_decoder or call.mask_text):
            new = f"{_operand(subject, call.labels)}.masked_fill({hidden}, -100)"
            yield title, (Replace(source.site(call.labels), new),), 0.9
        elif call.labels is None:
            new = f"{call.labels_text} = {call.labels_text}.masked_fill({hidden}, -100)"
            yield title, (InsertBefore(source.site(source.statement_of(call.call)), new),), 0.9
    yield from _left_out_of_data(source)


def _left_out_of_data(source: Source) -> Iterator[_Repair]:
    """Set the labels of padding to -100 where they are made of what a tokenizer gave."""
    is_batched = any(_says(one, "batched", True) for one in source.all_calls)
    is_tensor = any(_says(one, "return_tensors", "pt") for one in source.all_calls)
    for made in _made_of_ids(source):
        site, ids, title = source.site(made), source.segment(source.site(_without_copies(made))), LEFT_OUT
        mask = text_batches.beside_ids(ids, "attention_mask")
        one = f"[token if kept else -100 for token, kept in zip({ids}, {mask})]"
        many = f"[[token if kept else -100 for token, kept in zip(*row)] for row in zip({ids}, {mask})]"
        tensor = f"{ids}.masked_fill({mask} == 0, -100)"
        if is_tensor:
            yield title, (Replace(site, tensor),), 0.85
        for new in (many, one) if is_batched else (one, many):
            yield title, (Replace(site, new),), 0.8


def _made_of_ids(source: Source) -> Iterator[ast.expr]:
    """The expressions that make labels of what a tokenizer gave, with a mask beside: `x["labels"] = x["input_ids"].copy()`."""
    yield from (value for value in text_batches.kept_under(source, "labels") if _is_ids(value))


def _is_ids(value: ast.expr) -> bool:
    value = _without_copies(value)
    if isinstance(value, ast.Attribute):
        return value.attr == "input_ids"
    return isinstance(value, ast.Subscript) and (_is_text(value.slice, "input_ids") or _is_ids(value.value))


def _without_copies(value: ast.expr) -> ast.expr:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in COPIES:
        value = value.func.value
    return value


def _with_ends(subject: Subject) -> Iterator[_Repair]:
    """A padding token of its own, with a row in the embedding; or one that the tokenizer has and never writes."""
    source = subject.source
    for node in source.nodes(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Attribute) or target.attr not in ("pad_token", "pad_token_id"):
            continue
        if not isinstance(value, ast.Attribute) or not value.attr.startswith("eos_token"):
            continue
        tokenizer, site = ast.unparse(target.value), source.site(node)
        if ast.unparse(value.value) != tokenizer or tokenizer.endswith("config"):
            continue
        own = Replace(site, f'{tokenizer}.add_special_tokens({{"pad_token": "<|pad|>"}})')
        model = pretrained.model(source)
        last = pretrained.after_both(source, node, model.statement) if model is not None else None
        if model is not None and last is not None:
            grown = f"{model.name}.resize_token_embeddings(len({tokenizer}))"
            after = InsertAfter(source.site(last), grown)
            edits = (own, after) if last is not node else (Replace(site, f"{own.code}\n{grown}"),)
            yield "Pad with a token of its own", edits, 0.8
        yield "Pad with the unknown token", (Replace(source.site(value), f"{tokenizer}.unk_token"),), 0.6


def _unshifted(subject: Subject, call: text_batches.Given | None) -> Iterator[_Repair]:
    title = "Give the ids as labels: the model shifts them"
    if call is not None and call.labels is not None:
        yield title, (Replace(subject.source.site(call.labels), call.ids_text),), 0.9
        return
    for display in subject.source.nodes(ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in display.keys]
        parts = dict(zip(keys, display.values, strict=True))
        if isinstance(parts.get("input_ids"), ast.Name) and "labels" in parts:
            edit = Replace(subject.source.site(parts["labels"]), ast.unparse(parts["input_ids"]))
            yield title, (edit,), 0.85


def _operand(subject: Subject, node: ast.expr) -> str:
    """The text of an expression that a method or an operator follows or precedes."""
    text = subject.text(subject.source.site(node))
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({text})"


def _says(call: ast.Call, name: str, value: object) -> bool:
    given = argument_value(call, name, None)
    return isinstance(given, ast.Constant) and given.value == value


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text
