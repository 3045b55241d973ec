"""Which of the settings that were varied changes the time to the target, and through what?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.answers import knobs
from ttastats.answers.knobs import BY, EffectsOptions, Fit, Knob, part_of, part_title
from ttastats.base import percentages, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row
from ttastats.sides import blocking
from ttastats.stats import effects as model
from ttastats.stats.multiplicity import adjust_p_values

#: The most effects with their sizes in the sentence.
_SEVERAL = 4
#: The column of the session of a run.
_BLOCK = "session of the run"
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
    ratio: Annotated[Number, Key("of the level to the base, or of a doubling", "ratio")]
    ratio_low: key.Low
    ratio_high: key.High
    p: Annotated[Number, Key("p of no effect, of this row alone")]
    p_adjusted: Annotated[Number, Key("the same, adjusted for the effects on the part")]
    df: Annotated[Number, Key("degrees of freedom of the interval")]
    ratio_per_doubling: Annotated[Number, Key("the same per doubling of a number", "ratio")]
    plain_low: Annotated[Number, Key("lower limit by least squares alone", "ratio")]
    plain_high: Annotated[Number, Key("upper limit by least squares alone", "ratio")]
    plain_p: Annotated[Number, Key("p by least squares alone")]


class ShareRow(Row, frozen=True):
    """How much of the variance of each part a setting explains, beside the others."""

    row: Annotated[str, Key("`share`, or `part`: what adds up to the variance of log time")]
    setting: Annotated[str, Key("the setting, `sessions` or `residual`; the part")]
    share_tta: Annotated[Number, Key("share of the variance of log time", "fraction")]
    omega2_tta: Annotated[Number, Key("the same, corrected for chance", "fraction")]
    share_progress: Annotated[Number, Key("share of that of log epochs", "fraction")]
    omega2_progress: Annotated[Number, Key("the same, corrected for chance", "fraction")]
    share_rate: Annotated[Number, Key("share of that of log time per epoch", "fraction")]
    omega2_rate: Annotated[Number, Key("the same, corrected for chance", "fraction")]


class LevelRow(Row, frozen=True):
    """How many runs of a level reached the target."""

    row: Annotated[str, Key("`level`")]
    setting: Annotated[str, Key("the setting")]
    level: Annotated[str, Key("its level")]
    n: key.RunCount
    reached: key.ReachedCount
    p: Annotated[Number, Key("p of as many in all levels of the setting")]
    p_adjusted: Annotated[Number, Key("the same, adjusted for the settings")]


#: The effects, the shares and the levels of some runs.
_Rows = tuple[list[EffectRow], list[ShareRow], list[LevelRow]]


def report(runs: pl.DataFrame, by: Sequence[str], options: EffectsOptions) -> Report:
    """Return the effects of settings on the runs of each group."""
    settings = {
        f"setting {name}": blocking.values(runs, name.partition("=")[0], "--on").cast(pl.String)
        for name in options.on
    }
    blocks = {_BLOCK: blocking.block_labels(runs, options.block)} if options.block else {}
    runs = runs.with_columns(**settings, **blocks)
    effects, shares, levels = list[EffectRow](), list[ShareRow](), list[LevelRow]()
    notes, sentences = [*grouping.group_notes(runs, (*by, *settings))], []
    for name, keys, group in grouping.named_groups(runs, by):
        fitted, remarks = _fit_group(grouping.key_values(keys), group, options)
        effects += fitted[0]
        shares += fitted[1]
        levels += fitted[2]
        of_all = {"method", "definitions"}  # of notes that are not about one group
        notes += [text if text.code in of_all else text.prefixed(name) for text in remarks]
        if text := _effects_sentence(fitted[0], 1 - options.confidence):
            sentences.append(f"{name}: {text}" if name else text)
    names = ", ".join(options.on)
    raise_if(
        not effects,
        f"no setting of {names} has two levels with 2 runs each that reached the target",
        f"--on {names}",
        "Name settings with several values; `ttastats runs FILE --format json` shows them.",
    )
    tables = tuple(_effect_tables(effects, shares, levels, by, options.confidence))
    all_rows, notes = (*effects, *shares, *levels), list(dict.fromkeys(notes))
    text = " ".join(sentences)
    return Report("effects", all_rows, tables, tuple(notes), text, by=grouping.row_keys(by))


def _effect_tables(
    effects: Sequence[EffectRow],
    shares: Sequence[ShareRow],
    levels: Sequence[LevelRow],
    by: Sequence[str],
    confidence: float,
) -> Iterator[Table]:
    heads = fields.key_fields(grouping.shown_keys(effects, by))
    of_effect: list[Field[EffectRow]] = [
        Field(Column("setting"), lambda row: Text(name_of(row) if row.part == "tta" else "")),
        Field(Column("part"), lambda row: Text(part_of(row))),
        fields.text_field(
            "runs", lambda row: f"{row.n_base} + {row.n}" if row.base else f"{row.n}", rank=1
        ),
        fields.number_field(
            f"ratio [{percentages.percent_text(confidence)}]", "ratio", "ratio", interval=True
        ),
        Field(Column("p", "right"), lambda row: PValue(row.p_adjusted)),
    ]
    yield fields.make_table(effects, [*heads, *of_effect], "effects")
    if shares:
        parts = list({row.part: part_of(row) for row in effects}.values())
        titles = parts if len(parts) <= len(_ANY) else _ANY

        def share(part: str, row: ShareRow) -> Quantity:
            plain, omega2 = row.get(f"share_{part}"), row.get(f"omega2_{part}")
            return Quantity(plain if omega2 is None else max(omega2, 0.0), "fraction")

        of_share: list[Field[ShareRow]] = [
            Field(
                Column("of"),
                lambda row: Text(("of it: " if row.row == "part" else "") + row.setting),
            ),
            *(
                Field(Column(title, "right"), partial(share, part))
                for title, part in zip(titles, ("tta", "progress", "rate"), strict=False)
            ),
        ]
        title = "share of the variance between these runs"
        yield fields.make_table(shares, [*heads, *of_share], title)
    if levels:
        of_level: list[Field[LevelRow]] = [
            *fields.key_fields(["setting", "level"], heads=False),
            fields.reached_field(),
            Field(Column("p", "right"), lambda row: PValue(row.p_adjusted)),
        ]
        yield fields.make_table(levels, [*heads, *of_level], "runs that reached the target")


def _fit_group(
    keys: dict[str, Any], group: pl.DataFrame, options: EffectsOptions
) -> tuple[_Rows, list[Note]]:
    """Return the rows of a group and the notes on it."""
    axis, block = axes.axis_of(group), [_BLOCK] if options.block else []
    runs = group.drop_nulls([*(f"setting {name}" for name in options.on), *block])
    unknown = group.height - runs.height
    notes = [note("unknown_setting", n=unknown)] if unknown else []
    all_knobs = [knobs.knob_of(name, runs, options) for name in options.on]
    if constant := [knob.name for knob in all_knobs if len(knob.levels) < 2]:
        notes.append(note("constant_setting", names=constant, n=len(constant)))
    all_knobs = knobs.merge_aliased([knob for knob in all_knobs if len(knob.levels) > 1])
    reached = runs["reached"].to_numpy()
    is_used, rare_levels = knobs.drop_rare_levels(all_knobs, reached)
    if rare_levels:
        notes.append(note("level_left_out", names=rare_levels, n=len(rare_levels)))
    varied = knobs.merge_aliased(
        [knob for candidate in all_knobs if len((knob := candidate.of(is_used)).levels) > 1]
    )
    if not varied:
        return ([], [], []), notes
    if names := [knob.name.replace(BY, " and ") for knob in varied if BY in knob.name]:
        notes.append(note("aliased", names=names))
    sessions = runs[_BLOCK].to_numpy()[is_used] if block else None
    design, missing_pairs = knobs.design_of(varied, sessions, interactions=options.interactions)
    if missing_pairs:
        notes.append(note("empty_cells", names=missing_pairs))
    logs = knobs.logs_of(runs.filter(is_used), axis)
    parts = {
        name: model.fit_part(y, design, confidence=options.confidence) for name, y in logs.items()
    }
    fit, n = Fit(varied, design, logs, parts), int(is_used.sum())
    if design.has_intervals:
        notes += _effect_notes(fit, axis)
    elif design.df < model.FEWEST_DF:
        notes.append(note("few_runs.effects", n=n, columns=n - design.df, df=design.df))
    else:
        notes.append(note("few_runs.sessions"))
    levels = [] if reached.all() else [*_level_rows(keys, all_knobs, reached)]
    if levels:
        alpha, failed = 1 - options.confidence, int((~reached).sum())
        settings = [row.setting for row in levels if row.p is not None and row.p < alpha]
        names = list(dict.fromkeys(settings))
        code = "survivors.differ" if names else "survivors"
        notes.append(note(code, failed=failed, n=reached.size, names=names, m=len(names)))
    shares = [*_share_rows(keys, fit, axis)] if design.has_intervals else []
    return ([*_effect_rows(keys, fit, axis)], shares, levels), notes


def _effect_rows(keys: dict[str, Any], fit: Fit, axis: Axis) -> Iterator[EffectRow]:
    p_values = {
        name: iter(adjust_p_values([x.ratio.p_value for term in part.effects for x in term]))
        for name, part in fit.parts.items()
    }
    for number, of_term in enumerate(fit.labels):
        for index, (setting, level, base, doublings) in enumerate(of_term):
            for name, part in fit.parts.items():
                effect = part.effects[number][index]
                ratio, plain = effect.ratio, effect.plain
                per = ratio.estimate ** (1 / doublings) if ratio.estimate and doublings else None
                yield EffectRow(
                    "effect", setting, level, base, name, ratio.n_b, ratio.n_a, axis.name,
                    ratio.estimate, ratio.low, ratio.high, ratio.p_value, next(p_values[name]),
                    ratio.df, per, plain.low, plain.high, plain.p_value, keys=keys,
                )  # fmt: skip


def _share_rows(keys: dict[str, Any], fit: Fit, axis: Axis) -> Iterator[ShareRow]:
    """Yield each term's share of the variance, then the sums over the parts."""
    names = [of_term[0][0] for of_term in fit.labels]
    if fit.design.sessions is not None and not fit.design.nested:
        names.append("sessions")
    empty_numbers = (None,) * (2 * (3 - len(fit.parts)))
    make = partial(ShareRow, keys=keys)
    for number, name in enumerate((*names, "residual")):
        of_parts = [part.shares[number] for part in fit.parts.values()]
        yield make(
            "share", name, *(x for s in of_parts for x in (s.share, s.omega2)), *empty_numbers
        )
    total, *of = (float(np.var(values)) for values in fit.logs.values())
    if of and total > 0:
        adds = {
            part_title(part, axis): variance / total
            for part, variance in zip([*fit.logs][1:], of, strict=True)
        }
        adds["2 × covariance"] = 1 - sum(adds.values())
        # What is less than 1e-12 of the whole is rounding.
        empty = (None,) * 5
        yield from (make("part", name, round(share, 12), *empty) for name, share in adds.items())


