"""The figures as CSV: one row for each, what each quantity means, and the simulated runs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from benchmarks.coverage.contents import OTHERS, SECTIONS
from benchmarks.coverage.figures import Figure, Kind, Rate, breaks_promise
from benchmarks.coverage.shapes import SHAPES, Shape

HEAD = ("measurement", "quantity", "setup", "runs", "percent", "error", "promise", "missed")
SHAPE = ("shape", "epochs", "evaluation_interval", "cv_of_epoch_time_percent", "cv_percent")
QUANTITIES = ("quantity", "section", "meaning", "setups")

#: Rounded to a tenth of a percent, a figure may look as if it kept a promise that it misses.
_ROUNDED = 0.0004

Measured = Mapping[str, Sequence[Figure]]
"""Figures by the measurement that made them."""


def write(path: Path, figures_by_name: Measured) -> None:
    """Write the figures, and beside them what the quantities mean and which runs were simulated."""
    rows = [_row(name, figure) for name, figures in figures_by_name.items() for figure in figures]
    _write(path, HEAD, rows)
    _write(path.with_name("quantities.csv"), QUANTITIES, quantities())
    _write(path.with_name("shapes.csv"), SHAPE, map(_shape, SHAPES))


def read(path: Path) -> dict[str, list[Figure]]:
    """Return the figures of a file that `write` made."""
    figures: dict[str, list[Figure]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["measurement"], []).append(_figure(row))
    return figures


def quantities() -> Iterator[tuple[str, str, str, str]]:
    """Yield each quantity with its section, its meaning and the setups of the section."""
    for section in (*SECTIONS, *OTHERS):
        for quantity, meaning in section.quantities:
            yield quantity, section.heading, meaning, section.text


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    rate = figure.rate
    percent = "" if rate is None else f"{100 * rate.value:.1f}"
    error = "" if rate is None or not rate.trials else f"{100 * rate.se:.1f}"
    missed = "yes" if breaks_promise(figure) else "no"
    cell = (figure.quantity, figure.setup, figure.runs)
    return (name, *cell, percent, error, figure.kind, missed)


def _figure(row: Mapping[str, str]) -> Figure:
    kind = cast("Kind", row["promise"])
    rate = None
    if row["percent"]:
        error = row["error"]
        rate = Rate(float(row["percent"]) / 100, float(error or 0) / 100, 1 if error else 0)
    figure = Figure(row["quantity"], row["setup"], row["runs"], rate, kind)
    if rate is not None and row["missed"] == "yes" and not breaks_promise(figure):
        nudge = -_ROUNDED if kind == "coverage" else _ROUNDED
        return replace(figure, rate=replace(rate, value=rate.value + nudge))
    return figure


def _shape(shape: Shape) -> tuple[str, ...]:
    """Return a shape as a row: values of the epochs with their probabilities, or a lognormal."""
    if shape.cv_epochs:
        (mean,) = shape.epochs
        epochs = f"lognormal, {mean:g} ± {shape.cv_epochs:.0%}"
    else:
        pairs = zip(shape.epochs, shape.probabilities, strict=True)
        epochs = ", ".join(f"{value:g} ({share:g})" for value, share in pairs)
    spreads = (f"{100 * shape.cv_epoch_time:g}", f"{100 * shape.cv:.2f}")
    return (shape.name, epochs, f"{shape.evaluation_interval:g}", *spreads)


def _write(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
