"""Which footnotes has a comparison? A rule for each; its words are those of `base.codes`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.answers.compare.cells import CONSTANT, FAILED, marks
from ttastats.answers.compare.rows import Qualities, Times
from ttastats.answers.compare.sentences import by_reason, is_undecided_by_adjustment, names_of
from ttastats.answers.qualities import rare_note
from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.outcomes import aims, at_budget
from ttastats.outcomes.budget import Budget
from ttastats.sides.options import POWER, Options
from ttastats.sides.pairing import Pair, Side
from ttastats.sides.quality_comparison import QualityComparison
from ttastats.stats.decision import side_of
from ttastats.stats.moments import two_sided_t
from ttastats.stats.multiplicity import FIRST_LOOK
from ttastats.stats.permutation import smallest_p
from ttastats.stats.results import Verdict
from ttastats.stats.speedup import confidence_at

Fields = dict[str, object]


class NoteRule(Struct, frozen=True):
    """A note on the comparisons of which `of` holds, if there are any.

    `fields` are those of its text beside the `names` of these comparisons, made of them, of all,
    and of the options; None where there is no note after all.
    """

    key: str
    of: Callable[[Any], bool]
    fields: Callable[[Sequence[Any], Sequence[Any], Options], Fields | None] = lambda *_: {}
    mark: str = ""


def _apply_rules(
    rules: Iterable[NoteRule], results: Sequence[Any], options: Options
) -> Iterator[Note]:
    for rule in rules:
        matches = [result for result in results if rule.of(result)]
        fields = rule.fields(matches, results, options) if matches else None
        if fields is not None:
            yield note(rule.key, rule.mark, **({"names": names_of(matches)} | fields))


def times_notes(
    results: Sequence[Times], options: Options, unmatched: Sequence[str], *, has_mean: bool
) -> Iterator[Note]:
    """Yield the footnotes of times, each once however many rows it concerns."""
    yield from _apply_rules(_CLAIM_RULES, results, options)
    results_by_flag: dict[tuple[str, str], list[Times]] = {}
    for result in results:
        for flag in result.contrast.flags:
            if flag.code not in _FLAGS_OF_RULES:
                results_by_flag.setdefault((flag.code, flag.message), []).append(result)
    for (code, message), matches in results_by_flag.items():
        yield Note(code, f"{names_of(matches)}: {message}.")
    yield from _apply_rules(_POWER_RULES, results, options)
    if unmatched:
        mean = wording("unmatched.mean") if has_mean else ""
        yield note("unmatched", names=unmatched, mean=mean)


#: Flags without a footnote of their own: notes of the claims that rest on them tell them.
_FLAGS_OF_RULES = frozenset((
    "no_runs", "constant_epochs", "unknown_epochs", "unknown_evaluation_interval", "no_success",
    "failed_runs", "failures_likely", "straggler",
))  # fmt: skip
#: Time per epoch is steadier than this in 92 % of the official entries.
_STEADY = 0.03


def _tests_fields(
    matches: Sequence[Times], results: Sequence[Times], options: Options, *, fdr: bool
) -> Fields | None:
    if len(matches) < 2 or options.fdr != fdr:
        return None
    tests, level = len(matches), options.confidence
    undecided = [s for s in results if is_undecided_by_adjustment(s.row, tests, level)]
    exceptions = wording("holm.alone", names=names_of(undecided), tests=tests) if undecided else ""
    return {"tests": tests, "alone": exceptions}


def _sequential_fields(matches: Sequence[Times], _: object, options: Options) -> Fields | None:
    if options.max_runs is None:
        return None
    widths = []
    for s in matches:
        speedup = s.contrast.speedup
        if speedup is not None and speedup.look is not None and speedup.ratio.df is not None:
            level = confidence_at(options.confidence, speedup.look)
            ends = [
                two_sided_t(speedup.ratio.df, confidence)
                for confidence in (level, options.confidence)
            ]
            widths.append(f"{s.name} {ends[0] / ends[1]:.2f} times as wide at {speedup.look.n}")
    wider = wording("sequential.wider", each=", ".join(widths)) if widths else ""
    return {"first": FIRST_LOOK, "most": options.max_runs, "wider": wider}


def _undecided_fields(matches: Sequence[Times], _: object, options: Options) -> Fields:
    by_design = [s for s in matches if s.row.why]
    meanings = []
    if len(by_design) < len(matches):
        meanings.append(f"not significant at {100 * (1 - options.confidence):.3g}%")
    if by_design:
        meanings.append(f"not decided: {by_reason(by_design)}")
    looks = (s.contrast.speedup.look for s in matches if s.contrast.speedup)
    has_looks = any(look.n < look.most for look in looks if look)
    return {
        "meanings": ", or ".join(meanings),
        "more": wording("undecided.looks") if has_looks else "",
    }


def _epochs_fields(matches: Sequence[Times], _: object, __: Options) -> Fields:
    unlogged = [
        s for s in matches if any(flag.code == "unknown_epochs" for flag in s.contrast.flags)
    ]
    intervals = []
    for s in matches:
        low, high = s.row.epoch_safe_low, s.row.epoch_safe_high
        text = "unknown: the logs hold only one evaluation"
        if low is not None and high is not None:
            outcome = "excludes 1" if side_of(1, low, high) else "includes 1"
            text = f"[{low:.3f}, {high:.3f}] {outcome}"
        if s not in unlogged:
            intervals.append(f"{s.name} {text}")
    parts = [wording("constant_epochs.safe", intervals=intervals)] if intervals else []
    if unlogged:
        parts.append(wording("constant_epochs.unlogged", names=names_of(unlogged)))
    if any(s.marked and s.row.dagger for s in matches):
        parts.append(wording("constant_epochs.dagger"))
    return {"parts": " ".join(parts)}


def _straggler_fields(matches: Sequence[Times], _: object, options: Options) -> Fields:
    reasons = [
        f"{s.name}: {units.join_names([flag.message for flag in s.contrast.speedup.doubts])}"
        for s in matches
        if s.contrast.speedup
    ]
    axis = matches[0].contrast.axis
    much = f"{axis.takes.removesuffix('s')} three times as {axis.much}"
    return {"reasons": reasons, "much": much, "most": _failure_bound_text(matches, options)}


#: The most claims with a turning share of their own in the note.
_MOST_TURNS = 3


def _stragglers_matter(s: Times) -> bool:
    return s.marked and "no_stragglers" in s.row.conditions


def _failure_bound_text(matches: Sequence[Times], options: Options) -> str:
    """Return the largest possible shares of failures in words, by the runs that reached."""
    shares = {
        (side.n_reached, side.n): side.straggler_share(options.confidence)
        for s in matches
        if s.contrast.speedup
        for side in (s.contrast.speedup.a, s.contrast.speedup.b)
        if side is not None
    }
    bounds = [
        f"{share:.0%} ({reached} of {n} reached)"
        for (reached, n), share in sorted(shares.items(), key=lambda item: -item[1])
    ]
    return f"{bounds[0]} to {bounds[-1]}" if len(bounds) > 2 else " or ".join(bounds)


def _turning_fields(matches: Sequence[Times], _: object, options: Options) -> Fields | None:
    """Return the shares of failures at which claims turn, the smallest first."""
    turning = sorted(
        (turns.share, "" if len(matches) == 1 else f"{s.name}: ", turns)
        for s in matches
        if s.contrast.speedup
        and (turns := s.contrast.speedup.turning(epochs=not s.row.dagger)) is not None
        and turns.share < turns.possible
    )
    texts = [
        wording("assumption.turns", name=name, side=turns.side, share=max(0.1, 100 * share),
                reached=turns.n_reached, n=turns.n, possible=turns.possible)
        for share, name, turns in turning[:_MOST_TURNS]
    ]  # fmt: skip
    if (n_more := len(turning) - _MOST_TURNS) > 0:
        texts.append(wording("assumption.more", n=n_more))
    claims = wording("assumption.if", n=len(turning), each=texts) if texts else ""
    undirected = [s for s in matches if not s.row.word.directed]
    bound = (
        wording("assumption.same", most=_failure_bound_text(undirected, options))
        if undirected
        else ""
    )
    return {"parts": f"{claims} {bound}".strip()} if claims or undirected else None


def _failed_runs(matches: Sequence[Times], results: Sequence[Times], _: Options) -> Fields:
    axis = results[0].contrast.axis
    texts = []
    for s in matches:
        a, b = units.amounts((s.get(f"ert_{side}_seconds") for side in "ab"), axis.unit)
        texts.append(f"{s.name} {a} vs {b}")
    return {"ratio": axis.ratio, "expected": axis.expected, "each": texts}


def _no_success_fields(matches: Sequence[Times], _: object, __: Options) -> Fields:
    axis = matches[0].contrast.axis
    spent = [
        f"{name}: 0/{side.n} in {units.amount(float(side.outcomes.times.sum()), axis.unit)}"
        for s in matches
        for name, side in (("A", s.contrast.a), ("B", s.contrast.b))
        if not side.n_reached
    ]
    return {"spent": ", ".join(spent), "number": axis.ratio}


def _unsteady_fields(matches: Sequence[Times], _: object, __: Options) -> Fields:
    axis, constant = matches[0].contrast.axis, [s for s in matches if CONSTANT in marks(s.contrast)]
    constant_text = wording("unsteady.constant", names=names_of(constant)) if constant else ""
    return {"per_epoch": axis.pace, "more": constant_text}


def _startup_fields(matches: Sequence[Times], _: object, __: Options) -> Fields:
    texts = [
        wording("startup.each", name=s.name, **dict(zip("ab", startup.texts, strict=True)))
        for s in matches
        if s.contrast.parts and (startup := s.contrast.parts.startup)
    ]  # fmt: skip
    return {"each": texts}


def _exact_limit_fields(matches: Sequence[Times], _: object, options: Options) -> Fields | None:
    """Return the smallest number of runs for a significant permutation test, if some have fewer."""
    alpha = round(1 - options.confidence, 12)
    if all(smallest_p(s.contrast.a.n, s.contrast.b.n) <= alpha for s in matches):
        return None
    runs = next(n for n in range(2, 1000) if smallest_p(n, n) <= alpha)
    return {"runs": runs, "limit": f"{alpha:.3g}".removeprefix("0")}


def _proposal_fields(matches: Sequence[Times], _: object, __: Options) -> Fields:
    texts = []
    for s in matches:
        plan = s.contrast.plan
        if plan and plan.blocks and plan.detectable_within:
            blocks, name = plan.blocks, "" if len(matches) == 1 else f"{s.name}: "
            detectable = units.percent(plan.detectable_within - 1)
            texts.append(wording("blocks_proposed.each", name=name, block=blocks.name,
                                between=units.percent(math.expm1(blocks.spread.between)),
                                p=blocks.spread.p_value, found=detectable))  # fmt: skip
    return {"each": texts}


def _plan_fields(matches: Sequence[Times], _: object, __: Options) -> Fields | None:
    texts, tests = [], 1
    for s in matches:
        plan = s.contrast.plan
        if plan is None or plan.detectable is None:
            continue
        tests = plan.tests
        text = f"{s.name}: n={plan.n} can detect {plan.detectable:.2f}×"
        if plan.needed is not None and plan.needed > plan.n:  # fewer were not enough here
            observed = f"the observed {s.row.speedup:.2f}×"
            text += f", {observed} needs {plan.needed:,} runs per side"
            text += f" (without ‡: {plan.certain:,})" if plan.certain else ""
        texts.append(text)
    among = f", among {tests} undecided comparisons" if tests > 1 else ""
    return {"plans": texts, "among": among} if texts else None


_CLAIM_RULES = (
    NoteRule("no_throughput", lambda s: s.contrast.axis.progress,
             lambda matches, *_: {"to_target": matches[0].contrast.axis.to_target}),
    NoteRule("holm", lambda s: s.contrast.p_value is not None, partial(_tests_fields, fdr=False)),
    NoteRule("fdr", lambda s: s.contrast.p_value is not None, partial(_tests_fields, fdr=True)),
    NoteRule("times_alone", lambda s: s.contrast.axis.alone, lambda *_: {"which": ""}),
    NoteRule("geomean", lambda s: s.contrast.estimand == "geomean",
             lambda matches, results, _: {
                 "ratios": "speedups are ratios" if matches[0].contrast.axis.is_time
                 else "ratios are those",
                 "where": "" if len(matches) == len(results) else ", where no run failed",
             }),
    NoteRule("sequential", lambda _: True, _sequential_fields),
    NoteRule("undecided", lambda s: s.row.word is Verdict.UNDECIDED, _undecided_fields),
    NoteRule("constant_epochs", lambda s: CONSTANT in marks(s.contrast),
             _epochs_fields, CONSTANT),
    NoteRule("no_stragglers", _stragglers_matter, _straggler_fields, "‡"),
    NoteRule("assumption",  # of a claim without ‡ that assumes what so few runs cannot show
             lambda s: s.contrast.speedup and s.marked and s.row.word.decided
             and not _stragglers_matter(s) and side_of(1, s.row.robust_low, s.row.robust_high) == 0,
             _turning_fields),
    NoteRule("failed_runs.compare", lambda s: s.contrast.estimand == "ert", _failed_runs, FAILED),
    NoteRule("no_target.compare",
             lambda s: s.contrast.estimand == "fraction" and s.row.target_value is None
             and not (s.row.reached_a or s.row.reached_b) and not s.contrast.axis.alone,
             lambda matches, *_: {
                 "what": aims.advice(*(runs for s in matches for runs in (s.pair.a, s.pair.b))).text
             }),
    NoteRule("no_success",
             lambda s: s.contrast.estimand == "fraction"
             and s.contrast.verdict.claim != aims.NO_TARGET
             and not (s.row.reached_a and s.row.reached_b),
             _no_success_fields),
    NoteRule("same_convergence", lambda s: s.contrast.estimand == "throughput",
             lambda matches, *_: {"per_epoch": matches[0].contrast.axis.pace, "tests": ", ".join(
                 f"{s.name} {units.p_text(s.contrast.epochs_p)}" for s in matches)}),
    NoteRule("batch_sizes",
             lambda s: s.contrast.a.batch_sizes and s.contrast.b.batch_sizes
             and s.contrast.a.batch_sizes != s.contrast.b.batch_sizes),
    NoteRule("startup", lambda s: s.contrast.parts and s.contrast.parts.startup, _startup_fields),
    NoteRule("unsteady",
             lambda s: s.contrast.parts is not None and any(
                 cv is not None and cv > _STEADY
                 for cv in (s.contrast.parts.cv_epoch_time_a, s.contrast.parts.cv_epoch_time_b)),
             _unsteady_fields),
)  # fmt: skip
_POWER_RULES = (
    NoteRule("few_runs", lambda s: s.contrast.p_permutation is not None, _exact_limit_fields),
    NoteRule("blocks_proposed",
             lambda s: s.row.word is Verdict.UNDECIDED and s.contrast.plan
             and s.contrast.plan.blocks,
             _proposal_fields),
    NoteRule("power", lambda s: s.row.word is Verdict.UNDECIDED, _plan_fields),
)  # fmt: skip


def qualities_notes(
    results: Sequence[Qualities], budget: Budget, margin: float | None, options: Options
) -> Iterator[Note]:
    """Yield the footnotes of qualities, each with the row's name if there are several."""
    named_contrasts = [(f"{s.name}: " if len(results) > 1 else "", s.contrast) for s in results]
    if budget.amount is None:
        yield from _length_notes(named_contrasts)
    for name, contrast in named_contrasts:
        if (gap := contrast.difference) is not None:
            yield from (Note(flag.code, f"{name}{flag.message}.") for flag in gap.flags)
    for finding in dict.fromkeys(finding for s in results for finding in s.contrast.findings):
        names = names_of(s for s in results if finding in s.contrast.findings)
        yield Note(finding.code, f"{f'{names}: ' if len(results) > 1 else ''}{finding.message}.")
    if options.estimand == "geomean":
        yield note("geomean.costs")
    tests = sum(s.row.p_adjusted is not None for s in results)
    if tests > 1:
        yield note("adjusted", tests=tests)
    undecided_rows = [s.row for s in results if s.row.word is Verdict.UNDECIDED]
    if undecided_rows:
        ask = margin is None and any(row.difference_low is not None for row in undecided_rows)
        yield note("undecided.qualities", more=wording("undecided.margin") if ask else "")
    yield from _quality_proposals(named_contrasts, options)
    decided_rows = [s.row for s in results if s.row.word.decided]
    yield from rare_note(
        [n for row in decided_rows for n in (row.n_a, row.n_b)], options.confidence
    )
    if budget.best:
        yield note("best_of")


