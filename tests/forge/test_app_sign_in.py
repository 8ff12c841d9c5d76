"""A GitHub App: its key signs, an installation's token is given for that, and nothing else opens a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dnnfix.bot.publish import publish
from dnnfix.cli.bot import app, choosing
from dnnfix.cli.console import Console
from dnnfix.errors import ForgeError, InputError
from dnnfix.forge.protocol import State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis
from tests.forge.github_fake import APP, INSTALLATION, GitHubFake

GITHUB = choosing.Target(where="github")


@pytest.fixture
def key_file(github: GitHubFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key of an App that this GitHub knows, where the environment says that it is."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    github.app_key = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()  # fmt: skip
    file = tmp_path / "app.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    monkeypatch.setenv("DNNFIX_APP_ID", str(APP))
    monkeypatch.setenv("DNNFIX_APP_KEY_FILE", str(file))
    monkeypatch.setenv("GITHUB_API_URL", github.base)
    return file


def test_an_app_publishes_with_the_token_of_its_installation(
    github: GitHubFake, people: Repository, key_file: Path
) -> None:
    forge = app.forges(GITHUB, Console())(INSTALLATION)
    head = people.bare.run("rev-parse", "main").strip()
    publish(forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))
    (pull,) = forge.pulls(SLUG)
    assert pull.state is State.OPEN and people.text("train.py", pull.branch) == REPAIRED
    assert sum(path.endswith("access_tokens") for _, path in github.requests) == 1


def test_another_installation_or_another_key_opens_nothing(
    github: GitHubFake, people: Repository, key_file: Path
) -> None:
    with pytest.raises(ForgeError):
        app.forges(GITHUB, Console())(INSTALLATION + 1).repository(SLUG)
    github.app_key = ""
    with pytest.raises(ForgeError):
        app.forges(GITHUB, Console())(INSTALLATION).repository(SLUG)


def test_a_key_that_is_not_there_is_said(key_file: Path) -> None:
    key_file.unlink()
    with pytest.raises(InputError, match="DNNFIX_APP_KEY_FILE"):
        app.forges(GITHUB, Console())


def test_a_key_that_is_none_is_said_at_once(key_file: Path) -> None:
    key_file.write_text("no key")
    with pytest.raises(InputError, match="DNNFIX_APP_KEY_FILE"):
        app.forges(GITHUB, Console())
