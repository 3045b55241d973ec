"""Tables of runs that are evaluated at an even pace, in random numbers and names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import polars as pl

import ttastats as tta
from tests.random_cases import SEEDS

GUISES = (3, 17, 58)[: len(SEEDS)]
METRICS = ("val_acc", "top1", "dice", "eval/f1", "test_accuracy")


class Curves:
    """Draw sides of runs from a seed: a metric, a unit of progress, an interval and a target."""

    def __init__(self, seed: int) -> None:
        """Draw what all sides share."""
        self.draw = random.Random(seed)
        self.metric = self.draw.choice(METRICS)
        self.unit = self.draw.choice(("epoch", "step"))
        self.every = 1 if self.unit == "epoch" else self.draw.choice((50, 1000))
        self.hit = self.draw.randrange(8, 14)
        self.length = self.hit + self.draw.randrange(3)

    def rows(
        self, pace: float, *, startup: float = 0.0, first: int = 1, seed: int = 0,
        clock_zero: str | None = None, scale: float = 1.0,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the evaluations of one run, `pace` seconds apart; the target is 0.9."""
        before = startup - pace * (first - 1)
        return [
            {"run": f"{seed} {pace} {startup} {first} {scale}", "seed": seed,
             "progress": place * self.every, "clock_zero": clock_zero,
             "quality": scale * (0.5 + 0.4 * place / self.hit),
             "seconds": before + pace * place * (1 + 0.002 * (seed % 5))}
            for place in range(first, self.length + 1)
        ]  # fmt: skip

    def side(self, pace: float, *, runs: int = 4, **more: Any) -> pl.DataFrame:
        """Return a side of some runs."""
        return self.table([row for n in range(runs) for row in self.rows(pace, seed=n, **more)])

    def table(self, rows: Sequence[dict[str, Any]], **more: Any) -> pl.DataFrame:
        """Return the table of some evaluations; the target is 0.9."""
        about: dict[str, Any] = {
            "run": "run", "seconds": "seconds", self.unit: "progress", "seed": "seed",
            "clock_zero": "clock_zero", "target": 0.9, "metric": self.metric,
            "higher_is_better": True, **more,
        }  # fmt: skip
        frame = pl.DataFrame(rows, schema_overrides={"clock_zero": pl.String})
        if isinstance(about["metric"], str):
            frame = frame.rename({"quality": about["metric"]})
        return tta.from_frame(frame, **about)


def compared(a: pl.DataFrame, b: pl.DataFrame, **options: Any) -> tuple[dict[str, Any], str]:
    """Return the one row of a comparison, and its sentence and notes as one text."""
    report = tta.compare(a, b, **options)
    (row,) = report.rows
    return dict(row), "\n".join((report.sentence, *(note.text for note in report.notes)))
