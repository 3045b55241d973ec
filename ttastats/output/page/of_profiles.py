"""What does a page of profiles show? Where their steps go, and how those of others differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from ttastats.answers.profile import profile as profile_report
from ttastats.answers.profile import profile_change
from ttastats.base import units
from ttastats.base.codes import Note, note
from ttastats.output.page.content import Content, Fact, limit_rows
from ttastats.output.plots import kinds
from ttastats.output.plots.plot import FILTERS
from ttastats.output.plots.steps import Profiles, profiles_by_name
from ttastats.report.cells import Conclusion
from ttastats.report.row import expect_kind
from ttastats.stats.decision import side_of
from ttastats.stats.results import Verdict
from ttastats.traces import answers

#: What the head tells of profiles, by the measures that know it in words or as a number.
_FACTS = {
    "Device": "device_name",
    "Precision": "precision",
    "Samples per step": "batch_size",
    "PyTorch": "torch_version",
}
#: What makes a part of a step shorter.
_REMEDIES = {
    "compute_bound": "use a lower precision, tensor cores or a faster accelerator",
    "memory_bound": "fuse operators (`torch.compile`) or use a lower precision: fewer bytes move",
    "communication": "overlap it with computing, send less or less often",
    "copies": "pin memory and copy while the accelerator computes",
    "input": "add loader workers, prefetch, or prepare the data beforehand",
    "host": "launch fewer kernels (`torch.compile`, CUDA graphs), and do not wait for results",
    "idle": "see which call the accelerator waits for",
}
#: The name of a file, and the rows of its profiles.
Side = tuple[str, pl.DataFrame]


def profiles_content(
    sides: Sequence[Side], more_notes: Sequence[Note], *, title: str = "", confidence: float
) -> Content:
    """Return the content of a page of profiles; others are compared with the first.

    `confidence` is that of the intervals of changes.
    """
    for label, rows in sides[1:]:
        profile_change.expect_others(sides[0][1], rows, label)
    profiles = profiles_by_name(sides)
    (a, before), *challengers = [(_profile_name(side, profiles), side[1]) for side in sides]
    reports, verdicts = [], []
    for b, rows in challengers:
        report = profile_change.report(before, rows, (a, b), confidence=confidence)
        whole = expect_kind(report.records, profile_change.ChangeRow)[0]
        low, high = whole.change_low, whole.change_high
        word = (Verdict.UNDECIDED, Verdict.SLOWER, Verdict.FASTER)[side_of(0.0, low, high)]
        label = "not tested" if low is None else word.label
        verdicts.append(Conclusion(f"{b} against {a}", label, report.sentence, tone=word.tone))
        reports.append(report)
    plotted, notes = profiles, list(more_notes)
    if len(profiles) > kinds.MOST_PROFILES:  # then one of each side
        first = (
            (label, next(answers.profiles(rows))[1]) for label, rows in sides[: kinds.MOST_PROFILES]
        )
        plotted = profiles_by_name(first)
    if len(plotted) < len(profiles):
        notes.append(note("not_drawn.profiles", drawn=len(plotted), n=len(profiles)))
    names = units.join_names(list(profiles))
    challenger_names = units.join_names([b for b, _ in challengers])
    question = f"Is a step of {challenger_names} shorter than one of {a}?"
    # One report of all profiles, the comparisons first.
    labelled = (rows.with_columns(profile=pl.lit(name)) for name, rows in profiles.items())
    joint = profile_report.report(pl.concat(labelled))
    reports.append(joint)
    all_notes = dict.fromkeys((*(note for report in reports for note in report.notes), *notes))
    tables = tuple(table for report in reports for table in report.tables)
    return Content(
        title=title or (question if challengers else f"Time of a step of {names}"),
        counted=units.plural(len(profiles), "profile"),
        facts=_profile_facts(profiles),
        verdicts=(*verdicts, *(_advice(name, rows) for name, rows in profiles.items())),
        report=limit_rows(replace(joint, tables=tables, notes=tuple(all_notes))),
        plots=kinds.all_plots_of_profiles(plotted),
        choices=pl.DataFrame(schema=dict.fromkeys(FILTERS, pl.String) | {"runs": pl.Int64}),
        controls=FILTERS,
    )


def _advice(name: str, rows: pl.DataFrame) -> Conclusion:
    """Return a conclusion on the longest part of a profile's steps, with advice."""
    sentence = profile_report.report(rows).sentence
    parts = [*profile_report.of_step(rows)][:-1]  # the last is the whole step
    most = max(parts, key=lambda part: part.share or 0.0, default=None)
    share = most.share if most else None
    if most is None or not share or share == 1.0:
        return Conclusion(name, "time of a step", sentence or "It contains no training step.")
    gain = f"{units.percent(share)} of a step"
    if most.name != "compute_bound":  # the one part that no step is without
        gain += f", at most {units.factor(1 / (1 - share))} faster without"
    text = f"First {profile_report.TITLES[most.name]} ({gain}): {_REMEDIES[most.name]}."
    return Conclusion(name, "what to do", text, sentence)


def _profile_name(side: Side, profiles: Profiles) -> str:
    """Return the name of the one profile of a side, or that of its file."""
    label, rows = side
    ids = rows["profile_id"].unique()
    names = [name for name, profile in profiles.items() if profile["profile_id"][0] in ids]
    return names[0] if len(names) == 1 else label


def _profile_facts(profiles: Profiles) -> tuple[Fact, ...]:
    steps = [f"{name}: {answers.step_table(rows).height:,}" for name, rows in profiles.items()]
    facts = [Fact("Steps", units.join_names(steps, between="; "))]
    for name, measure in _FACTS.items():
        measurements = (answers.measure_rows(rows, measure) for rows in profiles.values())
        values = pl.concat([rows.select("text", "value") for rows in measurements]).iter_rows()
        texts = (text if value is None else units.count(value) for text, value in values)
        facts.append(Fact(name, units.join_names([text for text in dict.fromkeys(texts) if text])))
    return tuple(fact for fact in facts if fact.text)
