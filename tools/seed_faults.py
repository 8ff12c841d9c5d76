"""Puts faults into healthy training programs, one at a time, to measure whether their repair is found.

    python tools/seed_faults.py HEALTHY OUT [--kinds rate-x100,few-units] [--python PYTHON] [--check] [--only PREFIX]

HEALTHY holds one folder per program: `program.py`, which trains a network with torch or Keras, and the files that it reads.
For each kind of fault that has exactly one place in a program, OUT/ID--KIND receives `program.py` with the fault in it, the
files beside it, and `meta.toml`: `id`, `framework`, `kind`, `setting` (what is set wrong; of two faults both, with a comma
between), `line` (where the fault begins, in the faulty program) and `undo` (a diff from the faulty to the healthy program).

The first steps of every program are run in the sandbox: of the healthy one to learn what its network is and what its data
are, of a faulty one to see that it does not crash. Faults that crash are found by other means, and left out. So is a kind
that cannot be put in without doubt. For each a line on standard error says why. `--check` also runs every program to its
end, for a minute at most, outside of the sandbox: use it on programs that you trust.

    python tools/seed_faults.py healthy seeded --python ~/envs/torch/bin/python
    python tools/seed_faults.py healthy seeded --kinds two-faults --only keras- --check
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import math
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from dnnfix.config import Settings
from dnnfix.detect.call_arguments import argument, input_expression
from dnnfix.detect.loops.training_loop import attribute_calls, function_around, loops_around
from dnnfix.detect.tensors.shapes import fit_data
from dnnfix.detect.tensors.values import LossUse, binary, loss_uses
from dnnfix.errors import DnnfixError, EditError
from dnnfix.network.facts import Task, layer_facts
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import Call, Delete, Edit, InsertAfter, InsertBefore, Replace, SetArgument, Site, Unwrap
from dnnfix.run.command import TIMED_OUT, run_command
from dnnfix.source.diff import unified_diff
from dnnfix.source.program import Source
from dnnfix.source.tree import within
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import edited
from dnnfix.synthesize.causes.epochs import epochs_written
from dnnfix.synthesize.causes.optimizing import optimizers
from dnnfix.synthesize.edits.losses import add_activation, change_activation, change_loss
from dnnfix.synthesize.edits.recipes import set_constructor_argument
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.literals import number_written
from dnnfix.validate.laboratory import TrialLaboratory

SECONDS = 60.0
"""Seconds that a program may take, in the sandbox and when it is checked."""

WEIGHTS = frozenset({"linear", "convolution"})
"""Kinds of layers whose weights are set to zero, and that end a network."""

SCALES = (255, 256, 127.5, 16)
"""Largest values of pictures, by which programs divide."""

SCALERS = tuple(f"sklearn.preprocessing.{name}" for name in ("StandardScaler", "MinMaxScaler", "RobustScaler"))

PAIRS = (("rate-x100", "unscaled-input"), ("few-units", "rate-over-1000"), ("wrong-activation", "rate-x100"))
"""Two faults at once, of which the first pair that is possible is taken."""

BESIDE = re.compile("test|val|eval", re.IGNORECASE)
"""Words of what is not trained on."""

LOADER, FIT = "torch.utils.data.DataLoader", "keras.Model.fit"

T = TypeVar("T")


class LeftOut(Exception):
    """A fault that cannot be put into a program without doubt; the message says why."""


class Fault(NamedTuple):
    """What is set wrong, and the edits that do it."""

    setting: str
    edits: tuple[Edit, ...]


class Handed(NamedTuple):
    """The names of the inputs and targets that training is given, and the statement before which to change them."""

    inputs: str
    targets: str
    before: ast.stmt


class Seeded(NamedTuple):
    """A program with a fault in it: what is set wrong, the line where it begins, and the diff that takes it out."""

    program: Source
    setting: str
    line: int
    undo: str


def main() -> int:
    """Seed every program of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("healthy", type=Path, help="folder with one folder per program")
    parser.add_argument("out", type=Path, help="folder that receives the faulty programs")
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help="which faults, with commas between (default: %(default)s)"
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the programs' packages")
    parser.add_argument("--only", default="", metavar="PREFIX", help="only programs whose folder's name begins so")
    parser.add_argument("--check", action="store_true", help="run every program to its end, too")
    given = parser.parse_args()
    kinds = [kind for kind in given.kinds.split(",") if kind]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        return _say(f"There is no kind of fault {unknown[0]!r}. There are: {', '.join(KINDS)}.")
    if not given.healthy.is_dir():
        return _say(f"There is no folder {given.healthy} to take healthy programs from.")
    folders = [
        f for f in sorted(given.healthy.iterdir()) if f.name.startswith(given.only) and (f / "program.py").is_file()
    ]
    if not folders:
        return _say(f"{given.healthy} has no folder with a program.py in it.")
    if shutil.which(given.python) is None:
        return _say(f"There is no interpreter {given.python} to run programs with.")
    try:
        given.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _say(f"Nothing can be written to {given.out}: {error.strerror}.")
    made = sum(seed_folder(folder, given.out, kinds, given.python, given.check) for folder in folders)
    print(f"{made} faulty programs of {len(folders)} healthy ones are in {given.out}.")
    return 0


