"""How is one run trained, evaluated and logged, until its end or until it is asked to stop?"""

from __future__ import annotations

import itertools
import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from msgspec.structs import replace

from ttastats.base.errors import TtastatsError
from ttastats.recording.run_ends import reason_of
from ttastats.recording.run_log import Clock, RunLog, Seconds
from ttastats.trainer import events, network
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.network import Network
from ttastats.trainer.parallel import Team, is_lost_worker
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads import load_workload
from ttastats.trainer.workloads.contract import END, Data

#: The part of a step's samples that this worker trains on, and how many all have.
Batch = tuple[Any, Any, int]

#: Before a run has trained.
_BEGINNING = Checkpoint(0, 0, 0, math.nan, math.nan, Seconds(0.0, 0.0), 0.0, Seconds(0.0, 0.0))


def train_run(
    settings: Settings,
    team: Team,
    log: RunLog,
    clock: Clock,
    stop: StopRequest,
    on_checkpoint: Callable[[Checkpoint], None],
) -> Outcome:
    """Train until the target is reached or the epochs are used up; log every event."""
    checkpoints, reached, odd = [_BEGINNING], False, False

    def log_end(status: str, reason: str) -> None:
        how = {"status": status, "reason": reason, **checkpoints[-1].progress}
        log.end("run_stop", at=clock.stop(), **how)

    try:
        net = _warmed_up(settings, team, log, stop)
        recipe = net.workload.recipe
        waited = _waiting_seconds()
        log.begin("run_start", at=clock.start())
        whole = _read_data(net, log)
        data = replace(whole, test=None)  # which no run may look at
        if net.workload.model.takes("data"):
            net = network.build_network(settings, team, data)
        for checkpoint in _train_and_evaluate(net, data, log, clock, stop):
            checkpoints.append(checkpoint)
            on_checkpoint(checkpoint)
            if team.is_leader and not odd:
                odd = _warn_of_nan(net, checkpoint)
            met = recipe.target(settings.target).is_met_by(checkpoint.quality)
            if reached := team.broadcast_decision(met):
                break
        log_end(*(("success", "target") if reached else ("aborted", "epochs")))
        if team.is_leader and whole.test is not None:
            inputs, targets = (tensor.to(team.device) for tensor in whole.test)
            tested = replace(data, eval_inputs=inputs, eval_targets=targets)
            metric, quality = f"test_{recipe.metric}", net.evaluate_quality(tested)
            log.point("eval_accuracy", quality, metric=metric, **checkpoints[-1].progress)
        dataset = whole.digest() if team.is_leader else ""
        outcome = Outcome(reached, tuple(checkpoints[1:]), clock.counted(), dataset, whole.notes)
        waited = math.nan if waited is None else (_waiting_seconds() or waited) - waited
        cpu, waiting = team.sum_over_workers(outcome.run.cpu, waited)
    except BaseException as error:
        if not isinstance(error, Interrupted) and not is_lost_worker(error):
            team.report_failure(error)
            _begin_failed(error, log, clock)
        if clock.started is not None and clock.stopped is None:
            log_end("aborted", _end_reason(error, team))
        raise
    events.log_totals(log, outcome, team.device, cpu, waiting)
    return outcome


def _begin_failed(error: BaseException, log: RunLog, clock: Clock) -> None:
    """Let a run that failed in its warm-up begin: it counts as failed, and is not made again."""
    if clock.started is None and isinstance(error, Exception):
        log.begin("run_start", at=clock.start())


def _waiting_seconds() -> float | None:
    """Return how long threads of this process waited for a CPU core; None if unknown."""
    try:
        threads = Path("/proc/self/task").glob("*/schedstat")
        waited = [int(path.read_text().split()[1]) for path in threads]
    except (OSError, ValueError, IndexError):
        return None  # a thread has just ended, or this system tells something else
    return sum(waited) / 1e9 if waited else None


class Oddity(UserWarning):
    """A warning of an unlikely but valid choice in a run."""


def _warn_of_nan(net: Network, checkpoint: Checkpoint) -> bool:
    """Warn of a loss or a quality that is no finite number; return whether there is one."""
    metric = net.workload.recipe.metric
    loss = checkpoint.train_loss if net.has_loss else 0.0
    values = {"the loss": loss, metric: checkpoint.quality}
    wrong = [f"{name} is {value}" for name, value in values.items() if not math.isfinite(value)]
    if wrong:
        text = f"seed {net.settings.seed}: {' and '.join(wrong)} from epoch {checkpoint.epoch:g} on"
        warnings.warn(text, Oddity, stacklevel=2)
    return bool(wrong)


def _warmed_up(settings: Settings, team: Team, log: RunLog, stop: StopRequest) -> Network:
    """Return the network before its first step; another like it has been warmed up."""
    log.begin("init_start")
    workload, data = load_workload(settings.workload), None
    events.log_settings(log, settings, workload.recipe)
    if workload.dummy is None or workload.model.takes("data"):  # shapes or weights depend on them
        data = replace(network.load_data(settings, team), test=None)
    net = network.build_network(settings, team, data)
    samples = len(data.train_targets) if data else settings.train_samples
    events.log_setup(log, net, min(settings.batch_size, samples))
    network.warm_up(net, data)
    net = network.build_network(settings, team, data)
    stop.raise_if_stopped()
    if team.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(team.device)
    team.wait_for_all()
    log.end("init_stop")
    return net


def _end_reason(error: BaseException, team: Team) -> str:
    """Return the reason of a broken run: a stop by the user, a lost worker, or an exception."""
    if text := team.failure_text():
        return text.partition("\n")[0]
    if isinstance(error, Interrupted):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "SIGINT"
    return "worker_lost" if is_lost_worker(error) else reason_of(error)


