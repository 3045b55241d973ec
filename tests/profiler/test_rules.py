"""The rules of a recorder that need no network: what warms up, what saturates, what lives."""

from __future__ import annotations

import pytest

from ttastats.trainer.profiler import memory, timing
from ttastats.trainer.profiler.workload import fitting_batch_size


@pytest.mark.parametrize(
    ("seconds", "steps"),
    [
        ([1.0] * 8, 1),  # the first always was
        ([9.0, 3.0, 1.2, 1.04, 1.0, 1.0, 1.0, 1.0], 3),  # within five percent
        ([9.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1),  # a slow step later on is none
        ([9.0, 0.5, 1.0, 1.0, 1.0, 1.0], 1),
    ],
)
def test_steps_warm_up_until_one_is_as_short_as_the_last_half(
    seconds: list[float], steps: int
) -> None:
    assert timing.warm_up_steps(seconds)[0] == steps


def test_steps_that_never_settle_cost_half_of_them_and_it_is_said() -> None:
    steps, rule = timing.warm_up_steps([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0])
    assert steps == 4
    assert rule.endswith("median of the last half; there was none, so half of them are excluded")
    with pytest.raises(ValueError, match="fewer than four"):
        timing.warm_up_steps([1.0, 1.0, 1.0])


def test_storages_at_the_peak_are_those_that_lived_when_most_bytes_did() -> None:
    log = [(0, 100), (1, 50), (0, -100), (2, 80), (1, -50)]
    assert memory.live_at_peak(log) == {0: 100, 1: 50}
    assert memory.live_at_peak([(0, 5), (0, -5), (1, 4), (2, 4)]) == {1: 4, 2: 4}
    assert memory.live_at_peak([]) == {}


def test_the_allocator_s_peak_is_of_the_cpu_and_in_the_order_of_time() -> None:
    def event(moment: int, size: int, kind: int = 0) -> dict[str, object]:
        return {"name": "[memory]", "ts": moment, "args": {"Bytes": size, "Device Type": kind}}

    trace = [event(3, -10), event(1, 10), event(4, 15), event(2, 10), event(5, 99, kind=1)]
    assert memory.peak_bytes([*trace, {"name": "aten::add", "ts": 0}]) == 25


def test_a_batch_is_halved_until_its_step_is_short() -> None:
    assert fitting_batch_size(512, seconds_by_sample=0.03) == 8
    assert fitting_batch_size(512, seconds_by_sample=9) == 2
    assert fitting_batch_size(512, seconds_by_sample=0.001) == 128
    assert fitting_batch_size(64, seconds_by_sample=0.001) == 64
