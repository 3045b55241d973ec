"""Where does the DAWNBench entry of a run of the trainer go, and what does it say?"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import torch
from msgspec.structs import asdict

from ttastats.base import atomic
from ttastats.recording import dawnbench
from ttastats.recording.result_files import ResultFolder, log_errors_named, log_number
from ttastats.trainer.events import Outcome
from ttastats.trainer.settings import Settings


def write_entry(place: ResultFolder, settings: Settings, log: Path, outcome: Outcome) -> Path:
    """Write the two DAWNBench files of a run; return the path of the table."""
    name = f"{place.org}_{place.benchmark}_{place.system}_pytorch_run{log_number(log)}"
    table = place.dawnbench / f"{name}.tsv"
    description = {
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
        "ttastats": {
            "benchmark": place.benchmark,
            "entry": f"{place.org}/{place.system}",
            "target": settings.target,
            "settings": asdict(settings),
        },
    }
    # DAWNBench counts all but validation: reading and preparing the data are on its clock.
    rows = (
        (
            checkpoint.epoch,
            round(checkpoint.known_at.wall - checkpoint.evaluated, 6),
            100 * checkpoint.quality,
        )
        for checkpoint in outcome.checkpoints
    )
    with log_errors_named(table):
        table.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(table.with_suffix(".json"), dawnbench.description_json(description))
        atomic.write_text(table, dawnbench.curve_table(["top1_accuracy"], rows))
    return table
