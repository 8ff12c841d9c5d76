"""What the prompt says of a program, each from records: its symptom, what led there, its network, its training, what was tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dnnfix.records import (
    UNLEARNED_CODE,
    Call,
    Component,
    Finding,
    Json,
    Nature,
    Network,
    Origin,
    Patch,
    Refusal,
    Site,
    Trace,
    Value,
    Verdict,
)
from dnnfix.source.diff import program_diff
from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Variant
from dnnfix.synthesize.crash_account import shape_text
from dnnfix.validate.ladder import BLOCKING, Climb

LAYERS = 40
"""Calls of layers and functions that are told."""

POINTS = 12
"""Points of a curve that are told."""

TRIED = 10
"""Edits of which it is told what came of them."""

HELD = 12
"""Names of one frame of which it is told what they held."""

NEAR = 12
"""Names that there are near to one that is missing."""

OF_IMPORTS = ("ImportError", "ModuleNotFoundError")
"""Crashes at which no value was computed yet."""

MOST_WRITTEN = 1e6
"""Whole numbers up to which a float is told with all its digits."""

LONGEST, ENDING = 300, 120
"""Characters of one message, and those of its end among them where it is longer."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A section of the prompt: its heading and its lines, the most telling first, of which the last may be left out."""

    heading: str
    lines: tuple[str, ...]
    needed: int = 1
    """How many of the lines stay in any case."""


@dataclass(frozen=True, slots=True)
class Known:
    """The records that the facts are drawn from. `looked` is a longer run that tells whether the training learns."""

    source: Source
    trace: Trace
    claim: Finding
    findings: tuple[Finding, ...]
    origins: tuple[Origin, ...] = ()
    looked: Trace | None = None
    tried: tuple[Patch, ...] = ()
    signatures: tuple[str, ...] = ()
    made: tuple[str, ...] = field(default=())
    """What the run was given that the program lacks: data, arguments."""
    written: Callable[[str], str] = str.strip
    """How a line of code is told."""


def facts(known: Known) -> tuple[Fact, ...]:
    """All sections that have something to say, the most important first."""
    every = (
        Fact("What is wrong", tuple(_symptom(known)), needed=LAYERS),
        Fact("Where the value at the crash may come from, nearest first", tuple(_origins(known)), needed=4),
        Fact("What the calls at the crash take", known.signatures, needed=4),
        Fact("What rules say of the program (not all of it has to be true)", tuple(_findings(known)), needed=2),
        Fact("How its training went", tuple(_training(known)), needed=3),
        Fact("What was tried already, and what came of it", tuple(_tried(known)), needed=3),
        Fact("The network as it ran", tuple(_network(known)), needed=4),
        Fact("What was made up so that it runs (no part of the program, and no cause)", known.made, needed=0),
    )
    return tuple(fact for fact in every if fact.lines)


def _symptom(known: Known) -> Iterator[str]:
    crash, source = known.trace.crash, known.source
    if crash is None:
        yield _one_line(known.claim.message)
        yield f"at {_place(source, known.claim)}"
        if known.claim.code != UNLEARNED_CODE:  # whose message has its numbers
            yield from _numbers(known.claim.evidence)
        yield from (_one_line(f"warning at {w.category}: {w.message}") for w in known.trace.warnings[:3])
        return
    yield f"The program crashes: {crash.kind}: {_one_line(crash.message)}"
    for frame in reversed(crash.frames[-4:]):
        place = source.line_in_words(frame.site.line, frame.site.path)
        yield f"in {frame.function}, {place}: {_line(known, frame.site)}"
    for frame in reversed(crash.frames[-2:]):
        named = {name: _held(value) for name, value in frame.names.items() if "_dnnfix" not in name}
        told = [f"{name} held {said}" for name, said in named.items() if said]
        if told:
            yield f"in {frame.function}, {'; '.join(told[:HELD])}"
    if crash.refusal is not None:
        yield from _offers(crash.refusal)
    if crash.call is not None:
        yield f"it failed in {_call(crash.call, source, known.trace.network)}"


def _offers(refusal: Refusal) -> Iterator[str]:
    """What there is near to what the program asked for in vain."""
    if refusal.parameters is not None:
        taken = ", ".join(one.name + ("=…" if one.optional else "") for one in refusal.parameters)
        yield f"{refusal.name} takes ({taken})"
    names = [offer.path or offer.name for offer in refusal.near[:NEAR]]
    if names and refusal.asked == "name":
        yield f"{refusal.owner} has no {refusal.name}; near to it there are {', '.join(names)}"


def _line(known: Known, site: Site) -> str:
    """The line of a site as it is written; empty where the program has none there."""
    file = known.source.files.get(site.path)
    lines = file.places.lines if file is not None else []
    return known.written(lines[site.line - 1]) if 0 < site.line <= len(lines) else ""


def _place(source: Source, finding: Finding) -> str:
    return source.line_in_words(finding.site.line, finding.site.path)


def _numbers(evidence: Mapping[str, Json]) -> Iterator[str]:
    for name, value in list(evidence.items())[:12]:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield f"{name.replace('_', ' ')}: {_number(value) if isinstance(value, float) else value}"


def _origins(known: Known) -> Iterator[str]:
    crash = known.trace.crash
    for origin in known.origins if crash is not None and crash.kind not in OF_IMPORTS else ():
        held = f"   ({'; '.join(origin.held)})" if origin.held else ""
        yield f"{known.source.line_in_words(origin.site.line, origin.site.path)}: {_line(known, origin.site)}{held}"


