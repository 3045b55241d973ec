"""Does a race run commands in a fair order, stop when it may, and lose nothing?"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from rich.console import Console
from typer.testing import CliRunner, Result

import ttastats as tta
from benchmarks import race as simulated
from tests import programs
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.race import definition, folder, judge, outcome, plan, processes, reading
from ttastats.race.book import Watched, last_lines
from ttastats.race.definition import Definition, Setup
from ttastats.race.plan import Key
from ttastats.race.processes import Arrivals, Launch, RealProcesses
from ttastats.race.race import Running, State, failure, run_race, with_reason
from ttastats.race.screen import screen, watcher

LONG = bool(os.environ.get("TTASTATS_LONG"))
#: A training that ends only when it is stopped: losses by step, then nothing.
TRAIN = "for s in 1 2 3 4 5; do echo step $s val_loss $((6-s)).0; done; exec sleep 600"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def race(*words: str) -> Result:
    return CliRunner().invoke(app, ["race", *words])


def alive(mark: str) -> list[str]:
    """Return the processes that name a text in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append(place.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", range(5))
def test_every_setup_goes_first_equally_often_in_an_order_that_looks_random(number: int) -> None:
    draw = random.Random(number)
    names = [f"s{k}" for k in range(draw.randint(2, 6))]
    blocks = [plan.block_order(names, block, number) for block in range(20 * len(names))]
    assert all(sorted(block) == names for block in blocks)
    for start in range(0, len(blocks), len(names)):
        assert sorted(block[0] for block in blocks[start : start + len(names)]) == names
    assert len({tuple(block) for block in blocks}) >= len(names)
    assert blocks != [plan.block_order(names, block, number + 1) for block in range(len(blocks))]


@pytest.mark.parametrize("number", range(8))
def test_slots_do_every_run_once_and_a_block_stays_in_its_slot(number: int) -> None:
    draw = random.Random(number)
    names = [f"s{k}" for k in range(draw.randint(2, 4))]
    order = [*plan.runs_in_order(names, range(-1, 7), number)]
    slots, running, done = dict[int, int](), dict[int, Key](), list[Key]()
    while len(done) < len(order):
        slot = draw.randrange(3)
        if slot in running:
            done.append(running.pop(slot))
        elif key := plan.next_run(order, {*done, *running.values()}, slots, slot):
            assert slots.setdefault(key.block, slot) == slot
            running[slot] = key
    assert sorted(done) == sorted(order)
    left = plan.runs_in_order(names, range(6), number, {"s0": 3})
    assert max(key.block for key in left if key.setup == "s0") == 2


@pytest.mark.parametrize("ratios", [(1, 1.5), (1.3, 1), (1, 1)])
@pytest.mark.parametrize("failing", [0.0, 0.15])
def test_the_verdict_is_that_of_compare_at_the_same_look(
    ratios: tuple[float, float], failing: float
) -> None:
    for seed in range(2):
        world = simulated.World(ratios, failing=failing)
        raced = simulated.Simulation(world, ["a", "b"], np.random.default_rng(seed))
        setups = (Setup("x", "a"), Setup("y", "b"))
        state = run_race(Definition(setups=setups, max_runs=12), {}, raced, raced, lambda *_: None)
        (pair,), runs = state.standing.pairs, raced.judged()
        complete = runs.filter(pl.col("seed") < state.standing.n)
        sides = [complete.filter(pl.col("entry") == name) for name in "ab"]
        report = tta.compare(*sides, options={"max_runs": 12}, block=["seed"])
        (row,) = report.rows
        assert row["verdict"] == pair.verdict.value
        assert pair.ratio is not None
        assert row["speedup"] == pytest.approx(pair.ratio.estimate)
        assert row["speedup_low"] == pytest.approx(pair.ratio.low)


def test_equal_setups_are_seldom_told_apart_and_different_ones_mostly() -> None:
    equal = [*simulated.simulate(simulated.World((1, 1, 1)), 20, 5, max_runs=10)]
    assert sum(bool(result.shown) for result in equal) <= 2
    assert {result.end for result in equal} <= {"hopeless", "maximum", "decided"}
    far = [*simulated.simulate(simulated.World((1, 1.5)), 20, 5)]
    assert sum(result.shown == (("s1", "s0"),) for result in far) >= 18
    assert all(result.n < 20 for result in far)


def test_setups_that_are_beaten_leave_and_the_others_go_on() -> None:
    (result,) = simulated.simulate(simulated.World((1, 1.02, 3)), 1, 3)
    assert {("s2", "s0"), ("s2", "s1")} & {*result.shown}
    assert result.n > 6


def test_what_cannot_be_decided_within_the_plan_ends_it() -> None:
    ratio = judge.Ratio(1.01, 0.9, 1.1, 0.95, 0.8, 0.05, 18.0, 10, 10)
    assert judge.is_hopeless(ratio, judge.Look(15, 20), 0.05)
    near = judge.Ratio(1.15, 0.9, 1.3, 0.95, 0.1, 0.05, 18.0, 10, 10)
    assert not judge.is_hopeless(near, judge.Look(15, 20), 0.05)
    assert not judge.is_hopeless(ratio, judge.Look(4, 20), 0.05)


@pytest.mark.parametrize("number", range(5))
def test_a_definition_is_read_as_it_was_written(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    texts = ["", "é \"'\\ {seed}", "a\tb\nc", "[[setups]]", "x = 1 # no"]
    setups = tuple(Setup(draw.choice(texts[1:]), f"s{k}") for k in range(3))
    log = {"line": [draw.choice(texts)], "metric": draw.choice(texts)} if number % 2 else {}
    made = Definition(setups=setups, prepare=draw.choice(texts), slots=("A=0", ""), log=log)
    store = folder.RaceFolder(tmp_path / "race")
    with store.locked():
        store.store(made)
    assert store.stored() == made


@pytest.mark.parametrize(
    ("commands", "names"),
    [
        (["python t.py --opt adam --seed {seed}", "python t.py --opt muon --seed {seed}"],
         ["adam", "muon"]),
        (["python a.py", "python b.py"], ["a.py", "b.py"]),
        (["python a.py", "python a.py"], ["setup1", "setup2"]),
        (["python t.py --lr 1 {seed}", "python t.py --lr 0.5 {seed}"], ["lr-1", "lr-0.5"]),
    ],
)  # fmt: skip
def test_setups_are_named_by_what_differs(commands: list[str], names: list[str]) -> None:
    assert definition.short_names(commands) == names


@pytest.mark.parametrize("number", range(5))
def test_lines_count_when_they_arrived(number: int, tmp_path: Path) -> None:
    draw, text, arrivals = random.Random(number), "", [(0, 0.0)]
    expected = []
    for moment in range(1, 30):
        before = text.count("\n")
        text += "".join(draw.choice(["x", "é", "\n", "\r\n"]) for _ in range(draw.randint(0, 9)))
        arrivals.append((len(text.encode()), float(moment)))
        expected += [float(moment)] * (text.count("\n") - before)
    (tmp_path / "log").write_bytes(text.encode())
    lines = np.arange(1, len(expected) + 1)
    np.random.default_rng(number).shuffle(lines)
    found = reading.arrival_of_lines(tmp_path / "log", lines, arrivals)
    assert [found[k] for k in np.argsort(lines)] == expected


def run_command(command: str, place: Path, *, tty: bool = False) -> processes.RealProcess:
    """Run a command to its end."""
    there = RealProcesses()
    variables = {"TTASTATS_DIR": str(place / processes.FILES)}
    process = there.start(Launch(command, place, variables, tty))
    while process.exit_code is None:
        there.wait([process], 1.0)
    there.close()
    return process


def test_output_is_kept_byte_for_byte_with_the_moments_at_which_it_arrived(tmp_path: Path) -> None:
    size = (1 << 30) if LONG else (1 << 24)
    process = run_command(f"head -c {size} /dev/zero; echo; echo end >&2", tmp_path)
    output = tmp_path / "output.log"
    assert output.stat().st_size == size + 5
    with output.open("rb") as file:
        file.seek(size)
        assert file.read() == b"\nend\n"
    sizes, moments = zip(*process.arrivals["output.log"], strict=True)
    assert sizes[-1] == size + 5
    assert [*sizes] == sorted(sizes)
    assert [*moments] == sorted(moments)


def test_a_terminal_is_one_and_colours_and_bars_stay(tmp_path: Path) -> None:
    run_command("[ -t 1 ] && printf '\\033[1m10%%\\r20%%\\rloss 3\\n'", tmp_path, tty=True)
    assert b"\x1b[1m10%\r20%\rloss 3" in (tmp_path / "output.log").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "command",
    [
        "setsid sleep 600 & setsid sh -c 'sleep 600 & exec sleep 600' & echo done",
        "(sleep 600 &) ; (trap '' TERM; sleep 600) & exit 3",
        "exec >&- 2>&-; sleep 0.1; exit 4",
    ],
)
def test_nothing_of_a_run_is_left_behind(command: str, tmp_path: Path) -> None:
    process = run_command(command, tmp_path)
    assert process.exit_code in {0, 3, 4}
    programs.wait_until(lambda: not alive(str(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_that_ignores_its_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    there = RealProcesses()
    command = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    process = there.start(Launch(command, tmp_path, {"TTASTATS_DIR": str(tmp_path / "files")}))
    while process.exit_code is None:
        there.wait([process], 1.0)
        if process.arrivals["output.log"][-1][0]:
            process.stop()
    there.close()
    assert process.exit_code == -signal.SIGKILL
    assert not alive(str(tmp_path))


def test_two_commands_are_raced_to_an_answer_and_runs_end_at_the_target(here: Path) -> None:
    log = ("--line", r"step (?P<step>\d+) val_loss (?P<val_loss>\S+)", "--metric", "val_loss")
    result = race(TRAIN, f"true; {TRAIN}", "--name", "a", "--name", "b", "--runs", "2", *log,
                  "--target", "val_loss<=2")  # fmt: skip
    assert result.exit_code == 0, result.output
    records = [json.loads(file.read_text()) for file in sorted((here / "race/runs").glob("*.json"))]
    assert [record["end"] for record in records] == ["target"] * 4
    assert [record["seed"] for record in records] == [0, 0, 1, 1]
    runs = tta.read(here / "race/runs.parquet").collect()
    assert runs["entry"].unique().sort().to_list() == ["a", "b"]
    assert runs["seconds"].is_not_null().all()
    assert tta.runs(here / "race/runs.parquet").frame["reached"].all()  # its target is known
    again = race()
    assert "4 runs complete" in again.output
    assert sorted(here.glob("race/runs/*~*")) == []
    other = race("true", "false")
    assert other.exit_code != 0
    assert "holds another race" in str(other.exception)


FAILING = {
    "echo CUDA out of memory; exit 1": "out of memory (exit code 1)",
    "kill -9 $$": "killed by signal 9",
    "echo Traceback; echo ValueError: x; exit 2": "exit code 2: ValueError: x",
}


def test_failures_are_counted_with_their_reason(here: Path) -> None:
    good = "echo step 1 val_loss 1.0"
    mixed = "case {seed} in 0) " + good + ";; *) echo ValueError: x; exit 2;; esac"
    result = race(good, mixed, "--runs", "3", "--name", "good", "--name", "bad", "--target",
                  "val_loss<=2")  # fmt: skip
    assert result.exit_code == 0, result.output
    runs = pl.DataFrame(tta.runs(here / "race/runs.parquet", target="val_loss<=2").rows)
    reached = runs.group_by("entry").agg(pl.col("reached").sum()).sort("entry")
    assert reached.rows() == [("bad", 1), ("good", 3)]
    assert "exit code 2: ValueError: x" in (here / "race/events.log").read_text()


@pytest.mark.parametrize(("command", "reason"), FAILING.items())
def test_a_failure_says_why(command: str, reason: str, tmp_path: Path) -> None:
    process = run_command(command, tmp_path)
    started = datetime.now(UTC)
    record = folder.Record("a", 0, 0, 0, command, started, "failed", exit_code=process.exit_code)
    record = replace(record, reason=failure("failed", record, Definition()))
    assert with_reason(record, last_lines(tmp_path / "output.log")).reason == reason


def test_a_command_that_does_not_exist_ends_the_race_at_the_start(here: Path) -> None:
    result = race("no-such-program {seed}", "echo {seed}", "--target", "val_loss<=2")
    assert isinstance(result.exception, TtastatsError)
    assert "not found" in str(result.exception)
    assert [*(here / "race/runs").glob("*.json")] == []
    later = race("sh -c 'no-such-program {seed}'", "sh -c 'no-such-program -x {seed}'")
    assert "not found" in str(later.exception)
    other = race("no-such-program {seed}", "echo {seed}")  # nothing is left of these commands
    assert "not found" in str(other.exception)


def test_a_run_over_its_time_is_a_failure(here: Path) -> None:
    result = race("echo step 1 val_loss 1.0", "echo step 1 val_loss 3.0; exec sleep 600",
                  "--timeout", "0.3s", "--runs", "2", "--target", "val_loss<=2",
                  "--name", "a", "--name", "b")  # fmt: skip
    assert result.exit_code == 0, result.output
    records = [json.loads(file.read_text()) for file in (here / "race/runs").glob("*-b.json")]
    assert {(record["end"], record["reason"]) for record in records} == {
        ("timeout", "over the timeout of 0.3s")
    }


def test_two_races_in_one_folder_are_refused(tmp_path: Path) -> None:
    first, second = folder.RaceFolder(tmp_path), folder.RaceFolder(tmp_path)
    with (
        first.locked(),
        pytest.raises(TtastatsError, match="another race runs"),
        second.locked(),
    ):
        pytest.fail("both hold it")
    with second.locked():
        assert (tmp_path / "runs").is_dir()


def started(place: Path) -> subprocess.Popen[str]:
    """Start a race whose runs take a moment and meet the target, in a process of its own."""
    command = "for s in 1 2 3; do echo step $s val_loss $((4-s)).0; sleep 0.02; done; : {seed}"
    words = ["-m", "ttastats", "race", command, f"true; {command}", "--name", "a", "--name", "b",
             "--target", "val_loss<=1", "--runs", "4"]  # fmt: skip
    return programs.start(*words, cwd=place, stdout=subprocess.PIPE)


def _has_come_to(process: subprocess.Popen[str], runs: Path, want: int, lines: int) -> bool:
    """Return whether so many runs began, and the last of them said so many lines."""
    with suppress(OSError):  # what is put aside while one looks
        records = sorted(runs.glob("*.json"), key=lambda file: file.stat().st_mtime)
        if len(records) >= max(want, 1):
            said = runs / records[-1].stem / "output.log"
            return said.read_bytes().count(b"\n") >= lines
    return process.poll() is not None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_race_goes_on_and_repeats_no_complete_run(tmp_path: Path) -> None:
    """Kill a race when it has made a random number of steps, and its runs with it or not."""
    draw, complete, runs = random.Random(1), dict[str, bytes](), tmp_path / "race/runs"
    for attempt in range(40 if LONG else 4):
        process, want = started(tmp_path), len(complete) + draw.randint(1, 3)
        programs.wait_until(partial(_has_come_to, process, runs, want, draw.randint(0, 3)))
        if attempt % 2:
            for number in alive(str(tmp_path / "race")):
                with suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)
        process.kill()
        code, _, errors = programs.finish(process)
        assert code in {0, -signal.SIGKILL}, errors
        programs.wait_until(lambda: not alive(str(tmp_path / "race")))
        now = {file.name: file.read_bytes() for file in runs.glob("*.json")}
        assert {name: now[name] for name in complete} == complete
        ends = {name: json.loads(content)["end"] for name, content in now.items()}
        complete = {name: now[name] for name in now if ends[name] not in {"", "interrupted"}}
    assert complete
    code, _, errors = programs.finish(started(tmp_path))
    assert code == 0, errors
    records = [json.loads(file.read_text()) for file in runs.glob("*.json")]
    assert len(records) == 8
    assert tta.read(tmp_path / "race/runs.parquet").collect()["run_id"].n_unique() == 8


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupted_race_leaves_nothing_running_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = ["-m", "ttastats", "race", TRAIN, f"true; {TRAIN}", "--target", "val_loss<=0"]
    process = programs.start(*words, cwd=tmp_path, stdout=subprocess.PIPE)
    programs.wait_until(lambda: alive(str(tmp_path / "race")), process)
    process.send_signal(signal.SIGINT)
    code, _, errors = programs.finish(process)
    assert code == 130
    assert "go on with: ttastats race" in errors
    assert not alive(str(tmp_path / "race"))


class Said:
    """A run that has said all at once: losses by step, of which each took what its command says."""

    def __init__(self, launch: Launch) -> None:
        pace, steps = float(launch.command.split()[1]), range(1, 9)
        needed = 4 + int(launch.variables["TTASTATS_SEED"]) % 3
        lines = [f"step {step} val_loss {1 + needed / step:.3f}\n" for step in steps]
        launch.folder.mkdir(parents=True)
        (launch.folder / "output.log").write_text("".join(lines))
        sizes = np.cumsum([*map(len, lines)]).tolist()
        moments = [(size, step * pace) for size, step in zip(sizes, steps, strict=True)]
        self.arrivals: Arrivals = {"output.log": [(0, 0.0), *moments]}
        self.exit_code: int | None = None
        self.seconds, self.group = 8 * pace, 0

    def stop(self, *, at_once: bool = False) -> None:
        """Say nothing more."""


class Talk(RealProcesses):
    """Processes that are replaced by what they would say."""

    def start(self, launch: Launch) -> Any:
        return Said(launch)

    def wait(self, processes: Any, seconds: float) -> None:
        for process in processes:
            process.exit_code = 0


@pytest.fixture
def talking(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processes, "RealProcesses", Talk)
    return here


RATES = {"a": 0.1, "b": 0.3}
RACED = ("--name", "a", "--name", "b", "--target", "val_loss<=2")


@pytest.mark.parametrize(("paces", "code"), [((0.1, 0.3), 3), ((0.3, 0.1), 0)])
def test_a_gate_fails_for_a_setup_that_is_slower_than_the_first(
    talking: Path, paces: tuple[float, float], code: int
) -> None:
    commands = [f"echo {pace} {{seed}}" for pace in paces]
    result = race(*commands, *RACED, "--runs", "6", "--fail-on", "slower:2%")
    assert result.exit_code == code, result.output
    assert f"slower:2%: {'failed' if code else 'passed'}" in result.output
    assert (talking / "race/runs.parquet").exists()


def test_a_gate_that_cannot_be_read_is_an_error_before_any_run(talking: Path) -> None:
    result = race("echo 1 {seed}", "echo 2 {seed}", *RACED, "--fail-on", "slower:x")
    assert "not a percentage" in str(result.exception)
    assert not (talking / "race").exists()


@pytest.mark.parametrize("kind", ["toml", "yaml", "yml"])
def test_a_file_defines_a_race(talking: Path, kind: str) -> None:
    setups = [{"name": name, "command": f"echo {pace} {{seed}}"} for name, pace in RATES.items()]
    values = {"target": ["val_loss<=2"], "runs": 2, "warmup": 1, "setups": setups}
    text = (msgspec.toml if kind == "toml" else msgspec.yaml).encode(values).decode()
    Path(f"my.{kind}").write_text(text)
    result = race(f"my.{kind}")
    assert result.exit_code == 0, result.output
    assert "warm-up of a (seed 1000001) " in result.output
    assert len([*(talking / "race/runs").glob("*.json")]) == 6
    assert tta.read(talking / "race/runs.parquet").collect()["run_id"].n_unique() == 4
    Path(f"my.{kind}").write_text(text + "\nmax_run: 3\n" if kind != "toml" else "max_run = 3\n")
    wrong = race(f"my.{kind}", "-o", "other")
    assert f"my.{kind}" in str(wrong.exception)
    assert "max_run" in str(wrong.exception)


@pytest.mark.parametrize("words", ["echo \U0001f600", "a \x7f\t\n", '"\\"', "'''", "ünï"])
def test_a_race_keeps_every_character_of_its_commands(tmp_path: Path, words: str) -> None:
    setups = (Setup(words, "a"), Setup("b", "b"))
    stored = Definition(setups, prepare=words, log={"metric": words})
    race_folder = folder.RaceFolder(tmp_path)
    race_folder.store(stored)
    assert race_folder.stored() == stored


def raced(world: simulated.World, **options: Any) -> tuple[State, simulated.Simulation, list[str]]:
    """Return a race of simulated runs, and what was said of it."""
    setups = tuple(Setup("x", f"s{number}") for number in range(len(world.ratios)))
    asked = definition.checked(Definition(setups=setups, **options))
    races = simulated.Simulation(world, asked.names, np.random.default_rng(1))
    events: list[str] = []
    state = run_race(asked, {}, races, races, lambda _, event: events.append(event))
    return state, races, [event for event in events if event]


@pytest.mark.parametrize("number", range(5))
def test_every_slot_warms_up_before_its_runs_count(number: int) -> None:
    draw = random.Random(number)
    slots = tuple(f"GPU={slot}" for slot in range(draw.randint(1, 3)))
    warmup, ratios = draw.randint(1, 2), (1.0,) * draw.randint(2, 3)
    world = simulated.World(ratios, slot=4.0)  # the others would do its part
    state, _, events = raced(world, warmup=warmup, slots=slots, runs=4, seed=3)
    begun = [event for event in events if event.endswith("begins")]
    for slot in range(len(slots)):
        own = [event for event in begun if len(slots) == 1 or f"slot {slot})" in event]
        is_warm_up = [event.startswith("warm-up of ") for event in own]
        first = min(warmup * len(ratios), len(own))  # which the end of the race may cut short
        assert is_warm_up == [True] * first + [False] * (len(own) - first)
    assert state.standing.n == 4


@pytest.mark.parametrize("slots", [("",), ("A=0", "A=1")])
def test_a_budget_ends_the_race_with_the_runs_that_are_complete(slots: tuple[str, ...]) -> None:
    state, races, _ = raced(simulated.World((1, 1)), budget="7.5min", slots=slots)
    assert state.standing.ended == "budget"
    assert 450 <= state.spent < 650  # ends of runs are what the simulation waits for
    complete = plan.complete_blocks(["s0", "s1"], state.done)
    assert state.standing.n == complete > 0
    runs = races.judged()
    text = outcome.end_text(state.standing, state.definition.rules, runs)
    assert text.startswith(f"over the budget after {complete} run")
    assert "difference of 0" not in text


def test_what_comes_before_a_command_is_run_before_it(tmp_path: Path) -> None:
    setup = Setup("echo $TTASTATS_NAME {name} {seed} $A $B", "it's")
    asked = Definition(setups=(setup,), launcher="env B=b", prepare="echo first", tty=True,
                       slots=("A=z", "A='x y' C=1"), seed=4)  # fmt: skip
    launch = asked.launch(Key("it's", 2), tmp_path, 1)
    done = programs.call("sh", "-c", launch.command, env={**os.environ, **launch.variables})
    assert done.stdout == "first\nit's it's 6 x y b\n"
    assert launch.tty
    failing = replace(asked, prepare="echo no; false").launch(Key("it's", 2), tmp_path, 1)
    done = programs.call("sh", "-c", failing.command)
    assert (done.returncode, done.stdout) == (definition.NOT_PREPARED, "no\n")


def test_a_preparation_that_fails_is_no_failure_of_a_setup(here: Path) -> None:
    good = "echo step 1 val_loss 1.0 {seed}"
    wrong = race(good, good, *RACED, "--prepare", "echo disk full; false")
    assert "--prepare echo disk full; false: failed: disk full" in str(wrong.exception)
    other = race(good, f"{good} 2", *RACED, "--runs", "2")
    assert other.exit_code == 0, other.output
    before = race(good, good, *RACED, "--setup", "exit 4", "-o", "new")
    assert "--setup exit 4: exit code 4" in str(before.exception)
    absent = race(good, good, *RACED, "--launcher", "no-such-srun -N1", "-o", "newer")
    assert "no-such-srun: not found" in str(absent.exception)


@pytest.mark.parametrize("slot", ["taskset -c 0", "0", "A=1 -x", "A='x"])
def test_a_slot_that_is_no_environment_is_refused(slot: str) -> None:
    with pytest.raises(TtastatsError, match="is not the environment of a slot"):
        definition.checked(Definition(setups=(Setup("x"), Setup("y")), slots=(slot,)))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), (".5s", 0.5), ("1.5 h", 5400), ("", None)]
)
def test_times_are_read(text: str, seconds: float | None) -> None:
    assert definition.duration(text, "--budget") == seconds
    with pytest.raises(TtastatsError, match="is not a duration"):
        definition.duration(f"{text}x", "--budget")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_once_or_twice_ends_all_and_says_how_to_go_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The second finds a run that ignores SIGTERM, and does not wait for it."""

    class Interrupting(RealProcesses):
        left = times

        def wait(self, processes: Any, seconds: float) -> None:
            super().wait(processes, seconds)
            if self.left and all(run.arrivals["output.log"][-1][0] for run in processes):
                self.left -= 1
                raise KeyboardInterrupt

    monkeypatch.setattr(processes, "RealProcesses", Interrupting)
    deaf = "trap '' TERM; " if times == 2 else ""
    command = f"{deaf}echo {{seed}} ready; while :; do sleep 0.05; done"
    result = race(command, f"{command}; true", "-o", "new", *RACED)
    assert result.exit_code == 130, result.output
    assert "a second Ctrl-C does not wait" in result.output
    assert "go on with: ttastats race -o new" in result.output
    assert not alive(str(here))
    (record,) = (json.loads(file.read_text()) for file in here.glob("new/runs/*.json"))
    assert record["end"] == "interrupted"


class Heard:
    """What a run has said."""

    def __init__(self, text: str) -> None:
        self.text = text

    def update(self, process: Any, seconds: float) -> bool:
        return False


def drawn(state: State) -> list[str]:
    console = Console(width=100, record=True, file=StringIO())
    console.print(screen(state))
    return [line.rstrip() for line in console.export_text().splitlines()]


@pytest.mark.parametrize("slots", [("",), ("A=0", "A=1")])
def test_the_screen_has_a_line_a_run_the_state_of_the_verdict_and_hours(
    slots: tuple[str, ...],
) -> None:
    state, _, _ = raced(simulated.World((1, 1.05)), runs=5, slots=slots)
    key = Key("s1", 4)
    del state.done[key]
    pairs = tuple(replace(pair, n=4) for pair in state.standing.pairs)
    state.standing = replace(state.standing, ended="", n=4, pairs=pairs)
    lengths = {record.seconds for record in state.done.values() if record.setup == "s1"}
    mean = sum(lengths) / len(lengths)
    record = folder.Record("s1", 4, 4, len(slots) - 1, "x", datetime.now(UTC))
    said: Any = Heard("val_loss 2.85 (target ≤ 2, 0.85 to go)")
    nothing: Any = None
    state.running = {0: Running(record, nothing, said, 0.0, lasted=mean / 4)}
    head, run, verdict, hours = drawn(state)
    assert head.split()[:3] == ["setup", "seed", "progress"]
    assert ("slot" in head) is (len(slots) > 1)
    assert run.startswith("s1     4     ")
    assert ", 25%, ends in about " in run
    assert said.text in run
    assert verdict.startswith("4 runs each: s1 against s0 ")
    assert verdict.endswith("; at most 5")
    assert "of runs so far, at most about " in hours
    state.definition = replace(state.definition, budget="100s")
    state.spent = 98.0
    assert drawn(state)[-1].endswith(f"at most about {2 * len(slots)}.00 s to come")
    state.running[0].lasted = 2 * mean
    assert "longer than the mean" in drawn(state)[1]
    assert "to come" not in drawn(state)[-1]


def test_a_terminal_is_drawn_on_and_elsewhere_events_are_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, _, _ = raced(simulated.World((1, 1)), runs=2)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    events: list[str] = []
    for is_terminal in (True, False):
        with watcher(events.append, is_terminal=is_terminal) as watch:
            watch(state, "a begins")
            watch(state, "")
        assert ("2 runs each" in capsys.readouterr().err) is is_terminal
    assert events == ["a begins"] * 2


@pytest.mark.parametrize("number", range(6))
def test_the_distance_to_the_target_is_that_in_its_direction(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    metric, sign = draw.choice([("val_loss", "<="), ("accuracy", ">=")])
    value, goal = draw.randint(10, 90) / 100, draw.randint(10, 90) / 100
    record = folder.Record("a", 0, 0, 0, "x", datetime.now(UTC))
    place = tmp_path / folder.run_name(record.key)
    place.mkdir()
    text = f"step 1 {metric} {value}\n"
    (place / "output.log").write_text(text)
    keys = {"files": "*/output.log", "metric": metric, "step": "step", "seconds": "",
            "line": rf"step (?P<step>\d+) {metric} (?P<{metric}>\S+)"}  # fmt: skip
    reader = reading.Reader(tmp_path, reading.complete([keys], tmp_path),
                            reading.parse_all([f"{metric}{sign}{goal}"]))  # fmt: skip
    watched = Watched(reader, record)
    said: Any = SimpleNamespace(arrivals={"output.log": [(0, 0.0), (len(text), 1.0)]})
    watched.update(said, 1.0)
    gap = round(value - goal if sign == "<=" else goal - value, 2)
    mark = {"<=": "≤", ">=": "≥"}[sign]
    left = f", {units.significant(gap)} to go" if gap > 0 else ""
    expected = f"{metric} {units.significant(value)} (target {mark} {goal:g}{left})"
    assert watched.text == expected
