"""Which of the settings that were varied changes the time to the target, and through what?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.base import percentages, units
from ttastats.base.errors import refuse_if
from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Quantity, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.sides import blocking
from ttastats.stats import effects as model
from ttastats.stats import reaching
from ttastats.stats.effects import Design, Part, Setting
from ttastats.stats.multiplicity import adjusted
from ttastats.stats.results import Floats

#: Values of a number from which on it acts by doublings.
_NUMBERS = 3
#: The p below which a number is said not to act by doublings.
_BENT = 0.01
#: Effects of which the sentence tells the size.
_SEVERAL = 4
#: Notes that are not about one group.
_OF_ALL = ("method", "definitions")
_BY = " & "
#: The column that says what session a run is of.
_BLOCK = "session of the run"
_TIMES = " × "
#: What the parts are called where benchmarks count training in different units.
_ANY = ("time to target", "progress", "time per progress")


class EffectRow(Row, frozen=True):
    """What a level of a setting, a doubling, or a pair of levels does to one part of the time."""

    row: Annotated[str, Key("`effect`")]
    setting: Annotated[str, Key("the setting, or two of them")]
    level: Annotated[str | None, Key("its level; none for a number that acts by doublings")]
    base: Annotated[str | None, Key("the level it is compared with")]
    part: Annotated[str, Key("`tta`, what training is counted in, or the time per unit of that")]
    n: Annotated[int, Key("runs of the level that reached the target; of a number, all", "runs")]
    n_base: Annotated[int, Key("those of the base", "runs")]
    axis: key.AxisName
    ratio: Annotated[float | None, Key("of the level to the base, or of a doubling", "ratio")]
    ratio_low: key.Low
    ratio_high: key.High
    p: Annotated[float | None, Key("p of no effect, of this row alone")]
    p_adjusted: Annotated[float | None, Key("the same, adjusted for the effects on the part")]
    df: Annotated[float | None, Key("degrees of freedom of the interval")]
    ratio_per_doubling: Annotated[float | None, Key("the same per doubling of a number", "ratio")]
    plain_low: Annotated[float | None, Key("lower limit by least squares alone", "ratio")]
    plain_high: Annotated[float | None, Key("upper limit by least squares alone", "ratio")]
    plain_p: Annotated[float | None, Key("p by least squares alone")]


class ShareRow(Row, frozen=True):
    """How much of the variance of each part a setting explains, beside the others."""

    row: Annotated[str, Key("`share`, or `part`: what adds up to the variance of log time")]
    setting: Annotated[str, Key("the setting, `sessions` or `residual`; the part")]
    share_tta: Annotated[float | None, Key("share of the variance of log time", "fraction")]
    omega2_tta: Annotated[float | None, Key("the same, corrected for chance", "fraction")]
    share_progress: Annotated[float | None, Key("share of that of log epochs", "fraction")]
    omega2_progress: Annotated[float | None, Key("the same, corrected for chance", "fraction")]
    share_rate: Annotated[float | None, Key("share of that of log time per epoch", "fraction")]
    omega2_rate: Annotated[float | None, Key("the same, corrected for chance", "fraction")]


class LevelRow(Row, frozen=True):
    """How many runs of a level reached the target."""

    row: Annotated[str, Key("`level`")]
    setting: Annotated[str, Key("the setting")]
    level: Annotated[str, Key("its level")]
    n: key.RunCount
    reached: key.ReachedCount
    p: Annotated[float | None, Key("p of as many in all levels of the setting")]
    p_adjusted: Annotated[float | None, Key("the same, adjusted for the settings")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked: settings, those whose numbers are levels, sessions, pairs."""

    on: Sequence[str]
    levels: Sequence[str] = ()
    block: Sequence[str] = ()
    interactions: bool = False
    confidence: float = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Knob:
    """A setting of some runs: the value of each as text, and its levels, the base first."""

    name: str
    values: NDArray[np.object_]  # text: of numpy's own, a NUL at the end is cut
    levels: tuple[str, ...]
    numeric: bool
    by_level: bool = True

    @property
    def by_doubling(self) -> bool:
        """Return whether one number, for a doubling, stands for all levels."""
        return self.numeric and not self.by_level and len(self.levels) >= _NUMBERS

    @property
    def setting(self) -> Setting:
        """Return it for the statistics."""
        place = {level: number for number, level in enumerate(self.levels)}
        codes = np.array([place[str(value)] for value in self.values], dtype=np.intp)
        return Setting(codes, np.log2(self.values.astype(float)) if self.by_doubling else None)

    def of(self, runs: NDArray[np.bool_]) -> Knob:
        """Return it for some of the runs."""
        values = self.values[runs]
        return replace(self, values=values, levels=_present(self.levels, values))


