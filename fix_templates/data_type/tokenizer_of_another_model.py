"""A tokenizer numbers words otherwise than the model that reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    argument_value,
    function_around,
    pretrained,
    trees,
)

VOCABULARIES = (
    (r"(?:google-bert/|distilbert/)?(?:distil)?bert-(?:base|large)-uncased\b", "BERT in lower case"),
    (r"(?:google-bert/|distilbert/)?(?:distil)?bert-(?:base|large)-cased\b", "BERT with capitals"),
    (r"(?:google-bert/)?bert-base-multilingual-cased$", "multilingual BERT with capitals"),
    (r"(?:google-bert/)?bert-base-multilingual-uncased$", "multilingual BERT in lower case"),
    (r"(?:FacebookAI/|distilbert/)?(?:distil)?roberta-(?:base|large)$", "RoBERTa"),
    (r"(?:FacebookAI/)?xlm-roberta-(?:base|large)$", "XLM-RoBERTa"),
    (r"(?:openai-community/|distilbert/)?(?:distil)?gpt2(?:-medium|-large|-xl)?$", "GPT-2"),
    (r"(?:google-t5/)?t5-(?:small|base|large|3b|11b)$|google/flan-t5-\w+$", "T5"),
    (r"(?:albert/)?albert-(?:base|large|xlarge|xxlarge)-v[12]$", "ALBERT"),
    (r"(?:xlnet/)?xlnet-(?:base|large)-cased$", "XLNet"),
)
"""Well-known models that share a vocabulary, and what to call it."""

CASED = re.compile(r"(?<!un)[-_]cased(?![a-z])")
UNCASED = re.compile(r"[-_]uncased(?![a-z])")


class TokenizerOfAnotherModel(ReadTemplate):
    """The tokenizer of one model writes numbers that the other model reads as other words.

    `BertTokenizer.from_pretrained("bert-base-cased")` with a model of `bert-base-uncased`: every number is the row of another
    word, and what was learned in pretraining is lost. Nothing crashes as long as the numbers are within the embedding. Reported of
    models whose vocabularies are known to differ; and where a tokenizer with capitals is told to take them away
    (`do_lower_case=True` with `…-cased`), or the reverse.

    Fix safety: unsafe. The model reads other words than before, which is the point.

    References: https://huggingface.co/google-bert/bert-base-cased,
    https://huggingface.co/docs/transformers/main/en/model_doc/bert (`do_lower_case`).
    """

    code = "DNF640"
    name = "tokenizer-of-another-model"
    message = "{what}"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    confidence = 0.9
    triggers = ("from_pretrained",)
    declined = "the name of the model is not written where its tokenizer is made"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call in source.all_calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained":
                yield from _of_other_case(source, call)
        tokenizer, model = pretrained.tokenizer(source), pretrained.model(source)
        if tokenizer is None or model is None:
            return
        written, read = (_name(source, one.call) for one in (tokenizer, model))
        of_tokenizer, of_model = _vocabulary(written), _vocabulary(read)
        if of_tokenizer and of_model and of_tokenizer != of_model:
            what = f"the tokenizer is that of {of_tokenizer} (`{written}`), and the model reads {of_model} (`{read}`)"
            given = argument_value(tokenizer.call, "pretrained_model_name_or_path", 0)
            is_literal = isinstance(given, ast.Constant)
            edits = (
                (Replace(source.site(given), repr(read).replace("'", '"')),)
                if given is not None and is_literal
                else None
            )
            site = source.site(tokenizer.call)
            yield Fault(site, what, (("Take the tokenizer of the model", edits, 0.85),), reading="vocabulary")

    programs = """
=== example: capitals in place of lower case
from transformers import AutoModelForSequenceClassification, AutoTokenizer

- tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
+ tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)

=== example: another model's words, the name of the model elsewhere
from transformers import BertTokenizerFast, RobertaModel

NAME = "roberta-base"
- tokenizer = BertTokenizerFast.from_pretrained("bert-base-uncased")
+ tokenizer = BertTokenizerFast.from_pretrained("roberta-base")
encoder = RobertaModel.from_pretrained(NAME)

=== example: capitals that are taken away
from transformers import BertModel, BertTokenizer

- tokenizer = BertTokenizer.from_pretrained("bert-base-multilingual-cased", do_lower_case=True)
+ tokenizer = BertTokenizer.from_pretrained("bert-base-multilingual-cased", do_lower_case=False)
model = BertModel.from_pretrained("bert-base-multilingual-cased")

=== example: the name as a default
from transformers import BertModel, BertTokenizer


def load(name="bert-large-cased"):
-     return BertModel.from_pretrained(name), BertTokenizer.from_pretrained(name, do_lower_case=True)
+     return BertModel.from_pretrained(name), BertTokenizer.from_pretrained(name, do_lower_case=False)

=== reject: a name that is given where the function is called
from transformers import BertModel, BertTokenizer


def load(name):
    return BertModel.from_pretrained(name), BertTokenizer.from_pretrained(name, do_lower_case="uncased" in name)


load("bert-large-cased")


def other(name="bert-base-cased"):
    return BertTokenizer.from_pretrained(name, do_lower_case=True)


other("bert-base-uncased")

=== reject: models that share a vocabulary
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased", do_lower_case=True)
model = AutoModel.from_pretrained("distilbert-base-uncased")

=== reject: models of which nothing is known, and a tokenizer for each of two
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

words = AutoTokenizer.from_pretrained("bert-base-uncased")
reader = AutoModel.from_pretrained("someone/a-model")
german = AutoTokenizer.from_pretrained("t5-small")
writer = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
"""


def _of_other_case(source: Source, call: ast.Call) -> Iterator[Fault]:
    lower = argument_value(call, "do_lower_case", None)
    name = _name(source, call)
    if not isinstance(lower, ast.Constant) or not isinstance(lower.value, bool):
        return
    if (CASED.search(name) and lower.value) or (UNCASED.search(name) and not lower.value):
        how = (
            "tells capitals apart, and is told to take them away"
            if lower.value
            else "is in lower case, and capitals are kept"
        )
        what = f"`{name}` {how}: words that the model knows become unknown pieces"
        edit = Replace(source.site(lower), str(not lower.value))
        yield Fault(source.site(call), what, (("Keep to the case of the model", (edit,), 0.9),), reading="case")


def _name(source: Source, call: ast.Call) -> str:
    """The name of what is loaded; empty where it is not written in the program."""
    given = argument_value(call, "pretrained_model_name_or_path", 0)
    known = (source.bindings(given) or _by_default(source, given)) if isinstance(given, ast.Name) else (given,)
    value = known[0].value if len(known) == 1 and isinstance(known[0], ast.Constant) else ""
    return value if isinstance(value, str) else ""


def _by_default(source: Source, name: ast.Name) -> tuple[ast.expr, ...]:
    """The default of a parameter that the function does not change, and that no call in the program gives."""
    function = function_around(source, name)
    if function is None or name.id in trees.stored_names(function):
        return ()
    taken = (*function.args.posonlyargs, *function.args.args)
    index = next((i for i, each in enumerate(taken) if each.arg == name.id), None)
    calls = (call for call in source.all_calls if source.definition(call.func) is function)
    if any(argument_value(call, name.id, index) is not None for call in calls):
        return ()
    defaults = dict(zip([each.arg for each in reversed(taken)], reversed(function.args.defaults), strict=False))
    return (defaults[name.id],) if name.id in defaults else ()


def _vocabulary(name: str) -> str:
    return next((called for pattern, called in VOCABULARIES if re.match(pattern, name)), "")
