"""What does a page of profiles show? Where their steps go, and how those of others differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from ttastats.answers.profile import profile as profile_report
from ttastats.answers.profile import profile_change
from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.output.page.content import Content, capped
from ttastats.output.page.facts import Fact
from ttastats.output.plots.plot import FILTERS
from ttastats.output.plots.profiled import kinds, shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.row import of_kind
from ttastats.stats.decision import side_of
from ttastats.stats.verdict import Verdict
from ttastats.traces import answers

#: What the head tells of profiles, by the measures that know it in words or as a number.
_FACTS = {
    "Device": "device_name",
    "Precision": "precision",
    "Samples per step": "batch_size",
    "PyTorch": "torch_version",
}
#: Names of two sides, and the report of how their steps differ.
Change = tuple[str, str, Report]
#: The name of a file, and the rows of its profiles.
Side = tuple[str, pl.DataFrame]


def content(
    sides: Sequence[Side], told: Sequence[Note], *, title: str = "", confidence: float = 0.95
) -> Content:
    """Return the content of a page from tables of profiles; others are compared with the first.

    `told` is what else is to be noted, `confidence` that of the intervals of changes.

    Raises
    ------
    TtastatsError
        Two of them hold the same profile.
    """
    for label, rows in sides[1:]:
        profile_change.expect_others(sides[0][1], rows, label)
    profiles = shared.by_name(sides)
    (a, before), *others = [(_name(side, profiles), side[1]) for side in sides]
    changes = [
        (a, b, profile_change.report(before, rows, (a, b), confidence=confidence))
        for b, rows in others
    ]
    drawn = profiles if len(profiles) <= kinds.MOST else _first_of_each(sides)
    return Content(
        title=title or _title(list(profiles), changes),
        counted=units.plural(len(profiles), "profile"),
        facts=_facts(profiles),
        verdicts=(*(_verdict(*one) for one in changes), *_steps(profiles)),
        report=capped(_together(profiles, changes, (*told, *_left_out(profiles, drawn)))),
        plots=kinds.all_plots(drawn),
        choices=pl.DataFrame(schema=dict.fromkeys(FILTERS, pl.String) | {"runs": pl.Int64}),
    )


def _name(side: Side, profiles: Profiles) -> str:
    """Return the name of the one profile of a side, or that of its file."""
    label, rows = side
    ids = rows["profile_id"].unique()
    names = [name for name, own in profiles.items() if own["profile_id"][0] in ids]
    return names[0] if len(names) == 1 else label


def _first_of_each(sides: Sequence[Side]) -> Profiles:
    """Return one profile of each side, as many as a plot holds."""
    first = ((label, next(answers.profiles(rows))[1]) for label, rows in sides[: kinds.MOST])
    return shared.by_name(first)


def _left_out(profiles: Profiles, drawn: Profiles) -> list[Note]:
    if len(drawn) == len(profiles):
        return []
    return [note("not_drawn.profiles", drawn=len(drawn), n=len(profiles))]


def _together(profiles: Profiles, changes: Sequence[Change], told: Sequence[Note]) -> Report:
    """Return the report of all profiles, what changed before it."""
    named = (own.with_columns(profile=pl.lit(name)) for name, own in profiles.items())
    found = profile_report.report(pl.concat(named))
    tables = [table for *_, change in changes for table in change.tables]
    notes = [note for *_, change in changes for note in change.notes]
    every = dict.fromkeys((*notes, *found.notes, *told))
    return replace(found, tables=(*tables, *found.tables), notes=tuple(every))


def _title(names: Sequence[str], changes: Sequence[Change]) -> str:
    if not changes:
        return f"Time of a step of {units.listed(names)}"
    a, others = changes[0][0], [b for _, b, _ in changes]
    return f"Is a step of {units.listed(others)} shorter than one of {a}?"


def _facts(profiles: Profiles) -> tuple[Fact, ...]:
    steps = [f"{name}: {answers.steps(own).height:,}" for name, own in profiles.items()]
    known = [Fact("Steps", units.listed(steps, between="; "))]
    known += [Fact(name, units.listed(_of(profiles, measure))) for name, measure in _FACTS.items()]
    return tuple(fact for fact in known if fact.text)


def _of(profiles: Profiles, measure: str) -> list[str]:
    """Return what profiles tell of something, each answer once."""
    rows = [answers.measures(own, measure).select("text", "value") for own in profiles.values()]
    said = (
        text if value is None else units.count(value) for text, value in pl.concat(rows).iter_rows()
    )
    return [one for one in dict.fromkeys(said) if one]


def _steps(profiles: Profiles) -> list[Conclusion]:
    said = ((name, profile_report.report(own).sentence) for name, own in profiles.items())
    return [Conclusion(name, "time of a step", text) for name, text in said if text]


def _verdict(a: str, b: str, change: Report) -> Conclusion:
    """Return how the steps of B differ from those of A, as the comparison says it."""
    (whole, *_), about = of_kind(change.records, profile_change.ChangeRow), f"{b} against {a}"
    low, high = whole.change_low, whole.change_high
    word = (Verdict.UNDECIDED, Verdict.SLOWER, Verdict.FASTER)[side_of(0.0, low, high)]
    label = "not tested" if low is None else word.label
    return Conclusion(about, label, change.sentence, tone=word.tone)
