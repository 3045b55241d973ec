"""`--prior`: the noise of earlier entries beside few runs, and when it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import logs
from tests.made_nights import one_run
from tests.questions import Questions, accepted_answers
from tests.test_cli import run
from ttastats import api
from ttastats.report.answer import Report
from ttastats.table import store


def runs(n: int, seed: int, epochs: float = 10.0, noise: float = 0.06, **more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    facts = {"global_batch_size": 256, "system": f"s{seed}", "entry": f"e{seed}"} | more
    return logs(
        [
            one_run(60 * float(np.exp(rng.normal(0, 0.01))),
                    epochs * float(np.exp(rng.normal(0, noise))), number, True, **facts)
            for number in range(n)
        ]
    )  # fmt: skip


EARLIER = pl.concat(runs(8, seed) for seed in range(10, 20))
A, B = runs(3, 1), runs(3, 4, epochs=9.0)


def near() -> pl.DataFrame:
    """Return earlier entries close to A and far from it, and A itself."""
    sizes = (256, 256, 256, 256, 384, 384, 384, 171, 385, 170)
    systems = ("s1",) * 5 + ("s4",) * 5
    entries = [
        runs(3 + place % 4, 10 + place, noise=0.03 + 0.02 * (place % 4),
             global_batch_size=size, system=system)
        for place, (size, system) in enumerate(zip(sizes, systems, strict=True))
    ]  # fmt: skip
    return pl.concat([*entries, runs(2, 20), A])


def compared(
    prior: pl.DataFrame | None = EARLIER, a: pl.DataFrame = A, b: pl.DataFrame = B, **other: Any
) -> Callable[[], Report]:
    """Compare two sides with earlier entries, some of whose columns differ."""
    if prior is not None:
        prior = prior.with_columns(**{name: pl.lit(value) for name, value in other.items()})
    return lambda: api.compare(a, b, prior=prior, by=["benchmark"])


QUESTIONS: Questions = {
    "the interval of epochs is narrower": compared(),
    "without a prior": compared(None),
    "other batch sizes": compared(global_batch_size=1024),
    "some are near": compared(near(), b=runs(3, 4, epochs=9.0, global_batch_size=320)),
    "others are near the other side": compared(near(), b=A, a=B),
    "another benchmark": compared(benchmark="other"),
    "another target": compared(target_value=0.9),
    "entries without noise": compared(epoch=10.0),
    "many runs need none": compared(a=runs(6, 1), b=runs(6, 2, epochs=9.0)),
    "nor do four": compared(a=runs(4, 1), b=runs(4, 2)),
    "one of many does not": compared(b=runs(6, 2, epochs=9.0)),
    "one run tells no spread": compared(a=runs(1, 1)),
    "two runs do": compared(a=runs(2, 1), b=runs(2, 4, epochs=9.0)),
    "a side of unknown progress": compared(b=B.with_columns(epoch=pl.lit(None, pl.Float64))),
    "two values of epochs": compared(a=runs(2, 1, noise=0.0), b=runs(2, 2, epochs=8.5, noise=0.0)),
    "a plan": lambda: api.power(A, prior=EARLIER),
    "a plan by near ones": lambda: api.power(A, prior=near()),
    "a plan of unknown progress": lambda: api.power(
        A.with_columns(epoch=None, step=None, samples=None), prior=EARLIER
    ),
    "of one run": lambda: api.power(runs(1, 1), prior=EARLIER),
    "of two runs": lambda: api.power(runs(2, 1), prior=EARLIER),
    "a claim": lambda: api.claim(A, seconds="<= 700", prior=EARLIER),
    "a claim without": lambda: api.claim(A, seconds="<= 700"),
    "a claim of quality": lambda: api.claim(A, quality="accuracy >= 0.7", prior=EARLIER),
}


@accepted_answers("prior", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_the_noise_of_earlier_entries_is_taken_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_the_commands_take_files(tmp_path: Path) -> None:
    for name, table in (("a", A), ("b", B), ("earlier", EARLIER)):
        store.write(table, tmp_path / f"{name}.parquet")
    a, b, prior = (tmp_path / f"{name}.parquet" for name in ("a", "b", "earlier"))
    result = run("compare", a, b, "--by", "benchmark", "--prior", prior, "-v")
    assert result.returncode == 0
    assert "10 earlier entries, noise" in result.stdout
    assert "10 earlier entries" in run("power", a, "--prior", prior).stdout
    assert "10 earlier entries" in run("claim", a, "--seconds", "<= 700", "--prior", prior).stdout
