"""How is a loop recorded that calls back? It begins, names its metrics, and ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from ttastats.recording.record import Recording, record


class Following:
    """A callback that records the evaluations chosen by name from what a framework tells.

    Parameters
    ----------
    logs, settings
        What `record` takes; what the framework knows of itself comes behind the settings.
    stop_at_target
        End the training when the target is met.
    also
        Other metrics of the same evaluations, recorded as far as they are told.
    """

    def __init__(
        self,
        logs: str | PathLike[str],
        *,
        stop_at_target: bool = False,
        also: Iterable[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__()
        self._logs = logs
        self._stop = stop_at_target
        self._settings = settings
        self._also = tuple(also)
        self._run: Recording | None = None
        self._logged: set[str] = set()
        record(logs, **self._settings)  # says before the training what is wrong; writes nothing

    def begin(self, *, enabled: bool = True, **known: Any) -> None:
        """Start the recording and its clock."""
        self._logged = set()
        self._run = record(self._logs, **{**known, "enabled": enabled, **self._settings}).start()

    def record_evaluation(self, metrics: Mapping[str, Any], **progress: Any) -> bool:
        """Record the metrics of an evaluation; return whether the target is met.

        Evaluations without the metric, and those before or after the training, are passed over.
        """
        if self._run is None:
            return False
        self._logged |= metrics.keys()
        metric = self._settings["metric"]
        if metric not in metrics:
            return False
        more = {name: metrics[name] for name in self._also if name in metrics}
        return self._run.evaluation(metrics[metric], **progress, **more)

    def end(self, reason: str | None = None) -> None:
        """Record the end of the run and close the log."""
        if self._run is None:
            return
        self._run.finish(reason)
        self._run = None
        if self._settings["metric"] not in self._logged and reason is None:
            logged = ", ".join(sorted(self._logged)) or "no metric"
            text = f"no evaluation logged {self._settings['metric']!r}; logged: {logged}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
