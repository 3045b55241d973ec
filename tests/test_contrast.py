"""What is claimed of a contrast, alone and among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ttastats.sides.contrast import ValuesContrast, with_verdicts
from ttastats.sides.options import Options
from ttastats.stats.means import mean_difference
from ttastats.stats.results import Verdict

A = np.array([0.50, 0.52, 0.51, 0.49, 0.50, 0.51])


def of(b: np.ndarray, **changes: Any) -> ValuesContrast[None]:
    gap = mean_difference(A, b, confidence=0.95)
    return ValuesContrast({}, None, None, difference=gap, p_value=gap.p_value, **changes)


def words(
    *contrasts: ValuesContrast[None], margin: float | None = None, **options: Any
) -> list[str]:
    return [c.verdict.word.value for c in with_verdicts(contrasts, Options(**options), margin)]


@pytest.mark.parametrize("incomplete", [(True, False), (False, True)])
def test_no_side_with_failed_runs_is_called_better_or_the_same(
    incomplete: tuple[bool, bool],
) -> None:
    of_better, of_worse = of(A + 0.1), of(A - 0.1)
    if incomplete[1]:
        of_better, of_worse = of_worse, of_better
    (comparison,) = with_verdicts([replace(of_better, incomplete=incomplete)], Options())
    assert (comparison.verdict.word, comparison.verdict.why) == (Verdict.UNDECIDED, "runs missing")
    assert words(replace(of_worse, incomplete=incomplete)) != ["undecided"]
    assert words(of(A), margin=0.1) == ["same"]
    assert words(of(A, incomplete=incomplete), margin=0.1) == ["undecided"]
