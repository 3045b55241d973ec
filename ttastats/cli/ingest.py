"""The commands that read logs, propose how, and write runs: guess, ingest, export, filter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

import ttastats as tta
from ttastats.base.errors import raise_if
from ttastats.base.units import plural
from ttastats.cli.options import given_options, taken_out, takes
from ttastats.cli.output import asking, progress, say
from ttastats.formats.config import GUESSED

if TYPE_CHECKING:
    from ttastats.ingestion.account import Account

#: Problems that are named of each code, by how bad they are; `problems` lists all.
_MOST_LINES = {"error": None, "warning": 5, "info": 1}
#: What options say of logs, by the keys of a block of `ttastats.toml`.
_BLOCK = "files line metric seconds step epoch samples run new_run resume new_epoch preset"


def guess(path: str, output: Path | None = None) -> None:
    """Propose how to read your own logs, and preview the runs.

    PATH: A folder of logs, a log, or an archive.
    --output, -o FILE: Write the proposed blocks; `ingest` finds FOLDER/ttastats.toml automatically.

    $ ttastats guess logs
    $ ttastats guess logs -o logs/ttastats.toml
    """
    from ttastats.answers.guessing.folder import guess as look  # polars costs start-up time

    typer.echo(str(look(path, output)))
    if output is not None:
        say(f"wrote {output}")


@takes(
    "output dialect round metrics workers dask append partition",
    _BLOCK,
    "config guess strict",
    {"metrics": Literal["evaluations", "all"], "workers": int, "metric": Sequence[str]},
)
def ingest(
    paths: Sequence[str],
    *,
    dask: str | None = None,
    partition: Sequence[str] = (),
    guess: bool = False,
    strict: bool = False,
    **options: Any,
) -> None:
    r"""Read logs of any known format into one tidy Parquet file.

    Describe your own logs in a ttastats.toml beside them or in a parent folder, or with the options
    from --files to --preset: docs/your-logs.md. Others are read as `ttastats guess` proposes.

    PATH...: Logs, folders, archives, glob patterns, URLs, or - for standard input.
    --output, -o PATH: Parquet file to write, or a folder of Parquet files: NAME/.
        [default: (FOLDER.parquet)]
    --dialect FORMAT: Read every file as this format instead of detecting it.
    --round, --edition ROUND: MLPerf round, such as v5.0, if the path does not contain it.
    --metrics: `all` also keeps the training metrics of every step: loss, learning rate, throughput.
        [default: evaluations]
    --workers N: Worker processes (default: all cores for large inputs, else 1). [x>=1]
    --dask ADDRESS: Read on a Dask cluster, given its scheduler's address.
    --append: Keep the runs of logs that are not given, and add new ones as parts of a folder.
    --partition COLUMNS: Cut the folder by columns of runs, as Hive does: round,benchmark.
    --files PATTERN: Which files: '{entry}/seed{seed}.csv'; names in braces become columns.
    --line REGEX: Lines to parse in a text log: 'step (?P<step>\d+) loss (?P<loss>\S+)'. Named
        groups become columns and keep their value until the next match. Repeatable.
    --metric METRIC: Quality metric, with a target if there is one: val_loss, 'val_loss <= 3.28' or
        'acc >= 97 %'. Repeatable.
    --seconds CLOCK: Column of the time and its unit: 'time ms' (s, min, h), 'stamp %H:%M:%S',
        'timestamp unix', or 'time s per iter' for the time of one iteration.
    --step COLUMN: Column of optimizer steps.
    --epoch COLUMN: Column of epochs; 'epoch + 1' if they start at 0.
    --samples COLUMN: Column of samples.
    --run COLUMN: Column that identifies the run, in files with several runs. Repeatable.
    --new-run WHEN: Where a new run starts in a file: 'step back', 'time back', each 'row', or a
        regular expression for its first line.
    --resume WHEN: Where a run was resumed: 'step back' or 'time back'.
    --new-epoch WHEN: 'step back': the step counter restarts in each epoch.
    --preset NAME: Known log layout, such as nanogpt, keras or ultralytics.
    --config PATH: Use this ttastats.toml instead of those beside the logs or in parent folders.
    --strict: Exit 1 if the logs have any problem.

    $ ttastats ingest logs -o runs.parquet
    $ ttastats ingest logs --guess --seconds 'time s'
    $ ttastats ingest logs --metric 'val_loss <= 3.4' --seconds 'elapsed s'
    """
    block, config = taken_out(options, _BLOCK.split()), options.get("config")
    option = next(iter(given_options(block)), "--config")
    conflict = f"{option} and --config both describe the logs"
    raise_if(block and config, conflict, option, "Move it to that file, or drop --config.")
    from ttastats.ingestion.ingest import ingest as read_logs  # polars costs start-up time
    from ttastats.ingestion.workers import dask as cluster

    _keep_freed_memory()
    workplace = cluster(dask) if dask else nullcontext()
    with workplace as executor, progress("reading logs") as on_progress:
        try:
            account = read_logs(
                paths,
                block=block or None,
                guess=guess,
                ask=asking(),
                executor=executor,
                partition=[name for text in partition for name in text.split(",")],
                on_progress=on_progress,
                **options,
            )
        except KeyboardInterrupt:
            say("ttastats: interrupted; nothing was written")
            raise
    _print_account(account)
    if account.rejected or (strict and account.problems):
        raise typer.Exit(1)


#: Options of glibc's `mallopt`: from how many bytes on a block is mapped alone, and how many free
#: ones are kept.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = (-3, 32 * 1024 * 1024), (-1, 64 * 1024 * 1024)


def _keep_freed_memory() -> None:
    """Let the C library reuse the memory of a file for the next; other libraries are left alone.

    It would give it back, and the kernel fills what is taken anew with zeros: a thirtieth of the
    time of a round.
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            mallopt(*option)


