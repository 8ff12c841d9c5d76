"""Edit action: input data generation. Makes synthetic data for undefined names and missing files, from their uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import arrays, clues, readers
from dnnfix.reproduce.data.followed import flow_of
from dnnfix.reproduce.data.frames import frame_of
from dnnfix.reproduce.data_files.files import file_steps
from dnnfix.reproduce.flow.values import Datum, Flow, Use
from dnnfix.reproduce.syntax import bound_names
from dnnfix.source.program import Source, once
from dnnfix.source.spelling import misspelt

ACTION = EditAction.INPUT_DATA

_LOADER = re.compile(r"loader|iterator|_iter$|^iter|batches|generator|_gen$|_dl$|^dl_|^gen_", re.IGNORECASE)
_NO_DATA = re.compile(
    r"(?:dim|size|len|length|shape|num|count|rows|cols|channels|path|dir|file|filename|folder|fn|func|model|net)s?$"
    r"|^(?:n|nb|num|max|min)_|^(?:torch|nn|np|numpy|tf|keras|K|F|pd|plt|os|optim|sess|self|args|Variable)$|^[A-Z][a-z]+[A-Z]",
)
"""Names of sizes, paths, functions and modules: other actions know what they are."""

_TENSOR_METHODS = frozenset({"view", "to", "cuda", "float", "long", "size", "unsqueeze", "squeeze", "permute", "cpu", "numel",
                             "detach", "double", "type", "contiguous", "requires_grad_", "dim", "t"})  # fmt: skip
_TO_TENSOR = ("from_numpy", "tensor", "Tensor", "FloatTensor", "LongTensor", "as_tensor", "DoubleTensor")
_FRAME_METHODS = frozenset({"drop", "head", "iterrows", "groupby", "describe", "info", "as_matrix", "to_numpy", "merge", "sample",
                            "fillna", "dropna", "pop", "corr", "isnull", "get_dummies", "select_dtypes"})  # fmt: skip


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Steps that make the data which the program reads and which is missing."""
    flow = flow_of(case.source, tuple(name.name for name in case.undefined), case.called_with or case.arguments)
    bound = bound_names(case.source)
    partners = _partners(flow)
    scaled = [use for datum in flow.data if datum.kind == "name" for use in arrays.scaled_from_bytes(datum.uses)]
    for datum in flow.data:
        if datum.kind != "name" or _NO_DATA.search(datum.name):
            continue
        if (
            misspelt(datum.name, bound - {datum.name}) is None
            and (found := _made(case, datum, partners.get(datum.name), scaled)) is not None
        ):
            yield found
    yield from readers.steps(case, flow)
    yield from file_steps(case, flow)


def _partners(flow: Flow) -> dict[str, Datum]:
    """For each undefined name: the one that is used beside it, as `x_train` is with `y_train`."""
    names = [datum for datum in flow.data if datum.kind == "name" and not arrays.is_own_target(datum.uses)]
    pairs = [(x, y) for y in names for x in names if x is not y]
    beside = [(x, y) for x, y in pairs if {u.line for u in y.of("targets")} & {u.line for u in x.of("inputs")}]
    alike = [
        (x, y)
        for x, y in pairs
        if arrays.part_of(x.name) == arrays.part_of(y.name)
        and arrays.TARGET.search(y.name)
        and arrays.INPUT.search(x.name)
    ]
    found: dict[str, Datum] = {}
    for x, y in [*beside, *alike]:
        if x.name not in found and y.name not in found:
            found.update({x.name: y, y.name: x})
    return found


def _made(case: Case, datum: Datum, partner: Datum | None, scaled: list[Use]) -> EditStep | Gap | None:
    """The step that defines an undefined name; None where the name is not data."""
    if _is_a_result(datum):
        return None
    if _is_frame(datum):
        return frame_of(case, datum)
    loader = _is_loader(datum)
    role = "inputs" if loader else arrays.role_of(datum.name, datum.uses)
    if role is None:
        return None
    try:
        name, uses = (partner.name, partner.uses) if partner is not None else ("", [])
        # What is scaled from bytes in one part of the data is bytes in all of them.
        looks = arrays.look(case, datum.name, [*datum.uses, *scaled], role, name, [*uses, *scaled])
    except arrays.Contradictory as clash:
        return Gap(str(clash), datum.line)
    if looks is None:
        return Gap(
            f"nothing tells what `{datum.name}` holds: neither a comment, nor a shape in a report, nor the network's input",
            datum.line,
        )
    what = f"`{datum.name}`: {looks.words}"
    if loader:
        maker, words = _loader(case, datum)
        code, what = f"{datum.name} = {maker.format(looks.pair)}", f"`{datum.name}`: {words} of {looks.words}"
    elif _is_tensor(case, datum):
        code = f"{datum.name} = made_tensor({looks.code})"
    else:
        code = f"{datum.name} = {looks.code}"
    return EditStep(ACTION, what, looks.evidence, datum.line, True, _scaffold(case.source, datum.name, code))


