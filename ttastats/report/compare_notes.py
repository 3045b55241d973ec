"""The footnotes of a comparison and its closing sentence: what to make of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ttastats import units
from ttastats.comparison import Comparison
from ttastats.report.cells import Note
from ttastats.stats.multiplicity import MeanSpeedup

CONSTANT, FAILED = "ᵉ", "ᶠ"


def marks(one: Comparison) -> str:
    """Give the footnote marks of one benchmark's speedup."""
    constant = one.speedup is not None and one.speedup.unseen_epochs
    return (CONSTANT if constant else "") + (FAILED if one.estimand == "ert" else "")


def notes(
    found: Sequence[Comparison],
    rows: Sequence[Mapping[str, Any]],
    unmatched: Sequence[str],
    mean: MeanSpeedup | None,
) -> list[Note]:
    """Give the footnotes, each said once however many benchmarks it concerns."""
    candidates = (
        _multiplicity(found),
        _undecided(found),
        _constant_epochs(found, rows),
        _failures(found, rows),
        _no_success(found, rows),
        _batch_sizes(found, rows),
        *_statistical(found, rows),
        _unmatched(unmatched, mean),
    )
    return [note for note in candidates if note is not None]


def _names(
    found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]], chosen: Sequence[Comparison]
) -> str:
    picked = {id(one) for one in chosen}
    return ", ".join(
        str(row["benchmark"]) for one, row in zip(found, rows, strict=True) if id(one) in picked
    )


def _multiplicity(found: Sequence[Comparison]) -> Note | None:
    tested = sum(one.p_value is not None for one in found)
    return Note("holm", f"p: Holm over {tested} benchmarks.") if tested > 1 else None


def _undecided(found: Sequence[Comparison]) -> Note | None:
    if not any(one.verdict and one.verdict.word == "undecided" for one in found):
        return None
    return Note("undecided", '~ not decided at 5%; that is not "equal".')


def _constant_epochs(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> Note | None:
    chosen = [one for one in found if CONSTANT in marks(one)]
    if not chosen:
        return None
    said = []
    for one, row in zip(found, rows, strict=True):
        if CONSTANT not in marks(one):
            continue
        low, high = row["epoch_safe_low"], row["epoch_safe_high"]
        name = row["benchmark"]
        if low is None or high is None:
            said.append(f"{name}: unknown, as its logs hold one evaluation")
        else:
            outcome = "excludes 1" if low > 1 or high < 1 else "includes 1"
            said.append(f"{name} [{low:.3f}, {high:.3f}] {outcome}")
    text = (
        "every run of a side took the same number of epochs, so the interval cannot know of runs "
        f"that would not; the epoch-safe CI allows for them: {'; '.join(said)}."
    )
    if any(one.verdict and one.verdict.dagger for one in chosen):
        text += " † holds only if epochs to target really are constant."
    return Note("constant_epochs", text, CONSTANT)


def _failures(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> Note | None:
    said = [
        f"{row['benchmark']} {units.seconds(row['ert_a_seconds'])} vs "
        f"{units.seconds(row['ert_b_seconds'])}"
        for one, row in zip(found, rows, strict=True)
        if one.estimand == "ert"
    ]
    if not said:
        return None
    text = (
        "some runs failed: the speedup is the ratio of expected times to a success (ERT), "
        f"failures included: {'; '.join(said)}."
    )
    return Note("failed_runs", text, FAILED)


def _no_success(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> Note | None:
    chosen = [one for one in found if one.estimand == "fraction"]
    if not chosen:
        return None
    text = (
        f"no run of a side reached the target ({_names(found, rows, chosen)}): there is no "
        "speedup, and the verdict is about the fraction of runs that reached it."
    )
    return Note("no_success", text)


def _batch_sizes(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> Note | None:
    chosen = [
        one
        for one in found
        if one.a.batch_sizes and one.b.batch_sizes and one.a.batch_sizes != one.b.batch_sizes
    ]
    if not chosen:
        return None
    text = (
        f"global batch sizes differ ({_names(found, rows, chosen)}): an epochs ratio other than 1 "
        "is expected."
    )
    return Note("batch_sizes", text)


#: Statistical flags worth a footnote; the others are said elsewhere in the report.
_SAID = ("one_run", "few_runs", "zero_variance", "unbalanced", "borderline", "unknown_epochs")


def _statistical(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> list[Note]:
    messages: dict[tuple[str, str], list[str]] = {}
    for one, row in zip(found, rows, strict=True):
        for flag in one.flags:
            if flag.code in _SAID:
                messages.setdefault((flag.code, flag.message), []).append(str(row["benchmark"]))
    return [
        Note(code, f"{', '.join(dict.fromkeys(names))}: {message}.")
        for (code, message), names in messages.items()
    ]


def _unmatched(names: Sequence[str], mean: MeanSpeedup | None) -> Note | None:
    if not names:
        return None
    over = " The geometric mean is over the matched ones." if mean else ""
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