def seed_folder(folder: Path, out: Path, kinds: Sequence[str], python: str, check: bool) -> int:
    """Write one healthy program with each kind of fault; how many there are."""
    path, made = folder.resolve() / "program.py", 0
    try:
        source = parsed(path)
        with laboratory_for(source, Settings(python=python), []) as laboratory:
            laboratory.begin_again(math.inf, SECONDS)
            subject = recorded(source, laboratory)
            if check and (said := crash_of(path, source.raw, python)):
                raise LeftOut(f"the healthy program crashes: {said}")
            for kind in kinds:
                try:
                    found = seeded(subject, KINDS[kind])
                    said = crash_seen(subject, found.program, laboratory)
                    if said or (check and (said := crash_of(path, found.program.raw, python))):
                        raise LeftOut(f"the faulty program crashes: {said}")
                except LeftOut as error:
                    _say(f"{folder.name}, {kind}: {error}")
                else:
                    write(folder, out / f"{folder.name}--{kind}", kind, found)
                    made += 1
    except (DnnfixError, LeftOut, OSError) as error:
        _say(f"{folder.name}: {error}")
    return made


def parsed(path: Path) -> Source:
    """The program in a file. Raises `LeftOut` where it is not Python as it stands."""
    source = Source.from_bytes(path.read_bytes(), str(path))
    try:
        ast.parse(source.raw)
    except (SyntaxError, ValueError) as error:
        raise LeftOut(f"the program cannot be parsed: {error}") from None
    return source


def recorded(source: Source, laboratory: TrialLaboratory) -> Subject:
    """A healthy program with what a run of its first steps shows; where that shows nothing, with what its text shows."""
    trace = laboratory.observe(source, 0)
    if trace.crash is not None and not trace.cut:
        raise LeftOut(f"the healthy program crashes: {trace.crash.kind}: {trace.crash.message[:120]}")
    if not trace.outcome.says_something:
        _say(f"{source.path}: not run, only read: {trace.outcome}")
    return Subject(source, trace)


def crash_seen(subject: Subject, faulty: Source, laboratory: TrialLaboratory) -> str:
    """What a faulty program crashes with in its first steps, or behind them, that the healthy one does not."""
    crash, known = laboratory.observe(faulty, 0).crash, subject.crash
    if crash is None or (known is not None and (known.kind, known.message) == (crash.kind, crash.message)):
        return ""
    return f"{crash.kind}: {crash.message[:120]}"


def seeded(subject: Subject, kind: Callable[[Subject], Fault]) -> Seeded:
    """A program with one kind of fault in it. Raises `LeftOut` where it has no one place for it."""
    healthy = subject.source
    try:
        setting, edits = kind(subject)
        faulty = edited(healthy, edits)
        ast.parse(faulty.raw)
        undo = unified_diff(faulty.raw, healthy.raw, "program.py")
        undo.encode()
    except (EditError, SyntaxError) as error:
        raise LeftOut(f"the edit cannot be made: {error}") from None
    except UnicodeEncodeError:
        raise LeftOut("the program is not in UTF-8") from None
    if not undo:
        raise LeftOut("the program is like that already")
    return Seeded(faulty, setting, _first_line(healthy.text, faulty.text), undo)


