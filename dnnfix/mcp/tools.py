"""The tools: what each is called, when an agent should use it, what it takes and answers, and what does its work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic import TypeAdapter, ValidationError

from dnnfix.errors import InputError
from dnnfix.mcp import answers, arguments, work
from dnnfix.mcp.guard import Guard
from dnnfix.mcp.places import placed
from dnnfix.mcp.story import explain

INSTRUCTIONS = """dnnfix finds faults in deep-learning programs (PyTorch, Keras, TensorFlow), writes patches and proves each by running the \
program before and after in a sandbox. Use `check` after you edited such a program: it reads, runs nothing and takes a moment. Use `suggest` \
where a program crashes, does not learn or learns badly: it takes a minute or more, and gives a patch with its proof. No tool changes a \
file: apply a diff yourself (`git apply`), then call `suggest` again. A patch that is not `accepted` is not proven."""


@dataclass(frozen=True)
class Task:
    """Work for a process of its own: what to do, and the working folder to do it in."""

    work: Callable[[work.Progress], Any]
    folder: Path


@dataclass(frozen=True)
class Tool:
    """A tool. `begin` makes of a guard, the client's folders and the arguments what is to be done; it raises `InputError`."""

    name: str
    title: str
    description: str
    takes: type
    gives: type
    begin: Callable[[Guard, tuple[Path, ...], Any], Task]
    runs: bool = False
    """Whether programs are run, which is done one call after another."""

    @cached_property
    def _taken(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.takes)

    @cached_property
    def _given(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.gives)

    def listed(self) -> Listed:
        """The tool as clients list it."""
        return Listed(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_untitled(self._taken.json_schema()),
            output_schema=_untitled(self._given.json_schema(mode="serialization")),
            # Certificates and caches in the user's cache folder are all that is ever written.
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )

    def taken(self, given: dict[str, Any]) -> Any:
        """The arguments of a call. Raises `InputError` where they do not fit the schema."""
        try:
            return self._taken.validator.validate_python(given)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False, include_input=False)
            said = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in wrong[:3])
            names = ", ".join(f"`{name}`" for name in self._taken.json_schema()["properties"])
            raise InputError(f"{self.name} takes {names}. Not taken: {said}") from None

    def given(self, answer: object) -> dict[str, Any]:
        """The answer of a call as plain data."""
        made: dict[str, Any] = self._given.dump_python(answer, mode="json")
        return made


def _untitled(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of names: each client keeps all of it in its context."""
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}
        return {key: _untitled(value) for key, value in kept.items()}
    return [_untitled(one) for one in schema] if isinstance(schema, list) else schema


def _check(guard: Guard, folders: tuple[Path, ...], given: arguments.OfCheck) -> Task:
    folder, path = placed(given.path, folders)
    return Task(partial(work.check, guard, folders, path), folder)


def _suggest(guard: Guard, folders: tuple[Path, ...], given: arguments.OfSuggest) -> Task:
    folder, path = placed(given.path, folders)
    return Task(partial(work.suggest, guard, folders, path, given.budget), folder)


def _reproduce(guard: Guard, folders: tuple[Path, ...], given: arguments.OfReproduce) -> Task:
    folder, path = placed(given.path, folders)
    return Task(partial(work.reproduce, guard, path, given.budget, given.script), folder)


def _verify(guard: Guard, folders: tuple[Path, ...], given: arguments.OfVerify) -> Task:
    return Task(partial(work.verify, guard, folders, given.certificate), folders[0])


def _explain(guard: Guard, folders: tuple[Path, ...], given: arguments.OfExplain) -> Task:
    return Task(partial(explain, guard, given.rule), folders[0])


TOOLS = (
    Tool(
        "check",
        "Read deep-learning programs for faults",
        "Look for faults in the source of deep-learning programs without running anything; a file takes about a second. Use it after "
        "you wrote or changed code that builds, trains or evaluates a network, and on whole folders. Findings have a rule's code, which "
        "`explain` tells about. Nothing is proven here: most faults show only in a run, which `suggest` makes.",
        arguments.OfCheck,
        answers.Checked,
        _check,
    ),
    Tool(
        "suggest",
        "Find faults by running, and prove patches",
        "Run a deep-learning program in a sandbox (no network, on a budget), find why it crashes, does not learn or learns badly, and prove patches by running "
        "it before and after. Use it where a training fails or its results are poor, and before you say that such a program is right. "
        "Takes a minute or more for each program and tells its progress. It changes no file. Of the patches, apply an `accepted` one with `git apply` in `folder` and call "
        "`suggest` again; apply a `partial` one to get further; of several `choice`s take the one that the program's author means, and ask where you do not know. "
        "Read `unchecked` and `left_out` before you conclude that nothing is wrong. A module is run through a program of its repository that uses it.",
        arguments.OfSuggest,
        answers.Suggested,
        _suggest,
        runs=True,
    ),
    Tool(
        "reproduce",
        "Make a program, or that of a bug report, run",
        "Make a deep-learning program run that does not run as it stands (data, files, weights, imports, arguments or a GPU are missing), without touching its fault, or "
        "the program in a bug report in Markdown, and say whether the reported symptom appears. Use it to see a bug before you look for its cause; to repair, use `suggest`, which does the same first. "
        "Everything that is made up is listed. It changes no file.",
        arguments.OfReproduce,
        answers.Reproduced,
        _reproduce,
        runs=True,
    ),
    Tool(
        "explain",
        "Explain a rule",
        "What a rule finds, why that is a fault, how it is repaired and how safe the repair is, with examples. Use it on the `code` of a finding before you change code because of it.",
        arguments.OfExplain,
        answers.Explained,
        _explain,
    ),
    Tool(
        "verify",
        "Run the proof of a patch again",
        "Repeat the proof of an accepted patch from its certificate, with the patch applied or not, and say in what it differs. Use it after you applied a patch of `suggest`, "
        "or to check a certificate that somebody gave you. A program that was changed otherwise is refused: call `suggest` then.",
        arguments.OfVerify,
        answers.Verified,
        _verify,
        runs=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
