"""The figure of a comparison as SVG, with every run: one for wide windows, one for phones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import cycle, starmap

from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import p_text
from ttastats.base import percentages, units
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes
from ttastats.output.plots.axes import Scale
from ttastats.report.answer import Report
from ttastats.report.fitting import cut_middle, shorten_names
from ttastats.report.grouping import shown_keys
from ttastats.report.harmless import escape_invisible
from ttastats.report.row import expect_kind
from ttastats.sides.findings import condition_names
from ttastats.stats.outcomes import Outcomes
from ttastats.stats.results import Tone

#: Rows from which on each has one line, and those that are decided stand first.
THIN_FROM = 17
#: What a tick needs beside it, in pixels.
_ROOM = 52.0


class Runs(Struct, frozen=True):
    """The runs of one side: when they reached, where the others stopped, and the mean."""

    reached: tuple[float, ...]
    failed: tuple[float, ...]
    mean: float | None


class FigureRow(Struct, frozen=True):
    """One comparison: its runs, the speedup with its interval and its parts, and the verdict.

    `setup` tells it from others of its benchmark. `parts` are what the speedup is a product of.
    """

    benchmark: str | None
    name: str
    setup: str
    count: str
    a: Runs
    b: Runs
    ratio: float | None
    low: float | None
    high: float | None
    parts: tuple[tuple[str, float], ...]
    verdict: str
    tone: Tone
    p: str
    carried: str


def rows_of_figure(report: Report) -> tuple[FigureRow, ...]:
    """Return the rows of the figure in order; of many, those with a verdict come first."""
    keys = [key for key in shown_keys(report.records, report.by) if key != "benchmark"]
    rows = [
        _figure_row(row, a, b, keys, several=len(report.against) > 1)
        for against in report.against
        for row, (a, b) in zip(expect_kind(against.rows, TimesRow), against.runs, strict=True)
    ]
    if len(rows) >= THIN_FROM:
        order = ("good", "bad", "plain", "dim")
        rows.sort(key=lambda row: (order.index(row.tone), -(row.ratio or 0.0)))
    return tuple(rows)


def verdict_counts(rows: tuple[FigureRow, ...]) -> str:
    """Return the number of rows by verdict: `8 faster, 32 undecided`."""
    counts = Counter(row.verdict.split(" ", 1)[1] for row in rows)
    return ", ".join(f"{n} {word}" for word, n in counts.items())


def _figure_row(
    row: TimesRow, a: Outcomes, b: Outcomes, keys: Sequence[str], *, several: bool
) -> FigureRow:
    """Return a comparison as a row; `keys` identify it, as does B if there are several."""

    def finite(number: float | None) -> float | None:
        return number if number is not None and math.isfinite(number) else None

    def runs(side: Outcomes, mean: float | None) -> Runs:
        reached, failed = (side.times[x].tolist() for x in (side.reached, ~side.reached))
        return Runs(tuple(reached), tuple(failed), finite(mean))

    means = row.tta_a_seconds, row.tta_b_seconds
    if row.estimand == "ert":
        means = row.ert_a_seconds, row.ert_b_seconds
    counts = f"{row.n_a:,} and {row.n_b:,} runs"
    if row.reached_a < row.n_a or row.reached_b < row.n_b:
        counts = f"{row.reached_a:,}/{row.n_a:,}, {row.reached_b:,}/{row.n_b:,}"
        counts = f"reached {counts}" if len(counts) < 14 else counts
    # The keys but the benchmark, such as `8× NVIDIA H200`.
    key_texts = {key: str(row.get(key)) for key in keys if row.get(key) is not None}
    accelerators = key_texts.pop("accelerators", "")
    text = " ".join(key_texts.values())
    if accelerators:
        text = f"{accelerators}× {text}" if text else f"{accelerators} accelerators"
    throughput, epochs = finite(row.throughput_speedup), finite(row.epochs_ratio)
    first = row.on.rate
    if carried := condition_names(row.throughput_conditions or ()):
        first += f" ({carried})"
    parts: tuple[tuple[str, float], ...] = ()
    if throughput and epochs:
        parts = ((first, throughput), (row.progress_unit or "epochs", epochs))
    return FigureRow(
        benchmark=row.benchmark,
        name=row.benchmark or "these runs",
        setup=" · ".join(filter(None, (row.b if several else "", text))),
        count=counts,
        a=runs(a, means[0]),
        b=runs(b, means[1]),
        ratio=finite(row.speedup),
        low=finite(row.speedup_low),
        high=finite(row.speedup_high),
        parts=parts,
        verdict=f"{row.on.claim(row.word.signed)} {row.marks}".rstrip(),
        tone=row.word.tone,
        p=p_text(row, "{}"),
        carried=", ".join(row.carried),
    )


class Slot(Struct, frozen=True):
    """The position of an element in a row: from `x` to `end`, at `y`."""

    x: float
    y: float
    end: float = 0.0

    def along(self, scale: Scale, value: float) -> float:
        """Return the position of a value of a scale between the ends."""
        return self.x + scale.position(value) * (self.end - self.x)


class Layout(Struct, frozen=True):
    """The positions of all elements, in pixels; None is left out.

    The head of a figure ends at `top` and holds the titles of its columns and, at two heights,
    the ticks of times and of ratios: without these, each row has its own ticks of times. All else
    is of a row. `letters` fit beside each other in a name, a setup, and the name of a side;
    `lines` are the tops and heights of the lines behind times and behind ratios; `b` and `bars`
    are heights, of what stands below `a` and below `ratio`.
    """

    name: str
    width: float
    height: float
    top: float
    letters: tuple[int, int, int]
    titles: tuple[Slot, ...]
    ticks: tuple[float, float] | None
    lines: tuple[tuple[float, float], tuple[float, float]]
    names: Slot
    setup: Slot | None
    count: Slot | None
    a: Slot
    b: float
    ratio: Slot
    bars: float | None
    text: Slot
    parts: Slot | None
    verdict: Slot
    p: Slot | None = None


_WIDE = Layout(
    "wide", 1240, 52, 64, (24, 34, 44), (Slot(240, 34), Slot(650, 34), Slot(1084, 34)),
    (58, 58), ((0, 52), (0, 52)), Slot(0, 19), Slot(0, 37), Slot(1084, 37), Slot(240, 15, 556),
    36, Slot(650, 14, 850), 30, Slot(860, 19), Slot(860, 37),
    Slot(1084, 19),
)  # fmt: skip
_WIDE_THIN = replace(
    _WIDE, height=27, letters=(30, 30, 44), lines=((0, 27), (0, 27)), names=Slot(0, 18),
    setup=None, count=None, a=Slot(240, 9, 610), b=19, ratio=Slot(650, 9, 850),
    bars=17, text=Slot(860, 18), parts=None, verdict=Slot(1084, 18),
)  # fmt: skip
_NARROW = Layout(
    "narrow", 360, 148, 85, (22, 30, 30), (Slot(0, 48), Slot(0, 64)), None, ((42, 39), (98, 31)),
    Slot(0, 18), Slot(0, 34), Slot(360, 34), Slot(6, 52, 286), 71,
    Slot(6, 106, 176), 121, Slot(186, 110), Slot(6, 142), Slot(360, 18),
    Slot(186, 126),
)  # fmt: skip
_NARROW_THIN = replace(
    _NARROW, height=60, top=103, letters=(30, 30, 30), ticks=(83, 97), lines=((15, 30), (40, 16)),
    names=Slot(0, 15), setup=None, count=None, a=Slot(6, 25, 354), b=35,
    ratio=Slot(6, 48, 176), bars=None, text=Slot(186, 52), parts=None, verdict=Slot(360, 15),
    p=None,
)  # fmt: skip


def figure_svg(
    rows: Sequence[FigureRow], sides: tuple[str, str], axis: Axis, confidence: float,
    links: Mapping[str | None, str],
) -> str:  # fmt: skip
    """Return the figure of a comparison as SVG in a wide and a narrow layout.

    `links` are the addresses of what else there is of a benchmark.
    """
    samples = [runs for row in rows for runs in (row.a, row.b)]
    times = axes.tick_scale(
        [x for runs in samples for x in (*runs.reached, *runs.failed)], axis.unit
    )
    ratios = [row.ratio for row in rows if row.ratio]
    ratios += [row.parts[0][1] for row in rows if row.parts]
    scale = axes.ratio_scale(ratios, [end for row in rows for end in (row.low, row.high)])
    level = percentages.percent_text(confidence)
    layouts = (_WIDE_THIN, _NARROW_THIN) if len(rows) >= THIN_FROM else (_WIDE, _NARROW)
    figures = (_Figure(layout, times, scale, axis, links) for layout in layouts)
    return "\n".join(figure.svg(rows, sides, level) for figure in figures)


class _Figure(Struct, frozen=True):
    """A figure in one layout, with the scales and links of all its rows."""

    layout: Layout
    times: Scale
    ratios: Scale
    axis: Axis
    links: Mapping[str | None, str]

    def svg(self, rows: Sequence[FigureRow], sides: tuple[str, str], level: str) -> str:
        """Return the figure of some rows: a legend, the titles of columns and each row."""
        layout, axis, wide = self.layout, self.axis, self.layout.name == "wide"
        x, y, marks = layout.a.x, 13.0, ""
        for kind, name in zip("ab", sides, strict=True):
            text = f"{kind.upper()} {cut_middle(escape_invisible(name), layout.letters[2])}"
            marks += f'<path class="{kind}" d="M{x + 4:g} {y - 4:g}h.01"/>'
            marks += _svg_text(Slot(x + 14, y), text, "l")
            x, y = (x + 40 + 7.8 * len(text), y) if wide else (x, y + 17)
        if any(row.a.failed or row.b.failed for row in rows):
            x, y = (x, y) if wide else (layout.width - 100, 13.0)
            marks += f'<path class="x" d="{cross_path(x + 4, y - 4)}"/>'
            marks += _svg_text(Slot(x + 14, y), "did not reach", "l")
        parts = "; bars: its parts" if any(row.parts for row in rows) else ""
        interval = f"{axis.ratio}, {level} interval (log){parts}"
        titles = (f"{axis.to_target} of every run (log)", interval, "verdict")
        for slot, title in zip(layout.titles, titles, strict=False):
            marks += _svg_text(slot, title, "t")
        if layout.ticks:
            marks += _tick_labels(self.times, layout.a, layout.ticks[0])
            marks += _tick_labels(self.ratios, layout.ratio, layout.ticks[1])
        for n, (row, name_setup) in enumerate(zip(rows, _short_names(rows, layout), strict=True)):
            attribute = "" if row.benchmark is None else f' data-row="{_escaped(row.benchmark)}"'
            shift = f'transform="translate(0 {layout.top + n * layout.height:g})"'
            marks += f"<g{attribute} {shift}>{''.join(self.row_marks(row, *name_setup))}</g>"
        height = layout.top + len(rows) * layout.height + 4
        label = f"{axis.to_target} of every run, {axis.ratio} and verdict of each benchmark"
        return (
            f'<svg class="figure {layout.name}" viewBox="0 0 {layout.width:g} {height:g}" '
            f'role="group" aria-label="{_escaped(label)}">{marks}</svg>'
        )

    def row_marks(self, row: FigureRow, name: str, setup: str) -> Iterator[str]:
        """Yield the marks of a row, with its name and setup as there is room for them."""
        layout = self.layout
        yield f'<path class="g" d="M0 0h{layout.width:g}"/>'
        whole = f"<title>{_escaped(f'{row.name} {row.setup}'.strip())}</title>"
        whole += _svg_text(layout.names, name, "n" if layout.setup else "m")
        link = self.links.get(row.benchmark)
        yield f'<a href="{escape(link)}">{whole}</a>' if link else f"<g>{whole}</g>"
        if layout.setup and setup:
            yield _svg_text(layout.setup, setup, "t")
        columns = ((self.times, layout.a), (self.ratios, layout.ratio))
        for (scale, slot), (top, height) in zip(columns, layout.lines, strict=True):
            at = (slot.along(scale, value) for value, _ in scale.ticks)
            yield f'<path class="g" d="{"".join(f"M{x:.1f} {top:g}v{height:g}" for x in at)}"/>'
        if layout.ticks is None:
            yield _tick_labels(self.times, layout.a, layout.b + 18)
        neutral, (top, height) = layout.ratio.along(self.ratios, 1.0), layout.lines[-1]
        yield f'<path class="one" d="M{neutral:.1f} {top:g}v{height:g}"/>'
        yield from self.run_marks(row.a, "a", layout.a.y)
        yield from self.run_marks(row.b, "b", layout.b)
        yield from self.speedup_marks(row)
        slot, anchor = layout.verdict, "end" if layout.name == "narrow" else "start"
        if row.carried:
            width = 8.0 * len(row.carried) + 14
            left = slot.x - width if anchor == "end" else slot.x
            size = f'width="{width:g}" height="19" rx="9"'
            yield f'<rect class="chip" x="{left:g}" y="{slot.y - 14:g}" {size}/>'
            yield _svg_text(Slot(left + width / 2, slot.y), row.carried, "bad", "middle")
        else:
            yield _svg_text(slot, row.verdict, f"w {row.tone}", anchor)
        if layout.count:
            yield _svg_text(layout.count, row.count, "t", anchor)

    def run_marks(self, runs: Runs, kind: str, y: float) -> Iterator[str]:
        """Yield every run as a dot, or a cross if it failed, and the mean as text."""
        thin, ends = self.layout.setup is None, list[float]()
        for times, look in ((runs.reached, kind), (runs.failed, f"{kind} x")):
            # Runs of one place stand below each other.
            positions = [round(2 * self.layout.a.along(self.times, time)) / 2 for time in times]
            lanes = cycle([y] if thin else [y + lane for lane in LANES])
            at = dict.fromkeys(zip(positions, lanes, strict=False))
            draw = "M{:.4g} {:g}h.01".format if look == kind else cross_path
            if at:
                shares = (position / self.layout.width for position in positions)
                located = [*zip(shares, times, strict=True)]
                on, off = (located, ()) if look == kind else ((), located)
                words = runs_attribute(on, off, self.axis)
                yield f'<path class="{look}"{words} d="{"".join(starmap(draw, at))}"/>'
            ends += positions
        if ends and runs.mean is not None and not thin:
            text = units.amount(runs.mean, self.axis.unit)
            if self.axis.unit not in {"seconds", "dollars", "joules"}:  # the axis says what it is
                text = text.split(" ")[0]
            yield _svg_text(Slot(max(ends) + 9, y + 4), text, f"l on-{kind}")

    def speedup_marks(self, row: FigureRow) -> Iterator[str]:
        """Yield the speedup with its interval, as marks and in words, and its parts as bars."""
        layout, ratios, slot = self.layout, self.ratios, self.layout.ratio
        if row.ratio is None:
            yield _svg_text(layout.text, "–", "t")
            return
        text, tone = units.factor(row.ratio), "dim" if row.carried else row.tone
        if row.low and row.high:
            x, end = slot.along(ratios, row.low), slot.along(ratios, row.high)
            yield f'<path class="ci {tone}" d="M{x:.1f} {slot.y:g}H{end:.1f}"/>'
            text += units.interval_suffix(row.low, row.high)
        if row.ratio > 0:
            x = slot.along(ratios, row.ratio)
            yield f'<path class="pt {tone}" d="M{x:.1f} {slot.y:g}h.01"/>'
        p_span = f'<tspan class="t">  {_escaped(row.p)}</tspan>' if layout.name == "wide" else ""
        yield _svg_text(layout.text, text, "v", suffix=p_span)
        if layout.p:
            yield _svg_text(layout.p, row.p, "t")
        start, height = 1.0, 5.0 if layout.parts else 3.0
        for n, (_, ratio) in enumerate(row.parts):  # the second from the end of the first
            left, right = sorted(slot.along(ratios, value) for value in (start, start * ratio))
            size = f'width="{max(right - left, 0.8):.1f}" height="{height:g}"'
            if layout.bars:
                y = layout.bars + n * (height + 1)
                yield f'<rect class="part{n}" x="{left:.1f}" y="{y:g}" {size}/>'
            start *= ratio
        if row.parts and layout.parts:
            text = " · ".join(f"{name} {units.factor(ratio)}" for name, ratio in row.parts)
            yield _svg_text(layout.parts, text, "t")


def _tick_labels(scale: Scale, slot: Slot, y: float) -> str:
    """Return the tick labels that do not overlap; that of 1 takes precedence."""
    positions, labels = list[float](), ""
    for value, text in sorted(scale.ticks, key=lambda tick: tick[0] != 1.0):
        x = slot.along(scale, value)
        if all(abs(x - position) >= _ROOM for position in positions):
            positions.append(x)
            anchor = "start" if x < slot.x + 14 else "end" if x > slot.end - 14 else "middle"
            labels += _svg_text(Slot(x, y), text, "t", anchor)
    return labels


def _short_names(rows: Sequence[FigureRow], layout: Layout) -> list[tuple[str, str]]:
    """Return the name and the setup of each row, shortened but distinct."""
    whole = [(row.name, row.setup) for row in rows]
    if layout.setup is None:
        whole = [(f"{name} {setup}".strip(), "") for name, setup in whole]
    columns = []
    for texts, letters in zip(zip(*whole, strict=True), layout.letters, strict=False):
        names = [escape_invisible(text) for text in texts]
        short = shorten_names(names, letters) or {name: cut_middle(name, letters) for name in names}
        columns.append([short[name] for name in names])
    return list(zip(*columns, strict=True))


#: Where runs of one place stand, below each other.
LANES = (-4, 0, 4)


#: Runs of one row that a pointer can tell apart.
_MOST_TOLD = 200
#: Runs in a drawing: the share of its width, and the time.
Located = Sequence[tuple[float, float]]


def runs_attribute(reached: Located, failed: Located, axis: Axis) -> str:
    """Return the attribute with the runs of a mark: shares of the width, and times."""
    words = [f"{x:.3f} {units.amount(time, axis.unit)}" for x, time in reached]
    words += [f"{x:.3f} failed at {units.amount(time, axis.unit)}" for x, time in failed]
    return f' data-runs="{";".join(words)}"' if 0 < len(words) <= _MOST_TOLD else ""


def cross_path(x: float, y: float) -> str:
    """Return the path of the cross of a run that failed."""
    return f"M{x - 3.5:g} {y - 3.5:g}l7 7m0-7l-7 7"


def _svg_text(at: Slot, text: str, kind: str, anchor: str = "start", *, suffix: str = "") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{at.x:g}" y="{at.y:g}" class="{kind}"{end}>{_escaped(text)}{suffix}</text>'


def _escaped(text: str) -> str:
    return escape(escape_invisible(text))
