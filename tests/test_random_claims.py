"""Records, claims and reference convergence of random runs are judged as accepted.

Runs lie close to what is asked of them, on either side of it; any may be a copy, lack its value,
time or steps, or be of another machine, seed or length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.accepted import Case, cases, parts
from tests.made_curves import evaluation, of
from tests.random_cases import Draw
from tests.test_accepted_answers import lines
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.report.answer import Report
from ttastats.sides.options import Options, View
from ttastats.table import tables

pytestmark = pytest.mark.usefixtures("in_codes")
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def frame(runs: Sequence[tuple[int, Run]]) -> pl.DataFrame:
    """Return runs as logs with these numbers; equal numbers are copies."""
    sourced = [
        tables.SourcedRun(run, f"log_{place}", f"{number:032x}", 0, "test")
        for place, (number, run) in enumerate(runs)
    ]
    return tables.table_of_runs(sourced)


def answered(call: Callable[..., Report], *tables: pl.DataFrame, **keywords: Any) -> list[str]:
    try:
        return lines(call(*tables, **keywords))
    except TtastatsError as error:
        return [f"refused: {error.what} [{error.where}] {error.remedy}"]


#: Of each contest its metric, what is asked of it, how far runs lie apart, and the rules.
CONTESTS: tuple[tuple[str, float, float, str, dict[str, Any]], ...] = (
    ("val_loss", 3.28, 0.0012, "nanogpt-track-1", {}),
    ("val_loss", 3.28, 0.0012, "nanogpt-track-3", {}),
    ("val_loss", 3.28, 0.0012, "plain", {"target": ["val_loss<=3.28"]}),
    ("submitted_bpb", 1.1, 0.001, "parameter-golf", {}),
    ("core", 0.256525, 0.002, "nanochat", {}),
    ("accuracy", 0.94, 0.001, "airbench", {}),
)


def ended(metric: str, ends: Sequence[float | None], length: int, seconds: float | None,
          **more: Any) -> Run:  # fmt: skip
    """Return a run with three evaluations, the last one at its end."""
    aim = {"metric": metric, "higher_is_better": metric in {"core", "accuracy"}}
    evaluations = (
        evaluation(
            place, end, **aim, epoch=None, target_value=3.28,
            step=length * (place + 1) // len(ends) if length else None,
            seconds=None if seconds is None else seconds * (place + 1) / len(ends),
        )
        for place, end in enumerate(ends)
    )  # fmt: skip
    facts = {"run_status": "success", "run_seconds": seconds}
    return of(*evaluations, **(facts | more))


def side(draw: Draw, contest: str, metric: str, middle: float, spread: float,
         letter: str) -> pl.DataFrame:  # fmt: skip
    """Return the runs of a side: most are alike, and few of them lack or repeat something."""
    pace = draw.choice([0.2, 0.21]) if letter == "A" else draw.choice([0.19, 0.2, 0.199])
    length = 300 if letter == "A" else draw.choice([280, 300])
    better = (1 if metric in {"core", "accuracy"} else -1) * draw.choice([-1, 0.5, 1, 1.5, 8])
    machine, seeded, timed = draw.chance(0.7), draw.chance(0.5), draw.chance(0.9)
    odd = draw.chance(0.5)
    runs = []
    for number in range(draw.choice([1, 2, 4, 5, 9])):
        end: float | None = middle + spread * (better + draw.uniform(-1, 1))
        long = draw.choice([length, 310]) if odd and draw.chance(0.2) else length
        seconds = pace * long + draw.uniform(0, 1) if timed else None
        if odd and draw.chance(0.1):
            end = None
        before = [middle - 30 * better * spread, (end or middle) - draw.choice([0, 2]) * spread]
        hardware = draw.choice(["H100"] * 9 + ["A100" if odd else "H100"])
        later = draw.choice([1, 40]) if letter == "B" else 0
        facts: dict[str, Any] = {
            "hardware": hardware if machine else None,
            "accelerators": draw.choice([None, 8]) if odd else 8,
            "seed": draw.choice([None, 1, number]) if odd else number if seeded else None,
            "started_at": MONDAY + timedelta(hours=2 * number + later),
            "entry": draw.choice(["one"] * 9 + ["two"]) if odd else None,
            "run_status": draw.choice(["success"] * 9 + ["exception"]) if odd else "success",
            "extra": {"study": number // 2} if contest == "algoperf" else {},
        }  # fmt: skip
        long = 0 if odd and draw.chance(0.05) else long
        run = ended(metric, [*before, end], long, seconds, **facts)
        runs += [(number + 100 * (letter == "B"), run)] * (2 if odd and draw.chance(0.1) else 1)
    return frame(runs)


def of_records(seed: int) -> Iterator[str]:
    draw = Draw(f"record {seed}")
    metric, middle, spread, rules, keywords = draw.choice(CONTESTS)
    sides = [side(draw, rules, metric, middle, spread, letter) for letter in "AB"]
    if draw.chance(0.3):
        counted = 60.0 if rules != "nanogpt-track-3" else 300.0
        against = middle if rules == "parameter-golf" else counted
        keywords = {**draw.choice([{}, {"against": against}, {"against": against}]), **keywords}
        sides = sides[1:]
    yield f"-- {seed} {rules}"
    yield from answered(api.judge_record, *sides, rules=rules, **keywords)


def of_studies(seed: int) -> Iterator[str]:
    draw = Draw(f"studies {seed}")
    sides = []
    for letter in "AB":
        runs: list[tuple[int, Run]] = []
        for study in range(draw.choice([2, 3, 5])):
            for _ in range(draw.choice([2, 2, 3])):
                last = draw.choice([3.27, 3.27, 3.4])
                pace = draw.uniform(40, 80) * (1 if letter == "A" else 0.6)
                extra = {"study": study} if draw.chance(0.98) else {}
                run = ended("val_loss", [4.0, last], 300, pace, extra=extra)
                runs.append((len(runs) + 100 * (letter == "B"), run))
        sides.append(frame(runs))
    yield f"-- {seed}"
    chosen = sides[draw.choice([0, 0, 0, 1]) :]
    yield from answered(api.judge_record, *chosen, rules="algoperf")


def of_claims(seed: int) -> Iterator[str]:
    draw = Draw(f"claim {seed}")
    metric, middle, spread, _, _ = draw.choice(CONTESTS)
    table = side(draw, "", metric, middle, spread, "B")
    if draw.chance(0.3):
        other = side(draw, "", metric, middle, spread, "A").with_columns(system=pl.lit("x"))
        table = pl.concat([table, other])
    sign = ">=" if metric in {"core", "accuracy"} else "<="
    claim: dict[str, Any] = {"quality": f"{metric} {sign} {middle}", "at_end": True}
    if draw.chance(0.3):
        claim = {draw.choice(["seconds", "steps"]): draw.choice(["<= 57", "300", "<57.4", "290"])}
        claim |= draw.choice([{"at_end": True, "metric": metric}, {}])
    if draw.chance(0.3):
        claim["sigma"] = spread
    claim["level"] = draw.choice([0.05, 0.01])
    yield f"-- {seed} {json.dumps(claim)}"
    yield from answered(api.claim, table, by=["benchmark", "system"], **claim)


BUDGETS: tuple[dict[str, Any], ...] = (
    {"at_end": True}, {"at_end": True}, {"at_end": True, "best": True}, {"at": "step=280"},
    {"at": "step=295", "interpolate": True}, {"at": "seconds=40"}, {"at": "step=200", "best": True},
)  # fmt: skip


def of_qualities(seed: int) -> Iterator[str]:
    draw = Draw(f"qualities {seed}")
    sides: list[list[pl.DataFrame]] = [[], []]
    for benchmark in ["lm", "other"][: draw.choice([1, 1, 2])]:
        metric, middle, spread, _, _ = draw.choice(CONTESTS)
        for groups, letter in zip(sides, "AB", strict=True):
            runs = side(draw, "", metric, middle, spread, letter)
            groups.append(runs.with_columns(benchmark=pl.lit(benchmark)))
    a, b = map(pl.concat, sides)
    keywords = dict(draw.choice(BUDGETS))
    if seed % 3 == 0:
        both = pl.concat([a.with_columns(system=pl.lit("a")), b])
        yield from answered(api.summary, both, by=["benchmark", "system"], **keywords)
        yield from answered(api.runs, b, **keywords)
    keywords["options"] = Options(
        margin=draw.choice([0.01, 0.002, 0.5]), fdr=draw.chance(0.3),
        estimand=draw.choice(["mean", "mean", "geomean"]),
    )  # fmt: skip
    keywords["view"] = View(margin_claims=draw.chance(0.5))
    keywords["require"] = draw.choice(["", "", "not-worse:0.001"])
    yield f"-- {seed}"
    yield from answered(api.compare, a, b, **keywords)


#: Samples at which a run of a batch size is evaluated, and about how many evaluations it needs.
SIZES = {8: (384, 8), 16: (384, 10), 64: (768, 10)}


def records(draw: Draw, folder: Path, benchmark: str) -> None:
    """Write reference records at one or several batch sizes."""
    sizes = draw.sample(list(SIZES), draw.choice([1, 2, 3, 3, 3]))
    content = {}
    for size in sizes:
        (batch, about), spread = SIZES[size], draw.choice([0, 1, 1, 1])
        needed = [batch * (about + draw.choice([-1, 0, 0, 0, 1, 2]) * spread) for _ in range(20)]
        content[f"x_{size}"] = {"Benchmark": benchmark, "BS": size, "samples to converge": needed}
    folder.mkdir()
    (folder / f"rcps_{benchmark}.json").write_text(json.dumps(content))


def entries(draw: Draw, benchmark: str, number: int) -> pl.DataFrame:
    """Return entries of which some train more, some on another grid, and some in unknown ways."""
    runs: list[tuple[int, Run]] = []
    for name in range(number):
        size = draw.choice([4, 8, 8, 8, 16, 16, 32, 64, 128, None])
        batch, about = SIZES.get(size or 0, (384, 10))
        batch = draw.choice([batch] * 5 + [batch // 2, 2 * batch])
        about = round(about * SIZES.get(size or 0, (384, 10))[0] / batch)
        published = draw.choice([None, None, 1.0511, 1.02])
        owner = draw.choice(["Lab"] * 9 + [None])
        shift, known = draw.choice([-2, -1, 0, 0, 1, 2]), draw.chance(0.95)
        for _ in range(draw.choice([1, 3, 10, 10, 10])):
            needed = batch * max(1, about + shift + draw.choice([-1, 0, 0, 1]))
            facts: dict[str, Any] = {
                "suite": "mlperf", "round": "v5.0", "benchmark": benchmark,
                "division": "open" if name == 2 else "closed", "submitter": owner,
                "system": f"s{name}", "entry": f"Lab/s{name}", "global_batch_size": size,
                "scaling_factor": published,
            }  # fmt: skip
            run = ended("loss", [0.93, 0.92], 0, needed / 10.0, **facts)
            told_at = tuple(
                replace(evaluation, samples=at if known else None, target_value=0.925)
                for evaluation, at in zip(run.evaluations, (needed - batch, needed), strict=True)
            )
            status = "aborted" if name == 4 else draw.choice(["success"] * 12 + ["aborted"])
            runs.append((len(runs), replace(run, evaluations=told_at, run_status=status)))
    return frame(runs)


def of_entries(seed: int) -> Iterator[str]:
    """Yield how random entries compare with random references."""
    draw = Draw(f"entries {seed}")
    benchmark = draw.choice(["llama2_70b_lora", "llama2_70b_lora", "llama31_405b"])
    with TemporaryDirectory() as folder:
        place = Path(folder, "records")
        records(draw, place, benchmark)
        keywords = {
            "draws": 200, "confidence": draw.choice([0.95, 0.9]), "bypass": draw.chance(0.4),
            "ruleset": draw.choice(["", "", "6.0.0"]), "records": place, "verbose": seed == 4,
        }  # fmt: skip
        runs = entries(draw, benchmark, 13 if seed in {2, 4} else 5)
        yield from answered(api.rcp, runs, **keywords)


#: When run `n` starts, in hours, and how much later on B: side by side, in turn, apart, at once.
STARTS: tuple[tuple[Callable[[int], float], float], ...] = (
    (lambda n: 2.0 * n, 1.0), (lambda n: 48.0 * (n // 2) + n, 24.0), (lambda n: 24.0 * n, 0.5),
    (lambda n: 24.0 * (n // 2) + n, 0.5), (float, 100.0), (lambda n: n / 900, 3.0),
)  # fmt: skip


def runs_of(draw: Draw, letter: str, starts: int, seeds: int, **facts: Any) -> list[Run]:
    """Return runs of a benchmark on one side, which are alike but in a few of many ways."""
    later = letter == "B"
    start, hours = STARTS[starts % len(STARTS)]
    pace = 100.0 * (draw.choice([0.3, 0.5, 0.7, 0.9, 1.0, 1.1]) if later else 1.0)
    every, spread = draw.choice([1, 1, 1, 2]), draw.choice([0, 1, 1, 3])
    aim = draw.choice([0.75] * 30 + [0.74, 0.76, None])
    noise, setups = draw.choice([0.003, 0.01, 0.03, 0.2]), draw.choice([1, 1, 1, 2, 3])
    failing, known, odd = draw.choice([0] * 5 + [0.2, 0.7]), draw.chance(0.8), draw.random()
    facts |= {"system": draw.choice(["x", "x", "y", None]), "accelerators": 8}
    facts["global_batch_size"] = draw.choice([256, 256, 512])
    runs = []
    for n in range(draw.choice([1, 2, 3, 4, 6, 6, 6, 8])):
        epochs = 6 + draw.randrange(spread + 1) * every
        speed = pace * draw.uniform(1 - noise, 1 + noise) * (1.5 if odd < 0.2 and n % 2 else 1)
        reaches, timed = not draw.chance(failing), odd < 0.9 or draw.chance(0.7)
        evaluations = (
            evaluation(
                place, draw.choice([0.751, 0.761]) if at >= epochs and reaches else 0.74 - 0.3 / at,
                metric="accuracy", higher_is_better=True, target_value=aim, step=None,
                epoch=float(at) if known else None, seconds=speed * at if timed else None,
            )
            for place, at in enumerate(range(every, epochs + every, every))
        )  # fmt: skip
        begun = MONDAY + timedelta(hours=start(n) + hours * later)
        more = {
            "entry": letter if odd < 0.5 else f"{letter}{n % setups}",
            "extra": {"optimizer": "abc"[n % setups]} if odd < 0.5 and setups > 1 else {},
            "started_at": None if starts > len(STARTS) else begun,
            "seed": (None, n, n // 2, n + 10 * later)[seeds],
            "run_seconds": speed * epochs + 1 if timed else None,
            "run_status": "success" if reaches else draw.choice(["aborted", "unknown"]),
        }
        runs.append(of(*evaluations, **facts, **more))
    return runs


DESIGNS: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {}, {}, {"block": ["day"]}, {"block": ["order"]},
    {"block": ["day"]}, {"block": ["seed"]}, {"unit": "epochs"}, {"also": ["accuracy"]},
)  # fmt: skip


def of_designs(seed: int) -> Iterator[str]:
    """Yield what is claimed of random sides, several at once, by how their runs were made."""
    draw = Draw(f"design {seed}")
    sides: dict[str, list[tuple[int, Run]]] = {"A": [], "B": [], "earlier": []}
    keywords = dict(draw.choice(DESIGNS))
    starts, seeds = 3 if "block" in keywords else draw.randrange(len(STARTS) + 2), draw.randrange(4)
    for place, letter in product(range(draw.choice([1, 2, 3])), sides):
        for run in runs_of(draw, letter, starts, seeds, benchmark=f"bench{place}"):
            sides[letter].append((len(sides[letter]) + 100 * ord(letter[0]), run))
    a, b, earlier = map(frame, sides.values())
    keywords["options"] = Options(
        margin=draw.choice([0.01, 0.3]), fdr=draw.chance(0.3),
        estimand=draw.choice(["mean", "mean", "geomean"]),
        max_runs=8 if draw.chance(0.1) else None, same_convergence=draw.chance(0.2),
    )  # fmt: skip
    yield f"-- {seed} {list(keywords)}"
    yield from answered(api.compare, a, b, pool=draw.chance(0.3), **keywords)
    if seed % 4 == 0:
        yield from answered(api.summary, pl.concat([a, b, earlier]))


@cases(
    "claims",
    **parts("records", of_records, 18, 6),
    **parts("studies", of_studies, 12),
    **parts("claims", of_claims, 15, 3),
    **parts("qualities", of_qualities, 12, 6),
    **parts("entries", of_entries, 6, 6),
    **parts("designs", of_designs, 16, 8),
)
def test_random_claims_are_judged_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
