"""From reports to pull requests on a forge in a folder: what is opened, what is left alone, and that twice is once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix.bot.proposal import members_of
from dnnfix.bot.publish import publish
from dnnfix.bot.report import read
from dnnfix.errors import BotReportError, ConfigError, ForgeError
from dnnfix.forge.dry_run import DryRun
from dnnfix.forge.protocol import Pull, State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, document

OTHER = b"import torch\n\nprint(torch.zeros(2))\nloss = torch.nn.MSELoss(size_average=True)\n"
OTHER_REPAIRED = OTHER.replace(b"size_average=True", b'reduction="mean"')


def head(repository: Repository) -> str:
    return repository.bare.run("rev-parse", "main").strip()


def pulls(repository: Repository) -> tuple[Pull, ...]:
    return repository.forge.pulls(SLUG)


def publish_one(repository: Repository) -> tuple[str, ...]:
    found = publish(
        repository.forge, SLUG, analysis(head(repository), ("train.py", TRAIN, REPAIRED)), clock=lambda: repository.now
    )
    return (*found.done, *found.left)


def test_a_patch_becomes_a_pull_request_of_one_commit_on_the_default_branch(repository: Repository) -> None:
    (said,) = publish_one(repository)
    (pull,) = pulls(repository)
    assert said == f"opened 1: {pull.title}" and pull.title == "fix: write reduction for size_average"
    assert pull.branch.startswith("dnnfix/deprecated-api-")
    assert repository.text("train.py", pull.branch) == REPAIRED and repository.text("train.py") == TRAIN
    assert repository.bare.run("rev-parse", f"{pull.branch}^").strip() == head(repository)
    assert "still runs" in pull.body and "# noqa: DNF502" in pull.body and len(members_of(pull.body)) == 1
    assert json.loads((repository.root / f"{SLUG}.pulls" / "1.json").read_text())["draft"] is True


def test_publishing_twice_is_publishing_once(repository: Repository) -> None:
    publish_one(repository)
    before = repository.bare.run("for-each-ref")
    repository.now += 10_000
    assert publish_one(repository) == () and len(pulls(repository)) == 1
    assert repository.bare.run("for-each-ref") == before


def test_a_branch_that_was_pushed_before_the_publishing_was_ended_is_taken_up(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*given: object, **named: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(repository.forge, "open_pull", ended)
        with pytest.raises(KeyboardInterrupt):
            publish_one(repository)
    assert pulls(repository) == () and "dnnfix/" in repository.bare.run("for-each-ref")
    publish_one(repository)
    assert len(pulls(repository)) == 1


def test_what_was_closed_never_comes_again_even_in_a_group(repository: Repository) -> None:
    publish_one(repository)
    repository.set_state(1, "closed")
    repository.now += 10_000
    assert publish_one(repository) == () and len(pulls(repository)) == 1
    commit = repository.commit({"other.py": OTHER})
    both = analysis(commit, ("train.py", TRAIN, REPAIRED), ("other.py", OTHER, OTHER_REPAIRED))
    publish(repository.forge, SLUG, both, clock=lambda: repository.now)
    assert repository.text("other.py", pulls(repository)[1].branch) == OTHER_REPAIRED
    assert repository.text("train.py", pulls(repository)[1].branch) == TRAIN


def test_what_was_merged_may_come_again_at_another_place(repository: Repository) -> None:
    publish_one(repository)
    repository.set_state(1, "merged")
    commit = repository.commit({"train.py": REPAIRED, "other.py": OTHER})
    publish(repository.forge, SLUG, analysis(commit, ("other.py", OTHER, OTHER_REPAIRED)), clock=lambda: repository.now)
    assert [pull.state for pull in pulls(repository)] == [State.MERGED, State.OPEN]


def test_the_same_fault_at_several_places_is_one_pull_request(repository: Repository) -> None:
    commit = repository.commit({"other.py": OTHER})
    both = analysis(commit, ("train.py", TRAIN, REPAIRED), ("other.py", OTHER, OTHER_REPAIRED))
    publish(repository.forge, SLUG, both, clock=lambda: repository.now)
    (pull,) = pulls(repository)
    assert pull.title.endswith("(2 places)") and len(members_of(pull.body)) == 2
    assert repository.text("other.py", pull.branch) == OTHER_REPAIRED
    assert repository.text("train.py", pull.branch) == REPAIRED


def test_when_the_base_moves_the_branch_is_made_anew_on_it(repository: Repository) -> None:
    publish_one(repository)
    repository.commit({"train.py": b"# a line\n" + TRAIN})
    moved = analysis(head(repository), ("train.py", b"# a line\n" + TRAIN, b"# a line\n" + REPAIRED))
    publish(repository.forge, SLUG, moved, clock=lambda: repository.now)
    (pull,) = pulls(repository)
    assert repository.text("train.py", pull.branch) == b"# a line\n" + REPAIRED
    assert repository.bare.run("rev-parse", f"{pull.branch}^").strip() == head(repository)


@pytest.mark.parametrize("amend", [False, True])
def test_a_branch_that_a_person_pushed_to_is_left_alone(repository: Repository, amend: bool) -> None:
    publish_one(repository)
    (pull,) = pulls(repository)
    theirs = repository.commit({"train.py": REPAIRED + b"# better\n"}, pull.branch, amend=amend)
    repository.commit({"README.md": b"read me\n"})
    assert "somebody pushed" in publish_one(repository)[0]
    assert repository.bare.run("rev-parse", pull.branch).strip() == theirs


def test_a_pull_request_whose_fault_is_gone_is_closed_with_a_sentence_and_may_come_again(
    repository: Repository,
) -> None:
    publish_one(repository)
    commit = repository.commit({"train.py": b"import torch\n"})
    publish(repository.forge, SLUG, analysis(commit), clock=lambda: repository.now)
    assert pulls(repository)[0].state is State.CLOSED
    said = json.loads((repository.root / f"{SLUG}.pulls" / "1.json").read_text())["comments"]
    assert "not found any more" in said[0]
    repository.now += 10_000
    repository.commit({"train.py": TRAIN})
    publish_one(repository)
    assert [pull.state for pull in pulls(repository)] == [State.CLOSED, State.OPEN]


def test_nothing_is_closed_where_something_was_left_out(repository: Repository) -> None:
    publish_one(repository)
    commit = repository.commit({"README.md": b"read me\n"})
    publish(repository.forge, SLUG, analysis(commit, left_out=("train.py",)), clock=lambda: repository.now)
    assert pulls(repository)[0].state is State.OPEN


def test_a_description_that_a_person_wrote_anew_stays_and_closing_it_still_counts(repository: Repository) -> None:
    publish_one(repository)
    repository.forge.update_pull(SLUG, 1, "Mine", "My words")
    repository.now += 10_000
    assert publish_one(repository) == () and len(pulls(repository)) == 1
    repository.set_state(1, "closed")
    assert publish_one(repository) == () and pulls(repository)[0].body == "My words"


def test_rivals_for_one_fault_are_never_both_proposed_nor_one_after_the_other(repository: Repository) -> None:
    said = document(
        head(repository),
        ("train.py", TRAIN, REPAIRED),
        ("train.py", TRAIN, TRAIN.replace(b"Linear(4, 2)", b"Linear(4, 3)")),
    )
    said["report"]["patches"][1]["findings"] = ["f0"]
    both = read(json.dumps(said).encode(), "report.json")
    publish(repository.forge, SLUG, both, clock=lambda: repository.now)
    assert repository.text("train.py", pulls(repository)[0].branch) == REPAIRED
    repository.set_state(1, "closed")
    publish(repository.forge, SLUG, both, clock=lambda: repository.now)
    assert len(pulls(repository)) == 1


def test_one_that_is_left_alone_takes_no_place_of_another(repository: Repository) -> None:
    commit = repository.commit({"dnnfix.toml": b"[bot]\n", "link.py": b"train.py"}, modes={"link.py": "120000"})
    said = document(commit, ("link.py", TRAIN, REPAIRED), ("train.py", TRAIN, REPAIRED))
    said["report"]["findings"][0].update(code="DNF501", rule="moved-module")
    found = publish(
        repository.forge, SLUG, read(json.dumps(said).encode(), "report.json"), clock=lambda: repository.now
    )
    assert len(found.done) == 1 and "link.py: is no regular file" in found.left[0]


def test_a_report_of_another_repository_is_refused(repository: Repository) -> None:
    with pytest.raises(BotReportError, match="the report is of people/digits, and is to be published in people/other"):
        publish(repository.forge, "people/other", analysis(head(repository)))


def test_a_publishing_that_was_ended_leaves_a_forge_that_can_be_read(repository: Repository, tmp_path: Path) -> None:
    publish_one(repository)
    (tmp_path / f"{SLUG}.pulls" / ".1.json.draft").write_text("{")
    assert len(pulls(repository)) == 1


def test_an_old_analysis_closes_nothing_and_proposes_nothing_that_has_changed(repository: Repository) -> None:
    publish_one(repository)
    old = head(repository)
    repository.commit({"train.py": TRAIN.replace(b"torch.nn.CrossEntropyLoss", b"nn.CrossEntropyLoss")})
    assert publish(repository.forge, SLUG, analysis(old), clock=lambda: repository.now).done == []
    found = publish(repository.forge, SLUG, analysis(old, ("train.py", TRAIN, REPAIRED)), clock=lambda: repository.now)
    assert "has changed since it was analysed" in found.left[0]


def test_few_are_open_at_a_time_and_fewer_come_in_an_hour(repository: Repository) -> None:
    commit = repository.commit({"dnnfix.toml": b"[bot]\n"})
    three = analysis(commit, ("train.py", TRAIN, REPAIRED))
    publish(repository.forge, SLUG, three, clock=lambda: repository.now)
    commit = repository.commit({"other.py": OTHER})
    other = ("other.py", OTHER, OTHER_REPAIRED)
    repository.set_state(1, "merged")
    assert (
        "in the last hour"
        in publish(repository.forge, SLUG, analysis(commit, other), clock=lambda: repository.now).left[0]
    )
    repository.now += 4000
    assert publish(repository.forge, SLUG, analysis(commit, other), clock=lambda: repository.now).done


@pytest.mark.parametrize("settings", [b"", b"[bot]\nenabled = false\n", b'select = ["DNF"]\n'])
def test_a_repository_that_has_not_asked_is_left_alone_unless_a_person_asks(
    repository: Repository, settings: bytes
) -> None:
    commit = repository.commit({"dnnfix.toml": settings})
    found = analysis(commit, ("train.py", TRAIN, REPAIRED))
    assert publish(repository.forge, SLUG, found).done == [] and pulls(repository) == ()
    assert publish(repository.forge, SLUG, found, by_person=True).done


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (b"[bot]\nmost-opne = 2\n", "unknown setting `most-opne`"),
        (b"[bot]\nmost-open = 1000\n", "`most-open` of [bot] has another form"),
        (b"[bot\n", "is not TOML"),
        (b"bot = 3\n", "[bot] has to be a table"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(repository: Repository, settings: bytes, said: str) -> None:
    commit = repository.commit({"dnnfix.toml": settings})
    with pytest.raises(ConfigError, match=rf"people/digits: dnnfix.toml: .*{said[:12].replace('[', '.')}"):
        publish(repository.forge, SLUG, analysis(commit, ("train.py", TRAIN, REPAIRED)))


def test_links_are_no_files_to_change(repository: Repository) -> None:
    commit = repository.commit({"link.py": b"train.py"}, modes={"link.py": "120000"})
    found = publish(repository.forge, SLUG, analysis(commit, ("link.py", TRAIN, REPAIRED)))
    assert found.done == [] and "is no regular file" in found.left[0]


def test_a_dry_run_says_everything_and_changes_nothing(repository: Repository) -> None:
    before, said = repository.bare.run("for-each-ref"), list[str]()
    found = analysis(head(repository), ("train.py", TRAIN, REPAIRED))
    publish(DryRun(repository.forge, said.append), SLUG, found, push=False)
    assert "would open a draft" in said[0] and "size_average" in said[0]
    assert repository.bare.run("for-each-ref") == before and pulls(repository) == ()


def test_what_programs_say_is_no_mention_and_no_markup(repository: Repository) -> None:
    hostile = "```\n@everyone <!-- dnnfix:000000000000 --> [x](http://example.org)"
    found = analysis(head(repository), ("train.py", TRAIN, REPAIRED), verdicts=[{"status": "pass", "reason": hostile}])
    publish(repository.forge, SLUG, found)
    (pull,) = pulls(repository)
    assert "````text\n```\n@everyone" in pull.body
    assert "000000000000" not in members_of(pull.body)


def test_a_forge_or_a_repository_that_is_not_there_is_named(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(ForgeError, match="people/nothing: no such repository"):
        repository.forge.repository("people/nothing")
    with pytest.raises(ForgeError, match="no such repository"):
        repository.forge.repository("../digits")
    (tmp_path / f"{SLUG}.pulls").mkdir()
    (tmp_path / f"{SLUG}.pulls" / "1.json").write_text("{")
    with pytest.raises(ForgeError, match=r"1\.json: cannot be read as JSON"):
        repository.forge.pulls(SLUG)
