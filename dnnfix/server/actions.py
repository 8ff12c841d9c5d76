"""What an editor offers at a finding: patches, a proof, a comment that silences it, its story; and all safe patches at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol.types import CodeAction, CodeActionContext, CodeActionKind, Command, Diagnostic, Range, WorkspaceEdit

from dnnfix.emit.choice import chosen
from dnnfix.errors import InputError
from dnnfix.records import Applicability, FileReport, FindingResult, Patch, PatchVerdict
from dnnfix.server.checked import Checked
from dnnfix.server.diagnostics import diagnostic
from dnnfix.server.edits import Editor
from dnnfix.server.suppression import suppressed

PROVE, EXPLAIN, SHOW_DIFF = "dnnfix.prove", "dnnfix.explain", "dnnfix.showDiff"
"""Commands that the server carries out."""
FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.dnnfix"
PROVE_ALL = f"{CodeActionKind.Source.value}.dnnfix.prove"
KINDS = (CodeActionKind.QuickFix.value, FIX_ALL, PROVE_ALL)

_WORDS = {
    PatchVerdict.ACCEPTED: "proven",
    PatchVerdict.PARTIAL: "proven in part",
    PatchVerdict.CHOICE: "one of several that hold",
    PatchVerdict.UNVALIDATED: "not proven",
}


def actions(
    checked: Checked, proven: FileReport | None, uri: str, wanted: Range, context: CodeActionContext, editor: Editor
) -> Iterator[CodeAction]:
    """The actions for a range of a document; `proven` is what `suggest` said of just this text."""
    if _asked(context, CodeActionKind.QuickFix.value):
        for result, place in checked.at(uri, wanted):
            yield from _for_finding(checked, proven, result, diagnostic(result, place), editor)
    if _asked(context, FIX_ALL) and checked.report.findings:
        yield from _fix_all(checked, editor)
    if _asked(context, PROVE_ALL) and checked.source.frameworks:
        title = "Find faults and prove patches by running the program"
        yield CodeAction(title, kind=PROVE_ALL, command=Command("Prove", PROVE, arguments=[checked.program.uri, ""]))


def _asked(context: CodeActionContext, kind: str) -> bool:
    """Whether the client wants actions of that kind: it names it, or one that it is a part of."""
    return not context.only or any(f"{kind}.".startswith(f"{wanted}.") for wanted in context.only if wanted)


def _for_finding(
    checked: Checked, proven: FileReport | None, result: FindingResult, shown: Diagnostic, editor: Editor
) -> Iterator[CodeAction]:
    finding, uri = result.finding, checked.program.uri
    certain = _proven_for(result, proven)
    told = {patch.diff for patch in certain}
    offered = [*certain, *(patch for patch in checked.patches_of(result) if patch.diff not in told)]
    preferred = False
    drafts = 0
    for patch in offered:
        edit = _edit(checked, [patch], editor)
        if edit is None:
            continue
        safe = patch.candidate.applicability is Applicability.SAFE
        yield CodeAction(
            titled(patch),
            kind=CodeActionKind.QuickFix,
            diagnostics=[shown],
            edit=edit,
            is_preferred=True if safe and not preferred else None,
        )
        preferred |= safe
        drafts += patch.verdict is PatchVerdict.UNVALIDATED
        if patch.verdict is not PatchVerdict.UNVALIDATED:
            yield _command(f"Show the diff: {patch.candidate.title}", SHOW_DIFF, [uri, patch.id], shown)
    if drafts or not offered:
        title = "Prove this patch by running" if drafts else "Find and prove a patch by running"
        yield _command(title, PROVE, [uri, finding.id], shown)
    if (line := suppressed(checked, finding)) is not None:
        edit = editor.lines(*line)
        title = f"Silence {finding.code} on this line"
        yield CodeAction(title, kind=CodeActionKind.QuickFix, diagnostics=[shown], edit=edit)
    yield _command(f"Explain {finding.code} {finding.rule}", EXPLAIN, [finding.code], shown)


def _command(title: str, name: str, arguments: list[str], shown: Diagnostic) -> CodeAction:
    command = Command(title, name, arguments=[*arguments])
    return CodeAction(title, kind=CodeActionKind.QuickFix, diagnostics=[shown], command=command)


def titled(patch: Patch) -> str:
    """What a patch does, and what is known of it."""
    safe = "" if patch.candidate.applicability is Applicability.SAFE else ", changes what is trained"
    return f"{patch.candidate.title} ({_WORDS.get(patch.verdict, patch.verdict.value)}{safe})"


def offerable(report: FileReport) -> list[Patch]:
    """The patches of a proof that a person may take, best first."""
    taken = (PatchVerdict.ACCEPTED, PatchVerdict.PARTIAL, PatchVerdict.CHOICE)
    shown = (p for p in report.patches if p.verdict in taken and p.diff)
    return sorted((p for p in shown if _applicable(p)), key=lambda patch: patch.rank)


def _proven_for(result: FindingResult, proven: FileReport | None) -> list[Patch]:
    """The proven patches that concern a finding: they are for its site, or for its rule on its line."""
    if proven is None:
        return []
    own = result.finding
    named = {
        id
        for other in proven.findings
        if other.finding.id == own.id
        or (other.finding.code == own.code and other.finding.site.line == own.site.line and not other.finding.site.path)
        for id in other.patches
    }
    return [patch for patch in offerable(proven) if patch.id in named]


def _fix_all(checked: Checked, editor: Editor) -> Iterator[CodeAction]:
    safe = chosen(checked.with_patches, unsafe=False, drafts=True)
    edit = _edit(checked, safe, editor) if safe else None
    if edit is not None:
        number = f"{len(safe)} safe patch{'' if len(safe) == 1 else 'es'}"
        yield CodeAction(f"Apply {number} of dnnfix", kind=FIX_ALL, edit=edit)


def _edit(checked: Checked, patches: Sequence[Patch], editor: Editor) -> WorkspaceEdit | None:
    """The edit of patches; `None` where it cannot be carried out on the text as it is, or a person has to make it."""
    if not all(map(_applicable, patches)):
        return None
    try:
        return editor.patches(checked.program, patches)
    except InputError:
        return None


def _applicable(patch: Patch) -> bool:
    return patch.candidate.applicability is not Applicability.DISPLAY_ONLY and bool(patch.diff)
