"""Which run is next, and in which order? Pure functions of what has been done.

A block is a seed with a run of every setup, all in one slot: what drifts from block to block, and
by how much slots differ, is the same for all setups. The order within blocks is random, and every
setup goes first once in as many blocks as there are setups. It follows from the seed of the order
and the number of the block alone, so that a race that was killed goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple


class Key(NamedTuple):
    """A run by its setup and its block; blocks below 0 are warm-ups, which do not count."""

    setup: str
    block: int


def block_order(setups: Sequence[str], block: int, seed: int) -> list[str]:
    """Return the order of setups in a block."""
    turn, position = divmod(block, len(setups))
    first = Random(f"{seed} {turn}").sample(setups, len(setups))[position]  # noqa: S311 - no secret
    later = [setup for setup in setups if setup != first]
    return [first, *Random(f"{seed} {turn} {position}").sample(later, len(later))]  # noqa: S311


def runs_in_order(
    setups: Sequence[str],
    blocks: Sequence[int],
    seed: int,
    dropouts: Mapping[str, int] | None = None,
) -> Iterator[Key]:
    """Yield the runs of blocks in order; `dropouts` gives the first block without a setup."""
    for block in blocks:
        for setup in block_order(setups, block, seed):
            if dropouts is None or block < dropouts.get(setup, block + 1):
                yield Key(setup, block)


def complete_blocks(setups: Collection[str], done: Collection[Key]) -> int:
    """Return how many blocks from the first on have a run of each of these setups."""
    block = 0
    while all(Key(setup, block) in done for setup in setups):
        block += 1
    return block


def next_run(
    order: Sequence[Key], done: Collection[Key], slots: Mapping[int, int], slot: int
) -> Key | None:
    """Return the run that a slot begins next; None if nothing is left for it.

    `slots` has the slot of each block that has begun: a block stays in its slot.
    """
    for key in order:
        if key not in done and slots.get(key.block, slot) == slot:
            return key
    return None
