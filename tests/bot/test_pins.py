"""Which versions the requirement files of a repository keep its programs below."""

from __future__ import annotations

import pytest

from dnnfix.bot.pins import keep_below, pins


@pytest.mark.parametrize(
    ("name", "text", "below", "not_below"),
    [
        ("requirements.txt", "numpy==1.19\ntensorflow==1.12.0\n", "1.13", "1.12"),
        ("requirements-dev.txt", "tensorflow-gpu<2 # as long as we can\n", "2.0", "1.15"),
        ("requirements.txt", "tensorflow>=1.4,<=1.15\n", "2.0", "1.15"),
        ("environment.yml", "dependencies:\n  - tensorflow=1.13\n  - pip\n", "1.14", "1.13"),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow~=1.15.0", "torch"]\n', "1.16", "1.15"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^1.8.1"\n', "2.0", "1.15"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "1.8.1"\n', "1.9", "1.8"),
        ("pyproject.toml", 'dependencies = ["torch==0.4", "tensorflow==1.14.0", "keras<2"]\n', "1.15", "1.14"),
        ("Pipfile", '[packages]\ntensorflow = "==1.14.0"\n', "1.15", "1.14"),
        ("setup.py", "setup(install_requires=['tensorflow[and-cuda]==1.14.0', 'numpy'])\n", "2.0", "1.14"),
    ],
)
def test_upper_bounds_are_read(name: str, text: str, below: str, not_below: str) -> None:
    found = tuple(pins({name: text.encode()}))
    assert keep_below(found, "examples/train.py", "tensorflow", below)
    assert not keep_below(found, "examples/train.py", "tensorflow", not_below)
    assert not keep_below(found, "examples/train.py", "pandas", "9.0")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "tensorflow\ntensorflow-datasets==1.2\nmytensorflow==1.0\ntensorflow.js==1.0\n"),
        ("requirements.txt", "tensorflow>=1.4\ntensorflow!=1.5\n"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = ">=1.4"\n'),
        ("Pipfile", '[packages]\ntensorflow = "*"\n'),
        ("README.md", "tensorflow==1.12.0\n"),
    ],
)
def test_what_sets_no_bound_keeps_nothing_below(name: str, text: str) -> None:
    assert not keep_below(tuple(pins({name: text.encode()})), "train.py", "tensorflow", "2.0")


def test_a_file_counts_in_its_folder_and_below() -> None:
    found = tuple(pins({"old/requirements.txt": b"torch==0.3.1\n"}))
    assert keep_below(found, "old/models/train.py", "torch", "0.4")
    assert not keep_below(found, "train.py", "torch", "0.4")
    assert not keep_below(found, "older/train.py", "torch", "0.4")
