"""How is one run trained, evaluated and logged, until its end or until it is asked to stop?"""

from __future__ import annotations

import itertools
import math
import signal
import threading
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
    run = None
    try:
        net = _build_and_warm_up(settings, team, log, stop)
        run = _Run(net, log, clock, stop, on_checkpoint)
        waited = _waiting_seconds()
        log.begin("run_start", at=clock.start())
        outcome = run.train_and_log()
        waited = None if waited is None else (_waiting_seconds() or waited) - waited
        cpu, waiting = team.sum_over_workers(
            outcome.run.cpu, math.nan if waited is None else waited
        )
    except BaseException as error:
        if not isinstance(error, Interrupted) and not is_lost_worker(error):
            team.report_failure(error)
        if run is not None and clock.started is not None and clock.stopped is None:
            run.log_end("aborted", _end_reason(error, team))
        raise
    events.log_totals(log, outcome, team.device, cpu, waiting)
    return outcome


def _waiting_seconds() -> float | None:
    """Return how long threads of this process waited for a CPU core; None if unknown."""
    try:
        threads = Path("/proc/self/task").glob("*/schedstat")
        waited = [int(path.read_text().split()[1]) for path in threads]
    except (OSError, ValueError, IndexError):
        return None  # a thread has just ended, or this system tells something else
    return sum(waited) / 1e9 if waited else None


def _build_and_warm_up(settings: Settings, team: Team, log: RunLog, stop: StopRequest) -> Network:
    """Return the network, built and warmed up before the clock starts."""
    log.begin("init_start")
    workload, data = load_workload(settings.workload), None
    if workload.dummy is None or workload.model.takes("data"):  # shapes or weights depend on them
        data = replace(network.load_data(settings, team), test=None)
    net = network.build_network(settings, team, data)
    events.log_setup(log, net)
    network.warm_up(net, data)
    stop.raise_if_stopped()
    if team.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(team.device)
    team.wait_for_all()
    log.end("init_stop")
    return net


def _end_reason(error: BaseException, team: Team) -> str:
    """Return why a run broke off: stopped by the user, a worker lost, or an exception."""
    if text := team.failure_text():
        return text.partition("\n")[0]
    if isinstance(error, Interrupted):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "SIGINT"
    return "worker_lost" if is_lost_worker(error) else reason_of(error)


