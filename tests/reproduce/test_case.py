"""What a case knows of the files around a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.source.program import Source


def test_files_are_looked_for_where_the_program_is_started(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "net").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("1,2\n")
    text = b"rows = open('data/rows.csv').read()\nmore = open('data/more.csv').read()\n"
    case = Case(Source.from_bytes(text, "net/train.py"), (), lambda name: True, tmp_path / "net")
    assert case.start is not None and case.start.resolve() == tmp_path.resolve()
    assert case.exists("data/rows.csv") and case.sees("data/rows.csv")
    assert not case.exists("data/more.csv") and not case.exists("rows.csv")
    (tmp_path / "net" / "data").mkdir()
    (tmp_path / "net" / "data" / "more.csv").write_text("1,2\n")
    own = Case(Source.from_bytes(text, "net/train.py"), (), lambda name: True, tmp_path / "net")
    assert own.exists("data/more.csv") and not own.exists("data/rows.csv"), "its own folder has as many"


def test_a_module_is_asked_about_from_where_its_program_is_started(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "net").mkdir()
    (tmp_path / "rows.csv").write_text("1,2\n")
    module = Source.from_bytes(b"def read(path):\n    return open(path).read()\n", "readers.py")
    program = Source.from_bytes(b"import readers\nprint(readers.read('rows.csv'))\n", "net/train.py").along_with(
        (module,)
    )
    case = Case(program, (), lambda name: True, tmp_path / "net")

    def ask(one: Case) -> Iterator[Gap]:
        yield Gap(str(one.exists("rows.csv")))

    assert [gap.what for gap in everywhere(ask, case) if isinstance(gap, Gap)] == ["True", "readers.py: True"]
