"""What is wrong with a comparison by the way its runs were made, and what follows for it?

Every check is a pure function of both designs or, at a budget, of the runs of both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import special

from ttastats.base import units
from ttastats.base.codes import CONDITIONS, wording
from ttastats.outcomes.budget import AMOUNTS, Budget
from ttastats.outcomes.scales import OFF_SCALE
from ttastats.outcomes.target import is_upwards
from ttastats.sides.design import (
    EVALUATIONS,
    TOGETHER_SECONDS,
    Design,
    Grid,
    design,
    epoch_seconds,
    in_separate_sessions,
    starts,
)
from ttastats.sides.pairing import Pair
from ttastats.stats.blocks import ByBlock
from ttastats.stats.decision import MARKS
from ttastats.stats.drift import common_trend
from ttastats.stats.results import Flag, FlagCode, Floats
from ttastats.table.schema import RUN


def findings(a: Design, b: Design, *, timed: bool = True) -> tuple[Finding, ...]:
    """Return what is wrong with a comparison by its design; `timed`: of times, not of steps."""
    made = [*of_runs(a, b), *_doubt_findings(a, b, timed=timed)]
    if (unlike := _differing_grids(a, b)) is not None:
        unit, grid_a, grid_b = unlike
        if unit == EVALUATIONS:
            how = wording("grids_differ.counts", a=1 / grid_a.share, b=1 / grid_b.share)
        else:
            a_every, b_every = (units.mean_count(grid.interval, unit) for grid in (grid_a, grid_b))
            how = wording("grids_differ.intervals", a=a_every, b=b_every)
        a_share, b_share = grid_a.share, grid_b.share
        made.append(Finding.worded("grids_differ", "allowance", how=how, a=a_share, b=b_share))
    for name, side in (("A", a), ("B", b)):
        if side.speeds:
            text = side.speeds
            made.append(Finding.worded("mixed_speeds", "condition", side=name, speeds=text))
    return tuple(made)


def conditions(a: Design, b: Design, *, timed: bool = True) -> tuple[Finding, ...]:
    """Return the findings that a claim would carry, or that forbid one."""
    odd = any(
        side.pooled or side.speeds or side.doubts or side.runs["seed"].is_duplicated().any()
        for side in (a, b)
    )
    if not odd and not _share_machine(a, b):  # most pairs of a league
        return ()
    every = findings(a, b, timed=timed)
    return tuple(each for each in every if each.effect in {"condition", "undecided"})


def of_runs(a: Design, b: Design) -> Iterator[Finding]:
    """Yield what is wrong with any comparison of two sides by their runs."""
    sides = (("A", a), ("B", b))
    for name, side in sides:
        if side.pooled:
            yield Finding.worded("pooled_setups", "condition", side=name, n=len(side.setups))
    yield from _session_findings(a, b)
    yield from _seed_findings(a, b)
    for name, side in sides:
        if side.parallel:
            yield Finding.worded("parallel_runs", side=name, seconds=TOGETHER_SECONDS)


#: Doubts about clocks, which no count of steps depends on; of a start that is estimated on both
#: sides both lack the same.
_OF_CLOCKS = frozenset({"clock_start_estimated", "clock_changed", "unusable_time"})
_ALIKE = "clock_start_estimated"


def _doubt_findings(a: Design, b: Design, *, timed: bool) -> Iterator[Finding]:
    """Yield a finding for each doubt about the reading of runs of either side."""
    for code in dict.fromkeys((*a.doubts, *b.doubts)):
        if code in _OF_CLOCKS and not timed:
            continue
        counts = [(side.doubts.get(code, 0), side.runs.height) for side in (a, b)]
        who = [
            name if n == of_all else f"{n} of {units.plural(of_all, 'run')} of {name}"
            for name, (n, of_all) in zip("AB", counts, strict=True)
            if n
        ]
        both = code == _ALIKE and all(n == of_all for n, of_all in counts)
        effect: Effect = "condition" if code in CONDITIONS and not both else "note"
        effect = "undecided" if code == OFF_SCALE else effect
        yield Finding.worded(code, effect, who=" and ".join(who))


#: Evaluation intervals that differ by less are one: logs round them to whole batches.
_SAME_INTERVAL = 1.05

#: Without a unit that both sides log, more evaluations may also be a longer training.
_SAME_COUNT = 1.5


def _differing_grids(a: Design, b: Design) -> tuple[str, Grid, Grid] | None:
    """Return the evaluation grids of both sides and their unit if they differ."""
    unit = next((name for name in a.grids if name in b.grids), None)
    if unit is None:
        return None
    grid_a, grid_b = a.grids[unit], b.grids[unit]
    intervals = [each.share if unit == EVALUATIONS else each.interval for each in (grid_a, grid_b)]
    same = _SAME_COUNT if unit == EVALUATIONS else _SAME_INTERVAL
    return (unit, grid_a, grid_b) if max(intervals) >= same * min(intervals) else None


def late(a: Design, b: Design) -> tuple[float, float]:
    """Return by which share of its mean time each side may have met the target earlier.

    A target is met at some moment of the last evaluation interval. Where both sides have the same
    intervals, that is part of the time to accuracy of both, and nothing is allowed for.
    """
    unlike = _differing_grids(a, b)
    return (unlike[1].share, unlike[2].share) if unlike else (0.0, 0.0)


#: A session ends where nothing runs for so long, for the median time of a run, and for so many
#: times the median pause between runs.
_PAUSE_SECONDS, _PAUSES = 3600.0, 3.0

#: Sides may follow sessions or seeds this much more than separate runs would.
_MOST_EFFECT = 1.2


def _session_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if sides and sessions coincide, so that their effects mix.

    Where all runs of one side came first, whatever changes with time differs between the sides:
    neither a short pause nor several sessions a side tell it from the sides. Where these are
    different machines, they cannot share a session: that is only noted.
    """
    starts_a, starts_b = starts(a.runs), starts(b.runs)
    if starts_a is None or starts_b is None:
        return
    labels = sessions(a.runs, b.runs)
    shared = set(labels[0]) & set(labels[1])
    apart, follows = in_separate_sessions(starts_a, starts_b), design_effect(*labels) > _MOST_EFFECT
    # Blocks such as days are compared within, whatever the sessions in them.
    if not apart and (a.blocked or not follows):
        return
    key, alike = "one_side_first", _share_machine(a, b)
    if follows:
        key = "separate_sessions.in_part" if shared else "separate_sessions.all"
    remedy = wording("separate_sessions.remedy") if alike else ""
    drift = _drift(a, b) if apart and alike else ""
    clusters = None if shared or a.blocked or apart else labels
    effect: Effect = "condition" if alike else "note"
    yield Finding.worded(key, effect, clusters, drift=drift, remedy=remedy)


