"""Bringing originals from local repositories, and from a local server that speaks the format of the question site's API."""

from __future__ import annotations

import gzip
import http.server
import json
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bench.originals.addresses import Commit, Question, read_address
from dnnfix.bench.originals.cache import Cellar, Original
from dnnfix.bench.originals.commits import Commits
from dnnfix.bench.originals.questions import Questions, code_blocks
from dnnfix.bench.originals.scoring import score
from dnnfix.config import Settings
from dnnfix.errors import EnvironmentProblem
from tests.cli.programs import Call

BEFORE = "import keras\n\nmodel = keras.Sequential()\nmodel.fit(x, y, nb_epoch=3)\nprint('done')\n"
AFTER = BEFORE.replace("nb_epoch=3", "epochs=3")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://stackoverflow.com/questions/37213388", Question(37213388)),
        ("https://stackoverflow.com/questions/1/how-to", Question(1)),
        ("https://github.com/a/b.c/commit/" + "1" * 40, Commit("a/b.c", "1" * 40)),
        (
            f"https://github.com/a/b/commit/{'2' * 40}#diff-{'a' * 32}R12",
            Commit("a/b", "2" * 40, "a" * 32, "", 12, True),
        ),
        (
            f"https://github.com/a/b/commit/{'2' * 40}#diff-{'a' * 32}L7",
            Commit("a/b", "2" * 40, "a" * 32, "", 7, False),
        ),
        (f"https://github.com/a/b/commit/{'2' * 40}#L117", Commit("a/b", "2" * 40, "", "", 117, False)),
        (f"https://github.com/a/b/blob/{'3' * 40}/x/y.py#L40", Commit("a/b", "3" * 40, "", "x/y.py", 40)),
    ],
)
def test_addresses(url: str, address: object) -> None:
    assert read_address(url) == address


@pytest.mark.parametrize("url", ["https://example.org/x", "https://github.com/a/b", "ssh://x", ""])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="neither a question nor a commit"):
        read_address(url)


