"""The summary of the figures that the statistics page has: goals, and where they are missed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from benchmarks.coverage.figures import MOST_FALSE_CLAIMS as ALLOWED
from benchmarks.coverage.figures import Figure, Rate, breaks_promise, could_be_chance
from benchmarks.coverage.goals import GOALS
from benchmarks.coverage.misses import CHANCE, explained

WIDTH = 100


def written(figures: Sequence[Figure]) -> str:
    """Return the sections of the page."""
    parts = (_goals(figures), _misses(figures), _excluded(figures))
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _goals(figures: Sequence[Figure]) -> str:
    rows = []
    for goal in GOALS:
        answers = [f for f in figures if goal.asks(f) and f.rate is not None]
        if answers:
            rows.append((goal.text, str(len(answers)), _outcome(answers), _cell(_worst(answers))))
    return "### The goals\n\n" + _table(("goal", "cells", "outcome", "worst cell"), rows)


def _outcome(figures: Sequence[Figure]) -> str:
    missed = [figure for figure in figures if breaks_promise(figure)]
    if not missed:
        return "held"
    chance = ", perhaps by chance" if all(map(could_be_chance, missed)) else ""
    return f"**missed in {len(missed)}{chance}**"


def _worst(figures: Sequence[Figure]) -> Figure:
    worst = figures[0]
    for figure in figures:
        if figure.rate is None or worst.rate is None:
            continue
        worse = figure.rate.value - worst.rate.value
        if (-worse if figure.kind == "coverage" else worse) > 0:
            worst = figure
    return worst


def _cell(figure: Figure) -> str:
    return f"{figure.setup}, {figure.runs}: {_percent(figure.rate)}"


def _misses(figures: Sequence[Figure]) -> str:
    text = (
        "All cells that miss, by the reason, with the worst of each quantity, in percent. A miss "
        "by up to two standard errors may be chance; of so many cells some miss by chance."
    )
    lines = ["### Where the goals are missed", _wrapped(text)]
    for reason, missed in explained(figures).items():
        if reason == CHANCE:
            lines.append(f"{reason} {len(missed)} cells.")
        else:
            lines += [_wrapped(reason), _by_quantity(missed)]
    return "\n\n".join(lines)


def _excluded(figures: Sequence[Figure]) -> str:
    """Return what every claim assumes, and how often claims are false where it does not hold."""
    text = (
        "Every claim assumes that further runs are like those seen. Where a few runs in a hundred "
        "fail, straggle or take far more epochs, or sessions differ, many samples contain none of "
        "them, and no mark can show it. False claims without a mark in such cells, in percent, "
        "where there are more than 6:"
    )
    missed = [f for f in figures if f.kind == "excluded" and f.rate and f.rate.value > ALLOWED]
    return "\n\n".join(("### What the assumption excludes", _wrapped(text), _by_quantity(missed)))


def _by_quantity(figures: Sequence[Figure]) -> str:
    """Return a line for each quantity: how many cells, and the worst of them."""
    lines = []
    for quantity in dict.fromkeys(figure.quantity for figure in figures):
        cells = [figure for figure in figures if figure.quantity == quantity]
        number = "1 cell," if len(cells) == 1 else f"{len(cells)} cells, at worst"
        lines.append(_item(f"- {quantity}: {number} {_cell(_worst(cells))}"))
    return "\n".join(lines)


def _item(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False)


def _percent(rate: Rate | None) -> str:
    if rate is None:
        return "–"
    value = f"{100 * rate.value:.1f}"
    return value if not rate.trials else f"{value} ±{100 * rate.se:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
