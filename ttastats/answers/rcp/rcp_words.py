"""What does a comparison with reference convergence come to, in words and footnotes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ttastats.base import percentages, units
from ttastats.base.note import Note
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


def notes(rows: Sequence[Numbers], confidence: float, *, every: bool) -> list[Note]:
    """Give the footnotes of an answer."""
    found = [_RCP]
    if any(row["official_verdict"] for row in rows):
        found.append(_OFFICIAL)
    found += _several(rows, confidence)
    found += _counted(rows)
    for code, text in (
        ("slack", _slack(rows)),
        ("scaled", _scaled(rows)),
        ("published", _published(rows)),
        ("no_reference", _without(rows)),
    ):
        if text:
            found.append(Note(code, text))
    if not every:
        text = "-v shows the official numbers, error rates and evaluations below each entry."
        found.append(Note("verbose", text))
    return found


_RCP = Note(
    "rcp",
    "RCP, reference convergence point: what the reference implementation needs at one batch size "
    "to reach the target. entry/reference: mean of the entry divided by the mean of the "
    "reference, below 1 if the entry needs less; the interval includes the variance of both.",
)
_OFFICIAL = Note(
    "official",
    "official, factor: verdict and scaling factor of the MLPerf rules. They assume that the "
    "entry has the variance of the reference, and scale up the time of every passed entry whose "
    "mean is below that of the reference, even if the difference is chance.",
)


def _several(rows: Sequence[Numbers], confidence: float) -> list[Note]:
    told = [row for row in rows if row["low"] is not None]
    if len(told) < 2:
        return []
    differ = [row for row in told if Verdict(row["verdict"]).directed]
    text = (
        f"{len(differ)} of {units.plural(len(told), 'entry', 'entries')} differ from the "
        f"reference at {percentages.text(confidence)} confidence each; "
        f"{units.significant((1 - confidence) * len(told), 2)} would be expected by chance if "
        "all converged like the reference."
    )
    return [Note("many_entries", text)]


def _counted(rows: Sequence[Numbers]) -> Iterator[Note]:
    """Say what must be known of some entries, or of their runs, and of how many."""
    told = [row for row in rows if row["ratio"] is not None]
    for code, number, one, several, text in (
        (
            "interpolated",
            sum(row["reference"] == "interpolated" for row in rows),
            *_ENTRIES,
            "at a batch size without a record: the reference is interpolated, and its interval "
            "includes the interpolation error.",
        ),
        (
            "smallest",
            sum(row["reference"] == "smallest" for row in rows),
            *_ENTRIES,
            "at a batch size below the smallest record, compared with that record: a smaller "
            "batch should need less.",
        ),
        (
            "grids_differ",
            sum(map(_differ, told)),
            *("entry is", "entries are"),
            "evaluated at a different interval than the reference: this alone shifts the mean by "
            "up to half the difference of the intervals (up if coarser, down if finer).",
        ),
        (
            "failed_runs",
            sum(row["n"] - row["reached"] for row in told),
            *("run", "runs"),
            "did not reach the target: the mean of the entry includes the cost of failed runs "
            "per success; the official mean counts each as a slowest run.",
        ),
    ):
        if number:
            yield Note(code, f"{units.plural(number, one, several)} {text}")


_ENTRIES = ("entry", "entries")


def _slack(rows: Sequence[Numbers]) -> str:
    given = [row for row in rows if row["benchmark"] == "llama31_405b" and row["official_verdict"]]
    beyond = [row for row in given if row["ruleset"] != "5.0.0"]
    if not beyond:
        return ""
    other = sum(
        row["official_verdict"] != "failed" and row["official_as_written"] == "failed"
        for row in beyond
    )
    return (
        "llama31_405b may converge 46,080 samples before the limit. The rules allow this for "
        "v5.0 only; the official checker, which is followed here, also allows it in later "
        f"rounds: {units.plural(other, 'entry', 'entries')} would fail by the rules as written."
    )


def _scaled(rows: Sequence[Numbers]) -> str:
    scaled = [row for row in rows if row["official_verdict"] and _applied(row) > 1]
    if not scaled:
        return ""
    earlier = sum(row["verdict"] == "earlier" for row in scaled)
    number = units.plural(len(scaled), "entry is", "entries are")
    return (
        f"factor: {number} scaled, of which {earlier} converge significantly earlier than the "
        "reference."
    )


def _published(rows: Sequence[Numbers]) -> str:
    told = [row for row in rows if row["official_verdict"] is not None and row["published_factor"]]
    scaled = [row for row in told if row["published_factor"] != 1.0]
    if not scaled:
        return ""
    other = [row for row in told if abs(row["published_factor"] - _applied(row)) > 1e-6]
    if not other:
        entries = units.plural(len(told), "entry", "entries")
        return f"factor: equal to the published scaling.json of {entries} of {len(told)}."
    return (
        f"factor: differs from the published scaling.json of {len(other)} of {len(told)} entries "
        "(`published_factor` of --format json)."
    )


def _applied(row: Numbers) -> float:
    return 1.0 if row["official_verdict"] == "failed" else float(row["official_factor"])


def _without(rows: Sequence[Numbers]) -> str:
    lacking = [row for row in rows if row["reference_n"] is None]
    if not lacking:
        return ""
    reasons = sorted({str(row["status"]) for row in lacking})
    return (
        f"{units.plural(len(lacking), 'entry has', 'entries have')} no reference: "
        f"{units.listed(reasons, between='; ')}."
    )