def _print_account(account: Account) -> None:
    from ttastats.ingestion.given import guessed_lines  # polars costs start-up time

    say(account.counts(), *guessed_lines(account.problems))
    for code, number in account.problem_counts().items():
        if code == GUESSED:
            continue
        problems = [problem for problem in account.problems if problem.code == code]
        say(f"  {problems[0].severity}: {code} ({number:,})")
        lines = [*dict.fromkeys(f"    {problem.place}: {problem.message}" for problem in problems)]
        printed = lines[: _MOST_LINES[problems[0].severity]]
        say(*printed)
        if number > len(printed):
            surplus = number - len(printed)
            say(f"    and {surplus:,} more: ttastats problems {account.output} --code {code}")
    if account.tries > 1:
        say(f"begun {account.tries} times: another writer replaced the table meanwhile")
    say(f"wrote {account.output}" if account.written else f"{account.output} is up to date")


def export(files: Sequence[str], output: Path, where: Sequence[str] = ()) -> None:
    """Export runs as logs that other programs read, or as rows.

    --output, -o PATH: NAME.csv or NAME.jsonl writes rows; any other name is a new folder for logs.

    $ ttastats export runs.parquet -o runs.csv
    $ ttastats export runs.parquet -o logs
    """
    done = tta.export(files, output, where=where)
    for suite, number in done.left_out.items():
        say(f"  skipped {plural(number, 'run')} of {suite}: no log format is known for it")
    say(f"wrote {plural(done.runs, 'run')} to {done.output}")
    if done.left_out:
        raise typer.Exit(1)


def filter(  # noqa: A001 - the name of the command
    files: Sequence[str], output: str, where: Sequence[str] = ()
) -> None:
    """Write selected runs of one or more tables to a new table.

    --output, -o FILE: Parquet file to write, or a folder of them: NAME/.

    $ ttastats filter runs.parquet --where benchmark=resnet -o resnet.parquet
    $ ttastats filter old.parquet new.parquet -o all.parquet
    """
    done = tta.filter(*files, output=output, where=where)
    say(
        f"kept {done.runs:,} of {plural(done.all_runs, 'run')} with "
        f"{plural(done.evaluations, 'evaluation')} and {plural(done.problems, 'problem')}"
    )
    if done.copies:
        of_others = "it is a copy" if done.copies == 1 else "they are copies"
        say(f"  {plural(done.copies, 'run')}: {of_others} of another run, see `duplicate_of`")
    for note in done.notes:
        say(f"  {note}")
    say(f"wrote {done.output}")
