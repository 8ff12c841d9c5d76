"""Edit action: import addition and dependency resolution. Adds imports, and stubs for packages that only show or log.

An undefined name with one common meaning is imported. A package that is not installed and only shows or logs something
is replaced by a stub. A package that computes something is not: it is reported as missing. Names and modules that a
release removed are faults of the program and stay as they are.
"""

from __future__ import annotations

import ast
import os.path
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dnnfix.detect.crashes.undefined import Undefined, starred
from dnnfix.detect.versioning.names import tables_for
from dnnfix.libraries import SUCCESSORS
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import conventions, standin
from dnnfix.reproduce.actions import environments, packages
from dnnfix.reproduce.beside import everywhere, home_of, lies_beside
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import readers
from dnnfix.reproduce.syntax import bound_names, call_of, named
from dnnfix.run.probe.program.removed_modules import OLD_PYTHON
from dnnfix.run.visible import repository_of
from dnnfix.source import names
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.spelling import misspelt
from dnnfix.source.tree import is_main_part

ACTION = EditAction.IMPORTS


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Missing imports, stubs for missing packages and modules, and gaps for those that cannot be replaced."""
    yield from packages.steps(case)
    yield from _undefined(case)
    yield from everywhere(_missing, case)
    yield from _drawing(case)


# --- names that nothing binds


def _undefined(case: Case) -> Iterator[EditStep | Gap]:
    stars = starred(case.source)
    for name in case.undefined:
        if case.may_be_starred(name.name):
            continue
        if any(names.star_export(module, name.name) for module in stars or ()):
            continue
        target = _meaning(case, name)
        if target is None and _only_shows(case.source, name):
            yield EditStep(
                ACTION,
                f"{name.name} does nothing",
                "nothing in the program binds it; its name says that it shows something, and nothing uses its result",
                name.line,
                scaffold=Scaffold(definitions=((name.name, f"{name.name} = made_ignored"),)),
            )
        elif target is None:
            yield from _ambiguous(case, name)
        elif not _removed(case.source, target) and case.installed(target.partition(".")[0]):
            yield EditStep(
                ACTION,
                f"{name.name} is imported: {_statement(name.name, target)}",
                "nothing in the program binds it; this is what the name means by custom",
                name.line,
                invented=False,
                scaffold=Scaffold(definitions=((name.name, _guarded(_statement(name.name, target))),)),
            )


def _meaning(case: Case, name: Undefined) -> str | None:
    """The full name of what an unbound name means by custom in this program."""
    source = case.source
    if name.name in conventions.OLD_NAMES or misspelt(name.name, bound_names(source) - {name.name}):
        return None
    target = names.usual(name.name, source.frameworks or _spoken(source, case.said), foreign_stars=False)
    if target is None:
        target = conventions.NAMES.get(name.name)
        if target is not None and name.name in conventions.TORCH_ONLY and "torch" not in source.frameworks:
            return None
        if target is not None and target.startswith("keras.") and source.frameworks == {"torch"}:
            return None
    called = conventions.CALLED.get(name.name)
    if called is not None and _is_called(source, name.name):
        return called
    return _at_home(source, target) if target is not None else None


def _spoken(source: Source, said: str) -> frozenset[str]:
    """The framework that a snippet without any import speaks of, by the methods that it calls, else by what a report says of it."""
    called = {node.attr for node in source.nodes(ast.Attribute)}
    keras = bool(called & {"compile", "fit", "predict", "evaluate", "fit_generator"})
    torch = bool(called & {"backward", "zero_grad", "parameters", "state_dict", "cuda"})
    if not keras and not torch:
        keras, torch = "keras" in said.lower(), "torch" in said.lower()
    return frozenset(["torch"] if torch and not keras else ["keras"] if keras and not torch else [])


def _at_home(source: Source, target: str) -> str:
    """The name as the program's own copy of Keras has it: `tensorflow.keras` where only that is imported."""
    if not target.startswith("keras"):
        return target
    roots = {module.partition(".")[0] for _name, module in source.imported_names}
    return f"tensorflow.{target}" if "tensorflow" in roots and "keras" not in roots else target


def _ambiguous(case: Case, name: Undefined) -> Iterator[Gap]:
    """What is missing where two frameworks have the name and the program speaks of both, or of neither."""
    torch = names.usual(name.name, frozenset(["torch"]), False)
    keras = names.usual(name.name, frozenset(["keras"]), False)
    spoken = case.source.frameworks or _spoken(case.source, case.said)
    if torch and keras and names.usual(name.name, spoken, False) is None:
        yield Gap(f"nothing binds {name.name}; it may be {torch} or {keras}: add the import that was meant", name.line)


