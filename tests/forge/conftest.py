"""A GitHub for the tests: the fake alone, and the fake behind Prism, which holds both sides to GitHub's description."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from github.Auth import Token

from dnnfix.forge.github import GitHubForge
from tests.bot.people import Repository, repository_in
from tests.forge.github_fake import TOKEN, Description, GitHubFake
from tests.slow import slow_after

MODULES = Path(__file__).parent / "node_modules"
PRISM = MODULES / ".bin" / "prism"
DESCRIPTION = MODULES / "@octokit" / "openapi" / "generated" / "api.github.com.json"
SECONDS = 120.0


@pytest.fixture(scope="session")
def alone() -> Iterator[GitHubFake]:
    """The fake that answers what it likes."""
    fake = GitHubFake()
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHubFake]:
    """The fake behind Prism."""
    if not (shutil.which("node") and PRISM.exists() and DESCRIPTION.exists()):
        pytest.skip("needs Prism and GitHub's description: npm install --prefix tests/forge")
    description, file = Description(DESCRIPTION), tmp_path_factory.mktemp("github") / "description.json"
    description.write(file)
    fake = GitHubFake(description)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = ["-h", "127.0.0.1", "-p", str(port)]
    with tempfile.TemporaryFile() as log:
        prism = subprocess.Popen(
            ["node", str(PRISM), "proxy", str(file), fake.address, "--errors", *place], stdout=log, stderr=log
        )
    try:
        wait_for(port)
        fake.base = f"http://127.0.0.1:{port}"
        yield fake
    finally:
        prism.terminate()
        prism.wait()
        fake.close()


@pytest.fixture(params=slow_after(1, ["alone", "described"]))
def github(request: pytest.FixtureRequest, tmp_path: Path) -> GitHubFake:
    """A GitHub on loopback that nobody has told anything yet."""
    fake: GitHubFake = request.getfixturevalue(request.param)
    fake.begin(tmp_path)
    return fake


def wait_for(port: int) -> None:
    """Until something answers."""
    end = time.monotonic() + SECONDS
    while True:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            asked.request("GET", "/")
            asked.getresponse().read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        finally:
            asked.close()


@pytest.fixture
def people(github: GitHubFake, tmp_path: Path) -> Repository:
    """The repository that people have there."""
    made = repository_in(tmp_path)
    made.bare.run("config", "http.receivepack", "true")
    github.add("people/digits")
    return made


@pytest.fixture
def forge(github: GitHubFake) -> GitHubForge:
    """The forge, which waits for nothing."""
    return forge_of(github)


def forge_of(github: GitHubFake, token: str = TOKEN, longest_wait: float = 3.0) -> GitHubForge:
    return forge_at(github.base, token, longest_wait)


def forge_at(address: str, token: str = TOKEN, longest_wait: float = 3.0) -> GitHubForge:
    return GitHubForge(Token(token), "people", address, pause=0.01, longest_wait=longest_wait)
