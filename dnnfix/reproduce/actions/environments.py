"""Stubs for environments of Gym that are not installed, where the observation and action spaces are documented.

Which way `reset` and `step` answer is that of the program's own time: the package is not there to say otherwise.
"""

from __future__ import annotations

import ast
import re

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

ACTION = EditAction.IMPORTS

PACKAGES = frozenset({"gym", "gymnasium"})

_FORMS: tuple[tuple[str, str, str], ...] = (
    ("CartPole", "(4,)", "2"),
    ("MountainCar", "(2,)", "3"),
    ("MountainCarContinuous", "(2,)", "(-1.0, 1.0, 1)"),
    ("Pendulum", "(3,)", "(-2.0, 2.0, 1)"),
    ("Acrobot", "(6,)", "3"),
    ("LunarLander", "(8,)", "4"),
    ("LunarLanderContinuous", "(8,)", "(-1.0, 1.0, 2)"),
    ("BipedalWalker BipedalWalkerHardcore", "(24,)", "(-1.0, 1.0, 4)"),
    ("CarRacing", "(96, 96, 3)", "(-1.0, 1.0, 3)"),
    ("FrozenLake", "16", "4"),
    ("FrozenLake8x8", "64", "4"),
    ("Taxi", "500", "6"),
    ("CliffWalking", "48", "4"),
    ("InvertedPendulum", "(4,)", "(-3.0, 3.0, 1)"),
    ("InvertedDoublePendulum Reacher", "(11,)", "(-1.0, 1.0, 2)"),
    ("Hopper", "(11,)", "(-1.0, 1.0, 3)"),
    ("HalfCheetah Walker2d", "(17,)", "(-1.0, 1.0, 6)"),
    ("Swimmer", "(8,)", "(-1.0, 1.0, 2)"),
    ("Ant", "(111,)", "(-1.0, 1.0, 8)"),
    ("Humanoid", "(376,)", "(-0.4, 0.4, 17)"),
    ("Pong SpaceInvaders Qbert Riverraid DemonAttack", "(210, 160, 3)", "6"),
    ("Breakout", "(210, 160, 3)", "4"),
    ("MsPacman Enduro Freeway BeamRider", "(210, 160, 3)", "9"),
    ("Seaquest MontezumaRevenge Boxing Assault", "(210, 160, 3)", "18"),
)  # fmt: skip
"""Environments by their names without version: what is observed (a shape, or how many states) and the actions there are
(how many, or from, to, and of what size), as the pages of Gym and Gymnasium state them."""

KNOWN = {name: (seen, acted) for names, seen, acted in _FORMS for name in names.split()}

_NAMED = re.compile(r"(?:ALE/)?(?P<name>[A-Z][A-Za-z]*?(?:2d|8x8)?)(?P<kind>NoFrameskip|Deterministic|-ram)?-v\d+\Z")
_MEMBERS = words("make Env Wrapper ObservationWrapper ActionWrapper RewardWrapper spaces wrappers")
_SPACES = words("Box Discrete MultiDiscrete MultiBinary")
_WRAPPERS = words("Monitor RecordVideo TimeLimit RecordEpisodeStatistics")


def step(package: str, line: int, parts: dict[str, dict[str, list[ast.expr]]], source: Source) -> EditStep | None:
    """A stub for the package; `None` where the program uses an environment whose spaces are not known."""
    allowed = {package: _MEMBERS, f"{package}.spaces": _SPACES, f"{package}.wrappers": _WRAPPERS}
    if any(name not in allowed.get(module, frozenset()) for module, taken in parts.items() for name in taken):
        return None
    named = {
        node.value: match
        for node in source.nodes(ast.Constant)
        if isinstance(node.value, str) and (match := _NAMED.match(node.value))
    }
    known = {text: KNOWN[match["name"]] for text, match in named.items() if match["name"] in KNOWN}
    made = [call for call in source.all_calls if (source.qualified(call.func) or "") == f"{package}.make"]
    if known.keys() != named.keys() or (made and not known):
        return None
    forms = {
        text: ("(128,)" if named[text]["kind"] == "-ram" else seen, acted) for text, (seen, acted) in known.items()
    }
    code = ", ".join(f"{text!r}: ({seen}, {acted})" for text, (seen, acted) in forms.items())
    today = package == "gymnasium" or _is_new(source)
    told = ", ".join(forms) or "classes and spaces"
    return EditStep(
        ACTION,
        f"the package {package!r} is made, with {told}",
        "it is not installed; what is observed and done has the documented shapes and ranges, how it moves is made up",
        line,
        scaffold=Scaffold(start=f"made_gym({package!r}, {{{code}}}, {today})"),
    )


def _is_new(source: Source) -> bool:
    """Whether the program takes five values of `step` or two of `reset`, as since Gym 0.26."""
    taken = (
        (last_name(statement.value.func), len(statement.targets[0].elts))
        for statement in source.nodes(ast.Assign)
        if isinstance(statement.value, ast.Call) and isinstance(statement.targets[0], ast.Tuple)
    )
    return any(one in {("step", 5), ("reset", 2)} for one in taken)
