"""Weights that should be trained receive no gradient: the graph is cut or not recorded, or they are frozen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Repair,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    Symptom,
    freezing,
    function_around,
    graph,
    graph_edits,
    new_parts,
    progress_figures,
    raised_errors,
    recomputing,
    training_loop,
    within,
    words,
)

CUTS = words(
    "torch.Tensor.data torch.Tensor.detach torch.Tensor.item torch.Tensor.numpy torch.Tensor.tolist torch.tensor"
)
"""Calls whose result has no gradient; `torch.tensor` of a tensor is a detached copy."""

WRAPS = words("torch.tensor torch.as_tensor torch.from_numpy torch.autograd.Variable torch.FloatTensor torch.Tensor")
"""Calls that make a tensor with a graph of its own."""

MARKS = words("torch.Tensor.requires_grad_")
_CUTS_BACK = "cuts the graph between the loss and"
MESSAGE = "does not require grad and does not have a grad_fn"
NOTHING_HELD = "optimizer got an empty parameter list"

OFF = words("torch.no_grad torch.inference_mode torch.autograd.no_grad torch.autograd.inference_mode")
SWITCHES = words("torch.set_grad_enabled torch.autograd.set_grad_enabled torch.autograd.grad_mode.set_grad_enabled")

_Off = tuple[ast.With | ast.expr | ast.Expr, str]
"""What disables gradients in the forward pass (a `with`, a decorator or a global switch), and its source text."""


class GraphCut(ReadTemplate):
    """Weights that should be trained receive no gradient: the graph is cut or not recorded, or they are frozen.

    `detach()`, `.data`, `item()`, `numpy()` and new tensors return plain numbers: nothing before them is trained.
    `loss.backward()` then raises, or, if the loss was wrapped again with `requires_grad=True` to silence that, has no
    effect. Under `no_grad` no operation is recorded; it is for evaluation and for networks that are not trained. And
    freezing (`requires_grad` or `trainable` is False) is for a part of the network, most often a body with loaded
    weights: not for its new head, nor for adapters (`PeftModel.from_pretrained` loads them frozen,
    `prepare_model_for_kbit_training` freezes those that are there). A reentrant checkpoint of activations
    (`use_reentrant=True`) whose inputs need no gradient, such as the data, gives none to the weights within.

    Reported only where weights held by an optimizer received no gradient and every path from them to the loss leads
    through the cut, or torch warns of the checkpoint; where `backward` raised because of the `with` or decorator around the
    forward pass; where every parameter is frozen; or where a part that is missing in the checkpoint stays frozen beside others that are trained. Detached targets, generated samples and hidden states are left alone, and other networks that
    run first under the same `with` stay there.

    Fix safety: unsafe. The weights are trained from now on; if only some were meant to be frozen, freeze those.

    References: torch.Tensor.detach, torch.no_grad, torch.Tensor.requires_grad_; "Locally disabling gradient
    computation" in "Autograd mechanics" of the torch manual; torch.utils.checkpoint; "Transfer learning and fine-tuning" of the Keras guides;
    https://huggingface.co/docs/peft/main/en/developer_guides/troubleshooting ("randomly initialized layers").
    """

    code = "DNF405"
    name = "graph-cut"
    formerly = ("DNF406", "all-parameters-frozen", "DNF446", "forward-without-gradient")
    message = "weights receive no gradient: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = (
        "backward",
        "requires_grad",
        "requires_grad_",
        "trainable",
        "no_grad",
        "inference_mode",
        "set_grad_enabled",
        "checkpoint",
        "checkpoint_sequential",
        "gradient_checkpointing",
        "gradient_checkpointing_enable",
        "peft",
    )
    needs_run = True
    symptom = Symptom.CRASH
    confidence = 0.9
    declined = "the cut cannot be removed by one edit, or the statements in the block cannot be moved out of it"

    def read(self, subject: Subject) -> Iterator[Fault]:
        words_of_program = subject.source.words
        if "backward" in words_of_program:
            yield from _cut_out(subject)
        yield from _frozen(subject)
        yield from _frozen_head(subject)
        yield from _new_part(subject)
        yield from _recomputed(subject)
        node = raised_errors.raised_at(subject, "RuntimeError", MESSAGE)
        if isinstance(node, ast.Call) and any(each.trainable for each in subject.network.parameters):
            for off, code in _around_forward(subject, node):
                moved = off.body[_untrained(subject.source, off) :] if isinstance(off, ast.With) else []
                if not _runs_apart(
                    subject.source, moved
                ):  # else one of the passes may compute targets, which have to stay
                    what = f"`{code}` disables gradients in the forward pass of the loss"
                    yield Fault(subject.source.site(off), what, tuple(_turned_on(subject.source, off)))

    programs = """
