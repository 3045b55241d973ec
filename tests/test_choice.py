"""Which runs a question is about: conditions on runs, results, evaluations and answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.test_target import rows
from tests.test_time_to_target import evaluation, mlperf
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.outcomes.select import parse_all
from ttastats.report.answer import Report
from ttastats.sides import question
from ttastats.sides.question import Selection

Command = Callable[..., Report]


def run(number: int, *, seconds: float, final: float = 0.76, **more: Any) -> Run:
    """Return run that is evaluated twice and reaches 0.75 at the second, unless told otherwise."""
    fields = {"seed": number, "entry": "one", "accelerators": 8, "run_seconds": seconds}
    return mlperf(
        evaluation(0, 0.5, seconds / 2), evaluation(1, final, seconds - 1), **fields | more
    )


STEADY = [run(n, seconds=100.0 + n, system="steady") for n in range(5)]
SPREAD = [
    run(n, seconds=90.0 * (1 + n), system="spread", entry="two", accelerators=16) for n in range(5)
]
FAILED = run(9, seconds=300.0, final=0.7, system="steady", run_status="aborted")
OTHER = [
    run(20 + n, seconds=50.0 + n, system="steady", entry="three", benchmark="bert")
    for n in range(5)
]
TABLE = rows(*STEADY, *SPREAD, FAILED, *OTHER)
#: 15 of 16 reach, and at 1.6 times the time on the other side of a comparison.
SLOWER = TABLE.with_columns(
    pl.col("seconds", "run_seconds") * 1.6, content_digest=pl.lit(None, pl.String)
)

ANSWERS: dict[str, Command] = {
    "summary": api.summary,
    "variance": api.variance,
    "history": api.history,
    "effects": lambda source, **more: api.effects(source, on=["system"], **more),
    "power": api.power,
    "score": api.score,
    "scaling": api.scaling,
    "compare": lambda source, **more: api.compare(source, SLOWER, by=["benchmark"], **more),
    "targets": api.targets,
    "plot": lambda source, **more: api.plot("tta", source, **more),
    "report": lambda source, **more: api.html_report(source, **more),
}


def refused(command: Command, where: str) -> str:
    with pytest.raises(TtastatsError) as caught:
        command(TABLE, where=[where])
    return str(caught.value)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("condition", ["metric=top1_accuracy", "value>0.6", "epoch>=2", "line=3"])
def test_a_condition_on_evaluations_is_refused_where_runs_are_judged(
    name: str, condition: str
) -> None:
    message = refused(ANSWERS[name], condition)
    assert f"--where {condition}: " in message
    assert "is a column of evaluations, but this command selects whole runs" in message
    assert "--target" in message
    assert "ttastats export FILE -o rows.csv" in message


def test_runs_with_such_an_evaluation_are_kept_and_judged_by_all_they_have() -> None:
    everything = api.runs(TABLE)
    kept = api.runs(TABLE, where=["value<0.6", "epoch=1"])
    assert kept.rows == everything.rows
    (failed,) = api.runs(TABLE, where=["value=0.7"]).rows
    assert (failed["reached"], failed["run_status"]) == (False, "aborted")


def test_all_conditions_on_evaluations_hold_for_one_evaluation() -> None:
    with pytest.raises(TtastatsError, match="no evaluation meets all conditions together"):
        api.runs(TABLE, where=["value<0.6", "epoch=2"])
    with pytest.raises(TtastatsError, match="no evaluation has metric=bleu\n  Values: top1_a"):
        api.runs(TABLE, where=["metric=bleu"])


def test_rows_are_exported_one_by_one_and_logs_whole(tmp_path: Path) -> None:
    where = ["value=0.7"]
    api.export(TABLE, tmp_path / "rows.csv", where=where)
    assert pl.read_csv(tmp_path / "rows.csv").get_column("value").to_list() == [0.7]
    done = api.export(TABLE, tmp_path / "logs", where=where)
    assert done.runs == 1
    logs = [path for path in (tmp_path / "logs").rglob("*") if path.is_file()]
    (log,) = [path for path in logs if "eval_accuracy" in path.read_text()]
    assert log.read_text().count('"eval_accuracy"') == 2


def test_rows_are_exported_by_the_results_of_their_runs(tmp_path: Path) -> None:
    api.export(TABLE, tmp_path / "rows.csv", where=["reached=false", "epoch=1"])
    table = pl.read_csv(tmp_path / "rows.csv")
    assert table.select("seed", "epoch").rows() == [(9, 1.0)]


@pytest.mark.parametrize(
    ("condition", "seeds"),
    [
        ("reached=false", [9]),
        ("tta>300", [3, 4]),
        ("tta_seconds>=450", [4]),
        ("epochs=2", [*range(5), *range(5), 9, *range(20, 25)]),
        ("run_status=aborted", [9]),
        ("value_final<75%", [9]),
        ("target_value=0.75", [*range(5), *range(5), 9, *range(20, 25)]),
    ],
)
def test_runs_are_chosen_by_their_results(condition: str, seeds: list[int]) -> None:
    found = api.runs(TABLE, where=[condition])
    assert sorted(row["seed"] for row in found.rows) == sorted(seeds)


def test_results_are_those_of_the_target_asked_for() -> None:
    judged = question.chosen(TABLE, ["reached=true"], ["0.5"])
    assert judged.runs.height == 16
    assert question.chosen(TABLE, ["tta<26"], ["0.5"]).runs["seed"].to_list() == [20, 21]


def test_a_choice_by_results_is_said() -> None:
    report = api.summary(TABLE, where=["benchmark=resnet", "reached=yes"])
    (note,) = [note for note in report.notes if note.code == "chosen_by_result"]
    assert note.text == (
        "--where reached=yes: 10 of 11 runs, selected by their result. All "
        "numbers describe only these runs."
    )


def test_the_rows_of_a_choice_are_those_of_its_runs() -> None:
    found = question.chosen(TABLE, ["reached=false"])
    assert found.rows.collect().get_column("seed").unique().to_list() == [9]
    (panel,) = api.material(TABLE, where=["reached=false"]).panels
    assert panel.evaluations.collect().height == 2


@pytest.mark.parametrize(
    ("name", "asked", "entry"),
    [
        ("summary", "cv>30%", "two"),
        ("summary", "tta_mean_seconds>200", "two"),
        ("variance", "epoch_seconds_std>10", "two"),
        ("power", "cv<10%", "three"),
        ("score", "n>5", "one"),
    ],
)
def test_rows_of_an_answer_are_chosen_by_their_numbers(name: str, asked: str, entry: str) -> None:
    command = ANSWERS[name]
    every = command(TABLE, by=["benchmark", "entry"])
    kept = command(TABLE, by=["benchmark", "entry"], where=[asked])
    assert [row["entry"] for row in kept.rows] == [entry]
    (shown,) = kept.tables[0].rows
    assert shown in every.tables[0].rows
    assert entry in [getattr(cell, "text", "") for cell in shown.cells]
    (note,) = [note for note in kept.notes if note.code == "rows_left_out"]
    assert note.text == f"--where {asked}: 1 row shown, 2 other rows hidden."


def test_nothing_is_said_where_every_row_meets_the_conditions() -> None:
    assert api.summary(TABLE, where=["n>=1"]) == api.summary(TABLE)


def test_rows_of_scaling_are_chosen_by_their_numbers() -> None:
    kept = api.scaling(TABLE, by=["benchmark"], where=["efficiency<90%"])
    assert [row["accelerators"] for row in kept.rows] == [16]


def test_a_comparison_shows_some_rows_and_counts_all() -> None:
    every = ANSWERS["compare"](TABLE)
    kept = ANSWERS["compare"](TABLE, where=["benchmark=*", "verdict=slower"])
    (row,) = kept.rows
    assert row["benchmark"] == "bert"
    assert row in every.rows
    assert kept.sentence == every.sentence
    table = kept.tables[0]
    assert [row.of_all for row in table.rows] == [False, True]
    assert table.rows[1] == every.tables[0].rows[-1]
    (note,) = [note for note in kept.notes if note.code == "rows_left_out"]
    assert note.text == (
        "--where verdict=slower: 1 row shown, 1 other row hidden; adjusted "
        "p-values, the geo-mean and the sentence below include all rows."
    )


def test_a_condition_hides_no_failure_from_a_gate() -> None:
    shown = ANSWERS["compare"](TABLE, where=["verdict!=slower"], fail_on="slower:2%")
    assert [row["benchmark"] for row in shown.rows] == ["resnet"]
    assert shown.gate is not None
    assert not shown.gate.passed


def test_several_tables_keep_their_own_rows() -> None:
    alike = TABLE.with_columns(
        source=pl.concat_str(pl.lit("again/"), "source"), content_digest=pl.lit(None, pl.String)
    ).with_columns(run_id=pl.concat_str(pl.lit("again "), "run_id"))
    kept = api.compare(TABLE, alike, SLOWER, by=["benchmark"], where=["verdict=slower"])
    shown = [[row for row in table.rows if not row.of_all] for table in kept.tables]
    assert [len(rows) for rows in shown] == [0, len(kept.rows)]


@pytest.mark.parametrize("name", ["targets", "plot", "report"])
def test_numbers_of_an_answer_choose_nothing_where_there_are_no_rows(name: str) -> None:
    message = refused(ANSWERS[name], "cv>10%")
    assert message.startswith("--where: unknown column 'cv'\n  Columns of an answer")


def test_an_unknown_column_of_an_answer_is_refused_with_the_nearest() -> None:
    assert refused(api.summary, "tta_mean_second>1") == (
        "--where: unknown column 'tta_mean_second'\n  Nearest: tta_mean_seconds, "
        "tta_mean_seconds_low, tta_mean_seconds_high."
    )
    assert refused(api.summary, "n>100") == "--where: no row has n>100\n  n is one of 5, 6."


def test_a_side_is_chosen_by_its_own_conditions_and_those_of_all() -> None:
    a = Selection(TABLE, parse_all(["system=steady"], "--a"))
    b = Selection(TABLE, parse_all(["system=spread", "tta>100"], "--b"))
    report = api.compare(a, b, by=["benchmark"], where=["benchmark=resnet"])
    (row,) = report.rows
    assert (row["a"], row["b"]) == ("system=steady", "system=spread, tta>100")
    assert (row["n_a"], row["n_b"]) == (6, 4)
    assert "runs, selected by their result. All numbers describe only these runs" in (
        " ".join(note.text for note in report.notes)
    )


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("system=stedy", "--b: no run has system=stedy\n  Nearest: steady."),
        ("reached=false", "--b: no run has reached=false"),
        ("metric=x", "--b metric=x: metric is a column of evaluations"),
        ("cv>1", "--b: unknown column 'cv'"),
    ],
)
def test_a_side_that_cannot_be_had_is_named(condition: str, message: str) -> None:
    good = rows(*STEADY)
    a, b = (
        Selection(good, parse_all([text], f"--{n}"))
        for n, text in (("a", "seed>=0"), ("b", condition))
    )
    with pytest.raises(TtastatsError) as caught:
        api.compare(a, b)
    assert str(caught.value).startswith(message)


def test_a_table_of_runs_is_chosen_from_alike() -> None:
    judged = api.run_table(TABLE)
    assert api.summary(judged, where=["tta>300"]).rows == api.summary(TABLE, where=["tta>300"]).rows
    with pytest.raises(TtastatsError, match="no run has benchmark=resent\n  Nearest: resnet"):
        api.summary(judged, where=["benchmark=resent"])
    with pytest.raises(TtastatsError, match="is a column of evaluations"):
        api.summary(judged, where=["metric=x"])


def test_an_alternative_that_no_run_has_is_named() -> None:
    report = api.summary(TABLE, where=["benchmark=bert,resnt"])
    assert [row["benchmark"] for row in report.rows] == ["bert"]
    assert report.notes[-1].text == (
        "--where: no run has benchmark=resnt. Nearest: resnet. Values: bert, resnet."
    )


def test_an_empty_table_says_so() -> None:
    with pytest.raises(
        TtastatsError, match="no run meets all conditions together\n  The table is empty"
    ):
        api.summary(TABLE.filter(pl.lit(value=False)))


@pytest.mark.parametrize("sides", [(TABLE,), (TABLE, SLOWER)])
def test_a_metric_to_vary_that_is_not_there_is_refused(sides: tuple[pl.LazyFrame, ...]) -> None:
    with pytest.raises(TtastatsError) as caught:
        api.targets(*sides, metric="top_accuracy")
    assert str(caught.value) == (
        "--metric: no benchmark logs the metric 'top_accuracy'\n  Nearest: "
        "top1_accuracy. Metrics: top1_accuracy (bert, resnet)."
    )


def test_a_page_says_how_its_runs_were_chosen() -> None:
    page = api.html_report(TABLE, where=["reached=true"])
    assert "runs, selected by their result" in page.html
