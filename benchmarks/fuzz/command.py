"""The command: mutate logs or generate tables, run the commands, and print a page."""

from __future__ import annotations

import argparse
import platform
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.fuzz import answers, around, asking, checks, large, material, mutations
from ttastats.base.records import Run

ROOT = Path(__file__).resolve().parents[2]
#: Runs that are put into one table; a table for each would take most of the time.
BATCH = 500
CUTTINGS = 300
#: CPU seconds a command may take over a table of a whole round.
SECONDS_OF_FILES = 120.0


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code: 1 if there are findings."""
    options = parser().parse_args(arguments)
    if options.around:
        return draw_around(options)
    logs = material.fixtures(ROOT)
    if options.tables or options.files:
        return ask(options, logs)
    if options.data:
        logs += material.cuttings(options.data, random.Random(options.seed), CUTTINGS)
    numbers = range(options.count) if options.only is None else [options.only]
    page = Page(options.seed, len(logs), Counter(), [])
    begun = time.process_time()
    for number, runs in page.read(numbers, logs):
        page.store(number, runs)
    print(page.text(time.process_time() - begun))
    if options.large:
        cases = large.all_cases()
        print(large_text(cases))
        page.findings += [text for case in cases for text in case.findings]
    return 1 if page.findings else 0


def draw_around(options: argparse.Namespace) -> int:
    """Draw what lies around logs and tables; return the exit code: 1 if there are findings."""
    if options.only is not None:
        tallies = ((kind, around.draw(kind, [options.only], options.seed)) for kind in around.KINDS)
    else:
        tallies = around.draw_all(options.around, options.seed)
    draws = {}
    for kind, result in tallies:
        draws[kind] = result
        sys.stderr.write(f"{kind}: {result.count:,} draws, {len(result.findings)} findings\n")
    print(around.text(draws, options.seed))
    return 1 if any(result.findings for result in draws.values()) else 0


def ask(options: argparse.Namespace, logs: list[bytes]) -> int:
    """Run every command on tables; return the exit code: 1 if there are findings."""
    tally, kinds = asking.Tally(), set[str]()
    for tally in answered(options, logs):
        new = [text for kind, text in tally.findings.items() if kind not in kinds]
        kinds |= tally.findings.keys()
        sys.stderr.write("\n".join([f"{tally.tables:,} tables", *new, ""]))
    print(tally.text(options.seed))
    return 1 if tally.findings else 0


def answered(options: argparse.Namespace, logs: list[bytes]) -> Iterator[asking.Tally]:
    """Run the commands on the named files, or on generated tables; yield the totals so far."""
    if options.files:
        answers.SECONDS = SECONDS_OF_FILES
        return asking.ask_of_files(options.files, options.seed, options.times)
    half = range((options.tables + 1) // 2)
    numbers = half if options.only is None else [options.only]
    return asking.ask_all(numbers, options.seed, logs, workers=options.workers)


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    options = argparse.ArgumentParser(prog="benchmarks/fuzz", description=__doc__)
    options.add_argument("--count", type=int, default=100_000, help="mutilated logs to read")
    options.add_argument(
        "--tables", type=int, default=0, help="ask every command about so many tables instead"
    )
    options.add_argument(
        "--around",
        type=int,
        default=0,
        help="draw so many footers, files beside logs, stores, archives and names in plots instead",
    )
    options.add_argument(
        "--files",
        type=Path,
        nargs="*",
        help="ask every command about these tables, one by one and two by two",
    )
    options.add_argument("--times", type=int, default=1, help="how often, with other options")
    options.add_argument("--workers", type=int, default=1, help="processes that ask about tables")
    options.add_argument("--seed", type=int, default=1, help="the same seed, the same logs")
    options.add_argument(
        "--only",
        type=int,
        help="read the log, or ask about the pair of tables, of this number alone",
    )
    options.add_argument("--data", type=Path, help="folder of public logs to cut from as well")
    options.add_argument("--large", action="store_true", help="also read lines of 100 MB")
    return options


class Page:
    """The logs and findings so far."""

    def __init__(self, seed: int, logs: int, ways: Counter[str], findings: list[str]) -> None:
        self.seed, self.logs, self.ways, self.findings = seed, logs, ways, findings
        self.count = self.runs = self.evaluations = self.bytes = 0

    def read(self, numbers: Sequence[int], logs: list[bytes]) -> Iterator[tuple[int, list[Run]]]:
        """Read each mutilated log; yield the runs in batches."""
        runs: list[Run] = []
        for number in numbers:
            # Each log has a source of chance of its own, so that one can be made again alone.
            rng = random.Random(f"{self.seed}-{number}")
            names, content = mutations.mutilate(rng, logs)
            self.count += 1
            self.bytes += len(content)
            self.ways.update(names.split("+"))
            self.findings += [f"{number} ({names}) {t}" for t in checks.findings(content, runs)]
            if len(runs) >= BATCH:
                yield number, runs
                runs = []
        yield numbers[-1], runs

    def store(self, number: int, runs: list[Run]) -> None:
        """Make a table of a batch; if that fails, name the run."""
        self.runs += len(runs)
        self.evaluations += sum(len(run.evaluations) for run in runs)
        if checks.cannot_be_stored(runs):
            reasons = filter(None, (checks.cannot_be_stored([run]) for run in runs))
            self.findings += [f"up to {number}: {reason}" for reason in reasons]

    def text(self, seconds: float) -> str:
        """Return the page."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        ways = ", ".join(f"{name} {number:,}" for name, number in self.ways.most_common())
        lines = [
            f"Mutilated logs: {self.count:,} (seed {self.seed}, from {self.logs} logs, "
            f"{self.bytes / 1e6:,.0f} MB), each read by every dialect.",
            f"Runs read from them: {self.runs:,}, with {self.evaluations:,} evaluations.",
            f"What was done to them: {ways}.",
            f"CPU: {seconds:.0f} s; peak memory: {peak:,.0f} MB; "
            f"Python {platform.python_version()}.",
            f"Findings: {len(self.findings)}.",
            *self.findings[:20],
        ]
        return "\n".join(lines)


def large_text(cases: list[large.Large]) -> str:
    """Return the table of the long lines."""
    rows = [
        f"| {case.name} | {case.seconds:.1f} | {case.megabytes:,.0f} | {len(case.findings)} |"
        for case in cases
    ]
    head = "| a line of 100 MB | CPU s, all dialects and checks | MB beyond the line | findings |"
    return "\n".join(
        ["", head, "|---|---|---|---|", *rows, *(f for c in cases for f in c.findings)]
    )
