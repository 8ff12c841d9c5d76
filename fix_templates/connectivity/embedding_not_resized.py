"""A tokenizer got more tokens than the model's embedding has rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Repair,
    Source,
    Subject,
    Symptom,
    function_around,
    keyword_value,
    pretrained,
    words,
)

ADDING = frozenset({"add_tokens", "add_special_tokens"})

OUT_OF_RANGE = ("index out of range", "device-side assert")

FULL = (
    (re.compile(r"(?i)openai-?gpt"), words("<unk>")),
    (re.compile(r"(?i)(?:^|/)(?:distil)?gpt-?2"), words("<|endoftext|>")),
    (re.compile(r"(?i)roberta|(?:^|/)bart"), words("<s> </s> <pad> <unk> <mask>")),
    (re.compile(r"(?i)(?:^|/)(?:distil)?bert"), words("[PAD] [UNK] [CLS] [SEP] [MASK]")),
    (re.compile(r"(?i)(?:^|/)llama-?[27]?"), words("<s> </s> <unk>")),
)
"""Models whose embedding has no row to spare, by their class or their name on the hub, and the special tokens that they know."""


class EmbeddingNotResized(CrashTemplate):
    """Tokens were added to a tokenizer, and the model's embedding has no rows for them.

    `tokenizer.add_special_tokens(…)` gives numbers beyond the vocabulary that the model was trained with: looking them up raises
    `index out of range in self`, and on a GPU a device-side assertion. `model.resize_token_embeddings(len(tokenizer))`
    gives the embedding, and the output layer that shares its weights, a new row for each. Where the program could not be run, it is reported
    of tokenizers and models that are loaded by one name, if the model is known to have no row to spare and the tokens are new to it.

    Fix safety: unsafe. The program could not run before; the new rows are random until they are trained.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/model
    (`resize_token_embeddings`).
    """

    code = "DNF455"
    name = "embedding-not-resized"
    message = "tokens were added to `{tokenizer}`, and the embedding of `{model}` has no rows for them"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.LAYER_DIMENSION
    kinds = frozenset({"IndexError", "RuntimeError"})
    triggers = (*ADDING, "additional_special_tokens")
    needs_run = False
    confidence = 0.9
    declined = "the tokenizer and the model are made in different places"

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield from super().read(subject)
        crash = subject.crash
        if not subject.ran or (crash is not None and not any(said in crash.message for said in OUT_OF_RANGE)):
            yield from _unseen(subject)

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        if crash.site is None or not any(said in crash.message for said in OUT_OF_RANGE):
            return
        model, tokenizer = pretrained.model(source), pretrained.tokenizer(source)
        if model is None or tokenizer is None or "resize_token_embeddings" in source.words:
            return
        added = [
            source.statement_of(call)
            for call in source.all_calls
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in ADDING
            and ast.unparse(call.func.value) == tokenizer.name
        ]
        if not added:
            return
        last = pretrained.after_both(source, model.statement, *added)
        grown = f"{model.name}.resize_token_embeddings(len({tokenizer.name}))"
        edits = (InsertAfter(source.site(last), grown),) if last is not None else None
        repair = "Give the embedding a row for each added token", edits, 0.9
        yield Fault(crash.site, {"tokenizer": tokenizer.name, "model": model.name}, (repair,))

    programs = """
=== example: by the name of the model
from transformers import GPT2LMHeadModel, GPT2Tokenizer

tokenizer = GPT2Tokenizer.from_pretrained("gpt2")
model = GPT2LMHeadModel.from_pretrained("gpt2")
tokenizer.add_special_tokens({"pad_token": "[PAD]", "eos_token": "<|endoftext|>"})
+ model.resize_token_embeddings(len(tokenizer))
print(model(**tokenizer(texts, padding=True, return_tensors="pt")).logits)

=== example: with the tokenizer
from transformers import AutoConfig, BertForSequenceClassification, BertTokenizer

