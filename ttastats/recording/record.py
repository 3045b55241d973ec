"""How does a training loop record its own run, or a framework that calls back?

Only the standard library is imported: 40 ms to load, and 15 µs for a line, on a slow core.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

from ttastats.base import __version__, arguments, metrics
from ttastats.base.atomic import checked_folder_name, safe_file_name
from ttastats.base.errors import TtastatsError, raise_if, warn
from ttastats.base.metrics import Target
from ttastats.recording import run_log
from ttastats.recording.run_ends import UNFINISHED, EndWatch, Open, is_orderly, reason_of
from ttastats.recording.run_log import Clock, ResultFolder, RunLog, SilentLog, Stamp

#: Keys that mean something to the reader of a log, so that no setting can have them.
TAKEN = frozenset(
    {
        "run_start", "run_stop", "run_final", "init_start", "init_stop", "train_loop",
        "eval_accuracy", "eval_error", "eval_iteration_accuracy", "eval_result", "eval_target",
        "eval_start", "eval_stop", "epoch_start", "epoch_stop", "block_start", "block_stop",
        "train_epoch", "run_clear_caches", "cache_clear", "submission_benchmark",
        "submission_division", "submission_org", "submission_platform", "tracked_stats",
        "train_loss", "save_model", "checkpoint", "seeds", "init_seconds", run_log.RECORDER,
        "workload_source", "workload_import", "clocks", run_log.RESUMED,
    }
)  # fmt: skip
_NAMES = ("benchmark", "metric", "system", "org", "hardware", "framework")


@arguments.checked(
    {
        "logs": arguments.path, "target": arguments.a_goal, "seed": arguments.whole(-(2**63)),
        **dict.fromkeys(_NAMES, arguments.text("'digits'")),
        **dict.fromkeys(("accelerators", "nodes"), arguments.whole(0)),
        **dict.fromkeys(("higher_is_better", "enabled"), arguments.truth),
    }
)  # fmt: skip
def record(
    logs: str | PathLike[str],
    *,
    benchmark: str,
    metric: str,
    target: float | str,
    higher_is_better: bool | None = None,
    seed: int | None = None,
    system: str | None = None,
    org: str = "local",
    accelerators: int | None = None,
    nodes: int | None = None,
    hardware: str | None = None,
    framework: str | None = None,
    enabled: bool = True,
    **settings: Any,
) -> Recording:
    """Record a run of your own training loop: `with record(...) as run`.

    The time runs from the beginning of the block to the evaluation that meets the target. Nothing
    is printed, and write errors do not stop a running training.

    Parameters
    ----------
    logs
        Folder for logs; the log of the run is `ORG/results/SYSTEM/BENCHMARK/result_N.txt`.
    benchmark
        Name of the task; only runs of the same benchmark are compared.
    metric, target, higher_is_better
        The quality metric and its target. The direction is that of the target (`">=0.94"`,
        `"<=3.28"`), else `higher_is_better`, else derived from the name of the metric: lower is
        better for a loss, an error or a perplexity, higher for anything else.
    seed, org
        The seed of the run, and the name of the folder of whoever runs it.
    system
        Shared by repeated runs, such as the hardware and the setup; by default the name of this
        computer.
    accelerators, nodes, hardware, framework
        Written to the description of the system, `ORG/systems/SYSTEM.json`.
    enabled
        Set to False in all but one process of a distributed run: `evaluation` then works without
        writing.
    settings
        Any other settings to record, such as `global_batch_size=512, lr=0.1`.

    Raises
    ------
    TtastatsError
        The target is invalid, a name cannot be a folder name, or the folder is not writable.
    """
    value, direction = metrics.parse_goal(metric, target, higher_is_better)
    if direction is None:
        direction = metrics.higher_is_better(metric) is not False
    goal = Target(metric, direction, value, 1, "user")
    taken = sorted(TAKEN & settings.keys())
    reserved = f"{', '.join(taken)} is a reserved name in a log"
    raise_if(taken, reserved, "record", "Rename the setting.")
    computer = safe_file_name(platform.node())
    place = ResultFolder(
        Path(logs),
        checked_folder_name(org, "org"),
        computer if system is None else checked_folder_name(system, "system"),
        safe_file_name(benchmark),
    )
    uneven = f"{accelerators} accelerators cannot be divided evenly over {nodes} nodes"
    remedy = "Give the total number of accelerators, or omit `nodes`."
    raise_if((accelerators or 0) % (nodes or 1), uneven, "accelerators", remedy)
    described = {
        "submitter": org,
        "division": "open",
        "number_of_nodes": nodes or (1 if accelerators else None),
        "accelerators_per_node": accelerators and accelerators // (nodes or 1),
        "accelerator_model_name": hardware,
        "framework": framework,
    }
    settings = {"seed": seed, **settings}
    return Recording(place, benchmark, goal, described, settings, enabled=enabled)


class Recording:
    """A run being recorded, from `start` to `finish`; a `with` block calls both.

    Attributes
    ----------
    path
        Path of the log; None if this process does not write.
    reached
        Whether an evaluation has met the target.
    """

    def __init__(
        self,
        place: ResultFolder,
        benchmark: str,
        target: Target,
        described: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        enabled: bool,
    ) -> None:
        self.path: Path | None = None
        self.reached: bool = False
        self._place, self._benchmark, self._target = place, benchmark, target
        self._described = {key: value for key, value in described.items() if value is not None}
        self._settings, self._enabled = settings, enabled
        self._log: RunLog = SilentLog()
        self._open: Open | None = None
        self._heard: Stamp | None = None
        self._over = True

    def start(self) -> Recording:
        """Open the log, write the settings, and start the clock."""
        remedy = "Call `finish` first; a `with` block calls `start` itself."
        where = str(self.path or "record")
        raise_if(not self._over, "the recording is already running", where, remedy)
        self._over = self.reached = False
        if not self._enabled:
            return self
        run_log.write_description(self._place, self._described)
        self.path, stream = run_log.create_log(self._place)
        self._log = log = RunLog(self.path, stream, Clock())
        log.point(run_log.RECORDER, f"ttastats {__version__}")
        log.point("submission_benchmark", self._benchmark)
        log.point("submission_org", self._place.org)
        log.point("submission_platform", self._place.system)
        for key, value in self._settings.items():
            log.point(key, value)
        target = self._target
        higher = target.higher_is_better
        log.point("eval_target", target.value, metric=target.metric, higher_is_better=higher)
        log.begin("run_start")
        self._open, self._heard = Open(self.finish), log.now()
        return self

    def hear(self, at: Stamp | None = None) -> None:
        """Note that the training goes on: a run that breaks off unseen ends at the last note."""
        if self._open is not None:
            self._open.hear()
            self._heard = at or self._log.now()

    def resume_at(self, progress: float) -> None:
        """Record that the run goes on with a training after so many epochs, or steps."""
        with self._writing() as log:
            log.point(run_log.RESUMED, progress)

    def evaluation(
        self,
        value: Any,
        *,
        epoch: float | None = None,
        step: int | None = None,
        samples: int | None = None,
        **more: Any,
    ) -> bool:
        """Record an evaluation while the recording runs; return whether it meets the target.

        Parameters
        ----------
        value
            The quality: a number, or anything that `float` accepts, such as a scalar tensor.
        epoch, step, samples
            Progress so far: epochs (may be fractional), steps, samples.
        more
            Other metrics of the same checkpoint, by name.
        """
        remedy = "Call `evaluation` inside the `with` block, or between start and finish."
        where = str(self.path or "record")
        raise_if(self._over, "the recording is not running", where, remedy)
        if self._enabled and self._log.inherited:
            text = "not recorded: this process was forked from the one that records the run"
            warn(text, RuntimeWarning)
        number = float(value)  # which waits for the device
        labels = {"samples_count": samples, "step_num": step, "epoch_num": epoch}
        about = {key: label for key, label in labels.items() if label is not None}
        scores = {self._target.metric: number} | {name: float(more[name]) for name in more}
        with self._writing() as log:
            moment = log.now()
            self.hear(moment)
            for metric, score in scores.items():
                log.point("eval_accuracy", score, at=moment, metric=metric, **about)
        met = self._target.is_met_by(number)
        self.reached = self.reached or met
        return met

    def finish(self, reason: str | None = None) -> None:
        """Record how the run ended, and close the log.

        `reason` is the cause of an early end. The run counts as failed, censored here, unless the
        reason is an interruption: `KeyboardInterrupt`, `SIGINT` or `SIGTERM`.
        """
        if self._over:
            return
        self._over = True
        if self._open is not None:
            EndWatch.remove(self._open)
            self._open = None
        status = "success" if self.reached and reason is None else "aborted"
        about: dict[str, Any] = {} if reason is None else {"reason": reason}
        with self._writing() as log:
            at = self._heard if reason == UNFINISHED else None
            log.end("run_stop", at=at, status=status, **about)
        self._log.close()
        self._log = SilentLog()

    @contextmanager
    def _writing(self) -> Iterator[RunLog]:
        """Yield the log; an OSError becomes a warning, so that the training goes on."""
        try:
            yield self._log
        except TtastatsError as error:
            self._log.close()
            self._log = SilentLog()
            text = f"{error}\n  Nothing more is recorded; the run is read as one that failed here."
            warn(text, RuntimeWarning)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or (self.reached and is_orderly(error)):
            self.finish()
        else:
            self.finish(reason_of(error))


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

    #: The run that was begun last in this process.
    _running: ClassVar[list[Recording]] = []

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

    def begin(self, *, after: float | None = 0, enabled: bool = True, **known: Any) -> None:
        """Start the recording and its clock; `after` are epochs, or steps, trained before.

        A training that is still open in this process was broken off by an exception.
        """
        for run in [*self._running]:
            run.finish(UNFINISHED)
        self._logged = set()
        self._run = record(self._logs, **{**known, "enabled": enabled, **self._settings}).start()
        self._running[:] = [self._run]
        if after:
            self.resume_at(after)

    def resume_at(self, progress: float) -> None:
        """Record that the run goes on with a training."""
        if self._run is not None:
            self._run.resume_at(progress)

    def hear(self) -> None:
        """Note that the training goes on."""
        if self._run is not None:
            self._run.hear()

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
            warn(text, RuntimeWarning)
