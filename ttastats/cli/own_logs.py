"""The options of `ingest` that say of logs which no dialect knows how they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import typer

from ttastats.errors import TtastatsError


def _option(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(None, flag, metavar=metavar, help=text, show_default=False)


@dataclass(frozen=True)
class OwnLogs:
    """What is said of logs of one's own, by the keys of a block."""

    files: str | None = _option(
        "--files",
        "PATTERN",
        "Which files: '{entry}/seed{seed}.csv'; what stands in braces becomes a column.",
    )
    line: list[str] | None = _option(
        "--line",
        "REGEX",
        "Lines that count, in a log that is no table: "
        "'step (?P<step>\\d+) loss (?P<loss>\\S+)'. Named groups are columns and stay until they "
        "are overwritten; repeat.",
    )
    metric: list[str] | None = _option(
        "--metric", "METRIC", "val_loss, 'val_loss <= 3.28' or 'acc >= 97 %'; repeat."
    )
    seconds: str | None = _option(
        "--seconds",
        "CLOCK",
        "The column of the time and its unit: 'time ms' (s, min, h), 'stamp %H:%M:%S', "
        "'timestamp unix', or 'time s per iter' for that of one iteration.",
    )
    step: str | None = _option("--step", "COLUMN", "The column of optimizer steps.")
    epoch: str | None = _option(
        "--epoch", "COLUMN", "The column of epochs; 'epoch + 1' where the first is called 0."
    )
    samples: str | None = _option("--samples", "COLUMN", "The column of samples.")
    run: list[str] | None = _option(
        "--run", "COLUMN", "The column that tells runs of one file apart; repeat."
    )
    new_run: str | None = _option(
        "--new-run",
        "WHEN",
        "Where a run begins in a file: 'step back', 'time back', each 'row', or a regular "
        "expression of its first line.",
    )
    resume: str | None = _option(
        "--resume", "WHEN", "Where a run was resumed: 'step back' or 'time back'."
    )
    new_epoch: str | None = _option(
        "--new-epoch", "WHEN", "'step back': the step starts again in each epoch of a run."
    )
    preset: str | None = _option(
        "--preset", "NAME", "A known kind, such as nanogpt, keras or ultralytics."
    )

    def block(self, config: str | None) -> dict[str, Any] | None:
        """Give what is said as a block, None where nothing is.

        Raises
        ------
        TtastatsError
            A file of blocks is named too.
        """
        found = {key: value for key, value in asdict(self).items() if value}
        if found and config:
            option = f"--{next(iter(found)).replace('_', '-')}"
            raise TtastatsError(
                f"{option} says what the logs are, and so does --config",
                where=option,
                remedy="Write it in that file, or leave --config away.",
            )
        return found or None
