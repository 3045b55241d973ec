"""Within which sessions, machines or days are the runs of two sides compared?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

import polars as pl
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.outcomes import select, settings
from ttastats.sides.design import BLOCK, setup_names
from ttastats.sides.pairing import Blocks, Pair, Pairing
from ttastats.stats.blocks import ByBlock

OPTION = "--block"
#: Blocks that no column holds: the day of the start; runs in turn, by their starts.
DERIVED = ("day", "order")
_APART = " | "
#: Up to so many blocks the variation of a difference between blocks is uncertain.
FEW = 5


def block_labels(runs: pl.DataFrame, names: Sequence[str], option: str = OPTION) -> pl.Series:
    """Return each run's block as text: its `values`, null where one is unknown."""
    parts = [values(runs, name, option).cast(pl.String) for name in names]
    for name, part in zip(names, parts, strict=True):
        unknown = part.null_count() == part.len()
        remedy = "`ttastats runs FILE --format json` shows the columns of the runs."
        raise_if(unknown, f"no run records its {name}", f"{option} {name}", remedy)
    return _join_labels(parts)


def _join_labels(parts: Sequence[pl.Series]) -> pl.Series:
    return pl.select(pl.concat_str(parts, separator=_APART)).to_series()


def values(runs: pl.DataFrame, name: str, option: str) -> pl.Series:
    """Return each run's value of a column, its `day`, a recorded setting, or a condition."""
    if name == "day":
        return runs["started_at"].dt.date()
    full = select.full_name(
        name, [run_column for run_column in select.of_runs() if run_column in runs.columns]
    )
    if full is not None:
        column = runs[full]
        return column.replace("", None) if column.dtype == pl.String else column
    if any(sign in name for sign in "=<>"):
        numbered = runs.with_row_index("place")
        row_numbers = select.where(numbered.lazy(), [name]).collect()["place"]
        return numbered["place"].is_in(row_numbers.implode())
    recorded = settings.values(runs["extra"], name)
    if recorded is None:
        raise settings.unknown(name, [*select.of_runs(), *DERIVED], runs["extra"], option)
    return recorded


def in_turn(starts: pl.DataFrame) -> pl.Series:
    """Return block numbers by start time: a block ends once it has runs of both sides.

    What is left at the end belongs to the last.
    """
    order = starts.with_row_index("place").sort("started_at", "place")
    round_sides: set[str] = set()
    number, turns = 1, []
    for side in order["side"]:
        if len(round_sides) == 2:
            number, round_sides = number + 1, set()
        round_sides.add(side)
        turns.append(number)
    if len(round_sides) < 2:
        turns = [min(turn, number - 1) for turn in turns]
    turn = pl.when(pl.col("started_at").is_not_null()).then(pl.format("turn {}", "turn"))
    numbered = order.with_columns(turn=pl.Series(turns, dtype=pl.Int64)).sort("place")
    return numbered.select(turn).to_series()


def within(paired: Sequence[Pairing], names: Sequence[str]) -> list[Pairing]:
    """Return the pairs with only the runs of blocks that have both sides, numbered by block."""
    if not names:
        return list(paired)
    blocked = [
        replace(pairing, pairs=tuple(_restrict_pair(pair, names) for pair in pairing.pairs))
        for pairing in paired
    ]
    all_blocks = [
        pair.blocks for pairing in blocked for pair in pairing.pairs if pair.blocks is not None
    ]
    if not any(blocks.shared for blocks in all_blocks):
        one_sided = [_unpaired_block(block) for blocks in all_blocks for block in blocks.alone]
        details = units.join_names(one_sided, 6, "; ") or "no run records its block"
        raise TtastatsError(
            f"no block has runs of both sides: {details}",
            where=f"{OPTION} {','.join(names)}",
            remedy="Alternate A and B within each session. Without --block, a difference "
            "between sessions can look like a difference between setups.",
        )
    return [
        replace(pairing, remarks=(*pairing.remarks, *_block_notes(pairing, " and ".join(names))))
        for pairing in blocked
    ]


