"""The footnotes of a comparison and its closing sentence: what to make of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ttastats import units
from ttastats.comparison import Comparison, Options
from ttastats.report.cells import Note
from ttastats.stats.permutation import smallest_p

CONSTANT, FAILED = "ᵉ", "ᶠ"


def marks(one: Comparison) -> str:
    """Give the footnote marks of one benchmark's speedup."""
    constant = one.speedup is not None and one.speedup.unseen_epochs
    return (CONSTANT if constant else "") + (FAILED if one.estimand == "ert" else "")


def notes(
    found: Sequence[Comparison],
    rows: Sequence[Mapping[str, Any]],
    options: Options,
    unmatched: Sequence[str],
    has_mean: bool,
) -> list[Note]:
    """Give the footnotes, each said once however many benchmarks it concerns."""
    pairs = list(zip(found, rows, strict=True))
    candidates = (
        _multiplicity(found, options),
        _estimand(options),
        _undecided(found),
        _constant_epochs(pairs),
        _failures(pairs),
        _no_success(pairs),
        _same_convergence(pairs),
        _batch_sizes(pairs),
        _unsteady(pairs),
        *_statistical(pairs),
        _exact_limit(found),
        _plans(pairs),
        _unmatched(unmatched, has_mean),
    )
    return [note for note in candidates if note is not None]


Pairs = Sequence[tuple[Comparison, Mapping[str, Any]]]


def _names(pairs: Pairs) -> str:
    return ", ".join(dict.fromkeys(str(row["benchmark"]) for _, row in pairs))


def _multiplicity(found: Sequence[Comparison], options: Options) -> Note | None:
    tested = sum(one.p_value is not None for one in found)
    if tested < 2:
        return None
    if options.fdr:
        return Note("fdr", f"p: Benjamini-Hochberg over {tested} comparisons (--fdr).")
    return Note("holm", f"p: Holm over {tested} comparisons.")


def _estimand(options: Options) -> Note | None:
    if options.estimand == "mean":
        return None
    return Note("geomean", "speedups are ratios of geometric means (--estimand geomean).")


def _undecided(found: Sequence[Comparison]) -> Note | None:
    if not any(one.verdict and one.verdict.word == "undecided" for one in found):
        return None
    return Note("undecided", '~ not decided at 5%, which is not "equal": see --margin.')


def _constant_epochs(pairs: Pairs) -> Note | None:
    chosen = [(one, row) for one, row in pairs if CONSTANT in marks(one)]
    if not chosen:
        return None
    said = [f"{row['benchmark']} {_epoch_safe(row)}" for _, row in chosen]
    text = (
        "every run of a side took the same number of epochs, so the interval cannot know of runs "
        f"that would not; the epoch-safe CI allows for them: {'; '.join(said)}."
    )
    if any(one.verdict and one.verdict.dagger for one, _ in chosen):
        text += " † holds only if epochs to target really are constant (--epochs-fixed says so)."
    return Note("constant_epochs", text, CONSTANT)


def _epoch_safe(row: Mapping[str, Any]) -> str:
    low, high = row["epoch_safe_low"], row["epoch_safe_high"]
    if low is None or high is None:
        return "unknown, as the logs hold one evaluation"
    outcome = "excludes 1" if low > 1 or high < 1 else "includes 1"
    return f"[{low:.3f}, {high:.3f}] {outcome}"


def _failures(pairs: Pairs) -> Note | None:
    said = [
        f"{row['benchmark']} {units.seconds(row['ert_a_seconds'])} vs "
        f"{units.seconds(row['ert_b_seconds'])}"
        for one, row in pairs
        if one.estimand == "ert"
    ]
    if not said:
        return None
    text = (
        "some runs failed: the speedup is the ratio of expected times to a success (ERT), "
        f"failures included: {'; '.join(said)}."
    )
    return Note("failed_runs", text, FAILED)


def _no_success(pairs: Pairs) -> Note | None:
    chosen = [(one, row) for one, row in pairs if one.estimand == "fraction"]
    if not chosen:
        return None
    spent = [
        f"{name}: 0/{side.n} in {units.seconds(float(side.observed.sum()))}"
        for one, _ in chosen
        for name, side in (("A", one.a), ("B", one.b))
        if not side.n_reached
    ]
    text = (
        f"no run of a side reached the target ({_names(chosen)}; {', '.join(spent)}): there is no "
        "speedup, and the verdict is about the fraction of runs that reached it."
    )
    return Note("no_success", text)


def _same_convergence(pairs: Pairs) -> Note | None:
    chosen = [(one, row) for one, row in pairs if one.estimand == "throughput"]
    if not chosen:
        return None
    tests = ", ".join(
        f"{row['benchmark']} p {one.epochs_p:.2g}"
        for one, row in chosen
        if one.epochs_p is not None
    )
    text = (
        "both sides are taken to need the same epochs (--same-convergence), so the speedup is that "
        f"of throughput; that the epochs do not differ, by permutation: {tests}."
    )
    return Note("same_convergence", text)


