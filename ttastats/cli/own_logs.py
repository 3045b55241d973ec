"""The options of `ingest` that say of logs which no dialect knows how they are read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ttastats.errors import TtastatsError


def _option(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text, show_default=False)


Files = Annotated[
    str | None,
    _option(
        "--files",
        "PATTERN",
        "Which files: '{entry}/seed{seed}.csv'; what stands in braces becomes a column.",
    ),
]
Line = Annotated[
    list[str] | None,
    _option(
        "--line",
        "REGEX",
        "Lines that count, in a log that is no table: 'step (?P<step>\\d+) loss (?P<loss>\\S+)'. "
        "Named groups are columns and stay until they are overwritten; repeat.",
    ),
]
Metric = Annotated[
    list[str] | None,
    _option("--metric", "METRIC", "val_loss, 'val_loss <= 3.28' or 'acc >= 97 %'; repeat."),
]
Seconds = Annotated[
    str | None,
    _option(
        "--seconds",
        "CLOCK",
        "The column of the time and its unit: 'time ms' (s, min, h), 'stamp %H:%M:%S', "
        "'timestamp unix', or 'time s per iter' for that of one iteration.",
    ),
]
Step = Annotated[str | None, _option("--step", "COLUMN", "The column of optimizer steps.")]
Epoch = Annotated[
    str | None,
    _option("--epoch", "COLUMN", "The column of epochs; 'epoch + 1' where the first is called 0."),
]
Samples = Annotated[str | None, _option("--samples", "COLUMN", "The column of samples.")]
Run = Annotated[
    list[str] | None,
    _option("--run", "COLUMN", "The column that tells runs of one file apart; repeat."),
]
NewRun = Annotated[
    str | None,
    _option(
        "--new-run",
        "WHEN",
        "Where a run begins in a file: 'step back', 'time back', each 'row', or a regular "
        "expression of its first line.",
    ),
]
Resume = Annotated[
    str | None,
    _option("--resume", "WHEN", "Where a run was resumed: 'step back' or 'time back'."),
]
NewEpoch = Annotated[
    str | None,
    _option("--new-epoch", "WHEN", "'step back': the step starts again in each epoch of a run."),
]
Preset = Annotated[
    str | None,
    _option("--preset", "NAME", "A known kind, such as nanogpt, keras or ultralytics."),
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="PATH",
        help="A ttastats.toml in the place of those beside the logs and in the folders above.",
        show_default=False,
    ),
]


def block(config: str | None, **said: Any) -> dict[str, Any] | None:
    """Give what the options say by the keys of a block, None where they say nothing.

    Raises
    ------
    TtastatsError
        A file of blocks is named too.
    """
    found = {key: value for key, value in said.items() if value}
    if found and config:
        option = f"--{next(iter(found)).replace('_', '-')}"
        raise TtastatsError(
            f"{option} says what the logs are, and so does --config",
            where=option,
            remedy="Write it in that file, or leave --config away.",
        )
    return found or None
