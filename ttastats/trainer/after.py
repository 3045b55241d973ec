"""What did the runs just made show? The tables of `ttastats` on their own fresh logs."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ttastats import api, mllog
from ttastats.report.answer import Report
from ttastats.trainer.session import Made

#: Wall over CPU time from which on a run is called contended.
_CONTENDED = 1.1


def table_of(paths: Sequence[Path]) -> pl.DataFrame:
    """Give the tidy table of some logs, read as `ttastats ingest` reads them."""
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        file = Path(folder, "runs.parquet")
        api.ingest(list(paths), file)
        return api.read(file).collect()


def summary_of(made: Sequence[Made]) -> Report:
    """Give the summary of the runs made."""
    return api.summary(table_of([one.log for one in made]))


def remarks(made: Sequence[Made]) -> list[str]:
    """Give what no table says: whether others used the machine, communication, odd data."""
    return [
        *_contention(made),
        *_communication(made),
        *dict.fromkeys(note for one in made for note in one.outcome.notes),
    ]


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Give the sample standard deviation over the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / statistics.fmean(values)


def what_varied(made: Sequence[Made]) -> list[str]:
    """Compare epochs and CPU time per epoch over the runs that reached the target (Table 4)."""
    solved = [one.outcome for one in made if one.outcome.reached]
    epochs = coefficient_of_variation([float(len(one.epochs)) for one in solved])
    per_epoch = [one.run.cpu / len(one.epochs) for one in solved]
    cpu = coefficient_of_variation(per_epoch)
    wall = coefficient_of_variation([one.run.wall / len(one.epochs) for one in solved])
    if epochs is None or cpu is None or wall is None:
        return []
    total = sum(one.outcome.run.cpu for one in made)
    return [
        f"CV of epochs {epochs:.1%}; of time per epoch {cpu:.1%} (CPU), {wall:.1%} (wall). "
        f"CPU time {statistics.fmean(per_epoch):.3g} s per epoch, {total:.3g} s in all."
    ]


def _contention(made: Sequence[Made]) -> list[str]:
    """Say so where others used the machine. A GPU's host and several threads wait on purpose."""
    alone = [
        one.outcome.run
        for one in made
        if one.settings.device == "cpu" and one.settings.threads == one.settings.workers == 1
    ]
    cpu = sum(run.cpu for run in alone)
    wall = sum(run.wall for run in alone)
    if not cpu or wall <= _CONTENDED * cpu:
        return []
    return [
        f"warning: contended: {wall:.3g} s on the clock for {cpu:.3g} s of CPU time, so others "
        "used the machine; compare CPU times, or repeat the runs when it is idle."
    ]


def _communication(made: Sequence[Made]) -> list[str]:
    """Give the mean of the three measures over the runs of several workers."""
    shared = [one for one in made if one.settings.workers > 1]
    found = [fields for one in shared for fields in _logged(one, "communication")]
    if not found:
        return []

    def mean(name: str) -> float:
        return statistics.fmean(fields[name] for fields in found)

    return [
        f"communication per run: collective {mean('collective_seconds'):.3g} s "
        f"({mean('share'):.0%} of training), exposed {mean('exposed_seconds'):.3g} s, "
        f"all-reduce alone {mean('allreduce_seconds'):.3g} s."
    ]


def _logged(made: Made, key: str) -> list[dict[str, Any]]:
    events = mllog.events(made.log.read_text("utf-8", "replace"))
    return [event["value"] for event in events if event.get("key") == key]