def _present(levels: Sequence[str], values: NDArray[np.object_]) -> tuple[str, ...]:
    there = set(values.tolist())
    return tuple(level for level in levels if level in there)


def report(runs: pl.DataFrame, by: Sequence[str], asked: Asked) -> Report:
    """Return the effects of settings on the runs of each group.

    Raises
    ------
    TtastatsError
        No group has a setting with two values and runs that reached the target.
    """
    settings = {
        f"setting {name}": blocking.values(runs, name.partition("=")[0], "--on").cast(pl.String)
        for name in asked.on
    }
    blocks = {_BLOCK: blocking.labelled(runs, asked.block)} if asked.block else {}
    runs = runs.with_columns(**settings, **blocks)
    groups = [_of_group(keys, group, asked) for keys, group in grouping.groups(runs, by)]
    effects = [row for group in groups for row in group.effects]
    shares = [row for group in groups for row in group.shares]
    levels = [row for group in groups for row in group.levels]
    names = ", ".join(asked.on)
    refuse_if(
        not effects,
        f"no setting of {names} has two levels with 2 runs each that reached the target",
        f"--on {names}",
        "Name settings with several values; `ttastats runs FILE --format json` shows them.",
    )
    heads = fields.keys(grouping.shown_keys(effects, by))
    titles = {name: title for group in groups for name, title in group.titles.items()}
    tables = [fields.table(effects, [*heads, *_effect_fields(asked, titles)], "effects")]
    if shares:
        title = "share of the variance between these runs"
        each = [[*group.titles.values()] for group in groups if group.titles]
        same = max(each, key=len) if len(titles) <= len(max(each, key=len)) else _ANY
        tables.append(fields.table(shares, [*heads, *_share_fields(same)], title))
    if levels:
        title = "runs that reached the target"
        tables.append(fields.table(levels, [*heads, *_level_fields()], title))
    groups_named = zip(
        grouping.row_names([group.keys for group in groups], by), groups, strict=True
    )
    notes, sentences = [*grouping.group_notes(runs, (*by, *settings))], []
    for name, group in groups_named:
        about = name if len(groups) > 1 else ""
        notes += [each if each.code in _OF_ALL else each.prefixed(about) for each in group.notes]
        if group.sentence:
            sentences.append(f"{about}: {group.sentence}" if about else group.sentence)
    return Report(
        "effects",
        (*effects, *shares, *levels),
        tuple(tables),
        tuple(dict.fromkeys(notes)),
        " ".join(sentences),
        by=grouping.row_keys(by),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """What there is to say of the runs of a group."""

    keys: Mapping[str, Any]
    notes: Sequence[Note]
    effects: Sequence[EffectRow] = ()
    shares: Sequence[ShareRow] = ()
    levels: Sequence[LevelRow] = ()
    sentence: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)