def _batch_sizes(pairs: Pairs) -> Note | None:
    chosen = [
        (one, row)
        for one, row in pairs
        if one.a.batch_sizes and one.b.batch_sizes and one.a.batch_sizes != one.b.batch_sizes
    ]
    if not chosen:
        return None
    text = (
        f"global batch sizes differ ({_names(chosen)}): an epochs ratio other than 1 is expected."
    )
    return Note("batch_sizes", text)


#: Time per epoch is steadier than this in 92 % of the official entries.
_STEADY = 0.03


def _unsteady(pairs: Pairs) -> Note | None:
    def unsteady(one: Comparison) -> bool:
        cvs = (one.parts.cv_epoch_time_a, one.parts.cv_epoch_time_b) if one.parts else ()
        return any(cv is not None and cv > _STEADY for cv in cvs)

    chosen = [(one, row) for one, row in pairs if unsteady(one)]
    if not chosen:
        return None
    text = (
        f"time per epoch varies by more than 3% within a side ({_names(chosen)}): unsteady "
        "hardware, start-up time in the TTA"
    )
    constant = [(one, row) for one, row in chosen if CONSTANT in marks(one)]
    if constant:
        text += f", or epochs that do not count the progress ({_names(constant)})"
    return Note("unsteady", f"{text}.")


#: Statistical flags worth a footnote; the others are said elsewhere in the report.
_SAID = ("one_run", "few_runs", "zero_variance", "unbalanced", "borderline", "unknown_epochs")


def _statistical(pairs: Pairs) -> list[Note]:
    messages: dict[tuple[str, str], list[str]] = {}
    for one, row in pairs:
        for flag in one.flags:
            if flag.code in _SAID:
                messages.setdefault((flag.code, flag.message), []).append(str(row["benchmark"]))
    return [
        Note(code, f"{', '.join(dict.fromkeys(names))}: {message}.")
        for (code, message), names in messages.items()
    ]


def _exact_limit(found: Sequence[Comparison]) -> Note | None:
    """Say where even total separation could not survive the permutation test."""
    tested = [one for one in found if one.p_permutation is not None]
    if not tested or all(smallest_p(one.a.n, one.b.n) <= 0.05 for one in tested):
        return None
    return Note(
        "few_runs",
        "the permutation test (--wide) needs 4 runs a side for p < .05.",
    )


def _plans(pairs: Pairs) -> Note | None:
    said = []
    for one, row in pairs:
        plan = one.plan
        if plan is None or not one.verdict or one.verdict.word != "undecided":
            continue
        if plan.detectable is None or plan.needed is None:
            continue
        said.append(
            f"{row['benchmark']}: n={plan.n} can detect {plan.detectable:.2f}×, the observed "
            f"{row['speedup']:.2f}× needs {plan.needed:,} runs a side"
        )
    if not said:
        return None
    return Note("power", f"at 80% power, {'; '.join(said)}.")


def _unmatched(names: Sequence[str], has_mean: bool) -> Note | None:
    if not names:
        return None
    over = " The geometric mean is over the matched ones." if has_mean else ""
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return Note("unmatched", f"only one side has: {shown}.{over}")


def sentence(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> str:
    """Give what a person would say aloud of the whole table."""
    decided = [
        _said(one, row)
        for one, row in zip(found, rows, strict=True)
        if one.verdict and one.verdict.word in {"faster", "slower", "same"}
    ]
    others = len(found) - len(decided)
    if not decided:
        subject = "The comparison" if len(found) == 1 else f"None of the {len(found)} comparisons"
        return f"{subject} is {'un' if len(found) == 1 else ''}decided." + _why_undecided(found)
    text = "; ".join(decided)
    if others:
        text += f"; {'the other is' if others == 1 else f'the other {others} are'} undecided"
    return f"{text[0].upper()}{text[1:]}."


def _said(one: Comparison, row: Mapping[str, Any]) -> str:
    verdict, name = one.verdict, row["benchmark"]
    if verdict is None or row["speedup"] is None or row["speedup_low"] is None:
        return f"B is {verdict.claim if verdict else 'unknown'} on {name}"
    if verdict.word == "same":
        return f"B is as fast as A on {name} ({verdict.claim})"
    ratio, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    if verdict.word == "slower":
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    by = f"{ratio:.2f}×" if ratio >= 1.1 else f"{(ratio - 1) * 100:.1f}%"
    interval = (
        f"{low:.2f} to {high:.2f}×"
        if ratio >= 1.1
        else f"{(low - 1) * 100:.1f} to {(high - 1) * 100:.1f}%"
    )
    condition = " if epochs to target really are constant" if verdict.dagger else ""
    return f"B is {by} {verdict.word} than A on {name} (95% CI {interval}){condition}"


def _why_undecided(found: Sequence[Comparison]) -> str:
    """Say which part is settled although the whole is not."""
    settled = [
        one.parts is not None
        and one.parts.throughput.low is not None
        and one.parts.throughput.high is not None
        and not one.parts.throughput.low <= 1 <= one.parts.throughput.high
        for one in found
    ]
    if settled and all(settled):
        return " The throughput part is decided; what stays uncertain is the epochs to the target."
    return ""
