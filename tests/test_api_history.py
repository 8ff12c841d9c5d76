"""The command that reads the releases of a package, on an index of a package made up for the purpose."""

from __future__ import annotations

import http.server
import io
import json
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "api_history.py"

FIRST = {
    "__init__.py": """\
        _import_structure = {"trainers": ["Trainer", "Config"]}
        _import_structure["tools"] = ["measure"]
        from .helpers import *
        from json import dumps
        """,
    "trainers.py": """\
        from dataclasses import dataclass
        from . import helpers
        @dataclass
        class Config:
            steps: int = 1
        class Trainer:
            def __init__(self, model, args=None, tokenizer=None, packing=False, length=10, seed=0): pass
            def fit(self): pass
            def tune(self): pass
        class Racer(Trainer): pass
        """,
    "tools.py": "def measure(x, scale=1, unit='m', **rest): pass\ndef weigh(x, unit='g'): pass\n",
    "helpers.py": """\
        __all__ = ['helped', 'left', 'right']
        def helped(x): pass
        def left(x): pass
        def right(x):
            raise DeprecationWarning("right is deprecated and will be removed. Use helped instead.")
        def inner(x): pass
        """,
    "old/__init__.py": "",
    "old/parts.py": "class Wheel:\n    def __init__(self, radius): pass\nclass Spoke: pass\n",
    "_private.py": "def hidden(): pass\n",
    "window.py": "class Pane: pass\nclass Sill: pass\ndef show(): pass\n",
    "__init__.pyi": "def only_in_the_stub() -> None: ...\n",
    "9a1e/__init__.py": "from . import parts\n",
    "9a1e/parts.py": "def nameless(): pass\n",
    "first.py": """\
        class Axle:
            def __init__(self, length, width=1): pass
            def turn(self, by): pass
            def stop(self): pass
        class Brake:
            def __init__(self, force): pass
            def press(self): pass
        class Clutch:
            def __init__(self, force): pass
        def drive(x, far=1): pass
        def steer(x, far=1): pass
        """,
}
SECOND = {
    **FIRST,
    "trainers.py": """\
        import functools
        from dataclasses import dataclass, field
        from .deprecation import deprecate_kwarg
        @dataclass
        class Config:
            steps: int = 1
            packing: bool = False
            length: int = field(default=10, metadata={"help": "It is deprecated. Use `most` instead."})
            most: int = 10
        class Trainer:
            '''Trains.

            Args:
                seed (int):
                    Deprecated, use `state` instead.
                state (int):
                    Where chance begins.
            '''
            @deprecate_kwarg("tokenizer", version="3.0", new_name="processor")
            def __init__(self, model, args: Config = None, processor=None, seed=0, state=0): pass
            def fit(self): pass
            def tune(self): pass
        class Racer(Trainer): pass
        """,
    "tools.py": """\
        import warnings
        def measure(x, scale=1, unit='m', **rest): pass
        def weigh(x, unit='g', of='g'):
            if unit:
                warnings.warn("`unit` is deprecated and will be removed. Please use `of`.")
        """,
    "second.py": """\
        import warnings
        from .new.brakes import Brake as NewBrake, Gear as NewGear
        class Brake(NewBrake):
            def __init__(self, *given, **named):
                warnings.warn("Brake has another place and the old one will be removed.")
                super().__init__(*given, **named)
        class Gear(NewGear):
            def _shift(self): return "other teeth"
        class Copied:
            def __init__(self, size): pass
        def hoot(x): pass
        class Axle:
            def __init__(self, length, width=1): pass
            def turn(self, by): pass
            def stop(self): pass
        def drive(x, far=1): pass
        def steer(**named): pass
        """,
    "new/__init__.py": "",
    "new/brakes.py": """\
        class Brake:
            def __init__(self, strength, side): pass
            def press(self): pass
        class Gear:
            def __init__(self, teeth): pass
            def _shift(self): pass
        class Copied:
            def __init__(self, size, color=None): pass
        def steer(x, y): pass
        def hoot(x): pass
        """,
}
del SECOND["first.py"]
THIRD = {
    **SECOND,
    "trainers.py": """\
        from dataclasses import dataclass
        @dataclass
        class Config:
            steps: int = 1
            packing: bool = False
            most: int = 10
        class Trainer:
            def __init__(self, model, args: Config | None = None, processor=None, state=0): pass
            def fit(self): pass
        class Racer(Trainer): pass
        """,
    "tools.py": "def measure(x, **rest): pass\ndef weigh(x, of='g'): pass\n",
    "window.py": "import a_package_that_nobody_has\nfrom .parts import Pane\ndef show(): pass\n",
    "helpers.py": "__all__ = ['helped']\ndef helped(x): pass\ndef inner(x): pass\n",
    "parts.py": "class Pane: pass\nclass Wheel:\n    def __init__(self, radius, color=None): pass\n",
    "new/axles.py": """\
        import a_package_that_nobody_has
        class Axle:
            def __init__(self, length, color=None, width=1): pass
            def turn(self, by): pass
        class Clutch:
            def __init__(self, force): pass
        def drive(x, far=1): pass
        """,
}
del THIRD["old/__init__.py"], THIRD["old/parts.py"], THIRD["second.py"]
LOOSE = """\
    import functools
    def any_keyword(cls):
        made = cls.__init__
        @functools.wraps(made)
        def __init__(self, *given, **named):
            self.kept = named
        cls.__init__ = __init__
        return cls
    """
