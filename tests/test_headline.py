"""What the first line and the verdicts of a comparison say, and what they may not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.accepted import Case, cases, parts
from tests.compare_rows import typed
from ttastats.answers.compare import headline
from ttastats.answers.compare.headline import caveats
from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import conclusions
from ttastats.base.codes import Note
from ttastats.report.answer import Against, Report
from ttastats.report.cells import Lead
from ttastats.report.grouping import BENCHMARK
from ttastats.sides.pairing import SAME_RUNS
from ttastats.stats.multiplicity import MeanSpeedup

ROW: dict[str, Any] = {
    "why": None,
    "suite": "mlperf", "round": "v0.5", "benchmark": "resnet", "a": "old", "b": "new",
    "n_a": 5, "n_b": 5, "reached_a": 5, "reached_b": 5, "estimand": "mean",
    "speedup": 2.0, "speedup_low": 1.6, "speedup_high": 2.5,
    "p_value": 0.0004, "p_adjusted": 0.0004,
    "progress_unit": "epochs", "throughput_speedup": 4.0, "throughput_low": 3.9,
    "throughput_high": 4.1, "epochs_ratio": 0.5, "epochs_low": 0.4, "epochs_high": 0.625,
    "runs_needed": 12, "verdict": "faster", "conditions": [],
    "claim": "faster by more than 1%", "flags": [],
}  # fmt: skip
NONE = dict.fromkeys(("speedup", "speedup_low", "speedup_high"))


def headline_of(*changes: dict[str, Any]) -> Lead:
    rows = tuple(typed(ROW | {"benchmark": f"b{n}"} | change) for n, change in enumerate(changes))
    names = [f"b{n}" for n in range(len(rows))]
    return headline.lead(Against(rows, (), None), names, "auc ≥ 0.8", 0.95)


UNDECIDED = {"verdict": "undecided", "speedup_low": 0.9}


def test_a_claim_about_pooled_setups_is_not_called_good() -> None:
    pooled = headline_of({"conditions": ["pooled_setups"]})
    assert pooled.tone == "bad"
    assert headline_of(UNDECIDED | {"conditions": ["pooled_setups"]}).tone == "dim"
    conditions: dict[str, Any] = {"conditions": ["pooled_setups"]}
    rows: list[dict[str, Any]] = [{}, conditions, UNDECIDED | conditions | {"p_adjusted": 0.12}]
    report = Report("compare", tuple(typed(ROW | row) for row in rows), (), by=BENCHMARK)
    assert [(verdict.word, verdict.tone) for verdict in conclusions(report, confidence=0.95)] == [
        ("faster", "good"), ("faster with conditions", "bad"), ("undecided", "dim"),
    ]  # fmt: skip


def test_names_do_not_depend_on_the_order_of_keys() -> None:
    turned = dict(reversed((ROW | {"entry": "x", "round": "v0.6"}).items()))
    rows = tuple(map(typed, (ROW | {"entry": None}, turned)))
    report = Report("compare", rows, (), by=(*BENCHMARK, "entry"))
    assert [verdict.about for verdict in conclusions(report, confidence=0.95)] == [
        "v0.5 resnet",
        "v0.6 resnet x",
    ]


WORDS = ("faster", "slower", "same", "undecided", "unavailable")
MEANS = ((1.5, 1.1, 2.0), (0.9, 0.7, 1.2), (0.8, 0.7, 0.9), (1.2, None, None))
FLAGS = ("pooled", "one_run", "few_runs", "no_stragglers")


def drawn(draw: random.Random, axis: str) -> tuple[TimesRow, ...]:
    """Return random rows, which may be inconsistent or incomplete."""
    rows = []
    for n in range(draw.choice([1, 1, 2, 3, 4])):
        ratio = draw.choice([None, 0.4, 0.97, 1.0, 1.03, 1.1, 2.0])
        word = draw.choice(WORDS[: draw.choice([1, 3, 5])] if n else WORDS)
        known = ratio is not None and draw.random() < 0.8
        rows.append(typed(ROW | {
            "verdict": word, "claim": f"{word} for a reason", "reason": f"{word} for a reason",
            "speedup": ratio, "axis": axis,
            "speedup_low": (ratio or 0) * draw.choice([0.5, 0.99]) if known else None,
            "speedup_high": (ratio or 0) * draw.choice([1.01, 2.5]) if known else None,
            "benchmark": draw.choice([f"b{n}", "b0", None]),
            "estimand": draw.choice(["mean", "mean", "fraction"]),
            "reached_a": draw.choice([5, 5, 3]), "reached_b": draw.choice([5, 5, 0]),
            "p_adjusted": draw.choice([None, 0.0004, 0.049]),
            "flags": draw.sample(FLAGS, draw.choice([0, 0, 1, 2])),
        }))  # fmt: skip
    return tuple(rows)


def first_lines(seed: int) -> Iterator[str]:
    draw = random.Random(f"headline {seed}")
    rows = drawn(draw, draw.choice(["seconds", "seconds", "cost", "steps"]))
    mean = draw.choice([None, *(MeanSpeedup(*ends, 2) for ends in MEANS)])
    notes = tuple(Note(code, f"{code}.") for code in FLAGS if draw.random() < 0.5)
    report = Report("compare", rows, (), notes)
    names = [row.benchmark or "these runs" for row in rows]
    lead = headline.lead(Against(rows, (), mean), names, "", draw.choice([0.95, 0.9]))
    yield json.dumps([seed, lead.word, lead.claim, lead.numbers, lead.tone])
    for caveat in caveats(report):
        yield json.dumps([seed, caveat.label, " ".join(caveat.texts), caveat.tone])


@cases("answers", **parts("headlines", first_lines, 150))
def test_headlines_of_random_comparisons_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_rows_with_the_same_runs_on_both_sides_take_no_part_in_the_answer() -> None:
    same = NONE | {"verdict": "unavailable", "claim": SAME_RUNS, "reason": SAME_RUNS}
    lead = headline_of({}, same, same)
    assert lead.word == "FASTER"
    assert lead.numbers.endswith(
        "5 runs against 5, all reached the target. "
        "2 other rows with the same runs on both sides left out."
    )
    assert headline_of(same, same).word == "NO VERDICT"
