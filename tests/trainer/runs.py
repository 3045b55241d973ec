"""What the tests of the trainer share: small settings, and ways to train with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ttastats.trainer import experiment
from ttastats.trainer.experiment import Request
from ttastats.trainer.session import Made
from ttastats.trainer.settings import Options


def small(**changes: object) -> Options:
    """Give settings that train for a fraction of a second per epoch."""
    chosen: dict[str, object] = {"width": 8, "epochs": 2, "device": "cpu"} | changes
    return Options(**chosen)  # type: ignore[arg-type]


def request(root: Path, workload: str = "digits", **changes: object) -> Request:
    chosen: dict[str, object] = {"org": "Test", "system": "machine"} | changes
    return Request(workload, root, **chosen)  # type: ignore[arg-type]


def trained(
    root: Path, options: Options, workload: str = "digits", seeds: Sequence[int] = (0,)
) -> list[Made]:
    """Train in this process and give the runs."""
    return experiment.make(experiment.plan(request(root, workload), options, seeds))


def curve(made: Made) -> list[tuple[float, float]]:
    """Give loss and quality of every epoch, bit for bit."""
    return [(epoch.train_loss, epoch.quality) for epoch in made.outcome.epochs]


def environment(**more: str) -> dict[str, str]:
    """Give the environment in which a process of its own finds the package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", **more}


def start(program: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """Run a Python text in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )
