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
from ttastats.recording.run_log import EventLog
from ttastats.trainer import events, network
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.interrupts import Interrupted, StopRequest
from ttastats.trainer.network import Network
from ttastats.trainer.parallel import Team, is_lost_worker
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import END, Data, Workload

#: The part of a step's samples that this worker trains on, and how many all have.
Batch = tuple[Any, Any, int]


def train_run(
    workload: Workload,
    settings: Settings,
    team: Team,
    log: EventLog,
    clock: Clock,
    stop: StopRequest,
    on_checkpoint: Callable[[Checkpoint], None],
) -> Outcome:
    """Train until the target is reached or the epochs are used up; log every event."""
    run = None
    try:
        net = _build_and_warm_up(workload, settings, team, log, stop)
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


def _build_and_warm_up(
    workload: Workload, settings: Settings, team: Team, log: EventLog, stop: StopRequest
) -> Network:
    """Return the network, built and warmed up before the clock starts."""
    log.begin("init_start")
    first_look = None
    if network.needs_data(workload):
        first_look = network.load_data(workload, settings, team).without_test()
    net = network.build_network(workload, settings, team, first_look)
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
        return error.reason
    if isinstance(error, KeyboardInterrupt):
        return "SIGINT"
    return "worker_lost" if is_lost_worker(error) else reason_of(error)


class _Run:
    """What a run has come to between its start and its end."""

    def __init__(
        self,
        net: Network,
        log: EventLog,
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
        whole = network.load_data(net.workload, net.settings, net.team)
        data = whole.without_test()
        if net.workload.model.takes("data"):
            made = network.make_model(net.workload, net.settings, net.team, data)
            net.bare.load_state_dict(made.state_dict())
        events.log_data(self._log, data)
        per_epoch = network.steps_per_epoch(len(data.train_targets), net.settings)
        last = math.ceil(net.settings.epochs * per_epoch)
        batches, reached = self._all_batches(data), False
        while not reached and self._global_step < last:
            until = min(last, max(self._global_step + 1, self._next_evaluation(per_epoch, last)))
            until_stop = itertools.islice(batches, until - self._global_step)
            checkpoint = self._train_and_evaluate(until_stop, data, per_epoch)
            self._done.append(checkpoint)
            self._on_checkpoint(checkpoint)
            reached = net.team.broadcast_decision(self._meets_target(checkpoint.quality))
        self.log_end(*(("success", "target") if reached else ("aborted", "epochs")))
        if net.team.is_leader:
            self._log_test_quality(whole)
        dataset = whole.digest() if net.team.is_leader else ""
        return Outcome(reached, tuple(self._done), self._clock.counted(), dataset, data.notes)

    def _next_evaluation(self, per_epoch: int, last: int) -> int:
        """Return the step after which the quality is evaluated next."""
        every = self._net.settings.evaluate_every
        return last if every == END else math.ceil((len(self._done) + 1) * every * per_epoch)

    def _log_test_quality(self, whole: Data) -> None:
        """Log the quality on the test part once the run has ended."""
        tested = whole.test_data(self._net.team.device)
        if tested is not None:
            metric = self._net.workload.recipe.metric
            events.log_test(
                self._log, metric, self._net.evaluate_quality(tested), **self._progress_fields()
            )

    @property
    def _global_step(self) -> int:
        return self._done[-1].step if self._done else 0

    def _all_batches(self, data: Data) -> Iterator[Batch]:
        """Yield batches, epoch after epoch."""
        for epoch in itertools.count():
            batch = None
            for batch in self._net.batches(data, self._order, epoch):
                yield batch
            if batch is None:
                raise TtastatsError("batches returned no batch", where=f"workload, epoch {epoch}")

    def _train_and_evaluate(
        self, batches: Iterator[Batch], data: Data, per_epoch: int
    ) -> Checkpoint:
        """Train up to the next evaluation, then evaluate; return the checkpoint."""
        log, before = self._log, self._done[-1] if self._done else None
        number = self._global_step // per_epoch + 1
        began = self._clock.stamp()
        log.begin("block_start", at=began, first_epoch_num=number, epoch_count=1)
        log.begin("epoch_start", at=began, epoch_num=number)
        loss, steps, trained_on = self._take_steps(batches, per_epoch)
        trained = self._clock.stamp()
        step = self._global_step + steps
        samples = trained_on + (before.samples if before else 0)
        about = {"epoch_num": _epoch_number(step / per_epoch), "samples_count": samples}
        log.end("epoch_stop", at=trained, **about)
        training = trained.since(began)
        events.log_training(log, self._net, training, loss, trained_on, step, about)
        evaluating = self._clock.stamp()
        log.begin("eval_start", at=evaluating, **about)
        quality = self._net.evaluate_quality(data) if self._net.team.is_leader else math.nan
        known = self._clock.stamp()
        counted = self._clock.counted(known)
        cpu, cpu_trained = self._net.team.sum_over_workers(counted.cpu, training.cpu)
        checkpoint = Checkpoint(
            epoch=step / per_epoch,
            step=step,
            samples=samples,
            quality=quality,
            train_loss=loss,
            trained=Seconds(
                training.wall + (before.trained.wall if before else 0.0),
                cpu_trained + (before.trained.cpu if before else 0.0),
            ),
            evaluated=known.since(evaluating).wall + (before.evaluated if before else 0.0),
            known_at=Seconds(counted.wall, cpu),
        )
        metric = self._net.workload.recipe.metric
        events.log_evaluation(log, metric, checkpoint, about, known)
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
            step = self._global_step + steps
            epoch = (step + 0.5) / per_epoch
            loss = self._net.train_step(inputs, targets, self._augmentation, epoch, step)
            total += loss.double() * count
            steps, samples = steps + 1, samples + count
        return float(total) / max(1, samples), steps, samples

    def _meets_target(self, quality: float) -> bool:
        target = self._net.settings.target
        higher = self._net.workload.recipe.higher_is_better
        return bool(quality >= target if higher else quality <= target)

    def log_end(self, status: str, reason: str) -> None:
        """Log how the run ended."""
        how = {"status": status, "reason": reason, **self._progress_fields()}
        self._log.end("run_stop", at=self._clock.stop(), **how)

    def _progress_fields(self) -> dict[str, Any]:
        last = self._done[-1] if self._done else None
        return {
            "epoch_num": _epoch_number(last.epoch) if last else 0,
            "samples_count": last.samples if last else 0,
        }


def _epoch_number(epoch: float) -> float:
    """Return epochs as an integer if they are whole."""
    return int(epoch) if epoch == int(epoch) else round(epoch, 6)
