"""Are profiles of the runs they are to explain: the same work, batch and device?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.sides import setups
from ttastats.traces import answers, changes


def notes(profiles: Sequence[pl.DataFrame], runs: Sequence[pl.DataFrame]) -> Iterator[Note]:
    """Yield of each side where its profiles and its runs do not belong together, if known."""
    for side, rows, own in zip("AB", profiles, runs, strict=True):
        differ = [*filter(None, (_work(rows, own), _batch(rows, own), _device(rows, own)))]
        if differ:
            yield note("profile_of_others", side=side, differ=differ)


def batch_size(runs: pl.DataFrame) -> float | None:
    """Return the samples of a step of runs, where all have as many."""
    found = runs["global_batch_size"].drop_nulls().unique()
    return float(found[0]) if found.len() == 1 else None


def _work(rows: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Compare names of workloads: those that the trainer has, not scripts and traces."""
    recorded = rows.filter(
        (pl.col("origin") == "recorded") & ~pl.col("source").str.ends_with(".py")
    )
    profiled, ran = (set(column.drop_nulls()) for column in (recorded["source"], runs["benchmark"]))
    return f"the profile is of {_all(profiled)}, the runs of {_all(ran)}" if profiled - ran else ""


def _batch(rows: pl.DataFrame, runs: pl.DataFrame) -> str:
    profiled, ran = changes.samples_of_step(rows), batch_size(runs)
    if profiled is None or ran is None or profiled == ran:
        return ""
    return f"a step of the profile has {profiled:,.0f} samples, one of the runs {ran:,.0f}"


def _device(rows: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Compare models of devices (`A100`), and how many share a step."""
    profiled = set(answers.measures(rows, "device_name")["text"].drop_nulls())
    ran = set(runs["hardware"].drop_nulls())
    models = [_models(names) for names in (profiled, ran)]
    if all(models) and not any(one in other or other in one for one, other in product(*models)):
        return f"the profile is of {_all(profiled)}, the runs of {_all(ran)}"
    numbers = runs["accelerators"].drop_nulls().unique()
    workers = changes.workers(rows)
    if numbers.len() == 1 and numbers[0] != workers:
        processes = units.plural(workers, "process", "processes")
        used = units.plural(numbers[0], "accelerator")
        return f"the profile is of {processes}, the runs used {used}"
    return ""


def _models(names: set[str]) -> set[str]:
    """Return the words that tell a model: those with a digit, three letters or more long."""
    return {
        word
        for name in names
        for word in setups.words(name)
        if len(word) > 2 and re.search(r"[a-z]", word) and re.search(r"[0-9]", word)
    }


def _all(names: set[str]) -> str:
    return units.listed(sorted(names)) or "another kind"
