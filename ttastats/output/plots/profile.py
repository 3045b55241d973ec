"""Who is fast on many benchmarks? Shares of them solved within a factor of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts, theme
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.sides.numbers import expected_seconds
from ttastats.stats.profile import PerformanceProfile, performance_profile

KIND = "profile"
TAU_MAX = 4.0
_HEIGHT = 200.0


def plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot, of the systems of one size: those of as many accelerators as most have.

    Systems of 8 and of 512 accelerators are no rivals, and sides are what `speedups` shows.

    Raises
    ------
    NothingToDrawError
        There are not two systems of one size that share two benchmarks.
    """
    if material.compares:
        raise NothingToDrawError(
            "a performance profile takes one file", remedy="`plot speedups` shows sides."
        )
    size, times = _largest_class(material.panels)
    if len(times) < 2:
        raise NothingToDrawError(
            "a performance profile needs two systems with the same number of accelerators and "
            "runs on two benchmarks",
            remedy="Give more logs.",
        )
    table, profile, labels = _profiled(times)
    benchmarks = len({name for row in times.values() for name in row})
    title = f"Performance profile of {len(times)} systems of {units.plural(size, 'accelerator')}"
    shown = labels[: theme.HIGHLIGHTS]
    best = ", ".join(f"{label} {score:.2f}" for label, score in zip(shown, profile, strict=False))
    left = len(labels) - len(shown)
    of_size = pl.col("accelerators") == size
    runs = sum(panel.runs.filter(of_size).height for panel in material.panels)
    caption = (
        f"{units.plural(runs, 'run')}. A line says on what share of the {benchmarks} benchmarks a "
        f"system's {material.axis.expected} to a success is within a factor of the best of those "
        "shown and not shown; a benchmark that it was not run on or never solved counts as missed. "
        f"Score, the area up to {TAU_MAX:g}: {best}.",
        f"{left} more, with lower scores, are not shown." if left else "",
        "Systems of other sizes are no rivals: `--where accelerators=...` chooses them.",
    )
    chart = _chart(shown, material.axis.expected)
    data, said = {"profile": table.filter(pl.col("series").is_in(shown))}, f"{best}."
    return (charts.plot(KIND, None, title, caption, chart, data, height=_HEIGHT, described=said),)


Times = Mapping[str, Mapping[str, float]]


def _largest_class(panels: Sequence[Panel]) -> tuple[int, Times]:
    """Return the number of accelerators that most systems have, and the times of these."""
    found: dict[int, dict[str, dict[str, float]]] = {}
    for panel in panels:
        known = panel.runs.drop_nulls(["system", "accelerators", "observed_seconds"])
        groups = known.group_by("accelerators", "system", maintain_order=True)
        for (size, system), runs in groups:
            ert = expected_seconds(runs)
            if ert is not None and np.isfinite(ert):
                found.setdefault(int(size), {}).setdefault(str(system), {})[panel.name] = ert
    classes = {
        size: {name: row for name, row in systems.items() if len(row) > 1}
        for size, systems in found.items()
    }
    return max(classes.items(), key=lambda one: (len(one[1]), -one[0]), default=(0, {}))


def _profiled(times: Times) -> tuple[pl.DataFrame, list[float], list[str]]:
    systems = list(times)
    benchmarks = list(dict.fromkeys(name for row in times.values() for name in row))
    matrix = np.array([[times[s].get(b, np.inf) for b in benchmarks] for s in systems])
    taus = np.unique(np.concatenate([[1.0], _factors(matrix), [TAU_MAX]]))
    profile: PerformanceProfile = performance_profile(matrix, taus, tau_max=TAU_MAX)
    order = np.argsort(-profile.scores, kind="stable")
    labels = [systems[index] for index in order]
    parts = [
        pl.DataFrame(
            {"tau": taus, "share": profile.shares[index], "series": [systems[index]] * taus.size}
        )
        for index in order
    ]
    table = pl.concat(parts).with_columns(system=pl.col("series"))
    return table, [float(profile.scores[index]) for index in order], labels


def _factors(matrix: Any) -> Any:
    """Return the factors at which a line rises."""
    ratios = matrix / matrix.min(axis=0)
    return ratios[np.isfinite(ratios) & (ratios <= TAU_MAX)]


def _chart(labels: list[str], expected: str) -> Any:
    colours, _ = charts.colour_scale(labels)
    dashes = [theme.DASHES[n] for n in range(len(labels))]
    key = charts.legend(labels)
    return (
        alt.Chart(alt.NamedData(name="profile"))
        .mark_line(interpolate="step-after", strokeWidth=1.8, strokeOpacity=0.9)
        .encode(
            x=alt.X(
                "tau:Q",
                title=f"factor of the best {expected} (log scale)",
                scale=alt.Scale(type="log", domain=[1, TAU_MAX], nice=False),
                axis=alt.Axis(values=[1, 1.25, 1.5, 2, 2.5, 3, 4], grid=False, format="~g"),
            ),
            y=alt.Y(
                "share:Q",
                title="share of benchmarks",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=5),
            ),
            color=alt.Color("series:N", scale=colours, legend=key),
            strokeDash=alt.StrokeDash(
                "series:N", scale=alt.Scale(domain=labels, range=dashes), legend=key
            ),
            tooltip=charts.tooltips(
                ("series:N", "of"),
                ("tau:Q", "within a factor of", ".3~r"),
                ("share:Q", "of the benchmarks", ".0%"),
            ),
        )
    )
