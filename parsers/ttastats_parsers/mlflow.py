"""MLflow's file store: `mlruns/EXPERIMENT/RUN/meta.yaml` tells a run, a file each its metrics."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlflow_places import META, run_folder

name = "mlflow"


def recognises(head: bytes, path: str) -> bool:
    """Return whether a path is a description of a run or experiment, or below a run."""
    if path.endswith(f"/{META}"):
        return not head or b"lifecycle_stage:" in head[:8192]
    return run_folder(path) is not None


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import mlflow_reading  # only such files need it

    yield from mlflow_reading.parse(log)
