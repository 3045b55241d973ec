"""The figure of a comparison as SVG, with every run: one for wide windows, one for phones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import p_text
from ttastats.base import percentages, units
from ttastats.base.units import Amount
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes
from ttastats.output.plots.axes import Scale
from ttastats.report.answer import Against, Report
from ttastats.report.grouping import shown_keys
from ttastats.report.render.fitting import cut_middle, shorten_names
from ttastats.report.render.harmless import escape_invisible
from ttastats.report.row import expect_kind
from ttastats.stats.outcomes import Outcomes
from ttastats.stats.results import Tone


class Place(Struct, frozen=True):
    """Where something stands in a row: from `x` to `end`, at `y`."""

    x: float
    y: float
    end: float = 0.0

    def along(self, scale: Scale, value: float) -> float:
        """Return where a value of a scale stands between the ends."""
        return self.x + scale.position(value) * (self.end - self.x)


class RowLayout(Struct, frozen=True):
    """Where everything of a row stands, in pixels; None is left out.

    `letters` fit beside each other in a name, a setup, and the name of a side.
    """

    name: str
    width: float
    height: float
    letters: tuple[int, int, int]
    names: Place
    setup: Place | None
    count: Place | None
    a: Place
    b: Place
    ratio: Place
    bars: Place | None
    words: Place
    parts: Place | None
    verdict: Place
    p: Place | None = None
    row_ticks: bool = False
    line: float = 20.0


_WIDE = RowLayout(
    "wide", 1240, 52, (24, 34, 44), Place(0, 19), Place(0, 37), Place(1084, 37),
    Place(240, 15, 556), Place(0, 36), Place(650, 14, 850), Place(0, 30), Place(860, 19),
    Place(860, 37), Place(1084, 19),
)  # fmt: skip
_WIDE_THIN = replace(
    _WIDE, height=27, letters=(30, 30, 44), names=Place(0, 18), setup=None, count=None,
    a=Place(240, 9, 610), b=Place(0, 19), ratio=Place(650, 9, 850), bars=Place(0, 17),
    words=Place(860, 18), parts=None, verdict=Place(1084, 18),
)  # fmt: skip
_NARROW = RowLayout(
    "narrow", 360, 148, (22, 30, 30), Place(0, 18), Place(0, 34), Place(360, 34),
    Place(6, 52, 286), Place(0, 71), Place(6, 106, 176), Place(0, 121), Place(186, 110),
    Place(6, 142), Place(360, 18), Place(186, 126), row_ticks=True, line=17,
)  # fmt: skip
_NARROW_THIN = replace(
    _NARROW, height=60, letters=(30, 30, 30), names=Place(0, 15), setup=None, count=None,
    a=Place(6, 25, 354), b=Place(0, 35), ratio=Place(6, 48, 176), bars=None,
    words=Place(186, 52), parts=None, verdict=Place(360, 15), p=None, row_ticks=False,
)  # fmt: skip


def figure_svg(
    rows: Sequence[FigureRow], sides: tuple[str, str], axis: Axis, confidence: float,
    links: Mapping[str | None, str],
) -> str:  # fmt: skip
    """Return the figure of a comparison as SVG in a wide and a narrow layout.

    `links` are the addresses of what else there is of a benchmark.
    """
    both = [runs for row in rows for runs in (row.a, row.b)]
    times = [time for runs in both for time in (*runs.reached, *runs.failed)]
    ratios = [row.ratio for row in rows if row.ratio]
    ratios += [row.parts[0][1] for row in rows if row.parts]
    limits = axes.ratio_axis(ratios, [end for row in rows for end in (row.low, row.high)])
    ticks = tuple((value, f"{value:g}×") for value in limits["axis"]["values"])
    low, high = limits["scale"]["domain"]
    scales = axes.tick_scale(times, axis.unit), Scale(low, high, ticks)
    level = percentages.percent_text(confidence)
    thin = len(rows) >= THIN_FROM
    layouts = (_WIDE_THIN, _NARROW_THIN) if thin else (_WIDE, _NARROW)
    frames = (_Frame(layout, *scales, axis.unit, links) for layout in layouts)
    return "\n".join(_draw_layout(rows, sides, axis, level, frame) for frame in frames)


class _Frame(Struct, frozen=True):
    """What all rows of a figure share."""

    layout: RowLayout
    times: Scale
    ratios: Scale
    unit: Amount
    links: Mapping[str | None, str]


def _draw_layout(
    rows: Sequence[FigureRow], sides: tuple[str, str], axis: Axis, level: str, frame: _Frame
) -> str:
    layout, wide = frame.layout, frame.layout.name == "wide"
    parts = "; bars: its parts" if any(row.parts for row in rows) else ""
    titles = f"{axis.to_target} of every run (log)", f"{axis.ratio}, {level} interval (log){parts}"
    head = "".join(_head_marks(rows, sides, titles, layout))
    top = layout.line * (3 if wide else 5)
    if not layout.row_ticks:
        apart = 0 if wide else 14
        top += 4 + apart
        head += _tick_labels(frame.times, layout.a, top - 6 - apart)
        head += _tick_labels(frame.ratios, layout.ratio, top - 6)
    body = ""
    for n, (row, name) in enumerate(zip(rows, _short_names(rows, layout), strict=True)):
        about = "" if row.benchmark is None else f' data-row="{_escaped(row.benchmark)}"'
        place = f'transform="translate(0 {top + n * layout.height:g})"'
        body += f"<g{about} {place}>{''.join(_row_marks(row, name, frame))}</g>"
    height = top + len(rows) * layout.height + 4
    label = f"{axis.to_target} of every run, {axis.ratio} and verdict of each benchmark"
    return (
        f'<svg class="figure {layout.name}" viewBox="0 0 {layout.width:g} {height:g}" '
        f'role="group" aria-label="{_escaped(label)}">{head}{body}</svg>'
    )


def _head_marks(
    rows: Sequence[FigureRow], sides: tuple[str, str], titles: tuple[str, str], layout: RowLayout
) -> Iterator[str]:
    """Yield the legend and the titles of the columns."""
    x, y, wide = layout.a.x, 13.0, layout.name == "wide"
    for kind, name in zip("ab", sides, strict=True):
        words = f"{kind.upper()} {cut_middle(escape_invisible(name), layout.letters[2])}"
        yield f'<path class="{kind}" d="M{x + 4:g} {y - 4:g}h.01"/>'
        yield _svg_text(Place(x + 14, y), words, "l")
        x, y = (x + 40 + 7.8 * len(words), y) if wide else (x, y + layout.line)
    if any(row.a.failed or row.b.failed for row in rows):
        x, y = (x, y) if wide else (layout.width - 100, 13.0)
        yield f'<path class="x" d="{_cross(x + 4, y - 4)}"/>'
        yield _svg_text(Place(x + 14, y), "did not reach", "l")
    if wide:
        columns = zip((layout.a, layout.ratio, layout.verdict), (*titles, "verdict"), strict=True)
        for place, title in columns:
            yield _svg_text(Place(place.x, 2 * layout.line - 6), title, "t")
    else:
        yield _svg_text(Place(0, 3 * layout.line - 3), titles[0], "t")
        yield _svg_text(Place(0, 4 * layout.line - 4), titles[1], "t")


#: What a tick needs beside it, in pixels.
_ROOM = 52.0


def _tick_labels(scale: Scale, place: Place, y: float) -> str:
    """Return the tick labels that do not overlap; that of 1 takes precedence."""
    taken, labels = list[float](), ""
    for value, words in sorted(scale.ticks, key=lambda tick: tick[0] != 1.0):
        x = place.along(scale, value)
        if all(abs(x - other) >= _ROOM for other in taken):
            taken.append(x)
            anchor = "start" if x < place.x + 14 else "end" if x > place.end - 14 else "middle"
            labels += _svg_text(Place(x, y), words, "t", anchor)
    return labels


def _short_names(rows: Sequence[FigureRow], layout: RowLayout) -> list[tuple[str, str]]:
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


def _row_marks(row: FigureRow, name: tuple[str, str], frame: _Frame) -> Iterator[str]:
    layout, ratios = frame.layout, frame.ratios
    # The tops and the heights of the lines behind times and behind speedups.
    top, height = low, span = 0.0, layout.height
    if layout.name == "narrow":
        top, height = layout.a.y - 10, layout.b.y - layout.a.y + 20
        low, span = layout.ratio.y - 8, (layout.bars or layout.ratio).y - layout.ratio.y + 16
    yield f'<path class="g" d="M0 0h{layout.width:g}"/>'
    whole = f"<title>{_escaped(f'{row.name} {row.setup}'.strip())}</title>"
    whole += _svg_text(layout.names, name[0], "n" if layout.setup else "m")
    link = frame.links.get(row.benchmark)
    yield f'<a href="{escape(link)}">{whole}</a>' if link else f"<g>{whole}</g>"
    if layout.setup and name[1]:
        yield _svg_text(layout.setup, name[1], "t")
    columns = ((frame.times, layout.a, top, height), (ratios, layout.ratio, low, span))
    for scale, place, start, long in columns:
        at = (place.along(scale, value) for value, _ in scale.ticks)
        yield f'<path class="g" d="{"".join(f"M{x:.1f} {start:g}v{long:g}" for x in at)}"/>'
    if layout.row_ticks:
        yield _tick_labels(frame.times, layout.a, layout.b.y + 18)
    yield f'<path class="one" d="M{layout.ratio.along(ratios, 1.0):.1f} {low:g}v{span:g}"/>'
    for kind, runs, y in (("a", row.a, layout.a.y), ("b", row.b, layout.b.y)):
        yield from _run_marks(runs, kind, replace(layout.a, y=y), frame)
    yield from _speedup_marks(row, ratios, layout)
    yield from _verdict_marks(row, layout)


#: Runs of one place stand below each other.
_LANES = (-4.0, 0.0, 4.0)


def _run_marks(runs: Runs, kind: str, place: Place, frame: _Frame) -> Iterator[str]:
    """Yield every run as a dot, or a cross if it failed, and the mean as text."""
    thin = frame.layout.setup is None
    lanes = _LANES[1:2] if thin else _LANES
    marks = []
    for times, look in ((runs.reached, kind), (runs.failed, f"{kind} x")):
        at = dict.fromkeys(
            (round(2 * place.along(frame.times, time)) / 2, place.y + lanes[n % len(lanes)])
            for n, time in enumerate(times)
        )
        dots = (f"M{x:.4g} {y:g}h.01" if times is runs.reached else _cross(x, y) for x, y in at)
        if at:
            yield f'<path class="{look}" d="{"".join(dots)}"/>'
        marks += [x for x, _ in at]
    if marks and runs.mean is not None and not thin:
        words = units.amount(runs.mean, frame.unit)
        if frame.unit not in {"seconds", "dollars", "joules"}:  # the axis says what is counted
            words = words.split(" ")[0]
        yield _svg_text(Place(max(marks) + 9, place.y + 4), words, f"l on-{kind}")


def _cross(x: float, y: float) -> str:
    return f"M{x - 3.5:g} {y - 3.5:g}l7 7m0-7l-7 7"


def _speedup_marks(row: FigureRow, ratios: Scale, layout: RowLayout) -> Iterator[str]:
    if row.ratio is None:
        yield _svg_text(layout.words, "–", "t")
        return
    place, tone = layout.ratio, "dim" if row.carried else row.tone
    words = units.factor(row.ratio)
    if row.low and row.high:
        x, end = place.along(ratios, row.low), place.along(ratios, row.high)
        yield f'<path class="ci {tone}" d="M{x:.1f} {place.y:g}H{end:.1f}"/>'
        words += units.interval_suffix(row.low, row.high)
    if row.ratio > 0:
        yield f'<path class="pt {tone}" d="M{place.along(ratios, row.ratio):.1f} {place.y:g}h.01"/>'
    beside = f'<tspan class="t">  {_escaped(row.p)}</tspan>' if layout.name == "wide" else ""
    yield _svg_text(layout.words, words, "v", more=beside)
    if layout.p:
        yield _svg_text(layout.p, row.p, "t")
    if row.parts and layout.bars:
        yield from _part_bars(row, ratios, replace(place, y=layout.bars.y), layout.parts is None)
    if row.parts and layout.parts:
        words = " · ".join(f"{name} {units.factor(ratio)}" for name, ratio in row.parts)
        yield _svg_text(layout.parts, words, "t")


def _part_bars(row: FigureRow, ratios: Scale, place: Place, thin: bool) -> Iterator[str]:
    """Yield the parts of a speedup as bars, the second from the end of the first."""
    start, height = 1.0, 3.0 if thin else 5.0
    for n, (_, ratio) in enumerate(row.parts):
        left, right = sorted(place.along(ratios, value) for value in (start, start * ratio))
        yield (
            f'<rect class="part{n}" x="{left:.1f}" y="{place.y + n * (height + 1):g}" '
            f'width="{max(right - left, 0.8):.1f}" height="{height:g}"/>'
        )
        start *= ratio


def _verdict_marks(row: FigureRow, layout: RowLayout) -> Iterator[str]:
    place, anchor = layout.verdict, "end" if layout.name == "narrow" else "start"
    if row.carried:
        width = 8.0 * len(row.carried) + 14
        left = place.x - width if anchor == "end" else place.x
        size = f'width="{width:g}" height="19" rx="9"'
        yield f'<rect class="chip" x="{left:g}" y="{place.y - 14:g}" {size}/>'
        yield _svg_text(Place(left + width / 2, place.y), row.carried, "bad", "middle")
    else:
        yield _svg_text(place, row.verdict, f"w {row.tone}", anchor)
    if layout.count:
        yield _svg_text(layout.count, row.count, "t", anchor)


def _svg_text(at: Place, words: str, kind: str, anchor: str = "start", *, more: str = "") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{at.x:g}" y="{at.y:g}" class="{kind}"{end}>{_escaped(words)}{more}</text>'


def _escaped(text: str) -> str:
    return escape(escape_invisible(text))


#: Rows from which on each has one line, and those that are decided stand first.
THIN_FROM = 17


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
    rows = [row for against in report.against for row in _rows_against(against, report)]
    if len(rows) >= THIN_FROM:
        order = ("good", "bad", "plain", "dim")
        rows.sort(key=lambda row: (order.index(row.tone), -(row.ratio or 0.0)))
    return tuple(rows)


def verdict_counts(rows: tuple[FigureRow, ...]) -> str:
    """Return the number of rows by verdict: `8 faster, 32 undecided`."""
    words = Counter(row.verdict.split(" ", 1)[1] for row in rows)
    return ", ".join(f"{n} {word}" for word, n in words.items())


def _rows_against(against: Against, report: Report) -> Iterator[FigureRow]:
    several = len(report.against) > 1
    keys = [key for key in shown_keys(report.records, report.by) if key != "benchmark"]
    for row, (a, b) in zip(expect_kind(against.rows, TimesRow), against.runs, strict=True):
        ert = row.estimand == "ert"
        throughput, epochs = _known_number(row.throughput_speedup), _known_number(row.epochs_ratio)
        counts = f"{row.n_a:,} and {row.n_b:,} runs"
        if row.reached_a < row.n_a or row.reached_b < row.n_b:
            counts = f"{row.reached_a:,}/{row.n_a:,}, {row.reached_b:,}/{row.n_b:,}"
            counts = f"reached {counts}" if len(counts) < 14 else counts
        # The keys but the benchmark, such as `8× NVIDIA H200`.
        known = {key: str(row.get(key)) for key in keys if row.get(key) is not None}
        accelerators = known.pop("accelerators", "")
        words = " ".join(known.values())
        if accelerators:
            words = f"{accelerators}× {words}" if words else f"{accelerators} accelerators"
        yield FigureRow(
            benchmark=row.benchmark,
            name=row.benchmark or "these runs",
            setup=" · ".join(filter(None, (row.b if several else "", words))),
            count=counts,
            a=_runs_of_side(a, row.ert_a_seconds if ert else row.tta_a_seconds),
            b=_runs_of_side(b, row.ert_b_seconds if ert else row.tta_b_seconds),
            ratio=_known_number(row.speedup),
            low=_known_number(row.speedup_low),
            high=_known_number(row.speedup_high),
            parts=(
                ("throughput" if row.on.is_time else "per epoch", throughput),
                (row.progress_unit or "epochs", epochs),
            )
            if throughput and epochs
            else (),
            verdict=row.on.claim(row.word.signed),
            tone=row.word.tone,
            p=p_text(row, "{}"),
            carried=row.carried,
        )


def _runs_of_side(outcomes: Outcomes, mean: float | None) -> Runs:
    reached, failed = (
        tuple(outcomes.times[which].tolist()) for which in (outcomes.reached, ~outcomes.reached)
    )
    return Runs(reached, failed, _known_number(mean))


def _known_number(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
