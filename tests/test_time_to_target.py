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
from ttastats.table import tables


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


def test_another_target_ends_at_the_first_evaluation_that_meets_it() -> None:
    run = mlperf(evaluation(0, 0.7, 40.0), evaluation(1, 0.76, 90.0))
    (judgement,) = judged(run, target=("0.7",))
    assert (judgement["tta_seconds"], judgement["epochs"]) == (40.0, 1.0)


def test_a_harder_target_censors_the_run_at_its_end() -> None:
    run = mlperf(evaluation(0, 0.7, 40.0), evaluation(1, 0.76, 90.0))
    (judgement,) = judged(run, target=("0.8",))
    assert (judgement["reached"], judgement["tta_seconds"]) == (False, None)
    assert (judgement["observed_seconds"], judgement["epochs"]) == (100.0, 2.0)


@pytest.mark.parametrize("status", ["aborted", "truncated"])
def test_a_run_that_does_not_say_success_has_not_reached(status: str) -> None:
    (run,) = judged(mlperf(evaluation(0, 0.76, 90.0), run_status=status))
    assert (run["reached"], run["tta_seconds"], run["observed_seconds"]) == (False, None, 100.0)


def test_success_without_the_quality_has_not_reached() -> None:
    (run,) = judged(mlperf(evaluation(0, 0.7499, 90.0)))
    assert run["reached"] is False


def test_a_run_without_status_is_believed_if_its_target_is_met() -> None:
    met, missed = judged(
        mlperf(evaluation(0, 0.76, 90.0), run_status="unknown"),
        mlperf(evaluation(0, 0.70, 90.0), run_status="unknown"),
    )
    assert (met["reached"], missed["reached"]) == (True, False)


def test_success_decides_where_no_target_is_known() -> None:
    own = evaluation(0, 0.1, 90.0, target_value=None, target_source=None)
    (run,) = judged(mlperf(own, benchmark="my_own"))
    assert run["reached"] is True


def test_a_success_of_unknown_length_ends_where_its_target_was_met() -> None:
    (run,) = judged(mlperf(evaluation(0, 0.76, 90.0), run_seconds=None))
    assert (run["reached"], run["tta_seconds"]) == (True, 90.0)


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_a_success_that_took_no_time_has_not_reached(seconds: float | None) -> None:
    (run,) = judged(mlperf(evaluation(0, 0.7, 40.0, target_value=None), run_seconds=seconds))
    assert (run["reached"], run["tta_seconds"]) == (False, None)


def test_float32_values_meet_the_target_and_lower_ones_do_not() -> None:
    def gnmt(value: float) -> Run:
        return mlperf(
            evaluation(0, value, 90.0, metric="bleu", target_value=21.8),
            round="v0.5",
            benchmark="gnmt",
        )

    found = judged(gnmt(21.799999237060547), gnmt(21.79), gnmt(21.8))
    assert [run["reached"] for run in found] == [True, False, True]


def test_lower_is_better_is_met_from_above() -> None:
    loss = {"metric": "eval_loss", "higher_is_better": False, "target_value": 0.925}
    run = mlperf(
        evaluation(0, 0.94, 40.0, **loss),
        evaluation(1, 0.925, 90.0, **loss),
        benchmark="llama2_70b_lora",
    )
    (judgement,) = judged(run, target=("eval_loss<=0.94",))
    assert (judged(run)[0]["reached"], judgement["tta_seconds"]) == (True, 40.0)


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


def test_two_metrics_must_be_met_at_one_checkpoint() -> None:
    apart, together = judged(two_metrics((80, 0.1), (95, 0.2)), two_metrics((95, 0.1), (80, 0.2)))
    assert (apart["reached"], together["reached"]) == (False, True)


def test_a_metric_that_was_never_logged_is_not_met() -> None:
    (run,) = judged(two_metrics((80, None), (70, None)))
    assert run["reached"] is False


def test_a_bare_target_is_refused_where_there_are_two_metrics() -> None:
    with pytest.raises(TtastatsError, match="several target metrics"):
        judged(two_metrics((80, 0.2)), target=("80",))
    (run,) = judged(two_metrics((85, 0.2), (80, 0.2)), target=("fid=80", "clip=0.15"))
    assert run["tta_seconds"] == 42.0


