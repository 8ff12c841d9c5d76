"""The question whether the bot is wanted: asked once, answered by merging or closing, and nothing is done until then."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from dnnfix.bot.onboarding import onboard
from dnnfix.bot.plan import CONFIGURE
from dnnfix.bot.publish import publish
from dnnfix.bot.settings import asked
from dnnfix.cli.main import run
from dnnfix.errors import BotReportError
from dnnfix.forge.dry_run import DryRun
from tests.bot.people import ASKED, REPAIRED, SLUG, TRAIN, Repository, analysis, document


@pytest.fixture
def silent(repository: Repository) -> Repository:
    """One that says nothing to the bot."""
    repository.commit({"dnnfix.toml": b'select = ["DNF5"]\r\n'})
    return repository


def question(repository: Repository) -> tuple[str, ...]:
    found = onboard(repository.forge, SLUG)
    return (*found.done, *found.left)


def test_the_question_adds_the_table_that_asks_for_the_bot(silent: Repository) -> None:
    (said,) = question(silent)
    (pull,) = silent.forge.pulls(SLUG)
    assert said.startswith("opened 1") and pull.branch == CONFIGURE
    text = silent.text("dnnfix.toml", CONFIGURE)
    assert text.startswith(b'select = ["DNF5"]\n') and tomllib.loads(text.decode())["bot"] == {}
    assert asked(silent.bare, CONFIGURE, SLUG).bot.enabled and not asked(silent.bare, "main", SLUG).bot.enabled


def test_a_repository_without_settings_gets_a_file(silent: Repository) -> None:
    silent.bare.run(
        "update-ref",
        "refs/heads/main",
        silent.bare.run("commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", given=b"x").strip(),
    )
    question(silent)
    assert silent.bare.run("diff", "--name-status", "main", CONFIGURE).split() == ["A", "dnnfix.toml"]


def test_it_is_asked_once_and_made_anew_when_the_base_moves(silent: Repository) -> None:
    question(silent)
    assert "nothing is opened until" in question(silent)[0] and len(silent.forge.pulls(SLUG)) == 1
    commit = silent.commit({"other.py": b"x = 1\n"})
    assert (
        "nothing is opened until" in question(silent)[0]
        and silent.bare.run("rev-parse", f"{CONFIGURE}^").strip() == commit
    )


def test_nothing_is_proposed_until_it_is_merged(silent: Repository) -> None:
    question(silent)
    head = silent.bare.run("rev-parse", "main").strip()
    found = publish(silent.forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))
    assert found.done == [] and len(silent.forge.pulls(SLUG)) == 1
    silent.bare.run("update-ref", "refs/heads/main", CONFIGURE)
    silent.set_state(1, "merged")
    assert question(silent) == ()
    head = silent.bare.run("rev-parse", "main").strip()
    publish(silent.forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))
    assert len(silent.forge.pulls(SLUG)) == 2


def test_who_closed_it_is_not_asked_again(silent: Repository) -> None:
    question(silent)
    silent.set_state(1, "closed")
    (said,) = question(silent)
    assert "closed" in said and len(silent.forge.pulls(SLUG)) == 1


@pytest.mark.parametrize(
    "files",
    [
        {"dnnfix.toml": ASKED},
        {"dnnfix.toml": b"[bot]\nenabled = false\n"},
        {"AI_POLICY.md": b"# AI\n\nPull requests made by bots are not accepted.\n"},
    ],
)
def test_who_has_answered_already_is_not_asked(silent: Repository, files: dict[str, bytes]) -> None:
    silent.commit(files)
    question(silent)
    assert silent.forge.pulls(SLUG) == ()


def test_a_branch_of_a_person_is_left_alone(silent: Repository) -> None:
    silent.commit({"dnnfix.toml": b"[bot]\nmost-open = 9\n"}, CONFIGURE)
    (said,) = question(silent)
    assert "somebody pushed" in said and silent.forge.pulls(SLUG) == ()


def test_a_dry_run_only_says_it(silent: Repository) -> None:
    said: list[str] = []
    onboard(DryRun(silent.forge, said.append), SLUG, push=False)
    assert len(said) == 1 and CONFIGURE in said[0] and silent.forge.pulls(SLUG) == ()
    assert not silent.bare.succeeds("rev-parse", "--verify", "--quiet", f"refs/heads/{CONFIGURE}")


def test_the_command_asks_and_runs_nothing(silent: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bot", "run", "--forge", f"local:{silent.root}", "--onboard", "--quiet"]) == 0
    assert "opened 1: chore: configure dnnfix" in capsys.readouterr().out


def test_a_question_with_an_analysis_says_what_would_be_proposed(silent: Repository) -> None:
    head = silent.bare.run("rev-parse", "main").strip()
    onboard(silent.forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)))
    (pull,) = silent.forge.pulls(SLUG)
    assert f"At commit {head[:12]} it would propose:\n\n- `fix: write reduction for size_average`" in pull.body
    assert "Nothing was run" not in pull.body


def test_an_analysis_of_another_repository_is_refused(silent: Repository) -> None:
    with pytest.raises(BotReportError, match="the report is of people/digits, and is to be published in people/other"):
        onboard(silent.forge, "people/other", analysis("0" * 40))


def test_the_command_that_publishes_asks_first(
    silent: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    command = ["bot", "publish", str(report), "--repo", SLUG, "--forge", f"local:{silent.root}", "--onboard", "--asked"]
    for expected in ("opened 1: chore: configure dnnfix", "nothing is opened until"):
        report.write_text(
            json.dumps(document(silent.bare.run("rev-parse", "main").strip(), ("train.py", TRAIN, REPAIRED)))
        )
        assert run(command) == 0 and expected in capsys.readouterr().out
        assert len(silent.forge.pulls(SLUG)) == 1
    silent.bare.run("update-ref", "refs/heads/main", CONFIGURE)
    silent.set_state(1, "merged")
    report.write_text(json.dumps(document(silent.bare.run("rev-parse", "main").strip(), ("train.py", TRAIN, REPAIRED))))
    assert run(command) == 0 and "deprecated-api: 1 in the last hour" in capsys.readouterr().out
