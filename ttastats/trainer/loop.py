"""How is one run trained, evaluated and logged, from its first line to its last?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from ttastats.base.errors import TtastatsError
from ttastats.recording.clock import Clock, Seconds
from ttastats.recording.run_ends import reason_of
from ttastats.recording.run_log import RunLog
from ttastats.trainer import events, network
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.interrupts import Interrupted, StopRequest
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
    workload, first_look = load_workload(settings.workload), None
    if workload.dummy is None or workload.model.takes("data"):  # shapes or weights depend on them
        first_look = network.load_data(settings, team).without_test()
    net = network.build_network(settings, team, first_look)
    events.log_setup(log, net)
    network.warm_up(net, first_look)
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
        self._done: list[Checkpoint] = []
        device, settings, team = net.team.device, net.settings, net.team
        self._order = torch.Generator(device).manual_seed(settings.seed)
        # A seed of its own for each worker, far from those of the order of samples.
        worker_seed = settings.seed * team.size + team.rank + 2**32
        self._augmentation = torch.Generator(device).manual_seed(worker_seed)

    def train_and_log(self) -> Outcome:
        """Read the data, train, and log the end of the run."""
        net = self._net
        whole = network.load_data(net.settings, net.team)
        data = whole.without_test()
        if net.workload.model.takes("data"):
            made = network.make_model(net.settings, net.team, data)
            net.bare.load_state_dict(made.state_dict())
        events.log_data(self._log, data)
        per_epoch = network.steps_per_epoch(len(data.train_targets), net.settings)
        last, every = math.ceil(net.settings.epochs * per_epoch), net.settings.evaluate_every
        batches, reached = self._all_batches(data), False
        while not reached and (step := self._last.step) < last:
            planned = last if every == END else math.ceil((len(self._done) + 1) * every * per_epoch)
            until_stop = itertools.islice(batches, min(last, max(step + 1, planned)) - step)
            checkpoint = self._train_and_evaluate(until_stop, data, per_epoch)
            self._done.append(checkpoint)
            self._on_checkpoint(checkpoint)
            quality, target = checkpoint.quality, net.settings.target
            higher = net.workload.recipe.higher_is_better
            is_met = bool(quality >= target if higher else quality <= target)
            reached = net.team.broadcast_decision(is_met)
        self.log_end(*(("success", "target") if reached else ("aborted", "epochs")))
        tested = whole.test_data(net.team.device) if net.team.is_leader else None
        if tested is not None:
            metric, quality = f"test_{net.workload.recipe.metric}", net.evaluate_quality(tested)
            self._log.point("eval_accuracy", quality, metric=metric, **self._progress())
        dataset = whole.digest() if net.team.is_leader else ""
        return Outcome(reached, tuple(self._done), self._clock.counted(), dataset, data.notes)

    @property
    def _last(self) -> Checkpoint:
        return self._done[-1] if self._done else _BEGINNING

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
        net, log, before = self._net, self._log, self._last
        number = before.step // per_epoch + 1
        began = self._clock.stamp()
        log.begin("block_start", at=began, first_epoch_num=number, epoch_count=1)
        log.begin("epoch_start", at=began, epoch_num=number)
        loss, steps, trained_on = self._take_steps(batches, per_epoch)
        trained = self._clock.stamp()
        step, samples = before.step + steps, before.samples + trained_on
        about = _progress_fields(step / per_epoch, samples)
        log.end("epoch_stop", at=trained, **about)
        training = trained.since(began)
        events.log_training(log, net, training, loss, trained_on, step, about)
        evaluating = self._clock.stamp()
        log.begin("eval_start", at=evaluating, **about)
        quality = net.evaluate_quality(data) if net.team.is_leader else math.nan
        known = self._clock.stamp()
        counted = self._clock.counted(known)
        cpu, cpu_trained = net.team.sum_over_workers(counted.cpu, training.cpu)
        checkpoint = Checkpoint(
            epoch=step / per_epoch,
            step=step,
            samples=samples,
            quality=quality,
            train_loss=loss,
            trained=Seconds(before.trained.wall + training.wall, before.trained.cpu + cpu_trained),
            evaluated=before.evaluated + known.since(evaluating).wall,
            known_at=Seconds(counted.wall, cpu),
        )
        events.log_evaluation(log, net.workload.recipe.metric, checkpoint, about, known)
        log.end("eval_stop", at=known, **about)
        log.end("block_stop", at=known, first_epoch_num=number)
        self._stop.raise_if_stopped()
        return checkpoint

    def _take_steps(self, batches: Iterator[Batch], per_epoch: int) -> tuple[float, int, int]:
        """Train on batches; return their mean loss, their number, and the number of samples."""
        total = torch.zeros((), dtype=torch.float64, device=self._net.team.device)
        steps = samples = 0
        for inputs, targets, count in batches:
            self._stop.raise_if_stopped()
            step = self._last.step + steps
            epoch = (step + 0.5) / per_epoch
            loss = self._net.train_step(inputs, targets, self._augmentation, epoch, step)
            total += loss.double() * count
            steps, samples = steps + 1, samples + count
        return float(total) / max(1, samples), steps, samples

    def log_end(self, status: str, reason: str) -> None:
        """Log how the run ended."""
        how = {"status": status, "reason": reason, **self._progress()}
        self._log.end("run_stop", at=self._clock.stop(), **how)

    def _progress(self) -> dict[str, Any]:
        return _progress_fields(self._last.epoch, self._last.samples)


def _progress_fields(epoch: float, samples: int) -> dict[str, Any]:
    """Return the epochs trained, an integer if they are whole, and the samples."""
    trained = int(epoch) if epoch == int(epoch) else round(epoch, 6)
    return {"epoch_num": trained, "samples_count": samples}
