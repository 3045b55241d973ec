"""What does a league table show? Rows of words, with every run on one axis as SVG."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.answers import league
from ttastats.answers.league import Entry, League, Rank
from ttastats.base import percentages, units
from ttastats.outcomes.axis import AXES, Axis
from ttastats.output.page import figure
from ttastats.output.plots import axes
from ttastats.output.plots.axes import Scale
from ttastats.report import fitting
from ttastats.report.fitting import shorten_names

#: Columns of a screen that a name may take before it is shortened.
_LONGEST = 64
#: Ticks stand at least this share of the axis apart.
_LABEL_GAP = 0.17
#: Entries whose mean is this many times the median one are left beyond the end of the axis.
_FAR = 3.0
#: Height of a strip and its middle, in pixels.
_HEIGHT, _MIDDLE = 22, 11
#: The width of a strip in its own units; a reader's window stretches it.
_WIDTH = 1000
_CROSS = f'<path class="x" d="{figure.cross_path(0, _MIDDLE)}"/>'
#: What stands at the end of an axis that goes on.
_BEYOND = f'<path class="mean" d="M1 {_MIDDLE - 4}l6 4l-6 4"/>'


class Row(Struct, frozen=True):
    """One entry as a table shows it; `of` are the places of its runs among the choices.

    `brackets` are the lanes of the ties it belongs to, with where in each it stands; those that
    remain if conditions are true are dotted (`if`).
    """

    rank: str
    open_to: str
    brackets: tuple[str, ...]
    name: str
    whole: str
    hardware: str
    count: str
    strip: str
    mean: str
    interval: str
    hours: str
    of: str


class Table(Struct, frozen=True):
    """One league: its name and summary, its axis, its rows and their ties.

    A later round has a larger number in `round`.
    """

    name: str
    size: str
    round: int
    title: str
    entries: str
    claim: str
    axis_title: str
    axis: str
    grid: str
    mean: str
    level: str
    rows: tuple[Row, ...]
    lanes: int
    tied: str
    left_out: str
    is_first: bool
    has_hours: bool


def league_tables(leagues: Sequence[League], choices: pl.DataFrame) -> list[Table]:
    """Return the table of each league, with the largest of the newest round selected."""
    if not leagues:
        return []
    numbers = {keys[:-1]: number for number, keys in enumerate(choices.iter_rows())}
    rounds = sorted(map(_round_numbers, leagues))
    orders = [rounds.index(_round_numbers(ranked)) for ranked in leagues]
    newest = rounds.index(rounds[-1])
    latest = [ranked for ranked, order in zip(leagues, orders, strict=True) if order == newest]
    first = max((x for x in latest if x.name == latest[0].name), key=lambda x: len(x.entries))
    by = choices.columns[:-1]
    whole = {league.hardware(entry) for ranked in leagues for entry in ranked.entries}
    models = fitting.hardware_models(name.rpartition("× ")[2] for name in sorted(whole))
    return [
        _league_table(ranked, numbers, by, models, order, ranked is first)
        for ranked, order in zip(leagues, orders, strict=True)
    ]


def _round_numbers(ranked: League) -> list[int]:
    """Return the numbers in the round of a league: 5 and 1 of `v5.1`."""
    return [int(n) for n in re.findall(r"\d+", ranked.entries[0].row.keys.get("round") or "")]


def _league_table(
    ranked: League, numbers: Mapping[tuple[Any, ...], int], by: Sequence[str],
    models: Mapping[str, str], order: int, is_first: bool,
) -> Table:  # fmt: skip
    axis = AXES[ranked.entries[0].row.axis]
    lanes = ranked.lanes(ranked.ties)
    if ranked.conditions():
        dotted = (
            tuple(f"{part} if" if part else "" for part in row)
            for row in ranked.lanes(ranked.open_ties)
        )
        lanes = [
            (*row, *open_row)[: league.LANES] for row, open_row in zip(lanes, dotted, strict=True)
        ]
    scale = _entry_scale(ranked.entries, axis)
    entries = ranked.entries
    complete = Counter(_count_text(entry) for entry in entries if entry.side.all_reached)
    # How many runs most entries have, all of which reached.
    usual = complete.most_common(1)[0][0] if complete else ""
    unless = "" if {*map(_count_text, entries)} == {usual} else " unless stated otherwise"
    runs = f"{usual} each{unless}" if usual and len(entries) > 1 else usual
    whole = [fitting.key_label([entry.label]) for entry in ranked.entries]
    short = shorten_names(whole, _LONGEST) or {}
    means = [entry.mean for entry in entries if entry.mean is not None]
    unit = units.time_unit(means) if means and axis.unit == "seconds" else ""
    amount = partial(units.amount, unit=axis.unit, of_time=unit)
    rows = []
    for entry, rank, brackets, name in zip(ranked.entries, ranked.ranks, lanes, whole, strict=True):
        keys = set(zip(*(entry.runs[column].to_list() for column in by), strict=True))
        count, hours = _count_text(entry), entry.accelerator_seconds
        number, times, hardware = league.hardware(entry).rpartition("× ")
        mean, ends = "–" if entry.mean is None else amount(entry.mean), None
        if entry.mean is not None and entry.low is not None and entry.high is not None:
            ends = [amount(end) for end in (entry.low, entry.high)]
        row = Row(
            rank="–" if rank is None else str(rank.rank),
            open_to=_open_text(rank),
            brackets=brackets,
            name=short.get(name, name),
            whole=entry.label,
            hardware=f"{number}{times}{models[hardware]}",
            count="" if count == usual else count,
            strip="" if entry.row.is_aimless else _strip_svg(entry, scale),
            mean=mean,
            interval="[{}, {}]".format(*units.without_unit(ends, mean)) if ends else "",
            hours="" if hours is None else units.significant(hours / 3600),
            of=" ".join(map(str, sorted(numbers[key] for key in keys))),
        )
        rows.append(row)
    return Table(
        name=ranked.name,
        size=ranked.size or "",
        round=order,
        title=ranked.title,
        entries=units.plural(len(ranked.entries) + ranked.left_out, "entry", "entries"),
        claim=" ".join(f"{text}." for text in (league.claim(ranked), runs) if text),
        axis_title=f"{axis.to_target} of every run (log)",
        axis=_axis_svg(scale),
        mean="mean" if all(entry.side.all_reached for entry in entries) else axis.ert,
        # The lines of the ticks as a background of CSS.
        grid=",".join(
            f"linear-gradient(var(--line) 0 0) {100 * scale.position(at):.1f}% 0/1px 100% no-repeat"
            for at, _ in scale.ticks
        ),
        level=percentages.percent_text(ranked.confidence),
        rows=tuple(rows),
        lanes=len(lanes[0]),
        tied=league.ties_text(ranked),
        left_out=f"{ranked.left_out:,} behind these are left out." if ranked.left_out else "",
        is_first=is_first,
        has_hours=any(row.hours for row in rows),
    )


def _open_text(rank: Rank | None) -> str:
    """Return the possible ranks of an entry, if several."""
    if rank is None or rank.first == rank.last:
        return ""
    return f"may be {rank.first} to {rank.last}"


def _count_text(entry: Entry) -> str:
    side = entry.side
    if side.all_reached or entry.row.is_aimless:
        return units.plural(side.n, "run")
    return f"{side.n_reached}/{side.n} {AXES[entry.row.axis].reached}"


def _entry_scale(entries: Sequence[Entry], axis: Axis) -> Scale:
    """Return the axis of the entries; those that would make it unreadable go on beyond it."""
    means = [entry.mean for entry in entries if entry.mean is not None]
    most = _FAR * median(means) if means else math.inf
    amounts: list[float] = []
    for entry in entries:
        if entry.mean is None or entry.mean <= most:
            times = entry.side.outcomes.times.tolist()
            ends = (end for end in (entry.low, entry.high) if end and end > min(times) / 4)
            amounts += [*times, *ends]
    return axes.tick_scale(amounts, axis.unit)


def _strip_svg(entry: Entry, scale: Scale) -> str:
    """Return every run as a dot, or a cross if it failed, with mean and interval, as SVG."""
    outcomes, parts = entry.side.outcomes, ""
    reached, failed = (outcomes.times[x].tolist() for x in (outcomes.reached, ~outcomes.reached))
    if entry.mean is not None and entry.mean <= scale.high:
        if entry.low is not None and entry.high is not None:
            low, high = (_WIDTH * scale.position(end) for end in (entry.low, entry.high))
            parts += f'<path class="ci" d="M{low:.0f} {_MIDDLE}H{high:.0f}"/>'
        at = _WIDTH * scale.position(entry.mean)
        parts += f'<path class="mean" d="M{at:.0f} 2v{_HEIGHT - 4}"/>'
    lanes = zip(reached, cycle(figure.LANES), strict=False)
    dots = dict.fromkeys(
        f"M{round(_WIDTH * scale.position(time))} {_MIDDLE + lane}h.1"
        for time, lane in lanes
        if time <= scale.high
    )
    parts += f'<path class="dot" d="{"".join(dots)}"/>' if dots else ""
    stretched = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">{parts}</svg>'
    signs = [(scale.position(time), _CROSS) for time in failed]
    signs += [(1.0, _BEYOND) for time in (*reached, *failed) if time > scale.high]
    placed = dict.fromkeys((round(100 * share, 1), sign) for share, sign in signs)
    sign_marks = "".join(f'<svg x="{x:.1f}%">{sign}</svg>' for x, sign in placed)
    on_axis, off = ([(scale.position(time), time) for time in times] for times in (reached, failed))
    words = figure.runs_attribute(on_axis, off, AXES[entry.row.axis])
    if not sign_marks:
        return f'<svg class="strip"{words} {stretched}'
    return f'<svg class="strip"{words}><svg {stretched}{sign_marks}</svg>'


def _axis_svg(scale: Scale) -> str:
    """Return the tick labels that do not overlap, as SVG."""
    words, last = "", -1.0
    for value, text in scale.ticks:
        x = scale.position(value)
        if x - last >= _LABEL_GAP:
            anchor = "start" if x < 0.06 else "end" if x > 0.94 else "middle"
            words += f'<text x="{100 * x:.1f}%" y="12" text-anchor="{anchor}">{text}</text>'
            last = x
    return f'<svg class="axis" aria-hidden="true">{words}</svg>'
