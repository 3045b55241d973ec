"""Does every answer say its target, whom it compares, and under which conditions it holds?"""

from __future__ import annotations

import functools
import html
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import polars as pl
import pytest

from tests.compare_rows import typed
from tests.test_design import best, curves, evaluated
from tests.test_headline import ROW
from ttastats import api
from ttastats.answers.compare import headline
from ttastats.answers.compare.sentences import conditions_text
from ttastats.base.codes import CONDITIONS
from ttastats.base.errors import TtastatsError
from ttastats.report import as_html, as_json, as_markdown
from ttastats.report.answer import Against, Report
from ttastats.sides.findings import condition_list, condition_text
from ttastats.stats.decision import Assumption
from ttastats.stats.multiplicity import MeanSpeedup
from ttastats.stats.power import failing_like, runs_needed, runs_with_failures

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)


def logged(
    side: str, seconds: float, epochs: list[int], *, noise: float = 0.004, failed: int = 0,
    metric: str = "val_loss", higher: bool = False, target: float = 3.4, day: float = 0,
    evaluated: int = 6, **setup: Any,
) -> pl.DataFrame:  # fmt: skip
    """Return runs that reach a target after so many epochs of so many seconds, and go on."""
    setup = {"entry": side} | setup
    rows, draw = [], random.Random(f"{side} {seconds}")
    for number, met in enumerate(epochs):
        pace = seconds * (1 + draw.uniform(-noise, noise))
        fails = number >= len(epochs) - failed
        for epoch in range(1, max(evaluated, met + 1) + 1):
            gap = abs(target) * (0.02 if epoch < met or fails else -0.02)
            rows.append({
                "run": f"{side}{number}", "seconds": pace * epoch, "epoch": epoch,
                metric: target - gap if higher else target + gap,
                "when": BEGIN + timedelta(days=day, minutes=40 * number),
            } | setup)  # fmt: skip
    return api.from_frame(
        pl.DataFrame(rows), run="run", metric=metric, seconds="seconds", epoch="epoch",
        target=target, higher_is_better=higher, started_at="when",
        **{name: name for name in setup},
    )  # fmt: skip


def renderings(report: Report) -> Iterator[str]:
    """Yield a report as people and programs read it, without the breaks of lines."""
    for text in (
        str(report),
        re.sub(r"\\(.)", r"\1", html.unescape(as_markdown.render_markdown(report))),
        json.loads(as_json.render_json(report))["headline"],
        html.unescape(as_html.render_html(report)),
    ):
        yield " ".join(text.replace("`", "").split())


VARIED = [3, 4, 3, 5, 4, 3, 4, 4, 5, 3]
Sides = tuple[pl.DataFrame, pl.DataFrame]


def _parts(side: str, seconds: Sequence[float], epochs: list[int], **each: Any) -> pl.DataFrame:
    """Return runs of one entry in parts, of which each has its own values of some columns."""
    parts = [
        logged(f"{side}{n}", part, epochs, entry=side, **{name: x[n] for name, x in each.items()})
        for n, part in enumerate(seconds)
    ]
    return pl.concat(parts)


def _several(draw: random.Random, name: str, of_a: Any, *of_b: Any) -> Sides:
    """Return one setup against several, of which each has its own value of a column."""
    setups = [logged(f"b{n}", draw.uniform(58, 63), VARIED, **{name: value})
              for n, value in enumerate(of_b)]  # fmt: skip
    return logged("a", draw.uniform(190, 220), VARIED, **{name: of_a}), pl.concat(setups)


def _doubted(code: str, draw: random.Random) -> Sides:
    """Return sides of which the reading of the second is doubted."""
    problem = f'[{{"code":"{code}","severity":"warning","message":"why"}}]'
    b = logged("b", draw.uniform(50, 90), VARIED).with_columns(problems=pl.lit(problem))
    return logged("a", 200, VARIED), b


def _drifting(side: str, pace: float, day: float) -> pl.DataFrame:
    """Return runs of one entry, each a little slower than the one before it."""
    return _parts(side, [pace * 1.05**n for n in range(9)], [4],
                  day=[day + n / 24 for n in range(9)])  # fmt: skip


