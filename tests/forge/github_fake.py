"""A GitHub that keeps what it is told: repositories, pull requests, comments, and git over HTTP, on loopback.

Only what the bot asks for is here. Answers have what GitHub's own description of its interface requires where that description is at
hand (`Description`); `tests/forge/README.md` says how it gets there.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

TOKEN = "ghs_of-the-tests"
APP, INSTALLATION = 667, 7
"""The number of an App, and of its installation, for which the token above is given."""

LOGIN = "dnnfix[bot]"
"""The account that the token above is of."""

Document = dict[str, Any]

_ANSWER = {"description": "An answer", "content": {"application/json": {"schema": {"type": "object"}}}}
_QUESTION = {"type": "object", "required": ["query", "variables"], "properties": {"query": {"type": "string"}}}
GRAPHQL = {
    "post": {
        "requestBody": {"required": True, "content": {"application/json": {"schema": _QUESTION}}},
        "responses": {"200": {**_ANSWER}},
    }
}
"""What GitHub's description lacks: its other interface, under an address of this one."""


class Description:
    """GitHub's description of its interface, for what its answers have to have."""

    def __init__(self, path: Path) -> None:
        self._said: Document = json.loads(path.read_text(encoding="utf-8"))
        self._said["paths"]["/graphql"] = GRAPHQL

    def write(self, path: Path) -> None:
        """Have it in a file, for others to read."""
        path.write_text(json.dumps(self._said), encoding="utf-8")

    def filled(self, template: str, method: str, status: int, given: Any) -> Any:
        """An answer with whatever the description requires beside what is given."""
        answers = self._said["paths"][template][method.lower()]["responses"]
        content = self._resolved(answers.get(str(status), {})).get("content", {})
        return self._with(content["application/json"]["schema"], given) if "application/json" in content else given

    def _resolved(self, part: Document) -> Document:
        while "$ref" in part:
            found: Any = self._said
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            part = found
        return part

    def _with(self, schema: Document, given: Any) -> Any:
        schema = self._resolved(schema)
        for part in schema.get("allOf", ()):
            given = self._with(part, given)
        chosen = schema.get("anyOf") or schema.get("oneOf")
        if chosen and (given is ... or isinstance(given, dict)):
            return self._with(chosen[0], given)
        if isinstance(given, list):
            return [self._with(schema.get("items", {}), one) for one in given]
        if given is ... and "properties" not in schema:
            return self._made(schema)
        if given is not ... and not isinstance(given, dict):
            return given
        known = schema.get("properties", {})
        told = {} if given is ... else given
        more = {name: self._with(known.get(name, {}), ...) for name in schema.get("required", ()) if name not in told}
        return {**more, **{name: self._with(known.get(name, {}), value) for name, value in told.items()}}

    @staticmethod
    def _made(schema: Document) -> Any:
        kinds = schema.get("type", "object")
        kind = "null" if schema.get("nullable") or "null" in kinds else kinds if isinstance(kinds, str) else kinds[0]
        texts = {"uri": "https://example.org/", "date-time": "2026-01-01T00:00:00Z", "email": "someone@example.org"}
        text = schema.get("enum", [texts.get(schema.get("format", ""), "text")])[0]
        return {"null": None, "string": text, "boolean": False, "array": [], "object": {}}.get(kind, 1)


@dataclass
class Answer:
    """An answer that is given instead, once, to the next request of a kind."""

    method: str
    path: str
    """A regular expression of the whole path."""
    status: int
    body: Document = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_carried_out: bool = False
    """Whether what is asked is done nevertheless: an answer that gets lost."""


