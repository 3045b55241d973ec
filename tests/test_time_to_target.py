"""When a run reached its target: official clock, other targets, and what never counts."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.made_curves import frame
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Run
from ttastats.outcomes import time_to_target
from ttastats.outcomes.target import parse_all


def evaluation(index: int, value: float, seconds: float, **more: Any) -> Evaluation:
    fields = {
        "metric": "top1_accuracy",
        "higher_is_better": True,
        "target_value": 0.75,
        "target_source": "rules",
        "epoch": float(index + 1),
    }
    return Evaluation(
        index=index, value=value, logged_value=value, seconds=seconds, **fields | more
    )


def judged(*runs: Run, target: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return time_to_target.runs(frame(*runs), parse_all(target)).sort("source").to_dicts()


def mlperf(*evaluations: Evaluation, **more: Any) -> Run:
    fields = {
        "suite": "mlperf",
        "round": "v4.0",
        "benchmark": "resnet",
        "run_status": "success",
        "run_seconds": 100.0,
    }
    return Run(evaluations=evaluations, **fields | more)


def test_the_official_time_is_the_length_of_the_run() -> None:
    (run,) = judged(mlperf(evaluation(0, 0.7, 40.0), evaluation(1, 0.76, 90.0)))
    assert (run["reached"], run["tta_seconds"], run["epochs"]) == (True, 100.0, 2.0)
    assert run["epoch_seconds"] == 50.0


def test_float32_values_meet_the_target_and_lower_ones_do_not() -> None:
    def gnmt(value: float) -> Run:
        return mlperf(
            evaluation(0, value, 90.0, metric="bleu", target_value=21.8),
            round="v0.5",
            benchmark="gnmt",
        )

    found = judged(gnmt(21.799999237060547), gnmt(21.79), gnmt(21.8))
    assert [run["reached"] for run in found] == [True, False, True]


def two_metrics(*pairs: tuple[float | None, float | None]) -> Run:
    fid = {"metric": "fid", "higher_is_better": False, "target_value": 90.0}
    clip = {"metric": "clip", "higher_is_better": True, "target_value": 0.15}
    found = []
    for index, (first, second) in enumerate(pairs):
        if first is not None:
            found.append(evaluation(index, first, 40.0 + index, **fid))
        if second is not None:
            found.append(evaluation(index, second, 41.0 + index, **clip))
    return mlperf(*found, round="v5.0", benchmark="stable_diffusion")


def test_a_metric_that_was_never_logged_is_not_met() -> None:
    (run,) = judged(two_metrics((80, None), (70, None)))
    assert run["reached"] is False


def test_a_bare_target_is_refused_where_there_are_two_metrics() -> None:
    with pytest.raises(TtastatsError, match="several target metrics"):
        judged(two_metrics((80, 0.2)), target=("80",))
    (run,) = judged(two_metrics((85, 0.2), (80, 0.2)), target=("fid=80", "clip=0.15"))
    assert run["tta_seconds"] == 42.0


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


def trained(*epochs: float | None, met: int, **more: Any) -> Run:
    """Return a run evaluated after so many epochs, which first meets its target at one of them."""
    found = [
        evaluation(n, 0.76 if n >= met else 0.7, 10.0 * (n + 1), epoch=epoch)
        for n, epoch in enumerate(epochs)
    ]
    return mlperf(*found, **{"run_seconds": 10.0 * len(epochs)} | more)


def test_the_interval_of_a_group_is_the_widest_and_unknown_if_any_is() -> None:
    def interval(*runs: Run) -> float | None:
        solved = pl.DataFrame(judged(*runs)).filter("reached")
        return time_to_target.evaluation_interval(solved, "evaluation_interval_epochs")

    rare, often, once = trained(4.0, 8.0, met=1), trained(7.0, 8.0, met=1), trained(8.0, met=0)
    assert interval(rare, often) == 4.0
    assert interval(rare, often, once) is None
    assert interval(rare, trained(8.0, met=0, run_status="aborted")) == 4.0


def test_untrained_weights_that_meet_a_target_leave_it_to_the_next_evaluation() -> None:
    run = mlperf(evaluation(0, 0.2, 0.0), evaluation(1, 0.4, 10.0))
    (judgement,) = judged(run, target=("0.1",))
    assert (judgement["reached"], judgement["tta_seconds"]) == (True, 10.0)
