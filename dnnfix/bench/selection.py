"""Which instances a command of the benchmark is about: parses ids and words of the index into a selection."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dnnfix.bench.cases import Case, Fidelity
from dnnfix.bench.instances import Half, Instance, Library, Origin
from dnnfix.bench.symptoms import KINDS
from dnnfix.errors import InputError
from dnnfix.records import FixPattern


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for, by kind: words of one kind are alternatives, and every kind that is named has to fit."""

    words: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def takes(self, instance: Instance, case: Case | None) -> bool:
        """Whether the instance is among them; `case` is `None` where it has none."""
        facts = {
            "fidelity": case.fidelity if case is not None else None,
            "symptom": case.symptom.kind if case is not None else None,
        }
        return self.may_take(instance) and all(fact in self.words.get(kind, (fact,)) for kind, fact in facts.items())

    def may_take(self, instance: Instance) -> bool:
        """Whether the instance may be among them, by the index alone."""
        facts = {
            "id": instance.id,
            "library": instance.library,
            "source": instance.source,
            "fix pattern": instance.fix_pattern,
            "bug type": instance.bug_type,
            "half": instance.half,
        }
        return all(fact in self.words.get(kind, (fact,)) for kind, fact in facts.items())


def read_selection(words: Iterable[str], index: Mapping[str, Instance]) -> Selection:
    """The selection that these words ask for; none asks for everything.

    Raises:
        InputError: a word is not an id, library, source, fix pattern, bug type, half, fidelity or symptom.
    """
    kinds: dict[str, frozenset[str]] = {
        "id": frozenset(index),
        "library": frozenset(Library),
        "source": frozenset(Origin),
        "fix pattern": frozenset(FixPattern),
        "bug type": frozenset(instance.bug_type for instance in index.values()),
        "half": frozenset(Half),
        "fidelity": frozenset(Fidelity),
        "symptom": KINDS,
    }
    found: dict[str, set[str]] = {}
    for word in words:
        kind = next((kind for kind, known in kinds.items() if word in known), None)
        if kind is None:
            near = difflib.get_close_matches(word, [known for all_ in kinds.values() for known in all_], n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Words are: {', '.join(_short(kinds))}, or ids."
            raise InputError(f"nothing in the benchmark is called {word!r}. {hint}")
        found.setdefault(kind, set()).add(word)
    return Selection({kind: frozenset(wanted) for kind, wanted in found.items()})


def _short(kinds: Mapping[str, frozenset[str]]) -> list[str]:
    return [word for kind, words in kinds.items() if kind != "id" for word in sorted(words)]
