"""The last attempt at a program: where nothing was proven, and the caller asked for it, a language model proposes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.errors import ConfigError
from dnnfix.pipeline.shown import slice_of
from dnnfix.records import ModelUse
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnnfix.pipeline.attempt import Attempt
    from dnnfix.validate.laboratory import TrialLaboratory

CONFINED = "what a model writes is code that nobody has read: it is run in the bubblewrap sandbox only, or with --trust"


def verify_proposer(settings: Settings, ask: Callable[[str], bool] | None = None) -> None:
    """Return where a model may be asked with these settings, or none is to be. `ask` puts a question to a person.

    Raises `ConfigError` where something is missing, or the host was not allowed.
    """
    if settings.proposer != "model":
        return
    from dnnfix.proposer.chat import require
    from dnnfix.proposer.consent import allow

    if settings.sandbox in ("limits", "none") and not settings.trust:
        raise ConfigError(f"--proposer model: {CONFINED}. Received: --sandbox {settings.sandbox}")
    if settings.model.lacks and not settings.dry_run:
        raise ConfigError(f"[tool.dnnfix.model]: {settings.model.lacks}.")
    if not settings.dry_run and not settings.offline:
        require()
        allow(settings.model, Settings().exchanges, settings.allow_host, ask)


def with_model(attempt: Attempt, source: Source, laboratory: TrialLaboratory) -> tuple[Attempt, ModelUse | None]:
    """The attempt with what came of a model's proposals, and what it was asked; as it was where none is to be asked."""
    settings, search = attempt.settings, attempt.repair.search
    if settings.proposer != "model" or attempt.accepted or search is None:
        return attempt, None
    from dnnfix.proposer.chat import Chat
    from dnnfix.proposer.exchanges import Exchanges
    from dnnfix.proposer.ledger import Ledger
    from dnnfix.proposer.propose import Context, ask_model, question
    from dnnfix.run.job import Tier
    from dnnfix.synthesize.repairs import drawn_up

    endpoint, folder = settings.model, settings.exchanges
    if laboratory.runner.tier is not Tier.BUBBLEWRAP and not settings.trust and not settings.dry_run:
        return attempt, ModelUse(endpoint.model, endpoint.host, remarks=(CONFINED,))
    made = tuple(str(step) for step in attempt.reproduction.steps)
    looked = laboratory.looked.get(source.contents)
    context = Context(slice_of(source, attempt.trace), attempt.repair.patches, made, looked)

    def renew() -> None:
        laboratory.go_on(settings.budget)

    if settings.dry_run:
        renew()
        asked = question(search, context, endpoint.mask)
        if isinstance(asked, str):
            return attempt, ModelUse(endpoint.model, endpoint.host, remarks=(asked,))
        size = asked.prompt.tokens
        return attempt, ModelUse(
            endpoint.model, endpoint.host, size, cost=asked.cost(endpoint), prompt=asked.prompt.whole
        )
    chat = Chat(endpoint, Exchanges(folder / "exchanges"), Ledger(folder / "calls.sqlite"), settings.offline)
    use = ask_model(search, chat, context, renew)
    return replace(attempt, repair=drawn_up(search)), use
