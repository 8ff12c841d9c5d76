"""The stages in their order (observe, detect, synthesize, validate, rank, emit), each from records to records.

`check_file` is the static path, `suggest_file` the whole one, `reproduce_file` its first half alone. None of them
prints, and none raises for what is wrong with the user's program.
"""

from __future__ import annotations

from dnnfix.pipeline.by_model import verify_proposer
from dnnfix.pipeline.check import check_file, check_source, unmigrated
from dnnfix.pipeline.garbage import collecting_at_the_end
from dnnfix.pipeline.proofs import is_certified, verify_certificate
from dnnfix.pipeline.reproduction import reproduce_file, reproduce_report
from dnnfix.pipeline.suggest import suggest_file

__all__ = [
    "check_file",
    "check_source",
    "collecting_at_the_end",
    "is_certified",
    "reproduce_file",
    "reproduce_report",
    "suggest_file",
    "unmigrated",
    "verify_certificate",
    "verify_proposer",
]
