"""How values of evidence and measurements are written for a person."""

from __future__ import annotations

from collections.abc import Mapping

from dnnfix.records import Json


def value_text(value: Json) -> str:
    """A value on one line: numbers to four digits, a pair `before`, `after` with an arrow between them."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "unknown"}[value]
    if isinstance(value, float):
        return f"{value:z.4g}"
    if isinstance(value, Mapping) and set(value) == {"before", "after"}:
        return f"{value_text(value['before'])} -> {value_text(value['after'])}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(value_text(item) for item in value) + ")"
    return " ".join(str(value).split())


SHOWN: Mapping[str, tuple[str, float, str]] = {
    "step_seconds": ("step", 1e3, " ms"),
    "peak_memory": ("memory", 2**-20, " MiB"),
    "parameters": ("parameters", 1, ""),
    "information": ("information kept", 100, " %"),
    "adversarial": ("adversarial rise of the loss", 100, " %"),
}
"""How side effects are shown: under which words, times what, in which unit."""


def effect_text(name: str, value: Json) -> str:
    """One side effect, before and after where both are known: `memory 337 -> 340 MiB`."""
    words, factor, unit = SHOWN.get(name, (name.replace("_", " "), 1, ""))
    ends = [value.get("before"), value.get("after")] if isinstance(value, Mapping) else [value]
    said = [scaled(end, factor) for end in ends if end is not None]
    if len(said) == 2 and said[0] == said[1]:
        return f"{words} {said[0]}{unit} as before"
    return f"{words} {' -> '.join(said)}{unit}"


def scaled(value: Json, factor: float) -> str:
    """A number in the unit that `factor` makes of it, to three digits; what is no number as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (isinstance(value, int) and factor == 1):
        return value_text(value)
    number = value * factor
    return f"{number:.0f}" if 100 <= abs(number) < 1e12 else f"{number:z.3g}"


def is_unknown(value: Json) -> bool:
    """Whether nothing is known of a measurement, neither before nor after."""
    return value is None or (isinstance(value, Mapping) and all(is_unknown(item) for item in value.values()))