def crash_of(path: Path, program: bytes, python: str) -> str:
    """The last line of what a program says that ends in an error; empty where it ends well, or takes too long."""
    command = f"OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 {shlex.quote(python)} program.py"
    with tempfile.TemporaryDirectory(prefix="dnnfix-seed-") as scratch:
        status, said = run_command(command, path, program, Path(scratch), SECONDS)
    return "" if status in (0, TIMED_OUT) else (said.strip().splitlines() or [f"status {status}"])[-1][:160]


def write(folder: Path, out: Path, kind: str, found: Seeded) -> None:
    """Write a faulty program, the files that lie beside the healthy one, and `meta.toml`."""
    unwanted = shutil.ignore_patterns("meta.toml", "__pycache__")
    shutil.copytree(folder, out, ignore=unwanted, dirs_exist_ok=True)
    (out / "program.py").write_bytes(found.program.raw)
    framework = "torch" if _in_torch(found.program) else "keras"
    facts = {"id": out.name, "framework": framework, "kind": kind, "setting": found.setting, "line": found.line}
    lines = [f"{name} = {json.dumps(value)}" for name, value in facts.items()]
    undo = found.undo.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\f", "\\f")
    (out / "meta.toml").write_bytes("\n".join([*lines, f'undo = """\n{undo}"""\n']).encode())


# --- the kinds of faults


def rate(subject: Subject, factor: float) -> Fault:
    """Another learning rate, wherever it is written, or where it was left to its default."""
    one = _one(list(optimizers(subject)), "optimizers")
    if subject.source.words & {"LearningRateScheduler", "LambdaLR", "OneCycleLR"}:
        raise LeftOut("a schedule sets the rate")
    value = _known(one.value, "the learning rate is not written as a number")
    edits = _known(one.with_rate(subject, value * factor), "the rate has no place")
    return Fault("learning-rate", tuple(_with_point(edit) for edit in edits))


def _with_point(edit: Edit) -> Edit:
    """The edit with a whole rate written as a float: Keras takes no other."""
    if not isinstance(edit, (Replace, SetArgument)):
        return edit
    return replace(edit, code=re.sub(r"^\d+$|(?<=learning_rate=)\d+(?=\))", r"\g<0>.0", edit.code))


def wrong_loss(subject: Subject) -> Fault:
    """A loss for another kind of question, which takes the same shapes and types."""
    use = _loss(subject)
    edits = change_loss(subject, use.call, _other_loss(use))
    return Fault("loss", _known(edits, "the loss cannot be exchanged where it stands"))


def _other_loss(use: LossUse) -> str:
    short = ((use.facts.twin if use.facts.function else None) or use.facts.name).rpartition(".")[2]
    target, several, classes = use.target, (use.width or 0) > 1, use.facts.task is Task.CLASSES
    if target is None or target.shape is None or use.prediction.shape is None:
        raise LeftOut("what the loss is given is not known")
    if use.in_keras:
        if classes:
            return "keras.losses.MeanSquaredError"
        unlike = use.facts.task is Task.REGRESSION and _leaves_unit_range(use)
        return "keras.losses.BinaryCrossentropy" if unlike else "keras.losses.CategoricalCrossentropy"
    if short == "CrossEntropyLoss" and use.target_is_indices:
        return "torch.nn.NLLLoss"
    alike = target.shape == use.prediction.shape and not (target.dtype or "int").startswith(("int", "uint", "bool"))
    if short == "CrossEntropyLoss" and alike:
        return "torch.nn.MSELoss"
    if short in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss") and alike and (_leaves_unit_range(use) or several):
        return "torch.nn.BCEWithLogitsLoss" if _leaves_unit_range(use) else "torch.nn.CrossEntropyLoss"
    if short in ("BCELoss", "BCEWithLogitsLoss") and alike and use.rank in (1, 2):
        return "torch.nn.CrossEntropyLoss"
    raise LeftOut(f"no other loss takes what {short} is given")


