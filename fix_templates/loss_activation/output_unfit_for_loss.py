"""The activation of the output does not return what the loss expects."""

from __future__ import annotations

from dnnfix.api import (
    Decline,
    Disagreement,
    Family,
    FixPattern,
    LossTemplate,
    Repairs,
    Site,
    Subject,
    Symptom,
    loss_edits,
    network_facts,
    recipes,
    tensor_values,
)


def _at_output(_: Subject, use: tensor_values.LossUse) -> Site | None:
    return use.output_site


def _at_seen_end(_: Subject, use: tensor_values.LossUse) -> Site | None:
    """The output where it is known to have no activation or a softmax, else the loss whose input the run recorded."""
    return use.output_site if use.plain or use.rows_sum_to_one else use.site


def _repeated(_: Subject, use: tensor_values.LossUse) -> bool:
    if use.facts.prediction is not network_facts.Prediction.LOGITS or use.activation is None:
        return False
    return use.activation.facts.probabilities and not (use.rows_sum_to_one and use.width == 1)


def _once_only(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    name = use.activation_name
    if use.producer is not None:
        yield f"Pass the loss the logits before {name}", recipes.bypass(subject, use.producer), 0.85
    title = f"Use the loss for outputs of {name}"
    if use.in_keras and use.facts.has_from_logits:
        yield title, loss_edits.set_from_logits(subject, use.call, False), 0.7
    elif use.facts.task is network_facts.Task.LABELS and name == "sigmoid" and use.in_torch:
        yield title, loss_edits.change_loss(subject, use.call, "torch.nn.BCELoss"), 0.7
    yield Decline(f"the {name} cannot be removed in one place")


def _logarithm_repeated(_: Subject, use: tensor_values.LossUse) -> bool:
    cross_entropies = ("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy")
    return use.call.name in cross_entropies and use.activation_name == "log_softmax"


def _one_logarithm(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    others = [u for u in tensor_values.loss_uses(subject) if u.site == use.site and u.producer != use.producer]
    if all(u.activation is not None and u.activation.facts.log for u in others):
        edits = loss_edits.change_loss(subject, use.call, "torch.nn.NLLLoss")
        yield "Use the NLL loss, which expects log-probabilities", edits, 0.6
    if use.producer is not None:
        yield "Pass the loss the logits before log_softmax", recipes.bypass(subject, use.producer), 0.5
    yield Decline("neither the loss nor the log_softmax can be changed in one place")


def _scores_for_probabilities(_: Subject, use: tensor_values.LossUse) -> bool:
    if use.facts.prediction is not network_facts.Prediction.PROBABILITIES or not use.is_cross_entropy:
        return False
    if use.facts.task not in (network_facts.Task.LABELS, network_facts.Task.CLASSES) or not (
        use.plain or (use.bare and use.leaves_unit_range)
    ):
        return False
    return use.width != 1 or use.facts.task is not network_facts.Task.CLASSES


def _probabilities(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    activation = "softmax" if use.facts.task is network_facts.Task.CLASSES else "sigmoid"
    if use.producer is not None and use.plain:
        title = f"Apply a {activation} to the output"
        yield title, loss_edits.add_activation(subject, use.producer, activation), 0.85 if use.in_keras else 0.7
    elif activation == "sigmoid" and use.in_torch:
        title = "Pass the loss the sigmoid of the logits"
        yield title, loss_edits.wrap_input(subject, use.call, 0, "torch.sigmoid(", ")"), 0.5
    if use.in_keras and use.facts.has_from_logits:
        yield "Set from_logits=True in the loss", loss_edits.set_from_logits(subject, use.call, True), 0.7
    elif use.in_torch and use.facts.task is network_facts.Task.LABELS:
        edits = loss_edits.change_loss(subject, use.call, "torch.nn.BCEWithLogitsLoss")
        yield "Use the loss that expects logits", edits, 0.75


def _no_log_probabilities(_: Subject, use: tensor_values.LossUse) -> bool:
    if (
        use.facts.prediction is not network_facts.Prediction.LOG_PROBABILITIES
        or use.facts.task is network_facts.Task.SEQUENCE
    ):
        return False
    seen = use.bare and use.prediction.high is not None and use.prediction.high > 0.05
    return use.plain or use.rows_sum_to_one or seen


def _log_probabilities(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    maker = use.producer
    axis = use.facts.class_axis if use.facts.class_axis is not None else -1
    swap = (
        loss_edits.change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
        if use.facts.task is network_facts.Task.CLASSES
        else None
    )
    if maker is not None and use.rows_sum_to_one:
        yield "Use a log-softmax", loss_edits.change_activation(subject, maker, "log_softmax", axis), 0.85
        yield "Use cross-entropy on the logits", recipes.together(recipes.bypass(subject, maker), swap), 0.6
        return
    if use.prediction.row_sums_to_one:
        logarithm = loss_edits.wrap_input(subject, use.call, 0, "torch.log(", ")")
        yield "Pass the loss the logarithm of the probabilities", logarithm, 0.85
        return
    yield "Use cross-entropy, which expects logits", swap, 0.75
    if maker is not None and use.plain:
        yield "Apply a log-softmax to the output", loss_edits.add_activation(subject, maker, "log_softmax", axis), 0.6
    else:
        wrapped = loss_edits.wrap_input(subject, use.call, 0, "torch.log_softmax(", f", dim={axis})")
        yield "Pass the loss the log-softmax of the logits", wrapped, 0.5


def _no_distribution(_: Subject, use: tensor_values.LossUse) -> bool:
    if use.facts.prediction is not network_facts.Prediction.PROBABILITIES or use.bare or use.rows_sum_to_one:
        return False
    classes = use.facts.task is network_facts.Task.CLASSES and use.width is not None and use.width > 1
    probabilities = use.activation is not None and use.activation.facts.probabilities
    return classes or (use.facts.task is network_facts.Task.LABELS and use.is_cross_entropy and not probabilities)


def _distribution(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    maker = use.producer
    if maker is not None and use.facts.task is network_facts.Task.LABELS:
        yield "Use a sigmoid at the output", loss_edits.change_activation(subject, maker, "sigmoid"), 0.85
    elif maker is not None:
        if not use.target_is_multi_hot:
            yield "Use a softmax over the classes", loss_edits.change_activation(subject, maker, "softmax"), 0.85
        if (
            use.activation_name == "sigmoid"
            and use.facts.target is network_facts.Target.ONE_HOT
            and not use.target_is_one_hot
        ):
            edits = loss_edits.change_loss(subject, use.call, "keras.losses.BinaryCrossentropy")
            yield "Use binary cross-entropy for each label", edits, 0.85 if use.target_is_multi_hot else 0.4
    yield Decline("the activation cannot be changed in one place")


def _out_of_reach(subject: Subject, use: tensor_values.LossUse) -> bool:
    target = use.target
    if use.facts.task is not network_facts.Task.REGRESSION or use.activation is None or target is None:
        return False
    facts = use.activation.facts
    if facts.low == float("-inf") and facts.high == float("inf") or facts.log:
        return False
    if (facts.rows_sum_to_one and use.width in (1, None)) or (use.target_is_indices and use.width not in (1, None)):
        return False
    if target.requires_grad or (target.producer is not None and target.origin is None and _made(subject, use)):
        return False
    if len(target.shape or ()) > 2 and _is_reconstruction(subject, use):
        return False
    return tensor_values.outside(target, facts.low, facts.high, share=0.05)


def _is_reconstruction(subject: Subject, use: tensor_values.LossUse) -> bool:
    """Whether the target is the network's input: then the data should be scaled, not the output."""
    target = use.target
    if target is None or target.id is None:
        return False
    layers = [c for c in subject.network.calls if c.component is not None and c.component != use.call.component]
    return any(value.id == target.id for call in layers for value in call.inputs)


def _made(subject: Subject, use: tensor_values.LossUse) -> bool:
    """Whether the target comes out of a layer: the output of another network is not data."""
    network = subject.network
    call = network.producer(use.target) if use.target is not None else None
    for _ in range(24):
        if call is None:
            return False
        if call.component is not None:
            return True
        call = next((network.producer(v) for v in call.inputs if v.producer is not None), None)
    return True


def _reach(use: tensor_values.LossUse) -> str:
    facts = use.activation.facts if use.activation is not None else None
    return f"[{facts.low:g}, {facts.high:g}]" if facts is not None else ""


def _unbounded(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    if use.producer is not None:
        yield "Remove the activation of the output", recipes.bypass(subject, use.producer), 0.8
    yield Decline("the activation cannot be removed in one place")


class OutputUnfitForLoss(LossTemplate):
    """The output has the wrong activation for its loss, or `from_logits` is wrong.

    A loss expects logits, probabilities or log-probabilities:

    - A softmax or sigmoid before a loss that applies it again squeezes the logits into [0, 1]: the loss cannot fall
      below a bound well above zero, and gradients become small.
    - A log-softmax before cross-entropy changes nothing, but belongs to `NLLLoss`: changing either of them later
      becomes an error without a message.
    - Logits: torch's `BCELoss` raises; Keras clips them, without a gradient beyond; `NLLLoss` has no lower bound.
    - Probabilities in `NLLLoss`: the gradient vanishes for confident mistakes.
    - Sigmoids are not a distribution over classes, and a tanh or ReLU leaves the [0, 1] of binary cross-entropy.
    - A regression whose targets lie outside the range of its last activation pushes the output to the bound, where
      gradients vanish.

    Fix safety: unsafe. The loss is computed from other values, which is the point; code that reads the output as
    probabilities, log-probabilities or logits may need the same change.

    References: torch.nn.CrossEntropyLoss ("the input is expected to contain the unnormalized logits"; "equivalent to
    applying LogSoftmax on an input, followed by NLLLoss"), torch.nn.BCELoss, torch.nn.BCEWithLogitsLoss,
    torch.nn.NLLLoss ("the input given is expected to contain log-probabilities"), torch.nn.KLDivLoss,
    keras.losses.CategoricalCrossentropy (`from_logits`), keras.activations.softmax.
    """

    code = "DNF301"
    name = "output-unfit-for-loss"
    formerly = (
        "activation-repeated-by-loss",
        "DNF303",
        "log-softmax-before-cross-entropy",
        "DNF304",
        "scores-given-as-probabilities",
        "DNF305",
        "scores-given-as-log-probabilities",
        "DNF307",
        "output-not-a-distribution",
        "DNF312",
        "output-cannot-reach-targets",
    )
    message = "the output does not fit its loss: {what}"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    silent = 10
    in_modules = True
    declined = "neither the loss nor the output can be changed in one place"
    disagreements = (
        Disagreement(
            _repeated,
            lambda use: f"{use.name} gets the output of {use.activation_name} and applies it again",
            _once_only,
            confidence=0.95,
            place=_at_output,
            symptom=Symptom.VIOLATION,
        ),
        Disagreement(
            _logarithm_repeated,
            lambda use: f"{use.name} gets the output of log_softmax, which an NLL loss expects",
            _one_logarithm,
            confidence=0.6,
            place=_at_output,
            symptom=Symptom.VIOLATION,
        ),
        Disagreement(
            _scores_for_probabilities,
            lambda use: (
                f"{use.name} expects probabilities, got "
                f"{f'values from {tensor_values.extent(use.prediction)}' if use.leaves_unit_range else 'logits'}"
            ),
            _probabilities,
            confidence=lambda use: 0.95 if use.leaves_unit_range else 0.85,
            place=_at_seen_end,
        ),
        Disagreement(
            _no_log_probabilities,
            lambda use: (
                f"{use.name} expects log-probabilities, got {'probabilities' if use.rows_sum_to_one else 'logits'}"
            ),
            _log_probabilities,
            confidence=0.95,
            place=_at_seen_end,
            symptom=Symptom.VIOLATION,
        ),
        Disagreement(
            _no_distribution,
            lambda use: (
                f"{use.name} expects {'a distribution over classes' if use.facts.task is network_facts.Task.CLASSES else 'probabilities'}, "
                f"got the output of {use.activation_name}"
            ),
            _distribution,
            place=_at_output,
        ),
        Disagreement(
            _out_of_reach,
            lambda use: (
                f"{use.activation_name} returns values in {_reach(use)}, and the targets are from {tensor_values.extent(use.target)}"
            ),
            _unbounded,
            confidence=0.85,
            place=_at_output,
            symptom=Symptom.VIOLATION,
        ),
    )
    programs = """
=== example: softmax in forward before CrossEntropyLoss
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
-         return F.softmax(self.fc2(x), dim=1)  # class scores
+         return self.fc2(x)  # class scores

net = Net()
criterion = nn.CrossEntropyLoss()
loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))

=== example: sigmoid layer before BCEWithLogitsLoss
import torch
from torch import nn

class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(width, 8)
        self.out = nn.Linear(8, 1)
-         self.squash = nn.Sigmoid()

    def forward(self, batch):
        h = torch.tanh(self.hidden(batch))
-         return self.squash(self.out(h))
+         return self.out(h)

clf = Classifier(5)
loss = nn.BCEWithLogitsLoss()(clf(torch.rand(4, 5)), torch.ones(4, 1))

=== example: modules with names
import torch
from torch import nn

def build(inputs, classes):
    model = nn.Sequential()
    model.add_module("linear", nn.Linear(inputs, classes, bias=False))
-     model.add_module("softmax", nn.Softmax(dim=1))
    return model

net = build(6, 3)
loss = nn.CrossEntropyLoss()(net(torch.rand(4, 6)), torch.tensor([0, 1, 2, 0]))

=== example: Keras probabilities with from_logits=True
import tensorflow as tf

model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Dense(12, activation="relu"))
model.add(tf.keras.layers.Dense(3, activation="softmax"))
- model.compile("adam", loss=tf.keras.losses.CategoricalCrossentropy(from_logits=True))
+ model.compile("adam", loss=tf.keras.losses.CategoricalCrossentropy())

=== example (runs): function loss
import torch
import torch.nn.functional as F

weight = torch.randn(4, 3, requires_grad=True)
scores = torch.log_softmax(torch.rand(5, 4) @ weight, dim=1)
- F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1])).backward()
+ F.nll_loss(scores, torch.tensor([0, 1, 2, 0, 1])).backward()

=== example: Keras classifier without softmax
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(64, activation="relu", input_shape=(20,)))
- model.add(Dense(10))
+ model.add(Dense(10, activation="softmax"))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])

=== example: Keras softmax with from_logits=True
import keras
from keras import layers

inputs = keras.Input((6,))
model = keras.Model(inputs, layers.Dense(1)(layers.Dense(8, activation="relu")(inputs)))
- model.compile(loss=keras.losses.BinaryCrossentropy(), optimizer="sgd")
+ model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True), optimizer="sgd")

=== example: BCELoss on a linear layer
import torch
from torch import nn

model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
- criterion = nn.BCELoss()
+ criterion = nn.BCEWithLogitsLoss()
loss = criterion(model(torch.rand(4, 5)), torch.ones(4, 1))

=== example: sigmoid after the last layer
import torch
import torch.nn as nn

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
-         return self.b(torch.relu(self.a(x)))
+         return torch.sigmoid(self.b(torch.relu(self.a(x))))

loss = nn.BCELoss()(Judge()(torch.rand(4, 5)), torch.ones(4, 1))

=== example: Softmax layer before NLLLoss
import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(4, 3),
-     nn.Softmax(dim=1),
+     nn.LogSoftmax(dim=1),
)
criterion = nn.NLLLoss()
loss = criterion(model(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))

=== example (runs): logits computed by hand, seen in a run
import torch
import torch.nn.functional as F

torch.manual_seed(0)
w = torch.randn(4, 3, requires_grad=True)
- loss = F.nll_loss(torch.randn(9, 4) @ w, torch.tensor([0, 1, 2] * 3))
+ loss = F.cross_entropy(torch.randn(9, 4) @ w, torch.tensor([0, 1, 2] * 3))
loss.backward()

=== example (runs): probabilities in the place of their logarithms, seen in a run
import torch
import torch.nn.functional as F

chances = torch.tensor([[0.9, 0.1], [0.2, 0.8]], requires_grad=True)
- loss = F.nll_loss(chances, torch.tensor([0, 1]))
+ loss = F.nll_loss(torch.log(chances), torch.tensor([0, 1]))
loss.backward()

=== example: ReLU layer before categorical cross-entropy
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((7,)),
    layers.Dense(5),
-     layers.Activation("relu"),
+     layers.Activation("softmax"),
])
model.compile(loss=keras.losses.CategoricalCrossentropy(), optimizer="sgd")

=== example: tanh before BCELoss
import torch
from torch import nn

- model = nn.Sequential(nn.Linear(5, 1), nn.Tanh())
+ model = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(4, 5)), torch.ones(4, 1))

=== example: several labels with the loss for classes
import keras

model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="sigmoid")])
- model.compile(loss="categorical_crossentropy", optimizer="sgd")
+ model.compile(loss="binary_crossentropy", optimizer="sgd")

=== example: Keras sigmoid and targets up to 20
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

x = np.array([[1.0], [2.0], [3.0], [4.0]])
y = np.array([[5.0], [10.0], [15.0], [20.0]])
- model = Sequential([Dense(8, activation="relu", input_shape=(1,)), Dense(1, activation="sigmoid")])
+ model = Sequential([Dense(8, activation="relu", input_shape=(1,)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, epochs=2, verbose=0)

=== example (runs): tanh at the end of a sequence, seen in a run
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 2)
- model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Tanh())
+ model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
loss = nn.functional.l1_loss(model(x), 10 + 3 * x[:, :1])
loss.backward()

=== reject: softmax only when predicting
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
logits = model(torch.randn(8, 4))
loss = criterion(logits, torch.randint(0, 3, (8,)))
probabilities = F.softmax(logits, dim=1)

=== reject: log_softmax beside the loss
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
scores = model(torch.rand(5, 4))
loss = F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1]))
logged = F.log_softmax(scores, dim=1)

=== reject (runs): sigmoid before BCELoss
import torch
from torch import nn

model = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(4, 5)), torch.ones(4, 1))

=== reject: Keras logits with from_logits
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile(loss=keras.losses.CategoricalCrossentropy(from_logits=True))

=== reject: activation as a layer of its own
from keras.models import Sequential
from keras.layers import Dense, Activation

model = Sequential([Dense(3, input_shape=(4,)), Activation("softmax")])
model.compile(loss="sparse_categorical_crossentropy")

=== reject (runs): log_softmax before the NLL loss
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
loss = F.nll_loss(F.log_softmax(model(torch.rand(3, 4)), dim=1), torch.tensor([0, 1, 2]))

=== reject: log of a softmax
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
loss = F.nll_loss(torch.log(F.softmax(model(torch.rand(3, 4)), dim=1) + 1e-8), torch.tensor([0, 1, 2]))

=== reject: a generator that is compiled for its predictions only
import numpy as np
from keras.models import Sequential
from keras.layers import Dense


def train(images):
    generator = Sequential([Dense(64, activation="relu", input_dim=10), Dense(784, activation="tanh")])
    judge = Sequential([Dense(64, activation="relu", input_dim=784), Dense(1, activation="sigmoid")])
    both = Sequential([generator, judge])
    generator.compile(loss="binary_crossentropy", optimizer="sgd")
    both.compile(loss="binary_crossentropy", optimizer="sgd")
    judge.compile(loss="binary_crossentropy", optimizer="sgd")
    for _ in range(100):
        noise = np.random.uniform(-1, 1, (32, 10))
        made = generator.predict(noise)
        judge.train_on_batch(np.concatenate([images[:32], made]), np.array([1] * 32 + [0] * 32))
        both.train_on_batch(noise, np.ones(32))

=== reject: softmax
import keras
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="softmax")])
model.compile(loss="categorical_crossentropy", optimizer="sgd")

=== reject: logits with from_logits=True
import keras
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(5)])
model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="sgd")

=== reject (runs): targets within the sigmoid's range
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
loss = nn.MSELoss()(model(torch.randn(32, 2)), torch.rand(32, 1))
loss.backward()

=== reject (runs): no activation at the end
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
loss = nn.MSELoss()(model(torch.randn(32, 2)), torch.randn(32, 1))
loss.backward()
"""
