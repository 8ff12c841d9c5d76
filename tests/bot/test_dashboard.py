"""The dashboard: what it shows, what a ticked box does, and that nothing but a box is one."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnnfix.bot.body import MOST_BODY
from dnnfix.bot.dashboard import MARK, TITLE, Page, Ticked, Waiting, found, is_same, text, ticked
from dnnfix.bot.publish import Published, publish
from dnnfix.errors import ForgeError
from dnnfix.forge.dry_run import DryRun
from dnnfix.forge.protocol import Issue, Pull, State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, document, read_document

ASKED = b"[bot]\ndashboard = true\nmost-open = 1\nan-hour = 9\n"
OTHER = b"import torch\n\nprint(torch.zeros(2))\nloss = torch.nn.MSELoss(size_average=True)\n"
OTHER_REPAIRED = OTHER.replace(b"size_average=True", b'reduction="mean"')
STOP = "- [ ] <!-- dnnfix:stop -->"
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine

titles = st.text(st.characters(exclude_categories=["Cs"]), max_size=120) | st.sampled_from(
    ["`", "``` `", f"\n{STOP}", "- [x] <!-- dnnfix:stop -->", f"{MARK}\r- [x] <!-- dnnfix:retry=1 -->", "@all #1 <b>"]
)
keys = st.text("0123456789abcdef", min_size=12, max_size=12)
pulls = st.lists(
    st.builds(Pull, st.integers(1, 10**6), st.just("dnnfix/x"), titles, titles, st.sampled_from(State), st.just(0.0)),
    max_size=5,
    unique_by=lambda pull: pull.number,
)
pages = st.builds(
    Page,
    pulls,
    st.lists(st.builds(Waiting, keys, titles, st.just("2 are open")), max_size=5, unique_by=lambda one: one.key),
    pulls,
    st.dictionaries(titles, st.integers(1, 99), max_size=5),
    st.booleans(),
    st.booleans(),
)


def issue(body: str, state: State = State.OPEN) -> Issue:
    return Issue(1, TITLE, body, state)


@SLOW
@given(pages)
def test_nothing_is_ticked_in_a_text_as_it_is_written_but_what_stays_so(page: Page) -> None:
    assert ticked(issue(text(page))) == Ticked(stop=page.is_stopped)


@SLOW
@given(pages, st.data())
def test_what_people_tick_is_read_as_they_meant_it(page: Page, data: st.DataObject) -> None:
    body, wanted = text(page), Ticked(page.is_stopped)
    if page.waiting:
        key = data.draw(st.sampled_from([one.key for one in page.waiting]))
        body = body.replace(f"- [ ] <!-- dnnfix:open={key} -->", f"- [x] <!-- dnnfix:open={key} -->")
        wanted = Ticked(wanted.stop, frozenset({key}))
    if page.refused:
        number = data.draw(st.sampled_from([one.number for one in page.refused]))
        body = body.replace(f"- [ ] <!-- dnnfix:retry={number} -->", f"- [X] <!-- dnnfix:retry={number} -->")
        wanted = Ticked(wanted.stop, wanted.open, frozenset({number}))
    assert ticked(issue(body)) == ticked(issue(body.replace("\n", "\r\n"))) == wanted


@SLOW
@given(pages)
def test_every_title_stays_in_its_line_and_the_text_is_one_that_a_forge_takes(page: Page) -> None:
    lines = text(page).split("\n")
    assert sum(line.startswith("- ") for line in lines) == 1 + len(page.opened) + len(page.waiting) + len(
        page.refused
    ) + len(page.unproven)
    assert text(page) == text(page) and is_same(text(page), text(page).replace("\n", "\r\n"))


def test_the_longest_text_is_one_that_a_forge_takes() -> None:
    many = [Pull(10**9 + number, "dnnfix/x", "`" * 500, "", State.OPEN, 0.0) for number in range(200)]
    waiting = [Waiting("f" * 12, "`" * 500, "50 pull requests are open, and no more are wanted")] * 200
    said = text(Page(many, waiting, many, {"`" * 500 + str(number): 9 for number in range(200)}))
    assert len(said) < MOST_BODY and "- and 160 more" in said


@pytest.mark.parametrize(
    "line",
    [
        "- [x] <!-- dnnfix:open=../../etc -->",
        "- [x] <!-- dnnfix:open -->",
        "- [x] <!-- dnnfix:retry=abc -->",
        "- [x] <!-- dnnfix:retry=9999999999999999999999 -->",
        "- [x] <!-- dnnfix:merge=1 -->",
        "- [x] `<!-- dnnfix:stop -->`",
        "> - [x] <!-- dnnfix:stop -->",
        "- [x] <!-- dnnfix:stop=1 -->",
    ],
)
def test_what_is_no_box_is_none(line: str) -> None:
    assert ticked(issue(f"{line}\n{MARK}")) == Ticked()


def test_one_that_people_closed_or_wrote_anew_says_nothing() -> None:
    body = text(Page(is_stopped=True))
    assert ticked(issue(body)).stop
    assert ticked(issue(body, State.CLOSED)) == ticked(issue(body.replace(MARK, ""))) == ticked(None) == Ticked()
    assert found([Issue(3, "mine", "my words", State.OPEN), issue("my words")]) == issue("my words")


def two(repository: Repository) -> Published:
    """Publish two proposals of different rules, of which one has room, and a finding without a patch."""
    said = document(
        repository.bare.run("rev-parse", "main").strip(),
        ("train.py", TRAIN, REPAIRED),
        ("other.py", OTHER, OTHER_REPAIRED),
    )
    said["report"]["findings"][1].update(code="DNF501", rule="moved-module")
    lonely = {"id": "f9", "code": "DNF101", "rule": "missing-zero-grad", "path": "train.py", "line": 1}
    said["report"]["findings"].append({**lonely, "message": "grows"})
    return publish(repository.forge, SLUG, read_document(said), clock=lambda: repository.now)


@pytest.fixture
def asking(repository: Repository) -> Repository:
    """One that wants a dashboard, and one pull request at a time."""
    repository.commit({"dnnfix.toml": ASKED, "other.py": OTHER})
    return repository


def body_of(repository: Repository) -> str:
    (one,) = repository.forge.issues(SLUG)
    return one.body


def tick(repository: Repository, line: str) -> None:
    """What a person does with the first box of whose line this is a part."""
    lines = body_of(repository).split("\n")
    at = next(at for at, one in enumerate(lines) if line in one)
    assert lines[at].startswith("- [ ] ")
    lines[at] = lines[at].replace("- [ ]", "- [x]", 1)
    repository.forge.update_issue(SLUG, 1, "\n".join(lines))


def set_state(repository: Repository, state: str) -> None:
    path = repository.root / f"{SLUG}.issues" / "1.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": state}))


def test_it_shows_what_is_open_what_waits_and_what_has_no_patch(asking: Repository) -> None:
    assert f"opened issue 1: {TITLE}" in two(asking).done
    (one,) = asking.forge.issues(SLUG)
    assert one.title == TITLE and found([one]) == one
    assert "- [1](../pull/1) `fix: write reduction" in one.body
    assert "Open it now: `fix: write reduction for size_average` (1 pull requests are open" in one.body
    assert "- 1 × `DNF101 missing-zero-grad`" in one.body and "Closed unmerged" not in one.body
    assert (asking.root / f"{SLUG}.issues" / "1.md").read_text(encoding="utf-8") == one.body


def test_twice_is_once_and_it_is_written_anew_when_something_is_otherwise(asking: Repository) -> None:
    two(asking)
    before = body_of(asking)
    assert two(asking).done == [] and body_of(asking) == before
    asking.set_state(1, "closed")
    done = two(asking).done
    assert f"wrote issue 1 anew: {TITLE}" in done and "It may come again: [1](../pull/1)" in body_of(asking)


def test_none_without_the_setting_and_none_where_nothing_was_found(repository: Repository) -> None:
    two(repository)
    assert repository.forge.issues(SLUG) == ()
    commit = repository.commit({"dnnfix.toml": ASKED})
    repository.set_state(1, "merged")
    publish(repository.forge, SLUG, analysis(commit), clock=lambda: repository.now)
    assert repository.forge.issues(SLUG) == ()


def test_open_now_opens_beyond_the_limit_and_is_unticked(asking: Repository) -> None:
    two(asking)
    tick(asking, "Open it now")
    done = two(asking).done
    assert len(asking.forge.pulls(SLUG)) == 2 and done[0].startswith("opened 2")
    assert "[x]" not in body_of(asking) and "Open it now" not in body_of(asking)
    assert two(asking).done == []


def test_a_refused_one_comes_again_once_it_is_said_and_can_be_refused_again(asking: Repository) -> None:
    asking.commit({"dnnfix.toml": ASKED.replace(b"most-open = 1", b"most-open = 2")})
    two(asking)
    asking.set_state(1, "closed")
    two(asking)
    assert len(asking.forge.pulls(SLUG)) == 2
    tick(asking, "It may come again: [1]")
    done = two(asking).done
    assert done[0].startswith("allowed 1 to come again") and done[1].startswith("opened 3")
    assert [one.state for one in asking.forge.pulls(SLUG)] == [State.CLOSED, State.OPEN, State.OPEN]
    asking.set_state(3, "closed")
    two(asking)
    assert len(asking.forge.pulls(SLUG)) == 3 and "It may come again: [3]" in body_of(asking)


def test_stop_holds_for_as_long_as_it_is_ticked(asking: Repository) -> None:
    asking.commit({"dnnfix.toml": ASKED.replace(b"most-open = 1", b"most-open = 2")})
    found = analysis(asking.bare.run("rev-parse", "main").strip(), ("train.py", TRAIN, REPAIRED))
    publish(asking.forge, SLUG, found, clock=lambda: asking.now)
    tick(asking, "Open no more")
    for _ in range(2):
        said = two(asking)
        assert len(asking.forge.pulls(SLUG)) == 1 and "moved-module: the dashboard stops it" in said.left
    assert "- [x] <!-- dnnfix:stop -->" in body_of(asking)
    asking.forge.update_issue(SLUG, 1, body_of(asking).replace("- [x]", "- [ ]"))
    two(asking)
    assert len(asking.forge.pulls(SLUG)) == 2


def test_boxes_of_what_is_not_there_do_nothing(asking: Repository) -> None:
    two(asking)
    forged = "- [x] <!-- dnnfix:open=000000000000 -->\n- [x] <!-- dnnfix:retry=1 -->\n- [x] <!-- dnnfix:retry=77 -->\n"
    asking.forge.update_issue(SLUG, 1, forged + body_of(asking))
    assert two(asking).done == [f"wrote issue 1 anew: {TITLE}"] and "000000000000" not in body_of(asking)
    assert len(asking.forge.pulls(SLUG)) == 1


def test_one_that_a_person_closed_stays_as_it_is_and_no_other_comes(asking: Repository) -> None:
    two(asking)
    tick(asking, "Open it now")
    set_state(asking, "closed")
    before = body_of(asking)
    asking.set_state(1, "closed")
    two(asking)
    (one,) = asking.forge.issues(SLUG)
    assert (one.body, one.state) == (before, State.CLOSED)


def test_one_that_a_person_wrote_anew_stays_as_it_is(asking: Repository) -> None:
    two(asking)
    asking.forge.update_issue(SLUG, 1, "my words")
    asking.set_state(1, "closed")
    two(asking)
    assert body_of(asking) == "my words"


def test_what_is_ticked_while_it_publishes_is_kept_for_the_next_time(
    asking: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(asking)
    opened = asking.forge.open_pull

    def slow(*given: str, draft: bool) -> int:
        tick(asking, "Open no more")
        return opened(*given, draft=draft)

    asking.set_state(1, "merged")
    with monkeypatch.context() as patched:
        patched.setattr(asking.forge, "open_pull", slow)
        two(asking)
    assert "- [x] <!-- dnnfix:stop -->" in body_of(asking)
    two(asking)
    assert "- [x] <!-- dnnfix:stop -->" in body_of(asking) and "[2](../pull/2)" in body_of(asking)


@pytest.mark.parametrize("name", ["update_pull", "open_pull", "open_issue", "update_issue"])
def test_killed_before_any_step_nothing_is_lost_and_nothing_doubled(
    asking: Repository, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def killed(*given: object, **named: object) -> int:
        raise KeyboardInterrupt

    if name != "open_issue":
        two(asking)
        asking.set_state(1, "closed")
        two(asking)
        tick(asking, "It may come again: [1]")
        asking.commit({"dnnfix.toml": ASKED.replace(b"most-open = 1", b"most-open = 9")})
    with monkeypatch.context() as patched:
        patched.setattr(asking.forge, name, killed)
        with pytest.raises(KeyboardInterrupt):
            two(asking)
    two(asking)
    assert two(asking).done == [] and len(asking.forge.issues(SLUG)) == 1
    states = [one.state for one in asking.forge.pulls(SLUG)]
    assert states == ([State.OPEN] if name == "open_issue" else [State.CLOSED, State.OPEN, State.OPEN])
    assert "[x]" not in body_of(asking)


def test_where_it_cannot_be_read_nothing_is_opened_and_where_it_cannot_be_written_that_is_said(
    asking: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: str) -> int:
        raise ForgeError("issues are switched off")

    with monkeypatch.context() as patched:
        patched.setattr(asking.forge, "issues", refused)
        said = two(asking)
        assert said.done == [] and "nothing is opened: issues are switched off" in said.left[0]
    with monkeypatch.context() as patched:
        patched.setattr(asking.forge, "open_issue", refused)
        said = two(asking)
    assert said.done[0].startswith("opened 1") and "the dashboard: issues are switched off" in said.left


def test_an_analysis_of_a_part_says_so_and_a_refusal_that_is_taken_back_waits_for_a_whole_one(
    asking: Repository,
) -> None:
    two(asking)
    asking.set_state(1, "closed")
    two(asking)
    tick(asking, "It may come again: [1]")
    head = asking.bare.run("rev-parse", "main").strip()
    said = publish(asking.forge, SLUG, analysis(head, unchanged=("train.py",)), clock=lambda: asking.now)
    assert said.left == ["1: comes again once all programs are looked at"]
    assert "not all programs were looked at" in body_of(asking)


def test_a_dry_run_says_it(asking: Repository) -> None:
    said: list[str] = []
    head = asking.bare.run("rev-parse", "main").strip()
    publish(DryRun(asking.forge, said.append), SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)), push=False)
    assert any("would open a draft" in one for one in said)
    two(asking)
    asking.set_state(1, "closed")
    publish(DryRun(asking.forge, said.append), SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)), push=False)
    assert any("would write issue 1 anew" in one and "It may come again" in one for one in said)
    assert "Closed unmerged" not in body_of(asking)


def test_a_file_that_is_no_issue_is_named(asking: Repository) -> None:
    two(asking)
    set_state(asking, "ajar")
    with pytest.raises(ForgeError, match=r"1\.json: is no issue .* Mend it"):
        asking.forge.issues(SLUG)
