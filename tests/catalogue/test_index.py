"""The index of the catalogue: it says what the rules say, and spares a check the import of most of them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix import index, registry
from dnnfix.errors import CatalogueError

COUNTED = """
import sys
from dnnfix.cli.main import run
code = run(["check", "--isolated", "--no-cache", sys.argv[1]])
print(code, sum(name.startswith("dnnfix.fix_templates.") for name in sys.modules))
"""


def clear() -> None:
    """Ask for the index anew, and for what it stands on."""
    index.builtin.cache_clear()
    index._engine.cache_clear()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index of the test's own; the one of the process is asked anew afterwards."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache"))
    clear()
    yield
    clear()


def again() -> tuple[index.Listed, ...]:
    clear()
    return index.builtin()


def test_the_index_says_what_the_templates_say() -> None:
    made = index.builtin()
    assert index.kept_at().exists() and again() == made
    for one in made:
        template = one.load()
        assert (template.code, template.name, tuple(template.triggers)) == (one.code, one.name, one.triggers)
        assert (template.needs_run, template.default, template.family) == (one.needs_run, one.default, one.family)
    assert len(registry.templates()) >= len(made) > 150


def test_nothing_is_imported_while_the_index_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = index.builtin()
    monkeypatch.setattr(index, "_catalogue", lambda: pytest.fail("the catalogue was imported"))
    assert again() == made


@pytest.mark.parametrize("ending", ["changed", "cut short", "other words"])
def test_an_index_that_does_not_hold_is_made_anew(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, place = index.builtin(), index.kept_at()
    if ending == "changed":
        monkeypatch.setattr(index, "_stamp", lambda: "another")
    else:
        text = place.read_text()
        place.write_text(text[: len(text) // 2] if ending == "cut short" else json.dumps([1, 2]))
    assert again() == made
    assert json.loads(place.read_text())["stamp"] == index._stamp()


def test_a_changed_file_changes_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = tmp_path / "fix_templates" / "data_type" / "rule.py"
    rule.parent.mkdir(parents=True)
    rule.write_text("code = 1")
    monkeypatch.setattr(index, "PACKAGE", tmp_path)
    before = index._stamp()
    os.utime(rule, ns=(1, 1))
    assert index._stamp() != before
    (rule.parent / "more.toml").touch()
    with_more = index._stamp()
    assert with_more != before and index._stamp() == with_more


def test_where_it_cannot_be_kept_the_rules_are_there_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "kept_at", lambda *_: Path("/proc/none/index.json"))
    assert len(index.builtin()) > 150


def test_a_check_imports_only_what_a_program_may_have_to_do_with(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\n\nnet = torch.nn.Linear(2, 1)\nprint(net(torch.ones(1, 2)).data[0])\n")
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    counts = []
    for _ in range(2):
        done = subprocess.run(
            (sys.executable, "-c", COUNTED, str(program)), env=environment, capture_output=True, text=True, check=True
        )
        counts.append(int(done.stdout.split()[-1]))
    assert counts[0] > 150 and counts[1] < 120


RULE = """
from dnnfix.api import Family, FixPattern, FixTemplate

class {kind}(FixTemplate):
    code, name, message = "{code}", "{name}", "found"
    formerly = ("{code}9",)
    family, fix_pattern = Family.DATA_TYPE, FixPattern.DATA_TYPE
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, one of which has rules in a package, and one in a module."""
    for name, point in (("acme", "acme_dnnfix.rules"), ("alone", "alone_rules")):
        about = tmp_path / f"{name}-1.dist-info" / "entry_points.txt"
        about.parent.mkdir()
        about.write_text(f"[console_scripts]\nacme = acme:main\n\n[dnnfix.templates]\nrules = {point}\n")
    for folder in ("", "rules", "rules/more"):
        (tmp_path / "acme_dnnfix" / folder).mkdir()
        (tmp_path / "acme_dnnfix" / folder / "__init__.py").touch()
    (tmp_path / "acme_dnnfix" / "rules" / "first.py").write_text(
        RULE.format(kind="First", code="ACME101", name="first")
    )
    (tmp_path / "acme_dnnfix" / "rules" / "more" / "next.py").write_text(
        RULE.format(kind="Next", code="ACME102", name="next")
    )
    (tmp_path / "alone_rules.py").write_text(RULE.format(kind="Alone", code="LONE101", name="alone"))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("acme_dnnfix", "alone_rules"))]:
        del sys.modules[name]


def installed_again() -> list[str]:
    for kept in (index.entry_points, index.installed, index._former):
        kept.cache_clear()
    importlib.invalidate_caches()
    return [one.code for one in index.installed()]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What is installed is asked for anew afterwards."""
    yield
    for kept in (index.entry_points, index.installed, index._former):
        kept.cache_clear()