def _only_shows(source: Source, name: Undefined) -> bool:
    return name.name.lower().startswith(_SHOWS) and _unused(named(source, name.name), source)


def _is_called(source: Source, name: str) -> bool:
    """Whether the name itself is called rather than something in it."""
    uses = named(source, name)
    return bool(uses) and all(call_of(source, node) is not None for node in uses)


def _removed(source: Source, target: str) -> bool:
    """Whether a release took the name, or the module it is in, away."""
    parts = names.canonical(target).split(".")
    for table in tables_for(source):
        name = table.name(".".join(parts))
        if name is not None and not name.deprecated:
            return True
        for end in range(len(parts), 0, -1):
            module = table.module(".".join(parts[:end]))
            if module is not None and not module.deprecated:
                return True
    return False


def _statement(name: str, target: str) -> str:
    module, _dot, last = target.rpartition(".")
    if not module:
        return f"import {target}" if target == name else f"import {target} as {name}"
    return f"from {module} import {last}" if last == name else f"from {module} import {last} as {name}"


def _guarded(statement: str) -> str:
    """The import, or nothing where the installed release does not have it: then the program ends as it did before."""
    return f"try:\n    {statement}\nexcept ImportError:\n    pass"


# --- packages and modules that are not there


@dataclass
class _Wanted:
    """A module that is not there: where it is first imported, and what the program takes from each of its parts."""

    line: int
    parts: dict[str, dict[str, list[ast.expr]]] = field(default_factory=dict)
    whole: bool = False
    """Whether the program takes everything from it, or uses it in ways that do not tell what it has."""
    sure: bool = False
    """Whether it is imported whenever the program is run, and not only in a branch or a function."""


def _missing(case: Case) -> Iterator[EditStep | Gap]:
    for root, wanted in wanted_modules(case.source).items():
        part = next(
            (p for p in conventions.SILENT_PARTS for name in wanted.parts if (name + ".").startswith(p + ".")), None
        )
        if part is not None:
            yield _silent(part, wanted.line)
        elif not (case.installed(root) or lies_beside(root, case) or root in OLD_PYTHON or _goes_on(case, root)):
            found = _stand_in(root, wanted, case)
            if isinstance(found, EditStep) or wanted.sure or _missed(case, root):
                yield found


def _missed(case: Case, root: str) -> bool:
    """Whether the last run ended because a module is not there."""
    return case.crash is not None and re.search(rf"No module named '?{root}\b", case.crash.message) is not None


def _goes_on(case: Case, root: str) -> bool:
    """Whether a package is there under the name that it has today, so that the program is to be brought up to date."""
    return root in SUCCESSORS and case.installed(SUCCESSORS[root])


_FRAMEWORKS = frozenset(["torch", "keras", "tensorflow"])
"""Packages of which nothing is made, whatever a program takes from them."""


def _stand_in(root: str, wanted: _Wanted, case: Case) -> EditStep | Gap:
    source = case.source
    if root in conventions.SILENT:
        return _silent(root, wanted.line)
    if case.folder is not None and (home := home_of(root, repository_of(case.folder))) is not None:
        return _on_the_path(root, os.path.relpath(home, case.folder), wanted.line)
    if root in environments.PACKAGES and not wanted.whole:
        found = environments.step(root, wanted.line, wanted.parts, source)
        if found is not None:
            return found
    if _is_idle(root, wanted, source):
        return _silent(root, wanted.line, "it is not installed, and nothing of it is ever used")
    made = _made(wanted, case) if root not in _FRAMEWORKS else None
    if made is None and root in conventions.PACKAGES and not (root == "datasets" and _not_the_hubs(wanted)):
        package = conventions.INSTALLED_AS.get(root, root.replace("_", "-"))
        return Gap(f"the package {root!r} is not installed for the interpreter: pip install {package}", wanted.line)
    if made is not None:
        members = sorted({name for taken in wanted.parts.values() for name in taken})
        told = ["it is not beside the program; what these do is told by their names and uses, a guess"]
        return EditStep(
            ACTION,
            f"the module {root!r} is made, with {', '.join(members)}",
            "; ".join([*told, *(said for _, said in made if said)]),
            wanted.line,
            scaffold=Scaffold(start="\n".join(code for code, _ in made)),
        )
    members = sorted({name for taken in wanted.parts.values() for name in taken})
    of = f"; the program takes {', '.join(members)} from it" if members else ""
    return Gap(
        f"the module {root!r} is not beside the program, and it is no package that dnnfix knows{of}: "
        "put its file there or install it",
        wanted.line,
    )


