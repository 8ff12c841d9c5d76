"""What loaders are for, which random numbers are pinned and how cuDNN is set is read from fragments, too."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.detect import random_state
from dnnfix.detect.loops import loader_uses
from dnnfix.source.program import Source
from dnnfix.subject import Subject


def source_of(text: str) -> Source:
    """A text as a source."""
    return Source.from_bytes(text.encode(), "fragment.py")


def lines(code: str, text: str) -> list[int]:
    """The lines of a rule's findings."""
    rule = registry.template(code)
    assert rule is not None
    return [finding.site.line for finding in rule().detect(Subject(source_of(text)))]


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("train_loader = DataLoader(a)\nval_loader = DataLoader(b)", [(True, False), (False, True)]),
        ("loaders = {x: DataLoader(sets[x]) for x in ['train', 'val']}", [(True, True)]),
        ("loaders = {'train': DataLoader(a), 'test': DataLoader(b)}", [(True, False), (False, True)]),
        ("data = datasets.MNIST('.', train=True)\nloader = DataLoader(data)", [(True, False)]),
        ("loader = DataLoader(data)\nfor x, y in tqdm(loader):\n    criterion(net(x), y).backward()", [(True, False)]),
        (
            "loader = DataLoader(data)\nbar = tqdm(loader)\nfor x, y in bar:\n    criterion(net(x), y).backward()",
            [(True, False)],
        ),
        ("def train_dataloader(self):\n    return DataLoader(self.data)", [(True, False)]),
        ("loader = DataLoader(data)", [(None, None)]),
        ("def train_batches():\n    loader = DataLoader(data)\n    return loader", [(True, False)]),
        ("if split == 'train':\n    loader = DataLoader(data)", [(True, False)]),
        ("loader = DataLoader(data)\ntrain_one_epoch(net, loader, optimizer)", [(True, False)]),
        ("loader = DataLoader(data)\ntrainer.fit(net, train_loader, loader)", [(None, None)]),
        ("loader = DataLoader(TensorDataset(x_train, y_train))", [(True, False)]),
        ("loader = DataLoader(Pictures('train', of_test))", [(None, None)]),
    ],
)
def test_loaders_are_known_by_names_data_and_loops(text: str, roles: list[tuple[bool | None, bool | None]]) -> None:
    assert [(use.trains, use.evaluates) for use in loader_uses.uses(source_of(text))] == roles


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("batch_size=4", [1]),
        ("batch_size=4, shuffle=False", [1]),
        ("4, True", []),
        ("batch_size=4, sampler=sampler", []),
        ("batch_size=4, generator=g", []),
        ("batch_size=len(train_set)", []),
        ("**options", []),
    ],
)
def test_training_data_are_to_be_shuffled(options: str, found: list[int]) -> None:
    assert lines("DNF760", f"train_loader = torch.utils.data.DataLoader(train_set, {options})\n") == found


def test_options_of_a_dictionary_count() -> None:
    text = (
        "options = {{'num_workers': 1{more}}} if use_cuda else {{}}\ntrain_loader = DataLoader(train_set, **options)\n"
    )
    assert lines("DNF760", text.format(more="")) == [2]
    assert lines("DNF760", text.format(more=", 'shuffle': True")) == []
    later = "options = {'num_workers': 1}\noptions.update(more)\ntrain_loader = DataLoader(train_set, **options)\n"
    assert lines("DNF760", later) == []


def test_data_that_draw_by_themselves_need_no_shuffling() -> None:
    text = """\
class Pairs(Dataset):
    def __getitem__(self, index):
        return self.draw()

train_loader = DataLoader(Pairs(), batch_size=8)
"""
    assert lines("DNF760", text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch.cuda.manual_seed(42)\nmodel = Net().cuda()\n", [1]),
        ("torch.manual_seed(0)\nx = torch.randn(3)\n", []),
        ("torch.manual_seed(0)\norder = np.random.permutation(9)\n", [1]),
        ("model = Net()\ntorch.manual_seed(0)\nnp.random.seed(0)\nrandom.seed(0)\n", [4]),
        ("torch.manual_seed(args.seed)\nmodel = Net().to(device)\n", []),
        ("torch.manual_seed(0)\nnp.random.seed(0)\nrandom.seed(0)\nmodel = Net()\n", []),
        ("def init_worker(worker_id):\n    np.random.seed(worker_id)\nmodel = Net()\nmodel.backward()\n", []),
        ("import torch\nimport numpy as np\ntorch.manual_seed(0)\nprint(np.mean([1]))\n", []),
        ("util.set_random_seed(seed)\nmodel = Net().cuda()\n", []),
    ],
)
def test_what_a_text_leaves_unpinned(text: str, found: list[int]) -> None:
    assert lines("DNF765", text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch.manual_seed(0)\ncudnn.benchmark = True\n", [2]),
        ("cudnn.deterministic, cudnn.benchmark = True, True\n", [1]),
        ("# for reproducibility\ntorch.backends.cudnn.benchmark = True\n", [2]),
        ("trainer = Trainer(benchmark=True, deterministic=True)\n", [1]),
        ("util.set_random_seed(seed)\ncudnn.benchmark = True\n", []),
        ("cudnn.benchmark = not args.deterministic\ncudnn.deterministic = args.deterministic\n", []),
    ],
)
def test_benchmarks_beside_determinism(text: str, found: list[int]) -> None:
    assert lines("DNF916", text) == found


def test_branches_of_one_condition_are_not_reached_together() -> None:
    source = source_of("if a:\n    torch.manual_seed(0)\nelse:\n    cudnn.benchmark = True\nprint(1)\n")
    (seed,) = (each.call for each in random_state.seedings(source))
    (setting,) = (each.statement for each in random_state.settings(source))
    assert not random_state.in_same_case(source, seed, setting)
    assert random_state.in_same_case(source, seed, source.tree.body[-1])
