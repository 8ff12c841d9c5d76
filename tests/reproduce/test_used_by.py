"""Which programs of a repository use a module: however far they import it, and only those that lead to what it defines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.reproduce.readmes import examples
from dnnfix.reproduce.used_by import is_module, programs_using
from dnnfix.source.program import Source

LOSS = "from torch import nn\n\n\nclass Focal(nn.Module):\n    pass\n\n\ndef smooth(x):\n    return x\n"
TRAIN = """\
import parts

def main():
    measure = parts.build("focal")
    measure.backward()

if __name__ == "__main__":
    main()
"""
FILES = {
    "parts/loss.py": LOSS,
    "parts/other.py": "def unlike(x):\n    return x\n",
    "parts/__init__.py": "from .registry import *\nfrom .other import *\n",
    "parts/registry.py": 'from .loss import Focal\n\nKNOWN = {"focal": Focal}\n\n\ndef build(name):\n    return KNOWN[name]()\n',
    "train.py": TRAIN,
    "show.py": TRAIN.replace("    measure.backward()\n", ""),
    "table.py": "import parts\n\nif __name__ == '__main__':\n    print(parts.unlike(3))\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "project"


def using(root: Path, files: dict[str, str], module: str, *preferred: str) -> list[str]:
    """The programs that use a module of a repository of these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    source = Source.from_bytes(files[module].encode(), module)
    found = programs_using(source, root / module, root, [root / name for name in preferred])
    assert all((user.code is None) == user.path.exists() for user in found)
    return [user.path.relative_to(root).as_posix() for user in found]


def test_a_program_that_trains_comes_first_and_one_that_uses_something_else_not_at_all(root: Path) -> None:
    assert using(root, FILES, "parts/loss.py") == ["train.py", "show.py"]


def test_what_the_module_itself_imports_is_no_use_of_it(root: Path) -> None:
    files = {**FILES, "train.py": "import parts\nfrom torch import nn\n\nnn.Linear(2, 1)\n", "show.py": ""}
    assert using(root, files, "parts/loss.py") == []


@pytest.mark.parametrize(
    ("text", "is_program"),
    [
        ("from parts.loss import smooth\n\nprint(smooth(1))\n", True),
        ("from parts.loss import smooth\n\nKNOWN = [smooth]\n", False),
        ("from parts.loss import smooth\n\n\ndef use(x):\n    return smooth(x)\n", False),
        (
            "from parts.loss import smooth\n\n\ndef use(x):\n    return smooth(x)\n\n\nfor i in range(3):\n    use(i)\n",
            True,
        ),
        ("import parts.loss as p\n\ngetattr(p, 'smooth')(1)\n", True),
    ],
    ids=["calls", "lists", "defines", "calls its own function", "by its name in a string"],
)
def test_a_script_without_a_main_part_has_to_call_what_leads_there(text: str, is_program: bool, root: Path) -> None:
    files = {"parts/loss.py": LOSS, "go.py": text}
    assert using(root, files, "parts/loss.py") == (["go.py"] if is_program else [])


def test_suspects_come_before_others_that_are_as_near_and_tests_last(root: Path) -> None:
    files = {
        "loss.py": LOSS,
        "a.py": "import loss\nloss.smooth(1).backward()\n",
        "longer.py": "import loss\nloss.smooth(1).backward()\nprint('done')\n",
        "tests/test_loss.py": "import loss\nif __name__ == '__main__':\n    loss.smooth(1).backward()\n",
    }
    assert using(root, files, "loss.py") == ["a.py", "longer.py", "tests/test_loss.py"]
    assert using(root, files, "loss.py", "longer.py")[0] == "longer.py"


def test_a_circle_of_imports_ends(root: Path) -> None:
    files = {"a.py": "import b\n\n\ndef f():\n    b.g()\n", "b.py": "import a\n\n\ndef g():\n    a.f()\n"}
    assert using(root, files, "a.py") == []


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (LOSS, True),
        (LOSS + "\nif __name__ == '__main__':\n    print(smooth(1))\n", False),
        (LOSS + "\nFocal()(1)\n", False),
    ],
    ids=["definitions", "main part", "statements that run"],
)
def test_what_has_a_program_of_its_own_is_no_module(text: str, module: bool) -> None:
    assert is_module(Source.from_bytes(text.encode(), "loss.py")) is module


README = """# Parts

```python
import torch
from parts.loss import Focal

measure = Focal()
```

It is used so:

```python
for x in torch.ones(3, 2, requires_grad=True):
    measure(x).backward()
```

With a network of yours:

```python
Focal()(net(x)).backward()
```
"""


def test_examples_of_a_readme_use_modules_as_programs_do_with_the_blocks_they_need(root: Path) -> None:
    files = {"parts/loss.py": LOSS, "README.md": README, "other.py": "from parts.loss import Focal\n\nFocal()\n"}
    (root / ".git").mkdir(parents=True)
    assert using(root, files, "parts/loss.py") == ["other.py", "README.md:12", "README.md:3"]


def test_the_code_of_an_example_begins_with_what_it_needs(root: Path) -> None:
    (root / ".git").mkdir(parents=True)
    using(root, {"parts/loss.py": LOSS, "README.md": README}, "parts/loss.py")
    code = next(code for _path, line, code in examples(root / "parts") if line == 12)
    assert code.startswith("import torch\n") and code.rstrip().endswith("measure(x).backward()")
