"""The bot on a forge in a folder: pull requests as files, one that a person closes, and a second run that leaves it closed.

    python tools/demo_bot.py [FOLDER]

FOLDER (by default .demo-bot) becomes the forge, with the three repositories of `examples/bot`; what it held before is taken away.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEOPLE = ("-c", "user.name=People", "-c", "user.email=people@example.org", "-c", "commit.gpgSign=false")


def main() -> None:
    """Make the forge, run the bot, close a pull request, run it again."""
    forge = Path(sys.argv[1] if len(sys.argv) > 1 else ".demo-bot").absolute()
    marker = forge / "demo-bot"
    if forge.exists() and not marker.exists():
        sys.exit(f"{forge}: is there and was not made by this demonstration. Name another folder.")
    shutil.rmtree(forge, ignore_errors=True)
    forge.mkdir(parents=True)
    marker.touch()
    for repository in sorted((ROOT / "examples" / "bot").glob("*/*")):
        _made(forge, repository)
    _run(forge)
    for path in sorted(forge.glob("*/*.pulls/*.md")):
        print(f"\n== {path.relative_to(forge)}\n{path.read_text(encoding='utf-8').partition('<details>')[0]}")
    closed = next(iter(sorted(forge.glob("*/*.pulls/*.json"))), None)
    if closed is None:
        sys.exit("no pull request was opened")
    closed.write_text(json.dumps({**json.loads(closed.read_text()), "state": "closed"}, indent=2))
    print(f"== a person closes {closed.relative_to(forge).with_suffix('')}, and the bot comes again")
    _run(forge)


def _made(forge: Path, repository: Path) -> None:
    """A bare repository with one commit of what a folder holds."""
    bare = forge / repository.parent.name / f"{repository.name}.git"
    work = forge / ".work"
    shutil.copytree(repository, work)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "First"]):
        subprocess.run(["git", *PEOPLE, *words], cwd=work, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    shutil.rmtree(work)


def _run(forge: Path) -> None:
    print(f"== dnnfix bot run --forge local:{forge.name}", flush=True)
    command = [sys.executable, "-m", "dnnfix", "bot", "run", "--forge", f"local:{forge}"]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
