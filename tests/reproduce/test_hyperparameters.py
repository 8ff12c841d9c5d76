"""Undefined sizes, settings, arguments, variables, prompts and GPUs: what a program gets, and what it does not."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.detect.run_rules import detect
from dnnfix.records import Crash, EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import devices, hyperparameters
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source
from dnnfix.subject import Subject

Run = Callable[..., Trace]


def case(text: str, said: str = "", arguments: tuple[str, ...] = (), gpu: bool = False) -> Case:
    source = Source.from_bytes(text.encode(), "program.py")
    return Case(source, (), lambda name: True, Path("/nowhere"), said, gpu, arguments)


def planned(text: str, **more: str) -> list[EditStep | Gap]:
    return list(hyperparameters.steps(case(text, **more)))  # type: ignore[arg-type]


def steps(text: str, **more: str) -> list[EditStep]:
    return [step for step in planned(text, **more) if isinstance(step, EditStep)]


def defined(text: str, **more: str) -> dict[str, str]:
    return {name: code for step in steps(text, **more) for name, code in step.scaffold.definitions}


def gaps(text: str) -> list[str]:
    return [one.what for one in planned(text) if isinstance(one, Gap)]


def test_undefined_hyperparameters_get_usual_values_that_are_called_guesses() -> None:
    found = steps("for epoch in range(num_epochs):\n    print(batch_size, learning_rate, hidden_size)\n")
    values = {step.what for step in found}
    assert values == {"num_epochs = 2", "batch_size = 32", "learning_rate = 0.001", "hidden_size = 32"}
    assert all("guess" in step.evidence and step.invented for step in found)
    assert found[0].line == 1


def test_comments_reports_and_other_places_of_the_program_come_first() -> None:
    assert defined("# hidden_size: 128\nprint(hidden_size)\n")["hidden_size"] == "hidden_size = 128"
    assert defined("print(batch_size)\n", said="I train with batch_size = 64.")["batch_size"] == "batch_size = 64"
    text = "class Net:\n    def __init__(self, num_classes=7):\n        self.n = num_classes\nprint(num_classes)\n"
    found = steps(text)
    assert found[0].scaffold.definitions == (("num_classes", "num_classes = 7"),)
    assert "line 2" in found[0].evidence
    assert not found[0].invented


def test_misspelt_names_functions_and_data_are_not_defined() -> None:
    assert not planned("learning_rate = 0.1\nprint(learning_rat)\n")
    assert not planned("batch_size = 3\nprint(batchsize)\n")
    assert not planned("print(momentum(3))\n")
    assert not planned("print(labels.shape, x, data[0])\n")


def test_what_another_method_of_the_class_has_is_a_fault_and_not_made_up() -> None:
    text = "class Net:\n    def __init__(self, momentum=0.5):\n        {}\n    def go(self):\n        return momentum\n"
    assert not planned(text.format("pass")) and not planned(text.format("momentum = 2"))
    assert planned(text.format("pass").replace("self, momentum=0.5", "self"))


def test_settings_hold_what_is_read_of_them(run_in: Run) -> None:
    text = "print(args.lr, args.batch_size, args.cuda)\nprint(config['hidden_size'])\n"
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "0.001 32 False\n32\n"
    assert gaps("print(args.flurb)\n") == ["`args` is read and nothing says what is in it: add the settings"]


ARGUMENTS = {
    "argparse": (
        """
