"""Read tables, choose runs, and write them: what other answers are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import polars as pl
from msgspec.structs import replace

from ttastats.answers import runs as runs_report
from ttastats.base import arguments, atomic, stores
from ttastats.base.codes import note
from ttastats.base.errors import TtastatsError
from ttastats.ingestion import given
from ttastats.outcomes import settings, time_to_target
from ttastats.outcomes.target import asked, met_at_once
from ttastats.report.answer import Report
from ttastats.report.ordering import filter_rows
from ttastats.sides import choice, question
from ttastats.sides.choice import Choice, choose_runs
from ttastats.sides.options import BudgetKeywords, Targets, Where, several
from ttastats.sides.question import Question, Source, takes
from ttastats.table import schema, store
from ttastats.table.schema import RUNS

if TYPE_CHECKING:
    from ttastats.output.logs import Exported
    from ttastats.output.subset import Subset


def with_choice_notes(report: Report, *sides: Choice) -> Report:
    """Return a report with only the rows asked for, its target, and notes on how runs were chosen.

    A gate has judged all rows before: a condition must not hide a failure from it.
    """
    everywhere = {text for text in sides[0].notes if all(text in side.notes for side in sides)}
    notes = [text for text in sides[0].notes if text in everywhere]
    for number, side in enumerate(sides):
        letter = chr(ord("A") + number)
        notes += [text.prefixed(letter) for text in side.notes if text not in everywhere]
    try:
        report = filter_rows(report, sides[0].of_answer)
    except TtastatsError as error:
        if not error.what.startswith("unknown column"):
            raise
        raise settings.with_varying(error, settings.varying(sides[0].runs["extra"])) from None
    runs = [side.runs for side in sides]
    if once := met_at_once(*runs):
        notes.append(note("met_at_once", names=once))
    target = report.target or asked(*runs)
    return dataclasses.replace(report, notes=(*report.notes, *notes), target=target)


@takes()
def read(source: Source, *, where: Where = ()) -> pl.LazyFrame:
    """Return the tidy table: one row per run x evaluation x metric.

    Parameters
    ----------
    where
        Conditions such as `benchmark=resnet` or `nodes>=8`; all must hold. Conditions on
        evaluations remove rows, so a run may then look as if it had failed.
    """
    return choice.rows(source, where)


@takes()
def run_table(source: Source, *, where: Where = (), target: Targets = ()) -> pl.DataFrame:
    """Return one row per run, with `reached` and `tta_seconds`; see `time_to_target.runs`.

    A table returned by this function is accepted unchanged; its target is fixed.
    """
    return choose_runs(source, where, target, by_evaluation=True).runs


@takes(BudgetKeywords)
def runs(
    source: Source,
    *,
    where: Where = (),
    target: Targets = (),
    **keywords: Unpack[BudgetKeywords],
) -> Report:
    """Report every run: whether and when it reached the target, and its progress.

    At a budget: its quality there.
    """
    query = Question(where=where, target=target, **keywords)
    if (budget := query.budget) is not None:
        from ttastats.answers import qualities  # scipy costs start-up time

        (at,) = choice.sides([source], query)
        return with_choice_notes(qualities.of_runs(at.runs, budget), at)
    side = choose_runs(source, where, target, by_evaluation=True)
    return with_choice_notes(runs_report.report(side.runs), side)


@takes()
def export(source: Source, output: str | Path, *, where: Where = ()) -> Exported:
    """Write runs as rows (`NAME.csv`, `NAME.jsonl`) or as a new folder of logs (any other name)."""
    from ttastats.output import logs

    where = arguments.conditions("where", where)

    # A log is whole or it is not true; rows stand for themselves.
    whole = choose_runs(source, where, by_evaluation=True).rows if where else read(source)
    table = read(source, where=where) if logs.is_row_format(Path(output)) else whole
    return logs.export(table, Path(output))


@takes()
def filter(  # noqa: A001 - the name of the command
    *sources: given.Source, output: str | Path, where: Where = ()
) -> Subset:
    """Write the runs of one or more tables that meet all conditions to a new table.

    Runs keep all their rows and problems; rows in several tables are written once.

    Parameters
    ----------
    output
        A Parquet file, or a folder of Parquet files if it ends with a slash; never one of the
        sources, but that a folder alone, without conditions, is put together anew: its parts
        become few and large.
    """
    from ttastats.output import subset

    where = arguments.conditions("where", where)

    output_path, in_parts = stores.parse_place(output), str(output).endswith("/")
    inputs = [path for source in sources for path in given.paths(source)]
    anew = (
        not where
        and output_path.is_dir()
        and [path.resolve() for path in inputs] == [output_path.resolve()]
    )
    if not anew:
        atomic.expect_no_input(output_path, inputs)
    store.expect_output(output_path, in_parts=in_parts or output_path.is_dir())
    state, manifest = (
        store.table_state(output_path),
        store.read_manifest(output_path) if anew else "",
    )
    rows = store.concatenate([given.tidy(source) for source in sources])
    side = choose_runs(rows, where, by_evaluation=True) if where else None
    found_problems = [problem for source in sources for problem in given.problems(source)]
    done = subset.write_subset(
        rows,
        side.rows if side else rows,
        found_problems,
        output_path,
        in_parts=in_parts or output_path.is_dir(),
        manifest=manifest,
        expected=[state],
        partition=(RUNS.partition_columns(output_path) or None) if anew else None,
    )
    return replace(done, notes=tuple(note.text for note in side.notes)) if side else done


@takes()
def problems(*sources: given.Source, where: Where = (), codes: Sequence[str] = ()) -> Report:
    """Report the problems in the logs of some tables, and suspicious runs.

    These are all problems found by an ingest, duplicates within and across the tables, runs without
    evaluations, stalled runs, outliers in epochs and in time per epoch, entries with constant
    epochs, and wrong numbers of runs.

    Parameters
    ----------
    codes
        Report only these.
    """
    from ttastats.answers import problems as problems_report

    where = arguments.conditions("where", where)

    given_tables = [table for source in sources for table in given.separate_tables(source)]
    tables = [
        time_to_target.runs(given.tidy(table)).with_columns(
            table=pl.lit(question.label(table, number))
        )
        for number, table in enumerate(given_tables)
    ]
    all_runs = pl.concat(tables).unique(["table", *schema.RUN], maintain_order=True)
    found_problems = [problem for table in given_tables for problem in given.problems(table)]
    rows = store.concatenate([given.tidy(table) for table in given_tables])
    if not where:
        return problems_report.report(found_problems, all_runs, all_runs, rows, several(codes))
    side = choose_runs(rows, where, by_evaluation=True)
    runs = all_runs.join(side.runs, on=schema.RUN, how="semi")
    report = problems_report.report(found_problems, runs, all_runs, rows, several(codes))
    return dataclasses.replace(report, notes=(*report.notes, *side.notes))
