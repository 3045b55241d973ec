"""The commands `train` and `sweep`: fresh runs of the reference trainer, and what they show."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ttastats import percentages
from ttastats.errors import TtastatsError

if TYPE_CHECKING:
    from ttastats.report.answer import Report


class Precision(StrEnum):
    """How many bits a number has where that is safe."""

    fp32 = "fp32"
    bf16 = "bf16"


class Device(StrEnum):
    """What computes."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


_RECIPE = "recipe"
_NONE = {"show_default": False}

Workload = Annotated[
    str, typer.Argument(help="digits, digits-lm, cifar10, or a Python file of your own.")
]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Runs of each setup.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the first run; then the next.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", help="Quality at which a run ends: 0.97 or 97%.", show_default=_RECIPE
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option("--epochs", min=1, help="Give up after so many.", show_default=_RECIPE),
]
Compile = Annotated[bool, typer.Option("--compile", help="Compile the network first.")]
ChannelsLast = Annotated[
    bool, typer.Option("--channels-last", help="Store images with their channels last.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads of each worker.", show_default="1 on CPU"),
]
DeviceOption = Annotated[Device, typer.Option("--device", help="What computes.")]
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder with the data, for cifar10.", **_NONE)
]
Org = Annotated[str, typer.Option("--org", help="Whose runs these are: a folder's name.")]
System = Annotated[
    str | None,
    typer.Option("--system", help="What they ran on: a folder's name.", show_default="detected"),
]


def train(
    workload: Workload = "digits",
    runs: Runs = 1,
    seed: Seed = 0,
    target: Target = None,
    epochs: Epochs = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size", min=1, help="Samples per step, all workers.", show_default=_RECIPE
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, help="Width of the network.", show_default=_RECIPE),
    ] = None,
    precision: Annotated[
        Precision, typer.Option("--precision", help="Precision of the numbers.")
    ] = Precision.fp32,
    optimizer: Annotated[
        str | None, typer.Option("--optimizer", help="sgd or adamw.", show_default=_RECIPE)
    ] = None,
    compile_: Compile = False,
    channels_last: ChannelsLast = False,
    threads: Threads = None,
    device: DeviceOption = Device.auto,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes that share each batch.")
    ] = 1,
    data: Data = None,
    emit_log: Annotated[
        Path | None,
        typer.Option("--emit-log", help="Folder for the logs; without it none is kept.", **_NONE),
    ] = None,
    dawnbench: Annotated[
        bool, typer.Option("--dawnbench", help="Write DAWNBench files beside the logs.")
    ] = False,
    org: Org = "local",
    system: System = None,
) -> None:
    """Train a reference workload to its target, and log each run in the MLPerf format."""
    if dawnbench and emit_log is None:
        raise TtastatsError("needs a folder", where="--dawnbench", remedy="Add --emit-log DIR.")
    with _needs_torch():
        from ttastats.trainer import after, experiment
        from ttastats.trainer.settings import Options

    options = Options(
        target=None if target is None else percentages.number(target, "--target"),
        epochs=epochs,
        batch_size=batch_size,
        width=width,
        precision=precision.value,
        optimizer=optimizer,
        compiled=compile_,
        channels_last=channels_last,
        threads=threads,
        device=device.value,
        workers=workers,
        data=None if data is None else str(data),
    )
    with _folder(emit_log) as root:
        request = experiment.Request(workload, root, org, system, dawnbench)
        planned = experiment.plan(request, options, range(seed, seed + runs))
        made = experiment.make(planned, write_dawnbench=dawnbench)
        if not experiment.leads():
            return
        _print(after.summary_of(made))
        _say_all([*after.what_varied(made), *after.remarks(made)])
    _say_next(emit_log, planned[0].place.results.parent.parent if emit_log else None)


