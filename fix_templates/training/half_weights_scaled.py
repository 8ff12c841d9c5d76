"""Weights are kept in float16 and trained with a loss scaler, which refuses them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Source,
    Subject,
    Symptom,
    argument_value,
    function_around,
    pretrained,
    training_loop,
    within,
    words,
)

QUANTIZED = words("load_in_8bit load_in_4bit quantization_config")
CAST_BACK = words("prepare_model_for_kbit_training prepare_model_for_int8_training cast_training_params")
"""Functions that put what is trained into float32."""
FOR_GOOD = 4
"""Losses in a row, up to the last one, after which weights that are no numbers stay so."""

ADAPTS = words("get_peft_model add_adapter peft_config inject_adapter_in_model LoraModel")
"""Words of programs that train adapters, whose base may be in float16."""


class HalfWeightsScaled(ReadTemplate):
    """A model is put into float16, and then trained with a loss scaler.

    Mixed precision keeps the weights in float32 and casts them to float16 where they are used: `GradScaler`, and with it `fp16=True` of a trainer
    and `mixed_precision="fp16"` of accelerate, raise `Attempting to unscale FP16 gradients` for weights that are in float16
    themselves, as after `model.half()` or `from_pretrained(…, dtype=torch.float16)`. A frozen base in float16 is fine, as long as what is
    trained is in float32: `get_peft_model` makes its adapters so, but neither the whole modules of `modules_to_save` nor those of
    `model.add_adapter`.

    Without a scaler, weights in float16 are updated in float16: Adam divides by the root of squares that vanish there, and the loss is no
    number from the second step on, as a run shows. So is that of a model whose activations exceed 65504, as those of models that were trained in
    bfloat16 do. bfloat16 has the range of float32.

    Fix safety: unsafe. The program raised on a GPU, or learned nothing; weights in float32 take twice the memory.

    References: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.unscale_,
    https://huggingface.co/docs/peft/developer_guides/troubleshooting ("Attempting to unscale FP16 gradients").
    """

    code = "DNF736"
    name = "half-weights-scaled"
    message = "{what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_TYPE
    triggers = ("half", "float16")
    declined = "nothing in the program tells which weights are trained"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        crash = subject.crash if subject.crash is not None and "unscale FP16" in subject.crash.message else None
        broken = _left_finite_numbers(subject)
        for model, made, edits in _halved(source):
            if _is_cast_back(source, model):
                continue
            if broken and _is_trained(source, model):
                what = f"the weights of `{model}` are trained in float16, and the loss is no finite number from step {broken} on"
                yield Fault(source.site(made), what, tuple(_wider(source, made, edits)), symptom=Symptom.NON_FINITE)
                continue
            if not _is_scaled(source, model):
                continue
            what = f"the weights of `{model}` are put into float16, and its loss is scaled: the scaler raises"
            site = crash.site if crash is not None and crash.site is not None else source.site(made)
            symptom = Symptom.CRASH if crash is not None and crash.site is not None else None
            repair = "Keep the weights in float32", edits, 0.85
            yield Fault(site, what, (repair,), confidence=0.85, symptom=symptom)
        yield from _adapters(source)

    programs = """
=== example: a model in float16 under a scaler
import torch
from torch import nn

- net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).half()
+ net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = nn.functional.mse_loss(net(x).float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

=== example (runs): no scaler
import torch
from transformers import GPT2Config, GPT2LMHeadModel

sizes = {"vocab_size": 40, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
GPT2LMHeadModel(GPT2Config(**sizes)).save_pretrained("small")
- model = GPT2LMHeadModel.from_pretrained("small", dtype=torch.float16)
+ model = GPT2LMHeadModel.from_pretrained("small", dtype=torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 40, (4, 8))
for _ in range(8):
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a statement of its own
import torch
from torch.cuda.amp import GradScaler
from nets import Net

net = Net().cuda()
- net.to(torch.float16)
optimizer = torch.optim.Adam(net.parameters())
scaler = GradScaler()
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(net(x, y)).backward()
    scaler.step(optimizer)
    scaler.update()

=== example: a trainer with fp16
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

- model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float16)
+ model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments("out", fp16=True, num_train_epochs=1)
Trainer(model=model, args=args, train_dataset=data).train()

=== example: whole modules beside the adapters
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

- model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16)
+ model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(r=8, modules_to_save=["wte", "lm_head"]))
trainer = Trainer(model, TrainingArguments("out", fp16=True), train_dataset=data)
trainer.train()

=== example: adapters that take the type of their base
import torch
from accelerate import Accelerator
from peft import LoraConfig

accelerator = Accelerator(mixed_precision=args.mixed_precision)
unet.requires_grad_(False)
weight_dtype = torch.float32
if accelerator.mixed_precision == "fp16":
    weight_dtype = torch.float16
unet.to(accelerator.device, dtype=weight_dtype)
unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_v"]))
+ for parameter in unet.parameters():
+     if parameter.requires_grad:
+         parameter.data = parameter.float()
weights = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(weights)
unet, optimizer = accelerator.prepare(unet, optimizer)
for batch in loader:
    accelerator.backward(unet(batch))
    optimizer.step()
    optimizer.zero_grad()

