"""Any bytes and any table: no exception, no invented value, and a quick end."""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import FIXTURES
from tests.programs import cpu_limit
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Run
from ttastats.cli.commands import COMMANDS
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.table import tables

# An installed copy is tested without the benchmarks.
pytest.importorskip("benchmarks.fuzz.command")

from benchmarks.fuzz import around, asking, mutations, questions

#: Formats that are not text. A number of theirs stands nowhere in letters.
BINARY = {"evaluations-npz", "mlflow-db", "tfevents", "wandb"}
#: A name by which a dialect takes a file that it would not know by its bytes.
NAMES = {
    "evaluations-npz": "evaluations.npz",
    "hf-trainer": "trainer_state.json",
    "mlflow": "meta.yaml",
    "mlflow-db": "mlflow.db",
    "tfevents": "events.out.tfevents.1700000000.x",
    "wandb": "run-a.wandb",
}
PATHS = [p for p in sorted(FIXTURES.rglob("*")) if p.is_file() and ".expected." not in p.name]
FILES = [(path.relative_to(FIXTURES).parts[0], path.read_bytes()) for path in PATHS]
LOGS = [data for dialect, data in FILES if dialect not in BINARY]
STORES = [data for dialect, data in FILES if dialect in BINARY]
LINES = sorted({line for log in LOGS for line in log.split(b"\n")})
DIALECTS = sorted(registry.dialects())
NUMBER = re.compile(rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?")


def mutilated(logs: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return fixtures after a few mutations."""
    return st.builds(lambda rng: mutations.mutilate(rng, logs)[1], st.randoms(use_true_random=True))


def read(name: str, content: bytes) -> list[Run | Problem]:
    path = f"/x/v5.0/Org/results/big/bert/{NAMES.get(name, 'result_0.txt')}"
    with suppress(TtastatsError):  # two dialects may know it
        registry.recognise(content, path)
    return list(registry.named(name).parse(log_from_bytes(content, path)))


def made_up(runs: list[Run], content: bytes) -> list[float]:
    """Return the scores that are not written in the text."""
    grouped = re.sub(rb"(?<=\d)[_, ](?=\d{3})", b"", content)  # thousands
    written = {float(text) for part in (content, grouped) for text in NUMBER.findall(part)}
    logged = (e.logged_value for run in runs for e in run.evaluations)
    return [value for value in logged if value is not None and abs(value) not in written]


CONTENTS = {
    "a mutilated log": mutilated(LOGS),
    "a mutilated store": mutilated(STORES),
    "lines of all formats": st.builds(
        lambda lines, end: end.join(lines),
        st.lists(st.sampled_from(LINES), max_size=40),
        st.sampled_from([b"\n", b"\r\n", b"\r", b""]),
    ),
    "no log": st.builds(
        lambda token, content: token + content,
        st.sampled_from([b"", b":::MLLOG {", b":::MLL 1 a: ", b"epoch\t"]),
        st.binary(max_size=300),
    ),
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
@settings(
    max_examples=5_000 if os.environ.get("TTASTATS_LONG") else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_bytes_are_read_as_far_as_they_go(
    contents: st.SearchStrategy[bytes], data: st.DataObject
) -> None:
    content = data.draw(contents)
    for name in DIALECTS:
        with cpu_limit(2.0):
            items = read(name, content)
        runs = [item for item in items if isinstance(item, Run)]
        assert name in BINARY or made_up(runs, content) == []
        tables.table_of_runs([tables.SourcedRun(run, "a", "0" * 32, 0, name) for run in runs])


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("piece", [b"a", b"\r 58%|####  ", b"{", b'"', b"0,", b":::MLLOG {"])
def test_a_line_of_a_megabyte_is_read_in_bounded_time(name: str, piece: bytes) -> None:
    log = next(data for dialect, data in FILES if dialect == name)
    content = log.rstrip(b"\n") + piece * (1_000_000 // len(piece)) + b"\n" + log
    with cpu_limit(3.0):
        read(name, content)


def test_a_score_that_is_not_in_the_text_would_be_noticed() -> None:
    (log,) = (log for log in LOGS if b'"value": 0.9705' in log)
    runs = [item for item in read("mlperf-mllog", log) if isinstance(item, Run)]
    assert made_up(runs, log) == []
    assert made_up(runs, log.replace(b"0.9705", b"0.9706")) == [0.9705]


# ------------------------------------------------------------------------------------------ tables

SEED = 12
#: Pairs of tables that one test asks about; `python benchmarks/fuzz --tables` asks about many.
PAIRS = 10 if os.environ.get("TTASTATS_LONG") else 2


def test_every_command_answers_of_any_table() -> None:
    tally = asking.ask(range(11, 11 + PAIRS), SEED, LOGS)
    assert tally.tables > PAIRS
    assert tally.findings == {}


def test_every_command_is_asked() -> None:
    rng = random.Random(1)
    paths = [Path("a.parquet"), Path("b.parquet")]
    commands = {words[0] for words in questions.questions(rng, paths, Path("out"), draw=False)}
    # `ingest` is asked when tables are made; the others begin with none.
    assert commands == set(COMMANDS) - {"guess", "ingest", "train", "sweep", "race"}


# ------------------------------------------------------------------------------- around logs

#: Draws of each kind; `python benchmarks/fuzz --around` makes many.
DRAWS = 100 if os.environ.get("TTASTATS_LONG") else 3


@pytest.mark.parametrize("kind", around.KINDS)
def test_what_lies_around_logs_and_tables_ends_no_command(kind: str) -> None:
    drawn = around.draw(kind, range(DRAWS), SEED)
    assert drawn.findings == []
    assert drawn.count == DRAWS
    assert drawn.codes[0] + drawn.codes[1] > 0  # not all is refused
