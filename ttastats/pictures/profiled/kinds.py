"""Which kinds of pictures are there of profiles?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import batch_sizes, memory, roofline, work, workers
from ttastats.pictures.profiled.shared import Profiles

KINDS: Mapping[str, Callable[[Profiles], tuple[Picture, ...]]] = {
    roofline.KIND: roofline.pictures,
    work.KIND: work.pictures,
    memory.KIND: memory.pictures,
    batch_sizes.KIND: batch_sizes.pictures,
    workers.KIND: workers.pictures,
}


def described() -> list[tuple[str, str]]:
    """Give each kind with the question it answers."""
    return [(kind, (sys.modules[draw.__module__].__doc__ or "").splitlines()[0])
            for kind, draw in KINDS.items()]  # fmt: skip
