"""What did an ingest see and make, or why did it make nothing?"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.base.units import plural
from ttastats.formats.block import Block
from ttastats.formats.config import GUESSED, NOT_GUESSED
from ttastats.ingestion import registry
from ttastats.ingestion.reading import NO_LOG


class Account(Struct, frozen=True, kw_only=True):
    """What an ingest saw and made.

    `problems` are those of whole files and of runs, each with its source; `other_files` were seen
    in folders and are of no known format; `parts` belong to runs that other files tell;
    `unchanged` were taken over from the file's last ingest;
    `written` is false where that held all there is. `traces` make `profiles` where there are no
    logs beside them; the output is a profile then. `tries` are more than one where other writers
    replaced the table meanwhile, each time before this one could.
    """

    files: int
    other_files: int = 0
    runs: int = 0
    evaluations: int = 0
    problems: tuple[Problem, ...] = ()
    output: Place
    unchanged: int = 0
    written: bool = True
    parts: int = 0
    traces: int = 0
    profiles: int = 0
    tries: int = 1

    @property
    def rejected(self) -> tuple[Problem, ...]:
        """Return the problems of missing runs."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def counts(self) -> str:
        """Return the numbers of files, runs and evaluations, or profiles, in words."""
        remarks = f", {self.parts:,} more with parts of their runs" if self.parts else ""
        remarks += f", {self.other_files:,} other files" if self.other_files else ""
        if self.unchanged:
            remarks += f", {self.unchanged:,} unchanged since the last ingest"
        files, results = plural(self.traces, "trace"), plural(self.profiles, "profile")
        if not self.traces:
            files = plural(self.files - self.other_files - self.parts, "log")
            results = f"{plural(self.runs, 'run')}, {plural(self.evaluations, 'evaluation')}"
        return f"{files} read{remarks}: {results}"

    def problem_counts(self) -> dict[str, int]:
        """Return the number of problems by code, most frequent first."""
        return dict(Counter(problem.code for problem in self.problems).most_common())


class NothingReadError(TtastatsError):
    """So many files at some paths gave neither a run nor a profile, read by some blocks."""

    def __init__(
        self,
        paths: Sequence[str],
        files: int,
        parts: Sequence[str],
        blocks: Sequence[Block],
        problems: Sequence[Problem],
    ) -> None:
        self.paths, self.files, self.blocks, self.problems = paths, files, blocks, problems
        guess = f"`ttastats guess {shlex.quote(paths[0])}` says what other files are taken for."
        faults = [problem for problem in problems if problem.code not in {GUESSED, NOT_GUESSED}]
        if faults:
            worst = min(faults, key=lambda problem: problem.severity != "error")
            remedy = guess if worst.code in ("unknown_format", *NO_LOG) else None
            message, location = f"no run could be read: {worst.message}", worst.source
        elif parts:
            message, location = (
                "no run could be read: the file is part of a run in another file",
                parts[0],
            )
            remedy = "Give the folder of the run."
        else:
            reason = f"none of {files} file(s) is a log" if files else "the folder is empty"
            message, location = f"no logs found: {reason}", ", ".join(paths)
            remedy = f"Known formats: {', '.join(sorted(registry.dialects()))}.\n  {guess}"
        super().__init__(message, where=location, remedy=remedy)
