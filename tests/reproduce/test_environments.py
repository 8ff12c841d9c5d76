"""Environments of Gym that are not installed: their documented form, and a program that learns in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions.imports import steps
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]


def planned(text: str) -> list[EditStep | Gap]:
    source = Source.from_bytes(text.encode(), "program.py")
    return list(steps(Case(source, (), lambda name: not name.startswith("gym"), Path("/nowhere"))))


def ran(run_in: Run, text: str) -> Trace:
    return run_in(text, joined([step for step in planned(text) if isinstance(step, EditStep)]))


OLD = """import gym
from gym import wrappers
env = gym.make('CartPole-v0')
env = wrappers.Monitor(env, 'out', force=True)
env.seed(3)
state, steps, done = env.reset(), 0, False
while not done:
    state, reward, done, info = env.step(env.action_space.sample())
    steps += 1
print(state.shape, env.observation_space.shape[0], env.action_space.n, steps, env.spec.id)
"""
NEW = """import gymnasium as gym
env = gym.make("Pendulum-v1", render_mode="rgb_array")
state, info = env.reset(seed=1)
state, reward, terminated, truncated, info = env.step(env.action_space.sample())
print(state.shape, env.action_space.high, reward <= 0, terminated, env.render().shape)
"""
ATARI = """import gym
env = gym.make("BreakoutNoFrameskip-v4")
print(env.reset().shape, env.reset().dtype, env.action_space.n, env.unwrapped.get_action_meanings())
"""
LAKE = """import gym
env = gym.make("FrozenLake-v0")
print(type(env.reset()).__name__, env.observation_space.n, env.action_space.n)
"""
OWN = """import gym
from gym import spaces
class Mine(gym.Env):
    def __init__(self):
        self.action_space, self.observation_space = spaces.Discrete(2), spaces.Box(low=0, high=1, shape=(3,))
    def reset(self):
        return self.observation_space.sample()
class Half(gym.ObservationWrapper):
    def observation(self, seen):
        return seen / 2
print(Half(Mine()).reset().max() <= 0.5)
"""


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (OLD, "(4,) 4 2 50 CartPole-v0\n"),
        (NEW, "(3,) [2.] True False (400, 600, 3)\n"),
        (ATARI, "(210, 160, 3) uint8 4 ['NOOP', 'FIRE', 'RIGHT', 'LEFT']\n"),
        (LAKE, "int 16 4\n"),
        (OWN, "True\n"),
    ],
    ids=["old", "new", "atari", "lake", "own"],
)
def test_environments_have_their_documented_form(text: str, printed: str, run_in: Run) -> None:
    trace = ran(run_in, text)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == printed


def test_what_is_not_known_is_missing() -> None:
    for text in (
        "import gym\nenv = gym.make('MyOwnGame-v3')\n",
        "import gym, sys\nenv = gym.make(sys.argv[1])\n",
        "import gym\nprint(gym.envs.registry.all())\n",
        "from gym import *\n",
    ):
        assert [type(one) for one in planned(text)] == [Gap]


LEARNS = """import gym, torch
env = gym.make('CartPole-v1')
net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
def played():
    state, done, logs, rewards = env.reset(), False, [], []
    while not done:
        choice = torch.distributions.Categorical(logits=net(torch.as_tensor(state)))
        action = choice.sample()
        state, reward, done, _ = env.step(action.item())
        logs.append(choice.log_prob(action))
        rewards.append(reward - 0.5)
    return torch.stack(logs), torch.tensor(rewards)
for episode in range(60):
    logs, rewards = played()
    optimizer.zero_grad()
    (-(logs * rewards).mean()).backward()
    optimizer.step()
    if episode in (0, 59):
        print(sum(rewards.tolist()) > 10)
"""


def test_the_right_action_can_be_learned(run_in: Run) -> None:
    found = [step for step in planned(LEARNS) if isinstance(step, EditStep)]
    trace = run_in(LEARNS, joined(found), steps=100)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.endswith("True\n")


def test_nothing_is_made_of_gym_where_its_successor_is_installed() -> None:
    source = Source.from_bytes(OLD.encode(), "program.py")
    assert not list(steps(Case(source, (), lambda name: name != "gym", Path("/nowhere"))))