class _Run:
    """What a run has come to between its start and its end."""

    def __init__(
        self,
        net: Network,
        log: RunLog,
        clock: Clock,
        stop: StopRequest,
        on_checkpoint: Callable[[Checkpoint], None],
    ) -> None:
        self._net, self._log, self._clock, self._stop = net, log, clock, stop
        self._on_checkpoint = on_checkpoint
        self._checkpoints = [_BEGINNING]
        settings, team = net.settings, net.team
        self._order = torch.Generator(team.device).manual_seed(settings.seed)
        # A seed of its own for each worker, far from those of the order of samples.
        worker_seed = settings.seed * team.size + team.rank + 2**32
        self._augmentation = torch.Generator(team.device).manual_seed(worker_seed)

    def train_and_log(self) -> Outcome:
        """Read the data, train, and log the end of the run."""
        net, log, settings, team = self._net, self._log, self._net.settings, self._net.team
        whole = network.load_data(settings, team)
        data = replace(whole, test=None)  # which no run may look at
        if net.workload.model.takes("data"):
            made = network.make_model(settings, team, data)
            net.bare.load_state_dict(made.state_dict())
        log.point("train_samples", len(data.train_targets))
        log.point("eval_samples", len(data.eval_targets))
        for note in data.notes:
            log.point("data_note", note)
        per_epoch = network.steps_per_epoch(len(data.train_targets), settings)
        last, every = math.ceil(settings.epochs * per_epoch), settings.evaluate_every
        batches, reached = self._all_batches(data), False
        while not reached and (step := self._checkpoints[-1].step) < last:
            planned = (
                last if every == END else math.ceil(len(self._checkpoints) * every * per_epoch)
            )
            until_stop = itertools.islice(batches, min(last, max(step + 1, planned)) - step)
            checkpoint = self._train_and_evaluate(until_stop, data, per_epoch)
            self._checkpoints.append(checkpoint)
            self._on_checkpoint(checkpoint)
            quality, target = checkpoint.quality, settings.target
            higher = net.workload.recipe.higher_is_better
            reached = team.broadcast_decision(quality >= target if higher else quality <= target)
        self.log_end(*(("success", "target") if reached else ("aborted", "epochs")))
        if team.is_leader and whole.test is not None:
            inputs, targets = (tensor.to(team.device) for tensor in whole.test)
            tested = replace(data, eval_inputs=inputs, eval_targets=targets)
            metric, quality = f"test_{net.workload.recipe.metric}", net.evaluate_quality(tested)
            log.point("eval_accuracy", quality, metric=metric, **self._checkpoints[-1].progress)
        dataset = whole.digest() if team.is_leader else ""
        checkpoints = tuple(self._checkpoints[1:])
        return Outcome(reached, checkpoints, self._clock.counted(), dataset, data.notes)

    def _all_batches(self, data: Data) -> Iterator[Batch]:
        for epoch in itertools.count():
            batch = None
            for batch in self._net.batches(data, self._order, epoch):
                yield batch
            if batch is None:
                raise TtastatsError("batches returned no batch", where=f"workload, epoch {epoch}")

    def _train_and_evaluate(
        self, batches: Iterator[Batch], data: Data, per_epoch: int
    ) -> Checkpoint:
        net, log, before = self._net, self._log, self._checkpoints[-1]
        number = before.step // per_epoch + 1
        began = self._clock.stamp()
        log.begin("block_start", at=began, first_epoch_num=number, epoch_count=1)
        log.begin("epoch_start", at=began, epoch_num=number)
        loss, steps, samples = self._take_steps(batches, per_epoch)
        trained = self._clock.stamp()
        training, step = trained.since(began), before.step + steps
        reached = replace(
            before, epoch=step / per_epoch, step=step, samples=before.samples + samples
        )
        about = reached.progress
        log.end("epoch_stop", at=trained, **about)
        stats = {
            "throughput": round(samples / training.wall, 3) if training.wall else None,
            "train_loss": loss,
            "lr": net.optimizers[0].param_groups[0]["lr"],
            "wall_seconds": round(training.wall, 6),
            "cpu_seconds": round(training.cpu, 6),
        }
        log.point("tracked_stats", stats, step=step, epoch_num=about["epoch_num"])
        evaluating = self._clock.stamp()
        log.begin("eval_start", at=evaluating, **about)
        quality = net.evaluate_quality(data) if net.team.is_leader else math.nan
        known = self._clock.stamp()
        counted = self._clock.counted(known)
        cpu, cpu_trained = net.team.sum_over_workers(counted.cpu, training.cpu)
        checkpoint = replace(
            reached,
            quality=quality,
            train_loss=loss,
            trained=Seconds(before.trained.wall + training.wall, before.trained.cpu + cpu_trained),
            evaluated=before.evaluated + known.since(evaluating).wall,
            known_at=Seconds(counted.wall, cpu),
        )
        events.log_evaluation(log, net.workload.recipe.metric, checkpoint, known)
        log.end("eval_stop", at=known, **about)
        log.end("block_stop", at=known, first_epoch_num=number)
        self._stop.raise_if_stopped()
        return checkpoint

    def _take_steps(self, batches: Iterator[Batch], per_epoch: int) -> tuple[float, int, int]:
        """Train on batches; return their mean loss, their number, and the number of samples."""
        total = torch.zeros((), dtype=torch.float64, device=self._net.team.device)
        first, steps, samples = self._checkpoints[-1].step, 0, 0
        for step, (inputs, targets, count) in enumerate(batches, start=first):
            self._stop.raise_if_stopped()
            epoch = (step + 0.5) / per_epoch
            loss = self._net.train_step(inputs, targets, self._augmentation, epoch, step)
            total += loss.double() * count
            steps, samples = steps + 1, samples + count
        return float(total) / max(1, samples), steps, samples

    def log_end(self, status: str, reason: str) -> None:
        """Log how the run ended."""
        how = {"status": status, "reason": reason, **self._checkpoints[-1].progress}
        self._log.end("run_stop", at=self._clock.stop(), **how)


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
