"""Reviews of pull requests of people: what is said of which lines, that it is said once, and what is left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.bot.proposal import mark, members_of
from dnnfix.bot.publish import Published
from dnnfix.bot.report import read
from dnnfix.bot.review import MOST_REMARKS, NOT_ASKED, Changed, changed_lines, suggestion
from dnnfix.bot.reviewing import review_pull
from dnnfix.cli.main import run
from dnnfix.errors import BotReportError, ForgeError
from dnnfix.forge.dry_run import DryRun
from dnnfix.forge.git import cloned
from dnnfix.source.diff import unified_diff
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, document, repository_in

BEFORE = TRAIN.replace(b"size_average=True", b"")
ASKED = b"[bot]\nreview = true\n"
WORK = "work"

NEW = b"""import torch

scores, wanted = torch.randn(8, 3, requires_grad=True), torch.randint(3, (8,))
loss = torch.nn.CrossEntropyLoss()(scores, wanted)
loss.backward()
print(loss.item())
"""
OLD = NEW.replace(b"loss.item()", b"loss.data[0]")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository that asks for reviews, with a pull request of a person that brings a fault into line 4."""
    made = repository_in(tmp_path)
    made.commit({"dnnfix.toml": ASKED, "train.py": BEFORE})
    opened(made, {"train.py": TRAIN})
    return made


def opened(repository: Repository, files: dict[str, bytes], branch: str = WORK, number: int = 1, **more: Any) -> str:
    """A person opens a pull request from a branch with other files; its head."""
    repository.bare.run("branch", "--force", branch, "main")
    commit = repository.commit(files, branch)
    said = {"branch": branch, "title": "Mine", "body": "", "state": "open", "opened": repository.now, **more}
    file = repository.root / f"{SLUG}.pulls" / f"{number}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(said))
    return commit


def head(repository: Repository, branch: str = WORK) -> str:
    return repository.bare.run("rev-parse", branch).strip()


def reviewed(repository: Repository, *changes: tuple[str, bytes, bytes], number: int = 1, **more: Any) -> Published:
    """What a review of the newest commit says was done, where the changes are found to be needed."""
    return review_pull(repository.forge, SLUG, number, analysis(head(repository), *changes, **more))


def reviews(repository: Repository, number: int = 1) -> list[Any]:
    found: list[Any] = json.loads((repository.root / f"{SLUG}.pulls" / f"{number}.json").read_text()).get("reviews", [])
    return found


FAULT = ("train.py", TRAIN, REPAIRED)


def test_a_fault_on_a_changed_line_is_one_comment_with_a_suggestion_that_is_the_patch(repository: Repository) -> None:
    found = reviewed(repository, FAULT)
    assert found == Published(["commented on 1: train.py:4"], [])
    ((review,), (comment,)) = reviews(repository), reviews(repository)[0]["comments"]
    assert (comment["path"], comment["first"], comment["last"]) == ("train.py", 4, 4)
    suggested = comment["body"].partition("```suggestion\n")[2].partition("\n```")[0]
    lines = TRAIN.decode().splitlines()
    lines[3] = suggested
    assert "\n".join(lines) + "\n" == REPAIRED.decode()
    assert "still runs" in comment["body"] and members_of(comment["body"]) == members_of(review["body"])
    assert review["commit"] == head(repository)


def test_reviewing_twice_is_reviewing_once(repository: Repository) -> None:
    reviewed(repository, FAULT)
    assert reviewed(repository, FAULT) == Published() and len(reviews(repository)) == 1


def test_a_comment_that_was_taken_away_does_not_come_again(repository: Repository) -> None:
    reviewed(repository, FAULT)
    file = repository.root / f"{SLUG}.pulls" / "1.json"
    said = json.loads(file.read_text())
    said["reviews"][0]["comments"] = []
    file.write_text(json.dumps(said))
    assert reviewed(repository, FAULT) == Published()


def test_what_others_say_with_the_same_mark_does_not_count(repository: Repository) -> None:
    (fault,) = analysis(head(repository), FAULT).findings
    said = {"path": "train.py", "first": 4, "last": 4, "body": mark([fault.identity]), "resolved": False}
    theirs = {"by": "person", "commit": head(repository), "body": mark([fault.identity]), "comments": [said]}
    opened(repository, {"train.py": TRAIN}, reviews=[theirs])
    assert reviewed(repository, FAULT).done == ["commented on 1: train.py:4"]
    opened(repository, {"train.py": BEFORE + b"# better\n"}, reviews=[theirs])
    assert reviewed(repository) == Published(), "nor is theirs resolved"


