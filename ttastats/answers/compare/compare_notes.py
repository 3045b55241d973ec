"""The footnotes of a comparison and its closing sentence: what to make of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ttastats.answers.compare.verdicts import finding, is_alone
from ttastats.base import units
from ttastats.base.note import Note
from ttastats.outcomes.axis import SECONDS
from ttastats.sides.comparison import Comparison
from ttastats.sides.options import Options
from ttastats.stats.permutation import smallest_p
from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.results import Ratio
from ttastats.stats.sequential import FIRST_LOOK
from ttastats.stats.speedup import confidence_of
from ttastats.stats.verdict import Verdict

CONSTANT, FAILED = "ᵉ", "ᶠ"


@dataclass(frozen=True, slots=True)
class Shown:
    """A comparison with its row for programs and the name its group has in this report.

    `marked`: its claim is shown, with the marks of its conditions.
    """

    one: Comparison
    row: Mapping[str, Any]
    name: str
    marked: bool = True


def marks(one: Comparison) -> str:
    """Give the footnote marks of one benchmark's speedup."""
    found = one.speedup
    constant = found is not None and found.unseen_epochs and found.ratio.low is not None
    return (CONSTANT if constant else "") + (FAILED if one.estimand == "ert" else "")


def notes(
    shown: Sequence[Shown], options: Options, unmatched: Sequence[str], has_mean: bool
) -> list[Note]:
    """Give the footnotes, each said once however many benchmarks it concerns."""
    candidates = (
        _no_throughput(shown),
        _multiplicity(shown, options),
        _estimand(shown),
        _sequential(shown, options),
        _undecided(shown, options),
        _constant_epochs(shown),
        _stragglers(shown, options),
        _assumption(shown, options),
        _failures(shown),
        _no_success(shown),
        _same_convergence(shown),
        _batch_sizes(shown),
        _unsteady(shown),
        *_statistical(shown),
        _exact_limit(shown, options),
        _plans(shown),
        _unmatched(unmatched, has_mean),
    )
    return [note for note in candidates if note is not None]


def _no_throughput(shown: Sequence[Shown]) -> Note | None:
    axis = shown[0].one.axis if shown else SECONDS
    if not axis.progress:
        return None
    text = f"this compares {axis.to_target}, not time, so no throughput is shown."
    return Note("no_throughput", text)


def _names(shown: Iterable[Shown]) -> str:
    return ", ".join(dict.fromkeys(each.name for each in shown))


def _multiplicity(shown: Sequence[Shown], options: Options) -> Note | None:
    tested = sum(each.one.p_value is not None for each in shown)
    if tested < 2:
        return None
    code, text = "holm", f"p: Holm over {tested} comparisons."
    if options.fdr:
        code, text = "fdr", f"p: Benjamini-Hochberg over {tested} comparisons (--fdr)."
    alone = [each for each in shown if is_alone(each.row, tested, options.confidence)]
    if alone:
        text += (
            f" {_names(alone)}: undecided although the interval excludes 1, because an interval is "
            f"for its comparison alone and the verdict uses p, adjusted for all {tested}."
        )
    return Note(code, text)


def _estimand(shown: Sequence[Shown]) -> Note | None:
    if not any(each.one.estimand == "geomean" for each in shown):
        return None
    where = "" if all(each.one.estimand == "geomean" for each in shown) else ", where no run failed"
    ratios = "speedups are ratios" if shown[0].one.axis.is_time else "ratios are those"
    return Note("geomean", f"{ratios} of geometric means{where} (--estimand geomean).")


def _sequential(shown: Sequence[Shown], options: Options) -> Note | None:
    """Say what may be repeated, until when, and what that costs."""
    if options.max_runs is None:
        return None
    text = (
        f"--sequential: intervals, p and verdicts are valid at every look from {FIRST_LOOK} to "
        f"{options.max_runs} runs per side, if this maximum was fixed before the first look."
    )
    said = []
    for each in shown:
        found = each.one.speedup
        if found is None or found.look is None or found.ratio.df is None:
            continue
        level = confidence_of(options.confidence, found.look)
        wider = two_sided_t(found.ratio.df, level) / two_sided_t(found.ratio.df, options.confidence)
        said.append(f"{each.name} {wider:.2f} times as wide at {found.look.n}")
    if said:
        text += f" They are wider than for a fixed number of runs: {', '.join(said)}."
    return Note("sequential", text)