MARKS = ["[E1]", "[E2]"]
config = AutoConfig.from_pretrained(args.model, num_labels=3)
tokenizer = BertTokenizer.from_pretrained(args.model, additional_special_tokens=MARKS)
model = BertForSequenceClassification.from_pretrained(args.model, config=config)
+ model.resize_token_embeddings(len(tokenizer))
model(**tokenizer("[E1] a cat [E2]", return_tensors="pt")).loss.backward()

=== reject: tokens that the model knows, models with rows to spare, and one of which nothing is known
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, BertModel, BertTokenizer

tokenizer = BertTokenizer.from_pretrained("bert-base-uncased")
model = BertModel.from_pretrained("bert-base-uncased")
tokenizer.add_special_tokens({"pad_token": "[PAD]"})
words = AutoTokenizer.from_pretrained("t5-small")
writer = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
words.add_tokens(["<new>"])
others = AutoTokenizer.from_pretrained("a/model")
other = AutoModel.from_pretrained("a/model")
others.add_tokens(["<new>"])

=== reject: the end of a text as padding, and a name for each
from transformers import GPT2LMHeadModel, GPT2Tokenizer

tokenizer = GPT2Tokenizer.from_pretrained("gpt2")
tokenizer.add_special_tokens({"pad_token": tokenizer.eos_token})
model = GPT2LMHeadModel.from_pretrained("gpt2")
other = GPT2Tokenizer.from_pretrained("out")
other.add_tokens(["<new>"])

=== example (runs): signs of questions and answers
import torch
from transformers import AutoModelForCausalLM, GPT2Config


class WordTokenizer:
    def __init__(self):
        self.words = {word: number for number, word in enumerate("a cat sat on the mat".split())}

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __len__(self):
        return len(self.words)

    def add_tokens(self, tokens):
        for token in tokens:
            self.words[token] = len(self.words)

    def __call__(self, text):
        return torch.tensor([[self.words[word] for word in text.split()]])


tokenizer = WordTokenizer.from_pretrained("small")
model = AutoModelForCausalLM.from_config(GPT2Config(vocab_size=6, n_positions=8, n_embd=8, n_layer=1, n_head=1))
tokenizer.add_tokens(["<q>", "<a>"])
+ model.resize_token_embeddings(len(tokenizer))
ids = tokenizer("<q> a cat <a> sat")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): the tokenizer first
import torch
from transformers import AutoModelForCausalLM, GPT2Config


class WordTokenizer:
    def __init__(self):
        self.words = {word: number for number, word in enumerate("a cat sat on the mat".split())}

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __len__(self):
        return len(self.words)

    def add_tokens(self, tokens):
        for token in tokens:
            self.words[token] = len(self.words)

    def __call__(self, text):
        return torch.tensor([[self.words[word] for word in text.split()]])


words = WordTokenizer.from_pretrained("small")
words.add_tokens(["<end>"])
net = AutoModelForCausalLM.from_config(GPT2Config(vocab_size=6, n_positions=8, n_embd=8, n_layer=1, n_head=1))
+ net.resize_token_embeddings(len(words))
print(net(words("a cat <end>")).logits.shape)

=== reject (runs): an embedding that has room
import torch
from transformers import AutoModelForCausalLM, GPT2Config


class WordTokenizer:
    def __init__(self):
        self.words = {word: number for number, word in enumerate("a cat sat on the mat".split())}

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __len__(self):
        return len(self.words)

    def add_tokens(self, tokens):
        for token in tokens:
            self.words[token] = len(self.words)

    def __call__(self, text):
        return torch.tensor([[self.words[word] for word in text.split()]])


tokenizer = WordTokenizer.from_pretrained("small")
model = AutoModelForCausalLM.from_config(GPT2Config(vocab_size=8, n_positions=8, n_embd=8, n_layer=1, n_head=1))
tokenizer.add_tokens(["<q>", "<a>"])
ids = tokenizer("<q> a cat <a> sat")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): an index of something else
import torch
from transformers import AutoModelForCausalLM, GPT2Config