def test_a_comment_whose_fault_is_gone_is_resolved_once(repository: Repository) -> None:
    reviewed(repository, FAULT)
    repository.commit({"train.py": REPAIRED}, WORK)
    assert reviewed(repository).done == ["resolved a comment of 1 on train.py"]
    assert reviews(repository)[0]["comments"][0]["resolved"] is True
    assert reviewed(repository) == Published()
    repository.commit({"train.py": TRAIN}, WORK)
    assert reviewed(repository, FAULT) == Published(), "and it does not come again when the fault does"


@pytest.mark.parametrize("more", [{"left_out": ("other.py",)}, {"unchanged": ("train.py",)}])
def test_nothing_is_resolved_where_its_file_was_not_looked_at(repository: Repository, more: dict[str, Any]) -> None:
    reviewed(repository, FAULT)
    repository.commit({"README.md": b"read me\n"}, WORK)
    assert reviewed(repository, **more) == Published()


def test_a_conversation_that_cannot_be_resolved_is_left(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object) -> None:
        raise ForgeError("the token may not do this")

    reviewed(repository, FAULT)
    repository.commit({"train.py": REPAIRED}, WORK)
    monkeypatch.setattr(repository.forge, "resolve", refused)
    (left,) = reviewed(repository).left
    assert "train.py" in left and "may not do this" in left


def test_faults_on_lines_that_the_pull_request_does_not_change_are_not_its_business(repository: Repository) -> None:
    repository.commit({"train.py": TRAIN})
    opened(repository, {"train.py": TRAIN + b"print('more')\n"})
    more = TRAIN + b"print('more')\n"
    assert reviewed(repository, ("train.py", more, REPAIRED + b"print('more')\n")) == Published()
    assert reviews(repository) == []


def test_what_came_into_the_base_meanwhile_is_not_of_the_pull_request(repository: Repository) -> None:
    repository.commit({"other.py": TRAIN})
    repository.commit({"dnnfix.toml": ASKED + b"# later\n"})
    assert reviewed(repository, FAULT, ("other.py", TRAIN, REPAIRED)).done == ["commented on 1: train.py:4"]


def test_a_file_that_only_moved_has_no_changed_lines(repository: Repository) -> None:
    repository.commit({"train.py": TRAIN})
    repository.bare.run("update-ref", f"refs/heads/{WORK}", moved(repository, "train.py", "new name ä.py"))
    assert reviewed(repository, ("new name ä.py", TRAIN, REPAIRED)) == Published()


def moved(repository: Repository, old: str, new: str) -> str:
    """A commit on the default branch in which a file has another name."""
    listed = repository.bare.run("ls-tree", "-z", "main").replace(f"\t{old}\0", f"\t{new}\0")
    tree = repository.bare.run("mktree", "-z", given=listed.encode()).strip()
    return repository.bare.run("commit-tree", tree, "-p", "main", given=b"move").strip()


def test_names_beyond_ascii_are_commented_on(repository: Repository) -> None:
    opened(repository, {"größe netz.py": TRAIN})
    assert reviewed(repository, ("größe netz.py", TRAIN, REPAIRED)).done == ["commented on 1: größe netz.py:4"]


def test_a_patch_of_other_lines_too_is_named_and_not_suggested(repository: Repository) -> None:
    both = REPAIRED.replace(b"print(net)", b"print(net.weight)")
    reviewed(repository, ("train.py", TRAIN, both))
    body = reviews(repository)[0]["comments"][0]["body"]
    assert "suggestion" not in body and "changes other lines too" in body


def test_a_patch_of_other_bytes_than_those_of_the_head_is_not_suggested(repository: Repository) -> None:
    said = document(head(repository), FAULT)
    said["blobs"]["train.py"] = "0" * 40
    review_pull(repository.forge, SLUG, 1, read(json.dumps(said).encode(), "report.json"))
    assert "suggestion" not in reviews(repository)[0]["comments"][0]["body"]


