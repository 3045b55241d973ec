"""The options of `ingest` that say of logs which no dialect knows how they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import typer

from ttastats.base.errors import TtastatsError


def _option(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(None, flag, metavar=metavar, help=text, show_default=False)


@dataclass(frozen=True)
class OwnLogs:
    """What is said of logs of one's own, by the keys of a block."""

    files: str | None = _option(
        "--files",
        "PATTERN",
        "Which files: '{entry}/seed{seed}.csv'; names in braces become columns.",
    )
    line: list[str] | None = _option(
        "--line",
        "REGEX",
        "Lines to parse in a text log: 'step (?P<step>\\d+) loss (?P<loss>\\S+)'. Named groups "
        "become columns and keep their value until the next match. Repeatable.",
    )
    metric: list[str] | None = _option(
        "--metric",
        "METRIC",
        "Quality metric, with a target if there is one: val_loss, 'val_loss <= 3.28' or "
        "'acc >= 97 %'. Repeatable.",
    )
    seconds: str | None = _option(
        "--seconds",
        "CLOCK",
        "Column of the time and its unit: 'time ms' (s, min, h), 'stamp %H:%M:%S', 'timestamp "
        "unix', or 'time s per iter' for the time of one iteration.",
    )
    step: str | None = _option("--step", "COLUMN", "Column of optimizer steps.")
    epoch: str | None = _option(
        "--epoch", "COLUMN", "Column of epochs; 'epoch + 1' if they start at 0."
    )
    samples: str | None = _option("--samples", "COLUMN", "Column of samples.")
    run: list[str] | None = _option(
        "--run", "COLUMN", "Column that identifies the run, in files with several runs. Repeatable."
    )
    new_run: str | None = _option(
        "--new-run",
        "WHEN",
        "Where a new run starts in a file: 'step back', 'time back', each 'row', or a regular "
        "expression for its first line.",
    )
    resume: str | None = _option(
        "--resume", "WHEN", "Where a run was resumed: 'step back' or 'time back'."
    )
    new_epoch: str | None = _option(
        "--new-epoch", "WHEN", "'step back': the step counter restarts in each epoch."
    )
    preset: str | None = _option(
        "--preset", "NAME", "Known log layout, such as nanogpt, keras or ultralytics."
    )

    def block(self, config: str | None) -> dict[str, Any] | None:
        """Return what is said as a block, None where nothing is.

        Raises
        ------
        TtastatsError
            A file of blocks is named too.
        """
        found = {key: value for key, value in asdict(self).items() if value}
        if found and config:
            option = f"--{next(iter(found)).replace('_', '-')}"
            raise TtastatsError(
                f"{option} and --config both describe the logs",
                where=option,
                remedy="Move it to that file, or drop --config.",
            )
        return found or None
