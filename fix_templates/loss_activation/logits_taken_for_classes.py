"""What a classifier of `transformers` returns is measured as if its logits were classes or probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Repair,
    Replace,
    SetArgument,
    Source,
    Subject,
    function_around,
    keyword_value,
    training_loop,
    trees,
    within,
    words,
)

SQUASHING = words(
    "sigmoid Sigmoid expit softmax log_softmax preprocess_logits_for_metrics sigmoid_ inv_logit LogSoftmax Softmax"
)
"""Words of programs that may turn logits into something else before they are measured."""

SAME = words("""detach cpu numpy float double tensor from_numpy array asarray squeeze reshape view flatten stack concatenate cat vstack
    gather gather_for_metrics numpy_force to clone copy""")
"""Functions and methods whose result has the values of their first argument, or of what they are called on."""

CLASS_METRICS = words("accuracy f1 precision recall matthews_correlation")
"""Metrics of `evaluate` that compare classes."""

HALVES = (0.5,)


class LogitsTakenForClasses(ReadTemplate):
    """Logits of a classifier are compared with 0.5, given to a metric of classes, or their largest is sought over the wrong axis.

    Models of `transformers` return logits, and so does a `Trainer` to `compute_metrics` and from `predict`. A probability of 0.5 is
    a logit of 0: compared with 0.5, the surest labels alone are counted. `np.argmax(logits)` is one number for the whole
    batch, and over axis 0 one for each class. A metric of classes needs the `argmax` over the last axis. And the `argmax` of a
    model with one output (`num_labels=1`, a regression) is always 0.

    Programs that apply a sigmoid or softmax anywhere, or `preprocess_logits_for_metrics`, are left alone.

    Fix safety: unsafe. What is reported changes, and the model that is kept as the best; training is the same.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/trainer (`compute_metrics`),
    https://huggingface.co/docs/transformers/main/en/main_classes/output (`SequenceClassifierOutput`).
    """

    code = "DNF336"
    name = "logits-taken-for-classes"
    message = "{what}"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    triggers = ("transformers",)
    declined = "the program does not show what the output of the model means"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not SQUASHING.isdisjoint(subject.words) or "from_pretrained" not in source.words:
            return
        yield from _compared_with_half(source)
        yield from _over_wrong_axis(source)
        yield from _given_to_metric(subject)
        yield from _among_one(source)

    programs = """
=== example: several labels for each text, with a Trainer
import evaluate
import numpy as np
from transformers import AutoModelForSequenceClassification, Trainer

metric = evaluate.load("f1", config_name="multilabel")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", problem_type="multi_label_classification")

def compute_metrics(p):
    preds = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
-     preds = np.array([np.where(p > 0.5, 1, 0) for p in preds])
+     preds = np.array([np.where(p > 0, 1, 0) for p in preds])
    return metric.compute(predictions=preds, references=p.label_ids)

trainer = Trainer(model=model, compute_metrics=compute_metrics)

=== example: answers of the model itself
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("a/model")
with torch.no_grad():
    logits = model(**batch).logits
- labels = [model.config.id2label[i] for i, one in enumerate(logits[0]) if one >= 0.5]
+ labels = [model.config.id2label[i] for i, one in enumerate(logits[0]) if one >= 0]

=== example: one number for the whole batch
import evaluate
import numpy as np
from transformers import AutoModelForSequenceClassification, Trainer

accuracy = evaluate.load("accuracy")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=3)

def measure(eval_pred):
    logits, labels = eval_pred
-     return accuracy.compute(predictions=np.argmax(logits, axis=0), references=labels)
+     return accuracy.compute(predictions=np.argmax(logits, axis=-1), references=labels)

trainer = Trainer(model, compute_metrics=measure)

=== example: logits in a metric of classes
import evaluate
from transformers import AutoModelForSequenceClassification, Trainer

accuracy = evaluate.load("accuracy")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=3)

def measure(eval_pred):
    logits, labels = eval_pred
-     return accuracy.compute(predictions=logits, references=labels)
+     return accuracy.compute(predictions=logits.argmax(-1), references=labels)

trainer = Trainer(model, compute_metrics=measure)

=== example: the largest of one output
import evaluate
import numpy as np
from transformers import AutoModelForSequenceClassification, Trainer

metric = evaluate.load("pearsonr")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=1)

def measure(eval_pred):
    outputs, labels = eval_pred