def test_a_finding_without_a_patch_is_said(repository: Repository) -> None:
    said = document(head(repository), FAULT)
    said["titles"] = {}
    review_pull(repository.forge, SLUG, 1, read(json.dumps(said).encode(), "report.json"))
    body = reviews(repository)[0]["comments"][0]["body"]
    assert "train.py:4: DNF502 deprecated-api" in body and "suggestion" not in body


def test_patches_that_change_training_are_suggested_only_where_they_are_wanted(repository: Repository) -> None:
    repository.commit({"dnnfix.toml": ASKED + b"unsafe = false\n"})
    reviewed(repository, FAULT, applicability="unsafe")
    assert "suggestion" not in reviews(repository)[0]["comments"][0]["body"]


def test_few_comments_in_all_however_many_faults_and_commits(repository: Repository) -> None:
    files = {f"train{number}.py": TRAIN for number in range(4)}
    opened(repository, files)
    reviewed(repository, *((path, TRAIN, REPAIRED) for path in files))
    more = {f"later{number}.py": TRAIN for number in range(4)}
    repository.commit(more, WORK)
    every = [(path, TRAIN, REPAIRED) for path in (*files, *more)]
    reviewed(repository, *every)
    reviewed(repository, *every)
    counts = [len(review["comments"]) for review in reviews(repository)]
    assert counts == [4, 1] and sum(counts) == MOST_REMARKS


def test_what_is_suggested_comes_before_what_is_not(repository: Repository) -> None:
    files = {f"a{number}.py": TRAIN for number in range(MOST_REMARKS)}
    opened(repository, {**files, "train.py": TRAIN})
    said = document(head(repository), *((path, TRAIN, REPAIRED) for path in files), FAULT)
    said["titles"] = {"p5": said["titles"]["p5"]}
    review_pull(repository.forge, SLUG, 1, read(json.dumps(said).encode(), "report.json"))
    comments = reviews(repository)[0]["comments"]
    assert comments[0]["path"] == "train.py" and len(comments) == MOST_REMARKS


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (b"[bot]\n", NOT_ASKED),
        (b"", "it has not asked for the bot"),
        (b"[bot]\nenabled = false\nreview = true\n", "it has not asked for the bot"),
    ],
)
def test_a_repository_that_has_not_asked_for_reviews_gets_none(
    repository: Repository, settings: bytes, said: str
) -> None:
    repository.commit({"dnnfix.toml": settings})
    opened(repository, {"train.py": TRAIN, "dnnfix.toml": ASKED})
    (left,) = reviewed(repository, FAULT).left
    assert left.startswith(said) and reviews(repository) == [], "what the pull request itself asks for does not count"


def test_a_policy_against_machines_holds_for_reviews(repository: Repository) -> None:
    repository.commit({"CONTRIBUTING.md": b"We do not accept pull requests by bots.\n"})
    opened(repository, {"train.py": TRAIN, "CONTRIBUTING.md": b"", "dnnfix.toml": ASKED + b"despite-policy = true\n"})
    assert "CONTRIBUTING.md forbids it" in reviewed(repository, FAULT).left[0]


def test_a_person_who_asks_gets_a_review_of_a_repository_without_a_table(repository: Repository) -> None:
    repository.commit({"dnnfix.toml": b""})
    opened(repository, {"train.py": TRAIN})
    found = review_pull(repository.forge, SLUG, 1, analysis(head(repository), FAULT), by_person=True)
    assert found.done == ["commented on 1: train.py:4"]


def test_the_bots_own_closed_ones_and_old_heads_are_left_alone(repository: Repository) -> None:
    opened(repository, {"train.py": TRAIN}, "dnnfix/deprecated-api-1", 2)
    own = analysis(head(repository, "dnnfix/deprecated-api-1"), FAULT)
    assert review_pull(repository.forge, SLUG, 2, own).left == ["it is the bot's own"]
    old = analysis(head(repository), FAULT)
    repository.commit({"README.md": b"read me\n"}, WORK)
    assert "its newest commit is" in review_pull(repository.forge, SLUG, 1, old).left[0]
    repository.set_state(1, "merged")
    assert reviewed(repository, FAULT).left == ["it is merged"]
    assert reviews(repository) == reviews(repository, 2) == []


def test_nothing_found_is_nothing_said(repository: Repository) -> None:
    assert reviewed(repository) == Published() and reviews(repository) == []