def _on_the_path(root: str, folder: str, line: int) -> EditStep:
    return EditStep(
        ACTION,
        f"the module {root!r} is found in {folder}",
        "no other folder of the repository has a module of that name; run as it stands, the program does not look there",
        line,
        invented=False,
        scaffold=Scaffold(start=f"made_on_the_path({folder!r})"),
    )


def _not_the_hubs(wanted: _Wanted) -> bool:
    """Whether a module called `datasets` is the program's own: the package of that name has other members."""
    return not any(
        {"load_dataset", "Dataset", "DatasetDict", "load_from_disk"} & taken.keys() for taken in wanted.parts.values()
    )


def _is_idle(root: str, wanted: _Wanted, source: Source) -> bool:
    """Whether the program uses nothing of what it imports from a package, and the import itself does nothing either.

    Packages of environments name these to gym when they are imported.
    """
    used = any(uses for taken in wanted.parts.values() for uses in taken.values())
    return not (used or wanted.whole or root in _FRAMEWORKS or source.words & {"gym", "gymnasium"})


_SHOWS_SOMETHING = (
    "it is not installed, and it only shows, logs or dresses something up; values pass through it as they are"
)


def _silent(package: str, line: int, why: str = _SHOWS_SOMETHING) -> EditStep:
    return EditStep(
        ACTION,
        f"{package} does nothing",
        why,
        line,
        scaffold=Scaffold(start=f"made_silent({package!r})"),
    )


@once
def wanted_modules(source: Source) -> dict[str, _Wanted]:
    """What the program imports, by top-level module, without imports whose failure it handles itself."""
    found: dict[str, _Wanted] = {}
    statements: list[ast.Import | ast.ImportFrom] = [*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)]
    for node in sorted(statements, key=lambda n: n.lineno):
        if _handles_failure(source, node):
            continue
        sure = _is_sure(source, node)
        if isinstance(node, ast.Import):
            for alias in node.names:
                wanted = found.setdefault(alias.name.partition(".")[0], _Wanted(node.lineno))
                wanted.sure |= sure
                bound = alias.asname or alias.name.partition(".")[0]
                _take_attributes(source, wanted, alias.name, bound, alias.name if alias.asname is None else "")
        elif node.module and not node.level:
            wanted = found.setdefault(node.module.partition(".")[0], _Wanted(node.lineno))
            wanted.sure |= sure
            taken = wanted.parts.setdefault(node.module, {})
            for alias in node.names:
                if alias.name == "*":
                    wanted.whole = True
                else:
                    taken.setdefault(alias.name, []).extend(named(source, alias.asname or alias.name))
    return found


def _is_sure(source: Source, node: ast.AST) -> bool:
    """Whether a statement is carried out whenever its file is: in the program itself also where that is the main module."""
    around = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.If)
    return around is None or is_main_part(around) and source.within is None and _is_sure(source, around)


def _take_attributes(source: Source, wanted: _Wanted, module: str, bound: str, dotted: str) -> None:
    """Note which attributes of an imported module the program uses; `dotted` is how it writes a part of a package."""
    taken = wanted.parts.setdefault(module, {})
    for use in named(source, bound):
        node: ast.expr = use
        for part in dotted.split(".")[1:]:
            above = source.parent(node)
            if not (isinstance(above, ast.Attribute) and above.attr == part):
                break
            node = above
        above = source.parent(node)
        if isinstance(above, ast.Attribute):
            taken.setdefault(above.attr, []).append(above)
        else:
            wanted.whole = True


def _handles_failure(source: Source, node: ast.AST) -> bool:
    """Whether the import stands in a `try` that takes its failure, or in the handler of one."""
    guard = source.enclosing(node, ast.Try)
    if guard is None:
        return False
    caught = {
        part.id for handler in guard.handlers for part in ast.walk(handler.type or guard) if isinstance(part, ast.Name)
    }
    return any(handler.type is None for handler in guard.handlers) or bool(
        caught & {"ImportError", "ModuleNotFoundError", "Exception"}
    )


# --- what a module of the program's own may have, where its name and use tell

_SHOWS = tuple(words("plot plt show draw display visuali print log save_plot save_fig savefig progress"))
_FOLDERS = words("mk_dir mkdir mkdirs mkdir_p make_dir makedir makedirs create_dir ensure_dir")
_TAGS = frozenset(["find", "find_all", "findAll", "select", "select_one", "prettify", "children", "descendants"])
"""What asks a page for its parts: without these words only its text is asked for."""
_Made = tuple[str, str]
"""Code, and what is made in words, where its name does not say it."""