#: A drift is said at this level, by the day where the runs took longer than so many hours.
_DRIFT_LEVEL, _DAYS = 0.01, 48.0


def _drift(a: Design, b: Design) -> str:
    """Return in words how time per epoch changes with the start within the sides, if it does."""
    if a.pace is None or b.pace is None or a.pace.unit != b.pace.unit:
        return ""
    pace = np.concatenate([a.pace.seconds, b.pace.seconds])
    hours = np.concatenate([epoch_seconds(side.runs) for side in (a, b)]) / 3600
    sides = np.repeat([0, 1], [side.runs.height for side in (a, b)])
    usual = pace > 0
    trend = common_trend(hours[usual] - hours.min(), np.log(pace[usual]), sides[usual])
    if trend is None or trend.p_value >= _DRIFT_LEVEL:
        return ""
    every, hours_of = ("an hour", 1.0) if np.ptp(hours) < _DAYS else ("a day", 24.0)
    change = math.expm1(trend.slope * hours_of)
    moves = f"{'rises' if change > 0 else 'falls'} by {units.percent(abs(change))}"
    return wording("one_side_first.drift", per=a.pace.unit, moves=moves, every=every,
                   p=trend.p_value)  # fmt: skip


def _share_machine(a: Design, b: Design) -> bool:
    """Return whether runs of both sides may have been made on one machine."""
    systems = [set(side.runs["system"].drop_nulls()) for side in (a, b)]
    return not all(systems) or bool(systems[0] & systems[1])


