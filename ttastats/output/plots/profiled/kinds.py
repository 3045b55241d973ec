"""Which kinds of plots are there of profiles?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ttastats.base.errors import TtastatsError
from ttastats.output.plots import theme
from ttastats.output.plots.plot import NothingToDrawError, Plot, drawable
from ttastats.output.plots.profiled import batch_sizes, memory, roofline, step, work, workers
from ttastats.output.plots.profiled.shared import Profiles

KINDS: Mapping[str, Callable[[Profiles], tuple[Plot, ...]]] = {
    step.KIND: step.plots,
    roofline.KIND: roofline.plots,
    work.KIND: work.plots,
    memory.KIND: memory.plots,
    batch_sizes.KIND: batch_sizes.plots,
    workers.KIND: workers.plots,
}
#: Profiles in one plot: as many as have colours.
MOST = theme.HIGHLIGHTS


def plots(kind: str, profiles: Profiles) -> tuple[Plot, ...]:
    """Return the plots of one kind.

    Raises
    ------
    TtastatsError
        There is no such kind, there are too many profiles, or they have no such plot.
    """
    if kind not in KINDS:
        raise TtastatsError(
            f"unknown plot kind for profiles {kind!r}", remedy=f"Choose from: {', '.join(KINDS)}."
        )
    if len(profiles) > MOST:
        raise NothingToDrawError(
            f"{len(profiles)} profiles in one plot", remedy=f"Give at most {MOST}."
        )
    return KINDS[kind](profiles)


def all_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return every plot that there is of some profiles, no more than a plot holds."""
    return tuple(plot for draw in KINDS.values() for plot in drawable(draw, profiles))
