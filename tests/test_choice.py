"""Which runs a question is about: conditions on runs, results, evaluations and answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import frame
from tests.questions import Questions, accepted_answers
from tests.test_time_to_target import evaluation, mlperf
from ttastats import api
from ttastats.base.records import Run
from ttastats.outcomes.select import parse_all
from ttastats.report.answer import Report
from ttastats.sides import choice
from ttastats.sides.question import Selection

Command = Callable[..., Report]


def run(number: int, *, seconds: float, final: float = 0.76, **more: Any) -> Run:
    """Return a run that is evaluated twice and by default reaches 0.75 at the second."""
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
TABLE = frame(*STEADY, *SPREAD, FAILED, *OTHER).lazy()
#: 15 of 16 reach, and at 1.6 times the time on the other side of a comparison.
SLOWER = TABLE.with_columns(
    pl.col("seconds", "run_seconds") * 1.6, content_digest=pl.lit(None, pl.String)
)

ANSWERS: dict[str, Command] = {
    "runs": api.runs,
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


def where(name: str, *conditions: str, **more: Any) -> Callable[[], Report]:
    return lambda: ANSWERS[name](TABLE, where=list(conditions), **more)


def sides(a: str, b: str, **more: Any) -> Callable[[], Report]:
    chosen = (Selection(TABLE, parse_all(t.split(), f"--{n}")) for n, t in (("a", a), ("b", b)))
    return lambda: api.compare(*chosen, **more)


#: Another table of the same runs, under other names.
ALIKE = TABLE.with_columns(
    source=pl.concat_str(pl.lit("again/"), "source"), content_digest=pl.lit(None, pl.String)
).with_columns(run_id=pl.concat_str(pl.lit("again "), "run_id"))
BY = {"by": ["benchmark", "entry"]}
QUESTIONS: Questions = {
    "runs are judged by all their evaluations": where("runs", "value<0.6", "epoch=1"),
    "by a value that one of them has": where("runs", "value=0.7"),
    "no evaluation meets both": where("runs", "value<0.6", "epoch=2"),
    "none has such a metric": where("runs", "metric=bleu"),
    **{
        f"runs with {condition}": where("runs", condition)
        for condition in ("reached=false", "tta>300", "tta_seconds>=450", "epochs=2",
                          "run_status=aborted", "value_final<75%", "target_value=0.75")
    },
    "runs by the target asked for": where("runs", "tta<26", target=["0.5"]),
    "a choice by results": where("summary", "benchmark=resnet", "reached=yes"),
    "rows of a summary by their spread": where("summary", "cv>30%", **BY),
    "by their mean": where("summary", "tta_mean_seconds>200", **BY),
    "rows of a variance": where("variance", "epoch_seconds_std>10", **BY),
    "of plans": where("power", "cv<10%", **BY),
    "of scores": where("score", "n>5", **BY),
    "of scaling": where("scaling", "efficiency<90%", by=["benchmark"]),
    "of a comparison, and all are counted": where("compare", "benchmark=*", "verdict=slower"),
    "no failure is hidden from a gate": where("compare", "verdict!=slower", fail_on="slower:2%"),
    "of several tables": lambda: api.compare(
        TABLE, ALIKE, SLOWER, by=["benchmark"], where=["verdict=slower"]
    ),
    "no such column": where("summary", "tta_mean_second>1"),
    "no such row": where("summary", "n>100"),
    "sides by their own conditions and those of all": sides(
        "system=steady", "system=spread tta>100", by=["benchmark"], where=["benchmark=resnet"]
    ),
    "sides are named by their values of one column": sides("system=steady", "system=spread"),
    "not of two columns": sides("system=steady", "entry=two", by=["suite"]),
    **{
        f"sides named by their {column}": sides("entry=one", "entry=two", labels=[column])
        for column in ("system", "round", "seed", "nothing")
    },
    "a side of no run": sides("seed<5 entry=one", "system=stedy"),
    "a side of no failure": sides("reached=yes", "reached=true tta<0"),
    "a side of no run's metric": sides("seed>=0", "metric=x"),
    "a side of an answer's number": sides("seed>=0", "cv>1"),
    "an alternative that no run has": where("summary", "benchmark=bert,resnt"),
    "of nothing": lambda: api.summary(TABLE.filter(pl.lit(value=False))),
    "of a table of runs": lambda: api.summary(api.run_table(TABLE), where=["tta>300"]),
    "no such run in it": lambda: api.summary(api.run_table(TABLE), where=["benchmark=resent"]),
    "no evaluations in it": lambda: api.summary(api.run_table(TABLE), where=["metric=x"]),
    "a target far from two metrics, and a percentage of one": lambda: api.summary(
        TABLE.with_columns(
            value=pl.when(benchmark="bert").then(pl.col("value") / 1000).otherwise("value"),
            higher_is_better=pl.col("benchmark") != "bert",
        ),
        target=["50"],
    ),
    "a target of one of several metrics": lambda: api.summary(
        TABLE.with_columns(
            target_value=pl.lit(None, pl.Float64), metric=pl.format("m{}", "eval_index")
        ),
        target=["0.5"],
    ),
    "no metric to vary": lambda: api.targets(TABLE, metric="top_accuracy"),
    "none on two sides": lambda: api.targets(TABLE, SLOWER, metric="top_accuracy"),
    **{
        f"{name} has no rows to choose": where(name, "cv>10%")
        for name in ("targets", "plot", "report")
    },
    **{
        f"{name} judges whole runs, not {condition}": where(name, condition)
        for name, condition in zip(ANSWERS, cycle(["metric=top1_accuracy", "value>0.6", "line=3"]))
        if name != "runs"
    },
}  # fmt: skip


@accepted_answers("choice", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_what_is_chosen_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_rows_are_exported_one_by_one_and_logs_whole(tmp_path: Path) -> None:
    api.export(TABLE, tmp_path / "rows.csv", where=["value=0.7"])
    assert pl.read_csv(tmp_path / "rows.csv").get_column("value").to_list() == [0.7]
    api.export(TABLE, tmp_path / "first.csv", where=["reached=false", "epoch=1"])
    assert pl.read_csv(tmp_path / "first.csv").select("seed", "epoch").rows() == [(9, 1.0)]
    assert api.export(TABLE, tmp_path / "logs", where=["value=0.7"]).runs == 1
    logs = [path for path in (tmp_path / "logs").rglob("*") if path.is_file()]
    (log,) = [path for path in logs if "eval_accuracy" in path.read_text()]
    assert log.read_text().count('"eval_accuracy"') == 2


def test_the_rows_of_a_choice_are_those_of_its_runs() -> None:
    failed = choice.choose_runs(TABLE, ["reached=false"])
    assert failed.rows.collect().get_column("seed").unique().to_list() == [9]
    (panel,) = api.material(TABLE, where=["reached=false"]).panels
    assert panel.evaluations.collect().height == 2
    page = api.html_report(TABLE, where=["reached=true"])
    assert "runs, selected by their result" in page.html


def test_tables_show_the_rows_that_were_chosen() -> None:
    assert api.summary(TABLE, where=["n>=1"]) == api.summary(TABLE)
    whole, part = ANSWERS["compare"](TABLE), where("compare", "verdict=slower")()
    assert [row.of_all for row in part.tables[0].rows] == [False, True]
    assert part.tables[0].rows[1] == whole.tables[0].rows[-1]
    assert part.sentence == whole.sentence
    several = QUESTIONS["of several tables"]()
    shown = [sum(not row.of_all for row in table.rows) for table in several.tables]
    assert shown == [0, len(several.rows)]