def test_an_evaluation_after_the_run_counts_at_the_time_its_weights_existed() -> None:
    late = evaluation(0, 0.76, 5_000.0, weights_seconds=60.0)
    (official,) = judged(mlperf(late))
    (other,) = judged(mlperf(late), target=("0.76",))
    assert (official["tta_seconds"], other["tta_seconds"]) == (100.0, 60.0)


def test_an_evaluation_before_the_start_is_never_a_hit() -> None:
    (run,) = judged(mlperf(evaluation(0, 0.9, -5.0)), target=("0.5",))
    assert run["reached"] is False


def test_a_suite_without_a_rule_ends_at_the_evaluation() -> None:
    run = mlperf(
        evaluation(0, 0.8, 40.0), evaluation(1, 0.7, 90.0), suite="dawnbench", run_status="unknown"
    )
    (judgement,) = judged(run)
    assert (judgement["reached"], judgement["tta_seconds"]) == (True, 40.0)


def test_a_run_without_evaluations_is_kept() -> None:
    (run,) = judged(mlperf())
    assert (run["reached"], run["evaluations"], run["observed_seconds"]) == (False, None, 100.0)


def test_equal_bytes_in_two_places_stay_two_runs() -> None:
    run = mlperf(evaluation(0, 0.76, 90.0))
    twice = [tables.SourcedRun(run, place, "0" * 32, 0, "test") for place in ("a", "b")]
    assert time_to_target.runs(tables.table_of_runs(twice)).height == 2


def test_the_table_is_lazy_or_not() -> None:
    table = frame(mlperf())
    assert time_to_target.runs(table.lazy()).equals(time_to_target.runs(table))
    assert isinstance(time_to_target.runs(table), pl.DataFrame)


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


GRAPHCORE = (0.0, 1.0, 5.0, 9.0, 13.0, 17.0)


def test_the_interval_is_that_of_the_evaluation_at_which_the_time_ends() -> None:
    official = trained(*GRAPHCORE, met=5)
    assert judged(official)[0]["evaluation_interval_epochs"] == 4.0
    crossed_early = trained(*GRAPHCORE, met=1, suite="dawnbench", run_status="unknown")
    (run,) = judged(crossed_early)
    assert (run["epochs"], run["evaluation_interval_epochs"]) == (1.0, 4.0)  # 1 before, 4 after


def test_one_more_early_evaluation_leaves_the_interval_as_it_is() -> None:
    plain, early = trained(3.0, 6.0, met=1), trained(0.1, 0.2, 3.0, 6.0, met=3)
    assert [run["evaluation_interval_epochs"] for run in judged(plain, early)] == [3.0, 3.0]


def test_a_single_evaluation_tells_no_interval() -> None:
    (run,) = judged(trained(6.0, met=0))
    assert (run["epochs"], run["evaluation_interval_epochs"]) == (6.0, None)


def test_the_interval_of_a_group_is_the_widest_and_unknown_if_any_is() -> None:
    def interval(*runs: Run) -> float | None:
        solved = pl.DataFrame(judged(*runs)).filter("reached")
        return time_to_target.evaluation_interval(solved, "evaluation_interval_epochs")

    rare, often, once = trained(4.0, 8.0, met=1), trained(7.0, 8.0, met=1), trained(8.0, met=0)
    assert interval(rare, often) == 4.0
    assert interval(rare, often, once) is None
    assert interval(rare, trained(8.0, met=0, run_status="aborted")) == 4.0


@pytest.mark.parametrize("epochs", [0.0, -1.0, float("nan"), float("inf"), None])
def test_progress_that_is_not_above_zero_is_unknown(epochs: float | None) -> None:
    (run,) = judged(trained(epochs, met=0))
    assert (run["reached"], run["epochs"], run["epoch_seconds"]) == (True, None, None)