=== example: a new head, frozen with the rest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.body(x))


model = Net()
- model.fc = nn.Linear(16, 3)
for parameter in model.parameters():
    parameter.requires_grad = False
+ model.fc = nn.Linear(16, 3)
for parameter in model.body.parameters():
    parameter.requires_grad = True
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()

=== reject: a new head that is trained again, and a body that is frozen for good
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.body(x))


model = Net()
model.fc = nn.Linear(16, 3)
for parameter in model.parameters():
    parameter.requires_grad = False
for parameter in model.fc.parameters():
    parameter.requires_grad = True
optimizer = torch.optim.Adam(model.fc.parameters(), lr=0.01)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()

=== example: activations that are recomputed from the data
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
-         return self.head(checkpoint(self.stem, x, use_reentrant=True))
+         return self.head(checkpoint(self.stem, x, use_reentrant=False))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()

=== example: a head that the checkpoint lacks, and an adapter beside it
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, BertModel

sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
BertModel(BertConfig(**sizes)).save_pretrained("base")
model = BertForSequenceClassification.from_pretrained("base", num_labels=3)
- model = get_peft_model(model, LoraConfig(r=4, target_modules=["query", "value"]))
+ model = get_peft_model(model, LoraConfig(r=4, target_modules=["query", "value"], modules_to_save=["classifier"]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(input_ids=torch.randint(0, 50, (4, 6)), labels=torch.randint(0, 3, (4,))).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== example: a head that the checkpoint lacks, frozen with all but the last layer
import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel

sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
BertModel(BertConfig(**sizes)).save_pretrained("base")
model = BertForSequenceClassification.from_pretrained("base", num_labels=3)
for name, param in model.named_parameters():
    if "layer.1" not in name:
        param.requires_grad = False
+ for parameter in model.classifier.parameters():
+     parameter.requires_grad = True
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(input_ids=torch.randint(0, 50, (4, 6)), labels=torch.randint(0, 3, (4,))).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== example: an adapter that is loaded to be used
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn


def base():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


get_peft_model(base(), LoraConfig(r=2, target_modules=["0"])).save_pretrained("adapter")
- model = PeftModel.from_pretrained(base(), "adapter")
+ model = PeftModel.from_pretrained(base(), "adapter", is_trainable=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a model that is prepared, and frozen, after adapters were put in
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2))
+ model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
model = get_peft_model(model, LoraConfig(r=2, target_modules=["c_attn"]))
- model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
ids = torch.randint(0, 40, (2, 6))
for _ in range(2):
    model(ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== example: the output detached, the loss wrapped
import torch
from torch import nn
from torch.autograd import Variable

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(3):
-     out = net(x).detach()
+     out = net(x)
    loss = nn.functional.mse_loss(out, y)
-     loss = Variable(loss, requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: through an array and back
import torch
import torch.nn as nn

net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
criterion = nn.MSELoss()
x, y = torch.randn(16, 4), torch.randn(16, 1)
- output = torch.tensor(net(x).data.numpy())  # as an array
+ output = net(x)  # as an array
loss = criterion(output, y)
loss.backward()
optimizer.step()

=== example: an encoder before .data, and requires_grad set on the loss
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
-         code = torch.relu(self.encoder(x)).data
-         return self.head(code).detach()
+         code = torch.relu(self.encoder(x))
+         return self.head(code)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
-     loss.requires_grad = True
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a copy of the code, and losses joined by their numbers
import torch
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])

    def forward(self, x):
-         code = torch.tensor(torch.relu(self.body(x)))
+         code = torch.relu(self.body(x))
        return [head(code) for head in self.heads]

model = Pair()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(16, 4), torch.randn(2, 16, 1)
for _ in range(3):
    losses = [nn.functional.mse_loss(out, goal) for out, goal in zip(model(x), y)]
-     loss = torch.tensor(losses, requires_grad=True).sum()
+     loss = torch.stack(losses).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a number that has no backward
import torch
from torch import nn

net = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
-     loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).item()
+     loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
    optimizer.step()

