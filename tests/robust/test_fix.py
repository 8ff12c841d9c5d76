"""`fix` on real programs, end to end: what is written, what is left alone, and what is said about it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import unidiff

from dnnfix.source.diff import unified_diff
from dnnfix.validate.certificate import digest
from tests.robust.calls import COMMAND, contents, dnnfix, environment

FAULTY = """import torch
from torch import nn

# größe
model = nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2))
model(torch.randn(2, 4))
"""
"""A program that crashes: the first layer expects 5 features, got 4."""

REPAIRED = FAULTY.replace("nn.Linear(5, 3)", "nn.Linear(4, 3)")
FAULT, REPAIR = b"nn.Linear(5, 3)", b"nn.Linear(4, 3)"
BOM = b"\xef\xbb\xbf"


@pytest.mark.slow
def test_the_diff_of_a_file_with_other_line_ends_applies(folder: Path) -> None:
    raw = BOM + FAULTY.replace("\n", "\r\n").encode()
    (folder / "a.py").write_bytes(raw)
    said = dnnfix("fix", "--unsafe", "--diff", "a.py", "--isolated", folder=folder)
    assert said.code == 1 and (folder / "a.py").read_bytes() == raw
    patch = unidiff.PatchSet(said.out.decode())
    assert [(file.path, file.added, file.removed) for file in patch] == [("a.py", 1, 1)]
    subprocess.run(["git", "apply", "-"], input=said.out, cwd=folder, check=True)
    assert (folder / "a.py").read_bytes() == raw.replace(FAULT, REPAIR)


def test_applying_twice_equals_once(folder: Path) -> None:
    file = folder / "a.py"
    raw = FAULTY.replace("\n", "\r\n").encode("latin-1")
    raw = b"# -*- coding: latin-1 -*-\r\n" + raw
    file.write_bytes(raw)
    file.chmod(0o750)
    said = dnnfix("fix", "--unsafe", "a.py", "--isolated", folder=folder)
    assert said.code == 0 and "a.py: applied patch-" in said.err
    assert file.read_bytes() == raw.replace(FAULT, REPAIR)
    assert file.stat().st_mode & 0o777 == 0o750
    once = contents(folder)
    said = dnnfix("fix", "--unsafe", "a.py", "--isolated", folder=folder)
    assert said.code == 0 and "No problems found" in said.text
    assert contents(folder) == once


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "repaired"), [(b"y\n", True), (b"n\nn\nn\nn\n", False)])
def test_answers_decide(folder: Path, answers: bytes, repaired: bool) -> None:
    (folder / "a.py").write_text(FAULTY)
    said = dnnfix("fix", "--interactive", "a.py", "--isolated", folder=folder, answers=answers)
    assert (folder / "a.py").read_text() == (REPAIRED if repaired else FAULTY)
    assert said.code == (0 if repaired else 1)
    assert "[y/n/q]" in said.err and "+model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))" in said.text


def test_without_being_asked_nothing_unsafe_is_written(folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    said = dnnfix("fix", "a.py", "--isolated", folder=folder)
    assert said.code == 1 and "--unsafe or --interactive applies it" in said.err
    assert (folder / "a.py").read_text() == FAULTY


@pytest.mark.slow
def test_files_that_may_not_be_written(folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    (folder / "a.py").chmod(0o444)
    said = dnnfix("fix", "--unsafe", "a.py", "--isolated", folder=folder)
    assert said.code == 2 and "a.py: is read-only and was not changed" in said.err
    assert (folder / "a.py").read_text() == FAULTY and os.listdir(folder) == ["a.py"]


@pytest.mark.slow
def test_a_file_that_changes_meanwhile_is_left_alone(folder: Path) -> None:
    file = folder / "a.py"
    file.write_text(FAULTY)
    argv = [*COMMAND, "fix", "--unsafe", "a.py", "--isolated"]
    process = subprocess.Popen(
        argv, cwd=folder, env=environment(folder.parent / "cache"), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while b"dnnfix/run/probe" not in b"".join(_commands(process.pid)) and process.poll() is None:
        time.sleep(0.02)
    file.write_text(FAULTY + "# mine\n")
    _, err = process.communicate(timeout=200)
    assert process.returncode == 2 and b"changed while dnnfix worked on it and was left alone" in err, err
    assert file.read_text() == FAULTY + "# mine\n"


def _commands(process: int) -> list[bytes]:
    """The command lines of the processes that a process has started."""
    from tests.robust.calls import children

    found = []
    for child in children(process):
        try:
            found.append(Path(f"/proc/{child}/cmdline").read_bytes())
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_standard_input_to_standard_output(folder: Path) -> None:
    said = dnnfix("fix", "--unsafe", "-", "--isolated", folder=folder, answers=FAULTY.encode())
    assert said.out == REPAIRED.encode(), said.err


def test_suppressions_and_baseline(folder: Path) -> None:
    faulty = FAULTY.replace("model(torch", "loss = nn.CrossEntropyLoss()(nn.Softmax(dim=1)(model(torch") + ""
    faulty = faulty.replace("(2, 4))", "(2, 4))), torch.zeros(2).long())").replace("(5, 2)", "(3, 2)")
    (folder / "a.py").write_text(faulty)
    first = dnnfix("check", "a.py", "--output-format", "json", folder=folder)
    codes = {finding["code"] for finding in first.document["findings"]}
    assert first.code == 1 and codes
    lines = {finding["line"]: finding["code"] for finding in first.document["findings"]}
    silenced = [
        f"{line}  # noqa: {lines[number]}" if number in lines else line
        for number, line in enumerate(faulty.splitlines(), 1)
    ]
    (folder / "b.py").write_text("\n".join(silenced) + "\n")
    assert dnnfix("check", "b.py", folder=folder).code == 0
    (folder / "c.py").write_text("# dnnfix: noqa\n" + faulty)
    assert dnnfix("check", "c.py", folder=folder).code == 0
    (folder / "d.py").write_text("import torch\nx = torch.zeros(3)  # noqa: DNF301\n")
    unused = dnnfix("check", "d.py", folder=folder)
    assert unused.code == 1 and "unused" in unused.text
    assert dnnfix("check", "a.py", "--write-baseline", "known.json", folder=folder).code == 0
    assert dnnfix("check", "a.py", "--baseline", "known.json", folder=folder).code == 0
    (folder / "a.py").write_text("\n\n" + faulty)
    assert dnnfix("check", "a.py", "--baseline", "known.json", folder=folder).code == 0, "lines may move"
    (folder / "known.json").write_text("{")
    broken = dnnfix("check", "a.py", "--baseline", "known.json", folder=folder)
    assert broken.code == 2 and "known.json" in broken.err


@pytest.mark.slow
def test_certificates_can_be_verified_and_broken(folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    said = dnnfix("suggest", "a.py", "--isolated", "--output-format", "json", folder=folder)
    certificate = next(patch["certificate"] for patch in said.document["patches"] if patch["certificate"])
    held = dnnfix("verify", certificate, "--isolated", folder=folder)
    assert held.code == 0 and "the proof holds" in held.text, held
    forged = json.loads(Path(certificate).read_text())
    idle = unified_diff(FAULTY.encode(), f"# as it was\n{FAULTY}".encode(), "a.py")
    forged["patch"] |= {"diff": idle, "sha256": digest(idle.encode())}
    forged["verdicts"] = [verdict for verdict in forged["verdicts"] if verdict["validator"] == "parses"]
    (folder / "forged.json").write_text(json.dumps(forged))
    untrue = dnnfix("verify", "forged.json", "--isolated", folder=folder)
    assert untrue.code == 1 and "the certificate does not name it, and it is" in untrue.text, untrue
    assert dnnfix("fix", "--unsafe", "a.py", "--isolated", folder=folder).code == 0
    repaired = dnnfix("verify", certificate, "--isolated", folder=folder)
    assert repaired.code == 0 and "the proof holds" in repaired.text, "the patch is applied: it is undone for the proof"
    elsewhere = dnnfix("verify", certificate, "--isolated", folder=folder.parent)
    assert elsewhere.code == 2 and "in the folder in which the patch was made" in elsewhere.err
    (folder / "a.py").write_text(FAULTY + "\n")
    changed = dnnfix("verify", certificate, "--isolated", folder=folder)
    assert changed.code == 2 and "it changed since" in changed.err
    (folder / "broken.json").write_text('{"schema": 3}')
    assert dnnfix("verify", "broken.json", "missing.json", folder=folder).code == 2


@pytest.mark.slow
def test_a_proof_is_repeated_with_the_arguments_that_it_was_made_with(folder: Path) -> None:
    (folder / "a.py").write_text("import sys\n\nrounds = int(sys.argv[1])\n" + FAULTY)
    flags = ["--isolated", "--arguments", "2 'a b'", "--output-format", "json"]
    said = dnnfix("suggest", "a.py", *flags, folder=folder)
    certificate = next(patch["certificate"] for patch in said.document["patches"] if patch["certificate"])
    assert json.loads(Path(certificate).read_text())["program"]["arguments"] == ["2", "a b"]
    held = dnnfix("verify", certificate, "--isolated", folder=folder)
    assert held.code == 0 and "the proof holds" in held.text, held
