"""How is one run trained, evaluated and logged, from its first line to its last?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from ttastats.clock import Clock
from ttastats.run_log import EventLog
from ttastats.trainer import communication, events, optimisation
from ttastats.trainer.interrupts import Interrupted, StopRequest
from ttastats.trainer.network import Network, build, warm_up
from ttastats.trainer.outcome import Epoch, Outcome
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Data, Workload


def train(
    workload: Workload,
    settings: Settings,
    team: Team,
    log: EventLog,
    clock: Clock,
    stop: StopRequest,
    on_epoch: Callable[[Epoch], None],
) -> Outcome:
    """Train until the target is reached or the epochs are used up, and log every event.

    Raises
    ------
    Interrupted
        The run was asked to stop; the log says so, if it had begun.
    """
    log.begin("init_start")
    events.log_setup(log, workload, settings, team)
    network = build(workload, settings, team)
    warm_up(network)
    stop.check()
    team.wait()
    log.end("init_stop")

    log.begin("run_start", at=clock.start())
    done: list[Epoch] = []
    samples = 0
    try:
        data = workload.data(Path(settings.data) if settings.data else None).on(team.device)
        samples = len(data.train_targets)
        events.log_data(log, data)
        outcome = _epochs(network, data, log, clock, stop, on_epoch, done)
    except BaseException as error:
        if clock.stopped is None:
            reason = error.reason if isinstance(error, Interrupted) else type(error).__name__
            _log_end(log, clock, done, samples, status="aborted", reason=reason)
        raise
    outcome = replace(outcome, dataset=data.digest() if team.leads else "", notes=data.notes)
    _after_the_run(network, data, outcome, log)
    return outcome


def _epochs(
    network: Network,
    data: Data,
    log: EventLog,
    clock: Clock,
    stop: StopRequest,
    on_epoch: Callable[[Epoch], None],
    done: list[Epoch],
) -> Outcome:
    """Train epoch after epoch, adding each to `done`, and log the end of the run."""
    settings, workload, team = network.settings, network.workload, network.team
    order = torch.Generator(team.device).manual_seed(settings.seed)
    augmentation = torch.Generator(team.device).manual_seed(_augmentation_seed(settings, team))
    reached = False
    for number in range(1, settings.epochs + 1):
        epoch = _epoch(network, data, number, (order, augmentation), log, clock, stop)
        done.append(epoch)
        on_epoch(epoch)
        reached = team.leader_says(_meets(epoch.quality, settings, workload))
        if reached:
            break
    status, reason = ("success", "target") if reached else ("aborted", "epochs")
    _log_end(log, clock, done, len(data.train_targets), status=status, reason=reason)
    return Outcome(reached, tuple(done), clock.counted())


def _epoch(
    network: Network,
    data: Data,
    number: int,
    generators: tuple[torch.Generator, torch.Generator],
    log: EventLog,
    clock: Clock,
    stop: StopRequest,
) -> Epoch:
    """Train on every sample once, then evaluate."""
    samples = number * len(data.train_targets)
    began = clock.stamp()
    log.begin("block_start", at=began, first_epoch_num=number, epoch_count=1)
    log.begin("epoch_start", at=began, epoch_num=number)
    loss = _train_once(network, data, number, generators, stop)
    trained = clock.stamp()
    log.end("epoch_stop", at=trained, epoch_num=number, samples_count=samples)
    collective_seconds = network.collectives.take_seconds()
    training = trained.since(began)
    events.log_training(log, network, number, training, loss, collective_seconds, samples)

    about = {"epoch_num": number, "samples_count": samples}
    evaluating = clock.stamp()
    log.begin("eval_start", at=evaluating, **about)
    leads = network.team.leads
    quality = network.quality(data.eval_inputs, data.eval_targets) if leads else math.nan
    known = clock.stamp()
    log.point("eval_accuracy", quality if math.isfinite(quality) else None, at=known, **about)
    log.end("eval_stop", at=known, **about)
    log.end("block_stop", at=known, first_epoch_num=number)
    stop.check()
    return Epoch(
        number=number,
        quality=quality,
        train_loss=loss,
        training=training,
        evaluation=known.since(evaluating),
        collective_seconds=collective_seconds,
        known_at_seconds=clock.counted(known).wall,
    )


def _train_once(
    network: Network,
    data: Data,
    number: int,
    generators: tuple[torch.Generator, torch.Generator],
    stop: StopRequest,
) -> float:
    """Take one epoch of steps, and give the mean training loss."""
    settings, team, inputs = network.settings, network.team, data.train_inputs
    rates = optimisation.schedule(settings, network.workload.recipe)
    order, augmentation = generators
    shuffled = torch.randperm(len(inputs), generator=order, device=team.device)
    # Every worker needs the same number of samples: the average over workers counts them alike.
    usable = shuffled[: len(inputs) - len(inputs) % team.size]
    batches = torch.split(usable, settings.batch_size)
    total = torch.zeros((), dtype=torch.float64, device=team.device)
    for step, batch in enumerate(batches):
        stop.check()
        rate = rates.at(number - 1 + (step + 0.5) / len(batches))
        optimisation.set_learning_rate(network.optimizer, rate)
        mine = team.share(batch)
        some = network.workload.augment(inputs[mine], augmentation)
        total += network.step(some, data.train_targets[mine]).double() * len(batch)
    return float(total) / len(usable)


def _augmentation_seed(settings: Settings, team: Team) -> int:
    """Give a seed of its own to each worker, far from those of the order of samples."""
    return settings.seed * team.size + team.rank + 2**32


def _meets(quality: float, settings: Settings, workload: Workload) -> bool:
    if workload.recipe.higher_is_better:
        return quality >= settings.target
    return quality <= settings.target


def _log_end(
    log: EventLog, clock: Clock, done: list[Epoch], samples: int, *, status: str, reason: str
) -> None:
    about = {"epoch_num": len(done), "samples_count": len(done) * samples}
    log.end("run_stop", at=clock.stop(), status=status, reason=reason, **about)


def _after_the_run(
    network: Network,
    data: Data,
    outcome: Outcome,
    log: EventLog,
) -> None:
    """Measure and log what must not cost time on the clock."""
    cpu_all_workers = network.team.total(outcome.run.cpu)
    events.log_totals(log, outcome.run, cpu_all_workers, outcome.epochs)
    log.point("dataset_sha256", outcome.dataset)
    if network.team.size == 1:
        return
    batch = data.train_inputs[: network.settings.batch_size]
    labels = data.train_targets[: network.settings.batch_size]
    mine = network.team.share(torch.arange(len(batch), device=network.team.device))
    measured = communication.measure(network, (batch[mine], labels[mine]))
    events.log_communication(log, network, data, outcome.epochs, measured)
