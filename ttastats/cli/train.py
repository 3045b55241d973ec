"""The commands that use the reference trainer: train, sweep, and profile of its steps."""

from __future__ import annotations

import runpy
import symtable
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

import ttastats as tta
from ttastats.base.errors import TtastatsError, needs, raise_if
from ttastats.cli.options import Output, given_options, taken_out, takes
from ttastats.cli.output import say, show

if TYPE_CHECKING:
    import polars as pl

    from ttastats.report.answer import Report
    from ttastats.trainer.experiment import Plan, Request
    from ttastats.trainer.settings import Overrides


#: What options change of a recipe, by the names it has there, and where its steps are made.
_ENDING = "target epochs"
_SETUP = (
    "batch_size width precision optimizer compile channels_last threads workers set device data"
)
#: What is measured of a workload.
_RECORDED = "steps batch_sizes without ablation"


def overrides(workload: str, options: dict[str, Any]) -> tuple[Overrides, dict[str, list[Any]]]:
    """Return single values and the values of a grid, by names of the recipe."""
    from ttastats.trainer import workloads
    from ttastats.trainer.settings import Overrides

    recipe = workloads.load_workload(workload).recipe
    ending = taken_out(options, _ENDING.split())  # last in the names of setups
    where, settings = taken_out(options, ("device", "data")), options.pop("set", ())
    texts: dict[str, str] = {
        name: "true" if value is True else str(value) for name, value in (options | ending).items()
    }
    for setting in settings:
        name, sign, text = setting.partition("=")
        wrong = "lacks a value" if not sign else "is set twice" if name in texts else ""
        raise_if(wrong, wrong, f"--set {setting}", "Write --set NAME=VALUE once.")
        texts[name] = text
    values = {
        name: [recipe.parse_value(name, word.strip()) for word in text.split(",")]
        for name, text in texts.items()
    }
    once = {name: value for name, (value, *repeats) in values.items() if not repeats}
    grid = {name: several for name, several in values.items() if len(several) > 1}
    return Overrides(once, **{name: str(option) for name, option in where.items()}), grid


@takes(_ENDING, {"target": str}, _SETUP, "emit_log dawnbench org system")
def train(
    workload: str = "digits",
    *,
    runs: int = 1,
    seed: int = 0,
    emit_log: Path | None = None,
    dawnbench: bool = False,
    org: str = "local",
    system: str | None = None,
    **setup: Any,
) -> None:
    """Train a workload to its target, with logs in MLPerf format.

    `--runs 10` trains with ten seeds. Runs that are already complete in the log folder are skipped.

    --target TARGET: Quality target, at which a run ends: 0.96 or 96%. [default: (recipe)]
    --emit-log FOLDER: Folder for the logs, `logs` if none is given; an interrupted command resumes
        from it. A folder with the name of a workload: --emit-log=digits.
    --dawnbench: Also write DAWNBench files beside the logs.

    $ ttastats train --emit-log --runs 5
    $ ttastats train my_workload.py --emit-log logs
    """
    raise_if(dawnbench and emit_log is None, "needs a folder", "--dawnbench", "Add --emit-log.")
    with needs("torch", "training", "ttastats[train]"):
        from ttastats.trainer import experiment, tables

    options, grid = overrides(workload, setup)
    several = next(iter(grid), "")
    raise_if(several, "takes one value", f"--set {several}", "`sweep` takes several.")
    if emit_log is not None and experiment.is_leader():
        say(f"workload {workload}, logs in {emit_log}/")
    folder = TemporaryDirectory(prefix="ttastats-") if emit_log is None else nullcontext(emit_log)
    with folder as root:
        request = experiment.Request(workload, Path(root), org, system, dawnbench)
        plan = experiment.plan_runs(request, options, range(seed, seed + runs))
        table, _ = _table_of_runs(plan)
        report = tta.summary(table)
        show(report, no_pager=True)
        say(*tables.variation_remarks(table))
    _say_next(report, emit_log, plan)