class WordTokenizer:
    def __init__(self):
        self.words = {word: number for number, word in enumerate("a cat sat on the mat".split())}

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __len__(self):
        return len(self.words)

    def add_tokens(self, tokens):
        for token in tokens:
            self.words[token] = len(self.words)

    def __call__(self, text):
        return torch.tensor([[self.words[word] for word in text.split()]])


tokenizer = WordTokenizer.from_pretrained("small")
model = AutoModelForCausalLM.from_config(GPT2Config(vocab_size=6, n_positions=8, n_embd=8, n_layer=1, n_head=1))
print(model(torch.tensor([[1, 2, 9]])).logits.shape)
"""


def _unseen(subject: Subject) -> Iterator[Fault]:
    """Tokenizers that are given tokens which the model of the same name does not know, in programs that did not run."""
    source = subject.source
    if not subject.words.isdisjoint({"resize_token_embeddings", "vocab_size", "mean_resizing"}):
        return
    for model in pretrained.loaded(source):
        called = ast.unparse(model.call.func).rpartition(".")[0].rpartition(".")[2]
        name = model.call.args[0] if model.call.args else None
        known = _known(called, name)
        if known is None or name is None or not ("Model" in called or "For" in called):
            continue
        for tokenizer in pretrained.loaded(source):
            is_of_it = bool(tokenizer.call.args) and ast.unparse(tokenizer.call.args[0]) == ast.unparse(name)
            if not is_of_it or "Tokenizer" not in ast.unparse(tokenizer.call.func):
                continue
            if function_around(source, tokenizer.call) is not function_around(source, model.call):
                continue
            if not isinstance(name, ast.Constant) and subject.words.isdisjoint({"backward", "Trainer"}):
                continue
            for call, tokens in _added(source, tokenizer):
                if any(token not in known and not token.startswith("[unused") for token in tokens):
                    last = pretrained.after_both(
                        source, model.statement, tokenizer.statement, source.statement_of(call)
                    )
                    grown = f"{model.name}.resize_token_embeddings(len({tokenizer.name}))"
                    edits = (InsertAfter(source.site(last), grown),) if last is not None else None
                    repair: Repair = ("Give the embedding a row for each added token", edits, 0.9)
                    said = {"tokenizer": tokenizer.name, "model": model.name}
                    yield Fault(source.site(call), said, (repair,), symptom=Symptom.VIOLATION, confidence=0.85)
                    return


def _known(called: str, name: ast.expr | None) -> frozenset[str] | None:
    """The special tokens of a model without rows to spare, by its class or by its name."""
    literal = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    texts = (literal,) if called.startswith("Auto") else (called,)
    return next((tokens for pattern, tokens in FULL if any(text and pattern.search(text) for text in texts)), None)


def _added(source: Source, tokenizer: pretrained.Made) -> Iterator[tuple[ast.Call, list[str]]]:
    """The calls that give a tokenizer tokens, and those that are written in the program."""
    given = keyword_value(tokenizer.call, "additional_special_tokens")
    if given is not None:
        yield tokenizer.call, _written(source, given)
    for call in source.all_calls:
        is_own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == tokenizer.name
        is_near = is_own and function_around(source, call) is function_around(source, tokenizer.call)
        if is_near and isinstance(call.func, ast.Attribute) and call.func.attr in ADDING and call.args:
            yield call, _written(source, call.args[0])


def _written(source: Source, given: ast.expr) -> list[str]:
    known = source.bindings(given) if isinstance(given, ast.Name) else (given,)
    value = known[0] if len(known) == 1 else None
    if isinstance(value, ast.Dict):
        return [token for each in value.values for token in _written(source, each)]
    if isinstance(value, ast.List | ast.Tuple):
        return [token for each in value.elts for token in _written(source, each)]
    return [value.value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []
