"""Records of a reproduction: the edit actions, the scaffold, and what was made up so that a program runs."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from dnnfix.records.record import record


class EditAction(StrEnum):
    """The ten edit actions of the study of reproducing deep-learning bugs (Shah et al., Table 3), in its order."""

    INPUT_DATA = "input-data-generation"
    NETWORK = "neural-network-construction"
    HYPERPARAMETERS = "hyperparameter-initialization"
    IMPORTS = "import-addition"
    LOGGING = "logging"
    OBSOLETE_PARAMETERS = "obsolete-parameter-removal"
    COMPILER_ERRORS = "compiler-error-resolution"
    DATASETS = "dataset-procurement"
    MODELS = "model-download"
    VERSIONS = "version-migration"


@record
class Scaffold:
    """Code around a program that lets it run; the program's own statements stay as they are.

    `start` runs before the program and `end` after it, both in its namespace. `definitions` are (name, code): the code
    runs before the first statement at module level that needs the name, once what the code itself needs is there.
    `literals` are (old, new): string constants of the program that read as the new one, paths of made files mostly.
    `arguments` are what the program is called with, where the user gave none. `opened` are handlers of exceptions that let
    through what they swallow, by the path of their file and their number in it. `sizes` are (name, most): whole numbers that the
    program binds to the name read as that where they are larger.
    """

    start: str = ""
    definitions: tuple[tuple[str, str], ...] = ()
    end: str = ""
    literals: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    opened: tuple[tuple[str, int], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def defining(self) -> str:
        """The code of the definitions: what a program lacks that names no framework can be read from their imports."""
        return "\n".join(code for _, code in self.definitions)


@record
class EditStep:
    """One application of an edit action.

    `what` says in a line what was made or changed, `evidence` where its form was taken from ("line 12: # (60000, 28, 28)",
    "the documented shape of the data set"; "a guess" where nothing told). `invented` is whether anything was made up,
    `form_known` whether that is its numbers only, as with random weights in an architecture of a library.
    """

    action: EditAction
    what: str
    evidence: str
    line: int | None = None
    invented: bool = True
    scaffold: Scaffold = field(default_factory=Scaffold)
    form_known: bool = False

    def __str__(self) -> str:
        """The step in one line: the action, where, what, and after what."""
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{self.action.value}: {where}{self.what} ({self.evidence})"


@record
class Reproduction:
    """The steps that were taken, the code that they make together, and what is still missing, one line each."""

    steps: tuple[EditStep, ...] = ()
    scaffold: Scaffold = field(default_factory=Scaffold)
    missing: tuple[str, ...] = ()

    @property
    def invents(self) -> bool:
        """Whether anything is synthetic, so that what the program does may be due to that."""
        return any(step.invented for step in self.steps)

    @property
    def invents_data(self) -> bool:
        """Whether data are synthetic whose contents no documentation states, so that their values mean nothing."""
        return any(step.invented and step.action is EditAction.INPUT_DATA for step in self.steps)

    @property
    def invents_form(self) -> bool:
        """Whether shapes, types or names of anything were guessed, so that a crash may be due to that."""
        return any(step.invented and not step.form_known for step in self.steps)
