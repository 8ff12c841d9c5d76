"""`dnnfix reproduce` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.programs import Call

SNIPPET = """\
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""

REPORT = f"""The training does not start.

```python
{SNIPPET.replace("nn.Linear(8, 3)", "nn.Linear(9, 3)")}
```

    RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x8 and 9x3)
"""


def test_a_snippet_runs_and_its_script_is_written(call: Call, folder: Path) -> None:
    (folder / "snippet.py").write_text(SNIPPET)
    said = call("reproduce", "snippet.py", "--output", "runnable.py", "--isolated")
    assert said.code == 0, said.out + said.err
    assert "import-addition" in said.out and "outcome    runs" in said.out
    assert (folder / "snippet.py").read_text() == SNIPPET
    again = call("reproduce", "runnable.py", "--isolated", "--output-format", "json")
    document = json.loads(again.out)
    assert again.code == 0 and document["actions"] == [] and document["runs"][0]["steps"] == 5


def test_a_report_is_reproduced(call: Call, folder: Path) -> None:
    (folder / "bug.md").write_text(REPORT)
    said = call("reproduce", "bug.md", "--isolated", "--diff")
    assert said.code == 0, said.out + said.err
    assert "bug.md: tensor bug" in said.out
    assert "outcome    reproduced: RuntimeError: mat1 and mat2" in said.out
    assert "+++ b/bug.py" in said.out and "+    import torch" in said.out


def test_a_symptom_that_does_not_appear_is_said(call: Call, folder: Path) -> None:
    (folder / "bug.md").write_text(REPORT.replace("nn.Linear(9, 3)", "nn.Linear(8, 3)"))
    said = call("reproduce", "bug.md", "--isolated", "--output-format", "json")
    document = json.loads(said.out)
    assert said.code == 1 and document["reproduced"] is False
    assert document["outcome"].startswith("not reproduced: the report says RuntimeError: mat1")


def test_bad_input_is_told_and_nothing_written(call: Call, folder: Path) -> None:
    (folder / "bug.md").write_text("words only\n")
    (folder / "x.py").write_text(SNIPPET)
    before = sorted(path.name for path in folder.iterdir())
    for words, expected in (
        (("bug.md",), "bug.md: the report holds no Python code"),
        (("nowhere.py",), "nowhere.py: No such file"),
        (("x.py", "--output", "x.py"), "would overwrite the program"),
        (("x.py", "--output", "bug.md"), "exists already"),
        (("x.py", "--output", "no/such/folder.py"), "no such folder"),
    ):
        said = call("reproduce", *words, "--isolated")
        assert said.code == 2 and expected in said.err and "Traceback" not in said.err
    assert sorted(path.name for path in folder.iterdir()) == before