@takes(_ENDING, {"target": str}, _SETUP, "emit_log org system until_decided max_runs")
def sweep(
    workload: str = "digits",
    *,
    runs: int = 5,
    seed: int = 0,
    emit_log: Path = Path("sweep"),
    org: str = "local",
    system: str | None = None,
    until_decided: bool = False,
    max_runs: int | None = None,
    **setup: Any,
) -> None:
    """Run a grid of settings, and compare throughput with TTA.

    Every value may be a list, such as `--batch-size 32,512 --set lr=0.05,0.1`; the first value of
    each is the baseline; of several options, `effects` says which matters, and for what. Run an
    interrupted sweep again to resume it.

    --target TARGET: Quality target, at which a run ends: 0.96 or 96%. [default: (recipe)]
    --emit-log FOLDER: Folder for the logs; an interrupted command resumes from it. A folder with
        the name of a workload: --emit-log=digits.
    --until-decided: Instead of --runs: add runs of all setups in turn until it is decided which is
        the fastest, or no further run would decide it.
    --max-runs N: With --until-decided: most runs of each setup. [default: (20)]

    $ ttastats sweep --batch-size 32,512 --runs 5 --emit-log logs
    $ ttastats sweep --precision fp32,bf16 --until-decided
    """
    message, remedy = "needs --until-decided", "Add --until-decided, or use --runs."
    lacks_plan = max_runs is not None and not until_decided
    raise_if(lacks_plan, message, f"--max-runs {max_runs}", remedy)
    with needs("torch", "training", "ttastats[train]"):
        from ttastats.sides.comparison import MAX_RUNS
        from ttastats.trainer import experiment, tables

    options, grid = overrides(workload, setup)
    if experiment.is_leader():
        say(f"workload {workload}, logs in {emit_log}/")
    request = experiment.Request(workload, emit_log, org, system)
    if until_decided:
        _run_until_decided(request, options, grid, seed, MAX_RUNS if max_runs is None else max_runs)
        return
    plan = experiment.plan_runs(request, options, range(seed, seed + runs), grid)
    table, failures = _table_of_runs(plan)
    evaluated = set(table.drop_nulls("metric")["system"])  # others failed before they trained
    setups = {name: at.system for name, at in plan.setups.items() if at.system in evaluated}
    say(*(f"{name}: no run was evaluated" for name in plan.setups.keys() - setups.keys()))
    report = tables.sweep_report(table, setups) if len(setups) > 1 else tta.summary(table)
    show(report, no_pager=True)
    if len(grid) > 1:
        contended = any(note.code == "contended" for note in report.notes)
        unit = "cpu-seconds" if contended else ""
        with suppress(TtastatsError):  # too few runs of a value
            show(tta.effects(table, on=[*grid], unit=unit), no_pager=True)
    say(*tables.data_remarks(table))
    _say_next(report, emit_log, plan)
    _say_failures(failures)


def _run_until_decided(
    request: Request, options: Overrides, grid: dict[str, list[Any]], seed: int, max_runs: int
) -> None:
    """Add runs to setups until their race is over, and print the result."""
    from ttastats.trainer import experiment, tables

    def plan(n: int, dropouts: Mapping[str, int]) -> Plan:
        absent = {name: seed + number for name, number in dropouts.items()}
        return experiment.plan_runs(request, options, range(seed, seed + n), grid, absent)

    def table_of(n: int, dropouts: Mapping[str, int]) -> pl.DataFrame:
        failures.extend(experiment.make_runs(plan(n, dropouts).missing, keep_going=True))
        return tables.table_of_logs([setup.results for setup in first.setups.values()])

    failures: list[str] = []
    first = plan(1, {})
    experiment.expect_plan(list(first.setups), max_runs)
    systems = {name: setup.system for name, setup in first.setups.items()}
    decided = experiment.run_until_decided(table_of, systems, seed, max_runs)
    show(decided.report, no_pager=True)
    say(decided.remark)
    _say_next(decided.report, request.root, first)
    _say_failures(failures)


def _table_of_runs(plan: Plan) -> tuple[pl.DataFrame, list[str]]:
    """Make the missing runs; return the table of all, and the failures.

    Workers but the first end here.
    """
    from ttastats.trainer import experiment, tables

    completed = len(plan.runs) - len(plan.missing)
    if completed and experiment.is_leader():
        say(f"{completed} of {len(plan.runs)} runs are already complete")
    failures = experiment.make_runs(plan.missing, keep_going=len(plan.setups) > 1)
    if not experiment.is_leader():
        raise typer.Exit
    return tables.table_of_logs([setup.results for setup in plan.setups.values()]), failures


def _say_failures(failures: Sequence[str]) -> None:
    """Print why runs failed, and exit with 1 if any did."""
    say(*(f"failed: {failure}" for failure in failures))
    if failures:
        raise typer.Exit(1)


def _say_next(report: Report, emit_log: Path | None, plan: Plan) -> None:
    """Print the commands that analyse these runs further."""
    from ttastats.ingestion.ingest import default_output

    if emit_log is None:
        say("next: ttastats train --runs 10 --emit-log   (nothing was saved this time)")
        return
    file = default_output([emit_log])
    setup = next(iter(plan.setups.values()))
    logs = quote(f"{emit_log}/")
    if setup.dawnbench.parent.exists():  # the same runs once more
        logs = f"{quote(str(setup.results.parent.parent))} -o {quote(str(file))}"
    contended = any(note.code == "contended" for note in report.notes)
    clock = " --in cpu-seconds" if contended else ""
    say(f"next: ttastats ingest {logs} && ttastats variance {quote(str(file))}{clock}")