-     return metric.compute(predictions=np.argmax(outputs, axis=1), references=labels)
+     return metric.compute(predictions=outputs.squeeze(), references=labels)

trainer = Trainer(model, compute_metrics=measure)

=== example: a task of several, which is a regression
from transformers import AutoModelForSequenceClassification

is_regression = args.task == "stsb"
if not is_regression:
    num_labels = len(names)
else:
    num_labels = 1
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=num_labels)
for batch in loader:
    outputs = model(**batch)
-     predictions = outputs.logits.argmax(dim=-1)
+     predictions = outputs.logits.squeeze() if is_regression else outputs.logits.argmax(dim=-1)
    metric.add_batch(predictions=predictions, references=batch["labels"])

=== reject: logits that are compared with 0, classes over the last axis, a regression that is told apart
import evaluate
import numpy as np
from transformers import AutoModelForSequenceClassification, Trainer

accuracy = evaluate.load("accuracy")
is_regression = args.task == "stsb"
num_labels = 1 if is_regression else 3
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=num_labels)

def measure(p):
    preds = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
    several = (preds > 0).astype(int)
    preds = np.squeeze(preds) if is_regression else np.argmax(preds, axis=1)
    return accuracy.compute(predictions=preds, references=p.label_ids)

trainer = Trainer(model, compute_metrics=measure)

=== reject: probabilities
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("a/model")
logits = model(**batch).logits
print(torch.sigmoid(logits) > 0.5, (logits.softmax(-1) > 0.5).any())

=== reject: the surest answer of a question, logits of one sample, and a number that is no logit
import torch
from transformers import AutoModelForQuestionAnswering, AutoModelForSequenceClassification

reader = AutoModelForQuestionAnswering.from_pretrained("a/reader")
start = torch.argmax(reader(**question).start_logits)
model = AutoModelForSequenceClassification.from_pretrained("a/model")
kind = model(**question).logits.argmax().item()
if score > 0.5:
    print(kind, start)

=== reject: images, whose logits have other axes
import numpy as np
from transformers import AutoModelForSemanticSegmentation, Trainer

model = AutoModelForSemanticSegmentation.from_pretrained("a/model")

