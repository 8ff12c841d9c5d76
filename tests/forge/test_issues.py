"""Issues on GitHub: those of the account alone, and a dashboard from the first box to the last."""

from __future__ import annotations

import pytest

from dnnfix.bot.dashboard import MARK, TITLE
from dnnfix.bot.publish import Published, publish
from dnnfix.errors import ForgeError
from dnnfix.forge.github import GitHubForge
from dnnfix.forge.protocol import Issue, State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis
from tests.forge.github_fake import LOGIN, Answer, GitHubFake

ISSUES = f"/repos/{SLUG}/issues"


def published(forge: GitHubForge, people: Repository) -> Published:
    head = people.bare.run("rev-parse", "main").strip()
    return publish(forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))


@pytest.fixture
def asking(people: Repository) -> Repository:
    """One that wants a dashboard."""
    people.commit({"dnnfix.toml": b"[bot]\ndashboard = true\nan-hour = 9\n"})
    return people


def test_issues_of_others_and_pull_requests_are_not_the_bots(
    github: GitHubFake, forge: GitHubForge, people: Repository
) -> None:
    github.opened(SLUG, "dnnfix/deprecated-api-1", title=TITLE)
    github.opened_issue(SLUG, "stranger", title=TITLE, body=f"- [x] <!-- dnnfix:stop -->\n{MARK}")
    for number in range(120):
        github.opened_issue(SLUG, LOGIN, title=str(number), body=None, state="closed" if number % 2 else "open")
    found = forge.issues(SLUG)
    assert len(found) == 120 and found[:2] == (Issue(1002, "0", "", State.OPEN), Issue(1003, "1", "", State.CLOSED))
    assert github.requests.count(("POST", "/graphql")) == 1
    forge.issues(SLUG)
    assert github.requests.count(("POST", "/graphql")) == 1


def test_a_dashboard_is_opened_once_and_a_box_is_carried_out(
    github: GitHubFake, forge: GitHubForge, asking: Repository
) -> None:
    assert published(forge, asking).done[1] == f"opened issue 1001: {TITLE}"
    assert published(forge, asking).done == []
    github.pulls[SLUG][0]["state"] = "closed"
    assert published(forge, asking).done == [f"wrote issue 1001 anew: {TITLE}"]
    (issue,) = github.issues
    issue["body"] = (
        issue["body"].replace("- [ ] <!-- dnnfix:retry=1", "- [x] <!-- dnnfix:retry=1").replace("\n", "\r\n")
    )
    done = published(forge, asking).done
    assert done[0].startswith("allowed 1") and done[1].startswith("opened 2") and "[x]" not in issue["body"]


def test_a_dashboard_of_a_stranger_says_nothing(github: GitHubFake, forge: GitHubForge, asking: Repository) -> None:
    body = f"- [x] <!-- dnnfix:stop -->\n{MARK}"
    github.opened_issue(SLUG, "stranger", title=TITLE, body=body)
    assert [one.split(":")[0] for one in published(forge, asking).done] == ["opened 1", "opened issue 1002"]
    assert github.issues[0]["body"] == body


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["not-done", "done"])
def test_an_answer_that_got_lost_opens_no_second_one(
    github: GitHubFake, forge: GitHubForge, asking: Repository, is_carried_out: bool
) -> None:
    github.instead.append(Answer("POST", ISSUES, 503, {"message": "Unavailable"}, is_carried_out=is_carried_out))
    said = published(forge, asking)
    assert said.done[0].startswith("opened 1") and "GitHub has trouble" in said.left[0]
    published(forge, asking)
    assert len(github.issues) == 1


def test_issues_that_are_switched_off_lose_no_pull_request(
    github: GitHubFake, forge: GitHubForge, asking: Repository
) -> None:
    github.instead.append(Answer("POST", ISSUES, 410, {"message": "Issues are disabled for this repo"}))
    said = published(forge, asking)
    assert len(said.done) == 1 and "switched off" in said.left[0]


def test_an_account_that_is_not_told_is_said(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    github.instead.append(Answer("POST", "/graphql", 200, {"errors": [{"type": "FORBIDDEN", "message": "no"}]}))
    with pytest.raises(ForgeError, match="people/digits: its issues"):
        forge.issues(SLUG)


def test_an_issue_of_anybody_is_told_with_its_day(github: GitHubFake, forge: GitHubForge, people: Repository) -> None:
    opened = github.opened_issue(
        SLUG, "stranger", title="It stops", body="With an error.", created_at="2024-05-01T12:00:00Z"
    )
    found = forge.issue(SLUG, opened["number"])
    assert (found.title, found.body, found.written) == ("It stops", "With an error.", 1714564800.0)
