"""Which settings were varied in some runs, at which levels, and what design do they make?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ttastats.base import units
from ttastats.base.errors import raise_if
from ttastats.outcomes.axis import AXES, Axis
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report.row import Row
from ttastats.stats import effects as model
from ttastats.stats.effects import Design, Part, Setting
from ttastats.stats.results import Floats

#: Values of a number from which on it acts by doublings.
_NUMBERS = 3
BY = " & "
_TIMES = " × "


class EffectsOptions(Struct, frozen=True):
    """How effects are estimated: settings, those whose numbers are levels, sessions, pairs."""

    on: Sequence[str]
    confidence: float
    levels: Sequence[str] = ()
    block: Sequence[str] = ()
    interactions: bool = False


class Knob(Struct, frozen=True, eq=False):
    """A setting of some runs: the value of each as text, and its levels, the base first."""

    name: str
    values: NDArray[np.object_]  # text: of numpy's own, a NUL at the end is cut
    levels: tuple[str, ...]
    numeric: bool
    by_level: bool = True

    @property
    def by_doubling(self) -> bool:
        """Return whether the effect of a numeric setting is one number per doubling."""
        return self.numeric and not self.by_level and len(self.levels) >= _NUMBERS

    @property
    def setting(self) -> Setting:
        """Return the setting as `stats.effects` takes it."""
        number_of_level = {level: number for number, level in enumerate(self.levels)}
        codes = np.array([number_of_level[str(value)] for value in self.values], dtype=np.intp)
        return Setting(codes, np.log2(self.values.astype(float)) if self.by_doubling else None)

    def of(self, runs: NDArray[np.bool_]) -> Knob:
        """Return the setting restricted to some of the runs."""
        values = self.values[runs]
        present = set(values.tolist())
        return replace(self, values=values, levels=tuple(filter(present.__contains__, self.levels)))


def knob_of(setting: str, runs: pl.DataFrame, options: EffectsOptions) -> Knob:
    """Return a varied setting with its base level: named, smallest, or of the first run."""
    column = f"setting {setting}"
    name, _, base = setting.partition("=")
    level_values = runs.sort("started_at", column, nulls_last=True)[column]
    levels = [*level_values.unique(maintain_order=True)]
    try:
        numbers = {text: float(text) for text in levels}
        levels.sort(key=lambda text: numbers[text])
    except ValueError:
        numbers = {}
    if base:
        value_text = f"{name} has the values {units.join_names(levels)}"
        raise_if(base not in levels, f"{name} is never {base}", "--on", f"{value_text}.")
        levels = [base, *(level for level in levels if level != base)]
    finite = bool(numbers) and all(0 < number < np.inf for number in numbers.values())
    by_level = bool(base) or name in options.levels
    return Knob(name, runs[column].to_numpy().astype(object), tuple(levels), finite, by_level)


def merge_aliased(knobs: Sequence[Knob]) -> list[Knob]:
    """Return the settings, with those always changed together as one."""
    remaining = list(knobs)
    while aliased := model.aliased_settings([knob.setting for knob in remaining]):
        joined = [remaining[index] for index in aliased]
        of_runs = [*zip(*(knob.values.tolist() for knob in joined), strict=True)]
        ranks = [{level: n for n, level in enumerate(knob.levels)} for knob in joined]
        levels = sorted(
            set(of_runs),
            key=lambda levels: [rank[v] for rank, v in zip(ranks, levels, strict=True)],
        )
        joint_knob = Knob(
            BY.join(knob.name for knob in joined),
            np.array([*map(BY.join, of_runs)], dtype=object),
            tuple(map(BY.join, levels)),
            numeric=False,
        )
        remaining = [knob for n, knob in enumerate(remaining) if n not in aliased]
        remaining.insert(aliased[0], joint_knob)
    return remaining


def drop_rare_levels(
    knobs: Sequence[Knob], is_used: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return a mask of runs with two successes at each level, and the dropped levels."""
    levels = {
        f"{knob.name} {level}": knob.values == level
        for knob in knobs
        for level in (() if knob.by_doubling else knob.levels)
    }
    rare_levels: list[str] = []
    while new := [name for name, of_level in levels.items()
                  if name not in rare_levels and (of_level & is_used).sum() < 2]:  # fmt: skip
        rare_levels += new
        is_used = is_used & ~np.any([levels[name] for name in new], axis=0)
    return is_used, rare_levels


def design_of(
    knobs: Sequence[Knob], sessions: NDArray[Any] | None, *, interactions: bool
) -> tuple[Design, list[str]]:
    """Return the design for the fit, and the interactions it cannot include."""
    design, missing_pairs = Design(tuple(knob.setting for knob in knobs)), []
    if sessions is not None and len(set(sessions)) > 1:
        design = replace(design, sessions=np.unique(sessions, return_inverse=True)[1])
        design = replace(design, nested=not model.full_rank(design.terms))
    for a, b in combinations(range(len(knobs)), 2) if interactions else ():
        wider_design = replace(design, pairs=(*design.pairs, (a, b)))
        if model.full_rank(wider_design.terms):
            design = wider_design
        else:
            missing_pairs.append(f"{knobs[a].name}{_TIMES}{knobs[b].name}")
    return design, missing_pairs


def part_title(part: str, axis: Axis) -> str:
    """Return the name of a part: `time per epoch` for `time_per_epoch`."""
    if part == "tta":
        return "time to target" if axis.is_time else axis.to_target
    return part.replace("time_per_", f"{axis.noun} per ")


def part_of(row: Row) -> str:
    """Return the name of the part of the time of a row."""
    return part_title(row.get("part"), AXES[row.get("axis")])


def logs_of(runs: pl.DataFrame, axis: Axis) -> dict[str, Floats]:
    """Return the logs of the time to the target and, if progress is known, of its parts."""
    times = np.log(runs["tta_seconds"].cast(pl.Float64).to_numpy())
    unit, _ = common_progress(runs)
    if unit is None or axis.progress:
        return {"tta": times}
    progress = np.log(runs[unit].cast(pl.Float64).to_numpy())
    return {"tta": times, unit: progress, f"time_per_{unit[:-1]}": times - progress}


#: A setting, its level and its base, and how many doublings lie between them.
Label = tuple[str, str | None, str | None, float]


class Fit(Struct, frozen=True, eq=False):
    """The fit of a design of settings to the logs of each part."""

    knobs: Sequence[Knob]
    design: Design
    logs: Mapping[str, Floats]
    parts: Mapping[str, Part]

    @property
    def labels(self) -> Iterator[list[Label]]:
        """Return the labels of the effects of each term."""
        for knob in self.knobs:
            base, *other_levels = knob.levels
            if knob.by_doubling:
                yield [(knob.name, None, None, 1.0)]
            elif knob.numeric:
                steps = [float(np.log2(float(level) / float(base))) for level in other_levels]
                yield [
                    (knob.name, level, base, n)
                    for level, n in zip(other_levels, steps, strict=True)
                ]
            else:
                yield [(knob.name, level, base, 0.0) for level in other_levels]
        for a, b in self.design.pairs:
            first, second = (
                ["doubling"] if knob.by_doubling else [*knob.levels[1:]]
                for knob in (self.knobs[a], self.knobs[b])
            )
            name = f"{self.knobs[a].name}{_TIMES}{self.knobs[b].name}"
            yield [(name, f"{x}{_TIMES}{y}", None, 0.0) for x in first for y in second]