def wrong_activation(subject: Subject) -> Fault:
    """An activation at the end that cannot give the targets."""
    use = _loss(subject)
    maker = _known(use.producer, "what gives the prediction is not known")
    if use.bare:
        edits = add_activation(subject, maker, _too_much(use))
    elif use.in_torch and use.activation_name in ("sigmoid", "log_softmax"):
        edits = change_activation(subject, maker, "softmax", axis=1) if use.rank == 2 else None
    else:
        edits = change_activation(subject, maker, "relu")
    return Fault("output", _known(edits, "the end of the network cannot be changed where it stands"))


def _too_much(use: LossUse) -> str:
    """The activation that does harm behind scores or real numbers."""
    if use.facts.task is Task.REGRESSION:
        if not _leaves_unit_range(use):
            raise LeftOut("the targets are what an activation may give")
        return "relu" if use.target is not None and (use.target.low or 0.0) < 0.0 else "sigmoid"
    return "softmax" if use.facts.task is Task.CLASSES and use.in_torch else "relu"


def zero_initialization(subject: Subject) -> Fault:
    """Weights that begin at zero: of the hidden layers in Keras, of all layers in torch."""
    hidden = [call for call in _hidden(subject) if _kind(call) in WEIGHTS]
    if not hidden:
        raise LeftOut("the network has no hidden layer whose weights could begin at zero")
    if not _in_torch(subject.source):
        edits: list[Edit] = []
        for call in hidden:
            quote = '"' if '"' in subject.text(_known(call.made_at, "where a layer is made is not known")) else "'"
            given = set_constructor_argument(subject, call, "kernel_initializer", f"{quote}zeros{quote}")
            edits += _known(given, "a hidden layer is made in no plain call")
        return Fault("initialization", tuple(edits))
    made = _known(subject.source.constructor(_trained(subject)), "how the model is made is not known")
    statement = subject.source.statement_of(made)
    if not isinstance(statement, ast.Assign):
        raise LeftOut("the model is not made in an assignment")
    names = sorted({call.name for call in (*hidden, _last_layer(subject))})
    spelled = [spell(subject, each) for each in (*names, "torch.nn.init.zeros_")]
    of = spelled[0].code if len(names) == 1 else f"({', '.join(each.code for each in spelled[:-1])})"
    layer = _fresh(subject, "layer", "module")
    code = f"for {layer} in {ast.unparse(statement.targets[0])}.modules():\n    if isinstance({layer}, {of}):\n        {spelled[-1].code}({layer}.weight)"
    imports = [edit for each in spelled for edit in each.imports]
    return Fault("initialization", (InsertAfter(subject.source.site(statement), code), *imports))


def unscaled_input(subject: Subject) -> Fault:
    """Inputs as large as they came, or a thousand times too large."""
    edits = tuple(_undone_divisions(subject)) or tuple(_undone_scaler(subject))
    if not edits:
        handed = _handed(subject)
        if _has(subject, "embedding"):
            raise LeftOut("the inputs are indices")
        if handed.inputs == handed.targets:
            raise LeftOut("inputs and targets are one array")
        place = subject.source.site(handed.before)
        edits = (InsertBefore(place, f"{handed.inputs} = {handed.inputs} * 1000"),)
    return Fault("inputs", edits)


def _undone_divisions(subject: Subject) -> Iterator[Edit]:
    """Edits that leave out every division of data by the size of a byte, or by the deviation."""
    source = subject.source
    found: tuple[ast.BinOp | ast.AugAssign, ...] = (*source.nodes(ast.BinOp), *source.nodes(ast.AugAssign))
    for node in found:
        divisor = node.right if isinstance(node, ast.BinOp) else node.value
        if not isinstance(node.op, ast.Div) or source.enclosing(node, ast.ClassDef) or _is_of_targets(source, node):
            continue
        by_scale = isinstance(divisor, ast.Constant) and divisor.value in SCALES
        if isinstance(node, ast.AugAssign):
            if by_scale:
                yield Delete(source.site(node))
        elif by_scale and not isinstance(node.left, ast.Constant):
            yield Unwrap(source.site(node), source.site(node.left))
        elif isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Sub):
            subtracted = ast.unparse(node.left.right)
            if "mean" in subtracted and re.search("std|deviation|sigma", ast.unparse(divisor)):
                yield Unwrap(source.site(node), source.site(node.left.left))


