"""GitHub as a forge, through PyGithub.

PyGithub rather than githubkit: it waits without an event loop, its retries know GitHub's two limits (with and without
`Retry-After`), paging and the sign-in of Apps are its own, and it needs none of the models of the whole interface to
be loaded.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import github
import requests

from dnnfix.errors import ForgeError
from dnnfix.forge.protocol import BRANCHES, Dress, Issue, Pull, Remark, Remote, Repository, Reviewed, State, Thread

if TYPE_CHECKING:
    from github import GithubException
    from github.Auth import Auth
    from github.Issue import Issue as KnownIssue
    from github.PullRequest import PullRequest, ReviewComment
    from github.Repository import Repository as Known

API = "https://api.github.com"
SECONDS = 30
"""What one answer may take."""

TRIES = 4
PAUSE = 1.0
"""Seconds between two writes, which GitHub asks for."""

PAUSES_AFTER_LIMIT = 60
"""Such pauses to wait after a limit that does not say how long it lasts."""

LONGEST_WAIT = 300.0
"""Seconds to wait for a limit to end; a longer wait is left for the next time."""

ONCE: dict[str, Any] = {"read": 0, "other": 0, "status_forcelist": []}
"""How to ask for what must not be done twice: an answer that got lost, or says that the server has trouble, is no reason to ask again."""

ON_PAGE = 100

MOST_SAID = 300
"""Characters of an answer that are passed on."""

SAID = {
    401: "the token is not accepted; it may have run out",
    403: "the token may not do this; it needs contents and pull requests, and issues for a dashboard, to be read and written",
    404: "is not there, or the token cannot see it",
    410: "is not there any more, or switched off",
}
"""What the numbers of GitHub's answers mean to the one who runs the bot."""

EXISTS = "a pull request already exists"
"""What GitHub says of a second one from the same branch."""

