"""Figures and pages of made-up answers are as was accepted: what stands where, and in which words.

A change of these files is a change of what a page shows: look at it before you accept it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
import pytest
from msgspec import structs

from tests import test_accepted_answers as answers
from tests.accepted import Case, by_name, cases
from tests.made_curves import of_spans
from tests.plotting import made
from tests.plotting.test_profiled import profile
from ttastats import api
from ttastats.answers.league import leagues
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import axis
from ttastats.output.page import content, document, figure, league, of_profiles
from ttastats.output.page.content import Look
from ttastats.output.page.figure import FigureRow, Runs
from ttastats.output.plots.plot import Plot
from ttastats.report.answer import Report
from ttastats.traces.table import frame_of, measure_row

Found = Iterator[Any]
EARLY = pl.col("seed") < 3


# ----------------------------------------------------------------------------------------- figures

VERDICTS = (("▲ faster", "good"), ("▼ slower", "bad"), ("= the same", "plain"),
            ("~ undecided", "dim"))  # fmt: skip
NAMES = ("resnet", "a benchmark of a very long name, much longer than fits", "<b>&\x1b[1m", "bert")


def runs(draw: random.Random, pace: float, spread: float) -> Runs:
    def times(most: int) -> tuple[float, ...]:
        return tuple(pace * draw.uniform(1, spread) for _ in range(draw.randrange(most)))

    reached, failed = times(6), times(3) + draw.choice([(), (0.0,)])
    return Runs(reached, failed, sum(reached) / len(reached) if reached else None)


def row(draw: random.Random, pace: float, spread: float) -> FigureRow:
    ratio = draw.choice([None, 0.0, 0.02, 0.5, 0.99, 1.0, 1.03, 2.0, 40.0])
    known = bool(ratio) and draw.random() < 0.9
    far = draw.choice([1.01, 1.3, 50.0])
    verdict, tone = draw.choice(VERDICTS)
    parts = (("throughput", (ratio or 1.0) * 2), ("epochs", 0.5)) if draw.random() < 0.7 else ()
    return FigureRow(
        benchmark=draw.choice([*NAMES, None]), name=draw.choice(NAMES),
        setup=draw.choice(["", "8× H200", "72× " + "very " * 9 + "long"]), count="3 and 2 runs",
        a=runs(draw, pace, spread), b=runs(draw, pace * draw.choice([0.5, 1.0]), spread),
        ratio=ratio, low=(ratio or 0.0) / far if known else None,
        high=(ratio or 0.0) * far if known else None, parts=parts, verdict=verdict, tone=tone,
        p=draw.choice(["", "p < .001"]), carried="setups pooled" if draw.random() < 0.2 else "",
    )  # fmt: skip


def of_figures() -> Found:
    """Yield figures of few rows and of many, of times from milliseconds to years, of dollars."""
    for seed in range(24):
        draw = random.Random(f"figure {seed}")
        of = axis.AXES[draw.choice(["seconds"] * 4 + ["cost", "energy", "epochs"])]
        pace = draw.choice([0.002, 0.3, 7.0, 50.0, 1500.0, 7000.0, 9e4, 3e8])
        spread = draw.choice([1.0, 1.02, 1.5, 30.0])
        few = draw.choice([1, 1, 2, 3, figure.THIN_FROM - 1 if seed % 8 == 0 else 2])
        rows = [row(draw, pace, spread) for _ in range(17 if seed % 8 == 1 else few)]
        links = {name: f"#section-{n}" for n, name in enumerate(NAMES[:2])}
        sides = draw.choice([("old", "new"), ("a side of a very long name, " * 3, "<i>")])
        drawn = figure.figure_svg(rows, sides, of, draw.choice([0.95, 0.9]), links)
        yield f"-- {seed} {of.name} {len(rows)} rows"
        # Of many rows, which are all drawn alike, the first.
        yield from (line[: 4000 if len(rows) > 3 else None] for line in drawn.split("\n"))


# ------------------------------------------------------------------------------------------- pages


def page(report: Report, *tables: pl.DataFrame, unit: str = "", **more: Any) -> Found:
    """Yield what a page of some tables and their report says, without its tables and plots."""
    judged = (api.run_table(table) for table in tables)
    counted = [axis.converted(runs, axis.AXES[unit or "seconds"]) for runs in judged]
    sides = [(f"side {n}", runs) for n, runs in enumerate(counted)]
    shown = content.page_content(sides, report, (), **{"confidence": 0.95} | more)
    yield [shown.title, shown.counted, shown.command]
    yield from shown.facts
    yield from shown.verdicts
    yield from shown.choices.rows()
    if shown.answer:
        answer = shown.answer
        yield [answer.above, answer.sides, answer.axis.name, answer.confidence]
        yield from answer.rows
    yield from league.league_tables(shown.leagues, shown.choices)


def of_comparisons() -> Found:
    slow, fast, several, _ = answers.speedruns()
    yield from page(api.compare(slow, fast), slow, fast, conditions=["seed<9"], command="x y")
    yield from page(api.compare(slow, fast), slow, fast, title="A title", confidence=0.9)
    yield from page(api.compare(slow, fast, several), slow, fast, several, title="Of three")
    yield from page(api.compare(slow, fast, unit="steps"), slow, fast, unit="steps")
    yield from page(api.compare(slow, fast, at_end=True), slow, fast)
    a, b = (
        table.filter(pl.col("benchmark") != "dlrm") for table in (answers.before(), answers.after())
    )
    report = api.compare(a, b)
    yield from page(report, a, b)
    twice = replace(report, against=report.against * 2)
    yield from figure.rows_of_figure(twice)
    yield figure.verdict_counts(figure.rows_of_figure(twice))
    yield from page(api.compare(a, b, unit="cost"), a, b, unit="cost")
    first, rest = (made.many_kinds().filter(rows) for rows in (EARLY, EARLY.not_()))
    yield from figure.rows_of_figure(api.compare(first, rest, by=["benchmark", "accelerators"]))
    for others in ([fast] * 3, [fast] * 4):
        whole = content.page_content(
            [(f"side {n}", api.run_table(table)) for n, table in enumerate([slow, *others])],
            api.compare(slow, *others), (),
            confidence=0.95
        )  # fmt: skip
        yield [whole.title, whole.answer and whole.answer.above]
    yield content.page_content(
        [("side 0", api.run_table(slow))], api.runs(slow), (), confidence=0.95
    ).title


def of_summaries() -> Found:
    reaching = answers.lengths(0, 1400)
    for runs in (
        answers.odd(),
        answers.speedruns()[3],
        answers.faulty(),
        answers.scales(),
        reaching,
    ):
        report = api.summary(runs)
        yield from page(report, runs)
        for most in (1, 3, len(report.rows) - 1, len(report.rows)):
            shown = content.limit_rows(report, most)
            yield [most, [len(table.rows) for table in shown.tables], shown.notes[:1]]
    report = api.runs(answers.before())
    shown = content.limit_rows(report, 5)
    yield [[row.cells[0] for row in shown.tables[0].rows], shown.notes[:1]]
    (table,) = report.tables
    for count in (600, 601):
        many = structs.replace(table, rows=tuple(table.rows)[:1] * count)
        yield content.limit_rows(replace(report, tables=(many,))).notes[:1]
    long = answers.before().with_columns(entry=pl.lit("a_system_of_a_very_long_name_" * 3))
    for entries in (long, made.groups(43)):  # of many entries the fastest are ranked
        first, *_ = league.league_tables(
            leagues(api.summary(entries), 0.95),
            content.available_choices([("", api.run_table(entries))]),
        )
        yield [first.entries, first.claim, first.left_out, first.lanes, len(first.rows)]
        yield [[row.name, row.whole] for row in first.rows[:2]]
    two = pl.concat([made.rows(made.FAST, entry=entry) for entry in ("lab/a", "lab/b")])
    for runs in (two, made.nightly()):
        yield from page(api.summary(runs), runs)
    # Two of six go on beyond the axis.
    far = pl.concat(
        made.rows([(slower * time, epochs) for time, epochs in (*made.FAST, (70.0, None))],
                  entry=f"lab/{n}")
        for n, slower in enumerate((1.0, 1.1, 1.2, 1.3, 3.9, 20.0))
    )  # fmt: skip
    yield from page(api.summary(far), far)
    # Of an entry that never reached there are no accelerator-hours.
    never = (("lab/a", made.FAST), ("lab/b", [(90.0, None), (80.0, None)]))
    lost = pl.concat(made.rows(times, entry=entry, accelerators=8) for entry, times in never)
    yield from page(api.summary(lost), lost)


def of_profiled() -> Found:
    first, second = profile("one"), profile("other")
    slower = second.with_columns(
        seconds=pl.col("seconds") * 2,
        value=pl.when(pl.col("name").str.ends_with("_seconds")).then(pl.col("value") * 2)
        .otherwise("value"),
    )  # fmt: skip
    several = pl.concat([first, slower])
    third = profile("third", measured=False).with_columns(
        seconds=0.011, kind=pl.lit("measure"), name=pl.lit("step_seconds"), value=0.011
    )
    a, single = ("a", first), ("b", third.head(1))
    stuck, waiting = (
        profile("waiting").with_columns(
            value=pl.col("name").replace_strict(
                {"compute_seconds": compute, "host_seconds": host, "step_seconds": compute + host},
                default=pl.col("value"),
            )
        )
        for compute, host in ((0.0, 0.011), (0.002, 0.018))
    )
    sized = frame_of([measure_row("batch_size", 1024)], profile="sized", profile_id="sized")
    alone = [[("a", rows)] for rows in (stuck, sized, profile("no step", measured=False))]
    pairs = [(f"{n}", pl.concat(profile(f"{n}{word}") for word in ("one", "two"))) for n in "abcd"]
    for sides in (
        [a, ("b", slower)], [("a", several), ("b", third)], [a, single], *alone,
        [a, ("b", waiting)], pairs[:3], pairs,
    ):  # fmt: skip
        shown = of_profiles.profiles_content(sides, [], confidence=0.95)
        yield [shown.title, shown.counted, len(shown.plots)]
        yield from shown.facts
        yield from shown.verdicts
        yield from shown.report.notes
    with pytest.raises(TtastatsError, match="no training step") as caught:
        of_profiles.profiles_content(
            [("a", first), ("b", profile("empty", measured=False))], [], confidence=0.95
        )
    yield str(caught.value)


def of_sections() -> Found:
    """Yield the sections of a page of plots of many kinds, with their anomalies."""
    a, b = answers.speedruns()[:2]
    kinds = ("history", "variance", "scaling", "quality-epochs", "tta", "effects", "solved",
             "quality-time", "targets")  # fmt: skip
    among = [Plot(kind, kind, "", {}, {}, "speedrun") for kind in kinds]
    among += [Plot("tta", "tta", "", {}, {}, "bert"), Plot("speedups", "speedups", "", {}, {})]
    looks = [
        Look(f"{kind} of {name}", name, kind)
        for kind in ("quality-epochs", "leaderboard")
        for name in ("speedrun", "bert", "gnn", None)
    ]
    for tables, plots, at_end in (
        ((a, b), among, False), ((a,), among[3:4], False), ((a,), [], False), ((a, b), [], True)
    ):  # fmt: skip
        judge = partial(api.compare, at_end=at_end) if len(tables) > 1 else api.summary
        report = judge(*tables)
        sides = [(f"side {n}", api.run_table(table)) for n, table in enumerate(tables)]
        shown = content.page_content(sides, report, plots, confidence=0.95)
        sections = document._benchmark_sections(shown)
        for section in sections:
            numbered = [
                [[n, plot.kind] for n, plot in plots] for plots in (section.first, section.more)
            ]
            yield [section.name, section.heading, section.benchmark, *numbered]
            yield from section.verdicts
        yield from (
            [look.sentence, place] for look, place in document._linked_looks(looks, sections)
        )


def of_looks() -> Found:
    """Yield what to look at twice: of many findings of a kind the first, and how many more."""
    yield from content.find_looks(api.material(answers.faulty()).sides)
    for slow in (11, 12):
        spans = {f"{n:02}": [80.0 if n < slow else 10.0 + n / 100] * 8 for n in range(40)}
        yield from content.find_looks(api.material(of_spans(spans)).sides)


PAGES = (of_figures, of_comparisons, of_summaries, of_profiled, of_sections, of_looks)


@cases("pages", **by_name(*PAGES))
def test_pages_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
