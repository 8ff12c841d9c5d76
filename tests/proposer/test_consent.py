"""Whether a host may be told of programs is for the person who calls, never for a repository."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.cli.main import run
from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint, read_endpoint
from dnnfix.errors import ConfigError
from dnnfix.pipeline import verify_proposer
from dnnfix.proposer.consent import allow
from tests.cli.programs import HEALTHY

AWAY = "https://api.elsewhere.example/v1"


def asking(endpoint: str = AWAY, **settings: object) -> Endpoint:
    return read_endpoint({"endpoint": endpoint, "model": "m", **settings})


def never(question: str) -> bool:
    pytest.fail(f"asked: {question}")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://[::1]:80/v1",
        "http://127.9.9.9/v1",
        "http://LOCALHOST",
    ],
)
def test_this_machine_needs_no_leave(tmp_path: Path, address: str) -> None:
    allow(asking(address), tmp_path, (), never)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "address",
    [
        AWAY,
        "http://10.0.0.1/v1",
        "http://0.0.0.0/v1",
        "http://localhost.example/v1",
        "http://127.0.0.1.example/v1",
        "http://2130706433/v1",
        "http://[::ffff:10.0.0.1]/v1",
        "http://[fe80::1]/v1",
    ],
)
def test_another_host_needs_leave(tmp_path: Path, address: str) -> None:
    model = asking(address)
    with pytest.raises(ConfigError, match=f"--allow-host {model.host}".replace(".", r"\.")):
        allow(model, tmp_path, (), None)
    with pytest.raises(ConfigError):
        allow(model, tmp_path, ("elsewhere.example", "example"), lambda question: False)
    allow(model, tmp_path, (f" {model.host.upper()} ",), never)


def test_a_person_is_asked_once(tmp_path: Path) -> None:
    questions: list[str] = []

    def yes(question: str) -> bool:
        questions.append(question)
        return True

    folder = tmp_path / "dnnfix" / "model"
    allow(asking(), folder, (), yes)
    allow(asking(), folder, (), never)
    allow(asking(), folder, (), None)
    (question,) = questions
    assert "api.elsewhere.example" in question
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(ConfigError):
        allow(asking("https://other.example/v1"), folder, (), None)


def test_a_no_is_not_remembered_as_a_yes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        allow(asking(), tmp_path, (), lambda question: False)
    with pytest.raises(ConfigError):
        allow(asking(), tmp_path, (), None)


def test_leave_for_a_host_is_no_leave_to_send_it_another_variable(tmp_path: Path) -> None:
    allow(asking(key_env="MODEL_KEY"), tmp_path, (), lambda question: "MODEL_KEY" in question)
    allow(asking(key_env="MODEL_KEY"), tmp_path, (), never)
    with pytest.raises(ConfigError, match="CLOUD_SECRET"):
        allow(asking(key_env="CLOUD_SECRET"), tmp_path, (), None)


def test_this_machine_needs_leave_for_a_variable(tmp_path: Path) -> None:
    here = asking("http://127.0.0.1:8000/v1", key_env="CLOUD_SECRET")
    with pytest.raises(ConfigError, match="CLOUD_SECRET"):
        allow(here, tmp_path, (), None)
    allow(here, tmp_path, ("127.0.0.1",), never)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"api.elsewhere.example.evil\n", b"# api.elsewhere.example\n"])
def test_a_broken_list_allows_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "hosts").write_bytes(content)
    with pytest.raises(ConfigError):
        allow(asking(), tmp_path, (), None)


def test_a_list_in_the_cache_folder_of_a_repository_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "repository" / "model").mkdir(parents=True)
    (tmp_path / "repository" / "model" / "hosts").write_text("api.elsewhere.example\n")
    settings = Settings(proposer="model", model=asking(), cache_dir=tmp_path / "repository")
    with pytest.raises(ConfigError, match="--allow-host"):
        verify_proposer(settings)
    verify_proposer(settings, lambda question: True)
    assert (tmp_path / "user" / "dnnfix" / "model" / "hosts").read_text() == "api.elsewhere.example\n"


# --- settings, on the command line


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """`call("suggest", …)` in a folder with a program: the exit code, and what went to standard error."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(HEALTHY)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def made(*argv: str) -> tuple[int, str]:
        try:
            code = run([*argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return code, said.err + said.out

    return made


Call = Callable[..., tuple[int, str]]


@pytest.mark.parametrize("name", ["pyproject.toml", "dnnfix.toml"])
@pytest.mark.parametrize(
    "row",
    [
        'proposer = "model"',
        "offline = true",
        "dry-run = true",
        "dry_run = false",
        'allow-host = ["a"]',
        'allow_host = ["a"]',
    ],
)
def test_no_file_decides_that_a_program_is_sent(call: Call, name: str, row: str) -> None:
    Path(name).write_text("[tool.dnnfix]\n" * (name == "pyproject.toml") + f"{row}\n")
    code, said = call("suggest", "train.py")
    assert code == 2
    assert name in said and "counts on the command line only. Remove it here." in said


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('endpoint = "ftp://x/v1"', "`endpoint` that is no address that begins with http:// or https://"),
        ('endpoint = "https://me:pass@x/v1"', "`key-env` names the variable that has the key"),
        ('endpoint = "https://x/v1?key=3"', "leave out what begins with ? or #"),
        ('endpoint = "https://x:99999/v1"', "`endpoint` that is no address"),
        ("endpoint = 3", "`endpoint` that is no text"),
        ('endpont = "https://x/v1"', "has no setting `endpont`; there are `endpoint`"),
        ('model = ""', "`model` that is no text in one line"),
        ('key-env = "sk-abc"', "`key-env` that is no name of an environment variable in capitals"),
        ('key-env = "sk_live_abc"', "the key itself belongs into no file"),
        ("max-cost = -1", "`max-cost` that is no number from 0"),
        ("max-cost = nan", "`max-cost` that is no number from 0"),
        ("max-calls = 1.5", "`max-calls` that is no number from 0"),
        ("max-calls = true", "`max-calls` that is no number from 0"),
        ("timeout = 0", "`timeout` that is no number from 1 to 3600"),
        ("samples = 21", "`samples` that is no number from 1 to 20"),
        ("temperature = 2.5", "`temperature` that is no number from 0 to 2"),
        ("prices = [1.0]", "`prices` that is not two numbers"),
        ("prices = [1.0, -1.0]", "`prices` that is not two numbers"),
        ("mask = 1", "`mask` that is neither true nor false"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file_and_what_to_do(call: Call, row: str, says: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.dnnfix.model]\n{row}\n")
    code, said = call("suggest", "train.py")
    assert code == 2
    assert "pyproject.toml: `model` has" in said and says in said


@pytest.mark.parametrize(
    ("table", "says"), [("model = 3", "has to be a table such as"), ('model = "m"', "has to be a table such as")]
)
def test_what_is_no_table_is_told_so(call: Call, table: str, says: str) -> None:
    Path("dnnfix.toml").write_text(f"{table}\n")
    code, said = call("suggest", "train.py")
    assert code == 2 and "dnnfix.toml: `model`" in said and says in said


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("", "`endpoint` has to name a server"),
        ('endpoint = "http://127.0.0.1:1/v1"', "`model` has to name the model"),
        ('endpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\nmax-cost = 1', "`prices` says what tokens cost"),
        ('endpoint = "http://elsewhere.example/v1"\nmodel = "m"\nkey-env = "KEY"', "has to begin with https://"),
        (f'endpoint = "{AWAY}"\nmodel = "m"', "--allow-host api.elsewhere.example allows it"),
    ],
)
def test_what_is_missing_before_a_model_can_be_asked_is_said(call: Call, rows: str, says: str) -> None:
    Path("dnnfix.toml").write_text(f"[model]\n{rows}\n")
    code, said = call("suggest", "train.py", "--proposer", "model")
    assert code == 2 and says in said


@pytest.mark.parametrize(
    "row", ['endpoint = "https://me:hunter2@x/v1"', 'key-env = "sk-hunter2"', 'key = "sk-hunter2"']
)
def test_a_key_that_was_written_into_a_file_is_not_repeated(call: Call, row: str) -> None:
    Path("dnnfix.toml").write_text(f"[model]\n{row}\n")
    code, said = call("suggest", "train.py")
    assert code == 2 and "hunter2" not in said


def test_a_lower_sandbox_needs_trust(call: Call) -> None:
    Path("dnnfix.toml").write_text('[model]\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\n')
    code, said = call("suggest", "train.py", "--proposer", "model", "--sandbox", "limits")
    assert code == 2 and "is run in the bubblewrap sandbox only, or with --trust" in said