SAID_THERE = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    %s(first: %s, after: $after) { pageInfo { hasNextPage endCursor } nodes { %s } }
  } }
}"""
"""Asks for what was said in a pull request: its kind, how many on a page, and what of each."""

OWN = "body viewerDidAuthor"
"""The text of something said, and whether this account has said it: for an App no other way tells."""

ACCOUNT = "query { viewer { login } }"

NO_DRAFTS = "draft pull requests are not supported"


class GitHubForge:
    """GitHub, or a GitHub Enterprise Server under the address `api`, with the rights of a token or of an App.

    `owner` is whose repositories are listed; without one, those that the token was given for.
    """

    def __init__(
        self, auth: Auth, owner: str = "", api: str = API, *, pause: float = PAUSE, longest_wait: float = LONGEST_WAIT
    ) -> None:
        self._auth = auth
        self._owner = owner
        self._client = _client(auth, api, pause, longest_wait)
        self._once = _client(auth, api, pause, longest_wait, **ONCE).withLazy(True)
        self._account = ""
        self._known: dict[str, Known] = {}

    def repositories(self) -> tuple[str, ...]:
        """The repositories of the owner, or of the token."""
        with _asking(f"the repositories of {self._owner or 'the token'}"):
            user = self._client.get_user(self._owner) if self._owner else self._client.get_user()
            return tuple(sorted(one.full_name for one in user.get_repos()))

    def repository(self, slug: str) -> Repository:
        """What GitHub says of a repository now."""
        self._known.pop(slug, None)
        with _asking(slug):
            known = self._repository(slug)
            return Repository(slug, known.default_branch, known.fork, known.archived)

    def remote(self, slug: str) -> Remote:
        """The address, and the token for git's environment: it is in no command and in no file."""
        with _asking(slug):
            url = self._repository(slug).clone_url
            token = self._auth.token
        place = urlsplit(url)
        said = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        return Remote(
            url,
            {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{place.scheme}://{place.netloc}/.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {said}",
            },
        )

    def pulls(self, slug: str) -> tuple[Pull, ...]:
        """Those from branches of the repository itself: in a fork anybody can name a branch as the bot does."""
        with _asking(f"{slug}: its pull requests"):
            listed = self._repository(slug).get_pulls(state="all", sort="created", direction="asc")
            return tuple(_pull(one) for one in listed if one.head.ref.startswith(BRANCHES) and _is_own(one, slug))

    def open_pull(self, slug: str, branch: str, title: str, body: str, *, draft: bool) -> int:
        """Open one, and return its number; that of the open one, if an answer was lost or another worker was faster."""
        with _asking(f"{slug}: a pull request from {branch}"):
            known = self._repository(slug)
            try:
                made = known.create_pull(known.default_branch, branch, title=title, body=body, draft=draft)
            except github.GithubException as error:
                if EXISTS not in _words(error).lower():
                    raise
                (made, *_) = known.get_pulls(state="open", head=f"{slug.partition('/')[0]}:{branch}")
            return made.number

    def dress_pull(self, slug: str, number: int, dress: Dress) -> None:
        """Labels that are not there are made by GitHub; people and teams that may not be asked are refused by it."""
        people = [name for name in dress.reviewers if "/" not in name]
        teams = [name.partition("/")[2] for name in dress.reviewers if "/" in name]
        with _asking(f"{slug}: pull request {number}"):
            pull = self._repository(slug).get_pull(number)
            if dress.labels:
                # not `add_to_labels`, which sends a bare list: GitHub's description has an object
                labels = {"labels": list(dress.labels)}
                pull.requester.requestJsonAndCheck("POST", f"{pull.issue_url}/labels", input=labels)
            if dress.assignees:
                pull.add_to_assignees(*dress.assignees)
            if people or teams:
                pull.create_review_request(people, teams)

    def update_pull(self, slug: str, number: int, title: str, body: str) -> None:
        """Write title and text anew."""
        with _asking(f"{slug}: pull request {number}"):
            self._repository(slug).get_pull(number).edit(title=title, body=body)

    def close_pull(self, slug: str, number: int, comment: str) -> None:
        """Say why, and close it."""
        with _asking(f"{slug}: pull request {number}"):
            pull = self._repository(slug).get_pull(number)
            pull.create_issue_comment(comment)
            pull.edit(state="closed")

    def reviewed(self, slug: str, number: int) -> Reviewed:
        """The pull request. GitHub keeps its head in the repository, also for forks; conversations need GraphQL."""
        with _asking(f"{slug}: pull request {number}"):
            pull = self._repository(slug).get_pull(number)
            reviews = [one["body"] for one in self._said(slug, number, "reviews", OWN) if one["viewerDidAuthor"]]
            threads = [
                Thread(one["id"], one["path"], first["body"], one["isResolved"])
                for one in self._said(
                    slug, number, "reviewThreads", f"id path isResolved comments(first: 1) {{ nodes {{ {OWN} }} }}"
                )
                for first in one["comments"]["nodes"]
                if first["viewerDidAuthor"]
            ]
        is_bots = pull.head.ref.startswith(BRANCHES) and _is_own(pull, slug)
        base, head = f"refs/heads/{pull.base.ref}", f"refs/pull/{number}/head"
        return Reviewed(base, head, _state(pull), is_bots, tuple(reviews), tuple(threads))

    def review(self, slug: str, number: int, commit: str, body: str, remarks: Sequence[Remark]) -> None:
        """One request, which is made once: where its answer got lost, what is there has to be looked at before it is made again."""
        with _asking(f"{slug}: a review of pull request {number}"):
            known = self._once.get_repo(slug)
            comments = [_comment(one) for one in remarks]
            known.get_pull(number).create_review(known.get_commit(commit), body, "COMMENT", comments)

    def resolve(self, slug: str, number: int, thread: str) -> None:
        """Mark a conversation as settled; tokens that may not write contents may not do this."""
        with _asking(f"{slug}: a comment of pull request {number}"):
            given = {"threadId": thread}
            self._client.requester.graphql_named_mutation("resolveReviewThread", given, "thread { isResolved }")

    def _said(self, slug: str, number: int, kind: str, fields: str) -> Iterator[dict[str, Any]]:
        """Everything of a kind that GraphQL knows of a pull request, page by page."""
        owner, _, name = slug.partition("/")
        after = None
        while True:
            given = {"owner": owner, "name": name, "number": number, "after": after}
            _, answer = self._client.requester.graphql_query(SAID_THERE % (kind, ON_PAGE, fields), given)
            page = answer["data"]["repository"]["pullRequest"][kind]
            yield from page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return
            after = page["pageInfo"]["endCursor"]

    def issues(self, slug: str) -> tuple[Issue, ...]:
        """Those of the account; to GitHub pull requests are issues as well, and are not among them."""
        with _asking(f"{slug}: its issues"):
            creator: Any = self._own_account()  # a name will do, whatever PyGithub's types say
            listed = self._repository(slug).get_issues(creator=creator, state="all", sort="created", direction="asc")
            return tuple(_issue(one) for one in listed if one.pull_request is None)

    def issue(self, slug: str, number: int) -> Issue:
        """Its title and text; what people answered is not asked for."""
        with _asking(f"{slug}: issue {number}"):
            known = self._repository(slug).get_issue(number)
            return replace(_issue(known), written=known.created_at.timestamp())

    def open_issue(self, slug: str, title: str, body: str) -> int:
        """One request, which is made once: where its answer got lost, what is there has to be looked at before it is made again."""
        with _asking(f"{slug}: an issue"):
            return self._once.get_repo(slug).create_issue(title, body).number

    def update_issue(self, slug: str, number: int, body: str) -> None:
        """Write the text anew."""
        with _asking(f"{slug}: issue {number}"):
            self._repository(slug).get_issue(number).edit(body=body)

    def _own_account(self) -> str:
        """The name of the account that the token is of; GraphQL alone tells it for every kind of token."""
        if not self._account:
            _, answer = self._client.requester.graphql_query(ACCOUNT, {})
            self._account = answer["data"]["viewer"]["login"]
        return self._account

    def _repository(self, slug: str) -> Known:
        if slug not in self._known:
            self._known[slug] = self._client.get_repo(slug)
        return self._known[slug]


