"""Which targets are asked about, and where the answer changes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ttastats.stats.unseen import target_grid


@pytest.mark.parametrize(
    ("lowest", "highest", "points", "targets"),
    [
        (0.00374, 0.74942, 9, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
        (18.71, 21.85, 9, (19.0, 19.5, 20.0, 20.5, 21.0, 21.5)),
        (0.13182, 0.21239, 9, (0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.2, 0.21)),
        (0.1, 0.3, 9, (0.1, 0.15, 0.2, 0.25, 0.3)),  # both ends, though 0.3 is not 2 * 0.15
        (11.0, 14.5, 2, (12.0, 14.0)),
        (0.99, 1.01, 2, (1.0,)),
        (-2500.0, -180.0, 5, (-2500.0, -2000.0, -1500.0, -1000.0, -500.0)),
    ],
)
def test_the_grid_holds_round_targets_of_the_range_that_all_runs_reached(
    lowest: float, highest: float, points: int, targets: tuple[float, ...]
) -> None:
    assert target_grid(lowest, highest, points) == targets
    negated = tuple(-target for target in targets)
    assert target_grid(-lowest, -highest, points) == negated


@given(
    ends=st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2),
    points=st.integers(2, 20),
)
@example(ends=(1.797693134862315e308, 1.7976931348623151e308), points=3)
def test_every_range_has_a_target_and_no_more_than_asked_for(
    ends: tuple[float, float], points: int
) -> None:
    low, high = sorted(ends)
    grid = target_grid(low, high, points)
    assert 1 <= len(grid) <= points
    assert all(low <= target <= high for target in grid)
    assert list(grid) == sorted(set(grid))


@pytest.mark.filterwarnings("error")
def test_a_grid_over_all_floats_is_one_of_numbers() -> None:
    assert target_grid(-1.6e308, 1.6e308, 3) == (-1e308, 0.0, 1e308)
