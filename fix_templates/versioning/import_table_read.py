"""`"LlamaTokenizer" in transformers._import_structure["models.llama"]`: a private table, which is written in another way today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, Subject

TABLE = "transformers._import_structure"


class ImportTableRead(ApiChange):
    """A program looks into the table by which transformers imports its parts, to see whether a class is there.

    Programs did so that were written while an architecture was known to the main branch only. Since transformers 4.52 the
    keys of the table are the files of the parts, and those of before raise a KeyError, though the class is there. Whether
    it is, `hasattr` says of every release.

    Fix safety: safe: the new test holds where the old one held, and where the class is missing it still does not.

    References: https://github.com/huggingface/transformers/blob/v4.51.3/src/transformers/__init__.py,
    https://github.com/huggingface/transformers/blob/v4.52.4/src/transformers/__init__.py.
    """

    code = "DNF567"
    name = "import-table-read"
    message = "the table of imports has no key {key!r} since transformers 4.52; hasattr tells whether {name} is there"
    triggers = ("_import_structure",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "_import_structure" not in source.words:
            return
        for test in source.nodes(ast.Compare):
            match test:
                case ast.Compare(
                    left=ast.Constant(value=str(name)),
                    ops=[ast.In() | ast.NotIn() as op],
                    comparators=[ast.Subscript(value=ast.Attribute() as table, slice=ast.Constant(value=str(key)))],
                ) if name.isidentifier() and source.qualified(table) == TABLE:
                    module = source.segment(source.site(table.value))
                    asked = f"hasattr({module}, {source.segment(source.site(test.left))})"
                    site = source.site(test)
                    yield Hit(
                        site,
                        self.message.format(key=key, name=name),
                        title=f"ask the module for {name}",
                        edits=(Replace(site, f"not {asked}" if isinstance(op, ast.NotIn) else asked),),
                        safe=True,
                        removed={"transformers": "4.52"},
                    )

    programs = """
=== example: an assertion before the import
import torch
import transformers

assert (
-     "LlamaTokenizer" in transformers._import_structure["models.llama"]
+     hasattr(transformers, "LlamaTokenizer")
), "install transformers from its main branch"
from transformers import LlamaTokenizer

print(LlamaTokenizer, torch.ones(1))

=== example: a test that ends the program
import transformers as hf

- if 'BloomForCausalLM' not in hf._import_structure['models.bloom']:
+ if not hasattr(hf, 'BloomForCausalLM'):
    raise ImportError("a newer version is needed")
model = hf.AutoModel

=== reject: a table of another library
import diffusers

assert "UNet2DModel" in diffusers._import_structure["models"]

=== reject: other questions to the table
import transformers

for key in transformers._import_structure["models.llama"]:
    print(key)
print("models.llama" in transformers._import_structure)
"""
