"""Any bytes and any table may come: nothing escapes, nothing is made up, and it ends soon."""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttastats
from tests.conftest import FIXTURES
from tests.programs import within
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Run
from ttastats.cli.commands import COMMANDS
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.report.answer import Report
from ttastats.table import tables

# An installed copy is tested without the benchmarks.
pytest.importorskip("benchmarks.fuzz.command")

from benchmarks.fuzz import answers, around, asking, questions
from benchmarks.fuzz import tables as made_tables

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
FILES = {p: p.read_bytes() for p in sorted(FIXTURES.rglob("*")) if p.is_file()}
FILES = {path: data for path, data in FILES.items() if ".expected." not in path.name}
LOGS = [data for path, data in FILES.items() if path.relative_to(FIXTURES).parts[0] not in BINARY]
STORES = [data for path, data in FILES.items() if path.relative_to(FIXTURES).parts[0] in BINARY]
LINES = sorted({line for log in LOGS for line in log.split(b"\n")})
DIALECTS = sorted(registry.dialects())
NUMBER = re.compile(rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?")

positions = st.integers(0, 3_000)
odd_values = st.sampled_from(
    [
        *(b"NaN", b"-Infinity", b"1e999", b"-1e308", b"null", b"None", b'""', b"[]", b"{}", b"..."),
        *(b"9" * 400, b"9" * 5_000, b"[" * 5_000, b"[" * 400 + b"]" * 400, b'{"a":' * 2_000),
        *(b" " * 20_000, b"(" * 20_000, b":" * 20_000, b"\\" * 999, b"\r", b"\xff\xfe", b"\x00"),
        *(b":::MLLOG ", b":::MLL ", b":::MLPv0.5.0 a 1 (b) ", b":::ML"),
    ]
)


@st.composite
def mutilated(draw: st.DrawFn, logs: list[bytes]) -> bytes:
    """Return a fixture after a few misfortunes."""
    log = draw(st.sampled_from(logs))
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(positions) % (len(log) + 1), draw(st.integers(0, 200))
        way = draw(
            st.sampled_from(["cut", "drop", "repeat", "flip", "insert", "splice", "swap", "value"])
        )
        before, piece, behind = log[:start], log[start : start + length], log[start + length :]
        if way == "cut":
            log = before
        elif way == "drop":
            log = before + behind
        elif way == "repeat":
            log = before + piece * draw(st.integers(2, 20)) + behind
        elif way == "flip":
            log = before + bytes(255 - byte for byte in piece[:3]) + piece[3:] + behind
        elif way == "insert":
            log = before + draw(odd_values) + piece + behind
        elif way == "splice":
            log = before + draw(st.sampled_from(logs))[start:]
        elif way == "swap":
            log = behind + piece + before
        else:
            at = log.find(b": ", start) + 2
            end = next((i for i in range(at, len(log)) if log[i] in b",}\n"), len(log))
            log = log[:at] + draw(odd_values) + log[end:]
    return log


def read(name: str, content: bytes) -> list[Run | Problem]:
    path = f"/x/v5.0/Org/results/big/bert/{NAMES.get(name, 'result_0.txt')}"
    with suppress(TtastatsError):  # two dialects may know it
        registry.recognise(content, path)
    return list(registry.named(name).parse(log_from_bytes(content, path)))


def made_up(runs: list[Run], content: bytes) -> list[float]:
    """Return the scores that are not written in the text."""
    written = {float(text) for text in NUMBER.findall(content)}
    logged = (e.logged_value for run in runs for e in run.evaluations)
    return [value for value in logged if value is not None and abs(value) not in written]


def check(content: bytes) -> None:
    for name in DIALECTS:
        with within(2.0):
            found = read(name, content)
        runs = [item for item in found if isinstance(item, Run)]
        assert name in BINARY or made_up(runs, content) == []
        tables.table_of_runs([tables.SourcedRun(run, "a", "0" * 32, 0, name) for run in runs])


SHORT = settings(
    max_examples=5_000 if os.environ.get("TTASTATS_LONG") else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@SHORT
@given(mutilated(LOGS))
def test_a_mutilated_log_is_read_as_far_as_it_goes(content: bytes) -> None:
    check(content)


@SHORT
@given(mutilated(STORES))
def test_a_mutilated_store_is_read_as_far_as_it_goes(content: bytes) -> None:
    check(content)


@SHORT
@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from([b"\n", b"\r\n", b"\r", b""]))
def test_lines_of_all_formats_in_any_order_are_read(lines: list[bytes], end: bytes) -> None:
    check(end.join(lines))


@SHORT
@given(st.binary(max_size=300), st.sampled_from([b"", b":::MLLOG {", b":::MLL 1 a: ", b"epoch\t"]))
def test_bytes_that_are_no_log_are_read(content: bytes, token: bytes) -> None:
    check(token + content)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("piece", [b"a", b"\r 58%|####  ", b"{", b'"', b"0,", b":::MLLOG {"])
def test_a_line_of_megabytes_is_read_in_bounded_time(name: str, piece: bytes) -> None:
    log = next(data for path, data in FILES.items() if path.relative_to(FIXTURES).parts[0] == name)
    content = log.rstrip(b"\n") + piece * (3_000_000 // len(piece)) + b"\n" + log
    with within(8.0):
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
    asked = asking.ask(range(10, 10 + PAIRS), SEED, LOGS)
    assert asked.tables > PAIRS
    assert asked.found == {}


def made(number: int, folder: Path) -> made_tables.Made:
    folder.mkdir(exist_ok=True)
    return made_tables.pair(random.Random(number), LOGS, folder)


def test_tables_can_be_made_again_by_their_number(tmp_path: Path) -> None:
    for number in range(8):
        one, other = made(number, tmp_path / f"a{number}"), made(number, tmp_path / f"b{number}")
        assert (one.origin, one.how, len(one.paths)) == (other.origin, other.how, len(other.paths))
        for path, again in zip(one.paths, other.paths, strict=True):
            if one.origin == "columns":
                assert pl.read_parquet(path).equals(pl.read_parquet(again))


def test_every_command_is_asked() -> None:
    rng = random.Random(1)
    paths = [Path("a.parquet"), Path("b.parquet")]
    asked = {words[0] for words in questions.questions(rng, paths, Path("out"), draw=False)}
    # `ingest` is asked when tables are made; `guess`, `train` and `sweep` read none.
    assert asked == set(COMMANDS) - {"guess", "ingest", "train", "sweep"}


def test_files_are_asked_about_one_by_one_and_two_by_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = questions.questions  # all of which other tests ask
    monkeypatch.setattr(questions, "questions", lambda *of, **how: every(*of, **how)[::5])
    paths = [*made(3, tmp_path / "a").paths[:1], *made(4, tmp_path / "b").paths[:1]]
    before = {path: path.read_bytes() for path in paths}
    *_, asked = asking.ask_of_files(paths, seed=1, times=1)
    assert (asked.tables, asked.pairs, asked.origins["files"]) == (2, 4, 6)
    one = questions.questions(random.Random(1), paths, tmp_path, draw=False)
    assert asked.codes.total() == 4 * len(one)
    assert not asked.found
    assert before == {path: path.read_bytes() for path in paths}


class TestFindings:
    """What must not be would be noticed."""

    @pytest.fixture
    def table(self, tmp_path: Path) -> str:
        (path, *_) = made(3, tmp_path).paths
        return str(path)

    def findings(self, *words: str) -> str:
        return " ".join(answers.answer(words).findings)

    def test_an_answer_that_is_right_gives_none(self, table: str) -> None:
        assert self.findings("runs", table, "-f", "json") == ""

    @pytest.mark.parametrize("error", [ValueError("x"), pl.exceptions.PanicException("x")])
    def test_an_exception(
        self, error: BaseException, table: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> Report:
            raise error

        monkeypatch.setattr(ttastats, "runs", fail)
        found = answers.answer(["runs", table])
        assert found.code == 2
        assert f"internal error: {type(error).__name__}: x" in found.findings[0]

    @pytest.mark.parametrize(
        ("printed", "said"),
        [
            ("NaN", "NaN is no number"),
            ('{"a": -Infinity}', "-Infinity is no number"),
            ("{", "no JSON"),
            ('"\x07"', r"prints ['\x07']"),
        ],
    )
    def test_what_is_printed(
        self, printed: str, said: str, table: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ttastats.report.render.as_json.render_json", lambda _report: printed)
        assert said in self.findings("runs", table, "-f", "json")

    def test_a_name_in_markdown(self, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "ttastats.report.render.as_markdown.render_markdown", lambda _report: "<img src=x>"
        )
        assert "Markdown holds" in self.findings("runs", table, "-f", "md")

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("a.html", "<h1><img src=x", "holds '<img src=x'"),
            ("a.html", '<script type="application/json" id="x">[NaN]</script>', "no number"),
            ("a.svg", "<svg>", "no XML"),
            ("a.jsonl", '{"a": 1}\n{', "no JSON"),
        ],
    )
    def test_what_is_written(self, name: str, text: str, said: str, tmp_path: Path) -> None:
        (tmp_path / name).write_text(text)
        assert said in " ".join(answers.wrong_file(tmp_path / name))

    def test_a_warning_of_python(self, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def warn(*_: Any, **__: Any) -> Report:
            _ = pl.Series([1.0]).to_numpy() / 0.0
            raise SystemExit(0)

        monkeypatch.setattr(ttastats, "runs", warn)
        assert "RuntimeWarning: divide by zero" in self.findings("runs", table)


# ------------------------------------------------------------------------------- around logs

#: Draws of each kind; `python benchmarks/fuzz --around` makes many.
DRAWS = 100 if os.environ.get("TTASTATS_LONG") else 5


@pytest.mark.parametrize("kind", around.KINDS)
def test_what_lies_around_logs_and_tables_ends_no_command(kind: str) -> None:
    drawn = around.draw(kind, range(DRAWS), SEED)
    assert drawn.found == []
    assert drawn.count == DRAWS
    assert drawn.codes[0] + drawn.codes[1] > 0  # not all is refused


class TestAround:
    """What must not be would be noticed."""

    def test_an_exception(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any, **__: Any) -> Report:
            raise KeyError(0)

        monkeypatch.setattr("ttastats.table.kind.Kind._version", fail)
        found = " ".join(around.draw("footers", [2], SEED).found)
        assert "KeyError: 0" in found
        assert "footers 2: " in found

    def test_a_run_that_is_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(around, "changed_footer", lambda _rng, _key, text: text)
        whole = pl.read_parquet
        monkeypatch.setattr(pl, "read_parquet", lambda *of, **how: whole(*of, **how).head(1))
        found = " ".join(around.draw("footers", range(3), SEED).found)
        assert "filter lost" in found

    def test_a_log_that_is_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = around.sources_of

        def nothing_at_last(place: Path, output: Path) -> set[str]:
            return whole(place, output) if output.name == "whole.parquet" else set()

        monkeypatch.setattr(around, "sources_of", nothing_at_last)
        found = " ".join(around.draw("companions", range(4), SEED).found)
        assert "had a run before another file was changed" in found

    def test_members_of_one_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "ttastats.ingestion.containers._Opened._add",
            lambda self, name, member: self._members.update({name: member}),
        )
        found = " ".join(around.draw("archives", range(8), SEED).found)
        assert "members of one name are no problem" in found

    @pytest.mark.parametrize(
        ("name", "text", "wrong"),
        [
            ("a.svg", "<svg></svg>", ["a.svg shows no mark"]),
            ("a.svg", "<svg><path/></svg>", []),
            ("a.html", '<script type="application/json">{}</script>', ["a.html shows no mark"]),
            ("a.html", '<script type="application/json">{"mark": 1}</script>', []),
        ],
    )
    def test_a_plot_that_shows_nothing(
        self, name: str, text: str, wrong: list[str], tmp_path: Path
    ) -> None:
        (tmp_path / name).write_text(text)
        assert list(around.undrawn(tmp_path / name)) == wrong
