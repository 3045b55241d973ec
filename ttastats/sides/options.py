"""How is a question asked: its keywords, and how a comparison is made and shown?

Docstrings of keywords name the options of the command line, as `ttastats.cli.options` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ttastats.base import arguments
from ttastats.base.errors import TtastatsError, raise_if, suggestion

if TYPE_CHECKING:
    from polars import Expr

    from ttastats.outcomes.budget import Budget
    from ttastats.stats.outcomes import Estimand
else:
    Expr = Any  # polars costs start-up time

#: What is asked where nobody says otherwise: the confidence of intervals and verdicts, the level of
#: the one-sided test of a claim, the power of a plan, and the divisor of a standard deviation.
CONFIDENCE, LEVEL, POWER, DDOF = 0.95, 0.05, 0.8, 1

#: The price of an hour, a number or a column: one, or one for each side.
Prices: TypeAlias = str | float | Sequence[str | float]
#: Conditions: texts, expressions of polars, or the values of columns.
Where: TypeAlias = str | Expr | Sequence[str | Expr] | Mapping[str, Any]
#: Quality targets: one, one for each metric, or by metric.
Targets: TypeAlias = str | float | Sequence[str | float] | Mapping[str, str | float]
#: A budget: in a text, or by its unit.
At: TypeAlias = str | Mapping[str, float]


class GroupKeywords(TypedDict, total=False):
    """Keywords of a question about groups of runs.

    --by COLUMNS: Comma-separated columns to group by.
    --where, -w CONDITION: Filter runs: benchmark=bert,rgat, accelerators>=8, entry=adam*,
        reached=no; or rows of the answer: cv>10%. Repeatable.
    --in UNIT: Count seconds, epochs, steps, samples, evaluations, cost, cpu-seconds or energy.
        [default: (seconds if logged)]
    --clock CLOCK: total, or training: seconds without evaluation. [default: (total)]
    --price PRICE: For --in cost: dollars per hour, or a column; repeated, one for each side.
        [default: (cost_per_hour)]
    --censor-stopped: Count stopped runs as right-censored where they stopped (not in MLPerf logs).
    """

    by: Sequence[str]
    where: Where
    unit: str
    clock: str
    price: Prices
    censor_stopped: bool


class TargetKeywords(GroupKeywords, total=False):
    """Keywords of a question that may have a target of its own.

    --target TARGET: Another quality target: 0.75, top1_accuracy=75% or eval_loss<=0.9. Repeatable.
    """

    target: Targets


class SideKeywords(TypedDict, total=False):
    """Keywords of the sides of a comparison.

    --label LABEL: Name of a side, in the order of the files (repeatable), or once the column or
        setting whose values name the sides.
    --pool: Pool all runs of a benchmark, even if sizes, divisions or hardware differ.
    """

    labels: Sequence[str]
    pool: bool


class ComparisonKeywords(TargetKeywords, SideKeywords, total=False):
    """Keywords of a question about sides; the last three are those of `Options`."""

    options: Options | Mapping[str, Any]
    confidence: float | None
    margin: float | None
    epochs_fixed: bool | None


class BudgetKeywords(TypedDict, total=False):
    """Keywords of a question about the quality at a budget.

    --at-end: Compare the quality at the end of each run, not the time to a target.
    --at BUDGET: Compare the quality at step=3325, epoch=10, samples=1e6 or seconds=600.
    --best: With --at or --at-end: the best quality so far, not the last.
    --interpolate: With --at: interpolate linearly between evaluations.
    --metric METRIC: With --at or --at-end: the quality metric, if there are several.
    """

    at_end: bool
    at: At
    best: bool
    interpolate: bool
    metric: str


class GroupBudgetKeywords(TargetKeywords, BudgetKeywords, total=False):
    """Keywords of a question about groups of runs, or about their quality at a budget."""


class ComparisonBudgetKeywords(ComparisonKeywords, BudgetKeywords, total=False):
    """Keywords of a question about sides, or about their quality at a budget."""


#: Conditions of a gate: one, several that must all be met, or none.
Conditions: TypeAlias = str | Sequence[str]
Gates: TypeAlias = Conditions | None


def several(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple; a plain text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def usual(kind: Any) -> dict[str, Any]:
    """Return the default values of the fields of a class."""
    return {field.name: field.default for field in fields(kind)}


def _take_fields(instance: Any) -> None:
    """Check each field of an object, and set it as functions compute with it."""
    defaults = usual(type(instance))
    with arguments.named_in_python():
        values = {name: getattr(instance, name) for name in defaults}
        for name, value in arguments.taken(values, usual=defaults).items():
            object.__setattr__(instance, name, value)


@dataclass(frozen=True)
class Options:
    """How a comparison is made.

    `margin` is the difference (a fraction) that does not matter. `estimand` chooses the mean of
    times. `same_convergence` asserts that both sides need the same epochs, as equal recipes do;
    `epochs_fixed` that a side's epochs cannot vary. `fdr` controls the false discovery rate
    (Benjamini-Hochberg) in place of any false claim (Holm). `seed` is that of random splits.
    `max_runs` plans looks after every run a side up to so many: interval and verdict hold at each.
    """

    ddof: int = DDOF
    margin: float = 0.01
    estimand: Estimand = "mean"
    same_convergence: bool = False
    epochs_fixed: bool = False
    fdr: bool = False
    confidence: float = CONFIDENCE
    seed: int = 0
    max_runs: int | None = None

    def __post_init__(self) -> None:
        """Check each value, and take percentages in texts."""
        _take_fields(self)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: more columns, a strip of dots per side, claims about a margin.

    `same`: the sides are sets of runs of one setup, and rows tell how much sessions vary.
    """

    wide: bool = False
    strips: bool = False
    margin_claims: bool = False
    named: InitVar[bool] = True  # sentences name the sides now: taken in 0.1 for what it was
    same: bool = False

    def __post_init__(self, named: bool) -> None:
        """Check each value."""
        _take_fields(self)


