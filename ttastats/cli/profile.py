"""The command `profile`: where the time of a training step goes, there or recorded now."""

from __future__ import annotations

import ast
import runpy
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import Output, given
from ttastats.cli.output import say, show
from ttastats.cli.train import ENDS, Setup, needs_torch
from ttastats.errors import TtastatsError

#: What `--batch-sizes` says for: double them until that hardly helps.
_AUTOMATIC = "auto"


@dataclass(frozen=True)
class Recorded:
    """What is measured of a workload, and where that is kept."""

    keep: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE",
        help="Parquet file for the profile of a workload.",
        show_default=False,
    )
    steps: int | None = typer.Option(
        None, min=1, help="Steps that are watched.", show_default="as many as seem enough"
    )
    batch_sizes: str | None = typer.Option(
        None,
        metavar="SIZES",
        help=f"Also measure others: 8,32,128, or {_AUTOMATIC} up to where more hardly helps.",
        show_default=False,
    )
    without: str | None = typer.Option(
        None, metavar="LAYERS", help="Leave out `batch norm`, or `batch norm,relu`."
    )
    ablation: bool = typer.Option(
        False, "--ablation", help="Also measure steps without batch norm, and without ReLU."
    )

    def sizes(self) -> tuple[int, ...] | None:
        """Give the batch sizes: none of them for those that are looked for."""
        if self.batch_sizes is None or self.batch_sizes == _AUTOMATIC:
            return None if self.batch_sizes is None else ()
        words = self.batch_sizes.split(",")
        if not all(word.strip().isdecimal() and int(word) for word in words):
            raise TtastatsError(
                f"{self.batch_sizes!r} are no sizes",
                where="--batch-sizes",
                remedy=f"Write 8,32,128, or {_AUTOMATIC}.",
            )
        return tuple(int(word) for word in words)


def profile(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT...",
            help="Profiles (Parquet), traces of PyTorch or folders of them; or one workload of "
            "`train`, or a script with tta.profile(...), to be profiled now.",
            show_default=False,
        ),
    ],
    *,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="Operators to show; 0: all.")
    ] = 10,
    recorded: Recorded,
    setup: Setup,
    output: Output,
) -> None:
    """Where a step goes: computing, communication, host, idle; by operator, kernel and rank.

    A workload is profiled in steps of its own, never in a run that is timed.
    """
    from ttastats import api

    if not _is_to_be_run(what):
        _expect_nothing_of(recorded, setup)
        show(api.profiled(what, top=top), output)
        return
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        path = recorded.keep or Path(folder, "profile.parquet")
        written = _run(what[0], path, recorded, setup)
        show(api.profiled(written, top=top), output)
    if recorded.keep is None and written == [path]:
        say("next: add -o prof.parquet to keep it   (this time nothing was kept)")


def _is_to_be_run(what: Sequence[str]) -> bool:
    """Tell a workload or a script from files and folders that hold profiles.

    Raises
    ------
    TtastatsError
        There are several.
    """
    to_be_run = [name for name in what if _is_no_file(Path(name))]
    if to_be_run and len(what) > 1:
        raise TtastatsError("workloads and scripts are profiled one at a time", where=to_be_run[0])
    return bool(to_be_run)


def _is_no_file(path: Path) -> bool:
    return path.suffix == ".py" or not (path.suffix or path.exists())


def _expect_nothing_of(recorded: Recorded, setup: Setup) -> None:
    """Refuse options of a recording where nothing is recorded."""
    for option in given(recorded, setup):
        raise TtastatsError(
            "is for a profile that is recorded now, of a workload",
            where=option,
            remedy="Name a workload, such as digits, instead of files.",
        )


def _run(name: str, path: Path, recorded: Recorded, setup: Setup) -> list[Path]:
    """Profile a workload, or run a script that does, and give the files that were written."""
    from ttastats import atomic

    if Path(name).suffix == ".py" and not _is_workload(Path(name)):
        _expect_nothing_of(recorded, setup)
        return _run_script(name)
    atomic.expect_file_place(path)
    with needs_torch("recording a profile"):
        from ttastats.profiler import workload
    from ttastats.profiles import store

    options, grid = setup.options(name)
    for value in ENDS:
        if value in options.values:
            raise TtastatsError("changes no step", where=f"--set {value}", remedy="Leave it out.")
    if grid:
        several = next(iter(grid))
        raise TtastatsError(
            "takes one value",
            where=f"--set {several}",
            remedy="Profile each; --batch-sizes takes several.",
        )
    without = tuple(word.strip() for word in (recorded.without or "").split(",") if word.strip())
    request = workload.Request(
        name, options, recorded.steps, recorded.sizes(), recorded.ablation, without
    )
    store.write(workload.recorded(request), path)
    return [path]


def _is_workload(path: Path) -> bool:
    """Tell whether a file is a workload rather than a script: it says RECIPE."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True  # the trainer says what is wrong with it
    targets = (
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )
    return any(isinstance(one, ast.Name) and one.id == "RECIPE" for one in targets)


def _run_script(name: str) -> list[Path]:
    with needs_torch("recording a profile"):
        from ttastats.profiler import script

    before = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [name], [str(Path(name).parent)]
    try:
        with suppress(SystemExit):
            runpy.run_path(name, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
    if not script.WRITTEN:
        raise TtastatsError(
            "has run and recorded no profile",
            where=name,
            remedy='Put its steps into `with tta.profile("prof.parquet") as prof:`, and call '
            "prof.step() after each; a workload's file defines RECIPE, data and model.",
        )
    return script.WRITTEN
