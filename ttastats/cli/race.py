"""The command that races training commands against each other."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ttastats.base import units
from ttastats.base.errors import raise_if
from ttastats.cli.options import taken_out, takes
from ttastats.cli.output import asking, say

if TYPE_CHECKING:
    import polars as pl

    from ttastats.race.definition import Definition
    from ttastats.race.folder import RaceFolder
    from ttastats.race.race import State
    from ttastats.report.answer import Report

#: What may be said of output, by the keys of a block of `ttastats.toml`.
_LOG = "line metric step epoch samples preset"
#: Options that may change when a race goes on.
_FREE = ("log", "budget", "timeout", "tty")
_DEFAULT = Path("race")
#: A word that can only be the name of a program.
_PROGRAM = re.compile(r"[\w./+-]+")


@takes(
    "runs max_runs warmup seed setup prepare launcher timeout budget to_end tty",
    _LOG,
    {"runs": int, "warmup": int, "to_end": bool, "tty": bool, "metric": Sequence[str]},
)
def race(
    commands: Sequence[str] = (),
    *,
    output: Path = _DEFAULT,
    name: Sequence[str] = (),
    target: Sequence[str] = (),
    slots: int = 1,
    slot: Sequence[str] = (),
    fail_on: Sequence[str] = (),
    **options: Any,
) -> Report:
    r"""Run training commands in turn until one is shown to be faster.

    Runs end at the target, and the race when it is decided or hopeless. Without commands, the race
    of the folder goes on.

    COMMAND...: Commands for a shell, in which {seed}, {dir} (a folder for files) and {name} are
        filled in; or a file of TOML or YAML that defines a race.
    --output, -o FOLDER: Folder of the race.
    --name NAME: Name of a setup, in the order of the commands. [default: (what differs)]
    --target TARGET: Quality target: 'val_loss<=3.28' or acc=97%. Repeatable.
    --runs N: Fixed number of runs of each setup, instead of looks. [x>=2]
    --max-runs N: Most runs of each setup, with a look after each from the third on.
        [default: (20)]
    --warmup N: Runs of each setup that do not count, before all others. [x>=0]
    --seed N: Seed of the first block, and of the order. [default: 0; x>=0]
    --setup COMMAND: Run this once before the race.
    --prepare COMMAND: Run this before each run, within its time.
    --launcher WORDS: Put this before every command: 'srun -N1 --gpus=8'.
    --slots N: Runs side by side. [x>=1]
    --slot VARIABLES: A slot and its environment: 'CUDA_VISIBLE_DEVICES=0'. Repeatable.
    --timeout TIME: A run that takes longer is a failure: 90min.
    --budget TIME: Begin and continue no run after so long: 8h.
    --to-end: Do not end runs at the target.
    --tty: Run on a pseudo-terminal.
    --line REGEX: Lines to parse: 'step (?P<step>\d+) loss (?P<loss>\S+)'. Repeatable.
    --metric METRIC: Quality metric: val_loss. Repeatable.
    --step COLUMN: Column of optimizer steps.
    --epoch COLUMN: Column of epochs; 'epoch + 1' if they start at 0.
    --samples COLUMN: Column of samples.
    --preset NAME: Known log layout.
    --fail-on slower:PERCENT: Exit 3 if a setup is shown to be slower than the first: slower:2%.

    $ ttastats race 'python a.py --seed {seed}' 'python b.py --seed {seed}' --target 'val_loss<=3.3'
    $ ttastats race --timeout 90min
    """
    raise_if(sys.platform == "win32", "needs process groups, which Windows lacks", "race",
             "Use Linux, macOS or WSL.")  # fmt: skip
    from ttastats.answers.compare import gate
    from ttastats.race import folder as folders
    from ttastats.race import outcome

    log = taken_out(options, _LOG.split())
    changes = {
        **options,
        **({"log": log} if log else {}),
        **({"target": tuple(target)} if target else {}),
    }
    changes |= {"slots": tuple(slot) or ("",) * slots} if slot or slots > 1 else {}
    gate.conditions(tuple(fail_on) or None, None)  # which is wrong before a run, not behind all
    folder = folders.RaceFolder(output)
    nothing = not commands and folder.stored() is None
    raise_if(nothing, f"no race in {output}/", None, "Give two commands, or -o FOLDER.")
    with folder.locked():
        state, runs = _raced(folder, commands, name, changes, output)
    standing, rules = state.standing, state.definition.rules
    spent = units.seconds(3600 * state.hours)
    say(f"{spent} of runs; {outcome.end_text(standing, rules, runs)}")
    say(f"next: ttastats report {output / folders.TABLE}")
    return outcome.final_report(runs, standing, rules, state.definition.seed, fail_on)


def _raced(
    folder: RaceFolder,
    commands: Sequence[str],
    names: Sequence[str],
    changes: dict[str, Any],
    output: Path,
) -> tuple[State, pl.DataFrame]:
    """Race in a folder to the end; return the state and the table of runs."""
    from ttastats.race.book import FolderBook
    from ttastats.race.folder import write_environment
    from ttastats.race.processes import RealProcesses
    from ttastats.race.race import Interrupted, run_race
    from ttastats.race.screen import watcher

    records, stored = folder.records(), folder.stored()
    definition = _definition(stored, commands, names, changes)
    for field in definition.__struct_fields__ if stored and records else ():
        differs = field not in _FREE and getattr(definition, field) != getattr(stored, field)
        message = f"holds another race: its {field.replace('_', ' ')} differs"
        raise_if(differs, message, f"{output}/", "Give -o FOLDER for a new race.")
    folder.store(definition)
    book = FolderBook(folder, definition, asking())
    book.load(records)

    printed = [book.read_as]

    def note(event: str) -> None:
        folder.note(event)
        say(event)
        if book.read_as != printed[-1]:
            printed.append(book.read_as)
            say(f"  read as: {book.read_as}")

    if not records:
        write_environment(folder)
        _begin(definition)
    else:
        say(f"{units.plural(len(records), 'run')} complete in {output}/")
    processes = RealProcesses()
    try:
        with watcher(note, is_terminal=sys.stderr.isatty()) as watch:
            state = run_race(definition, records, processes, book, watch)
    except Interrupted:
        say(f"interrupted; go on with: ttastats race{_option(output)}")
        raise typer.Exit(130) from None
    finally:
        processes.close()
    return state, book.judged()


def _definition(
    stored: Definition | None,
    commands: Sequence[str],
    names: Sequence[str],
    changes: dict[str, Any],
) -> Definition:
    """Return the race of commands, of a file, or of the folder."""
    import msgspec

    from ttastats.race import definition as definitions

    raise_if(names and len(names) != len(commands), "needs a name for each command", "--name")
    if len(commands) == 1 and commands[0].endswith((".toml", ".yaml", ".yml")):
        definition = msgspec.structs.replace(definitions.read(Path(commands[0])), **changes)
    elif commands:
        pairs = zip(commands, names or [""] * len(commands), strict=True)
        setups = tuple(definitions.Setup(command, name) for command, name in pairs)
        definition = definitions.Definition(setups=setups, **changes)
    else:
        definition = msgspec.structs.replace(stored or definitions.Definition(), **changes)
    return definitions.checked(definition)


def _begin(definition: Definition) -> None:
    """Print oddities of the commands, and run the preparation of the race."""
    for setup in definition.setups:
        words = definition.launcher or setup.command
        program = next((word for word in words.split() if "=" not in word), "")
        if _PROGRAM.fullmatch(program):
            absent = subprocess.call(["/bin/sh", "-c", f"command -v {program} >/dev/null"])  # noqa: S603
            raise_if(absent, f"{program}: not found", words, "Correct the command.")
        if not any(word in setup.command for word in ("{seed}", "TTASTATS_SEED")):
            say(f"{setup.name}: no {{seed}} in its command: with one seed, its runs may be copies")
    if definition.setup:
        done = subprocess.run(definition.setup, shell=True, check=False)  # noqa: S602
        raise_if(done.returncode, f"exit code {done.returncode}", f"--setup {definition.setup}")


def _option(output: Path) -> str:
    return "" if output == _DEFAULT else f" -o {output}"
