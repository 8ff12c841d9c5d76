"""A tokenizer got more tokens than the model's embedding has rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Family, Fault, FixPattern, InsertAfter, Subject, pretrained

ADDING = frozenset({"add_tokens", "add_special_tokens"})


class EmbeddingNotResized(CrashTemplate):
    """Tokens were added to a tokenizer, and the model's embedding has no rows for them.

    `tokenizer.add_special_tokens(…)` gives numbers beyond the vocabulary that the model was trained with: looking them up raises
    `index out of range in self`, and on a GPU a device-side assertion. `model.resize_token_embeddings(len(tokenizer))`
    gives the embedding, and the output layer that shares its weights, a new row for each.

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
    triggers = tuple(ADDING)
    confidence = 0.9
    declined = "the tokenizer and the model are made in different places"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        if crash.site is None or not any(
            said in crash.message for said in ("index out of range", "device-side assert")
        ):
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
=== example: signs of questions and answers
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

=== example: the tokenizer first
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

=== reject: an embedding that has room
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

=== reject: an index of something else
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
