"""A value in a `feed_dict` whose shape is not that of the placeholder."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from math import prod

from dnnfix.api import (
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Site,
    Subject,
    Symptom,
    data_edits,
    held_values,
    keyword_value,
    raised_errors,
)

Shape = tuple[int | None, ...]

REFUSED = re.compile(r"Cannot feed value of shape \(([^)]*)\) for Tensor '?[\w/:.]+'?, which has shape '?\(([^)]*)\)'?")
"""TensorFlow's words for it; an unknown size is `?` or `None`."""


@dataclass(frozen=True, slots=True)
class _Fed:
    """The expression that is fed, its shape, and that of the placeholder."""

    value: ast.expr
    given: tuple[int, ...]
    wanted: Shape


class ValueFedInOtherShape(FaultTemplate[_Fed]):
    """A session is fed a value of another shape than the placeholder has.

    One sample where a batch is taken, images where rows are taken, a row of answers where a column is taken, class numbers
    where each class has a column, a table on its side: the numbers are the right ones, and the axes are not.

    Fix safety: unsafe. The program did not run before; the values stay, or are written one-hot.

    References: tf.compat.v1.Session.run (`feed_dict`), tf.compat.v1.placeholder.
    """

    code = "DNF141"
    name = "value-fed-in-other-shape"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a value of shape {given} is fed to a placeholder of shape {wanted}"
    needs_run = True
    declined = "no change of axes alone makes the value fit the placeholder"

    def faults(self, subject: Subject) -> Faults[_Fed]:
        crash = subject.crash
        said = REFUSED.search(crash.message) if crash is not None and crash.kind == "ValueError" else None
        if crash is None or said is None:
            return
        given, wanted = raised_errors.shape_said(said[1]), raised_errors.shape_said(said[2])
        value = _value(subject, given, wanted)
        if value is not None and None not in given:
            yield subject.source.site(value), _Fed(value, tuple(size or 0 for size in given), wanted)

    def report(self, site: Site, fault: _Fed) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"given": list(fault.given), "wanted": list(fault.wanted)},
            given=fault.given,
            wanted=fault.wanted,
        )

    def repairs(self, subject: Subject, fault: _Fed) -> Repairs:
        given, wanted, value = fault.given, fault.wanted, fault.value
        if _fits((1, *given), wanted):
            yield "Feed a batch of one sample", (data_edits.wrapped(subject, value, "[", "]"),), 0.95
        if len(given) == 2 and _fits(given[::-1], wanted):
            yield "Feed the table with its axes swapped", _call(subject, value, "transpose", ""), 0.8
        sizes = wanted[1:]
        if wanted and wanted[0] in (None, given[0] if given else None) and None not in sizes:
            rest = tuple(size or 0 for size in sizes)
            numbers = held_values.held(subject, value)
            kind = str(numbers.get("dtype")) if isinstance(numbers, dict) else ""
            if len(given) == 1 and len(rest) == 1 and rest[0] > 1 and kind.startswith(("int", "uint")):
                function, imports = data_edits.with_numpy(subject, "eye")
                edit = data_edits.wrapped(subject, value, f"{function}({rest[0]})[", "]")
                yield "Feed the class indices one-hot", (edit, *imports), 0.85
            elif given and prod(given[1:]) == prod(rest) and not _fits((1, *given), wanted):
                shape = f", ({', '.join(map(str, (-1, *rest)))}{'' if rest else ','})"
                yield f"Feed it in the shape{shape[1:]}", _call(subject, value, "reshape", shape), 0.9

    programs = """
=== example: one image at the end
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
images = tf.placeholder(tf.float32, [None, 4, 4, 3])
brightness = tf.reduce_mean(images, axis=[1, 2, 3])
with tf.Session() as sess:
    sess.run(brightness, feed_dict={images: np.random.rand(8, 4, 4, 3)})
    picture = np.random.rand(4, 4, 3)
-     print(sess.run(brightness, feed_dict={images: picture}))
+     print(sess.run(brightness, feed_dict={images: [picture]}))

=== example: images for a placeholder of rows
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
x = tf.compat.v1.placeholder(tf.float32, shape=(None, 36))
total = tf.reduce_sum(x)
digits = np.ones((5, 6, 6))
sess = tf.compat.v1.Session()
- sess.run(total, {x: digits})
+ sess.run(total, {x: np.reshape(digits, (-1, 36))})

=== example: class numbers for a placeholder of columns, fed by a function
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
answers = tf.placeholder(tf.float32, [None, 3])
shares = tf.reduce_mean(answers, 0)


def count(session, batch):
-     return session.run(shares, feed_dict={answers: batch})
+     return session.run(shares, feed_dict={answers: np.eye(3)[batch]})


with tf.Session() as session:
    print(count(session, np.array([0, 2, 1, 1])))

=== reject: a batch, and a crash elsewhere
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
images = tf.placeholder(tf.float32, [None, 4, 4, 3])
total = tf.reduce_sum(images)
with tf.Session() as sess:
    sess.run(total, feed_dict={images: np.ones((2, 4, 4, 3))})
raise ValueError("Cannot feed value of shape (4, 4, 3) for Tensor images, which has shape (?, 4, 4, 3)")

=== reject: values that fit
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 3])
y = tf.reduce_sum(x)
with tf.Session() as sess:
    sess.run(y, feed_dict={x: np.ones((4, 3))})
    sess.run(y, feed_dict={x: [[1, 2, 3]]})
"""


def _value(subject: Subject, given: Shape, wanted: Shape) -> ast.expr | None:
    """The one value in the feed of the failing call whose shape, and whose placeholder's, are those of the message."""
    node = subject.node(subject.crash.site) if subject.crash is not None else None
    feed = _feed(subject, node) if isinstance(node, ast.Call) else None
    if feed is None:
        return None
    pairs = [(key, value) for key, value in zip(feed.keys, feed.values, strict=True) if key is not None]
    found = [
        value
        for key, value in pairs
        if held_values.shape_of(subject, key) in (None, wanted)
        and held_values.shape_of(subject, value) in (None, given)
    ]
    sure = [value for value in found if held_values.shape_of(subject, value) == given]
    best = sure or found
    return best[0] if len(best) == 1 else None


def _feed(subject: Subject, call: ast.Call) -> ast.Dict | None:
    given = keyword_value(call, "feed_dict")
    if given is None and isinstance(call.func, ast.Attribute):
        place = {"run": 1, "eval": 0}.get(call.func.attr, len(call.args))
        given = call.args[place] if place < len(call.args) else None
    if isinstance(given, ast.Name):
        bound = subject.source.bindings(given, given)
        given = bound[0] if len(bound) == 1 else given
    return given if isinstance(given, ast.Dict) else None


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    return len(shape) == len(wanted) and all(b in (None, a) for a, b in zip(shape, wanted, strict=True))


def _call(subject: Subject, value: ast.expr, name: str, further: str) -> tuple[Edit, ...]:
    function, imports = data_edits.with_numpy(subject, name)
    return (data_edits.wrapped(subject, value, f"{function}(", f"{further})"), *imports)
