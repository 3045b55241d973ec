"""How often is a race wrong, how often right, and what does it cost? Simulated, without processes.

    python benchmarks/race.py --races 1000            setups of equal code, two and five
    python benchmarks/race.py --races 200 --only faster
    python benchmarks/race.py --entries ../ttastats-data/v0.6 ../ttastats-data/v5.0

The race is that of `ttastats race`; its processes and its table are replaced: a run takes the time
to the target that is drawn for it, on a clock of its own. `--entries` draws its epochs from those
of the entries in real results. The tables are in docs/race.md.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

import ttastats as tta
from ttastats.api import tables
from ttastats.base.errors import TtastatsError
from ttastats.race.definition import Definition, Setup, checked
from ttastats.race.folder import Record
from ttastats.race.plan import Key
from ttastats.race.processes import Arrivals, Launch
from ttastats.race.race import State, run_race
from ttastats.stats.power import runs_needed


class World(Struct, frozen=True):
    """How long runs take: `ratios` of the setups to 100 s, and what else changes them.

    Times are lognormal with a `cv`, in whole epochs of which there are `epochs` on average. A run
    fails with a chance of `failing`, after a random time, and if it has not met the target by its
    end, after `end` times 100 s. Everything gets slower by `drift` a run; the second slot is `slot`
    times as slow as the first. `drawn` are epochs over their mean to draw from instead.
    """

    ratios: tuple[float, ...]
    cv: float = 0.14
    epochs: float = 30.0
    failing: float = 0.0
    drift: float = 0.0
    slot: float = 1.0
    end: float = 1.5
    drawn: tuple[float, ...] = ()


class Simulated:
    """A run on the clock of the simulation."""

    def __init__(self, begin: float, met: float | None, end: float, epochs: float) -> None:
        self.arrivals: Arrivals = {"output.log": [(0, 0.0)]}
        self.exit_code: int | None = None
        self.seconds = 0.0
        self.begin, self.met, self.end, self.epochs, self.group = begin, met, end, epochs, 0

    def stop(self, *, at_once: bool = False) -> None:
        """End now."""
        del at_once
        self.end = self.now

    now = 0.0


class Simulation:
    """The processes and the book of one race."""

    def __init__(self, world: World, names: Sequence[str], rng: np.random.Generator) -> None:
        self.world, self.rng, self.clock = world, rng, 0.0
        self.ratios = dict(zip(names, world.ratios, strict=True))
        self.started: list[Simulated] = []
        self.runs: list[dict[str, object]] = []
        self.processes: dict[Key, Simulated] = {}
        self.next = Key("", 0)

    def now(self) -> float:
        """Return the time of the simulation."""
        return self.clock

    def start(self, launch: Launch) -> Simulated:
        """Draw the seconds of a run."""
        world, number = self.world, len(self.started)
        slower = (1 + world.drift) ** number * (
            world.slot if launch.variables["TTASTATS_SLOT"] == "1" else 1
        )
        sigma = np.sqrt(np.log1p(world.cv**2))
        epochs = world.epochs * np.exp(sigma * self.rng.standard_normal() - sigma**2 / 2)
        epochs = max(1.0, float(np.ceil(epochs)))
        if world.drawn:
            epochs = world.epochs * float(self.rng.choice(world.drawn))
        pace = 100 / world.epochs * self.ratios[launch.variables["TTASTATS_NAME"]] * slower
        pace *= float(np.exp(0.03 * self.rng.standard_normal()))
        failed = self.rng.random() < world.failing
        end = self.clock + world.end * world.epochs * pace * (self.rng.random() if failed else 1.0)
        met = None if failed else self.clock + epochs * pace
        run = Simulated(self.clock, met, max(end, met or 0.0), epochs)
        self.started.append(run)
        self.processes[self.next] = run
        return run

    def wait(self, processes: Sequence[Any], seconds: float) -> None:
        """Go on to the next moment at which something happens."""
        del seconds
        moments = [process.end for process in processes]
        moments += [
            process.met for process in processes if process.met and process.met > self.clock
        ]
        self.clock = max(self.clock, min(moments))
        for process in processes:
            process.now = self.clock
            if process.end <= self.clock:
                process.exit_code = int(process.met is None)
                process.seconds = self.clock - process.begin

    def close(self) -> None:
        """Leave nothing behind."""

    def folder(self, key: Key) -> Path:
        """Return a name of a folder that nobody makes."""
        return Path(f"{key.block}-{key.setup}")

    def begin(self, record: Record) -> Simulation:
        """Return what watches a run."""
        self.next = record.key
        return self

    def update(self, process: Any, seconds: float) -> bool:
        """Return whether the target is met."""
        del seconds
        return process.met is not None and process.met <= self.clock

    text: str = ""

    def end(self, record: Record) -> Record:
        """Keep a run."""
        if record.end != "interrupted" and record.block >= 0:
            run = self.processes[record.key]
            reached = record.end == "target"
            name = f"{record.setup}-{record.block}"
            self.runs.append({
                "run_id": name, "source": name,
                "entry": record.setup, "seed": record.seed, "reached": reached,
                "tta_seconds": record.seconds if reached else None,
                "observed_seconds": record.seconds, "run_seconds": record.seconds,
                "epochs": run.epochs if reached else None,
                "started_at": datetime.fromtimestamp(self.clock - record.seconds, UTC),
            })  # fmt: skip
        return record

    def judged(self) -> pl.DataFrame:
        """Return the table of runs."""
        return pl.DataFrame(self.runs, schema_overrides=_SCHEMA).join(_TEMPLATE, how="cross")


def _template() -> pl.DataFrame:
    """Return the columns of a table of runs that are the same for all."""
    row = {
        "run_id": "x", "source": "x", "entry": "x", "seed": 0, "metric": "acc", "value": 1.0,
        "seconds": 1.0, "run_seconds": 1.0, "epoch": 2.0, "benchmark": "race", "system": "race",
        "eval_index": 0, "higher_is_better": True, "target_value": 0.9,
    }  # fmt: skip
    return tables.run_table(
        pl.DataFrame([row, row | {"eval_index": 1, "epoch": 1.0, "value": 0.1}])
    )


_OWN = [
    "run_id", "source", "entry", "seed", "reached", "tta_seconds", "observed_seconds",
    "run_seconds", "epochs", "started_at",
]  # fmt: skip
_WHOLE = _template()
_SCHEMA = {name: _WHOLE.schema[name] for name in _OWN}
_TEMPLATE = _WHOLE.drop(_OWN).head(1)


class Result(Struct, frozen=True):
    """How a race went: pairs shown, its end, runs each, seconds, and the share that failed."""

    shown: tuple[tuple[str, str], ...]
    end: str
    n: int
    hours: float
    failed: float = 0.0


def simulate(world: World, races: int, seed: int, **options: object) -> Iterator[Result]:
    """Yield the results of races in a world."""
    setups = tuple(
        Setup(f"train {number} {{seed}}", f"s{number}") for number in range(len(world.ratios))
    )
    definition = checked(Definition(setups=setups, **options))  # type: ignore[arg-type]
    for number in range(races):
        rng = np.random.default_rng([seed, number])
        raced = Simulation(world, definition.names, rng)
        try:
            state: State = run_race(definition, {}, raced, raced, lambda *_: None)
        except TtastatsError as error:  # such as no run that reached
            yield Result((), error.what, 0, 0.0)
            continue
        claims = tuple(
            (pair.slower, pair.b if pair.slower == pair.a else pair.a)
            for pair in state.standing.pairs if pair.shown
        )  # fmt: skip
        seconds = sum(run.seconds for run in raced.started)
        failed = raced.judged()["reached"].not_().mean()
        end, n = state.standing.ended, state.standing.n
        yield Result(claims, end, n, seconds, float(failed or 0.0))  # type: ignore[arg-type]


def row(name: str, world: World, races: int, **options: object) -> str:
    """Return a row of the table: what was shown, and the cost beside fixed plans."""
    results = [*simulate(world, races, 1, **options)]
    ends = Counter(result.end for result in results)
    truth = dict(zip([f"s{k}" for k in range(len(world.ratios))], world.ratios, strict=True))
    wrong = sum(any(truth[slow] <= truth[fast] for slow, fast in r.shown) for r in results) / races
    best = min(truth, key=lambda name: truth[name])
    slower_names = [name for name in truth if truth[name] > truth[best]]
    right = (
        sum(all((slower_name, best) in {*r.shown} for slower_name in slower_names) for r in results)
        / races
    )
    spread = (wrong * (1 - wrong) / races) ** 0.5
    hours = float(np.mean([r.hours for r in results]))
    mean_runs = np.mean([result.n for result in results])
    right_text = f"{100 * right:.0f}" if slower_names else "–"
    cells = [
        name,
        f"{races}",
        f"{100 * wrong:.1f} ±{100 * spread:.1f}",
        right_text,
        f"{mean_runs:.1f}",
    ]
    if slower_names and 0.05 < right < 1 and np.mean([r.failed for r in results]) < FEW:
        ratio = min(truth[slower_name] for slower_name in slower_names) / truth[best]
        alpha = 0.05 / (len(truth) * (len(truth) - 1) / 2)
        n = runs_needed(ratio, world.cv, power=min(right, 0.999), alpha=alpha) or 0
        to_target = 100 * sum(world.ratios)
        cells += [
            f"{n}",
            f"{hours / (n * to_target):.2f}",
            f"{hours / (n * to_target * world.end):.2f}",
        ]
    else:
        cells += ["–", "–", "–"]
    cells.append(f"{hours / (10 * 100 * sum(world.ratios) * world.end):.2f}")
    cells.append(", ".join(f"{end} {count}" for end, count in ends.most_common(3)))
    return f"| {' | '.join(cells)} |"


def entries_of(folders: Sequence[Path]) -> pl.DataFrame:
    """Return the entries of five runs or more whose epochs vary: epochs over their mean, and CV."""
    epochs = pl.col("epochs")
    tables_of = [tta.runs(folder).frame.filter("reached") for folder in folders]
    labelled = [
        runs.with_columns(round=pl.lit(folder.name))
        for folder, runs in zip(folders, tables_of, strict=True)
    ]
    return (
        pl.concat(labelled, how="diagonal_relaxed")
        .filter(epochs.is_not_null())
        .group_by("round", "benchmark", "entry", "system", maintain_order=True)
        .agg(drawn=epochs / epochs.mean(), cv=epochs.std() / epochs.mean(), n=pl.len())
        .filter((pl.col("cv") > 0) & (pl.col("n") >= 5))
        .sort("round", "benchmark", maintain_order=True)
    )


def fixed_runs(ratio: float, cvs: np.ndarray, right: float) -> int:
    """Return the runs each, the same for all entries, that show a ratio in so many of them.

    No more than 98 % are asked for: few races do not tell such shares apart.
    """
    right = min(right, 0.98)
    powers = np.arange(0.06, 1.0, 0.01)
    needed = np.array([
        [runs_needed(ratio, cv, power=power, alpha=0.05) or 0 for power in powers.tolist()]
        for cv in cvs.tolist()
    ])  # fmt: skip
    return next(n for n in itertools.count(2) if 0.05 + 0.01 * (needed <= n).sum(1).mean() >= right)


def real_row(name: str, entries: pl.DataFrame, slower: float, races: int) -> str:
    """Return a row of the table of real entries: races of each of them."""
    results = list[Result]()
    for number, times in enumerate(entries["drawn"]):
        world = World((1, slower), drawn=tuple(times))
        results += simulate(world, races, number, max_runs=20)
    n, truth = len(results), ("s1", "s0")
    wrong = sum(any(pair != truth or slower == 1 for pair in r.shown) for r in results) / n
    right = sum(truth in r.shown for r in results) / n
    hours = float(np.mean([r.hours for r in results]))
    to_target = 100 * (1 + slower)
    spread = 100 * (wrong * (1 - wrong) / n) ** 0.5
    cells = [name, f"{entries.height}", f"{n}", f"{100 * wrong:.1f} ± {spread:.1f}"]
    mean_runs = f"{np.mean([r.n for r in results]):.1f}"
    if slower == 1:
        cells += ["", mean_runs, "", "", ""]
    else:  # the pace of a run varies by 3 %, too
        fixed = fixed_runs(slower, np.hypot(entries["cv"].to_numpy(), 0.03), right)
        cost = fixed * to_target
        cells += [
            f"{100 * right:.0f}",
            mean_runs,
            f"{fixed}",
            f"{hours / cost:.2f}",
            f"{hours / cost / 1.5:.2f}",
        ]
    cells.append(f"{hours / (10 * to_target * 1.5):.2f}")
    return f"| {' | '.join(cells)} |"


COLUMNS = (
    "world", "races", "wrong, %", "right, %", "runs each", "fixed plan of that power",
    "hours over its hours to the target", "over its hours to the end",
    "over ten runs each to the end", "ends",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
#: The share of failed runs up to which a plan without failures is one to compare with.
FEW = 0.02
#: CVs, and by how much the second of two setups is slower.
DIFFERENT = ((0.05, 1.08), (0.14, 1.15), (0.14, 1.3), (0.14, 1.6), (0.3, 1.5))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--races", type=int, default=200)
    parser.add_argument("--only", default="", help="worlds with this in their names")
    parser.add_argument("--runs", type=int, help="a fixed plan of so many runs instead of looks")
    parser.add_argument("--entries", type=Path, nargs="+", help="draw epochs from these results")
    options = parser.parse_args()
    if options.entries:
        entries = entries_of(options.entries)
        for slower in (1.0, 1.1, 1.2):
            for (of,), round_entries in entries.group_by("round", maintain_order=True):
                name = f"{of}, {100 * slower - 100:.0f} % apart"
                if options.only in name:
                    print(real_row(name, round_entries, slower, options.races), flush=True)
        return
    worlds: list[tuple[str, World, dict[str, object]]] = [
        ("2 equal", World((1, 1)), {}),
        ("2 equal, 10 % fail", World((1, 1), failing=0.1), {}),
        ("2 equal, drift 2 % a run", World((1, 1), drift=0.02), {}),
        ("2 equal, slots 1 and 1.5", World((1, 1), slot=1.5), {"slots": ("A=0", "A=1")}),
        ("2 equal, CV 40 %", World((1, 1), cv=0.4), {}),
        ("5 equal", World((1,) * 5), {}),
        *((f"2, {100 * slower - 100:.0f} % slower, CV {cv:.0%}", World((1, slower), cv=cv), {})
          for cv, slower in DIFFERENT),
        ("2, 30 % slower, 10 % fail", World((1, 1.3), failing=0.1), {}),
        ("2, 30 % slower, drift 2 %", World((1, 1.3), drift=0.02), {}),
        ("5, one 30 % faster", World((1, 1.3, 1.3, 1.3, 1.3)), {}),
        ("5, from 1 to 2", World((1, 1.25, 1.5, 1.75, 2.0)), {}),
    ]  # fmt: skip
    print(HEAD)
    for name, world, how in worlds:
        if options.only in name:
            print(row(name, world, options.races, **how, runs=options.runs), flush=True)


if __name__ == "__main__":
    main()