def _is_of_targets(source: Source, node: ast.AST) -> bool:
    statement = source.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    return any(isinstance(each, ast.Name) and re.match("(?i)y|t_|target|label", each.id) for each in targets)


def _undone_scaler(subject: Subject) -> Iterator[Edit]:
    """Edits that leave out the one scaler of a program, where nothing is asked of it but to scale inputs."""
    source = subject.source
    made = list(source.calls(*SCALERS))
    holder = source.statement_of(made[0]) if len(made) == 1 else None
    if not isinstance(holder, ast.Assign) or not isinstance(target := holder.targets[0], ast.Name):
        return
    if not re.fullmatch(r"[\w.]+\(.*?\)(\.fit\(.*\))?", ast.unparse(holder.value)):
        return
    yield Delete(source.site(holder))
    for use in source.nodes(ast.Name):
        if use.id != target.id or not isinstance(use.ctx, ast.Load):
            continue
        method, call = source.parent(use), source.parent(source.parent(use) or use)
        match method, call:
            case ast.Attribute(attr="fit" | "transform" | "fit_transform"), ast.Call(args=[data, *_]):
                statement = source.statement_of(call)
            case _:
                raise LeftOut("more than scaling is asked of the scaler")
        if _is_of_targets(source, use):
            raise LeftOut("targets are scaled by the scaler, too")
        if method.attr == "fit" or ast.unparse(statement) == f"{ast.unparse(data)} = {ast.unparse(call)}":
            yield Delete(source.site(statement))
        else:
            yield Unwrap(source.site(call), source.site(data))


def shuffled_labels(subject: Subject) -> Fault:
    """Targets in another order than the inputs."""
    handed = _handed(subject)
    if handed.inputs == handed.targets:
        raise LeftOut("inputs and targets are one array")
    if _in_torch(subject.source):
        spelled = spell(subject, "torch.randperm")
        code = f"{handed.targets}[{spelled.code}(len({handed.targets}))]"
    else:
        spelled = spell(subject, "numpy.random.permutation")
        code = f"{spelled.code}({handed.targets})"
    place = subject.source.site(handed.before)
    return Fault("labels", (InsertBefore(place, f"{handed.targets} = {code}"), *spelled.imports))


def sorted_unshuffled(subject: Subject) -> Fault:
    """Samples that come one class after the other."""
    use, handed, delivery = _loss(subject), _handed(subject), _delivery(subject)
    targets = _known(use.target, "the targets are not known")
    classes = use.facts.task is Task.CLASSES or (use.width == 1 and binary(targets))
    if not classes or use.facts.task is Task.REGRESSION or handed.inputs == handed.targets:
        raise LeftOut("the targets are no classes")
    if delivery is None:
        raise LeftOut("the program itself chooses the samples of a batch")
    call, name = delivery
    if {keyword.arg for keyword in call.keywords} & {"sampler", "batch_sampler", None}:
        raise LeftOut("a sampler chooses the samples of a batch")
    given, labels, order = fit_data(subject)[1], handed.targets, _fresh(subject, "order", "by_label")
    shape = _known((given.value if given is not None else targets).shape, "the shape of the targets is not known")
    if use.target_is_one_hot:
        labels = f"{labels}.argmax(axis=1)"
    elif len(shape) != 1:
        labels = f"{labels}.flatten()"
    spelled = spell(subject, "torch.argsort" if name == LOADER else "numpy.argsort")
    code = f"{order} = {spelled.code}({labels})\n" + "\n".join(f"{each} = {each}[{order}]" for each in handed[:2])
    edits: list[Edit] = [InsertBefore(subject.source.site(handed.before), code), *spelled.imports]
    if name == FIT or argument(subject, call, name, "shuffle") is not None:
        edits.append(SetArgument(subject.source.site(call), "shuffle", "False", 2 if name == LOADER else None))
    return Fault("shuffling", tuple(edits))


