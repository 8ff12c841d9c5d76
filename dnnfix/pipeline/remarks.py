"""What a report says besides the rules' findings: crashes that no rule explains, unreadable source, what was not
checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.pipeline.old_world import elsewhere, refused_by_python3
from dnnfix.records import (
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Crash,
    Finding,
    FindingOutcome,
    FindingResult,
    PatchVerdict,
    RunOutcome,
    Site,
    Symptom,
    Trace,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.suppress import silenced_lines, split

if TYPE_CHECKING:
    from dnnfix.synthesize.repairs import Repair


def misread(source: Source) -> tuple[str, ...]:
    """Notes on where the analysed text differs from the file's, as it had to be repaired before it could be parsed."""
    return tuple(f"the file as it stands: {note}" for note in source.recoveries)


def cut_short(subject: Subject) -> Iterator[str]:
    """A note where the program is too long for its network to be followed to its end, if the network was asked for."""
    network = vars(subject).get("source_network")
    if network is not None and network.cut:
        last = next((call.site for call in reversed(network.calls) if call.site is not None), None)
        where = f" after {subject.source.line_in_words(last.line, last.path)}" if last is not None else ""
        yield f"layers and losses{where}: the program is too long to be followed further; check its parts one by one"


def unreadable(source: Source) -> Iterator[FindingResult]:
    """The place at which Python cannot parse the program, where brackets, blocks or lines had to be repaired to go on.

    Also where only Python 2 parses it, if the rule that would report that is not installed.
    """
    refused, reason = (
        source.document.refused,
        "where it was meant to go on cannot be told; what follows was looked at all the same",
    )
    if refused is None and (refused := refused_by_python3(source)) is not None:
        (reason,) = elsewhere(source)
    if refused is not None and refused.line:
        from dnnfix.synthesize.at_crash import unexplained_at

        lines = source.document.own_lines
        line = min(refused.line, len(lines))
        site = Site(line, 1, line, len(lines[line - 1]) + 1)
        finding = unexplained_at(site, f"Python does not read the program: SyntaxError: {refused.message[:300]}")
        yield FindingResult(finding, FindingOutcome.DECLINED, reason)


def unexplained(source: Source, trace: Trace, outcome: Repair) -> Iterator[FindingResult]:
    """The crash of the program, where nothing has a finding for it: a crash is never reported as "no problem"."""
    from dnnfix.synthesize.at_crash import unexplained_crash

    explained = any(result.finding.symptom is Symptom.CRASH for result in outcome.results)
    explained = explained or any(patch.verdict is PatchVerdict.ACCEPTED for patch in outcome.patches)
    finding = unexplained_crash(source, trace)
    if finding is not None and not explained:
        yield FindingResult(
            finding, FindingOutcome.DECLINED, "no rule explains it, and no small edit was proven to remove it"
        )


def searchable(source: Source, trace: Trace, settings: Settings) -> bool:
    """Whether small edits may be searched for at the crash of a run: it is the program's own, and nothing silences it.

    A comment on the failing line silences the search whatever rule it names: its author knows of the fault.
    """
    from dnnfix.synthesize.at_crash import unexplained_crash

    finding = unexplained_crash(source, trace)
    if finding is None or not wanted(finding, source, settings):
        return False
    file = source.files.get(finding.site.path)
    return file is None or finding.site.line not in silenced_lines(file.text)


_NAME = re.compile(r"(?:name|variable) '(\w+)'")
_BY_TURNS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try)
_OF_NAMES = frozenset({"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError"})
_OF_BINDING = re.compile(
    r"positional argument|keyword argument|multiple values for|a leaf Variable|must be Tensor, not tuple|has no attribute"
)
_OWNER = re.compile(r"(?:type object )?'(\w+)'(?: object)? has no attribute")


def whatever_the_data(source: Source, trace: Trace) -> bool:
    """Whether a program would crash in the same way on any data: by a name, or by how one of its own calls is written."""
    crash = trace.crash
    if crash is None or crash.site is None:
        return False
    if crash.kind.rpartition(".")[2] in _OF_NAMES:
        return not _is_bound_by_turns(source, crash)
    owner = _OWNER.search(crash.message)
    if owner is not None:
        return any(node.name == owner.group(1) for file in source.files.values() for node in file.nodes(ast.ClassDef))
    return _OF_BINDING.search(crash.message) is not None


def _is_bound_by_turns(source: Source, crash: Crash) -> bool:
    """Whether a missing name is one that the file binds in a loop or a branch, which no turn came to on these data."""
    name = _NAME.search(crash.message)
    file = source.files.get(crash.site.path) if crash.site is not None and name is not None else None
    if file is None or name is None:
        return False
    stores = (node for node in file.nodes(ast.Name) if node.id == name[1] and isinstance(node.ctx, ast.Store))
    return any(file.enclosing(node, *_BY_TURNS) is not None for node in stores)


def doubt(finding: Finding, source: Source) -> str:
    """The caveat for a crash that no rule explains, in a program that ran on synthetic data or stubs only."""
    said = finding.message.removeprefix("the program crashes: ")
    return f"the program beyond {source.line_in_words(finding.site.line, finding.site.path)}: on what was made up it crashes there, with {said}"


def heard_of_training(source: Source, settings: Settings) -> Callable[[Finding], bool] | None:
    """A predicate for findings about training that the user wants reported; `None` if those are switched off."""
    if not settings.enabled(UNLEARNED_CODE, UNLEARNED_RULE):
        return None
    return lambda finding: wanted(finding, source, settings)


def wanted(finding: Finding, source: Source, settings: Settings) -> bool:
    """Whether the user wants a finding reported that no template made."""
    enabled = settings.enabled(finding.code, finding.rule)
    return enabled and bool(split([finding], source.text, source.path, settings).kept)


def unrun(trace: Trace) -> bool:
    """Whether the run ended before the program showed anything, for a reason that lies outside of it."""
    told = trace.outcome.says_something and trace.outcome is not RunOutcome.EXITED
    return not told and not trace.steps


def unchecked(source: Source, trace: Trace, outcome: Repair, failures: list[str]) -> tuple[str, ...]:
    """What was not checked, and why; never empty, since no run shows everything."""
    from dnnfix.run.advice import ending

    said: list[str] = []
    if not trace.outcome.says_something:
        said.append(f"the program's behaviour: {ending(trace)}")
    if trace.outcome is RunOutcome.EXITED:
        said.append(f"what comes after the program's end: {ending(trace)}")
    if trace.crash is not None and trace.crashed_after_cut:
        place = f" at {source.line_in_words(trace.crash.site.line, trace.crash.site.path)}" if trace.crash.site else ""
        said.append(
            f"the end of the program: it stopped{place} with {trace.crash.kind} after its loops were cut to the budget, "
            "which may be the cut's doing"
        )
    for site in trace.cut:
        said.append(
            f"the loop at {source.line_in_words(site.line, site.path)} beyond {len(trace.steps)} optimizer steps"
        )
    if trace.outcome.says_something and not trace.steps:
        said.append("training of the program as it is: it took no optimizer step")
    if trace.on_invented_data and trace.network is not None and trace.network.calls:
        said.append("whether loss and output fit the amounts in the data, which were made up")
    said.extend(outcome.unchecked)
    said.extend(dict.fromkeys(failures))
    said.append("code that this run did not reach, except by reading it")
    return tuple(said)
