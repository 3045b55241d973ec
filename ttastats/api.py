"""The Python API: each command of the program as one function.

A *source* is a Parquet file, several of them, or a table already in memory, of polars, pandas or
pyarrow; `from_frame` makes one of columns with other names. The answer is a `Report`, whose `rows`
and `frame` hold raw numbers: seconds, fractions, None for unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ttastats import atomic, axis, choice, columns, crossing, given, schema, store
from ttastats.choice import Chosen, Part, Source, chosen
from ttastats.errors import TtastatsError
from ttastats.frames import from_frame, is_frame
from ttastats.ingestion.ingest import Account, ingest
from ttastats.pairing import Side
from ttastats.report import runs as runs_report
from ttastats.report.answer import Report
from ttastats.report.cells import Note
from ttastats.report.filtering import filtered
from ttastats.shared_runs import refuse_overlap
from ttastats.target import expect_metric
from ttastats.target import parse_all as parse_targets

if TYPE_CHECKING:
    from ttastats.comparison import Options
    from ttastats.exporting.logs import Exported
    from ttastats.exporting.subset import Subset
    from ttastats.page.document import Page
    from ttastats.pictures.material import Material
    from ttastats.pictures.picture import Picture
    from ttastats.report.compare import View

__all__ = [
    "Account",
    "Report",
    "Source",
    "compare",
    "export",
    "filter",
    "from_frame",
    "html_report",
    "ingest",
    "pictures",
    "plot",
    "power",
    "problems",
    "read",
    "runs",
    "scaling",
    "score",
    "summary",
    "targets",
    "variance",
]


def read(source: Source, *, where: Sequence[str] = ()) -> pl.LazyFrame:
    """Give the tidy table: one row per run x evaluation x metric.

    Parameters
    ----------
    where
        Conditions such as `benchmark=resnet` or `nodes>=8`; all must hold. Those on evaluations
        leave out rows: a run that is judged by what is left may seem to have failed.

    Raises
    ------
    TtastatsError
        A file cannot be used, or a condition is malformed.
    """
    return choice.rows(source, where)


def run_table(
    source: Source, *, where: Sequence[str] = (), target: Sequence[str] = ()
) -> pl.DataFrame:
    """Give one row per run, with `reached` and `tta_seconds`; see `crossing.runs`.

    A table of runs, as this gives it, is taken as it is: its target is settled.

    Raises
    ------
    TtastatsError
        As `read`, or no run is left to speak of.
    """
    return chosen(source, where, target, by_evaluation=True).runs


def _sides(
    sources: Sequence[Source],
    where: Sequence[str],
    target: Sequence[str],
    *,
    of_answer: bool = False,
) -> list[Chosen]:
    """Give the runs of each source; errors name the source where there are several."""
    names = [
        "" if isinstance(source, Part) else name
        for source, name in zip(sources, _labels(sources), strict=True)
    ]
    several = len(sources) > 1
    found = [
        chosen(source, where, target, of_answer=of_answer, name=name if several else "")
        for source, name in zip(sources, names, strict=True)
    ]
    # Two files may hold the same run, sent in twice; two parts of a table that do are a mistake.
    parts = [
        (_part_name(source, number), one.runs)
        for number, (source, one) in enumerate(zip(sources, found, strict=True))
        if isinstance(source, Part) or is_frame(source)
    ]
    if len(parts) > 1:
        refuse_overlap(parts)
    return found


def _on_axis(found: Sequence[Chosen], unit: str, price: str | float) -> list[Chosen]:
    """Put the runs of all sides on one axis, the prices of hours replaced where that is asked."""
    axis.expect(unit)
    if price != "":
        if unit != "cost":
            raise TtastatsError(
                "a price is for --in cost",
                where="--price",
                remedy="Add --in cost, or leave it out.",
            )
        per_hour = [axis.priced(one.runs, price) for one in found]
        found = [
            replace(one, runs=one.runs.with_columns(hour), rows=one.rows.with_columns(hour))
            for one, hour in zip(found, per_hour, strict=True)
        ]
    tables, said = axis.settled([one.runs for one in found], unit)
    notes = (Note("axis", said),) if said else ()
    return [
        replace(one, runs=runs, notes=(*one.notes, *notes))
        for one, runs in zip(found, tables, strict=True)
    ]


def _part_name(source: Source, number: int) -> str:
    """Name a part of a table by its conditions, a frame by its letter."""
    if isinstance(source, Part):
        return ", ".join(map(str, source.conditions))
    return chr(ord("A") + number)


def _labelled(
    found: Sequence[Chosen], by: Sequence[str], target: Sequence[str], labels: Sequence[str]
) -> list[Side]:
    targets = parse_targets(target)
    for one in found:
        columns.check(by, one.runs.columns, option="--by")
    return [
        Side(label, one.runs, one.rows, targets) for label, one in zip(labels, found, strict=True)
    ]


def _answered(report: Report, *sides: Chosen) -> Report:
    """Keep the rows asked for and say how the runs were chosen; what holds for all sides, once.

    A gate has judged all rows before: a condition must not hide a failure from it.
    """
    everywhere = {note for note in sides[0].notes if all(note in one.notes for one in sides)}
    said = [note for note in sides[0].notes if note in everywhere]
    for number, one in enumerate(sides):
        letter = chr(ord("A") + number)
        own = (note for note in one.notes if note not in everywhere)
        said += [Note(note.code, f"{letter}: {note.text}") for note in own]
    kept = filtered(report, sides[0].of_answer)
    return replace(kept, notes=(*kept.notes, *said))


def runs(source: Source, *, where: Sequence[str] = (), target: Sequence[str] = ()) -> Report:
    """Report every run: did it reach the target, when, and how far had it trained?"""
    found = chosen(source, where, target, by_evaluation=True)
    return _answered(runs_report.report(found.runs), found)


def summary(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    ddof: int = 1,
    confidence: float = 0.95,
    dots: bool = False,
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report each group: how many reached, mean time-to-accuracy, coefficient of variation.

    `confidence` is that of the intervals. With `dots` the table for people shows every run as one.

    Parameters
    ----------
    unit
        What is counted to the target: seconds, epochs, steps, samples, evaluations, cost,
        cpu-seconds or energy. By default seconds, or, where a side has none, the first of epochs,
        steps, samples and evaluations that all sides have.
    price
        What an hour costs, or the column that tells it, for `unit="cost"`.
    """
    from ttastats.report import summary as summary_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    found = chosen(source, where, target, of_answer=True)
    (found,) = _on_axis([found], unit, price)
    keys = _by(by, ENTRY, found.runs)
    report = summary_report.report(found.runs, keys, ddof=ddof, confidence=confidence, dots=dots)
    return _answered(report, found)


