"""`dnnfix bot`: pull requests with proven patches, in two phases. Each module is a command."""

COMMANDS = {
    "analyse": "run the programs of a checkout in the sandbox and write a report; needs no token",
    "publish": "open pull requests from a report; runs nothing of the repository",
    "review": "comment on a pull request of a person, on lines that it changes, from a report of its head",
    "run": "both, one after the other, for one repository or all of a forge",
    "serve": "as a GitHub App: take webhooks in",
    "work": "as a GitHub App: do what they ask for",
}

HELP = """usage: dnnfix bot COMMAND [options]

Opens pull requests with patches that were proven: few, small, and easy to stop. A repository asks for it with a table `[bot]` in
`dnnfix.toml`. Analysing runs the repository's programs in the sandbox and never has a token; publishing has the token, and
runs nothing of the repository.

commands:
{commands}

examples:
  dnnfix bot analyse --repo owner/name --output-file report.json      in a checkout
  dnnfix bot publish report.json --repo owner/name --forge local:/srv/forge
  dnnfix bot review report.json --repo owner/name --pull 7 --forge github
  dnnfix bot run --repo owner/name --forge local:/srv/forge --dry-run

options:
  -h, --help     this text; `dnnfix bot COMMAND --help` tells more
"""
