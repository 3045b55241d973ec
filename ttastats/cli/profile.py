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

import ttastats as tta
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.cli.options import Output, changed, columns
from ttastats.cli.output import say, show
from ttastats.cli.train import ENDS, Setup, needs_torch

#: What `--batch-sizes` says for: double them until that hardly helps.
_AUTOMATIC = "auto"


@dataclass(frozen=True)
class Recorded:
    """What is measured of a workload, and where that is kept.

    --output, -o FILE: Save the recorded profile to this Parquet file.
    --steps: Steps to record. [default: (chosen automatically); x>=1]
    --batch-sizes SIZES: Also profile other batch sizes: 8,32,128, or auto to double until
        throughput levels off.
    --without LAYERS: Remove layers from the network: `batch norm`, or `batch norm,relu`.
    --ablation: Also profile steps without batch norm, and without ReLU.
    """

    output: Path | None = None
    steps: int | None = None
    batch_sizes: str | None = None
    without: str | None = None
    ablation: bool = False

    def sizes(self) -> tuple[int, ...] | None:
        """Return the batch sizes to profile; empty to search for them, None for none."""
        if self.batch_sizes is None or self.batch_sizes == _AUTOMATIC:
            return None if self.batch_sizes is None else ()
        words = self.batch_sizes.split(",")
        raise_if(
            not all(word.strip().isdecimal() and int(word) for word in words),
            f"invalid batch sizes {self.batch_sizes!r}",
            "--batch-sizes",
            f"Write sizes such as 8,32,128, or {_AUTOMATIC}.",
        )
        return tuple(int(word) for word in words)


def profile(
    what: Sequence[str], *, top: int = 10, recorded: Recorded, setup: Setup, output: Output
) -> None:
    """Show where the time of a training step goes: compute, communication, host, idle.

    A workload is profiled in separate steps, never during a timed run.

    WHAT...: Profiles (Parquet), PyTorch traces, or folders of traces; or, to profile now, one
        workload of `train` or a script that calls tta.profile(...).
    --top N: Number of operators to show; 0: all. [x>=0]

    $ ttastats profile digits
    $ ttastats profile trace.json.gz
    """
    if not _is_runnable(what):
        _expect_no_options(recorded, setup)
        show(tta.profiled(what, top=top), output)
        return
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        path = recorded.output or Path(folder, "profile.parquet")
        written = _record_profiles(what[0], path, recorded, setup)
        show(tta.profiled(written, top=top), output)
    if recorded.output is None and written == [path]:
        say("next: add -o prof.parquet to save the profile   (nothing was saved this time)")


def _is_runnable(what: Sequence[str]) -> bool:
    """Return whether an argument is a workload or a script, not profiles."""
    to_be_run = [
        str(path)
        for path in map(Path, what)
        if path.suffix == ".py" or not (path.suffix or path.exists())
    ]
    several = "only one workload or script can be profiled at a time"
    raise_if(to_be_run and len(what) > 1, several, "".join(to_be_run[:1]))
    return bool(to_be_run)


def _expect_no_options(recorded: Recorded, setup: Setup) -> None:
    """Raise an error for options of a recording if nothing is recorded."""
    for option in changed(recorded, setup):
        raise TtastatsError(
            "only applies when a workload is profiled now",
            where=option,
            remedy="Give a workload, such as digits, instead of files.",
        )


def _record_profiles(name: str, path: Path, recorded: Recorded, setup: Setup) -> list[Path]:
    """Profile a workload, or run a script that does; return the files written."""
    from ttastats.base import atomic

    if Path(name).suffix == ".py" and not _is_workload(Path(name)):
        _expect_no_options(recorded, setup)
        return _run_script(name)
    atomic.expect_file_place(path)
    with needs_torch("recording a profile"):
        from ttastats.trainer.profiler import workload
    from ttastats.traces import store

    options, grid = setup.options(name)
    for value in ENDS:
        idle = "has no effect on a step"
        raise_if(value in options.values, idle, f"--set {value}", "Leave it out.")
    apart = "Profile each value separately; only --batch-sizes takes several."
    several = next(iter(grid), "")
    raise_if(several, "takes one value", f"--set {several}", apart)
    layers = columns(recorded.without or "")
    request = workload.Request(
        name, options, recorded.steps, recorded.sizes(), recorded.ablation, layers
    )
    store.write_profile(workload.profile_workload(request), path)
    return [path]


def _is_workload(path: Path) -> bool:
    """Return whether a Python file is a workload rather than a script: it defines RECIPE."""
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
    return any(isinstance(target, ast.Name) and target.id == "RECIPE" for target in targets)


def _run_script(name: str) -> list[Path]:
    with needs_torch("recording a profile"):
        from ttastats.trainer.profiler import script

    before = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [name], [str(Path(name).parent)]
    try:
        with suppress(SystemExit):
            runpy.run_path(name, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
    remedy = (
        'Wrap the steps in `with tta.profile("prof.parquet") as prof:` and call prof.step() after '
        "each. A workload file must define RECIPE, data and model."
    )
    raise_if(not script.WRITTEN, "ran but recorded no profile", name, remedy)
    return script.WRITTEN