def options_of(name: str, value: Any) -> Options:
    """Take options of a comparison, which may be a mapping."""
    if isinstance(value, Options):
        return value
    field_names = Options.__annotations__
    if not isinstance(value, Mapping):
        raise arguments.refusal(name, value, "Give tta.Options(...) or a mapping of its fields.")
    for field in value:
        if field not in field_names:
            remedy = suggestion(str(field), field_names, "Options")
            raise TtastatsError(f"unknown option {field!r}", where=f"{name}=", remedy=remedy)
    return Options(**value)


def view_of(name: str, value: Any) -> View:
    """Take what is shown."""
    if isinstance(value, View):
        return value
    raise arguments.refusal(name, value, "Give tta.View(...).")


USUAL = Options()
_WHOLE = "cannot be combined with --same, which compares whole sessions"
_INVALID = "no sequentially valid interval is available"
_LOOKS = "Fix the number of runs in advance and remove --sequential, or remove {}."
_LENGTH = "Remove one of them: a budget fixes the length of the runs."
_METRIC = "Use the metric itself at a budget: {at} --metric {metric}."
_QUALITY = "Remove one of them: at a budget, qualities are compared, not times."
#: Options that exclude each other, what is wrong with both, and what to do instead.
_EXCLUDED = (
    ("--same", "--block", _WHOLE, "Remove one of the two."),
    ("--same", "--sequential", _WHOLE, "Remove one of the two."),
    ("--same", "--profile-a", _WHOLE, "Remove one of the two."),
    ("--sequential", "--same-convergence", _INVALID, _LOOKS.format("--same-convergence")),
    ("--sequential", "{at}", _INVALID, _LOOKS.format("{at}")),
    ("--sequential", "--also", _INVALID, _LOOKS.format("--also")),
    ("--same-convergence", "{at}", "--same-convergence applies to times to a target", _LENGTH),
    ("--epochs-fixed", "{at}", "--epochs-fixed applies to times to a target", _LENGTH),
    ("--also {also}", "{at}", "--also applies to times to a target", _METRIC),
    ("--profile-a", "{at}", "profiles apply to times to a target", _QUALITY),
)


def refuse_excluded(
    options: Options,
    budget: Budget | None,
    also: Sequence[str] = (),
    block: Sequence[str] = (),
    *,
    same: bool = False,
    profiles: bool = False,
) -> None:
    """Refuse options that exclude each other, before a table is read."""
    values = {
        "--same": same, "--profile-a": profiles, "--block": block, "{at}": budget,
        "--also": also, "--sequential": options.max_runs is not None,
        "--same-convergence": options.same_convergence, "--epochs-fixed": options.epochs_fixed,
    }  # fmt: skip
    texts = {
        "at": budget.option if budget else "",
        "also": ",".join(also),
        "metric": "".join(also[:1]),
    }
    for first, second, problem, remedy in _EXCLUDED:
        are_combined = values[first.split()[0]] and values[second]
        raise_if(are_combined, problem, f"{first} {second}".format(**texts), remedy.format(**texts))
