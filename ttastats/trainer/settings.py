"""What exactly is one run asked to do? What the user said, completed by the workload's recipe."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import torch
from msgspec import Struct, field

from ttastats.base.errors import raise_if
from ttastats.trainer.workloads import load_workload
from ttastats.trainer.workloads.contract import END, Value

#: How precise numbers can be; a recipe may name another that its file sees to itself.
PRECISIONS = ("fp32", "tf32", "bf16")


class Overrides(Struct, frozen=True):
    """What the user changed: values of the recipe, and where to compute."""

    values: Mapping[str, Value] = field(default_factory=dict)
    device: str = "auto"
    data: str | None = None


class Settings(Struct, frozen=True):
    """One run, nothing left open.

    `workload` is a name or the path of a file, `sha256` the digest of its text and imports.
    """

    workload: str
    sha256: str
    seed: int
    values: Mapping[str, Value]
    device: str
    data: str | None

    def __getattr__(self, name: str) -> Any:
        """Return a value of the recipe."""
        try:
            return object.__getattribute__(self, "values")[name]
        except KeyError:
            raise AttributeError(name) from None

    def hook_arguments(self, device: torch.device | None = None) -> dict[str, Any]:
        """Return the arguments of a workload's hooks: all values, the device and the seed."""
        arguments = {"device": device or torch.device(self.device), "seed": self.seed}
        return {**self.values, **arguments}

    def identifying_values(self) -> dict[str, Any]:
        """Return all settings that identify the run: without the paths of file and data."""
        return {name: getattr(self, name) for name in ("sha256", "seed", "values", "device")}

    def setup_digest(self) -> str:
        """Return a digest of all settings but the seed."""
        shared = self.identifying_values() | {"seed": None}
        return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()


def complete_settings(options: Overrides, name: str, seed: int) -> Settings:
    """Return the user's options completed by the recipe of a workload and by the machine.

    An error names a value that no run can have.
    """
    workload, device = load_workload(name), options.device
    absent = device == "cuda" and not torch.cuda.is_available()
    remedy = "Use --device cpu, or install a CUDA build of PyTorch."
    raise_if(absent, "PyTorch finds no CUDA device", "--device cuda", remedy)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    values = workload.recipe.complete(options.values)
    # Two threads on two cores that somebody else uses as well can be twenty times slower than
    # one, since they wait for each other without sleeping.
    values["threads"] = values["threads"] or (1 if device == "cpu" else 0)
    settings = Settings(name, workload.sha256, seed, values, device, options.data)
    for name in ("batch_size", "workers", "epochs", "evaluate_every", "width", "eval_batch_size"):
        value = settings.values.get(name, END)
        low = value != END and value <= 0  # type: ignore[operator]
        raise_if(low, "must be above 0", f"--set {name}")
    raise_if(settings.threads < 0, "must be at least 0", "--threads")
    precisions = dict.fromkeys((*PRECISIONS, workload.recipe.values["precision"]))
    unknown = f"does not support precision {settings.precision!r}"
    choices = f"Choose {', '.join(map(str, precisions))}."
    raise_if(settings.precision not in precisions, unknown, "--precision", choices)
    size, workers = settings.batch_size, settings.workers
    small = f"a batch of {size} cannot be split over {workers} workers"
    raise_if(size < workers, small, "--batch-size", "Give every worker at least one sample.")
    # torchrun may have started workers on other machines as well.
    local_workers = int(os.environ.get("LOCAL_WORLD_SIZE") or workers)
    gpus = torch.cuda.device_count()
    message = f"{local_workers} workers need as many GPUs; there are {gpus}"
    raise_if(settings.device == "cuda" and local_workers > gpus, message, "--workers")
    return settings


def setup_suffix(options: Overrides, settings: Settings) -> str:
    """Return a short name of the changed settings, such as `-batch512-bf16`, or an empty text."""
    usual = complete_settings(Overrides(device=settings.device), settings.workload, 0).values
    suffix = ""
    for name, value in settings.values.items():
        if name not in options.values or value == usual.get(name):
            continue
        if isinstance(value, bool):
            suffix += f"-{name}" if value else f"-no_{name}"
        elif isinstance(value, str):
            suffix += f"-{value}"
        else:
            suffix += f"-{name.removesuffix('_size')}{value:g}"
    return suffix