import argparse
p = argparse.ArgumentParser()
p.add_argument('data', type=str)
p.add_argument('--epochs', type=int, required=True)
p.add_argument('-m', '--mode', choices=['train', 'test'], required=True)
p.add_argument('--save-dir', required=True)
p.add_argument('--lr', type=float, default=0.1)
p.add_argument('-v', action='store_true')
a = p.parse_args()
print(a.epochs, a.mode, a.data, a.save_dir)
""",
        "2 train made/data made/save-dir\n",
    ),
    "sys.argv": (
        "import sys\nif len(sys.argv) < 3:\n    sys.exit('usage')\nepochs = int(sys.argv[2])\nprint(sys.argv[1], epochs)\n",
        "made 2\n",
    ),
}


@pytest.mark.parametrize("name", ["argparse", "sys.argv"])
def test_what_has_no_default_is_given(name: str, run_in: Run) -> None:
    text, printed = ARGUMENTS[name]
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == printed


def test_arguments_of_the_user_and_optional_ones_are_left_alone() -> None:
    text = ARGUMENTS["argparse"][0]
    assert not list(hyperparameters.steps(case(text, arguments=("x",))))
    assert not planned(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', default=1)\np.parse_args()\n"
    )
    assert not planned("import sys\npath = sys.argv[1] if len(sys.argv) > 1 else 'x'\n")


def test_click_and_fire_get_what_they_require() -> None:
    text = "import click\n@click.command()\n@click.argument('csv')\n@click.option('--epochs', required=True, type=int)\ndef main(csv, epochs):\n    pass\nmain()\n"
    assert [step.scaffold.arguments for step in steps(text)] == [("made/csv.csv",), ("--epochs", "2")]
    text = "import fire\ndef train(epochs, lr=0.1):\n    pass\nfire.Fire(train)\n"
    assert [step.scaffold.arguments for step in steps(text)] == [("--epochs=2",)]


def test_a_program_is_the_only_process_of_its_world(run_in: Run) -> None:
    text = "import os\nprint(list(range(9))[int(os.environ['RANK'])::int(os.environ['WORLD_SIZE'])])\n"
    assert run_in(text, joined(steps(text))).printed == f"{list(range(9))}\n"


def test_environment_variables_are_set_and_secrets_are_not(run_in: Run) -> None:
    text = "import os\nprint(os.path.isdir(os.environ['DATA_DIR']))\n"
    trace = run_in(text, joined(steps(text)))
    assert trace.printed == "True\n"
    assert not steps("import os\nos.environ['X'] = '1'\nprint(os.environ['X'])\n")
    assert "secret" in gaps("import os\nprint(os.environ['API_KEY'])\n")[0]


def test_prompts_are_answered_where_something_tells_how(run_in: Run) -> None:
    text = "epochs = int(input('How many? '))\nsave = input('Save (y/n)? ')\nprint(epochs, save)\n"
    trace = run_in(text, joined(steps(text)))
    assert trace.printed.splitlines()[-1] == "2 y"
    assert gaps("name = input('Who are you? ')\n") == [
        "the program asks 'Who are you?', and nothing tells what to answer"
    ]


GPU = """import torch
net = torch.nn.Linear(3, 2).cuda()
x = torch.zeros(4, 3).to('cuda').cuda(0)
y = torch.zeros(4, dtype=torch.long, device='cuda:0')
torch.cuda.set_device(0)
mask = torch.ones(2).type(torch.cuda.FloatTensor)
w = torch.randn(3, requires_grad=True).cuda()
print(net(x).shape, y.device, w.is_leaf, mask.dtype)
"""


def test_a_prompt_that_the_program_only_waits_for_is_answered_a_few_times(run_in: Run) -> None:
    waits = "while True:\n    print('shown')\n    {}()\n"
    for name in ("input", "raw_input"):
        (step,) = steps(waits.format(name))
        assert step.scaffold.start == "input = made_answers({'': ''}, input, 3)"
    trace = run_in(waits.format("input"), joined([step]))
    assert trace.outcome is RunOutcome.FINISHED and trace.printed.count("shown") == 4
    (step,) = steps("print('shown')\ninput('Press Enter')\n")
    assert step.scaffold.start.endswith("{'Press Enter': ''}, input)")


def test_calls_for_a_gpu_run_on_the_cpu(run_in: Run) -> None:
    found = steps(GPU)
    assert len(found) == 1
    assert "cannot show" in found[0].evidence
    trace = run_in(GPU, joined(found))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "torch.Size([4, 2]) cpu False torch.float32\n"


LEAVES = """import os
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

if torch.cuda.device_count() == 0:
    print("no GPU")
    sys.exit(-1)
