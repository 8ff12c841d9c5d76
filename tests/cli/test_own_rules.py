"""A rule of one's own, as docs/rules.md leads through it: begun, tried, run, and what is said of a bad one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.programs import Call

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
PROGRAM = """\
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total += loss
    print(loss.item())
"""


def rule_of_page(folder: Path) -> Path:
    """The rule that the page shows, in a file."""
    (shown,) = [block for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "[find]" in block]
    path = folder / "rules" / "loss-summed-with-graph.toml"
    path.parent.mkdir()
    path.write_text(shown)
    return path


def test_a_new_rule_keeps_its_promises_and_is_never_written_over(call: Call, folder: Path) -> None:
    assert call("templates", "--new", "rules/no-print").code == 0
    assert call("templates", "--test", "rules/no-print.toml").code == 0
    written = (folder / "rules" / "no-print.toml").read_bytes()
    again = call("templates", "--new", "rules/no-print.toml")
    assert again.code == 2 and "is there already" in again.err
    assert (folder / "rules" / "no-print.toml").read_bytes() == written


def test_the_rule_of_the_page_is_tried_run_and_explained(call: Call, folder: Path) -> None:
    path = rule_of_page(folder)
    said = call("templates", "--test", str(path.relative_to(folder)))
    assert said.code == 0 and said.out in PAGE.read_text()
    (folder / "train.py").write_text(PROGRAM)
    assert "OWN101" not in call("check", "train.py").out
    (folder / "dnnfix.toml").write_text('rules = ["rules/*.toml"]\n')
    found = call("check", "train.py")
    assert found.code == 1 and "train.py:8:5: OWN101 loss-summed-with-graph (risk)" in found.out
    assert "total += loss.item()" in call("check", "train.py", "--output-format", "json").out
    assert "A sum of losses as tensors" in call("explain", "OWN101").out


def test_a_changed_rule_is_read_again(call: Call, folder: Path) -> None:
    path = rule_of_page(folder)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "dnnfix.toml").write_text('rules = ["rules/*.toml"]\n')
    assert "OWN101" in call("check", "train.py").out
    path.write_text(path.read_text().replace("OWN101", "OWN202"))
    assert "OWN202" in call("check", "train.py").out


def test_of_a_bad_rule_the_line_is_named_and_nothing_is_checked(call: Call, folder: Path) -> None:
    path = rule_of_page(folder)
    path.write_text(path.read_text().replace('hole = "LOSS"', 'hole = "LOS"'))
    (folder / "train.py").write_text(PROGRAM)
    (folder / "dnnfix.toml").write_text('rules = ["rules/*.toml"]\n')
    said = call("check", "train.py")
    assert said.code == 2 and "[where] hole: the pattern has no $LOS. It has $LOSS, $TOTAL." in said.err
    assert re.search(r"loss-summed-with-graph\.toml:\d+: ", said.err)


def test_a_rule_that_breaks_a_promise_says_which(call: Call, folder: Path) -> None:
    path = rule_of_page(folder)
    path.write_text(path.read_text().replace('inside = "training loop"', 'inside = "loop"'))
    said = call("templates", "--test", str(path))
    assert said.code == 0  # `each` is no name of a loss
    path.write_text(path.read_text().replace(r"'\w*loss\w*'", r"'\w+'"))
    said = call("templates", "--test", str(path))
    assert said.code == 1 and "reject 'outside of training': a finding where there is no fault" in said.out


def test_a_rule_without_a_fix_shows_what_it_finds(call: Call, folder: Path) -> None:
    path = rule_of_page(folder)
    text = path.read_text().partition("[fix]")[0]
    text = re.sub(r"^- .*\n", "", text, flags=re.MULTILINE).replace("=== example:", "=== finds:")
    path.write_text(text.replace("+     total += loss.item()", "    total += loss"))
    said = call("templates", "--test", str(path))
    assert said.code == 0 and "(1 examples, 1 rejects)" in said.out
    path.write_text(path.read_text().replace("    total += loss\n", "    total += loss.item()\n"))
    said = call("templates", "--test", str(path))
    assert said.code == 1 and "'an epoch's loss': nothing is found in it" in said.out


def test_advice_is_no_problem_for_the_exit_code_of_suggest(call: Call, folder: Path) -> None:
    assert call("templates", "--new", "rules/no-print").code == 0
    (folder / "dnnfix.toml").write_text('rules = ["rules/*.toml"]\nselect = ["OWN101"]\n')
    (folder / "train.py").write_text(
        "import torch\n\nnet = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(3):\n    loss = net(torch.ones(4, 2)).pow(2).mean()\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n    print(loss.item())\n"
    )
    assert call("check", "train.py").code == 1
    said = call("suggest", "train.py", "--sandbox", "limits")
    assert "OWN101 no-print (advice)" in said.out and said.code == 0
