"""Which kinds of pictures are there of profiles?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ttastats.errors import TtastatsError
from ttastats.pictures import theme
from ttastats.pictures.picture import NothingToDrawError, Picture, drawable
from ttastats.pictures.profiled import batch_sizes, memory, roofline, step, work, workers
from ttastats.pictures.profiled.shared import Profiles

KINDS: Mapping[str, Callable[[Profiles], tuple[Picture, ...]]] = {
    step.KIND: step.pictures,
    roofline.KIND: roofline.pictures,
    work.KIND: work.pictures,
    memory.KIND: memory.pictures,
    batch_sizes.KIND: batch_sizes.pictures,
    workers.KIND: workers.pictures,
}
#: Profiles in one picture: as many as have colours.
MOST = theme.HIGHLIGHTS


def pictures(kind: str, profiles: Profiles) -> tuple[Picture, ...]:
    """Give the pictures of one kind.

    Raises
    ------
    TtastatsError
        There is no such kind, there are too many profiles, or they have no such picture.
    """
    if kind not in KINDS:
        raise TtastatsError(
            f"no picture of profiles is called {kind!r}", remedy=f"There are: {', '.join(KINDS)}."
        )
    if len(profiles) > MOST:
        raise NothingToDrawError(
            f"{len(profiles)} profiles in one picture", remedy=f"Give {MOST} at most."
        )
    return KINDS[kind](profiles)


def all_pictures(profiles: Profiles) -> tuple[Picture, ...]:
    """Give every picture that there is of some profiles, no more than a picture holds."""
    return tuple(picture for draw in KINDS.values() for picture in drawable(draw, profiles))
