"""Who is fast on many benchmarks? Shares of them solved within a factor of the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from ttastats.plotting import charts, theme
from ttastats.plotting.material import Material, Panel, side_labels
from ttastats.plotting.plot import NothingToDrawError, Plot
from ttastats.sides import expected_seconds
from ttastats.stats.profile import PerformanceProfile, performance_profile

KIND = "profile"
TAU_MAX = 4.0
_HEIGHT = 200.0


def plots(material: Material) -> tuple[Plot, ...]:
    """Give one plot: systems over benchmarks, or sides of a comparison.

    Raises
    ------
    NothingToDrawError
        There are not two systems that share two benchmarks.
    """
    what = "side" if material.compares else "system"
    times = expected_times(material.panels, what)
    if len(times) < 2:
        raise NothingToDrawError(
            f"a profile needs two {what}s that were run on two benchmarks each",
            remedy="Give more logs.",
        )
    table, profile, labels = _profiled(times, what)
    benchmarks = len({name for row in times.values() for name in row})
    title = f"Performance profile of {len(times)} {what}s over {benchmarks} benchmarks"
    shown = labels[: theme.HIGHLIGHTS]
    best = ", ".join(f"{label} {score:.2f}" for label, score in zip(shown, profile, strict=False))
    runs = sum(panel.runs.height for panel in material.panels)
    left = len(labels) - len(shown)
    caption = (
        f"{runs:,} runs. A line says on what share of the {benchmarks} benchmarks a {what}'s "
        f"{material.axis.expected} to a success is within a factor of the best of those shown and "
        f"not shown; a benchmark that it was not run on or never solved counts as missed. Score, "
        f"the area up to {TAU_MAX:g}: {best}.",
        f"{left} more, with lower scores, are not shown." if left else "",
    )
    # A side has the same colour in every plot.
    drawn = side_labels(material.sides)[: theme.HIGHLIGHTS] if material.compares else shown
    chart = _chart(drawn, material.axis.expected)
    data, said = {"profile": table.filter(pl.col("series").is_in(shown))}, f"{best}."
    return (charts.plot(KIND, None, title, caption, chart, data, height=_HEIGHT, described=said),)


Times = Mapping[str, Mapping[str, float]]


def expected_times(panels: tuple[Panel, ...], what: str) -> Times:
    """Give the expected time to a success by system and benchmark, of those with two or more."""
    found: dict[str, dict[str, float]] = {}
    column = "series" if what == "side" else "system"
    for panel in panels:
        known = panel.runs.drop_nulls([column, "observed_seconds"])
        for (name,), runs in known.group_by(column, maintain_order=True):
            ert = expected_seconds(runs)
            if ert is not None and np.isfinite(ert):
                found.setdefault(str(name), {})[panel.name] = ert
    return {name: row for name, row in found.items() if len(row) > 1}


def _profiled(times: Times, what: str) -> tuple[pl.DataFrame, list[float], list[str]]:
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
    table = pl.concat(parts)
    if what == "system":
        table = table.with_columns(system=pl.col("series"))
    return table, [float(profile.scores[index]) for index in order], labels


def _factors(matrix: Any) -> Any:
    """Give the factors at which a line rises."""
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
