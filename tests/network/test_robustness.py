"""Odd and hostile programs: always a network, never an exception, never much time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.errors import InputError
from dnnfix.network.from_source import network_from_source
from dnnfix.source.program import Source
from tests.network.programs import read

ODD = {
    "nothing of a framework": "print(1)",
    "only an import": "import torch",
    "attributes of nothing": "import torch\nx = undefined.a.b().c[0](1)(2)",
    "stars everywhere": "import torch.nn as nn\nf(*a, **b)\nnn.Linear(*a)(*b)\nnn.Sequential(*c, nn.ReLU(), **d)(x)",
    "an own base class": "import torch.nn as nn\nclass A(A, nn.Module):\n    def forward(self): return self()\nA()()",
    "classes that derive from one another": "import torch\nclass A(B): pass\nclass B(A): pass\nA().f(B())",
    "mutual recursion": "import torch\ndef f(x): return g(x)\ndef g(x): return f(x)\nf(torch.ones(1))",
    "a loss without arguments": "import torch.nn.functional as F, keras\nF.cross_entropy()\nkeras.losses.mse(1)",
    "a container of itself": "import torch.nn as nn\ns = nn.Sequential()\ns.append(s)\ns(x)",
    "a list of itself": "import torch\na = []\na.append(a)\ntorch.cat(a)\ntorch.tensor(a)",
    "huge powers": "import torch\nx = 9 ** 9 ** 9\ny = 'a' * 10 ** 12\nz = [0] * 10 ** 12\ntorch.zeros(x, len(y))",
    "odd subscripts": "import torch.nn as nn\nm = nn.ModuleList([nn.ReLU()])\nm[5](x)\nm[::0]\nm['a']\nm[-1](x)",
    "match": "import torch\nmatch x:\n    case [a, *b]: y = torch.relu(a)\n    case _: y = 2\ntorch.abs(y)",
    "async": "import torch\nasync def f():\n    async for x in y:\n        await g(torch.relu(x))\nf()",
    "yield": "import torch\ndef f():\n    yield torch.zeros(1)\nfor x in f(): torch.relu(x)",
    "break outside of anything": "import torch\nfor i in y:\n    if i: break\n    else: continue\nwhile True: pass",
    "a keras model of nothing": "import keras\nm = keras.Model()\nm.compile()\nm.fit()\nm(1)\nm.output\nkeras.Sequential()(x)",
    "compile with rubbish": "import keras\nm = keras.Sequential([None, 1])\nm.compile(loss=[1, None, {}], metrics={'a': [2]})",
    "lambdas": "import torch\nf = lambda x, *a, k=1, **w: torch.relu(x)\nf()\nf(1, 2, k=3, z=4)\n(lambda: f)()()",
    "a property that returns itself": "import torch.nn as nn\nclass A(nn.Module):\n    @property\n    def p(self): return self.p\nA().p",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_programs_give_a_network(name: str) -> None:
    _, network = read(ODD[name])

    assert network.known_from == "source"


def test_work_is_bounded_where_calls_multiply() -> None:
    lines = ["import torch", "def f0(x): return torch.relu(x)"]
    lines += [f"def f{i}(x): return f{i - 1}(x) + f{i - 1}(x) + f{i - 1}(x)" for i in range(1, 18)]
    started = time.process_time()
    _, network = read("\n".join([*lines, "f17(torch.zeros(1))"]))

    assert time.process_time() - started < 2
    assert 0 < len(network.calls) <= 4000


@pytest.mark.parametrize(
    "line",
    [
        "x += x",
        "x.extend(x)",
        "x = x + x",
        "x = [*x, *x]",
        "x = nn.Sequential(*x, *x)",
        "x = x * 2",
        "x = [x, x]",
        "x = {'a': x, 'b': x}",
        "x = [(x, x)]",
        "x.append(x)",
        "x.insert(0, x)",
    ],
)
def test_a_list_that_is_given_to_itself_is_followed_as_far_as_one_can(line: str) -> None:
    started = time.process_time()
    _, network = read("import torch.nn as nn\nx = [nn.Linear(2, 2)]\n" + f"{line}\n" * 60 + "nn.Sequential(*x)\n")
    assert time.process_time() - started < 5 and network.components


def test_a_text_that_is_added_to_itself_is_not_written_out() -> None:
    _, network = read("import torch.nn as nn\nx = 'ab'\n" + "x += x\n" * 60 + "nn.Linear(len(x), 3)\n")
    assert network.components


def test_deep_expressions_and_long_files_are_read() -> None:
    chain = "import torch\nx = torch.zeros(1)\ny = " + " + ".join(["x"] * 600) + "\nz = torch.relu(x)\n"
    _, network = read(chain)
    assert network.calls[-1].name == "torch.relu"

    long = "import torch.nn as nn\n" + "a = nn.Linear(3, 3)(b)\n" * 2000
    started = time.process_time()
    _, network = read(long)
    assert time.process_time() - started < 2 and len(network.calls) == 2000


def test_calls_are_unknown_where_reading_stopped_early() -> None:
    block = "import torch.nn as nn\nm = nn.Linear(3, 3)\nidle = nn.Linear(4, 4)\n" + "m(x); m(x); m(x)\n" * 5000
    _, network = read(block)

    assert network.cut
    assert {c.called for c in network.components} == {None}


PIECES = st.sampled_from(
    """
    import torch|import torch.nn as nn|import keras|from keras.layers import Dense|x = nn.Linear(2, 3)(x)|def f(x, y=1):
    return x|class N(nn.Module):|for a, b in x:|if x:|else:|while x:|x = f(x)|N()(x)|self.fc = nn.ReLU()|super().__init__()
    model = keras.Sequential([Dense(3)])|model.add(Dense(x))|model.compile(loss='mse')|model.fit(x, x)|x.append(x)|x = []
    try:|except E:|with x as y:|lambda x: x|x = {'a': x}|x['a'](x)|x[0]|del x|global x|x += x|return f(*x, **y)|break
    """.replace("\n", "|").split("|")
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), PIECES), max_size=25))
def test_any_program_gives_a_network(lines: list[tuple[int, str]]) -> None:
    text = "import torch.nn as nn, keras\n" + "\n".join("    " * depth + piece.strip() for depth, piece in lines)
    try:
        program = Source.from_bytes(text.encode(), "program.py")
    except InputError:
        return
    network = network_from_source(program)

    ids = {call.id for call in network.calls}
    assert all(v.producer is None or v.producer in ids for call in network.calls for v in call.inputs)
