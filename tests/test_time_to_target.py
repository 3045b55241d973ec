"""When a run reached its target: official clock, other targets, and what never counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case, cases
from tests.made_curves import frame
from tests.test_accepted_judgements import attempt, known
from ttastats.base.records import Evaluation, Run
from ttastats.outcomes import time_to_target
from ttastats.outcomes.target import parse_all


def evaluation(index: int, value: float, seconds: float, **more: Any) -> Evaluation:
    fields = {"metric": "top1_accuracy", "higher_is_better": True, "target_value": 0.75}
    fields |= {"target_source": "rules", "epoch": float(index + 1), "logged_value": value}
    return Evaluation(index=index, value=value, seconds=seconds, **fields | more)


def judged(*runs: Run, target: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return time_to_target.runs(frame(*runs), parse_all(target)).sort("source").to_dicts()


def mlperf(*evaluations: Evaluation, **more: Any) -> Run:
    fields = {"suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "run_status": "success"}
    return Run(evaluations=evaluations, **{**fields, "run_seconds": 100.0, **more})


def two_metrics(*pairs: tuple[float | None, float | None]) -> Run:
    fid = {"metric": "fid", "higher_is_better": False, "target_value": 90.0}
    clip = {"metric": "clip", "higher_is_better": True, "target_value": 0.15}
    evaluations = [
        evaluation(index, value, start + index, **about)
        for index, pair in enumerate(pairs)
        for value, start, about in zip(pair, (40.0, 41.0), (fid, clip), strict=True)
        if value is not None
    ]
    return mlperf(*evaluations, round="v5.0", benchmark="stable_diffusion")


def trained(*epochs: float | None, met: int, **more: Any) -> Run:
    """Return a run evaluated after so many epochs, which first meets its target at one of them."""
    evaluations = [
        evaluation(n, 0.76 if n >= met else 0.7, 10.0 * (n + 1), epoch=epoch)
        for n, epoch in enumerate(epochs)
    ]
    return mlperf(*evaluations, **{"run_seconds": 10.0 * len(epochs)} | more)


def gnmt(value: float) -> Run:
    aim = {"metric": "bleu", "target_value": 21.8}
    return mlperf(evaluation(0, value, 90.0, **aim), round="v0.5", benchmark="gnmt")


JUDGED: dict[str, tuple[list[Run], tuple[str, ...]]] = {
    "the official time is the length of the run": (
        [mlperf(evaluation(0, 0.7, 40.0), evaluation(1, 0.76, 90.0))], ()
    ),
    "float32 values meet the target": ([gnmt(21.799999237060547), gnmt(21.79), gnmt(21.8)], ()),
    "a metric that was never logged": ([two_metrics((80, None), (70, None))], ()),
    "a bare target of two metrics": ([two_metrics((80, 0.2))], ("80",)),
    "two targets": ([two_metrics((85, 0.2), (80, 0.2))], ("fid=80", "clip=0.15")),
    "untrained weights meet it": (
        [mlperf(evaluation(0, 0.2, 0.0), evaluation(1, 0.4, 10.0))], ("0.1",)
    ),
}  # fmt: skip


def of_runs() -> Iterator[Any]:
    """Yield how runs are judged, and the evaluation interval of groups of them."""
    for name, (runs, target) in JUDGED.items():
        result = attempt(judged, *runs, target=target)
        yield [name, [known(row) if isinstance(row, dict) else row for row in result]]
    rare, often, once = trained(4.0, 8.0, met=1), trained(7.0, 8.0, met=1), trained(8.0, met=0)
    aborted = trained(8.0, met=0, run_status="aborted")
    for group in ((rare, often), (rare, often, once), (rare, aborted)):
        solved = pl.DataFrame(judged(*group)).filter("reached")
        interval = time_to_target.evaluation_interval(solved, "evaluation_interval_epochs")
        yield ["interval", len(group), interval]


@cases("judgements", of_runs=of_runs)
def test_runs_are_judged_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_a_count_beyond_the_integers_of_floats_is_unknown() -> None:
    runs = time_to_target.runs(
        frame(mlperf(evaluation(1, 0.9, 1.0))).with_columns(step=pl.lit(2**63 - 1))
    )
    assert runs["steps"].to_list() == [None]


@pytest.mark.parametrize("rows", [1, 4, 7, 40])
@pytest.mark.parametrize("order", ["whole", "far apart"])
def test_a_large_table_is_judged_in_pieces_of_whole_runs(
    rows: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        mlperf(*(evaluation(n, n / (3 + run % 4), 10.0 * n + run) for n in range(run % 6)))
        for run in range(12)
    ]
    table = frame(*runs)
    if order == "far apart":
        table = table.sort("seconds", maintain_order=True)
    whole = time_to_target.runs(table)
    monkeypatch.setattr(time_to_target, "_LARGE", 0)
    monkeypatch.setattr(time_to_target, "_AT_ONCE", rows)
    assert time_to_target.runs(table).equals(whole)
    assert time_to_target.runs(table.lazy()).equals(whole)
    assert 0 < whole["reached"].sum() < whole.height == len(runs)