def _undecided(shown: Sequence[Shown], options: Options) -> Note | None:
    undecided = [each for each in shown if each.row["verdict"] == "undecided"]
    if not undecided:
        return None
    by_design = [each for each in undecided if each.row["why"]]
    meanings = []
    if len(by_design) < len(undecided):
        meanings.append(f"not significant at {100 * (1 - options.confidence):.3g}%")
    if by_design:
        meanings.append(f"not decided: {_by_reason(by_design)}")
    text = f"~ {', or '.join(meanings)}. That does not show equality; see --margin."
    if options.max_runs is not None and any(_goes_on(each) for each in shown):
        text += " Add one run to each side, alternating, and compare again."
    return Note("undecided", text)


def _goes_on(each: Shown) -> bool:
    look = each.one.speedup.look if each.one.speedup else None
    return each.row["verdict"] == "undecided" and look is not None and look.n < look.most


def _constant_epochs(shown: Sequence[Shown]) -> Note | None:
    marked = [each for each in shown if CONSTANT in marks(each.one)]
    if not marked:
        return None
    unlogged = [
        each for each in marked if any(flag.code == "unknown_epochs" for flag in each.one.flags)
    ]
    constant = [each for each in marked if each not in unlogged]
    parts = []
    if constant:
        said = "; ".join(f"{each.name} {_epoch_safe(each.row)}" for each in constant)
        parts.append(
            "all runs of a side needed the same number of epochs, so the interval ignores that "
            "epochs may vary. The epoch-safe CI allows for one evaluation interval more or less: "
            f"{said}."
        )
    if unlogged:
        parts.append(
            f"progress is not logged, so it is unknown whether epochs vary ({_names(unlogged)})."
        )
    if any(each.marked and "constant_epochs" in each.row["conditions"] for each in marked):
        parts.append(
            "† holds only if the number of epochs to the target is constant (--epochs-fixed)."
        )
    return Note("constant_epochs", " ".join(parts), CONSTANT)


def _epoch_safe(row: Mapping[str, Any]) -> str:
    low, high = row["epoch_safe_low"], row["epoch_safe_high"]
    if low is None or high is None:
        return "unknown: the logs hold only one evaluation"
    outcome = "excludes 1" if low > 1 or high < 1 else "includes 1"
    return f"[{low:.3f}, {high:.3f}] {outcome}"


def _stragglers(shown: Sequence[Shown], options: Options) -> Note | None:
    marked = [each for each in shown if each.marked and "no_stragglers" in each.row["conditions"]]
    if not marked:
        return None
    reasons = "; ".join(
        f"{each.name}: {units.listed([flag.message for flag in each.one.speedup.doubts])}"
        for each in marked
        if each.one.speedup
    )
    text = (
        f"holds if no further run fails or straggles ({reasons}). At most "
        f"{_most_failures(marked, options)} of runs may fail or take three times as "
        f"{'long' if shown[0].one.axis.is_time else 'much'}."
    )
    return Note("no_stragglers", text, "‡")


def _assumption(shown: Sequence[Shown], options: Options) -> Note | None:
    """State what the claims without ‡ assume that so few runs cannot show."""
    claims = [
        each
        for each in shown
        if each.marked
        and Verdict(each.row["verdict"]).decided
        and "no_stragglers" not in each.row["conditions"]
        and not _robust(each.row)
    ]
    if not claims:
        return None
    most = _most_failures(claims, options)
    return Note(
        "assumption", f"claims assume further runs like these. At most {most} of runs may fail."
    )


def _robust(row: Mapping[str, Any]) -> bool:
    """Tell whether the interval that allows for unseen failures excludes 1."""
    low, high = row["robust_low"], row["robust_high"]
    return (low is not None and low > 1) or (high is not None and high < 1)


