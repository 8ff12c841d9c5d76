"""A training is resumed from a checkpoint that lacks a part of its state, or a part of which is not restored."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    checkpoints,
    once,
    structure,
    training_loop,
    within,
    words,
)

OF_RESUMING = words(
    "start_epoch resume resume_from resume_training resume_epoch resume_path resume_checkpoint epoch_start initial_epoch"
)
"""Words of programs that go on with a training."""
COUNTS = re.compile(r"epoch|iter|step|round", re.IGNORECASE)
OF_RESTORING = re.compile(r"load|restore|resume", re.IGNORECASE)
"""Parts of the names of functions that may give an optimizer its state back."""
OF_OPTIMIZER = re.compile(r"opt|solver|adam|sgd", re.IGNORECASE)
OF_OPTIMIZERS = words("step zero_grad state_dict load_state_dict param_groups state add_param_group")
"""What optimizers have, and settings under a name like theirs have not."""
OF_SCHEDULE = re.compile(r"sched|(^|_)lr(_|$)", re.IGNORECASE)
OF_WEIGHTS = re.compile(r"model|state|net|weights|encoder|decoder|generator|discriminator|params", re.IGNORECASE)


class CheckpointLacksState(ReadTemplate):
    """A training that is resumed without the state of its optimizer or of its schedule goes on as another one.

    Adam starts its averages anew, momentum is lost, and the schedule begins at the first learning rate. Reported where the text
    resumes from a checkpoint, and the state of an optimizer or a schedule that the text steps is not
    saved; or is saved and never given back. Checkpoints for evaluation alone need neither.

    Fix safety: unsafe. The file holds more, and the resumed training goes on where it was.

    References: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html ("Saving & Loading a General Checkpoint for
    Inference and/or Resuming Training").
    """

    code = "DNF751"
    name = "checkpoint-lacks-state"
    message = "a training is resumed from this checkpoint without the state of {part}: {what}"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 4
    default = False
    triggers = ("save", "load", "save_checkpoint")
    declined = "what is saved is not written out where it is saved"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        said: set[str] = set()
        for save in checkpoints.saves(source):
            for fault, part in _lacking(source, save):
                if part not in said:
                    said.add(part)
                    yield fault
        for load in checkpoints.loads(source):
            for fault, part in _not_restored(source, load):
                if part not in said:
                    said.add(part)
                    yield fault
        if "the optimizer" not in said:
            yield from _resumed_with_weights_alone(source)
        if not said:
            yield from _begins_again(source)

    programs = """
=== example: no optimizer
import torch

start_epoch = resume(model, optimizer)
for epoch in range(start_epoch, 100):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
-     torch.save({"epoch": epoch + 1, "model": model.state_dict()}, "last.pt")
+     torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")

=== example: no schedule, in a fragment
for epoch in range(start_epoch, epochs):
    train(model, loader, optimizer)
    scheduler.step()
    save_checkpoint({
        "epoch": epoch + 1,
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
+         "scheduler": scheduler.state_dict(),
    }, is_best)

=== finds: an epoch to begin with, and the weights alone
if opt.start:
    net.load_state_dict(torch.load(f"net_{opt.start}.pt"))
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(opt.start, opt.epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

=== finds: the epoch is read from the name of the file
first = 0
if path:
    net.load_state_dict(torch.load(path))
    first = int(path.split("_")[-1])
optimizer = make_optimizer(net)
for epoch in range(first, epochs):
    train(net, optimizer, loader)

=== finds: an option says that it is resumed, and another one where
import torch

class Trainer:
    def __init__(self, options):
        self.net = Net()
        self.options = options
        if options.resume:
            self.net.load_state_dict(torch.load(options.resume))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self):
        for epoch in range(self.options.start_epoch, self.options.epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                criterion(self.net(x), y).backward()
                self.optimizer.step()

=== finds: a file that was loaded under a name
if go_on:
    saved = torch.load(folder / f"{go_on}.pt")
    net.load_state_dict(saved)
    begin = go_on + 1
for epoch in range(begin, epochs):
    for x, y in loader:
        adam.zero_grad()
        criterion(net(x), y).backward()
        adam.step()

=== finds: the epochs begin anew
if options.file:
    saved = torch.load(options.file)
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
for epoch in tqdm(range(options.epochs)):
    fit(net, loader, optimizer)
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, options.file)

=== finds: the epochs begin anew, and a function loads the rest
if options.file:
    restore(torch.load(options.file), net, optimizer)
for epoch in range(1, options.epochs + 1):
    fit(net, loader, optimizer)
    save_all(net, optimizer)

=== reject: the epoch comes with the rest, and a loop over what is left
first = restore(options.file, net, optimizer)
for epoch in range(options.epochs):
    fit(net, loader, optimizer)
    save_all(net, optimizer)
saved = torch.load(options.file)
optimizer.load_state_dict(saved["optimizer"])
for step in range(10):
    fit(net, loader, optimizer)
    save_all(net, optimizer)
load_all(net, optimizer)
for epoch in range(epochs_left):
    fit(net, loader, optimizer)
    save_all(net, optimizer)
for epoch in range(epochs):
    fit(net, loader, optimizer)
save_all(net, optimizer)

=== finds: keys that are asked for
saved = torch.load(path)
net.load_state_dict(saved.get("model"))
first = saved.get("epoch", 0)
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(first, epochs):
    fit(net, optimizer)

=== finds: a training that is resumed, and saves its weights alone
if options.resume:
    net.load_state_dict(torch.load(options.resume))
for epoch in range(options.epochs):
    fit(net, optimizer, loader)
    torch.save(net.state_dict(), "last.pt")

=== reject: pretrained weights, a helper that restores, and a file for the optimizer
import torch

if pretrained:
    net.load_state_dict(torch.load(pretrained))
    warmup = 5
for epoch in range(1, epochs + 1):
    train(net, optimizer, loader)

=== reject: what is loaded for the optimizer as well
first = 0
if resume:
    net.load_state_dict(torch.load("net.pt"))
    load_optimizer("optimizer.pt", optimizer)
    first = int(resume)
for epoch in range(first, epochs):
    train(net, optimizer, loader)

=== reject: tested from a later sample on
if first:
    net.load_state_dict(torch.load("net.pt"))
for index in range(first, len(samples)):
    print(net(samples[index]))

=== reject: all of it
for epoch in range(start_epoch, epochs):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    scheduler.step()
    torch.save({
        "epoch": epoch + 1,
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, path)

=== reject: weights for evaluation
import torch

for epoch in range(10):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
torch.save({"state_dict": model.state_dict(), "classes": classes}, path)

=== reject: something else that is saved
import torch

torch.save({"epoch": 3, "losses": losses}, "log.pt")
optimizer.step()
"""


@once
def _optimizer(source: Source) -> str:
    """The text of an optimizer that the source steps or makes; empty where it has none."""
    stepped = structure.of_kind(source, structure.Kind.UPDATE)
    if stepped:
        return stepped[0].on
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if isinstance(node.value, ast.Call) and isinstance(target, (ast.Name, ast.Attribute)):
            name = source.qualified(node.value.func) or ""
            if name.startswith("torch.optim.") and not name.startswith(structure.SCHEDULES):
                return ast.unparse(target)
    return "optimizer" if any(node.id == "optimizer" for node in source.nodes(ast.Name)) else ""


def _schedule(source: Source) -> str:
    stepped = structure.of_kind(source, structure.Kind.SCHEDULE)
    by_count = any(isinstance(each.node, ast.Call) and each.node.args for each in stepped)
    if not stepped or by_count or _is_caught_up(source):
        return ""
    return stepped[0].on


def _is_caught_up(source: Source) -> bool:
    """Whether a schedule is brought to the epoch of a checkpoint without a state: by its count, or by steps."""
    if any(node.attr == "last_epoch" for node in source.nodes(ast.Attribute)):
        return True
    if any(keyword.arg == "last_epoch" for call in source.all_calls for keyword in call.keywords):
        return True
    return any(
        re.fullmatch(r"range\([\w.]*(start|resume|epoch)[\w.]*\)", ast.unparse(loop.iter))
        and not structure.has(source, loop, structure.Kind.UPDATE)
        and structure.has(source, loop, structure.Kind.SCHEDULE)
        for loop in source.nodes(ast.For)
    )


@once
def _resumes(source: Source) -> bool:
    """Whether the text goes on with a training: by its names, or as it reads a count of epochs of a checkpoint."""
    named = (
        *(node.id for node in source.nodes(ast.Name)),
        *(node.attr for node in source.nodes(ast.Attribute)),
    )
    counted = any(COUNTS.search(key) for load in checkpoints.loads(source) for key in load.keys)
    return counted or not OF_RESUMING.isdisjoint(named)


def _lacking(source: Source, save: checkpoints.Save) -> Iterator[tuple[Fault, str]]:
    """The parts of the state that a dictionary lacks which is saved to resume from."""
    entries = save.entries
    if entries is None:
        yield from _weights_alone(source, save)
    if entries is None or save.is_open:
        return
    states = {key: checkpoints.state_of(value) for key, value in entries.items()}
    if not any(state and not checkpoints.is_optimizer_name(state) for state in states.values()):
        return
    if not _resumes(source):
        return
    parts = []
    optimizer, schedule = _optimizer(source), _schedule(source)
    elsewhere = any(checkpoints.is_optimizer_name(name) for name in _kept_states(source))
    if optimizer and not elsewhere and not _has(states, OF_OPTIMIZER):
        parts.append(("the optimizer", optimizer))
    elif schedule and not _has(states, OF_SCHEDULE):
        parts.append(("the schedule", schedule))
    for part, on in parts:
        edits = _added(source, save, on)
        said = {"part": part, "what": f"`{on}.state_dict()` is not in it"}
        title = f"Save the state of {part}"
        yield Fault(source.site(save.call), said, ((title, edits, 0.8),)), part


def _weights_alone(source: Source, save: checkpoints.Save) -> Iterator[tuple[Fault, str]]:
    """The weights alone, which a training loop saves that goes on where another one ended."""
    network, optimizer = checkpoints.state_of(save.value), _optimizer(source)
    if not network or not optimizer or checkpoints.is_optimizer_name(network):
        return
    if not _resumes(source) and not _is_loaded_before(source, save, network):
        return
    loops = training_loop.loops_around(source, save.call)
    if not loops or not _trains(source, loops[-1], optimizer):
        return
    if not any(checkpoints.is_optimizer_name(name) for name in _kept_states(source)):
        said = {"part": "the optimizer", "what": f"the text saves and loads no state of `{optimizer}`"}
        yield Fault(source.site(save.call), said, ()), "the optimizer"


def _is_loaded_before(source: Source, save: checkpoints.Save, network: str) -> bool:
    """Whether a training begins with the weights in the file that it saves them to."""
    around = training_loop.function_around(source, save.call)
    begins = any(
        load.path == save.path
        and load.call.lineno < save.call.lineno
        and training_loop.function_around(source, load.call) is around
        for load in checkpoints.loads(source)
    )
    return begins and any(
        name == network and call.lineno < save.call.lineno for name, call in checkpoints.restored(source)
    )


def _kept_states(source: Source) -> set[str]:
    """What the text asks for its state, or gives one."""
    asked = {
        ast.unparse(call.func.value)
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict"
    }
    return asked | {name for name, _ in checkpoints.restored(source)}


def _has(states: dict[str, str], named: re.Pattern[str]) -> bool:
    """Whether a part is among what is saved, by its key or its value."""
    return any(named.search(key) or (state and named.search(state)) for key, state in states.items())


def _added(source: Source, save: checkpoints.Save, on: str) -> tuple[Edit, ...] | None:
    """The edits that put the state of something into the dictionary, where that is written out in the call."""
    written = save.value
    if not isinstance(written, ast.Dict) or not written.keys or written.keys[-1] is None:
        return None
    last = written.keys[-1]
    between = ", " if written.lineno == last.lineno else ",\n" + " " * (source.site(last).column - 1)
    site = source.site(written)
    end = source.places.span(source.site(written.values[-1]))[1] - source.places.span(site)[0]
    code = source.segment(site)
    entry = f'{between}"{on.rpartition(".")[2]}": {on}.state_dict()'
    return (Replace(site, f"{code[:end]}{entry}{code[end:]}"),)


def _goes_on(source: Source, load: checkpoints.Load) -> bool:
    """Whether a training follows a load in its function, in a text that saves the state of its optimizer along with the weights."""
    around = training_loop.function_around(source, load.call)
    saved = any(
        checkpoints.is_optimizer_name(checkpoints.state_of(value))
        for save in checkpoints.saves(source)
        if save.entries is not None and (save.path == load.path or not save.path)
        for value in save.entries.values()
    )
    return saved and any(
        loop.lineno > load.call.lineno and training_loop.function_around(source, loop) is around
        for loop, _ in structure.batch_loops(source)
    )


def _not_restored(source: Source, load: checkpoints.Load) -> Iterator[tuple[Fault, str]]:
    """The parts that a text which resumes its training does not restore."""
    optimizer, schedule = _optimizer(source), _schedule(source)
    restored = {name for name, _ in checkpoints.restored(source)}
    counts = any(COUNTS.search(key) for key in load.keys)
    weights = any(OF_WEIGHTS.search(key) and not OF_OPTIMIZER.search(key) for key in load.keys)
    resumes = (counts and _resumes(source)) or _goes_on(source, load)
    if not weights or not resumes or not restored:
        return
    if optimizer and not any(OF_OPTIMIZER.search(name) for name in (*restored, *(key for key in load.keys))):
        said = {"part": "the optimizer", "what": f"`{optimizer}` is not given back what was saved of it"}
        yield Fault(source.site(load.call), said, ()), "the optimizer"
    elif (
        schedule
        and optimizer
        and not any(OF_SCHEDULE.search(name) for name in (*restored, *(key for key in load.keys)))
    ):
        said = {"part": "the schedule", "what": f"`{schedule}` begins anew"}
        yield Fault(source.site(load.call), said, ()), "the schedule"


def _resumed_with_weights_alone(source: Source) -> Iterator[Fault]:
    """A load of the weights of a network alone, by what tells at which epoch its training goes on."""
    optimizer = _optimizer(source)
    if not optimizer or any(checkpoints.is_optimizer_name(name) for name in _kept_states(source)):
        return
    if any(
        OF_RESTORING.search(ast.unparse(each.func)) and checkpoints.uses_name(each, optimizer)
        for each in source.all_calls
    ):
        return
    for name, call in checkpoints.restored(source):
        if not call.args or not _is_loaded(source, call.args[0]):
            continue
        around = training_loop.function_around(source, call)
        begins = _set_along(source, call)
        named = any("resum" in each.lower() for each in begins)
        for loop in source.nodes(ast.For):
            start = _start(loop)
            of_resuming = named and start.rpartition(".")[2] in OF_RESUMING
            same = training_loop.function_around(source, loop) is around or "." in start
            if (
                (start in begins or of_resuming)
                and same
                and loop.lineno > call.lineno
                and _trains(source, loop, optimizer)
            ):
                said = {"part": "the optimizer", "what": f"`{name}` gets its weights, and `{optimizer}` begins anew"}
                yield Fault(source.site(call), said, ())
                return


def _is_loaded(source: Source, given: ast.expr) -> bool:
    """Whether weights come out of a file at once, or by a name."""
    while isinstance(given, ast.Subscript):
        given = given.value
    bound = source.bindings(given) if isinstance(given, (ast.Name, ast.Attribute)) else ()
    given = bound[0] if len(bound) == 1 else given
    return isinstance(given, ast.Call) and source.qualified(given.func) == "torch.load"


def _begins_again(source: Source) -> Iterator[Fault]:
    """A training that saves on its way, gets the state of its optimizer back, and counts its epochs from the first one."""
    if any(COUNTS.search(key) for load in checkpoints.loads(source) for key in load.keys):
        return
    for call in source.all_calls:
        given = _given_back(source, call)
        if not given or training_loop.loops_around(source, call):
            continue
        around = training_loop.function_around(source, call)
        for loop in source.nodes(ast.For):
            over = loop.iter
            while isinstance(over, ast.Call) and ast.unparse(over.func).endswith("tqdm") and over.args:
                over = over.args[0]
            if (
                loop.lineno > call.lineno
                and training_loop.function_around(source, loop) is around
                and re.match(r"t?range\(([01], )?[\w.]*epochs?( \+ 1)?\)", ast.unparse(over), re.IGNORECASE)
                and _trains(source, loop, given)
                and any(re.search(r"save|check_?point", ast.unparse(each.func)) for each in within(loop, ast.Call))
            ):
                said = {"part": "the epoch", "what": f"`{given}` goes on where it was, and the epochs begin anew"}
                yield Fault(source.site(call), said, ())
                return


def _given_back(source: Source, call: ast.Call) -> str:
    """The text of the optimizer that a call gives its state back, itself or by a function that loads and whose result is not kept."""
    statement = source.parent(call)
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr == "load_state_dict":
        on = ast.unparse(called.value)
        return on if checkpoints.is_optimizer_name(on) and call.args and _is_loaded(source, call.args[0]) else ""
    if not isinstance(statement, ast.Expr) or not re.match(
        r"(load|restore|resume)", ast.unparse(called).rpartition(".")[2]
    ):
        return ""
    if structure.callee(source, call) is not None:
        return ""
    given = [
        each for each in (*call.args, *(k.value for k in call.keywords)) if isinstance(each, (ast.Name, ast.Attribute))
    ]
    named = [ast.unparse(each) for each in given if structure.is_optimizer(source, each)]
    settings = {ast.unparse(node.value) for node in source.nodes(ast.Attribute) if node.attr not in OF_OPTIMIZERS}
    return next((each for each in named if each not in settings and not re.match(checkpoints.OF_SETTINGS, each)), "")


def _set_along(source: Source, call: ast.Call) -> set[str]:
    """What is asked before a load, set beside it, or part of the name of its file."""
    found = {ast.unparse(node) for node in (*within(call, ast.Name), *within(call, ast.Attribute))}
    statement: ast.AST | None = source.statement_of(call)
    block = training_loop.block_of(source, source.statement_of(call))
    while isinstance(statement := source.parent(statement) if statement is not None else None, (ast.If, ast.Try)):
        if isinstance(statement, ast.If):
            asked = statement.test
            found |= {ast.unparse(node) for node in (*within(asked, ast.Name), *within(asked, ast.Attribute))}
            found |= {ast.unparse(target) for each in block if isinstance(each, ast.Assign) for target in each.targets}
    return found


def _start(loop: ast.For) -> str:
    """The text of what a loop begins to count at; empty where it counts from 0, or goes over something else."""
    over = loop.iter
    while isinstance(over, ast.Call) and len(over.args) == 1:
        over = over.args[0]  # as within `tqdm`
    if not isinstance(over, ast.Call) or ast.unparse(over.func) not in ("range", "trange") or len(over.args) < 2:
        return ""
    return ast.unparse(over.args[0]).removesuffix(" + 1")


def _trains(source: Source, loop: training_loop.Loop, optimizer: str) -> bool:
    """Whether a loop over epochs updates something, is given the optimizer, or is cut off before that."""
    if structure.has(source, loop, structure.Kind.UPDATE) or checkpoints.uses_name(loop, optimizer):
        return True
    counts = isinstance(loop, ast.For) and COUNTS.search(ast.unparse(loop.target))
    return bool(counts) and all(isinstance(each, ast.Pass) for each in loop.body)
