"""What was asked and answered is kept by all that an answer depends on, for this user alone."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.proposer.chat import Chat, Silent
from dnnfix.proposer.exchanges import Asked, Exchanged, Exchanges
from dnnfix.proposer.ledger import Ledger
from tests.proposer.asking import endpoint

ASKED = Asked("task", "text", "model", 0.7, 0)
ANSWERED = Exchanged("größe\n\ud800 \u202e", 10, 3, 0.25, remark="odd")
QUIET = settings(deadline=None, derandomize=True)


def test_what_was_answered_is_known_again(tmp_path: Path) -> None:
    exchanges = Exchanges(tmp_path / "model" / "exchanges")
    assert exchanges.known(ASKED) is None
    exchanges.keep(ASKED, ANSWERED)
    assert Exchanges(tmp_path / "model" / "exchanges").known(ASKED) == replace(ANSWERED, cached=True)


OTHERS = [
    replace(ASKED, task="task "),
    replace(ASKED, text="text."),
    replace(ASKED, model="model2"),
    replace(ASKED, temperature=0.70001),
    replace(ASKED, max_tokens=8_000),
    replace(ASKED, number=1),
    replace(ASKED, task="taskt", text="ext"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_another_question_has_another_answer(tmp_path: Path, other: Asked) -> None:
    exchanges = Exchanges(tmp_path)
    exchanges.keep(ASKED, ANSWERED)
    assert exchanges.known(other) is None
    assert len({each.key for each in (ASKED, *OTHERS)}) == 1 + len(OTHERS)


def test_only_this_user_can_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        Exchanges(tmp_path / "model" / "exchanges").keep(ASKED, ANSWERED)
    finally:
        os.umask(old)
    (file,) = (tmp_path / "model" / "exchanges").iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_people_can_read_it_and_it_has_nothing_else(tmp_path: Path) -> None:
    Exchanges(tmp_path).keep(ASKED, ANSWERED)
    document = json.loads(next(tmp_path.iterdir()).read_text())
    assert set(document) == {"format", "asked", "answer"}
    assert set(document["asked"]) == {"task", "text", "model", "temperature", "number", "max_tokens"}
    assert set(document["answer"]) == {"answer", "asked_tokens", "answered_tokens", "cost", "cached", "remark"}


def changed(**values: object) -> str:
    document = {
        "format": 1,
        "asked": {
            "task": "task",
            "text": "text",
            "model": "model",
            "temperature": 0.7,
            "number": 0,
            "max_tokens": 1500,
        },
        "answer": {"answer": "x", "asked_tokens": 1, "answered_tokens": 1, "cost": 0.0, "cached": False, "remark": ""},
    }
    for name, value in values.items():
        document["answer"][name] = value  # type: ignore[index]
    return json.dumps(document)


def test_the_file_that_the_next_test_breaks_is_sound(tmp_path: Path) -> None:
    (tmp_path / f"{ASKED.key}.json").write_text(changed())
    assert Exchanges(tmp_path).known(ASKED) == Exchanged("x", 1, 1, cached=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"answer": {}}',
        "[" * 100_000,
        changed()[: len(changed()) // 2],
        changed(answer=5),
        changed(answer=None),
        changed(asked_tokens="5"),
        changed(answered_tokens=-1),
        changed(cost=-1.0),
        changed(cost=float("nan")),
        changed(cost=float("inf")),
        changed(remark=["x"]),
        changed(more=1),
        changed().replace('"text": "text"', '"text": "another prompt"'),
        changed().replace('"model": "model"', '"model": "another"'),
    ],
)
def test_a_broken_file_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / f"{ASKED.key}.json").write_text(text)
    assert Exchanges(tmp_path).known(ASKED) is None
    Exchanges(tmp_path).keep(ASKED, ANSWERED)
    assert Exchanges(tmp_path).known(ASKED) == replace(ANSWERED, cached=True)


@pytest.mark.parametrize("place", ["file", "folder in its place"])
def test_what_cannot_be_kept_is_lost_and_nothing_else(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "exchanges"
    if place == "file":
        folder.write_text("a file")
    else:
        (folder / f"{ASKED.key}.json").mkdir(parents=True)
    Exchanges(folder).keep(ASKED, ANSWERED)
    assert Exchanges(folder).known(ASKED) is None
    assert not [*tmp_path.rglob("*.tmp")]


@given(st.text(), st.text(), st.text(min_size=1), st.floats(0, 2), st.integers(0, 20), st.text())
@QUIET
def test_any_exchange_is_read_as_it_was_kept(
    tmp_path_factory: pytest.TempPathFactory,
    task: str,
    text: str,
    model: str,
    temperature: float,
    number: int,
    answer: str,
) -> None:
    exchanges = Exchanges(tmp_path_factory.getbasetemp() / "any")
    asked = Asked(task, text, model, temperature, number)
    exchanges.keep(asked, Exchanged(answer, 1, 2))
    assert exchanges.known(asked) == Exchanged(answer, 1, 2, cached=True)


def test_offline_says_what_is_not_kept_and_asks_no_one(tmp_path: Path) -> None:
    exchanges = Exchanges(tmp_path / "exchanges")
    model = endpoint("http://127.0.0.1:1/v1", model="model", key_env="NO_SUCH_VARIABLE")
    chat = Chat(model, exchanges, Ledger(tmp_path / "calls"), offline=True)
    with pytest.raises(Silent, match="--offline, and no answer to this prompt is kept"):
        chat.ask("task", "text")
    exchanges.keep(replace(ASKED, temperature=model.temperature), ANSWERED)
    assert chat.ask("task", "text").answer == ANSWERED.answer
    assert not (tmp_path / "calls").exists()
