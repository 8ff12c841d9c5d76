"""What the examples of the templates for sizes cannot express: how the operands of a failed operation are found."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import pytest

from dnnfix import registry
from dnnfix.detect.crashes.operands import failed_operation, made_by, recorded_shape
from dnnfix.detect.tensors.axes import as_layer
from dnnfix.records import Call, Candidate, Value
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.synthesize.rivals import GUESSED
from dnnfix.testing import Bench


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def ran(bench: Bench, last: str, *before: str) -> Subject:
    text = "\n".join(["import torch", "a, b = torch.rand(4, 3), torch.rand(4, 5)", *before, last, ""])
    return Subject(Source.from_bytes(text.encode(), "program.py"), bench.run(text))


def proposed(code: str, subject: Subject) -> Sequence[Candidate]:
    """What a template proposes for its one finding."""
    template = registry.template(code)
    assert template is not None
    (finding,) = template().detect(subject)
    return propose(finding, subject, template).candidates


def repaired(code: str, subject: Subject) -> list[str]:
    """The last lines of the programs that a template proposes."""
    return [apply_edits(subject.source, one.edits).decode().splitlines()[-1] for one in proposed(code, subject)]


@pytest.mark.parametrize(
    "last",
    ["a + b", "a += b", "torch.add(a, b)", "a.add(b)", "a.add(other=b)", "torch.mul(input=a, other=b)", "a < b"],
)
def test_operands_are_found_however_they_are_written(bench: Bench, last: str) -> None:
    operation = failed_operation(ran(bench, last))
    assert operation is not None
    assert [(ast.unparse(one.node), one.shape) for one in operation.operands] == [("a", (4, 3)), ("b", (4, 5))]


def test_a_list_that_is_joined_by_name_has_no_operands(bench: Bench) -> None:
    assert failed_operation(ran(bench, "torch.cat(both)", "both = [a, b]")) is None


def test_the_call_that_made_an_operand_is_found_behind_what_keeps_its_sizes(bench: Bench) -> None:
    made = "w = torch.nn.Parameter(0.1 * torch.randn(5, 2).double().float())"
    operation = failed_operation(ran(bench, "a @ w", made))
    found = made_by(ran(bench, "a @ w", made), operation.operands[1]) if operation is not None else None
    assert found is not None and [ast.unparse(one) for one in found.sizes] == ["5", "2"]


def test_a_name_is_known_by_the_shape_with_which_it_was_last_used(bench: Bench) -> None:
    subject = ran(bench, "a @ b", "c = b.t()", "c.sum()")
    used = next(one for one in subject.source.nodes(ast.Name) if one.id == "c" and isinstance(one.ctx, ast.Load))
    assert recorded_shape(subject, used) == (5, 4)


def test_weights_over_steps_are_not_multiplied_with_the_steps_of_others(bench: Bench) -> None:
    subject = ran(bench, "torch.bmm(w, s)", "w, s = torch.rand(4, 7), torch.rand(4, 7, 2)")
    assert repaired("DNF226", subject) == ["torch.bmm(w.unsqueeze(1), s)"]


def test_an_operand_that_fits_at_two_places_is_not_moved(bench: Bench) -> None:
    assert repaired("DNF226", ran(bench, "x * y", "x, y = torch.rand(4, 4, 3), torch.rand(4)")) == []


@pytest.mark.parametrize(
    ("code", "last", "before"),
    [
        ("DNF226", "a.mm(w) - b", "w = torch.randn(3, 2, requires_grad=True)"),  # a prediction, and drawn targets
        ("DNF226", "c + d", "c, d = torch.arange(4.0), torch.arange(5.0)"),
        ("DNF125", "torch.cat((a, torch.rand(2, 5)))", ""),
    ],
)
def test_which_size_of_two_tensors_was_meant_is_not_guessed(bench: Bench, code: str, last: str, before: str) -> None:
    assert repaired(code, ran(bench, last, before)) == []


def test_a_convolution_with_a_weight_of_its_own_is_read_like_a_layer() -> None:
    call = Call(1, "torch.conv2d", None, args={"groups": 2}, inputs=(Value(shape=(5, 9)), Value(shape=(8, 3, 5, 5))))
    layer = as_layer(call)
    assert (layer.name, layer.args["in_channels"], layer.args["kernel_size"]) == ("torch.nn.Conv2d", 6, [5, 5])


NETWORK = "feature_num, class_num, hidden = 8, 3, 6\nnet = torch.nn.Sequential({})\nnet(torch.rand(4, 8))"


def likeliest(bench: Bench, code: str, layers: str, words: str = "") -> float:
    """How likely a template holds the likeliest repair of a network to be, of those whose titles have the words."""
    text = f"import torch\n{NETWORK.format(layers)}\n"
    subject = Subject(Source.from_bytes(text.encode(), "program.py"), bench.run(text))
    return max(one.prior for one in proposed(code, subject) if words in one.title)


@pytest.mark.parametrize(
    ("code", "layers", "guess"),
    [
        ("DNF201", "torch.nn.Linear(8, 6), torch.nn.Linear(5, 3)", True),
        ("DNF201", "torch.nn.Linear(8, hidden), torch.nn.Linear(5, 3)", False),
        ("DNF201", "torch.nn.Linear(7, 3)", False),
        ("DNF203", "torch.nn.Linear(8, 6), torch.nn.BatchNorm1d(5)", False),
    ],
    ids=["two numbers", "a name", "the data", "a normalization"],
)
def test_which_of_two_sizes_is_meant_is_a_guess_where_nothing_tells(
    bench: Bench, code: str, layers: str, guess: bool
) -> None:
    assert (likeliest(bench, code, layers) < GUESSED) is guess


@pytest.mark.parametrize(("last", "guess"), [("feature_num, class_num", True), ("8, 3", False)])
def test_sizes_are_not_exchanged_against_what_they_are_called(bench: Bench, last: str, guess: bool) -> None:
    layers = f"torch.nn.Linear(8, 8), torch.nn.Linear(8, 3), torch.nn.Linear({last})"
    assert (likeliest(bench, "DNF216", layers, "xchange") < GUESSED) is guess


@pytest.mark.parametrize(("taken", "either"), [(200, True), (50, False)], ids=["of an image of 5 x 5", "of no image"])
def test_a_size_that_no_image_has_is_at_fault_itself(bench: Bench, taken: int, either: bool) -> None:
    text = (
        "import torch\nfrom torch import nn\n"
        f"net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear({taken}, 3))\n"
        "net(torch.rand(4, 1, 8, 8))\n"
    )
    subject = Subject(Source.from_bytes(text.encode(), "program.py"), bench.run(text))
    assert {one.at_either_end for one in proposed("DNF201", subject)} == {either}
