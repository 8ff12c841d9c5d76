"""How frozen records are made: as `dataclass(frozen=True, slots=True)` makes them, told side by side."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from dnnfix.records.record import record


@record
class Made:
    name: str
    size: int = 3
    parts: tuple[int, ...] = ()
    notes: dict[str, int] = field(default_factory=dict, compare=False)
    hidden: int = field(default=0, repr=False)


@record
class Alone:
    value: float


@record
class Longer(Made):
    last: str = "end"


@record
class Doubled:
    value: int
    twice: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.value)


@dataclass(frozen=True, slots=True)
class Standard:
    name: str
    size: int = 3
    parts: tuple[int, ...] = ()
    notes: dict[str, int] = field(default_factory=dict, compare=False)
    hidden: int = field(default=0, repr=False)


def test_a_record_is_what_a_frozen_dataclass_is() -> None:
    one, standard = Made("a", parts=(1,)), Standard("a", parts=(1,))
    assert repr(one) == repr(standard).replace("Standard", "Made")
    assert asdict(one) == asdict(standard)
    assert [f.name for f in fields(one)] == [f.name for f in fields(standard)]
    assert hash(one) == hash(standard)
    assert Made.__match_args__ == Standard.__match_args__
    assert one == Made("a", 3, (1,), {"not": 1}, 0)
    assert one != Made("a", 4, (1,))
    assert one != standard  # type: ignore[comparison-overlap]
    assert replace(one, size=5) == Made("a", 5, (1,))


def test_each_record_has_defaults_of_its_own() -> None:
    one, other = Made("a"), Made("b")
    assert one.notes is not other.notes


@pytest.mark.parametrize("values", [(), ("a", 1, (), {}, 0, "more")])
def test_a_call_that_does_not_fit_is_refused(values: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        Made(*values)


def test_a_record_does_not_change() -> None:
    one = Made("a")
    with pytest.raises(FrozenInstanceError, match="'size'"):
        one.size = 4  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="'size'"):
        del one.size
    with pytest.raises(AttributeError):
        one.__dict__  # noqa: B018


@pytest.mark.parametrize("one", [Made("a", notes={"x": 1}), Alone(2.5), Longer("b", last="z"), Doubled(4)])
def test_a_record_is_kept_and_copied(one: Any) -> None:
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one


def test_a_record_of_one_field_is_equal_by_it() -> None:
    nan = float("nan")
    assert Alone(nan) == Alone(nan), "as tuples are: by identity first"
    assert Alone(1.0) != Alone(2.0)
    assert hash(Alone(1.0)) == hash((1.0,))


def test_fields_of_a_base_come_first_and_a_base_is_another_class() -> None:
    assert Longer("a", 1, (), {}, 0, "z").last == "z"
    assert Longer("a") != Made("a")
    assert Doubled(3).twice == 6
