"""From runs to the tidy table: one row per run x evaluation x metric, at least one per run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
import polars as pl
import xxhash

from ttastats.base.records import Problem, Run
from ttastats.table import schema

_encode = msgspec.json.Encoder(order="deterministic").encode


class SourcedRun(msgspec.Struct, frozen=True):
    """A run and where it came from."""

    run: Run
    source: str
    digest: str
    position: int
    dialect: str

    @property
    def run_id(self) -> str:
        """Return the run's identity, a digest of its source: equal for each reading of a log."""
        return f"{self.digest[:16]}-{self.position}"


def table_of_runs(runs: Iterable[SourcedRun]) -> pl.DataFrame:
    """Return the table of some runs, ordered by source and evaluation."""
    ordered = sorted(runs, key=lambda sourced: (sourced.source, sourced.run_id))
    heads = _typed_frame(map(_run_values, ordered), schema.RUN_NAMES)
    positions: list[int] = []
    rows: list[tuple[Any, ...]] = []
    for position, sourced in enumerate(ordered):
        of_run = sorted(map(_evaluation_row, sourced.run.evaluations), key=_checkpoint) or [_BLANK]
        positions.extend([position] * len(of_run))
        rows.extend(of_run)
    repeated = heads[pl.Series(positions, dtype=pl.UInt32)]
    return repeated.hstack(_typed_frame(rows, schema.EVALUATION_NAMES))


def _typed_frame(rows: Iterable[tuple[Any, ...]], names: Sequence[str]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    pairs = zip(names, columns, strict=True)
    return pl.DataFrame([pl.Series(name, values, schema.POLARS[name]) for name, values in pairs])


def _run_values(sourced: SourcedRun) -> tuple[Any, ...]:
    """Return the values of a run in the order of the columns."""
    run = sourced.run
    return (
        sourced.run_id,
        sourced.source,
        sourced.digest,
        _content_digest(run),
        None,
        sourced.dialect,
        *_plain_run_fields(run),
        _to_json([dict(zip(_OF_A_PROBLEM, _problem_fields(p), strict=True)) for p in run.problems]),
        _to_json(dict(run.extra)),
    )


#: So many different numbers, each of so many digits, are those of one run.
_NUMBERS, _DIGITS = 4, 4
_OF_A_PROBLEM = ("code", "severity", "message", "line")
_problem_fields = attrgetter(*_OF_A_PROBLEM)
_IDENTITY = ("run_id", "source", "source_digest", "content_digest", "duplicate_of", "dialect")
_plain_run_fields = attrgetter(
    *(name for name in schema.RUN_NAMES if name not in {*_IDENTITY, "problems", "extra"})
)


def _content_digest(run: Run) -> str | None:
    """Return a digest of the times and values of a run, the same for copies; None if too few.

    Names and folders are left out, so that a copy under another name has the same digest, and so
    are training metrics, which are read on request. A run without a date has none, since two may
    well take the same time; but for logs of one's own whose numbers no two runs share by chance.
    A run of `ttastats train` is what it was made of: one of the same seed and recipe that took the
    same way is no other run, whenever it was made.
    """
    made_of = run.extra.get("settings")
    if isinstance(made_of, Mapping) and "sha256" in made_of and run.seed is not None:
        settings = {name: made_of[name] for name in made_of if name not in {"workload", "data"}}
        curve = [
            (evaluation.metric, evaluation.epoch, round(evaluation.value or 0.0, 6))
            for evaluation in run.evaluations
            if evaluation.index >= 0
        ]
        return xxhash.xxh3_64_hexdigest(_encode((run.entry, settings, curve)))
    dated = run.run_seconds is not None and run.started_at is not None
    if not dated and run.suite is not None:
        return None
    measured = [(e.metric, e.logged_value, e.seconds) for e in run.evaluations if e.index >= 0]
    if not dated:  # then numbers of several digits tell a copy
        numbers = {value for _, *values in measured for value in values if value is not None}
        precise = [
            x for x in numbers if len(f"{abs(x):.15g}".replace(".", "").strip("0")) >= _DIGITS
        ]
        if len(precise) < _NUMBERS:
            return None
    return xxhash.xxh3_64_hexdigest(_encode((run.started_at, run.run_seconds, measured)))


def run_heads(rows: pl.LazyFrame, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Return one row per run that was read, with the run that it is a copy of, if any.

    Columns: those named, and `run_id`, `source`, `content_digest`, the numbers of `evaluations` and
    `rows`, and `duplicate_of`, the source of the first run with the same content where that is
    another.
    """
    original = pl.col("source").first().over("content_digest")
    is_copy = pl.col("content_digest").is_not_null() & (original != pl.col("source"))
    return (
        rows.filter(schema.is_run())
        .group_by(schema.RUN)
        .agg(
            pl.col("content_digest", *columns).first(),
            evaluations=(pl.col("eval_index") >= 0).sum(),
            rows=pl.len(),
        )
        .collect(engine="streaming")
        .sort("source", "run_id")
        .with_columns(duplicate_of=pl.when(is_copy).then(original))
    )


def mark_copies(rows: pl.LazyFrame, runs: pl.DataFrame) -> pl.LazyFrame:
    """Return the rows with every copied run marked, by the `run_heads`."""
    copies = runs.select(*schema.RUN, "duplicate_of").drop_nulls("duplicate_of")
    if copies.is_empty():
        return rows
    return (
        rows.drop("duplicate_of")
        .join(copies.lazy(), on=schema.RUN, how="left", maintain_order="left")
        .select(schema.NAMES)
    )


def duplicate_problems(runs: pl.DataFrame) -> list[Problem]:
    """Return a problem for each run that is a copy of another."""
    copies = runs.select("source", "duplicate_of").drop_nulls().unique(maintain_order=True)
    return [
        Problem("duplicate_run", f"duplicate of {original}", "warning", source=source)
        for source, original in copies.iter_rows()
    ]


_FIELDS = tuple("index" if name == "eval_index" else name for name in schema.EVALUATION_NAMES)
_evaluation_row = attrgetter(*_FIELDS)
_checkpoint = itemgetter(_FIELDS.index("index"), _FIELDS.index("metric"))
#: The row of a run without evaluations.
_BLANK = (None,) * len(_FIELDS)


def run_problems(rows: pl.LazyFrame) -> list[Problem]:
    """Return the problems in the column `problems`, by run.

    Problems of files that gave no run stand in no row.
    """
    runs = (
        rows.filter(pl.col("problems").is_not_null())
        .select(*schema.RUN, "problems")
        .unique(maintain_order=True)
        .collect()
    )
    problems: list[Problem] = []
    for _, source, text in runs.iter_rows():
        try:
            of_run = msgspec.json.decode(text, type=list[Problem])
        except (msgspec.MsgspecError, RecursionError):
            of_run = [Problem("other", text, "info")]
        problems += (msgspec.structs.replace(problem, source=source) for problem in of_run)
    return problems


def _to_json(value: Any) -> str | None:
    """Return a value as JSON text, None if it is empty; NaN becomes null."""
    return _encode(value).decode() if value else None