def _restrict_pair(pair: Pair, names: Sequence[str]) -> Pair:
    """Return a pair with only the runs of blocks that have both sides, numbered by block."""
    if pair.unavailable is not None:
        return pair
    all_runs = pl.concat(
        [runs.with_columns(side=pl.lit(side)) for side, runs in (("a", pair.a), ("b", pair.b))],
        how="diagonal_relaxed",  # one side may tell more of its clocks
    )
    label_names = [name for name in names if name != "order"]
    parts = [block_labels(all_runs, label_names)] if label_names else []
    if "order" in names:
        parts.append(in_turn(all_runs))
    label = _join_labels(parts).alias("label")
    # A turn, or a number: 8 comes before 16.
    number = pl.col("label").str.strip_prefix("turn ").cast(pl.Float64, strict=False)
    counts = (
        pl.DataFrame([label, all_runs["side"]])
        .group_by("label")
        .agg(a=(pl.col("side") == "a").sum(), b=(pl.col("side") == "b").sum())
        .sort(number, "label", nulls_last=True)
    )
    block_counts, in_both = counts.drop_nulls("label"), (pl.col("a") > 0) & (pl.col("b") > 0)
    shared = block_counts.filter(in_both)
    blocks = Blocks(
        tuple(shared.iter_rows()),
        tuple(block_counts.filter(~in_both).iter_rows()),
        next(counts.filter(pl.col("label").is_null()).select("a", "b").iter_rows(), (0, 0)),
    )
    numbered = all_runs.with_columns(label).join(
        shared.select("label").with_row_index(BLOCK), on="label", how="inner", maintain_order="left"
    )
    a, b = (numbered.filter(side=side).drop("side", "label") for side in "ab")
    if shared.is_empty():
        return replace(pair, unavailable="no block has runs of both sides", blocks=blocks)
    setups = numbered.with_columns(setup=setup_names(numbered)).group_by("side", BLOCK)
    sizes = setups.agg(pl.col("setup").n_unique(), n=pl.len())
    # Runs of one side and block that are of several setups are not independent.
    if ((sizes["setup"] > 1) & (sizes["setup"] < sizes["n"])).any():
        reason = "a block holds several setups of a side"
        return replace(pair, unavailable=reason, blocks=blocks)
    return replace(pair, a=a, b=b, blocks=blocks)


def _unpaired_block(block: tuple[str, int, int]) -> str:
    name, a, b = block
    return f"{name} ({units.plural(a or b, 'run')} of {'A' if a else 'B'})"


def _block_notes(paired: Pairing, by: str) -> Iterator[Note]:
    """Yield notes on the blocks of each pair: how many, of one side alone, of none known."""
    for pair in paired.pairs:
        blocks = pair.blocks
        if blocks is None:
            continue
        group = " ".join(
            str(value)
            for name, value in pair.keys.items()
            if any(other.keys[name] != value for other in paired.pairs)
        )
        shared = blocks.shared
        if pair.unavailable is None and len(shared) == 1:
            name, a, b = shared[0]
            yield note("blocks.one", by=by, name=name, a=a, b=b).prefixed(group)
        elif pair.unavailable is None:
            counts = [f"{name} {a}+{b}" for name, a, b in shared]
            caution = wording("blocks.few", n=len(shared)) if len(shared) <= FEW else ""
            yield note("blocks", n=len(shared), by=by, counts=counts, few=caution).prefixed(group)
        if blocks.alone:
            names = units.join_names([*map(_unpaired_block, blocks.alone)], between="; ")
            yield note("blocks_alone", names=names).prefixed(group)
        if any(blocks.unknown):
            a, b = blocks.unknown
            yield note("blocks_unknown", a=a, b=b, by=by).prefixed(group)


def block_keys(pair: Pair, by_block: ByBlock | None, *, ratios: bool = False) -> dict[str, Any]:
    """Return the keys of the blocks of a difference, if any; of logs, B - A, as `ratios` A / B."""
    if pair.blocks is None:
        return {}
    gaps = {} if by_block is None else by_block.differences
    name = "speedup" if ratios else "difference"
    effects = {block: exp(-gap) if ratios else gap for block, gap in gaps.items()}
    return {
        "blocks": [
            {"block": block, "n_a": a, "n_b": b, name: effects.get(number)}
            for number, (block, a, b) in enumerate(pair.blocks.shared)
        ],
        "blocks_alone": [block for block, _, _ in pair.blocks.alone],
        "p_blocks_differ": None if by_block is None else by_block.p_value,
    }
