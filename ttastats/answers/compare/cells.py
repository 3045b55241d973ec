"""Which cells and lines of reasons has a comparison in a table?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ttastats.answers.compare.rows import Qualities, QualitiesRow, Times
from ttastats.answers.qualities import with_value
from ttastats.base import percentages, units
from ttastats.base.units import Digits, digits_for
from ttastats.outcomes import aims
from ttastats.outcomes.axis import Axis
from ttastats.report import fields, pictures
from ttastats.report.cells import Cell, Column, Line, PValue, Quantity, Reached, Table, Text
from ttastats.report.fields import Field
from ttastats.sides.comparison import Comparison
from ttastats.sides.contrast import Parts, Startup, ValuesContrast
from ttastats.sides.findings import POOLED, condition_list, condition_names
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options, View
from ttastats.sides.quality_comparison import SideQuality
from ttastats.stats.decision import OF_STRAGGLERS, marks_of, side_of
from ttastats.stats.results import Verdict

CONSTANT, FAILED = "ᵉ", "ᶠ"
#: The place of the speedup among the columns.
RATIO = 3
_MOST_VALUES = 4  # a multiset of more values is shown as a range


def times_columns(options: Options, view: View, axis: Axis, tests: int) -> Sequence[Field[Any]]:
    """Return the columns of a comparison of times, after the keys; p is adjusted for `tests`."""
    level, by = percentages.percent_text(options.confidence), "FDR" if options.fdr else "Holm"
    wide: Sequence[Field[Any]] = (
        fields.number_field(f"{axis.noun} saved", "time_saved", "fraction", rank=4),
        fields.number_field("other mean", "other_mean_ratio", "ratio", rank=6),
        fields.text_field(
            "B wins",
            lambda s: f"{units.count(of.wins)}/{of.pairs}" if (of := s.contrast.wins) else "",
            rank=5,
        ),
        fields.number_field(f"CV A [{level}]", "cv_a", "fraction", interval=True, rank=7),
        fields.number_field(f"CV B [{level}]", "cv_b", "fraction", interval=True, rank=7),
        Field(Column("p perm", "right", rank=5), lambda s: PValue(s.row.p_permutation)),
    )

    def mean(s: Times, side: str) -> Quantity:
        return Quantity(s.get(f"tta_{side}_seconds"), axis.unit, spread=s.get(f"cv_{side}"))

    def reached(s: Times) -> Text:
        if s.contrast.verdict.claim == aims.NO_TARGET:
            return Text("–")
        return Text(f"{s.row.reached_a}/{s.row.n_a} {s.row.reached_b}/{s.row.n_b}")

    def speedup(s: Times) -> Quantity:
        row, mark = s.row, marks(s.contrast)
        return Quantity(row.speedup, "ratio", row.speedup_low, row.speedup_high, mark=mark)

    return _common_columns(
        "CV", mean, Field(Column(axis.reached, rank=1, narrow="runs"), reached),
        Field(Column(f"{axis.ratio} [{level} CI]", intervals=True), speedup),
        *(wide if view.wide else ()),
        verdict=partial(_verdict_cell, view=view), same=view.same,
        p=(f"p ({by}, {tests})", f"p {by}") if tests > 1 else ("p", ""),
    )  # fmt: skip


def qualities_columns(options: Options, view: View) -> Sequence[Field[Any]]:
    """Return the columns of a comparison of qualities, after the keys."""

    def mean(s: Qualities, side: str) -> Text:
        of_both = digits(s.contrast, s.contrast.a.mean)
        return Text(of_both.mean(s.get(f"quality_{side}"), s.get(f"sd_{side}")))

    def runs(s: Qualities) -> str:
        return " ".join(with_value(side.n, side.missing) for side in (s.contrast.a, s.contrast.b))

    change = Column(f"B − A [{percentages.percent_text(options.confidence)} CI]")
    return _common_columns(
        "sd", mean, fields.text_field("runs", runs, rank=1),
        Field(change, lambda s: Text(difference(s.contrast))),
        verdict=_quality_verdict_cell, same=view.same,
    )  # fmt: skip


def _common_columns(
    spread: str,
    mean: Callable[[Any, str], Cell],
    *middle: Field[Any],
    verdict: Callable[[Any], Cell],
    same: bool,
    p: tuple[str, str] = ("p", ""),
) -> Sequence[Field[Any]]:
    def side_column(side: str) -> Field[Any]:
        title = f"{side.upper()}: mean"
        column = Column(f"{title} ±{spread}", "right", rank=2, narrow=title * (spread == "CV"))
        return Field(column, lambda s: mean(s, side))

    def same_setup_cell(s: Times | Qualities) -> Cell:
        if s.row.word.directed:
            marks = "" if isinstance(s.row, QualitiesRow) else s.row.marks
            return Text(f"different {marks}".strip(), "bad")
        if s.row.word is Verdict.UNDECIDED:
            return Text("~ no significant difference")
        return verdict(s)

    return (
        side_column("a"),
        side_column("b"),
        *middle,
        Field(Column(p[0], "right", rank=3, narrow=p[1]), lambda s: PValue(s.row.p_adjusted)),
        Field(Column("verdict", rank=-1), same_setup_cell if same else verdict),
    )


def _quality_verdict_cell(s: Qualities) -> Text:
    word = s.row.word
    if word is Verdict.UNDECIDED:
        return Text(word.signed)
    if word is Verdict.UNAVAILABLE:
        return Text(f"no verdict: {s.row.why}")
    text = word if word is Verdict.SAME else f"B {word}"
    return Text(", ".join((text, *s.row.carried)), word.colour)


def marks(contrast: Comparison) -> str:
    """Return the footnote marks of a speedup."""
    speedup = contrast.speedup
    constant = speedup is not None and speedup.unseen_epochs and speedup.ratio.low is not None
    return (CONSTANT if constant else "") + (FAILED if contrast.estimand == "ert" else "")


def _verdict_cell(s: Times, view: View) -> Text:
    row, word, claim = s.row, s.row.word, s.row.claim
    if row.estimand == "none":
        return Text(row.on.claim(claim))
    if word is Verdict.UNAVAILABLE:
        return Text(claim if row.why else "n/a")
    conditions = condition_list(row.conditions)
    if len(conditions) > 1:  # the line below names them
        conditions = ("conditional",)
    suffix = "".join(f", {name}" for name in conditions) + (f" {row.marks}" if row.marks else "")
    if word.directed:
        tone = "bad" if POOLED in row.conditions else word.tone
        return Text(f"B {row.on.claim(word)}{suffix}", tone)
    if word is Verdict.SAME:
        return Text(f"{claim}{suffix}")
    if view.margin_claims and claim.startswith("not "):
        return Text(f"~ {row.on.claim(claim)}{suffix}")
    return Text(word.signed)


def sides_table(
    s: Times, names: tuple[str, str], details: Sequence[str], title: str, view: View
) -> Table | None:
    """Return the table of one comparison with a row for each side and one for their ratio.

    The columns are the time and its factors: epochs, time per epoch and start-up, where they are
    known. None where no times are compared.
    """
    contrast, row, axis, parts = s.contrast, s.row, s.contrast.axis, s.contrast.parts
    if contrast.estimand not in {"mean", "geomean", "ert"} or row.speedup is None or view.wide:
        return None
    unit = contrast.progress_unit or "epochs"
    startup = parts.startup if parts else None
    failed = not (contrast.a.all_reached and contrast.b.all_reached)  # else the headline says so
    columns = [Column("", names=True), *[Column(axis.reached, "right", rank=1)] * failed]
    columns.append(Column(f"{axis.mean} ±CV", "right"))
    if parts:
        per = axis.per_epoch if unit == "epochs" else axis.per_epoch.replace("epoch", unit[:-1])
        columns += [Column(unit, "right"), Column(per, "right")]
    columns += [Column("start-up", "right")] * bool(startup)

    def side_line(letter: str, name: str) -> Line:
        side: SideNumbers = getattr(contrast, letter)
        time = Quantity(s.get(f"tta_{letter}_seconds"), axis.unit, spread=s.get(f"cv_{letter}"))
        cells: list[Cell] = [Text(name), *[Reached(side.n_reached, side.n)] * failed, time]
        if parts and side.progress is not None:
            work = side.times - (side.startup if startup and side.startup is not None else 0.0)
            mean = float(side.progress.mean())
            cells += [Quantity(mean if mean < 1000 else round(mean), "count"),
                      Quantity(float((work / side.progress).mean()), axis.unit)]  # fmt: skip
        if startup:
            cells.append(Quantity(getattr(startup, f"{letter}_seconds"), "seconds"))
        return Line(tuple(cells))

    mark = marks(contrast) + row.marks
    speedup = Quantity(row.speedup, "ratio", row.speedup_low, row.speedup_high, mark=mark)
    ratios: list[Cell] = [Text(axis.ratio), *[Text("")] * failed, speedup]
    if parts:
        ratios += [Text(_progress_text(contrast, parts)), Text(_throughput_text(parts))]
    if startup:
        ratios.append(Quantity(startup.ratio.estimate, "ratio"))
    last = Line(tuple(ratios), tuple(details))
    sides = (side_line(letter, name) for letter, name in zip("ab", names, strict=True))
    return Table(tuple(columns), (*sides, last), title)


def single_lines(s: Times, *, dots: bool) -> Iterator[str]:
    """Yield the lines below the table of one comparison, whose columns are the factors."""
    conditions = condition_names(s.contrast.parts.conditions) if s.contrast.parts else ""
    throughput = f"{s.contrast.axis.rate} ({conditions})" if conditions else ""
    yield from filter(None, (_undecided_text(s), _deciding_text(s), throughput))
    yield from _dot_lines(s) if dots else ()


def cause_lines(s: Times, *, dots: bool) -> Iterator[str]:
    """Yield the lines below times: why, and in the first of them the deciding interval."""
    if len(s.row.carried) > 1:
        yield f"if   {', '.join(s.row.carried)}"
    lines = [*filter(None, (_undecided_text(s), *_factor_lines(s)))]
    if decides := _deciding_text(s):
        lines[:1] = [f"{lines[0] if lines else 'why'}   {decides}"]
    yield from lines
    yield from _dot_lines(s) if dots else ()


def _undecided_text(s: Times) -> str:
    has_reason = s.row.why and s.row.word is Verdict.UNDECIDED
    return f"~    undecided: {s.row.why}" if has_reason else ""


def _deciding_text(s: Times) -> str:
    """Return the deciding interval where the printed one could mislead."""
    row, speedup = s.row, s.contrast.speedup
    low, high, decided = row.deciding_low, row.deciding_high, row.word.decided
    misleads = decided or side_of(1, row.speedup_low, row.speedup_high)
    if not misleads or speedup is None or low is None or high is None:
        return ""
    allowed = {
        "unseen epochs": decided and speedup.unseen_epochs and not row.dagger,
        "stragglers": decided and speedup.doubts and OF_STRAGGLERS.isdisjoint(row.conditions),
        "evaluation intervals": any(side and side.late for side in (speedup.a, speedup.b)),
    }
    names = " and ".join(name for name, holds in allowed.items() if holds)
    return f"decides [{low:.3f}, {high:.3f}], with {names}"


def _factor_lines(s: Times) -> Iterator[str]:
    """Yield throughput x epochs, and their details."""
    contrast, axis = s.contrast, s.contrast.axis
    if not _has_times(contrast):
        return
    a, b = (_range_text(_epoch_counts(side)) for side in (contrast.a, contrast.b))
    unit, reached = contrast.progress_unit or "epochs", _fractions_text(contrast)
    failed = f" · {reached}" if contrast.estimand == "ert" else ""
    if axis.progress and contrast.estimand != "fraction":
        yield f"     {axis.noun}  A {a} | B {b}{failed}"
    elif contrast.parts is None and not (axis.alone and contrast.estimand == "mean"):
        yield f"why  {'epochs are not logged' if contrast.estimand == 'mean' else reached}"
    elif (parts := contrast.parts) is not None:
        failed = f" (successes){failed}" if failed else ""
        conditions = f" ({names})" if (names := condition_names(parts.conditions)) else ""
        throughput = (
            f"{_startup_text(parts.startup)}{axis.rate} {_throughput_text(parts)}{conditions}"
        )
        yield f"why  {throughput} × {unit} {_progress_text(contrast, parts)}{failed}"
        if len(_all_epochs(contrast)) != 1:
            yield f"     {unit}  A {a} | B {b}"


def _has_times(contrast: Comparison) -> bool:
    """Return whether the times of a comparison, judged or not, are those to a target."""
    return contrast.estimand != "none" and contrast.verdict.claim != aims.NO_TARGET


def _dot_lines(s: Times) -> Iterator[str]:
    """Yield each run as a dot, on one axis for both sides."""
    contrast = s.contrast
    times = [*contrast.a.outcomes.times.tolist(), *contrast.b.outcomes.times.tolist()]
    if not times or not _has_times(contrast):
        return
    low, high = min(times), max(times)
    for name, side in (("A", contrast.a), ("B", contrast.b)):
        stopped = side.outcomes.times[~side.outcomes.reached].tolist()
        yield f"     {name}  {pictures.draw_strip(side.times.tolist(), stopped, low, high)}"
    left, right = units.amounts((low, high), contrast.axis.unit)
    yield f"        {left}{right.rjust(pictures.WIDTH - len(left))}"


def _epoch_counts(side: SideNumbers) -> Counter[float]:
    """Return the number of runs by their epochs."""
    return Counter([] if side.progress is None else side.progress.tolist())


def _all_epochs(contrast: Comparison) -> set[float]:
    return {*_epoch_counts(contrast.a), *_epoch_counts(contrast.b)}


def _progress_text(contrast: Comparison, parts: Parts) -> str:
    """Return the ratio of the epochs, with its interval if they were seen to vary."""
    ratio, epochs, estimate = parts.progress, _all_epochs(contrast), parts.progress.estimate
    text = "–" if estimate is None or not math.isfinite(estimate) else units.ratio(estimate)
    if len(epochs) == 1:
        return f"{text} ({units.count(epochs.pop())} in every run)"
    if CONSTANT in marks(contrast):
        # An interval of epochs that were never seen to vary would be too narrow by far.
        return text + CONSTANT
    return units.ratio_interval(ratio.estimate, ratio.low, ratio.high)


def _throughput_text(parts: Parts) -> str:
    """Return the ratio of the throughput with its interval and the marks of its conditions."""
    speed = parts.throughput
    return units.ratio_interval(speed.estimate, speed.low, speed.high) + marks_of(parts.conditions)


def _startup_text(startup: Startup | None) -> str:
    """Return the factor of the start-up with its seconds, in front of the others; or nothing."""
    if startup is None:
        return ""
    a, b = startup.texts
    return f"start-up {units.ratio(startup.ratio.estimate or 0.0)} ({a} against {b}) × "


def _range_text(counts: Counter[float]) -> str:
    if len(counts) <= _MOST_VALUES:
        return " ".join(f"{units.count(value)}×{n}" for value, n in sorted(counts.items()))
    return f"{units.count(min(counts))} to {units.count(max(counts))}"


def _fractions_text(contrast: Comparison) -> str:
    """Return the difference of the fractions reached, in percentage points."""
    gap = contrast.fraction
    if gap is None or gap.estimate is None or gap.low is None or gap.high is None:
        return "no data"
    interval = f"[{gap.low * 100:+.1f}, {gap.high * 100:+.1f}]"
    return f"reached {gap.estimate * 100:+.0f} pp {interval}"


def cost_lines(s: Qualities) -> Iterator[str]:
    """Yield the lines below qualities: costs and target."""
    a, b, axis, row = s.contrast.a, s.contrast.b, s.contrast.axis, s.row
    if a.spent is not None and b.spent is not None:
        amounts = units.amounts((a.spent, b.spent), axis.unit)
        yield "{}  A {}  B {}  {} {}".format(axis.noun, *amounts, axis.ratio, ratio(row))
    if row.target_a is not None and row.target_b is not None and row.verdict != "unavailable":
        sign = "≥" if row.higher_is_better else "≤"
        limit = f"{row.target_a:g}"
        if row.target_a != row.target_b:
            limit += f" | {row.target_b:g}"
        yield f"mean {sign} {limit}  A {_meets_text(a)}  B {_meets_text(b)}"


def _meets_text(side: SideQuality) -> str:
    if side.meets is None or side.meets.p_value is None:
        return "–"
    meets_target = side.meets.holds and not side.missing
    return f"{'shown' if meets_target else 'not shown'} ({units.p_text(side.meets.p_value)})"


def ratio(row: QualitiesRow) -> str:
    """Return the ratio of costs, A over B, with its interval and p."""
    p = "" if row.p_speedup is None else f", {units.p_text(row.p_speedup)}"
    return units.ratio_interval(row.speedup, row.speedup_low, row.speedup_high) + p


def digits(contrast: ValuesContrast[Any], value: float | None) -> Digits:
    """Return the decimals for values of both sides."""
    return digits_for(
        [], min((x.sd for x in (contrast.a, contrast.b) if x.sd), default=None), value
    )


def difference(contrast: ValuesContrast[Any], value: float | None = None) -> str:
    """Return B minus A with its interval, in the decimals of `value` or of the mean of A."""
    gap = contrast.difference
    if gap is None:
        return "–"
    return digits(contrast, value or contrast.a.mean).difference(gap.estimate, gap.low, gap.high)
