"""Which columns beside the metrics hold numbers of training, and what do they tell of each row?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ttastats.base.metric_names import higher_is_better
from ttastats.base.records import Evaluation
from ttastats.formats.own_logs.block import Block
from ttastats_parsers.own_choice import ChosenColumns
from ttastats_parsers.own_numbers import numbers, whole
from ttastats_parsers.own_rows import Rows


def training_of(
    part: pl.DataFrame, rows: Rows, chosen: ChosenColumns, block: Block
) -> Iterator[Evaluation]:
    """Yield the numbers of a run's rows that are neither metrics, nor time, nor progress.

    They evaluate nothing, so their numbers are below 0, and the last row is -1.
    """
    names = _columns(rows, chosen, block)
    if not names:
        return
    logged = rows.frame.select(names)[part["row"]]
    own = pl.DataFrame([numbers(column) for column in logged.get_columns()])
    told = part.select("line", "seconds", "epoch", "step", "samples").hstack(
        [column.alias(f"own {number}") for number, column in enumerate(own.get_columns())]
    )
    known = told.filter(own.select(pl.any_horizontal(pl.all().is_finite())).to_series())
    for number, (line, seconds, epoch, step, samples, *values) in enumerate(
        known.iter_rows(), start=-known.height
    ):
        for name, value in zip(names, values, strict=True):
            if value is not None and abs(value) < float("inf"):
                yield Evaluation(
                    index=number,
                    metric=name,
                    value=value,
                    logged_value=value,
                    seconds=seconds,
                    higher_is_better=higher_is_better(name),
                    epoch=epoch,
                    step=whole(step),
                    samples=whole(samples),
                    line=line,
                )


def _columns(rows: Rows, chosen: ChosenColumns, block: Block) -> Sequence[str]:
    taken = {metric.name for metric in chosen.metrics} | set(block.run)
    taken |= {
        count.column for count in (chosen.step, chosen.epoch, chosen.samples) if count is not None
    }
    if chosen.clock is not None:
        taken |= {chosen.clock.column, chosen.clock.per or chosen.clock.column}
    fields = set(block.fields.values())
    return [
        name
        for name in rows.frame.columns
        if name not in taken | fields and numbers(rows.frame[name]).is_finite().any()
    ]
