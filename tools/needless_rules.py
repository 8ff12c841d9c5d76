"""Which rules the search for small edits makes needless: it repairs all crashing examples of theirs with every rule off.

    python tools/needless_rules.py [CODE …] [--shard 0/2]

Asked about by default are the rules that have earned nothing (`dnnfix/emit/earned.json`). An example counts as repaired where the accepted patch reads
like the example's own repair, or does the same on two seeds. Where examples do not crash, the rule is needed: the search is for crashes.
One line is printed for each rule: its code and name, how many of how many examples were repaired, and how many got another patch.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from dnnfix import config, registry
from dnnfix.bench.oracle import whole_run
from dnnfix.bench.scoring import same_tree
from dnnfix.config import Settings
from dnnfix.emit.diff import taken
from dnnfix.emit.earned import earned
from dnnfix.examples import Example
from dnnfix.pipeline import suggest_file
from dnnfix.records import UNEXPLAINED_CODE, PatchVerdict
from dnnfix.run.runner import Runner
from dnnfix.template import FixTemplate
from dnnfix.validate.behaviour import same_behaviour

SEEDS = (11, 12)
BUDGET = 60.0
"""Seconds for an example; most need a few."""


def repaired(example: Example, settings: Settings, runner: Runner, folder: Path) -> bool | None:
    """Whether the search alone repairs an example; `None` where it has another patch for it, or where the example does not crash."""
    program, wanted = example.before.encode(), example.after.encode()
    path = folder / "program.py"
    path.write_bytes(program)
    report = suggest_file(program, str(path), settings, lambda words: None, runner)
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    if not accepted:
        return False
    after = taken(program, str(path), [min(accepted, key=lambda patch: patch.rank)])
    if same_tree(after, wanted):
        return True
    ours, theirs = ([runner.run(whole_run(text, seed)) for seed in SEEDS] for text in (after, wanted))
    return same_behaviour(ours, theirs) or None


def asked(template: type[FixTemplate], settings: Settings, runner: Runner, folder: Path) -> str:
    """The line for a rule."""
    crashing = [one for one in template.examples if runner.run(whole_run(one.before.encode(), SEEDS[0])).crash]
    found = [repaired(one, settings, runner, folder) for one in crashing]
    kept = len(template.examples) - len(crashing)
    beside = f", {kept} do not crash" if kept else ""
    mark = "needless" if found and all(found) and not kept else "needed"
    return f"{template.code} {template.name}: {mark}, {found.count(True)} of {len(crashing)} repaired, {found.count(None)} otherwise{beside}"


def main() -> None:
    """Ask about every rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*")
    parser.add_argument("--shard", default="0/1", help="the K-th of N parts, from 0")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    templates = [
        one
        for one in registry.templates()
        if one.code in options.codes or not options.codes and not earned(one.code).faulty
    ]
    with tempfile.TemporaryDirectory(prefix="dnnfix-needless-") as name:
        folder = Path(name)
        given = {"select": [UNEXPLAINED_CODE], "budget": BUDGET, "cache-dir": str(folder / "cache"), "jobs": 1}
        settings = config.load(folder, given, isolated=True)
        for framework in ("torch", "keras"):
            with Runner(interpreter=Path(sys.executable), tier=None, framework=framework) as runner:
                for template in templates[part::parts]:
                    of_keras = any("keras" in one.before for one in template.examples)
                    if of_keras == (framework == "keras"):
                        print(asked(template, settings, runner, folder), flush=True)


if __name__ == "__main__":
    main()
