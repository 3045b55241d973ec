"""The long run: make tables, run every command on them, and count the findings."""

from __future__ import annotations

import itertools
import multiprocessing
import platform
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fuzz import answers, questions, tables

#: One pair of tables in so many is also drawn as SVG.
DRAW_ONE_IN = 25
#: Pairs that a process takes at a time.
BATCH = 20


@dataclass(slots=True)
class Tally:
    """What came of some tables; `findings` has the first of each kind, with its number."""

    pairs: int = 0
    tables: int = 0
    seconds: float = 0.0
    origins: Counter[str] = field(default_factory=Counter)
    codes: Counter[int | None] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)

    def note(self, origin: str, words: Sequence[str], text: str) -> None:
        """Count a finding; exceptions of one command at one place are of one kind."""
        kind = f"{words[0]}: {re.sub(r'[0-9]+', 'n', text.rpartition(' (')[2])}"
        self.kinds[kind] += 1
        self.findings.setdefault(kind, f"{origin}\n  {' '.join(map(repr, words))}\n  {text}")

    def add(self, tally: Tally) -> None:
        """Add the findings of another process."""
        self.pairs += tally.pairs
        self.tables += tally.tables
        self.seconds += tally.seconds
        self.origins += tally.origins
        self.codes += tally.codes
        self.kinds += tally.kinds
        self.findings = tally.findings | self.findings

    def text(self, seed: int) -> str:
        """Return the page."""
        codes = ", ".join(f"{code} {n:,}" for code, n in sorted(self.codes.items(), key=str))
        origins = ", ".join(f"{n:,} of {origin}" for origin, n in sorted(self.origins.items()))
        lines = [
            f"Tables: {self.tables:,} in {self.pairs:,} pairs (seed {seed}): {origins}.",
            f"Commands: {self.codes.total():,}; exit codes: {codes}.",
            f"CPU: {self.seconds:.0f} s; Python {platform.python_version()}.",
            f"Findings: {self.kinds.total()} of {len(self.kinds)} kinds.",
            *(f"{n:,} × {self.findings[kind]}" for kind, n in self.kinds.most_common()),
        ]
        return "\n".join(lines)


def ask_all(
    numbers: Sequence[int], seed: int, logs: Sequence[bytes], *, workers: int = 1
) -> Iterator[Tally]:
    """Run the commands on numbered pairs of tables in several processes; yield totals so far."""
    whole = Tally()
    batches = [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for tally in pool.map(ask, batches, [seed] * len(batches), [logs] * len(batches)):
            whole.add(tally)
            yield whole


def ask(numbers: Sequence[int], seed: int, logs: Sequence[bytes]) -> Tally:
    """Run every command on numbered pairs of tables."""
    tally, begun = Tally(), time.process_time()
    for number in numbers:
        # Each pair has a source of chance of its own, so that one can be made again alone.
        rng = random.Random(f"tables-{seed}-{number}")
        folder = Path(tempfile.mkdtemp(prefix="ttastats-fuzz-"))
        try:
            ask_of_pair(tally, rng, number, logs, folder)
        finally:
            shutil.rmtree(folder)
    tally.seconds = time.process_time() - begun
    return tally


def ask_of_files(files: Sequence[Path], seed: int, times: int) -> Iterator[Tally]:
    """Run every command on each file and each pair of files, repeatedly; yield the totals."""
    tally = Tally(tables=len(files))
    pairs = [*itertools.permutations(files, 2), *([path] for path in files)]
    for number, paths in itertools.product(range(times), pairs):
        rng = random.Random(f"files-{seed}-{number}-{paths}")
        with tempfile.TemporaryDirectory(prefix="ttastats-fuzz-") as folder:
            begun = time.process_time()
            tally.pairs += 1
            tally.origins["files"] += len(paths)
            of_paths(tally, rng, f"{number}", paths, Path(folder), draw=False)
            tally.seconds += time.process_time() - begun
        yield tally


def ask_of_pair(
    tally: Tally, rng: random.Random, number: int, logs: Sequence[bytes], folder: Path
) -> None:
    """Make two tables and run every command on them, with `ingest` and `from_frame`."""
    try:
        pair = tables.pair(rng, logs, folder)
    except Exception as error:
        tally.note(f"{number}", ["making"], answers.escaped(error))
        return
    tally.pairs += 1
    tally.tables += len(pair.paths)
    tally.origins[pair.origin] += len(pair.paths)
    if not pair.paths:
        return
    draw = number % DRAW_ONE_IN == 0
    of_paths(tally, rng, f"{number} {pair.origin}: {pair.how}", pair.paths, folder, draw=draw)


def of_paths(
    tally: Tally,
    rng: random.Random,
    origin: str,
    paths: Sequence[Path],
    folder: Path,
    *,
    draw: bool,
) -> None:
    """Run every command on one or two tables; output files go to the folder."""
    for words in questions.questions(rng, paths, folder, draw=draw):
        answer = answers.answer(words)
        tally.codes[answer.code] += 1
        for text in answer.findings:
            tally.note(origin, words, text)
