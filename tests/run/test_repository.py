"""A trial sees the repository around its program: data and modules, nothing secret, and nothing of it can be changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dnnfix.records import RunOutcome, Site
from dnnfix.run import project
from dnnfix.run.job import Job
from dnnfix.run.runner import Runner
from tests.run.conftest import Run

TRAIN = """
import os, sys
sys.path.append("..")
from models.net import width
print(open("../data/train.csv").read(), width(), os.path.basename(os.getcwd()))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a program in `src`, a package and data beside that, and secrets of all sorts."""
    root = tmp_path / "repository"
    files = {
        ".git/config": "CANARY", ".env": "CANARY", "id_rsa": "CANARY", "token": "CANARY", "conf/.netrc": "CANARY",
        "conf/server.pem": "CANARY", "src/credentials.json": "CANARY", "src/.env.local": "CANARY",
        "data/train.csv": "1;2", "models/__init__.py": "", "models/net.py": "from settings import WIDTH\n\ndef width():\n    return WIDTH\n",
        "settings.py": "WIDTH = 7\n", "src/train.py": TRAIN, "src/beside.py": "",
    }  # fmt: skip
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def state(root: Path) -> dict[str, tuple[str, float]]:
    return {str(path): (path.read_text(), path.stat().st_mtime) for path in root.rglob("*") if path.is_file()}


def test_data_and_modules_of_the_repository_are_there(run: Run, repository: Path) -> None:
    trace = run(TRAIN, path=str(repository / "src" / "train.py"))
    assert (trace.outcome, trace.printed) == (RunOutcome.FINISHED, "1;2 7 src\n"), trace.detail


AROUND = """
import os, sys
from beside import name
print(open(sys.argv[1]).read(), name, os.path.basename(os.getcwd()), os.path.dirname(__file__) == os.getcwd())
"""


@pytest.mark.parametrize(
    ("argument", "said"),
    [("data/train.csv", "1;2 beside repository False\n"), ("../data/train.csv", "1;2 beside src True\n")],
)
def test_a_program_starts_where_what_it_names_is_there(
    runner: Runner, repository: Path, argument: str, said: str
) -> None:
    (repository / "src" / "beside.py").write_text("name = 'beside'\n")
    path = str(repository / "src" / "train.py")
    trace = runner.run(Job(path, AROUND.encode(), arguments=(argument,)))
    assert (trace.outcome, trace.printed) == (RunOutcome.FINISHED, said), trace.detail


def test_secrets_are_not(run: Run, repository: Path) -> None:
    trace = run(
        f"""
import os
for folder, folders, files in os.walk(".."):
    print(folder, *sorted(folders + files))
    for name in files:
        if name != "train.py":
            print(open(os.path.join(folder, name)).read())
for name in ("../.git/config", "../.env", "../id_rsa", "../token", "../conf/.netrc", "credentials.json", ".env.local"):
    for place in (name, os.path.join({str(repository / "src")!r}, name)):
        try:
            print(open(place).read())
        except OSError:
            pass
""",
        path=str(repository / "src" / "train.py"),
    )
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert "settings.py" in trace.printed and ".git" not in trace.printed
    assert "CANARY" not in trace.printed


def test_what_is_written_into_the_repository_changes_nothing(run: Run, repository: Path) -> None:
    (repository / "large.bin").write_bytes(b"x" * 3_000_000)
    before = state(repository)
    trace = run(
        """
import glob, os, shutil
open("../data/train.csv", "w").write("changed")
open("../new.txt", "w").write("new")
os.remove("../settings.py")
shutil.rmtree("../models")
try:
    open(glob.glob("../larg*")[0], "ab").write(b"z")
except OSError:
    print("refused")
print(open("../data/train.csv").read(), sorted(os.listdir("..")))
""",
        path=str(repository / "src" / "train.py"),
    )
    assert trace.printed == "refused\nchanged ['conf', 'data', 'large.bin', 'new.txt', 'src']\n", trace.detail
    assert state(repository) == before


def test_a_program_without_a_repository_sees_its_folder_alone(run: Run, repository: Path) -> None:
    (repository / ".git" / "config").unlink()
    (repository / ".git").rmdir()
    trace = run(TRAIN, path=str(repository / "src" / "train.py"))
    assert trace.outcome is RunOutcome.ENVIRONMENT and "'models'" in trace.detail
    trace = run(
        "import os; print(sorted(os.listdir('.')), sorted(os.listdir('..')))", path=str(repository / "src" / "train.py")
    )
    assert trace.printed == "['beside.py', 'train.py'] ['src']\n"


def test_without_a_repository_the_working_directory_counts(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".git" / "config").unlink()
    (repository / ".git").rmdir()
    monkeypatch.chdir(repository)
    assert run(TRAIN, path="src/train.py").printed == "1;2 7 src\n"


def test_a_crash_in_the_repository_has_a_place_seen_from_the_program(run: Run, repository: Path) -> None:
    (repository / "models" / "net.py").write_text("def width():\n    raise ValueError('no ' + __file__)\n")
    trace = run(TRAIN, path=str(repository / "src" / "train.py"))
    assert trace.crash is not None and trace.crash.message == "no ../models/net.py"
    assert [frame.site.path for frame in trace.crash.frames] == ["", "../models/net.py"]
    assert trace.crash.site == Site(2, 5, 2, 39, "../models/net.py")


def test_a_program_that_hangs_in_the_repository_is_told_where(run: Run, repository: Path) -> None:
    (repository / "models" / "net.py").write_text("import time\ndef width():\n    time.sleep(60)\n")
    trace = run(TRAIN, path=str(repository / "src" / "train.py"), seconds=1.0)
    assert trace.outcome is RunOutcome.TIMEOUT and trace.detail.endswith("at line 3 of ../models/net.py")


@pytest.mark.parametrize("place", ["../data/late.csv", "data/late.csv"])
def test_a_file_that_is_not_there_is_missing_data(run: Run, repository: Path, place: str) -> None:
    trace = run(f"import os\nopen(os.path.abspath({place!r}))", path=str(repository / "src" / "train.py"))
    assert (trace.outcome, trace.detail, trace.notes) == (RunOutcome.NEEDS_DATA, place, ())


def test_a_file_that_is_kept_back_is_told(runner: Runner, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "AROUND", 2)
    asked = {"../token": "secret", "../conf/more.txt": "not among the files"}
    (repository / "conf" / "more.txt").write_text("more")
    for number, (name, why) in enumerate(asked.items()):
        path = repository / "src" / f"{number}.py"
        path.write_text("")
        trace = runner.run(Job(str(path), f"open({name[:4]!r} + {name[4:]!r})".encode()))
        assert trace.outcome is RunOutcome.NEEDS_DATA and trace.detail == name
        assert len(trace.notes) == 1 and trace.notes[0].startswith(f"{name} is there, but") and why in trace.notes[0]


def test_a_program_in_a_link_to_its_folder_sees_the_repository(run: Run, repository: Path, tmp_path: Path) -> None:
    os.symlink(repository / "src", tmp_path / "linked")
    assert run(TRAIN, path=str(tmp_path / "linked" / "train.py")).printed == "1;2 7 src\n"
