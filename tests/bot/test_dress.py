"""Labels, assignees and reviewers: whose, that they come once, and that what is refused loses no pull request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dnnfix.bot.publish import BARE, publish
from dnnfix.bot.reviewers import dress
from dnnfix.bot.settings import BotSettings, told
from dnnfix.errors import ConfigError, ForgeError, InputError
from dnnfix.forge.protocol import Dress
from tests.bot.people import ASKED, REPAIRED, SLUG, TRAIN, Repository, analysis

WORN = ASKED + b'labels = ["bug", "deep learning"]\nassignees = ["ada"]\nreviewers = ["grace", "people/trainers"]\n'
OWNERS = b"""# who looks at what
*            @everybody
*.py         @ada someone@example.org  # and @nobody
/docs/       @writers
train.py     @people/trainers @ada
lonely.py
"""


def published(repository: Repository) -> tuple[str, ...]:
    head = repository.bare.run("rev-parse", "main").strip()
    found = publish(repository.forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)), clock=lambda: repository.now)
    return (*found.done, *found.left)


def worn(repository: Repository) -> dict[str, Any]:
    return dict(json.loads((repository.root / f"{SLUG}.pulls" / "1.json").read_text()))


def test_a_pull_request_gets_what_the_settings_say(repository: Repository) -> None:
    repository.commit({"dnnfix.toml": WORN})
    published(repository)
    said = worn(repository)
    assert said["labels"] == ["bug", "deep learning"] and said["assignees"] == ["ada"]
    assert said["reviewers"] == ["grace", "people/trainers"] and BARE not in said["body"]


def test_what_a_person_took_off_is_not_put_on_again(repository: Repository) -> None:
    repository.commit({"dnnfix.toml": WORN})
    published(repository)
    path = repository.root / f"{SLUG}.pulls" / "1.json"
    path.write_text(json.dumps({**worn(repository), "labels": []}))
    repository.commit({"other.py": b"x = 1\n"})
    published(repository)
    assert worn(repository)["labels"] == []


def test_what_was_ended_in_between_is_put_on_by_the_next_one(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*given: object) -> None:
        raise KeyboardInterrupt

    repository.commit({"dnnfix.toml": WORN})
    with monkeypatch.context() as patched:
        patched.setattr(repository.forge, "dress_pull", ended)
        with pytest.raises(KeyboardInterrupt):
            published(repository)
    assert worn(repository)["body"].startswith(BARE)
    published(repository)
    assert worn(repository)["labels"] == ["bug", "deep learning"] and BARE not in worn(repository)["body"]
    assert published(repository) == ()


def test_what_the_forge_refuses_is_said_and_the_pull_request_stays(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    puts_on = repository.forge.dress_pull

    def refused(slug: str, number: int, dress: Dress) -> None:
        if dress.labels:
            raise ForgeError("labels are not for you")
        puts_on(slug, number, dress)

    repository.commit({"dnnfix.toml": WORN})
    monkeypatch.setattr(repository.forge, "dress_pull", refused)
    opened, left = published(repository)
    assert opened.startswith("opened 1") and "labels are not for you" in left
    assert worn(repository)["assignees"] == ["ada"] and worn(repository)["reviewers"] == ["grace", "people/trainers"]
    assert BARE not in worn(repository)["body"] and published(repository) == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train.py", ("people/trainers", "ada")),
        ("net.py", ("ada",)),
        ("docs/how.py", ("writers",)),
        ("lonely.py", ()),
        ("notes.ipynb", ("everybody",)),
    ],
)
def test_owners_are_asked_where_that_is_wanted(repository: Repository, path: str, expected: tuple[str, ...]) -> None:
    commit = repository.commit({".github/CODEOWNERS": OWNERS, "CODEOWNERS": b"* @another\n"})
    assert dress(BotSettings(), repository.bare, commit, [path]).reviewers == expected
    assert dress(BotSettings(codeowners=False), repository.bare, commit, [path]).reviewers == ()
    assert dress(BotSettings(draft=False), repository.bare, commit, [path]).reviewers == (), "GitHub asks them itself"


def test_a_file_of_owners_that_makes_no_sense_is_said(repository: Repository) -> None:
    commit = repository.commit({"CODEOWNERS": b"[a @ada\n"})
    with pytest.raises(InputError, match="CODEOWNERS"):
        dress(BotSettings(), repository.bare, commit, ["train.py"])
    repository.commit({"dnnfix.toml": ASKED + b"codeowners = true\n"})
    opened, left = published(repository)
    assert opened.startswith("opened 1") and "CODEOWNERS" in left


@pytest.mark.parametrize(
    "said",
    [
        'labels = "bug"',
        'labels = [""]',
        'labels = ["a\\nb"]',
        f"labels = {['x'] * 11}",
        f"labels = ['{'x' * 51}']",
        'assignees = ["@ada"]',
        'assignees = ["people/trainers"]',
        'reviewers = ["a b"]',
        'reviewers = ["a/b/c"]',
        "reviewers = [1]",
        "codeowners = 1",
    ],
)
def test_names_that_are_none_are_refused_by_the_setting(said: str) -> None:
    with pytest.raises(ConfigError, match=said.partition(" ")[0]):
        told(f"[bot]\n{said}\n".encode(), "dnnfix.toml")
