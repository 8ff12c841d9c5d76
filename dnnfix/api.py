"""Everything that a fix template or a validator may import, and nothing else of the engine.

A name is imported from where it is when it is first asked for: a rule pays for the parts of the engine that it uses.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dnnfix.detect.bare_calls import meant_for
    from dnnfix.detect.branches import branches_around
    from dnnfix.detect.crashes.crash import (
        LossConflict,
        RankConflict,
        SizeConflict,
        crashed_layer,
        loss_conflict,
        rank_conflict,
        refused_constructor,
        size_conflict,
        sizes,
    )
    from dnnfix.detect.crashes.held_values import (
        broadcast,
        described_shape,
        held,
        held_list,
        indices,
        part_shape,
        row_lengths,
        shape_of,
        size_of,
    )
    from dnnfix.detect.crashes.interfaces import (
        free_parameters,
        missing_name,
        refusal,
        same_meaning,
        takes,
        unknown_keywords,
    )
    from dnnfix.detect.crashes.operands import Operand, Operation, enclosed, failed_operation, made_by, recorded_shape
    from dnnfix.detect.crashes.raised import raised_at, shape_said
    from dnnfix.detect.crashes.undefined import bound_by, undefined_names
    from dnnfix.detect.given import added_by_statement, argument, element_of, input_expression
    from dnnfix.detect.graph import (
        TENSOR_MAKERS,
        attributes_of,
        bound_in,
        held_by,
        imported,
        is_display,
        kept_in_self,
        keras_modules,
        loss_ends,
        method,
        next_use,
        read_again,
        run_by,
        torch_modules,
        upstream,
    )
    from dnnfix.detect.loops.figures import better, name_of
    from dnnfix.detect.loops.goals import minimized, reduced
    from dnnfix.detect.loops.loaders import LOADER, Loading, failed_loading
    from dnnfix.detect.loops.metrics import compiled_losses, is_compile
    from dnnfix.detect.loops.training_loop import (
        LOOPS,
        OTHER_WAYS,
        SAMPLING,
        LoopOperation,
        assignments_behind,
        attribute_calls,
        block_of,
        function_around,
        goes_other_ways,
        is_optimizer,
        loops_around,
        only_measures_gradients,
        operated_on,
        operations_named,
        passes_of_step,
        read_names,
    )
    from dnnfix.detect.origins import origins
    from dnnfix.detect.tensors.axes import (
        Arrival,
        Declared,
        arrival,
        declare,
        declared,
        first_argument,
        fitted_inputs,
        meets,
        outward,
        sibling_inputs,
        sibling_targets,
        wanted_shape,
    )
    from dnnfix.detect.tensors.chains import Link, Solution, chains, disagreements, fits_run, solutions
    from dnnfix.detect.tensors.counts import counts_tensors, given_by, is_counted, is_zero
    from dnnfix.detect.tensors.dtypes import cast_where_made, cast_where_used, integer_targets, odd_floats
    from dnnfix.detect.tensors.flattening import VIEWS, Size, features, image_sizes, stated_rows
    from dnnfix.detect.tensors.shapes import (
        CONCATENATIONS,
        StatedInput,
        before_flattening,
        by,
        fit_data,
        image_behind,
        keeps_shape,
        known,
        label_count,
        model_output,
        sized_producer,
        stated_keras_input,
        way_back,
        where_written,
    )
    from dnnfix.detect.tensors.summation import axes_in, summed_axes
    from dnnfix.detect.tensors.symbolic import is_symbolic, parameters, reads_value, scope_of, values_of
    from dnnfix.detect.tensors.targets import (
        class_losses,
        lowest,
        prediction_expression,
        same_targets,
        target_expression,
        target_site,
    )
    from dnnfix.detect.tensors.values import (
        LossUse,
        binary,
        edge_calls,
        extent,
        loss_uses,
        outside,
        whole,
    )
    from dnnfix.detect.versioning.calls import changed_arguments, changed_methods, receiver_is
    from dnnfix.detect.versioning.defaults import Reliance, relied_defaults
    from dnnfix.detect.versioning.definitions import Definition, definitions
    from dnnfix.detect.versioning.era import NAMES as PACKAGE_NAMES
    from dnnfix.detect.versioning.era import Proof, older
    from dnnfix.detect.versioning.forms import changed_forms, former_order
    from dnnfix.detect.versioning.imports import renamed_names, replaced_import
    from dnnfix.detect.versioning.keras_backend import APART as BACKEND_CALLS
    from dnnfix.detect.versioning.keras_backend import backend_calls, compared_orderings
    from dnnfix.detect.versioning.keras_era import is_multi_backend, keeps_to_keras_2
    from dnnfix.detect.versioning.migration import ApiChange, Hit, claimed
    from dnnfix.detect.versioning.names import uses_of
    from dnnfix.detect.versioning.pictures import pictures_are_plain
    from dnnfix.detect.versioning.python2 import mode_of, opened_by, speaks_python2
    from dnnfix.detect.versioning.tables import Change as DefaultChange
    from dnnfix.detect.versioning.tensors import refused_complement, refused_mask
    from dnnfix.examples import added
    from dnnfix.network.facts import (
        ACTIVATION_FORMS,
        KEEPS_VALUES,
        LOSS_STRINGS,
        LOSSES,
        METRIC_ALIASES,
        METRIC_STRINGS,
        OLD_LOSS_STRINGS,
        OPTIMIZER_STRINGS,
        ActivationUse,
        LossFacts,
        Prediction,
        Target,
        Task,
        activation_of,
        argument_position,
        component_kind,
        is_loss,
        layer_facts,
        loss_calls,
        loss_facts,
        metric_name,
        snake,
        stated_input,
        stated_output,
        through,
    )
    from dnnfix.records import (
        CRASH_CAUSE,
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
    from dnnfix.source.arithmetic import number, summands
    from dnnfix.source.given import argument_value, keyword_value
    from dnnfix.source.known import words
    from dnnfix.source.program import Source, once
    from dnnfix.source.spelling import (
        alike,
        likeness,
        likest,
        longer,
        nearest,
        one_letter_off,
        parts,
        same_letters,
        words_of,
    )
    from dnnfix.source.tree import first_line, last_name, stored_names, within
    from dnnfix.subject import Subject
    from dnnfix.synthesize.bases.crash_template import CrashTemplate, Failure, RaisedTemplate, ShapeTemplate, reads
    from dnnfix.synthesize.bases.fault_template import Fault, Faults, FaultTemplate, ReadTemplate, Repair, Repairs
    from dnnfix.synthesize.bases.integer_template import IntegerTemplate
    from dnnfix.synthesize.bases.loss_template import Disagreement, LossTemplate
    from dnnfix.synthesize.causes.optimizing import optimizers
    from dnnfix.synthesize.edits.chains import carry_out, named_as_they_stand, told
    from dnnfix.synthesize.edits.data import change_data, with_numpy, wrapped
    from dnnfix.synthesize.edits.ends import both_ends, short
    from dnnfix.synthesize.edits.into_init import move_into_init
    from dnnfix.synthesize.edits.losses import (
        add_activation,
        change_activation,
        change_loss,
        for_one_unit,
        rename,
        set_from_logits,
        set_width,
        torch_import,
        without_activation,
        wrap_input,
    )
    from dnnfix.synthesize.edits.one_order import order_drawn, order_name
    from dnnfix.synthesize.edits.recipes import (
        bypass,
        insert_layer_before,
        rename_method,
        reword,
        set_constructor_argument,
        together,
    )
    from dnnfix.synthesize.edits.sizes import made_as, size_changes, spelled
    from dnnfix.synthesize.edits.spelling import Spelling, imports, sibling, spell
    from dnnfix.synthesize.edits.uncut import flags_on_losses, taken_out
    from dnnfix.template import FixTemplate
    from dnnfix.validate.changes import changed_lines, following, is_loss_call, leading_to, ran_at
    from dnnfix.validate.evidence import Evidence, own_fault
    from dnnfix.validate.learning import decide, difference, score, threshold
    from dnnfix.validate.symptoms import CHANCE, comes_to_enough, fails_to_learn
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
        globals()[name] = found = getattr(import_module(module), there)
        return found

    def __dir__() -> list[str]:
        return sorted(_homes())