def _seed_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if a side has several runs of one seed, which follow each other."""
    seeds = [side.runs["seed"] for side in (a, b)]
    if a.blocked or any(each.null_count() for each in seeds):
        return
    for side, each in zip("AB", seeds, strict=True):
        runs, count = each.len(), each.n_unique()
        if count == 1 < runs:
            yield Finding.worded("one_seed", "condition", runs=runs, side=side, seed=each[0])
        elif count < runs:
            labels = (_number_seeds(seeds[0]), _number_seeds(seeds[1]))
            yield Finding.worded(
                "repeated_seeds", "condition", labels, runs=runs, side=side, n=count
            )


def paired_seeds(a: Design, b: Design) -> Clusters | None:
    """Return the seeds of both sides as blocks if both have the same ones, each once."""
    seeds_a, seeds_b = a.runs["seed"], b.runs["seed"]
    once = seeds_a.len() >= 3 and not seeds_a.null_count() and seeds_a.is_unique().all()
    same = seeds_a.sort().to_list() == seeds_b.sort().to_list()
    if a.blocked or a.pooled or b.pooled or not (once and same):
        return None
    return (_number_seeds(seeds_a), _number_seeds(seeds_b))


def sessions(a: pl.DataFrame, b: pl.DataFrame) -> Clusters:
    """Return the session of each run by its start; a pause in which nothing runs ends a session."""
    starts = np.concatenate([epoch_seconds(runs) for runs in (a, b)])
    lengths = pl.concat([a["run_seconds"], b["run_seconds"]]).fill_null(strategy="zero").to_numpy()
    order = np.argsort(starts, kind="stable")
    ends = np.maximum.accumulate(starts[order] + lengths[order])
    pauses = starts[order][1:] - ends[:-1]
    least = max(_PAUSE_SECONDS, float(np.median(lengths)), _PAUSES * float(np.median(pauses)))
    labels = np.zeros(starts.size, dtype=np.intp)
    labels[order[1:]] = np.cumsum(pauses > least)
    return labels[: a.height], labels[a.height :]


def design_effect(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """Return how much clusters inflate the variance of the difference of two means.

    The ratio of sum((a_i/n_a - b_i/n_b)^2) over the clusters i to 1/n_a + 1/n_b: 0 where each
    cluster has the same share of both sides, 1 where each run has one of its own, and m where
    clusters of m runs belong to one side each (Kish 1965, section 8.2, for means of clusters).
    """
    count = int(max(a.max(), b.max())) + 1
    shares = np.bincount(a, minlength=count) / a.size - np.bincount(b, minlength=count) / b.size
    return float((shares**2).sum() / (1 / a.size + 1 / b.size))


def _number_seeds(seeds: pl.Series) -> NDArray[np.intp]:
    return (seeds.rank("dense") - 1).to_numpy().astype(np.intp)


#: Places of evaluations that differ by less of the interval there are one place.
_SAME_PLACE = 0.05

#: The best of so many times the evaluations is better by little more than chance.
_SAME_LOOKS = 1.25


def at_budget(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> tuple[Finding, ...]:
    """Return what limits a comparison of values at a budget, of sides of `at_budget.runs`."""
    findings = [*of_runs(design(a), design(b))]
    if a.height and b.height:
        findings += _position_findings(a, b, budget)
        places_a, places_b = (float(np.median(runs["quality_seen"].to_numpy())) for runs in (a, b))
        if budget.best and max(places_a, places_b) >= _SAME_LOOKS * min(places_a, places_b):
            findings.append(Finding.worded("looks_differ", "undecided", a=places_a, b=places_b))
        elif (
            budget.best
            and (of_a := _optimism(a)) is not None
            and (of_b := _optimism(b)) is not None
        ):
            a_mean, b_mean = float(of_a.mean()), float(of_b.mean())
            findings.append(Finding.worded("optimism_differs", "allowance", a=a_mean, b=b_mean))
    return tuple(findings)


def _position_findings(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> Iterator[Finding]:
    """Yield a finding if values at a budget are of evaluations elsewhere."""
    if budget.amount is None:
        return
    if budget.unit == "seconds" and not budget.interpolate:
        if every := [units.seconds(each) for each in _unlike_seconds(a, b)]:
            each = f"A every {every[0]}, B every {every[1]}"
            yield Finding.worded("grids_differ.budget", "allowance", each=each)
        return
    places = np.concatenate([runs["taken_at"].to_numpy() for runs in (a, b)])
    if evaluated_there(a, budget.amount) and evaluated_there(b, budget.amount):
        return
    if budget.interpolate:
        yield Finding.worded("interpolated", "allowance")
    elif np.ptp(places) <= _SAME_PLACE * min(
        _median_interval(runs) or budget.amount for runs in (a, b)
    ):
        where = units.mean_count(float(places.mean()), AMOUNTS[budget.unit])
        yield Finding.worded("earlier_values", at=budget.place, where=where)
    else:
        each = f"A {places_taken(a, budget)}, B {places_taken(b, budget)}"
        remedy = common_budgets([a, b], budget)
        yield Finding.worded("not_evaluated", "undecided", each=each, remedy=remedy)


def evaluated_there(runs: pl.DataFrame, amount: float) -> bool:
    """Return whether all runs were evaluated exactly at the amount of a budget."""
    most = _SAME_PLACE * (_median_interval(runs) or amount)
    return bool(((amount - runs["taken_at"]) <= most).all())


def places_taken(runs: pl.DataFrame, budget: Budget) -> str:
    """Return where runs were last evaluated up to a budget: `at 400 steps`."""
    ends = runs["taken_at"].unique().sort()
    least, most = (
        units.mean_count(float(end), AMOUNTS[budget.unit]) for end in (ends[0], ends[-1])
    )
    return f"at {least}" if least == most else f"at {least} to {most}"


def common_budgets(sides: Sequence[pl.DataFrame], budget: Budget) -> str:
    """Return the budgets near this one at which all runs were evaluated, as advice."""
    every = pl.concat([runs.select("places") for runs in sides], how="vertical_relaxed")
    rounded = pl.col("places").list.eval(pl.element().round_sig_figs(9)).list.unique()
    counts = every.select(rounded).explode("places").drop_nulls()["places"].value_counts()
    common = counts.filter(pl.col("count") == every.height)["places"].sort()
    amount = budget.amount
    near = [*common.filter(common < amount)[-1:], *common.filter(common > amount)[:1]]
    if not near:
        return "no budget is common to all runs, but --interpolate takes values between evaluations"
    options = [replace(budget, amount=place) for place in near]
    where = " and ".join(f"{option.place} ({option.option})" for option in options)
    return f"all runs were evaluated {where}; --interpolate takes values between evaluations"


def _median_interval(runs: pl.DataFrame) -> float | None:
    known = runs["taken_interval"].drop_nulls().to_numpy()
    return float(np.median(known)) if known.size else None


def _unlike_seconds(a: pl.DataFrame, b: pl.DataFrame) -> list[float]:
    """Return the evaluation intervals of both sides in seconds if they differ, else none."""
    intervals = [each for runs in (a, b) if (each := _median_interval(runs)) is not None]
    unlike = len(intervals) == 2 and max(intervals) >= _SAME_INTERVAL * min(intervals)
    return intervals if unlike else []


def slack(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> tuple[float, float]:
    """Return by how much the ends of B minus A may be too high and too low.

    Of values known by a time, each side's mean may be any up to that of the next evaluation. Of
    interpolated ones it may be any up to the nearer of two lines, through the two evaluations
    before the budget and the two after it: a curve that bends one way lies between them. The best
    of noisier evaluations is better by chance.
    """
    if not a.height or not b.height:
        return 0.0, 0.0
    if budget.best:
        upwards = -1.0 if is_upwards(a, b) else 1.0
        of_a, of_b = (_optimism(runs) for runs in (a, b))
        if of_a is None or of_b is None:
            return 0.0, 0.0
        gap = upwards * (of_b.mean() - of_a.mean())
        # The noise is itself estimated from few runs.
        gap += math.copysign(math.hypot(_error_of_mean(of_a), _error_of_mean(of_b)), gap)
        return min(gap, 0.0), max(gap, 0.0)
    if budget.amount is None:
        return 0.0, 0.0
    if budget.interpolate:
        moves = [bend(runs) for runs in (a, b)]
    elif budget.unit == "seconds" and _unlike_seconds(a, b):
        moves = [_column_mean(runs, "quality_change") for runs in (a, b)]
    else:
        return 0.0, 0.0
    known = [move for move in moves if move is not None]
    if len(known) < len(moves):
        return -math.inf, math.inf
    move_a, move_b = known
    return min(move_b, 0.0) - max(move_a, 0.0), max(move_b, 0.0) - min(move_a, 0.0)


def _optimism(runs: pl.DataFrame) -> Floats | None:
    """Return by how much the best of each run's evaluations is too good by chance.

    The largest of m independent normal values lies so many deviations above their mean
    (Blom 1958). None where runs have too few evaluations to tell their noise.
    """
    noise, near = (runs[name].cast(pl.Float64) for name in ("quality_noise", "quality_near"))
    if noise.null_count():
        return None
    above: Floats = special.ndtri((near.to_numpy() - 0.375) / (near.to_numpy() + 0.25))
    return noise.to_numpy() * above


def _error_of_mean(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


def bend(runs: pl.DataFrame) -> float | None:
    """Return how far the mean of interpolated values is from the nearer line of `slack`, if any."""
    known = [_column_mean(runs, name) for name in ("bend_before", "bend_after")]
    return min((move for move in known if move is not None), key=abs, default=None)


def _column_mean(runs: pl.DataFrame, name: str) -> float | None:
    values = runs[name].drop_nulls().to_numpy()
    return float(values.mean()) if values.size else None


def failure_clues(pairs: Sequence[Pair], place: int, side: Literal["a", "b"]) -> Iterator[Flag]:
    """Yield what beside the runs of one side of a pair says that further ones may fail.

    Other runs of its table that failed on the same benchmark, and runs that are missing, unreadable
    or interrupted. Failures on other benchmarks say nothing: of published entries whose system has
    some, as many have failures as of the others.
    """
    name, index, pair = side.upper(), "ab".index(side), pairs[place]
    own: pl.DataFrame = getattr(pair, side)
    others = [
        getattr(each, side).select(*RUN, "reached")
        for number, each in enumerate(pairs)
        if number != place
        and each.labels[index] == pair.labels[index]
        and each.keys.get("benchmark") == pair.keys.get("benchmark")
    ]
    if others and not all(runs["reached"].all() for runs in others):
        rest = pl.concat(others).unique(RUN).join(own, on=RUN, how="anti", nulls_equal=True)
        if failed := rest.height - rest["reached"].sum():
            yield flag("failures_likely.others", side=name, failed=failed, n=rest.height)
    if lost := str(getattr(pair.lost, side)):
        yield flag("failures_likely.lost", side=name, lost=lost)


#: What numbers the session or the seed of each run of A and of B.
Clusters = tuple[NDArray[np.intp], NDArray[np.intp]]

Effect = Literal["undecided", "allowance", "condition", "note"]

#: The finding that a reader must not overlook, and is shown in red.
POOLED: FlagCode = "pooled_setups"


def flag(key: str, **fields: object) -> Flag:
    """Return the flag for a key of the table of codes."""
    return Flag(cast("FlagCode", key.partition(".")[0]), wording(key, **fields))


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a comparison by its design: a code, and a message for a note.

    `effect`: no claim can be made (`undecided`), the interval that decides is wider by it
    (`allowance`), a claim carries the finding behind its word (`condition`), or is made as it is
    (`note`). Codes of all but the last have a text in `CONDITIONS`.
    `clusters` number the sessions or seeds that runs of each side share, where a verdict by these
    may do without the condition.
    """

    code: FlagCode
    message: str
    effect: Effect = "note"
    clusters: Clusters | None = field(default=None, compare=False)

    @classmethod
    def worded(
        cls, key: str, effect: Effect = "note", clusters: Clusters | None = None, **fields: object
    ) -> Finding:
        """Return the finding for a key of the table of codes."""
        worded = flag(key, **fields)
        return cls(worded.code, worded.message, effect, clusters)

    @property
    def flag(self) -> Flag:
        """Return the flag of the finding for a row."""
        return Flag(self.code, self.message)


