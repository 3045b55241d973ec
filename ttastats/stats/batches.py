"""How are groups of different sizes one array each? Groups of one size are, shape (groups, n)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]


def groups_by_size(sizes: NDArray[np.int64]) -> Iterator[tuple[Places, Places]]:
    """Yield for each group size the groups and the indices of their values, shape (groups, n).

    The values of a group stand behind those of the group before it. Empty groups are left out.
    """
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        groups = np.flatnonzero(sizes == size)
        yield groups, starts[groups, None] + np.arange(size)


def count_by_group(flags: NDArray[np.bool_], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many values of each group have their flag set."""
    numbers = np.repeat(np.arange(sizes.size), sizes)
    return np.bincount(numbers[flags], minlength=sizes.size).astype(np.int64)
