"""Reviews on GitHub: one request that is made once, what GraphQL tells of earlier ones, and pull requests from forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.bot.proposal import mark
from dnnfix.bot.publish import Published
from dnnfix.bot.reviewing import review_pull
from dnnfix.errors import ForgeError
from dnnfix.forge.git import changes, with_history
from dnnfix.forge.github import GitHubForge
from dnnfix.forge.protocol import Remark, State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, blob
from tests.forge.github_fake import LOGIN, Answer, Document, GitHubFake

REVIEWS = f"/repos/{SLUG}/pulls/1/reviews"
FAULT = ("train.py", TRAIN, REPAIRED)


@pytest.fixture
def pull(github: GitHubFake, people: Repository) -> Document:
    """A pull request of a fork, in a repository that asks for reviews and whose git gives files only when they are asked for."""
    people.bare.run("config", "uploadpack.allowFilter", "true")
    people.bare.run("config", "uploadpack.allowAnySHA1InWant", "true")
    people.commit({"dnnfix.toml": b"[bot]\nreview = true\n", "train.py": b"import torch\n"})
    pushed(people, {"train.py": TRAIN})
    return github.opened(SLUG, "work", by="stranger/digits")


def pushed(people: Repository, files: dict[str, bytes]) -> str:
    """A person pushes to the fork; GitHub keeps the head of the pull request in the repository, where no branch is."""
    is_new = not people.bare.succeeds("rev-parse", "--verify", "--quiet", "refs/pull/1/head")
    people.bare.run("update-ref", "refs/heads/work", "main" if is_new else "refs/pull/1/head")
    made = people.commit(files, "work")
    people.bare.run("update-ref", "refs/pull/1/head", made)
    people.bare.run("update-ref", "-d", "refs/heads/work")
    return made


def reviewed(forge: GitHubForge, people: Repository, *changes: tuple[str, bytes, bytes]) -> Published:
    head = people.bare.run("rev-parse", "refs/pull/1/head").strip()
    return review_pull(forge, SLUG, 1, analysis(head, *changes))


def test_a_pull_request_of_a_fork_is_reviewed_once(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    assert reviewed(forge, people, FAULT) == Published(["commented on 1: train.py:4"])
    (review,) = pull["reviews"]
    (comment,) = review["comments"]
    assert (review["event"], comment["path"], comment["line"]) == ("COMMENT", "train.py", 4)
    assert "start_line" not in comment and "```suggestion\n" in comment["body"]
    assert review["commit_id"] == people.bare.run("rev-parse", "refs/pull/1/head").strip()
    assert reviewed(forge, people, FAULT) == Published() and len(pull["reviews"]) == 1


def test_lines_of_a_range_are_all_named(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    both = REPAIRED.replace(b"Linear(4, 2)", b"Linear(4, 3)")
    reviewed(forge, people, ("train.py", TRAIN, both))
    (comment,) = pull["reviews"][0]["comments"]
    assert (comment["start_line"], comment["line"], comment["side"], comment["start_side"]) == (3, 4, "RIGHT", "RIGHT")


def test_a_comment_whose_fault_is_gone_is_resolved(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    reviewed(forge, people, FAULT)
    pushed(people, {"train.py": REPAIRED})
    assert reviewed(forge, people).done == ["resolved a comment of 1 on train.py"]
    assert pull["reviews"][0]["resolved"] and reviewed(forge, people) == Published()


def test_a_token_that_may_not_resolve_leaves_the_comment_alone(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    reviewed(forge, people, FAULT)
    pushed(people, {"train.py": REPAIRED})
    github.may_resolve = False
    (left,) = reviewed(forge, people).left
    assert "train.py" in left and "not accessible by integration" in left and not pull["reviews"][0]["resolved"]


def test_marks_of_other_accounts_do_not_count_and_are_not_resolved(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    (fault,) = analysis("0" * 40, FAULT).findings
    theirs = {"path": "train.py", "line": 4, "body": mark([fault.identity])}
    github.said(pull, "stranger", body=mark([fault.identity]), comments=[theirs])
    assert reviewed(forge, people, FAULT).done == ["commented on 1: train.py:4"]
    pushed(people, {"train.py": REPAIRED})
    reviewed(forge, people)
    assert [bool(review["resolved"]) for review in pull["reviews"]] == [False, True]


def test_all_pages_of_what_was_said_are_read(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    (fault,) = analysis("0" * 40, FAULT).findings
    for number in range(230):
        comments = [{"path": "train.py", "line": 1, "body": f"{number}"}]
        github.said(pull, "stranger", body="", comments=comments)
    github.said(pull, LOGIN, body=mark([fault.identity]), comments=[])
    assert reviewed(forge, people, FAULT) == Published()
    assert github.requests.count(("POST", "/graphql")) == 6


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["not-done", "done"])
def test_a_server_error_is_said_and_no_review_is_made_twice(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document, is_carried_out: bool
) -> None:
    github.instead.append(Answer("POST", REVIEWS, 502, {"message": "Server Error"}, is_carried_out=is_carried_out))
    with pytest.raises(ForgeError, match="GitHub has trouble"):
        reviewed(forge, people, FAULT)
    assert github.requests.count(("POST", REVIEWS)) == 1
    assert len(reviewed(forge, people, FAULT).done) == (not is_carried_out) and len(pull["reviews"]) == 1


def test_a_limit_is_waited_for(github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document) -> None:
    said = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
    github.instead.append(Answer("POST", REVIEWS, 403, said, {"Retry-After": "1"}))
    assert reviewed(forge, people, FAULT).done and github.requests.count(("POST", REVIEWS)) == 2


def test_lines_that_github_refuses_are_said(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document
) -> None:
    said = {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}
    github.instead.append(Answer("POST", REVIEWS, 422, said))
    with pytest.raises(ForgeError, match="a review of pull request 1: was refused"):
        reviewed(forge, people, FAULT)


def test_whose_a_pull_request_is(github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document) -> None:
    github.opened(SLUG, "dnnfix/deprecated-api-1")
    github.opened(SLUG, "dnnfix/deprecated-api-1", by="stranger/digits", state="closed")
    one, own, other = (forge.reviewed(SLUG, number) for number in (1, 2, 3))
    assert [found.is_bots for found in (one, own, other)] == [False, True, False]
    assert (one.base, one.head, other.state) == ("refs/heads/main", "refs/pull/1/head", State.CLOSED)
    with pytest.raises(ForgeError, match="pull request 9: is not there"):
        forge.reviewed(SLUG, 9)


def test_only_what_is_looked_at_is_fetched(
    github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document, tmp_path: Path
) -> None:
    people.commit({"data.bin": b"x" * 100_000})
    git, (base, head) = with_history(forge.remote(SLUG), tmp_path / "there.git", "refs/heads/main", "refs/pull/1/head")
    there = git.run("rev-list", "--objects", "--missing=print", base, head)
    assert f"?{blob(b'x' * 100_000)}" in there
    assert "+loss = torch.nn.CrossEntropyLoss" in changes(git, base, head, "*.py")
    assert git.run("rev-list", "--objects", "--missing=print", base, head).count("?") < there.count("?")


def test_a_remark_is_of_its_lines(github: GitHubFake, forge: GitHubForge, people: Repository, pull: Document) -> None:
    forge.review(SLUG, 1, "0" * 40, "said", [Remark("train.py", 1, 1, "one"), Remark("train.py", 1, 3, "three")])
    assert [one.get("start_line") for one in pull["reviews"][0]["comments"]] == [None, 1]
    assert [thread.body for thread in forge.reviewed(SLUG, 1).threads] == ["one", "three"]
