"""Which commands there are, and how a function becomes one: imported when somebody names it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from importlib import import_module
from inspect import Signature, cleandoc, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ttastats.base.arguments import on_command_line
from ttastats.base.errors import TtastatsError
from ttastats.cli.options import PASSED_OPTIONS, Output, declare, entries, read
from ttastats.cli.output import asking, progress, say, show
from ttastats.trainer import BUILT_IN

if TYPE_CHECKING:
    from ttastats.ingestion.given import Read
    from ttastats.report.answer import Report

#: The commands in the order of the help, each with the module of this folder that has it.
GROUPS = {
    "From logs to an answer": {
        "guess": "ingest", "ingest": "ingest", "summary": "tables", "compare": "tables",
        "report": "drawing",
    },
    "More questions": {
        "runs": "tables", "rank": "tables", "variance": "tables", "effects": "tables",
        "history": "tables", "targets": "tables", "claim": "tables", "power": "tables",
        "scaling": "tables", "problems": "tables",
    },
    "Official rules and contests": {"score": "tables", "rcp": "tables", "record": "tables"},
    "Plots and files": {"plot": "drawing", "export": "ingest", "filter": "ingest"},
    "Fresh runs": {"race": "race", "train": "train", "sweep": "train", "profile": "train"},
}  # fmt: skip
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
#: The options that many commands share, by what they are for, in the order of use.
_OPTIONS = {
    "Sides and runs": "a b baseline labels on levels sources where by pool",
    "What counts": "target unit clock price censor_stopped at_end at best interpolate metric also",
    "Judgement": "margin confidence interactions same block sequential max_runs estimand ddof fdr "
    "same_convergence epochs_fixed",
    "Gate (exit code 3)": "fail_on require",
    "Causes": "profile_a profile_b",
    "Output": "sort top wide verbose output_format no_pager guess no_cache help help_all",
}
#: The options of every command that takes logs.
_OF_LOGS = ("guess", "no_cache")
#: Commands with at most so many options list all of them, without groups.
_FEW_OPTIONS = 12
#: What most need of these, in a line each, so that `--help` is read without scrolling.
_USUAL = "on a b where by target margin fail_on top verbose output_format"
#: The option that takes a folder or none, and the folder where the command has no default.
_LOGS, _FOLDER = "--emit-log", "logs"


class Group(TyperGroup):
    """The program; a command is made of its function at its first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # to be proposed

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:  # noqa: ARG002
        """Return the command of a name."""
        return make_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - not for that
        """Write the first sentence of the help of each command."""
        width = max(map(len, COMMANDS))
        limit = formatter.width - 6 - width
        for title, names in GROUPS.items():
            commands = [TyperCommand(name, help=_help_text(_load(name))) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    (str(command.name).ljust(width), command.get_short_help_str(limit))
                    for command in commands
                )


class Command(TyperCommand):
    """A command whose `--emit-log` takes a folder or none, and that shows examples where it must.

    `--emit-log` without a folder means the default folder of the command. `--emit-log digits` means
    the workload where no other is given and no such folder exists; `--emit-log=digits` always means
    the folder.
    """

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write examples, arguments and options."""
        super().format_epilog(ctx, formatter)
        width = None if ctx.meta.get("help_all") else formatter.width
        for title, records in self.sections(ctx, width).items():
            with formatter.section(title):
                formatter.write_dl(records)

    def sections(
        self, ctx: typer.Context, width: int | None = None
    ) -> dict[str, list[tuple[str, str]]]:
        """Return arguments and options with their help, shared ones in groups.

        With a `width`, of many only those of this command and what most need, in a line each.
        """
        params = {str(param.name): param for param in self.get_params(ctx)}
        records = {name: r for name, param in params.items() if (r := param.get_help_record(ctx))}
        arguments = [n for n in records if params[n].param_type_name == "argument"]
        options = [name for name in records if name not in arguments]
        groups: dict[str, Iterable[str]] = {"Arguments": arguments, "Options": options}
        if "help_all" in params:
            shared = {title: names.split() for title, names in _OPTIONS.items()}
            unshared = [name for name in options if name not in chain(*shared.values())]
            groups |= {"Options": unshared, **shared}
            if width is not None:
                names = [
                    *unshared,
                    *(name for name in _USUAL.split() if name in params),
                    "help_all",
                ]
                room = width - 4 - max(len(records[name][0]) for name in names)
                for name in names:
                    records[name] = records[name][0], _first_sentence(params[name].help, room)
                groups = {"Arguments": arguments, "Most used": names}
        sections = {
            title: [records[name] for name in names if name in records]
            for title, names in groups.items()
        }
        return {title: entries for title, entries in sections.items() if entries}

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters, with `--help-all` if `--help` shows a selection."""
        params = super().get_params(ctx)
        count = sum(param.param_type_name == "option" for param in params) + 1
        if count <= _FEW_OPTIONS + 1 or all(param.name != "files" for param in params):
            return params

        def print_all(ctx: typer.Context, _: Any, value: bool) -> None:
            if value and not ctx.resilient_parsing:
                ctx.meta["help_all"] = True
                typer.echo(ctx.get_help())
                ctx.exit()

        option = TyperOption(
            param_decls=["--help-all"],
            help=f"Show all {count} options.",
            callback=print_all,
            is_flag=True,
            is_eager=True,
            expose_value=False,
        )
        return [*params, option]

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write nothing: the examples stand before the options."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the arguments into `ctx`; return the remaining ones."""
        if not ctx.resilient_parsing:  # a shell asks for completions
            if _LOGS in args:
                args = self._with_log_folder(ctx, args)
            self._expect_arguments(ctx, args)
        return super().parse_args(ctx, args)

    def _with_log_folder(self, ctx: typer.Context, args: list[str]) -> list[str]:
        option = next((param for param in self.params if _LOGS in param.opts), None)
        if option is None:
            return args
        at = args.index(_LOGS)
        after = args[at + 1 :]
        completed = [*args[:at], f"{_LOGS}={option.default or _FOLDER}", *after]
        if not after or after[0].startswith("-"):
            return completed
        surplus = self.make_parser(ctx).parse_args(list(completed))[1]
        is_workload = after[0] in BUILT_IN or Path(after[0]).suffix == ".py"
        return completed if is_workload and not Path(after[0]).is_dir() and not surplus else args

    def _expect_arguments(self, ctx: typer.Context, args: list[str]) -> None:
        words = self.make_parser(ctx).parse_args(list(args))[0]
        absent = [
            param.make_metavar(ctx) if param.param_type_name == "argument" else param.opts[0]
            for param in self.params
            if param.required and words.get(str(param.name)) is None
        ]
        if absent and not {"help", "help_all"} & words.keys():
            examples = "\n          ".join(str(self.epilog).splitlines()[2:])
            raise TtastatsError(
                f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing",
                where=self.name,
                remedy=f"Examples:{examples.removeprefix(' ')}",
            )


