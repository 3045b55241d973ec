"""Whole answers of every command about made-up runs, as they were accepted: rows, cells, notes.

Notes stand as codes with their fields, but on one screen of each command as they are printed. A
change of these files is a change of what users read: look at the difference before you accept it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from tests import made_traces
from tests.accepted import Case, as_json, cases
from tests.plotting import test_profiled
from ttastats import api
from ttastats.answers import qualities, variance
from ttastats.answers.compare.headline import caveats
from ttastats.answers.compare.sentences import conclusions
from ttastats.answers.profile import profile, profile_change
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.outcomes import time_to_target
from ttastats.report import as_table
from ttastats.report.answer import Report
from ttastats.report.ordering import sort_rows
from ttastats.sides.options import Options, View
from ttastats.table import tables
from ttastats.traces import kineto
from ttastats.traces import table as profiles


def answer_parts(report: Report) -> Iterator[tuple[str, Any]]:
    for row in report.rows:
        yield "row", known(row)
    seen = report.displayed
    for table in seen.tables:
        yield "table", table.title
        for column in table.columns:
            yield "column", column
        for row in table.rows:
            yield "of all" if row.of_all else "cells", [*row.cells, *row.details, *row.more]
    for note in seen.notes:
        yield "note", [note.code, note.text, note.mark]
    yield "sentence", seen.sentence
    yield "only a, by", [report.only_a, report.by]
    if report.gate is not None:
        yield "gate", report.gate
    if not any("same" in row for row in report.rows):
        yield from in_words(report)


def in_words(report: Report) -> Iterator[tuple[str, Any]]:
    """Yield what a page says of an answer: its verdicts, and its headline."""
    keys = {"compare": {"claim", "at"}, "summary": {"tta_mean_seconds", "quality_mean"}}
    if all(keys.get(report.command, set()) & row.keys() for row in report.rows):
        of_compare = partial(conclusions, confidence=0.95)
        verdicts = of_compare if report.command == "compare" else qualities.conclusions
        for verdict in verdicts(report):
            yield "verdict", verdict
    if report.against and "speedup" in report.rows[0]:
        for lead in report.lead:
            yield "headline", lead
        for caveat in caveats(report):
            yield "caveat", [caveat.label, caveat.tone]


def lines(report: Report) -> list[str]:
    """Return all parts of an answer, each after its name."""
    return [f"{name}: {as_json(value)}" for name, value in answer_parts(report)]


def screen(report: Report) -> str:
    """Return what is printed on a screen of 100 columns."""
    stream = io.StringIO()
    as_table.print_report(report.displayed, Console(file=stream, color_system=None), width=100)
    return stream.getvalue().rstrip()


def run(
    number: int, seconds: float, epochs: int, *, reaches: bool = True, timed: bool = True,
    progress: bool | None = True, **more: Any,
) -> Run:  # fmt: skip
    """Return a run evaluated after each epoch, slowly nearing 0.76; the target is 0.75."""
    evaluations = tuple(
        Evaluation(
            index=epoch - 1,
            metric="top1_accuracy",
            value=0.751 + 0.001 * number
            if epoch == epochs and reaches
            else 0.748 - 0.3 / (epoch + number % 3),
            logged_value=None,
            seconds=seconds * epoch / epochs if timed else None,
            higher_is_better=True,
            epoch=float(epoch) if progress else None,
            samples=None if progress is None else 1000 * epoch,
            target_value=0.75,
        )
        for epoch in range(1, epochs + 1)
    )
    facts: dict[str, Any] = {
        "suite": "mlperf", "round": "v5.0", "benchmark": "resnet", "division": "closed",
        "submitter": "lab", "system": "one", "entry": "lab/one", "hardware": "a100",
        "accelerators": 8, "framework": "torch", "global_batch_size": 256, "seed": number,
        "cost_per_hour": 36.0, "run_status": "success" if reaches else "aborted",
        "run_seconds": seconds if timed else None,
    }  # fmt: skip
    return Run(evaluations=evaluations, **(facts | more))


def several(
    draw: int,
    seconds: float,
    epochs: Sequence[int],
    *,
    noise: float = 0.05,
    failed: int = 0,
    **more: Any,
) -> list[Run]:
    """Return runs of these epochs, of about `seconds` each; the last of them fail."""
    spread = np.random.default_rng(draw).uniform(1 - noise, 1 + noise, len(epochs))
    return [
        run(number, float(seconds * count * spread[number]), count,
            reaches=number < len(epochs) - failed, **more)
        for number, count in enumerate(epochs)
    ]  # fmt: skip


def table(*groups: Sequence[Run]) -> pl.DataFrame:
    runs = [run for group in groups for run in group]
    return tables.table_of_runs(
        [
            tables.SourcedRun(
                item, f"{item.entry}/{item.benchmark}/{n}.txt", f"{n:016x}" * 2, 0, "test"
            )
            for n, item in enumerate(runs)
        ]
    )


VARIED, MANY, STEADY = (5, 6, 5, 7, 6), (5, 6, 5, 7, 6, 5, 5, 6, 7, 5, 8, 6), (4, 4, 4, 4)
OTHER = {"system": "two", "entry": "lab/two", "hardware": "h100", "accelerators": 16,
         "global_batch_size": 512, "started_at": datetime(2024, 1, 1, tzinfo=UTC)}  # fmt: skip
BERT = {"benchmark": "bert", "extra": {"opt_base_learning_rate": 0.1}}
GNN = {"benchmark": "gnn", "round": "v4.1"}


@cache
def before() -> pl.DataFrame:
    """Return the runs of one system: some failed, some never vary, some have no epochs."""
    return table(
        several(1, 20.0, VARIED, failed=1),
        several(2, 300.0, STEADY, **BERT),
        several(3, 9.0, MANY, **GNN),
        several(4, 5.0, (3, 4), benchmark="unet", progress=False),
        several(5, 5.0, (3, 3, 3), failed=3, benchmark="rgat"),
        several(6, 2.0, (3,), noise=0.0, benchmark="ssd"),
        several(9, 2.0, (3,), benchmark="tts"),
        several(7, 50.0, STEADY * 2, noise=0.002, benchmark="llama"),
        several(8, 50.0, STEADY, noise=0.01, benchmark="gpt"),
        several(10, 50.0, VARIED, benchmark="llm", progress=None),
    )


@cache
def after() -> pl.DataFrame:
    """Return the runs of another system, most of them faster."""
    return table(
        several(11, 11.0, MANY, failed=2, **OTHER),
        several(12, 290.0, STEADY, **BERT, **OTHER),
        several(13, 5.0, MANY, **GNN, **OTHER),
        several(14, 3.0, (3, 4), benchmark="unet", progress=False, **OTHER),
        several(15, 4.0, (3, 3, 3), benchmark="rgat", **OTHER),
        several(16, 1.0, VARIED, benchmark="dlrm", **OTHER),
        several(16, 20.8, (3,), noise=0.0, benchmark="ssd", **OTHER),
        several(17, 50.3, STEADY * 2, noise=0.002, benchmark="llama", **OTHER),
        several(18, 58.0, STEADY, noise=0.01, benchmark="gpt", **OTHER),
        several(20, 47.0, VARIED, benchmark="llm", progress=None, **OTHER),
    )


@cache
def both() -> pl.DataFrame:
    runs = pl.concat([before(), after()])
    return runs.with_columns(run_id=pl.col("entry") + pl.col("run_id"))


@cache
def odd() -> pl.DataFrame:
    """Return runs of which some do not count, ended at once, vary, or have no target."""
    mixed = several(21, 20.0, VARIED, failed=2, seed=None)
    mixed += several(22, 30.0, (5, 6), nodes=2, extra={"opt_name": "lamb"})
    mixed += several(23, 30.0, (5, 6), nodes=4, extra={"opt_name": "lars"})
    at_once = run(9, 0.0, 1, reaches=False, benchmark="bert")
    never = run(8, 70.0, 1, reaches=False, run_status="unknown", benchmark="bert")
    untimed = run(7, 70.0, 5, reaches=False, timed=False, benchmark="bert")
    inference = several(24, 1.0, (3, 4), suite="dawnbench", round=None,
                        benchmark="imagenet_inference")  # fmt: skip
    nowhere = {"suite": None, "round": None, "benchmark": None, "entry": "own"}
    elsewhere = several(25, 2.0, VARIED, **nowhere)
    rows = table(mixed, [at_once, never, untimed], inference, elsewhere)
    return rows.with_columns(
        content_digest=pl.when(pl.col("source").str.contains("/[01].txt"))
        .then(pl.lit("alike"))
        .otherwise("content_digest"),
        target_value=pl.when(pl.col("run_seconds") == 70.0).then(None).otherwise("target_value"),
    )


@cache
def faulty() -> pl.DataFrame:
    """Return runs far from the others, some without evaluations, and logs with problems."""
    far = several(61, 20.0, (5, 6, 5, 6, 5, 6, 5, 30), noise=0.01)
    far += [run(8, 900.0, 5), run(9, 100.0, 5, problems=(Problem("odd", "is odd", "info", 3),))]
    lacking = tuple(Problem("no_value", f"has no value {n}", line=10 - n) for n in range(6))
    facts: dict[str, Any] = OTHER | {"round": "v5.0", "benchmark": "bert", "run_seconds": 30.0}
    facts |= {"suite": "mlperf", "division": "closed"}
    silent = [
        Run(**facts, problems=problems)
        for problems in (lacking, (Problem("no_evaluation", "has none", "error"),))
    ]
    rows = table(far, silent, several(62, 5.0, (3, 3, 4)))
    last = pl.col("source").str.contains("one/resnet/1[234]")
    copied = pl.when(last).then(pl.lit("alike")).otherwise("content_digest")
    return rows.with_columns(content_digest=copied)


@cache
def random_runs() -> pl.DataFrame:
    """Return random runs whose values, times and places may be unknown."""
    rng = np.random.default_rng(7)

    def maybe(value: Any) -> Any:
        return value if rng.random() < 0.85 else None

    def evaluation(index: int, metric: str, pace: float) -> Evaluation:
        value = float(rng.choice([0.5, 0.7, 0.72, 0.7200001, 0.8, math.nan], p=[0.1, *[0.18] * 5]))
        seconds = pace * (index + 1)
        return Evaluation(
            index=index, metric=metric, value=maybe(value), logged_value=value,
            seconds=maybe(seconds), weights_seconds=None if rng.random() < 0.6 else seconds - 1,
            higher_is_better=None if metric == "odd" else metric != "loss",
            epoch=maybe(0.5 * index), step=maybe(100 * index),
            samples=maybe(int(1000 * pace) * index),
            target_value={"masked_lm_accuracy": 0.72, "loss": 0.5, "odd": None}[metric],
        )  # fmt: skip

    def random_run(number: int) -> Run:
        suite, round_, benchmark = (
            ("mlperf", "v5.0", "bert"), ("dawnbench", None, "squad"), (None, None, "own")
        )[number % 3]  # fmt: skip
        pace, count = float(rng.choice([0.5, 2.0, 60.0])), int(rng.integers(0, 6))
        metrics = ["masked_lm_accuracy", "loss", "odd"][: int(rng.choice([1, 1, 1, 2, 3]))]
        return Run(
            suite=suite, round=round_, benchmark=benchmark, entry=f"e{number % 2}",
            run_status=str(rng.choice(["success", "aborted", "truncated", "unknown"])),
            run_seconds=maybe(pace * (count + float(rng.choice([-1, 0, 0.5])))),
            cost_per_hour=maybe(3.6), train_samples=maybe(500),
            evaluations=tuple(evaluation(i, m, pace) for i in range(count) for m in metrics),
        )  # fmt: skip

    return table([random_run(number) for number in range(60)])


def random_sides() -> list[pl.DataFrame]:
    return [random_runs().filter(entry=name) for name in ("e0", "e1")]


@cache
def scales() -> pl.DataFrame:
    """Return three scales of one system, two of another, and runs of unknown scale."""
    return table(
        *(
            several(30 + n, 80.0 / n**0.9, tuple(3 + n // 2 + more for more in (0, 1, 0)),
                    failed=n // 4, accelerators=8 * n, entry=f"lab/{n}", global_batch_size=256 * n)
            for n in (1, 2, 4)
        ),
        *(
            several(40 + n, 900.0 / n, (4, 4), accelerators=n, entry=f"x/{n}", benchmark="bert",
                    hardware=None)
            for n in (16, 48)
        ),
        several(50, 10.0, (3, 4), accelerators=None),
    )  # fmt: skip


def odd_scales() -> pl.DataFrame:
    """Return runs at further scales, of which one failed after an unknown time, or no progress."""
    more: dict[str, Any] = {"accelerators": 64, "entry": "lab/64", "global_batch_size": 64}
    failed = run(7, 9.0, 3, reaches=False, timed=False, **more)
    untold = several(
        56, 2.0, (3, 4), progress=None, **(more | {"accelerators": 128, "entry": "lab/128"})
    )
    rows = table([run(6, 9.0, 3, **more), failed], untold)
    return rows.with_columns(run_id=pl.col("entry") + pl.col("run_id"), source_digest=None)


def solved(reached: int) -> pl.DataFrame:
    """Return twelve runs, of which a given number reach the target."""
    return table(several(57 + reached, 5.0, MANY, failed=12 - reached, entry=f"lab/{reached}"))


MORE = tuple(range(3, 14))


def claimed(side: int, **more: Any) -> pl.DataFrame:
    """Return one side of pairs of groups of which each kind of claim can be made.

    On the other side, runs are as fast, a little slower, much faster, fail more often, or never
    reach, on either side; some are of one run, and some of one number of epochs.
    """

    def group(name: str, factor: float, epochs: Sequence[int], **kind: Any) -> list[Run]:
        pace = 10.0 * (factor if side else 1.0)
        return several(hash_of(name) + side, pace, epochs, benchmark=name, **(kind | more))

    return table(
        group("alike", 1.0, MANY, noise=0.002),
        group("wide", 0.9, MORE),
        group("slower", 1.1, MANY, noise=0.01),
        group("faster", 0.2, MANY),
        group("steady", 0.5, STEADY * 3, noise=0.01),
        group("steady alike", 1.001, STEADY * 3, noise=0.001),
        group("failing", 0.9, MANY, failed=11 if side else 1),
        group("failing a little", 0.7, MANY, failed=3 if side else 1),
        group("never", 1.0, STEADY, failed=4),
        group("one", 0.5, (5,)),
        group("two", 0.5, (5, 6)),
        group("few", 0.9, (5, 6, 5) if side else MANY),
        group("silent", 0.8, MANY, progress=None),
        group(f"only {side}", 1.0, STEADY),
    )


def hash_of(name: str) -> int:
    return 1000 + 2 * sum(name.encode())


@cache
def claims() -> tuple[pl.DataFrame, pl.DataFrame]:
    return claimed(0), claimed(1, **OTHER)


@cache
def alike_claims() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pairs that all have a speedup, so that there is a mean."""
    names = ("alike", "slower", "faster", "steady", "steady alike", "few")
    timed = pl.col("benchmark").is_in(names)
    a, b = claims()
    return a.filter(timed), b.filter(timed)