def _most_failures(shown: Sequence[Shown], options: Options) -> str:
    """Return the largest share of runs that may fail, by how many of them reached."""
    shares = {
        (side.n_reached, side.n): side.straggler_share(options.confidence)
        for each in shown
        if each.one.speedup
        for side in (each.one.speedup.a, each.one.speedup.b)
        if side is not None
    }
    bounds = [
        f"{share:.0%} ({reached} of {n} reached)"
        for (reached, n), share in sorted(shares.items(), key=lambda item: -item[1])
    ]
    return f"{bounds[0]} to {bounds[-1]}" if len(bounds) > 2 else " or ".join(bounds)


def _failures(shown: Sequence[Shown]) -> Note | None:
    said = [
        f"{each.name} {_amount(each, each.row['ert_a_seconds'])} vs "
        f"{_amount(each, each.row['ert_b_seconds'])}"
        for each in shown
        if each.one.estimand == "ert"
    ]
    if not said:
        return None
    axis = shown[0].one.axis
    number, what = ("speedup", "times") if axis.is_time else ("number shown", axis.noun)
    text = (
        f"some runs failed: the {number} is the ratio of expected {what} to a success (ERT), "
        f"which include failed runs: {'; '.join(said)}."
    )
    return Note("failed_runs", text, FAILED)


def _amount(each: Shown, number: float) -> str:
    return units.amount(number, each.one.axis.unit)


def _no_success(shown: Sequence[Shown]) -> Note | None:
    chosen = [
        each
        for each in shown
        if each.one.estimand == "fraction" and not (each.one.a.n_reached and each.one.b.n_reached)
    ]
    if not chosen:
        return None
    spent = [
        f"{name}: 0/{side.n} in {_amount(each, float(side.outcomes.times.sum()))}"
        for each in chosen
        for name, side in (("A", each.one.a), ("B", each.one.b))
        if not side.n_reached
    ]
    text = (
        f"no run of a side reached the target ({_names(chosen)}; {', '.join(spent)}): there is "
        f"no {'speedup' if chosen[0].one.axis.is_time else 'ratio'}; the verdict compares the "
        "fractions of runs that reached it."
    )
    return Note("no_success", text)


def _same_convergence(shown: Sequence[Shown]) -> Note | None:
    chosen = [each for each in shown if each.one.estimand == "throughput"]
    if not chosen:
        return None
    tests = ", ".join(
        f"{each.name} {units.p_text(each.one.epochs_p)}"
        for each in chosen
        if each.one.epochs_p is not None
    )
    text = (
        "--same-convergence: the speedup is the throughput ratio and assumes equal epochs to the "
        f"target; permutation test of that assumption: {tests}."
    )
    return Note("same_convergence", text)


def _batch_sizes(shown: Sequence[Shown]) -> Note | None:
    chosen = [
        each
        for each in shown
        if each.one.a.batch_sizes
        and each.one.b.batch_sizes
        and each.one.a.batch_sizes != each.one.b.batch_sizes
    ]
    if not chosen:
        return None
    text = f"global batch sizes differ ({_names(chosen)}), so the epochs are expected to differ."
    return Note("batch_sizes", text)


def _per_epoch(each: Shown) -> str:
    axis = each.one.axis
    return "time per epoch" if axis.is_time else axis.per_epoch


#: Time per epoch is steadier than this in 92 % of the official entries.
_STEADY = 0.03


def _unsteady(shown: Sequence[Shown]) -> Note | None:
    def unsteady(one: Comparison) -> bool:
        cvs = (one.parts.cv_epoch_time_a, one.parts.cv_epoch_time_b) if one.parts else ()
        return any(cv is not None and cv > _STEADY for cv in cvs)

    chosen = [each for each in shown if unsteady(each.one)]
    if not chosen:
        return None
    text = (
        f"{_per_epoch(chosen[0])} varies by more than 3% within a side ({_names(chosen)}); "
        "possible causes: unsteady hardware, start-up time in the TTA"
    )
    constant = [each for each in chosen if CONSTANT in marks(each.one)]
    if constant:
        text += f", or an epoch count that does not measure progress ({_names(constant)})"
    return Note("unsteady", f"{text}.")


#: Statistical flags worth a footnote; the others are said elsewhere in the report.
_SAID = (
    "one_run", "zero_variance", "unbalanced", "borderline", "untimed_failures",
    "pooled_setups", "grids_differ", "blocks_differ", "these_blocks", "separate_sessions",
    "repeated_seeds", "paired_seeds", "parallel_runs", "convergence_not_used",
    "convergence_differs", "no_look", "mixed_speeds",
)  # fmt: skip


