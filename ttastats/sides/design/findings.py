"""What is wrong with a comparison by the way its runs were made, and what follows for it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ttastats.base.codes import CONDITIONS
from ttastats.base.note import wording
from ttastats.stats.blocks import ByBlock
from ttastats.stats.results import Flag, FlagCode

#: What numbers the session or the seed of each run of A and of B.
Clusters = tuple[NDArray[np.intp], NDArray[np.intp]]

Effect = Literal["undecided", "allowance", "condition", "note"]

#: The finding that a reader must not overlook, and is shown in red.
POOLED: FlagCode = "pooled_setups"

#: What a finding is called behind the word of a verdict: `faster, setups pooled`, or as the reason
#: for which there is none.
WORDS = CONDITIONS


def flag(key: str, **fields: object) -> Flag:
    """Return the flag for a key of the table of codes."""
    return Flag(cast("FlagCode", key.partition(".")[0]), wording(key, **fields))


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a comparison by its design: a code, and a message for a note.

    `effect`: no claim can be made (`undecided`), the interval that decides is wider by it
    (`allowance`), a claim carries the finding behind its word (`condition`), or is made as it is
    (`note`). Codes of all but the last have their `WORDS`.
    `clusters` number the sessions or seeds that runs of each side share, where a verdict by these
    may do without the condition.
    """

    code: FlagCode
    message: str
    effect: Effect = "note"
    clusters: Clusters | None = field(default=None, compare=False)

    @classmethod
    def worded(
        cls, key: str, effect: Effect = "note", clusters: Clusters | None = None, **fields: object
    ) -> Finding:
        """Return the finding for a key of the table of codes."""
        worded = flag(key, **fields)
        return cls(worded.code, worded.message, effect, clusters)

    @property
    def flag(self) -> Flag:
        """Return the flag of the finding for a row."""
        return Flag(self.code, self.message)


def condition_names(codes: Iterable[str]) -> str:
    """Return the short names of those codes that are conditions of a verdict."""
    return ", ".join(dict.fromkeys(WORDS[code] for code in codes if code in WORDS))


def these_blocks(
    by_block: ByBlock | None, p_value: float | None, p_adjusted: float | None, alpha: float
) -> Iterator[Finding]:
    """Yield a finding if a verdict within these blocks may not hold for other blocks.

    `p_value` is that of the verdict, `p_adjusted` the same among other comparisons.
    """
    p = by_block.p_over_blocks() if by_block else None
    if p is not None and p_value and p_adjusted is not None:
        p = min(1.0, p * p_adjusted / p_value)
    if p is None or p >= alpha:
        count = f"{len(by_block.differences)} blocks" if by_block else "these blocks"
        key = "these_blocks" if p is None else "these_blocks.tested"
        yield Finding.worded(key, "condition", blocks=count, p=p)
