"""Made-up runs whose plots are easy to predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from ttastats.base.records import Evaluation, Run
from ttastats.table import tables

Outcome = tuple[float, int | None]  # seconds, and epochs to the target or None for a failed run

TARGET = 0.75


def rows(
    outcomes: Sequence[Outcome], *, entry: str = "lab/one", epochs: bool = True, **more: Any
) -> pl.DataFrame:
    """Return the tidy table of runs evaluated after each epoch, which may reach in the last."""
    sourced = []
    for number, (seconds, reached_at) in enumerate(outcomes):
        last = reached_at or 10
        evaluations = tuple(
            Evaluation(
                index=epoch - 1,
                metric="top1_accuracy",
                value=0.76 if epoch == reached_at else 0.3 + 0.04 * epoch + 0.001 * number,
                logged_value=None,
                seconds=seconds * epoch / last,
                higher_is_better=True,
                epoch=float(epoch) if epochs else None,
                target_value=TARGET,
            )
            for epoch in range(1, last + 1)
        )
        facts: dict[str, Any] = {
            "suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "entry": entry,
            "submitter": "lab", "system": entry.rsplit("/", maxsplit=1)[-1], "seed": number,
        }  # fmt: skip
        run = Run(
            run_status="success" if reached_at else "aborted",
            run_seconds=seconds,
            evaluations=evaluations,
            **(facts | more),
        )
        name = f"{entry}/{facts['benchmark'] if 'benchmark' not in more else more['benchmark']}"
        digest = f"{abs(hash((name, number, seconds, str(more)))):032x}"
        sourced.append(tables.SourcedRun(run, f"{name}/{number}.txt", digest, 0, "test"))
    return tables.table_of_runs(sourced)


SLOW = [(100.0, 5), (110.0, 6), (104.0, 5), (120.0, 7), (300.0, None)]
FAST = [(60.0, 6), (66.0, 7), (58.0, 6), (70.0, 8), (61.0, 6)]


def two_entries() -> pl.DataFrame:
    """Return five runs of a slow entry, of which one failed, and five of a fast one."""
    return pl.concat([rows(SLOW, entry="lab/slow"), rows(FAST, entry="lab/fast")])


def entries(names: Iterable[str]) -> list[pl.DataFrame]:
    """Return the runs of some entries, each slower than the one before."""
    return [
        rows([(seconds * (1 + n), epochs) for seconds, epochs in FAST], entry=name)
        for n, name in enumerate(names)
    ]


def benchmarks(count: int) -> list[pl.DataFrame]:
    """Return two sides of some benchmarks, the second ever faster; half have constant epochs."""
    return [
        pl.concat(
            rows(
                [(90.0 + run - pace * n, 5 + n % 2 * run) for run in range(3)], benchmark=f"b{n:02}"
            )
            for n in range(1, count + 1)
        )
        for pace in (0, 4)
    ]


def many_kinds() -> pl.DataFrame:
    """Return two systems of different size on two benchmarks."""
    return pl.concat(
        rows([(seconds * factor, n) for seconds, n in times], entry=f"lab/{name}",
             benchmark=benchmark, accelerators=size, global_batch_size=32 * size)
        for benchmark, factor in (("resnet", 1.0), ("bert", 20.0))
        for name, times, size in (("slow", SLOW, 8), ("fast", FAST, 16))
    )  # fmt: skip


def nightly(slower: float = 9.0) -> pl.DataFrame:
    """Return runs of twenty nights, slower from the eleventh on, some of which failed."""
    from datetime import UTC, datetime

    outcomes = [
        (100.0 + night % 3 + slower * (night > 9), None if night in {4, 15} else 4 + night % 2)
        for night in range(20)
    ]
    night = pl.lit(datetime(2026, 3, 1, tzinfo=UTC)) + pl.duration(days="seed")
    runs = rows(outcomes, entry="lab/nightly").with_columns(started_at=night)
    return runs.cast({"started_at": pl.Datetime("us", "UTC")})


def leaders() -> pl.DataFrame:
    """Return five entries of one run each over two years, with their prices."""
    from datetime import UTC, datetime

    times = (9000.0, 4000.0, 5000.0, 300.0, 60.0)
    return pl.concat(
        rows([(seconds, 5 + n)], entry=f"entry_{n}", suite="dawnbench", round=None,
             benchmark="cifar10", cost_per_hour=1.0 + n,
             started_at=datetime(2018 + n // 3, 1 + n, 1, tzinfo=UTC))
        for n, seconds in enumerate(times)
    )  # fmt: skip


def swept(*more: tuple[int, float], others: int = 0) -> pl.DataFrame:
    """Return a sweep of two recorded settings: one of throughput, one of epochs.

    `more` are batch sizes beside the two, with the seconds of an epoch; so many `others` vary too.
    """
    return pl.concat(
        rows([(seconds * epochs + n, epochs + n % 2) for n in range(4)], entry=f"lab/{size}-{lr}",
             extra={"settings": {"values": {"batch_size": size, "opt.lr": lr, "seed": 1}
                                 | {f"x{n}": size for n in range(others)}}})
        for size, seconds in ((32, 20.0), (64, 12.0), *more) for lr, epochs in ((0.1, 5), (0.3, 7))
    )  # fmt: skip


def sizes() -> pl.DataFrame:
    """Return curves over accelerators: eight on one benchmark, and one on another in two rounds."""
    of = [("resnet", "v4.0", f"lab_{n}", (8, 16, 16 * (n % 3 + 2))) for n in range(8)]
    of += [("bert", round_, "lab", (8, 32)) for round_ in ("v4.0", "v4.1")]
    return pl.concat(
        rows([(4000.0 / size ** (0.9 - 0.02 * n) + 3 * run + place,
               None if (n, place, run) == (3, 2, 1) else 5 + (run + place) % 3)
              for run in range(3)],
             entry=f"{lab}/{round_}-{place}-{size}", benchmark=benchmark, round=round_,
             submitter=lab, accelerators=size, hardware="h100")
        for n, (benchmark, round_, lab, several) in enumerate(of)
        for place, size in enumerate(several)
    )  # fmt: skip


def league(count: int = 43) -> pl.DataFrame:
    """Return entries of a run each, of which some are alike, failed, undated or unpriced."""
    from datetime import UTC, datetime

    return pl.concat(
        rows([(500.0 - 8 * (n - n % 9 // 8), 5 + n % 3 if n % 11 else None)], entry=f"entry_{n}",
             suite="dawnbench", round=None, benchmark="cifar10",
             cost_per_hour=None if n % 7 == 3 else 1.0 + n % 5,
             started_at=datetime(2018, 1 + n // 4, 1, tzinfo=UTC) if n % 5 else None)
        for n in range(count)
    )  # fmt: skip


def crowd() -> pl.DataFrame:
    """Return 640 runs of seven entries, two of them with more runs than a line has steps."""
    return pl.concat(
        rows([(20.0 + 30 * n + (37 * run) % 89 + run / 512, 4 + run % 3 if run % 40 else None)
              for run in range(count)], entry=f"lab/{n}")
        for n, count in enumerate((230, 260, 100, 30, 17, 2, 1))
    )  # fmt: skip


def losses() -> pl.DataFrame:
    """Return runs of losses: some below zero, one that exploded, and of an unknown direction."""
    falling = [rows(SLOW, entry="lab/slow"), rows(FAST, entry="lab/fast")]
    loss = pl.concat(falling).with_columns(
        metric=pl.lit("val_loss"), value=0.7 - pl.col("value"), higher_is_better=False,
        target_value=-0.04, epoch=pl.col("epoch") + 0.0001 * pl.col("seed"),
    )  # fmt: skip
    last = (pl.col("entry") == "lab/slow") & (pl.col("seed") == 4) & (pl.col("eval_index") > 5)
    exploded = pl.when(last).then(1.7e308).otherwise("value")
    odd = loss.with_columns(metric=pl.lit("train_lr"), higher_is_better=None, target_value=None)
    return pl.concat([loss.with_columns(value=exploded), odd.with_columns(pl.col("value") ** 2)])


def systems() -> pl.DataFrame:
    """Return nine systems of one size, of which some did not run or reach every benchmark."""
    return pl.concat(
        rows([(100.0 * (1 + n * place % 7 / 2) + run,
               5 if (n + run) % 4 and (n, place) != (2, 1) else None) for run in range(2)],
             entry=f"lab/s{n}", benchmark=benchmark, accelerators=size)
        for place, benchmark in enumerate(("resnet", "bert", "dlrm", "gnn"))
        for n, size in enumerate((*[8] * 9, 16, 16)) if (n + place) % 6 and (n != 7 or not place)
    )  # fmt: skip


def groups(count: int) -> pl.DataFrame:
    """Return so many entries, most with the same three runs, the last with two."""
    return pl.concat(
        rows([(20.0 * epochs + n + place, epochs) for place, epochs in enumerate((5, 6, 8))]
             [: 3 if n < count - 1 else 2], entry=f"lab/{n:02}")
        for n in range(count)
    )  # fmt: skip


def sources(kind: str) -> list[pl.DataFrame]:
    """Return tables of which there are plots of a kind."""
    if kind in {"speedups", "targets"}:
        return [rows(SLOW, entry="lab/slow"), rows(FAST, entry="lab/fast")]
    if kind == "profile":
        return [many_kinds().with_columns(accelerators=pl.lit(8, pl.Int64))]
    of_kind = {"history": nightly, "effects": swept, "leaderboard": leaders, "record": leaders}
    return [of_kind.get(kind, many_kinds)()]
