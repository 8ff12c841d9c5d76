"""An adapter is to be put into modules that the model does not have: they are called otherwise there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Family, Fault, FixPattern, Replace, Source, Subject, module_roles

LAYERS = re.compile(r"Linear|Conv1D$|Conv2d$")
"""The classes of layers that adapters are put into."""

GIVEN_AS = re.compile(r"target|module", re.IGNORECASE)
"""What modules are given as: `target_modules`, `--lora_target`."""


class ModulesOfAnotherModel(CrashTemplate):
    """`LoraConfig(target_modules=["query", "value"])` names modules as another model, or another release, calls them.

    Each model of `transformers` has its own names for the projections of its attention: `q_proj`, `query`, `q_lin`, `q`, or one
    `c_attn` for all three. Since version 5, `ViT` and others call them `q_proj` and `v_proj` that were `query` and `value`. The run
    knows which layers there are, and the modules that play the same part are named in place of those that are not there.

    Fix safety: unsafe. The program could not run before.

    References: https://huggingface.co/docs/peft/main/en/developer_guides/troubleshooting,
    https://huggingface.co/docs/peft/main/en/package_reference/lora (`target_modules`).
    """

    code = "DNF460"
    name = "modules-of-another-model"
    message = "the model has no {gone}: what plays that part in it is called {names}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError", "peft.utils.error.NoMatchingPeftModuleError"})
    confidence = 0.9
    triggers = ("peft",)
    declined = "the program does not show where the modules are named, or the model has none that play their part"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source, there = subject.source, [path for path, kind in crash.parts.items() if LAYERS.search(kind)]
        if not there or not re.search(r"modules .*not found in the base model|No modules were targeted", crash.message):
            return
        for asked, places in _named(source):
            found = module_roles.counterparts(asked, there)
            if not found or any(_is_end(name, path) for name in asked for path in crash.parts):
                continue
            edits = tuple(_renamed(source, place, found) for place in places)
            said = {"gone": _listed(asked), "names": _listed(found)}
            yield Fault(source.site(places[0]), said, (("Name the modules as this model does", edits, 0.9),))

    programs = """
=== example: names of another release
import torch
from peft import LoraConfig, get_peft_model
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        return torch.softmax(self.q_proj(x) @ self.k_proj(x).transpose(1, 2), -1) @ self.v_proj(x)


model = nn.Sequential(Attention(), Attention(), nn.Linear(8, 2))
- config = LoraConfig(r=4, target_modules=["query", "value"])
+ config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
model = get_peft_model(model, config)
print(model(torch.randn(2, 3, 8)).shape)

=== example: one projection for three, and the layer after attention
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

- TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
+ TARGETS = ("c_attn", "attn.c_proj")
settings = {"r": 4, "lora_alpha": 8, "target_modules": list(TARGETS), "task_type": "CAUSAL_LM"}
small = GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2))
model = get_peft_model(small, LoraConfig(**settings))
print(model(torch.randint(0, 40, (2, 6))).logits.shape)

=== example: the default of a parameter
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM


- def adapted(rank: int = 4, target_modules: list = ["q_proj", "v_proj"]):
+ def adapted(rank: int = 4, target_modules: list = ["query_key_value"]):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=40, **sizes))
    return get_peft_model(model, LoraConfig(r=rank, target_modules=target_modules))


print(adapted()(torch.randint(0, 40, (2, 6))).logits.shape)

=== example: names in one text, for a command line
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import DistilBertConfig, DistilBertForSequenceClassification

parser = argparse.ArgumentParser()
- parser.add_argument("--lora_target", default="query,value")
+ parser.add_argument("--lora_target", default="q_lin,v_lin")
args = parser.parse_args([])
config = DistilBertConfig(vocab_size=40, dim=16, hidden_dim=32, n_layers=1, n_heads=2)
net = get_peft_model(
    DistilBertForSequenceClassification(config), LoraConfig(r=2, target_modules=args.lora_target.split(","))
)
print(net(torch.randint(0, 40, (2, 6))).logits.shape)

=== reject: a network that has nothing of the kind
from peft import LoraConfig, get_peft_model
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))

=== reject: a name that says nothing
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2Model

small = GPT2Model(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2))
get_peft_model(small, LoraConfig(r=2, target_modules=["mixer", "v_proj"]))
"""


def _named(source: Source) -> Iterator[tuple[tuple[str, ...], list[ast.expr]]]:
    """The lists of modules that the program writes down, and the places of each."""
    found: dict[tuple[str, ...], list[ast.expr]] = {}
    for node in (
        *source.nodes(ast.List),
        *source.nodes(ast.Tuple),
        *source.nodes(ast.Set),
        *source.nodes(ast.Constant),
    ):
        names = _names(node)
        is_pattern = isinstance(node, ast.Constant) and len(names) == 1  # `peft` matches it with whole names
        if (
            names
            and not is_pattern
            and all(module_roles.roles(name) for name in names)
            and GIVEN_AS.search(_given_as(source, node))
        ):
            found.setdefault(tuple(names), []).append(node)
    yield from found.items()


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        texts = [each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return texts if len(texts) == len(node.elts) else []
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",")]
    return []


def _given_as(source: Source, node: ast.expr) -> str:
    """The name of what an expression is given to: a keyword, a key, a variable, or a parameter or option whose default it is."""
    above = source.parent(node)
    if isinstance(above, ast.keyword):
        call = source.parent(above)
        first = call.args[0] if isinstance(call, ast.Call) and call.args else None
        return ast.unparse(first) if above.arg == "default" and first is not None else above.arg or ""
    if isinstance(above, ast.Dict) and node in above.values:
        key = above.keys[above.values.index(node)]
        return ast.unparse(key) if key is not None else ""
    if isinstance(above, ast.Assign):
        return ast.unparse(above.targets[0])
    if isinstance(above, ast.arguments):
        named = [*above.posonlyargs, *above.args]
        by_default = dict(zip(reversed(above.defaults), reversed(named), strict=False))
        by_default.update(
            (value, each) for each, value in zip(above.kwonlyargs, above.kw_defaults, strict=True) if value
        )
        return by_default[node].arg if node in by_default else ""
    return ast.unparse(above.target) if isinstance(above, ast.AnnAssign) else ""


def _renamed(source: Source, node: ast.expr, names: tuple[str, ...]) -> Edit:
    listed = ", ".join(f'"{name}"' for name in names)
    if isinstance(node, ast.Constant):
        return Replace(source.site(node), f'"{",".join(names)}"')
    if isinstance(node, ast.Tuple):
        return Replace(source.site(node), f"({listed},)" if len(names) == 1 else f"({listed})")
    return Replace(source.site(node), f"[{listed}]" if isinstance(node, ast.List) else f"{{{listed}}}")


def _is_end(name: str, path: str) -> bool:
    return path == name or path.endswith(f".{name}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
