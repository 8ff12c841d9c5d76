"""The forge GitHub: what it asks, what it makes of each answer, and pull requests from a report over git and HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dnnfix.bot.publish import publish
from dnnfix.errors import ForgeError
from dnnfix.forge.git import cloned
from dnnfix.forge.github import GitHubForge
from dnnfix.forge.protocol import Remote, State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, document
from tests.forge.conftest import forge_at, forge_of
from tests.forge.github_fake import TOKEN, Answer, GitHubFake

PULLS = f"/repos/{SLUG}/pulls"
REFUSED = [
    (401, {"message": "Bad credentials"}, "the token is not accepted"),
    (403, {"message": "Resource not accessible by integration"}, "the token may not do this"),
    (404, {"message": "Not Found"}, "is not there, or the token cannot see it"),
    (409, {"message": "Git Repository is empty."}, "409 Git Repository is empty"),
    (410, {"message": "Issues are disabled for this repo"}, "switched off"),
    (
        422,
        {"message": "Validation Failed", "errors": [{"code": "invalid", "field": "head"}]},
        "Validation Failed; invalid",
    ),
]


def published(forge: GitHubForge, people: Repository) -> tuple[str, ...]:
    head = people.bare.run("rev-parse", "main").strip()
    found = publish(forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))
    return (*found.done, *found.left)


def test_a_report_becomes_a_pull_request_over_git_and_http(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    (said,) = published(forge, people)
    (pull,) = forge.pulls(SLUG)
    assert said == f"opened 1: {pull.title}" and pull.state is State.OPEN and time.time() - pull.opened < 600
    assert people.text("train.py", pull.branch) == REPAIRED and github.pulls[SLUG][0]["draft"] is True
    assert published(forge, people) == () and len(github.pulls[SLUG]) == 1


def test_a_fault_that_is_gone_closes_its_pull_request_with_a_sentence(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    published(forge, people)
    commit = people.commit({"train.py": REPAIRED})
    found = publish(forge, SLUG, analysis(commit))
    assert found.done == ["closed 1: fix: write reduction for size_average"]
    assert github.pulls[SLUG][0]["state"] == "closed" and "not found any more" in github.comments[0][1]


def test_all_pages_are_read_and_merged_is_told_from_closed(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    for number in range(230):
        github.opened(SLUG, f"dnnfix/rule-{number}" if number % 100 == 5 else f"work-{number}")
    github.pulls[SLUG][5].update(state="closed")
    github.pulls[SLUG][105].update(state="closed", merged_at="2026-01-01T00:00:00Z")
    told = [(pull.number, pull.state) for pull in forge.pulls(SLUG)]
    assert told == [(6, State.CLOSED), (106, State.MERGED), (206, State.OPEN)]


def test_branches_of_forks_are_not_the_bots(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    github.opened(SLUG, "dnnfix/deprecated-api-1", by="stranger/digits", state="closed")
    assert forge.pulls(SLUG) == ()
    assert len(published(forge, people)) == 1 and len(github.pulls[SLUG]) == 2


def test_a_branch_of_a_fork_that_is_gone(alone: GitHubFake, tmp_path: Path) -> None:
    alone.begin(tmp_path)
    alone.add(SLUG)
    alone.opened(SLUG, "dnnfix/deprecated-api-1", by=None)  # the description knows no such answer, and GitHub gives it
    assert forge_of(alone).pulls(SLUG) == ()


@pytest.mark.parametrize(("status", "body", "said"), REFUSED, ids=[str(one[0]) for one in REFUSED])
def test_what_is_refused_is_said(
    github: GitHubFake, forge: GitHubForge, people: Repository, status: int, body: dict[str, object], said: str
) -> None:
    github.instead.append(Answer("POST", PULLS, status, body))
    with pytest.raises(ForgeError, match="people/digits") as told:
        published(forge, people)
    assert said in str(told.value)
    assert len(published(forge, people)) == 1, "the next time it is opened"


def test_a_token_that_ran_out_is_said_before_anything_is_pushed(github: GitHubFake, people: Repository) -> None:
    before = people.bare.run("for-each-ref")
    with pytest.raises(ForgeError, match="the token is not accepted"):
        published(forge_of(github, token="ghs_old"), people)
    assert people.bare.run("for-each-ref") == before


def test_a_repository_that_is_not_there(forge: GitHubForge, people: Repository) -> None:
    with pytest.raises(ForgeError, match=r"people/gone: is not there, or the token cannot see it"):
        forge.repository("people/gone")


def test_drafts_that_are_not_supported_name_the_setting(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    github.repositories[SLUG]["takes_no_drafts"] = True
    with pytest.raises(ForgeError, match="draft = false"):
        published(forge, people)


@pytest.mark.parametrize("headers", [{"Retry-After": "1"}, {}], ids=["retry-after", "no-header"])
def test_the_second_limit_is_waited_for(
    github: GitHubFake, forge: GitHubForge, people: Repository, headers: dict[str, str]
) -> None:
    said = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
    github.instead.append(Answer("POST", PULLS, 403, said, headers))
    assert len(published(forge, people)) == 1
    assert github.requests.count(("POST", PULLS)) == 2


def test_a_limit_that_takes_too_long_is_left_for_later(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    later = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    github.instead.append(Answer("GET", PULLS, 403, {"message": "API rate limit exceeded for installation."}, later))
    with pytest.raises(ForgeError, match="limit of requests is reached"):
        published(forge, people)


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["not-done", "done"])
def test_a_server_error_is_tried_again_and_never_opens_a_second_one(
    github: GitHubFake, forge: GitHubForge, people: Repository, is_carried_out: bool
) -> None:
    github.instead.append(Answer("POST", PULLS, 502, {"message": "Server Error"}, is_carried_out=is_carried_out))
    (said,) = published(forge, people)
    assert said.startswith("opened 1: ") and len(github.pulls[SLUG]) == 1


def test_a_forge_that_cannot_be_reached_is_said() -> None:
    with pytest.raises(ForgeError, match="cannot be reached"):
        forge_at("http://127.0.0.1:9").repository(SLUG)


def test_the_repositories_of_an_owner(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    github.add("people/words")
    github.add("others/faces")
    assert forge.repositories() == ("people/digits", "people/words")


def test_the_token_is_in_no_file_and_no_command(forge: GitHubForge, people: Repository, tmp_path: Path) -> None:
    remote = forge.remote(SLUG)
    assert TOKEN not in repr(remote) and TOKEN not in remote.url
    cloned(remote, tmp_path / "checkout", "main")
    assert (tmp_path / "checkout" / "train.py").read_bytes() == TRAIN
    held = [path for path in (tmp_path / "checkout").rglob("*") if path.is_file() and b"ghs_" in path.read_bytes()]
    assert held == [] and "Basic" not in (tmp_path / "checkout/.git/config").read_text()


def test_git_is_refused_without_the_token(github: GitHubFake, people: Repository, tmp_path: Path) -> None:
    with pytest.raises(ForgeError, match="git clone"):
        cloned(Remote(github.repositories[SLUG]["clone_url"]), tmp_path / "checkout", "main")


def test_the_command_publishes_on_github(github: GitHubFake, people: Repository, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    head = people.bare.run("rev-parse", "main").strip()
    report.write_text(json.dumps(document(head, ("train.py", TRAIN, REPAIRED))))
    command = [sys.executable, "-m", "dnnfix", "bot", "publish", str(report), "--repo", SLUG, "--forge", "github"]
    environment = {**os.environ, "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": github.base}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{SLUG}: opened 1: ")
    for name in ("GITHUB_TOKEN", "DNNFIX_GITHUB_TOKEN"):
        environment.pop(name, None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "set DNNFIX_GITHUB_TOKEN or GITHUB_TOKEN" in done.stderr


def test_labels_assignees_and_reviewers_are_put_on(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    people.commit(
        {"dnnfix.toml": b'[bot]\nlabels = ["bug"]\nassignees = ["ada"]\nreviewers = ["grace", "people/trainers"]\n'}
    )
    said = published(forge, people)
    assert len(said) == 1, said
    (pull,) = github.pulls[SLUG]
    assert pull["labels"] == [{"name": "bug"}] and pull["assignees"] == [{"login": "ada"}]
    assert pull["asked"] == ["grace", "trainers"]


def test_a_reviewer_that_may_not_be_asked_is_said(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    github.strangers = {"grace"}
    people.commit({"dnnfix.toml": b'[bot]\nreviewers = ["grace"]\n'})
    opened, left = published(forge, people)
    assert opened.startswith("opened 1") and "not a collaborator" in left
