"""How the words behind a command are read: a folder left out, and arguments that are missing."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.core import TyperCommand

from ttastats.base.errors import TtastatsError
from ttastats.cli.examples import EXAMPLES
from ttastats.trainer import BUILT_IN

#: The option that takes a folder or none, and the folder where the command has no default.
_LOGS, _FOLDER = "--emit-log", "logs"


class Command(TyperCommand):
    """A command whose `--emit-log` takes a folder or none, and that shows examples where it must.

    `--emit-log` without a folder means the default folder of the command. `--emit-log digits` means
    the workload where no other is given and no such folder exists; `--emit-log=digits` always means
    the folder.
    """

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the words into `ctx`, and return those that are left.

        Raises
        ------
        TtastatsError
            An argument is missing.
        """
        if not ctx.resilient_parsing:  # a shell asks for completions
            if _LOGS in args:
                args = self._with_log_folder(ctx, args)
            self._expect_arguments(ctx, args)
        return super().parse_args(ctx, args)

    def _with_log_folder(self, ctx: typer.Context, args: list[str]) -> list[str]:
        option = next((one for one in self.params if _LOGS in one.opts), None)
        if option is None:
            return args
        at = args.index(_LOGS)
        after = args[at + 1 :]
        without = [*args[:at], f"{_LOGS}={option.default or _FOLDER}", *after]
        if not after or after[0].startswith("-"):
            return without
        surplus = self.make_parser(ctx).parse_args(list(without))[1]
        return without if _is_workload(after[0]) and not surplus else args

    def _expect_arguments(self, ctx: typer.Context, args: list[str]) -> None:
        given = self.make_parser(ctx).parse_args(list(args))[0]
        missing = [one for one in self.params if one.required and given.get(str(one.name)) is None]
        if missing and "help" not in given:
            names = [
                one.make_metavar(ctx) if one.param_type_name == "argument" else one.opts[0]
                for one in missing
            ]
            examples = "\n            ".join(f"ttastats {one}" for one in EXAMPLES[str(self.name)])
            raise TtastatsError(
                f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing",
                where=self.name,
                remedy=f"Examples: {examples}",
            )


def _is_workload(word: str) -> bool:
    return (word in BUILT_IN or Path(word).suffix == ".py") and not Path(word).is_dir()
