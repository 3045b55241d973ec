"""What does a comparison with reference convergence come to, in words and footnotes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.report.cells import Text
from ttastats.stats.verdict import Verdict

Numbers = Mapping[str, Any]

#: Grids that differ by more than this factor shift a mean visibly.
_COARSER = 1.5


def word(row: Numbers) -> Text:
    """Give the verdict of an entry in a word."""
    verdict = Verdict(row["verdict"])
    undecided = verdict is Verdict.UNDECIDED
    return Text(verdict.signed if undecided else verdict.label, verdict.tone)


def details(row: Numbers, *, every: bool) -> tuple[str, ...]:
    """Give the lines below an entry: its verdict in a sentence, with `every` what is behind it."""
    lines = (_official(row), _chances(row), _grid(row)) if every else ()
    return (*(line for line in lines if line), f"verdict  {sentence(row)}")


def sentence(row: Numbers) -> str:
    """Say in a sentence what an entry comes to."""
    if row["ratio"] is None:
        return f"none: {row['status']}"
    if row["low"] is None:
        return f"{units.percent(abs(1 - row['ratio']))} {_more(row)}, no interval: {row['status']}"
    if row["verdict"] == "undecided":
        low, high = (_change(row[end]) for end in ("low", "high"))
        return f"not significantly different from the reference: {low} to {high} {row['unit']}"
    size = _in_evaluations(row)
    return f"converges {row['verdict']} than the reference in these runs{size}"


def _more(row: Numbers) -> str:
    return f"{'fewer' if row['ratio'] < 1 else 'more'} {row['unit']} than the reference"


def _change(ratio: float) -> str:
    return f"{units.percent(abs(1 - ratio))} {'fewer' if ratio < 1 else 'more'}"


def _in_evaluations(row: Numbers) -> str:
    """Say how large a difference is, in runs that stop at another evaluation."""
    interval = row["interval"] or row["reference_interval"]
    if not interval:
        return ""
    each = abs(row["entry_mean"] - row["reference_mean"]) / interval
    whole = each * row["reached"]
    if each >= 1:
        return f"; as if every run stopped {each:.1f} evaluations {row['verdict']}"
    if whole < 1:
        return "; less than one run stopping at the next evaluation"
    runs = f"{round(whole)} of {units.plural(row['reached'], 'run')}"
    return f"; as if {runs} stopped one evaluation {row['verdict']}"


def _official(row: Numbers) -> str:
    reason, verdict = row["official_reason"], row["official_verdict"]
    if verdict is None:
        return f"official  none: {reason}" if reason else ""
    if row["official_limit"] is None:
        return f"official  {verdict}: {reason}"
    unit = row["unit"]
    factor = f", time x{row['official_factor']:.4f}" if row["official_factor"] > 1 else ""
    said = f"{verdict}{factor if verdict != 'failed' else ''} ({reason})"
    numbers = (
        f"olympic mean {_plain(row['official_mean'], unit)} against "
        f"{_plain(row['official_reference_mean'], unit)}, limit "
        f"{units.counted(row['official_limit'], unit)}"
    )
    return f"official  {numbers}: {said}"


def _plain(value: float, unit: str) -> str:
    return units.counted(value, unit).rsplit(" ", 1)[0]


def _chances(row: Numbers) -> str:
    if row["reference_fails"] is None:
        return ""
    few, fewer = (_share(row[f"faster_{by}_passes"]) for by in (5, 10))
    own = _share(row["reference_fails"]) if row["reference_fails"] else "none"
    return (
        f"error rates  the reference itself fails the check in {own} of {row['draws']:,} "
        f"simulated sets of {row['submission_runs']} runs; a setup that needs 5% fewer "
        f"{row['unit']} passes in {few}, one that needs 10% fewer in {fewer}"
    )


def _share(value: float) -> str:
    return units.percent(value)


def _grid(row: Numbers) -> str:
    interval, other = row["interval"], row["reference_interval"]
    if row["reference_mean"] is None:
        return ""
    if not (interval or other):
        return "grid  unknown: no run logs two evaluations"
    step = (interval or other) / row["reference_mean"]
    text = f"grid  one evaluation is {units.percent(step)} of the reference's mean"
    if interval and other and _differ(row):
        text += f" ({units.percent(other / row['reference_mean'])} in the reference's own runs)"
    if row["early"] is None:
        return text
    return (
        f"{text}; stopped an evaluation or more before the reference's median: "
        f"entry {row['early']} of {row['reached']}, "
        f"reference {row['reference_early']} of {row['reference_n']}"
    )


def _differ(row: Numbers) -> bool:
    interval, other = row["interval"], row["reference_interval"]
    return bool(interval and other and not 1 / _COARSER < interval / other < _COARSER)


# ---------------------------------------------------------------------------------------- footnotes


def notes(rows: Sequence[Numbers], confidence: float, *, every: bool) -> Iterator[Note]:
    """Yield the footnotes of an answer."""
    official = [row for row in rows if row["official_verdict"]]
    yield note("rcp")
    if official:
        yield note("official")
    judged = [row for row in rows if row["low"] is not None]
    if len(judged) > 1:
        differ = sum(Verdict(row["verdict"]).directed for row in judged)
        chance = (1 - confidence) * len(judged)
        yield note(
            "many_entries", differ=differ, n=len(judged), confidence=confidence, chance=chance
        )
    known = [row for row in rows if row["ratio"] is not None]
    for key, number in (
        ("interpolated.rcp", sum(row["reference"] == "interpolated" for row in rows)),
        ("smallest", sum(row["reference"] == "smallest" for row in rows)),
        ("grids_differ.rcp", sum(map(_differ, known))),
        ("failed_runs.rcp", sum(row["n"] - row["reached"] for row in known)),
    ):
        if number:
            yield note(key, n=number)
    yield from _of_official(official)
    lacking = [row for row in rows if row["reference_n"] is None]
    if lacking:
        reasons = sorted({str(row["status"]) for row in lacking})
        yield note("no_reference", n=len(lacking), reasons=units.listed(reasons, between="; "))
    if not every:
        yield note("verbose")


def _of_official(rows: Sequence[Numbers]) -> Iterator[Note]:
    """Yield how the official rules were applied to entries."""
    slack = [
        row for row in rows if row["benchmark"] == "llama31_405b" and row["ruleset"] != "5.0.0"
    ]
    if slack:
        passed = (row for row in slack if row["official_verdict"] != "failed")
        yield note("slack", n=sum(row["official_as_written"] == "failed" for row in passed))
    scaled = [row for row in rows if _applied(row) > 1]
    if scaled:
        earlier = sum(row["verdict"] == "earlier" for row in scaled)
        yield note("scaled.rcp", n=len(scaled), earlier=earlier)
    published = [row for row in rows if row["published_factor"]]
    if any(row["published_factor"] != 1.0 for row in published):
        other = sum(abs(row["published_factor"] - _applied(row)) > 1e-6 for row in published)
        key = "published.other" if other else "published.same"
        yield note(key, n=len(published), other=other)


def _applied(row: Numbers) -> float:
    return 1.0 if row["official_verdict"] == "failed" else float(row["official_factor"])
