"""The judges that wide searches need, over tables of traces: healthy, empty, constant, non-finite, noisy."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dnnfix import registry
from dnnfix.records import (
    Applicability,
    Call,
    Candidate,
    Component,
    Crash,
    Family,
    Finding,
    FixPattern,
    Json,
    Network,
    Parameter,
    RunOutcome,
    Site,
    Status,
    Step,
    Symptom,
    Trace,
    Value,
)
from dnnfix.source.program import Source
from dnnfix.validate.changes import changed_lines
from dnnfix.validate.evidence import Evidence

FINISHED = Trace(RunOutcome.FINISHED)
CRASHED = Trace(RunOutcome.CRASHED, crash=Crash("RuntimeError", "sizes differ"))
NAN = float("nan")


def evidence(
    before: Trace = FINISHED,
    after: Trace = FINISHED,
    old: str = "x = 1\n",
    new: str = "x = 2\n",
    applicability: Applicability = Applicability.UNSAFE,
) -> Evidence:
    candidate = Candidate("DNF180", "title", FixPattern.DATA_DIMENSION, (), (), applicability)
    sources = [Source.from_bytes(text.encode(), "a.py") for text in (old, new)]
    return Evidence((candidate,), sources[0], sources[1], before, after)


def judge(name: str, given: Evidence) -> Status:
    return next(v for v in registry.validators() if v.name == name).judge(given).status


def lines(old: str, new: str) -> set[int]:
    return {line for _, line in changed_lines(*(Source.from_bytes(t.encode(), "a.py") for t in (old, new)))}


def test_lines_that_changed_and_lines_between_which_others_stood() -> None:
    assert lines("a\nb\nc\n", "a\nb\nc\n") == set()
    assert lines("a\nb\nc\n", "a\nz\nc\n") == {2}
    assert lines("a\nb\nc\n", "a\nz\ny\nb\nc\n") == {2, 3}
    assert lines("a\nb\nc\n", "a\nc\n") == {1, 2}


# --- rows stay apart

OLD = "y = f(x)\nz = g(y)\n"


def rows(change: Json, line: int = 1, crashed: bool = False, scope: tuple[str, ...] = ("Net",)) -> Trace:
    call = Call(1, "torch.Tensor.view", Site(line, 5, line, 9), inputs=(Value(1, (4, 2)),), scope=scope)
    found: Json = {"axis": 0, "rows": 4, "change": change} if change is not None else None
    return replace(
        CRASHED if crashed else FINISHED, probes={"rows-apart": found}, network=Network("torch", "trace", calls=(call,))
    )


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (FINISHED, FINISHED, Status.NOT_APPLICABLE),
        (FINISHED, rows(None), Status.NOT_APPLICABLE),
        (FINISHED, rows(NAN), Status.NOT_APPLICABLE),
        (FINISHED, rows("much"), Status.NOT_APPLICABLE),
        (rows(0.0), rows(0.0), Status.PASS),
        (rows(0.0), rows(1e-6), Status.PASS),
        (rows(0.0), rows(0.2), Status.FAIL),
        (rows(0.3), rows(0.2), Status.NOT_APPLICABLE),
        (rows(0.3), rows(0.0), Status.PASS),
        (CRASHED, rows(0.0), Status.PASS),
        (CRASHED, rows(0.2), Status.NOT_APPLICABLE),
    ],
)
def test_rows_stay_apart(before: Trace, after: Trace, status: Status) -> None:
    assert judge("rows-stay-apart", evidence(before, after, OLD, OLD.replace("f(x)", "f(x, 2)"))) is status


@pytest.mark.parametrize(
    ("new", "after", "status"),
    [
        ("y = f(x).view(4, 2)\nz = g(y)\n", rows(0.2), Status.FAIL),
        ("y = f(x)\nz = g(y).view(4, 2)\n", rows(0.2), Status.NOT_APPLICABLE),
        ("y = f(x).view(4, 2)\nz = g(y)\n", rows(0.2, scope=()), Status.NOT_APPLICABLE),
        ("y = f(x, dim=0)\nz = g(y)\n", rows(0.2), Status.FAIL),
        ("y = f(x).T\nz = g(y)\n", rows(0.2), Status.FAIL),
        ("y = f(x)[0]\nz = g(y)\n", rows(0.2), Status.FAIL),
        ("y = f(x) @ x\nz = g(y)\n", rows(0.2), Status.FAIL),
        ("y = f(x['a'])\nz = g(y)\n", rows(0.2), Status.NOT_APPLICABLE),
    ],
)
def test_after_a_crash_rows_mix_by_a_changed_operation_within_the_network(
    new: str, after: Trace, status: Status
) -> None:
    assert judge("rows-stay-apart", evidence(CRASHED, after, OLD, new)) is status
    safe = evidence(CRASHED, after, OLD, new, Applicability.SAFE)
    assert judge("rows-stay-apart", safe) is Status.NOT_APPLICABLE


# --- gradients reach


def weights(a: float | None, b: float | None = 0.5, cut: str = "", line: int = 1, on: bool = True) -> Trace:
    calls = [Call(1, "torch.nn.Linear", Site(4, 1, 4, 2), 1, outputs=(Value(1, requires_grad=True),), phase="train")]
    if cut:
        made = Value(2, producer=2, requires_grad=False)
        calls.append(
            Call(2, cut, Site(line, 1, line, 2), inputs=(Value(1, producer=1, requires_grad=True),), outputs=(made,))
        )
    last = Value(3, producer=3, requires_grad=True)
    calls.append(Call(3, "torch.nn.Linear", Site(5, 1, 5, 2), 2, inputs=(Value(2 if on else 9),), outputs=(last,)))
    parameters = (Parameter("a", (2,), 1, True, True, a, 0.1), Parameter("b", (2,), 2, True, True, b, 0.1))
    components = (Component(1, "layer", "torch.nn.Linear"), Component(2, "layer", "torch.nn.Linear"))
    network = Network("torch", "trace", components, tuple(calls), parameters)
    return Trace(RunOutcome.FINISHED, steps=(Step(0, 1.0),), network=network)


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (FINISHED, FINISHED, Status.NOT_APPLICABLE),
        (weights(0.1), weights(0.1), Status.PASS),
        (weights(0.1), weights(NAN), Status.PASS),
        (weights(0.1), weights(None), Status.FAIL),
        (weights(0.1), weights(0.0), Status.NOT_APPLICABLE),
        (weights(None), weights(None), Status.NOT_APPLICABLE),
        (CRASHED, weights(0.1), Status.PASS),
        (CRASHED, weights(None), Status.NOT_APPLICABLE),
        (CRASHED, weights(None, cut="torch.Tensor.detach"), Status.FAIL),
        (CRASHED, weights(None, cut="torch.tensor"), Status.FAIL),
        (CRASHED, weights(0.0, cut="torch.Tensor.round"), Status.FAIL),
        (CRASHED, weights(0.1, cut="torch.Tensor.detach"), Status.PASS),
        (CRASHED, weights(None, cut="torch.Tensor.detach", line=2), Status.NOT_APPLICABLE),
        (CRASHED, weights(None, cut="torch.Tensor.detach", on=False), Status.NOT_APPLICABLE),
    ],
)
def test_gradients_reach(before: Trace, after: Trace, status: Status) -> None:
    assert judge("gradients-reach", evidence(before, after, OLD, OLD.replace("f(x)", "f(x, 2)"))) is status


def test_gradients_are_not_asked_of_weights_that_no_optimizer_holds() -> None:
    after = weights(None)
    if after.network is None:
        raise AssertionError
    held = tuple(replace(p, optimized=p.name == "b") for p in after.network.parameters)
    after = replace(after, network=replace(after.network, parameters=held))
    assert judge("gradients-reach", evidence(weights(0.1), after)) is Status.PASS


# --- distinct values kept


def value(low: float | None, high: float | None, distinct: int | None, integral: bool = True, rows: int = 16) -> Value:
    finite = low is None or not math.isnan(low)
    return Value(7, (rows,), "int64", low=low, high=high, distinct=distinct, integral=integral, finite=finite)


ONE, TWO, FRACTIONS = value(0, 0, 1), value(0, 1, 2), value(0.1, 0.9, 9, integral=False)


def targets(*given: Value, crashed: bool = False) -> Trace:
    calls = tuple(Call(n, "torch.nn.CrossEntropyLoss", None, 1, inputs=(Value(), v)) for n, v in enumerate(given))
    components = (Component(1, "loss", "torch.nn.CrossEntropyLoss"),)
    if not crashed:
        return replace(FINISHED, network=Network("torch", "trace", components, calls))
    crash = Crash("RuntimeError", "expected Long", call=calls[-1])
    return replace(CRASHED, crash=crash, network=Network("torch", "trace", components, calls[:-1]))


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (FINISHED, FINISHED, Status.NOT_APPLICABLE),
        (CRASHED, targets(ONE), Status.NOT_APPLICABLE),
        (targets(TWO), targets(TWO), Status.PASS),
        (targets(ONE), targets(ONE), Status.PASS),
        (targets(TWO), targets(ONE), Status.FAIL),
        (targets(TWO), targets(value(0, 0, 1, rows=4)), Status.PASS),
        (targets(value(0, 1, 2, rows=4)), targets(value(0, 0, 1, rows=4)), Status.PASS),
        (targets(FRACTIONS), targets(ONE), Status.FAIL),
        (targets(FRACTIONS), targets(value(0, 0, 1, rows=1)), Status.PASS),
        (targets(FRACTIONS), targets(TWO), Status.PASS),
        (targets(FRACTIONS, crashed=True), targets(ONE), Status.FAIL),
        (targets(FRACTIONS, crashed=True), targets(FRACTIONS), Status.PASS),
        (targets(TWO), targets(value(NAN, NAN, 1)), Status.PASS),
        (targets(value(None, None, None)), targets(value(None, None, None)), Status.PASS),
    ],
)
def test_distinct_values_kept(before: Trace, after: Trace, status: Status) -> None:
    assert judge("distinct-values-kept", evidence(before, after)) is status


@pytest.mark.parametrize(
    ("given", "made", "line", "status"),
    [
        (FRACTIONS, ONE, 1, Status.FAIL),
        (FRACTIONS, ONE, 2, Status.NOT_APPLICABLE),
        (FRACTIONS, TWO, 1, Status.NOT_APPLICABLE),
        (TWO, ONE, 1, Status.FAIL),
        (replace(TWO, shape=(16, 2)), ONE, 1, Status.PASS),
        (value(0.5, 0.5, 1, integral=False), ONE, 1, Status.PASS),
    ],
    ids=["truncated", "unchanged line", "two left", "one column", "the same class in each row", "constant"],
)
def test_a_changed_line_that_makes_data_the_same(given: Value, made: Value, line: int, status: Status) -> None:
    cast = Call(1, "torch.Tensor.argmax", Site(line, 1, line, 4), inputs=(given,), outputs=(made,))
    after = replace(FINISHED, network=Network("torch", "trace", calls=(cast,)))
    assert judge("distinct-values-kept", evidence(CRASHED, after, OLD, OLD.replace("f(x)", "f(x, 2)"))) is status


# --- named ranges hold

FIGURE = "right = f(x)\nacc = right / 8\nprint('acc:', acc)\n"
PATCHED = FIGURE.replace("f(x)", "f(x, 2)")


def printed(text: str, crashed: bool = False) -> Trace:
    return replace(CRASHED if crashed else FINISHED, printed=text)


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("", "", Status.NOT_APPLICABLE),
        ("", "loss: 128.5", Status.NOT_APPLICABLE),
        ("acc: 0.5", "acc: 0.5", Status.PASS),
        ("acc: 0.5", "Accuracy = 97.5 %", Status.PASS),
        ("acc: 0.5", "acc: nan", Status.NOT_APPLICABLE),
        ("acc: 0.5", "acc: 102.4", Status.FAIL),
        ("acc: 0.5", "val_accuracy: -0.2", Status.FAIL),
        ("acc: 0.5", "acc: 1.0000002", Status.PASS),
        ("acc: 0.5", "best acc -1", Status.PASS),
        ("acc: 0.5", "acc: 640/800", Status.NOT_APPLICABLE),
        ("acc: 0.5", "log prob: -3.5, accessories 240", Status.NOT_APPLICABLE),
        ("acc: 640", "acc: 644", Status.NOT_APPLICABLE),
        ("acc: 0.5", "confidence: 640", Status.FAIL),
    ],
)
def test_named_ranges_hold(before: str, after: str, status: Status) -> None:
    assert judge("named-ranges-hold", evidence(printed(before), printed(after), FIGURE, PATCHED)) is status


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (FIGURE, PATCHED, Status.FAIL),
        ("y = 1\n" + FIGURE, "y = 2\n" + FIGURE, Status.NOT_APPLICABLE),
        (FIGURE.replace(" / 8", ""), PATCHED.replace(" / 8", ""), Status.NOT_APPLICABLE),
        ("def acc_of(p):\n    return p.mean()\nacc = acc_of(x)\n", "def acc_of(p):\n    return p.T.mean()\nacc = acc_of(x)\n", Status.FAIL),
        ("def forward(p):\n    return p.mean()\nacc = forward(x)\n", "def forward(p):\n    return p.T.mean()\nacc = forward(x)\n", Status.NOT_APPLICABLE),
    ],
    ids=["leads to it", "elsewhere", "a count", "through a function", "through a model"],
)  # fmt: skip
def test_after_a_crash_the_patch_has_to_lead_to_the_figure(old: str, new: str, status: Status) -> None:
    assert judge("named-ranges-hold", evidence(CRASHED, printed("acc: 128"), old, new)) is status


# --- nothing thrown away


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("h = f(x)\ny = g(h)\n", "h = f(x)\ny = g(h.T)\n", Status.PASS),
        ("h = f(x)\ny = g(h)\n", "h = f(x)\ny = g(x)\n", Status.FAIL),
        ("h = f(x)\ny = g(h)\n", "y = g(x)\n", Status.PASS),
        ("h = f(x)\ny = g(h)\n", "h = f(x)\ny = g(x)\ny += h\n", Status.PASS),
        ("o, h = r(x)\ny = g(h)\n", "o, h = r(x)\ny = g(o)\n", Status.PASS),
        ("h = x.size(0)\ny = x.view(h, 1)\n", "h = x.size(0)\ny = x.T\n", Status.PASS),
        ("h = Layer(3)\ny = g(h)\n", "h = Layer(3)\ny = g(x)\n", Status.PASS),
        ("h = f(x)\nh = g(h)\nprint(h)\n", "h = f(x)\nh = g(x)\nprint(h)\n", Status.FAIL),
        ("h = f(x)\nif a:\n    h = g(h)\nprint(h)\n", "h = f(x)\nif a:\n    h = g(x)\nprint(h)\n", Status.PASS),
        ("h = x.relu()\nprint(h)\n", "h = x\nx.relu()\nprint(h)\n", Status.FAIL),
        ("h = h.append(x)\n", "h.append(x)\n", Status.PASS),
        ("all = []\nall.append(x)\nprint(all)\n", "all = []\nprint(all)\n", Status.FAIL),
        ("for x in y:\n    all.append(x)\n", "all.append(x)\nfor x in y:\n    pass\n", Status.PASS),
        ("def f(x):\n    h = g(x)\n    return h\ndef k(h):\n    return h\n", "def f(x):\n    h = g(x)\n    return x\ndef k(h):\n    return h\n", Status.FAIL),
    ],
)  # fmt: skip
def test_nothing_thrown_away(old: str, new: str, status: Status) -> None:
    assert judge("nothing-thrown-away", evidence(old=old, new=new)) is status


@pytest.mark.parametrize(
    ("new", "status"),
    [
        ("def f(images, masks):\n    return g(masks, masks)\n", Status.FAIL),
        ("def f(images, masks):\n    return g(masks, images)\n", Status.PASS),
        ("def f(masks):\n    return g(masks, masks)\n", Status.PASS),
    ],
)
def test_what_a_function_is_given_is_read_after_a_models_edit_too(new: str, status: Status) -> None:
    given = evidence(old="def f(images, masks):\n    return g(images, masks)\n", new=new)
    assert judge("nothing-thrown-away", given) is Status.PASS
    written = replace(given, applied=(replace(given.applied[0], author="a model"),))
    assert judge("nothing-thrown-away", written) is status


@pytest.mark.parametrize(
    ("old", "new", "kind", "status"),
    [
        ("return table[kind]", "return table.get(kind, [0])", "KeyError", Status.FAIL),
        ("return table[kind]", "return table[kind] if kind in table else [0]", "KeyError", Status.FAIL),
        (
            "return table[kind]",
            "if kind in table:\n        return table[kind]\n    return [0]",
            "KeyError",
            Status.FAIL,
        ),
        ("return table[kind]", "return [torch.zeros(4, 8)] * 20", "KeyError", Status.FAIL),
        ("return table[kind]", "return table['all']", "KeyError", Status.PASS),
        ("return table[kind]", "return g(kind, torch.randn(3, 4))", "RuntimeError", Status.FAIL),
        ("return table[kind]", "return g(kind) if kind else table", "RuntimeError", Status.PASS),
    ],
)
def test_a_models_edit_makes_nothing_up(old: str, new: str, kind: str, status: Status) -> None:
    program = "def f(table, kind):\n    return table[kind]\n"
    given = replace(
        evidence(old=program, new=program.replace(old, new)), before=replace(CRASHED, crash=Crash(kind, "a"))
    )
    assert judge("nothing-suppressed", given) is Status.PASS
    written = replace(given, applied=(replace(given.applied[0], author="a model"),))
    assert judge("nothing-suppressed", written) is status


def test_no_example_of_the_catalogue_throws_anything_away() -> None:
    for template in registry.templates():
        for example in template.examples:
            given = evidence(old=example.before, new=example.after)
            assert judge("nothing-thrown-away", given) is Status.PASS, (template.code, example.name)


def compared(name: str, prediction: tuple[int, ...], target: tuple[int, ...]) -> Trace:
    """A run in which a loss is given a prediction and a target."""
    values = tuple(
        Value(id=number, shape=shape, dtype="float32") for number, shape in enumerate((prediction, target), 1)
    )
    call = Call(id=1, name=name, site=Site(1, 1, 1, 5), inputs=values, outputs=())
    return replace(FINISHED, network=Network(framework=name.partition(".")[0], calls=(call,), known_from="trace"))


@pytest.mark.parametrize(
    ("name", "prediction", "target", "before", "status"),
    [
        ("torch.nn.functional.mse_loss", (8, 4), (8, 4), CRASHED, Status.PASS),
        ("torch.nn.functional.mse_loss", (8, 4), (8, 1), CRASHED, Status.FAIL),
        ("torch.nn.functional.mse_loss", (8, 1), (8,), CRASHED, Status.FAIL),
        ("torch.nn.functional.mse_loss", (8, 4, 2), (8, 1, 2), CRASHED, Status.FAIL),
        ("keras.losses.mean_squared_error", (8, 4, 2), (8, 1, 2), CRASHED, Status.FAIL),
        ("keras.losses.mean_squared_error", (8, 1), (8,), CRASHED, Status.PASS),
        ("torch.nn.functional.cross_entropy", (8, 4), (8,), CRASHED, Status.PASS),
        ("torch.nn.functional.mse_loss", (8, 4), (8, 1), "as before", Status.NOT_APPLICABLE),
        ("torch.nn.functional.mse_loss", (0, 4), (0, 4), CRASHED, Status.PASS),
        ("torch.nn.functional.mse_loss", (), (), CRASHED, Status.PASS),
    ],
)
def test_targets_meet_predictions(
    name: str, prediction: tuple[int, ...], target: tuple[int, ...], before: Trace | str, status: Status
) -> None:
    after = compared(name, prediction, target)
    given = evidence(after if before == "as before" else CRASHED, after)
    assert judge("targets-meet-predictions", given) is status


# --- classes stay apart


def scored(*given: int, taken: tuple[int, ...], crash: bool = False) -> Trace:
    """A linear layer whose output is reshaped and goes into a cross-entropy."""
    where = Site(1, 1, 1, 9)
    labels = Value(4, taken[:1], dtype="int64")
    layer = Call(1, "torch.nn.Linear", where, 1, inputs=(Value(1, given),), outputs=(Value(2, given, producer=1),))
    shaped = Call(2, "torch.Tensor.reshape", where, inputs=layer.outputs, outputs=(Value(3, taken, producer=2),))
    loss = Call(3, "torch.nn.functional.cross_entropy", where, inputs=(*shaped.outputs, labels))
    network = Network("torch", "trace", calls=(layer, shaped, loss))
    return replace(CRASHED if crash else FINISHED, network=network)


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (scored(8, 5, 3, taken=(8, 5, 3), crash=True), scored(8, 5, 3, taken=(8, 15)), Status.FAIL),
        (scored(8, 5, 3, taken=(8, 5, 3), crash=True), scored(8, 5, 3, taken=(40, 3)), Status.PASS),
        (scored(8, 1, 3, taken=(8, 1, 3), crash=True), scored(8, 1, 3, taken=(8, 3)), Status.PASS),
        (scored(8, 5, 3, taken=(8, 15)), scored(8, 5, 3, taken=(8, 15)), Status.NOT_APPLICABLE),
        (CRASHED, scored(8, 5, 3, taken=(8, 15)), Status.NOT_APPLICABLE),
    ],
)
def test_classes_are_not_folded_into_one_axis_with_others(before: Trace, after: Trace, status: Status) -> None:
    assert judge("classes-stay-apart", evidence(before, after)) is status


# --- edits reached

NETWORK = "class Net(Module):\n    def forward(self, x):\n        return f(x)\n\n\ny = g(z)\n"
SILENT = Finding("DNF408", "one", Family.CONNECTIVITY, Site(3, 1, 3, 5), "message", Symptom.VIOLATION)


@pytest.mark.parametrize(
    ("line", "old", "family", "status"),
    [
        (3, "f(x)", Family.CONNECTIVITY, Status.PASS),
        (6, "f(x)", Family.CONNECTIVITY, Status.INCONCLUSIVE),
        (6, "f(x)", Family.VERSIONING, Status.NOT_APPLICABLE),
        (6, "g(z)", Family.CONNECTIVITY, Status.NOT_APPLICABLE),
    ],
    ids=["called there", "called elsewhere", "a migration", "changed elsewhere"],
)
def test_a_network_that_was_never_made_proves_nothing(line: int, old: str, family: Family, status: Status) -> None:
    given = evidence(FINISHED, rows(None, line), NETWORK, NETWORK.replace(old, "h(1)"))
    candidate = replace(given.applied[0], findings=(replace(SILENT, family=family),))
    assert judge("edits-reached", replace(given, applied=(candidate,))) is status
