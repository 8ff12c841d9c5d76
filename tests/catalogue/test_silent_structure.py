"""The model of training and evaluation that the rules of silent patterns ask, on whole programs and on fragments."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from dnnfix.detect.loops import evaluations, structure
from dnnfix.detect.loops.structure import Kind
from dnnfix.detect.loops.training_loop import loops_around
from dnnfix.source.program import Source


def source_of(text: str) -> Source:
    return Source.from_bytes(dedent(text).encode(), "fragment.py")


def kinds(text: str) -> list[tuple[str, str]]:
    """The operations of a text: what they do, and to what."""
    return [(one.kind.name, one.on) for one in structure.operations(source_of(text))]


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("optimizer.zero_grad()", ("CLEAR", "optimizer")),
        ("net.zero_grad(set_to_none=True)", ("CLEAR", "net")),
        ("w.grad.zero_()", ("CLEAR", "w")),
        ("w.grad.data.zero_()", ("CLEAR", "w")),
        ("w.grad = None", ("CLEAR", "w")),
        ("loss.backward(retain_graph=True)", ("BACKWARD", "loss")),
        ("scaler.scale(loss).backward()", ("BACKWARD", "scaler.scale(loss)")),
        ("accelerator.backward(loss)", ("BACKWARD", "loss")),
        ("self.manual_backward(loss)", ("BACKWARD", "loss")),
        ("self.optimizer_G.step()", ("UPDATE", "self.optimizer_G")),
        ("scaler.step(optimizer)", ("UPDATE", "optimizer")),
        ("scheduler.step()", ("SCHEDULE", "scheduler")),
        ("lr_scheduler.step(metric)", ("SCHEDULE", "lr_scheduler")),
        ("net.eval()", ("EVAL", "net")),
        ("net.train(False)", ("EVAL", "net")),
        ("net.train()", ("TRAIN", "net")),
    ],
)
def test_operations_are_known_without_what_made_the_objects(line: str, operation: tuple[str, str]) -> None:
    assert kinds(line) == [operation]


@pytest.mark.parametrize(
    "line",
    ["env.step(action)", "net.train(mode)", "frame.eval('a + b')", "train(net)", "x.grad.norm()", "progress.step()"],
)
def test_what_is_no_operation_of_training(line: str) -> None:
    assert kinds(line) == []


def test_what_made_an_object_counts_for_more_than_its_name() -> None:
    made = """
        import torch
        turn = torch.optim.SGD(net.parameters(), lr=0.1)
        optimizer = torch.optim.lr_scheduler.StepLR(turn, 3)
        turn.step()
        optimizer.step()
        """
    assert kinds(made) == [("UPDATE", "turn"), ("SCHEDULE", "optimizer")]
    assert kinds("plan = StepLR(turn, 3)\nplan.step()") == [("SCHEDULE", "plan")]


THROUGH = """
    def turn(x, y):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        return loss

    class Learner:
        def update(self):
            self.finish()

        def finish(self):
            optimizer.step()

    learner = Learner()
    for x, y in loader:
        turn(x, y)
        learner.update()
        def later():
            net.eval()
    """


def test_what_happens_in_a_region_is_followed_through_functions_and_methods() -> None:
    source = source_of(THROUGH)
    (loop,) = source.nodes(ast.For)
    happening = structure.happenings(source, loop)
    assert [one.kind for one in happening] == [Kind.CLEAR, Kind.BACKWARD, Kind.UPDATE]  # `later` is only defined there
    assert all(isinstance(one.at, ast.Call) and loops_around(source, one.at) == [loop] for one in happening)
    assert [found for found, _ in structure.batch_loops(source)] == [loop]


def test_functions_that_call_one_another_end() -> None:
    source = source_of("def a():\n    b()\ndef b():\n    loss.backward()\n    a()\nfor _ in r:\n    a()\n")
    assert structure.has(source, source.nodes(ast.For)[0], Kind.BACKWARD)


@pytest.mark.parametrize(
    ("call", "is_one"),
    [
        ("model(x)", True),
        ("self.net(x)", True),
        ("netG(z)", True),
        ("D(fake)", True),
        ("criterion(out, y)", False),
        ("loss_function(out, y)", False),
        ("get_model(name)", False),
        ("ModelNetDataset(root)", False),
        ("print(model)", False),
        ("wrap_model_with_tta(model)", False),
    ],
)
def test_networks_by_their_names(call: str, is_one: bool) -> None:
    source = source_of(f"out = {call}")
    assert structure.is_network(source, source.all_calls[0].func) is is_one


def test_networks_by_what_made_them_and_by_what_is_asked_of_them() -> None:
    source = source_of(
        "import torch\nthing = torch.nn.Linear(2, 1)\nother.parameters()\nthing(x)\nother(x)\nthird(x)\n"
    )
    named = {ast.unparse(call.func): structure.is_network(source, call.func) for call in source.all_calls}
    assert named["thing"] and named["other"] and not named["third"]


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("with torch.no_grad():\n    net(x)", True),
        ("with torch.inference_mode():\n    net(x)", True),
        ("with torch.set_grad_enabled(phase == 'train'):\n    net(x)", True),
        ("with torch.set_grad_enabled(True):\n    net(x)", False),
        ("@torch.no_grad()\ndef f(x):\n    net(x)", True),
        ("torch.set_grad_enabled(False)\nnet(x)", True),
        ("with open(p) as file:\n    net(x)", False),
        ("net(x)", False),
    ],
)
def test_where_gradients_are_off(text: str, off: bool) -> None:
    source = source_of(text)
    (call,) = [call for call in source.all_calls if ast.unparse(call.func) == "net"]
    assert structure.without_gradients(source, call) is off


def evaluated(text: str) -> list[tuple[str, Kind | None, bool, bool]]:
    """Each evaluation of a text: the network, its mode, whether that is open, and whether gradients are recorded."""
    source = source_of(text)
    return [
        (each.network, each.mode, evaluations.mode_is_open(source, each), bool(each.recorded))
        for each in evaluations.evaluations(source)
    ]


def test_evaluations_of_a_function_that_shows_all_there_is() -> None:
    text = """
        def evaluate(model, loader):
            {mode}
            with torch.no_grad():
                for x, y in loader:
                    right += (model(x).argmax(1) == y).sum()
        """
    assert evaluated(text.format(mode="pass")) == [("model", None, False, False)]
    assert evaluated(text.format(mode="model.eval()")) == [("model", Kind.EVAL, False, False)]
    assert evaluated(text.format(mode="model.train()")) == [("model", Kind.TRAIN, False, False)]


@pytest.mark.parametrize(
    "text",
    [
        "net.eval()\ndef measure(model, x):\n    with torch.no_grad():\n        return model(x)\nmeasure(net, x)\n",
        "import torch\ndef generate(model, x):\n    with torch.no_grad():\n        return model(x)\n",
        "set_eval_mode(net)\nwith torch.no_grad():\n    net(x)\n",
        "for model in models:\n    with torch.no_grad():\n        out.append(model(x))\n",
        "model = load_model(path)\nwith torch.no_grad():\n    model(x)\n",
        "class Agent:\n    def act(self, x):\n        with torch.no_grad():\n            return self.model(x)\n",
    ],
)
def test_a_mode_that_others_may_set_is_open(text: str) -> None:
    assert all(is_open for _, _, is_open, _ in evaluated(text)) and evaluated(text)


@pytest.mark.parametrize(
    "text",
    [
        "for x, y in loader:\n    with torch.no_grad():\n        wanted = teacher(x)\n    loss = f(net(x), wanted)\n    loss.backward()\n",
        "class Net(nn.Module):\n    def predict(self, x):\n        return self.layer(x)\n",
        "class M(LightningModule):\n    def validation_step(self, batch, i):\n        return self.model(batch)\n",
        "def test():\n    net = Net()\n    print(net(torch.rand(1, 3)).shape)\n",
    ],
)
def test_calls_that_evaluate_nothing(text: str) -> None:
    assert evaluated(text) == []


@pytest.mark.parametrize(
    ("made", "cares"),
    [
        ("net = nn.Sequential(nn.Linear(2, 2), nn.Dropout())", True),
        ("net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())", False),
        ("net = nn.Linear(2, 2)", False),
        ("net = build()", None),
        ("pass", None),
    ],
)
def test_whether_a_network_cares_for_its_mode(made: str, cares: bool | None) -> None:
    source = source_of(f"import torch\nfrom torch import nn\n{made}\nnet(x)\n")
    (call,) = [call for call in source.all_calls if ast.unparse(call.func) == "net"]
    assert evaluations.cares_for_mode(source, call.func) is cares
