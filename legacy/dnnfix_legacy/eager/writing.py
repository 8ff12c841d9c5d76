"""Writes the functions: a program of placeholders and sessions as functions that TensorFlow 2 runs when they are
called.

Placeholders become the specifications of a function's inputs, the statements between them and what is fetched its body,
`minimize` a step under `GradientTape`, and each run of the session a call. Variables stay where they are.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from dnnfix.source.program import Source
from dnnfix.source.scan import scan
from dnnfix.source.tree import first_line, within
from dnnfix_legacy.eager.names import ANY, OPTIMIZERS, SAME
from dnnfix_legacy.graphs.rewriting import Rewriting
from dnnfix_legacy.graphs.statements import InTheWay, Run, Statements, Tensor, Training, loads, read_statements, stores

_GLOROT = "initializers.GlorotUniform"


@dataclass
class _Function:
    """One function to be written: what it returns, the statements that it needs, and the training that it does."""

    name: str
    outputs: tuple[str, ...]
    statements: tuple[Tensor, ...]
    training: Training | None = None
    inputs: tuple[str, ...] = ()


@dataclass
class Eager:
    """The writing of one program; `source` has the names of TensorFlow 2 already."""

    source: Source
    known: Statements = field(init=False)
    new: Rewriting = field(init=False)
    functions: dict[tuple[str, ...], _Function] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    alias: str | None = None
    """The name that TensorFlow has in the program."""
    _made: dict[str, str] = field(default_factory=dict)
    """By training, the name of the optimizer that was made in its line."""
    _commented: set[int] = field(default_factory=set)
    """Lines of statements whose comments are written already."""

    def text(self) -> str:
        """The program of TensorFlow 2. Raises `InTheWay`."""
        self.known = read_statements(self.source)
        self.new = Rewriting(self.source)
        freed = {*self.known.trainings, *self.known.sessions}
        self.taken = {n.id for n in self.source.nodes(ast.Name)} - freed | {local for local, _ in self._imported()}
        self.taken |= {n.name for n in self.source.nodes(ast.FunctionDef)} | {n.arg for n in self.source.nodes(ast.arg)}
        self.alias = next((local for local, name in self._imported() if name == "tensorflow"), None)
        if self.alias is None:
            raise InTheWay("TensorFlow is not imported as a module")
        self._check_names()
        for training in self.known.trainings.values():
            self._training(training)
        for run in self.known.runs:
            self._run(run)
        core = self._core()
        self._placeholders()
        self._variables()
        self._globals()
        return self._assembled(core)

    def _imported(self) -> list[tuple[str, str]]:
        found = []
        for statement in self.source.nodes(ast.Import):
            for alias in statement.names:
                if alias.asname:
                    found.append((alias.asname, alias.name))
                elif "." not in alias.name:
                    found.append((alias.name, alias.name))
        return found

    # --- what may be there at all

    def _check_names(self) -> None:
        """Every function of TensorFlow means what it meant, with the arguments that are given by place."""
        for node in self.source.nodes(ast.Attribute):
            above = self.source.parent(node)
            written = self.source.written(node)
            if not written or not written.startswith("tensorflow.") or isinstance(above, ast.Attribute):
                continue
            name = written.removeprefix("tensorflow.").removeprefix("compat.v1.")
            if name.partition(".")[0] in ("keras", "TensorSpec") or self._is_of_session(node, name):
                continue
            places = SAME.get(name)
            call = above if isinstance(above, ast.Call) and above.func is node else None
            if places is None or call is not None and len(call.args) > places < ANY:
                raise InTheWay(f"tf.{name} is not known to mean the same", self.source.site(node))

    def _is_of_session(self, node: ast.expr, name: str) -> bool:
        if name in ("placeholder", "get_variable") or name.rpartition(".")[2] in OPTIMIZERS:
            return True
        return any(self.source.statement_of(node) is each for each in (*self.known.dropped, *self.known.blocks))

    # --- functions

    def _slice(self, names: set[str], at: ast.AST) -> tuple[Tensor, ...]:
        """The statements that the tensors need, of those before `at`."""
        line = self.source.site(at).line
        chosen: list[Tensor] = []
        wanted = set(names)
        for tensor in reversed(self.known.tensors):
            if self.source.site(tensor.statement).line < line and wanted & set(tensor.binds):
                chosen.append(tensor)
                if not isinstance(tensor.statement, ast.AugAssign):
                    wanted -= set(tensor.binds)
                wanted |= tensor.reads
        return tuple(reversed(chosen))

    def _inputs(self, statements: tuple[Tensor, ...], extra: set[str]) -> tuple[str, ...]:
        read = set(extra).union(*(tensor.reads for tensor in statements))
        return tuple(name for name in self.known.placeholders if name in read)

    def _training(self, training: Training) -> None:
        if not loads(training.loss) & self._tensor_names():
            raise InTheWay("the loss is not a tensor of the program", self.source.site(training.loss))
        self._optimizer(training)

    def _tensor_names(self) -> set[str]:
        return {name for tensor in self.known.tensors for name in tensor.binds} | self.known.placeholders.keys()

    def _optimizer(self, training: Training) -> None:
        """The optimizer's call, wherever it stands, as the class of today."""
        made = training.optimizer
        call = self.known.optimizers.get(made.id) if isinstance(made, ast.Name) else made
        if not isinstance(call, ast.Call):
            raise InTheWay("where the optimizer is created cannot be read", self.source.site(made))
        written = (self.source.written(call.func) or "").rpartition(".")[2]
        today = OPTIMIZERS.get(written)
        if today is None or len(call.args) > len(today.parameters):
            raise InTheWay(
                f"{written or 'the optimizer'} has no counterpart with equal settings", self.source.site(call)
            )
        if loads(call) & self._tensor_names():
            raise InTheWay("a setting of the optimizer is a tensor", self.source.site(call))
        renamed = dict(today.renamed)
        given = {name: self.new.text(value) for name, value in zip(today.parameters, call.args, strict=False)}
        for keyword in call.keywords:
            if keyword.arg in ("use_locking", "name"):
                continue
            given[keyword.arg or ""] = self.new.text(keyword.value)
        for name, default in today.stated:
            given.setdefault(name, default)
        parts: list[str] = []
        for name, value in given.items():
            first = name == "learning_rate" and call.args and not parts
            parts.append(value if first else f"{renamed.get(name, name)}={value}")
        self.new.write(call, f"{self.alias}.{today.today}({', '.join(parts)})")

    # --- runs

    def _run(self, run: Run) -> None:
        known = self.known
        names: list[str] = []
        trained: list[str] = []
        for fetch in run.fetches:
            if isinstance(fetch, ast.Name) and fetch.id in known.trainings:
                trained.append(fetch.id)
            elif isinstance(fetch, ast.Name) and (fetch.id in self._tensor_names() or fetch.id in known.variables):
                names.append(fetch.id)
            elif loads(fetch) & known.variables and not loads(fetch) & self._tensor_names() and len(run.fetches) == 1:
                names.append("")
            else:
                raise InTheWay("what is fetched has no name", self.source.site(fetch))
        if len(trained) > 1:
            raise InTheWay("one run executes two training operations", self.source.site(run.call))
        held = [name for name in names if not name or name in known.variables]
        if held and (trained or len(held) != len(names)):
            raise InTheWay("variables are fetched along with tensors", self.source.site(run.call))
        if held:
            texts = [f"{self.new.text(fetch)}.numpy()" for fetch in run.fetches]
            self.new.write(run.call, f"[{', '.join(texts)}]" if run.listed else texts[0])
            return
        function = self._function(tuple(names), known.trainings[trained[0]] if trained else None, run)
        missing = [name for name in function.inputs if name not in run.feed]
        if missing:
            raise InTheWay(f"{missing[0]} is not fed", self.source.site(run.call))
        for name, value in run.feed.items():
            if name not in function.inputs and within(value, ast.Call):
                raise InTheWay("a value is computed for a placeholder that is not needed", self.source.site(value))
        given = ", ".join(self.new.text(run.feed[name]) for name in function.inputs)
        self._called(run, f"{function.name}({given})", names, trained, function)

    def _called(self, run: Run, call: str, names: list[str], trained: list[str], function: _Function) -> None:
        """The call in the run's place, with its results as arrays, and without what training gave: nothing."""
        source = self.source
        above = source.parent(run.call)
        if isinstance(above, ast.Expr):
            self.new.write(run.call, call)
            return
        if names and tuple(names) != function.outputs:
            raise InTheWay("a training step is run for different tensors", source.site(run.call))
        arrays = f"{call}.numpy()" if len(names) == 1 else f"(each.numpy() for each in {call})"
        if not trained:
            if run.listed and len(names) == 1:
                arrays = f"[{arrays}]"
            elif run.listed and not self._unpacked(above, run.call):
                arrays = f"[{arrays[1:-1]}]"
            self.new.write(run.call, arrays)
            return
        if not names:
            if not self._discards(above, run.call):
                raise InTheWay("what a training step returns is used", source.site(run.call))
            self.new.write(run.call, call)
            return
        if not isinstance(above, ast.Assign) or len(above.targets) != 1 or above.value is not run.call:
            raise InTheWay("what a training step returns is not unpacked", source.site(run.call))
        targets = above.targets[0]
        if not isinstance(targets, (ast.Tuple, ast.List)) or len(targets.elts) != len(run.fetches):
            raise InTheWay("what a training step returns is not unpacked", source.site(run.call))
        kept = []
        for target, fetch in zip(targets.elts, run.fetches, strict=True):
            if isinstance(fetch, ast.Name) and fetch.id in trained:
                if not isinstance(target, ast.Name) or self._read_again(target.id):
                    raise InTheWay("what a training step returns is used", source.site(run.call))
            else:
                kept.append(source.segment(source.site(target)))
        self.new.write(targets, ", ".join(kept))
        self.new.write(run.call, arrays)

    def _unpacked(self, above: ast.AST | None, call: ast.Call) -> bool:
        return (
            isinstance(above, ast.Assign)
            and above.value is call
            and len(above.targets) == 1
            and isinstance(above.targets[0], (ast.Tuple, ast.List))
        )

    def _discards(self, above: ast.AST | None, call: ast.Call) -> bool:
        if not isinstance(above, ast.Assign) or above.value is not call or len(above.targets) != 1:
            return False
        target = above.targets[0]
        return isinstance(target, ast.Name) and not self._read_again(target.id)

    def _read_again(self, name: str) -> bool:
        return any(n.id == name and isinstance(n.ctx, ast.Load) for n in self.source.nodes(ast.Name))

    def _function(self, outputs: tuple[str, ...], training: Training | None, run: Run) -> _Function:
        """The function of a run; one for each training, and one for each group of tensors that is fetched."""
        key = (f"train:{training.name}",) if training is not None else outputs
        found = self.functions.get(key)
        if found is not None:
            if training is not None and not found.outputs:
                found.outputs = outputs
            elif training is not None and outputs and outputs != found.outputs:
                raise InTheWay("a training step is run for different tensors", self.source.site(run.call))
            if training is None or found.statements == self._needed(found, run):
                return found
            wider = self._needed(found, run)
            found.statements, found.inputs = wider, self._inputs_of(found, wider)
            return found
        if training is not None:
            many = len(self.known.trainings) > 1
            name = self._free_name(f"train_{training.name}" if many else "train_step")
        else:
            name = self._free_name(
                "compute_" + ("_and_".join(outputs) if len(outputs) < 3 else f"{outputs[0]}_and_more")
            )
        found = _Function(name, outputs, (), training)
        found.statements = self._needed(found, run)
        found.inputs = self._inputs_of(found, found.statements)
        self.functions[key] = found
        return found

    def _needed(self, function: _Function, run: Run) -> tuple[Tensor, ...]:
        wanted = set(function.outputs)
        if function.training is not None:
            wanted |= loads(function.training.loss)
        return self._slice(wanted, run.call)

    def _inputs_of(self, function: _Function, statements: tuple[Tensor, ...]) -> tuple[str, ...]:
        extra = set(function.outputs)
        if function.training is not None:
            extra |= loads(function.training.loss)
        return self._inputs(statements, extra)

    def _free_name(self, name: str) -> str:
        free, number = name, 2
        while free in self.taken:
            free, number = f"{name}_{number}", number + 1
        self.taken.add(free)
        return free

    def _core(self) -> _Function | None:
        """The statements that all functions have, as one of its own, where there is more than one function."""
        functions = list(self.functions.values())
        if len(functions) < 2:
            return None
        common = tuple(t for t in functions[0].statements if all(t in f.statements for f in functions[1:]))
        if not common:
            return None
        binds = [name for tensor in common for name in tensor.binds]
        used: list[str] = []
        for function in functions:
            rest = [t for t in function.statements if t not in common]
            wanted = set(function.outputs).union(*(t.reads for t in rest))
            if function.training is not None:
                wanted |= loads(function.training.loss)
            if any(set(t.binds) & set(binds) for t in rest):
                return None  # the name means something else further down
            used += [name for name in binds if name in wanted and name not in used]
        if not used:
            return None
        core = _Function(self._free_name("network"), tuple(used), common)
        core.inputs = self._inputs(common, set())
        for function in functions:
            if function.training is None and function.outputs == core.outputs and function.statements == common:
                self.taken.discard(core.name)
                return function
        return core

    # --- statements that stay

    def _placeholders(self) -> None:
        for name, statement in self.known.placeholders.items():
            call = statement.value
            if not isinstance(call, ast.Call):
                continue
            given = dict(zip(("dtype", "shape", "name"), call.args, strict=False))
            given.update({k.arg: k.value for k in call.keywords if k.arg})
            if "dtype" not in given or loads(statement) & self._tensor_names():
                raise InTheWay(f"the type of {name} is not plain", self.source.site(statement))
            shape = self.new.text(given["shape"]) if "shape" in given else "None"
            self.new.write(call, f"{self.alias}.TensorSpec({shape}, {self.new.text(given['dtype'])})")

    def _variables(self) -> None:
        """`tf.get_variable` as a variable made of what initializes it."""
        for call in self.source.all_calls:
            written = (self.source.written(call.func) or "").replace("tensorflow.compat.v1.", "tensorflow.")
            if written != "tensorflow.get_variable":
                if written == "tensorflow.Variable" and any(
                    k.arg in ("collections", "expected_shape", "use_resource") for k in call.keywords
                ):
                    raise InTheWay("a variable has settings that have no counterpart", self.source.site(call))
                continue
            given = dict(zip(("name", "shape", "dtype", "initializer"), call.args, strict=False))
            given.update({k.arg: k.value for k in call.keywords if k.arg})
            if given.keys() - {"name", "shape", "initializer", "trainable"} or "name" not in given:
                raise InTheWay("a variable has settings that have no counterpart", self.source.site(call))
            value = given.get("initializer")
            if "shape" in given:
                if value is not None and not isinstance(value, ast.Call):
                    raise InTheWay("how a variable begins is not plain", self.source.site(call))
                maker = self.new.text(value) if value is not None else f"{self.alias}.{_GLOROT}()"
                begin = f"{maker}({self.new.text(given['shape'])})"
            elif value is not None:
                begin = self.new.text(value)
            else:
                raise InTheWay("a variable has no shape", self.source.site(call))
            parts = [begin, *(f"{key}={self.new.text(given[key])}" for key in ("trainable", "name") if key in given)]
            self.new.write(call, f"{self.alias}.Variable({', '.join(parts)})")

    def _globals(self) -> None:
        """What functions read of the program must not change after they are written."""
        counts: dict[str, int] = {}
        for statement in self.known.straight:
            if any(statement is tensor.statement for tensor in self.known.tensors):
                continue
            inside = isinstance(statement, (ast.For, ast.While))
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                for name in stores(statement):
                    counts[name] = counts.get(name, 0) + 1 + inside
        tensors = self._tensor_names()
        for function in self.functions.values():
            bound: set[str] = set(function.inputs)
            for tensor in function.statements:
                for name in tensor.reads - bound:
                    if name in tensors:
                        raise InTheWay(f"{name} is not bound where it is read", self.source.site(tensor.statement))
                    if counts.get(name, 0) > 1:
                        raise InTheWay(f"{name} changes while the graph is run", self.source.site(tensor.statement))
                bound |= set(tensor.binds)

    # --- the text

    def _assembled(self, core: _Function | None) -> str:
        lines = self.source.text.split("\n")
        known = self.known
        moved = {id(tensor.statement) for tensor in known.tensors}
        gone = moved | {id(s) for s in known.dropped} | {id(t.statement) for t in known.trainings.values()}
        starts = {id(s): self._first(s, lines) for s in known.straight}
        written = list(self.functions.values())
        if core is not None:
            written = [core, *(function for function in written if function is not core)]
        places = self._places(written)
        out: list[str] = []
        at, seam = 1, False
        for statement in known.straight:
            first, last = starts[id(statement)], statement.end_lineno or statement.lineno
            if first < at:
                raise InTheWay("two statements share a line", self.source.site(statement))
            between = self._between(range(at, first), lines)
            comments = self._comments(between) if id(statement) in gone else 0
            self._add(out, between[: len(between) - comments], seam)
            indent = statement.col_offset if statement.col_offset else 0
            if id(statement) not in gone:
                text = self.new.text(statement)
                head = lines[statement.lineno - 1][: statement.col_offset]
                decorators = lines[first - 1 : statement.lineno - 1]
                tail = lines[last - 1][len(lines[last - 1]) - self._behind(statement, lines) :]
                out += self._dedented([*decorators, *(head + text + tail).split("\n")], indent)
            if any(statement is training.statement for training in known.trainings.values()):
                out += self._optimizer_line(statement)
            at, seam = last + 1, id(statement) in gone
            here = [f for f in written if places[f.name] is statement]
            if here:
                out = self._without_blank_end(out)
                out += ["", "", *self._definitions(here, core), "", ""]
                while at <= len(lines) and not lines[at - 1].strip():
                    at += 1
        self._add(out, lines[at - 1 :], seam)
        return "\n".join(out)

    def _add(self, out: list[str], lines: list[str], seam: bool) -> None:
        """Put lines behind `out`; at a seam, where a statement went, no more than two empty ones are in a row."""
        while seam and lines and not lines[0].strip() and len(out) > 1 and not out[-1].strip() and not out[-2].strip():
            lines = lines[1:]
        out += lines

    def _places(self, functions: list[_Function]) -> dict[str, ast.stmt]:
        """By function, the statement after which it is written: the end of the graph, or the last one that it needs."""
        graph = [t.statement for t in self.known.tensors] + [t.statement for t in self.known.trainings.values()]
        first_run = min(self.source.site(run.call).line for run in self.known.runs)
        early = [statement for statement in graph if statement.lineno < first_run]
        if not early:
            raise InTheWay("no part of the graph is created before the first run", self.source.site(graph[0]))
        places = {}
        for function in functions:
            needed = [t.statement for t in function.statements]
            needed += [function.training.statement] if function.training is not None else []
            last = max(needed, key=lambda s: s.lineno, default=early[0])
            places[function.name] = last if last.lineno > first_run else max(early, key=lambda s: s.lineno)
        return places

    def _first(self, statement: ast.stmt, lines: list[str]) -> int:
        first = first_line(statement)
        if lines[statement.lineno - 1][: statement.col_offset].strip():
            raise InTheWay("two statements share a line", self.source.site(statement))
        return first

    def _behind(self, statement: ast.stmt, lines: list[str]) -> int:
        """How many characters of a statement's last line stand behind it: a comment."""
        site = self.source.site(statement)
        tail = lines[site.end_line - 1][site.end_column - 1 :]
        if ";" in tail.partition("#")[0]:
            raise InTheWay("two statements share a line", site)
        return len(tail)

    def _between(self, numbers: range, lines: list[str]) -> list[str]:
        """The lines between two statements, without the headers of the session's blocks, and as far left as what they are for."""
        found = []
        for number in numbers:
            around = [b for b in self.known.blocks if b.lineno <= number <= (b.end_lineno or b.lineno)]
            if not any(number < b.body[0].lineno and not lines[number - 1].strip().startswith("#") for b in around):
                line = lines[number - 1]
                indent = sum(b.body[0].col_offset - b.col_offset for b in around)
                found.append(line[min(indent, len(line) - len(line.lstrip())) :])
        return found

    def _comments(self, between: list[str]) -> int:
        """How many of the lines before a statement are comments of its own."""
        count = 0
        for line in reversed(between):
            if not line.strip().startswith("#"):
                break
            count += 1
        return count

    def _dedented(self, lines: list[str], indent: int) -> list[str]:
        if not indent:
            return lines
        inside = scan("\n".join(lines)).inside
        return [
            line if n in inside else line[min(indent, len(line) - len(line.lstrip())) :] for n, line in enumerate(lines)
        ]

    def _optimizer_line(self, statement: ast.stmt) -> list[str]:
        """The optimizer that was made in the line that trained."""
        training = next(t for t in self.known.trainings.values() if t.statement is statement)
        if isinstance(training.optimizer, ast.Name):
            return []
        many = len(self.known.trainings) > 1
        self._made[training.name] = self._free_name(f"{training.name}_optimizer" if many else "optimizer")
        return [f"{self._made[training.name]} = {self.new.text(training.optimizer)}"]

    def _definitions(self, functions: list[_Function], core: _Function | None) -> list[str]:
        own = set(map(id, self.functions.values()))
        texts = [self._definition(f, core if f is not core else None, decorated=id(f) in own) for f in functions]
        return "\n\n\n".join("\n".join(lines) for lines in texts).split("\n")

    def _definition(self, function: _Function, core: _Function | None, *, decorated: bool) -> list[str]:
        inputs = ", ".join(function.inputs)
        lines = [f"@{self.alias}.function(input_signature=[{inputs}])"] if decorated else []
        lines.append(f"def {function.name}({inputs}):")
        body: list[str] = []
        if core is not None:
            body.append(f"{', '.join(core.outputs)} = {core.name}({', '.join(core.inputs)})")
        for tensor in function.statements:
            if core is None or tensor not in core.statements:
                body += self._body(tensor.statement)
        training = function.training
        if training is not None:
            loss = self.new.text(training.loss)
            if not isinstance(training.loss, ast.Name):
                name = self._free_name("loss")
                body.append(f"{name} = {loss}")
                loss = name
            lines.append(f"    with {self.alias}.GradientTape() as tape:")
            lines += [f"        {line}" if line else line for line in body]
            chosen = self.new.text(training.variables) if training.variables is not None else "tape.watched_variables()"
            optimizer = self._made.get(training.name) or self.new.text(training.optimizer)
            lines.append(f"    variables = {chosen}")
            lines.append(f"    {optimizer}.apply_gradients(zip(tape.gradient({loss}, variables), variables))")
            if training.counter is not None:
                lines.append(f"    {self.new.text(training.counter)}.assign_add(1)")
        else:
            lines += [f"    {line}" if line else line for line in body]
        if function.outputs:
            lines.append(f"    return {', '.join(function.outputs)}")
        return lines

    def _body(self, statement: ast.stmt) -> list[str]:
        """A statement of the graph with its comments, at the left margin."""
        lines = self.source.text.split("\n")
        behind = self._behind(statement, lines)
        last = lines[(statement.end_lineno or statement.lineno) - 1]
        own = (self.new.text(statement) + last[len(last) - behind :]).rstrip().split("\n")
        above: list[str] = []
        line = statement.lineno - 1
        while line and lines[line - 1].strip().startswith("#") and statement.lineno not in self._commented:
            above.insert(0, lines[line - 1].strip())
            line -= 1
        self._commented.add(statement.lineno)
        indent = statement.col_offset
        first, *rest = own
        inside = scan("\n".join(own)).inside
        shifted = [
            each if n in inside else each[min(indent, len(each) - len(each.lstrip())) :]
            for n, each in enumerate(rest, 1)
        ]
        return [*above, first, *shifted]

    def _without_blank_end(self, lines: list[str]) -> list[str]:
        while lines and not lines[-1].strip():
            lines.pop()
        return lines