def _quality_proposals(
    named_contrasts: Sequence[tuple[str, QualityComparison]], options: Options
) -> Iterator[Note]:
    """Yield a note on blocks with smaller detectable differences of the same runs, if any."""
    alpha = round(1 - options.confidence, 12)
    texts = [
        wording("blocks_proposed.quality", name=name, block=blocks.name, found=detectable,
                between=blocks.spread.between, p=blocks.spread.p_value)
        for name, contrast in named_contrasts
        if (blocks := contrast.blocks)
        and (detectable := blocks.detectable(power=POWER, alpha=alpha))
    ]  # fmt: skip
    if texts:
        yield note("blocks_proposed", each=texts)


def _length_notes(named_contrasts: Sequence[tuple[str, QualityComparison]]) -> Iterator[Note]:
    texts = [
        wording(
            "ends_differ.side",
            name=name,
            side=letter,
            n_longest=ends.n_longest,
            n=ends.n,
            most=ends.text(ends.most),
            least=ends.text(ends.least),
            able=f" ({ends.all_reach})" if ends.all_reach else "",
        )
        for name, contrast in named_contrasts
        for letter, side in (("A", contrast.a), ("B", contrast.b))
        for ends in [side.lengths]
        if side.n and not ends.equal
    ]
    if texts:
        yield note("ends_differ", ends=units.join_names(texts, 6, "; "))
    length_texts = []
    for name, contrast in named_contrasts:
        a, b = contrast.a.lengths, contrast.b.lengths
        steady = contrast.a.n and contrast.b.n and a.equal and b.equal and a.unit == b.unit
        if steady and a.unit not in {None, "seconds"} and a.most != b.most:
            at = f"--at {a.unit}={min(a.most, b.most):.15g}"
            length_texts.append(f"{name}A at {a.text(a.most)}, B at {b.text(b.most)} ({at})")
    if length_texts:
        yield note("lengths_differ", ends=units.join_names(length_texts, 6, "; "))


def fixed_length(
    baseline: Side, other: Side, pairs: Sequence[Pair], names: Sequence[str]
) -> Iterator[Note]:
    """Yield notes on pairs of runs of one length, to compare in quality instead.

    Read as times to a target, runs that end a little short of it are failures.
    """
    for pair, name in zip(pairs, names, strict=True):
        failed = sum(runs.filter(~pl.col("reached")).height for runs in (pair.a, pair.b))
        if not failed:
            continue
        sides = ((baseline.evaluations, pair.a), (other.evaluations, pair.b))
        # Where one side has no length in common, the other is not read.
        lengths = [*takewhile(bool, (at_budget.common_length(*side) for side in sides))]
        if len(lengths) == len(sides):
            a, b = lengths
            yield note(
                "fixed_length",
                of=f"{name}: " if len(pairs) > 1 else "",
                length=a if a == b else f"{a} of A, {b} of B",
                failed=failed,
                n=pair.a.height + pair.b.height,
            )