=== reject: adapters in float32 over a base in float16, and a base that is quantized
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float16)
model = get_peft_model(model, LoraConfig(r=8))
Trainer(model, TrainingArguments("out", fp16=True), train_dataset=data).train()

=== reject: float16 for answers only
import torch
from transformers import AutoModelForCausalLM

scaler = torch.amp.GradScaler("cuda")
teacher = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float16)
optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(criterion(net(x), teacher(x).logits.float())).backward()
    scaler.step(optimizer)
    scaler.update()

=== reject: bfloat16, and float16 without a scaler
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float16)
Trainer(model, TrainingArguments("out", bf16=True), train_dataset=data).train()

=== reject: cast back before it is trained
import torch
from accelerate import Accelerator
from diffusers.training_utils import cast_training_params
from peft import LoraConfig

accelerator = Accelerator(mixed_precision="fp16")
weight_dtype = torch.float16
unet.to(accelerator.device, dtype=weight_dtype)
unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_v"]))
cast_training_params(unet, dtype=torch.float32)
optimizer = torch.optim.AdamW([p for p in unet.parameters() if p.requires_grad])
for batch in loader:
    accelerator.backward(unet(batch))
    optimizer.step()

=== reject: adapters that are only loaded
import torch
from diffusers import StableDiffusionPipeline

pipe = StableDiffusionPipeline.from_pretrained("a/model", torch_dtype=torch.float16)
pipe.unet.to("cuda", dtype=torch.float16)
pipe.unet.add_adapter(config)
print(pipe("a cat").images)
"""


def _left_finite_numbers(subject: Subject) -> int:
    """The step, counted from 1, from which on no loss of a run is a finite number; 0 where there is none, or too few come after it."""
    losses = subject.trace.losses if subject.trace is not None and subject.crash is None else []
    finite = max((place + 1 for place, loss in enumerate(losses) if math.isfinite(loss)), default=0)
    return finite + 1 if len(losses) - finite >= FOR_GOOD else 0


def _is_trained(source: Source, model: str) -> bool:
    """Whether all weights of the model are trained, by the program's only optimizer or by a trainer, and no loss is scaled."""
    if not ADAPTS.isdisjoint(source.words) or any(
        source.qualified(call.func) in training_loop.SCALERS for call in source.all_calls
    ):
        return False
    trainers = [call for call in source.all_calls if ast.unparse(call.func).endswith("Trainer")]
    given = [argument_value(call, "model", 0) for call in trainers]
    by_trainer = any(each is not None and ast.unparse(each) == model for each in given)
    return _is_optimized(source, model) or (by_trainer and not any(_has_fp16(source, call) for call in trainers))


def _wider(source: Source, made: ast.AST, edits: tuple[Edit, ...]) -> Iterator[Repair]:
    """Weights in bfloat16, where float16 is an argument of what loads them; else, or then, in float32."""
    if isinstance(made, ast.Attribute):
        yield "Keep the weights in bfloat16", (Replace(source.site(made), f"{ast.unparse(made.value)}.bfloat16"),), 0.85
    elif isinstance(made, ast.Constant):
        yield "Keep the weights in bfloat16", (Replace(source.site(made), '"bfloat16"'),), 0.85
    yield "Keep the weights in float32", edits, 0.8


def _halved(source: Source) -> Iterator[tuple[str, ast.AST, tuple[Edit, ...]]]:
    """Models that are put into float16: the name, the call that does it, and the edits that take it back."""
    for node in source.nodes(ast.Assign):
        target, call = node.targets[0], node.value
        if len(node.targets) != 1 or not isinstance(target, ast.Name | ast.Attribute) or not isinstance(call, ast.Call):
            continue
        name = ast.unparse(target)
        if (inner := _before_half(source, call)) is not None:
            yield name, call, (Replace(source.site(call), source.segment(source.site(inner))),)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in pretrained.LOADS:
            given = {each.arg for each in call.keywords}
            for said in ("torch_dtype", "dtype"):
                value = argument_value(call, said, None)
                if value is not None and _is_half(source, value) and QUANTIZED.isdisjoint(given):
                    yield name, value, (RemoveArgument(source.site(call), said),)
    for statement in source.nodes(ast.Expr):
        call = statement.value
        inner = _before_half(source, call) if isinstance(call, ast.Call) else None
        if isinstance(inner, ast.Name | ast.Attribute) and isinstance(call, ast.Call):
            yield ast.unparse(inner), call, (Delete(source.site(statement)),)


def _before_half(source: Source, call: ast.Call) -> ast.expr | None:
    """What `.half()` or `.to(torch.float16)` is called on."""
    if not isinstance(call.func, ast.Attribute):
        return None
    is_half = call.func.attr == "half" and not call.args
    is_cast = call.func.attr == "to" and len(call.args) + len(call.keywords) == 1 and _casts_to_half(source, call)
    return call.func.value if is_half or is_cast else None


