"""Answers to random questions about odd runs are as accepted.

Of each answer its sentence stands here, or the error, and a digest of all the rest: what the
answer was before is seen by asking the same question of the code before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest
import xxhash

from tests import test_accepted_answers as made
from tests.accepted import Case, cases, parts
from tests.random_cases import Draw
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.report.ordering import sort_rows
from ttastats.sides.options import Options, View

pytestmark = pytest.mark.usefixtures("in_codes")
Asked = dict[str, Any]

TABLES: tuple[Callable[[], pl.DataFrame], ...] = (
    made.before, made.both, made.odd, made.faulty, made.random_runs, made.scales,
    lambda: made.claims()[1],
)  # fmt: skip
SIDES: tuple[Callable[[], list[pl.DataFrame]], ...] = (
    made.random_sides,
    lambda: [table.filter(benchmark="bert") for table in (made.before(), made.after())],
    lambda: [table.filter(pl.col("benchmark").is_in(["unet", "ssd"]))
             for table in (made.after(), made.before())],
    lambda: [made.odd(), made.faulty()],
    lambda: [runs.filter(pl.col("benchmark").is_in(["failing", "two"])) for runs in made.claims()],
    lambda: [table.filter(pl.col("benchmark") == "few") for table in made.claims()],
    lambda: [table.filter(benchmark="unet") for table in (made.before(), made.both())],
)  # fmt: skip
KEYS = ("benchmark", "entry", "system", "hardware", "seed", "division", "round", "run_id")
UNITS = ("seconds", "epochs", "steps", "samples", "evaluations", "cost", "energy", "cpu-seconds")
WHERE = ("benchmark=bert", "benchmark!=resnet", "cv>1%", "reached>=4", "accelerators<16", "n>2",
         "global_batch_size=256", "seed<3", "speedup>1", "nothing=1", "tta>100")  # fmt: skip
TARGETS = ("0.75", "top1_accuracy=0.74", "masked_lm_accuracy>=0.7", "loss<=0.6", "eval=1", "900")
BUDGETS: tuple[Asked, ...] = (
    {"at_end": True}, {"at": "epoch=3"}, {"at": "seconds=50", "best": True}, {"at": "samples=2500"},
    {"at": "epoch=2.5", "interpolate": True}, {"at_end": True, "best": True},
)  # fmt: skip


def keywords_of(draw: Draw, *more: str) -> Asked:
    """Return some of the common keywords of questions, and some of the rarer ones."""
    keywords: Asked = {}
    if draw.chance(0.5):
        keywords["by"] = draw.sample(KEYS, draw.randrange(1, 4))
    if draw.chance(0.2):
        keywords["where"] = [draw.choice(WHERE)]
    if draw.chance(0.3):
        keywords["unit"] = draw.choice(UNITS)
        if keywords["unit"] == "cost":
            keywords["price"] = draw.choice([12.0, "cost_per_hour"])
    if "target" in more and draw.chance(0.4):
        keywords["target"] = [draw.choice(TARGETS)]
    if "budget" in more and draw.chance(0.4):
        keywords |= draw.choice(BUDGETS)
        keywords.pop("unit", None)
        keywords["metric"] = draw.choice(["top1_accuracy", "masked_lm_accuracy", "loss"])
    return keywords


def options(draw: Draw) -> Asked:
    return {
        "options": Options(
            estimand=draw.choice(["mean", "geomean"]), margin=draw.choice([0.01, 0.3]),
            confidence=draw.choice([0.9, 0.95]), fdr=draw.chance(0.3), ddof=draw.choice([0, 1]),
            epochs_fixed=draw.chance(0.3), same_convergence=draw.chance(0.2),
        ),
        "view": View(*(draw.chance(0.5) for _ in range(4))),
        "pool": draw.chance(0.3),
        "fail_on": draw.choice(["", "slower:3%"]), "require": draw.choice(["", "not-slower:9%"]),
    }  # fmt: skip


CLAIMS: tuple[Asked, ...] = (
    {"quality": "top1_accuracy >= 0.7515"}, {"quality": "loss <= 0.9", "at_end": True},
    {"seconds": "<= 90", "level": 0.01}, {"quality": "top1_accuracy >= 0.6", "at": "epoch=3"},
    {"seconds": "<= 90", "quality": "top1_accuracy >= 0.7", "sigma": 0.01},
)  # fmt: skip
COMMANDS: dict[str, Callable[[Draw], Asked]] = {
    "summary": lambda draw: keywords_of(draw, "target") | {"dots": draw.chance(0.5)},
    "variance": lambda draw: keywords_of(draw, "target") | {"ddof": draw.choice([0, 1])},
    "history": lambda draw: keywords_of(draw, "target") | {"order": draw.choice(["date", "seed"])},
    "power": lambda draw: keywords_of(draw, "target") | {"n": draw.choice([None, 3])},
    "scaling": lambda draw: keywords_of(draw, "target"),
    "score": lambda draw: {"by": keywords_of(draw).get("by", [])},
    "problems": lambda draw: {"where": keywords_of(draw).get("where", [])},
    "runs": lambda draw: {"where": keywords_of(draw).get("where", [])},
    "targets": lambda draw: keywords_of(draw) | {"points": draw.randrange(1, 5)},
    "claim": lambda draw: {**keywords_of(draw, "target"), "unit": "seconds"} | draw.choice(CLAIMS),
    "compare": lambda draw: keywords_of(draw, "target", "budget") | options(draw),
}


def question(draw: Draw) -> tuple[str, Asked, Callable[[], Report]]:
    """Return the name of a command, its keywords, and the call."""
    name = draw.choice([*COMMANDS, *["compare"] * 3])
    keywords = COMMANDS[name](draw)
    sided = name == "compare" or (name == "targets" and draw.chance(0.5))
    number = draw.randrange(len(SIDES if sided else TABLES))
    if {"at", "at_end"} & keywords.keys():
        keywords |= {"fail_on": "", "require": ""} if sided else {}
    if sided == (number == 0) and draw.chance(0.9):  # no run logs what these are about
        keywords = {key: v for key, v in keywords.items() if key not in {"target", "metric"}}

    def call() -> Report:
        tables = SIDES[number]() if sided else [TABLES[number]()]
        report: Report = getattr(api, name)(*tables, **keywords)
        if len(report.tables) == 1 and len(report.tables[0].rows) == len(report.rows):
            order = draw.choice(["", *(f"-{key}" for key in report.rows[0]), "cv"])
            return sort_rows(report, sort=order, top=draw.choice([0, 2]))
        return report

    return f"{name} {'sides' if sided else 'table'} {number}", keywords, call


def answer(seed: int) -> Iterator[str]:
    name, keywords, call = question(Draw(f"question {seed}"))
    try:
        report = call()
        whole = "\n".join(made.lines(report))
        result = [report.sentence, xxhash.xxh3_64_hexdigest(whole.encode())]
    except TtastatsError as error:
        result = [f"refused: {error.what}", error.where]
    shown = {key: value for key, value in keywords.items() if key not in {"options", "view"}}
    yield json.dumps([seed, name, shown, result])


@cases("answers", **parts("questions", answer, 40, 4))
def test_random_questions_are_answered_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
