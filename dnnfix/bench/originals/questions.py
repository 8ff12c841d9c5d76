"""Downloads questions with their answers by the public API of the question site (api.stackexchange.com, version 2.3).

The API asks its users to send at most a hundred ids at once, to wait as long as `backoff` says, and to keep to a quota
of requests a day; https://api.stackexchange.com/docs/throttle says so.
"""

from __future__ import annotations

import gzip
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from dnnfix import __version__
from dnnfix.bench.originals.cache import Original
from dnnfix.errors import EnvironmentProblem

API = "https://api.stackexchange.com/2.3"
BATCH = 100
"""Ids that one request may ask for."""
APART = 1.0
"""Seconds between requests; the API allows thirty a second, and nobody is in a hurry here."""
LONGEST_WAIT = 300.0
"""Seconds that a request to wait is heeded; beyond that the user is asked to come again."""
ATTEMPTS = 4


@dataclass
class Questions:
    """Asks the API at `base`. `wait` sleeps; `quota` is what the API last said was left."""

    base: str = API
    key: str = ""
    wait: Callable[[float], None] = time.sleep
    quota: int | None = None
    _free_at: float = field(default=0.0)

    def bring(self, wanted: Mapping[int, Sequence[str]]) -> Iterator[Original]:
        """The originals of instances by question number, batch after batch; `gone` for questions that were deleted.

        Raises:
            EnvironmentProblem: the API cannot be reached, or refuses further requests: what came before stays.
        """
        numbers = sorted(wanted)
        for start in range(0, len(numbers), BATCH):
            batch = numbers[start : start + BATCH]
            ids = ";".join(str(number) for number in batch)
            questions = {item["question_id"]: item for item in self._pages(f"questions/{ids}")}
            answers: dict[int, list[Any]] = {}
            for item in self._pages(f"questions/{ids}/answers"):
                answers.setdefault(item["question_id"], []).append(item)
            for number in batch:
                yield from (_original(id, questions.get(number), answers.get(number, [])) for id in wanted[number])

    def _pages(self, path: str) -> Iterator[Any]:
        page = 1
        while True:
            answer = self._asked(
                path, {"site": "stackoverflow", "filter": "withbody", "pagesize": "100", "page": str(page)}
            )
            yield from answer.get("items", ())
            if not answer.get("has_more"):
                return
            page += 1

    def _asked(self, path: str, given: Mapping[str, str]) -> Any:
        """One answer of the API. Waits where it asks for it, and tries again where it was overloaded."""
        query = urllib.parse.urlencode({**given, **({"key": self.key} if self.key else {})})
        request = urllib.request.Request(
            f"{self.base}/{path}?{query}", headers={"Accept-Encoding": "gzip", "User-Agent": f"dnnfix/{__version__}"}
        )
        said = ""
        for attempt in range(ATTEMPTS):
            self._pause()
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    answer = _read(response)
            except urllib.error.HTTPError as error:
                said, seconds = _refusal(error)
                if seconds is None:
                    raise EnvironmentProblem(f"{self.base}: {said}") from None
                self._hold(seconds or 2.0**attempt)
                continue
            except (OSError, ValueError) as error:
                raise EnvironmentProblem(f"{self.base} cannot be reached: {error}") from None
            self.quota = answer.get("quota_remaining", self.quota)
            self._hold(float(answer.get("backoff", 0)))
            if self.quota == 0 and answer.get("has_more"):
                raise EnvironmentProblem(f"{self.base}: the quota of requests is used up. Run it again tomorrow.")
            return answer
        raise EnvironmentProblem(f"{self.base}: {said}, {ATTEMPTS} times. Run it again later; what came stays.")

    def _pause(self) -> None:
        left = self._free_at - time.monotonic()
        if left > 0:
            self.wait(left)
        self._free_at = time.monotonic() + APART

    def _hold(self, seconds: float) -> None:
        if seconds > LONGEST_WAIT:
            raise EnvironmentProblem(f"{self.base} asks to wait {seconds:.0f} s. Run it again then; what came stays.")
        self._free_at = max(self._free_at, time.monotonic() + seconds)


def _read(response: Any) -> Any:
    content = response.read()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def _refusal(error: urllib.error.HTTPError) -> tuple[str, float | None]:
    """What the API said, and how long to wait before asking again; `None` where asking again is of no use."""
    try:
        told = _read(error)
        said = f"{told['error_name']}: {told['error_message']}"
        throttled = told.get("error_id") == 502
    except (OSError, ValueError, AttributeError, LookupError, TypeError):
        said, throttled = f"HTTP status {error.code}", False
    after = error.headers.get("Retry-After", "") if error.headers else ""
    seconds = float(after) if after.isdecimal() else 0.0
    if throttled and not seconds:  # "too many requests from this IP, more requests available in 83 seconds"
        words = [word for word in said.split() if word.isdecimal()]
        seconds = float(words[-1]) if words else 0.0
    return said, seconds if throttled or error.code in (429, 500, 502, 503, 504) else None


def _original(id: str, question: Any, answers: Sequence[Any]) -> Original:
    if question is None:
        return Original(id, gone="the question is not there any more")
    ranked = sorted(answers, key=lambda a: (not a.get("is_accepted"), -a.get("score", 0), a["answer_id"]))
    before = {"title.txt": question.get("title", ""), "question.html": question.get("body", "")}
    return Original(id, before=before, after={f"answer-{a['answer_id']}.html": a.get("body", "") for a in ranked})


class _Blocks(HTMLParser):
    """Collects the blocks of code of a post."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block."""
        if tag == "pre":
            self._inside = True
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        if tag == "pre":
            self._inside = False

    def handle_data(self, data: str) -> None:
        """Take what is in a block."""
        if self._inside:
            self.found[-1] += data


def code_blocks(body: str) -> list[str]:
    """The blocks of code in the body of a post, in order."""
    parser = _Blocks()
    parser.feed(body)
    parser.close()
    return parser.found