def _made(wanted: _Wanted, case: Case) -> list[_Made] | None:
    """The code that makes the parts of a module; `None` where one of its members is unknown."""
    if wanted.whole:
        return None
    made: list[_Made] = []
    for module, members in wanted.parts.items():
        values = {name: _member(module, name, uses, case) for name, uses in members.items()}
        known = {name: value for name, value in values.items() if value is not None}
        if len(known) != len(values) or not values:
            return None
        given = ", ".join(f"{name}={code}" for name, (code, _) in known.items())
        said = "; ".join(f"{name} gives {words}" for name, (_, words) in known.items() if words)
        made.append((f"made_module({module!r}, {given})", said))
    return made or None


def _member(module: str, name: str, uses: list[ast.expr], case: Case) -> _Made | None:
    """What a member of a module that is not there is made of."""
    known = _known_member(module, name, uses, case.source)
    if known is not None:
        return known, ""
    given = readers.of_module(case, f"{module}.{name}") if uses else None
    return (given.code, f"{given.words} ({given.evidence})") if given is not None else None


def _known_member(module: str, name: str, uses: list[ast.expr], source: Source) -> str | None:
    """The stand-in for a member of a module that is not there, where its name and use tell what it does."""
    if name == "read_data_sets" and module.rpartition(".")[2] == "input_data":
        return "made_read_data_sets"
    if module == "tensorflow_datasets":
        asked = [part.value for use in uses for part in _arguments(source, use) if isinstance(part, ast.Constant)]
        known = all(str(text).partition(":")[0].partition("/")[0] in conventions.TFDS for text in asked)
        return {"load": "made_tfds_load" if known else None, "as_numpy": "made_tfds_numpy"}.get(name)
    if (module, name) == ("theano", "config"):
        return "made_theano_config" if all(_is_setting(source, use) for use in uses) else None
    if name == "BeautifulSoup" and source.words.isdisjoint(_TAGS):
        return "made_BeautifulSoup"
    if name == "AverageMeter":
        return "made_AverageMeter"
    if name.lower() in _FOLDERS and _unused(uses, source):
        return "made_new_folder"
    if name == "accuracy" and any(_keyword(source, use, "topk") for use in uses):
        return "made_accuracy"
    if uses and name.lower().startswith(_SHOWS) and _unused(uses, source):
        return "made_ignored"
    return None


def _is_setting(source: Source, config: ast.expr) -> bool:
    """Whether a setting of Theano is stored, or read that the class in its place has."""
    setting = source.parent(config)
    if not isinstance(setting, ast.Attribute):
        return False
    return isinstance(setting.ctx, ast.Store) or setting.attr in standin.attributes("made_theano_config")


def _unused(uses: Sequence[ast.expr], source: Source) -> bool:
    """Whether every use is a call whose result is thrown away."""
    calls = [call_of(source, use) for use in uses]
    return all(call is not None and isinstance(source.parent(call), ast.Expr) for call in calls)


def _arguments(source: Source, use: ast.expr) -> list[ast.expr]:
    """The first argument of a call of `use`."""
    call = call_of(source, use)
    return call.args[:1] if call is not None else []


def _keyword(source: Source, use: ast.expr, name: str) -> bool:
    call = source.parent(use)
    return isinstance(call, ast.Call) and any(keyword.arg == name for keyword in call.keywords)


# --- pictures of networks

_DRAWS = ("plot_model", "model_to_dot")
_DREW = {"plot": "plot_model", "to_graph": "model_to_dot"}
"""What these functions were called in `keras.utils.visualize_util`, as Keras 1 had them."""


def _drawing(case: Case) -> Iterator[EditStep]:
    """Functions of Keras that draw the network with programs that are not installed, by today's and by former names."""
    if any(case.installed(module) for module in ("pydot", "pydot_ng", "pydotplus")) and shutil.which("dot"):
        return
    drawn: dict[str, int] = {}
    for call in case.source.all_calls:
        module, _dot, name = (case.source.qualified(call.func) or "").rpartition(".")
        if module.startswith("keras.utils"):
            name = _DREW.get(name, name) if "visualize_util" in module else name
            if name in _DRAWS:
                drawn.setdefault(name, call.lineno)
    for name, line in drawn.items():
        roots = ("keras.utils", "tensorflow.keras.utils", "keras.src.utils.model_visualization")
        yield EditStep(
            ACTION,
            f"{name} draws nothing",
            "pydot or Graphviz, which it needs, is not installed",
            line,
            scaffold=Scaffold(
                start="\n".join(f"made_in_place_of({f'{root}.{name}'!r}, made_without_picture)" for root in roots)
            ),
        )