def batch_extreme(subject: Subject) -> Fault:
    """All samples at once, where the data have a name beside the size; else one sample at a time."""
    source, delivery = subject.source, _delivery(subject)
    given = argument(subject, *delivery, "batch_size") if delivery is not None else None
    if delivery is None:
        named = [n for n in source.nodes(ast.Assign) if ast.unparse(n.targets[0]).lower() == "batch_size"]
        given = _one(named, "batch sizes").value
    size = _number(subject, _known(given, "no batch size is written"))
    if not isinstance(size.value, int) or size.value <= 2:
        raise LeftOut(f"the batch size is {size.value!r} already")
    normalizes = _has(subject, "normalization")
    data = argument(subject, *delivery, "dataset" if delivery[1] == LOADER else "x") if delivery is not None else None
    if size is given and isinstance(data, ast.Name):
        return Fault("batch-size", (Replace(source.site(size), f"len({data.id})"),))
    if normalizes:
        raise LeftOut("a batch of one sample cannot be normalized")
    return Fault("batch-size", (Replace(source.site(size), "1"),))


def one_epoch(subject: Subject) -> Fault:
    """Training that ends after its first epoch."""
    written, first = _known(epochs_written(subject), "it is not written how many epochs there are")
    if not isinstance(written.value, int) or written.value - first <= 3:
        raise LeftOut(f"there are {written.value!r} epochs only")
    return Fault("epochs", (Replace(subject.source.site(written), str(first + 1)),))


def other_parameters(subject: Subject) -> Fault:
    """An optimizer that is given another model's weights; in Keras, all layers but the last kept from training."""
    source = subject.source
    if not _in_torch(source):
        compiled = _one(attribute_calls(source.tree, "compile"), "calls of compile")
        owner = ast.unparse(compiled.func).removesuffix(".compile")
        if not owner.isidentifier() or not _hidden(subject) or _loss(subject).producer != _last_layer(subject):
            raise LeftOut("the model is no variable that ends in a layer with weights behind others")
        layer = _fresh(subject, "layer", "each")
        code = f"for {layer} in {owner}.layers[:-1]:\n    {layer}.trainable = False"
        return Fault("optimizer-parameters", (InsertBefore(source.site(compiled), code),))
    model = _trained(subject)
    made = _known(source.constructor(model), "how the model is made is not known")
    near = function_around(source, made) is function_around(source, model)
    text = source.segment(source.site(made))
    if near and "\n" not in text and source.definition(made.func) is not None:
        return Fault("optimizer-parameters", (Replace(source.site(model), text),))
    copied = spell(subject, "copy.deepcopy")
    wanted = f"{copied.code}({ast.unparse(model)})"
    return Fault("optimizer-parameters", (Replace(source.site(model), wanted), *copied.imports))


def few_units(subject: Subject) -> Fault:
    """The last hidden layer with one unit; in torch, what comes behind takes one as well."""
    linear = [call for call in _hidden(subject) if _kind(call) == "linear"]
    layer = _known(linear[-1] if linear else None, "there is no hidden linear layer")
    source, facts = subject.source, _known(layer_facts(layer), "the layer is not known")
    gives = _known(_given(subject, layer, facts.gives), "the units are not written")
    units = _number(subject, gives)
    if not isinstance(units.value, int) or units.value <= 2:
        raise LeftOut(f"the last hidden layer has {units.value!r} units already")
    places = {units}
    for behind in _takers(subject, layer):
        takes = _given(subject, behind, (layer_facts(behind) or facts).takes)
        taken = _number(subject, _known(takes, "what comes behind states no size"))
        if taken.value != units.value:
            raise LeftOut("the layer behind takes another size than the hidden layer gives")
        places.add(taken)
    return Fault("units", tuple(Replace(source.site(place), "1") for place in sorted(places, key=lambda n: n.lineno)))


def _takers(subject: Subject, layer: Call) -> Iterator[Call]:
    """What states the size that a layer of torch gives: normalizations, and the layer with weights behind them."""
    network, reached = subject.network, layer
    for _ in range(8):
        users = {user.made_at or user.site: user for value in reached.outputs for user in network.users(value)}
        reached = _one(list(users.values()), "ways on behind the hidden layer")
        facts = layer_facts(reached)
        if facts is not None and facts.takes is not None:
            yield reached
        if _kind(reached) in WEIGHTS:
            return
    raise LeftOut("no layer with weights is behind the hidden layer")


