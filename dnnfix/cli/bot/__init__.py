"""`dnnfix bot`: pull requests with proven patches, in two phases. Each module is a command."""

from __future__ import annotations

from typing import Any

from dnnfix.cli.groups import Commands, Listed, built

COMMANDS = {
    "analyse": Listed("run the programs of a checkout in the sandbox and write a report; needs no token"),
    "publish": Listed("open pull requests from a report; runs nothing of the repository"),
    "review": Listed("comment on a pull request of a person, on lines that it changes, from a report of its head"),
    "run": Listed("both, one after the other, for one repository or all of a forge"),
    "serve": Listed("as a GitHub App: take webhooks in"),
    "work": Listed("as a GitHub App: do what they ask for"),
}

ABOUT = """Opens pull requests with patches that were proven: few, small, and easy to stop. A repository asks for it with a table `[bot]` in
`dnnfix.toml`. Analysing runs the repository's programs in the sandbox and never has a token; publishing has the token, and
runs nothing of the repository."""

EXAMPLES = """  dnnfix bot analyse --repo owner/name --output-file report.json      in a checkout
  dnnfix bot publish report.json --repo owner/name --forge local:/srv/forge
  dnnfix bot review report.json --repo owner/name --pull 7 --forge github
  dnnfix bot run --repo owner/name --forge local:/srv/forge --dry-run
"""


class _Commands(Commands):
    listed, package, examples = COMMANDS, __name__, EXAMPLES


def group() -> Any:
    """The commands of `dnnfix bot`."""
    return built(_Commands, ABOUT)
