"""The program runs as it would without the probe."""

from __future__ import annotations

import pytest

from tests.observing import Observe


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("m = torch.compile(nn.Linear(2, 2)); print(type(m).__name__, m(torch.ones(1, 2)).shape)", "Linear torch.Size([1, 2])"),
        ("m = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())); print(m(torch.ones(1, 2)).shape)", "torch.Size([1, 2])"),
        ("m = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)); print(m(torch.ones(3, 2)).shape)", "torch.Size([3, 2])"),
        ("p = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),)); print(len(list(p.graph.nodes)) > 2)", "True"),
        ("print(isinstance(torch.autograd.Variable(torch.ones(1)), torch.autograd.Variable))", "True"),
        ("p = nn.Parameter(torch.ones(2)); print(isinstance(p, nn.Parameter), p.requires_grad)", "True True"),
        ("print(torch.vmap(lambda a: (a * 2).sum())(torch.ones(3, 2)).tolist())", "[4.0, 4.0, 4.0]"),
        ("print(torch.func.grad(lambda a: (a ** 2).sum())(torch.ones(2)).tolist())", "[2.0, 2.0]"),
        ("x = torch.ones(2, 3)\nfor row in x: print(row.sum().item())", "3.0\n3.0"),
        ("torch.set_default_dtype(torch.float64); print(torch.ones(1).dtype)", "torch.float64"),
        ("m = nn.Linear(2, 2); torch.save(m.state_dict(), 'w.pt'); m.load_state_dict(torch.load('w.pt')); print('ok')", "ok"),
        ("import copy, pickle; m = nn.Linear(2, 2); pickle.loads(pickle.dumps(m)); copy.deepcopy(m); print(m)", "Linear(in_features=2, out_features=2, bias=True)"),
        ("print(sum(p.numel() for p in nn.LSTM(3, 4).parameters()), torch.initial_seed())", "144 0"),
        ("with torch.device('cpu'): print(torch.zeros(1).device)", "cpu"),
        ("d = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)]); o, _ = nn.GRU(2, 2)(d); print(type(o).__name__)", "PackedSequence"),
        ("import inspect; print(list(inspect.signature(torch.optim.SGD).parameters)[:2])", "['params', 'lr']"),
        ("print(torch.tensor([1., 2.]).numpy().tolist(), float(torch.tensor(2.5)))", "[1.0, 2.0] 2.5"),
        ("e = nn.Embedding(5, 2, sparse=True); o = torch.optim.SparseAdam(e.parameters()); e(torch.tensor([1])).sum().backward(); o.step(); print('ok')", "ok"),
    ],
)  # fmt: skip
def test_a_line_of_torch_prints_what_it_prints_without_the_probe(observe: Observe, source: str, printed: str) -> None:
    seen = observe("import torch\nfrom torch import nn\n" + source + "\n")
    assert seen.outcome == "finished", seen.of("crash")
    assert printed in seen.printed
    assert not [note for note in seen.notes if "the probe failed" in note]


def test_user_modes_subclasses_and_functions(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch.overrides import TorchFunctionMode
        class Count(TorchFunctionMode):
            calls = 0
            def __torch_function__(self, func, types, args=(), kwargs=None):
                Count.calls += 1
                return func(*args, **(kwargs or {}))
        class Tagged(torch.Tensor):
            pass
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        with Count():
            torch.ones(2) + 1
        t = torch.ones(2).as_subclass(Tagged) * 3
        w = torch.ones(2, requires_grad=True)
        Double.apply(w).sum().backward()
        print(Count.calls, type(t).__name__, w.grad.tolist())
        """
    )
    assert "2 Tagged [2.0, 2.0]" in seen.printed
    assert not [note for note in seen.notes if "the probe failed" in note]


def test_lbfgs_with_a_closure_counts_its_steps(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        x = torch.tensor([3.0], requires_grad=True)
        optimizer = torch.optim.LBFGS([x], max_iter=3)
        def closure():
            optimizer.zero_grad()
            loss = (x ** 2).sum()
            loss.backward()
            return loss
        for _ in range(3):
            optimizer.step(closure)
        """
    )
    assert len(seen.steps) == 3 and seen.parameters["x"]["optimized"]


def test_exceptions_that_the_program_catches_are_its_own_business(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2))
        for size in (3, 2):
            try:
                print(net(torch.ones(1, size)).shape)
            except RuntimeError as error:
                print(type(error).__name__)
        """
    )
    assert seen.printed.split("\\n")[0].startswith("RuntimeError") and "torch.Size([1, 2])" in seen.printed
    assert seen.call("torch.nn.Linear")["scope"] == ["Sequential"]


def test_a_model_can_be_saved_and_copied_whole_after_every_step(observe: Observe) -> None:
    seen = observe(
        """
        import copy
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(6):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.save(model, "model.pt")
            copy.deepcopy(model)
        print("saved", sum(p.numel() for p in torch.load("model.pt", weights_only=False).parameters()))
        """
    )
    assert seen.outcome == "finished", seen.of("crash")
    assert "saved 67" in seen.printed
    assert [event["name"] for event in seen.of("loop")].count("forward") == 3