def measure(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": (logits.argmax(axis=1) == labels).mean()}

trainer = Trainer(model, compute_metrics=measure)
"""


def _origin(source: Source, expr: ast.expr | None, depth: int = 10) -> ast.expr | None:
    """Where a model or a Trainer returned what an expression holds, with its values as they were; `None` for anything else."""
    if expr is None or depth == 0:
        return None
    match expr:
        case ast.Attribute(attr="logits"):
            return expr
        case ast.Attribute(attr="predictions") if _is_evaluation(source, expr.value):
            return expr
        case ast.Subscript():
            if _is_evaluation(source, expr.value) and ast.unparse(expr.slice) == "0":
                return expr
            return _origin(source, expr.value, depth - 1)
        case ast.IfExp():
            both = [_origin(source, each, depth - 1) for each in (expr.body, expr.orelse)]
            return both[0] if all(both) else None
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in SAME:
            return _origin(source, first, depth - 1)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in SAME:
            is_function = source.qualified(expr.func) is not None or ast.unparse(value) in (
                "accelerator",
                "self.accelerator",
            )
            inner = expr.args[0] if is_function and expr.args else value
            return _origin(source, inner, depth - 1)
        case ast.Name():
            return _behind_name(source, expr, depth)
    return None


def _behind_name(source: Source, name: ast.Name, depth: int) -> ast.expr | None:
    above = source.parent(name)
    while above is not None and not isinstance(above, ast.stmt):
        for each in getattr(above, "generators", ()):
            over = each.iter
            enumerated = isinstance(over, ast.Call) and ast.unparse(over.func) == "enumerate" and bool(over.args)
            if isinstance(each.target, ast.Name) and each.target.id == name.id:
                return _origin(source, over, depth - 1)
            if enumerated and isinstance(each.target, ast.Tuple) and ast.unparse(each.target.elts[-1]) == name.id:
                return _origin(source, over.args[0], depth - 1)
        above = source.parent(above)
    given = _last_given(source, name)
    if given is None:
        return None
    target, value = given.targets[0], given.value
    if isinstance(target, ast.Name):
        return _origin(source, value, depth - 1)
    if isinstance(target, ast.Tuple) and ast.unparse(target.elts[0]) == name.id and _is_evaluation(source, value):
        return name
    return None


def _last_given(source: Source, name: ast.Name) -> ast.Assign | None:
    """The assignment before a name, in a block around it, that gave it its value."""
    statement = source.statement_of(name)
    around = function_around(source, name)
    while True:
        block = training_loop.block_of(source, statement)
        for each in reversed(block[: block.index(statement)] if statement in block else []):
            if name.id in trees.stored_names(each):
                inner = each.body if isinstance(each, ast.With) else [each]
                last = [one for one in inner if name.id in trees.stored_names(one)][-1:]
                return last[0] if last and isinstance(last[0], ast.Assign) and len(last[0].targets) == 1 else None
        above = source.parent(statement)
        while above is not None and not isinstance(above, ast.stmt):
            above = source.parent(above)
        if above is None or above is around or not isinstance(above, ast.stmt):
            return None
        statement = above


def _is_evaluation(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is what a Trainer gives to `compute_metrics`, or returns from `predict`."""
    if isinstance(expr, ast.Call):
        return (
            isinstance(expr.func, ast.Attribute)
            and expr.func.attr == "predict"
            and "rainer" in ast.unparse(expr.func.value)
        )
    function = function_around(source, expr)
    if not isinstance(expr, ast.Name):
        return False
    if function is not None and function.args.args and expr.id == function.args.args[-1].arg:
        return function.name in _measuring(source)
    given = _last_given(source, expr)
    return given is not None and isinstance(given.value, ast.Call) and _is_evaluation(source, given.value)


def _measuring(source: Source) -> frozenset[str]:
    """The names of the functions that Trainers are given as `compute_metrics`."""
    given = (keyword_value(call, "compute_metrics") for call in source.all_calls)
    return frozenset(each.id for each in given if isinstance(each, ast.Name))


def _compared_with_half(source: Source) -> Iterator[Fault]:
    edits: list[Edit] = []
    found: list[ast.Compare] = []
    for node in source.nodes(ast.Compare):
        half = node.comparators[0]
        is_half = isinstance(half, ast.Constant) and half.value in HALVES and len(node.ops) == 1
        if is_half and isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE) and _origin(source, node.left):
            found.append(node)
            edits.append(Replace(source.site(half), "0"))
    if found:
        what = (
            f"`{ast.unparse(found[0].left)}` are logits, and are compared with 0.5, which is no probability of theirs"
        )
        repair: Repair = ("Compare the logits with 0", tuple(edits), 0.9)
        yield Fault(source.site(found[0]), what, (repair,), reading="half")