def _of_group(keys: Mapping[str, Any], group: pl.DataFrame, asked: Asked) -> _Group:
    axis, block = axes.of(group), [_BLOCK] if asked.block else []
    runs = group.drop_nulls([*(f"setting {name}" for name in asked.on), *block])
    unknown = group.height - runs.height
    notes = [note("unknown_setting", n=unknown)] if unknown else []
    every = [_knob(name, runs, asked) for name in asked.on]
    if constant := [knob.name for knob in every if len(knob.levels) < 2]:
        notes.append(note("constant_setting", names=constant, n=len(constant)))
    every = _merged([knob for knob in every if len(knob.levels) > 1])
    solved, gone = _enough(every, (runs["reached"] & runs["tta_seconds"].is_not_null()).to_numpy())
    if gone:
        notes.append(note("level_left_out", names=gone, n=len(gone)))
    knobs = _merged([knob for each in every if len((knob := each.of(solved)).levels) > 1])
    if not knobs:
        return _Group(keys, notes)
    if names := [knob.name.replace(_BY, " and ") for knob in knobs if _BY in knob.name]:
        notes.append(note("aliased", names=names))
    sessions = runs[_BLOCK].to_numpy()[solved] if block else None
    design, missing = _design(knobs, sessions, asked)
    if missing:
        notes.append(note("empty_cells", names=missing))
    logs = logs_of(runs.filter(solved), axis)
    parts = [model.part(each, design, confidence=asked.confidence) for _, _, each in logs]
    rows = [*_effect_rows(keys, knobs, design, logs, parts, axis)]
    shares = [*_share_rows(keys, knobs, design, logs, parts)] if design.enough else []
    reached = runs["reached"].to_numpy()
    levels = [*_level_rows(keys, every, reached)]
    notes += _notes(knobs, design, logs, parts) if design.enough else [_too_few(design)]
    notes += _survivors(levels, reached, 1 - asked.confidence)
    titles = {name: title for name, title, _ in logs}
    sentence = _sentence(rows, 1 - asked.confidence, titles)
    return _Group(keys, notes, rows, shares, levels, sentence, titles)


def _survivors(
    levels: Sequence[LevelRow], reached: NDArray[np.bool_], alpha: float
) -> Iterator[Note]:
    """Yield that effects on times are those among the runs that reached the target."""
    if levels:
        differ = [row.setting for row in levels if row.p is not None and row.p < alpha]
        names, failed = list(dict.fromkeys(differ)), int((~reached).sum())
        code = "survivors.differ" if names else "survivors"
        yield note(code, failed=failed, n=reached.size, names=names, m=len(names))


def _knob(setting: str, runs: pl.DataFrame, asked: Asked) -> Knob:
    """Return a setting: its base is the one named, the least number or that of the first run."""
    column = f"setting {setting}"
    name, _, base = setting.partition("=")
    ordered = runs.sort("started_at", column, nulls_last=True)[column]
    levels = [*ordered.unique(maintain_order=True)]
    try:
        numbers = {text: float(text) for text in levels}
        levels.sort(key=lambda text: numbers[text])
    except ValueError:
        numbers = {}
    if base:
        known = f"{name} has the values {units.listed(levels)}"
        refuse_if(base not in levels, f"{name} is never {base}", "--on", f"{known}.")
        levels = [base, *(level for level in levels if level != base)]
    finite = bool(numbers) and all(0 < number < np.inf for number in numbers.values())
    by_level = bool(base) or name in asked.levels
    return Knob(name, runs[column].to_numpy().astype(object), tuple(levels), finite, by_level)


def _merged(knobs: Sequence[Knob]) -> list[Knob]:
    """Return settings that can be told apart: those that were changed together are one."""
    left = list(knobs)
    while places := model.aliased([knob.setting for knob in left]):
        joined = [left[place] for place in places]
        of_runs = [*zip(*(knob.values.tolist() for knob in joined), strict=True)]
        ranks = [{level: n for n, level in enumerate(knob.levels)} for knob in joined]
        levels = sorted(
            set(of_runs), key=lambda each: [rank[v] for rank, v in zip(ranks, each, strict=True)]
        )
        whole = Knob(
            _BY.join(knob.name for knob in joined),
            np.array([*map(_BY.join, of_runs)], dtype=object),
            tuple(map(_BY.join, levels)),
            numeric=False,
        )
        left = [knob for n, knob in enumerate(left) if n not in places]
        left.insert(places[0], whole)
    return left