def _read_data(net: Network, log: RunLog) -> Data:
    """Return the data of a run; log their numbers of samples."""
    whole = network.load_data(net.settings, net.team)
    log.point("train_samples", len(whole.train_targets))
    log.point("eval_samples", len(whole.eval_targets))
    for note in whole.notes:
        log.point("data_note", note)
    return whole


def _train_and_evaluate(
    net: Network, data: Data, log: RunLog, clock: Clock, stop: StopRequest
) -> Iterator[Checkpoint]:
    """Yield a checkpoint after each stretch of training, until the epochs are used up."""
    settings, team, before = net.settings, net.team, _BEGINNING
    batches = _all_batches(net, data)
    # A seed of its own for each worker, far from those of the order of samples.
    worker_seed = settings.seed * team.size + team.rank + 2**32
    augmentation = torch.Generator(team.device).manual_seed(worker_seed)
    per_epoch = network.steps_per_epoch(len(data.train_targets), settings)
    last, interval = math.ceil(settings.epochs * per_epoch), settings.evaluate_every
    for number in itertools.count(1):
        planned = last if interval == END else math.ceil(number * interval * per_epoch)
        step = min(last, max(before.step + 1, planned))
        began, epoch = clock.stamp(), before.step // per_epoch + 1
        log.begin("block_start", at=began, first_epoch_num=epoch, epoch_count=1)
        log.begin("epoch_start", at=began, epoch_num=epoch)
        positions = range(before.step, step)
        loss, samples = _take_steps(net, positions, batches, augmentation, per_epoch, stop)
        trained = clock.stamp()
        training = trained.since(began)
        done = replace(before, epoch=step / per_epoch, step=step, samples=before.samples + samples)
        metadata = done.progress
        log.end("epoch_stop", at=trained, **metadata)
        stats = {
            "throughput": round(samples / training.wall, 3) if training.wall else None,
            "train_loss": loss,
            "lr": net.optimizers[0].param_groups[0]["lr"],
            "wall_seconds": round(training.wall, 6),
            "cpu_seconds": round(training.cpu, 6),
        }
        log.point("tracked_stats", stats, step=step, epoch_num=metadata["epoch_num"])
        evaluating = clock.stamp()
        log.begin("eval_start", at=evaluating, **metadata)
        quality = net.evaluate_quality(data) if team.is_leader else math.nan
        evaluated = clock.stamp()
        run_seconds = clock.counted(evaluated)
        cpu, cpu_trained = team.sum_over_workers(run_seconds.cpu, training.cpu)
        before = replace(
            done,
            quality=quality,
            train_loss=loss,
            trained=Seconds(before.trained.wall + training.wall, before.trained.cpu + cpu_trained),
            evaluated=before.evaluated + evaluated.since(evaluating).wall,
            known_at=Seconds(run_seconds.wall, cpu),
        )
        events.log_evaluation(log, net.workload.recipe.metric, before, evaluated)
        log.end("eval_stop", at=evaluated, **metadata)
        log.end("block_stop", at=evaluated, first_epoch_num=epoch)
        stop.raise_if_stopped()
        yield before
        if step == last:
            return


def _all_batches(net: Network, data: Data) -> Iterator[Batch]:
    """Yield the batches of one epoch after the other."""
    order = torch.Generator(net.team.device).manual_seed(net.settings.seed)
    per_epoch = network.steps_per_epoch(len(data.train_targets), net.settings)
    for epoch in itertools.count():
        count = 0
        for batch in net.batches(data, order, epoch):
            yield batch
            count += 1
        if not count:
            hook = net.workload.batches
            raise TtastatsError("returned no batch", where=hook.where if hook else None)
        if epoch == 0 and count != per_epoch:
            text = f"batches returns {count} per epoch; {per_epoch} (samples / batch_size) count as"
            warnings.warn(f"{text} one epoch", Oddity, stacklevel=2)


def _take_steps(
    net: Network,
    positions: range,
    batches: Iterator[Batch],
    rng: torch.Generator,
    per_epoch: int,
    stop: StopRequest,
) -> tuple[float, int]:
    """Take the steps of these numbers; return their mean loss and the number of samples."""
    total, samples = torch.zeros((), dtype=torch.float64, device=net.team.device), 0
    for step, (inputs, targets, count) in zip(positions, batches, strict=False):
        stop.raise_if_stopped()
        loss = net.train_step(inputs, targets, rng, (step + 0.5) / per_epoch, step)
        total += loss.double() * count
        samples += count
    return float(total) / max(1, samples), samples


class Interrupted(Exception):  # noqa: N818 - asked for, no error
    """The run was asked to stop, by the signal of this name."""


class StopRequest:
    """A flag that a signal handler sets: raising from it could tear a line of the log apart."""

    def __init__(self, *, alone: bool = True) -> None:
        self.reason: str | None = None
        self._alone = alone

    def raise_if_stopped(self) -> None:
        """Raise an error if the run was asked to stop."""
        if self.reason is not None:
            raise Interrupted(self.reason)

    def handle_signal(self, number: int, _frame: FrameType | None) -> None:
        """Record a stop signal; a second Ctrl-C ends the program, unless it is one of several."""
        if self._alone and self.reason is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number).name


@contextmanager
def stop_on_signals(*, obey: bool = True, alone: bool = True) -> Iterator[StopRequest]:
    """Yield a stop request set by Ctrl-C and SIGTERM; restore their handlers afterwards.

    `obey` is False for workers beside the one that logs, which stop when it does; `alone` is True
    for a single process.
    """
    request = StopRequest(alone=alone)
    if threading.current_thread() is not threading.main_thread():
        yield request  # Python lets no other thread handle signals
        return
    handler = request.handle_signal if obey else signal.SIG_IGN
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, old in before.items():
            signal.signal(number, old)
