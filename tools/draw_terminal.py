"""Draws what a command prints on a terminal as an SVG, from a real run: the picture of the README.

    python tools/draw_terminal.py docs/suggest.svg dnnfix suggest examples/digits_softmax.py

The command is run on a terminal of its own, so that it prints what it prints for people; rich draws that.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 104
FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Fonts that rich's pictures load from elsewhere; the reader's own do."""


def main() -> int:
    """Run the command and write the picture."""
    parser = argparse.ArgumentParser(description="draw what a command prints", epilog=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    words = [str(Path(sys.executable).with_name(given.command[0])), *given.command[1:]]
    printed = on_a_terminal(words)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ ", style="bold green") + Text(shlex.join(given.command), style="bold"))
    console.print(Text.from_ansi(printed))
    made = console.export_svg(title="dnnfix", theme=MONOKAI, unique_id="dnnfix")
    given.picture.write_text(FONTS.sub("", made), encoding="utf-8")
    return 0


def on_a_terminal(words: list[str]) -> str:
    """What a command prints on a terminal, without its line of progress, which goes to standard error."""
    reading, writing = pty.openpty()
    around = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(words, stdout=writing, stderr=subprocess.DEVNULL, env=around):
        os.close(writing)
        printed = b""
        with suppress(OSError):  # how Linux says that nobody holds the other end any more
            while read := os.read(reading, 65536):
                printed += read
    os.close(reading)
    return printed.decode().replace("\r\n", "\n").replace(str(Path.home()), "~")


if __name__ == "__main__":
    sys.exit(main())
