"""Which kinds of pictures are there of profiles?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

from ttastats.errors import TtastatsError
from ttastats.pictures import theme
from ttastats.pictures.picture import NothingToDrawError, Picture
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
    """Give every picture that there is of some profiles."""
    return tuple(picture for kind in KINDS for picture in _possible(kind, profiles))


def _possible(kind: str, profiles: Profiles) -> Iterator[Picture]:
    try:
        yield from pictures(kind, profiles)
    except NothingToDrawError:
        return


def described() -> list[tuple[str, str]]:
    """Give each kind with the question it answers."""
    return [(kind, (sys.modules[draw.__module__].__doc__ or "").splitlines()[0])
            for kind, draw in KINDS.items()]  # fmt: skip