def _scaffold(source: Source, name: str, code: str) -> Scaffold:
    """A definition before its first use; a name that only functions use is there from the start."""
    return Scaffold(definitions=((name, code),)) if _used_outside(source, name) else Scaffold(start=code)


@once
def _used_outside(source: Source, name: str) -> bool:
    uses = (node for node in source.nodes(ast.Name) if node.id == name)
    return any(
        source.enclosing(node, ast.FunctionDef) is None and source.enclosing(node, ast.Lambda) is None for node in uses
    )


def _is_a_result(datum: Datum) -> bool:
    """Whether a name stands for what the program should have worked out: a prediction, a recurrent state.

    That nothing binds it is then a fault of the program.
    """
    if any(use.kind == "prediction" and use.part == () and use.exact for use in datum.uses):
        return True
    places = [use.detail for use in datum.of("inputs")]
    named = arrays.INPUT.search(datum.name) or arrays.TARGET.search(datum.name)
    return bool(places) and all(isinstance(place, int) and place > 0 for place in places) and not named


def _is_frame(datum: Datum) -> bool:
    """Whether an undefined name is used as a table with names."""
    return any(
        (use.kind == "column" and use.part == () and use.detail[0] in ("one", "names") and _textual(use.detail[1]))
        or (use.kind == "method" and use.part == () and use.detail[0] in _FRAME_METHODS)
        or (use.kind == "located" and use.part == ())
        for use in datum.uses
    )


def _textual(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(item, str) for item in value))


def _is_loader(datum: Datum) -> bool:
    if any(use.kind == "attribute" and use.detail in ("dataset", "sampler", "next_batch") for use in datum.uses):
        return True
    iterated = any(use.kind == "iterated" and use.part == () for use in datum.uses)
    unpacked = any(use.kind == "unpacked" and use.part in ((("element",),), ()) for use in datum.uses)
    alone = any(use.kind == "inputs" for use in datum.uses) and not iterated
    return bool(_LOADER.search(datum.name)) and (iterated or unpacked or alone) or (iterated and unpacked)


def _loader(case: Case, datum: Datum) -> tuple[str, str]:
    """The call that makes batches, and what it makes in words."""
    ends = clues.ends(case.source)
    batch = ends.batch or 32
    if "torch" in case.source.frameworks:
        counts = [
            len(use.detail) for use in datum.uses if use.kind == "unpacked" and use.part[:1] in ((("element",),), ())
        ]
        items = 1 if counts and counts[0] == 1 else 2
        return f"made_loader({{}}, {batch}, {items})", f"a DataLoader with batches of {batch}"
    if any(use.kind == "method" and use.detail[0] in ("batch", "map", "shuffle", "prefetch") for use in datum.uses):
        return f"made_tf_dataset({{}}, {batch})", f"a tf.data.Dataset with batches of {batch}"
    return f"made_batches({{}}, {batch})", f"a generator of batches of {batch}"


def _is_tensor(case: Case, datum: Datum) -> bool:
    """Whether a program takes an undefined name for a tensor of PyTorch."""
    if "torch" not in case.source.frameworks or case.source.frameworks & {"keras", "tensorflow"}:
        return False
    methods = {use.detail[0] for use in datum.uses if use.kind == "method" and use.part == ()}
    if methods & {"astype", "tolist"} and not methods & _TENSOR_METHODS:
        return False
    passed = {str(use.detail).rpartition(".")[2] for use in datum.uses if use.kind == "passed" and use.exact}
    return not passed & {*_TO_TENSOR, "train_test_split"}