def _argmax(source: Source, call: ast.Call) -> tuple[ast.expr, ast.expr | None] | None:
    """What the largest is sought in, and over which axis."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "argmax":
        return None
    is_function = source.qualified(call.func) is not None
    if is_function and not call.args:
        return None
    values = call.args[0] if is_function else call.func.value
    given = (
        *call.args[1 if is_function else 0 :],
        *(each.value for each in call.keywords if each.arg in ("axis", "dim")),
    )
    return values, given[0] if given else None


def _over_wrong_axis(source: Source) -> Iterator[Fault]:
    for call in source.all_calls:
        read = _argmax(source, call)
        function = function_around(source, call)
        if read is None or function is None or function.name not in _measuring(source):
            continue
        values, axis = read
        is_wrong = axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)
        if is_wrong and isinstance(values, ast.Name | ast.Attribute | ast.Subscript) and _origin(source, values):
            edit: Edit = (
                Replace(source.site(axis), "-1") if axis is not None else SetArgument(source.site(call), "axis", "-1")
            )
            where = "over all axes" if axis is None else "over axis 0, the samples"
            what = (
                f"the largest of the logits `{ast.unparse(values)}` is sought {where}: each sample needs its own class"
            )
            yield Fault(source.site(call), what, (("Choose over the classes", (edit,), 0.9),), reading="axis")


def _given_to_metric(subject: Subject) -> Iterator[Fault]:
    source = subject.source
    for call in training_loop.method_calls(source, "compute", "add_batch"):
        given = keyword_value(call, "predictions")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = source.constructor(owner) if owner is not None else None
        named = made.args[0] if made is not None and made.args else None
        is_metric = made is not None and ast.unparse(made.func) in ("evaluate.load", "load_metric", "load")
        is_of_classes = isinstance(named, ast.Constant) and named.value in CLASS_METRICS
        if given is None or not is_metric or not is_of_classes or _may_be_one(source) or not _origin(source, given):
            continue
        code = f"{ast.unparse(given)}.argmax(-1)"
        what = f"`{ast.unparse(given)}` are logits, and the metric compares classes"
        repair: Repair = ("Choose the class of each sample", (Replace(source.site(given), code),), 0.85)
        yield Fault(source.site(call), what, (repair,), reading="metric")


def _may_be_one(source: Source) -> bool:
    return any(keyword_value(call, "problem_type") is not None for call in source.all_calls) or any(_ones(source))


def _ones(source: Source) -> Iterator[tuple[ast.expr, ast.If | None]]:
    """Where a model is told to have one output, and under which condition it is where that is not always."""
    for call in source.all_calls:
        given = keyword_value(call, "num_labels")
        if isinstance(given, ast.Constant) and given.value == 1:
            yield given, None
        elif isinstance(given, ast.Name):
            for each in source.nodes(ast.Assign):
                is_one = isinstance(each.value, ast.Constant) and each.value.value == 1
                above = source.parent(each)
                if is_one and ast.unparse(each.targets[0]) == given.id and isinstance(above, ast.If):
                    yield given, above


def _among_one(source: Source) -> Iterator[Fault]:
    ones = {(None if branch is None else ast.unparse(branch.test)): (given, branch) for given, branch in _ones(source)}
    classes = [call for call in source.all_calls if "ForSequenceClassification" in ast.unparse(call.func)]
    if not ones or not classes or (None in ones and len(classes) != 1):
        return
    if None not in ones:
        flags = [flag for _, branch in ones.values() if branch is not None and (flag := _flag(branch)) is not None]
        if len(flags) == len(ones) and len({ast.unparse(flag) for flag in flags}) == 1:
            yield from _unguarded(source, flags[0])
        return
    for call in source.all_calls:
        read = _argmax(source, call)
        if (
            read is not None
            and read[1] is not None
            and ast.unparse(read[1]) in ("1", "-1")
            and _origin(source, read[0])
        ):
            values = ast.unparse(read[0])
            ways: list[Repair] = [
                ("Take the output as it is", (Replace(source.site(call), f"{values}.squeeze()"),), 0.8)
            ]
            measured = {each.value for each in source.nodes(ast.Constant) if isinstance(each.value, str)}
            if not measured.isdisjoint(CLASS_METRICS):
                ways.insert(0, ("Give the model two outputs", (Replace(source.site(ones[None][0]), "2"),), 0.85))
            what = f"the model has one output, so that the argmax of `{values}` is 0 for every sample"
            yield Fault(source.site(call), what, tuple(ways), reading="one")


def _flag(branch: ast.If) -> ast.expr | None:
    """What is true where the number of labels is one: a plain name, which the condition asks."""

    def sets_one(block: list[ast.stmt]) -> bool:
        return any(
            isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant) and each.value.value == 1
            for each in block
        )

    test = branch.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and sets_one(branch.orelse):
        test = test.operand
    elif not sets_one(branch.body):
        return None
    return test if isinstance(test, ast.Name | ast.Attribute) else None


def _unguarded(source: Source, flag: ast.expr) -> Iterator[Fault]:
    """The largest of logits, sought where a regression is not told apart although the program knows it."""
    name = ast.unparse(flag)
    behind = {ast.unparse(each) for one in source.bindings(flag) for each in within(one, ast.Attribute)}
    edits: list[Edit] = []
    found: list[ast.Call] = []
    for call in source.all_calls:
        read = _argmax(source, call)
        if read is None or read[1] is None or ast.unparse(read[1]) not in ("1", "-1") or not _origin(source, read[0]):
            continue
        tests, above = [], source.parent(call)
        while above is not None:
            tests += [ast.unparse(above.test)] if isinstance(above, ast.If | ast.IfExp) else []
            above = source.parent(above)
        if any(name in test or any(each in test for each in behind) for test in tests):
            continue
        found.append(call)
        text = source.segment(source.site(call))
        edits.append(Replace(source.site(call), f"{ast.unparse(read[0])}.squeeze() if {name} else {text}"))
    if found and function_around(source, flag) in (None, function_around(source, found[0])):
        what = f"where `{name}`, the model has one output, and its argmax is 0 for every sample"
        yield Fault(
            source.site(found[0]), what, (("Tell the regression apart", tuple(edits), 0.85),), reading="regression"
        )
