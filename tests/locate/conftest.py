"""A small repository with a history, as reports are asked of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FILES = {
    "shop/__init__.py": "from shop.loss import focal_loss\n",
    "shop/loss.py": '''"""Losses for detection."""


def focal_loss(scores, target, gamma=2.0):
    """Weighs easy examples down."""
    if scores.shape != target.shape:
        raise ValueError(f"scores and target must have the same shape, got {scores.shape}")
    return (1 - scores) ** gamma


def dice_loss(scores, target):
    """Overlap of masks."""
    return 1 - 2 * (scores * target).sum()
''',
    "shop/model.py": '''"""The network."""

from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(768, 37)

    def forward(self, images):
        return self.head(images)
''',
    "shop/data/reader.py": '''"""Reads pictures."""


class ImageReader:
    def read(self, path):
        return open(path, "rb").read()

    def resize(self, image, spacing):
        # keeps the spacing of the pixels
        return image[::spacing]
''',
    "setup.py": "from setuptools import setup\n\nsetup(name='shop')\n",
    "tests/test_loss.py": "from shop.loss import focal_loss\n\n\ndef test_focal_loss():\n    assert focal_loss\n",
}


def commit(folder: Path, message: str, day: str, files: dict[str, str]) -> str:
    """Write files and commit them on a day (2024-…); the name of the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    when = f"{day}T12:00:00+0000"
    environment = {
        **os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull,
    }  # fmt: skip
    for words in (("add", "-A"), ("commit", "-q", "-m", message)):
        subprocess.run(["git", *words], cwd=folder, env=environment, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The repository with three commits, one of which mended how pictures are resized."""
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    before = FILES["shop/data/reader.py"].replace("[::spacing]", "")
    commit(folder, "First version", "2024-01-01", {**FILES, "shop/data/reader.py": before})
    commit(
        folder,
        "Fix wrong voxel distance after rescaling",
        "2024-02-01",
        {"shop/data/reader.py": FILES["shop/data/reader.py"]},
    )
    commit(folder, "Describe it", "2024-03-01", {"README.md": "A shop.\n"})
    return folder
