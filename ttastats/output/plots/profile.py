"""Who is fast on many benchmarks? Shares of them solved within a factor of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts, theme
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.sides.numbers import expected_seconds
from ttastats.stats.multiplicity import performance_profile

KIND = "profile"
_TAU_MAX = 4.0
#: Expected times of systems, by benchmark.
Times = Mapping[str, Mapping[str, float]]


def performance_profile_plots(material: Material) -> tuple[Plot, ...]:
    """Return a performance profile of the systems of the most common size.

    Systems of 8 and of 512 accelerators are no rivals, and sides are what `speedups` shows.
    """
    sides = "`plot speedups` shows sides."
    refuse_if(material.compares, "a performance profile takes one file", sides)
    size, times = _most_common_size(material.panels)
    refuse_if(
        len(times) < 2,
        "a performance profile needs two systems with the same number of accelerators and "
        "runs on two benchmarks",
        "Give more logs.",
    )
    table, scores = _profile_lines(times)
    shown = list(scores)[: theme.HIGHLIGHTS]
    benchmarks = len({name for row in times.values() for name in row})
    best = ", ".join(f"{label} {scores[label]:.2f}" for label in shown)
    left, of_size = len(scores) - len(shown), pl.col("accelerators") == size
    several = "a lower score, is" if left == 1 else "lower scores, are"
    runs = sum(panel.runs.filter(of_size).height for panel in material.panels)
    caption = (
        f"{units.plural(runs, 'run')}. A line says on what share of the {benchmarks} benchmarks a "
        f"system's {material.axis.expected} to a success is within a factor of the best of those "
        "shown and not shown; a benchmark that it was not run on or never solved counts as missed. "
        f"Score, the area up to {_TAU_MAX:g}: {best}.",
        f"{left} more, with {several} not shown." if left else "",
        "Systems of other sizes are no rivals: `--where accelerators=...` chooses them.",
    )
    color, _, dash = charts.series_channels(shown, "series")
    ticks = {"values": [1, 1.25, 1.5, 2, 2.5, 3, 4], "grid": False, "format": "~g"}
    scale = {"type": "log", "domain": [1, _TAU_MAX], "nice": False}
    across = f"factor of the best {material.axis.expected} (log scale)"
    shares = {"format": ".0%", "tickCount": 5}
    line = charts.table_view("profile").encode(
        x=charts.position("tau", across, scale, ticks),
        y=charts.position("share", "share of benchmarks", {"domain": [0, 1]}, shares),
        color=color,
        strokeDash=dash,
        tooltip=[
            ("series:N", "of"), ("tau:Q", "within a factor of", ".3~r"),
            ("share:Q", "of the benchmarks", ".0%"),
        ],
    )  # fmt: skip
    line = line.mark("line", interpolate="step-after", strokeWidth=1.8, strokeOpacity=0.9)
    title = f"Performance profile of {len(times)} systems of {units.plural(size, 'accelerator')}"
    data = {"profile": table.filter(pl.col("series").is_in(shown))}
    return (
        charts.make_plot(
            KIND, None, title, caption, [line], data, height=200.0, described=f"{best}."
        ),
    )  # fmt: skip


def _most_common_size(panels: Sequence[Panel]) -> tuple[int, Times]:
    """Return the most common number of accelerators, and the times of its systems."""
    times: dict[int, dict[str, dict[str, float]]] = {}
    for panel in panels:
        known = panel.runs.drop_nulls(["system", "accelerators", "observed_seconds"])
        groups = known.group_by("accelerators", "system", maintain_order=True)
        for (size, system), runs in groups:
            ert = expected_seconds(runs)
            if ert is not None and np.isfinite(ert):
                times.setdefault(int(size), {}).setdefault(str(system), {})[panel.name] = ert
    classes = {
        size: {name: row for name, row in systems.items() if len(row) > 1}
        for size, systems in times.items()
    }
    return max(classes.items(), key=lambda item: (len(item[1]), -item[0]), default=(0, {}))


def _profile_lines(times: Times) -> tuple[pl.DataFrame, dict[str, float]]:
    """Return the lines of the systems and their scores, the best first."""
    systems = list(times)
    benchmarks = list(dict.fromkeys(name for row in times.values() for name in row))
    matrix = np.array([[times[s].get(b, np.inf) for b in benchmarks] for s in systems])
    ratios = matrix / matrix.min(axis=0)
    rises = ratios[np.isfinite(ratios) & (ratios <= _TAU_MAX)]
    taus = np.unique(np.concatenate([[1.0], rises, [_TAU_MAX]]))
    profile = performance_profile(matrix, taus, tau_max=_TAU_MAX)
    order = np.argsort(-profile.scores, kind="stable")
    table = pl.DataFrame(
        {"tau": taus, "share": profile.shares[index], "series": systems[index]} for index in order
    )
    table = table.explode("tau", "share").with_columns(system=pl.col("series"))
    return table, {systems[index]: float(profile.scores[index]) for index in order}