def _findings(known: Known) -> Iterator[str]:
    for finding in known.findings:
        if finding != known.claim and finding.nature is not Nature.ADVICE:
            yield f"{_place(known.source, finding)}: {_one_line(finding.message)}"


def _training(known: Known) -> Iterator[str]:
    trace = known.looked or known.trace
    if not trace.steps:
        return
    places = sorted({round(i * (len(trace.steps) - 1) / (POINTS - 1)) for i in range(POINTS)})
    points = [trace.steps[place] for place in places]
    for name, values in (
        ("step", [step.index for step in points]),
        ("loss", [step.loss for step in points]),
        ("skill (1 is perfect, 0 is guessing)", [step.skill for step in points]),
        ("norm of the gradients", [step.gradient for step in points]),
        ("spread of the outputs", [step.output_std for step in points]),
    ):
        if any(value is not None for value in values):
            yield f"{name}: {' '.join('-' if value is None else _number(value) for value in values)}"
    network = trace.network
    still = [p for p in network.parameters if p.update == 0 or p.gradient == 0] if network is not None else []
    for one in still[:4]:
        why = "gets no gradient" if one.gradient == 0 else "did not change"
        yield f"the weight {one.name} {_shape(one.shape)} {why}"
    frozen = [p.name for p in network.parameters if p.optimized is False] if network is not None else []
    if frozen:
        yield f"held by no optimizer: {', '.join(frozen[:6])}"


def _network(known: Known) -> Iterator[str]:
    network = known.trace.network
    if network is None:
        return
    calls = {call.id: call for call in network.calls if call.step == 0}
    called = [call for call in calls.values() if call.component is not None]
    kinds = {component.id: component.kind for component in network.components}
    for call in [call for call in called if kinds.get(call.component or 0) == "loss"][:2]:
        yield f"the loss is {_call(call, known.source, network)}"
    for component in network.components:
        if component.kind == "optimizer":
            yield f"the optimizer is {_component(component)}{_made(component, known.source)}"
    first = {(call.name, call.component, call.site): call for call in reversed(calls.values())}
    ordered = [call for call in calls.values() if first[call.name, call.component, call.site] is call]
    yield from (_call(call, known.source, network) for call in ordered[:LAYERS])


def _component(component: Component) -> str:
    given = [f"{name}={_plain(value)}" for name, value in component.args.items() if _plain(value)]
    return f"{component.name}({', '.join(given[:8])})"


def _made(component: Component, source: Source) -> str:
    site = component.site
    return f", made at {source.line_in_words(site.line, site.path)}" if site is not None else ""


def _call(call: Call, source: Source, network: Network | None) -> str:
    component = network.component(call.component) if network is not None else None
    what = _component(component) if component is not None else call.name
    taken = ", ".join(_value(value) for value in call.inputs) or "nothing known"
    gave = ", ".join(_value(value) for value in call.outputs)
    place = f", {source.line_in_words(call.site.line, call.site.path)}" if call.site is not None else ""
    made = _made(component, source) if component is not None else ""
    return f"{what}{place}{made}: {taken}{f' -> {gave}' if gave else ''}"


def _value(value: Value) -> str:
    said = f"{_shape(value.shape) if value.shape is not None else '?'} {(value.dtype or '').removeprefix('torch.')}".strip()
    if value.low is not None and value.high is not None:
        said += f" from {_number(value.low)} to {_number(value.high)}"
    if value.distinct is not None and value.integral:
        said += f", {value.distinct} different values"
    if value.row_sums_to_one:
        said += ", rows sum to 1"
    return said


def _tried(known: Known) -> Iterator[str]:
    for patch in known.tried[:TRIED]:
        yield _came_of(patch.diff, patch.refusal, known.written)


def in_words(variant: Variant, result: Climb, written: Callable[[str], str] = str.strip) -> str:
    """What an edit changes, and what came of it; `written` says how lines of code are told."""
    evidence = result.evidence
    refusal = next((verdict for verdict in evidence.verdicts if verdict.status in BLOCKING), None)
    return _came_of(program_diff(evidence.source_before, variant.source), refusal, written)


def _came_of(diff: str, refusal: Verdict | None, written: Callable[[str], str]) -> str:
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    shown = " | ".join(f"{line[0]} {' '.join(written(line[1:]).split())}" for line in changed[:4])
    why = f"{refusal.validator}: {_one_line(refusal.reason)}" if refusal is not None else "was not run"
    return f"[{shown[:LONGEST]}]: {why}"


def _held(value: Json) -> str:
    match value:
        case {"shape": [*sizes], **rest}:
            return f"{str(rest.get('dtype') or '').removeprefix('torch.')} {_shape(tuple(sizes))}".strip()
        case {"length": length}:
            return f"{length} items"
        case bool() | int():
            return str(value)
        case float():  # it stays one: `2.0` where an integer is wanted may be the fault
            return f"{value:.1f}" if value.is_integer() and abs(value) < MOST_WRITTEN else _number(value)
        case str():
            return repr(value[:60])
    return ""


def _plain(value: Json) -> str:
    if isinstance(value, str):  # cut before it is put in quotes: a mask knows strings by both of them
        return repr(value[:38])
    return repr(value)[:40] if isinstance(value, (bool, int, float)) else ""


def _shape(sizes: Sequence[object]) -> str:
    return shape_text(["?" if size is None else size for size in sizes])


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def _one_line(text: str) -> str:
    """The text as one line; of a long one the beginning and the end."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - ENDING]} … {line[-ENDING:]}"
