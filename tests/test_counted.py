"""Which runs count: no logs beside result files, no inference, no copies; and runs of no length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from tests.accepted import Case, by_name
from tests.questions import Questions, accepted_answers
from ttastats import api
from ttastats.ingestion.ingest import ingest
from ttastats.outcomes import time_to_target

BOX = "v0.7/Example/results/box/minigo"
MINIGO = {"benchmark": "minigo"}


def table_of(folder: str, logs: Mapping[str, str]) -> pl.DataFrame:
    """Return the table of logs, with paths that do not depend on their folder."""
    with TemporaryDirectory() as place:
        top = made_logs.write(Path(place) / folder, logs)
        ingest([top], top / "runs.parquet")
        table = pl.read_parquet(top / "runs.parquet")
        return table.with_columns(pl.col("source").str.replace(place, "", literal=True))


def submission(hour: int = 0, **more: Any) -> pl.DataFrame:
    """Return a submission of three results, with a worker's log of nine times the time of each."""
    logs = {}
    for n in range(3):
        seed = hour + n
        logs[f"{BOX}/result_{n}.txt"] = made_logs.reaching(3 + n, seed=seed, **MINIGO, **more)
        logs[f"{BOX}/workers/{n}.log"] = made_logs.reaching(30 + n, seed=seed, **MINIGO)
    return table_of(f"of {hour}", logs)


OTHER = {f"{BOX}/mine/{n}.log": made_logs.reaching(3, seed=n, **MINIGO) for n in range(3)}
TWO = {
    f"{BOX}/result_0.txt": made_logs.reaching(3, **MINIGO),
    "v0.7/Example/results/other/minigo/my.log": made_logs.reaching(4, **MINIGO),
}
COPIES = dict.fromkeys(("a/0.log", "a/1.log", "b/0.log"), made_logs.reaching(3))


def dawnbench() -> pl.DataFrame:
    """Return one training and one inference entry of DAWNBench."""
    fields = {"author": "x", "framework": "y", "hardware": "z"}
    curve = "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t0.5\t95.0\t99.0\n"
    logs = {
        "CIFAR10/train/one.json": json.dumps(fields),
        "CIFAR10/train/one.tsv": curve,
        "CIFAR10/inference/two.json": json.dumps(fields | {"latency": 3.0}),
    }
    return table_of("dawnbench", logs)


def crashed(hour: int = 0) -> pl.DataFrame:
    """Return five runs, one of which ended when it started."""
    seeds = range(hour, hour + 4)
    logs = {f"{seed}.log": made_logs.reaching(3 + seed % 2, seed=seed) for seed in seeds}
    logs["crashed.log"] = made_logs.log([], status="aborted", seed=hour)
    return table_of("crashed", logs)


def aiming_at(target: float, hour: int) -> pl.DataFrame:
    logs = {f"{n}.log": made_logs.reaching(3 + n, seed=hour + n) for n in range(3)}
    return table_of("aims", logs).with_columns(target_value=pl.lit(target))


def nameless(table: pl.DataFrame) -> pl.DataFrame:
    named = pl.int_range(pl.len()) % 2 == 0
    return table.with_columns(pl.when(named).then("metric").alias("metric"))


COMMANDS = by_name(api.summary, api.variance, api.power, api.score)
BY: dict[str, Any] = {"by": ["benchmark"]}
INFERENCE = {"where": ["benchmark=*_inference"]}
QUESTIONS: Questions = {
    **{
        f"{name} counts results": lambda command=command: command(submission())
        for name, command in COMMANDS.items()
    },
    "a comparison counts them": lambda: api.compare(
        submission(), submission(hour=10, epoch_seconds=20.0)
    ),
    "logs of any name count where there are no results": lambda: api.summary(
        table_of("other", OTHER)
    ),
    "results of one entry say nothing of another": lambda: api.summary(table_of("two", TWO)),
    "copies count once in every group": lambda: api.summary(table_of("copies", COPIES)),
    "and once in all": lambda: api.summary(table_of("copies", COPIES), **BY),
    "an inference entry is no failed run": lambda: api.summary(dawnbench()),
    **{
        f"{name} of nothing that counts": lambda command=command: command(dawnbench(), **INFERENCE)
        for name, command in (COMMANDS | by_name(api.runs)).items()
    },
    **{
        f"{name} with a run of no length": lambda command=command: command(crashed())
        for name, command in (COMMANDS | by_name(api.targets)).items()
    },
    "it is compared": lambda: api.compare(crashed(), crashed(10), **BY),
    "targets of both": lambda: api.targets(crashed(), crashed(10)),
    "a target that is no number": lambda: api.summary(aiming_at(float("nan"), 0), **BY),
    "success decides": lambda: api.compare(
        *(aiming_at(float("inf"), hour) for hour in (0, 10)), **BY
    ),
    "evaluations of no metric have no target": lambda: api.compare(
        crashed(), nameless(crashed(10)), **BY
    ),
}


@accepted_answers("counted", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_what_counts_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@pytest.mark.parametrize("large", [time_to_target._LARGE, 0])
def test_logs_beside_result_files_are_kept_and_marked(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_to_target, "_LARGE", large)
    monkeypatch.setattr(time_to_target, "_AT_ONCE", 1)  # a log is judged apart from the results
    report = api.runs(submission())
    marked = {Path(row["source"]).name: row["set_aside"] for row in report.rows}
    assert marked == {f"result_{n}.txt": None for n in range(3)} | {
        f"{n}.log": "side_log" for n in range(3)
    }
    assert str(report.tables[0].rows).count("not counted: side log") == 3


def test_uncounted_runs_are_not_drawn_and_are_named_on_the_page() -> None:
    assert [panel.runs.height for panel in api.material(submission()).panels] == [3]
    page = api.html_report(submission())
    assert "3 runs, 3 reached the target" in page.html
    assert "3 logs outside the result files" in page.html
    assert api.plots(crashed(), crashed(10), **BY)
    assert "crashed.log" in api.html_report(crashed()).html
    assert api.html_report(*(aiming_at(float("nan"), hour) for hour in (0, 10)), **BY).html
