"""A stub for Gym: environments with the documented spaces, in each state of which one action is rewarded."""

from dnnfix.reproduce.standins.modules import made_module

_MADE_EPISODE = 50


class _MadeBox:
    """Arrays between two bounds."""

    def __init__(self, low, high, shape=None, dtype="float32"):
        import numpy

        self.shape = tuple(shape) if shape is not None else numpy.shape(low)
        self.dtype = numpy.dtype(dtype)
        self.low = numpy.broadcast_to(numpy.asarray(low, self.dtype), self.shape).copy()
        self.high = numpy.broadcast_to(numpy.asarray(high, self.dtype), self.shape).copy()
        self.seed(0)

    def seed(self, seed=None):
        import numpy

        self._random = numpy.random.RandomState(seed)
        return [seed]

    def sample(self):
        import numpy

        low, high = numpy.maximum(self.low, -1e3), numpy.minimum(self.high, 1e3)
        return self._random.uniform(low, high, self.shape).astype(self.dtype)

    def contains(self, x):
        import numpy

        return numpy.shape(x) == self.shape and bool((x >= self.low).all() and (x <= self.high).all())


class _MadeDiscrete:
    """Whole numbers below n."""

    shape, dtype = (), int

    def __init__(self, n, *args, **kwargs):
        self.n = n
        self.seed(0)

    def seed(self, seed=None):
        import numpy

        self._random = numpy.random.RandomState(seed)
        return [seed]

    def sample(self):
        return int(self._random.randint(self.n))

    def contains(self, x):
        return 0 <= int(x) < self.n


class _MadeMulti(_MadeBox):
    """Several whole numbers, each below a bound of its own."""

    def __init__(self, nvec, *args, **kwargs):
        import numpy

        self.nvec = numpy.full(nvec, 2) if numpy.ndim(nvec) == 0 else numpy.asarray(nvec)
        super().__init__(numpy.zeros(len(self.nvec)), self.nvec - 1, dtype="int64")


class _MadeEnv:
    """What programs derive environments of their own from."""

    metadata: dict = {"render.modes": ["rgb_array"], "render_modes": ["rgb_array"]}  # noqa: RUF012 - as Gym has it
    reward_range = (-float("inf"), float("inf"))
    action_space = observation_space = spec = render_mode = None

    def reset(self, *args, **kwargs):
        raise NotImplementedError

    def render(self, mode="human", *args, **kwargs):
        import numpy

        wanted = "rgb_array" in (mode, self.render_mode)
        return numpy.zeros((400, 600, 3), dtype="uint8") if wanted else None

    def seed(self, seed=None):
        return [seed]

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    @property
    def unwrapped(self):
        return self


class _MadeWrapper(_MadeEnv):
    """An environment around another one."""

    def __init__(self, env, *args, **kwargs):
        self.env = env
        self.action_space, self.observation_space = env.action_space, env.observation_space
        self.spec, self.render_mode = env.spec, env.render_mode

    def __getattr__(self, name):
        if name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, *args, **kwargs):
        return self.env.reset(*args, **kwargs)

    def step(self, action):
        return self.env.step(action)

    @property
    def unwrapped(self):
        return self.env.unwrapped


class _MadeObservationWrapper(_MadeWrapper):
    def reset(self, *args, **kwargs):
        first = self.env.reset(*args, **kwargs)
        return (self.observation(first[0]), *first[1:]) if isinstance(first, tuple) else self.observation(first)

    def step(self, action):
        seen, *rest = self.env.step(action)
        return (self.observation(seen), *rest)


class _MadeActionWrapper(_MadeWrapper):
    def step(self, action):
        return self.env.step(self.action(action))


class _MadeRewardWrapper(_MadeWrapper):
    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return (seen, self.reward(reward), *rest)