class GitHubFake:
    """The server and its state. `base` is where clients are to ask; another address where something stands between."""

    def __init__(self, description: Description | None = None) -> None:
        self.description = description
        self.begin(Path())
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.base = self.address
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def begin(self, root: Path) -> None:
        """Know nothing; the bare repositories are in the folder `root`."""
        self.root = root
        self.repositories: dict[str, Document] = {}
        self.pulls: dict[str, list[Document]] = {}
        self.comments: list[tuple[int, str]] = []
        self.instead: deque[Answer] = deque()
        self.requests: list[tuple[str, str]] = []
        self.app_key = ""
        self.strangers: set[str] = set()
        self.may_resolve = True
        self.issues: list[Document] = []

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def add(self, slug: str, **said: Any) -> None:
        """A repository of which a bare one lies in the folder."""
        owner, _, name = slug.partition("/")
        clone = f"{self.address}/git/{slug}.git"
        self.repositories[slug] = {
            "name": name,
            "full_name": slug,
            "owner": {"login": owner},
            "fork": False,
            "archived": False,
            "default_branch": "main",
            "url": f"{self.base}/repos/{slug}",
            "clone_url": clone,
            **said,
        }
        self.pulls[slug] = []

    def opened(self, slug: str, branch: str, *, by: str | None = "", **said: Any) -> Document:
        """A pull request from a branch, of the repository itself or of the fork `by`; `None` is a fork that is gone."""
        number = len(self.pulls[slug]) + 1
        there = None if by is None else {**self.repositories[slug], "full_name": by or slug}
        pull = {
            "number": number,
            "state": "open",
            "title": "title",
            "body": None,
            "draft": False,
            "merged_at": None,
            "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "head": {"ref": branch, "label": f"{slug.partition('/')[0]}:{branch}", "repo": there},
            "base": {"ref": "main", "repo": self.repositories[slug]},
            "url": f"{self.base}/repos/{slug}/pulls/{number}",
            "issue_url": f"{self.base}/repos/{slug}/issues/{number}",
            **said,
        }
        self.pulls[slug].append(pull)
        return pull

    def template(self, path: str) -> str:
        """How the description names a path; empty where nothing is there."""
        return next((template for pattern, template, _ in ROUTES if re.fullmatch(pattern, path)), "")

    def answered(self, method: str, path: str, query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        """The status and the answer to a request, carried out."""
        for pattern, _, answers in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method in answers:
                slug = found.groupdict().get("slug", "")
                if slug and slug not in self.repositories:
                    break
                status, answer = getattr(self, answers[method])(found, query, given)
                return status, answer
        return 404, {"message": "Not Found"}

    def allows(self, path: str, told: str) -> bool:
        """Whether what is told as authorization will do: the token, or for an App's own requests what its key has signed."""
        if not path.startswith("/app/"):
            return told == TOKEN
        try:
            return int(jwt.decode(told, self.app_key, algorithms=["RS256"])["iss"]) == APP
        except (jwt.InvalidTokenError, ValueError):
            return False

    def _token(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        if int(found["installation"]) != INSTALLATION:
            return 404, {"message": "Not Found"}
        return 201, {"token": TOKEN, "expires_at": "2100-01-01T00:00:00Z"}

    def _repository(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        return 200, self.repositories[found["slug"]]

    def _owner(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        return 200, {"login": found["owner"], "user_view_type": "private", "url": f"{self.base}/users/{found['owner']}"}

    def _own(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        owner = found.groupdict().get("owner")
        return 200, [one for slug, one in self.repositories.items() if not owner or slug.startswith(f"{owner}/")]

    def _listed(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        state = query.get("state", "open")
        chosen = [one for one in self.pulls[found["slug"]] if state in ("all", one["state"])]
        return 200, [one for one in chosen if query.get("head", one["head"]["label"]) == one["head"]["label"]]

    def _open(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        slug, branch = found["slug"], given["head"]
        if any(one["state"] == "open" and one["head"]["ref"] == branch for one in self.pulls[slug]):
            return 422, _invalid(f"A pull request already exists for {slug.partition('/')[0]}:{branch}.")
        if given.get("draft") and self.repositories[slug].get("takes_no_drafts"):
            return 422, _invalid("Draft pull requests are not supported in this repository.")
        git = ["git", "-C", str(self.root / f"{slug}.git"), "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        if subprocess.run(git, capture_output=True, check=False).returncode:
            return 422, {**_invalid(""), "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}]}
        told = {name: given[name] for name in ("title", "body", "draft") if name in given}
        return 201, self.opened(slug, branch, **told)

    def _one(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        number = int(found["number"])
        if number > len(self.pulls[found["slug"]]):
            return 404, {"message": "Not Found"}
        pull = self.pulls[found["slug"]][number - 1]
        pull.update(given)
        return 200, pull

    def _comment(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        self.comments.append((int(found["number"]), given["body"]))
        return 201, {"body": given["body"]}

    def _labels(self, found: re.Match[str], query: Mapping[str, str], given: Any) -> tuple[int, Any]:
        pull = self.pulls[found["slug"]][int(found["number"]) - 1]
        names = given["labels"] if isinstance(given, dict) else given
        pull["labels"] = [*pull.get("labels", []), *({"name": name} for name in names)]
        return 200, pull["labels"]

    def _assignees(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        pull = self.pulls[found["slug"]][int(found["number"]) - 1]
        pull["assignees"] = [*pull.get("assignees", []), *({"login": name} for name in given["assignees"])]
        return 201, {"number": pull["number"], "assignees": pull["assignees"]}

    def _reviewers(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        pull = self.pulls[found["slug"]][int(found["number"]) - 1]
        if set(given.get("reviewers", ())) & self.strangers:
            message = (
                "Reviews may only be requested from collaborators. One or more of the users is not a collaborator."
            )
            return 422, {"message": message, "documentation_url": "https://example.org/"}
        pull["asked"] = [*given.get("reviewers", ()), *given.get("team_reviewers", ())]
        return 201, pull

    def _review(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        pull = self.pulls[found["slug"]][int(found["number"]) - 1]
        if any(one["line"] < one.get("start_line", 1) for one in given["comments"]):
            return 422, {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}
        self.said(pull, LOGIN, **given)
        return 200, {"body": given["body"], "commit_id": given["commit_id"], "state": "COMMENTED"}

    def said(self, pull: Document, by: str, **given: Any) -> None:
        """Somebody reviews a pull request."""
        made = [{**one, "id": f"T{len(pull.get('reviews', []))}.{at}"} for at, one in enumerate(given["comments"])]
        pull["reviews"] = [*pull.get("reviews", []), {**given, "by": by, "comments": made, "resolved": []}]

    def _commit(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        return 200, {"sha": found["commit"]}

    def _graphql(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        asked = given["variables"]
        if "viewer {" in given["query"]:
            return 200, {"data": {"viewer": {"login": LOGIN}}}
        if "resolveReviewThread(" in given["query"]:
            if not self.may_resolve:
                message = "Resource not accessible by integration"
                return 200, {"data": None, "errors": [{"type": "FORBIDDEN", "message": message}]}
            thread = asked["input"]["threadId"]
            for pull in (one for listed in self.pulls.values() for one in listed):
                for review in pull.get("reviews", []):
                    review["resolved"] += [one["id"] for one in review["comments"] if one["id"] == thread]
            return 200, {"data": {"resolveReviewThread": {"thread": {"isResolved": True}}}}
        pull = self.pulls[f"{asked['owner']}/{asked['name']}"][asked["number"] - 1]
        kind, size = re.findall(r"(reviews|reviewThreads)\(first: (\d+)", given["query"])[0]
        nodes = [one for review in pull.get("reviews", []) for one in _nodes(review, kind)]
        begin, end = int(asked["after"] or 0), int(asked["after"] or 0) + int(size)
        page = {"pageInfo": {"hasNextPage": end < len(nodes), "endCursor": str(end)}, "nodes": nodes[begin:end]}
        return 200, {"data": {"repository": {"pullRequest": {kind: page}}}}

    def _issues(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        """The pull requests of the account are among them."""
        parts = {name: "https://example.org/" for name in ("diff_url", "html_url", "patch_url", "url")}
        pulls = [
            {**self._issue(number=one["number"], title=one["title"], body=one["body"]), "pull_request": parts}
            for one in self.pulls[found["slug"]]
        ]
        chosen = [one for one in [*pulls, *self.issues] if query.get("state", "open") in ("all", one["state"])]
        return 200, [one for one in chosen if query.get("creator", LOGIN) == one["user"]["login"]]

    def _new_issue(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        return 201, self.opened_issue(found["slug"], LOGIN, **given)

    def _one_issue(self, found: re.Match[str], query: Mapping[str, str], given: Document) -> tuple[int, Any]:
        (issue,) = (one for one in self.issues if one["number"] == int(found["number"]))
        issue.update(given)
        return 200, issue

    def opened_issue(self, slug: str, by: str, **said: Any) -> Document:
        """Somebody opens an issue; the numbers below 1001 are for pull requests."""
        number = 1001 + len(self.issues)
        place = f"{self.base}/repos/{slug}/issues/{number}"
        self.issues.append({**self._issue(number=number, body="", url=place), "user": {"login": by}, **said})
        return self.issues[-1]

    def _issue(self, **said: Any) -> Document:
        return {"state": "open", "user": {"login": LOGIN}, **said}


def _nodes(review: Document, kind: str) -> list[Document]:
    """What GraphQL tells of a review: itself, or its conversations."""
    is_own = review["by"] == LOGIN
    if kind == "reviews":
        return [{"body": review["body"], "viewerDidAuthor": is_own}]
    return [
        {
            "id": one["id"],
            "path": one["path"],
            "isResolved": one["id"] in review["resolved"],
            "comments": {"nodes": [{"body": one["body"], "viewerDidAuthor": is_own}]},
        }
        for one in review["comments"]
    ]


PULLS = r"/repos/(?P<slug>[^/]+/[^/]+)/pulls"
ROUTES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        r"/app/installations/(?P<installation>\d+)/access_tokens",
        "/app/installations/{installation_id}/access_tokens",
        {"POST": "_token"},
    ),
    (r"/repos/(?P<slug>[^/]+/[^/]+)", "/repos/{owner}/{repo}", {"GET": "_repository"}),
    (PULLS, "/repos/{owner}/{repo}/pulls", {"GET": "_listed", "POST": "_open"}),
    (rf"{PULLS}/(?P<number>\d+)", "/repos/{owner}/{repo}/pulls/{pull_number}", {"GET": "_one", "PATCH": "_one"}),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/issues/(?P<number>\d+)/comments",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
        {"POST": "_comment"},
    ),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/issues/(?P<number>\d+)/labels",
        "/repos/{owner}/{repo}/issues/{issue_number}/labels",
        {"POST": "_labels"},
    ),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/issues/(?P<number>\d+)/assignees",
        "/repos/{owner}/{repo}/issues/{issue_number}/assignees",
        {"POST": "_assignees"},
    ),
    (
        rf"{PULLS}/(?P<number>\d+)/requested_reviewers",
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        {"POST": "_reviewers"},
    ),
    (
        rf"{PULLS}/(?P<number>\d+)/reviews",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        {"POST": "_review"},
    ),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/commits/(?P<commit>[0-9a-f]+)",
        "/repos/{owner}/{repo}/commits/{ref}",
        {"GET": "_commit"},
    ),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/issues",
        "/repos/{owner}/{repo}/issues",
        {"GET": "_issues", "POST": "_new_issue"},
    ),
    (
        r"/repos/(?P<slug>[^/]+/[^/]+)/issues/(?P<number>\d+)",
        "/repos/{owner}/{repo}/issues/{issue_number}",
        {"GET": "_one_issue", "PATCH": "_one_issue"},
    ),
    (r"/graphql", "/graphql", {"POST": "_graphql"}),
    (r"/users/(?P<owner>[^/]+)", "/users/{username}", {"GET": "_owner"}),
    (r"/users/(?P<owner>[^/]+)/repos", "/users/{username}/repos", {"GET": "_own"}),
    (r"/user/repos", "/user/repos", {"GET": "_own"}),
)
"""A path, its template in the description, and the method that answers to each verb."""


def _invalid(message: str) -> Document:
    return {
        "message": "Validation Failed",
        "errors": [{"resource": "PullRequest", "code": "custom", "message": message}],
    }


def _handler(fake: GitHubFake) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *said: Any) -> None:
            """Say nothing."""

        @cached_property
        def given(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def answer(self) -> None:
            self.__dict__.pop("given", None)
            place = urlsplit(self.path)
            if place.path.startswith("/git/"):
                self.git(place.path.removeprefix("/git"), place.query)
                return
            with fake.lock:
                fake.requests.append((self.command, place.path))
                told = self.headers.get("Authorization", "")
                if not fake.allows(place.path, told.partition(" ")[2]):
                    self.given  # noqa: B018 - what is not read would be the next request
                    self.send(401, {"message": "Bad credentials"})
                    return
                query = {name: values[0] for name, values in parse_qs(place.query).items()}
                given = json.loads(self.given or b"{}")
                template, status, answer, headers = self.carried_out(place.path, query, given)
                if template and fake.description:
                    answer = fake.description.filled(template, self.command, status, answer)
                self.send(status, answer, headers)

        def carried_out(
            self, path: str, query: Mapping[str, str], given: Document
        ) -> tuple[str, int, Any, Mapping[str, str]]:
            instead = next((one for one in fake.instead if self.is_meant(one, path)), None)
            if instead is not None and not instead.is_carried_out:
                fake.instead.remove(instead)
                return fake.template(path), instead.status, instead.body, instead.headers
            status, answer = fake.answered(self.command, path, query, given)
            if instead is not None:
                fake.instead.remove(instead)
                return fake.template(path), instead.status, instead.body, instead.headers
            whole = isinstance(answer, list)
            answer, headers = self.page(answer, path, query) if whole else (answer, {})
            return fake.template(path), status, answer, headers

        do_GET = do_POST = do_PATCH = answer

        def is_meant(self, one: Answer, path: str) -> bool:
            return one.method == self.command and re.fullmatch(one.path, path) is not None

        def page(self, whole: list[Any], path: str, query: Mapping[str, str]) -> tuple[list[Any], dict[str, str]]:
            size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
            beside = "&".join(f"{name}={value}" for name, value in query.items() if name != "page")
            after = f'<{fake.base}{path}?{beside}&page={number + 1}>; rel="next"'
            return whole[(number - 1) * size : number * size], {"Link": after} if len(whole) > number * size else {}

        def send(self, status: int, answer: Any, headers: Mapping[str, str] | None = None) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json; charset=utf-8", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def git(self, path: str, query: str) -> None:
            """Git over HTTP, by the program that git brings along."""
            told = self.headers.get("Authorization", "").partition(" ")[2]
            given = self.given
            if base64.b64decode(told).decode() != f"x-access-token:{TOKEN}":
                self.send(401, {}, {"WWW-Authenticate": 'Basic realm="git"'})
                return
            environment = {
                "GIT_PROJECT_ROOT": str(fake.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(given)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "dnnfix",
                "REMOTE_ADDR": "127.0.0.1",
                "PATH": "/usr/bin:/bin",
            }
            done = subprocess.run(
                ["git", "http-backend"], env=environment, input=given, capture_output=True, check=False
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
