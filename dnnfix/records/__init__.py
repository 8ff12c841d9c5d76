"""The frozen records that flow between the stages of the pipeline.

Every stage is a function from these records to these records, so any stage can be run, cached and tested alone.
Nothing here does I/O, and nothing here imports another module of dnnfix.
"""

from __future__ import annotations

from dnnfix.records.findings import (
    CRASH_CAUSE,
    LEFT,
    MISLEADING_CODE,
    MISLEADING_RULE,
    NOT_RUN,
    OF_SYMPTOMS,
    PROGRESS,
    RETIRED,
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Ablation,
    Candidate,
    Curve,
    Decline,
    FileReport,
    Finding,
    FindingResult,
    LayerCurve,
    ModelUse,
    Origin,
    Patch,
    Report,
    RunRecord,
    Verdict,
)
from dnnfix.records.network import (
    Call,
    Component,
    Network,
    Parameter,
    Value,
)
from dnnfix.records.reproduction import EditAction, EditStep, Reproduction, Scaffold
from dnnfix.records.sites import (
    AddDefinition,
    AddImport,
    Delete,
    DeleteElement,
    Edit,
    Enclose,
    InsertAfter,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Unwrap,
    Wrap,
)
from dnnfix.records.trace import (
    CallParameter,
    Caught,
    CodeWarning,
    Crash,
    Frame,
    Held,
    LoopEvent,
    Offer,
    Refusal,
    Step,
    Trace,
)
from dnnfix.records.words import (
    RUNGS,
    Applicability,
    Family,
    FindingOutcome,
    FixPattern,
    Json,
    Nature,
    PatchVerdict,
    RunOutcome,
    Status,
    Symptom,
)
