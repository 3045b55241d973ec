"""The command line: each command parses its arguments, calls one function and prints the answer.

Results go to stdout, everything else to stderr. Exit codes: 0 done; 1 done, but some input was
rejected or a stated condition holds; 2 nothing could be done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import ttastats
from ttastats import train_command
from ttastats.errors import TtastatsError

if TYPE_CHECKING:
    import polars as pl

    from ttastats.ingestion import Account
    from ttastats.report.cells import Report

app = typer.Typer(
    name="ttastats",
    help="Is this training setup really faster to a given quality than that one, by how much, "
    "why, and how sure are we?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


class Estimand(StrEnum):
    """Which mean of times a speedup compares."""

    mean = "mean"
    geomean = "geomean"


Files = Annotated[
    list[Path],
    typer.Argument(help="Parquet files written by `ttastats ingest`.", show_default=False),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", "-w", help="Keep rows with column=value (also != >= <= and * in text); repeat."
    ),
]
By = Annotated[
    str, typer.Option("--by", help="Columns to group by, separated by commas.", show_default=False)
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target", help="Another quality target: 0.75 or eval_loss<=0.9; repeat for two metrics."
    ),
]
Ddof = Annotated[
    int, typer.Option("--ddof", min=0, max=1, help="1: sample deviations; 0: the paper's.")
]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"ttastats {ttastats.__version__}")
        raise typer.Exit


@app.command()
def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Logs, folders, archives, patterns, URLs, or - for standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Parquet file to write.", show_default="FOLDER.parquet"
        ),
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="Read every file as this format.")
    ] = None,
    edition: Annotated[
        str | None,
        typer.Option("--edition", help="Edition of the suite, such as v5.0, if no folder says it."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Processes; every core where much is to be read, by default."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on any problem.")] = False,
) -> None:
    """Read logs of any known format into one tidy Parquet file."""
    from ttastats.ingestion import ingest as read_logs  # polars costs start-up time

    with _Progress() as on_progress:
        account = read_logs(
            paths,
            output,
            dialect=dialect,
            edition=edition,
            workers=workers,
            on_progress=on_progress,
        )
    _print_account(account)
    if account.rejected or (strict and account.problems):
        raise typer.Exit(1)


@app.command()
def runs(
    files: Files,
    where: Where = None,
    target: TargetOption = None,
    output_format: FormatOption = Format.table,
) -> None:
    """One row per run: reached the target? when? how many epochs?"""
    from ttastats import api

    _print(api.runs(files, where=where or (), target=target or ()), output_format)


@app.command()
def summary(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    ddof: Ddof = 1,
    output_format: FormatOption = Format.table,
) -> None:
    """One row per entry: runs that reached, mean TTA, CV with its interval."""
    from ttastats import api

    report = api.summary(files, by=_columns(by), where=where or (), target=target or (), ddof=ddof)
    _print(report, output_format)


@app.command()
def variance(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    ddof: Ddof = 1,
    output_format: FormatOption = Format.table,
) -> None:
    """Why runs of one entry differ: epochs to the target, or time per epoch."""
    from ttastats import api

    report = api.variance(files, by=_columns(by), where=where or (), target=target or (), ddof=ddof)
    _print(report, output_format)


@app.command()
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files: the baseline A, then B (or several to judge against A); "
            "one file alone with --a and --b.",
            show_default=False,
        ),
    ],
    a: Annotated[
        list[str] | None,
        typer.Option("--a", help="Condition that chooses side A of one file; repeat."),
    ] = None,
    b: Annotated[
        list[str] | None,
        typer.Option("--b", help="Condition that chooses side B of one file; repeat."),
    ] = None,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    margin: Annotated[
        str, typer.Option("--margin", help="Difference that does not matter, such as 1%.")
    ] = "",
    estimand: Annotated[
        Estimand, typer.Option("--estimand", help="Which mean of times is compared.")
    ] = Estimand.mean,
    same_convergence: Annotated[
        bool,
        typer.Option("--same-convergence", help="Both sides need the same epochs: compare these."),
    ] = False,
    epochs_fixed: Annotated[
        bool, typer.Option("--epochs-fixed", help="Epochs to the target cannot vary, by design.")
    ] = False,
    fdr: Annotated[
        bool, typer.Option("--fdr", help="Adjust p by Benjamini-Hochberg in place of Holm.")
    ] = False,
    ddof: Ddof = 1,
    wide: Annotated[bool, typer.Option("--wide", help="Show more columns.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every run as a dot.")
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit 1 unless B is shown not to be slower by more than this: slower:2%.",
        ),
    ] = "",
    output_format: FormatOption = Format.table,
) -> None:
    """Is B faster than A, by how much, why, and how sure?"""
    from ttastats import api, gate
    from ttastats.comparison import Options
    from ttastats.report.compare import View

    limit = gate.parse(fail_on) if fail_on else None
    options = Options(
        ddof=ddof,
        margin=gate.fraction(margin, "--margin") if margin else 0.01,
        estimand="geomean" if estimand is Estimand.geomean else "mean",
        same_convergence=same_convergence,
        epochs_fixed=epochs_fixed,
        fdr=fdr,
    )
    sources, labels = _sides(files, a or (), b or (), where or ())
    report = api.compare(
        *sources,
        by=_columns(by),
        target=target or (),
        labels=labels,
        options=options,
        view=View(wide, verbose, margin_claims=bool(margin)),
    )
    _print(report, output_format)
    failures = gate.failures(report.rows, limit) if limit is not None else ()
    for failure in failures:
        _say(f"failed: {failure}")
    if failures:
        raise typer.Exit(1)


@app.command()
def targets(
    files: Annotated[
        list[Path], typer.Argument(help="One Parquet file, or two to compare.", show_default=False)
    ],
    a: Annotated[list[str] | None, typer.Option("--a", help="Chooses side A of one file.")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", help="Chooses side B of one file.")] = None,
    where: Where = None,
    points: Annotated[int, typer.Option("--points", min=2, help="Targets to ask about.")] = 9,
    metric: Annotated[
        str | None, typer.Option("--metric", help="The metric to vary, if there are several.")
    ] = None,
    output_format: FormatOption = Format.table,
) -> None:
    """How the answer depends on the quality target."""
    from ttastats import api

    if len(files) == 1 and not (a or b):
        sources, labels = [api.read(files[0], where=where or ())], [str(files[0])]
    else:
        sources, labels = _sides(files, a or (), b or (), where or ())
    if len(sources) > 2:
        raise TtastatsError("more than two files", remedy="Compare two at a time.")
    report = api.targets(*sources, points=points, metric=metric, labels=labels)
    _print(report, output_format)


@app.command()
def power(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Parquet files to plan from.", show_default=False)
    ] = None,
    cv: Annotated[str, typer.Option("--cv", help="Plan from this CV instead, such as 14%.")] = "",
    number: Annotated[
        int | None, typer.Option("--runs", "-n", min=2, help="Runs a side you can afford.")
    ] = None,
    detect: Annotated[
        list[str] | None, typer.Option("--detect", help="A difference to see, such as 5%; repeat.")
    ] = None,
    level: Annotated[
        float, typer.Option("--power", min=0.01, max=0.99, help="Chance to see it.")
    ] = 0.8,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    output_format: FormatOption = Format.table,
) -> None:
    """How many runs are needed to see a difference of x %."""
    from ttastats import api, gate

    report = api.power(
        files or None,
        cv=gate.fraction(cv, "--cv") if cv else None,
        n=number,
        effects=[gate.fraction(text, "--detect") for text in detect or ()],
        power=level,
        by=_columns(by),
        where=where or (),
        target=target or (),
    )
    _print(report, output_format)


@app.command()
def scaling(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    output_format: FormatOption = Format.table,
) -> None:
    """Speedup and efficiency over the number of accelerators."""
    from ttastats import api

    report = api.scaling(files, by=_columns(by), where=where or (), target=target or ())
    _print(report, output_format)


@app.command()
def score(
    files: Files,
    by: By = "",
    where: Where = None,
    output_format: FormatOption = Format.table,
) -> None:
    """The official MLPerf score, kept apart from our statistics."""
    from ttastats import api

    _print(api.score(files, by=_columns(by), where=where or ()), output_format)


def _sides(
    files: list[Path], a: Sequence[str], b: Sequence[str], where: Sequence[str]
) -> tuple[list[pl.LazyFrame], list[str]]:
    """Give the tables to compare and their labels: several files, or two parts of one."""
    from ttastats import api

    if a or b:
        if len(files) != 1 or not (a and b):
            raise TtastatsError(
                "--a and --b choose two parts of one file",
                remedy="Give one file with both, or two files with neither.",
            )
        parts = [api.read(files[0], where=[*where, *part]) for part in (a, b)]
        return parts, [", ".join(part) for part in (a, b)]
    if len(files) < 2:
        raise TtastatsError(
            "one file has nothing to be compared with",
            where=str(files[0]),
            remedy="Give a second file, or choose two parts: --a 'system=...' --b 'system=...'",
        )
    return [api.read(file, where=where) for file in files], [str(file) for file in files]


train_command.register(app)


def main() -> NoReturn:
    """Run the command line; an expected error becomes one message and exit code 2."""
    try:
        app()
    except TtastatsError as error:
        _say(f"ttastats: {error}")
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
    sys.exit(0)


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _print(report: Report, output_format: Format) -> None:
    if output_format is Format.table:
        _print_table(report)
        return
    from ttastats.render import as_csv, as_json, as_markdown

    renders: dict[Format, Callable[[Report], str]] = {
        Format.json: as_json.render,
        Format.csv: as_csv.render,
        Format.md: as_markdown.render,
    }
    typer.echo(renders[output_format](report).rstrip("\n"))
    if output_format is Format.csv:
        for note in report.notes:
            _say(f"{note.mark} {note.text}".strip())


def _print_table(report: Report) -> None:
    from rich.console import Console  # only a table needs it

    from ttastats.render import as_table

    console = Console()
    as_table.render(report, console, width=console.width if console.is_terminal else None)


class _Progress:
    """A progress bar on stderr where a person watches, and silence elsewhere."""

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not sys.stderr.isatty():
            return None
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.start()
        task = self._bar.add_task("reading logs", total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            self._bar.stop()


def _say(text: str) -> None:
    typer.echo(text, err=True)


#: Problems of one kind that are named one by one before the rest is only counted.
_NAMED = 5


def _print_account(account: Account) -> None:
    from ttastats.units import plural

    logs = account.files - account.other_files
    others = f", {account.other_files:,} other files" if account.other_files else ""
    if account.unchanged:
        others += f", {account.unchanged:,} unchanged since the last ingest"
    _say(
        f"{plural(logs, 'log')} read{others}: {plural(account.runs, 'run')}, "
        f"{plural(account.evaluations, 'evaluation')}"
    )
    for code, number in account.problem_counts().items():
        problems = [problem for problem in account.problems if problem.code == code]
        _say(f"  {problems[0].severity}: {code} ({number:,})")
        shown = problems if problems[0].severity == "error" else problems[:_NAMED]
        for problem in shown:
            place = problem.source if problem.line is None else f"{problem.source}:{problem.line}"
            _say(f"    {place}: {problem.message}")
        if number > len(shown):
            _say(f"    and {number - len(shown):,} more; the column `problems` holds all of them")
    _say(f"wrote {account.output}")
