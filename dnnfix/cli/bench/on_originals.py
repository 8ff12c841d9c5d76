"""`dnnfix bench replay --on originals`: scores the static part on the downloaded originals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dnnfix.bench.instances import Instance
from dnnfix.bench.originals.cache import Cellar
from dnnfix.bench.originals.scoring import Scored, score
from dnnfix.bench.totals import Share
from dnnfix.cli.bench.materialize import FOLDER
from dnnfix.cli.console import CLEAN, Console
from dnnfix.config import Settings
from dnnfix.errors import InputError


def replay_originals(instances: Sequence[Instance], settings: Settings, output: Path, console: Console) -> int:
    """Score each original that is there, and write originals.json. Raises `InputError` where none is."""
    cellar = Cellar(settings.cache / FOLDER)
    scores: list[Scored] = []
    for number, instance in enumerate(instances, 1):
        console.progress(f"{number} of {len(instances)}: {instance.id}")
        original = cellar.has(instance.id)
        if original is not None:
            scores.append(score(original, settings))
    if not scores:
        raise InputError("no original is in the cache yet. `dnnfix bench materialize` brings them.")
    output.mkdir(parents=True, exist_ok=True)
    (output / "originals.json").write_text(
        json.dumps([asdict(one) for one in scores], indent=1) + "\n", encoding="utf-8"
    )
    read = [one for one in scores if not one.skipped]
    commits = [one for one in read if one.id.startswith("gh-")]
    console.write(
        f"read {Share(len(read), len(scores))}\n"
        f"with a finding {Share(sum(bool(one.findings) for one in read), len(read))}\n"
        f"with a finding at a changed line {Share(sum(one.at_change > 0 for one in commits), len(commits))}\n"
        f"with a patch equal to the human change {Share(sum(one.equal > 0 for one in read), len(read))}\n"
        f"{output / 'originals.json'}\n"
    )
    return CLEAN
