"""Learning rates of optimizers: the usual rate, and the default one.

Sources: the defaults of `torch.optim` (torch 2.13) and `keras.optimizers` (Keras 3.15); for gradient descent Bengio,
"Practical Recommendations for Gradient-Based Training of Deep Architectures", section 3.1.1; for Adadelta, which has no
rate, Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012).
"""

from __future__ import annotations

USUAL_RATES: dict[str, float] = {
    **dict.fromkeys(("SGD", "ASGD", "Adagrad", "Rprop"), 0.01),
    **dict.fromkeys(("GradientDescentOptimizer", "MomentumOptimizer", "AdagradOptimizer"), 0.01),
    **dict.fromkeys(("Adam", "AdamW", "Adamax", "Nadam", "NAdam", "RAdam", "RMSprop"), 0.001),
    **dict.fromkeys(("AdamOptimizer", "RMSPropOptimizer"), 0.001),
    **dict.fromkeys(("Adadelta", "AdadeltaOptimizer"), 1.0),
}
"""By the short name of the optimizer's class."""

OTHER_DEFAULTS = dict.fromkeys(("Adadelta", "AdadeltaOptimizer", "Adagrad"), 0.001)
"""Defaults of Keras and TensorFlow that are none of the usual rates, by the short name of the class."""

FAR_OFF = 1.9
"""Orders of magnitude between a rate and the usual one from which on it is far off: about a hundred times as much, or as little."""

RATE_NAMES = ("lr", "learning_rate")
"""What the parameter is called that takes the rate."""

HOMES = ("torch.optim", "keras.optimizers", "tensorflow")
"""Where the names of optimizers begin."""


def usual_rate(name: str) -> float | None:
    """The usual rate of an optimizer with this canonical name; `None` for other callables."""
    home, _, short = name.rpartition(".")
    return USUAL_RATES.get(short) if home.startswith(HOMES) else None


def default_rate(name: str) -> float | None:
    """The rate of an optimizer with this canonical name without an argument for it; `None` for other callables."""
    usual, short = usual_rate(name), name.rpartition(".")[2]
    return usual if usual is None or name.startswith("torch.") else OTHER_DEFAULTS.get(short, usual)
