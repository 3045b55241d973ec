"""The official score: each of its rules on made-up runs, and every result of a real round."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case
from tests.conftest import ROOT
from tests.made_curves import evaluation
from tests.questions import Questions, accepted_answers
from tests.test_order import forms
from ttastats import api
from ttastats.answers import score
from ttastats.base.records import Evaluation, Run
from ttastats.ingestion.account import Account
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report
from ttastats.table import tables

FOLDER = "round/Example/results/box/bert"


def run(minutes: float | None, **more: Any) -> Run:
    """Return a BERT run of v5.0 that reaches its target after so many minutes."""
    seconds = None if minutes is None else minutes * 60
    kind = {"suite": "mlperf", "round": "v5.0", "benchmark": "bert", "division": "closed"}
    names = {"submitter": "Example", "system": "box", "entry": "Example/box"}
    evaluations = (evaluated(0.73, seconds or 60.0),)
    ends = {"run_status": "success", "run_seconds": seconds, "evaluations": evaluations}
    return Run(**(kind | names | ends | more))


def evaluated(
    value: float, seconds: float, metric: str = "masked_lm_accuracy", target: float = 0.72
) -> Evaluation:
    of = {"metric": metric, "higher_is_better": True, "target_value": target}
    return evaluation(0, value, seconds=seconds, step=None, epoch=None, **of)


def missed(minutes: float, **more: Any) -> Run:
    return run(minutes, evaluations=(evaluated(0.71, minutes * 60),), **more)


def slow_init(minutes: float, init_minutes: float, **more: Any) -> Run:
    return run(minutes, extra={"init_seconds": init_minutes * 60}, **more)


def table(runs: Sequence[Run], names: Sequence[str] = ()) -> pl.DataFrame:
    """Return the run table of some runs, in files named result_0.txt and so on."""
    files = names or RESULTS[: len(runs)]
    sourced = [
        tables.SourcedRun(item, name, f"{number:032x}", 0, "test")
        for number, (item, name) in enumerate(zip(runs, files, strict=True))
    ]
    return time_to_target.runs(tables.table_of_runs(sourced))


def report(runs: Sequence[Run], names: Sequence[str] = ()) -> Report:
    return score.report(table(runs, names))


#: Ten runs of 1, 2, ... 9 and 100 minutes.
MINUTES = (*(float(n) for n in range(1, 10)), 100.0)
TEN = [run(minutes) for minutes in MINUTES]


def ncf(converge: int) -> list[Run]:
    """Return 100 runs of NCF of 1, 2, ... minutes, in their order; the first ones fail."""
    hits = (evaluated(0.64, 60.0, "hit_rate_at_10", 0.635),)
    more: dict[str, Any] = {"round": "v0.5", "benchmark": "ncf", "evaluations": hits}
    ends = ["aborted"] * (100 - converge) + ["success"] * converge
    return [run(n + 1.0, **more, run_status=end) for n, end in enumerate(ends)]


def unet(*minutes: float, **more: Any) -> list[Run]:
    facts = {"round": "v3.1", "benchmark": "unet3d"}
    dice = (evaluated(0.91, 60.0, "mean_dice", 0.908),)
    return [run(length, evaluations=dice, **facts | more) for length in minutes]


def every(make: Callable[..., Run] = run, **more: Any) -> Callable[[], Report]:
    return lambda: report([make(minutes, **more) for minutes in MINUTES])


def initialised(minutes: float, round_: str, division: str | None) -> Callable[[], Report]:
    return lambda: report(
        [slow_init(length, minutes, round=round_, division=division) for length in MINUTES]
    )


ABORTED = run(0.1, run_status="aborted")
#: Forty times, of which four and four are left out.
FORTY = (1.0, 2.0, 3.0, 4.0, *(10.0 + n for n in range(32)), *(900.0 + n for n in range(4)))
UNET_FAILED = unet(*(60.0 + n for n in range(5)), run_status="aborted")
FAILURES = (
    run(5.0, run_status="aborted"), run(5.0, run_status="truncated"), missed(5.0),
    run(5.0, evaluations=()), run(5.0, evaluations=(), run_status="truncated"),
    slow_init(5.0, 32.34), run(None),
)  # fmt: skip
LIMITS = (
    ("v0.7", "closed", 20), ("v1.0", "closed", 30), ("v5.0", "closed", 30), ("v5.0", "open", 240),
    ("v5.0", "Open", 240), ("v5.0", None, 30),
)  # fmt: skip
RESULTS, WORKERS = (
    [f"{FOLDER}/{name}_{number}.txt" for number in range(100)] for name in ("result", "logs/worker")
)

QUESTIONS: Questions = {
    "the fastest and the slowest of ten runs are left out": lambda: report(TEN),
    "in any order": lambda: report(TEN[::-1]),
    "from run_start to run_stop, not to the crossing": every(evaluations=(evaluated(0.73, 6.0),)),
    "too few": lambda: report(TEN[:1]),
    "another number than required": lambda: report(TEN[:5]),
    "two leave nothing to average": lambda: report(TEN[:2]),
    "four and four of forty": lambda: report(unet(*FORTY)),
    "four failed of forty": lambda: report([*UNET_FAILED[:4], *unet(*FORTY[:36])]),
    "five failed of forty": lambda: report([*UNET_FAILED, *unet(*FORTY[:35])]),
    "a second failed run leaves no score": lambda: report([*TEN[:8], ABORTED, missed(0.2)]),
    "a quick failure takes the place of the slowest": lambda: report([*TEN[:9], ABORTED]),
    **{
        f"failed run {number}": lambda failure=failure: report([*TEN[:9], failure])  # type: ignore[misc]
        for number, failure in enumerate(FAILURES)
    },
    **{
        f"initialised in {limit - less} min, {round_} {division}": initialised(
            limit - less, round_, division
        )
        for round_, division, limit in LIMITS
        for less in (0.001, 0)
    },
    "v0.5 has no limit": every(
        lambda minutes, **more: slow_init(minutes, 300.0, **more), round="v0.5", benchmark="gnmt"
    ),
    "an initialisation that was not logged breaks none": every(extra={"seeds": 2}),
    "logs beside result files do not count": lambda: report(TEN, [*RESULTS[:5], *WORKERS[:5]]),
    "logs of any name do without them": lambda: report(TEN, [f"mine/{n}.log" for n in range(10)]),
    "the first fifty that converge, by number": lambda: report(ncf(60)[::-1], RESULTS[::-1]),
    "fewer than fifty": lambda: report(ncf(49)),
    "scaled": every(scaling_factor=1.1),
    "of several factors": lambda: report([*TEN[:9], run(9.5, scaling_factor=1.1)]),
    "of DAWNBench": every(suite="dawnbench"),
    "of no suite": every(suite=None),
    "of no round": every(round=None),
    "of no benchmark": every(benchmark=None),
    "of a benchmark that the round has not": every(benchmark="resnet"),
    "of several rounds": lambda: score.report(table([*TEN, run(5.0, round="v4.1")]), ["submitter"]),
    **{
        f"{division}, {status}": every(missed, division=division, run_status=status)
        for division in ("open", "Open", "closed")
        for status in ("success", "aborted")
    },
    "two entries of a system": lambda: report(
        [
            run(minutes * pace, entry=f"Example/{name}/box")
            for name, pace in (("a", 2), ("b", 1))
            for minutes in MINUTES
        ]
    ),
}


@accepted_answers("score", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_official_scores_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_the_columns_hide_what_all_results_share() -> None:
    whole, few = (report(runs).tables[0] for runs in (TEN, TEN[:5]))
    assert whole.title == "mlperf v5.0 closed"
    titles = [column.title for column in whole.columns]
    assert titles[:4] == ["benchmark", "submitter", "system", "submitted"]
    assert "status" not in titles
    assert few.columns[-1].title == "status"


@pytest.mark.parametrize(("benchmark", "several"), [("bert", True), ("retinanet", False)])
def test_several_scores_of_a_benchmark_are_no_comparison(*, benchmark: str, several: bool) -> None:
    aim = {"metric": "mAP", "target": 0.34} if benchmark == "retinanet" else {}
    other = [
        run(minutes + 1, benchmark=benchmark, system="rack", entry="Example/rack",
            evaluations=(evaluated(0.73, minutes * 60 + 60, **aim),))
        for minutes in MINUTES
    ]  # fmt: skip
    runs = report([*TEN, *other], [f"{name}_{n}.txt" for name in "ab" for n in range(10)])
    assert all(row["score_minutes"] for row in runs.rows)
    for text in forms(runs):
        assert ("Do not compare entries by it" in " ".join(text.split())) == several


@pytest.fixture(scope="module")
def v50(ingested_round: Callable[[str], Account]) -> Report:
    return score.report(api.run_table(ingested_round("v5.0").output))


@pytest.mark.real
class TestRound50:
    """MLPerf Training v5.0, against its official results summary."""

    def test_all_201_results_equal_the_official_ones(self, v50: Report) -> None:
        text = (ROOT / "tests" / "reference" / "mlperf_v5.0_scores.csv").read_text("utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        names = itemgetter("division", "system", "benchmark")
        rows = csv.DictReader(io.StringIO("\n".join(lines)))
        official = {names(row): float(row["minutes"]) for row in rows}
        assert len(official) == len(v50.rows) == 201
        ours = {names(row): row["score_minutes"] for row in v50.rows}
        assert ours == pytest.approx(official, rel=0, abs=1e-6)

    def test_ten_runs_failed_and_one_of_them_by_its_initialisation(self, v50: Report) -> None:
        failures = {
            (row["system"], row["benchmark"]): row["failures"] for row in v50.rows if row["failed"]
        }
        assert len(failures) == 10
        assert all(len(named) == 1 for named in failures.values())
        slow = {key: named for key, named in failures.items() if "initialisation" in named[0]}
        text = "result_2.txt: initialisation took 32.3 min, under 30 allowed"
        assert slow == {("tinybox_green", "bert"): [text]}

    def test_half_of_the_results_are_scaled_up(self, v50: Report) -> None:
        scaled = [row for row in v50.rows if row["scaling_factor"] != 1.0]
        assert len(scaled) == 101
        assert all(row["score_minutes"] > row["raw_minutes"] for row in scaled)
