"""What the tests of the trainer share: small settings, and ways to train with them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import programs
from ttastats import api
from ttastats.recording import run_log
from ttastats.trainer import experiment, session, tables, workloads
from ttastats.trainer.experiment import Request
from ttastats.trainer.session import FinishedRun
from ttastats.trainer.settings import Overrides

#: The workloads of the examples; an installed copy has none.
RECIPES = Path(__file__).parents[2] / "examples" / "workloads"


def recipe(name: str) -> str:
    """Return the path of a workload of the examples."""
    if not RECIPES.exists():
        pytest.skip("an installed copy has no examples", allow_module_level=True)
    return str(RECIPES / f"{name}.py")


def names_of(name: str) -> SimpleNamespace:
    """Return what a workload of the examples defines."""
    return SimpleNamespace(**workloads.load_workload(recipe(name)).namespace)


#: A workload of a user's own: a line through points.
OWN = """
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe

RECIPE = Recipe(
    metric="mean_squared_error", higher_is_better=False, target=0.01, epochs=20,
    schedule_epochs=20, warmup_epochs=0.0, batch_size=8, width=1, optimizer="sgd",
    learning_rates={"sgd": LearningRate(0.1, 8, "linear", 0.0)},
    train_samples=64, eval_samples=16,
)

def data(folder):
    x = torch.linspace(-1, 1, 80)[:, None]
    return Data(x[::5].repeat(4, 1), 2 * x[::5].repeat(4, 1) + 1, x[::5], 2 * x[::5] + 1)

def dummy(samples):
    return torch.zeros(samples, 1), torch.zeros(samples, 1)

def model(width):
    return nn.Linear(1, 1)

def loss(outputs, targets):
    return nn.functional.mse_loss(outputs, targets)

def score(outputs, targets):
    return (outputs - targets).square().mean(dim=1)
"""


def small(**changes: object) -> Overrides:
    """Return settings that train for a fraction of a second per epoch."""
    chosen: dict[str, object] = {"width": 8, "epochs": 2.0, "device": "cpu"} | changes
    where = {name: chosen.pop(name) for name in ("device", "data") if name in chosen}
    return Overrides(chosen, **where)  # type: ignore[arg-type]


def request(root: Path, workload: str = "digits", **changes: object) -> Request:
    chosen: dict[str, object] = {"org": "Test", "system": "machine"} | changes
    return Request(workload, root, **chosen)  # type: ignore[arg-type]


def trained(
    root: Path, options: Overrides, workload: str = "digits", seeds: Sequence[int] = (0,)
) -> list[FinishedRun]:
    """Train in this process and return the runs, with those that existed before."""
    planned = experiment.plan_runs(request(root, workload), options, seeds).runs
    return session.make_all(planned, session.Watcher())


def summary(runs: Sequence[FinishedRun]) -> Sequence[Mapping[str, Any]]:
    """Return the rows of the summary of the folders that runs lie in."""
    places = list(dict.fromkeys(run.log.parent for run in runs))
    return api.summary(tables.table_of_logs(places)).rows


def curve(run: FinishedRun) -> list[tuple[float, float]]:
    """Return loss and quality of every epoch, bit for bit."""
    return [(epoch.train_loss, epoch.quality) for epoch in run.outcome.checkpoints]


def log_of(root: Path) -> Path:
    """Return where the first run of `request` writes."""
    return root / "Test" / "results" / "machine" / "digits" / "result_0.txt"


def events(log: Path) -> list[dict[str, Any]]:
    """Return what a log says."""
    return list(run_log.read_events(log.read_text()))


def the_run(root: Path) -> Mapping[str, Any]:
    """Return the row of the only run in a folder."""
    api.ingest([root / "Test" / "results"], root / "runs.parquet")
    (row,) = api.runs(root / "runs.parquet").rows
    return row


def has_evaluated(root: Path) -> bool:
    """Return whether the first run of `request` has finished an evaluation."""
    log = log_of(root)
    return log.exists() and '"key": "eval_stop"' in log.read_text()


@contextmanager
def forked(work: Callable[..., None], *given: object) -> Iterator[BaseProcess]:
    """Run a function in a forked process that has imported torch, and ends with the block."""
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_within, args=(work, given), daemon=False)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _within(work: Callable[..., None], given: tuple[object, ...]) -> None:
    signal.alarm(int(programs.PATIENCE))
    work(*given)
