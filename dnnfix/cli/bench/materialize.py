"""`dnnfix bench materialize`: downloads the original programs into the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Option

from dnnfix import config
from dnnfix.bench.instances import Instance
from dnnfix.bench.originals.addresses import Commit, Question, read_address
from dnnfix.bench.originals.cache import Cellar, Original
from dnnfix.bench.originals.commits import GITHUB, Commits
from dnnfix.bench.originals.questions import API, Questions
from dnnfix.cli import options
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.errors import EnvironmentProblem

EXAMPLES = """  dnnfix bench materialize torch github
  dnnfix bench materialize so-37213388
  dnnfix bench replay --on originals     the static part on what was brought
"""

EXIT_CODES = "0 everything is there or known to be gone, 2 something could not be asked for; run it again"

FOLDER = "originals"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    chosen: choosing.Words,
    cache: options.Cache,
    again: Annotated[bool, Option("--again", help="ask again for what was gone")] = False,
    git: Annotated[str, Option(metavar="URL", help=f"where repositories lie ({GITHUB})")] = GITHUB,
    api: Annotated[str, Option(metavar="URL", help=f"the API of the question site ({API})")] = API,
) -> int:
    """Bring the programs that the instances came from into your own cache: bug-fix commits by git, questions with their
    answers by the API of the question site. They belong to their authors and are never part of a repository of dnnfix's. What
    is there already is not asked for again; requests are few and slow, and what is gone is named."""
    settings = config.load(Path.cwd(), options.overrides(cache), isolated=True)
    benchmark = chosen.opened()
    cellar = Cellar(settings.cache / FOLDER)
    wanted = [i for i in benchmark.index.values() if benchmark.selection.may_take(i)]
    missing = [i for i in wanted if (known := cellar.has(i.id)) is None or (known.gone and again)]
    problems: set[str] = set()
    done = len(wanted) - len(missing)
    for original in _brought(git, api, missing, cellar, problems):
        cellar.put(original)
        done += 1
        console.progress(f"{done} of {len(wanted)}: {original.id}")
    for problem in sorted(problems):
        console.problem(problem)
    kept = [known for instance in wanted if (known := cellar.has(instance.id)) is not None]
    gone = [known for known in kept if known.gone]
    console.write("".join(f"{known.id}: gone: {known.gone}\n" for known in gone))
    console.write(f"{len(kept) - len(gone)} of {len(wanted)} originals are in {cellar.folder}; {len(gone)} are gone\n")
    return CLEAN if len(kept) == len(wanted) else ERROR


def _brought(git: str, api: str, missing: list[Instance], cellar: Cellar, problems: set[str]) -> Iterator[Original]:
    """Originals as they come. What cannot be asked for now is a problem, and the rest goes on."""
    questions: dict[int, list[str]] = {}
    commits = Commits(cellar.folder / ".git", git)
    refused = 0
    for instance in missing:
        try:
            address = read_address(instance.url)
        except ValueError as error:
            yield Original(instance.id, gone=str(error))
            continue
        if isinstance(address, Question):
            questions.setdefault(address.number, []).append(instance.id)
        elif isinstance(address, Commit) and refused < MOST_REFUSED:
            try:
                yield commits.bring(instance.id, address)
                refused = 0
            except EnvironmentProblem as error:
                problems.add(str(error))
                refused += 1
    try:
        key = os.environ.get("STACKEXCHANGE_KEY", "")
        yield from Questions(api, key).bring(questions) if questions else ()
    except EnvironmentProblem as error:
        problems.add(str(error))


MOST_REFUSED = 3
"""Commits in a row that could not be asked for, after which the network is taken to be away."""