def two_faults(subject: Subject) -> Fault:
    """Two faults at different places."""
    for pair in PAIRS:
        try:
            one, other = (KINDS[kind](subject) for kind in pair)
            if {edit.site.line for edit in one.edits} & {edit.site.line for edit in other.edits}:
                continue
            edited(subject.source, (*one.edits, *other.edits))
        except (LeftOut, EditError):
            continue
        return Fault(f"{one.setting}, {other.setting}", (*one.edits, *other.edits))
    raise LeftOut("no two faults can be put in together")


KINDS: dict[str, Callable[[Subject], Fault]] = {
    "rate-x100": partial(rate, factor=100.0),
    "rate-over-1000": partial(rate, factor=0.001),
    "wrong-loss": wrong_loss,
    "wrong-activation": wrong_activation,
    "zero-initialization": zero_initialization,
    "unscaled-input": unscaled_input,
    "shuffled-labels": shuffled_labels,
    "sorted-unshuffled": sorted_unshuffled,
    "batch-extreme": batch_extreme,
    "one-epoch": one_epoch,
    "other-parameters": other_parameters,
    "few-units": few_units,
    "two-faults": two_faults,
}
"""Every kind of fault."""


# --- the places in a program


def _known(value: T | None, reason: str) -> T:
    if value is None:
        raise LeftOut(reason)
    return value


def _one(found: Sequence[T], what: str) -> T:
    if len(found) != 1:
        raise LeftOut(f"there are {len(found)} {what}" if found else f"there are no {what}")
    return found[0]


def _in_torch(source: Source) -> bool:
    """Whether a program trains with torch, and not with Keras on top of it."""
    return "torch" in source.frameworks and bool(attribute_calls(source.tree, "backward"))


def _loss(subject: Subject) -> LossUse:
    uses = {use.site: use for use in loss_uses(subject) if use.call.phase != "eval"}
    return _one(list(uses.values()), "losses that are known")


def _leaves_unit_range(use: LossUse) -> bool:
    if use.target is None or use.target.low is None or use.target.high is None:
        raise LeftOut("the range of the targets is not known")
    return use.target.low < 0.0 or use.target.high > 1.0


def _kind(call: Call) -> str:
    facts = layer_facts(call)
    return facts.kind if facts is not None else ""


def _has(subject: Subject, kind: str) -> bool:
    return any(_kind(call) == kind for call in subject.network.calls)


def _last_layer(subject: Subject) -> Call:
    """The layer with weights that gives the prediction, through the activation behind it."""
    call = _loss(subject).producer
    while call is not None and _kind(call) not in WEIGHTS:
        call = subject.network.producer(call.inputs[0]) if call.inputs else None
    return _known(call, "the last layer is not known")


def _hidden(subject: Subject) -> list[Call]:
    """The layers with a size of their own before the last one, in order, each once."""
    last = _last_layer(subject).made_at
    found: dict[Site | None, Call] = {}
    for call in subject.network.calls:
        facts = layer_facts(call)
        if facts is not None and facts.gives is not None and call.made_at not in (None, last):
            found.setdefault(call.made_at, call)
    return list(found.values())


def _given(subject: Subject, layer: Call, name: str | None) -> ast.expr | None:
    node = subject.constructor_node(layer)
    return argument(subject, node, layer.name, name) if node is not None and name is not None else None


def _number(subject: Subject, node: ast.expr) -> ast.Constant:
    return _known(number_written(subject, node), "a number is not written as one")


def _fit(subject: Subject) -> ast.Call:
    sites = {call.site for call in subject.network.calls if call.name == FIT}
    nodes = [node for site in sites if isinstance(node := subject.node(site), ast.Call)]
    return _one(nodes, "calls of fit")


def _delivery(subject: Subject) -> tuple[ast.Call, str] | None:
    """The call of `fit`, or the loader of training; `None` where a program in torch makes its batches itself."""
    source = subject.source
    if not _in_torch(source):
        return _fit(subject), FIT
    loaders = list(source.calls(LOADER))
    trained = [call for call in loaders if not BESIDE.search(source.segment(source.site(source.statement_of(call))))]
    return (_one(trained, "loaders"), LOADER) if loaders else None


