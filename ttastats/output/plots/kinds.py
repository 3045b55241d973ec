"""Which kinds of plots are there, and which of them suit some runs?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if
from ttastats.output.plots import (
    effects,
    history,
    leaderboard,
    profile,
    quality,
    scaling,
    solved,
    speedups,
    targets,
    tta,
    variance,
)
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, plots_or_none
from ttastats.output.plots.profiled import kinds as profiled

Draw = Callable[[Material], tuple[Plot, ...]]

#: The function that gives the plots of a kind, or raises `NothingToDrawError` and says why there
#: are none. Those of one benchmark stand first, and stand together on a page.
KINDS: Mapping[str, Draw] = {
    quality.TIME: quality.over_time,
    quality.EPOCHS: quality.over_epochs,
    tta.KIND: tta.tta_plots,
    solved.KIND: solved.solved_plots,
    leaderboard.KIND: leaderboard.leaderboard_plots,
    leaderboard.RECORD: leaderboard.record_plots,
    targets.KIND: targets.target_plots,
    scaling.KIND: scaling.scaling_plots,
    variance.KIND: variance.variance_plots,
    effects.KIND: effects.effects_plots,
    history.KIND: history.history_plots,
    speedups.KIND: speedups.speedup_plots,
    profile.KIND: profile.performance_profile_plots,
}
#: The question that a kind alone answers.
QUESTIONS: Mapping[str, str] = {
    quality.TIME: "How does quality grow with time, and which run stalls or diverges?",
    quality.EPOCHS: "How far apart are runs after the same epoch?",
    tta.KIND: "How long did each run take, and how sure is the mean?",
    solved.KIND: "What fraction of the runs is at the target over time?",
    leaderboard.KIND: "Which entry of one run leads, by time and by cost?",
    leaderboard.RECORD: "How did the fastest time fall over the years?",
    targets.KIND: "Does the answer depend on the quality target?",
    scaling.KIND: "What do more accelerators buy?",
    variance.KIND: "Do runs of one setup differ by epochs or by time per epoch?",
    effects.KIND: "Which setting changes the time, and through what?",
    history.KIND: "On which night did training change, and in which part?",
    speedups.KIND: "By how much is B faster, and why?",
    profile.KIND: "Which system of a size is fast on many benchmarks?",
}
#: Kinds whose statistics take long, with the runs up to which a page waits for them.
_SLOW = {variance.KIND: 30_000}


def all_plots(
    material: Material,
    *,
    without: Sequence[str] = (),
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[Plot, ...]:
    """Return every plot but some kinds: by benchmark first, then those of several benchmarks.

    At a budget these are the curves: the others are about times to a target.
    """
    kinds = [kind for kind in KINDS if kind not in {*_slow_kinds(material), *without}]
    if material.at_budget:
        kinds = [kind for kind in kinds if kind in quality.OF_ANY_METRIC]
    plots: list[Plot] = []
    for number, kind in enumerate(kinds):
        if on_progress is not None:
            on_progress(number, len(kinds))
        plots += plots_or_none(KINDS[kind], material)
    places = {panel.benchmark: number for number, panel in enumerate(material.panels)}
    return tuple(sorted(plots, key=lambda plot: places.get(plot.benchmark, len(places))))


def slow_kind_notes(material: Material) -> Iterator[Note]:
    """Yield a note on the kinds that `all_plots` skips because they are slow."""
    return (note("not_drawn", kind=kind, most=_SLOW[kind]) for kind in _slow_kinds(material))


def _slow_kinds(material: Material) -> tuple[str, ...]:
    runs = 0 if material.at_budget else sum(side.runs.height for side in material.sides)
    return tuple(kind for kind, most in _SLOW.items() if runs > most)


def drawer_of(kind: str, metric: str = "", on: Sequence[str] = ()) -> Draw:
    """Return the function that draws a kind, if it draws the metric and settings that are named."""
    unknown = f"unknown plot kind {kind!r}"
    raise_if(kind not in KINDS, unknown, None, f"Choose from: {', '.join(KINDS)}.")
    for option, value, kinds in (
        ("--metric", metric, quality.OF_ANY_METRIC), ("--on", on, (effects.KIND,)),
    ):  # fmt: skip
        none = f"plot {kind} does not support {option}"
        raise_if(value and kind not in kinds, none, option, f"Supported by: {', '.join(kinds)}.")
    return KINDS[kind]


def kind_descriptions() -> list[tuple[str, str]]:
    """Return each kind with the question it answers, those of profiles last."""
    return [*QUESTIONS.items(), *profiled.QUESTIONS.items()]
