"""Times alone: each run is one measured time, of which no quality is known.

Such a run is of the suite `times alone`, so that it is never pooled with runs that were evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ttastats.base.records import TIMES_ALONE, Problem, Run

_NO_TIME = "no time above zero: counts as a failed run"


def timed_run(
    seconds: float | None, entry: str, *, failed: bool = False, line: int | None = None, **more: Any
) -> Run:
    """Return the run of one measured time; one without a time above zero has failed."""
    duration = seconds if seconds is not None and seconds > 0 else None
    is_unknown = duration is None and not failed
    return Run(
        suite=TIMES_ALONE,
        entry=entry,
        clock="wall",
        clock_zero="start of the measurement",
        run_status="aborted" if failed or is_unknown else "success",
        run_seconds=duration,
        problems=(Problem("no_time", _NO_TIME, "warning", line),) if is_unknown else (),
        **more,
    )


def timed_runs(
    times: Sequence[float | None], failed: Sequence[bool], entry: str, **more: Any
) -> Iterator[Run]:
    """Yield the runs of one entry; those behind the last that tells whether it failed did not."""
    for seconds, has_failed in zip_longest(times, failed[: len(times)], fillvalue=False):
        yield timed_run(seconds, entry, failed=has_failed, **more)


def distinct_names(names: Sequence[str], parameters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of entries, those that come again with their parameters behind them."""
    count = Counter(names)
    for name, settings in zip(names, parameters, strict=True):
        remarks = (f"{key}={value}" for key, value in settings.items()) if count[name] > 1 else ()
        yield " ".join((name, *remarks))