def test_a_dry_run_says_everything_and_writes_nothing(repository: Repository) -> None:
    told = list[str]()
    review_pull(DryRun(repository.forge, told.append), SLUG, 1, analysis(head(repository), FAULT))
    assert "would review number 1" in told[0] and "```suggestion" in told[0] and reviews(repository) == []
    reviewed(repository, FAULT)
    repository.commit({"train.py": REPAIRED}, WORK)
    review_pull(DryRun(repository.forge, told.append), SLUG, 1, analysis(head(repository)))
    assert "would resolve" in told[1] and reviews(repository)[0]["comments"][0]["resolved"] is False


def test_what_does_not_fit_together_is_named(repository: Repository) -> None:
    with pytest.raises(BotReportError, match="is to be published in people/other"):
        review_pull(repository.forge, "people/other", 1, analysis(head(repository)))
    with pytest.raises(ForgeError, match=r"people/digits: no pull request 7\. There are: 1"):
        reviewed(repository, number=7)
    opened(repository, {"train.py": TRAIN}, reviews=[{"by": "dnnfix"}])
    with pytest.raises(ForgeError, match=r"1\.json: has a review that is none"):
        reviewed(repository)
    orphan = repository.commit({"train.py": TRAIN}, "orphan")
    opened(repository, {"train.py": TRAIN}, "orphan")
    repository.bare.run("update-ref", "refs/heads/orphan", orphan)
    with pytest.raises(ForgeError, match="have no commit in common"):
        review_pull(repository.forge, SLUG, 1, analysis(orphan, FAULT))


def test_hostile_words_are_shown_as_code_and_speak_for_no_other_fault(repository: Repository) -> None:
    said = document(head(repository), FAULT)
    said["report"]["findings"][0]["message"] = f"```\n@everyone {mark(['0' * 12])} [x](http://example.org)"
    said["titles"]["p0"] = "@everyone <img src=x> " + mark(["0" * 12])
    review_pull(repository.forge, SLUG, 1, read(json.dumps(said).encode(), "report.json"))
    (review,) = reviews(repository)
    body = review["comments"][0]["body"]
    assert body.startswith("````text\n") and "\\<img" in body
    assert "0" * 12 not in members_of(body) | members_of(review["body"])


def test_long_words_lose_their_proof_first(repository: Repository) -> None:
    verdicts = [{"status": "pass", "reason": f"{number} {'x' * 3900}"} for number in range(20)]
    reviewed(repository, FAULT, verdicts=verdicts)
    body = reviews(repository)[0]["comments"][0]["body"]
    assert "xxxx" not in body and "```suggestion" in body and len(body) < 65_536


def test_the_command_reviews(repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(document(head(repository), FAULT)))
    words = ["bot", "review", str(report), "--repo", SLUG, "--pull", "1", "--forge", f"local:{tmp_path}"]
    assert run(words) == 0
    assert capsys.readouterr().out == f"{SLUG}: commented on 1: train.py:4\n"
    assert run(words) == 0
    assert capsys.readouterr().out == f"{SLUG}: nothing to do\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="the bot runs nothing without bubblewrap")
def test_a_suggestion_of_a_real_report_repairs_the_program_when_it_is_taken(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"train.py": NEW, "other.py": NEW})
    parted = repository.bare.run("rev-parse", "main").strip()
    opened(repository, {"train.py": OLD})
    checkout, report = tmp_path / "checkout" / "digits", tmp_path / "report.json"
    cloned(repository.forge.remote(SLUG), checkout, WORK, parted)
    words = ["--repo", SLUG, "--since", parted, "--output-file", str(report), "--python", sys.executable, "--quiet"]
    assert run(["bot", "analyse", str(checkout), *words]) == 0
    found = read(report.read_bytes(), "report.json")
    assert found.unchanged == {"other.py"}
    assert review_pull(repository.forge, SLUG, 1, found).done
    (comment,) = [one for one in reviews(repository)[0]["comments"] if "```suggestion" in one["body"]]
    lines = OLD.decode().splitlines()
    suggested = comment["body"].partition("```suggestion\n")[2].partition("\n```")[0]
    lines[comment["first"] - 1 : comment["last"]] = suggested.splitlines()
    (checkout / "train.py").write_text("\n".join(lines) + "\n")
    subprocess.run([sys.executable, "train.py"], cwd=checkout, check=True)


