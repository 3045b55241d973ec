"""In what is the way to a target counted: time, epochs, steps, samples, money or energy?

A table of runs (`time_to_target.runs`) counts seconds in `tta_seconds` and `observed_seconds`. On
another axis these columns count that, and a column `axis` says so: what reached its target stays
what it was, and every rule of the statistics holds for the new numbers as it did for seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import errors
from ttastats.base.codes import wording
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.records import TIMES_ALONE
from ttastats.base.units import Amount
from ttastats.formats.block import PRICE
from ttastats.outcomes import left_out, select
from ttastats.outcomes.time_to_target import begins_late
from ttastats.table import schema

#: The reason why a run does not count on an axis: it reached its target nobody knows where.
NO_POSITION = "no_position"
#: What an hour may cost: outside of it a number in that column is no price, but a slip.
_PRICES = (1e-6, 1e12)
#: More seconds or joules than any run takes.
_TOTAL = 1e18
_OPTION = "--in"


class Axis(Struct, frozen=True):
    """What the way to a target is counted in, and its words: a side "needs 1.20× fewer steps".

    `unit` is how a number of it is written; `mean` and `per_epoch` are titles of columns. `better`
    and `worse` have braces for a factor; `less` and `more` are their short forms, as in verdicts,
    which a side `does`: it "is cheaper", and the first "is the cheapest", by `best`. A run `takes`
    twice as `much`.
    `progress` is the column, and that of its evaluation interval, of what counts training itself:
    then there is no throughput to be told from epochs. `whole_runs`: it is known of whole runs
    alone. `alone`: no quality belongs to it. `curve` and `totals` are where `extra` has what was
    spent by each checkpoint, and in all.
    """

    name: str
    unit: Amount
    noun: str
    to_target: str
    mean: str
    per_epoch: str
    better: str
    worse: str
    less: str
    more: str
    same: str
    best: str
    does: str
    takes: str
    much: str
    progress: tuple[str, str | None] | None = None
    whole_runs: bool = False
    alone: bool = False
    curve: str = ""
    totals: tuple[str, ...] = ()

    @property
    def is_time(self) -> bool:
        """Return whether the axis is the wall clock, which has names of its own."""
        return self.name in {"seconds", "duration"}

    @property
    def reached(self) -> str:
        """Return the title of how many runs reached the target, or succeeded without one."""
        return "succeeded" if self.alone else "reached"

    @property
    def success(self) -> str:
        """Return what runs did that have not failed."""
        return "succeeded" if self.alone else "reached the target"

    @property
    def expected(self) -> str:
        """Return the name of an expected amount: `expected steps to a success`."""
        return f"expected {self.noun} to a success{' (ERT)' if self.is_time else ''}"

    @property
    def ert(self) -> str:
        """Return the title of an expected amount."""
        return "ERT" if self.is_time else f"expected {self.noun}"

    @property
    def pace(self) -> str:
        """Return the name of what an epoch takes: `cost per epoch`."""
        return f"{self.noun} per epoch"

    @property
    def rate(self) -> str:
        """Return the name of the part of a ratio that is not epochs."""
        return "throughput" if self.is_time else self.pace

    @property
    def ratio(self) -> str:
        """Return the name of A over B on this axis."""
        return "speedup" if self.is_time else f"{self.noun} A/B"

    def fill(self, pattern: str, factor: str = "") -> str:
        """Return `better` or `worse` in a pattern, with a factor if one is given."""
        return " ".join(pattern.format(factor).split())

    def claim(self, text: str) -> str:
        """Return a verdict or claim about time, such as `not slower by more than 1%`, for this."""
        return text.replace("faster", self.less).replace("slower", self.more)


def _amount_axis(
    name: str, unit: Amount, noun: str, less: str = "less", least: str = "least",
    much: str = "much", **words: Any,
) -> Axis:  # fmt: skip
    return Axis(
        name, unit, noun, f"{noun} to target", f"mean {noun}", f"{noun} per epoch",
        f"needs {{}} {less} {noun}", f"needs {{}} more {noun}", f"{less} {noun}", f"more {noun}",
        f"needs as {much} {noun} as", f"{least} {noun}", "needs", "needs", much, **words,
    )  # fmt: skip


_FAST = (
    "is {} faster", "is {} slower", "faster", "slower", "is as fast as", "fastest", "is", "takes",
    "long",
)  # fmt: skip


SECONDS = Axis("seconds", "seconds", "time", "time-to-accuracy", "mean TTA", "per epoch", *_FAST)
#: That of runs that are times alone.
DURATION = Axis("duration", "seconds", "time", "time", "mean time", "per epoch", *_FAST, alone=True)
_COST = Axis(
    "cost", "dollars", "cost", "cost to target", "mean cost", "cost per epoch",
    "costs {} less", "costs {} more", "cheaper", "dearer", "costs as much as", "cheapest", "is",
    "costs", "much",
)  # fmt: skip

#: What training is counted in, best first: the column of its amount, and that of its evaluation
#: interval.
_PROGRESS: dict[Amount, tuple[str, str | None]] = {
    "epochs": ("epochs", "evaluation_interval_epochs"),
    "steps": ("steps", "evaluation_interval_steps"),
    "samples": ("samples", "evaluation_interval_samples"),
    "evaluations": ("evaluations_to_target", None),
}
AXES: dict[str, Axis] = {
    axis.name: axis
    for axis in (
        SECONDS,
        DURATION,
        *(
            _amount_axis(name, name, name, "fewer", "fewest", "many", progress=progress)
            for name, progress in _PROGRESS.items()
        ),
        _COST,
        _amount_axis(
            "cpu-seconds", "seconds", "CPU time", whole_runs=True, curve="$.clocks.cpu_seconds",
            totals=("$.run_totals.cpu_seconds_all_workers", "$.run_totals.cpu_seconds",
                    "$.cpu_seconds"),
        ),
        _amount_axis("training-seconds", "seconds", "training time",
                     curve="$.clocks.training_seconds"),
        _amount_axis("training-cpu-seconds", "seconds", "CPU time of training",
                     curve="$.clocks.training_cpu_seconds"),
        _amount_axis("energy", "joules", "energy", whole_runs=True, totals=("$.energy_joules",)),
    )
}  # fmt: skip

#: What `--clock training` makes of an axis.
_OF_TRAINING = {
    "": "training-seconds", "seconds": "training-seconds", "cpu-seconds": "training-cpu-seconds"
}  # fmt: skip


def axis_of(runs: pl.DataFrame) -> Axis:
    """Return the axis of a table of runs."""
    if runs.is_empty():
        return SECONDS
    axis = AXES[runs["axis"][0]] if "axis" in runs.columns else SECONDS
    suites = runs["suite"].unique().to_list() if "suite" in runs.columns else []
    return DURATION if axis is SECONDS and suites == [TIMES_ALONE] else axis


def by_clock(name: str, clock: str) -> str:
    """Return the name of an axis by a clock: all time on it, or training alone."""
    if clock in {"", "total"}:
        units = [unit for unit, axis in AXES.items() if not axis.alone]
        if name and name not in units:
            remedy = errors.suggestion(name, units, "Units")
            raise TtastatsError(f"unknown unit {name!r}", where=_OPTION, remedy=remedy)
        return name
    remedy = "The clocks are total and training, for seconds and cpu-seconds."
    raise_if(clock != "training", f"unknown clock {clock!r}", "--clock", remedy)
    raise_if(name not in _OF_TRAINING, f"--in {name} counts no time", "--clock", remedy)
    return _OF_TRAINING[name]


def on_common_axis(
    tables: Sequence[pl.DataFrame], unit: str = ""
) -> tuple[list[pl.DataFrame], str]:
    """Return the tables of runs of all sides on one axis, and a remark on it if needed.

    Without a `unit` it is that of seconds; where a side tells none, the first of epochs, steps,
    samples and evaluations that every run that reached tells on every side.
    """
    if any("axis" in runs.columns for runs in tables):
        return list(tables), ""
    if unit:
        placed = [converted(runs, AXES[unit]) for runs in tables]
        for number, (runs, runs_before) in enumerate(zip(placed, tables, strict=True)):
            _expect_known(runs, runs_before, chr(ord("A") + number) if len(tables) > 1 else "")
        return placed, ""
    axis = SECONDS
    # Of the wall clock it is enough that some run that reached tells it.
    if not all(_is_known(runs, SECONDS) for runs in tables):
        axes = (AXES[name] for name in _PROGRESS)
        shared_axes = (
            a for a in axes if all(_is_known(runs, a, in_all_runs=True) for runs in tables)
        )
        axis = next(shared_axes, SECONDS)
    placed = [converted(runs, axis) for runs in tables]
    if axis.is_time:
        return placed, ""
    extent = "some" if any(_is_known(runs, SECONDS) for runs in tables) else "none"
    return placed, wording(f"axis.{extent}", to_target=axis.to_target, name=axis.name)


def _is_known(runs: pl.DataFrame, axis: Axis, *, in_all_runs: bool = False) -> bool:
    """Return whether some run that reached, or every one, has a place; if none reached, of all."""
    standing = left_out.standing(runs)
    reached = standing.filter("reached")
    ends = (standing if reached.is_empty() else reached).select(at=_position_at_end(axis))["at"]
    if in_all_runs and not reached.is_empty():
        return not ends.null_count()
    return ends.count() > 0 or (axis.is_time and reached.select(begins_late().any()).item())


def converted(runs: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """Return a table of runs with their times in the unit of an axis.

    A run that reached its target nobody knows where is set aside (`no_position`), and on a clock
    one that begins late; one that failed is censored where it ended, or counts as failed after an
    unknown amount.
    """
    placed = runs.with_columns(observed_seconds=_position_at_end(axis))
    late = pl.when(begins_late() & (axis.progress is None)).then(pl.lit(left_out.BEGINS_LATE))
    nowhere = pl.when("reached", pl.col("observed_seconds").is_null()).then(pl.lit(NO_POSITION))
    return placed.with_columns(
        tta_seconds=pl.when("reached").then("observed_seconds"),
        set_aside=pl.coalesce("set_aside", late, nowhere),
        axis=pl.lit(axis.name),
        epoch_seconds=pl.col("observed_seconds") / pl.col("epochs"),
    )


def _position_at_end(axis: Axis) -> pl.Expr:
    """Return the position of a run at its target, or at its end without; null if unknown."""
    if axis.progress is not None:
        return pl.col(axis.progress[0]).cast(pl.Float64)
    if axis.name == "cost":
        paid = pl.col("observed_seconds") / 3600.0 * pl.col(PRICE)
        has_price = pl.col(PRICE).is_between(*_PRICES, closed="left")
        return pl.when(has_price & ((paid > 0) | ~pl.col("reached"))).then(paid)
    if axis.is_time:
        return pl.col("observed_seconds")
    logged = list[pl.Expr]()
    if axis.curve:
        # What was spent by the checkpoint that met the target, or by the last one.
        curve = pl.col("extra").str.json_path_match(axis.curve)
        numbers = pl.when(curve.str.contains(r"^\[[-+0-9.eE, nul]*\]$")).then(curve)
        spent = numbers.str.json_decode(pl.List(pl.Float64)).list.get(
            pl.col("evaluations_to_target") - 1, null_on_oob=True
        )
        logged.append(pl.when(spent.is_finite() & (spent > 0)).then(spent))
    if axis.totals:
        logged.append(_total_if_ended(axis.totals))
    if axis.name == "training-seconds":
        logged.append(pl.when(pl.col("clock") == "train").then("observed_seconds"))
    return pl.coalesce(logged)


def _total_if_ended(paths: Sequence[str]) -> pl.Expr:
    """Return the total of a run, if its counted time ended with the run."""
    extra = pl.col("extra")
    total = pl.coalesce(
        extra.str.json_path_match(path).cast(pl.Float64, strict=False) for path in paths
    )
    ends_with_run = (pl.col("tta_seconds") == pl.col("run_seconds")) | (
        pl.col("evaluations_to_target") == pl.col("evaluations")
    )
    is_total = total.is_between(0, _TOTAL, closed="none") & (~pl.col("reached") | ends_with_run)
    return pl.when(is_total).then(total)


def hourly_price(runs: pl.DataFrame, price: str | float) -> pl.Expr:
    """Return the price of an hour as a number, or as a column of the runs."""
    try:
        number = float(str(price).removeprefix("$"))
    except ValueError:
        if price not in schema.RUN_NAMES:
            raise select.unknown(str(price), schema.RUN_NAMES, "--price") from None
        text = not runs.schema[str(price)].is_numeric()
        raise_if(text, f"column {price} is not numeric", "--price", "Use a numeric column.")
        return pl.col(str(price)).cast(pl.Float64).alias(PRICE)
    invalid = not _PRICES[0] <= number < _PRICES[1]
    raise_if(invalid, f"invalid price per hour: {price}", "--price", "Give one such as 12.50.")
    return pl.lit(number).alias(PRICE)


def _expect_known(placed: pl.DataFrame, runs: pl.DataFrame, side: str) -> None:
    """Raise an error if no run of a side tells what its axis counts."""
    if placed.get_column("observed_seconds").count() or left_out.standing(runs).is_empty():
        return
    axis = axis_of(placed)
    names = [axis.name for axis in AXES.values() if not axis.alone and _is_known(runs, axis)]
    subject = f"no run of {side} logs" if side else "no run logs"
    remedy = f"Available: {', '.join(names)}." if names else "`ttastats runs FILE` shows the runs."
    if axis.name == "cost":
        remedy = f"Give the price of an hour: --price 12.50. {remedy}"
    message = f"{subject} its {axis.to_target}" + (
        ", which is known for whole runs only" if axis.whole_runs else ""
    )
    raise TtastatsError(message, where=f"{_OPTION} {axis.name}", remedy=remedy)
