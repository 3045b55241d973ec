"""Which faults has a comparison, with which effects on its verdict, and in which words?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ttastats.base.codes import CONDITIONS, wording
from ttastats.stats.blocks import ByBlock
from ttastats.stats.decision import MARKS
from ttastats.stats.results import Flag, FlagCode

#: What numbers the session or the seed of each run of A and of B.
Clusters = tuple[NDArray[np.intp], NDArray[np.intp]]

Effect = Literal["undecided", "allowance", "condition", "note"]

#: The finding to show in red.
POOLED: FlagCode = "pooled_setups"


def flag(key: str, **fields: object) -> Flag:
    """Return the flag for a key of the table of codes."""
    return Flag(cast("FlagCode", key.partition(".")[0]), wording(key, **fields))


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a comparison by its design: a code, and a message for a note.

    `effect`: no claim can be made (`undecided`), the interval that decides is wider by it
    (`allowance`), a claim carries the finding behind its word (`condition`), or is made as it is
    (`note`). Codes of all but the last have a text in `CONDITIONS`.
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


def condition_list(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the short names of the conditions of a verdict, each once."""
    return tuple(dict.fromkeys(CONDITIONS[code] for code in codes if code in CONDITIONS))


def condition_names(codes: Iterable[str]) -> str:
    """Return the short names of the conditions of a verdict, in one text."""
    return ", ".join(condition_list(codes))


#: What has to be true for a claim with a mark.
_IFS: dict[str, str] = {
    "constant_epochs": "the number of epochs is constant (†)",
    "no_stragglers": "no further run fails or straggles (‡)",
}


def condition_text(codes: Sequence[str], join: str = " and ") -> str:
    """Return the conditions of a claim: `if the number of epochs is constant (†)`."""
    words = {code: CONDITIONS[code] for code in codes if code in CONDITIONS}
    ifs = [_IFS[code] for code in _IFS if code in codes]
    ifs += [text.removeprefix("if ") for text in words.values() if text.startswith("if ")]
    names = ", ".join(text for text in words.values() if not text.startswith("if "))
    text = f"if {join.join(ifs)}" if ifs else "with a condition"
    return f"{text} ({names})" if names else text


def marks(codes: Sequence[str]) -> str:
    """Return the marks of conditions; those without one of their own share a star."""
    mark_of_code = {str(code): mark for code, mark in MARKS.items()}
    return "".join(dict.fromkeys(mark_of_code.get(code, "*") for code in codes))


def adjusted_alike(
    p: float | None, p_value: float | None, p_adjusted: float | None
) -> float | None:
    """Return another p of a contrast, adjusted by the factor of its p value."""
    if p is None or not p_value or p_adjusted is None:
        return p
    return min(1.0, p * p_adjusted / p_value)


def these_blocks(
    by_block: ByBlock | None, p_value: float | None, p_adjusted: float | None, alpha: float
) -> Iterator[Finding]:
    """Yield a finding if a verdict within these blocks may not hold for other blocks.

    `p_value` is that of the verdict, `p_adjusted` the same among other comparisons.
    """
    p = adjusted_alike(by_block.p_over_blocks() if by_block else None, p_value, p_adjusted)
    if p is None or p >= alpha:
        count = f"{len(by_block.differences)} blocks" if by_block else "these blocks"
        key = "these_blocks" if p is None else "these_blocks.tested"
        yield Finding.worded(key, "condition", blocks=count, p=p)