class _MadeWorld(_MadeEnv):
    """A state that drifts; for each there is one action that is rewarded. An episode has 50 steps."""

    def __init__(self, name, seen, acted, today, render_mode=None):
        import types

        import numpy

        self._today, self.render_mode = today, render_mode
        self._random = numpy.random.RandomState(0)
        self._discrete, self._image = isinstance(seen, int), not isinstance(seen, int) and len(seen) == 3
        self._size = 4 if self._discrete or self._image else seen[0]
        bytes_seen = self._image or (not self._discrete and seen == (128,))
        self.observation_space = (
            _MadeDiscrete(seen)
            if self._discrete
            else _MadeBox(0, 255, seen, "uint8")
            if bytes_seen
            else _MadeBox(-10.0, 10.0, seen)
        )
        self._bytes = bytes_seen
        many = isinstance(acted, int)
        self.action_space = _MadeDiscrete(acted) if many else _MadeBox(acted[0], acted[1], (acted[2],))
        self._rule = self._random.normal(size=(acted if many else acted[2], self._size))
        self._max_episode_steps = _MADE_EPISODE
        self.spec = types.SimpleNamespace(
            id=name, max_episode_steps=_MADE_EPISODE, timestep_limit=_MADE_EPISODE, reward_threshold=45.0
        )
        self._state, self._at = numpy.zeros(self._size), 0
        if name.startswith("CartPole"):  # where the real one ends an episode: programs reward by it
            self.x_threshold, self.theta_threshold_radians = 2.4, 0.20943951

    def seed(self, seed=None):
        import numpy

        self._random = numpy.random.RandomState(seed)
        return [seed]

    def get_action_meanings(self):
        return ["NOOP", "FIRE", "RIGHT", "LEFT", "UP", "DOWN"][: self.action_space.n]

    def _seen(self):
        import numpy

        if self._discrete:
            return int(abs(self._state[0]) * self.observation_space.n / 3.0) % self.observation_space.n
        if not self._bytes:
            return self._state.astype("float32")
        if not self._image:
            return (self._state * 40 + 128).clip(0, 255).astype("uint8")
        image = numpy.zeros(self.observation_space.shape, dtype="uint8")
        height, width = image.shape[:2]
        for number, value in enumerate(self._state):
            row, column = int((value + 3) / 6 * (height - 16)) % (height - 16), (number + 1) * width // 6
            image[row : row + 16, column : column + 8] = 100 + 40 * number
        return image

    def reset(self, *args, seed=None, **kwargs):
        if seed is not None:
            self.seed(seed)
        self._state, self._at = self._random.normal(size=self._size), 0
        return (self._seen(), {}) if self._today else self._seen()

    def step(self, action):
        import numpy

        wanted = self._rule @ self._state
        if isinstance(self.action_space, _MadeDiscrete):
            if not self.action_space.contains(action):
                raise AssertionError("%r is not an action of this environment" % (action,))
            reward = float(int(action) == int(wanted.argmax()))
        else:
            high = self.action_space.high
            reward = -float(((numpy.asarray(action).reshape(high.shape) - high * numpy.tanh(wanted)) ** 2).mean())
        self._state = (0.9 * self._state + 0.4 * self._random.normal(size=self._size)).clip(-3, 3)
        self._at += 1
        over = self._at >= _MADE_EPISODE
        return (self._seen(), reward, over, False, {}) if self._today else (self._seen(), reward, over, {})


def made_gym(package, environments, today):
    """The package with these environments: for each name what is observed and what can be done.

    With `today` a reset gives the observation and a dictionary, and a step tells apart how an episode ended.
    """

    def make(name, *args, render_mode=None, **kwargs):
        seen, acted = environments[name]
        return _MadeWorld(name, seen, acted, today, render_mode)

    spaces = {"Box": _MadeBox, "Discrete": _MadeDiscrete, "MultiDiscrete": _MadeMulti, "MultiBinary": _MadeMulti}
    names = ("Monitor", "RecordVideo", "TimeLimit", "RecordEpisodeStatistics")
    made_module(
        package,
        make=make,
        Env=_MadeEnv,
        Wrapper=_MadeWrapper,
        ObservationWrapper=_MadeObservationWrapper,
        ActionWrapper=_MadeActionWrapper,
        RewardWrapper=_MadeRewardWrapper,
    )
    made_module(package + ".spaces", **spaces)
    made_module(package + ".wrappers", **dict.fromkeys(names, _MadeWrapper))