def test_rules_of_installed_packages_are_listed_and_loaded_when_asked_for(site: Path) -> None:
    assert installed_again() == ["ACME101", "ACME102", "LONE101"]
    for name in [name for name in sys.modules if name.startswith(("acme_dnnfix", "alone_rules"))]:
        del sys.modules[name]
    assert installed_again() == ["ACME101", "ACME102", "LONE101"]
    assert not {"acme_dnnfix.rules.first", "alone_rules"} & set(sys.modules)
    assert index.installed()[0].load().code == "ACME101" and index.today("ACME1029") == "ACME102"
    assert {"ACME101", "LONE101"} <= {one.code for one in registry.listed()}


@pytest.mark.parametrize(
    "changed", ["acme_dnnfix/rules/first.py", "acme_dnnfix/rules/__init__.py", "acme_dnnfix/more.py"]
)
def test_an_edit_of_an_installed_package_is_seen(changed: str, site: Path) -> None:
    installed_again()
    before = index.stamp_of("acme_dnnfix.rules")
    (site / changed).write_text("code = 1  # another")
    assert index.stamp_of("acme_dnnfix.rules") != before


def test_a_module_that_cannot_be_imported_ends_the_run(site: Path) -> None:
    (site / "acme_dnnfix" / "rules" / "broken.py").write_text("1 / 0")
    with pytest.raises(CatalogueError, match="acme_dnnfix.rules.broken: cannot be imported: ZeroDivisionError"):
        installed_again()
    (site / "acme-1.dist-info" / "entry_points.txt").write_text("[dnnfix.templates]\nrules = acme_gone.rules\n")
    with pytest.raises(CatalogueError, match="acme_gone"):
        installed_again()


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("[dnnfix.template]\nrules = acme_dnnfix.rules\n", r"entry_points.txt: \[dnnfix.template\] is no group"),
        ("[dnnfix.templates]\nrules = acme_dnnfix.rulez\n", "names acme_dnnfix.rulez, and there is no such module"),
        ("[dnnfix.templates]\nrules = json\n", "names json, and no class there derives from FixTemplate"),
    ],
)
def test_an_entry_point_without_rules_ends_the_run(site: Path, points: str, said: str) -> None:
    (site / "acme-1.dist-info" / "entry_points.txt").write_text(points)
    with pytest.raises(CatalogueError, match=said):
        installed_again()


VALIDATOR = """
from dnnfix.api import Evidence, Verdict

NAME, RUNG = "few-steps", "run"


def judge(evidence: Evidence) -> Verdict:
    return Verdict.passes("always")
"""


def test_validators_of_installed_packages_take_part(site: Path) -> None:
    folder = site / "acme_dnnfix" / "judges"
    folder.mkdir()
    for name in ("__init__.py", "_helper.py"):
        (folder / name).touch()
    (folder / "few_steps.py").write_text(VALIDATOR)
    points = site / "acme-1.dist-info" / "entry_points.txt"
    for value in ("acme_dnnfix.judges", "acme_dnnfix.judges.few_steps"):
        points.write_text(f"[dnnfix.validators]\njudges = {value}\n")
        assert installed_again() == ["LONE101"]
        assert [one.rung for one in registry.validators.__wrapped__() if one.name == "few-steps"] == ["run"]
    points.write_text("[dnnfix.validators]\njudges = acme_dnnfix.rulez\n")
    installed_again()
    with pytest.raises(
        CatalogueError, match="of dnnfix.validators names acme_dnnfix.rulez, and there is no such module"
    ):
        registry.validators.__wrapped__()
    points.write_text("[dnnfix.validators]\njudges = acme_dnnfix.rules.first\n")
    installed_again()
    with pytest.raises(CatalogueError, match=r"first.py: a validator has NAME, RUNG and judge"):
        registry.validators.__wrapped__()
