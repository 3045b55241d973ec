"""How does a run look as a DAWNBench entry? A table and a description of one name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ttastats.errors import TtastatsError
from ttastats.trainer.result_files import Place, explained, number_of
from ttastats.trainer.settings import Settings
from ttastats.trainer.whole_file import write_whole
from ttastats.trainer.workloads.contract import Recipe

if TYPE_CHECKING:
    from ttastats.trainer.outcome import Epoch, Outcome


def check(recipe: Recipe) -> None:
    """Refuse a workload whose quality is not an accuracy: the format knows no other.

    Raises
    ------
    TtastatsError
        The metric is another.
    """
    if recipe.metric != "accuracy":
        raise TtastatsError(
            f"DAWNBench tables hold accuracies, not {recipe.metric}",
            where="--dawnbench",
            remedy="Leave the option out; the log holds everything.",
        )


def write(place: Place, settings: Settings, log: Path, outcome: Outcome) -> Path:
    """Write the two files of a run, numbered as its log, and give the table's path."""
    number = number_of(log)
    name = f"{place.org}_{place.benchmark}_{place.system}_pytorch_run{number}"
    table = place.dawnbench / f"{name}.tsv"
    with explained(table):
        table.parent.mkdir(parents=True, exist_ok=True)
        write_whole(table.with_suffix(".json"), _description(place, settings, log))
        write_whole(table, "\n".join(["epoch\thours\ttop1Accuracy", *_rows(outcome.epochs)]) + "\n")
    return table


def _rows(epochs: tuple[Epoch, ...]) -> list[str]:
    """Give one row per epoch; eight decimals of an hour are 36 microseconds."""
    return [
        f"{epoch.number}\t{epoch.known_at_seconds / 3600:.8f}\t{100 * epoch.quality:.4f}"
        for epoch in epochs
    ]


def _description(place: Place, settings: Settings, log: Path) -> str:
    fields = {
        "version": "v1.0",
        "author": place.org,
        "authorEmail": "",
        "framework": f"PyTorch {torch.__version__}",
        "codeURL": "",
        "model": place.benchmark,
        "hardware": place.system,
        "costPerHour": None,
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%d"),
        "logFilename": log.name,
        "misc": settings.as_dict(),
    }
    return json.dumps(fields, indent=2) + "\n"