def _level_rows(
    keys: dict[str, Any], knobs: Sequence[Knob], reached: NDArray[np.bool_]
) -> Iterator[LevelRow]:
    settings = [knob.setting for knob in knobs]
    p_values = model.setting_p_values(reached, settings)
    for knob, setting, p, holm in zip(
        knobs, settings, p_values, adjust_p_values(p_values), strict=True
    ):
        for number, level in enumerate(knob.levels):
            of_level = setting.levels == number
            n, n_solved = int(of_level.sum()), int(reached[of_level].sum())
            yield LevelRow("level", knob.name, level, n, n_solved, p, holm, keys=keys)


def _effect_notes(fit: Fit, axis: Axis) -> Iterator[Note]:
    knobs, design = fit.knobs, fit.design
    titles = {part: part_title(part, axis) for part in fit.logs}
    yield from (
        note("constant_epochs.effects", part=titles[part])
        for part, values in fit.logs.items()
        if np.ptp(values) < 1e-12
    )
    numbers = [n for n, knob in enumerate(knobs) if knob.by_doubling]
    if bent := [
        knobs[n].name
        for n in numbers
        if any(
            p is not None and p < 0.01
            for p in [model.nonlinearity_p(values, design, n) for values in fit.logs.values()]
        )
    ]:
        yield note("not_straight", names=bent, option=",".join(bent))
    if uneven := [
        knob.name
        for n, knob in enumerate(knobs)
        if any(effect.uneven for part in fit.parts.values() for effect in part.effects[n])
    ]:
        yield note("uneven_noise", names=uneven)
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
    total_title, *other_titles = titles.values()
    yield note(
        "definitions.effects",
        product=f"; {total_title} = {' × '.join(other_titles)}" if other_titles else "",
    )