#: Tables in which a condition arises, by its code; one side is drawn.
ARISING: dict[str, Callable[[random.Random], Sides]] = {
    "constant_epochs": lambda d: (
        logged("a", 100 * d.uniform(1.02, 1.04), [3] * 5), logged("b", 100, [3] * 5)),
    "no_stragglers": lambda d: (
        logged("a", 200, VARIED * 2, failed=2), logged("b", d.uniform(160, 167), VARIED * 2)),
    "pooled_setups": lambda d: _several(d, "hardware", "x1", "x1", "x1"),
    "accelerators_differ": lambda d: _several(d, "accelerators", 8, 16, d.choice([32, 64])),
    "division_differs": lambda d: _several(d, "division", "closed", "open", "open"),
    "separate_sessions": lambda d: (
        logged("a", 200, VARIED), logged("b", d.uniform(50, 90), VARIED, day=d.randint(1, 9))),
    "one_side_first": lambda d: (
        logged("a", 200, VARIED), logged("b", d.uniform(50, 90), VARIED, day=400 / 1440)),
    "one_seed": lambda d: (
        logged("a", 200, VARIED, seed=7), logged("b", d.uniform(50, 90), VARIED, seed=7)),
    "repeated_seeds": lambda d: (
        _parts("a", [150, 250], VARIED[:5], seed=[1, 2]),
        _parts("b", [d.uniform(55, 60), 110], VARIED[:5], seed=[3, 4])),
    "mixed_speeds": lambda d: (
        logged("a", 200, VARIED), _parts("b", [50, d.uniform(64, 70)], VARIED[:5])),
    "unbalanced": lambda d: (
        logged("a", 200, VARIED * 3, evaluated=30),
        logged("b", d.uniform(145, 150), VARIED, evaluated=30)),
    "units_differ": lambda d: (
        logged("a", 60 * (x := d.uniform(2, 4)), VARIED), logged("b", x, VARIED)),
    **{code: functools.partial(_doubted, code)
       for code in ("clock_start_estimated", "clock_changed", "scale_unclear")},
    "drift": lambda d: (
        _drifting("a", 200, 0), _drifting("b", d.uniform(40, 60), 0.5)),
    "these_blocks": lambda d: (
        _parts("a", [200, 200], VARIED, day=[0, 1]),
        _parts("b", [d.uniform(90, 120), 100], VARIED, day=[0, 1])),
}  # fmt: skip

#: Conditions of a claim about the two sides alone, which a table of entries does not judge.
OF_SIDES = {"pooled_setups", "accelerators_differ", "division_differs", "these_blocks"}


@pytest.fixture(scope="module", params=[(code, seed) for code in ARISING for seed in range(1)],
                ids=lambda case: f"{case[0]}-{case[1]}")  # fmt: skip
def arising(request: pytest.FixtureRequest) -> tuple[str, Sides]:
    code, seed = request.param
    return code, ARISING[code](random.Random(f"{code} {seed}"))


def test_a_condition_stands_in_the_headline_of_every_form(arising: tuple[str, Sides]) -> None:
    code, (a, b) = arising
    block = ["day"] if code == "these_blocks" else []
    report = api.compare(a, b, pool=code in OF_SIDES - {"these_blocks"}, block=block)
    (row,), (lead,) = report.rows, report.lead
    assert row["verdict"] in {"faster", "slower"}
    assert code in row["conditions"]
    assert lead.word.endswith("WITH CONDITIONS")
    condition = conditions_text(row["conditions"], row["progress_unit"] or "epochs")
    assert conditions_text([code]).removeprefix("if ") in condition
    for text in renderings(report):
        assert condition in text
        assert lead.claim in text
    asked: dict[str, Any] = {"pool": code in OF_SIDES - {"these_blocks"}, "block": block}
    gates = [api.compare(b, a, fail_on="slower:2%", **asked).gate]
    if code not in {"constant_epochs", "no_stragglers", "unbalanced"}:  # which a bound allows for
        gates.append(api.compare(a, b, require="not-slower:50%", **asked).gate)
    for gate in gates:
        told = any(condition in finding.text for finding in gate.findings)
        assert told or {"not_judged", "undecided"} & {finding.code for finding in gate.findings}
    answer = api.targets(a, b, points=2)
    claimed = [row for row in answer.rows if row["verdict"] in {"faster", "slower"}]
    for name in condition_list(held for row in claimed for held in row["conditions"]):
        assert all(name in text for text in renderings(answer))
    if not block:  # which a page does not ask for
        page = api.html_report(a, b, pool=code in OF_SIDES).html
        text = " ".join(html.unescape(page).split())
        assert condition in text
        assert lead.claim in text