def condition_names(codes: Iterable[str]) -> str:
    """Return the short names of those codes that are conditions of a verdict."""
    return ", ".join(dict.fromkeys(CONDITIONS[code] for code in codes if code in CONDITIONS))


#: What has to be true for a claim with a mark.
_IFS: dict[str, str] = {
    "constant_epochs": "the number of epochs is constant (†)",
    "no_stragglers": "no further run fails or straggles (‡)",
}


def condition_text(codes: Sequence[str], join: str = " and ") -> str:
    """Return under what a claim holds: `if the number of epochs is constant (†)`."""
    words = {code: CONDITIONS[code] for code in codes if code in CONDITIONS}
    ifs = [_IFS[code] for code in _IFS if code in codes]
    ifs += [text.removeprefix("if ") for text in words.values() if text.startswith("if ")]
    names = ", ".join(text for text in words.values() if not text.startswith("if "))
    text = f"if {join.join(ifs)}" if ifs else "with a condition"
    return f"{text} ({names})" if names else text


def marks(codes: Sequence[str]) -> str:
    """Return the marks of conditions; those without one of their own share a star."""
    known = {str(code): mark for code, mark in MARKS.items()}
    return "".join(dict.fromkeys(known.get(code, "*") for code in codes))


def adjusted_alike(
    p: float | None, p_value: float | None, p_adjusted: float | None
) -> float | None:
    """Return another p of a contrast, adjusted by the factor that its p value was."""
    if p is None or not p_value or p_adjusted is None:
        return p
    return min(1.0, p * p_adjusted / p_value)


def these_blocks(
    by_block: ByBlock | None, p_value: float | None, p_adjusted: float | None, alpha: float
) -> Iterator[Finding]:
    """Yield a finding if a verdict within these blocks may not hold for other blocks.

    `p_value` is that of the verdict, `p_adjusted` the same among other comparisons.
    """
    p = adjusted_alike(by_block.p_over_blocks() if by_block else None, p_value, p_adjusted)
    if p is None or p >= alpha:
        count = f"{len(by_block.differences)} blocks" if by_block else "these blocks"
        key = "these_blocks" if p is None else "these_blocks.tested"
        yield Finding.worded(key, "condition", blocks=count, p=p)
