"""Which runs of a group count, which runs and logs do not, and how does a row say so?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base.units import plural
from ttastats.table import schema, tables

#: Reasons why a run is set aside that say something of its entry (`counted.set_aside`).
REASONS = ("stopped", "unreadable", "missing")
#: What a run that was made again has in common with the one it replaces.
_AGAIN = ("suite", "round", "benchmark", "entry", "seed")
#: Runs that are missing and named; of more it says how many.
_MOST_MESSAGES = 3


class LeftOut(Struct, frozen=True):
    """Runs and logs that are in no number of a group; `missing` says which ones they are."""

    interrupted: int = 0
    rejected_logs: int = 0
    logs: int = 0
    missing: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of interrupted runs, of rejected logs and of missing runs."""
        return self.interrupted, self.rejected_logs, len(self.missing)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the codes of left-out runs that may hide a failure."""
        reasons = {"rejected_logs": self.rejected_logs, "missing_runs": self.missing}
        return tuple(code for code, runs in reasons.items() if runs)

    def __str__(self) -> str:
        """Return the counts in words, empty where nothing is left out."""
        words = []
        if self.rejected_logs:
            words.append(f"{self.rejected_logs} of {plural(self.logs, 'log')} could not be read")
        words += self.missing[:_MOST_MESSAGES]
        if (n_left := len(self.missing) - _MOST_MESSAGES) > 0:
            words.append(f"{plural(n_left, 'more run')} missing")
        if self.interrupted:
            words.append(f"{plural(self.interrupted, 'run')} interrupted by the user")
        return " · ".join(words)


class BothSides(Struct, frozen=True):
    """What is left out of the two sides of a comparison."""

    a: LeftOut = LeftOut()
    b: LeftOut = LeftOut()

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the codes of both sides."""
        return tuple(dict.fromkeys((*self.a.flags, *self.b.flags)))

    def __str__(self) -> str:
        """Return the counts in words, empty where nothing is left out."""
        sides = (("A", self.a), ("B", self.b))
        return "; ".join(f"{name}: {text}" for name, side in sides if (text := str(side)))


def exceptions_of(a: pl.DataFrame, b: pl.DataFrame) -> dict[str, str | None]:
    """Return the fatal exceptions of both sides, each with its count."""
    texts: dict[str, str | None] = {}
    for side, runs in (("a", a), ("b", b)):
        crashed = runs.filter((pl.col("run_status") == "exception") & ~pl.col("reached"))
        problems = tables.run_problems(crashed.lazy())
        counts = Counter(problem.message for problem in problems if problem.code == "exception")
        exceptions = ", ".join(f"{number} {text}" for text, number in counts.most_common())
        texts[f"exceptions_{side}"] = exceptions or None
    return texts