def test_an_order_says_its_conditions_in_every_form(arising: tuple[str, Sides]) -> None:
    code, sides = arising
    if code in OF_SIDES:
        return
    table = pl.concat(sides)
    report = api.rank(table)
    first, _ = report.rows
    assert code in first["conditions"]
    condition = condition_text(first["conditions"])
    page = " ".join(html.unescape(api.html_report(table).html).split())
    for text in (*renderings(report), *renderings(api.summary(table).displayed), page):
        assert condition in text


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("code", ["rare_runs", "equal_values", "constant_epochs"])
def test_a_claim_says_its_conditions_in_every_form(code: str, seed: int) -> None:
    draw = random.Random(f"{code} {seed}")
    pace = draw.uniform(90, 100)
    table = logged("a", pace, [3] * (5 if code == "rare_runs" else draw.randint(5, 9)))
    better = 0.01 * (pl.col("run_id").rank("dense") % 3) * draw.uniform(0.5, 2)
    noisy = table.with_columns(value=pl.when(pl.col("value") < 3.4).then(3.4 - better)
                               .otherwise("value"))  # fmt: skip
    report = {
        "rare_runs": lambda: api.claim(noisy, quality="val_loss <= 3.4"),
        "equal_values": lambda: api.claim(table, quality="val_loss <= 3.4"),
        "constant_epochs": lambda: api.claim(table, seconds=f"<= {3.02 * pace}"),
    }[code]()
    (row,) = report.rows
    assert row["holds"]
    assert code in row["conditions"]
    for text in renderings(report):
        assert condition_text(row["conditions"]) in text


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("column", ["accelerators", "division", "nodes"])
def test_sides_of_several_sizes_are_compared_at_each_that_both_have(column: str, seed: int) -> None:
    draw = random.Random(f"{column} {seed}")
    every = ["closed", "open", "preview"] if column == "division" else [8, 16, 64, 512]
    of_a, of_b = (draw.sample(every, draw.randint(1, 3)) for _ in "ab")
    a, b = (
        pl.concat([
            logged(f"{side}{value}", draw.uniform(50, 200), VARIED, **{column: value})
            for value in values
        ])
        for side, values in (("a", of_a), ("b", of_b))
    )  # fmt: skip
    common, several = {*of_a} & {*of_b}, len(of_a) > 1 or len(of_b) > 1
    report = api.compare(a, b, by=["benchmark"], require="not-slower:90%")
    if common:
        assert len(report.rows) == len(common)
        assert all(row["setups_a"] == row["setups_b"] == 1 for row in report.rows)
        assert {row[column] for row in report.rows} == common or not several
        return
    (row,) = report.rows
    assert (row["verdict"] == "unavailable") is several
    assert (row["speedup"] is None) is several
    if several:
        assert {finding.outcome for finding in report.gate.findings} == {"failed"}
        page = api.html_report(a, b, by=["benchmark"]).html
        reports = (report, api.compare(a, b, by=["benchmark"], at_end=True))
        assert all(each.rows[0]["verdict"] == "unavailable" for each in reports)
        for text in (*(text for each in reports for text in renderings(each)), page):
            assert "not comparable: " in text
        assert api.compare(a, b, pool=True).rows[0]["speedup"]  # as is asked
        answer = api.targets(a, b, by=["benchmark"], points=2)
        assert all(row["verdict"] == "unavailable" for row in answer.rows)
        assert all("No verdict at any" in text for text in renderings(answer))


