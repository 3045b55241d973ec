"""From runs to the tidy table: one row per run x evaluation x metric, at least one per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from ttastats import schema
from ttastats.records import Evaluation, Problem, Run

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class SourcedRun:
    """A run and where it came from."""

    run: Run
    source: str
    digest: str
    position: int
    dialect: str

    @property
    def run_id(self) -> str:
        """Give the run's identity: reading the same log twice gives it twice."""
        return f"{self.digest[:16]}-{self.position}"


def frame_of(runs: Sequence[SourcedRun]) -> pl.DataFrame:
    """Give the table of some runs, in the order given; columns as in the schema."""
    heads = pl.DataFrame(
        [_run_row(sourced) for sourced in runs],
        schema={name: schema.POLARS[name] for name in schema.RUN_NAMES},
        orient="row",
    ).with_row_index("_run")
    positions: list[int] = []
    evaluations: list[Evaluation] = []
    for position, sourced in enumerate(runs):
        positions.extend([position] * len(sourced.run.evaluations))
        evaluations.extend(sourced.run.evaluations)
    tails = pl.DataFrame(
        {"_run": positions} | _evaluation_columns(evaluations),
        schema={"_run": pl.UInt32}
        | {name: schema.POLARS[name] for name in schema.EVALUATION_NAMES},
    )
    return (
        heads.join(tails, on="_run", how="left", maintain_order="left_right")
        .drop("_run")
        .select(schema.NAMES)
    )


def _run_row(sourced: SourcedRun) -> tuple[Any, ...]:
    run = sourced.run
    return (
        sourced.run_id,
        sourced.source,
        sourced.digest,
        sourced.dialect,
        *(getattr(run, name) for name in _PLAIN_RUN_NAMES),
        _json_of(_problem_fields(run.problems)),
        _json_of(dict(run.extra)),
    )


_IDENTITY = ("run_id", "source", "source_digest", "dialect")
_PLAIN_RUN_NAMES = tuple(
    name for name in schema.RUN_NAMES if name not in {*_IDENTITY, "problems", "extra"}
)


def _evaluation_columns(evaluations: Sequence[Evaluation]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name in schema.EVALUATION_NAMES:
        field = "index" if name == "eval_index" else name
        columns[name] = [getattr(evaluation, field) for evaluation in evaluations]
    return columns


def _problem_fields(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [
        {
            "code": problem.code,
            "severity": problem.severity,
            "message": problem.message,
            "line": problem.line,
        }
        for problem in problems
    ]


def _json_of(value: Any) -> str | None:
    """Give JSON text, or None for an empty value. NaN becomes null, as JSON has no such number."""
    return _encode(value).decode() if value else None