def _load(name: str) -> Callable[..., Any]:
    """Return the function of a command."""
    command: Callable[..., Any] = getattr(import_module(f"ttastats.cli.{COMMANDS[name]}"), name)
    return command


def _help_text(command: Callable[..., Any]) -> str:
    """Return the docstring of a command without options and examples."""
    return re.split(r"\n\n(?=\$ |-|[A-Z.]+: )", cleandoc(command.__doc__ or ""))[0]


def _first_sentence(text: str, room: int) -> str:
    """Return the first sentence of a help text, shortened to a width."""
    first = re.split(r"(?<=\.) ", text)[0]
    if len(first) <= room:
        return first
    starts = [first[: match.start()] for match in re.finditer(r" \(|[:;,] ", first[:room])]
    whole = [t for t in starts if t.count("(") == t.count(")") and not t.count("'") % 2]
    return f"{whole[-1]}." if whole else text


@cache
def make_command(name: str) -> TyperCommand:
    """Return a command; examples are the lines of its docstring that begin with `$`."""
    command = _load(name)
    examples = re.findall(r"^ *\$ (.*)", command.__doc__ or "", re.MULTILINE)
    epilog = "\n".join(["\b\nExamples:", *(f"  {line}" for line in examples)])
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command, help=_help_text(command), epilog=epilog)(
        _with_flat_options(name, command)
    )
    return cast("TyperCommand", typer.main.get_command(app))


def _with_flat_options(name: str, command: Callable[..., Any]) -> Callable[..., None]:
    """Return a function whose parameters are single options and which prints the answer.

    Options that were not given are left to the defaults of the function that answers.
    """
    hints = get_type_hints(command, localns={"Report": Any})  # polars costs start-up time
    answers, passed_types = hints.pop("return") is not type(None), PASSED_OPTIONS.get(name, {})
    parameters = {n: p for n, p in signature(command).parameters.items() if p.kind != p.VAR_KEYWORD}
    types = {option: hints[option] for option in parameters if option not in passed_types}
    types |= {option: type_ or hints.get(option, str) for option, type_ in passed_types.items()}
    of_output = get_type_hints(Output) if answers else {}
    # `ingest` reads logs for its table, not for a question.
    of_logs = _OF_LOGS if "files" in types and "guess" not in types else ()
    texts, declared = entries(command.__doc__), {}
    for option, type_ in (types | of_output | dict.fromkeys(of_logs, bool)).items():
        default = (
            parameters[option].default if option in parameters else False if type_ is bool else None
        )
        declared[option] = declare(option, type_, default, texts)

    def called(**words: Any) -> None:
        values = {n: read(n, word) for n, word in words.items() if word != declared[n].default}
        arguments, output, logs = (
            {option: values[option] for option in options if option in values}
            for options in (types, of_output, of_logs)
        )
        with on_command_line(), _reading_logs(**logs) if of_logs else nullcontext():
            answer = command(**arguments)
            if answers:
                _print_answer(answer, output)

    called.__signature__ = Signature(list(declared.values()))  # type: ignore[attr-defined]
    return called


def _print_answer(answer: Report | tuple[Report, int], output: dict[str, Any]) -> None:
    """Print a report, which may stand before an exit code, and exit with that if it is not 0."""
    report, code = answer if isinstance(answer, tuple) else (answer, 0)
    show(report, **output)
    if report.gate is not None and not report.gate:
        code = 3
    if code:
        raise typer.Exit(code)


@contextmanager
def _reading_logs(*, guess: bool = False, no_cache: bool = False) -> Iterator[None]:
    """Let the block read logs in place of tables; exit with 1 if some are rejected."""
    from ttastats.ingestion import given  # polars costs start-up time

    reads: dict[tuple[str, ...], Read] = {}

    def on_read(read: Read) -> None:
        if read.logs not in reads and (read.account or read.problems):
            say(*read.lines)
        reads.setdefault(read.logs, read)

    watched = partial(progress, "reading logs")
    how = given.Reading(not no_cache, watched, on_read, guess, asking())
    earlier = given.READING.set(how)
    try:
        yield
    finally:
        given.READING.reset(earlier)
    if any(read.rejected for read in reads.values()):
        raise typer.Exit(1)
