"""Which webhooks ask for a visit, and that none can ask for something else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.bot.app.events import asked
from dnnfix.bot.app.store import Asked
from dnnfix.bot.dashboard import MARK
from dnnfix.bot.report import is_slug

REPOSITORY = {"full_name": "people/digits", "default_branch": "main"}
BOTS = {"head": {"ref": "dnnfix/deprecated-api-123456789abc"}}
PERSON, BOT = {"type": "User"}, {"type": "Bot"}
DASHBOARD = {"user": BOT, "body": f"- [x] it\n\n{MARK}\n"}


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("push", {"ref": "refs/heads/main", "deleted": False, "repository": REPOSITORY}),
        ("pull_request", {"action": "closed", "pull_request": BOTS, "repository": REPOSITORY}),
        ("issues", {"action": "edited", "issue": DASHBOARD, "sender": PERSON, "repository": REPOSITORY}),
        ("installation", {"action": "created", "repositories": [{"full_name": "people/digits"}]}),
        ("installation_repositories", {"action": "added", "repositories_added": [{"full_name": "people/digits"}]}),
    ],
)
def test_what_asks_for_a_visit(event: str, payload: dict[str, Any]) -> None:
    assert asked(event, {**payload, "installation": {"id": 7}}) == (Asked("people/digits", 7),)
    assert asked("star", payload) == ()


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("push", {"ref": "refs/heads/other", "repository": REPOSITORY}),
        ("issues", {"action": "edited", "issue": DASHBOARD, "sender": BOT, "repository": REPOSITORY}),
        ("issues", {"action": "opened", "issue": DASHBOARD, "sender": PERSON, "repository": REPOSITORY}),
        (
            "issues",
            {"action": "edited", "issue": {**DASHBOARD, "user": PERSON}, "sender": PERSON, "repository": REPOSITORY},
        ),
        (
            "issues",
            {"action": "edited", "issue": {"user": BOT, "body": None}, "sender": PERSON, "repository": REPOSITORY},
        ),
        ("push", {"ref": "refs/tags/main", "repository": REPOSITORY}),
        ("push", {"ref": "refs/heads/main", "deleted": True, "repository": REPOSITORY}),
        ("push", {"ref": "refs/heads/main", "repository": {**REPOSITORY, "full_name": "../../etc"}}),
        ("push", {"ref": "refs/heads/main", "repository": {**REPOSITORY, "full_name": ["people/digits"]}}),
        ("pull_request", {"action": "closed", "pull_request": {"head": {"ref": "mine"}}, "repository": REPOSITORY}),
        ("pull_request", {"action": "opened", "number": 9, "pull_request": BOTS, "repository": REPOSITORY}),
        ("pull_request", {"action": "opened", "number": "9", "pull_request": {}, "repository": REPOSITORY}),
        ("pull_request", {"action": "opened", "number": -9, "pull_request": {}, "repository": REPOSITORY}),
        ("pull_request", {"action": "labeled", "pull_request": BOTS, "repository": REPOSITORY}),
        ("installation", {"action": "deleted", "repositories": [{"full_name": "people/digits"}]}),
        ("installation", {"action": "created", "repositories": {"full_name": "people/digits"}}),
        ("push", ["ref"]),
        ("push", None),
    ],
)
def test_what_asks_for_nothing(event: str, payload: Any) -> None:
    assert asked(event, payload) == ()


@pytest.mark.parametrize("action", ["opened", "reopened", "synchronize"])
def test_a_pull_request_of_a_person_asks_for_a_review(action: str) -> None:
    said = {"action": action, "number": 9, "pull_request": {"head": {"ref": "mine"}}, "repository": REPOSITORY}
    (one,) = asked("pull_request", said)
    assert one == Asked("people/digits", 0, 9) and one.name == "people/digits#9"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["action", "ref", "repository", "full_name", "installation", "id", "repositories"]), inner
    ),
)  # fmt: skip


@given(st.sampled_from(["push", "pull_request", "installation", "installation_repositories", "x"]), JSON)
def test_whatever_comes_names_repositories_or_nothing(event: str, payload: Any) -> None:
    assert all(is_slug(one.slug) and 0 <= one.installation < 2**63 for one in asked(event, payload))