def variance(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    ddof: int = 1,
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report why runs of one group differ: epochs to the target, or time per epoch.

    `unit` and `price` as in `summary`.
    """
    from ttastats.report import variance as variance_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    found = chosen(source, where, target, of_answer=True)
    (found,) = _on_axis([found], unit, price)
    keys = _by(by, ENTRY, found.runs)
    return _answered(variance_report.report(found.runs, keys, ddof=ddof), found)


def compare(
    a: Source,
    *others: Source,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    pool: bool = False,
    options: Options | None = None,
    view: View | None = None,
    fail_on: str = "",
    require: str = "",
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report whether B is faster than A to the target, by how much, why, and how sure.

    Like is compared with like: runs of one benchmark on as many accelerators of the same
    hardware, as far as a side has several of these.

    Parameters
    ----------
    others
        One or more tables, each judged against `a`.
    by
        Columns that put runs together, taken as they are.
    labels
        Names for `a` and each of the others.
    pool
        Compare all runs of a benchmark together, whatever they ran on.
    fail_on, require
        Conditions such as `slower:2%` and `not-slower:2%`; `Report.gate` says what came of them.
    unit, price
        As in `summary`.

    Raises
    ------
    TtastatsError
        As `run_table`; or the sides have nothing in common, or are the same runs, or parts of a
        table share some.
    """
    from ttastats import gate  # scipy costs start-up time
    from ttastats.comparison import Options
    from ttastats.report import compare as compare_report

    conditions = gate.conditions(fail_on, require)
    options = options or Options()
    sources = (a, *others)
    found = _on_axis(_sides(sources, where, target, of_answer=True), unit, price)
    baseline, *rest = _labelled(found, by, target, labels or _labels(sources))
    report = compare_report.report(baseline, rest, by, options, view, pool=pool)
    report = gate.judged(report, conditions, options.confidence)
    return _answered(report, *found)


def power(
    source: Source | None = None,
    *,
    cv: float | None = None,
    n: int | None = None,
    effects: Sequence[float] = (),
    power: float = 0.8,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report how many runs show a difference, from runs at hand or from a CV (a fraction).

    `unit` and `price` as in `summary`.

    Raises
    ------
    TtastatsError
        Neither runs nor a CV are given.
    """
    from ttastats.report import power as power_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    asked = tuple(effects) or power_report.EFFECTS
    if cv is not None:
        return power_report.from_cv(cv, effects=asked, n=n, power=power)
    if source is None:
        raise TtastatsError(
            "neither runs nor a CV to plan from", remedy="Give a file, or --cv 14%."
        )
    found = chosen(source, where, target, of_answer=True)
    (found,) = _on_axis([found], unit, price)
    keys = _by(by, ENTRY, found.runs)
    report = power_report.from_runs(found.runs, keys, effects=asked, n=n, power=power)
    return _answered(report, found)


def scaling(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report speedup and efficiency over the number of accelerators.

    `unit` and `price` as in `summary`; efficiency is of time alone.
    """
    from ttastats.report import scaling as scaling_report  # scipy costs start-up time

    found = chosen(source, where, target, of_answer=True)
    (found,) = _on_axis([found], unit, price)
    keys = _by(by, scaling_report.CURVE, found.runs)
    return _answered(scaling_report.report(found.runs, keys), found)


def score(source: Source, *, by: Sequence[str] = (), where: Sequence[str] = ()) -> Report:
    """Report the official MLPerf score of each result, raw and scaled, or why there is none."""
    from ttastats.counted import RESULT
    from ttastats.report import score as score_report  # scipy costs start-up time

    found = chosen(source, where, of_answer=True)
    keys = _by(by, RESULT, found.runs)
    return _answered(score_report.report(found.runs, keys), found)


def targets(
    a: Source,
    b: Source | None = None,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    points: int = 9,
    metric: str | None = None,
    labels: Sequence[str] = (),
    unit: str = "",
    price: str | float = "",
) -> Report:
    """Report how fraction reached, expected time and speedup depend on the quality target.

    `unit` and `price` as in `summary`; what is known of whole runs alone has no answer here.
    One table is answered by entry, unless asked otherwise; of two the benchmarks they share are.
    """
    from ttastats.report import targets as targets_report  # scipy costs start-up time
    from ttastats.report.grouping import BENCHMARK, ENTRY

    sources = [a] if b is None else [a, b]
    names = labels or _labels(sources)
    found = _on_axis(_sides(sources, where, ()), unit, price)
    for one in found if metric else ():
        expect_metric(one.rows, metric or "", "--metric")
    sides = [
        targets_report.Side(name, one.runs, one.rows)
        for name, one in zip(names, found, strict=True)
    ]
    keys = _by(by, ENTRY if b is None else BENCHMARK, found[0].runs)
    # Qualities of two benchmarks have no order; of one table no edition is mixed with another.
    always = BENCHMARK if b is None else ("benchmark",)
    report = targets_report.report(
        sides, tuple(dict.fromkeys((*always, *keys))), points=points, metric=metric
    )
    return _answered(report, *found)


def pictures(
    *sources: Source,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    pool: bool = False,
    options: Options | None = None,
    unit: str = "",
    price: str | float = "",
) -> tuple[Picture, ...]:
    """Give every picture that suits some runs: those of each benchmark first, then of several.

    Parameters
    ----------
    sources
        One, for pictures of its entries; more, to set each against the first.
    labels
        Names for the sources.
    pool
        As in `compare`.
    unit, price
        As in `summary`.
    """
    from ttastats.pictures import kinds  # scipy costs start-up time

    return kinds.all_pictures(
        material(
            *sources,
            by=by,
            where=where,
            target=target,
            labels=labels,
            pool=pool,
            options=options,
            unit=unit,
            price=price,
        )
    )


def plot(
    kind: str,
    *sources: Source,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    pool: bool = False,
    options: Options | None = None,
    unit: str = "",
    price: str | float = "",
) -> tuple[Picture, ...]:
    """Give the pictures of one kind, one per benchmark or one of all; see `pictures`.

    Raises
    ------
    TtastatsError
        The kind is unknown, or these runs have no such picture; the error says why.
    """
    from ttastats.pictures import kinds  # scipy costs start-up time

    draw = kinds.of(kind)
    return draw(
        material(
            *sources,
            by=by,
            where=where,
            target=target,
            labels=labels,
            pool=pool,
            options=options,
            unit=unit,
            price=price,
        )
    )


def html_report(
    *sources: Source,
    output: str | Path | None = None,
    title: str = "",
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    pool: bool = False,
    options: Options | None = None,
    fail_on: str = "",
    require: str = "",
    unit: str = "",
    price: str | float = "",
) -> Page:
    """Give one HTML page that needs no network: verdict, numbers and pictures.

    One source is summarised; of several the first is the baseline the others are judged against.

    Parameters
    ----------
    output
        Where to write the page, whole or not at all.
    labels
        Names for the sources; those of their files if there are none.
    pool
        As in `compare`.
    fail_on, require
        Conditions as `compare` takes them; `Page.gate` says what came of them.
    unit, price
        As in `summary`.

    Raises
    ------
    TtastatsError
        As `summary` or `compare`; or `output` is an input, or a file that no report wrote.
    """
    from ttastats import gate  # scipy costs start-up time
    from ttastats.comparison import Options as Defaults
    from ttastats.page import content, document, place
    from ttastats.pictures import kinds
    from ttastats.report import compare as compare_report

    if len(sources) < 2 and (fail_on or require):
        raise TtastatsError(
            "a condition needs something to be compared with",
            where="--fail-on" if fail_on else "--require",
            remedy="Give two files, the baseline first, or --a and --b.",
        )
    asked = gate.conditions(fail_on, require)
    if output is not None:
        place.expect(Path(output), [path for source in sources for path in choice.files(source)])
    options = options or Defaults()
    names = labels or _names(sources)
    found = _on_axis(_sides(sources, where, target), unit, price)
    made = _material(found, by, target, names, pool, options)
    runs = [one.runs for one in found]
    answer = (
        gate.judged(
            compare_report.report(made.sides[0], made.sides[1:], by, options, pool=pool),
            asked,
            options.confidence,
        )
        if made.compares
        else summary(*runs, by=by, ddof=options.ddof, confidence=options.confidence)
    )
    page = document.page(
        content.content(
            list(zip(names, runs, strict=True)),
            _with_left_out(_answered(answer, *found), kinds.left_out(made)),
            kinds.all_pictures(made),
            title=title,
            conditions=[*where, *(f"target {text}" for text in target)],
            confidence=options.confidence,
        )
    )
    if output is not None:
        place.write(Path(output), page.html)
    return page


def _with_left_out(answer: Report, sentences: Sequence[str]) -> Report:
    notes = tuple(Note("not_drawn", sentence) for sentence in sentences)
    return replace(answer, notes=(*answer.notes, *notes))


def material(
    *sources: Source,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    pool: bool = False,
    options: Options | None = None,
    unit: str = "",
    price: str | float = "",
) -> Material:
    """Give what pictures are made of."""
    found = _on_axis(_sides(sources, where, target), unit, price)
    return _material(found, by, target, labels or _labels(sources), pool, options)


def _material(
    found: Sequence[Chosen],
    by: Sequence[str],
    target: Sequence[str],
    labels: Sequence[str],
    pool: bool,
    options: Options | None,
) -> Material:
    from ttastats.pictures.material import material  # scipy costs start-up time

    return material(_labelled(found, by, target, labels), by, options, pool=pool)


def _names(sources: Sequence[Source]) -> list[str]:
    """Name sources by their files without folders, if that tells them apart, or by letters."""
    short = [", ".join(path.stem for path in choice.files(source)) for source in sources]
    if "" in short or len(set(short)) < len(short):
        return _labels(sources)
    return short


def export(source: Source, output: str | Path, *, where: Sequence[str] = ()) -> Exported:
    """Write runs as rows (`NAME.csv`, `NAME.jsonl`) or as a new folder of logs (any other name).

    Raises
    ------
    TtastatsError
        As `read`; or no run is left, or the output cannot be written or must stay as it is.
    """
    from ttastats.exporting import places

    # A log is whole or it is not true; rows stand for themselves.
    whole = chosen(source, where, by_evaluation=True).rows if where else read(source)
    table = read(source, where=where) if places.takes_rows(Path(output)) else whole
    return places.export(table, Path(output))


def filter(  # noqa: A001 - the name of the command
    *sources: given.Source, output: str | Path, where: Sequence[str] = ()
) -> Subset:
    """Write the runs that meet all conditions, of one table or of several, into one new table.

    A run is kept whole, with its problems; rows that several tables have count once.

    Parameters
    ----------
    output
        A Parquet file, or a folder of them if it ends with a slash; never one of the sources.

    Raises
    ------
    TtastatsError
        As `read`; or no run is left, or the output cannot be written or must stay as it is.
    """
    from ttastats.exporting import subset

    place, in_parts = Path(output), str(output).endswith("/")
    atomic.expect_no_input(place, [path for source in sources for path in given.paths(source)])
    store.expect_place(place, in_parts=in_parts or place.is_dir())
    every = store.together([given.tidy(source) for source in sources])
    found = chosen(every, where, by_evaluation=True) if where else None
    met = [problem for source in sources for problem in given.problems(source)]
    done = subset.write(
        every, found.rows if found else every, met, place, in_parts=in_parts or place.is_dir()
    )
    return replace(done, notes=tuple(note.text for note in found.notes)) if found else done


def problems(
    *sources: given.Source, where: Sequence[str] = (), codes: Sequence[str] = ()
) -> Report:
    """Report what was wrong with the logs of some tables, and which runs need a second look.

    These are all problems that an ingest met, copies within and across the tables, runs never
    evaluated, outliers in epochs and in time per epoch, and wrong numbers of runs.

    Parameters
    ----------
    codes
        Report these alone.

    Raises
    ------
    TtastatsError
        As `read`; or no run meets the conditions, or there is no problem of a code.
    """
    from ttastats.report import problems as problems_report

    given_tables = [table for source in sources for table in given.each(source)]
    tables = [
        crossing.runs(given.tidy(table)).with_columns(table=pl.lit(_label(table, number)))
        for number, table in enumerate(given_tables)
    ]
    every = pl.concat(tables).unique(["table", *schema.RUN], maintain_order=True)
    met = [problem for table in given_tables for problem in given.problems(table)]
    if not where:
        return problems_report.report(met, every, every, codes)
    rows = store.together([given.tidy(table) for table in given_tables])
    found = chosen(rows, where, by_evaluation=True)
    runs = every.join(found.runs, on=schema.RUN, how="semi")
    report = problems_report.report(met, runs, every, codes)
    return replace(report, notes=(*report.notes, *found.notes))


def _by(by: Sequence[str], default: Sequence[str], table: pl.DataFrame) -> tuple[str, ...]:
    columns.check(by, table.columns, option="--by")
    return tuple(by or default)


def _labels(sources: Sequence[Source]) -> list[str]:
    return [_label(source, n) for n, source in enumerate(sources)]


def _label(source: Source, position: int) -> str:
    if isinstance(source, Part):
        return ", ".join(map(str, source.conditions))
    return str(source) if isinstance(source, str | Path) else chr(ord("A") + position)
