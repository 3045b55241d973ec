"""What exactly is one run asked to do? Options of the user, completed by the workload's recipe."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ttastats.errors import TtastatsError
from ttastats.trainer.workloads.contract import Workload

Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said; None leaves it to the recipe."""

    target: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    width: int | None = None
    precision: Precision = "fp32"
    optimizer: str | None = None
    compiled: bool = False
    channels_last: bool = False
    threads: int | None = None
    device: str = "auto"
    workers: int = 1
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """One run, nothing left open. `workload` is a name or the path of a file.

    `threads` are those of each worker; None leaves a GPU's host alone.
    """

    workload: str
    seed: int
    target: float
    epochs: int
    batch_size: int
    width: int
    precision: Precision
    optimizer: str
    compiled: bool
    channels_last: bool
    threads: int | None
    device: str
    workers: int
    data: str | None

    def as_dict(self) -> dict[str, Any]:
        """Give the settings as plain values."""
        return dataclasses.asdict(self)

    def setup(self) -> dict[str, Any]:
        """Give what runs of one setup share: everything but the seed and where the data lie."""
        return {key: value for key, value in self.as_dict().items() if key not in {"seed", "data"}}


def settings_of(options: Options, workload: Workload, path: str, seed: int) -> Settings:
    """Complete the options by the recipe and the machine.

    Raises
    ------
    TtastatsError
        The options contradict each other, or this machine cannot do what they ask.
    """
    recipe = workload.recipe
    device = _device(options.device)
    settings = Settings(
        workload=path,
        seed=seed,
        target=recipe.target if options.target is None else options.target,
        epochs=options.epochs or recipe.epochs,
        batch_size=options.batch_size or recipe.batch_size,
        width=options.width or recipe.width,
        precision=options.precision,
        optimizer=options.optimizer or recipe.optimizer,
        compiled=options.compiled,
        channels_last=options.channels_last,
        # Two threads on two cores that somebody else uses as well can be twenty times slower
        # than one, since they wait for each other without sleeping.
        threads=options.threads or (1 if device == "cpu" else None),
        device=device,
        workers=options.workers,
        data=options.data,
    )
    _check(settings, workload)
    return settings


def setup_suffix(settings: Settings, workload: Workload) -> str:
    """Give a short name of what differs from the recipe, such as `-batch512-bf16`; or nothing."""
    recipe = workload.recipe
    parts = [
        f"batch{settings.batch_size}" * (settings.batch_size != recipe.batch_size),
        f"width{settings.width}" * (settings.width != recipe.width),
        settings.precision * (settings.precision != "fp32"),
        settings.optimizer * (settings.optimizer != recipe.optimizer),
        "compile" * settings.compiled,
        "channels_last" * settings.channels_last,
        f"threads{settings.threads}" * (settings.threads not in {None, 1}),
        f"workers{settings.workers}" * (settings.workers != 1),
        f"target{settings.target:g}" * (settings.target != recipe.target),
        f"epochs{settings.epochs}" * (settings.epochs != recipe.epochs),
    ]
    return "".join(f"-{part}" for part in parts if part)


def _device(asked: str) -> str:
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise TtastatsError(
            "PyTorch finds no CUDA device",
            where="--device cuda",
            remedy="Use --device cpu, or install a CUDA build of PyTorch.",
        )
    return asked


def _check(settings: Settings, workload: Workload) -> None:
    known = workload.recipe.learning_rates
    if settings.optimizer not in known:
        raise TtastatsError(
            f"{workload.name} has no learning rate for {settings.optimizer!r}",
            where="--optimizer",
            remedy=f"Choose {' or '.join(known)}.",
        )
    if settings.batch_size < settings.workers:
        raise TtastatsError(
            f"a batch of {settings.batch_size} cannot be shared by {settings.workers} workers",
            where="--batch-size",
            remedy="Give every worker at least one sample.",
        )
    if settings.device == "cuda" and settings.workers > torch.cuda.device_count():
        raise TtastatsError(
            f"{settings.workers} workers need as many GPUs; there are {torch.cuda.device_count()}",
            where="--workers",
        )
