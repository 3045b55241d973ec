"""Which kinds of plots are there of profiles?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ttastats.base.errors import raise_if
from ttastats.output.plots import theme
from ttastats.output.plots.plot import Plot, plots_or_none, refuse_if
from ttastats.output.plots.profiled import bars, work
from ttastats.output.plots.profiled.shared import Profiles

#: The function that gives the plots of a kind.
KINDS: Mapping[str, Callable[[Profiles], tuple[Plot, ...]]] = {
    bars.STEP: bars.step_plots,
    work.ROOFLINE: work.roofline_plots,
    work.WORK: work.work_plots,
    bars.MEMORY: bars.memory_plots,
    work.BATCH_SIZES: work.batch_size_plots,
    bars.WORKERS: bars.worker_plots,
}
#: The question that a kind answers.
QUESTIONS = {
    bars.STEP: "Where does a step go: computing, communication, copies, input, the host, nothing?",
    work.ROOFLINE: "What binds each operator, arithmetic or memory? The roofline (Coleman et al., "
    "Figures 7, 8)",
    work.WORK: "How fast is the machine used for how much of the time? (Coleman et al., Figures 9 "
    "to 11)",
    bars.MEMORY: "What is the memory of a step for, at its peak? (Zhu et al., Figure 8)",
    work.BATCH_SIZES: "Up to which batch size does a larger one train more samples a second? (TBD, "
    "Figures 4 to 7)",
    bars.WORKERS: "How much of a step do workers communicate? (Coleman et al., Figures 5, 6, "
    "Tables 8, 9)",
}
#: Profiles in one plot: as many as have colours.
MOST = theme.HIGHLIGHTS


def plots_of_kind(kind: str, profiles: Profiles) -> tuple[Plot, ...]:
    """Return the plots of one kind for some profiles, if there is such a kind."""
    unknown = f"unknown plot kind for profiles {kind!r}"
    raise_if(kind not in KINDS, unknown, None, f"Choose from: {', '.join(KINDS)}.")
    most = f"Give at most {MOST}."
    refuse_if(len(profiles) > MOST, f"{len(profiles)} profiles in one plot", most)
    return KINDS[kind](profiles)


def all_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return every plot of some profiles, limited to what one plot can hold."""
    return tuple(plot for draw in KINDS.values() for plot in plots_or_none(draw, profiles))
