"""The command `profile`: where the time of a training step goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import Output
from ttastats.cli.output import show


def profile(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Profiles (Parquet), traces of PyTorch, or folders of them.", show_default=False
        ),
    ],
    *,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="Operators to show; 0: all.")
    ] = 10,
    output: Output,
) -> None:
    """Where a step goes: computing, communication, host, idle; by operator, kernel and rank."""
    from ttastats import api

    show(api.profile(files, top=top), output)