def test_runs_of_no_known_division_are_not_compared_with_several() -> None:
    a, b = _several(random.Random(2), "division", None, "closed", "open")
    (row,) = api.compare(a, b).rows
    assert row["claim"] == "not comparable: unknown against closed or open division"


def test_a_gate_requires_nothing_of_pooled_runs_of_unlike_sizes() -> None:
    a, b = _several(random.Random(1), "accelerators", 8, 16, 64)
    assert api.compare(a, b, pool=True).rows[0]["verdict"] == "faster"
    report = api.compare(a, b, pool=True, require="not-slower:10%")
    assert [finding.code for finding in report.gate.findings] == ["not_judged"]


#: What a claim may carry; other short texts are reasons of no verdict.
CARRIED = (*get_args(Assumption), *CONDITIONS)


#: Questions whose answer a reason leaves undecided, by its code.
REASONS: dict[str, Callable[[], Report]] = {
    "grids_differ": lambda: api.compare(evaluated(1, 1), evaluated(4, 2)),
    "off_scale": lambda: api.compare(
        logged("a", 200, VARIED, metric="accuracy", higher=True, target=0.6),
        logged("b", 100, VARIED, metric="accuracy", higher=True, target=0.6)
        .with_columns(pl.col("value") * 100)),
    "looks_differ": best(750, 75, best=True),
    "optimism_differs": lambda: api.compare(
        *(curves(75, n, flat=True, sd=sd) for n, sd in enumerate((0.01, 0.024))),
        at_end=True, best=True),
    "interpolated": lambda: api.compare(
        curves(400, 1), curves(150, 2), at="step=1000", interpolate=True),
    "not_evaluated": lambda: api.compare(curves(400, 1), curves(150, 2), at="step=750"),
}  # fmt: skip


def test_each_condition_and_reason_arises_in_a_table() -> None:
    assert {*ARISING, "rare_runs", "equal_values", *REASONS} == {*CARRIED}


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_stands_in_every_form(code: str) -> None:
    report = REASONS[code]()
    (row,) = report.rows
    assert code in row["flags"]
    assert row["verdict"] in {"undecided", "unavailable"}
    assert row["why"] == CONDITIONS[code]
    for text in renderings(report):
        assert CONDITIONS[code] in text


@pytest.mark.parametrize("code", CARRIED)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_no_headline_counts_a_conditional_claim_as_free(code: str, count: int) -> None:
    draw = random.Random(f"{code} {count}")
    carried = set(draw.sample(range(count), draw.randint(1, count)))
    word = draw.choice(["faster", "slower"])
    ratios = {"speedup": 2.0, "speedup_low": 1.6, "speedup_high": 2.5}
    if word == "slower":
        ratios = {"speedup": 0.5, "speedup_low": 0.4, "speedup_high": 0.6}
    rows = tuple(
        typed(ROW | ratios | {
            "benchmark": f"b{n}", "verdict": word, "conditions": [code] if n in carried else [],
        })
        for n in range(count)
    )  # fmt: skip
    mean = MeanSpeedup(ratios["speedup"], 0.4, 2.5, count) if count > 1 else None
    names = [f"b{n}" for n in range(count)]
    lead = headline.lead(Against(rows, (), mean, ((code,),)), names, "auc ≥ 0.8", 0.95)
    condition = conditions_text([code])
    assert condition
    assert lead.claim.count(condition) == 1
    assert (condition in lead.numbers) is (mean is not None)
    assert lead.word != word.upper()
    assert ("WITH CONDITIONS" in lead.word) is (2 * (count - len(carried)) <= count)
    for text in renderings(Report("compare", rows, (), lead=(lead,))):
        assert condition in text