def _enough(
    knobs: Sequence[Knob], solved: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Keep runs whose levels have two that reached, and name the levels that have not."""
    levels = {
        f"{knob.name} {level}": knob.values == level
        for knob in knobs
        for level in (() if knob.by_doubling else knob.levels)
    }
    gone: list[str] = []
    while new := [name for name, of_level in levels.items()
                  if name not in gone and (of_level & solved).sum() < 2]:  # fmt: skip
        gone += new
        solved = solved & ~np.any([levels[name] for name in new], axis=0)
    return solved, gone


def _design(
    knobs: Sequence[Knob], sessions: NDArray[Any] | None, asked: Asked
) -> tuple[Design, list[str]]:
    """Return the design, sessions as a block or what is independent, and pairs it cannot have."""
    design, missing = Design(tuple(knob.setting for knob in knobs)), []
    if sessions is not None and len(set(sessions)) > 1:
        design = replace(design, sessions=np.unique(sessions, return_inverse=True)[1])
        design = replace(design, nested=not model.full_rank(design.terms))
    for a, b in combinations(range(len(knobs)), 2) if asked.interactions else ():
        more = replace(design, pairs=(*design.pairs, (a, b)))
        if model.full_rank(more.terms):
            design = more
        else:
            missing.append(f"{knobs[a].name}{_TIMES}{knobs[b].name}")
    return design, missing


def _too_few(design: Design) -> Note:
    n = design.settings[0].levels.size
    if design.df < model.FEWEST_DF:
        return note("few_runs.effects", n=n, columns=n - design.df, df=design.df)
    return note("few_runs.sessions")


#: The name of a part for programs, its title, and its logs.
_Logs = tuple[str, str, Floats]


def logs_of(runs: pl.DataFrame, axis: Axis) -> list[_Logs]:
    """Return the time to the target and, where progress is known, the two parts of it."""
    times = np.log(runs["tta_seconds"].cast(pl.Float64).to_numpy())
    parts = [("tta", "time to target" if axis.is_time else axis.to_target, times)]
    unit, _ = common_progress(runs)
    if unit is not None and not axis.progress:
        progress = np.log(runs[unit].cast(pl.Float64).to_numpy())
        rate = f"time_per_{unit[:-1]}", f"{axis.noun} per {unit[:-1]}", times - progress
        parts += [(unit, unit, progress), rate]
    return parts


def _effect_rows(
    keys: Mapping[str, Any],
    knobs: Sequence[Knob],
    design: Design,
    logs: Sequence[_Logs],
    parts: Sequence[Part],
    axis: Axis,
) -> Iterator[EffectRow]:
    """Yield the rows of each effect, its parts in turn."""
    p_values = [
        iter(adjusted([each.ratio.p_value for term in part.effects for each in term]))
        for part in parts
    ]
    for number, labels in enumerate(_labels(knobs, design)):
        for place, (setting, level, base, doublings) in enumerate(labels):
            for (name, _, _), part, of_part in zip(logs, parts, p_values, strict=True):
                effect = part.effects[number][place]
                ratio, plain = effect.ratio, effect.plain
                per = ratio.estimate ** (1 / doublings) if ratio.estimate and doublings else None
                yield EffectRow(
                    "effect", setting, level, base, name, ratio.n_b, ratio.n_a, axis.name,
                    ratio.estimate, ratio.low, ratio.high, ratio.p_value, next(of_part), ratio.df,
                    per, plain.low, plain.high, plain.p_value, keys=grouping.key_row(keys),
                )  # fmt: skip


#: A setting, its level and its base, and how many doublings lie between them.
_Label = tuple[str, str | None, str | None, float]


def _labels(knobs: Sequence[Knob], design: Design) -> Iterator[list[_Label]]:
    """Yield the effects of each term by name."""
    for knob in knobs:
        base, *others = knob.levels
        if knob.by_doubling:
            yield [(knob.name, None, None, 1.0)]
        elif knob.numeric:
            steps = [float(np.log2(float(level) / float(base))) for level in others]
            yield [(knob.name, level, base, n) for level, n in zip(others, steps, strict=True)]
        else:
            yield [(knob.name, level, base, 0.0) for level in others]
    for a, b in design.pairs:
        first, second = (
            ["doubling"] if knob.by_doubling else [*knob.levels[1:]]
            for knob in (knobs[a], knobs[b])
        )
        name = f"{knobs[a].name}{_TIMES}{knobs[b].name}"
        yield [(name, f"{x}{_TIMES}{y}", None, 0.0) for x in first for y in second]


def _share_rows(
    keys: Mapping[str, Any],
    knobs: Sequence[Knob],
    design: Design,
    logs: Sequence[_Logs],
    parts: Sequence[Part],
) -> Iterator[ShareRow]:
    """Yield the shares of each term, then what the variances of the parts add up to."""
    names = [labels[0][0] for labels in _labels(knobs, design)]
    if design.sessions is not None and not design.nested:
        names.append("sessions")
    none = (None,) * (2 * (3 - len(parts)))
    make = partial(ShareRow, keys=grouping.key_row(keys))
    for number, name in enumerate((*names, "residual")):
        of_parts = [part.shares[number] for part in parts]
        yield make("share", name, *(x for s in of_parts for x in (s.share, s.omega2)), *none)
    total = float(np.var(logs[0][2]))
    if len(logs) > 1 and total > 0:
        of_progress, of_rate = (float(np.var(each)) / total for _, _, each in logs[1:])
        of_both = 1 - of_progress - of_rate
        shares = ((logs[1][1], of_progress), (logs[2][1], of_rate), ("2 × covariance", of_both))
        yield from (make("part", name, share, *(None,) * 5) for name, share in shares)


def _level_rows(
    keys: Mapping[str, Any], knobs: Sequence[Knob], reached: NDArray[np.bool_]
) -> Iterator[LevelRow]:
    """Yield how many runs of each level reached the target, where some failed."""
    if reached.all():
        return
    settings = [knob.setting for knob in knobs]
    p_values = reaching.p_values(reached, settings)
    for knob, setting, p, holm in zip(knobs, settings, p_values, adjusted(p_values), strict=True):
        for number, level in enumerate(knob.levels):
            of_level = setting.levels == number
            n, solved = int(of_level.sum()), int(reached[of_level].sum())
            key_row = grouping.key_row(keys)
            yield LevelRow("level", knob.name, level, n, solved, p, holm, keys=key_row)


def _notes(
    knobs: Sequence[Knob], design: Design, logs: Sequence[_Logs], parts: Sequence[Part]
) -> Iterator[Note]:
    """Yield how the numbers were made, and which of them mislead."""
    yield from (
        note("constant_epochs.effects", part=title)
        for _, title, values in logs
        if np.ptp(values) < 1e-12
    )
    numbers = [n for n, knob in enumerate(knobs) if knob.by_doubling]
    each = {n: [model.bent(values, design, n) for _, _, values in logs] for n in numbers}
    if bent := [
        knobs[n].name for n in numbers if any(p is not None and p < _BENT for p in each[n])
    ]:
        yield note("not_straight", names=bent, option=",".join(bent))
    uneven = [n for n in range(len(knobs)) if any(e.uneven for p in parts for e in p.effects[n])]
    if uneven:
        yield note("uneven_noise", names=[knobs[n].name for n in uneven])
    how = []
    if design.nested:
        how.append("sessions, not runs, are independent (CR2), since a setting is constant in one")
    elif len(numbers) < len(knobs):
        how.append("a residual variance per level (Welch)")
    if numbers and not design.nested:
        how.append("HC3 for the effect of a doubling")
    if design.sessions is not None and not design.nested:
        how.append("sessions are a block")
    yield note("method.effects", how="; ".join(how))
    product = f"; {logs[0][1]} = {logs[1][1]} × {logs[2][1]}" if len(logs) > 1 else ""
    yield note("definitions.effects", product=product)


def _sentence(rows: Sequence[EffectRow], alpha: float, titles: Mapping[str, str]) -> str:
    """Return which settings change the time, and through which part."""
    texts, without = [], []
    by_effect: dict[tuple[str, str | None], list[EffectRow]] = {}
    for row in rows:
        by_effect.setdefault((row.setting, row.level), []).append(row)
    for whole, *parts in by_effect.values():
        through = " and ".join(_factor(each, titles) for each in parts if _shown(each, alpha))
        name, title = _name(whole), titles[whole.part]
        if _shown(whole, alpha):
            limits = units.within(whole.ratio_low, whole.ratio_high)
            by = f", through {through}" if through else ""
            texts.append(f"{name}: {_factor(whole, titles)}{limits}{by}.")
        elif through:
            texts.append(f"{name}: {through}; {title} undecided.")
        else:
            without.append(name)
    if len(texts) > _SEVERAL:
        texts[_SEVERAL:] = [f"{len(texts) - _SEVERAL} more effects are shown."]
    if without:
        texts.append(f"No effect shown of {units.listed(without)}.")
    return " ".join(texts)


def _shown(row: EffectRow, alpha: float) -> bool:
    return row.p_adjusted is not None and row.p_adjusted < alpha


def _factor(row: EffectRow, titles: Mapping[str, str]) -> str:
    return f"{titles[row.part]} × {row.ratio or 0.0:.2f}"


def _name(row: EffectRow) -> str:
    if row.level is None:
        return f"{row.setting}, doubled"
    return f"{row.setting} {row.level}" + (f" vs {row.base}" if row.base else "")


def _effect_fields(asked: Asked, titles: Mapping[str, str]) -> list[Field[EffectRow]]:
    def runs(row: EffectRow) -> str:
        return f"{row.n_base} + {row.n}" if row.base else f"{row.n}"

    ratio = f"ratio [{percentages.text(asked.confidence)}]"
    return [
        Field(Column("setting"), lambda row: Text(_name(row) if row.part == "tta" else "")),
        Field(Column("part"), lambda row: Text(titles[row.part])),
        fields.words("runs", runs, rank=1),
        fields.number(ratio, "ratio", "ratio", interval=True),
        Field(Column("p", "right"), lambda row: PValue(row.p_adjusted)),
    ]


def _share_fields(titles: Sequence[str]) -> list[Field[ShareRow]]:
    def column(title: str, name: str) -> Field[ShareRow]:
        def cell(row: ShareRow) -> Quantity:
            omega2, share = row.get(f"omega2_{name}"), row.get(f"share_{name}")
            value = share if omega2 is None else max(omega2, 0.0)
            return Quantity(value, "fraction")

        return Field(Column(title, "right"), cell)

    names = ("tta", "progress", "rate")[: len(titles)]
    return [
        Field(
            Column("of"),
            lambda row: Text(("of it: " if row.row == "part" else "") + row.setting),
        ),
        *(column(title, name) for title, name in zip(titles, names, strict=True)),
    ]


def _level_fields() -> list[Field[LevelRow]]:
    return [
        *fields.keys(["setting", "level"], heads=False),
        fields.reached(),
        Field(Column("p", "right"), lambda row: PValue(row.p_adjusted)),
    ]
