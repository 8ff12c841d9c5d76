"""A list of placeholders as one key of a `feed_dict`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """The feed, which of its entries has a list for a key, and whether the list is as long as what it is fed."""

    feed: ast.Dict
    index: int


class ListAsFeedKey(FaultTemplate[_Entry]):
    """A dictionary for `feed_dict` has a list of placeholders as a key, and the list of their values under it.

    A list can be no key of a dictionary. Every placeholder is a key of its own, with its own value.

    Fix safety: safe where the values are a list in the order of the placeholders, which is what the entry says.

    References: tf.compat.v1.Session.run ("feed_dict").
    """

    code = "DNF432"
    name = "list-as-feed-key"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{key}` is a list of placeholders, which cannot be a key of a feed dictionary: feed each placeholder separately"
    triggers = ("placeholder",)
    declined = "the entry has no value for each placeholder"

    def faults(self, subject: Subject) -> Faults[_Entry]:
        source = subject.source
        if subject.ran and subject.crash is None:
            return
        for feed in source.nodes(ast.Dict):
            for index, key in enumerate(feed.keys):
                if key is not None and _is_list_of_placeholders(source, key):
                    yield source.site(feed), _Entry(feed, index)

    def report(self, site: Site, found: _Entry) -> Finding:
        key = found.feed.keys[found.index]
        said = ast.unparse(key) if key is not None else ""
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.95, cause="crash", key=said)

    def repairs(self, subject: Subject, found: _Entry) -> Repairs:
        source = subject.source
        parts: list[str] = []
        for index, (key, value) in enumerate(zip(found.feed.keys, found.feed.values, strict=True)):
            given = source.segment(source.site(value))
            if key is None:
                parts.append(f"**{given}")
            elif index == found.index:
                parts.append(f"**dict(zip({source.segment(source.site(key))}, {given}))")
            else:
                parts.append(f"{source.segment(source.site(key))}: {given}")
        text = "{" + ", ".join(parts) + "}"
        yield "Feed every placeholder its own value", (Replace(source.site(found.feed), text),), 0.9

    programs = """
=== example: one placeholder for every step
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
steps = [tf.placeholder(tf.float32, [None, 3]) for _ in range(4)]
label = tf.placeholder(tf.int32, [None])

def feed(readings, labels):
-     return {steps: readings, label: labels}
+     return {**dict(zip(steps, readings)), label: labels}

=== example: a list that is filled in a loop
import tensorflow as tf

xs = []
for i in range(3):
    xs.append(tf.placeholder(tf.float32, [None, 2]))
total = tf.add_n(xs)

def run(sess, values):
-     return sess.run(total, feed_dict={xs: values})
+     return sess.run(total, feed_dict={**dict(zip(xs, values))})

=== reject: each placeholder for itself
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
steps = [tf.placeholder(tf.float32, [None, 3]) for _ in range(4)]
feed = {step: [[0, 0, 0]] for step in steps}
feed = {steps[0]: [[1, 2, 3]], steps[1]: [[1, 2, 3]]}

=== reject: a tuple as a key, and a placeholder
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 3])
pair = (1, 2)
table = {pair: "two", x: [[0, 0, 0]]}
"""


def _is_list_of_placeholders(source: Source, key: ast.expr) -> bool:
    values = source.bindings(key) if isinstance(key, (ast.Name, ast.Attribute)) else ()
    if len(values) != 1:
        return False
    made = values[0]
    if isinstance(made, ast.ListComp):
        return _is_placeholder(source, made.elt)
    if not isinstance(made, ast.List):
        return False
    if made.elts:
        return all(_is_placeholder(source, each) for each in made.elts)
    added = [
        call.args[0]
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1
        if ast.unparse(call.func.value) == ast.unparse(key)
    ]
    return bool(added) and all(_is_placeholder(source, each) for each in added)


def _is_placeholder(source: Source, expr: ast.expr) -> bool:
    made = source.constructor(expr)
    return made is not None and (source.qualified(made.func) or "").rpartition(".")[2] == "placeholder"
