"""The sides of a comparison and how it is made, for all commands that compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ttastats.base.errors import TtastatsError, raise_if
from ttastats.sides.options import Options

if TYPE_CHECKING:
    from ttastats.sides.question import Source


class Parts(TypedDict, total=False):
    """Conditions on the runs of each side, where both stand in one file.

    --a CONDITION: Select side A from one file: system=dgx2. Repeatable.
    --b CONDITION: Select side B from the same file. Repeatable.
    """

    a: Sequence[str]
    b: Sequence[str]


def sources(files: Sequence[str], parts: Parts, *, one_will_do: bool = False) -> list[Source]:
    """Return the tables to compare: several files, or two parts of one."""
    from ttastats.outcomes.select import parse_all  # polars costs start-up time
    from ttastats.sides.question import Selection

    if parts:
        whole = len(files) == 1 and len(parts) == 2
        remedy = "Give one file and both options, or two files and neither."
        raise_if(not whole, "--a and --b select two parts of one file", None, remedy)
        conditions = (parse_all(parts.get("a", ()), "--a"), parse_all(parts.get("b", ()), "--b"))
        return [Selection(files[0], each) for each in conditions]
    if len(files) < 2 and not one_will_do:
        raise TtastatsError(
            "only one file to compare",
            where=files[0],
            remedy="Give a second file, or select two parts: --a 'system=...' --b 'system=...'",
        )
    return [*files]


class Judging(TypedDict, total=False):
    """How a comparison is made.

    --margin MARGIN: Equivalence margin, such as 1%; at a budget in the unit of the quality.
    --estimand: Mean of the times to compare.
    --same-convergence: Assume equal epochs to the target; compare time per epoch.
    --epochs-fixed: Declare that the epochs to the target are constant by design.
    --fdr: Adjust p by Benjamini-Hochberg instead of Holm.
    --sequential: Runs are added until the result is decided: valid at every look.
    --max-runs N: With --sequential: most runs per side, fixed in advance. [default: (20)]
    """

    margin: float
    estimand: Literal["mean", "geomean"]
    same_convergence: bool
    epochs_fixed: bool
    fdr: bool
    sequential: bool
    max_runs: int | None
    ddof: int
    confidence: float


class Gates(TypedDict, total=False):
    """When a comparison fails.

    --fail-on slower:PERCENT: Exit 3 if B is shown to be more than 2% slower: slower:2%, or lacks a
        benchmark of A; at a budget worse:0.001.
    --require not-slower:PERCENT: Exit 3 unless B is shown to be at most 2% slower: not-slower:2%;
        at a budget not-worse:0.001.
    """

    fail_on: str
    require: str


def options(judging: Judging) -> Options:
    """Return how a comparison is made from what the options say."""
    from ttastats.sides.looks import MAX_RUNS  # polars costs start-up time

    given: dict[str, Any] = {**judging}
    sequential, most = given.pop("sequential", False), given.get("max_runs")
    alone, remedy = most is not None and not sequential, "Add --sequential, or remove --max-runs."
    raise_if(alone, "needs --sequential", f"--max-runs {most}", remedy)
    if sequential:
        given.setdefault("max_runs", MAX_RUNS)
    return Options(**given)


def refuse_of_runs(options: Iterable[str], but: Sequence[str] = ("--confidence",)) -> None:
    """Raise an error for options about runs that are given for profiles."""
    what = "applies to runs, but the files are profiles"
    for option in options:
        raise_if(option not in but, what, option, "Remove it, or give tables of runs.")
