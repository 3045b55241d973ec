"""Which kinds of plots are there, and which of them suit some runs or profiles?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if, suggestion
from ttastats.output.plots import (
    history,
    leaderboard,
    operators,
    quality,
    scaling,
    solved,
    speedups,
    steps,
    targets,
    theme,
    tta,
    variance,
)
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, plots_or_none, refuse_if
from ttastats.output.plots.steps import Profiles

Draw = Callable[[Material], tuple[Plot, ...]]

#: Of each kind the function that gives its plots, or raises `NothingToDrawError` and says why there
#: are none, and the question that it alone answers. Those of one benchmark stand first, and stand
#: together on a page.
KINDS: Mapping[str, tuple[Draw, str]] = {
    quality.TIME: (
        quality.over_time,
        "How does quality grow with time, and which run stalls or diverges?",
    ),
    quality.EPOCHS: (quality.over_epochs, "How far apart are runs after the same epoch?"),
    tta.KIND: (tta.tta_plots, "How long did each run take, and how sure is the mean?"),
    solved.SOLVED: (solved.solved_plots, "What fraction of the runs is at the target over time?"),
    leaderboard.KIND: (
        leaderboard.leaderboard_plots,
        "Which entry of one run leads, by time and by cost?",
    ),
    leaderboard.RECORD: (leaderboard.record_plots, "How did the fastest time fall over the years?"),
    targets.KIND: (targets.target_plots, "Does the answer depend on the quality target?"),
    scaling.KIND: (scaling.scaling_plots, "What do more accelerators buy?"),
    variance.VARIANCE: (
        variance.variance_plots,
        "Do runs of one setup differ by epochs or by time per epoch?",
    ),
    variance.EFFECTS: (variance.effects_plots, "Which setting changes the time, and through what?"),
    history.KIND: (history.history_plots, "On which night did training change, and in which part?"),
    speedups.KIND: (speedups.speedup_plots, "By how much is B faster, and why?"),
    solved.PROFILE: (
        solved.performance_profile_plots,
        "Which system of a size is fast on many benchmarks?",
    ),
}
#: The same of the kinds that draw profiles.
OF_PROFILES: Mapping[str, tuple[Callable[[Profiles], tuple[Plot, ...]], str]] = {
    steps.STEP: (
        steps.step_plots,
        "Where does a step go: computing, communication, copies, input, the host, nothing?",
    ),
    operators.ROOFLINE: (
        operators.roofline_plots,
        "What binds each operator, arithmetic or memory? The roofline (Coleman et al., "
        "Figures 7, 8)",
    ),
    operators.WORK: (
        operators.work_plots,
        "How fast is the machine used for how much of the time? (Coleman et al., Figures 9 to 11)",
    ),
    steps.MEMORY: (
        steps.memory_plots,
        "What is the memory of a step for, at its peak? (Zhu et al., Figure 8)",
    ),
    operators.BATCH_SIZES: (
        operators.batch_size_plots,
        "Up to which batch size does a larger one train more samples a second? (TBD, Figures 4 "
        "to 7)",
    ),
    steps.WORKERS: (
        steps.worker_plots,
        "How much of a step do workers communicate? (Coleman et al., Figures 5, 6, Tables 8, 9)",
    ),
}
#: Profiles in one plot: as many as have colours.
MOST_PROFILES = theme.HIGHLIGHTS
#: Kinds whose statistics take long, with the runs up to which a page waits for them.
_SLOW = {variance.VARIANCE: 30_000}


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
        plots += plots_or_none(KINDS[kind][0], material)
    numbers = {panel.benchmark: number for number, panel in enumerate(material.panels)}
    return tuple(sorted(plots, key=lambda plot: numbers.get(plot.benchmark, len(numbers))))


def slow_kind_notes(material: Material) -> Iterator[Note]:
    """Yield a note on the kinds that `all_plots` skips because they are slow."""
    return (note("not_drawn", kind=kind, most=_SLOW[kind]) for kind in _slow_kinds(material))


def _slow_kinds(material: Material) -> tuple[str, ...]:
    runs = 0 if material.at_budget else sum(side.runs.height for side in material.sides)
    return tuple(kind for kind, most in _SLOW.items() if runs > most)


def drawer_of(kind: str, metric: str = "", on: Sequence[str] = ()) -> Draw:
    """Return the function that draws a kind, if it draws the metric and settings that are named."""
    unknown = f"unknown plot kind {kind!r}"
    raise_if(kind not in KINDS, unknown, None, suggestion(kind, KINDS, "Kinds"))
    for option, value, kinds in (
        ("--metric", metric, quality.OF_ANY_METRIC), ("--on", on, (variance.EFFECTS,)),
    ):  # fmt: skip
        message = f"plot {kind} does not support {option}"
        raise_if(value and kind not in kinds, message, option, f"Supported by: {', '.join(kinds)}.")
    return KINDS[kind][0]


def kind_descriptions() -> list[tuple[str, str]]:
    """Return each kind with the question it answers, those of profiles last."""
    all_kinds = (*KINDS.items(), *OF_PROFILES.items())
    return [(kind, question) for kind, (_, question) in all_kinds]


def plots_of_profiles(kind: str, profiles: Profiles) -> tuple[Plot, ...]:
    """Return the plots of one kind for some profiles, if there is such a kind."""
    unknown = f"unknown plot kind for profiles {kind!r}"
    raise_if(kind not in OF_PROFILES, unknown, None, suggestion(kind, OF_PROFILES, "Kinds"))
    too_many, most = len(profiles) > MOST_PROFILES, f"Give at most {MOST_PROFILES}."
    refuse_if(too_many, f"{len(profiles)} profiles in one plot", most)
    return OF_PROFILES[kind][0](profiles)


def all_plots_of_profiles(profiles: Profiles) -> tuple[Plot, ...]:
    """Return every plot of some profiles, limited to what one plot can hold."""
    return tuple(plot for draw, _ in OF_PROFILES.values() for plot in plots_or_none(draw, profiles))
