"""The command line: which measurements are made, how large they are, and where results go."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from benchmarks.coverage import (
    blocks,
    cases,
    cut_off,
    designs,
    effects,
    families,
    intervals,
    nights,
    orders,
    pitfalls,
    plans,
    qualities,
    ranks,
    real,
    results,
    sequential,
    sessions,
    shares,
    simulations,
    summary,
)
from benchmarks.coverage.figures import Figure
from benchmarks.coverage.simulations import Plan

#: What a measurement of made-up runs is called while it is made, and what makes it.
MEASUREMENTS: dict[str, Callable[[Plan], Iterator[Figure]]] = {
    "speedups": simulations.speedups,
    "power": simulations.power,
    "margins": simulations.margins,
    "margins of unequal sides": simulations.unequal_margins,
    "failures": simulations.failures,
    "coefficients of variation": intervals.variations,
    "parts": intervals.parts,
    "geometric means": intervals.geometric_means,
    "cases": cases.cases,
    "systems": cases.systems,
    "gates": cases.gates,
    "cut off": lambda plan: cut_off.figures(plan.few(2)),
    "families": families.families,
    "headlines": families.headlines,
    "families at the margin": families.at_the_margin,
    "qualities": qualities.differences,
    "claims": qualities.claims,
    "claims about times": qualities.claims_about_times,
    "ranks": lambda plan: ranks.ranks(plan.few(8)),
    "sequential": sequential.figures,
    "sequential families": sequential.families,
    # Half of the replicates: there are many cells, and each call costs more.
    "blocks": lambda plan: blocks.figures(plan.few(2)),
    "same": lambda plan: blocks.sessions(plan.few(2)),
    "effects": lambda plan: effects.figures(plan.few(2)),
    # Whole logs are made and read.
    "designs": lambda plan: designs.figures(plan.few(8)),
    "budgets": lambda plan: designs.budgets(plan.few(5)),
    "sessions": lambda plan: sessions.figures(plan.few(5)),
    "orders": lambda plan: orders.figures(plan.few(5)),
    # Every series is looked at 90 times.
    "nights": lambda plan: nights.figures(plan.few(20)),
    # A call fits a model dozens of times.
    "shares of sources": lambda plan: shares.figures(plan.few(20)),
    "plans": lambda plan: plans.figures(plan.few(4)),
    "fractions": lambda _: intervals.fractions(),
    # A call resamples 2,000 times, so that a quarter of the replicates has to do.
    "shares": lambda plan: intervals.shares(plan.few(4)),
    "pitfalls": lambda plan: pitfalls.figures(plan.few(4)),
    "scores": pitfalls.scores,
}


Task = tuple[str, Sequence[Path]]
"""A measurement, and the files it is made of; none for made-up runs."""


def main(arguments: Sequence[str]) -> int:
    """Measure everything, write the figures, print a summary; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.only and not (options.output and options.output.is_file()):
        print("coverage: --only takes the rest from the file given by -o", file=sys.stderr)
        return 2
    for path in options.data:
        if not path.is_file():
            print(f"coverage: no such file: {path}", file=sys.stderr)
            return 2
    names = {name for name, _ in _tasks(options.data)}
    if unknown := sorted(set(options.only) - names):
        print(f"coverage: no measurement is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    figures = measured(Plan(options.replicates, options.seed), options)
    if options.output is not None:
        results.write(options.output, figures)
    print(summary.written([figure for group in figures.values() for figure in group]), end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/coverage",
        description="Measure how often the intervals and verdicts of ttastats are right.",
    )
    parser.add_argument("--replicates", type=_count, default=4000, help="of every cell; 4000")
    parser.add_argument("--seed", type=int, default=1, help="of all random numbers; 1")
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="Parquet files that `ingest` wrote"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME",
        help="measure these again, and keep what the file already has of the others: "
        f"{', '.join(MEASUREMENTS)}, the stem of a file of --data, or 'all files'",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=1, help="processes; 1")
    parser.add_argument("-o", "--output", type=Path, help="CSV file to write")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("2 replicates are needed")
    return number


def measured(plan: Plan, options: argparse.Namespace) -> dict[str, list[Figure]]:
    """Return the figures by measurement; those not measured again are read from the file."""
    tasks = _tasks(options.data)
    if not options.only:
        return measure(plan, tasks, options.workers)
    selection = [task for task in tasks if task[0] in options.only]
    return results.read(options.output) | measure(plan, selection, options.workers)


def measure(plan: Plan, tasks: Sequence[Task], workers: int = 1) -> dict[str, list[Figure]]:
    """Return the figures of each measurement; print on stderr how long it took."""
    names, files = zip(*tasks, strict=True)
    if workers == 1:
        figures = list(map(_figures_of, names, files, repeat(plan)))
    else:
        with ProcessPoolExecutor(workers) as pool:
            figures = list(pool.map(_figures_of, names, files, repeat(plan)))
    return dict(zip(names, figures, strict=True))


def _tasks(data: Sequence[Path]) -> list[Task]:
    tasks: list[Task] = [(name, ()) for name in MEASUREMENTS]
    tasks += [(path.stem, (path,)) for path in data]
    return [*tasks, ("all files", data)] if len(data) > 1 else tasks


def _figures_of(name: str, files: Sequence[Path], plan: Plan) -> list[Figure]:
    """Return the figures of a measurement of made-up runs, or of the entries of some files."""
    if not files:
        return _timed(name, MEASUREMENTS[name](plan))
    entries = [entry for path in files for entry in real.entries(path)]
    return _timed(name, real.figures(entries, name, real.splits_of(plan)))


def _timed(name: str, figures: Iterator[Figure]) -> list[Figure]:
    start = time.perf_counter()
    result = list(figures)
    print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return result