TEXTS = st.lists(st.sampled_from([b"a", b"b", b"", b"+x", b"-y", b"@@ -1 +1 @@", b"diff --git a/x b/x", b"++ b/z.py"]), max_size=8)  # fmt: skip


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_changed_lines_are_those_of_a_diff_whatever_stands_in_them(old: list[bytes], new: list[bytes]) -> None:
    before, after = (b"".join(line + b"\n" for line in lines) for lines in (old, new))
    found = changed_lines(unified_diff(before, after, "x.py"))
    assert set(found) <= {"x.py"}
    kept = [line for number, line in enumerate(new, 1) if number not in found.get("x.py", frozenset())]
    rest = iter(old)
    assert all(line in rest for line in kept), "what is not changed was there before, in the same order"


@settings(deadline=None)
@given(TEXTS, TEXTS, st.frozensets(st.integers(1, 9)))
def test_a_suggestion_put_in_place_of_its_lines_is_the_patch(
    old: list[bytes], new: list[bytes], lines: frozenset[int]
) -> None:
    before, after = (b"".join(line + b"\n" for line in lines) for lines in (old, new))
    if before == after:
        return
    said = document("0" * 40, ("x.py", before, after))
    (patch,) = read(json.dumps(said).encode(), "report.json").patches
    found = suggestion(patch, {"x.py": Changed(lines, patch.blobs["x.py"], before)})
    if found is not None:
        made = [line + b"\n" for line in old]
        made[found.first - 1 : found.end - 1] = found.new
        assert b"".join(made) == after and lines.issuperset(range(found.first, found.end)) and found.first < found.end


def test_lines_that_are_put_in_take_a_changed_one_along() -> None:
    before, after = b"a\nb\nc\n", b"a\nb\nx\nc\n"
    (patch,) = analysis("0" * 40, ("x.py", before, after)).patches
    expected = {frozenset({2}): (2, (b"b\n", b"x\n")), frozenset({3}): (3, (b"x\n", b"c\n")), frozenset({1}): None}
    for lines, wanted in expected.items():
        found = suggestion(patch, {"x.py": Changed(lines, patch.blobs["x.py"], before)})
        assert (found and (found.first, found.new)) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\n", b"b\r\n"),
        (b"a", b"b"),
        (b"a\nb\n", b"a\n"),
        (b"a\n" + b"-\n" * 4 + b"\xff\n" + b"-\n" * 4 + b"a\n", b"b\n" + b"-\n" * 4 + b"\xff\n" + b"-\n" * 4 + b"b\n"),
        (b"a\n", b"b" * 5000 + b"\n"),
    ],
    ids=["carriage-return", "no-end", "nothing-left", "no-text", "long"],
)
def test_lines_that_markdown_does_not_keep_are_not_suggested(before: bytes, after: bytes) -> None:
    (patch,) = analysis("0" * 40, ("x.py", before, after)).patches
    every = frozenset(range(1, before.count(b"\n") + 2))
    assert suggestion(patch, {"x.py": Changed(every, patch.blobs["x.py"], before)}) is None


def test_one_command_analyses_and_reviews_a_pull_request(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bot", "run", "--forge", f"local:{repository.root}", "--repo", SLUG, "--pull", "1", "--quiet"]
    assert run([*command, "--budget", "200"]) == 0
    assert "commented on 1: train.py:4" in capsys.readouterr().out
    assert "```suggestion" in reviews(repository)[0]["comments"][0]["body"]


def test_nothing_is_analysed_where_no_review_is_wanted(
    repository: Repository, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"dnnfix.toml": b"[bot]\n"})
    monkeypatch.setattr("dnnfix.bot.analysis_process.analysed", lambda *given: pytest.fail("was analysed"))
    assert run(["bot", "run", "--forge", f"local:{repository.root}", "--repo", SLUG, "--pull", "1", "--quiet"]) == 0
    assert NOT_ASKED in capsys.readouterr().out and reviews(repository) == []


def test_a_pull_request_is_in_one_repository(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bot", "run", "--forge", f"local:{repository.root}", "--pull", "1"]) == 2
    assert "--repo" in capsys.readouterr().err