def unlogged(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a table of runs of unknown progress."""
    unknown = pl.col("epochs", "steps", "samples", "evaluations_to_target", "^evaluation_.*$")
    return time_to_target.runs(rows).with_columns(pl.when(pl.lit(value=False)).then(unknown))


def singles() -> pl.DataFrame:
    """Return seven entries of a single run."""
    return table(*(several(6, 2.0, (3,), entry=f"x{number}") for number in range(7)))


def speedrun(side: int, lengths: Sequence[int], ends: Sequence[float], **more: Any) -> list[Run]:
    """Return runs that end after so many steps at these losses; the target is at most 3.28."""
    return [
        Run(
            entry=f"record {side}", seed=number, started_at=None,
            run_seconds=0.02 * length + 0.1 * number, accelerators=8, hardware="h100",
            evaluations=tuple(
                Evaluation(
                    index=place, metric="val_loss", value=end + 0.4 * (3 - place),
                    logged_value=None, seconds=0.02 * step + 0.1 * number,
                    higher_is_better=False, step=step, target_value=3.28,
                )
                for place, step in enumerate((length // 4, length // 2, 3 * length // 4, length))
            ),
            **({"benchmark": "speedrun"} | more),
        )
        for number, (length, end) in enumerate(zip(lengths, ends, strict=True))
    ]  # fmt: skip


def traced(*ranks: int, work: float = 40.0) -> pl.DataFrame:
    """Return the profile of a training with several workers, from a trace of each."""
    traces = [
        kineto.read_trace(
            [made_traces.trace(made_traces.steps_on_a_device(own_work=work - 5 * rank), rank)]
        ).rows.with_columns(rank=pl.lit(rank, pl.Int64))
        for rank in ranks
    ]
    return profiles.concatenated(traces)


LOSSES = (3.276, 3.279, 3.2775, 3.2812, 3.278)


@cache
def speedruns() -> tuple[pl.DataFrame, ...]:
    """Return a record, one of fewer steps, one whose runs differ in length, and single runs."""
    return (
        table(speedrun(0, [1400] * 5, LOSSES)),
        table(speedrun(1, [1320] * 5, [loss - 0.0003 for loss in LOSSES])),
        table(
            speedrun(2, [1300, 1320, 1400, 1400, 1400], [3.2762, 3.279, 3.2777, 3.2805, math.nan])
        ),
        table(speedrun(3, [1200], [3.3], benchmark="alone")),
    )


@cache
def sessions(pace: float = 1.0) -> tuple[pl.DataFrame, ...]:
    """Return the runs of three days, each slower than the one before in all benchmarks but one."""
    return tuple(
        table(
            several(90 + day, 20.0 * pace * slower, (5, 5, 6, 5, 6), noise=0.01, **when),
            several(95 + day, pace, STEADY * 2, noise=0.02, benchmark="alike", **when),
            several(98, pace * 1.01**day, STEADY, noise=0.001, benchmark="close", **when),
            several(99, pace * 30.0**day, STEADY, noise=0.5, benchmark="far", **when),
            several(100, pace, (4,), benchmark="one", **when),
            several(101, pace, (4, 4, 4), failed=3 if day else 0, benchmark="never", **when),
        ).with_columns(entry=pl.lit("lab"))
        for day, slower in enumerate((1.0, 1.1, 1.25))
        for when in [{"started_at": datetime(2026, 1, 5 + day, tzinfo=UTC),
                      "entry": f"lab/{pace}/{day}"}]
    )  # fmt: skip


def with_losses(runs: pl.DataFrame, worst: float) -> pl.DataFrame:
    """Return runs of some benchmarks that log a loss too, and an accuracy of no known direction."""
    image_runs = runs.filter(pl.col("benchmark").is_in(["resnet", "gpt", "ssd"]))
    return pl.concat(
        [
            image_runs,
            image_runs.with_columns(
                metric=pl.lit("loss"), value=worst - pl.col("value"), higher_is_better=False,
                target_value=None,
            ),
            image_runs.with_columns(
                metric=pl.lit("odd"), value=pl.col("value") ** 2, higher_is_better=None,
                target_value=None,
            ),
        ],
        how="vertical_relaxed",
    )  # fmt: skip


def lengths(side: int, middle: int) -> pl.DataFrame:
    """Return runs that all reach, after about `middle` steps."""
    ends = [3.27] * 6
    return table(speedrun(side, [middle + 4 * n for n in range(6)], ends))


@cache
def setups(side: int) -> pl.DataFrame:
    """Return runs of several setups, of which some have a partner; two of A suit one of B."""

    def group(name: str, hardware: str, accelerators: int) -> list[Run]:
        setup: dict[str, Any] = {"hardware": hardware, "accelerators": accelerators}
        setup |= {"entry": f"{side}/{hardware}/{accelerators}", "benchmark": name}
        failed = 4 if name == "aimless" else 0
        return several(hash_of(name) + side, 10.0 - 2 * side, STEADY, failed=failed, **setup)

    two = ("h100", "h100 sxm", "a100") if not side else ("nvidia h100 sxm", "a100")
    rows = table(
        *(group("scales", "a100", count) for count in ((8, 16), (16, 8, 4))[side]),
        group("apart", ("a100", "h100")[side], (8, 16)[side]),
        *(group("alike", name, 8) for name in two),
        group("aimless", "a100", 8),
        group("aimed", "a100", 8),
    )
    target = pl.when(benchmark="aimless").then(None).when(pl.lit(side == 1), benchmark="aimed")
    return rows.with_columns(target_value=target.then(0.7495).otherwise("target_value"))


EPOCHS = {"unit": "epochs"}
CLOSE = Options(margin=0.2)
CLOSE_GEOMEAN = Options(margin=0.2, estimand="geomean", confidence=0.9)
SEQUENTIAL = Options(max_runs=12)
MARGIN = Options(margin=0.05, fdr=True, confidence=0.9)
GEOMEAN = Options(estimand="geomean", same_convergence=True, epochs_fixed=True, ddof=0)
NCF = {"benchmark": "ncf", "round": "v0.5"}
WIDE = View(wide=True, strips=True, margin_claims=True)
RESNET, BERT_07 = "benchmark=resnet", "masked_lm_accuracy=0.7"
FAILING = ("failing", "failing a little", "faster", "few", "never", "one", "steady alike", "only 0")
BETWEEN: dict[str, Any] = {
    "at": "samples=2500",
    "interpolate": True,
    "where": ["benchmark=resnet,rgat,gnn,ssd"],
}
GATE = {"fail_on": "slower:2%", "require": "not-slower:5%"}

ANSWERS: dict[str, Callable[[], Report]] = {
    "summary": lambda: api.summary(both()),
    "summary_odd": lambda: api.summary(odd(), ddof=0, confidence=0.9, dots=True),
    "summary_of_benchmarks": lambda: api.summary(both(), by=["benchmark"], dots=True),
    "summary_in_epochs": lambda: api.summary(both(), **EPOCHS),
    "summary_in_evaluations": lambda: api.summary(before(), by=["benchmark"], unit="evaluations"),
    "summary_of_untimed": lambda: api.summary(
        table(
            [run(n, 70.0, 5, reaches=False, timed=False) for n in range(2)],
            several(1, 2.0, (3,), **BERT),
        ),
        dots=True,
    ),
    "summary_in_dollars": lambda: sort_rows(api.summary(both(), unit="cost"), sort="-cv", top=1),
    "variance": lambda: api.variance(both()),
    "variance_odd": lambda: api.variance(odd(), ddof=0, by=["benchmark"]),
    "variance_of_sources": lambda: api.variance(both(), sources=["seed"], by=["benchmark"]),
    "variance_of_sources_of_few": lambda: api.variance(
        before(), sources=["seed"], by=["benchmark"], where=["benchmark=rgat,ssd"]
    ),
    "variance_of_unknown_seeds": lambda: api.variance(odd(), sources=["seed"], where=[RESNET]),
    "variance_in_epochs": lambda: api.variance(both(), ddof=0, **EPOCHS),
    "variance_in_dollars": lambda: api.variance(both(), unit="cost"),
    "effects": lambda: api.effects(both(), on=["system"], by=["benchmark"]),
    "power": lambda: api.power(both()),
    "power_of_few": lambda: api.power(before(), n=4, effects=(0.03,), power=0.9, **EPOCHS),
    "power_of_looks": lambda: api.power(before(), effects=(0.1, 0.5), max_runs=12),
    "power_of_successes": lambda: api.power(alike_claims()[0], n=4, effects=(0.1125,)),
    "power_of_failures": lambda: api.power(before(), n=4, where=[RESNET]),
    "power_of_one_run": lambda: api.power(singles(), where=["entry=x0"], by=["suite"]),
    "power_of_random": lambda: api.power(random_runs(), target=[BERT_07], by=["benchmark"]),
    "power_of_seven_without_a_plan": lambda: api.power(singles()),
    "power_of_six_without_a_plan": lambda: api.power(singles(), where=["entry!=x6"]),
    "power_of_a_cv": lambda: api.power(cv=0.1, n=8),
    "summary_at_the_end": lambda: api.summary(both(), at_end=True),
    "summary_at_epoch_4": lambda: api.summary(odd(), at="epoch=4", confidence=0.9),
    "summary_of_runs_without_a_metric": lambda: api.summary(
        random_runs().filter(benchmark="squad"), at_end=True, metric="odd", by=["run_id"]
    ),
    "targets_of_two_losses": lambda: api.targets(
        random_runs().with_columns(
            target_value=pl.when(pl.col("metric") == "loss", pl.col("entry") == "e1")
            .then(0.75)
            .otherwise("target_value")
        ),
        by=["benchmark"],
        metric="masked_lm_accuracy",
        points=2,
    ),
    "runs_at_epoch_4": lambda: api.runs(before(), at="epoch=4"),
    "compare_at_the_end": lambda: api.compare(
        before(),
        pl.concat([after(), before().filter(benchmark="tts").with_columns(source=pl.lit("again"))]),
        at_end=True,
        best=True,
    ),
    "compare_at_epoch_4": lambda: api.compare(
        before(),
        after(),
        at="epoch=4",
        unit="cost",
        view=View(margin_claims=True),
        options=Options(margin=0.1, estimand="geomean", fdr=True),
    ),
    "compare_at_2500_samples": lambda: api.compare(
        before(), odd(), after(), at="samples=2500", interpolate=True, pool=True
    ),
    "compare_also": lambda: api.compare(before(), after(), also=["top1_accuracy"]),
    "compare_also_of_random": lambda: api.compare(
        *random_sides(), target=[BERT_07], also=["loss", "odd"], by=["benchmark"]
    ),
    "record_by_plain_rules": lambda: api.judge_record(
        before(), after(), rules="plain", where=["benchmark=bert,gnn,gpt,llama,resnet,rgat"]
    ),
    "same_of_two": lambda: api.compare(*sessions()[:2], same=True, options=Options(margin=0.02)),
    "same_of_three": lambda: api.compare(pl.concat(sessions()), same=True, by=["day"]),
    "same_of_one_benchmark": lambda: api.compare(*sessions(), same=True, where=[RESNET]),
    "same_at_the_end": lambda: api.compare(*speedruns()[:3], same=True, at_end=True),
    "same_of_other_budgets": lambda: api.compare(
        *speedruns()[:2], speedruns()[1].filter(seed=0), same=True, at="step=990"
    ),
    "compare_within_days": lambda: api.compare(
        pl.concat(sessions()), pl.concat(sessions(0.95)[:2]), block=["day"]
    ),
    "compare_also_losses": lambda: api.compare(
        with_losses(before(), 1.0), with_losses(after(), 0.9), also=["loss", "odd"]
    ),
    "compare_in_dollars": lambda: api.compare(before(), after(), unit="cost", where=[RESNET]),
    "compare_of_steps": lambda: api.compare(
        lengths(0, 1400), lengths(1, 1320), unit="steps", options=Options(estimand="geomean")
    ),
    "compare_of_more_steps": lambda: api.compare(
        lengths(0, 1400), lengths(1, 1480), unit="steps", options=Options(margin=0.1)
    ),
    "claim_without_values": lambda: api.claim(
        faulty(), quality="top1_accuracy >= 0.7", seconds="0.5", by=["benchmark"], at_end=True
    ),
    "claim_between_evaluations": lambda: api.claim(before(), quality="0.66", **BETWEEN),
    "claim_between_falling": lambda: api.claim(
        before().with_columns(value=1.5 - pl.col("value")), quality="0.8", **BETWEEN
    ),
    "claim_of_equal_steps": lambda: api.claim(
        table(speedrun(0, [1400] * 5, [3.27] * 5)), steps="<= 1400"
    ),
    "claim_of_quality": lambda: api.claim(both(), quality="0.7505"),
    "claim_of_time": lambda: api.claim(before(), seconds="<= 100", level=0.01, by=["benchmark"]),
    "claim_at_epoch_4": lambda: api.claim(
        both(), quality="top1_accuracy >= 0.66", seconds="90", at="epoch=4", sigma=0.02
    ),
    "runs": lambda: api.runs(odd()),
    "runs_of_untimed": lambda: api.runs(table(several(7, 2.0, (3, 4), timed=False))),
    "runs_of_missing": lambda: api.runs(odd().with_columns(run_status=pl.lit("missing"))),
    "runs_of_one_benchmark": lambda: api.runs(before(), where=[RESNET]),
    "scaling": lambda: api.scaling(scales()),
    "scaling_mixed": lambda: api.scaling(scales(), by=["submitter"]),
    "scaling_of_untimed": lambda: api.scaling(pl.concat([scales(), odd_scales()])),
    "scaling_in_epochs": lambda: api.scaling(scales(), **EPOCHS),
    "problems": lambda: api.problems(faulty()),
    "problems_of_some": lambda: api.problems(faulty(), where=[RESNET], codes=["duplicate_run"]),
    "problems_of_two": lambda: api.problems(faulty(), faulty(), codes=["no_value", "odd"]),
    "problems_of_alike": lambda: api.problems(
        table(
            several(61, 20.0, (5, 6, 5, 6, 5, 6, 5, 30), noise=0.01),
            several(62, 40.0, (9, 8, 9, 8, 9, 8, 9, 60), noise=0.01, benchmark="bert"),
        )
    ),
    "summary_of_faulty": lambda: api.summary(faulty(), dots=True),
    "summary_of_random": lambda: api.summary(random_runs(), by=["benchmark"], dots=True),
    "variance_of_random": lambda: api.variance(random_runs(), target=[BERT_07]),
    "targets_of_random": lambda: api.targets(random_runs(), by=["benchmark"]),
    "problems_of_random": lambda: api.problems(random_runs()),
    "compare_random": lambda: api.compare(*random_sides(), target=[BERT_07], view=WIDE),
    "score": lambda: api.score(both()),
    "targets": lambda: api.targets(before(), points=4),
    "targets_of_two": lambda: api.targets(before(), after(), points=4, where=[RESNET]),
    "targets_of_odd": lambda: api.targets(odd(), points=2),
    "targets_of_suites": lambda: api.targets(before(), by=["suite"], points=2),
    "targets_of_untimed": lambda: api.targets(
        table(several(1, 20.0, VARIED, timed=False)), table(several(2, 20.0, VARIED, **OTHER))
    ),
    "targets_of_a_loss": lambda: api.targets(
        with_losses(before(), 1.0).filter(
            pl.col("metric").ne("loss") | pl.col("benchmark").ne("gpt")
        ),
        metric="loss",
        points=2,
    ),
    "targets_in_epochs": lambda: api.targets(before(), after(), points=3, where=[RESNET], **EPOCHS),
    "compare": lambda: api.compare(before(), after(), **GATE),
    "compare_wide": lambda: api.compare(before(), after(), view=WIDE, options=MARGIN),
    "compare_geomean": lambda: api.compare(before(), after(), view=WIDE, options=GEOMEAN),
    "compare_sequential": lambda: api.compare(before(), after(), view=WIDE, options=SEQUENTIAL),
    "compare_in_epochs": lambda: api.compare(after(), before(), view=WIDE, **EPOCHS),
    "compare_several": lambda: api.compare(
        before(), after(), odd(), labels=("old", "new", "odd"), view=WIDE, **GATE
    ),
    "compare_pooled": lambda: api.compare(before(), after(), pool=True, by=["benchmark"]),
    "compare_claims": lambda: api.compare(*claims(), view=WIDE, options=CLOSE, **GATE),
    "compare_claims_geomean": lambda: api.compare(
        *reversed(alike_claims()), view=WIDE, options=CLOSE_GEOMEAN, require="not-slower:30%"
    ),
    "compare_one_decided_of_two": lambda: api.compare(
        *(side.filter(pl.col("benchmark").is_in(["faster", "wide"])) for side in claims())
    ),
    "compare_claims_in_epochs": lambda: api.compare(
        *(side.filter(pl.col("benchmark").is_in(FAILING)) for side in claims()),
        view=WIDE,
        options=CLOSE,
        **EPOCHS,
        **GATE,
    ),
    "compare_with_failures_only": lambda: api.compare(solved(12), solved(0), **GATE),
    "compare_of_failures_only": lambda: api.compare(solved(0), solved(12), **GATE),
    "compare_within_seeds": lambda: api.compare(
        before(), after(), block=["seed"], where=["benchmark=resnet,gnn"]
    ),
    "compare_pooled_setups": lambda: api.compare(
        setups(0), setups(1), pool=True, where=["benchmark=scales"]
    ),
    "compare_also_better": lambda: api.compare(
        with_losses(after(), 1.0), with_losses(before(), 0.9), also=["loss", "top1_accuracy"]
    ),
    "compare_without_progress": lambda: api.compare(*map(unlogged, alike_claims())),
    "compare_of_other_convergence": lambda: api.compare(
        table(several(91, 10.0, (10,) * 6 + (11,), noise=0.01)),
        table(several(92, 6.0, (15,) * 6 + (16,), noise=0.01, **OTHER)),
        options=Options(same_convergence=True),
    ),
    "compare_setups": lambda: api.compare(setups(0), setups(1)),
    "compare_several_means": lambda: api.compare(
        *(side.filter(pl.col("benchmark").is_in(["slower", "few"])) for side in claims()),
        claims()[1].filter(benchmark="slower"),
    ),
    "targets_of_random_sides": lambda: api.targets(*random_sides(), by=["benchmark"], points=4),
    "summary_of_claims": lambda: api.summary(claims()[1], by=["benchmark", "system"]),
    "summary_of_spreads": lambda: api.summary(
        table(several(81, 10.0, STEADY, noise=0.3), several(82, 10.5, STEADY, noise=0.01, **OTHER))
    ),
    "summary_of_successes": lambda: api.summary(alike_claims()[0], dots=True),
    "power_of_claims": lambda: api.power(claims()[1], n=3),
    "score_of_random": lambda: api.score(random_runs()),
    "score_of_ncf": lambda: api.score(
        table(
            several(71, 9.0, (4, 5) * 50, failed=3, **NCF),
            several(72, 9.0, (4, 5) * 25, **NCF, system="two"),
            several(73, 9.0, (4, 5) * 24, **NCF, system="three"),
        )
    ),
    "speedruns_to_the_target": lambda: api.compare(*speedruns()[:2], labels=("old", "new")),
    "speedruns_to_several": lambda: api.compare(*speedruns()[:3]),
    "speedruns_at_the_end": lambda: api.compare(*speedruns()[:2], at_end=True),
    "speedruns_of_two_lengths": lambda: api.compare(
        speedruns()[0], speedruns()[2], at_end=True, options=Options(margin=0.004)
    ),
    "speedruns_to_two_targets": lambda: api.compare(
        *(
            side.with_columns(benchmark=pl.lit(None, pl.String), target_value=pl.lit(target))
            for side, target in zip(speedruns()[:2], (3.28, 3.285), strict=True)
        ),
        at_end=True,
        labels=("old", "new"),
        view=WIDE,
    ),
    "speedruns_at_step_990": lambda: api.compare(
        *speedruns()[:2], at="step=990", require="not-worse:0.01"
    ),
    "speedruns_claimed": lambda: api.claim(
        pl.concat(speedruns()), quality="val_loss <= 3.28", steps="<= 1390", at_end=True
    ),
    "speedruns_targets": lambda: api.targets(*speedruns()[:2], points=5),
    "speedruns_target_of_one": lambda: api.targets(pl.concat(speedruns()[2:]), points=3),
    "speedrun_is_a_record": lambda: api.judge_record(*speedruns()[:2], rules="nanogpt-track-3"),
    "speedrun_is_no_record": lambda: api.judge_record(*speedruns()[1:3], rules="nanogpt-track-1"),
    "speedrun_against_a_number": lambda: api.judge_record(
        speedruns()[1], rules="plain", target=["val_loss<=3.28"], against=27.5
    ),
    "speedrun_of_a_name": lambda: api.judge_record(
        speedruns()[1], rules="plain", target=["val_loss<=3.28"], against=27.5, labels=["entry"]
    ),
    "rank": lambda: api.rank(both(), mine="two", top=1),
    "summary_of_leagues": lambda: api.summary(
        pl.concat([*claims(), both()]).with_columns(accelerators=8)
    ),
    "summary_of_sizes": lambda: api.summary(
        pl.concat([*claims(), both()]).with_columns(
            entry=pl.format("{} {}", "entry", "benchmark"),
            accelerators=pl.col("benchmark").rank("dense").cast(pl.Int64),
            benchmark=pl.lit("any"),
        )
    ),
    "rank_of_scales": lambda: api.rank(pl.concat([scales(), singles()])),
    "rank_of_setups": lambda: api.rank(setups(0), confidence=0.9, **EPOCHS),
    "profile_measured": lambda: profile.report(test_profiled.profile()),
    "profile_without_steps": lambda: profile.report(test_profiled.profile(measured=False)),
    "profile_of_ranks": lambda: profile.report(traced(0, 1)),
    "profile_changed": lambda: profile_change.report(
        traced(0), traced(1, work=25.0), ("a", "b"), confidence=0.95
    ),
    "profiles_changed": lambda: profile_change.report(
        *(
            traced(0, 1, work=work).with_columns(
                pl.col("value", "seconds") * work, profile_id=pl.format("{}", "rank")
            )
            for work in (40.0, 25.0)
        ),
        ("a", "b"),
        by="operator",
        confidence=0.9,
    ),
    "compare_where_epochs_are_labels": lambda: api.compare(
        *(side.with_columns(epoch=pl.lit(1.0)) for side in (before(), after())), where=[RESNET]
    ),
    "compare_some": lambda: api.compare(before(), after(), where=["speedup>1.2"]),
    "compare_most": lambda: api.compare(before(), after(), where=["benchmark!=rgat"]),
}


#: Of each command an answer as it is printed.
SCREENS = (
    "summary", "variance", "effects", "power", "scaling", "score", "runs_of_one_benchmark",
    "problems", "targets_of_two", "compare", "compare_at_epoch_4", "compare_also", "same_of_two",
    "claim_of_quality", "speedrun_is_a_record", "profile_measured", "profile_changed",
)  # fmt: skip


def run_table(*targets: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the run table."""
    result = api.run_table(random_runs(), target=targets)
    yield from map(known, result.drop("source_digest").iter_rows(named=True))


def goals() -> Iterator[dict[str, Any]]:
    """Yield what runs measured beside another goal."""
    targets = pl.DataFrame(
        [
            {"benchmark": benchmark, "metric": metric, "target_value": value}
            for benchmark, loss in (("bert", 0.7), ("own", None))
            for metric, value in (("masked_lm_accuracy", None), ("loss", loss))
            if metric != "loss" or loss
        ],
        schema_overrides={"target_value": pl.Float64()},
    )
    at = targets.with_columns(pl.col("target_value").fill_null(0.7))
    for table in (
        time_to_target.qualities(random_runs(), targets, ["benchmark"]),
        *time_to_target.runs_at(random_runs(), [at], ["benchmark"]),
    ):
        yield from map(known, table.iter_rows(named=True))


def known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


@cases(
    "answers",
    **{name: lambda answer=answer: lines(answer()) for name, answer in ANSWERS.items()},
    goals=goals,
    run_table0=run_table,
    run_table1=lambda: run_table(BERT_07),
    run_table2=lambda: run_table("masked_lm_accuracy>=0.75", "loss<=0.6"),
)
@pytest.mark.usefixtures("in_codes")
def test_an_answer_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_sources_of_variance_are_refused_of_more_than_a_thousand_runs() -> None:
    runs = time_to_target.runs(before())[[0] * 1001]
    with pytest.raises(TtastatsError, match="more than 1000 runs"):
        variance.report_sources(runs, ["benchmark"], ["seed"], 0.95)


@cases("screens", **{name: lambda name=name: [screen(ANSWERS[name]())] for name in SCREENS})
def test_a_screen_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
