"""The page of results, in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from benchmarks.coverage.contents import MARKED, REAL, SECTIONS, Columns, Section
from benchmarks.coverage.figures import MOST_FALSE_CLAIMS as ALLOWED
from benchmarks.coverage.figures import Figure, Rate, breaks_promise, could_be_chance
from benchmarks.coverage.goals import GOALS
from benchmarks.coverage.misses import explained
from benchmarks.coverage.real import splits_of
from benchmarks.coverage.shapes import SHAPES, Shape
from benchmarks.coverage.simulations import Plan

WIDTH = 100


def written(figures: Sequence[Figure], plan: Plan, data: Sequence[str]) -> str:
    """Give the page."""
    parts = [_introduction(plan, data), _goals(figures), _misses(figures), _excluded(figures)]
    parts += [_shapes()]
    parts += [_section(section, figures) for section in SECTIONS]
    parts += [_real(figures, plan), _pitfalls(figures)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _introduction(plan: Plan, data: Sequence[str]) -> str:
    words = ["python benchmarks/coverage", f"--replicates {plan.replicates}", f"--seed {plan.seed}"]
    words += ["--data", *data] if data else []
    return "\n\n".join(
        (
            "# What the intervals cover, measured",
            _wrapped(
                "A 95 % interval should hold the true value in 95 of 100 repetitions, and a "
                "verdict should be wrong at most 5 times in 100. This page measures both with the "
                "functions that the program calls, on made-up runs whose true values are known "
                "and on real runs of one and the same setup. The command below writes it, in a "
                "quarter of an hour on one core that has nothing else to do."
            ),
            f"    {' '.join((*words, '-o docs/coverage.md'))}",
            _wrapped(
                f"Every cell comes from {plan.replicates} replicates unless its section says "
                "otherwise; ± is the Monte-Carlo standard error of the figure before it. Bold is "
                "what misses: under 94 % for an interval, over 6 % for false claims. Numbers of "
                "runs are per side; 5+10 is 5 of A against 10 of B. [statistics.md](statistics.md) "
                "explains the quantities."
            ),
            _wrapped(MARKED),
        )
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _goals(figures: Sequence[Figure]) -> str:
    rows = []
    for goal in GOALS:
        asked = [f for f in figures if goal.asks(f) and f.rate is not None]
        if asked:
            rows.append((goal.text, str(len(asked)), _outcome(asked), _extreme(asked)))
    return "## The goals\n\n" + _table(("goal", "cells", "outcome", "worst cell"), rows)


def _outcome(figures: Sequence[Figure]) -> str:
    missed = [figure for figure in figures if breaks_promise(figure)]
    if not missed:
        return "held"
    chance = ", perhaps by chance" if all(map(could_be_chance, missed)) else ""
    return f"**missed in {len(missed)}{chance}**"


def _extreme(figures: Sequence[Figure]) -> str:
    worst = figures[0]
    for figure in figures:
        if figure.rate is None or worst.rate is None:
            continue
        worse = figure.rate.value - worst.rate.value
        if (worse if figure.kind == "false claim" else -worse) > 0:
            worst = figure
    return f"{worst.setup}, {worst.runs}: {_percent(worst.rate)}"


def _misses(figures: Sequence[Figure]) -> str:
    lines = ["## Where we do not hold"]
    lines.append(
        _wrapped(
            "Every cell of this page that misses, in percent, by the reason. With (?) the miss is "
            "within two standard errors and may be chance. Of so many cells some miss by chance."
        )
    )
    for reason, found in explained(figures).items():
        lines.append(_wrapped(reason))
        quantities = dict.fromkeys(figure.quantity for figure in found)
        lines.append(
            "\n".join(
                _item(quantity, [figure for figure in found if figure.quantity == quantity])
                for quantity in quantities
            )
        )
    return "\n\n".join(lines)


def _excluded(figures: Sequence[Figure]) -> str:
    """Return what every claim assumes, and how often claims are false where it does not hold."""
    text = (
        "Every claim assumes that further runs are like those seen. Where a few in a hundred fail, "
        "straggle or take far more epochs, or sessions differ, a sample often holds none of them, "
        "and no mark can tell. False claims without a mark in such cells, in percent, where there "
        "are more than 6:"
    )
    missed = [f for f in figures if f.kind == "excluded" and f.rate and f.rate.value > ALLOWED]
    items = [
        _item(quantity, [figure for figure in missed if figure.quantity == quantity])
        for quantity in dict.fromkeys(figure.quantity for figure in missed)
    ]
    return "\n\n".join(["## What the assumption excludes", _wrapped(text), "\n".join(items)])


def _item(quantity: str, figures: Sequence[Figure]) -> str:
    """Give the misses of one quantity, each setup named once."""
    cells: dict[str, list[str]] = {}
    for figure in figures:
        mark = " (?)" if could_be_chance(figure) else ""
        cells.setdefault(figure.setup, []).append(f"{figure.runs}: {_percent(figure.rate)}{mark}")
    text = "; ".join(f"{setup} {', '.join(some)}" for setup, some in cells.items())
    return textwrap.fill(
        f"- {quantity}: {text}", WIDTH, subsequent_indent="  ", break_long_words=False
    )


def _shapes() -> str:
    text = (
        "Time = epochs × a lognormal time per epoch, scaled so that the means are equal. "
        '"A / B" in a table means that the sides have these two shapes.'
    )
    rows = [(shape.name, *_shape(shape)) for shape in SHAPES]
    head = (
        "shape",
        "epochs (probability)",
        "evaluation interval",
        "CV of time per epoch",
        "CV of the time",
    )
    return f"## The made-up runs\n\n{_wrapped(text)}\n\n{_table(head, rows)}"


def _shape(shape: Shape) -> tuple[str, str, str, str]:
    spreads = f"{100 * shape.cv_epoch_time:g} %", f"{100 * shape.cv:.2f} %"
    if shape.cv_epochs:
        (epochs,) = shape.epochs
        return (
            f"lognormal, {epochs:g} ± {shape.cv_epochs:.0%}",
            f"{shape.evaluation_interval:g}",
            *spreads,
        )
    pairs = zip(shape.epochs, shape.probabilities, strict=True)
    return ", ".join(f"{e:g} ({p:g})" for e, p in pairs), f"{shape.evaluation_interval:g}", *spreads


def _section(section: Section, figures: Sequence[Figure]) -> str:
    lines = [f"## {section.heading}", _wrapped(section.text)]
    for quantity, caption in section.tables:
        found = [figure for figure in figures if figure.quantity == quantity]
        if found:
            lines += [_wrapped(caption), _grid(found)]
    if rows := _rows(section.columns, figures):
        lines.append(_table(("", "runs", *(head for _, head in section.columns)), rows))
    return "\n\n".join(lines) if len(lines) > 2 else ""


def _grid(figures: Sequence[Figure]) -> str:
    """Lay out setups as rows and numbers of runs as columns."""
    columns = list(dict.fromkeys(figure.runs for figure in figures))
    cells = {(figure.setup, figure.runs): _cell(figure) for figure in figures}
    rows = [
        (setup, *(cells.get((setup, runs), "") for runs in columns))
        for setup in dict.fromkeys(figure.setup for figure in figures)
    ]
    return _table(("", *columns), rows)


def _rows(columns: Columns, figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Give a row for each setup and number of runs, with a cell for each quantity."""
    quantities = [quantity for quantity, _ in columns]
    found = [figure for figure in figures if figure.quantity in quantities]
    cells = {(f.setup, f.runs, f.quantity): _cell(f) for f in found}
    keys = dict.fromkeys((f.setup, f.runs) for f in found)
    return [(*key, *(cells.get((*key, one), "") for one in quantities)) for key in keys]


