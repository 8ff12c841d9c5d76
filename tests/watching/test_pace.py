"""How often is looked: within its share of the time, whatever a step and a look cost."""

from __future__ import annotations

import pytest

from dnnfix.watching.pace import UNKNOWN, Pace


class Clock:
    """Clocks that go when they are told to: the processor's more slowly, where other processes work as well."""

    def __init__(self, processor: float = 1.0) -> None:
        self.now = 100.0
        self.processor = processor

    def __call__(self) -> tuple[float, float]:
        return self.now, self.processor * self.now


@pytest.mark.parametrize(("step", "look"), [(0.0002, 0.004), (0.05, 0.02), (2.0, 0.5), (0.001, 3.0)])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_looking_keeps_within_its_share(step: float, look: float, share: float) -> None:
    clock = Clock()
    pace = Pace(share, clock)
    looks = asked = 0
    for number in range(1, int(max(4000, 6 * max(look, UNKNOWN) / share / step))):
        clock.now += step
        if number >= pace.next:
            asked += 1
            if pace.has_time(number):
                assert looks == 0 or (looks + 1) * look <= share * pace.elapsed[0] * 1.001
                clock.now += look
                pace.looked(number, (look, look))
                looks += 1
    assert looks >= 3, "one that never looks keeps within it, too"
    assert asked <= 40 * looks + 200, "asking costs time as well"


def test_a_step_that_takes_long_is_looked_at_often() -> None:
    clock = Clock()
    pace = Pace(0.02, clock)
    looked = []
    for number in range(1, 200):
        clock.now += 10.0
        if number >= pace.next and pace.has_time(number):
            looked.append(number)
            pace.looked(number, (0.01, 0.01))
    assert looked[0] == 4 and len(looked) > 60


def test_on_a_busy_machine_the_clock_of_the_processor_counts() -> None:
    clock = Clock(processor=0.1)
    pace = Pace(0.02, clock)
    looks = 0
    for number in range(1, 4000):
        clock.now += 0.01
        if number >= pace.next and pace.has_time(number):
            looks += 1
            pace.looked(number, (0.004, 0.004))
    assert 3 <= looks <= 0.02 * 4000 * 0.001 / 0.004 + 1
    assert pace.taken <= 0.021
