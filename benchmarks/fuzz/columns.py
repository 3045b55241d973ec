"""Tables of generated columns: usual runs, some of whose values may be anything that is valid."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from ttastats.table import schema

Row = dict[str, Any]

#: What would be a command to a terminal, a page, a spreadsheet or rich if it came through raw.
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "[bold]x[/bold]",
    "[/]",
    "[link=http://evil.example]x[/link]",
    "\x1b[31mred\x1b]8;;http://evil.example\x07",
    "\x00",
    "\x9b31m",
    "two\nlines\r\tx",
    "\u202efdp.exe",
    "=cmd()",
    "a|b",
    "`code` ${x} $y",
    "../../etc/passwd",
    "/",
    "..",
)
TEXTS = (
    "",
    " ",
    "x",
    "None",
    "nan",
    "é",
    "模型",
    "👩‍🔬",
    "e\u0301",
    "x" * 300,
    "a,b",
    "a=b",
    "*",
    *HOSTILE,
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 10.0, 1e-9, 5e-324, 1e18, 1e300, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
)
INTS = (0, 1, -1, 2, 8, 10**12, 2**31, 2**63 - 1, -(2**63))
DATES = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
)
BROKEN = (
    "",
    "[",
    "null",
    "0",
    '"x"',
    "[1]",
    "[null]",
    "{}",
    '[{"code":1}]',
    "[" * 900,
    "NaN",
    "\x00",
)
#: Columns whose values come from a list, or are read as a language.
WORDS: dict[str, Sequence[str]] = {
    "suite": ("mlperf", "mlperf_hpc", "dawnbench", *TEXTS),
    "round": ("v0.5", "v0.6", "v5.0", "v99", *TEXTS),
    "benchmark": ("resnet", "ncf", "maskrcnn", "bert", "unet3d", "imagenet", "squad", *TEXTS),
    "run_status": ("success", "aborted", "truncated", "unknown", *TEXTS),
    "target_source": ("log", "rules", "user", *TEXTS),
    "problems": (
        '[{"code":"x","severity":"error","message":"<img src=x onerror=alert(1)>","line":null}]',
        '[{"code":"x","severity":"odd","message":"\\u001b[31m","line":-1},{"code":"y"}]',
        *BROKEN,
    ),
    "extra": ('{"opt_name":"sgd","lr":0.1}', '{"lr":[1e999],"a":{"b":null}}', *BROKEN),
}


def value(rng: random.Random, name: str) -> Any:
    """Return any value that a column may hold; what does not identify a run may be null."""
    if name not in schema.RUN and rng.random() < 0.25:
        return None
    dtype = schema.POLARS[name]
    if dtype == pl.String:
        return rng.choice(WORDS.get(name, TEXTS))
    if dtype == pl.Int64:
        return rng.choice(INTS)
    if dtype == pl.Float64:
        return rng.choice(FLOATS)
    if dtype == pl.Boolean:
        return rng.random() < 0.5
    return rng.choice(DATES)


# ------------------------------------------------------------------------------ runs as they are


@dataclass(frozen=True, slots=True)
class Quality:
    """A benchmark and what is measured in it: name, target, and whether higher is better."""

    keys: tuple[str | None, str | None, str | None]
    metrics: tuple[tuple[str, float | None, bool | None], ...]


QUALITIES = (
    Quality(("mlperf", "v0.5", "resnet"), (("top1_accuracy", 0.749, True),)),
    Quality(("mlperf", "v0.6", "resnet"), (("top1_accuracy", 0.759, True),)),
    Quality(("mlperf", "v0.5", "ncf"), (("hit_rate_at_10", 0.635, True),)),
    Quality(("mlperf", "v0.7", "maskrcnn"), (("bbox_map", 0.377, True), ("segm_map", 0.339, True))),
    Quality(("mlperf", "v4.0", "llama2_70b_lora"), (("eval_loss", 0.925, False),)),
    Quality(("mlperf", "v5.0", "unet3d"), (("mean_dice", 0.908, True),)),
    Quality(
        ("dawnbench", None, "imagenet"),
        (("top5_accuracy", 0.93, True), ("top1_accuracy", None, None)),
    ),
    Quality((None, None, "digits"), (("accuracy", 0.97, True), ("loss", 0.1, False))),
    Quality((None, None, "own"), (("score", None, None),)),
)


def setups(rng: random.Random) -> list[Row]:
    """Return what runs of a table share: one to five entries of one to three benchmarks.

    Some are a curve over numbers of accelerators, systems that all ran the same benchmarks, or a
    leaderboard of entries of one run each, so that there is something to answer for all commands.
    """
    way = rng.choice(("any", "curve", "grid", "leaderboard"))
    qualities = rng.sample(QUALITIES, 2 if way == "grid" else rng.choice((1, 1, 2, 3)))
    if way == "grid":
        systems = [setup(rng, qualities[0], letter) for letter in "ab"]
        return [system | of_quality(quality) for system in systems for quality in qualities]
    bases = [setup(rng, rng.choice(qualities), letter) for letter in "abcde"[: rng.randint(1, 5)]]
    if way == "curve":
        scales = {"submitter": "Org", "hardware": "V100"} | of_quality(qualities[0])
        return [base | scales | {"accelerators": 8 * n} for n, base in enumerate(bases, start=1)]
    if way == "leaderboard":
        return [base | of_quality(qualities[0]) | {"single": True} for base in bases]
    return bases


def of_quality(quality: Quality) -> Row:
    suite, round_, benchmark = quality.keys
    names = {"suite": suite, "round": round_, "benchmark": benchmark}
    return names | {"metrics": quality.metrics}


def setup(rng: random.Random, quality: Quality, letter: str) -> Row:
    """Return one entry: its names, its size, and how fast it is."""
    system = rng.choice((f"dgx_{letter}", f"dgx_{letter}", "tpu", rng.choice(HOSTILE)))
    return {
        **of_quality(quality),
        "epoch_seconds": rng.choice((1.0, 10.0, 10.0 * rng.lognormvariate(0, 0.5))),
        "spread": rng.choice((0.0, 0.02, 0.2)),
        "epochs": rng.randint(1, 4),
        "division": rng.choice(("closed", "open")),
        "submitter": rng.choice(("Org", "Lab")),
        "system": system,
        "entry": f"Org/{system}",
        "hardware": rng.choice(("V100", "TPUv3")),
        "accelerators": rng.choice((1, 8, 16)),
        "nodes": 1,
        "framework": "torch",
        "global_batch_size": rng.choice((32, 256)),
        "train_samples": 1000,
        "cost_per_hour": rng.choice((None, 3.0)),
        "clock": "wall",
        "clock_zero": "run_start",
        "scaling_factor": rng.choice((None, 1.1)),
        "dialect": "mlperf-mllog",
        "problems": None,
        "extra": rng.choice((None, '{"opt_name":"sgd","lr":0.1}')),
    }


def run(rng: random.Random, setup: Row, number: int, side: str) -> list[Row]:
    """Return the rows of one run, which mostly meets its target in its last epoch."""
    epochs = max(0, setup["epochs"] + rng.choice((-1, 0, 0, 0, 1)))
    fails = rng.random() < 0.15
    pace = setup["epoch_seconds"] * rng.lognormvariate(0, setup["spread"])
    digest = f"{rng.getrandbits(64):016x}"
    head = {name: setup.get(name) for name in schema.RUN_NAMES} | {
        "run_id": f"{digest}-0",
        "source": f"{side}/{setup['entry']}/{setup['benchmark']}/result_{number}.txt",
        "source_digest": digest * 2,
        "content_digest": digest,
        "seed": number,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC) + rng.randrange(40) * timedelta(hours=9),
        "run_status": "aborted" if fails else "success",
        "run_seconds": epochs * pace + rng.choice((0.0, 1.0)),
    }
    rows = [
        head | evaluation(setup, name, target, higher, epoch, epoch * pace, met=met)
        for epoch in range(1, epochs + 1)
        for met in (epoch == epochs and not fails,)
        for name, target, higher in setup["metrics"]
    ]
    return rows or [head]


def evaluation(
    setup: Row,
    metric: str,
    target: float | None,
    higher: bool | None,
    epoch: int,
    seconds: float,
    *,
    met: bool,
) -> Row:
    """Return the evaluation of one metric at one checkpoint."""
    aim = 0.5 if target is None else target
    better = 1.01 if higher is not False else 0.99
    quality = aim * better if met else aim / better * (0.9 if higher is not False else 1.1)
    return {
        "eval_index": epoch - 1,
        "metric": metric,
        "higher_is_better": higher,
        "value": quality,
        "logged_value": quality,
        "seconds": seconds,
        "epoch": float(epoch),
        "step": 100 * epoch,
        "samples": setup["train_samples"] * epoch,
        "line": epoch,
        "target_value": target,
        "target_source": "log",
    }


# ----------------------------------------------------------------------------------- what befalls


def any_values(rng: random.Random, runs: list[list[Row]]) -> None:
    """Fill a column of some runs or evaluations with random values."""
    column = rng.choice(schema.COLUMNS)
    share = rng.choice((0.1, 0.5, 1.0))
    for rows in runs:
        if column.of_run and rng.random() < share:
            random_value = value(rng, column.name)
            for row in rows:
                row[column.name] = random_value
        elif not column.of_run:
            for row in rows:
                if rng.random() < share:
                    row[column.name] = value(rng, column.name)


def one_value(rng: random.Random, runs: list[list[Row]]) -> None:
    """Fill a column with one random value."""
    name = rng.choice(schema.NAMES)
    random_value = value(rng, name)
    for row in (row for rows in runs for row in rows):
        row[name] = random_value


def contradiction(rng: random.Random, runs: list[list[Row]]) -> None:
    """Add contradicting values to one run."""
    rows = rng.choice(runs)
    name = rng.choice(schema.RUN_NAMES)
    rng.choice(rows)[name] = value(rng, name)


def no_length(rng: random.Random, runs: list[list[Row]]) -> None:
    """End a run when it starts."""
    empty = dict.fromkeys(schema.EVALUATION_NAMES)
    rows = rng.choice(runs)
    rows[:] = [rows[0] | empty | {"run_seconds": 0.0}]


def backwards(rng: random.Random, runs: list[list[Row]]) -> None:
    """Reverse a measure of a run."""
    rows, name = rng.choice(runs), rng.choice(("epoch", "step", "samples", "seconds", "eval_index"))
    for row, reverse in zip(rows, [row.get(name) for row in reversed(rows)], strict=True):
        row[name] = reverse


def copies(rng: random.Random, runs: list[list[Row]]) -> None:
    """Repeat a run in the table under another source; with some luck it is marked."""
    rows = rng.choice(runs)
    marked = rng.choice(({}, {"duplicate_of": rows[0]["source"]}))
    runs.append([row | {"source": f"{row['source']}.copy", **marked} for row in rows])


def twice(rng: random.Random, runs: list[list[Row]]) -> None:
    """Repeat every row of a run."""
    rows = rng.choice(runs)
    rows += [dict(row) for row in rows]


def shuffle(rng: random.Random, runs: list[list[Row]]) -> None:
    """Shuffle the runs and their rows."""
    rng.shuffle(runs)
    for rows in runs:
        rng.shuffle(rows)


def nothing_measured(rng: random.Random, runs: list[list[Row]]) -> None:
    """Remove the evaluations of all or some runs."""
    share = rng.choice((0.3, 1.0))
    for rows in runs:
        if rng.random() < share:
            rows[:] = [rows[0] | dict.fromkeys(schema.EVALUATION_NAMES)]


def huge(rng: random.Random, runs: list[list[Row]]) -> None:
    """Scale times, epochs or values."""
    name = rng.choice(("seconds", "run_seconds", "epoch", "value", "target_value"))
    factor = rng.choice((1e-300, 1e-12, 1e12, 1e300, -1.0))
    for row in (row for rows in runs for row in rows):
        if isinstance(row.get(name), float):
            row[name] *= factor


Fault = Callable[[random.Random, list[list[Row]]], None]
FAULTS: tuple[Fault, ...] = (
    *(any_values,) * 8,
    *(one_value,) * 3,
    *(no_length, backwards, copies, huge) * 2,
    *(contradiction, twice, shuffle, nothing_measured),
)


def table(rng: random.Random, shared: Sequence[Row], side: str) -> tuple[str, pl.DataFrame]:
    """Return a table of up to forty runs of some setups, and the names of its mutations."""
    runs = [
        run(rng, setup, number, side)
        for setup in shared
        for number in range(1 if setup.get("single") else rng.choice((0, 1, 2, 3, 5, 8)))
    ]
    names = []
    for fault in rng.choices(FAULTS, k=rng.choice((0, 1, 1, 2, 3, 5))):
        if runs:
            fault(rng, runs)
            names.append(fault.__name__)
    rows = [row for rows in runs for row in rows]
    return "+".join(names) or "as it is", frame(rows)


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a table of the schema."""
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in schema.NAMES},
        schema=schema.POLARS,
        strict=False,
    )
