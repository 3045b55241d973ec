"""Which runs of a group count?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ttastats.table import schema

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
    left_out = pl.col("run_status").is_in(["stopped", *schema.ABSENT]).fill_null(value=False)
    missing = (pl.col("run_status") == "missing").fill_null(value=False)
    return (
        pl.when(side_log & ~missing)
        .then(pl.lit("side_log"))
        .when(inference)
        .then(pl.lit("inference"))
        .when(left_out)
        .then("run_status")
    )


def with_stopped(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs with stopped ones as censored, unless one of their entry and seed counts."""
    again = pl.col("set_aside").is_null().any().over("entry", "benchmark", "seed")
    stopped = (pl.col("set_aside") == "stopped") & (pl.col("seed").is_null() | ~again)
    return runs.with_columns(set_aside=pl.when(~stopped).then("set_aside"))


def standing(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs that are not set aside."""
    if "set_aside" not in runs.columns or not runs["set_aside"].count():
        return runs  # a copy of a million runs costs a second
    return runs.filter(pl.col("set_aside").is_null())


def counted(runs: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the runs that count: none set aside, and only the first of copies in a group.

    Without a digest of its content no run is a copy. A spread over copies would be wrong. Of a run
    that is told by two clocks, as a log and as a DAWNBench entry, the log counts.
    """
    there, copy = standing(runs), ("content_digest", *by)
    if not there["content_digest"].count():
        return there
    of_training = pl.col("clock") == "train"
    told_whole = of_training & (~of_training).any().over(copy)
    there = there.filter(pl.col("content_digest").is_null() | ~told_whole.fill_null(value=False))
    first = pl.struct(copy).is_first_distinct()
    return there.filter(pl.col("content_digest").is_null() | first)