# --- Commits ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path) -> tuple[Path, str]:
    """A folder of repositories, and the commit in `someone/nets` that repairs `train.py` and touches more."""
    place = tmp_path / "hub" / "someone" / "nets"
    place.mkdir(parents=True)

    def git(*words: str) -> str:
        identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        done = subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    (place / "sub").mkdir()
    (place / "sub" / "train.py").write_text(BEFORE)
    (place / "notes.txt").write_text("one\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    (place / "sub" / "train.py").write_text(AFTER)
    (place / "notes.txt").write_text("two\n")
    (place / "new.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "repaired")
    return tmp_path / "hub", git("rev-parse", "HEAD")


def test_a_commit_comes_with_the_file_that_its_address_names(hub: tuple[Path, str], tmp_path: Path) -> None:
    base, sha = hub
    commits = Commits(tmp_path / "git", f"file://{base}")
    named = Commit("someone/nets", sha, md5(b"sub/train.py").hexdigest(), "", 4)
    found = commits.bring("gh-x", named)
    assert (found.before, found.after, found.line) == ({"sub/train.py": BEFORE}, {"sub/train.py": AFTER}, 4)
    whole = commits.bring("gh-y", Commit("someone/nets", sha[:12]))
    assert whole.before == {"sub/train.py": BEFORE}
    assert whole.after == {"new.py": "x = 1\n", "sub/train.py": AFTER}


def test_a_commit_that_is_there_is_not_fetched_again(hub: tuple[Path, str], tmp_path: Path) -> None:
    base, sha = hub
    Commits(tmp_path / "git", f"file://{base}").bring("gh-x", Commit("someone/nets", sha))
    again = Commits(tmp_path / "git", "file:///nowhere").bring("gh-x", Commit("someone/nets", sha))
    assert again.after is not None and "sub/train.py" in again.after


def test_what_is_gone_is_named(hub: tuple[Path, str], tmp_path: Path) -> None:
    base, sha = hub
    commits = Commits(tmp_path / "git", f"file://{base}")
    assert "someone/lost" in commits.bring("gh-x", Commit("someone/lost", sha)).gone
    assert "someone/nets at 0123456789" in commits.bring("gh-x", Commit("someone/nets", "0123456789" * 4)).gone
    assert "changes no file that the address names" in commits.bring("x", Commit("someone/nets", sha, "0" * 32)).gone


# --- Questions --------------------------------------------------------------------------------------------------------

QUESTION = {
    "question_id": 2,
    "title": "Why?",
    "body": f"<p>See</p><pre><code>{BEFORE}</code></pre><p>and <code>x</code></p><pre class='l'><code>a &lt; b</code></pre>",
}
ANSWERS = [
    {"question_id": 2, "answer_id": 7, "is_accepted": False, "score": 90, "body": "<p>no idea</p>"},
    {
        "question_id": 2,
        "answer_id": 5,
        "is_accepted": True,
        "score": 3,
        "body": "<pre><code>model.fit(x, y, epochs=3)</code></pre>",
    },
]


class Site(http.server.BaseHTTPRequestHandler):
    """Answers as the API does; `server.script` holds what comes before the answers: (status, body) pairs."""

    def do_GET(self) -> None:
        server: Any = self.server
        url = urllib.parse.urlsplit(self.path)
        given = urllib.parse.parse_qs(url.query)
        server.asked.append((url.path, given))
        status, body, headers = 200, {}, {}
        if server.script:
            status, body, headers = server.script.pop(0)
        elif url.path.endswith("/answers"):
            page = int(given["page"][0])
            body = {"items": ANSWERS[page - 1 : page], "has_more": page < len(ANSWERS), "quota_remaining": 90}
        else:
            body = {"items": [QUESTION], "has_more": False, "quota_remaining": 91}
        content = gzip.compress(json.dumps(body).encode())
        self.send_response(status)
        for name, value in {"Content-Encoding": "gzip", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Any]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.asked, server.script = [], []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_address[1]}/2.3"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_questions_come_in_one_batch_with_all_pages_of_their_answers(site: Any) -> None:
    waits: list[float] = []
    questions = Questions(site.url, wait=waits.append)
    found = {original.id: original for original in questions.bring({2: ["so-2"], 9: ["so-9"]})}
    assert [path for path, _ in site.asked] == ["/2.3/questions/2;9"] + ["/2.3/questions/2;9/answers"] * 2
    assert all(given["site"] == ["stackoverflow"] and given["filter"] == ["withbody"] for _, given in site.asked)
    assert list(found["so-2"].after or ()) == ["answer-5.html", "answer-7.html"], "the accepted one first"
    assert found["so-9"].gone == "the question is not there any more"
    assert questions.quota == 90
    assert len(waits) == 2 and all(0 < wait <= 1 for wait in waits), "requests are a second apart"


def test_what_the_site_asks_for_is_heeded(site: Any) -> None:
    throttled = {"error_id": 502, "error_name": "throttle_violation", "error_message": "more available in 83 seconds"}
    site.script = [
        (400, throttled, {}),
        (503, {}, {"Retry-After": "7"}),
        (200, {"items": [QUESTION], "has_more": False, "backoff": 11, "quota_remaining": 5}, {}),
    ]
    waits: list[float] = []
    (found,) = Questions(site.url, wait=waits.append).bring({2: ["so-2"]})
    assert not found.gone
    assert [round(wait) for wait in waits[:3]] == [83, 7, 11]


def test_a_refusal_ends_in_words_and_keeps_what_came(site: Any) -> None:
    site.script = [(400, {"error_id": 400, "error_name": "bad_parameter", "error_message": "ids"}, {})]
    with pytest.raises(EnvironmentProblem, match="bad_parameter: ids"):
        list(Questions(site.url, wait=lambda _: None).bring({2: ["so-2"]}))
    site.script = [(503, {}, {})] * 9
    with pytest.raises(EnvironmentProblem, match="HTTP status 503, 4 times"):
        list(Questions(site.url, wait=lambda _: None).bring({2: ["so-2"]}))
    site.script = [(200, {"items": [QUESTION], "has_more": False, "backoff": 9000}, {})]
    with pytest.raises(EnvironmentProblem, match="asks to wait 9000 s"):
        list(Questions(site.url, wait=lambda _: None).bring({2: ["so-2"]}))
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        list(Questions("http://127.0.0.1:9", wait=lambda _: None).bring({2: ["so-2"]}))


def test_blocks_of_code_are_read_as_text() -> None:
    assert code_blocks(QUESTION["body"]) == [BEFORE, "a < b"]  # type: ignore[arg-type]


# --- Keeping and scoring ----------------------------------------------------------------------------------------------


def test_originals_are_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    cellar = Cellar(tmp_path / "originals")
    assert cellar.has("gh-x") is None
    original = Original("gh-x", line=3, before={"../../evil.py": "a\r\n"}, after={"b/c.py": "ü"})
    cellar.put(original)
    assert cellar.has("gh-x") == original
    assert not (tmp_path / "evil.py").exists() and not (tmp_path.parent / "evil.py").exists()
    (tmp_path / "originals" / "gh-x" / "after" / "0").unlink()
    assert cellar.has("gh-x") is None, "half of one is none"
    cellar.put(Original("gh-x", gone="deleted"))
    assert cellar.has("gh-x") == Original("gh-x", gone="deleted", before={}, after={})


def test_findings_and_patches_are_held_against_the_human_change() -> None:
    found = score(Original("gh-x", before={"t.py": BEFORE}, after={"t.py": AFTER}), Settings())
    assert found.findings and (found.at_change, found.equal) == (1, 1)
    other = score(Original("gh-x", before={"t.py": BEFORE}, after={"t.py": BEFORE.replace("done", "ok")}), Settings())
    assert other.findings and (other.at_change, other.equal) == (0, 0)
    asked = {"title.txt": "Why?", "question.html": str(QUESTION["body"])}
    answer = score(Original("so-2", before=asked, after={"a": str(ANSWERS[1]["body"])}), Settings())
    assert answer.findings and answer.equal == 1
    assert score(Original("so-2", before=asked, after={"a": "<p>no code</p>"}), Settings()).equal == 0
    assert score(Original("gh-x", gone="deleted"), Settings()).skipped == "gone: deleted"
    assert score(Original("gh-x", before={"a.lua": "x"}, after={}), Settings()).skipped == "no Python before the change"


def test_the_command_brings_what_is_missing_and_replays_it(
    call: Call, benchmark: Path, hub: tuple[Path, str], site: Any, tmp_path: Path
) -> None:
    base, sha = hub
    index = (benchmark / "index.csv").read_text().replace("commit/abc1234def", f"commit/{sha}")
    (benchmark / "index.csv").write_text(index)
    cache = tmp_path / "cache"
    place = ("--benchmark", str(benchmark), "--cache-dir", str(cache))
    words = ("bench", "materialize", *place, "--git", f"file://{base}", "--api", site.url)
    said = call(*words)
    assert said.code == 0
    assert "so-1: gone: the question is not there any more\n" in said.out
    assert "gh-nobody-else-7654321: gone: " in said.out
    assert f"2 of 4 originals are in {cache / 'originals'}; 2 are gone\n" in said.out
    requests = len(site.asked)
    assert call(*words).out == said.out and len(site.asked) == requests, "nothing is asked for twice"
    replayed = call("bench", "replay", "--on", "originals", "--output", str(tmp_path / "out"), *place)
    assert replayed.code == 0
    assert "read 2 of 4" in replayed.out and "with a finding at a changed line 1 of 1" in replayed.out
    assert json.loads((tmp_path / "out" / "originals.json").read_text())[0]["id"] == "so-1"


def test_a_site_that_is_away_is_a_problem_and_nothing_is_lost(
    call: Call, benchmark: Path, hub: tuple[Path, str], tmp_path: Path
) -> None:
    words = ("bench", "materialize", "--benchmark", str(benchmark), "--cache-dir", str(tmp_path / "cache"))
    said = call(*words, "--git", f"file://{hub[0]}", "--api", "http://127.0.0.1:9")
    assert said.code == 2 and "http://127.0.0.1:9 cannot be reached" in said.err
    assert "0 of 4 originals" in said.out and "2 are gone" in said.out
    nothing = call("bench", "replay", "--on", "originals", "so-1", "--benchmark", str(benchmark))
    assert nothing.code == 2
