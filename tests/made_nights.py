"""Generated runs of one setup, a few a night, for tests of histories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from tests.made_curves import evaluation, logs, of
from ttastats.base.records import Run

START = datetime(2026, 1, 1, 3, tzinfo=UTC)


def nights(
    number: int,
    speed: Callable[[int], float] = lambda _: 60.0,
    epochs: Callable[[int], float] = lambda _: 10.0,
    failed: Callable[[int], int] = lambda _: 0,
    *,
    runs: int = 2,
    noise: tuple[float, float] = (0.005, 0.03),
    seed: int = 1,
    **more: object,
) -> pl.DataFrame:
    """Return runs of so many nights, numbered from 0, each with a commit of its own."""
    rng = np.random.default_rng(seed)
    return logs(
        [
            one_run(
                speed(night) * float(np.exp(rng.normal(0, noise[0]))),
                epochs(night) * float(np.exp(rng.normal(0, noise[1]))),
                night,
                number >= failed(night),
                **more,
            )
            for night in range(number)
            for number in range(runs)
        ]
    )


def one_run(speed: float, epochs: float, night: int, reached: bool, **more: object) -> Run:
    started = START + timedelta(days=night)
    value = 0.8 if reached else 0.5
    aim = {"metric": "accuracy", "higher_is_better": True, "target_value": 0.75}
    point = evaluation(0, value, seconds=speed * epochs, step=None, epoch=epochs, **aim)
    names = {"benchmark": "digits", "entry": "nightly", "extra": {"commit": f"c{night + 1:03}"}}
    return of(point, **{"started_at": started, **names, **more})