def _statistical(shown: Sequence[Shown]) -> list[Note]:
    messages: dict[tuple[str, str], list[Shown]] = {}
    for each in shown:
        for flag in each.one.flags:
            if flag.code in _SAID:
                messages.setdefault((flag.code, flag.message), []).append(each)
    return [Note(code, f"{_names(some)}: {message}.") for (code, message), some in messages.items()]


def _exact_limit(shown: Sequence[Shown], options: Options) -> Note | None:
    """Say where even total separation could not survive the permutation test."""
    alpha = round(1 - options.confidence, 12)
    tested = [each.one for each in shown if each.one.p_permutation is not None]
    if not tested or all(smallest_p(one.a.n, one.b.n) <= alpha for one in tested):
        return None
    runs = next(n for n in range(2, 1000) if smallest_p(n, n) <= alpha)
    limit = f"{alpha:.3g}".removeprefix("0")
    text = f"the permutation test (--wide) needs {runs} runs per side to reach p < {limit}."
    return Note("few_runs", text)


def _plans(shown: Sequence[Shown]) -> Note | None:
    said, tests = [], 1
    for each in shown:
        plan = each.one.plan
        if plan is None or plan.detectable is None or each.row["verdict"] != "undecided":
            continue
        tests = plan.tests
        text = f"{each.name}: n={plan.n} can detect {plan.detectable:.2f}×"
        if plan.needed is not None and plan.needed > plan.n:  # fewer were not enough here
            observed = f"the observed {each.row['speedup']:.2f}×"
            text += f", {observed} needs {plan.needed:,} runs per side"
        said.append(text)
    if not said:
        return None
    among = f", among {tests} undecided comparisons" if tests > 1 else ""
    return Note("power", f"at 80% power{among}: {'; '.join(said)}.")


def _unmatched(names: Sequence[str], has_mean: bool) -> Note | None:
    if not names:
        return None
    over = " The geometric mean covers only the matched ones." if has_mean else ""
    return Note("unmatched", f"present on one side only: {units.listed(names)}.{over}")


def sentence(shown: Sequence[Shown], a: str, b: str, confidence: float) -> str:
    """Give what a person would say aloud of the whole table; `a` and `b` name the sides."""
    decided = [
        finding(each.row, a, b, confidence, on=each.name)
        for each in shown
        if Verdict(each.row["verdict"]).decided
    ]
    others = sum(each.row["verdict"] == "undecided" for each in shown)
    unjudged = len(shown) - len(decided) - others
    if not decided and others == 1:
        text = f"The comparison is undecided.{_why_undecided(shown)}"
    elif not decided and others:
        text = f"None of the {others} comparisons is decided.{_why_undecided(shown)}"
    elif not decided:
        text = ""
    else:
        text = "; ".join(decided)
        if others:
            text += f"; {'the other is' if others == 1 else f'the other {others} are'} undecided"
        text = f"{text}."
    by_design = [each for each in shown if each.row["why"] and each.row["verdict"] == "undecided"]
    if by_design:
        text += f" No direction is shown on {_by_reason(by_design)}."
    if unjudged:
        without = [each for each in shown if each.row["verdict"] == "unavailable"]
        text += f" No verdict on {_by_reason(without)}."
    return text.strip()


def _by_reason(shown: Sequence[Shown]) -> str:
    reasons: dict[str, list[Shown]] = {}
    for each in shown:
        verdict = each.one.verdict
        reasons.setdefault(verdict.reason or verdict.why, []).append(each)
    return "; ".join(f"{_names(some)}: {reason}" for reason, some in reasons.items())


def _why_undecided(shown: Sequence[Shown]) -> str:
    """Say which part is settled where that holds for all: throughput, while epochs are not."""

    def open_epochs(one: Comparison) -> bool:
        if one.parts is None or one.estimand == "ert":
            return False
        return not _includes_one(one.parts.throughput) and _includes_one(one.parts.progress)

    if all(open_epochs(each.one) for each in shown):
        return (
            " The difference in throughput is significant; the difference in epochs to the "
            "target is not."
        )
    return ""


def _includes_one(ratio: Ratio) -> bool:
    return ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high
