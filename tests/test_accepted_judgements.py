"""What the parts of a judgement say of runs close to a rule is as accepted.

Whole answers show most of it in passing; here stand runs made to lie just on either side of a rule.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Any

import polars as pl
import pytest
from msgspec.structs import astuple, replace

from tests import test_accepted_answers as made
from tests import test_gate
from tests.accepted import Case, by_name, cases
from tests.made_curves import curve, evaluation, frame, of
from tests.plotting import test_profiled
from ttastats import api
from ttastats.answers import claim
from ttastats.answers.compare import compare, notes, step_factors
from ttastats.answers.compare import gate as gates
from ttastats.answers.profile import profile
from ttastats.answers.rcp import convergence_rules, rcp_row
from ttastats.answers.rcp.convergence_rules import Record, ruleset_of
from ttastats.answers.record import record_checks
from ttastats.base.benchmarks import FEWEST_SAMPLES
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.outcomes import at_budget, axis, target, time_to_target
from ttastats.outcomes.budget import END, Budget, lengths, parse
from ttastats.report.answer import Report
from ttastats.sides import checks, comparison, design, pairing
from ttastats.sides import numbers as sides
from ttastats.sides.options import Options, View, refuse_excluded
from ttastats.sides.pairing import Pair, Side
from ttastats.sides.question import Question
from ttastats.table import tables
from ttastats.traces import table
from ttastats.traces.table import measure_row

pytestmark = pytest.mark.usefixtures("in_codes")
Found = Iterator[tuple[Any, Any]]
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def attempt(call: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """Return the result of a call, or its error with the place and the remedy."""
    try:
        return call(*arguments, **more)
    except TtastatsError as error:
        return ["refused", error.what, error.where, error.remedy]


def on_one_axis(tables: Sequence[pl.DataFrame], unit: str) -> Any:
    """Return the tables on the axis of a unit, refused if there is none of that name."""
    return axis.on_common_axis(tables, axis.by_clock(unit, ""))


def limits_of(text: str, kind: gates.Kind = gates.TIMES) -> list[dict[str, Any]]:
    """Return the conditions of `--fail-on`."""
    read = gates.conditions(text, "", kind)
    return [{"option": condition.option, "limit": condition.limit} for condition in read]


def conclusion(report: Report) -> list[Any]:
    """Return an answer without its cells, which other tests cover."""
    rows = [{name: v for name, v in row.items() if v is not None} for row in report.rows]
    notes = [[note.code, note.text] for note in report.notes]
    gate = [report.gate.passed, report.gate.failures] if report.gate is not None else []
    return [rows, report.sentence, notes, gate]


def known(row: dict[str, Any], *unused: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name not in unused}


# ------------------------------------------------------------------------------------- at a budget


def odd_curves() -> pl.DataFrame:
    """Return runs that end early, late or nowhere, diverge, or have no progress."""
    bare = {"seconds": None, "step": None, "epoch": None}
    rising = {"metric": "acc", "higher_is_better": True}
    runs = frame(
        curve(5.0, 4.0, 3.28),
        curve(5.0, 3.0, 4.0, run_seconds=33.0, cost_per_hour=7200.0),
        curve(5.0, 4.0, math.nan),
        curve(math.inf, 4.5),
        of(evaluation(0, 5.0), run_seconds=90.0),
        of(evaluation(2, 4.0, samples=3000), evaluation(3, 3.5, samples=4000)),
        of(evaluation(0, 5.0, **bare), evaluation(1, 4.25, **bare)),
        of(evaluation(0, 5.0, step=0, seconds=0.0, epoch=0.0), evaluation(1, 4.0, target_value=3)),
        of(evaluation(0, 6.0, seconds=25.0, weights_seconds=20.0), run_seconds=21.0),
        of(evaluation(1, 4.0), evaluation(1, 9.0), evaluation(0, 5.0, seconds=20.5)),
        of(evaluation(0, 1 / 3), evaluation(1, 2 / 7), evaluation(2, 0.28, metric="other")),
        of(evaluation(0, 0.7, **rising), evaluation(1, 0.6, **rising), entry="rising"),
        of(evaluation(0, 0.7, metric="only"), entry="apart"),
        of(entry="empty"),
        of(run_status="stopped"),
        curve(5.0, 4.0),
    )
    # Of rows that contradict each other about their run, the first speaks.
    later = (pl.col("source") == "log_1") & (pl.col("eval_index") > 0)
    return runs.with_columns(
        pl.when(later).then(99.0).otherwise(name).alias(name)
        for name in ("run_seconds", "cost_per_hour")
    ).with_columns(
        value=pl.when((pl.col("source") != "log_15") | (pl.col("eval_index") == 0)).then("value")
    )


BUDGETS = (
    END,
    Budget(best=True),
    Budget("step", 200.0),
    Budget("step", 200.0, best=True),
    Budget("step", 200.0 / (1 + 5e-7)),
    Budget("step", 200.0 / (1 + 2e-6)),
    Budget("step", 250.0, interpolate=True),
    Budget("step", 300.0, interpolate=True),
    Budget("epoch", 2.0),
    Budget("epoch", 1.25, interpolate=True),
    Budget("samples", 3000.0),
    Budget("seconds", 20.0),
    Budget("seconds", 21.0),
    Budget("seconds", 33.0),
)
_SAID = (
    "short", "quality", "quality_seen", "quality_step", "tta_seconds", "observed_seconds", "steps",
    "samples", "epochs", "epoch_seconds", "cost", "evaluations", "set_aside", "target_metric",
    "target_value", "higher_is_better", "run_seconds",
)  # fmt: skip


def of_budgets() -> Found:
    for budget in BUDGETS:
        runs = at_budget.runs(odd_curves(), budget, metric="val_loss").sort("source")
        for row in runs.iter_rows(named=True):
            yield (str(budget), row["source"]), known({name: row[name] for name in _SAID})
        for least in range(0, runs.height, 5):
            group = runs[least : least + 5]
            x = lengths(group)
            yield ("lengths", least), [x, x.equal, x.all_reach, x.text(x.least)]
    values = (
        (0.1234567,),
        (0.12345678,),
        (0.5, 0.5 + 1e-13, 1 / 3),
        (1 / 3,),
        (math.inf,),
        (12.0,),
    )
    decimals = at_budget.runs(frame(*(curve(*series) for series in values))).sort("source")
    yield "steps of values", decimals["quality_step"].to_list()
    for metric in ("", "acc", "only", "los"):
        odd = attempt(at_budget.runs, odd_curves(), metric=metric)
        counts = odd if isinstance(odd, list) else odd["set_aside"].value_counts().sort("count")
        yield ("metric", metric), counts if isinstance(counts, list) else counts.rows()
    rows = odd_curves().lazy()
    for budget in (Budget("step", 1e4), Budget("samples", 1.0), Budget("epoch", 0.5), END):
        for who in ("", "B"):
            at = at_budget.runs(rows, budget, metric="val_loss")
            refused = attempt(at_budget.expect_some, at, rows, budget, who)
            yield ("nobody", str(budget), who), refused
    empty = frame(of(), of())
    silent = at_budget.runs(empty, Budget("step", 1.0))
    yield "nobody tells", attempt(at_budget.expect_some, silent, empty.lazy(), Budget("step", 1.0))


def of_lengths() -> Found:
    cases: dict[str, Sequence[tuple[float | None, ...]]] = {
        "steps": [(100, None, 1.0, 10.0, 3), (100, None, 1.5, 20.0, 3)],
        "by the clock": [(100, None, None, 100.0, 3), (101, None, None, 98.0, 3)],
        "nearly by the clock": [(100, None, None, 100.0, 3), (101, None, None, 97.9, 3)],
        "samples": [(None, 5000, 1.0, 10.0, 3), (100, 5000, 1.5, 20.0, 3)],
        "epochs": [(None, None, 1.5, None, 3), (None, 10, 2.5, 20.0, 3)],
        "seconds": [(None, None, None, 10.0014, 3), (None, None, None, 10.0, 4)],
        "evaluations": [(None, None, None, None, 3), (None, None, None, 10.0, None)],
        "zero": [(0, None, None, None, 1), (5, None, None, 3.0, 1)],
        "none": [],
        "thirds of epochs": [(None, None, 4 / 3, None, 3), (None, None, 5 / 3, None, 3)],
    }
    names = ("steps", "samples", "epochs", "observed_seconds", "evaluations")
    for name, rows in cases.items():
        runs = pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row")
        limits = lengths(runs.with_columns(run_status=pl.lit("unknown")))
        words = [limits.text(limits.least), limits.text(limits.most), limits.all_reach]
        yield name, [limits, limits.equal, limits.budget, *words]


# ----------------------------------------------------------------------------------- in comparisons


A = (3.20, 3.22, 3.19, 3.21, 3.20)
LESS = (3.10, 3.12, 3.09, 3.11, 3.10)


@cache
def curves(number: int, length: int = 3, budget: Budget = END) -> pl.DataFrame:
    """Return five runs of a side with so many evaluations, as they are at a budget."""
    runs = [
        curve(*(5.0 + place / 8 - at / 10 for at in range(length - 1)), end, cost_per_hour=36.0)
        for place, end in enumerate(A)
    ]
    return at_budget.runs(logs_of(number, runs), budget)


def logs_of(side: int, runs: Sequence[Run]) -> pl.DataFrame:
    """Return runs as logs with paths that no other side has."""
    sourced = [
        tables.SourcedRun(run, f"{side}/{n}", f"{100 * side + n:016x}{0:016x}", 0, "test")
        for n, run in enumerate(runs)
    ]
    return tables.table_of_runs(sourced)


def ending(runs: pl.DataFrame, ends: Sequence[float], **more: Any) -> pl.DataFrame:
    """Return runs that end at other qualities."""
    changed = {
        name: pl.Series(values if isinstance(values, list) else [values] * runs.height, dtype=kind)
        for name, values in more.items()
        for kind in [runs.schema.get(name)]
    }
    return runs.with_columns(quality=pl.Series(ends), **changed)


def compared(
    *tables: pl.DataFrame,
    gate: tuple[str, str] = ("", ""),
    budget: Budget = END,
    view: View | None = None,
    **keywords: Any,
) -> list[Any]:
    first, *rest = (
        Side(name, runs, at_budget=True) for name, runs in zip("ABC", tables, strict=False)
    )
    report = compare.qualities_report(first, rest, Question(**keywords), budget, view)
    return conclusion(
        gates.judge(report, gates.conditions(*gate, gates.QUALITIES), confidence=0.95)
    )


def of_qualities() -> Found:
    a, b = curves(0), ending(curves(1), LESS, cost_per_hour=[36.0, 36.0, 45.0, 36.0, 36.0])
    near, shorter = ending(curves(2), [loss - 0.002 for loss in A]), ending(curves(3, 2), LESS)
    up = {"higher_is_better": True}
    gone = {"reached": [True, True, True, True, False], "short": [*[None] * 4, "ended_before"]}
    lost = ending(curves(4), [*LESS[:4], None], **gone)  # type: ignore[list-item]
    days = [[MONDAY + timedelta(days=n + more) for n in range(5)] for more in (0, 4, 5)]
    aimed = {"target_value": 3.3}
    margin = {"options": Options(margin=0.015), "view": View(margin_claims=True)}
    wide = {"options": Options(margin=0.0146), "view": View(margin_claims=True)}
    questions: dict[str, tuple[list[pl.DataFrame], dict[str, Any]]] = {
        "better": ([a, b], {"gate": ("worse:0.1", "not-worse:0")}),
        "worse": ([b, a], {"gate": ("worse:0.0865", "not-worse:0.2")}),
        "worse by less": ([b, a], {"gate": ("worse:0.0866", "not-worse:0.1")}),
        "higher is better": (
            [ending(a, A, **up), ending(b, LESS, **up)], {"gate": ("worse:0", "")}
        ),
        "near": ([a, near], {**margin, "gate": ("", "not-worse:0.01")}),
        "near within more": ([a, near], {**wide, "gate": ("", "not-worse:0.012")}),
        "near within 0.016": ([a, near], {**margin, "options": Options(margin=0.016)}),
        "near, not asked": ([a, near], {"options": Options(margin=0.02)}),
        "geomean": ([a, b], {"options": Options(estimand="geomean", confidence=0.9)}),
        "in sessions": ([ending(a, A, started_at=days[0], **aimed),
                         ending(near, A, started_at=days[2], **aimed)], {}),
        "in one session": ([ending(a, A, started_at=days[0]),
                            ending(near, A, started_at=days[1])], {}),
        "of two targets": ([ending(a, A, target_value=[3.3, 3.3, 3.4, None, None]), b], {}),
        "lost": ([a, lost], {"gate": ("worse:0.1", "")}),
        "lost before": ([lost, a], {"gate": ("", "not-worse:0.3"), **margin}),
        "lost before, by more": ([lost, a], {"gate": ("worse:0", "not-worse:0.05")}),
        "near, pooled": (
            [ending(a, A, entry=["x", "x", "y", "y", "y"]), near],
            {**margin, "options": Options(margin=0.02)},
        ),
        "near, lost": ([a, ending(lost, [*A[:4], None])], margin),  # type: ignore[list-item]
        "all lost": ([a, lost[4:]], {"gate": ("worse:0.1", "")}),
        "shorter": ([a, shorter], {}),
        "shorter first": ([shorter, a], {}),
        "ragged": ([a, pl.concat([b[1:], shorter[:1]])], {"gate": ("worse:1", "")}),
        "one run": ([a, b[:1]], {}),
        "two runs": ([a[:2], b[:2]], {}),
        "other metric": ([a, ending(b, LESS, target_metric="acc")], {}),
        "in dollars": ([a, b], {"unit": "cost"}),
        "in steps": ([a, shorter], {"unit": "steps"}),
        "best": ([a, b], {"budget": Budget(best=True)}),
        "by the clock": ([a, b], {"budget": Budget("seconds", 25.0)}),
        "by the clock, no steps": (
            [ending(a, A, steps=[None, 1.0, 1.0, 1.0, 1.0]), b], {"budget": Budget("seconds", 9.0)},
        ),
        "at no time": ([ending(a, A, observed_seconds=[0.0, 1.0, 1.0, 1.0, 1.0]), b], {}),
        "equal": ([a, ending(curves(1), A)], margin),
        "of one value": ([ending(a, [3.2] * 5), ending(b, [3.1] * 5)], {}),
        "of one value and step": (
            [ending(a, [3.2] * 5, quality_step=0.1), ending(b, [3.1] * 5, quality_step=0.1)], {},
        ),
        "several": ([a, b, near], {"options": Options(fdr=True), **margin}),
    }  # fmt: skip
    for name, (given, more) in questions.items():
        yield name, attempt(compared, *given, **more)
    for text in (
        "worse:0.001",
        "worse: 1e-3",
        "worse:0",
        "worse:-1",
        "worse",
        "not-worse:1",
        "worse:x",
    ):
        conditions = attempt(limits_of, text, gates.QUALITIES)
        yield ("gate", text), conditions


def of_stops() -> Found:
    """Yield another metric of runs at their end."""

    def both(index: int, loss: float, accuracy: float, **more: Any) -> list[Any]:
        return [
            evaluation(index, loss, target_value=4.0, **more),
            evaluation(index, accuracy, metric="acc", higher_is_better=True, **more),
        ]

    apart = [evaluation(0, 5.0, target_value=4.0), evaluation(1, 3.9, target_value=4.0),
             evaluation(2, 0.8, metric="acc", step=200, epoch=2.0, samples=None)]  # fmt: skip
    later = [*apart[:2], evaluation(2, 0.8, metric="acc", step=201, epoch=2.0)]
    rows = frame(
        of(*both(0, 5.0, 0.5), *both(1, 4.0, 0.7), *both(2, 3.0, 0.9)),
        of(*both(0, 5.0, 0.5), *both(1, 4.1, 0.7)),
        of(*both(0, 3.0, math.nan), *both(1, 2.0, 0.6)),
        of(*apart),
        of(*later),
        of(*both(0, 3.9, 0.4, step=None, epoch=None), evaluation(1, 0.9, metric="acc")),
        of(evaluation(0, 3.9, target_value=4.0, samples=10), evaluation(0, 1.0, metric="acc",
                                                                       epoch=1.5, samples=12)),
    )  # fmt: skip
    runs = time_to_target.runs(rows)
    last = at_budget.at_stop(rows.lazy(), runs, "acc").sort(pl.all())
    yield "at the end of the runs", last.drop("source_digest", strict=False).rows()
    shown = ("reached", "tta_seconds", "epochs", "samples", "steps", "evaluation_interval_steps",
             "evaluations_to_target")  # fmt: skip
    yield "the runs", runs.sort("source").select(shown).rows()
    goals = pl.DataFrame({"metric": ["val_loss", "acc"], "target_value": [4.5, 0.7]})
    (of_goals,) = time_to_target.runs_at(rows, [goals], [])
    yield "of two goals", of_goals.sort("source").select(shown).rows()


def of_looks() -> Found:
    def numbers(times: Sequence[float], failed: int = 0, setups: int = 1) -> sides.SideNumbers:
        runs = [
            of(
                evaluation(0, 5.0, target_value=4.0, seconds=time / 2),
                evaluation(1, 4.5 if n < failed else 3.9, target_value=4.0, seconds=time),
                entry=f"{n % setups}",
            )
            for n, time in enumerate(times)
        ]
        return sides.side(time_to_target.runs(frame(*runs)), None, None, ddof=1, confidence=0.95)

    ten = [20.0 + n for n in range(10)]
    for name, a, b, most in (
        ("2", ten[:2], ten[:2], 20), ("3", ten[:3], ten[:3], 20), ("apart", ten[:3], ten[:4], 20),
        ("at the end", ten, ten, 10), ("beyond it", ten, ten, 9),
    ):  # fmt: skip
        yield name, comparison.plan_look(numbers(a), numbers(b), most)
    yield "failed", comparison.plan_look(numbers(ten, 2), numbers(ten, 1), 20)
    yield "one failed", comparison.plan_look(numbers(ten), numbers(ten, 1), 20)
    yield "pooled", [comparison.plan_look(numbers(ten, setups=n), numbers(ten, setups=3 - n), 20)
                     for n in (1, 2)]  # fmt: skip
    for most in (None, 2, 3, 200, 201):
        yield ("plan", most), attempt(comparison.check_plan, most)
    for budget, also, same in ((END, (), False), (None, ("acc",), False), (None, (), True)):
        options = Options(max_runs=9, same_convergence=same)
        result = attempt(refuse_excluded, options, budget, also)
        yield ("beside", str(budget), also, same), result


# -------------------------------------------------------------------------------------- of contests


ENDS = (3.2780, 3.2790, 3.2770, 3.2785, 3.2775)


@cache
def contested(number: int, seconds: float) -> pl.DataFrame:
    """Return five runs of a contest at their ends, on one machine, with different seeds."""
    runs = [
        of(
            evaluation(0, 4.0 + place, step=150),
            evaluation(1, end, seconds=seconds + place / 10, step=300),
            seed=place, hardware="h100", accelerators=8, nodes=1, entry="x",
        )
        for place, end in enumerate(ENDS)
    ]  # fmt: skip
    return at_budget.runs(logs_of(number, runs))


def hours(*offsets: int) -> list[datetime]:
    return [MONDAY + timedelta(hours=hour) for hour in offsets]


def timed(seconds: float) -> dict[str, Any]:
    times = [seconds + place / 10 for place in range(len(ENDS))]
    return {"tta_seconds": times, "observed_seconds": times}


def contest(a: pl.DataFrame | None, b: pl.DataFrame, rules: str, stated: float | None = None,
            **changed: Any) -> list[Any]:  # fmt: skip
    chosen = replace(record_checks.rules_named(rules), **changed)
    sides = {"B": b} if a is None else {"A": a, "B": b}
    answer = record_checks.judged(sides, chosen, stated)
    checks = [list(astuple(check))[:-1] for check in answer.checks]
    return [answer.verdict, checks, answer.numbers]


def of_records() -> Found:
    a, b, track = contested(0, 80.0), contested(1, 70.0), "nanogpt-track-1"
    changes: dict[str, dict[str, Any]] = {
        "as they are": {},
        "seeds twice": {"seed": [1, 1, 2, 2, 2]},
        "seeds not told": {"seed": [1, None, 2, 3, 4]},
        "of two entries": {"entry": ["x", "y", None, "x", "x"]},
        "other machines": {"hardware": "a100"},
        "on two machines": {"hardware": ["h100", "a100", None, "h100", "h100"]},
        "on nodes": {"nodes": 2},
        "on any number": {"accelerators": None, "nodes": 0},
        "machines not told": {"hardware": None},
        "nor times": {"hardware": None, "run_seconds": None},
        "of two lengths": {"steps": [300.0, 300.0, 300.0, 310.0, 310.0]},
        "steps not told": {"steps": [300.0, None, 300.0, 300.0, 300.0]},
        "by samples": {"steps": None, "samples": [60, 60, 60, 62, 62], "observed_seconds": None},
        "by evaluations": {
            "steps": None,
            "samples": None,
            "epochs": None,
            "observed_seconds": [9, 8, 7, 6, 5],
        },
        "broken off": {"set_aside": [None, "stopped", "stopped", "side_log", None]},
        "copies": {"source_digest": "1", "run_id": ["1", "1", "2", "2", "3"]},
        "copies by bytes": {"source_digest": None, "content_digest": "x"},
        "slower": timed(81.0),
        "as fast": timed(80.0),
        "at no known time": {"tta_seconds": None, "observed_seconds": None},
    }
    for name, more in changes.items():
        other = ending(b, ENDS, **more)
        yield name, attempt(contest, a, other, track)
    turns = (
        (hours(0, 2, 4, 6, 8), hours(1, 3, 5, 7, 9)), (hours(0, 1, 2, 3, 8), hours(4, 5, 6, 7, 9)),
        (hours(0, 1, 2, 3, 4), hours(5, 6, 7, 8, 9)), (hours(5, 6, 7, 8, 9), hours(0, 1, 2, 3, 4)),
        ([None, *hours(0, 1, 2, 3)], hours(5, 6, 7, 8, 9)),
    )  # fmt: skip
    for started_a, started_b in turns:
        pair = ending(a, ENDS, started_at=started_a), ending(b, ENDS, started_at=started_b)
        yield "in turns", record_checks_of(*pair)
    lost = ending(b, [*ENDS[:4], None], reached=[True] * 4 + [False])  # type: ignore[list-item]
    yield "lost", contest(a, lost, track)
    yield "one run", attempt(contest, a, b[:1], track)
    yield "one run, known sigma", attempt(contest, None, b[:1], "nanogpt-track-3", 301.0)
    both = pl.concat([b, a[:2]])
    yield "shared", contest(a, both, track)
    aimed = {"target": 3.28, "meets": "<="}
    for rules, known_as in (
        ("nanogpt-track-1", (70.1, 70.3, 69.0)), ("nanogpt-track-2", (80.0,)),
        ("nanogpt-track-3", (300.0, 301.0)), ("plain", (80.0,)), ("airbench", (80.0,)),
    ):  # fmt: skip
        changed = {} if rules == "nanogpt-track-2" else aimed
        for stated in (None, *known_as):
            yield (rules, stated), attempt(contest, None, b, rules, stated, **changed)
        yield (rules, "both"), contest(a, b, rules, **changed)
    for worse, rules in product(
        (-0.003, -0.0015, 0.0009, 0.002), ("nanogpt-track-1", "nanogpt-track-3")
    ):
        result = contest(a, ending(b, [loss + worse for loss in ENDS]), rules)
        yield ("worse", worse, rules), result
    even = ending(b[:4], [3.278] * 4)  # 0.002 times the root of 4 is 0.004
    yield "at the least score", contest(None, even, "nanogpt-track-3", 301.0)
    for least in (5, 6):
        yield ("least runs", least), contest(a, b, track, least_runs=least)
    golf = {"meets": "<="}
    for less, seconds in (
        (0.0072, 600.4),
        (0.01, 600.5),
        (0.01, 600.6),
        (0.01, 600.0),
        (-0.001, 1.0),
    ):
        new = ending(b, [loss - less for loss in ENDS], tta_seconds=[seconds - n for n in range(5)])
        yield ("golf", less, seconds), contest(a, new, "parameter-golf", **golf)
        yield ("golf, stated", less), contest(None, new, "parameter-golf", 3.278, **golf)
    for ends, rule in (([3.25] * 5, golf), (ENDS, {"meets": ">="})):
        result = contest(None, ending(b, ends), "parameter-golf", 3.25, margin=0.0, **rule)
        yield ("golf, no margin", *rule.values()), result
    more = ending(b, [loss + 0.01 for loss in ENDS])
    yield "golf, higher is better", contest(a, more, "parameter-golf", meets=">=", margin=0.009)
    silent = ending(b, ENDS, hardware=None, run_seconds=None)
    yield "golf, no machines nor times", contest(None, silent, "parameter-golf", 3.3, **golf)
    untimed = ending(b, ENDS, tta_seconds=[1.0, None, 2.0, 3.0, 4.0])
    yield "golf, not told", contest(a, untimed, "parameter-golf", **golf)


def record_checks_of(a: pl.DataFrame, b: pl.DataFrame) -> list[Any]:
    rules = record_checks.rules_named("nanogpt-track-1")
    checks = record_checks.evidence({"A": a, "B": b}, rules)
    return [list(astuple(check))[:-1] for check in checks if check.name == "order"]


def studies(*times: Sequence[float]) -> pl.DataFrame:
    """Return studies of trials that reach the target after these times, or never if infinite."""
    return logs_of(int(min(map(min, times))), [
        of(evaluation(0, 5.0 + place / 9 + time % 999), evaluation(
            1, 3.27 if time < 999 else 3.5, seconds=min(time, 999.0) + place / 100,
            target_value=3.28), extra={"study": str(place)})
        for place, trials in enumerate(times)
        for time in trials
    ])  # fmt: skip


_LATE = (950, 960, 970)
#: Studies of A and of B: the medians of their best trials are compared.
STUDIES = (
    (studies((900, 800, *_LATE), (700, math.inf, *_LATE), (850, 860, *_LATE)),
     studies((600, 100, *_LATE), (500, 300, *_LATE), (math.inf, 650, *_LATE))),
    (studies((800,), (700,), (850,)), studies((600,), (650,), (720,))),  # they overlap
    (studies((800,), (700,), (850,)), studies((math.inf,), (math.inf,), (200,))),
    # The best of 20 trials is faster than the best of 5 of the same algorithm.
    *((studies(*[range(500, 505)] * 3), studies(*[range(300, 300 + b)] * 3)) for b in (4, 20)),
    (studies((800, 900), (700,), (850,)), studies((600, 700), (650,), (720,))),
)  # fmt: skip


def of_contests() -> Found:
    """Yield how the rules of contests judge runs, and what they refuse."""

    aimed = {"target_value": 3.28}

    def logged(number: int, length: float, *ends: float) -> pl.DataFrame:
        runs = [
            of(*(evaluation(n, end + late / 1e4, seconds=length + n + late / 10, **aimed)
                 for n, end in enumerate(ends)))
            for late in range(4)
        ]  # fmt: skip
        return logs_of(number, runs)

    a, b = logged(0, 80.0, 4.0, 3.279, 3.279), logged(1, 70.0, 4.0, 3.275, 3.27)
    late = logged(2, 70.0, 4.0, 3.279, 3.274)
    unknown = pl.lit(None, pl.String)
    unnamed = pl.concat([late.with_columns(benchmark=unknown), b])
    rising = b.with_columns(higher_is_better=pl.lit(value=True), metric=pl.lit("accuracy"))
    contests: tuple[tuple[str, list[pl.DataFrame], dict[str, Any]], ...] = (
        ("nanogpt-track-3", [b], {"against": 300}),
        ("nanogpt-track-3", [late], {"against": 350}),
        ("nanogpt-track-3", [a, b], {}),
        ("nanogpt-track-3", [a], {"against": 350}),
        ("nanogpt-track-1", [a, b], {"target": ["3.2784"]}),
        ("plain", [a, b], {}),
        ("plain", [a, b], {"target": ["val_loss>=3.2"]}),
        ("plain", [rising], {"against": 80.0, "target": ["3.2"]}),
        ("plain", [pl.concat([t, t.with_columns(metric=pl.lit("other"))]) for t in (a, b)],
         {"target": ["other<=3.2784"]}),
        ("airbench", [rising.with_columns(value=1.32 - pl.col("value") / 10)], {"against": 80.0}),
        ("plain", [a, b], {"target": ["a<=1", "b<=2"]}),
        ("parameter-golf", [a, b], {"target": ["val_loss<=3"]}),
        ("parameter-golf", [a, b], {"metric": "val_loss"}),
        ("nanochat", [a, b], {}),
        ("nanochat", [a, rising], {"metric": "accuracy"}),
        ("algoperf", [a, b], {}),
        *(("algoperf", [*sides], {}) for pair in STUDIES for sides in (pair, pair[::-1])),
        ("algoperf", [STUDIES[0][1]], {}),
        ("nanogpt-track1", [a, b], {}),
        ("nanogpt-track-1", [a, b.with_columns(benchmark=pl.lit("other"))], {}),
        ("nanogpt-track-1", [a, b.filter(pl.col("source").str.ends_with("0"))], {}),
        ("nanogpt-track-1", [a.filter(pl.col("source").str.ends_with("0")), b], {}),
        ("plain", [a, b], {"against": 3.0}),
        ("nanogpt-track-3", [unnamed], {"against": 350}),
        ("nanogpt-track-3", [b.with_columns(pl.col("value") * 1000)], {"against": 350}),
        ("nanogpt-track-3", [b.with_columns(higher_is_better=True)], {"against": 350}),
        ("nanogpt-track-3", [b.with_columns(step=pl.lit(None, pl.Int64))], {"against": 350}),
        ("plain", [a, pl.concat([b, late.with_columns(benchmark=pl.lit("other"))])], {}),
        ("plain", [pl.concat([a, late.with_columns(benchmark=pl.lit("other"))]), b], {}),
        ("plain", [a, b.with_columns(target_value=pl.lit(3.3))], {}),
        ("plain", [a, a], {}),
    )  # fmt: skip
    for rules, given, more in contests:
        result = attempt(api.judge_record, *given, rules=rules, **more)
        shown = result if isinstance(result, list) else conclusion(result)[:2]
        yield (rules, len(given), more), shown
    for rules, against in (("nanogpt-track-3", 300), ("parameter-golf", 3.3), ("plain", 80.0)):
        judged = api.judge_record(b, rules=rules, against=against, metric="val_loss")
        yield ("remarks", rules), conclusion(judged)[2]


# ----------------------------------------------------------------------- against reference records


def reference(size: int, *values: float, unit: Any = "epochs") -> Record:
    return Record(f"bert_{size}", "bert", size, tuple(sorted(values)), unit)


def of_references() -> Found:
    varied = reference(8, 3.0, 4.0, 4.0, 5.0, 4.0, 6.0)
    more = reference(16, 5.0, 5.0, 6.0, 7.0)
    flat = [reference(size, *[value] * 6) for size, value in ((8, 4.0), (16, 6.0), (32, 7.0))]
    libraries = {"varied": [varied, more], "flat": flat, "one": [more],
                 "bent": [flat[0], reference(12, 5.5), *flat[1:]],
                 "fastest in the middle": [reference(4, 5.0), *flat]}  # fmt: skip
    for name, records in libraries.items():
        for runs, dropped in ((3, 1), (2, 1), (10, 4)):
            rules = convergence_rules.ConvergenceRules(runs, dropped, 0.25)
            points = convergence_rules.points(records, rules)
            yield ("points", name, runs), points
            for size in (4, 8, 10, 16, 32, 40, None):
                for values, failed in (((4.0, 4.0, 5.0), 0), ((6.0, 7.0), 1), ((7.0,), 2)):
                    result = [
                        convergence_rules.check(values, failed, size, points, rules, bypass=bypass)
                        for bypass in (False, True)
                    ]
                    same = result[0] == result[1]
                    yield ("check", name, runs, size, values), result[:1] if same else result
        held = rcp_row.BenchmarkReference(
            "5.0.0", tuple(records), "epochs", 1, convergence_rules.ConvergenceRules(3), ()
        )
        for size in (4, 8, 10, 12, 16, 24, 32, 33):
            result = rcp_row.reference_at(held, size, 0.5)
            if isinstance(result, str):
                yield ("at", name, size), result
            else:
                how, names, record = result
                about = [record.mean, record.n, record.interval, record.misfit]
                yield ("at", name, size), [how, names, *about]
    for benchmark, ruleset in (("unet3d", "5.0.0"), ("llama31_405b", "5.0.0"),
                               ("llama31_405b", "4.1.0"), ("llama31_405b", "10.0.0"),
                               ("llama31_405b", None), ("bert", "x.0")):  # fmt: skip
        rules = convergence_rules.rules(benchmark, ruleset, 10)
        yield ("rules", benchmark, ruleset), [rules, convergence_rules.as_written(rules, ruleset)]
    for round_ in ("v5.0", "5.1", "v5.0.1", "v5", "v5.0 ", "", None):
        yield ("ruleset", round_), ruleset_of(round_)


def of_entries() -> Found:
    """Yield what is held against a reference of groups of runs, and which records hold."""

    def group(*runs: Run) -> pl.DataFrame:
        return time_to_target.runs(frame(*runs))

    def trained(epochs: int, **more: Any) -> Run:
        places = range(1, epochs + 1)
        aimed = [
            evaluation(n - 1, 5.0 - n / epochs, target_value=4.0, samples=1000 * n) for n in places
        ]
        return of(*aimed, **({"global_batch_size": 8} | more))

    groups = {
        "alike": group(trained(4), trained(4)),
        "varied": group(trained(4), trained(6), trained(5, division="open")),
        "failed": group(trained(4), of(evaluation(0, 5.0, target_value=4.0)), trained(5)),
        "stopped": group(trained(4, run_status="aborted"), trained(4, run_status="success")),
        "of two sizes": group(trained(4), trained(4, global_batch_size=16)),
        "of size 0": group(trained(4, global_batch_size=0)),
        "in fine steps": group(
            *(of(evaluation(0, 3.9, epoch=4 + n / 1e4, target_value=4.0)) for n in (4, 6))
        ),
        "never": group(of(evaluation(0, 5.0, target_value=4.0), global_batch_size=None)),
    }
    late = [
        evaluation(n, 3.9, target_value=4.0, epoch=epoch, samples=int(1000 * epoch))
        for n, epoch in enumerate((3.0, 2.0, 4.0))
    ]
    counted = frame(of(*late, benchmark="stable_diffusion"), of(*late, benchmark="bert"))
    runs = rcp_row.officially_counted(time_to_target.runs(counted), counted.lazy())
    yield "officially counted", runs.select("benchmark", "epochs", "samples", "steps").rows()
    records = {
        "epochs": (reference(8, 3.0, 4.0, 4.0, 5.0),),
        "samples": (reference(8, 3000.0, 4000.0, unit="samples"),),
        "samples said to be epochs": (reference(8, 3000.0, 4000.0),),
        "hardly samples": (reference(8, FEWEST_SAMPLES, 1e5),),
        "hardly epochs": (reference(8, FEWEST_SAMPLES - 1, 1e5),),
        "hardly epochs of one": (reference(8, FEWEST_SAMPLES - 1), reference(16, 1e5)),
    }
    for name, of_size in records.items():
        for suite, ruleset, benchmark in (
            ("mlperf", "5.0.0", "bert"), (None, None, "bert"), ("mlperf", "5.0.0", "resnet"),
            ("mlperf", None, None),
        ):  # fmt: skip
            held = rcp_row.benchmark_of(
                lambda *_, of_size=of_size: {"bert": of_size},
                suite,
                ruleset,
                benchmark,  # type: ignore[misc]
            )
            if isinstance(held, str):
                yield ("benchmark", name, suite, benchmark), held
                continue
            about = [held.unit, held.per_unit, held.rules, held.points]
            yield ("benchmark", name, suite, benchmark), about
            for kind, runs in groups.items():
                side, converged, interval = rcp_row.entry_of(runs, held)
                times = [] if side is None else [side.times.tolist(), side.reached.tolist()]
                progress = side.progress if side else None
                epochs = progress and [progress.epochs.tolist(), progress.evaluation_interval]
                size = rcp_row.common_value(runs, "global_batch_size") or None
                about = [converged, runs.height, size, interval]
                about.append(rcp_row.common_value(runs, "division"))
                yield ("entry", name, suite, kind), [times, epochs, *about]


@cache
def timed_runs(number: int) -> pl.DataFrame:
    """Return six runs that reach their target after 3 to 5 epochs, in about 10 s each."""
    runs = [
        of(*(evaluation(n, 5.0 - n if n < last else 0.5, target_value=1.0,
                        seconds=(n + 1) * (10 + place / 7)) for n in range(last + 1)), entry="x")
        for place, last in enumerate((2, 3, 4, 3, 2, 3))
    ]  # fmt: skip
    return time_to_target.runs(logs_of(number, runs))


def of_comparisons() -> Found:
    """Yield comparisons of runs that all reach, or fail, vary, agree, or have several setups."""
    a, same = timed_runs(0), timed_runs(1)

    def times(runs: pl.DataFrame, factor: float) -> pl.DataFrame:
        return runs.with_columns(pl.col("tta_seconds", "observed_seconds") * factor)

    def failing(runs: pl.DataFrame, count: int, spent: float | None = 60.0) -> pl.DataFrame:
        failed = pl.int_range(pl.len()) < count
        return runs.with_columns(
            reached=~failed,
            tta_seconds=pl.when(~failed).then("tta_seconds"),
            observed_seconds=pl.when(failed).then(spent).otherwise("observed_seconds"),
        )

    steady = {"epochs": 4.0, "evaluation_interval_epochs": 1.0}
    alike = [runs.with_columns(**{n: pl.lit(v) for n, v in steady.items()}) for runs in (a, same)]
    constant = a.with_columns(tta_seconds=pl.lit(50.0), observed_seconds=pl.lit(50.0))
    setups = pl.Series("entry", ["x", "x", "y", "y", "z", "z"])
    block = pl.Series(sides.BLOCK, [0, 0, 1, 1, 0, 1], pl.UInt32)
    faster, far = times(same, 0.8), times(same, 0.3)
    pairs = {
        "same": (a, same), "faster": (a, faster), "far": (a, far), "back": (far, a),
        "alike": (alike[0], times(alike[1], 0.9)),
        "silent": (a.with_columns(epochs=None, steps=None), faster),
        "silent, alike": tuple(
            runs.with_columns(epochs=None, steps=None, evaluations_to_target=pl.lit(4))
            for runs in (a, far)
        ),
        "setups": (a.with_columns(setups), faster.with_columns(setups)),
        "blocks": tuple(runs.with_columns(setups, block) for runs in (a, faster)),
        "some failed": (failing(a, 1), failing(faster, 2)),
        "untimed": (failing(a, 2, None), far), "all failed": (a, failing(same, 6)),
        "none reached": (failing(a, 6), failing(same, 6)),
        "one": (a[:1], far[:1]), "three": (a[:3], far[:3]), "uneven": (a, far[:3]),
        "one of four": (a[:1], failing(same[:3], 3)), "constant": (constant, times(constant, 0.9)),
    }  # fmt: skip
    ways = {
        "usual": Options(), "geomean": Options(estimand="geomean", ddof=0, confidence=0.9),
        "throughput": Options(same_convergence=True, margin=0.3),
        "fixed": Options(epochs_fixed=True, margin=0.1), "quarter": Options(confidence=0.75),
        "looks": Options(max_runs=8, margin=0.5),
    }  # fmt: skip
    several = [Pair({"benchmark": name}, *pair) for name, pair in pairs.items()]
    for way, options in ways.items():
        for name, row in zip(pairs, comparison.compare(several, options), strict=True):
            yield (way, name), compared_times(row)
    rows = comparison.compare(several, Options(fdr=True))
    yield "fdr", [[row.p_adjusted, row.verdict and row.verdict.claim] for row in rows]
    alone = [
        row for pair in (several[1:2], several[4:5]) for row in comparison.compare(pair, Options())
    ]
    yield "alone", [compared_times(row) for row in alone]
    pooled = Pair({}, a.with_columns(setups), same.with_columns(setups))
    for options in (Options(margin=0.9), Options(margin=0.9, epochs_fixed=True)):
        (row,) = comparison.compare([pooled], options)
        yield ("pooled, same", options.epochs_fixed), compared_times(row)


def compared_times(row: comparison.Comparison) -> list[Any]:
    sides_of = [[side.n, side.n_reached, side.pooled] for side in (row.a, row.b)]
    ratio = row.speedup.ratio if row.speedup else None
    limits = row.speedup.limits(0.9, epochs=True, stragglers=True) if row.speedup else None
    numbers = [row.estimand, row.progress_unit, ratio, limits, row.parts, row.other_mean]
    p_values = [row.p_value, row.p_permutation, row.fraction_p, row.epochs_p, row.p_adjusted]
    codes = [flag.code for flag in row.flags]
    return [sides_of, *numbers, p_values, row.fraction, row.wins, row.plan, row.verdict, codes]


def of_factors() -> Found:
    """Yield which parts of a step explain a throughput, by profiles of these systems or others."""
    a, faster = timed_runs(0), pl.col("observed_seconds") * 0.8
    b = timed_runs(1).with_columns(observed_seconds=faster)
    sized = {"epochs": None, "samples": pl.col("epochs") * 1000}
    of_size = {"train_samples": 1000, "global_batch_size": 10}
    runs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "usual": ({}, {}), "as fast": ({"observed_seconds": faster}, {}),
        "in steps": ({"epochs": None}, {}), "in nothing": ({"epochs": None, "steps": None}, {}),
        "in samples": (sized | of_size, sized | {"global_batch_size": 20}),
        "in epochs of a size": (of_size, of_size), "of one size": (of_size, {}),
        "named": ({"benchmark": pl.lit("x"), "hardware": pl.lit("NVIDIA A100"), "accelerators": 1},
                  {"benchmark": pl.lit("y"), "hardware": pl.lit("t4"), "accelerators": 2}),
    }  # fmt: skip
    usual, second, third, fourth = (
        made.traced(rank, work=work).with_columns(pl.col("value", "seconds") * pace)
        for rank, work, pace in ((0, 40.0, 1.0), (0, 25.0, 0.7), (1, 40.0, 1.02), (1, 24.0, 0.69))
    )
    short = [
        table.frame_of([measure_row("device_name", text=text), measure_row("batch_size", size)],
                       profile="told", profile_id="told")
        for text, size in (("NVIDIA A100-SXM4", 10), ("NVIDIA L4", 5))
    ]  # fmt: skip
    profiles = {"one each": ([usual], [second]), "slower": ([second], [usual]),
                "two each": ([usual, third], [second, fourth]),
                "told": ([usual, short[0]], [second, short[1]])}  # fmt: skip
    for (name, changed), (kind, sides_of) in product(runs.items(), profiles.items()):
        pair = Pair({}, a.with_columns(**changed[0]), b.with_columns(**changed[1]))
        rows = [pl.concat(traces, how="diagonal_relaxed") for traces in sides_of]
        (row,) = comparison.compare([pair], Options())
        why = step_factors.explain_throughput(row, pair, rows, 0.95)
        yield (name, kind), [why.sentence(), why.numbers().keys, [note.text for note in why.notes]]


# --------------------------------------------------------------------------------------- the pairs


def paired(side: int, *groups: dict[str, Any]) -> Side:
    """Return a side with two runs of each group, whose target is 4.0 by default."""
    runs = []
    for number, fields in enumerate(groups):
        facts = dict(fields)
        aim, losses = facts.pop("aim", 4.0), facts.pop("losses", (5.0, 3.9, 3.5))
        index = 100 * side + number
        for place in range(2):
            aimed = [
                evaluation(n, loss + index / 1e6 + place / 1e3, target_value=aim)
                for n, loss in enumerate(losses)
            ]
            runs.append(of(*aimed, **({"entry": f"e{index}", "suite": "s"} | facts)))
    rows = logs_of(side, runs)
    return Side("AB"[side], time_to_target.runs(rows), rows.lazy())


def of_pairs() -> Found:
    x, y, z, unknown = ({"benchmark": name} for name in ("x", "y", "z", None))
    old, new = {"round": "v1"}, {"round": "v2"}
    eight, sixteen = {"accelerators": 8}, {"accelerators": 16}
    zero = {"aim": 0.0, "losses": (5.0, -0.1)}
    one, second = {"system": "one", "hardware": "a100"}, {"system": "two", "hardware": "h100"}
    cases: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
        "some": ([x, y], [z, x]),
        "of no benchmark": ([unknown, x], [unknown]),
        "of two rounds": ([x | old, y | old], [x | new]),
        "of mixed rounds": ([x | old, y | new], [x | new, y | new]),
        "of other suites": ([x], [x | {"suite": "t"}]),
        "nothing alike": ([x], [y]),
        "nothing of many alike": ([{"benchmark": name} for name in "abcdef"], [x]),
        "setups": ([x | eight, x | sixteen, y | one], [x | eight | second, y | second, y | one]),
        "setups of one side": ([x | eight | one, x | sixteen | one], [x | sixteen | second]),
        "setups of unknown hardware": ([x | eight | one, x | sixteen | one], [x | eight]),
        "setups not all known": ([x | one, x | second], [x | one, x | {"entry": "any"}]),
        "harder": ([x], [x | {"aim": 3.6}]),
        "easier": ([x | {"aim": 3.0, "losses": (5.0, 3.5)}], [x]),
        "never": ([x | {"losses": (5.0, 4.5)}], [x]),
        "no target": ([x | {"aim": None}], [x]),
        "no target of B": ([x], [x | {"aim": None, "losses": (5.0, 4.5)}]),
        "aiming at 0": ([x | zero], [x | zero]),
        "nearly alike": ([x | {"aim": 4.0}], [x | {"aim": 4.0 + 1e-6}]),
        "no target at all": ([x | {"aim": None}], [x | {"aim": None}]),
    }
    for name, (of_a, of_b) in cases.items():
        sides_of = paired(0, *of_a), paired(1, *of_b)
        ways = [((), False)]
        if "setups" in name or "rounds" in name or "alike" in name:
            ways += [((), True), (("benchmark", "system"), False)]
        for by, pool in ways:
            result = attempt(pairing.pairings, sides_of[0], sides_of[1:], by, pool=pool)
            yield (name, by, pool), result if isinstance(result, list) else parts(*result)
    a, b = paired(0, x | {"aim": None}), paired(1, x)
    other = b.evaluations.with_columns(metric=pl.lit("acc"))
    lacking = Side("A", a.runs.with_columns(reached=pl.Series([True, False])), a.evaluations)
    for name, pair in (
        ("no target, another metric", (a, Side("B", b.runs, other))),
        ("no target, reached", (lacking, b)),
        ("no target, no evaluations", (Side("A", a.runs), b)),
    ):
        yield name, parts(*pairing.pairings(pair[0], pair[1:]))
    a, b = paired(0, x, y), paired(1, x, y)
    both = pl.concat([b.runs, a.runs.filter(benchmark="x")])
    for name, other in (("all shared", a.runs), ("some shared", both), ("half", both[:5])):
        result = attempt(pairing.pairings, a, [Side("B", other, a.evaluations)])
        yield name, result if isinstance(result, list) else parts(*result)


def parts(p: pairing.Pairing) -> list[Any]:
    pairs = [
        [known(dict(pair.keys)), pair.a.height, pair.b.height, pair.unavailable, pair.flags,
         [int(runs["reached"].sum()) for runs in (pair.a, pair.b)],
         [runs["target_value"].unique().sort().to_list() for runs in (pair.a, pair.b)]]
        for pair in p.pairs
    ]  # fmt: skip
    alone = [[known(dict(row.keys)), row.side, row.n, row.short] for row in p.alone]
    return [pairs, alone, p.by, p.remarks, p.shared, p.apart, p.a["pair"],
            p.b["pair"]]  # fmt: skip


def of_sessions() -> Found:
    """Yield the sessions of runs, and the findings for sides that share them or do not."""

    def runs(starts: Sequence[float | None], length: float | None, system: str | None = "x") -> Any:
        begun = [None if at is None else MONDAY + timedelta(seconds=at) for at in starts]
        columns = {"started_at": begun, "run_seconds": length, "seed": 1, "system": system,
                   "submitter": None, "round": None}  # fmt: skip
        return pl.DataFrame(columns, schema_overrides=design._RUN).select(*design._RUN)

    hour, two = 3600.0, 7200.0
    layouts: dict[str, tuple[Sequence[float | None], float | None]] = {
        "an hour apart": ((0, 10, 20, 30 + hour), 10),
        "by more": ((0, 10, 20, 30.5 + hour), 10),
        "of unknown length": ((0, 0, 0, hour, hour, hour), None),
        "by more of unknown length": ((0, 0, 0, hour + 0.5, hour + 0.5, hour + 0.5), None),
        "as long as a run": ((0, two, 2 * two, 4 * two), two),
        "longer": ((0, two, 2 * two, 4 * two + 1), two),
        "three times the usual": ((0, 2010, 4020, 6030, 12_040), 10),
        "more often": ((0, 2010, 4020, 6030, 12_041), 10),
        "together": ((0, 10, 20, 100), 11), "and short": ((0, 10, 20, 100), 10),
        "not quite": ((0, 10.1, 20.2), 60), "half of them": ((0, 10, 100, 200), 60),
        "two of unknown start": ((0, 10, None), 60), "three of them": ((0, None, None), 60),
        "one run": ((0,), 60), "days": ((0, 10 * hour, 24 * hour, 34 * hour), 60),
    }  # fmt: skip
    for name, (starts, length) in layouts.items():
        a = runs(starts, length)
        yield name, design._started_together(a)
        last = max(filter(None, starts), default=0.0)
        for shift, system in ((0.0, "x"), (5.0, None), (last / 2, "y"), (last + 9 * hour, "x")):
            b = runs([None if at is None else at + shift for at in starts], length, system)
            if not a["started_at"].null_count():
                yield (name, shift), [session.tolist() for session in checks.sessions(a, b)]
            for blocked in (False, True):
                both = (design.Design(runs=side, blocked=blocked) for side in (a, b))
                findings = checks._session_findings(*both)
                yield (name, shift, blocked), [[f.message, f.effect] for f in findings]


def of_fixed_lengths() -> Found:
    """Yield when it is proposed to compare qualities at the end: all were stopped at one length."""
    short, met, long = (5.0, 4.1, 4.05), (5.0, 4.2, 3.9), (5.0, 4.2, 4.1, 3.9)
    x = {"benchmark": "x"}
    groups: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "all met": ({"losses": met}, {"losses": met}),
        "some short": ({"losses": short}, {"losses": met}),
        "of two lengths": ({"losses": met}, {"losses": (5.0, 4.1)}),
        "diverged": ({"losses": short}, {"losses": (5.0, 4.1, math.nan)}),
    }
    for name, (of_a, of_b) in groups.items():
        a, b = paired(0, x | of_a), paired(1, x | of_b)
        (result,) = pairing.pairings(a, [b])
        yield name, [*notes.fixed_length(a, b, result.pairs, ["x"])]
        yield (name, "twice"), [*notes.fixed_length(a, b, result.pairs * 2, ["x", "y"])]
    a, b = paired(0, x | {"losses": short}), paired(1, x | {"losses": met})
    mixed = paired(1, x | {"losses": long}, x | {"losses": met})
    silent = Side("B", b.runs)
    (result,) = pairing.pairings(a, [mixed], pool=True)
    yield "ragged", [*notes.fixed_length(a, mixed, result.pairs, ["x"])]
    (result,) = pairing.pairings(a, [silent])
    yield "no evaluations", [*notes.fixed_length(a, silent, result.pairs, ["x"])]
    of_two = Pair({}, a.runs.with_columns(target_metric=pl.Series(["val_loss", "acc"])), b.runs)
    yield "two metrics", [*notes.fixed_length(a, b, [of_two], ["x"])]


# ----------------------------------------------------------------------------------------- the gate


def gated(low: float | None, high: float | None, **changed: Any) -> list[Any]:
    """Return the findings of a gate that allows 25 % slower, for a row."""
    row = test_gate.row(low, high, **changed)
    gate = test_gate.judged(row, fail_on="slower:25%", require="not-slower:25%")
    shown = [[f.outcome, f.code, f.text, f.runs_needed] for f in gate.findings]
    return [gate.passed, *shown]


def of_gates() -> Found:
    """Yield what the gate makes of rows at its limit: 25 % slower is a speedup of 0.8 exactly."""
    at, more, less = 0.8, 0.81, 0.79
    no_cv, many = {"planning_cv": None}, {"n_a": 400, "n_b": 400}
    slower = {"verdict": "slower"}
    cases: dict[str, dict[str, Any]] = {
        "bounds": {},
        "robust": {"robust_low": more}, "robust at the limit": {"robust_low": at},
        "robust below": {"robust_low": less},
        "slower": slower, "slower, dagger": {**slower, "dagger": True},
        "slower, no stragglers": {**slower, "conditions": ["no_stragglers"]},
        "in epochs": {"axis": "epochs", **slower}, "undecided epochs": {"axis": "epochs"},
        "no cv": no_cv, "many": many, "one few": {"n_a": 400},
        "epochs shift": {"epoch_shift_b": 0.05},
        "straggler": {"flags": ["straggler"]}, "grids differ": {"flags": ["grids_differ"]},
        "unavailable": {"verdict": "unavailable", "claim": "no verdict: why"},
        "few of B": {"n_b": 3, "reached_b": 3},
        "straggler in epochs": {"axis": "epochs", "flags": ["straggler"]},
    }  # fmt: skip
    usual = ((more, 1.2), (at, 1.2), (less, 1.2), (less, more), (less, at), (0.7, less))
    far = ((0.0, 0.0), (0.0, more), (0.0, math.inf), (-1.0, math.inf), (0.1, math.inf))
    for name, changed in cases.items():
        wide = name == "bounds" or "slower" in name or "epochs" in name
        for low, high in (*usual, *(far if wide else ())):
            yield (name, low, high), gated(low, high, **changed)
    for a, b, verdict in product((0, 5), (0, 5), ("faster", "undecided", "unavailable")):
        claim = {"claim": "no verdict: why", "reason": "why", "verdict": verdict}
        yield ("reached", a, b, verdict), gated(None, None, reached_a=a, reached_b=b, **claim)
    for low, high in ((None, 1.0), (1.0, None)):
        yield ("one bound", low), gated(low, high)
    for text in ("slower:2%", "slower:0.02", " slower: 2%", "slower:-1", "slower", "not-slower:2%"):
        yield ("condition", text), attempt(limits_of, text)


# ------------------------------------------------------------------------------- targets and axes


def metrics_logged() -> pl.DataFrame:
    """Return benchmarks of one metric, of several, of a fraction, and of no number."""

    def measured(metric: str, *values: float, up: bool | None = True, **more: Any) -> list[Any]:
        return [
            evaluation(n, value, metric=metric, higher_is_better=up, **more)
            for n, value in enumerate(values)
        ]

    aimed = {"target_value": 0.75}
    kinds = (
        ("image", measured("top1", 0.0, 1.0, **aimed)),
        ("words", measured("bleu", 2.0, 30.0, up=None)),
        ("loss", [*measured("val_loss", 4.0, 3.0, up=False), *measured("ppl", 50.0, up=False)]),
        ("two", [*measured("map", 0.2, **aimed), *measured("mask", 1.01, **aimed)]),
        ("signed", measured("score", -0.5, 0.2)),
        ("odd", measured("top1", math.nan)),
        (None, measured("reward", -300.0)),
    )
    runs = frame(*(of(*values, benchmark=kind) for kind, values in kinds))
    again = frame(of(*measured("top1", 0.3), benchmark="image", suite="other", round="v1"))
    return pl.concat([runs, again.with_columns(source=pl.lit("again"))])


def of_targets() -> Found:
    rows = metrics_logged().lazy()
    nothing, training = frame(of()).lazy(), rows.with_columns(eval_index=-1 - pl.col("eval_index"))
    for metric in ("top1", "top", "nothing"):
        for runs in (rows, nothing, training):
            for of_training in (False, True):
                found = attempt(target.expect_metric, runs, metric, "--x", of_training=of_training)
                yield ("expected", metric, of_training), found
    goals = ("0.5", "top1=1.01", "top1=1", "bleu=300", "bleu=301", "bleu=0.19", "bleu=0.2",
             "score=5", "score=-10.1", "score=10", "reward=-3000", "reward=-3001", "val_loss=0.29",
             "val_loss<=30", "mask=10.2", "map=101", "map=50", "none=1", "ppl=499")  # fmt: skip
    for text in goals:
        targets = target.parse_all([text])
        pair = attempt(target.rows_with_targets, rows, targets)
        if isinstance(pair, list):
            yield ("suited", text), pair
            continue
        names = pair[0].select(pl.col("benchmark").unique().sort()).collect()["benchmark"].to_list()
        yield ("suited", text), [names, pair[1]]
    shown = ("benchmark", "metric", "target_value", "higher_is_better", "expected")
    for texts in (["0.5"], ["top1<=0.5"], ["val_loss=3"], ["val_loss>=3", "ppl<=9"]):
        set_to = attempt(target.with_user_targets, rows, target.parse_all(texts))
        if isinstance(set_to, pl.LazyFrame):
            changed = set_to.filter(pl.col("target_value").is_not_null()).select(shown)
            yield ("set", texts), changed.unique().sort(shown).collect().rows()
        else:
            yield ("set", texts), set_to
    alone = rows.filter(pl.col("benchmark") == "image")
    set_to = target.with_user_targets(alone, target.parse_all(["0.5"])).select(shown)
    yield "set, alone", set_to.unique().sort(shown).collect().rows()


def of_axes() -> Found:
    extra = [
        json.dumps(unit)
        for unit in (
            {"clocks": {"cpu_seconds": [1.5, 2.5, 9.0], "training_seconds": [1.0, 0.0, 3.0]}},
            {"run_totals": {"cpu_seconds": 7.0, "cpu_seconds_all_workers": 70.0}, "cpu_seconds": 3},
            {"cpu_seconds": 1e18, "energy_joules": 0.0},
            {"cpu_seconds": 9.9e17, "energy_joules": 5.0, "clocks": {"training_seconds": "[x]"}},
            {},
        )
    ]
    base = time_to_target.runs(
        frame(
            curve(5.0, 3.9, 3.0), curve(5.0, 3.9), curve(5.0, 4.5, run_seconds=25.0),
            curve(5.0, 3.9, run_seconds=20.0), curve(3.9, 3.0, run_seconds=10.0),
        ),
        target.parse_all(["val_loss<=4.0"]),
    ).sort("source")  # fmt: skip
    prices = [1e-6, 9e-7, 1e12, 9e11, None]
    facts = {"extra": extra, "cost_per_hour": prices, "clock": ["train", "total", None, None, None]}
    runs = base.with_columns(pl.Series(name, unit) for name, unit in facts.items())
    shown = ("tta_seconds", "observed_seconds", "set_aside", "epoch_seconds")
    for name, unit in axis.AXES.items():
        yield ("on", name), axis.converted(runs, unit).select(shown).rows()
    untimed = runs.with_columns(
        tta_seconds=pl.lit(None, pl.Float64), observed_seconds=pl.lit(None, pl.Float64)
    )
    never = untimed.with_columns(reached=pl.lit(value=False))
    partly = untimed.with_columns(epochs=pl.Series([None, 2.0, 2.0, 2.0, 1.0]))
    silent = never.with_columns(epochs=None, steps=None, samples=None, evaluations_to_target=None)
    sides_of = {"timed": [runs], "one timed": [runs, untimed], "untimed": [untimed],
                "some epochs": [partly, runs], "never": [never], "silent": [silent, runs],
                "placed": [axis.converted(runs, axis.AXES["steps"])],
                "set aside": [runs.with_columns(set_aside=pl.lit("stopped"))]}  # fmt: skip
    for name, given in sides_of.items():
        for word in ("", "epochs", "cost", "cpu-seconds", "energy", "epoch"):
            result = attempt(on_one_axis, given, word)
            if isinstance(result, tuple):
                result = [[axis.axis_of(table).name for table in result[0]], result[1]]
            yield ("settled", name, word), result
    for price in ("12.5", "$12.5", "1e-6", "9e-7", "1e12", "x", "accelerators", "entry"):
        result = attempt(axis.hourly_price, runs, price)
        yield ("priced", price), result if isinstance(result, list) else str(result)


def of_measures() -> Found:
    """Yield the notes of a profile of 11 ms a step with further measures."""

    def measured(*more: dict[str, Any]) -> Report:
        rows = table.frame_of(more, profile="made", profile_id="made")
        return profile.report(pl.concat([test_profiled.profile(), rows]))

    usual = measured().notes
    for name, value in (
        *(("wall_step_seconds", seconds) for seconds in (0.011, 0.0115, 0.0122, 0.022)),
        ("saturation_batch_size", 1024.0), ("saturation_batch_size", None),
    ):  # fmt: skip
        notes_on = measured(measure_row(name, value, text="rule")).notes
        yield (name, value), [note for note in notes_on if note not in usual]
    fast = measured({**measure_row("peak_flops", 1e13, of="fp32")}).notes
    yield "below the ridge", [note for note in fast if note not in usual]
    rows = measured(measure_row("batch_samples_per_second", 5000.0, of="4096")).rows
    yield "no FLOPs", [known(row) for row in rows if row["name"] == "4096"]


# ----------------------------------------------------------------------------------------- borders


def of_numbers() -> Found:
    """Yield numbers of logs at their upper and lower limits."""
    sizes = [1e-9, 9.9e-10, -1e-9, 0.0, 1e12, 1e12 + 0.5, -1e12, math.nan, math.inf, None]
    yield "finite", pl.DataFrame({"x": sizes}).select(x=time_to_target.finite("x"))["x"].to_list()
    lengths_of = pl.DataFrame({"run_seconds": [-1.0, 0.0, 5.0, None, math.nan, 1e13]})
    yield "run length", lengths_of.select(x=time_to_target.run_length())["x"].to_list()
    stamps = pl.DataFrame(
        [(5.0, 3.0, 4.0), (4.0, 3.0, 4.0), (5.0, None, 4.0), (5.0, 3.0, None), (None, 3.0, 4.0)],
        ["seconds", "weights_seconds", "run_seconds"], orient="row",
    )  # fmt: skip
    yield "evaluated at", stamps.select(at=time_to_target.evaluated_at())["at"].to_list()
    for text in (
        "step=1", "steps = 1e3", "sample=5", "samples=5", "epoch=0", "epochs=1", "second=1",
        "seconds=1.5", "seconds=50%", "hours=1", "step=-1", "step",
    ):  # fmt: skip
        yield ("budget", text), attempt(parse, text)
    for text in ("0", "-1", "<= 1e-3", "< 80", "<=80 %", "x", "=5"):
        yield ("limit", text), attempt(claim.limits, text)


JUDGED = (
    of_budgets, of_lengths, of_qualities, of_stops, of_looks, of_records, of_contests,
    of_comparisons, of_factors, of_references, of_entries, of_pairs, of_sessions, of_fixed_lengths,
    of_gates, of_targets, of_axes, of_measures, of_numbers,
)  # fmt: skip


@cases("judgements", **by_name(*JUDGED))
def test_judgements_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