for _files, _labels in ((FIRST, ", labels=2, mode='a'"), (SECOND, ", labels=2, mode='a'"), (THIRD, "")):
    _told = "warnings.warn('`mode` is deprecated and will be removed')" if _labels else "pass"
    _files["loose.py"] = (
        f"{LOOSE}\n    @any_keyword\n    class Loose:\n        def __init__(self, size=1{_labels}): {_told}\n"
    )
RELEASES = {"1.0.0": FIRST, "1.0.1": FIRST, "1.1.0": SECOND, "2.0.0rc1": THIRD, "2.0.0": THIRD}


def wheel(path: Path, files: Mapping[str, str]) -> None:
    import textwrap

    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"gadgets/{name}", textwrap.dedent(text))
        archive.writestr("gadgets/tests/test_it.py", "def never(): pass\n")


def archive(path: Path, files: Mapping[str, str], folder: str) -> None:
    import textwrap

    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            content = textwrap.dedent(text).encode()
            member = tarfile.TarInfo(f"{folder}/gadgets/{name}")
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """An index on this machine that has the releases of `gadgets`, the same called `kit-of-gadgets` and, with archives, `in-parts`; `empty` has none."""
    folder = tmp_path / "index"
    folder.mkdir()
    files: dict[str, list[dict[str, object]]] = {"gadgets": [], "kit-of-gadgets": []}
    for version, content in RELEASES.items():
        for package, listed in files.items():
            name = f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
            wheel(folder / name, content)
            listed.append({"filename": name, "url": name, "size": 1, "upload-time": "2026-01-02T03:04:05Z"})
    files["gadgets"].append({"filename": "gadgets-1.0.0.tar.gz", "url": "x", "size": 1})
    empty = "gadgets-2.0.0-cp311-cp311-win_amd64.whl"  # another package has the files
    wheel(folder / empty, {})
    files["gadgets"].append({"filename": empty, "url": empty, "size": 0})
    files["in-parts"] = [{**file, "filename": f"in_parts-{str(file['url'])[8:]}"} for file in files["gadgets"]]
    files["in-parts"] = [file for file in files["in-parts"] if "-1.1.0-" not in str(file["filename"])]
    for version in ("0.9.0", "1.1.0"):
        archive(folder / f"gadgets-{version}.tar.gz", RELEASES["1.1.0"], f"gadgets-{version}")
        files["in-parts"].append(
            {"filename": f"in_parts-{version}.tar.gz", "url": f"gadgets-{version}.tar.gz", "size": 1}
        )

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/simple/"):
                super().do_GET()
                return
            of = files.get(self.path.split("/")[2], [])
            listed = [{**file, "url": f"http://{self.headers['Host']}/{file['url']}"} for file in of]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"files": listed}).encode())

        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(folder))

        def log_message(self, format: str, *given: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
    server.shutdown()
    server.server_close()


def installed(folder: Path, files: Mapping[str, str], version: str = "2.0.0") -> None:
    """Put the package into a folder as an installer does."""
    import textwrap

    for name, text in files.items():
        path = folder / "gadgets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    (folder / f"gadgets-{version}.dist-info").mkdir()
    (folder / f"gadgets-{version}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: gadgets\nVersion: {version}\n"
    )


def call(index: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    places = ("--index", index, "--wheels", str(tmp_path / "wheels"), "--output", str(tmp_path / "out"))
    command = [sys.executable, str(SCRIPT), *words, *places]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


MOVED_FROM_THE_FIRST = {
    "gadgets.first.Axle": "gadgets.new.axles.Axle",
    "gadgets.first.drive": "gadgets.new.axles.drive",
}
"""What was at another place in between, and is the same: no `Brake`, `Clutch` or `steer`.

Of what went later there is no `Pane`, which its module has from another one now, no `Gear`, which changed what it derived from, and no `hoot`, which was there beside another of its name.
"""


def test_what_went_and_what_the_sources_say_of_it(index: str, tmp_path: Path) -> None:
    done = call(index, tmp_path, "gadgets")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert (made["first"], made["last"], made["day"]) == ("1.0.1", "2.0.0", "2026-01-02")
    assert made["module"] == {"1.1": {"gadgets.first": ""}, "2.0": {"gadgets.old": "", "gadgets.second": ""}}
    assert made["name"] == {
        "1.1": MOVED_FROM_THE_FIRST,
        "2.0": {
            "gadgets.second.Axle": "gadgets.new.axles.Axle",
            "gadgets.second.Brake": "gadgets.new.brakes.Brake",
            "gadgets.second.Copied": "gadgets.new.brakes.Copied",
            "gadgets.second.drive": "gadgets.new.axles.drive",
            "gadgets.helpers.left": "",
            "gadgets.left": "",
            "gadgets.old.parts.Wheel": "gadgets.parts.Wheel",
            "gadgets.right": "gadgets.helped",
            "gadgets.helpers.right": "gadgets.helpers.helped",
            "gadgets.window.Sill": "",
        },
    }
    trainers = ["gadgets.Trainer", "gadgets.trainers.Racer", "gadgets.trainers.Trainer"]
    own = ["gadgets.Trainer", "gadgets.trainers.Trainer"]
    assert made["argument"] == {
        "1.1": {
            "length": {"args=gadgets.Config(most)": trainers},
            "packing": {"args=gadgets.Config(packing)": trainers},
            "tokenizer": {"processor": trainers},
        },
        "2.0": {
            "labels": {"": ["gadgets.loose.Loose"]},
            "length": {"most": ["gadgets.Config", "gadgets.trainers.Config"]},
            "mode": {"": ["gadgets.loose.Loose"]},
            "seed": {"state": trainers},
            "unit": {"of": ["gadgets.tools.weigh"]},
        },
    }
    assert made["method"] == {"2.0": {"tune": {"": own}}}
    assert {"Trainer", "Config", "helped", "left", "old", "tools", "trainers"} <= set(made["shown"])
    assert not {"dumps", "hidden", "tests", "inner", "9a1e"} & set(made["shown"])


def test_an_interpreter_with_the_newest_release_has_the_last_word(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrapper takes any keyword, whatever signature it shows; only what was announced to go is gone."""
    installed(tmp_path / "site", {**THIRD, "old/__init__.py": "kept = True\n"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    done = call(index, tmp_path, "gadgets", "--python", sys.executable)
    assert done.returncode == 0 and "by its sources and 2.0.0 as it is installed" in done.stdout, done.stderr
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert made["module"] == {"1.1": {"gadgets.first": ""}, "2.0": {"gadgets.old.parts": "", "gadgets.second": ""}}
    assert (
        made["name"]["1.1"] == MOVED_FROM_THE_FIRST
    )  # to a module that cannot be imported for want of another package
    assert "labels" not in made["argument"]["2.0"] and made["argument"]["2.0"]["mode"] == {"": ["gadgets.loose.Loose"]}


def test_an_older_release_is_asked_of_what_went_before_it(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path / "site", {**SECOND, "first.py": "class Axle: pass\n"}, "1.1.0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    done = call(index, tmp_path, "gadgets", "--python", sys.executable)
    assert done.returncode == 0 and "by its sources and 1.1.0 as it is installed" in done.stdout, done.stderr
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert made["module"] == {"2.0": {"gadgets.old": "", "gadgets.second": ""}}
    assert "gadgets.first.drive" in made["name"]["1.1"] and "gadgets.first.Axle" not in made["name"]["1.1"]
    assert made["name"]["2.0"]["gadgets.right"] == "gadgets.helped"


def test_the_interpreter_with_the_newest_release_is_asked(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no release or an older one says nothing beside it, whatever the order."""
    pythons = []
    for version in ("1.1.0", "2.0.0"):
        installed(tmp_path / version, RELEASES[version], version)
        pythons.append(tmp_path / f"python-{version}")
        pythons[-1].write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path / version} exec {sys.executable} "$@"\n')
        pythons[-1].chmod(0o755)
    for words in ([sys.executable, *map(str, pythons)], [*map(str, reversed(pythons)), sys.executable]):
        done = call(index, tmp_path, "gadgets", *(word for python in words for word in ("--python", python)))
        assert "by its sources and 2.0.0 as it is installed" in done.stdout, done.stderr


def test_a_table_begins_with_the_version_that_is_given(index: str, tmp_path: Path) -> None:
    assert call(index, tmp_path, "gadgets", "--first", "1.1").returncode == 0
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert made["first"].startswith("1.1") and "1.1" not in made["name"]
    done = call(index, tmp_path, "gadgets", "--first", "9.0")
    assert done.returncode == 2 and "gadgets: the index has no final release from 9.0 on" in done.stderr


def test_every_table_is_of_a_package_that_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool alone makes all tables, each from the release on that it has to begin with."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    listed = import_module("api_history").PACKAGES
    for path in (SCRIPT.parent.parent / "fix_templates" / "data" / "history").glob("*.json"):
        made = json.loads(path.read_bytes())
        first = listed[made["package"]]
        assert not first or f"{made['first']}.".startswith(f"{first}."), path


def test_a_package_is_named_as_programs_import_it(index: str, tmp_path: Path) -> None:
    done = call(index, tmp_path, "kit-of-gadgets")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert made["package"] == "kit-of-gadgets" and made["module"]["1.1"] == {"gadgets.first": ""}


def test_the_same_releases_give_the_same_bytes(index: str, tmp_path: Path) -> None:
    tables = []
    for _ in range(2):
        assert call(index, tmp_path, "gadgets").returncode == 0
        tables.append((tmp_path / "out" / "gadgets.json").read_bytes())
    assert tables[0] == tables[1]


def test_a_minor_version_without_a_wheel_is_read_from_its_archive(index: str, tmp_path: Path) -> None:
    done = call(index, tmp_path, "in-parts")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out" / "gadgets.json").read_text())
    assert made["first"] == "1.0.1" and made["module"]["1.1"] == {"gadgets.first": ""}


def test_what_lost_nothing_has_no_table(index: str, tmp_path: Path) -> None:
    done = call(index, tmp_path, "gadgets", "--first", "2.0")
    assert done.returncode == 0 and "nothing went from 2.0.0 to 2.0.0" in done.stdout, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_package_without_a_release_is_named(index: str, tmp_path: Path) -> None:
    done = call(index, tmp_path, "empty")
    assert done.returncode == 2 and "empty: the index has no final release" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_index_that_does_not_answer_is_named(tmp_path: Path) -> None:
    done = call("http://127.0.0.1:9/simple/", tmp_path, "gadgets")
    assert done.returncode == 2 and "http://127.0.0.1:9/simple/gadgets/" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_no_table_knows_of_the_last_releases_is_counted(index: str, tmp_path: Path) -> None:
    script = SCRIPT.with_name("unknown_removals.py")
    places = ("--index", index, "--wheels", str(tmp_path / "wheels"), "--data", str(tmp_path / "out"))
    command = [sys.executable, str(script), "gadgets", "--since", "2025-01-01", "--all", *places]
    before = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert before.returncode == 1 and " 0 known" in before.stdout, before.stderr
    assert "name gadgets.left, gone in 2.0" in before.stdout and "method tune of gadgets.Trainer" in before.stdout
    assert call(index, tmp_path, "gadgets").returncode == 0
    after = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert after.returncode == 0 and " 0 unknown" in after.stdout, after.stdout


def test_an_attribute_that_a_table_by_hand_replaces_is_known_of_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    (tmp_path / "gadgets.toml").write_text(
        '[[form]]\nold = "$one.tuned"\nnew = "$one.state > 0"\nwhere = { one = "is: gadgets.Trainer" }\n'
        'message = "tuned is gone"\ntitle = "compare"\nremoved = "2.0"\npackage = "gadgets"\n'
    )
    known = import_module("api_history").Known([tmp_path / "gadgets.toml"])
    assert known.knows_method("gadgets.Trainer", "tuned")
    assert not known.knows_method("gadgets.Racer", "tuned") and not known.knows_method("gadgets.Trainer", "state")
