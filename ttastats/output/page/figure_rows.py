"""Which rows has the figure of a comparison, and what stands in each? Every run is in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import p_text
from ttastats.report.answer import Against, Report
from ttastats.report.grouping import shown_keys
from ttastats.report.row import expect_kind
from ttastats.stats.outcomes import Outcomes
from ttastats.stats.results import Tone

#: Rows from which on each has one line, and those that are decided stand first.
THIN_FROM = 17


class Runs(Struct, frozen=True):
    """The runs of one side: when they reached, where the others stopped, and the mean."""

    reached: tuple[float, ...]
    failed: tuple[float, ...]
    mean: float | None


class FigureRow(Struct, frozen=True):
    """One comparison: its runs, the speedup with its interval and its parts, and the verdict.

    `setup` tells it from others of its benchmark. `parts` are what the speedup is a product of.
    """

    benchmark: str | None
    name: str
    setup: str
    count: str
    a: Runs
    b: Runs
    ratio: float | None
    low: float | None
    high: float | None
    parts: tuple[tuple[str, float], ...]
    verdict: str
    tone: Tone
    p: str
    carried: str


def figure_rows(report: Report) -> tuple[FigureRow, ...]:
    """Return the rows of the figure in order; of many, those with a verdict come first."""
    rows = [row for against in report.against for row in _rows_against(against, report)]
    if len(rows) >= THIN_FROM:
        order = ("good", "bad", "plain", "dim")
        rows.sort(key=lambda row: (order.index(row.tone), -(row.ratio or 0.0)))
    return tuple(rows)


def verdict_counts(rows: tuple[FigureRow, ...]) -> str:
    """Return the number of rows by verdict: `8 faster, 32 undecided`."""
    words = Counter(row.verdict.split(" ", 1)[1] for row in rows)
    return ", ".join(f"{n} {word}" for word, n in words.items())


def _rows_against(against: Against, report: Report) -> Iterator[FigureRow]:
    several = len(report.against) > 1
    keys = [key for key in shown_keys(report.records, report.by) if key != "benchmark"]
    for row, (a, b) in zip(expect_kind(against.rows, TimesRow), against.runs, strict=True):
        ert = row.estimand == "ert"
        throughput, epochs = _known_number(row.throughput_speedup), _known_number(row.epochs_ratio)
        counts = f"{row.n_a:,} and {row.n_b:,} runs"
        if row.reached_a < row.n_a or row.reached_b < row.n_b:
            counts = f"{row.reached_a:,}/{row.n_a:,}, {row.reached_b:,}/{row.n_b:,}"
            counts = f"reached {counts}" if len(counts) < 14 else counts
        # The keys but the benchmark, such as `8× NVIDIA H200`.
        known = {key: str(row.get(key)) for key in keys if row.get(key) is not None}
        accelerators = known.pop("accelerators", "")
        words = " ".join(known.values())
        if accelerators:
            words = f"{accelerators}× {words}" if words else f"{accelerators} accelerators"
        yield FigureRow(
            benchmark=row.benchmark,
            name=row.benchmark or "these runs",
            setup=" · ".join(filter(None, (row.b if several else "", words))),
            count=counts,
            a=_runs_of_side(a, row.ert_a_seconds if ert else row.tta_a_seconds),
            b=_runs_of_side(b, row.ert_b_seconds if ert else row.tta_b_seconds),
            ratio=_known_number(row.speedup),
            low=_known_number(row.speedup_low),
            high=_known_number(row.speedup_high),
            parts=(
                ("throughput" if row.on.is_time else "per epoch", throughput),
                (row.progress_unit or "epochs", epochs),
            )
            if throughput and epochs
            else (),
            verdict=row.on.claim(row.word.signed),
            tone=row.word.tone,
            p=p_text(row, "{}"),
            carried=row.carried,
        )


def _runs_of_side(outcomes: Outcomes, mean: float | None) -> Runs:
    reached, failed = (
        tuple(outcomes.times[which].tolist()) for which in (outcomes.reached, ~outcomes.reached)
    )
    return Runs(reached, failed, _known_number(mean))


def _known_number(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
