"""Stable-Baselines3's `evaluations.npz`: the returns of some episodes at each evaluation.

The value is their mean. Progress is counted in steps of the environment; there is no clock.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers import sb3_monitor
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

name = "evaluations-npz"

#: Means over episodes, by array and by the name that Stable-Baselines3 logs them under.
_METRICS = {
    "results": "eval/mean_reward",
    "successes": "eval/success_rate",
    "ep_lengths": "eval/mean_ep_length",
}
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, TypeError,
    NotImplementedError, RuntimeError, MemoryError, OverflowError, SyntaxError,
)  # fmt: skip


def recognises(head: bytes, path: str) -> bool:
    """Return whether `timesteps` is the first array, or the file has the name."""
    if head and not head.startswith(b"PK"):
        return False
    return path.endswith(f"/{sb3_monitor.EVALUATIONS}") or (
        b"timesteps.npy" in head[:4096] and b"results.npy" in head
    )


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run."""
    if sb3_monitor.progress_tells(b"eval/mean_reward", log):  # with times
        return
    try:
        arrays = _load_arrays(log.read())
    except _UNREADABLE as error:
        yield Problem("unreadable_file", f"its arrays cannot be read: {error}", "error")
        return
    steps, results = arrays.get("timesteps"), arrays.get("results")
    if steps is None or results is None or steps.ndim != 1 or not len(steps) <= len(results):
        yield Problem("unreadable_file", "no `timesteps` with as many `results`", "error")
        return
    measured = []
    for key, metric in _METRICS.items():
        values = arrays.get(key)
        if values is None or not values.size or (key == "ep_lengths" and log.metrics != "all"):
            continue
        means = values.reshape(len(values), -1).mean(axis=1).tolist()
        measured += [
            Measured(metric, as_float(mean), int(step))
            for step, mean in zip(steps.tolist(), means, strict=False)
            if as_float(step) is not None
        ]
    evaluations, problems = evaluations_of(measured, log)
    episodes = results.shape[1] if results.ndim > 1 else 1
    environment, monitored = _from_monitors(log)
    yield Run(
        benchmark=environment,
        framework="stable-baselines3",
        evaluations=evaluations,
        problems=problems if evaluations else (Problem("no_evaluation", "it has no evaluation"),),
        extra={"episodes_per_evaluation": episodes, **monitored},
    )


def _load_arrays(content: bytes) -> dict[str, NDArray[np.float64]]:
    """Return the numeric arrays of the file; object arrays are refused, as they could run code."""
    import numpy as np  # only these files need it

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(info.file_size for info in archive.infolist())
        streams.expect_size(size, streams.whole_file_limit(), "its arrays are ")
        names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
    arrays = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        for key in ("timesteps", *_METRICS):
            if key in names and (array := stored[key]).ndim:
                # They become objects of Python.
                streams.expect_size(8 * array.size, streams.document_limit(), "its arrays are ")
                arrays[key] = np.asarray(array, np.float64)
    return arrays


def _from_monitors(log: Log) -> tuple[str | None, dict[str, Any]]:
    """Return the environment in the monitors beside the file, and their settings."""
    names = [file for file in log.listing(log.folder) if file.endswith("monitor.csv")]
    monitors = [sb3_monitor.read(log.companion(log.folder / file) or b"") for file in names]
    if not monitors:
        return None, {}
    start = min(monitor.begun for monitor in monitors)
    ends = [episode.ended - start for monitor in monitors for episode in monitor.episodes]
    environment = next((monitor.environment for monitor in monitors if monitor.environment), None)
    return environment, {
        "environments": len(monitors),
        "training_episodes": len(ends),
        "training_seconds": round(max(ends), 6) if ends else 0.0,
    }