=== example: the forward pass of a training step
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def step(x, y):
-     with torch.no_grad():
-         # the prediction
-         out = net(x)
+     # the prediction
+     out = net(x)
    loss = nn.functional.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()

for _ in range(2):
    step(torch.randn(8, 4), torch.randn(8, 1))

=== example: a teacher that stays without gradients
import torch
import torch.nn as nn

teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(student.parameters())
for x in torch.randn(2, 5, 3):
    with torch.no_grad():
        wanted = teacher(x)
-         given = student(x)
+     given = student(x)
    loss = nn.functional.mse_loss(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a decorated forward
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 2)

-     @torch.no_grad()
    def forward(self, x):
        return self.lin(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 3):
    loss = nn.functional.cross_entropy(net(x), torch.zeros(5, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: in one line
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 2):
-     with torch.inference_mode(): out = net(x)
+     out = net(x)
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()

=== example: the method of the module
import torch

net = torch.nn.Linear(4, 2)
- net.requires_grad_(False)  # for now
loss = torch.nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
loss.backward()

=== example: all layers of a Keras model
import keras
import numpy as np
from keras.layers import Dense

model = keras.Sequential([keras.Input((4,)), Dense(8, activation="relu"), Dense(1)])
- for layer in model.layers:
-     layer.trainable = False
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(8, 4), np.random.rand(8), epochs=1, verbose=0)

=== reject: a detached target, from a network whose weights the optimizer holds too
import torch
from torch import nn

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(4, 2), nn.Linear(4, 2)

agent = Agent()
optimizer = torch.optim.Adam(agent.parameters())
for _ in range(3):
    state, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16)
    goal = torch.tensor(agent.target(after).max(1)[0]) * 0.9 + reward
    loss = nn.functional.mse_loss(agent.online(state).max(1)[0], goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(torch.tensor([loss.item()]))

=== reject: a body that is left as it is
import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 3)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    scores = head(torch.relu(body(torch.randn(8, 4))).detach())
    loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: recomputed activations of which no gradient is wanted, and a new head that adapters keep
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.checkpoint import checkpoint
from transformers import BertConfig, BertForSequenceClassification, BertModel

sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
BertModel(BertConfig(**sizes)).save_pretrained("base")
model = BertForSequenceClassification.from_pretrained("base", num_labels=3)
model = get_peft_model(model, LoraConfig(r=4, target_modules=["query", "value"], task_type="SEQ_CLS"))
frozen = torch.nn.Linear(6, 6).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    weights = checkpoint(frozen, torch.rand(4, 6), use_reentrant=True).softmax(-1).mean(-1)
    scores = model(input_ids=torch.randint(0, 50, (4, 6))).logits
    loss = (torch.nn.functional.cross_entropy(scores, torch.randint(0, 3, (4,)), reduction="none") * weights).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== reject: a trained head that stays as it is under adapters
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
BertForSequenceClassification(BertConfig(num_labels=3, **sizes)).save_pretrained("trained")
model = BertForSequenceClassification.from_pretrained("trained", num_labels=3)
model = get_peft_model(model, LoraConfig(r=4, target_modules=["query", "value"]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(input_ids=torch.randint(0, 50, (4, 6)), labels=torch.randint(0, 3, (4,))).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== reject: a body that is frozen with its pooler, which the checkpoint lacks
import torch
from transformers import BertConfig, BertModel

sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
BertModel(BertConfig(**sizes), add_pooling_layer=False).save_pretrained("base")
bert, head = BertModel.from_pretrained("base"), torch.nn.Linear(16, 3)
for parameter in bert.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
for _ in range(3):
    states = bert(input_ids=torch.randint(0, 50, (4, 6))).last_hidden_state
    loss = torch.nn.functional.cross_entropy(head(states[:, 0]), torch.randint(0, 3, (4,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== reject: generated samples are detached for the discriminator
import torch
from torch import nn

G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
g_step, d_step = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce, ones, zeros = nn.BCELoss(), torch.ones(8, 1), torch.zeros(8, 1)
for _ in range(3):
    fake = G(torch.randn(8, 2))
    d_loss = bce(D(torch.randn(8, 4)), ones) + bce(D(fake.detach()), zeros)
    d_step.zero_grad()
    d_loss.backward()
    d_step.step()
    g_loss = bce(D(fake), ones)
    g_step.zero_grad()
    g_loss.backward()
    g_step.step()
    print(d_loss.item(), g_loss.item())

=== reject: a hidden state and a target without gradient
import torch
from torch import nn

rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
h = None
for _ in range(3):
    out, h = rnn(torch.randn(4, 5, 3), h)
    h = h.detach()
    value = head(out[:, -1])
    target = value.detach() * 0.9 + 1.0
    loss = ((value - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: evaluation under no_grad beside a training
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        print(net(x).mean())

=== reject: a network that computes its own targets
import torch

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for now, then in torch.randn(2, 2, 5, 3):
    with torch.no_grad():
        value = net(now)
        wanted = 1 + 0.9 * net(then)
    loss = (value - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: frozen weights
import torch

net = torch.nn.Linear(2, 1).requires_grad_(False)
with torch.no_grad():
    print(net(torch.randn(5, 2)))
net(torch.randn(5, 2)).mean().backward()

=== reject: a frozen body under a head that trains
import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 1)
for p in body.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
loss = head(body(torch.randn(8, 4))).pow(2).mean()
loss.backward()
optimizer.step()

=== reject: a frozen model that only predicts
import torch

net = torch.nn.Linear(4, 2)
net.requires_grad_(False)
print(net(torch.randn(2, 4)).shape)
"""


def _cut_out(subject: Subject) -> Iterator[Fault]:
    """The call that turned the loss into a number, or the first cut between weights and the loss."""
    number = _number_sent_back(subject)
    if number is not None:
        site = subject.source.site(number)
        what = f"`{progress_figures.name_of(number.func)}()` {_CUTS_BACK} all weights before it"
        yield Fault(
            site, what, (("Keep the loss as a tensor", graph_edits.taken_out(subject, [site]), 0.9),), confidence=0.95
        )
        return
    found = _cut_way(subject)
    if found is None:
        return
    cut, way = found
    fed = any(parameter.gradient is not None for parameter in subject.network.parameters)
    if cut.site is None or fed and _on_purpose(subject, cut, way):
        return
    edits = graph_edits.taken_out(subject, [call.site for call in way if call.name in CUTS | WRAPS | MARKS])
    edits = (*edits, *graph_edits.flags_on_losses(subject)) if edits is not None else None
    shows = Symptom.CRASH if subject.crash is not None else Symptom.VIOLATION if fed else Symptom.NO_GRADIENT
    what = f"`{_short(cut)}` {_CUTS_BACK} {'the' if fed else 'all'} weights before it"
    yield Fault(cut.site, what, (("Keep the graph", edits, 0.9),), confidence=0.95, symptom=shows)


def _frozen(subject: Subject) -> Iterator[Fault]:
    """What freezes the weights, where the program trains a model whose weights are all frozen."""
    source, parameters = subject.source, subject.network.parameters
    shows = _shows_of_frozen(subject)
    if shows is None or any(parameter.trainable for parameter in parameters):
        return
    what = f"all {f'{len(parameters)} ' if parameters else ''}parameters of the model are frozen, so that there is nothing to train"
    frozen = freezing.statements(source)
    if frozen:
        edits = tuple(dict.fromkeys(freezing.freed(source, node) for node in frozen))
        yield Fault(source.site(frozen[0]), what, (("Unfreeze the parameters", edits, 0.8),), symptom=shows)
        return
    for node, repair in freezing.of_adapters(source):
        yield Fault(source.site(node), what, (repair,), symptom=shows)


def _shows_of_frozen(subject: Subject) -> Symptom | None:
    """How a run shows that it trains a frozen model; `None` where it does not train."""
    crash, is_known = subject.crash, bool(subject.network.parameters)
    if subject.trace is None:
        return None
    if crash is None:
        fitted = any(call.name == "keras.Model.fit" for call in subject.network.calls)
        return Symptom.NO_GRADIENT if fitted and is_known else None
    if NOTHING_HELD in crash.message:
        made = subject.node(crash.site)
        return Symptom.CRASH if made is not None and "requires_grad" in ast.unparse(made) else None
    in_backward = crash.call is not None and crash.call.name == "torch.Tensor.backward"
    return Symptom.CRASH if in_backward and is_known else None


def _recomputed(subject: Subject) -> Iterator[Fault]:
    """Checkpoints of activations that cut off the weights within, where these get no gradient."""
    warnings = subject.trace.warnings if subject.trace is not None else ()
    if any(recomputing.WITHOUT_GRADIENT in warning.message for warning in warnings) and _starved(subject):
        edits = recomputing.edits(subject.source)
        if edits:
            what = "activations are recomputed by `use_reentrant=True` from inputs that need no gradient, and nothing within gets one"
            shows = Symptom.CRASH if subject.crash is not None else Symptom.VIOLATION
            repair = "Recompute without reentering", edits, 0.9
            yield Fault(edits[0].site, what, (repair,), confidence=0.95, symptom=shows)


def _new_part(subject: Subject) -> Iterator[Fault]:
    """Parts that a checkpoint does not have, and that stay as they were initialized while other parts are trained."""
    parts = new_parts.frozen(subject)
    for node, repair in new_parts.trained(subject.source, parts) if parts else ():
        what = f"`{'`, `'.join(parts)}` is not in the checkpoint, and is frozen as it was initialized"
        yield Fault(subject.source.site(node), what, (repair,), symptom=Symptom.VIOLATION)


def _frozen_head(subject: Subject) -> Iterator[Fault]:
    """New layers that are put into a model before all of it is frozen, where other parts are trained."""
    source, network = subject.source, subject.network
    if subject.trace is None or not any(parameter.trainable for parameter in network.parameters):
        return
    for assign in source.nodes(ast.Assign):
        target, made = assign.targets[0], source.site(assign.value)
        new = [component.id for component in network.components if component.site == made]
        kept = [each for each in network.parameters if each.component in new]
        root = next((node.id for node in within(target, ast.Name)), "")
        if isinstance(target, ast.Name) or not kept or any(each.trainable for each in kept):
            continue
        for later in training_loop.block_of(source, assign):
            if later.lineno > assign.lineno and root and freezing.freezes_all(later, root):
                what = f"`{ast.unparse(target)}` is new, and all of `{root}` is frozen after it was put in"
                edits = (
                    Delete(source.site(assign)),
                    InsertAfter(source.site(later), source.segment(source.site(assign))),
                )
                repair = "Put the new layer in after the others are frozen", edits, 0.9
                yield Fault(source.site(assign), what, (repair,), symptom=Symptom.VIOLATION)
                break


def _turned_on(source: Source, off: ast.With | ast.expr | ast.Expr) -> Iterator[Repair]:
    """The repair that enables gradients in the forward pass."""
    site = source.site(off)
    if isinstance(off, ast.With):
        yield "Run the forward pass with gradients", _taken_out(source, off), 0.9
    elif isinstance(off, ast.Expr):
        yield "Leave gradients on", (Delete(site),), 0.8
    elif source.places.lines[site.line - 1].strip() == f"@{source.segment(site)}":
        yield "Enable gradients in the function", (ReplaceLines(site, ""),), 0.85


def _number_sent_back(subject: Subject) -> ast.Call | None:
    """The call that turned the loss into a number, where the program crashed because that has no `backward`."""
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind == "AttributeError" else None
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute) or function.attr != "backward":
        return None
    values = subject.source.bindings(function.value, function)
    value = values[0] if len(values) == 1 else None
    numbers = ("item", "numpy", "tolist")
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in numbers:
        return value
    return None


def _cut_way(subject: Subject) -> tuple[Call, list[Call]] | None:
    """The first cut between weights without gradient and a loss, and the calls on that path."""
    starved = _starved(subject)
    for end in graph.loss_ends(subject) if starved else ():
        way = _way(subject, end, starved)
        cut = next((call for call in way if call.name in CUTS and _cuts(call)), None)
        if cut is not None and subject.node(cut.site) is not None:
            return cut, way
    return None


def _starved(subject: Subject) -> frozenset[int]:
    """The ids of components whose weights should be trained and received no gradient."""
    if subject.trace is None:
        return frozenset()
    call = subject.crash.call if subject.crash is not None else None
    in_backward = call is not None and call.name == "torch.Tensor.backward"
    if in_backward and call is not None and (not call.inputs or call.inputs[0].requires_grad is not False):
        return frozenset()
    if not in_backward and (subject.crash is not None or not subject.trace.steps):
        return frozenset()
    return frozenset(
        parameter.component
        for parameter in subject.network.parameters
        if parameter.component is not None
        and parameter.trainable
        and parameter.gradient is None
        and not parameter.update
        and (in_backward or parameter.optimized)
    )


def _way(subject: Subject, end: Call, starved: frozenset[int]) -> list[Call]:
    """The calls between weights without gradient and the end of the graph."""
    behind = graph.upstream(subject.network, end)
    known = sorted(behind.values(), key=lambda call: call.id if call is not end else 1 << 60)
    touched: set[int] = set()
    for call in known:
        if call.component in starved or any(value.producer in touched for value in call.inputs):
            touched.add(call.id)
    return [call for call in known if call.id in touched]


def _on_purpose(subject: Subject, cut: Call, way: list[Call]) -> bool:
    """Whether a program that trains other weights may want the cut: for a target, a teacher or a frozen part.

    `detach()` is meant to cut, unless the loss was flagged with `requires_grad` again; another cut is not if the path
    goes on through trained weights.
    """
    if cut.name == "torch.Tensor.detach" and not any(graph_edits.flags_on_losses(subject)):
        return True
    trained = {p.component for p in subject.network.parameters if p.gradient is not None and p.component is not None}
    return not any(call.id > cut.id and call.component in trained for call in way)


def _cuts(call: Call) -> bool:
    return bool(call.inputs) and call.inputs[0].requires_grad is True


def _short(call: Call) -> str:
    name = call.name.rpartition(".")[2]
    return ".data" if name == "data" else f"{name}()"


def _around_forward(subject: Subject, backward: ast.Call) -> Iterator[_Off]:
    """What disables gradients around the calls that the loss is computed by, each once."""
    source, crash = subject.source, subject.crash
    if crash is None or crash.call is None:
        return
    trained = {each.component for each in subject.network.parameters if each.trainable}
    behind = list(graph.upstream(subject.network, crash.call).values())
    if any(value.requires_grad for call in behind for value in (*call.inputs[:1], *call.outputs)):
        return
    used = [call for call in behind if call.component in trained]
    places = [node for call in used if (node := subject.node(call.site)) is not None]
    places += [each for node in places for each in _callers(source, node)]
    if not used:
        return
    yielded: set[ast.AST] = set()
    for place in [*places, backward]:
        for off in _around(source, place):
            if off[0] not in yielded:
                yielded.add(off[0])
                yield off
    if not yielded:
        yield from _switched_off(source, backward)


def _callers(source: Source, node: ast.AST) -> Iterator[ast.Call]:
    """The calls of the network or function in which a node is."""
    function, owner = function_around(source, node), source.enclosing(node, ast.ClassDef)
    for call in source.all_calls if function is not None else ():
        made = source.constructor(call.func)
        if owner is not None and function is not None and function.name == "forward":
            if made is not None and source.definition(made.func) is owner:
                yield call
        elif isinstance(call.func, ast.Name) and source.definition(call.func) is function:
            yield call


def _around(source: Source, node: ast.AST) -> Iterator[_Off]:
    above = source.parent(node)
    while above is not None:
        if isinstance(above, ast.With) and len(above.items) == 1 and _is_off(source, above.items[0].context_expr):
            yield above, f"with {ast.unparse(above.items[0].context_expr)}"
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from ((each, f"@{ast.unparse(each)}") for each in above.decorator_list if _is_off(source, each))
            return
        above = source.parent(above)


def _is_off(source: Source, expr: ast.expr) -> bool:
    called = expr.func if isinstance(expr, ast.Call) else expr
    name = source.qualified(called)
    return name in OFF or (name in SWITCHES and isinstance(expr, ast.Call) and _says_false(expr))


def _says_false(call: ast.Call) -> bool:
    return bool(call.args) and freezing.is_false(call.args[0])


def _switched_off(source: Source, backward: ast.Call) -> Iterator[_Off]:
    """The one statement, at module level or in the same function, that disables gradients globally."""
    found = [
        node
        for node in source.nodes(ast.Expr)
        if isinstance(node.value, ast.Call) and source.qualified(node.value.func) in SWITCHES
    ]
    if len(found) != 1 or not isinstance(found[0].value, ast.Call) or not _says_false(found[0].value):
        return
    if function_around(source, found[0]) in (None, function_around(source, backward)):
        yield found[0], ast.unparse(found[0])


def _taken_out(source: Source, block: ast.With) -> tuple[Edit, ...] | None:
    """Edits that move the statements out of a block, from the first that runs a trained network."""
    site, first = source.site(block), block.body[0]
    if first.lineno == block.lineno:
        if len(block.body) > 1:
            return None
        return (Replace(site, source.segment(source.site(first))),)
    kept = _untrained(source, block)
    texts = [*within(block, ast.Constant), *within(block, ast.JoinedStr)]
    if any(node.lineno != node.end_lineno for node in texts):
        return None
    lines = source.places.lines
    start = block.body[kept - 1].end_lineno if kept else block.items[0].context_expr.end_lineno
    if start is None:
        return None
    depth = len(lines[first.lineno - 1]) - len(lines[first.lineno - 1].lstrip())
    own = len(lines[site.line - 1]) - len(lines[site.line - 1].lstrip())
    if lines[first.lineno - 1][:own] != lines[site.line - 1][:own]:
        return None
    inner = lines[start : site.end_line]
    if any(
        line.strip() and len(line) - len(line.lstrip()) < depth and not line.lstrip().startswith("#") for line in inner
    ):
        return None
    moved = [line[:own] + line[depth:] if line.strip() and line[:depth].isspace() else line for line in inner]
    begin = start + 1 if kept else site.line
    return (ReplaceLines(Site(begin, 1, site.end_line, site.end_column), "\n".join(moved)),)


def _runs_apart(source: Source, statements: list[ast.stmt]) -> bool:
    """Whether several statements run networks, and not each on the output of the one before."""
    given: set[str] = set()
    ran = False
    for statement in statements:
        runs = any(source.constructor(call.func) is not None for call in within(statement, ast.Call))
        names = within(statement, ast.Name)
        reads = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        if runs and ran and not reads & given:
            return True
        ran = ran or runs
        if runs or reads & given:
            given |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return False


def _untrained(source: Source, block: ast.With) -> int:
    """How many statements at the start of the block run only networks that no optimizer holds."""
    held = {
        ast.unparse(call.func.value)
        for made in source.all_calls
        if (source.qualified(made.func) or "").startswith("torch.optim.")
        for call in training_loop.attribute_calls(made, "parameters")
        if isinstance(call.func, ast.Attribute)
    }
    for index, statement in enumerate(block.body):
        if any(ast.unparse(call.func) in held for call in within(statement, ast.Call)):
            called = [
                call
                for each in block.body[:index]
                for call in within(each, ast.Call)
                if isinstance(source.parent(call), ast.Assign) and source.constructor(call.func) is not None
            ]
            return index if called else 0
    return 0
