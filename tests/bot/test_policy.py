"""Repositories that want no changes by machines are left alone, in whatever words they say so."""

from __future__ import annotations

import pytest

from dnnfix.bot.policy import refusal
from dnnfix.bot.publish import publish
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis


@pytest.mark.parametrize(
    "text",
    [
        "We do not accept AI-generated pull requests.",
        "# Contributing\n\nThanks!\n\nPull requests opened by bots will be closed without review.",
        "- No automated pull requests, please.",
        "Contributions written with the help of an LLM are not allowed\nin this project.",
        "Machine-generated patches are prohibited.",
        "Agents must not open pull requests here.",
        "AI contributions are currently banned!",
        "Please don't submit code from ChatGPT: it isn't welcome, and such changes will be rejected.",
    ],
)
def test_what_forbids(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "Pull requests are welcome. Please do not open issues for questions.",
        "Our bot labels pull requests automatically. Changes without tests are not merged.",
        "AI models in this repository must not be redistributed.",
        "Automated pull requests by Renovate are merged after review.",
        "AI-assisted contributions are welcome when you say so.",
        "We do not accept pull requests without a signed agreement.",
        "",
    ],
)
def test_what_does_not(text: str) -> None:
    assert refusal(text) == ""


def test_such_a_repository_is_left_alone_unless_its_table_says_otherwise(repository: Repository) -> None:
    commit = repository.commit({"CONTRIBUTING.md": b"Hello.\n\nWe do not accept pull requests by bots.\n"})
    found = publish(repository.forge, SLUG, analysis(commit, ("train.py", TRAIN, REPAIRED)))
    assert found.done == [] and found.left == ["CONTRIBUTING.md forbids it: “We do not accept pull requests by bots.”"]
    asking = publish(repository.forge, SLUG, analysis(commit, ("train.py", TRAIN, REPAIRED)), by_person=True)
    assert asking.done == [], "a person who asks for it is no maintainer"
    commit = repository.commit({"dnnfix.toml": b"[bot]\ndespite-policy = true\n"})
    assert len(publish(repository.forge, SLUG, analysis(commit, ("train.py", TRAIN, REPAIRED))).done) == 1
