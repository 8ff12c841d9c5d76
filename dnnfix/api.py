"""Everything that a fix template or a validator may import, and nothing else of the engine.

The names of this module are what most rules need: base classes, records, edits, the program under analysis. The
engine's readings of a program and its ready-made edits are modules under it: `graph.torch_modules`,
`tensor_shapes.known`, `loss_edits.change_loss`.

Each name is imported lazily, so that a rule pays only for the parts of the engine that it uses.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dnnfix.detect import (
        bare_calls,
        branches,
        call_arguments,
        checkpoints,
        devices,
        freezing,
        graph,
        image_batches,
        initialization,
        module_roles,
        new_parts,
        opencv_images,
        origins,
        pretrained,
        random_state,
        recomputing,
        scaling,
        text_batches,
    )
    from dnnfix.detect import pictures as picture_scales
    from dnnfix.detect.crashes import crash as crashes
    from dnnfix.detect.crashes import held_values, interfaces
    from dnnfix.detect.crashes import operands as failed_operands
    from dnnfix.detect.crashes import raised as raised_errors
    from dnnfix.detect.crashes import undefined as undefined_names
    from dnnfix.detect.loops import compiled_losses as compile_calls
    from dnnfix.detect.loops import (
        evaluations,
        graph_flow,
        kept_graphs,
        kept_weights,
        loader_uses,
        loaders,
        process_groups,
        schedules,
        structure,
        training_loop,
    )
    from dnnfix.detect.loops import metric_direction as progress_figures
    from dnnfix.detect.loops import minimized as goals
    from dnnfix.detect.loops.training_loop import function_around
    from dnnfix.detect.tensors import axes as tensor_axes
    from dnnfix.detect.tensors import (
        axis_layouts,
        axis_order,
        dtypes,
        endings,
        flattening,
        softmax_axes,
        summation,
        symbolic,
        through_data,
    )
    from dnnfix.detect.tensors import chains as size_chains
    from dnnfix.detect.tensors import counts as tensor_counts
    from dnnfix.detect.tensors import shapes as tensor_shapes
    from dnnfix.detect.tensors import targets as tensor_targets
    from dnnfix.detect.tensors import values as tensor_values
    from dnnfix.detect.versioning import calls as changed_calls
    from dnnfix.detect.versioning import defaults as changed_defaults
    from dnnfix.detect.versioning import definitions as definition_uses
    from dnnfix.detect.versioning import (
        dictionaries,
        era,
        keras_backend,
        keras_era,
        migration,
        overrides,
        parsed_settings,
        pictures,
        python2,
        tables,
    )
    from dnnfix.detect.versioning import forms as changed_forms
    from dnnfix.detect.versioning import imports as changed_imports
    from dnnfix.detect.versioning import tensors as tensor_hits
    from dnnfix.detect.versioning.migration import ApiChange, Hit
    from dnnfix.detect.versioning.names import uses_of
    from dnnfix.detect.written import all_written, written_above
    from dnnfix.examples import added
    from dnnfix.network import facts as network_facts
    from dnnfix.network.facts import layer_facts
    from dnnfix.records import (
        CRASH_CAUSE,
        LEFT,
        NOT_RUN,
        UNLEARNED_CODE,
        AddDefinition,
        AddImport,
        Applicability,
        Call,
        Candidate,
        CodeWarning,
        Component,
        Crash,
        Decline,
        Delete,
        Edit,
        Enclose,
        Family,
        Finding,
        FixPattern,
        Held,
        InsertAfter,
        InsertBefore,
        InsertElement,
        Json,
        Nature,
        Network,
        Parameter,
        Refusal,
        RemoveArgument,
        RenameArgument,
        Replace,
        ReplaceLines,
        RunOutcome,
        SetArgument,
        Site,
        Status,
        Symptom,
        Trace,
        Unwrap,
        Value,
        Verdict,
        Wrap,
    )
    from dnnfix.source import arithmetic, spelling
    from dnnfix.source import tree as trees
    from dnnfix.source.arguments import argument_value, keyword_value
    from dnnfix.source.program import Source, once
    from dnnfix.source.public_names import words
    from dnnfix.source.tree import within
    from dnnfix.subject import Subject
    from dnnfix.synthesize.bases.crash_template import CrashTemplate, Failure, RaisedTemplate, ShapeTemplate, reads
    from dnnfix.synthesize.bases.fault_template import Fault, Faults, FaultTemplate, ReadTemplate, Repair, Repairs
    from dnnfix.synthesize.bases.integer_template import IntegerTemplate
    from dnnfix.synthesize.bases.loss_template import Disagreement, LossTemplate
    from dnnfix.synthesize.causes import optimizing
    from dnnfix.synthesize.edits import chains as chain_edits
    from dnnfix.synthesize.edits import data as data_edits
    from dnnfix.synthesize.edits import gradient_cuts as graph_edits
    from dnnfix.synthesize.edits import into_init as init_edits
    from dnnfix.synthesize.edits import keeping as keeping_edits
    from dnnfix.synthesize.edits import losses as loss_edits
    from dnnfix.synthesize.edits import recipes
    from dnnfix.synthesize.edits import shared_permutation as order_edits
    from dnnfix.synthesize.edits import size_conflicts as end_edits
    from dnnfix.synthesize.edits import sizes as size_edits
    from dnnfix.synthesize.edits import spelling as spelling_edits
    from dnnfix.synthesize.edits.size_conflicts import short
    from dnnfix.synthesize.edits.spelling import spell
    from dnnfix.template import FixTemplate
    from dnnfix.validate import changes as code_changes
    from dnnfix.validate import learning, symptoms
    from dnnfix.validate.evidence import Evidence, own_fault
    from dnnfix.validate.reach import Reach, reach, seen_to_run
    from dnnfix.validate.twins import twins
else:

    @cache
    def _homes() -> dict[str, tuple[str, str]]:
        """The module of each name and what it is called there, read from the imports above."""
        tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
        (block,) = (node for node in tree.body if isinstance(node, ast.If))
        return {alias.asname or alias.name: (node.module, alias.name) for node in block.body for alias in node.names}

    def __getattr__(name: str) -> object:
        if name not in _homes():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, there = _homes()[name]
        home = import_module(module)
        found = getattr(home, there) if hasattr(home, there) else import_module(f"{module}.{there}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(_homes())