def test_epochs_that_go_backwards_give_the_furthest() -> None:
    (run,) = judged(trained(2.0, 4.0, 1.0, met=1))
    assert (run["epochs"], run["evaluation_interval_epochs"]) == (4.0, 2.0)


def test_checkpoints_are_counted_up_to_the_one_that_met_the_target() -> None:
    on, missed = trained(1.0, 2.0, 3.0, 4.0, met=1), trained(1.0, 2.0, 3.0, met=9)
    assert [run["evaluations_to_target"] for run in judged(on, missed)] == [2, 3]
    assert judged(mlperf())[0]["evaluations_to_target"] is None


def test_a_run_that_goes_on_after_its_target_has_time_and_epochs_of_its_end() -> None:
    run = trained(4.0, 8.0, 12.0, 16.0, met=1, run_seconds=48.0)
    (official,), (other,) = judged(run), judged(run, target=("0.76",))
    assert (official["tta_seconds"], official["epochs"]) == (48.0, 16.0)
    assert official["epoch_seconds"] == 3.0
    assert (other["tta_seconds"], other["epochs"]) == (20.0, 8.0)


def test_what_was_trained_after_the_run_is_not_of_it() -> None:
    late = [
        evaluation(n, 0.76, 500.0 + n, weights_seconds=40.0 * (n + 1), epoch=4.0 * (n + 1))
        for n in range(4)
    ]
    (run,) = judged(mlperf(*late))
    assert (run["tta_seconds"], run["epochs"]) == (100.0, 8.0)


def test_a_late_evaluation_whose_weights_have_no_time_is_of_the_run_it_decided() -> None:
    run = mlperf(evaluation(0, 0.7, 90.0), evaluation(1, 0.76, 500.0))
    assert judged(run)[0]["epochs"] == 2.0


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -3.0])
def test_stamps_that_are_no_times_tell_none(seconds: float) -> None:
    (length,) = judged(mlperf(evaluation(0, 0.7, 40.0), run_seconds=seconds))
    assert (length["run_seconds"], length["observed_seconds"]) == (None, None)
    (stamp,) = judged(mlperf(evaluation(0, 0.76, seconds), suite="dawnbench"))
    assert (stamp["reached"], stamp["observed_seconds"]) == (False, 100.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_quality_that_is_no_number_meets_nothing(value: float) -> None:
    (run,) = judged(mlperf(evaluation(0, value, 40.0)))
    assert run["reached"] is False


def test_a_run_that_ended_at_its_start_failed_after_no_time() -> None:
    (run,) = judged(mlperf(evaluation(0, 0.76, 0.0), run_seconds=0.0))
    assert (run["reached"], run["tta_seconds"], run["observed_seconds"]) == (False, None, 0.0)


def test_untrained_weights_that_meet_a_target_leave_it_to_the_next_evaluation() -> None:
    run = mlperf(evaluation(0, 0.2, 0.0), evaluation(1, 0.4, 10.0))
    (judgement,) = judged(run, target=("0.1",))
    assert (judgement["reached"], judgement["tta_seconds"]) == (True, 10.0)


def test_progress_is_counted_in_what_every_run_that_reached_tells() -> None:
    def table(*runs: Run) -> pl.DataFrame:
        return pl.DataFrame(judged(*runs), infer_schema_length=None)

    both = trained(1.0, 2.0, met=1)
    no_epochs = mlperf(evaluation(0, 0.76, 90.0, epoch=None, samples=640))
    crashed = trained(None, met=1, run_status="aborted")
    assert time_to_target.common_progress(table(both, crashed)) == (
        "epochs",
        "evaluation_interval_epochs",
    )
    assert time_to_target.common_progress(table(no_epochs)) == (
        "samples",
        "evaluation_interval_samples",
    )
    assert time_to_target.common_progress(table(both), table(no_epochs)) == (None, None)


@pytest.mark.parametrize("price", [float("inf"), float("nan"), 1e308])
def test_a_price_that_cannot_be_meant_tells_no_cost(price: float) -> None:
    (run,) = judged(mlperf(evaluation(0, 0.76, 90.0), cost_per_hour=price))
    assert (run["reached"], run["cost"]) == (True, None)
