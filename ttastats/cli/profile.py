"""The command `profile`: where the time of a training step goes, there or recorded now."""

from __future__ import annotations

import runpy
import symtable
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import ttastats as tta
from ttastats.base.errors import raise_if
from ttastats.cli.options import Output, columns, given_options
from ttastats.cli.output import say, show
from ttastats.cli.train import Ending, Setup, needs_torch, overrides


class Recorded(TypedDict, total=False):
    """What is measured of a workload, and where that is kept.

    --output, -o FILE: Save the recorded profile to this Parquet file.
    --steps: Steps to record. [default: (chosen automatically); x>=1]
    --batch-sizes SIZES: Also profile other batch sizes: 8,32,128, or auto to double until
        throughput levels off.
    --without LAYERS: Remove layers from the network: `batch norm`, or `batch norm,relu`.
    --ablation: Also profile steps without batch norm, and without ReLU.
    """

    output: Path
    steps: int
    batch_sizes: str
    without: str
    ablation: bool


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
    paths = [Path(name) for name in what]
    to_be_run = [
        path for path in paths if path.suffix == ".py" or not (path.suffix or path.exists())
    ]
    several = "only one workload or script can be profiled at a time"
    raise_if(to_be_run and len(what) > 1, several, "".join(map(str, to_be_run[:1])))
    is_script = bool(to_be_run) and paths[0].suffix == ".py" and not _is_workload(paths[0])
    if is_script or not to_be_run:
        idle = "only applies when a workload is profiled now"
        option = next(iter(given_options(recorded, setup)), None)
        raise_if(option, idle, option, "Give a workload, such as digits, instead of files.")
    if not to_be_run:
        show(tta.profiled(what, top=top), **output)
        return
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        if is_script:
            written = _run_script(what[0])
        else:
            written = [recorded.get("output") or Path(folder, "profile.parquet")]
            _record_workload(what[0], written[0], recorded, setup)
        show(tta.profiled(written, top=top), **output)
    if not is_script and "output" not in recorded:
        say("next: add -o prof.parquet to save the profile   (nothing was saved this time)")


def _record_workload(name: str, path: Path, recorded: Recorded, setup: Setup) -> None:
    """Profile a workload, and write the profile."""
    from ttastats.base import atomic

    atomic.expect_file_place(path)
    with needs_torch("recording a profile"):
        from ttastats.trainer.profiler import workload
    from ttastats.traces import table

    options, grid = overrides(name, setup)
    for value in Ending.__annotations__:
        idle = "has no effect on a step"
        raise_if(value in options.values, idle, f"--set {value}", "Leave it out.")
    apart = "Profile each value separately; only --batch-sizes takes several."
    several = next(iter(grid), "")
    raise_if(several, "takes one value", f"--set {several}", apart)
    sizes = recorded.get("batch_sizes")  # empty to search for them
    listed = [] if sizes in {None, "auto"} else str(sizes).split(",")
    wrong = not all(word.strip().isdecimal() and int(word) for word in listed)
    remedy = "Write sizes such as 8,32,128, or auto."
    raise_if(wrong, f"invalid batch sizes {sizes!r}", "--batch-sizes", remedy)
    request = workload.Request(
        name,
        options,
        recorded.get("steps"),
        None if sizes is None else tuple(map(int, listed)),
        recorded.get("ablation", False),
        columns(recorded.get("without", "")),
    )
    table.write_profile(workload.profile_workload(request), path)


def _is_workload(path: Path) -> bool:
    """Return whether a Python file is a workload rather than a script: it defines RECIPE."""
    try:
        module = symtable.symtable(path.read_text("utf-8"), str(path), "exec")
    except (OSError, SyntaxError, ValueError):
        return True  # the trainer says what is wrong with it
    symbols = module.get_symbols()
    return any(symbol.is_assigned() for symbol in symbols if symbol.get_name() == "RECIPE")


def _run_script(name: str) -> list[Path]:
    with needs_torch("recording a profile"):
        from ttastats.trainer.profiler import recording

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
    raise_if(not recording.WRITTEN, "ran but recorded no profile", name, remedy)
    return recording.WRITTEN