assert torch.cuda.is_available()
torch.set_default_tensor_type("torch.cuda.FloatTensor")
numbers = [int(number) for number in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
device = torch.device("cuda:{}".format(numbers[0]))
net = torch.nn.DataParallel(torch.nn.Linear(3, 2).to(device), device_ids=numbers)
scaler = torch.amp.GradScaler("cuda")
for (x,) in DataLoader(TensorDataset(torch.zeros(4, 3)), 2, pin_memory=True):
    net(x.to(device)).sum().backward()
card = torch.cuda.get_device_properties(torch.cuda.current_device())
print(numbers, torch.cuda.device_count(), card.name == torch.cuda.get_device_name(0), torch.zeros(1, device=device).device)
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
print(torch.cuda.is_available(), torch.cuda.device_count())
"""


def test_a_program_that_leaves_without_a_gpu_is_told_of_one_by_every_question(run_in: Run) -> None:
    first = run_in(LEAVES)
    assert first.outcome is RunOutcome.EXITED
    found = [one for one in hyperparameters.steps(replace(case(LEAVES), traces=(first,))) if isinstance(one, EditStep)]
    trace = run_in(LEAVES, joined(found))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines()[-2:] == ["[0] 1 True cpu", "False 0"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("assert torch.cuda.is_available(), 'no card'\nprint(torch.cuda.is_available())\n", True),
        (
            "import sys\nif len(sys.argv) < 2:\n    sys.exit(2)\nif not torch.cuda.is_available():\n    sys.exit(1)\n",
            False,
        ),
        ("assert len('words') == 3\nif torch.cuda.device_count() > 1:\n    print('many')\n", False),
    ],
)
def test_a_gpu_is_stood_in_for_where_a_run_ended_for_want_of_one(text: str, wanted: bool, run_in: Run) -> None:
    first = run_in("import torch\n" + text)
    found = list(devices.steps(replace(case("import torch\n" + text), traces=(first,))))
    assert bool(found) is wanted


def test_a_gpu_that_a_module_beside_names_is_the_cpu() -> None:
    program = Source.from_bytes(
        b"import config\nimport torch\nprint(torch.ones(2).to(torch.device(config.DEVICE)))\n", "a.py"
    )
    beside = Source.from_bytes(b"DEVICE = 'cuda'\n", "config.py")
    crash = Crash("AssertionError", "Torch not compiled with CUDA enabled")
    trace = Trace(RunOutcome.NEEDS_GPU, crash=crash)
    found = list(devices.steps(Case(program.along_with([beside]), (trace,), lambda name: True)))
    assert [step.scaffold.literals for step in found if isinstance(step, EditStep)] == [(("cuda", "cpu"),)]


def test_a_torch_without_gpus_gets_a_version_of_cuda_where_a_program_stopped_at_it(run_in: Run) -> None:
    text = "import torch\nmajor = int(torch.version.cuda.split('.')[0])\nprint(major > 0)\n"
    trace = run_in(text)
    if trace.outcome is RunOutcome.FINISHED:
        pytest.skip("this torch has a version of CUDA")
    found = [one for one in hyperparameters.steps(replace(case(text), traces=(trace,))) if isinstance(one, EditStep)]
    assert run_in(text, joined(found)).printed == "True\n"


def test_programs_that_look_for_a_gpu_and_machines_that_have_one_need_nothing() -> None:
    text = (
        "import torch\nd = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nprint(torch.zeros(2).to(d))\n"
    )
    assert not planned(text)
    assert not list(hyperparameters.steps(case(GPU, gpu=True)))


@pytest.mark.parametrize(
    ("flag", "asks"),
    [("True", True), ("1", True), ("False", False), ("torch.cuda.is_available()", False), ("given()", False)],
)
def test_a_flag_that_the_program_always_sets_is_no_choice(flag: str, asks: bool) -> None:
    text = f"import torch\nuse_cuda = {flag}\nnet = torch.nn.Linear(2, 1)\nif use_cuda:\n    net = net.cuda()\n"
    assert ("CPU" in str(planned(text))) is asks


def test_every_usual_value_is_python() -> None:
    from dnnfix.reproduce.harness.sizes import _USUAL

    for _pattern, value in _USUAL:
        ast.literal_eval(value)


UNMOVED = """import torch
from torch import nn
net = nn.Linear(4, 3).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
for x, y in torch.utils.data.DataLoader(rows, batch_size=8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""


def test_who_joins_other_processes_runs_without_a_gpu_where_told_to_or_as_two_ranks() -> None:
    joining = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    net = "import torch\nnet = torch.nn.Linear(2, 1).cuda()\n"
    asked = "if args.world_size > 1:\n    " + joining.split("\n")[1] + "\n"
    assert "run one of them alone" in gaps(net + joining)[0]
    two = replace(case(net + joining), traces=(Trace(RunOutcome.CRASHED, probes={"world": 2}),))
    assert [type(one) for one in hyperparameters.steps(two)] == [EditStep]
    assert not gaps(net + "import torch.distributed as dist\nargs = 1\n" + asked)


def test_batches_that_are_never_moved_are_still_found_without_a_gpu(run_in: Run) -> None:
    trace = run_in(UNMOVED, joined(steps(UNMOVED)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    source = Source.from_bytes(UNMOVED.encode(), "program.py")
    found = detect(Subject(source, trace), [template for template in registry.templates(()) if template.default])
    assert "DNF607" in {finding.code for finding in found.findings}


def test_a_variable_that_the_program_asks_for_first_is_left_alone() -> None:
    asked = "import os\nparallel = int(os.environ.get('RANK', -1)) != -1\nif parallel:\n    rank = int(os.environ['RANK'])\n"
    assert not planned(asked)
    looked = "import os\nif 'RANK' in os.environ:\n    rank = int(os.environ['RANK'])\n"
    assert not planned(looked)
    assert planned("import os\nrank = int(os.environ['RANK'])\n")
