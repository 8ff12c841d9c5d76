"""Makes an interpreter of the old era: Python 3.7 with Keras 2.3.1 on TensorFlow 1.15, from PyPI.

`python tools/make_baseline.py` puts it into `.baseline`, where the tests look for it; `dnnfix suggest --baseline-python
.baseline/bin/python` compares with it. A Python 3.7 is taken from --python, from the path, from pyenv, or, where uv is
installed, fetched by uv. Exit status: 0 made (or there already), 2 where something failed, 3 where there is no Python 3.7.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WANTED = (3, 7)
NO_PYTHON = 3

PINS = (
    "absl-py==2.1.0", "astor==0.8.1", "gast==0.2.2", "google-pasta==0.2.0", "grpcio==1.62.3", "h5py==2.10.0",
    "importlib-metadata==6.7.0", "Keras-Applications==1.0.8", "Keras-Preprocessing==1.1.2",
    "Markdown==3.4.4", "MarkupSafe==2.1.5", "numpy==1.18.5", "opt-einsum==3.3.0", "protobuf==3.20.3", "PyYAML==6.0.1",
    "scipy==1.7.3", "six==1.17.0", "tensorboard==1.15.0", "tensorflow==1.15.5", "tensorflow-estimator==1.15.1",
    "termcolor==2.3.0", "typing_extensions==4.7.1", "Werkzeug==2.2.3", "wrapt==1.16.0", "zipp==3.15.0",
)  # fmt: skip
"""The last versions that go together. TensorFlow 1.15 ends with Python 3.7; protobuf 3.21, h5py 3 and numpy 1.20 break it."""
KERAS = "2.3.1"
BUILDING = ("setuptools==47.1.0", "wheel==0.42.0")
"""gast 0.2.2 is there as source only."""
USEFUL = ("matplotlib==3.5.3", "pandas==1.3.5", "Pillow==9.5.0", "scikit-learn==1.0.2")
"""What old programs import besides; taken with --more."""
CHECK = "import keras, tensorflow; print('Keras', keras.__version__, 'on TensorFlow', tensorflow.__version__)"


def main() -> int:
    """Make it, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", metavar="PATH", help="a Python 3.7")
    parser.add_argument(
        "--into", metavar="FOLDER", type=Path, default=ROOT / ".baseline", help="where it goes (.baseline)"
    )
    parser.add_argument(
        "--keras", metavar="VERSION", default=KERAS, help="2.2.4 has more of what Keras 1 had (%(default)s)"
    )
    parser.add_argument("--more", action="store_true", help=f"also install {', '.join(USEFUL)}")
    arguments = parser.parse_args()
    interpreter = arguments.into / "bin" / "python"
    if interpreter.exists() and _works(interpreter):
        print(f"{interpreter} is there already")
        return 0
    if arguments.into.exists() and not (arguments.into / "pyvenv.cfg").exists():
        print(f"{arguments.into} is there and no environment of Python; name another folder.", file=sys.stderr)
        return 2
    old = next((path for path in _candidates(arguments.python) if _version(path) == WANTED), None)
    if old is None:
        asked = (
            f"{arguments.python} is none" if arguments.python else "none is on the path or in pyenv, and uv has none"
        )
        print(f"Python 3.7 is needed: {asked}. Install it (pyenv install 3.7, uv python install 3.7).", file=sys.stderr)
        return NO_PYTHON
    print(f"making {arguments.into} with {old}")
    steps = [
        [old, "-m", "venv", "--clear", str(arguments.into)],
        [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *BUILDING],
        [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation",
         f"Keras=={arguments.keras}", *PINS, *(USEFUL if arguments.more else ())],
    ]  # fmt: skip
    for step in steps:
        if subprocess.run(step, check=False).returncode:
            print(f"failed: {' '.join(step[:4])} …", file=sys.stderr)
            return 2
    return 0 if _works(interpreter) else 2


def _candidates(given: str | None) -> Iterator[str]:
    """Commands that may be a Python 3.7; one that was given is the only one."""
    if given:
        yield given
        return
    yield "python3.7"
    for path in sorted(Path.home().glob(".pyenv/versions/3.7.*/bin/python"), reverse=True):
        yield str(path)
    if shutil.which("uv"):
        subprocess.run(["uv", "python", "install", "--quiet", "3.7"], check=False, stderr=subprocess.DEVNULL)
        found = subprocess.run(["uv", "python", "find", "3.7"], check=False, capture_output=True, text=True)
        if found.returncode == 0:
            yield found.stdout.strip()


def _version(command: str) -> tuple[int, ...] | None:
    """The first two numbers of an interpreter's version; `None` for what is no interpreter."""
    try:
        asked = [command, "-c", "import sys; print(*sys.version_info[:2])"]
        done = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=60)
        return tuple(int(word) for word in done.stdout.split()) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def _works(interpreter: Path) -> bool:
    done = subprocess.run([str(interpreter), "-W", "ignore", "-c", CHECK], check=False, capture_output=True, text=True)
    print((done.stdout or done.stderr.strip().rpartition("\n")[2]).strip())
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
