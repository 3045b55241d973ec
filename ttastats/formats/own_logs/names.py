"""What may a column be, going by its name: a metric of quality, a clock, a count of progress?

Nothing here looks at values. Whoever acts on a guess says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ttastats.base.metric_names import evaluation_metrics, higher_is_better

#: Counts by their names, the likeliest first.
COUNTS = {
    "step": ("step", "global_step", "Step", "_step", "iteration", "iter", "steps", "num_steps"),
    "epoch": ("epoch", "Epoch", "epochs", "num_epochs"),
    "samples": ("samples", "consumed_samples", "consumed samples", "num_samples", "samples_count"),
}
#: Seconds of the units of time, by the names that a block may give them; the first is usual.
SECONDS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0, "h": 3600.0,
    "hours": 3600.0,
}  # fmt: skip
#: Units of time by their seconds.
UNITS = {seconds: unit for unit, seconds in reversed(SECONDS.items())}
_CLOCKS = {
    1.0: (
        "seconds", "time", "_runtime", "runtime", "Runtime", "time_s", "time_sec", "elapsed",
        "elapsed_s", "elapsed_seconds", "elapsed_time", "time_elapsed", "time/time_elapsed",
        "total_time", "train_time", "train_time_s", "train_time_sec", "training_time",
        "training_seconds", "wall_time", "walltime", "wall_seconds", "wallclock",
        "Relative Time (Process)", "Relative Time (Wall)",
    ),
    1e-3: ("time_ms", "elapsed_ms", "train_time_ms", "milliseconds"),
    60.0: ("minutes", "time_min", "elapsed_minutes"),
    3600.0: ("hours", "time_h"),
}  # fmt: skip
#: What `guess` calls the time of a bar of tqdm that came to its end.
OF_A_BAR = "elapsed_of_bar"
#: Clocks by name, with the seconds of one unit.
CLOCKS = {name: seconds for seconds, names in _CLOCKS.items() for name in names}


def guess_metrics(columns: Iterable[str]) -> tuple[str, ...]:
    """Return which columns are quality metrics of evaluations, judged by their names."""
    names = tuple(columns)
    measured = evaluation_metrics(names)
    return tuple(
        name
        for name in names
        if name in measured and higher_is_better(name) is not None and "train" not in name.lower()
    )


def guess_clocks(columns: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Return the columns that may be a clock by their names, with their units in seconds."""
    return tuple((name, CLOCKS[name]) for name in columns if name in CLOCKS)


def first_known(known: Sequence[str], columns: Iterable[str]) -> str | None:
    """Return the first of some known names that is a column, or None."""
    present = set(columns)
    return next((name for name in known if name in present), None)
