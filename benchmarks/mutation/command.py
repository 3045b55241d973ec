"""The command: change the code in many small ways, and count the changes no test notices."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mutation.mutants import Mutant, mutants
from benchmarks.mutation.reaching import mapped
from benchmarks.mutation.running import Outcome, judged, passes

ROOT = Path(__file__).resolve().parents[2]

#: What is changed, by the name it has in the answer.
GROUPS = {
    "stats/": ("ttastats/stats/*.py",),
    "sides/": ("ttastats/sides/*.py",),
    "outcomes/": ("ttastats/outcomes/*.py",),
    "table/": ("ttastats/table/*.py",),
    "recorded ends": ("ttastats/recording/run_ends.py",),
    "cache, absent runs": ("ttastats/ingestion/cache.py", "ttastats/ingestion/absent.py"),
    "report/": ("ttastats/report/*.py",),
    "answers/": ("ttastats/answers/*.py",),
    "compare": ("ttastats/answers/compare/*.py",),
    "records, rcp": ("ttastats/answers/record/*.py", "ttastats/answers/rcp/*.py"),
    "profiles": ("ttastats/traces/*.py", "ttastats/answers/profile/*.py"),
    "page/": ("ttastats/output/page/*.py",),
    "plots/": ("ttastats/output/plots/*.py", "ttastats/output/plots/profiled/*.py"),
    "parsers": ("parsers/ttastats_parsers/*.py",),
}

#: Tests of the command line, of processes, stores and other programs: they take far longer and
#: would kill few more.
NOT_ASKED = """
appended_tables bucket_tables buckets callbacks ci_gate_example cli codes coverage_benchmark
dependencies documentation every_command folders fuzz help ingestion json_safe large
last_defence limits long_tables misfortunes mllog notebook object_stores
paper_example percentages progress reachable real real_traces real_writers records
reference_reading site sources store tracking typed wild workers
"""

#: The tests that are asked: those of numbers, of reading, and of what is shown without a browser.
TESTS = (
    "-m=not real and not browser",
    "tests",
    "--ignore=tests/profiler",
    "--ignore=tests/trainer",
    *(f"--ignore=tests/test_{name}.py" for name in NOT_ASKED.split()),
)

#: Imported once, before a process is made for each mutant.
SLOW = ("numpy", "polars", "rich", "scipy.special", "scipy.stats", "typer")


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code: 1 if too few mutants were killed."""
    options = parser().parse_args(arguments)
    for name in SLOW:
        __import__(name)
    files = {group: _files(patterns) for group, patterns in GROUPS.items()}
    path = options.map or Path(tempfile.mkdtemp(), "map.json")
    calls, seconds = mapped([str(f) for group in files.values() for f in group], TESTS, path)
    if not passes(calls, seconds):
        print("the tests fail without any change", file=sys.stderr)
        return 2
    counts: dict[str, Counter[Outcome]] = {group: Counter() for group in GROUPS}
    for group, mutant in sample(files, options.count, options.seed, options.only):
        tests = calls.get(mutant.path, {}).get(mutant.function, [])
        outcome = judged(mutant, tests, seconds)
        counts[group][outcome] += 1
        where = Path(mutant.path).relative_to(ROOT)
        line = f"{outcome}: {where}:{mutant.line} #{mutant.number}: {mutant.change}"
        killed = outcome in {"killed", "timeout"}
        print(line, file=sys.stderr if killed else sys.stdout, flush=True)
    print(table(counts))
    total = sum(counts.values(), Counter[Outcome]())
    return 0 if _share(total) >= options.least else 1


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    options = argparse.ArgumentParser(prog="benchmarks/mutation", description=__doc__)
    options.add_argument("--count", type=int, default=300, help="mutants to try, of all groups")
    options.add_argument("--seed", type=int, default=1, help="the same seed, the same mutants")
    options.add_argument("--only", default="", help="of files with this in their path: gate")
    options.add_argument("--least", type=float, default=0.95, help="share that has to be killed")
    options.add_argument("--map", type=Path, help="keeps which test calls what, in JSON")
    return options


def _files(patterns: Sequence[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def sample(
    files: dict[str, list[Path]], count: int, seed: int, only: str
) -> list[tuple[str, Mutant]]:
    """Draw mutants of all files, equally likely and in random order."""
    all_mutants = [
        (group, mutant)
        for group, paths in files.items()
        for path in paths
        if only in str(path.relative_to(ROOT))
        for mutant in mutants(str(path), path.read_text("utf-8"))
    ]
    print(f"{len(all_mutants)} mutants, seed {seed}", file=sys.stderr, flush=True)
    return random.Random(seed).sample(all_mutants, min(count, len(all_mutants)))


def _share(counts: Counter[Outcome]) -> float:
    return (counts["killed"] + counts["timeout"]) / max(1, counts.total())


def table(counts: dict[str, Counter[Outcome]]) -> str:
    """Return the counts in Markdown."""
    lines = ["| | mutants | killed | survived | not tested |", "| --- | --- | --- | --- | --- |"]
    total = sum(counts.values(), Counter[Outcome]())
    for name, of_folder in (*counts.items(), ("all", total)):
        if of_folder:
            killed = f"{of_folder['killed'] + of_folder['timeout']} ({_share(of_folder):.0%})"
            cells = f"{of_folder['survived']} | {of_folder['not tested']}"
            lines.append(f"| {name} | {of_folder.total()} | {killed} | {cells} |")
    return "\n".join(lines)