def _cell(figure: Figure) -> str:
    text = _percent(figure.rate)
    return f"**{text}**" if breaks_promise(figure) else text


def _percent(rate: Rate | None) -> str:
    if rate is None:
        return "–"
    value = f"{100 * rate.value:.1f}"
    return value if not rate.trials else f"{value} ±{100 * rate.se:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _real(figures: Sequence[Figure], plan: Plan) -> str:
    rows = _rows(REAL, figures)
    if not rows:
        return ""
    text = (
        "Runs of published MLPerf Training entries, from Parquet files that `ttastats ingest` "
        "wrote of the logs of one round each. The runs of an entry are split at random into two "
        "sides that share none, so that the true ratio is 1 whatever their distribution; "
        f"{splits_of(plan).replicates} splits of every entry that has at least twice the runs. "
        '"Successes" takes the runs that reached the target; "entries with failures" all runs '
        "of entries of which some failed. ± is the standard error of the mean over entries, whose "
        "splits share their runs. Figures in percent."
    )
    head = ("entries", "runs a side", *(head for _, head in REAL))
    return f"## Real runs\n\n{_wrapped(text)}\n\n{_table(head, rows)}"


def _pitfalls(figures: Sequence[Figure]) -> str:
    rows = [
        (figure.setup, figure.runs, _percent(figure.rate))
        for figure in figures
        if figure.quantity == "pitfalls"
    ]
    if not rows:
        return ""
    text = (
        "The verdict takes its runs for all runs of two setups, their number fixed beforehand. "
        "What a decision is worth when that is not so: how often it is made, whatever its mark. A "
        "quarter of the replicates; a sixteenth for Mann-Whitney."
    )
    table = _table(("what is done", "runs", "decided, %"), rows)
    return f"## Ways to fool oneself\n\n{_wrapped(text)}\n\n{table}"