def rows(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs of a table left out and not made again.

    They were if one of their log or seed is there, such as in another table of the same runs.
    """
    set_aside = runs.filter(pl.col("set_aside").is_in(REASONS))
    if set_aside.is_empty():
        return set_aside
    standing_runs = runs.filter(pl.col("set_aside").is_null())
    seeded = standing_runs.filter(pl.col("seed").is_not_null())
    set_aside = set_aside.join(seeded, on=_AGAIN, how="anti", nulls_equal=True)
    return set_aside.join(standing_runs, on="source", how="anti")


def of_pairs(
    a: pl.DataFrame, b: pl.DataFrame, keys: Sequence[Mapping[str, Any]]
) -> tuple[BothSides, ...]:
    """Return the runs left out of each pair of groups with the same keys in two tables of runs."""
    omissions = rows(a), rows(b)
    return tuple(
        BothSides(group(a, key, omissions[0]), group(b, key, omissions[1])) for key in keys
    )


def group(
    runs: pl.DataFrame, keys: Mapping[str, Any], absent: pl.DataFrame | None = None
) -> LeftOut:
    """Return the runs left out of the group with these keys.

    A key that a rejected log or a missing run does not know, or the group does not have, is no
    criterion: what may belong to the group is counted. `absent` are the `rows` of the runs.
    """
    absent = rows(runs) if absent is None else absent
    if absent.is_empty():
        return LeftOut()
    criteria = {name: value for name, value in keys.items() if value is not None}
    for name in criteria.keys() & set(absent.columns):
        absent = absent.filter(pl.col(name).is_null() | (pl.col(name) == criteria[name]))
    if absent.is_empty():
        return LeftOut()
    stopped, unreadable, missing = (absent.filter(set_aside=reason) for reason in REASONS)
    shared = {name: value for name, value in criteria.items() if name in runs.columns}
    runs_of_group = runs.filter(pl.col("set_aside").is_null()).filter(**shared)
    return LeftOut(
        interrupted=stopped.height,
        rejected_logs=unreadable.height,
        logs=pl.concat([unreadable["source"], runs_of_group["source"]]).n_unique(),
        missing=tuple(problem.message for problem in tables.run_problems(missing.lazy())),
    )


#: The files that count in a submission; other logs in its folders do not.
_RESULT_FILE = r"(^|/)results/[^/]+/[^/]+/result_[^/]*\.txt(\.\w+)?$"
#: What one submitted result is about. `entry` is part of it: v0.5 calls every TPU system `tpu`.
RESULT = ("suite", "round", "division", "submitter", "system", "entry", "benchmark")


def set_aside() -> pl.Expr:
    """Return an expression for why a run does not count, null if it does.

    `side_log` is a log beside the result files of a submission, such as a worker's own;
    `inference` an entry that trained nothing and has no curve; `stopped` a run of one's own that
    the user interrupted, `unreadable` a log that was rejected, and `missing` a run that is not in
    its numbered set.
    """
    official = pl.col("source").str.contains(_RESULT_FILE).fill_null(value=False)
    side_log = ~official & official.any().over(RESULT) & pl.col("entry").is_not_null()
    inference = (pl.col("suite") == "dawnbench") & pl.col("benchmark").str.ends_with("_inference")
    is_left_out = pl.col("run_status").is_in(["stopped", *schema.ABSENT]).fill_null(value=False)
    is_missing = (pl.col("run_status") == "missing").fill_null(value=False)
    return (
        pl.when(side_log & ~is_missing)
        .then(pl.lit("side_log"))
        .when(inference)
        .then(pl.lit("inference"))
        .when(is_left_out)
        .then("run_status")
    )


def with_stopped(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs with stopped ones as censored, unless one of their entry and seed counts."""
    has_rerun = pl.col("set_aside").is_null().any().over("entry", "benchmark", "seed")
    is_stopped = (pl.col("set_aside") == "stopped") & (pl.col("seed").is_null() | ~has_rerun)
    return runs.with_columns(set_aside=pl.when(~is_stopped).then("set_aside"))


def standing(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs not set aside."""
    if "set_aside" not in runs.columns or not runs["set_aside"].count():
        return runs  # a copy of a million runs costs a second
    return runs.filter(pl.col("set_aside").is_null())


#: Why a run does not count on a clock that begins in the middle of its training.
BEGINS_LATE = "begins_late"


def late(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs set aside for a late begin."""
    if "set_aside" not in runs.columns:
        return runs.clear()
    return runs.filter(set_aside=BEGINS_LATE)


def counted(runs: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the counted runs: none set aside, and only the first of copies in a group.

    Without a digest of its content no run is a copy. A spread over copies would be wrong. Of a run
    that is told by two clocks, as a log and as a DAWNBench entry, the log counts.
    """
    runs_standing, copy = standing(runs), ("content_digest", *by)
    if not runs_standing["content_digest"].count():
        return runs_standing
    of_training = pl.col("clock") == "train"
    has_whole_log = of_training & (~of_training).any().over(copy)
    runs_standing = runs_standing.filter(
        pl.col("content_digest").is_null() | ~has_whole_log.fill_null(value=False)
    )
    is_first = pl.struct(copy).is_first_distinct()
    return runs_standing.filter(pl.col("content_digest").is_null() | is_first)
