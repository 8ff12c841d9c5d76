"""Checks that every rule selector (`--select`, `ignore`) means at least one rule, and suggests the nearest if not."""

from __future__ import annotations

import re
from functools import lru_cache

from dnnfix import registry
from dnnfix.config import PRESETS, Settings, matches
from dnnfix.errors import ConfigError
from dnnfix.records import OF_SYMPTOMS, RETIRED
from dnnfix.suppress import UNUSED_CODE, UNUSED_RULE

_WHOLE = re.compile(r"DNF\d{3}")


@lru_cache(maxsize=64)
def verify(settings: Settings) -> None:
    """Raise `ConfigError` where a selector of the settings means none of the rules."""
    known = [(template.code, template.name) for template in registry.listed(settings.own_rules)]
    known += [(UNUSED_CODE, UNUSED_RULE), *OF_SYMPTOMS]
    accepted = [*known, *RETIRED]
    chosen = {*settings.select, *settings.extend_select, *settings.ignore}
    by_path = tuple(codes for _, codes in settings.per_file_ignores)
    others = (settings.fixable, settings.unfixable, *by_path)
    for selector in (*(chosen - {*PRESETS}), *(selector for selectors in others for selector in selectors)):
        if (
            selector not in ("ALL", "DNF")
            and not _family(selector)
            and not any(matches(selector, *one) for one in accepted)
        ):
            raise ConfigError(f"no rule is meant by `{selector}`.{near(selector, known)} See: dnnfix templates")


def near(word: str, known: list[tuple[str, str]]) -> str:
    """A sentence that suggests the code or name most like the word, or says where it is; else an empty string."""
    import difflib

    from dnnfix.pipeline.old_world import of_package

    if elsewhere := of_package(word):
        return elsewhere

    if _WHOLE.fullmatch(word.upper()):
        return ""  # one number is no more like another because they share digits
    words = [text for pair in known for text in pair]
    found = difflib.get_close_matches(word.upper(), words, n=1, cutoff=0.8) or difflib.get_close_matches(
        word, words, n=1
    )
    return f" Did you mean `{found[0]}`?" if found else ""


def _family(selector: str) -> bool:
    """`DNF1` to `DNF9` name the families, also one that has no rule yet."""
    return len(selector) == 4 and selector.startswith("DNF") and selector[3] in "123456789"