def sweep(
    workload: Workload = "digits",
    runs: Runs = 5,
    seed: Seed = 0,
    target: Target = None,
    epochs: Epochs = None,
    batch_size: Annotated[
        str, typer.Option("--batch-size", help="Samples per step, such as 32,64,512.", **_NONE)
    ] = "",
    width: Annotated[
        str, typer.Option("--width", help="Widths of the network, such as 8,16.", **_NONE)
    ] = "",
    precision: Annotated[
        str, typer.Option("--precision", help="Precisions, such as fp32,bf16.", **_NONE)
    ] = "",
    optimizer: Annotated[
        str, typer.Option("--optimizer", help="Optimizers, such as sgd,adamw.", **_NONE)
    ] = "",
    workers: Annotated[
        str, typer.Option("--workers", help="Numbers of workers, such as 1,2.", **_NONE)
    ] = "",
    compile_: Compile = False,
    channels_last: ChannelsLast = False,
    threads: Threads = None,
    device: DeviceOption = Device.auto,
    data: Data = None,
    emit_log: Annotated[
        Path, typer.Option("--emit-log", help="Folder for the logs; go on with what is there.")
    ] = Path("sweep"),
    org: Org = "local",
    system: System = None,
) -> None:
    """Run a grid of settings in turns, and show throughput beside time-to-accuracy (Table 7).

    The first value of each list makes the baseline. A sweep that was stopped goes on where it was.
    """
    with _needs_torch():
        from ttastats.trainer import after, experiment, table_7
        from ttastats.trainer import sweep as sweeps
        from ttastats.trainer.settings import Options

    grid = {
        "batch_size": _list(batch_size, _positive, "--batch-size"),
        "width": _list(width, _positive, "--width"),
        "precision": _list(precision, lambda word: Precision(word).value, "--precision"),
        "optimizer": _list(optimizer, str, "--optimizer"),
        "workers": _list(workers, _positive, "--workers"),
    }
    options = Options(
        target=None if target is None else percentages.number(target, "--target"),
        epochs=epochs,
        compiled=compile_,
        channels_last=channels_last,
        threads=threads,
        device=device.value,
        data=None if data is None else str(data),
    )
    request = experiment.Request(workload, emit_log, org, system)
    plan = sweeps.plan(request, options, grid, range(seed, seed + runs))
    if len(plan.missing) < len(plan.runs) and experiment.leads():
        _say(f"{len(plan.runs) - len(plan.missing)} of {len(plan.runs)} runs are complete already")
    made = experiment.make(plan.missing)
    if not experiment.leads():
        return
    table = after.table_of([place.results for place in plan.setups.values()])
    _print(table_7.report(table, {name: place.system for name, place in plan.setups.items()}))
    _say_all(after.remarks(made))
    _say_next(emit_log, plan.runs[0].place.results.parent.parent)


@contextmanager
def _needs_torch() -> Iterator[None]:
    """Say in one line how to get PyTorch where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TtastatsError(
            "training needs PyTorch", remedy='Get it with: pip install "ttastats[train]"'
        ) from None


@contextmanager
def _folder(emit_log: Path | None) -> Iterator[Path]:
    """Give the user's folder, or one that is gone afterwards."""
    if emit_log is not None:
        yield emit_log
        return
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        yield Path(folder)


def _list(text: str, read: Callable[[str], Any], option: str) -> list[Any]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        return [read(word) for word in words]
    except ValueError:
        raise TtastatsError(
            f"{text!r} is not a list of values for it",
            where=option,
            remedy="Separate the values by commas.",
        ) from None


def _positive(word: str) -> int:
    if int(word) < 1:
        raise ValueError(word)
    return int(word)


def _print(report: Report) -> None:
    from rich.console import Console  # only a table needs it

    from ttastats.render import as_table

    console = Console()
    as_table.render(report, console, width=console.width if console.is_terminal else None)


def _say_next(emit_log: Path | None, results: Path | None) -> None:
    if emit_log is None or results is None:
        _say("next: ttastats train --runs 10 --emit-log logs   (this time nothing was kept)")
        return
    file = f"{emit_log.resolve().name}.parquet"
    _say(f"next: ttastats ingest {results} -o {file} && ttastats variance {file}")


def _say_all(lines: list[str]) -> None:
    for line in lines:
        _say(line)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
