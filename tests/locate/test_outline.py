"""What of a file is indexed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dnnfix.locate.outline import Definition, outline

TEXT = '''import torch.nn as nn
from . import layers


@decorated
class Model(nn.Module):
    """Sees words."""

    size = nn.Linear(128, 10)

    def forward(self, x):
        if x.ndim != 2:
            raise ValueError(
                f"expected two dimensions, got {x.ndim}"
            )
        return self.head(x)  # the scores


if True:

    async def serve(): return 1
'''


def test_definitions_have_their_lines() -> None:
    assert outline(TEXT).definitions == (
        Definition("Model", 5, 16, is_class=True),
        Definition("Model.forward", 11, 16, is_class=False),
        Definition("serve", 21, 21, is_class=False),
    )


def test_a_file_that_does_not_parse_has_its_definitions_too() -> None:
    broken = f"{TEXT}\nprint 'of another Python'\n"
    assert [each.name for each in outline(broken).definitions][:2] == ["Model", "Model.forward"]
    assert outline(broken).definitions[1].first == 11


def test_messages_and_sizes_are_found() -> None:
    seen = outline(TEXT)
    assert [(message.line, "expected two dimensions" in message.text) for message in seen.messages] == [(13, True)]
    assert [(built.line, built.numbers) for built in seen.built] == [(9, frozenset({128, 10}))]


def test_a_class_has_the_words_that_none_of_its_methods_has() -> None:
    seen = outline(TEXT)
    of_class, of_method = seen.bodies[:2]
    assert "size" in of_class.split() and "ndim" not in of_class.split()
    assert "ndim" in of_method.split() and "sees" in seen.notes.split() and "scores" in seen.notes.split()


@given(st.text(max_size=300))
def test_any_text_has_an_outline(text: str) -> None:
    seen = outline(text)
    assert len(seen.bodies) == len(seen.definitions)
    assert all(1 <= each.first <= each.last <= seen.lines for each in seen.definitions)