def _casts_to_half(source: Source, call: ast.Call) -> bool:
    given = (*call.args, *(each.value for each in call.keywords if each.arg == "dtype"))
    return any(_is_half(source, each) for each in given)


def _is_half(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value == "float16"
    return source.qualified(value) in training_loop.HALF


def _is_scaled(source: Source, model: str) -> bool:
    """Whether the model is trained with a scaler: the program's own, or that of a trainer that is told fp16."""
    adapts = not ADAPTS.isdisjoint(source.words)
    if adapts and not _saves_modules(source):
        return False
    for call in source.all_calls:
        kind = ast.unparse(call.func).rpartition(".")[2]
        if kind.endswith("Trainer"):
            given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "model")]
            if any(ast.unparse(each) == model for each in given):
                return _has_fp16(source, call)
    has_scaler = any(source.qualified(call.func) in training_loop.SCALERS for call in source.all_calls)
    is_stepped = any(
        len(each.call.args) == 1 and "optim" in ast.unparse(each.call.args[0])
        for each in training_loop.operations_named(source, "step")
    )
    return has_scaler and is_stepped and _is_optimized(source, model)


def _is_optimized(source: Source, model: str) -> bool:
    """Whether the optimizer, the only one of the program, is made of all parameters of the model."""
    made = [
        call for call in source.all_calls if (source.qualified(call.func) or "").startswith(training_loop.OPTIMIZERS)
    ]
    made = [call for call in made if not (source.qualified(call.func) or "").startswith(training_loop.SCHEDULES)]
    return len(made) == 1 and bool(made[0].args) and ast.unparse(made[0].args[0]) == f"{model}.parameters()"


def _has_fp16(source: Source, trainer: ast.Call) -> bool:
    given = argument_value(trainer, "args", 1)
    made = source.constructor(given) if given is not None else None
    fp16 = argument_value(made, "fp16", None) if made is not None else None
    return isinstance(fp16, ast.Constant) and fp16.value is True


def _saves_modules(source: Source) -> bool:
    """Whether whole modules are trained beside the adapters."""
    return any(
        isinstance(value := argument_value(call, "modules_to_save", None), ast.List) and bool(value.elts)
        for call in source.all_calls
    )


def _is_cast_back(source: Source, model: str) -> bool:
    if any(ast.unparse(call.func).rpartition(".")[2] in CAST_BACK for call in source.all_calls):
        return True
    for call in source.all_calls:
        func = call.func
        if isinstance(func, ast.Attribute) and ast.unparse(func.value) == model:
            is_float = func.attr == "float" or (func.attr == "to" and "float32" in ast.unparse(call))
            is_frozen = func.attr == "requires_grad_" and "False" in ast.unparse(call)
            if is_float or is_frozen:
                return True
    return _casts_parameters(source)


def _casts_parameters(source: Source) -> bool:
    """Whether the data of parameters are cast one by one."""
    return any(
        isinstance(node.targets[0], ast.Attribute)
        and node.targets[0].attr == "data"
        and ("float32" in ast.unparse(node.value) or "float()" in ast.unparse(node.value))
        for node in source.nodes(ast.Assign)
    )


def _adapters(source: Source) -> Iterator[Fault]:
    """Adapters that are added to a model in float16, and trained with a scaler in that type."""
    if any(ast.unparse(call.func).rpartition(".")[2] in CAST_BACK for call in source.all_calls):
        return
    if _casts_parameters(source) or not _asks_for_fp16(source):
        return
    added = [
        each
        for each in training_loop.operations_named(source, "add_adapter")
        if len(each.call.args) + len(each.call.keywords) == 1
    ]
    for each in added:
        around = function_around(source, each.statement) or source.tree
        casts = [
            call
            for call in training_loop.attribute_calls(around, "to")
            if isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value) == each.on
            and call.lineno < each.statement.lineno
            and _may_be_half(source, argument_value(call, "dtype", None))
        ]
        is_trained = any(
            ast.unparse(call.func).endswith(".prepare") and each.on in map(ast.unparse, call.args)
            for call in within(around, ast.Call)
        )
        if not casts or not is_trained:
            continue
        loop = (
            f"for parameter in {each.on}.parameters():\n"
            "    if parameter.requires_grad:\n"
            "        parameter.data = parameter.float()"
        )
        what = f"adapters are added to `{each.on}` in float16, and their loss is scaled: the scaler raises"
        after = InsertAfter(source.site(each.statement), loop)
        yield Fault.with_repair(source.site(each.call), what, "Train the adapters in float32", after, prior=0.85)


def _asks_for_fp16(source: Source) -> bool:
    """Whether accelerate may be told to train in float16."""
    for call in source.all_calls:
        if ast.unparse(call.func).rpartition(".")[2] == "Accelerator":
            given = argument_value(call, "mixed_precision", None)
            if isinstance(given, ast.Constant):
                return given.value == "fp16"
            return given is not None and "fp16" in source.words
    return False


def _may_be_half(source: Source, given: ast.expr | None) -> bool:
    values = source.bindings(given) if isinstance(given, ast.Name) else (given,)
    return any(value is not None and _is_half(source, value) for value in values)
