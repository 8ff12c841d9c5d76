"""One layer of a Keras network is not told the order of axes that all the others are told."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
    keyword_value,
)

LAYERS = tuple(
    f"keras.layers.{name}{rank}D"
    for name in ("Conv", "MaxPooling", "AveragePooling", "GlobalMaxPooling", "GlobalAveragePooling", "UpSampling")
    for rank in (2, 3)
) + ("keras.layers.Conv2DTranspose", "keras.layers.SeparableConv2D", "keras.layers.ZeroPadding2D")
"""Layers of images that take `data_format`."""

LEAST = 2
"""As many other layers have to state the order for one without it to be an oversight."""


@dataclass(frozen=True, slots=True)
class _Odd:
    """The constructor of the layer without the argument, and the text of the others' argument."""

    call: ast.Call
    stated: str


class LayerWithoutItsDataFormat(FaultTemplate[_Odd]):
    """Every layer of images but one is told `data_format="channels_first"`.

    The one that is not takes the last axis for the channels, as Keras does unless told otherwise: it moves its window over
    other axes than the layers around it, and gives another shape.

    Fix safety: unsafe. The layer gets other weights, which is the point.

    References: keras.layers.Conv2D (`data_format`), keras.config.image_data_format.
    """

    code = "DNF242"
    name = "layer-without-its-data-format"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "this layer is not told {stated}, which all other layers of the network are told"
    triggers = ("data_format",)
    needs_run = True
    declined = "the layer is not made at one place"

    def faults(self, subject: Subject) -> Faults[_Odd]:
        if subject.crash is None or "set_image_data_format" in subject.source.words:
            return
        made = list(subject.source.calls(*LAYERS))
        if any(keyword.arg is None for call in made for keyword in call.keywords):
            return
        stated = [(call, _stated(call)) for call in made]
        texts = {ast.dump(value) for _, value in stated if value is not None}
        told = [(call, value) for call, value in stated if value is not None]
        untold = [call for call, value in stated if value is None]
        if len(texts) != 1 or len(untold) != 1 or len(told) < LEAST or not _is_first(told[0][1]):
            return
        around = subject.source.enclosing(untold[0], ast.FunctionDef)
        if all(subject.source.enclosing(call, ast.FunctionDef) is around for call, _ in told):
            value = told[0][1]
            text = subject.source.segment(subject.source.site(value)) if value is not None else ""
            yield subject.source.site(untold[0]), _Odd(untold[0], text)

    def report(self, site: Site, fault: _Odd) -> Finding:
        return self.finding(
            site, symptom=Symptom.CRASH, confidence=0.8, cause="crash", stated=f"data_format={fault.stated}"
        )

    def repairs(self, subject: Subject, fault: _Odd) -> Repairs:
        edit = SetArgument(subject.source.site(fault.call), "data_format", fault.stated)
        yield "Tell the layer the order of axes that the others are told", (edit,), 0.9

    examples = (
        Example(
            "branches that no longer meet",
            """\
from keras import Input, layers

image = Input((2, 16, 16))
wide = layers.Conv2D(filters=4, kernel_size=3, padding="same", data_format="channels_first")(image)
wide = layers.Conv2D(filters=4, kernel_size=3, padding="same", data_format="channels_first")(wide)
- short = layers.Conv2D(filters=4, kernel_size=1)(image)
+ short = layers.Conv2D(filters=4, kernel_size=1, data_format="channels_first")(image)
both = layers.add([wide, short])
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a network that leaves the order alone but for one layer, and runs",
            """\
from keras import Input, layers

image = Input((16, 16, 2))
x = layers.Conv2D(4, 3, data_format="channels_last")(image)
x = layers.Conv2D(4, 3)(x)
""",
            runs=True,
        ),
        Reject(
            "layers that state Keras's own order, and a crash of another kind",
            """\
from keras import Input, layers

image = Input((16, 16, 2))
x = layers.Conv2D(4, 3, data_format="channels_last")(image)
x = layers.MaxPooling2D(data_format="channels_last")(x)
x = layers.Conv2D(4, 9)(x)
""",
            runs=True,
        ),
    )


def _stated(call: ast.Call) -> ast.expr | None:
    return keyword_value(call, "data_format")


def _is_first(value: ast.expr | None) -> bool:
    """Whether the order may be the one that Keras does not take by itself."""
    return not (isinstance(value, ast.Constant) and value.value in ("channels_last", None))