def _effects_sentence(rows: Sequence[EffectRow], alpha: float) -> str:
    texts, names_without_effect = [], []
    by_effect: dict[str, list[EffectRow]] = {}
    for row in rows:
        by_effect.setdefault(name_of(row), []).append(row)
    for name, (total, *parts) in by_effect.items():
        factor, *factors = (
            f"{part_of(row)} × {row.ratio or 0.0:.2f}"
            if row.p_adjusted is not None and row.p_adjusted < alpha else ""
            for row in (total, *parts)
        )  # fmt: skip
        through = " and ".join(filter(None, factors))
        if factor:
            limits = units.interval_suffix(total.ratio_low, total.ratio_high)
            by = f", through {through}" if through else ""
            texts.append(f"{name}: {factor}{limits}{by}.")
        elif through:
            texts.append(f"{name}: {through}; {part_of(total)} undecided.")
        else:
            names_without_effect.append(name)
    if (n_more := len(texts) - _SEVERAL) > 0:
        are = "is" if n_more == 1 else "are"
        texts[_SEVERAL:] = [f"{units.plural(n_more, 'more effect')} {are} shown."]
    if names_without_effect:
        texts.append(f"No effect shown of {units.join_names(names_without_effect)}.")
    return " ".join(texts)


def name_of(row: EffectRow) -> str:
    """Return the name of an effect: `lr 0.3 vs 0.1`."""
    if row.level is None:
        return f"{row.setting}, doubled"
    return f"{row.setting} {row.level}" + (f" vs {row.base}" if row.base else "")
