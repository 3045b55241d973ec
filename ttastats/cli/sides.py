"""The sides of a comparison and how it is made, for all commands that compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError
from ttastats.cli import complete
from ttastats.cli.options import Confidence, Ddof, confidence_level

if TYPE_CHECKING:
    from ttastats.sides.options import Options
    from ttastats.sides.question import Source


@dataclass(frozen=True)
class PartOptions:
    """Which runs are set against which."""

    a: list[str] | None = typer.Option(
        None,
        "--a",
        metavar="CONDITION",
        autocompletion=complete.conditions,
        help="Select side A from one file: system=dgx2. Repeatable.",
    )
    b: list[str] | None = typer.Option(
        None,
        "--b",
        metavar="CONDITION",
        autocompletion=complete.conditions,
        help="Select side B from the same file. Repeatable.",
    )

    def of(self, files: Sequence[str], *, one_will_do: bool = False) -> list[Source]:
        """Return the tables to compare: several files, or two parts of one."""
        from ttastats.outcomes.conditions import parse_all
        from ttastats.sides.question import Selection

        if self.a or self.b:
            if len(files) != 1 or not (self.a and self.b):
                raise TtastatsError(
                    "--a and --b select two parts of one file",
                    remedy="Give one file and both options, or two files and neither.",
                )
            conditions = (parse_all(self.a, "--a"), parse_all(self.b, "--b"))
            return [Selection(files[0], each) for each in conditions]
        if len(files) < 2 and not one_will_do:
            raise TtastatsError(
                "only one file to compare",
                where=files[0],
                remedy="Give a second file, or select two parts: --a 'system=...' --b 'system=...'",
            )
        return [*files]


@dataclass(frozen=True)
class SideOptions(PartOptions):
    """Which runs are set against which, by what name and how matched."""

    labels: list[str] | None = typer.Option(
        None,
        "--label",
        metavar="NAME",
        help="Name of a side, in the order of the files. Repeatable.",
    )
    pool: bool = typer.Option(
        False, "--pool", help="Pool all runs of a benchmark, even if the hardware differs."
    )


@dataclass(frozen=True)
class ProfileOptions:
    """Profiles of the two systems, which say what part of a step a throughput came from."""

    profile_a: list[Path] | None = typer.Option(
        None,
        "--profile-a",
        metavar="PATH",
        help="Profile of A; needs --profile-b. Attributes the throughput ratio to parts of a "
        "step. Several profiles (repeat, or a folder) estimate the noise. Without runs, "
        "only the profiles are compared.",
        show_default=False,
    )
    profile_b: list[Path] | None = typer.Option(
        None, "--profile-b", metavar="PATH", help="Profile of B. Repeatable.", show_default=False
    )

    def both(self) -> tuple[Sequence[Path], Sequence[Path]] | None:
        """Return the profiles of A and of B, if there are any."""
        if self.profile_a and self.profile_b:
            return self.profile_a, self.profile_b
        if self.profile_a or self.profile_b:
            lacking = "--profile-b" if self.profile_a else "--profile-a"
            raise TtastatsError("profiles were given for one side only", remedy=f"Add {lacking}.")
        return None

    def alone(self, files: Sequence[str]) -> tuple[Sequence[Path], Sequence[Path]] | None:
        """Return the profiles of A and of B where no runs are named.

        Raises
        ------
        TtastatsError
            There is nothing to compare, or a profile stands among runs.
        """
        from ttastats.ingestion.profiled import is_profile

        both = self.both()
        if not files and both is None:
            raise TtastatsError(
                "nothing to compare", remedy="Give two files: ttastats compare a.parquet b.parquet"
            )
        if not files:
            return both
        profiles = [path for path in map(Path, files) if is_profile(path)]
        if len(profiles) == len(files) == 2:
            return profiles[:1], profiles[1:]
        if profiles:
            raise TtastatsError(
                "is a profile, but other files are runs",
                where=str(profiles[0]),
                remedy="Pass it as --profile-a or --profile-b.",
            )
        return None


@dataclass(frozen=True)
class Judging:
    """How a comparison is made, and when it fails."""

    margin: str = typer.Option(
        "",
        "--margin",
        metavar="MARGIN",
        help="Equivalence margin, such as 1%; with --at or --at-end in the unit of the quality.",
    )
    estimand: Literal["mean", "geomean"] = typer.Option(
        "mean", "--estimand", help="Mean of the times to compare."
    )
    same_convergence: bool = typer.Option(
        False,
        "--same-convergence",
        help="Assume equal epochs to the target; compare time per epoch.",
    )
    epochs_fixed: bool = typer.Option(
        False,
        "--epochs-fixed",
        help="Declare that the number of epochs to the target is constant by design.",
    )
    fdr: bool = typer.Option(False, "--fdr", help="Adjust p by Benjamini-Hochberg instead of Holm.")
    sequential: bool = typer.Option(
        False,
        "--sequential",
        help="Runs are added until the result is decided; interval and verdict stay valid "
        "under repeated looks.",
    )
    max_runs: int | None = typer.Option(
        None,
        "--max-runs",
        metavar="N",
        help="With --sequential: maximum runs per side, fixed before the first look.",
        show_default="20",
    )
    ddof: Ddof = 1
    confidence: Confidence = ""
    fail_on: str = typer.Option(
        "",
        "--fail-on",
        metavar="slower:PERCENT",
        help="Regression gate: exit 3 if B is shown to be more than 2% slower than A, or "
        "lacks a benchmark of A: slower:2%. With --at or --at-end: worse:0.001.",
        show_default=False,
    )
    require: str = typer.Option(
        "",
        "--require",
        metavar="not-slower:PERCENT",
        help="Non-inferiority gate: exit 3 unless B is shown to be at most 2% slower than A: "
        "not-slower:2%. With --at or --at-end: not-worse:0.001.",
        show_default=False,
    )

    def options(self) -> Options:
        """Return how a comparison is made from what the options say."""
        from ttastats.sides.looks import MAX_RUNS
        from ttastats.sides.options import Options

        if self.max_runs is not None and not self.sequential:
            raise TtastatsError(
                "needs --sequential",
                where=f"--max-runs {self.max_runs}",
                remedy="Add --sequential, or remove --max-runs.",
            )
        return Options(
            ddof=self.ddof,
            margin=percentages.fraction(self.margin, "--margin") if self.margin else 0.01,
            estimand=self.estimand,
            same_convergence=self.same_convergence,
            epochs_fixed=self.epochs_fixed,
            fdr=self.fdr,
            confidence=confidence_level(self.confidence),
            max_runs=(self.max_runs if self.max_runs is not None else MAX_RUNS)
            if self.sequential
            else None,
        )
