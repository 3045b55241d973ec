"""Does every answer say its target, whom it compares, and under which conditions it holds?"""

from __future__ import annotations

import html
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import polars as pl
import pytest

from tests.compare_rows import typed
from tests.test_headline import ROW
from ttastats import api
from ttastats.answers.compare import headline
from ttastats.answers.compare.sentences import conditions_text
from ttastats.base.codes import CONDITIONS
from ttastats.base.errors import TtastatsError
from ttastats.report import as_html, as_json, as_markdown
from ttastats.report.answer import Against, Report
from ttastats.stats.decision import Assumption
from ttastats.stats.multiplicity import MeanSpeedup

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)


def logged(
    side: str, seconds: float, epochs: list[int], *, noise: float = 0.004, failed: int = 0,
    metric: str = "val_loss", higher: bool = False, target: float = 3.4, day: int = 0,
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
ARISING: dict[str, Callable[[], tuple[pl.DataFrame, pl.DataFrame]]] = {
    "constant_epochs": lambda: (logged("a", 103, [3] * 5), logged("b", 100, [3] * 5)),
    "no_stragglers": lambda: (
        logged("a", 200, VARIED * 2, failed=2), logged("b", 165, VARIED * 2)),
    "pooled_setups": lambda: (
        logged("a", 200, VARIED), pl.concat([logged("b", 60, VARIED), logged("c", 63, VARIED)])),
    "separate_sessions": lambda: (
        logged("a", 200, VARIED, day=0), logged("b", 60, VARIED, day=9)),
    "one_seed": lambda: (logged("a", 200, VARIED, seed=7), logged("b", 60, VARIED, seed=7)),
}  # fmt: skip


@pytest.mark.parametrize("code", ARISING)
def test_a_condition_stands_in_the_headline_of_every_form(code: str) -> None:
    a, b = ARISING[code]()
    report = api.compare(a, b)
    assert code in report.rows[0]["conditions"]
    (lead,) = report.lead
    assert lead.word.endswith("WITH CONDITIONS")
    condition = conditions_text(report.rows[0]["conditions"])
    assert conditions_text([code])
    assert conditions_text([code]).removeprefix("if ") in condition
    for text in (*renderings(report), " ".join(html.unescape(api.html_report(a, b).html).split())):
        assert condition in text
        assert lead.claim in text


#: What a claim may carry; other short texts are reasons of no verdict.
CARRIED = (*get_args(Assumption), *CONDITIONS)


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
    lead = headline.lead(Against(rows, (), mean, (code,)), names, "auc ≥ 0.8", 0.95)
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
    "history": api.history, "runs": api.runs, "scaling": api.scaling, "targets": api.targets,
    "claim": lambda table: api.claim(table, seconds="<= 500"),
    "effects": lambda table: api.effects(table, on=["entry"]),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
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


@pytest.mark.parametrize("seed", range(3))
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
