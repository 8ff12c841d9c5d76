"""Which files of a repository are programs to run, and how people call them."""

from __future__ import annotations

from dnnfix.bot.entries import Entry, programs

SCRIPT = b"import torch\nprint(torch.zeros(1))\n"
MAIN = b"import torch\ndef main(): ...\nif __name__ == '__main__':\n    main()\n"
LIBRARY = b"import torch\nclass Net(torch.nn.Module): ...\n"


def paths(files: dict[str, bytes]) -> list[str]:
    return [entry.path for entry in programs(files).entries]


def test_scripts_main_parts_and_notebooks_are_run_and_libraries_read() -> None:
    files = {
        "a.py": SCRIPT,
        "b.py": MAIN,
        "net.py": LIBRARY,
        "n.ipynb": b'{"cells": ["import torch"]}',
        "x.py": b"print(1)",
    }
    found = programs(files)
    assert [entry.path for entry in found.entries] == ["a.py", "b.py", "n.ipynb"] and found.others == ("net.py",)


def test_a_module_that_is_imported_is_no_program_though_it_does_something() -> None:
    assert paths({"train.py": b"import setup_model, torch\ntorch.zeros(1)\n", "setup_model.py": SCRIPT}) == ["train.py"]


def test_a_main_part_that_has_its_framework_from_a_module_of_the_repository_is_run() -> None:
    files = {
        "nets/__init__.py": b"from .deep import Net\n",
        "nets/deep.py": LIBRARY,
        "steps.py": b"import nets\ndef fit(): ...\n",
        "main.py": MAIN.replace(b"torch", b"steps"),
        "other.py": MAIN.replace(b"torch", b"json"),
    }
    found = programs(files)
    assert [entry.path for entry in found.entries] == ["main.py"] and found.others == ("nets/deep.py",)


def test_tests_vendored_and_hidden_files_are_no_programs() -> None:
    assert paths({"test_net.py": SCRIPT, "third_party/x.py": SCRIPT, ".hidden/x.py": SCRIPT, "setup.py": SCRIPT}) == []


def test_what_a_readme_calls_comes_first_with_its_words() -> None:
    readme = (
        b"Run\n\n    python src/train.py --epochs 2 --name 'a b'\n    python other.py $DATA\n    python -m pack.go 3\n"
    )
    files = {"README.md": readme, "src/train.py": MAIN, "other.py": SCRIPT, "pack/go.py": LIBRARY, "a.py": SCRIPT}
    found = programs(files)
    assert found.entries[:2] == (Entry("pack/go.py", ("3",)), Entry("src/train.py", ("--epochs", "2", "--name", "a b")))
    assert found.entries[2:] == (Entry("a.py"), Entry("other.py"))


def test_files_that_are_no_python_break_nothing() -> None:
    assert paths({"a.py": b"import torch\nprint 'two'\n", "b.py": b"\xff\xfe torch", "c.py": b"torch\0"}) == []
