"""Which kinds of plots are there, and which of them suit some runs?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ttastats.base.errors import raise_if
from ttastats.base.note import Note, note
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

#: Of each kind the function that gives its plots, or raises `NothingToDrawError` and says why there
#: are none, and the question that it alone answers. Those of one benchmark stand first, and stand
#: together on a page.
_KINDS: Mapping[str, tuple[Draw, str]] = {
    quality.TIME: (
        quality.over_time,
        "How does quality grow with time, and which run stalls or diverges?",
    ),
    quality.EPOCHS: (quality.over_epochs, "How far apart are runs after the same epoch?"),
    tta.KIND: (tta.tta_plots, "How long did each run take, and how sure is the mean?"),
    solved.KIND: (solved.solved_plots, "What fraction of the runs is at the target over time?"),
    leaderboard.KIND: (
        leaderboard.leaderboard_plots,
        "Which entry of one run leads, by time and by cost?",
    ),
    leaderboard.RECORD: (leaderboard.record_plots, "How did the fastest time fall over the years?"),
    targets.KIND: (targets.target_plots, "Does the answer depend on the quality target?"),
    scaling.KIND: (scaling.scaling_plots, "What do more accelerators buy?"),
    variance.KIND: (
        variance.variance_plots,
        "Do runs of one setup differ by epochs or by time per epoch?",
    ),
    effects.KIND: (effects.effects_plots, "Which setting changes the time, and through what?"),
    history.KIND: (history.history_plots, "On which night did training change, and in which part?"),
    speedups.KIND: (speedups.speedup_plots, "By how much is B faster, and why?"),
    profile.KIND: (
        profile.performance_profile_plots,
        "Which system of a size is fast on many benchmarks?",
    ),
}
KINDS: Mapping[str, Draw] = {kind: draw for kind, (draw, _) in _KINDS.items()}
QUESTIONS = {kind: question for kind, (_, question) in _KINDS.items()}

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
    names = {panel.benchmark: number for number, panel in enumerate(material.panels)}
    last = len(names)
    return tuple(sorted(plots, key=lambda plot: names.get(plot.benchmark, last)))


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
