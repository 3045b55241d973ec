"""What may a column be, going by its name: a metric of quality, a clock, a count of progress?

Nothing here looks at values. Whoever acts on a guess says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ttastats.metric_names import evaluated, higher_is_better

STEPS = ("step", "global_step", "Step", "_step", "iteration", "iter", "steps", "num_steps")
EPOCHS = ("epoch", "Epoch", "epochs", "num_epochs")
SAMPLES = ("samples", "consumed_samples", "consumed samples", "num_samples", "samples_count")

#: Counts by their names, the likeliest first.
COUNTS = {"step": STEPS, "epoch": EPOCHS, "samples": SAMPLES}
#: Units of time by their seconds.
UNITS = {1.0: "s", 1e-3: "ms", 60.0: "min", 3600.0: "h"}

#: Clocks by name, with the seconds of one unit.
CLOCKS = {
    "seconds": 1.0,
    "time": 1.0,
    "_runtime": 1.0,
    "runtime": 1.0,
    "Runtime": 1.0,
    "time_s": 1.0,
    "time_sec": 1.0,
    "elapsed": 1.0,
    "elapsed_s": 1.0,
    "elapsed_seconds": 1.0,
    "elapsed_time": 1.0,
    "time_elapsed": 1.0,
    "time/time_elapsed": 1.0,
    "total_time": 1.0,
    "train_time": 1.0,
    "train_time_s": 1.0,
    "train_time_sec": 1.0,
    "training_time": 1.0,
    "training_seconds": 1.0,
    "wall_time": 1.0,
    "walltime": 1.0,
    "wall_seconds": 1.0,
    "wallclock": 1.0,
    "Relative Time (Process)": 1.0,
    "Relative Time (Wall)": 1.0,
    "time_ms": 1e-3,
    "elapsed_ms": 1e-3,
    "train_time_ms": 1e-3,
    "milliseconds": 1e-3,
    "minutes": 60.0,
    "time_min": 60.0,
    "elapsed_minutes": 60.0,
    "hours": 3600.0,
    "time_h": 3600.0,
}


def metrics(columns: Iterable[str]) -> tuple[str, ...]:
    """Guess which columns are metrics of quality: those of evaluations whose direction is known."""
    names = tuple(columns)
    measured = evaluated(names)
    known = [name for name in names if name in measured and higher_is_better(name) is not None]
    return tuple(name for name in known if "train" not in name.lower())


def clocks(columns: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Give the columns that may be a clock by their names, each with the seconds of its unit."""
    return tuple((name, CLOCKS[name]) for name in columns if name in CLOCKS)


def first_of(known: Sequence[str], columns: Iterable[str]) -> str | None:
    """Give the first of some known names that is a column."""
    present = set(columns)
    return next((name for name in known if name in present), None)