def _is_own(pull: PullRequest, slug: str) -> bool:
    """Whether its branch is in the repository itself; a fork may be gone."""
    there = pull.head.repo
    return there is not None and there.full_name.lower() == slug.lower()


def _pull(known: PullRequest) -> Pull:
    opened = known.created_at.timestamp()
    return Pull(known.number, known.head.ref, known.title, known.body or "", _state(known), opened)


def _state(known: PullRequest) -> State:
    return State.OPEN if known.state == "open" else State.MERGED if known.merged_at else State.CLOSED


def _comment(remark: Remark) -> ReviewComment:
    """GitHub takes no range of one line."""
    said: ReviewComment = {"path": remark.path, "body": remark.body, "line": remark.last, "side": "RIGHT"}
    return {**said, "start_line": remark.first, "start_side": "RIGHT"} if remark.first < remark.last else said


def _client(auth: Auth, api: str, pause: float, longest_wait: float, **retry: Any) -> github.Github:
    """A client; `retry` is what it does otherwise about answers that got lost."""
    return github.Github(
        auth=auth,
        base_url=api.rstrip("/"),
        timeout=SECONDS,
        retry=github.GithubRetry(
            total=TRIES,
            backoff_factor=pause / 2,
            secondary_rate_wait=PAUSES_AFTER_LIMIT * pause,
            max_rate_limit_wait=longest_wait,
            **retry,
        ),
        per_page=ON_PAGE,
        user_agent="dnnfix",
        seconds_between_requests=pause / 4,
        seconds_between_writes=pause,
    )


def _issue(known: KnownIssue) -> Issue:
    state = State.OPEN if known.state == "open" else State.CLOSED
    return Issue(known.number, known.title, known.body or "", state)


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """What GitHub or the way to it answers otherwise becomes a `ForgeError` about `what`."""
    try:
        yield
    except github.RateLimitExceededException as error:
        raise ForgeError(f"{what}: GitHub's limit of requests is reached ({_words(error)}). Try again later.") from None
    except github.GithubException as error:
        raise ForgeError(f"{what}: {_meaning(error)} (GitHub: {error.status} {_words(error)})") from None
    except requests.RequestException as error:
        raise ForgeError(f"{what}: GitHub cannot be reached ({str(error)[:MOST_SAID]}).") from None


def _meaning(error: GithubException) -> str:
    if NO_DRAFTS in _words(error).lower():
        return "drafts are not for this repository: set `draft = false` in its table [bot]"
    return SAID.get(error.status, "was refused" if error.status < 500 else "GitHub has trouble; try again later")


def _words(error: GithubException) -> str:
    """What the answer says, its details included."""
    said = error.data if isinstance(error.data, dict) else {}
    details = [
        str(one.get("message") or one.get("code", "")) for one in said.get("errors") or [] if isinstance(one, dict)
    ]
    return "; ".join([str(error.message or said.get("message") or "no answer"), *filter(None, details)])[:MOST_SAID]