@takes({"output": Path}, _RECORDED, {"steps": int}, _SETUP, Output)
def profile(what: Sequence[str], *, top: int = 10, **options: Any) -> None:
    """Show where the time of a training step goes.

    A workload is profiled in separate steps, never during a timed run.

    WHAT...: Profiles (Parquet), PyTorch traces, or folders of traces; or, to profile now, one
        workload of `train` or a script that calls tta.profile(...).
    --top N: Number of operators to show; 0: all. [x>=0]
    --output, -o FILE: Save the recorded profile to this Parquet file.
    --steps: Steps to record. [default: (chosen automatically); x>=1]
    --batch-sizes SIZES: Also profile other batch sizes: 8,32,128, or auto to double until
        throughput levels off.
    --without LAYERS: Remove layers from the network: `batch norm`, or `batch norm,relu`.
    --ablation: Also profile steps without batch norm, and without ReLU.

    $ ttastats profile digits
    $ ttastats profile trace.json.gz
    """
    output_options = taken_out(options, Output.__annotations__)
    paths = [Path(name) for name in what]
    to_be_run = [
        path for path in paths if path.suffix == ".py" or not (path.suffix or path.exists())
    ]
    several = "only one workload or script can be profiled at a time"
    raise_if(to_be_run and len(what) > 1, several, "".join(map(str, to_be_run[:1])))
    is_script = bool(to_be_run) and paths[0].suffix == ".py" and not _is_workload(paths[0])
    if is_script or not to_be_run:
        idle = "only applies when a workload is profiled now"
        option = next(iter(given_options(options)), None)
        raise_if(option, idle, option, "Give a workload, such as digits, instead of files.")
    if not to_be_run:
        show(tta.profiled(what, top=top), **output_options)
        return
    output, recorded = options.pop("output", None), taken_out(options, _RECORDED.split())
    with TemporaryDirectory(prefix="ttastats-") as folder:
        if is_script:
            profiles = _run_script(what[0])
        else:
            profiles = [output or Path(folder, "profile.parquet")]
            _record_workload(what[0], profiles[0], recorded, options)
        show(tta.profiled(profiles, top=top), **output_options)
    if not is_script and output is None:
        say("next: add -o prof.parquet to save the profile   (nothing was saved this time)")


def _record_workload(
    name: str, path: Path, recorded: dict[str, Any], setup: dict[str, Any]
) -> None:
    """Profile a workload, and write the profile."""
    from ttastats.base import atomic

    atomic.expect_file_place(path)
    with needs("torch", "recording a profile", "ttastats[train]"):
        from ttastats.trainer import workloads
        from ttastats.trainer.profiler import workload
    from ttastats.traces import table

    options, grid = overrides(name, setup)
    for value in _ENDING.split():
        idle = "has no effect on a step"
        raise_if(value in options.values, idle, f"--set {value}", "Leave it out.")
    advice = "Profile each value separately; only --batch-sizes takes several."
    several = next(iter(grid), "")
    raise_if(several, "takes one value", f"--set {several}", advice)
    sizes = recorded.pop("batch_sizes", None)  # empty to search for them
    size_texts = [] if sizes in {None, "auto"} else str(sizes).split(",")
    wrong = not all(word.strip().isdecimal() and int(word) for word in size_texts)
    remedy = "Write sizes such as 8,32,128, or auto."
    raise_if(wrong, f"invalid batch sizes {sizes!r}", "--batch-sizes", remedy)
    if sizes is not None:
        recorded["batch_sizes"] = tuple(map(int, size_texts))
    request = workload.Request(name, options, **recorded)
    with workloads.mistakes_located(name):
        profile = workload.profile_workload(request)
    table.write_profile(profile, path)


def _is_workload(path: Path) -> bool:
    """Return whether a Python file is a workload rather than a script: it defines RECIPE."""
    try:
        module = symtable.symtable(path.read_text("utf-8"), str(path), "exec")
    except (OSError, SyntaxError, ValueError):
        return True  # the trainer says what is wrong with it
    symbols = module.get_symbols()
    return any(symbol.is_assigned() for symbol in symbols if symbol.get_name() == "RECIPE")


def _run_script(name: str) -> list[Path]:
    with needs("torch", "recording a profile", "ttastats[train]"):
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