def _handed(subject: Subject) -> Handed:
    """The arrays that training is given, each under a name."""
    source, delivery = subject.source, _delivery(subject)
    if delivery is None:
        return _handed_in_loop(subject)
    call, name = delivery
    if name == LOADER:
        given = _known(argument(subject, call, name, "dataset"), "the loader's data are not known")
        made = source.constructor(given)
        if made is None or source.qualified(made.func) != "torch.utils.data.TensorDataset" or len(made.args) != 2:
            raise LeftOut("the data are not two arrays in a TensorDataset")
        call, inputs, targets = made, made.args[0], made.args[1]
    else:
        inputs, targets = (_known(argument(subject, call, FIT, each), f"fit is given no {each}") for each in "xy")
    loops = loops_around(source, call)
    before = loops[-1] if loops else source.statement_of(call)
    return Handed(_outside(inputs, loops), _outside(targets, loops), before)


def _handed_in_loop(subject: Subject) -> Handed:
    """The tensors that a model and a loss are given in a loop that a program writes itself."""
    source = subject.source
    backward = _one(attribute_calls(source.tree, "backward"), "backward passes")
    loops, use = loops_around(source, backward), _loss(subject)
    if not loops:
        raise LeftOut("training is not done in a loop")
    prediction = _known(input_expression(subject, use.call, 0), "the prediction is not written")
    made = _stripped(prediction)
    if isinstance(made, ast.Name):
        found = [n.value for n in within(loops[0], ast.Assign) if ast.unparse(n.targets[0]) == made.id]
        made = _one([one for one in map(_stripped, found) if ast.unparse(one) != made.id], "ways to the prediction")
    if not isinstance(made, ast.Call) or len(made.args) != 1 or not isinstance(made.func, (ast.Name, ast.Attribute)):
        raise LeftOut("what the model is given is not one tensor")
    targets = _known(input_expression(subject, use.call, 1), "the targets are not written")
    return Handed(_outside(made.args[0], loops), _outside(targets, loops), loops[-1])


def _stripped(node: ast.expr) -> ast.expr:
    """A tensor without the methods that reshape or convert it."""
    kept = ("to", "float", "long", "view", "reshape", "squeeze", "unsqueeze", "flatten", "type", "cuda")
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in kept:
        node = node.func.value
    return node


def _outside(node: ast.expr, loops: Sequence[ast.stmt]) -> str:
    """The name that an array has outside of the loops, rows of which it may be."""
    node = _stripped(node)
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name):
        raise LeftOut("the data have no names of their own")
    if not loops:
        return node.id
    stored = [n for n in within(loops[-1], ast.Name) if n.id == node.id and isinstance(n.ctx, ast.Store)]
    if not stored:
        return node.id
    for assign in within(loops[-1], ast.Assign):
        match assign:
            case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)) if len(names) == len(values):
                pairs = list(zip(names, values, strict=True))
            case _:
                pairs = [(assign.targets[0], assign.value)]
        for name, value in pairs:
            if name in stored and len(stored) == 1:
                return _outside(value, loops)
    raise LeftOut("the data are made in the loop")


def _trained(subject: Subject) -> ast.expr:
    """The model of torch whose parameters the optimizer is given."""
    call = _one(list(optimizers(subject)), "optimizers").node
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute) or given.func.attr != "parameters":
        raise LeftOut("the optimizer is not given the parameters of one model")
    return given.func.value


def _fresh(subject: Subject, *names: str) -> str:
    """The first of these names that a program does not use."""
    return next((name for name in names if name not in subject.source.words), f"one_{names[0]}")


def _first_line(healthy: str, faulty: str) -> int:
    """The first line of the faulty program that the healthy one has otherwise, imports aside."""
    before, after = healthy.splitlines(), faulty.splitlines()
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        only_imports = all(re.match(r"\s*((import|from)\s.*)?$", line) for line in before[a:b] + after[c:d])
        found += [(only_imports, min(c + 1, len(after)))] if tag != "equal" else []
    return min(found)[1]


def _say(what: str) -> int:
    """Say a line on standard error; the exit code of what cannot be done."""
    print(what, file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())