def test_equal_conditions_are_joined_once() -> None:
    codes = [("pooled_setups", "separate_sessions"), ("pooled_setups",), ("pooled_setups",)]
    rows = tuple(typed(ROW | {"benchmark": f"b{n}", "conditions": list(each)})
                 for n, each in enumerate(codes))  # fmt: skip
    lead = headline.lead(Against(rows, (), None), ["b0", "b1", "b2"], "", 0.95)
    assert lead.claim.count("setups pooled") == 1
    assert lead.tone == "bad"


METRICS = [("val_loss", False), ("test_accuracy", True), ("zorp", True), ("zorp", False),
           ("bleu", True), ("word_error", False)]  # fmt: skip
COMMANDS: dict[str, Callable[[pl.DataFrame], Report]] = {
    "summary": api.summary, "rank": api.rank, "variance": api.variance, "power": api.power,
    "history": api.history, "runs": api.runs, "scaling": api.scaling,
    "claim": lambda table: api.claim(table, seconds="<= 500"),
    "effects": lambda table: api.effects(table, on=["entry"]),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_every_answer_says_its_target(seed: int) -> None:
    draw = random.Random(f"target {seed}")
    metric, higher = draw.choice(METRICS)
    target = draw.choice([0.5, 0.759, 0.3])
    about: dict[str, Any] = {"metric": metric, "higher": higher, "target": target}
    sizes = draw.sample([8, 16, 64, 256], 2)
    a = logged("one", 120, VARIED, accelerators=sizes[0], **about)
    b = logged("two", 70, VARIED, accelerators=sizes[1], **about)
    words = f"{metric} {'≥' if higher else '≤'} {target:g}"
    both = pl.concat([a, b])
    for name, ask in COMMANDS.items():
        for text in renderings(ask(both)):
            assert words in text, name
    divisions = draw.choice([("open", "closed"), ("closed", "closed")])
    a, b = (each.with_columns(division=pl.lit(division))
            for each, division in zip((a, b), divisions, strict=True))  # fmt: skip
    report = api.compare(a, b)
    pages = [html.unescape(api.html_report(*sides).html) for sides in ((a, b), (both,))]
    for text in (*renderings(report), " ".join(pages[0].split())):
        assert words in text
        assert all(f"{size} accelerators" in text for size in sizes)
        assert ("open division" in text) is (len({*divisions}) == 2)
    assert f"To {words}: " in " ".join(pages[1].split())
    assert report.rows[0]["target"] == words
    assert report.rows[0]["sides_differ_in"][0] == "accelerators"


@pytest.mark.parametrize("seed", range(2))
def test_a_target_met_at_the_first_evaluation_is_a_caution_in_the_first_line(seed: int) -> None:
    metric, higher = METRICS[seed]
    a, b = (
        logged(side, 10 * size, [1] * 5, metric=metric, higher=higher, target=0.6,
               accelerators=size)
        for side, size in (("a", 8), ("b", 9))
    )  # fmt: skip
    caution = "every run meets it at its first evaluation"
    reports = [api.compare(a, b), *(ask(pl.concat([a, b])) for ask in COMMANDS.values())]
    for report in reports:
        assert any(note.code == "met_at_once" for note in report.notes)
        assert all(caution in text for text in renderings(report))
    once = [each.unique("run_id") for each in (a, b)]  # evaluated once, which shows nothing
    assert caution not in str(api.compare(*once))


@pytest.mark.parametrize(("metric", "higher"), METRICS)
def test_a_target_against_a_known_direction_is_refused(metric: str, higher: bool) -> None:
    table = logged("a", 100, VARIED, metric=metric, higher=higher, target=0.6)
    for sign in ("<=", ">="):
        asked = [f"{metric}{sign}0.6"]
        if metric != "zorp" and (sign == ">=") is not higher:
            with pytest.raises(TtastatsError, match=f"better the {'high' if higher else 'low'}er"):
                api.summary(table, target=asked)
        else:
            api.summary(table, target=asked)


def test_what_a_user_said_of_a_metric_counts_more_than_its_name() -> None:
    far = logged("a", 100, VARIED, metric="distance", higher=True, target=0.6)
    assert "distance ≥ 0.6" in str(api.summary(far, target=["distance>=0.6"]))
    with pytest.raises(TtastatsError, match="higher"):
        api.summary(far, target=["distance<=0.6"])


def test_two_companies_are_not_told_to_alternate_their_machines() -> None:
    for submitter, alternates in (("x", True), ("y", False)):
        a = logged("a", 100, VARIED, day=0, submitter="x")
        b = logged("b", 60, VARIED, day=9, submitter=submitter)
        codes = {note.code for note in api.compare(a, b).notes}
        assert ("separate_sessions" in codes) is alternates


def test_an_undecided_row_says_what_leaves_it_undecided() -> None:
    named = [("clear", 0.5), *((f"close{n}", 0.995) for n in range(9))]
    sides = [
        pl.concat([
            logged(f"{side}{name}", 100 * (ratio if side == "b" else 1), VARIED, noise=0.004,
                   benchmark=name, entry=side)
            for name, ratio in named
        ])
        for side in "ab"
    ]  # fmt: skip
    report = api.compare(*sides)
    whys = {row["why"] for row in report.rows if row["verdict"] == "undecided"}
    tests = sum(row["p_adjusted"] is not None for row in report.rows)
    undecided = [row for row in report.rows if row["verdict"] == "undecided"]
    for row in undecided:
        outside = row["speedup_low"] > 1 or row["speedup_high"] < 1
        assert (row["why"] == f"Holm over {tests}") is outside
    assert whys
    assert f"p (Holm, {tests})" in {c.title for table in report.tables for c in table.columns}
    assert all(word in str(report) for word in itertools.chain(filter(None, whys)))


@pytest.mark.parametrize("limit", [10, 20, 30])
def test_a_gate_plans_for_runs_that_fail_as_those_at_hand_do(limit: int) -> None:
    sides = logged("a", 200, VARIED * 2, failed=2), logged("b", 205, VARIED * 2, failed=4)
    report = api.compare(*sides, require=f"not-slower:{limit}%")
    (finding,) = (each for each in report.gate.findings if each.code == "undecided")
    ((outcomes,),) = (each.runs for each in report.against)
    a, b = map(failing_like, outcomes)
    assert a is not None
    assert b is not None
    needed = runs_with_failures(1 + limit / 100, (a, b), alpha=0.1)
    assert finding.runs_needed == needed
    cv = report.rows[0]["planning_cv"]
    assert needed != runs_needed(1 + limit / 100, cv, power=0.8, alpha=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_beside_undecided_rows_is_not_of_each(seed: int) -> None:
    draw = random.Random(f"mean {seed}")
    count, ratio = draw.randint(2, 6), draw.choice([0.8, 1.25])
    word = "faster" if ratio > 1 else "slower"
    undecided = set(draw.sample(range(count), draw.randint(0, count)))
    rows = tuple(
        typed(ROW | {"benchmark": f"b{n}", "verdict": "undecided" if n in undecided else word})
        for n in range(count)
    )
    for low, high in ((0.9 * ratio, 1.1 * ratio), (0.5, 2.0)):
        mean = MeanSpeedup(ratio, low, high, count)
        names = [f"b{n}" for n in range(count)]
        lead = headline.lead(Against(rows, (), mean), names, "", 0.95)
        alone = bool(undecided) and (low, high) != (0.5, 2.0)
        assert ("not of each one" in lead.numbers) is alone


def test_the_head_of_a_table_names_the_target_of_each_benchmark() -> None:
    tables = [logged("a", 200, VARIED, target=t, benchmark=f"task{t}") for t in (2.5, 3.5)]
    b = pl.concat([logged("b", 90, VARIED, target=t, benchmark=f"task{t}") for t in (2.5, 3.5)])
    report = api.compare(pl.concat(tables), b)
    named = "target of each benchmark: task2.5 val_loss ≤ 2.5, task3.5 val_loss ≤ 3.5"
    assert named in report.tables[0].title
    assert "to val_loss ≤ 2.5 (task2.5), val_loss ≤ 3.5 (task3.5) on" in report.lead[0].claim
