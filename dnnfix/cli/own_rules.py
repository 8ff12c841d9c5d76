"""`dnnfix templates --new` and `--test`: a rule of one's own is begun and tried."""

from __future__ import annotations

import re
from pathlib import Path

from dnnfix.cli.console import CLEAN, FOUND, Console
from dnnfix.errors import InputError

START = """\
# A rule of your own. Try it with:   dnnfix templates --test {path}
# Use it with:                       [tool.dnnfix]  rules = ["{path}"]      in pyproject.toml
# All keys are in docs/rules.md.

[rule]
code = "{code}"          # two or more capitals and three or more digits
name = "{name}"
nature = "advice"         # fault, risk (a fault under conditions that the code does not show) or advice
message = "`print($$$ARGS)` in a training loop waits for the device in every step"
why = '''
What the code does, and why that is bad: the first paragraph is what `dnnfix templates` shows.
'''
references = ["https://docs.pytorch.org/docs/stable/notes/cuda.html"]
# Programs that the rule has to repair (`- ` lines go, `+ ` lines come) and to leave alone.
programs = '''
=== example: the loss of each batch
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
-     print(loss.item())
+     logger.debug(loss.item())

=== reject: once an epoch
for epoch in range(3):
    train(net)
    print(epoch)
'''

[find]
pattern = "print($$$ARGS)"          # $NAME is any expression or statement, $$$NAME any number of them

[[where]]                           # every condition has to hold; under [[unless]], none may
inside = "training loop"

[fix]
replace = "logger.debug($$$ARGS)"   # or before, after, remove = true
"""


def write_new(console: Console, path: Path) -> int:
    """Write a rule to start from. Raises `InputError` where the file is there already or its name makes no rule's name."""
    path = path if path.suffix == ".toml" else path.with_name(f"{path.name}.toml")
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    if not name or not name[0].isalpha():
        raise InputError(f"{path}: the name of a rule begins with a letter. Give another name.")
    if path.exists():
        raise InputError(f"{path}: is there already, and nothing is written over. Give another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(START.format(path=path, code="OWN101", name=name), encoding="utf-8")
    console.write(f"{path}: a rule to start from. Try it: dnnfix templates --test {path}\n")
    return CLEAN


def try_rules(console: Console, paths: list[Path]) -> int:
    """Try rules on their own examples and rejects, and say of each what it does not keep.

    Raises `CatalogueError` for a file that is no rule, and `InputError` where there is none.
    """
    from dnnfix import registry
    from dnnfix.testing import TemplateProblem, check_template

    code = CLEAN
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file. Begin one with: dnnfix templates --new {path}")
        rule = registry.rule_in(path)
        try:
            check_template(rule)
        except TemplateProblem as problem:
            console.write(f"{path}: {problem}\n")
            code = FOUND
        else:
            examples, rejects = len((*rule.examples, *rule.finds)), len(rule.rejects)
            console.write(
                f"{path}: {rule.code} {rule.name} keeps its promises ({examples} examples, {rejects} rejects)\n"
            )
    return code
