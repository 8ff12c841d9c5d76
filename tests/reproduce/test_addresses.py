"""What programs fetch from addresses is made: pictures and texts."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import addresses
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]


def steps_of(text: str, *traces: Trace) -> list[EditStep]:
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    return [step for step in addresses.steps(Case(source, traces, lambda name: True)) if isinstance(step, EditStep)]


PICTURES = """
    import io, urllib.request
    import requests
    from PIL import Image
    address = "http://images.example.org/val/39.jpg?size=large"
    raw = requests.get(address, stream=True).raw
    raw.decode_content = True
    print(Image.open(raw).size)
    answer = requests.get(address)
    answer.raise_for_status()
    print(answer.ok, Image.open(io.BytesIO(answer.content)).convert("RGB").size)
    print(Image.open(urllib.request.urlopen(address)).size)
    path, _ = urllib.request.urlretrieve(address, "here.jpg")
    print(path, Image.open(path).size)
    print(len(requests.get("https://example.org/words.txt").text) > 1000)
"""


def test_pictures_and_texts_are_there(run_in: Run) -> None:
    program = textwrap.dedent(PICTURES)
    trace = run_in(program, joined(steps_of(program)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == [
        "(640, 480)",
        "True (640, 480)",
        "(640, 480)",
        "here.jpg (640, 480)",
        "True",
    ]


def test_an_address_that_does_not_say_what_it_has_is_asked(run_in: Run) -> None:
    program = 'import requests\nrequests.get("https://example.org/a.jpg")\nrequests.get("https://example.org/table")\n'
    assert run_in(program, joined(steps_of(program))).outcome is RunOutcome.NEEDS_NETWORK


def test_an_address_that_is_worked_out_is_answered_once_a_run_missed_it(run_in: Run) -> None:
    program = (
        'import requests\nfor n in "ab":\n    print(len(requests.get(f"https://example.org/{n}.png").content) > 0)\n'
    )
    assert not steps_of(program)
    trace = run_in(program)
    assert trace.outcome is RunOutcome.NEEDS_NETWORK
    assert run_in(program, joined(steps_of(program, trace))).printed == "True\nTrue\n"


@pytest.mark.parametrize(
    "text", ['print("https://example.org/a.jpg")\n', "import requests\nrequests.get('https://a.b')\n"]
)
def test_nothing_is_made_where_nothing_is_fetched_or_known(text: str) -> None:
    assert not steps_of(text)
