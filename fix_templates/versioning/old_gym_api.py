"""`reset`, `step` and `seed` of an environment are used as before Gym 0.26."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Replace,
    Source,
    Subject,
    Wrap,
    spelling,
)

PACKAGES = ("gym", "gymnasium")

_OF_STEP = re.compile(r"too many values to unpack \(expected 4")
_OF_RESET = re.compile(r"\btuple\b|inhomogeneous|with a sequence|expected sequence of length \d+ at dim \d+ \(got 0\)")
"""Error messages for the tuple that `reset` returns, where an array is expected."""
_OF_SEED = re.compile(r"has no attribute 'seed'")


class OldGymApi(CrashTemplate):
    """`reset`, `step` and `seed` of an environment are used as before Gym 0.26.

    Since then `reset` returns the observation and a dictionary, and `step` returns five values: `terminated` and
    `truncated` are separate. The patch unpacks them and combines the two flags for the code after the loop. The seed, for
    which there was a method, is given to `reset`.

    Fix safety: unsafe. An episode that is truncated ends as before, since both flags are combined.

    References: the release notes of Gym 0.26, and Gymnasium's "Migration guide - v0.21 to v1.0.0".
    """

    code = "DNF563"
    name = "old-gym-api"
    formerly = ("environment-answers-otherwise",)
    message = "since Gym 0.26 `reset` returns two values and takes the seed, and `step` returns five"
    family = Family.VERSIONING
    fix_pattern = FixPattern.VERSIONING
    kinds = frozenset({"TypeError", "ValueError", "AttributeError", "RuntimeError"})
    triggers = PACKAGES
    confidence = 0.95

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        steps = [each for each in _steps(source) if _taken(each) == 4]
        resets = [each for each in _asked(source, "reset") if _is_taken_whole(source, each)]
        of_step = _OF_STEP.search(crash.message) is not None and any(_is_at(source, each, crash) for each in steps)
        of_reset = _OF_RESET.search(crash.message) is not None and bool(resets)
        seeds = [each for each in _asked(source, "seed") if len(each.args) == 1 and not each.keywords]
        of_seed = _OF_SEED.search(crash.message) is not None and bool(seeds)
        if not (of_step or of_reset or of_seed):
            return
        edits = [_observation_alone(source, call) for call in resets]
        for statement in steps:
            edits += _five_values(source, statement)
        edits += [_reset_with(source, call) for call in seeds]
        place = steps[0] if of_step else resets[0] if of_reset else seeds[0]
        title = "Take what `reset` and `step` return today, and give the seed to `reset`"
        yield Fault(source.site(place), {}, ((title, tuple(edits), 0.95),))

    programs = """
=== example: a batch of one state
import gymnasium as gym
import torch

env = gym.make("CartPole-v1")
policy = torch.nn.Linear(4, 2)
- now = env.reset()
+ now, _ = env.reset()
for _ in range(3):
    action = policy(torch.tensor([now], dtype=torch.float)).argmax().item()
-     now, reward, over, _ = env.step(action)
+     now, reward, over, truncated, _ = env.step(action)
+     over = over or truncated
print(now.shape)

=== example: in a method, and in an expression
import gymnasium
import numpy as np


class Player:
    def __init__(self, name):
        self.env = gymnasium.make(name)

    def play(self, most):
-         seen = [np.array(self.env.reset(), dtype="float32")]
+         seen = [np.array(self.env.reset()[0], dtype="float32")]
        for _ in range(most):
-             now, gained, over, _ = self.env.step(self.env.action_space.sample())
+             now, gained, over, truncated, _ = self.env.step(self.env.action_space.sample())
+             over = over or truncated
            seen.append(np.array(now, dtype="float32"))
            if over:
                break
        return np.stack(seen)


print(Player("CartPole-v1").play(3).shape[1])

=== example: only the last of them crashes
import gymnasium as gym

env = gym.make("MountainCar-v0")
env.reset()
total = 0.0
for _ in range(4):
-     _, reward, _, _ = env.step(env.action_space.sample())
+     _, reward, _, _, _ = env.step(env.action_space.sample())
    total += reward
print(total)

=== example: the seed had a method
import gymnasium as gym

env = gym.make("CartPole-v1")
- env.seed(3)
- state = env.reset()
+ env.reset(seed=3)
+ state, _ = env.reset()
print(state.shape)

=== reject: a step of the program's own
import gymnasium as gym

class Walk:
    def step(self, action):
        return 1, 2, 3, 4, action

walk = Walk()
a, b, c, d = walk.step(0)

=== reject: the unpacking is right, and something else is wrong
import gymnasium as gym

env = gym.make("CartPole-v1")
state, _ = env.reset()
state, reward, done, truncated, info = env.step(0)
print(state + (1, 2))
"""


def _asked(source: Source, name: str) -> list[ast.Call]:
    """The calls of a method on an environment: an object from `gym.make`, or a name that says so."""
    made = {
        ast.unparse(target)
        for node in source.nodes(ast.Assign)
        if isinstance(node.value, ast.Call)
        and source.qualified(node.value.func) in [f"{package}.make" for package in PACKAGES]
        for target in node.targets
    }
    return [
        call
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == name
        and (
            (owner := ast.unparse(call.func.value)) in made
            or not {"env", "environment"}.isdisjoint(spelling.parts(owner.rpartition(".")[2]))
        )
    ]


def _steps(source: Source) -> list[ast.Assign]:
    """The assignments of a step's result."""
    above = (source.parent(call) for call in _asked(source, "step"))
    return [each for each in above if isinstance(each, ast.Assign) and len(each.targets) == 1]


def _taken(statement: ast.Assign) -> int:
    """How many values an assignment unpacks; 0 where that is not known."""
    target = statement.targets[0]
    known = isinstance(target, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in target.elts)
    return len(target.elts) if known and isinstance(target, ast.Tuple) else 0


def _is_taken_whole(source: Source, call: ast.Call) -> bool:
    """Whether a call's result is used as one value."""
    above = source.parent(call)
    if isinstance(above, ast.Assign):
        return len(above.targets) == 1 and not isinstance(above.targets[0], ast.Tuple | ast.List)
    return not isinstance(above, ast.Expr | ast.Subscript | ast.Return)


def _is_at(source: Source, statement: ast.Assign, crash: Crash) -> bool:
    site = source.site(statement)
    return any(site.encloses(frame.site) for frame in crash.frames)


def _observation_alone(source: Source, call: ast.Call) -> Edit:
    above = source.parent(call)
    if isinstance(above, ast.Assign):
        target = above.targets[0]
        return Replace(source.site(target), f"{ast.unparse(target)}, _")
    return Wrap(source.site(call), "", "[0]")


def _reset_with(source: Source, call: ast.Call) -> Edit:
    """The edit that has `reset` take the seed in the place of `env.seed(…)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return Replace(source.site(call), f"{ast.unparse(owner)}.reset(seed={ast.unparse(call.args[0])})")


def _five_values(source: Source, statement: ast.Assign) -> Iterator[Edit]:
    """The edits that unpack a fifth value, `truncated`, and let it end the episode as well."""
    target = cast(ast.Tuple, statement.targets[0])
    seen, reward, over, more = map(ast.unparse, target.elts)
    known = {node.id for node in source.nodes(ast.Name)}
    late = "_" if over == "_" else "truncated" if "truncated" not in known else "time_is_over"
    yield Replace(source.site(target), f"{seen}, {reward}, {over}, {late}, {more}")
    if over != "_":
        yield InsertAfter(source.site(statement), f"{over} = {over} or {late}")
